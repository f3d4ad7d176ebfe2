"""One `solve` for all: every method by every problem, events and saved times where steps are fixed, wrong pairings."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.solver import solve


@ch.integrate.field
def spin(t, y, p, out):
    """A free rigid body with the inverse inertias p, as a field on so(3)*."""
    for k in range(3):
        out[k] = -p[k] * y[k]


def gradient(t, y, p):
    return p * y


def torque(t, q, p):
    return np.zeros(3)


def turning(t, y, p):
    """(ω, 0 - ω × π) with the inertia of a ball: on T*SO(3)."""
    return np.concatenate([y[4:], np.zeros(3)])


LIGHT = [1.0, 0.5, 0.25]
MOMENTUM = np.array([0.3, 1.0, -0.4])
POSE = np.array([1.0, 0, 0, 0, 0.3, 1.0, -0.4])
GENERATORS = np.array([[[0.0, -1.0], [1.0, 0.0]]])
# problem, method, start: each kind of run
CASES = {
    "explicit": (ch.integrate.LieODE(ch.integrate.Space("so3*"), spin, LIGHT), ch.integrate.RKMK("rk4"), MOMENTUM),
    "products": (
        ch.integrate.LieODE(ch.integrate.Space("so3*"), spin, LIGHT),
        ch.integrate.CommutatorFree("cf4"),
        MOMENTUM,
    ),
    "midpoint": (ch.integrate.LieODE(ch.integrate.Space("so3*"), spin, LIGHT), ch.integrate.LieMidpoint(), MOMENTUM),
    "gauss": (ch.integrate.LieODE(ch.integrate.Space("so3*"), spin, LIGHT), ch.integrate.Gauss(), MOMENTUM),
    "poisson": (
        ch.integrate.LiePoisson(ch.integrate.Space("so3*"), gradient, LIGHT),
        ch.integrate.LiePoissonMidpoint(),
        MOMENTUM,
    ),
    "theta": (ch.integrate.HamiltonianOnSO3(turning), ch.integrate.SymplecticTheta(), POSE),
    "composition": (
        ch.integrate.RigidBodyOnSO3((1.0, 2.0, 4.0), torque),
        ch.integrate.Composition(ch.integrate.LieVerlet()),
        POSE,
    ),
    "verlet": (ch.integrate.RigidBodyOnSO3((1.0, 2.0, 4.0), torque), ch.integrate.LieVerlet(), POSE),
    "moser": (ch.integrate.RigidBodyOnSO3((1.0, 2.0, 4.0), torque), ch.integrate.MoserVeselov(), POSE),
    "linear": (
        ch.integrate.LinearODE(lambda t: [[0, -1 - 0.1 * t], [1 + 0.1 * t, 0]]),
        ch.integrate.Magnus(4),
        [1.0, 0.2],
    ),
    "matrices": (
        ch.integrate.LieODE(ch.integrate.MatrixGroup(GENERATORS), lambda t, y, p: [1 + 0.1 * t]),
        ch.integrate.RKMK("rk4"),
        [1.0, 0.2],
    ),
    "frames": (
        ch.integrate.LieODE(ch.integrate.FrameSpace(lambda x, y: y + x, 2), lambda t, y, p: [-y[1], y[0]]),
        ch.integrate.CrouchGrossman("cg3"),
        [1.0, 0.2],
    ),
}
RUNS = pytest.mark.parametrize(("problem", "method", "y0"), CASES.values(), ids=CASES)


@RUNS
def test_every_kind_of_run_has_the_same_surface(problem, method, y0):
    run = solve(problem, method, (0.0, 2.0), y0, step=0.1, progress=False)
    assert run.success
    assert run.message == "reached the end"
    assert run.steps == 20
    assert run.t.shape == (21,)
    assert run.y.shape == (21, len(y0))
    assert run.evaluations > 0
    third = solve(problem, method, (0.0, 2.0), y0, step=0.1, save=3)
    np.testing.assert_array_equal(third.y, run.y[[0, 3, 6, 9, 12, 15, 18, 20]])
    final = solve(problem, method, (0.0, 2.0), y0, step=0.1, save="final")
    np.testing.assert_array_equal(final.y, run.y[[0, -1]])
    empty = solve(problem, method, (1.0, 1.0), y0, step=0.1)
    np.testing.assert_allclose(empty.y, [y0], atol=1e-16)
    assert empty.message == "the span is empty"
    back = solve(problem, method, (2.0, 0.0), run.y[-1], step=0.1)
    np.testing.assert_allclose(back.y[-1], y0, atol=2e-3)


@RUNS
def test_a_stopped_run_continues_to_the_same_bits(problem, method, y0):
    whole = solve(problem, method, (0.0, 2.0), y0, step=0.1)
    first = solve(problem, method, (0.0, 2.0), y0, step=0.1, max_steps=7)
    assert first.message == "stopped after 7 steps"
    assert not first.success
    rest = solve(problem, method, (0.0, 2.0), y0, step=0.1, resume=first.checkpoint)
    np.testing.assert_array_equal(np.concatenate([first.y, rest.y]), whole.y)
    np.testing.assert_array_equal(np.concatenate([first.t, rest.t]), whole.t)


@RUNS
def test_points_at_given_times(problem, method, y0):
    """Times of steps give the points of the steps; between them they are those of a finer run to the method's error."""
    times = np.array([0.0, 0.1, 0.25, 0.26, 1.0, 1.99, 2.0])
    chosen = solve(problem, method, (0.0, 2.0), y0, step=0.1, save=times)
    np.testing.assert_array_equal(chosen.t, times)
    steps = solve(problem, method, (0.0, 2.0), y0, step=0.1)
    np.testing.assert_allclose(chosen.y[[0, 1, 4, 6]], steps.y[[0, 1, 10, 20]], atol=1e-14)
    fine = solve(problem, method, (0.0, 2.0), y0, step=0.01, save=1)
    np.testing.assert_allclose(chosen.y, fine.y[np.rint(times / 0.01).astype(int)], atol=2e-3)
    with pytest.raises(ValueError, match="save every step instead"):
        chosen(0.5)
    for stop in (3, 17):  # before and after the last of the times
        early = times[times < 1.5]
        first = solve(problem, method, (0.0, 2.0), y0, step=0.1, save=early, max_steps=stop)
        rest = solve(problem, method, (0.0, 2.0), y0, step=0.1, save=early, resume=first.checkpoint)
        np.testing.assert_array_equal(np.concatenate([first.t, rest.t]), early)
    with pytest.raises(ValueError, match="in the order"):
        solve(problem, method, (0.0, 2.0), y0, step=0.1, save=[0.5, 0.2])


