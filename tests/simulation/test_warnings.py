"""Warnings point at the line of the user's program, however deep in chasles they are raised."""

import inspect
import linecache
import warnings

import numpy as np
import pytest

import chasles as ch
from chasles import caution
from tests.relative import closed


def told(function) -> list[tuple[str, str]]:
    """File and text of the line of each warning that a call leads to."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [(item.filename, linecache.getline(item.filename, item.lineno)) for item in found]


def falling_up() -> ch.System:
    """A body whose force grows without bound: no step is short enough."""

    @ch.law
    def blow_up(t, q, v, p, out):
        out[0] = 1.0 / max(1.0 - t, 0.0) ** 2 if t < 1.0 else np.inf

    rod = ch.Body("rod", 1.0, inertia=(0.1, 0.1, 0.1))
    hinge = ch.revolute("hinge", "ground", "rod", axis=(0, 0, 1))
    return ch.System([rod], [hinge], forces=[ch.JointForce("push", "hinge", blow_up)])


def test_a_run_that_breaks_off_is_told_at_the_call_of_simulate():
    system = falling_up()

    def user():
        ch.simulate(system, (0, 2))  # the line of the user

    assert set(told(user)) == {(__file__, inspect.getsource(user).splitlines(True)[1])}


def test_a_solve_that_breaks_off_is_told_at_the_call_of_solve():
    problem = ch.integrate.LieODE(ch.integrate.Space("r1"), lambda t, y, p: y**2)

    def user():
        ch.integrate.solve(problem, ch.integrate.RKMK("dopri5"), (0, 2), [1.0], rtol=1e-6, atol=1e-6)  # y = 1/(1 - t)

    assert told(user) == [(__file__, inspect.getsource(user).splitlines(True)[1])]


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_start_that_is_changed_is_told_at_the_call_of_simulate(coordinates):
    system = closed.four_bar()
    q, v = closed.four_bar_state(system.compile(), 1.1, 3.0)

    def user():
        ch.simulate(system, (0, 0.01), q, 2 * v + 1, coordinates=coordinates, assemble=True)

    assert told(user) == [(__file__, inspect.getsource(user).splitlines(True)[1])]


def test_the_line_is_the_innermost_one_outside_of_chasles():
    """Also through code that is compiled from text inside of the package, as a notebook's cell would be outside."""
    inside = compile(
        "def f():\n    from chasles import caution\n    caution.warn('x')\n", caution.OWN + "made.py", "exec"
    )
    space: dict = {"__name__": "chasles.made"}
    exec(inside, space)
    cell = compile("def user():\n    f()\n", "<cell 1>", "exec")
    outside = {"__name__": "__main__", "f": space["f"]}
    exec(cell, outside)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        outside["user"]()
    assert [(item.filename, item.lineno) for item in found] == [("<cell 1>", 2)]
