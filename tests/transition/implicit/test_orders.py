"""Observed orders in positions, velocities and multipliers on a top with no symmetry, in all local coordinates."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.options import Options
from chasles.integrate.solver import start
from tests.transition.implicit.models import TOPS, errors, initial, run, top

METHODS = {
    "index 2": ch.integrate.GeneralizedAlpha(0.8),
    "index 3": ch.integrate.GeneralizedAlpha(0.8, index=3),
    "textbook, index 2": ch.integrate.GeneralizedAlpha(0.6, local=False),
    "textbook, index 3": ch.integrate.GeneralizedAlpha(0.6, index=3, local=False),
    "BLieDF2": ch.integrate.BLieDF(2),
    "BLieDF3": ch.integrate.BLieDF(3),
    "BLieDF4": ch.integrate.BLieDF(4, tolerance=1e-12),
    "BLieDF5": ch.integrate.BLieDF(5, tolerance=1e-13),
}
OTHERS = [  # absolute and local coordinates, representation
    ("rotation_vector", "rodrigues", "spatial"),
    ("euler:ZYX", "screw", "mixed"),
    ("screw", "wiener_milenkovic", "hybrid"),
    ("quaternion", "extended_rodrigues", "body"),
    ("quaternion", "extended_wiener_milenkovic", "body"),
]
ON_SE3 = ("screw", "extended_rodrigues", "extended_wiener_milenkovic")


def check(problem, method, steps=20, end=0.125):
    """On SE(3) the pivot holds by itself, and λ is right to rounding."""
    coarse, fine = (errors(run(problem, "slow", method, n, end), "slow") for n in (steps, 2 * steps))
    measured = slice(2) if problem.local in ON_SE3 else slice(3)
    assert (np.log2(coarse / fine)[measured] > method.order - 0.2).all(), np.log2(coarse / fine)
    if problem.local in ON_SE3:
        assert fine[2] < 1e-7


@pytest.mark.first(4)
@pytest.mark.parametrize("name", METHODS)
def test_orders(name):
    case = top("slow", "quaternion", "rotation_vector", "mixed")
    check(case, METHODS[name], *((60, 0.5) if name == "BLieDF5" else ()))


@pytest.mark.first(1)
@pytest.mark.parametrize("combination", OTHERS, ids=str)
def test_generalized_alpha_in_other_coordinates(combination):
    check(top("slow", *combination), METHODS["index 2"])


@pytest.mark.first(1)
@pytest.mark.parametrize("combination", [OTHERS[3], ("quaternion", "wiener_milenkovic", "mixed")], ids=str)
def test_bliedf_in_other_coordinates(combination):
    check(top("slow", *combination), METHODS["BLieDF3"])


@pytest.mark.study
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("combination", OTHERS, ids=str)
def test_orders_of_all_methods(combination, name):
    check(top("slow", *combination), METHODS[name], 200 if name == "BLieDF5" else 100, 0.5)


def multiplier_defect(problem, method, steps):
    """Largest difference between the method's multipliers and those of the index-1 equations, from the first step."""
    end, worst = TOPS["slow"][-1], 0.0
    going = start(problem, method, (0.0, end), initial(problem, "slow"), Options(step=end / steps))
    while going.steps < going.plan.steps // 2:  # later it only becomes smaller
        going.advance(1)
        best = problem.acceleration.accelerations(*problem.split(going.point()), going.time)[1]
        worst = max(worst, np.abs(going.multipliers - best).max() / np.abs(best).max())
    return worst


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("local", "name"),
    [
        *(("rotation_vector", name) for name in ("index 2", "index 3", "BLieDF3")),
        *(("rodrigues", name) for name in ("index 3", "textbook, index 3")),
    ],
)
def test_multipliers_are_right_from_the_first_step(local, name):
    case, method = top("slow", "quaternion", local, "mixed"), METHODS[name]
    coarse, fine = (multiplier_defect(case, method, n) for n in (32, 64))
    assert np.log2(coarse / fine) > method.order - 0.2
    assert fine < 0.01
