"""All implicit methods with every access to memory checked (`CHASLES_CHECK=1`), one method a process: `checked`."""

import os
import subprocess
import sys

import pytest

from chasles.kernel.policy import COMPILED

METHODS = [
    "GeneralizedAlpha()",
    "GeneralizedAlpha(index=3)",
    "BLieDF()",
    "Rattle()",
    "HalfExplicit()",
    "EnergyMomentum()",
    "RadauIIA()",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A compile cache that the methods share."""
    return tmp_path_factory.mktemp("checked")


@pytest.mark.study
@pytest.mark.timeout(3000)
@pytest.mark.skipif(not COMPILED, reason="bounds are Python's own when the compiler is switched off")
@pytest.mark.parametrize("method", METHODS)
def test_no_access_is_out_of_bounds_and_one_that_is_is_caught(method, folder):
    own = {"CHASLES_CHECK": "1", "CHASLES_CACHE_DIR": str(folder), "NUMBA_OPT": "1"}
    environment = os.environ | own | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(
        [sys.executable, "-m", "tests.absolute.implicit.checked", method],
        env=environment, capture_output=True, text=True, timeout=2900, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert " ok" in result.stdout
