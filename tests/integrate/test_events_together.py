"""Events at one instant: all are reported, whatever their order in the list."""

import itertools

import numpy as np
import pytest

from chasles.integrate.event import Event, bracketed_zero
from chasles.integrate.gauss import LieMidpoint
from chasles.integrate.method import RKMK
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field


@field
def along(t, y, p, out):
    out[0] = 1.0


def passes(name, level, factor=1.0, terminal=False):
    return Event(lambda t, y, p: factor * (y[0] - level), name=name, terminal=terminal)


EVENTS = [
    passes("early", 0.3),
    passes("bell", 0.7),
    passes("end", 0.7, -3.0, terminal=True),
    passes("wall", 0.7, 0.1, terminal=True),
    passes("late", 0.9),
]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (RKMK("dopri5"), {}),
        (RKMK("rk4"), {"step": 0.11}),
        (RKMK("rk4"), {"step": 0.1}),
        (LieMidpoint(), {"step": 0.11}),
    ],
    ids=str,
)
def test_the_order_of_the_list_does_not_matter(method, options):
    problem = LieODE(Space("r1"), along)
    found = []
    for events in itertools.islice(itertools.permutations(EVENTS), 0, 120, 7):
        run = solve(problem, method, (0, 1), [0.0], events=events, **options)
        found.append(([o.event.name for o in run.events], [o.t for o in run.events], run.message, run.t[-1]))
    assert all(one == found[0] for one in found)
    names, times, message, end = found[0]
    assert names == ["early", "bell", "end", "wall"]
    assert message == "ended by the events 'end', 'wall'"
    assert times[1] == times[2] == times[3] == end
    np.testing.assert_allclose(times, [0.3, 0.7, 0.7, 0.7], rtol=1e-12)


def test_events_apart_are_not_together():
    near = passes("near", 0.7 * (1 - 1e-9)), passes("end", 0.7, terminal=True), passes("after", 0.7 * (1 + 1e-9))
    run = solve(LieODE(Space("r1"), along), RKMK("dopri5"), (0, 1), [0.0], events=near)
    assert [o.event.name for o in run.events] == ["near", "end"]
    assert run.message == "ended by the event 'end'"


@pytest.mark.parametrize(
    ("function", "high", "zero", "values"),
    [
        (np.cos, 2.5, np.pi / 2, 10),
        (np.cos, -2.5, -np.pi / 2, 10),
        (lambda x: np.exp(20 * x) - 5, 1.0, np.log(5) / 20, 25),
        (lambda x: np.sqrt(x) - 0.01, 1.0, 1e-4, 20),
        (lambda x: x - 1e-9, 1.0, 1e-9, 10),
        (lambda x: (x - 0.3) ** 7, 1.0, 0.3, 150),  # flat: a bisection
        (lambda x: 1.0 if x > 0.37 else -1e-6, 1.0, 0.37, 150),  # a jump
    ],
)
def test_a_zero_is_found_to_the_last_bits_on_its_far_side(function, high, zero, values):
    asked = []

    def noted(x):
        asked.append(x)
        return float(function(x))

    found = bracketed_zero(noted, 0.0, high, float(function(0.0)), float(function(high)))
    assert abs(found - zero) <= 8 * np.spacing(abs(zero))
    assert function(found) * function(high) >= 0.0
    assert len(asked) <= values
