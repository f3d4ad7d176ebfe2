"""Derivatives against Pinocchio's, whose tangent is the same but for the order of a free joint's velocities."""

import numpy as np
import pytest

from chasles.validation.pinocchio_tree import SWAP, PinocchioTree
from tests.relative.zoo import MOVING, deviation, state

pytest.importorskip("pinocchio")
NAMES = [name for name in MOVING if name != "geared"]  # rotors are no part of its derivatives
TOLERANCE = 1e-11
SECOND_TOLERANCE = 1e-10  # its Python interface has no second derivatives: they are differenced


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    return MOVING[request.param], PinocchioTree(MOVING[request.param])


def both_ways(peer: PinocchioTree, matrix: np.ndarray) -> np.ndarray:
    """Rows and columns of a matrix of Pinocchio in the order of chasles."""
    return peer.back(peer.back(np.array(matrix)).T).T


def wrenches_of(peer: PinocchioTree, wrenches: np.ndarray):
    """Wrenches on bodies as forces on the joints of Pinocchio: they act on the links, in their frames."""
    pin, mechanism = peer.pin, peer.mechanism
    forces = pin.StdVec_Force()
    for _ in range(peer.model.njoints):
        forces.append(pin.Force.Zero())
    for frame in peer.model.frames:
        if frame.type == pin.FrameType.BODY:
            k = mechanism.bodies.index(frame.name)
            force = pin.Force(wrenches[k][SWAP])
            forces[frame.parentJoint] = forces[frame.parentJoint] + frame.placement.act(force)
    return forces


def with_bodies(peer: PinocchioTree) -> PinocchioTree:
    """Frames for all bodies, where their wrenches act."""
    from chasles.lie import pose

    pin, mechanism = peer.pin, peer.mechanism
    q = mechanism.neutral()
    pin.forwardKinematics(peer.model, peer.data, peer.q(q))
    last = {joint.child: joint for joint in mechanism.tree.joints}
    poses = dict(zip(mechanism.bodies, mechanism.poses(q), strict=True))
    carrier = {"ground": 0}
    joint_index = 0
    for joint in mechanism.tree.joints:
        joint_index += len(joint.screws) if joint.screws else int(joint.kind in ("spherical", "free"))
        carrier[joint.child] = joint_index if joint.nv else carrier[joint.parent]
    for name in last:
        matrix = pose.to_matrix(poses[name])
        place = peer.data.oMi[carrier[name]].actInv(pin.SE3(matrix[:3, :3], matrix[:3, 3]))
        peer.model.addFrame(pin.Frame(name, carrier[name], 0, place, pin.FrameType.BODY))
    peer.data = peer.model.createData()
    return peer


def test_inverse_and_forward_dynamics(pair):
    mechanism, peer = pair
    pin, model, data = peer.pin, peer.model, peer.data
    for seed in range(5):
        q, v, x = state(mechanism, 400 + seed)
        expected = pin.computeRNEADerivatives(model, data, peer.q(q), peer.v(v), peer.v(x))
        found = mechanism.derivatives.inverse_dynamics(q, v, x)
        for ours, theirs in zip(found, expected, strict=True):
            assert deviation(ours, both_ways(peer, theirs)) < TOLERANCE
        expected = pin.computeABADerivatives(model, data, peer.q(q), peer.v(v), peer.v(x))
        found = mechanism.derivatives.forward_dynamics(q, v, x)
        for ours, theirs in zip(found, expected, strict=True):
            assert deviation(ours, both_ways(peer, theirs)) < 1e-9  # the mass matrices have conditions up to 1e4


def test_wrenches_on_bodies(pair):
    mechanism, _ = pair
    peer = with_bodies(PinocchioTree(mechanism))
    pin, model, data = peer.pin, peer.model, peer.data
    q, v, x = state(mechanism, 410)
    wrenches = np.random.default_rng(4).normal(size=(len(mechanism.bodies), 6))
    forces = wrenches_of(peer, wrenches)
    tau = pin.rnea(model, data, peer.q(q), peer.v(v), peer.v(x), forces)
    assert deviation(mechanism.inverse_dynamics(q, v, x, wrenches), peer.back(tau)) < TOLERANCE
    expected = pin.computeRNEADerivatives(model, data, peer.q(q), peer.v(v), peer.v(x), forces)
    found = mechanism.derivatives.inverse_dynamics(q, v, x, wrenches)
    for ours, theirs in zip(found, expected, strict=True):
        assert deviation(ours, both_ways(peer, theirs)) < TOLERANCE


def test_second_derivatives(pair):
    """Central differences of order 8 of its first derivatives, along its own `integrate`."""
    mechanism, peer = pair
    pin, model, data = peer.pin, peer.model, peer.data
    q, v, a = state(mechanism, 420)
    at, speeds, gains = peer.q(q), peer.v(v), peer.v(a)
    h, weights = 2e-3, (4 / 5, -1 / 5, 4 / 105, -1 / 280)

    def slope(function, direction):
        sides = enumerate(weights, start=1)
        return sum(w * (function(k * h * direction) - function(-k * h * direction)) / h for k, w in sides)

    def by_q(delta):
        parts = pin.computeRNEADerivatives(model, data, pin.integrate(model, at, delta), speeds, gains)
        return np.stack([both_ways(peer, part) for part in parts])

    def by_v(delta):
        parts = pin.computeRNEADerivatives(model, data, at, speeds + delta, gains)
        return np.stack([both_ways(peer, part) for part in parts])

    found = mechanism.derivatives.inverse_dynamics_second(q, v, a)
    for k in range(mechanism.nv):
        along = peer.v(np.eye(mechanism.nv)[k])
        dq, dv = slope(by_q, along), slope(by_v, along)
        scale = [np.abs(tensor).max() for tensor in found]
        assert np.abs(found.dq_dq[..., k] - dq[0]).max() < SECOND_TOLERANCE * scale[0]
        assert np.abs(found.dv_dv[..., k] - dv[1]).max() < SECOND_TOLERANCE * scale[1]
        assert np.abs(found.dq_dv[..., k] - dv[0]).max() < SECOND_TOLERANCE * scale[2]
        assert np.abs(found.da_dq[..., k] - dq[2]).max() < SECOND_TOLERANCE * scale[3]
