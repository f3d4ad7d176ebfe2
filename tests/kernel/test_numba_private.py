"""What is used of Numba's private parts: in one module, tested by feature, bounded by version, not indispensable."""

import os
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

from chasles.kernel import numba_private
from chasles.kernel.policy import COMPILED
from chasles.lie import so3

ROOT = Path(__file__).parents[2]


def test_the_bounds_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for name, (first, end) in numba_private.TESTED.items():
        assert f"{name}>={first},<{end}" in declared


@pytest.mark.parametrize(
    ("version", "known"), [("0.61.2", False), ("0.62.0", True), ("0.68.1", True), ("0.69.0rc1", False)]
)
def test_a_version_that_was_not_tested_is_refused_in_plain_words(version, known):
    package = types.ModuleType("numba")
    package.__version__ = version
    message = numba_private.untested(package)
    assert (message == "") is known
    if not known:
        assert f"not tested with numba {version}, only from 0.62 to below 0.69" in message
        assert "pip install 'numba>=0.62,<0.69'" in message
        assert "CHASLES_PLAIN_NUMBA=1" in message


def test_this_numba_has_all_parts_and_a_missing_one_is_named(monkeypatch):
    assert numba_private.missing() == []
    monkeypatch.setitem(numba_private.USED, "PassManager", ("add_pass", "gone"))
    assert numba_private.missing() == ["PassManager.gone"]
    monkeypatch.setattr(numba_private, "PLAIN", False)
    with pytest.raises(ImportError, match=r"lacks what chasles uses .*\(PassManager.gone\).*CHASLES_PLAIN_NUMBA=1"):
        numba_private.check()
    monkeypatch.setattr(numba_private, "PLAIN", True)
    numba_private.check()


PLAIN = """
import math
from chasles.lie import so3
from chasles.kernel import policy
print(policy.PLAIN, *so3.exp([0.3, -0.2, 0.5]).ravel().tolist())
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_it_goes_without_private_parts_to_the_same_numbers(tmp_path):
    environment = os.environ | {"CHASLES_PLAIN_NUMBA": "1", "CHASLES_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PLAIN]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    plain, *numbers = result.stdout.split()
    assert plain == "True"
    assert not any(tmp_path.rglob("*.nbc"))
    ours = so3.exp([0.3, -0.2, 0.5]).ravel().tolist()
    assert list(map(float, numbers)) == ours
