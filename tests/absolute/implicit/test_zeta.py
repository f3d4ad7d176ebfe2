"""What moves positions onto the constraints is found in each step; where it began does not matter."""

import numpy as np
import pytest

from chasles.constrained.run import ConstrainedStepper
from chasles.integrate.constrained_method import BLieDF, GeneralizedAlpha
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.absolute.systems import double_pendulum
from tests.simulation.test_sensitivities_closed import rolling


@pytest.mark.parametrize("method", [GeneralizedAlpha(index=2, tolerance=1e-13), BLieDF(3, tolerance=1e-13)], ids=str)
@pytest.mark.parametrize(("space", "rolls"), [("SO3xR3", True), ("SE3", True), ("SO3xR3", False)])
def test_steps_do_not_depend_on_where_zeta_begins(method, space, rolls):
    """Of a disc that rolls, which has equations between velocities alone, and of rods on spherical joints."""
    system = rolling() if rolls else double_pendulum()
    dynamics = BodyDynamics(system, space, projected=True)
    start = dynamics.start(0.0, None, None, None, None, rolls)
    ends, rng = [], np.random.default_rng(3)
    for size in (0.0, 1e-3):
        stepper = ConstrainedStepper(dynamics, method, (0.0, 0.2), start, Options(step=0.01))
        for _ in range(15):
            stepper.advance(1)
            zeta = stepper.state.zeta
            zeta += size * np.abs(zeta).max() * rng.normal(size=zeta.shape)
        ends.append(stepper.point())
    moved = np.abs(ends[0] - start).max()
    assert moved > 0.05
    assert np.abs(ends[1] - ends[0]).max() < 1e-11 * moved
