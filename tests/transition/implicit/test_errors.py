"""What is refused, what failures say, and what runs have in common with others: events, times, resuming, batches."""

import re

import numpy as np
import pytest

import chasles as ch
from tests.transition.implicit.models import initial, parts_of, top
from tests.transition.models import POSE, TWIST, problem

NAMES = ("mass", "forces", "jacobian", "bias", "constraint")


def changed(**parts):
    given = dict(zip(NAMES, parts_of("slow", "quaternion", False), strict=True)) | parts
    return ch.transition.LGTProblem(ch.transition.descriptor(**given))


DEFAULT = ch.integrate.GeneralizedAlpha()


def solve(case, method=DEFAULT, y0=None, **options):
    return ch.integrate.solve(
        case, method, (0.0, 0.1), initial(case, "slow") if y0 is None else y0, **({"step": 0.01} | options)
    )


@pytest.mark.parametrize(
    "method", [ch.integrate.GeneralizedAlpha(), ch.integrate.GeneralizedAlpha(index=3), ch.integrate.BLieDF(2)], ids=str
)
def test_constraints_of_positions_are_needed(method):
    with pytest.raises(ValueError, match=r"holds the constraints of positions.*descriptor\(\.\.\., constraint=g\)"):
        solve(changed(constraint=None), method)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"constraint": lambda q: q[0, 4:]}, r"do not belong together: along a twist V row \d of A V is"),
        ({"constraint": lambda q: np.zeros(2)}, "constraint gave 2 numbers; expected 3"),
        ({"jacobian": lambda q: np.zeros((3, 5))}, r"jacobian gave shape \(3, 5\); expected \(constraints, 6\)"),
        ({"mass": np.eye(5)}, r"mass matrix has shape \(5, 5\); expected \(6, 6\) for 1 bodies"),
        ({"forces": lambda q, v, t: np.zeros(5)}, "forces gave 5 numbers at t = 0; expected 6"),
        ({"derivatives": lambda q, v, t: np.eye(6)}, r"something else than ∂Q/∂q and ∂Q/∂V, each \(6, 6\)"),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        solve(changed(**parts))


def test_constraints_without_jacobian():
    with pytest.raises(ValueError, match=r"constraint g\(q\) without its jacobian"):
        ch.transition.descriptor(np.eye(6), lambda q, v, t: np.zeros(6), constraint=lambda q: np.zeros(1))


def test_starts_off_the_constraints():
    case = top("slow")
    for place, message in ((4, "row 0 by 0.001 in position"), (10, r"row . by .* and .* in velocity")):
        y0 = initial(case, "slow")
        y0[place] += 1e-3
        with pytest.raises(ValueError, match=message):
            solve(case, y0=y0)


def test_options_and_methods_that_do_not_fit():
    case = top("slow", local="rodrigues")
    for call, message in (
        (lambda: solve(case, step=None), "takes fixed steps; give step="),
        (lambda: solve(case, rtol=1e-6), "rtol=1e-06 means nothing to it"),
        (lambda: solve(case, ch.integrate.BLieDF(3, "first")), "'rodrigues' are none; take logarithms=\"exact\""),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match=r"Rattle needs masses and constraints.*also for an LGTProblem"):
        solve(top("slow"), ch.integrate.Rattle())
    with pytest.raises(ValueError, match="have none through them"):
        solve(case)(0.05)


def test_a_step_too_long_says_where_and_what_to_try():
    case = top("fast", "quaternion", "rotation_vector", "mixed")
    with pytest.raises(ch.errors.StepError) as caught:
        ch.integrate.solve(
            case, ch.integrate.GeneralizedAlpha(0.9, index=3), (0.0, 1.0), initial(case, "fast"), step=0.025
        )
    message = str(caught.value)
    assert re.search(r"Newton's iteration did not converge in step \d+ of 40, t = [\d.]+, h = 0.025", message)
    assert "corrections of velocities" in message
    assert "residual is that of constraint" in message
    assert "try a shorter step, or more damping (rho = 0.5), or index=2" in message
    assert len(caught.value.corrections) > 3
    assert caught.value.solution.t[0] == 0.0