@RUNS
def test_events_are_located_and_end_runs(problem, method, y0):
    """At a time between steps, where the level is zero to rounding; the run is not disturbed."""
    alone = solve(problem, method, (0.0, 2.0), y0, step=0.1)
    k = int(np.argmax(abs(alone.y[7] - alone.y[6])))  # a coordinate that changes
    level = 0.5 * (alone.y[6, k] + alone.y[7, k])

    def passes(t, y, p):
        return y[k] - level

    grows = 1 if alone.y[7, k] > alone.y[6, k] else -1
    watched = solve(problem, method, (0.0, 2.0), y0, step=0.1, events=[ch.Event(passes, direction=grows)])
    np.testing.assert_array_equal(watched.y, alone.y)
    hit = next(e for e in watched.events if 0.6 < e.t < 0.7)
    assert abs(hit.y[k] - level) < 1e-13
    stop = ch.Event(lambda t, y, p: t - 0.6543, terminal=True, name="bell")
    for save in ("all", "final", 5):
        ended = solve(problem, method, (0.0, 2.0), y0, step=0.1, save=save, events=[stop])
        assert ended.success
        assert ended.message == "ended by the event 'bell'"
        assert ended.t[-1] == pytest.approx(0.6543, abs=1e-14)
        assert len(ended.t) == {"all": 8, "final": 2, 5: 3}[save]
        expected = solve(problem, method, (0.0, 0.7), y0, step=0.1, save=[0.6543]).y[-1]
        np.testing.assert_allclose(ended.y[-1], expected, atol=1e-5)
    ended = solve(problem, method, (0.0, 2.0), y0, step=0.1, save=[0.1, 0.65, 1.0], events=[stop])
    np.testing.assert_allclose(ended.t, [0.1, 0.65, 0.6543], atol=1e-14)  # the end is saved too
    broken = ch.Event(lambda t, y, p: np.nan if t > 0.45 else 1.0, name="broken")
    with pytest.raises(ValueError, match=r"event 'broken' is nan at t = 0\.5"):
        solve(problem, method, (0.0, 1.0), y0, step=0.1, events=[broken])


