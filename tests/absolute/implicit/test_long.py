"""Long runs: energy of RATTLE, the fast top, a falling chain."""

import numpy as np
import pytest

import chasles as ch
from benchmarks.constrained_speed import chain
from chasles.integrate import fixed_step
from tests.absolute.implicit.systems import BRULS_SPIN, SLOW_SPIN, SLOW_TURN, bruls_top, run, stepper
from tests.absolute.systems import SPACES, slow_top


@pytest.mark.parametrize(("space", "bound"), [("SO3xR3", 8.5e-3), ("SE3", 6.5e-3)])
def test_the_energy_of_rattle_does_not_drift(space, bound):
    """As large an error in the second half as in the first; constraints to rounding."""
    found = run(slow_top(), 400.0, space, ch.integrate.Rattle(), 0.02, SLOW_TURN, SLOW_SPIN, save="all")
    energy = found.energies.total
    off = np.abs(energy - energy[0]) / found.energies.kinetic[0]
    first, second = off[:10000].max(), off[10000:].max()
    assert second < bound
    assert second < 1.05 * first
    assert found.violations[0].max() < 1e-13
    assert found.violations[1].max() < 1e-13 * np.abs(found.twists).max()


@pytest.mark.study
def test_the_energy_of_rattle_over_a_million_steps():
    found = run(slow_top(), 2e4, "SO3xR3", ch.integrate.Rattle(), 0.02, SLOW_TURN, SLOW_SPIN, save=7)
    off = np.abs(found.energies.total - found.energies.total[0]) / found.energies.kinetic[0]
    tenth = len(off) // 10
    assert off[-tenth:].max() < 1.02 * off[:tenth].max()
    assert found.violations[0].max() < 1e-13
    assert found.violations[1].max() < 1e-13 * np.abs(found.twists).max()


def test_rattle_goes_back():
    """Symmetric: as many steps backwards lead to the start."""
    there = run(slow_top(), 1.0, "SO3xR3", ch.integrate.Rattle(1e-14), 0.02, SLOW_TURN, SLOW_SPIN)
    back = ch.simulate(
        slow_top(), (1.0, 0.0), coordinates="absolute", space="SO3xR3", method=ch.integrate.Rattle(1e-14), step=0.02,
        poses=there.poses[-1], twists=there.twists[-1], save="final",
    )  # fmt: skip
    assert np.abs(back.poses[-1] - slow_start()).max() < 1e-12


def slow_start():
    tree = ch.Mechanism(slow_top())
    return tree.poses(SLOW_TURN)


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("space", SPACES)
def test_ten_seconds_of_the_fast_top(space, rho):
    found = run(bruls_top(), 10.0, space, ch.integrate.GeneralizedAlpha(rho), 1e-3, v=BRULS_SPIN, save=100)
    energy = found.energies.total
    assert np.abs(energy - energy[0]).max() < (2e-3 if space == "SO3xR3" else 2e-2) * energy[0]
    assert found.solution.evaluations < 4.5 * 10_000
    assert found.violations[0].max() < 1e-12
    assert found.violations[1].max() < 1e-8 * 150.0


def test_a_chain_of_100_falls_and_whips():
    found = run(chain(100), 5.0, "SO3xR3", ch.integrate.GeneralizedAlpha(), 1e-3, save=100)
    balance, kinetic = found.energies.balance, found.energies.kinetic.max()
    assert found.success
    assert kinetic > 3e4
    assert np.abs(balance - balance[0]).max() < 1e-4 * kinetic
    assert (
        found.violations[0].max() < 1e-10 * 1e-3 * np.abs(found.twists).max()
    )  # what Newton's method leaves of a step
    assert found.violations[1].max() < 1e-8


def test_room_for_saved_points_is_made_as_they_come(monkeypatch):
    """A run of 1e12 steps begins, and one that has to make room saves the same points."""
    options = {"space": "SO3xR3", "method": ch.integrate.GeneralizedAlpha(), "step": 1e-3}
    long = stepper(bruls_top(), 1e9, **options, v=BRULS_SPIN, save="all")
    long.advance(10)
    assert long.steps == 10
    found = []
    for room in (1 << 28, 2000):
        monkeypatch.setattr(fixed_step, "ROOM", room)
        found.append(stepper(bruls_top(), 0.2, **options, v=BRULS_SPIN, save=3).finish(progress=False))
    np.testing.assert_array_equal(found[0].t, found[1].t)
    np.testing.assert_array_equal(found[0].y, found[1].y)
    assert len(found[0].t) == 1 + 67
