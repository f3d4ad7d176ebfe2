"""Data of motions that are unstable: a fit ends in bounded time, says how far the data is explained, and what to do."""

from unittest.mock import patch

import numpy as np
import pytest

import chasles as ch
from chasles.fit.instability import growth
from chasles.fit.other_starts import searched
from chasles.fit.problem import Experiment, problem_of
from tests.commands import chasles

HOW = {"method": "rk4", "step": 0.02}
T = np.arange(0.0, 7.0, 0.02)
TURN = {"axis": (0, 1, 0)}


def upright(lower=0.8, damping=0.01):
    """Two links that stand on their end."""
    return ch.System(
        [
            ch.Body("upper", 1.0, (0, 0, 0.25), (0.02, 0.02, 0.002)),
            ch.Body("lower", lower, (0, 0, 0.2), (0.01, 0.01, 0.002)),
        ],
        [
            ch.revolute("shoulder", "ground", "upper", **TURN, damping=damping),
            ch.revolute("elbow", "upper", "lower", at=(0, 0, 0.5), **TURN, damping=damping),
        ],
    )


@pytest.fixture(scope="module")
def fallen():
    """What is seen of links that fall over and go on swinging."""
    run = ch.simulate(upright(0.6, 0.004), (0, T[-1]), [0.05, 0.3], [0, 0], save=T, **HOW)
    seen = run.q + 1e-3 * np.random.default_rng(0).normal(size=run.q.shape)
    return {"t": T, "joints.shoulder": seen[:, 0], "joints.elbow": seen[:, 1]}


UNKNOWN = {"lower": None, "damping": None, "initial": None}


def test_growth_is_that_of_an_inverted_pendulum():
    rod = ch.System([ch.Body("rod", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))], [ch.revolute("pin", "ground", "rod", **TURN)])
    data = {"t": T, "joints.pin": 0 * T}
    problem = problem_of(rod, [Experiment(data)], {"bodies.rod.mass": None}, {}, None, {"method": "rk4", "step": 0.01})
    found = growth(problem, problem.start)
    rate = np.sqrt(9.81 * 0.5 / (0.1 + 0.25))
    assert abs(found.factor / np.cosh(rate * T[-1]) - 1) < 1e-5
    assert abs(found.far_off - np.arccosh(100) / rate) < 0.021  # to a step


def test_an_unstable_motion_is_explained_as_far_as_it_can_be(fallen):
    wrong = fallen | {"joints.elbow": np.where(T < 5.0, fallen["joints.elbow"], 1.0)}  # lost by the camera
    fit = ch.fit.to_data(upright, wrong, UNKNOWN, **HOW)
    assert not fit.success
    assert "only the data until" in fit.message
    assert "the motion is unstable: errors of its start grow" in fit.message
    assert "ch.fit.pieces" in fit.message
    assert 1.0 < fit.run().t[-1] <= 5.0
    assert abs(fit["lower"] - 0.6) < 5 * fit.deviations["lower"] < 0.01
    assert abs(fit["damping"] - 0.004) < 5 * fit.deviations["damping"] < 0.01


def test_pieces_of_an_unstable_motion_are_fitted(fallen):
    known = {name: one for name, one in UNKNOWN.items() if name != "initial"}
    parts = ch.fit.pieces(fallen, 0.7)
    assert len(parts) == 10
    fit = ch.fit.to_data(upright, parts, known, **HOW)
    assert fit.success
    assert abs(fit["lower"] - 0.6) < 4 * fit.deviations["lower"] < 0.004
    assert abs(fit["damping"] - 0.004) < 4 * fit.deviations["damping"] < 0.004


def test_pieces_go_on_with_inputs_and_start_where_the_model_does():
    held = np.array([2.0, *[np.nan] * 49, 3.0, *[np.nan] * 49])
    data = {"t": 5.0 + 0.01 * np.arange(100), "joints.pin": 0.1 * np.arange(100), "inputs.motor": held}
    first, second, third = ch.fit.pieces(data, 0.4, start=1.0, unknown={"load": None})
    assert first.data.t[0] == third.data.t[0] == 1.0
    assert [one.data.columns["inputs.motor"][0] for one in (first, second, third)] == [2.0, 2.0, 3.0]
    assert abs(second.unknown["initial.v.pin"].start - 10.0) < 1e-9
    assert abs(second.unknown["initial.q.pin"].start - second.data.columns["joints.pin"][0]) < 1e-9
    assert "load" in third.unknown


@pytest.mark.parametrize(
    ("data", "length", "said"),
    [
        ({"t": T, "bodies.tip.position.x": T}, 1.0, "has no coordinates of joints; expected columns such as"),
        ({"t": T, "joints.pin": T}, 0.03, "would have 2 rows; give a greater length"),
        ({"t": T, "joints.pin": T}, 0, "length is 0; expected a positive number of seconds"),
        ({"t": T, "joints.pin": np.where(T < 2, T, np.nan)}, 1.0, "joints.pin has 0 values; give a greater length"),
    ],
)
def test_data_that_cannot_be_cut(data, length, said):
    with pytest.raises(ValueError, match=said):
        ch.fit.pieces(data, length)


def test_experiments_with_the_same_values_share_models():
    """Each model is made once, also if a value is an array."""
    calls = []

    def counted(lower=0.8, damping=0.05):
        calls.append(lower)
        return upright(lower, damping)

    t = np.arange(0.0, 0.2, 0.02)
    one = {"set": {"initial.q.shoulder": np.array([0.1])}}
    given = [Experiment({"t": t, "joints.elbow": 0 * t}, **one) for _ in range(5)]
    counts = []
    for some in (given[:1], given):
        calls.clear()
        problem = problem_of(counted, some, {"lower": None}, {}, None, HOW)
        problem.jacobian(problem.start)
        counts.append(len(calls))
    assert counts[1] == counts[0]


