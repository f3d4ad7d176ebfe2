"""Observed orders in positions, velocities and multipliers on a top with no symmetry and on the double pendulum."""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.systems import errors, multiplier_defect, run_of
from tests.absolute.systems import SPACES

# method, order, numbers of steps for the slow top and the double pendulum
METHODS = {
    "index 2": (ch.integrate.GeneralizedAlpha(0.8), 2, (100, 200), (200, 400)),
    "index 3": (ch.integrate.GeneralizedAlpha(0.8, index=3), 2, (100, 200), (200, 400)),
    "textbook, index 2": (ch.integrate.GeneralizedAlpha(0.6, local=False), 2, (100, 200), (200, 400)),
    "rho 0": (ch.integrate.GeneralizedAlpha(0.0), 2, (200, 400), (400, 800)),
    "BLieDF2": (ch.integrate.BLieDF(2), 2, (100, 200), (400, 800)),
    "BLieDF3": (ch.integrate.BLieDF(3), 3, (100, 200), (400, 800)),
    "BLieDF4": (ch.integrate.BLieDF(4), 4, (100, 200), (200, 400)),
    "BLieDF5": (ch.integrate.BLieDF(5, tolerance=1e-13), 5, (100, 200), (200, 400)),
    "RATTLE": (ch.integrate.Rattle(), 2, (50, 100), (200, 400)),
    "HEM3": (ch.integrate.HalfExplicit(3), 3, (40, 80), (100, 200)),
    "HEM4": (ch.integrate.HalfExplicit(4), 4, (40, 80), (200, 400)),
    "HEM5": (ch.integrate.HalfExplicit(5), 5, (40, 80), (50, 100)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("problem", ["slow", "pendulum"])
@pytest.mark.parametrize("name", METHODS)
def test_orders(name, problem, space):
    method, order, *counts = METHODS[name]
    coarse, fine = (np.array(errors(run_of(problem, space, method, n), problem)) for n in counts[problem == "pendulum"])
    assert (np.log2(coarse / fine) > order - 0.2).all(), np.log2(coarse / fine)


@pytest.mark.sample(1)
@pytest.mark.parametrize("problem", ["slow", "pendulum"])
@pytest.mark.parametrize(
    "method",
    [ch.integrate.GeneralizedAlpha(0.8), ch.integrate.GeneralizedAlpha(0.8, index=3), ch.integrate.BLieDF(3)],
    ids=str,
)
def test_multipliers_are_right_from_the_first_step(method, problem):
    coarse, fine = (multiplier_defect(problem, "SO3xR3", method, n) for n in (200, 400))
    assert np.log2(coarse / fine) > method.order - 0.2
    assert fine < 0.05
