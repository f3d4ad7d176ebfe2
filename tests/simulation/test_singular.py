"""Runs that come to a singular configuration: they pass it with their energy, or say that they did not."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.closed.energy_jumps import without_jumps
from chasles.simulation.states import States

BASE, PLATE, ARM, ROD, WIDTH, MASS = 0.2, 0.06, 0.3, 0.7, 0.05, 0.8
PARALLEL = np.arccos((PLATE - BASE) / ARM)  # the angle of the arms at which all rods hang down: BASE + ARM cos = PLATE


def delta() -> tuple[ch.System, dict[str, list[float]]]:
    """Three arms that carry a platform by three pairs of rods, and the start with the arms out."""
    bodies, joints = [ch.Body("plate", 1.0, (0, 0, 0), (0.002, 0.002, 0.003))], []
    rods = []
    for k in range(3):
        a = 2 * np.pi * k / 3
        c, s = np.cos(a), np.sin(a)
        bodies.append(ch.Body(f"arm {k}", MASS, (ARM / 2, 0, 0), (1e-3, MASS * ARM**2 / 12, MASS * ARM**2 / 12)))
        at = (np.cos(a / 2), 0, 0, np.sin(a / 2), BASE * c, BASE * s, 0)
        joints.append(ch.revolute(f"motor {k}", "ground", f"arm {k}", axis=(0, 1, 0), at=at, damping=0.05))
        for side, w in (("left", -WIDTH), ("right", WIDTH)):
            points = ((ARM, w, 0), (PLATE * c - w * s, PLATE * s + w * c, 0))
            rods.append(ch.Distance(f"{side} rod {k}", (f"arm {k}", "plate"), points, ROD))
    joints.append(ch.free("flight", "ground", "plate"))
    down = -np.sqrt(ROD**2 - (BASE + ARM - PLATE) ** 2)
    return ch.System(bodies, joints, constraints=rods, name="delta"), {"flight": [1, 0, 0, 0, 0, 0, down]}


def kept(run) -> bool:
    return np.ptp(run.energies.balance) < 1e-4 * run.energies.kinetic.max()


def test_a_jump_of_the_energy_is_reported_where_the_rods_are_parallel_and_nowhere_else():
    """Equal steps pass the singular configuration. Then velocities that change there, as if it had not been passed, are
    found, and those that change elsewhere are none of its business."""
    system, start = delta()
    run = ch.simulate(system, (0.0, 0.4), q=start, method="rk4", step=1e-3, certificate=False)
    angle = np.abs(run.joint("motor 0").q[:, 0])
    assert run.success
    assert kept(run)
    assert angle[-1] > PARALLEL + 0.1  # it is through
    at = int(np.searchsorted(angle, PARALLEL))
    for place, found in ((at, True), (at // 2, False)):
        y = run.solution.y.copy()
        y[place:, run.dynamics.nq : -1] *= 1.001
        told = without_jumps(run.dynamics, replace(run.solution, y=y))
        assert told.success is not found
        if found:
            assert f"at t = {run.t[at - 1]:.6g} s the energy jumps" in told.message
            assert "'left rod 0'" in told.message


@pytest.mark.filterwarnings("ignore:solve:RuntimeWarning")
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_steps_that_follow_the_error_pass_or_say_that_they_did_not(coordinates):
    system, start = delta()
    run = ch.simulate(system, (0.0, 0.4), q=start, coordinates=coordinates, certificate=False)
    assert (run.success and kept(run)) or "singular configuration" in run.message


def test_a_step_that_fails_there_says_why():
    system, start = delta()
    options = {"coordinates": "absolute", "q": start, "certificate": False}
    with pytest.raises(ch.errors.StepError, match=r"near a singular configuration: .*'motor 1'") as found:
        ch.simulate(system, (0.0, 0.4), method="generalized_alpha", step=1e-3, **options)
    before = States(ch.simulate(system, (0.0, 1e-3), step=1e-3, **options).dynamics, found.value.solution)
    assert np.abs(before.joint("motor 2").q[-1]) == pytest.approx(PARALLEL, abs=0.02)