def test_a_fit_ends_when_its_time_is_over(fallen):
    fit = ch.fit.to_data(upright, fallen, UNKNOWN, max_seconds=1e-3, **HOW)
    assert not fit.success
    assert "0.001 s were over (max_seconds), and these are the best values so far" in fit.message
    with pytest.raises(ValueError, match=r"max_seconds is 0; expected a positive number of seconds"):
        ch.fit.to_data(upright, fallen, UNKNOWN, max_seconds=0, **HOW)


def test_a_search_with_few_values_ends():
    """As few as tell the noise: no part of them does, so all of them are fitted from each start."""

    def swing(stiffness=12.0):
        return ch.System(
            [ch.Body("bob", 1.0, (0.3, 0, 0), (0.01, 0.01, 0.01))],
            [ch.revolute("pivot", "ground", "bob", **TURN, stiffness=stiffness)],
        )

    t = np.arange(20) * 0.075
    run, noise = ch.simulate(swing(2.0), (0, t[-1]), save=t, method="rk4", step=0.025), np.random.default_rng(0)
    angle, rate = (x[:, 0] + 1e-4 * noise.normal(size=len(t)) for x in (run.q, run.v))
    data = {"t": t, "joints.pivot": angle, "joints.pivot.velocity": rate}
    with patch("chasles.fit.solve.searched", wraps=searched) as search:
        fit = ch.fit.to_data(swing, data, {"stiffness": "0.1:40"}, max_seconds=60, method="rk4", step=0.025)
    assert search.call_count == 1
    assert "were over" not in fit.message
    assert fit.success
    assert abs(fit["stiffness"] - 2.0) < 5 * fit.deviations["stiffness"]


def test_an_interrupted_fit_keeps_the_best_values(fallen):
    left = [40]

    def interrupted(lower=0.8, damping=0.01):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return upright(lower, damping)

    short = {name: values[:40] for name, values in fallen.items()}
    fit = ch.fit.to_data(interrupted, short, UNKNOWN, **HOW)
    assert left[0] < 0
    assert not fit.success
    assert "it was interrupted, and these are the best values so far" in fit.message
    begun = problem_of(upright, [Experiment(short)], UNKNOWN, {}, None, HOW)
    sizes = [sum(np.sum(r * r) for r in one[0]) for one in (fit.residuals, begun.residuals(begun.start))]
    assert sizes[0] < 0.5 * sizes[1]


@pytest.mark.study
def test_the_command_cuts_pieces(tmp_path):
    """A pendulum upright whose clock began at 1 s; gravity and inertia tell its mass."""
    model, table, new = (tmp_path / name for name in ("rod.toml", "d.csv", "new.toml"))
    model.write_text(ROD)
    t = np.arange(1.0, 4.0, 0.02)
    angle = ch.load(model, set={"parameters.mass": 1.3}).run(save=t, span=(1.0, t[-1])).q[:, 0]
    table.write_text(
        "\n".join(["t,joints.pin [deg]", *(f"{a},{np.rad2deg(b)}" for a, b in zip(t, angle, strict=True))])
    )
    done = chasles("fit", str(model), str(table), "--unknown", "mass=0.1:5", "--pieces", "0.5", "-o", str(new))
    assert done.returncode == 0, done.stderr
    assert "experiment 6: initial.v.pin" in done.stdout
    study = ch.load(new)
    assert abs(study.parameters["mass"] - 1.3) < 1e-3
    assert abs(study.start()["v"]["pin"]) < 1e-3  # the file had no line for it


def test_a_model_that_was_fitted_under_inputs_is_written_without_them(tmp_path):
    """The recording is no part of the model, whose parameters stay in the file."""
    model, t = tmp_path / "rod.toml", np.arange(1.0, 2.0, 0.02)
    model.write_text(ROD)
    angle = ch.load(model, set={"parameters.mass": 1.3}).run(save=t, span=(1.0, t[-1])).q[:, 0]
    data = {"t": t, "joints.pin": angle, "inputs.pin": 0 * t}
    fit = ch.fit.to_data(model, data, {"mass": "0.1:5", "initial.v.pin": None})
    written = ch.load(fit.save(tmp_path / "new.toml"))
    assert written.system.forces == ()
    assert abs(written.parameters["mass"] - 1.3) < 1e-9


ROD = """
name = "rod"

[parameters]
mass = 1.0

[[bodies]]
name = "rod"
mass = "mass"
com = [0, 0, 0.5]
inertia = [0.1, 0.1, 0.01]

[[joints]]
name = "pin"
kind = "revolute"
parent = "ground"
child = "rod"
axis = [0, 1, 0]

[initial]
q.pin = 0.1

[simulation]
method = "rk4"
step = 0.01
span = [1, 4]
"""


def test_values_with_endless_simulations_are_passed_over():
    """A spring that a step of the search makes a million times as stiff, and a method that follows it."""

    def swing(power=1.0):
        return ch.System(
            [ch.Body("bob", 1.0, (0.3, 0, 0), (0.01, 0.01, 0.01))],
            [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0), stiffness=2.0 * 10.0**power)],
        )

    t = np.arange(0.0, 1.0, 0.02)
    angle = ch.simulate(swing(0.9), (0, t[-1]), save=t, rtol=1e-9, atol=1e-9).q[:, 0]
    problem = problem_of(swing, [Experiment({"t": t, "joints.pivot": angle})], {"power": None}, {}, None, {})
    problem.residuals(np.array([1.0]))
    with pytest.raises(ArithmeticError, match=r"max_evaluations"):
        problem.residuals(np.array([12.0]))
