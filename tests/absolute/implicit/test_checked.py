"""All implicit methods with every access to memory checked (`CHASLES_CHECK=1`): see `checked`."""

import os
import subprocess
import sys

import pytest

from chasles.kernel.policy import COMPILED
from tests.absolute.implicit.checked import METHODS


@pytest.mark.study
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not COMPILED, reason="bounds are Python's own when the compiler is switched off")
def test_no_access_is_out_of_bounds_and_one_that_is_is_caught():
    """One process for all methods: in this mode nothing is kept on disk, so it compiles once what they share."""
    environment = os.environ | {"CHASLES_CHECK": "1", "NUMBA_OPT": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    result = subprocess.run(
        [sys.executable, "-m", "tests.absolute.implicit.checked"],
        env=environment, capture_output=True, text=True, timeout=1700, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    for name in METHODS:
        assert f"{name}: checked, and a short workspace is caught" in result.stdout