def test_compiled_events_and_curves_to_the_end_of_an_implicit_run():
    @ch.integrate.field
    def third(t, y, p, out):
        out[0] = y[2] + 0.9

    problem, method, y0 = CASES["gauss"]
    run = solve(problem, method, (0.0, 9.0), y0, step=0.1, events=[ch.Event(third, terminal=True)])
    assert abs(run.y[-1, 2] + 0.9) < 1e-13
    assert run.t[-1] < 9.0
    np.testing.assert_allclose(run(run.t[-1] - 1e-7), run.y[-1], atol=1e-6)
    assert run.checkpoint == {}  # nothing to go on with: the state behind is that of the whole step


def test_methods_that_know_no_structure_take_the_problem_as_an_ode():
    problem, _, y0 = CASES["theta"]
    run = solve(problem, ch.integrate.RKMK("dopri5"), (0.0, 1.0), y0, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        run.y, solve(problem.ode, ch.integrate.RKMK("dopri5"), (0.0, 1.0), y0, rtol=1e-9, atol=1e-9).y
    )


@pytest.mark.parametrize(
    ("problem", "method", "message"),
    [
        (
            "explicit",
            ch.integrate.SymplecticTheta(),
            "SymplecticTheta solves HamiltonianOnSO3, RigidBodyOnSO3, not this LieODE",
        ),
        (
            "explicit",
            ch.integrate.MoserVeselov(),
            "a LieODE is solved by RKMK, CommutatorFree, CrouchGrossman, LowStorage, Lie",
        ),
        ("explicit", ch.integrate.Magnus(), "Magnus solves LinearODE, not this LieODE"),
        ("poisson", ch.integrate.RKMK("rk4"), "a LiePoisson is solved by LieMidpoint, Gauss, LiePoissonMidpoint"),
        ("linear", ch.integrate.RKMK("rk4"), "a LinearODE is solved by Magnus, CommutatorFreeMagnus"),
        ("theta", ch.integrate.MoserVeselov(), "needs the inertia and the torque of a RigidBodyOnSO3"),
        ("matrices", ch.integrate.LieMidpoint(), "not this LieODE"),
        ("explicit", "rk4", "'rk4' is not a method; a LieODE is solved by RKMK"),
    ],
)
def test_wrong_pairings_say_what_would_fit(problem, method, message):
    equation, _, y0 = CASES[problem]
    with pytest.raises(TypeError, match=message):
        solve(equation, method, (0.0, 1.0), y0, step=0.1)


def test_what_is_no_problem_is_named():
    with pytest.raises(TypeError, match="str is not a problem; expected one of HamiltonianOnSO3, LieODE"):
        solve("top", ch.integrate.RKMK("rk4"), (0.0, 1.0), [1.0], step=0.1)


@pytest.mark.parametrize("case", [name for name in CASES if name not in ("explicit", "products")])
def test_tolerances_mean_nothing_to_fixed_steps(case):
    problem, method, y0 = CASES[case]
    with pytest.raises(ValueError, match="takes fixed steps, so rtol=1e-08 means nothing"):
        solve(problem, method, (0.0, 1.0), y0, rtol=1e-8)
    with pytest.raises(ValueError, match="step None; expected a positive number"):
        solve(problem, method, (0.0, 1.0), y0)
