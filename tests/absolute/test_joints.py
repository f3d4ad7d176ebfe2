"""Every joint in absolute coordinates against the same system in joint coordinates."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from tests.absolute.systems import JOINTS, SPACES, joined


def state_of(system, seed=1):
    tree = system.compile()
    rng = np.random.default_rng(seed)
    return tree, tree.random(rng), rng.uniform(-1.0, 1.0, tree.nv)


def expected_accelerations(tree, mechanism, q, v):
    """Derivatives of the velocities of the central frames in their spaces, from joint coordinates."""
    back = pose.inverse(mechanism.central)
    a = pose.Ad_apply(back, tree.accelerations(q, v, tree.accelerations_under(q, v)))
    twist = pose.Ad_apply(back, tree.twists(q, v))
    turn = quaternion_to_matrix(pose.compose(tree.poses(q), mechanism.central)[:, :4])
    for i, name in enumerate(mechanism.bodies):
        if mechanism.spaces[name] == "SO3xR3":
            a[i, 3:] = turn[i] @ (a[i, 3:] + np.cross(twist[i, :3], twist[i, 3:]))
    return a


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("between", [False, True], ids=["to ground", "between bodies"])
@pytest.mark.parametrize("kind", list(JOINTS))
def test_accelerations_are_those_of_joint_coordinates(kind, between, space):
    system = joined(kind, between)
    mechanism = system.compile("absolute", space=space)
    for seed in range(5):
        tree, q, v = state_of(system, seed)
        v *= 3.0
        state = mechanism.state(tree.poses(q), tree.twists(q, v))
        found = mechanism.accelerations_under(*state)
        expected = expected_accelerations(tree, mechanism, q, v)
        assert np.abs(found - expected).max() < 1e-12 * (1.0 + np.abs(expected).max())
        position, speed, _ = mechanism.constraint_violation(*state)
        assert max(position.max(), speed.max()) < 1e-14


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("between", [False, True], ids=["to ground", "between bodies"])
@pytest.mark.parametrize("kind", list(JOINTS))
def test_simulations_agree_with_joint_coordinates(kind, between, space):
    system = joined(kind, between)
    _, q, v = state_of(system)
    options = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-11, "atol": 1e-11, "save": "final"}
    relative = ch.simulate(system, (0.0, 0.5), q, v, **options)
    absolute = ch.simulate(system, (0.0, 0.5), q, v, coordinates="absolute", space=space, **options)
    poses = relative.mechanism.poses(relative.q[-1])
    twists = relative.mechanism.twists(relative.q[-1], relative.v[-1])
    off = pose_group.log(pose_group.compose(pose_group.inverse(poses), absolute.poses[-1]))
    assert np.abs(off).max() < 1e-9
    assert np.abs(twists - absolute.twists[-1]).max() < 1e-9
    assert (
        np.abs(
            relative.energies.springs[-1]
            + relative.energies.kinetic[-1]
            - absolute.energies.springs[-1]
            - absolute.energies.kinetic[-1]
        )
        < 1e-9
    )
