"""Constants that a compiled field takes from outside are taken as they are when a run begins, as those of laws."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate import RKMK, LieODE, Space, solve

RATE = 1.0


@ch.integrate.field
def pushed(t, y, p, out):
    out[5] = RATE


def test_a_field_is_compiled_again_when_a_constant_changed_and_only_then(monkeypatch):
    """Counted without a compiler; each kind of numbers has its own code."""
    made = []
    field = ch.integrate.field(pushed.function)
    monkeypatch.setattr(field._addresses, "_make", lambda lanes: made.append((lanes, RATE)) or len(made))
    assert [field.address, field.address, field.lanes_address, field.address] == [1, 1, 2, 1]
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert [field.address, field.address, field.lanes_address] == [3, 3, 4]
    assert made == [(False, 1.0), (True, 1.0), (False, 3.0), (True, 3.0)]


@pytest.mark.study
def test_a_constant_that_changed_is_taken_as_it_is_now(monkeypatch):
    """As a field on R6, and as the acceleration of a body, of a problem that was made before."""
    problem = ch.transition.LGTProblem(pushed)
    rest = problem.state([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6))
    old = problem.ode
    for rate in (1.0, 3.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert solve(LieODE(Space("r6"), pushed), RKMK("rk4"), (0, 1), np.zeros(6), step=0.1).y[-1, 5] == (
            pytest.approx(rate, rel=1e-12)
        )
        assert problem.split(solve(problem, RKMK("rk4"), (0, 1), rest, step=0.1).y[-1])[1][0, 5] == (
            pytest.approx(rate, rel=1e-12)
        )
        out = np.ones(6)
        pushed(0.0, np.zeros(6), np.zeros(0), out)
        assert out.tolist() == [0, 0, 0, 0, 0, rate]
    end = solve(old, RKMK("rk4"), (0, 1), rest, step=0.1).y[-1]
    assert problem.split(end)[1][0, 5] == pytest.approx(1.0, rel=1e-12)  # has the address of what was compiled then