def test_a_step_beyond_the_chart():
    case = ch.transition.LGTProblem(lambda q, v, t: np.zeros((2, 6)), local="rodrigues", bodies=2)
    y0 = case.state([[1.0, 0, 0, 0, 0, 0, 0]] * 2, [[0.1, 0, 0, 0, 0, 0], [0, 0, 40.0, 0, 0, 0]])
    with pytest.raises(
        ch.errors.ChartError, match=r"body 1 turns by 4 rad .* of 'rodrigues' coordinates ends at 3.14"
    ) as caught:
        ch.integrate.solve(case, ch.integrate.GeneralizedAlpha(), (0.0, 1.0), y0, step=0.1)
    assert caught.value.body == 1


def test_models_that_fail():
    def broken(q, v, t):
        raise KeyError("tire")

    def late(q, v, t):
        return np.full(6, np.nan if t > 0.05 else 0.0)

    y0 = problem().state(POSE, TWIST)
    with pytest.raises(KeyError, match="tire"):
        ch.integrate.solve(ch.transition.LGTProblem(broken), ch.integrate.GeneralizedAlpha(), (0.0, 0.1), y0, step=0.01)
    with pytest.raises(ch.errors.StepError, match="the field or an iterate is not finite in step 6 of 10") as caught:
        ch.integrate.solve(ch.transition.LGTProblem(late), ch.integrate.GeneralizedAlpha(), (0.0, 0.1), y0, step=0.01)
    assert len(caught.value.solution.t) == 6


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "method",
    [ch.integrate.GeneralizedAlpha(0.8), ch.integrate.BLieDF(3), ch.integrate.GeneralizedAlpha(0.8, index=3)],
    ids=str,
)
def test_ends_times_events_and_resuming(method):
    """The last step is shorter; points at times and events lie between the steps; a run goes on to the same bits."""
    case = top("slow", "quaternion", "rotation_vector", "mixed")
    start = (case, method, (0.0, 0.103), initial(case, "slow"))
    every = ch.integrate.solve(*start, step=0.005)
    assert every.t[-1] == 0.103
    assert len(every.t) == 22
    tight = {"rtol": 1e-12, "atol": 1e-12, "save": "final"}
    truth = ch.integrate.solve(case, ch.integrate.RKMK("dop853"), *start[2:], **tight).y[-1]
    assert np.abs(every.y[-1] - truth).max() < 2e-3
    level = every.y[15, 6]
    times = ch.integrate.solve(*start, step=0.005, save=[0.05, 0.0725, 0.103], events=[])
    assert np.abs(times.y[1] - every.y[14:16].mean(axis=0)).max() < 2e-2
    event = ch.Event(lambda t, y, p: y[6] - level, terminal=True, name="there")
    ended = ch.integrate.solve(*start, step=0.005, events=[event])
    assert abs(ended.t[-1] - 0.075) < 1e-3
    part = ch.integrate.solve(*start, step=0.005, max_steps=9)
    assert np.array_equal(ch.integrate.solve(*start, step=0.005, resume=part.checkpoint).y[-1], every.y[-1])


def test_velocities_onto_the_constraints():
    case = top("slow", "quaternion", "rotation_vector", "mixed")
    loose = ch.integrate.solve(
        case, ch.integrate.GeneralizedAlpha(tolerance=1e-4), (0.0, 0.05), initial(case, "slow"), step=0.005
    )
    method = ch.integrate.GeneralizedAlpha(tolerance=1e-4, project_velocity=True)
    found = ch.integrate.solve(case, method, (0.0, 0.05), initial(case, "slow"), step=0.005)
    rows = case.acceleration.rows_at
    off = [[np.abs(rows(q) @ v[0]).max() for q, v in zip(*case.split(sol.y), strict=True)] for sol in (loose, found)]
    assert max(off[0]) > 1e-12
    assert max(off[1]) < 1e-14


def test_batches():
    case = top("slow", "quaternion", "rotation_vector", "mixed")
    starts = np.stack([initial(case, "slow")] * 2)
    both = ch.integrate.solve_batch(case, ch.integrate.GeneralizedAlpha(), (0.0, 0.05), starts, step=0.01)
    assert np.array_equal(both[0].y, both[1].y)
