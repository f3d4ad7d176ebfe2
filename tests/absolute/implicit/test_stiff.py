"""Stiff forces inside: built-in ones by formulas, laws by differences; few iterations at steps far above the period."""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.systems import run, stepper
from tests.absolute.systems import SPACES, bodies, frame

STIFF = 1e8  # [N/m]: periods of some 0.5 ms


@ch.law
def ground_spring(t, pose, twist, p, out):
    """A linear spring and damper from the body's origin to the origin of space; forces in space, hybrid."""
    for k in range(3):
        out[k] = -p[2] * twist[k]
        out[3 + k] = -p[0] * pose[4 + k] - p[1] * twist[3 + k]


def pair(stiffness: float, damping: float) -> ch.System:
    """Two bodies in a chain of spherical joints, tied to each other and to the ground."""
    rng = np.random.default_rng(4)
    joints = [
        ch.spherical("base", "ground", "one", at=frame(rng), child_at=frame(rng)),
        ch.spherical("elbow", "one", "two", at=frame(rng), child_at=frame(rng)),
    ]
    made = ch.System(bodies(rng, "one", "two"), joints)
    tree = ch.Mechanism(made)
    one, two = tree.poses(tree.neutral())
    length = np.linalg.norm(one[4:] - two[4:])
    springs = [
        ch.Spring("tie", ("one", "two"), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), stiffness, damping, float(length)),
        ch.Spring("rope", ("ground", "two"), ((1.0, 2.0, 0.5), (0.1, 0.2, 0.3)), 20.0, 0.1, 1.0),
    ]
    return ch.System(bodies(np.random.default_rng(4), "one", "two"), joints, forces=springs)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "method",
    [ch.integrate.GeneralizedAlpha(0.5), ch.integrate.BLieDF(2), ch.integrate.GeneralizedAlpha(0.5, index=3)],
    ids=str,
)
def test_a_stiff_spring_between_bodies(method, space):
    """Newton's method converges as fast as without the spring, and the spring acts as a rigid link does."""
    going = stepper(pair(STIFF, 1e4), 0.5, space, method, 5e-3, v=np.zeros(6))
    going.advance(100)
    assert going.evaluations() / 100 < 6.0
    stiff = run(pair(STIFF, 1e4), 0.5, space, method, 5e-3)
    gap = np.linalg.norm(stiff.poses[-1, 0, 4:] - stiff.poses[-1, 1, 4:])
    soft = pair(STIFF, 1e4)
    assert gap == pytest.approx(soft.forces[0].length, abs=1e-5)


@pytest.mark.parametrize("space", SPACES)
def test_a_stiff_law(space):
    body = ch.Body("one", 2.0, (0.1, 0.0, 0.0), (0.3, 0.4, 0.5))
    wrench = ch.Wrench("bed", "one", ground_spring, "hybrid", parameters=[1e7, 1e4, 1e3])
    system = ch.System([body], forces=[wrench])
    start = np.array([[1.0, 0.0, 0.0, 0.0, 1e-4, 0.0, 0.0]])
    twists = np.array([[0.3, 0.2, 0.1, 0.0, 0.0, 0.0]])
    found = run(system, 0.5, space, ch.integrate.GeneralizedAlpha(0.5), 1e-2, poses=start, twists=twists, save="all")
    assert found.solution.evaluations / 50 < 6.0
    assert found.poses[-1, 0, 6] == pytest.approx(-2.0 * 9.81 / 1e7, rel=1e-3)
    # the center is 0.1 m beside the spring, and only damping resists turning
    assert found.twists[-1, 0, :3] == pytest.approx([0.0, 2.0 * 9.81 * 0.1 / 1e3, 0.0], abs=2e-5)
