"""Nobody changes a run by what it shows."""

import numpy as np
import pytest

import chasles as ch

ARRAYS = ("t", "q", "v", "a", "inputs", "poses", "twists", "accelerations")


def pendulum():
    rod = ch.Body("rod", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.01))
    return ch.System([rod], [ch.revolute("pin", "ground", "rod", axis=(0, 1, 0))])


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_arrays_of_a_run_cannot_be_written_to(coordinates):
    run = ch.simulate(pendulum(), (0, 0.1), {"pin": 0.3}, coordinates=coordinates, control=[0.1])
    before = run.solution.y.copy()
    shown = [(part, name) for part in (run, run(0.05)) for name in ARRAYS]
    for part, name in shown:
        with pytest.raises(ValueError, match="read-only"):
            getattr(part, name)[...] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        run.energies.kinetic[0] = 7.0
    own = run.q.copy()
    own[0] = 7.0
    assert np.array_equal(run.solution.y, before)


def test_what_is_shown_serves_as_an_argument():
    run = ch.simulate(pendulum(), (0, 0.1), {"pin": 0.3})
    mechanism, q, v = run.mechanism, run.q, run.v
    assert np.array_equal(mechanism.poses(q[-1]), mechanism.poses(q[-1].copy()))
    assert np.array_equal(
        mechanism.forward_dynamics(q, v, 0 * v), mechanism.forward_dynamics(q.copy(), v.copy(), 0 * v)
    )
    again = ch.simulate(mechanism, (0, 0.1), q[-1], v[-1])
    assert np.array_equal(again.q[0], q[-1])
