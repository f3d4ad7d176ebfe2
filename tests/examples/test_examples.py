"""Every program in examples/ runs, for a shorter time than by itself."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PICTURE = "picture.png"  # stands for a file in a folder of the test
CASES = {
    "double_pendulum.py": (("--time", "0.5"), "verdict: passed"),
    "humanoid_batch.py": (("--states", "200"), "inverse dynamics of 200 states"),
    "arm_controller.py": (("--time", "0.5"), "verdict: passed"),
    "shooting.py": ((), "verdict: passed"),
    "flexible_joint.py": (("--time", "0.05"), "verdict: passed"),
    "satellite.py": (("--time", "1"), "verdict: passed"),
    "kinematic_calibration.py": (("--poses", "60", "--picture", PICTURE), "verdict: as good as the noise allows"),
    "plan_acrobot.py": (("--picture", PICTURE), "stands upright to"),
    "plan_arm.py": (("--steps", "20", "--picture", PICTURE), "it takes 0.2684 s"),
    "plan_design.py": (("--steps", "8", "--picture", PICTURE), "largest pull 10.00 N"),
    "plan_five_bar.py": (("--steps", "8", "--picture", PICTURE), "simulated again, the tool is"),
    "plan_satellite.py": (("--steps", "16", "--picture", PICTURE), "  0.6] rad"),
    "gradients_elsewhere.py": (("--by", "scipy", "--picture", PICTURE), "lead to 1.00000 rad"),
    "video_track.py": (("--picture", PICTURE), "verdict: as good as the noise allows"),
    "inertial_identification.py": (("--samples", "300", "--picture", PICTURE), "verdict: as good as the noise allows"),
}


def test_every_example_is_run():
    assert sorted(CASES) == sorted(path.name for path in EXAMPLES.glob("*.py"))


LONG = ("plan_acrobot.py", "plan_arm.py", "plan_design.py", "plan_five_bar.py", "video_track.py")  # many iterations


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.study] * (name in LONG)) for name in CASES])
def test_example(name, tmp_path, monkeypatch, capsys):
    """One as a user starts it, the others in this process, which has loaded everything."""
    arguments, expected = CASES[name]
    picture, path = tmp_path / PICTURE, str(EXAMPLES / name)
    arguments = [str(picture) if argument == PICTURE else argument for argument in arguments]
    if name == "double_pendulum.py":
        command = [sys.executable, "-W", "error", path, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said = done.stdout
    else:
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        runpy.run_path(path, run_name="__main__")
        said = capsys.readouterr().out
    assert expected in said
    assert picture.exists() == (str(picture) in arguments)


@pytest.mark.parametrize("name", ["ipyopt", "cyipopt", "jax", "torch", "casadi"])
def test_gradients_elsewhere(name, monkeypatch, capsys):
    """All programs find the speed and the torque that SciPy finds."""
    pytest.importorskip(name)
    monkeypatch.setattr(sys, "argv", ["", "--by", "scipy", name])
    runpy.run_path(str(EXAMPLES / "gradients_elsewhere.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert said.count("lead to 1.00000 rad") == 2
    assert float(said.rpartition("answers: ")[2]) < 1e-4
