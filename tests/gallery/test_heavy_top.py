"""The heavy top of source 000 against quadruple-precision references and the paper's own figures."""

import json
from pathlib import Path

import numpy as np
import pytest

from chasles.gallery import heavy_top
from chasles.kernel.policy import COMPILED

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "heavy_top_source_000.json").read_text())
SPACES = tuple(heavy_top.SPACES)


def reference_state(time: str) -> np.ndarray:
    """Rotation, position and body angular velocity of the exact solution."""
    body = REFERENCE["states"][time]["bodies"][0]
    return np.concatenate([np.array(body[k], dtype=float).ravel() for k in ("R", "r", "omega_body")])


def end_state(run: heavy_top.TopRun) -> np.ndarray:
    return np.concatenate([run.rotation[-1].ravel(), run.position[-1], run.velocity[-1, :3]])


@pytest.mark.parametrize("space", SPACES)
def test_the_discrete_solution_is_that_of_quadruple_precision(space):
    run = heavy_top.simulate(space, end=0.1)
    (truth,) = REFERENCE["discrete_h1e-3"][f"{space}|t=0.1"]["per_body_R9_r3_w3_v3"]
    got = np.concatenate([run.rotation[-1].ravel(), run.position[-1], run.velocity[-1]])
    # 100 steps, numbers up to 70: rounding of about 1 ulp a step gives 1e-12 at the very most
    np.testing.assert_allclose(got, truth, rtol=0, atol=2e-13)


@pytest.mark.parametrize("space", SPACES)
def test_order_four_in_all_of_the_state(space):
    truth = reference_state("0.1")
    scale = np.maximum(abs(truth), 1)
    errors = [
        (abs(end_state(heavy_top.simulate(space, end=0.1, step=h)) - truth) / scale).max()
        for h in (2e-3, 1e-3, 5e-4, 2.5e-4)
    ]
    slopes = np.diff(np.log(errors)) / np.log(0.5)
    assert (slopes > 3.8).all(), slopes
    assert (slopes < 4.3).all(), slopes


@pytest.mark.parametrize(("time", "tolerance"), [("1", 1e-6), ("10", 1e-4)])
@pytest.mark.parametrize("space", SPACES)
def test_end_state_after_many_turns(space, time, tolerance):
    """At 70 rad/s the phase error of order 4 grows linearly; h = 0.25 ms keeps it small."""
    error = abs(end_state(heavy_top.simulate(space, end=float(time), step=2.5e-4)) - reference_state(time))
    assert error[:12].max() < tolerance


def test_the_paper_s_comparison_of_the_two_groups():
    """000, figures 2 and 3: on SE(3) the pivot stays to rounding, on SO(3) x R3 it drifts by some 1e-5 m."""
    se3, so3xr3 = (heavy_top.simulate(space) for space in SPACES)
    assert se3.pivot_drift.max() < 1e-14
    assert 1e-6 < so3xr3.pivot_drift.max() < 5e-5
    for run in (se3, so3xr3):
        assert run.energy[0] == pytest.approx(13972.398950622205, rel=1e-15)  # T0 = 13.97 kJ
        assert abs(run.energy_drift).max() < 6e-3  # the order of magnitude of figure 3
    assert se3.time[-1] == pytest.approx(10)
    assert len(se3.time) == 10001


@pytest.mark.parametrize("space", SPACES)
def test_rotations_stay_orthogonal(space):
    run = heavy_top.simulate(space)
    gram = np.einsum("nij,nik->njk", run.rotation, run.rotation)
    assert abs(gram - np.eye(3)).max() < 1e-12  # a random walk of 1e4 roundings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": "SO3"}, "expected one of SE3, SO3xR3"),
        ({"space": "SE3", "step": 0.0}, "0 < step"),
        ({"space": "SE3", "step": float("nan")}, "0 < step"),
        ({"space": "SE3", "step": 0.3, "end": 1.0}, "not a whole number of steps"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        heavy_top.simulate(**arguments)


@pytest.mark.skipif(not COMPILED, reason="Python's own floats raise where compiled ones become infinite")
def test_a_run_that_blows_up_says_when():
    fast = heavy_top.HeavyTop(angular_velocity=(1e150, 2e150, 3e150))
    with pytest.raises(ArithmeticError, match=r"not finite from t = 0\.1 s"):
        heavy_top.simulate("SO3xR3", step=0.1, end=1.0, top=fast)
