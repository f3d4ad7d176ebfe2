"""Times at which a run begins anew, the longest step, and the limit of evaluations, against closed forms."""

import numpy as np
import pytest

from chasles.integrate.event import Event
from chasles.integrate.gauss import LieMidpoint
from chasles.integrate.method import RKMK, CommutatorFree
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field


@field
def kicked(t, y, p, out):
    """x'' = -x + 10 while p[0] <= t < p[1] (or p[0] < t <= p[1] if p[2] > 0)."""
    on = p[0] < t <= p[1] if p[2] > 0.0 else p[0] <= t < p[1]
    out[0] = y[1]
    out[1] = -y[0] + (10.0 if on else 0.0)


def position(t, begin, end):
    """The motion from rest: a constant force from begin to end."""
    t = np.asarray(t)
    return np.where(t > begin, 10 - 10 * np.cos(t - begin), 0.0) - np.where(t > end, 10 - 10 * np.cos(t - end), 0.0)


def run(method, stops, begin=2.0, end=3.1, late=0.0, span=(0.0, 10.0), **options):
    problem = LieODE(Space("r2"), kicked, np.array([begin, end, late]))
    return solve(problem, method, span, [0.0, 0.0], stops=stops, **options)


@pytest.mark.parametrize("late", [0.0, 1.0])
@pytest.mark.parametrize(
    ("method", "options", "limit"),
    [
        (RKMK("dopri5"), {"rtol": 1e-9, "atol": 1e-11}, 2e-8),
        (CommutatorFree("cf43"), {"rtol": 1e-8, "atol": 1e-10}, 2e-7),
        (RKMK("rk4"), {"step": 0.037}, 4e-6),
        (RKMK("dopri5"), {"step": 0.1}, 4e-6),
    ],
    ids=str,
)
def test_a_jump_at_a_stop_costs_nothing(method, options, limit, late):
    """The force on either side of the jump is that of its side, whichever side the jump itself belongs to."""
    found = run(method, [3.1, 2.0], late=late, **options)
    assert abs(found.y[:, 0] - position(found.t, 2.0, 3.1)).max() < limit
    assert {2.0, 3.1} <= set(found.t)
    if options.get("step"):
        assert abs(run(method, None, late=late, **options).y[:, 0] - position(found.t[-1], 2.0, 3.1))[-1] > 100 * limit
    between = np.linspace(0, 10, 777)
    curve = 1e-5 if options.get("rtol") == 1e-9 else 1e-4
    assert abs(found(between)[:, 0] - position(between, 2.0, 3.1)).max() < curve  # also just after the jumps


def test_a_stop_makes_a_step_that_none_would_take():
    """A kick of 0.05 s in the midst of a step of a field that is zero before."""
    blind = run(RKMK("dopri5"), None, 5.0, 5.05)
    seen = run(RKMK("dopri5"), [5.0, 5.05], 5.0, 5.05)
    assert abs(blind.y[-1, 0]) == 0.0
    assert abs(seen.y[-1, 0] - position(10.0, 5.0, 5.05)) < 1e-6
    at_times = run(RKMK("dopri5"), [5.0, 5.05], 5.0, 5.05, save=np.linspace(0, 10, 101))
    assert abs(at_times.y[:, 0] - position(at_times.t, 5.0, 5.05)).max() < 1e-6


def test_stops_backwards_and_at_the_ends():
    ahead = run(RKMK("dopri5"), [0.0, 2.0, 3.1, 10.0], 0.0, 3.1, late=1.0, rtol=1e-10, atol=1e-12)
    assert abs(ahead.y[-1, 0] - position(10.0, 0.0, 3.1)) < 1e-8
    problem = LieODE(Space("r2"), kicked, np.array([0.0, 3.1, 1.0]))
    back = solve(problem, RKMK("dopri5"), (10.0, 0.0), ahead.y[-1], stops=[0.0, 3.1], rtol=1e-10, atol=1e-12)
    assert abs(back.y[-1]).max() < 1e-8


def test_stops_outside_of_the_span_and_nearly_equal_ones_do_not_matter():
    several = [-1.0, 2.0, np.nextafter(2.0, 3), np.nextafter(2.0, 0), 3.1, 10.0 - 1e-15, 12.0]
    one, other = run(RKMK("dopri5"), [2.0, 3.1]), run(RKMK("dopri5"), several)
    assert other.success
    assert abs(one.y[-1] - other.y[-1]).max() < 1e-7


@pytest.mark.parametrize("options", [{}, {"step": 0.037}], ids=str)
def test_resuming_at_any_step_gives_the_same_bits(options):
    method = RKMK("dopri5")
    whole = run(method, [2.0, 3.1], **options)
    for steps in (1, int(np.searchsorted(whole.t, 2.0)), int(np.searchsorted(whole.t, 2.0)) + 1, whole.steps - 1):
        part = run(method, [2.0, 3.1], max_steps=steps, **options)
        rest = run(method, [2.0, 3.1], resume=part.checkpoint, **options)
        np.testing.assert_array_equal(np.concatenate([part.t, rest.t]), whole.t)
        np.testing.assert_array_equal(rest.y[-1], whole.y[-1])


def test_an_event_just_after_a_stop():
    event = Event(lambda t, y, p: y[0] - 1e-3, terminal=True, name="moved")
    problem = LieODE(Space("r2"), kicked, np.array([2.0, 3.1, 0.0]))
    found = solve(problem, RKMK("dopri5"), (0, 10), [0.0, 0.0], stops=[2.0, 3.1], events=[event])
    assert abs(found.t[-1] - (2.0 + np.arccos(1 - 1e-4))) < 1e-9


def test_no_step_is_longer_than_asked():
    long, short = run(RKMK("dopri5"), None), run(RKMK("dopri5"), None, max_step=0.05)
    assert np.diff(long.t).max() > 0.1
    assert np.diff(short.t).max() <= 0.05 * (1 + 1e-12)
    assert run(RKMK("dopri5"), None, 5.0, 5.05, max_step=0.02).y[-1, 0] == pytest.approx(
        float(position(10.0, 5.0, 5.05)), abs=1e-4
    )


def test_a_limit_of_evaluations_ends_a_run():
    for options in ({}, {"step": 1e-3}):
        found = run(RKMK("dopri5"), None, max_evaluations=300, **options)
        assert not found.success
        assert "max_evaluations" in found.message
        assert 300 <= found.evaluations <= 307
        assert 0 < found.t[-1] < 10
    assert run(RKMK("dopri5"), None, max_evaluations=10**9).success


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="max_step"):
        run(RKMK("rk4"), None, step=0.1, max_step=0.1)
    with pytest.raises(ValueError, match="stops"):
        run(RKMK("dopri5"), [np.nan])
    with pytest.raises(ValueError, match="max_evaluations"):
        run(RKMK("dopri5"), None, max_evaluations=0)
    with pytest.raises(ValueError, match="stops are for"):
        run(LieMidpoint(), [1.0], step=0.1)
