"""Every program in examples/ runs, for a shorter time than by itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = {
    "double_pendulum.py": (("--time", "0.5"), "verdict: passed"),
    "humanoid_batch.py": (("--states", "200"), "inverse dynamics of 200 states"),
    "arm_controller.py": (("--time", "0.5"), "verdict: passed"),
    "shooting.py": ((), "verdict: passed"),
    "satellite.py": (("--time", "1"), "verdict: passed"),
}


def test_every_example_is_run():
    assert sorted(CASES) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", CASES)
def test_example(name):
    arguments, expected = CASES[name]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert expected in done.stdout
