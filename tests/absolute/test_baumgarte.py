"""Baumgarte's stabilization with constants of the model."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.solver import solve
from tests.absolute.systems import SPACES, double_pendulum
from tests.absolute.test_orders import END, METHODS, error, run
from tests.absolute.test_orders import exact as exact

SPINS = np.array([10.0, 0.0, 0.0, 10 * np.pi - 10.0, 10 * np.pi, 20 * np.pi])


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", METHODS)
def test_constants_of_the_model_keep_the_order(name, space, exact):
    method, order, counts = METHODS[name]
    errors = np.array([error(run(space, "baumgarte", method=method, step=END / n), exact) for n in counts])
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders[-1] > order - 0.2


@pytest.mark.parametrize("space", SPACES)
def test_the_drift_is_damped(space):
    options = {"coordinates": "absolute", "space": space, "method": ch.integrate.RKMK("rk4"), "step": 2e-3, "save": 10}
    plain, damped, given = (
        ch.simulate(double_pendulum(), (0.0, 2.0), v=SPINS, **choice, **options).violations[0][-1].max()
        for choice in (
            {"stabilization": None},
            {"stabilization": "baumgarte"},
            {"stabilization": "baumgarte", "baumgarte": (50.0, 50.0)},
        )
    )
    assert damped < 0.05 * plain
    assert given < damped


def test_a_disturbance_dies_out_as_it_should():
    """g'' = -2 α g' - β² g: with α = β the violation is (g + (g' + α g) t) exp(-α t)."""
    mechanism = double_pendulum().compile("absolute", space="SO3xR3", baumgarte=(20.0, 20.0))
    tree = double_pendulum().compile()
    central, velocity = mechanism.state(tree.poses(tree.neutral()), tree.twists(tree.neutral(), SPINS))
    velocity[0, 3:] += (0.01, -0.02, 0.03)
    problem_run = ch.simulate(
        mechanism, (0.0, 0.2), poses=mechanism.poses(central), twists=tree.twists(tree.neutral(), SPINS),
        stabilization="baumgarte", method=ch.integrate.RKMK("dop853"), rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    assert problem_run.violations[0].max() < 1e-9
    dynamics = problem_run.dynamics
    y = dynamics.state(central, velocity, np.zeros(0))
    solution = solve(
        dynamics.problem(), ch.integrate.RKMK("dop853"), (0.0, 0.1), y, rtol=1e-11, atol=1e-12, save="final"
    )
    q, v, _ = dynamics.split(solution.y[-1])
    found = mechanism.rows(q, v)[0][0]
    expected = np.array([0.01, -0.02, 0.03]) * 0.1 * np.exp(-2.0)
    assert np.abs(found - expected).max() < 1e-9


def test_bad_constants_are_refused():
    for given, message in (((1.0,), "shape"), ((-1.0, 2.0), "not negative"), ((0.0, 0.0), "not negative")):
        with pytest.raises(ValueError, match=message):
            ch.simulate(
                double_pendulum(), (0.0, 1.0), coordinates="absolute", stabilization="baumgarte", baumgarte=given
            )
    with pytest.raises(ValueError, match='expected "projection", "baumgarte" or None'):
        ch.simulate(double_pendulum(), (0.0, 1.0), coordinates="absolute", stabilization="gear")
