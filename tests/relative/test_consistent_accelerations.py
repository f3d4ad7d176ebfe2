"""Accelerations on the constraints, nearest to given ones: against the conditions of the minimum, in both kinds of
coordinates."""

import numpy as np
import pytest

import chasles as ch
from tests.relative import closed


@pytest.mark.parametrize("system", [closed.four_bar, closed.rssr], ids=["four-bar", "RSSR"])
def test_nearest_in_the_metric_of_the_masses(system):
    m, rng = system().compile(), np.random.default_rng(0)
    q = m.assemble()
    v = m.consistent_velocities(q, rng.normal(size=m.nv))
    given = rng.normal(size=m.nv)
    a = m.consistent_accelerations(q, v, given)
    rows = m.constraint_rows(q, v)
    size = np.abs(rows.right).max() + 1.0
    assert np.abs(rows.jacobian @ a - rows.right).max() < 1e-11 * size
    free = np.linalg.svd(rows.jacobian)[2][np.linalg.matrix_rank(rows.jacobian, rtol=1e-9) :]
    assert np.abs(free @ m.mass_matrix(q) @ (a - given)).max() < 1e-10
    first = m.joints[0]
    kept = m.consistent_accelerations(q, v, given, held=[first])
    assert kept[m.tree.velocities[first]] == given[m.tree.velocities[first]]
    assert np.abs(rows.jacobian @ kept - rows.right).max() < 1e-10 * size
    assert np.abs(m.consistent_accelerations(q, v, a) - a).max() < 1e-11 * size


def test_in_absolute_coordinates():
    """The same motion, given by the accelerations of the bodies."""
    system, rng = closed.four_bar(), np.random.default_rng(0)
    m = system.compile()
    q = m.assemble()
    v = m.consistent_velocities(q, rng.normal(size=m.nv))
    wanted = m.consistent_accelerations(q, v, np.zeros(m.nv))
    poses, twists = m.poses(q), m.twists(q, v)
    bodies = system.compile("absolute", space="SE3").examined(poses)
    central, velocity = bodies.state(poses, twists)
    exact = bodies.accelerations_under(central, velocity)
    assert np.abs(bodies.consistent_accelerations(central, velocity, exact) - exact).max() < 1e-9
    other = bodies.consistent_accelerations(central, velocity, exact + rng.normal(size=exact.shape))
    assert np.abs(bodies.consistent_accelerations(central, velocity, other) - other).max() < 1e-9
    assert np.isfinite(wanted).all()


def test_what_is_refused():
    m = closed.four_bar().compile()
    q = m.assemble()
    with pytest.raises(ch.errors.AssemblyError, match="assemble them first"):
        m.consistent_accelerations(q + 0.1, np.zeros(3), np.zeros(3))
    with pytest.raises(ch.errors.AssemblyError, match="no accelerations with those of 'A', 'B' as given"):
        m.consistent_accelerations(q, np.zeros(3), [1.0, 5.0, 0.0], held=["A", "B"])
