"""Jacobians, their rates, C v, momenta, center of mass and energies against Pinocchio."""

import numpy as np
import pytest

from chasles.validation.pinocchio_tree import SWAP, PinocchioTree
from tests.relative.zoo import MOVING, deviation, state, tree

pytest.importorskip("pinocchio")
# Pinocchio adds rotors to the mass matrix only if told so, and they are not the subject here
NAMES = [name for name in MOVING if name != "geared"]
TOLERANCE = 1e-10


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    return MOVING[request.param], PinocchioTree(MOVING[request.param])


def test_frame_jacobians_and_their_rates(pair):
    mechanism, peer = pair
    pin, model, data = peer.pin, peer.model, peer.data
    frame = model.getFrameId("tool")
    references = {"body": pin.LOCAL, "spatial": pin.WORLD, "hybrid": pin.LOCAL_WORLD_ALIGNED}
    for seed in range(5):
        q, v, _ = state(mechanism, 200 + seed)
        pin.computeJointJacobiansTimeVariation(model, data, peer.q(q), peer.v(v))
        pin.updateFramePlacements(model, data)
        for representation, reference in references.items():
            J = peer.back(pin.getFrameJacobian(model, data, frame, reference)[SWAP])
            assert deviation(mechanism.jacobian(q, "tool", representation=representation), J) < TOLERANCE
            rate = peer.back(pin.getFrameJacobianTimeVariation(model, data, frame, reference)[SWAP])
            assert deviation(mechanism.rates.jacobian(q, v, "tool", representation=representation), rate) < TOLERANCE


def test_velocity_terms_and_gravity(pair):
    mechanism, peer = pair
    q, v, _ = state(mechanism, 210)
    C = peer.pin.computeCoriolisMatrix(peer.model, peer.data, peer.q(q), peer.v(v))
    for skew in (False, True):
        assert deviation((mechanism.terms.coriolis(q, v, skew=skew) @ v), peer.back(C @ peer.v(v))) < TOLERANCE
    g = peer.pin.computeGeneralizedGravity(peer.model, peer.data, peer.q(q))
    assert deviation(mechanism.terms.gravity(q), peer.back(g)) < TOLERANCE
    bias = peer.pin.nonLinearEffects(peer.model, peer.data, peer.q(q), peer.v(v))
    assert deviation(mechanism.terms.bias(q, v), peer.back(bias)) < TOLERANCE


def test_the_second_matrix_is_the_one_of_pinocchio_for_joints_with_one_freedom():
    mechanism = MOVING["arm"]
    peer = PinocchioTree(mechanism)
    q, v, _ = state(mechanism, 211)
    C = peer.pin.computeCoriolisMatrix(peer.model, peer.data, peer.q(q), peer.v(v))
    rate = C + C.T
    ours = mechanism.terms.coriolis(q, v, skew=True)
    assert deviation(ours + ours.T, rate) < TOLERANCE


def test_centroidal_momentum_center_and_energies(pair):
    mechanism, peer = pair
    pin, model, data = peer.pin, peer.model, peer.data
    q, v, _ = state(mechanism, 212)
    matrix = pin.ccrba(model, data, peer.q(q), peer.v(v))
    assert deviation(mechanism.centroidal.matrix(q), peer.back(np.array(matrix)[SWAP])) < TOLERANCE
    assert deviation(mechanism.centroidal.momentum(q, v), data.hg.vector[SWAP]) < TOLERANCE
    pin.centerOfMass(model, data, peer.q(q), peer.v(v))
    assert deviation(mechanism.center_of_mass(q), data.com[0]) < TOLERANCE
    assert deviation(mechanism.centroidal.velocity(q, v), data.vcom[0]) < TOLERANCE
    kinetic, potential = mechanism.energy(q, v)
    assert kinetic == pytest.approx(pin.computeKineticEnergy(model, data, peer.q(q), peer.v(v)), rel=TOLERANCE)
    assert potential == pytest.approx(pin.computePotentialEnergy(model, data, peer.q(q)), rel=TOLERANCE)


def test_inverse_dynamics_of_every_representation(pair):
    mechanism, peer = pair
    q, v, a = state(mechanism, 213)
    truth = peer.back(peer.pin.rnea(peer.model, peer.data, peer.q(q), peer.v(v), peer.v(a)))
    for representation in ("body", "spatial", "hybrid", "mixed"):
        assert deviation(mechanism.inverse_dynamics(q, v, a, representation=representation), truth) < TOLERANCE


def test_peer_of_a_random_tree_has_the_same_mass_matrix():
    from chasles.relative.mechanism import Mechanism

    mechanism = Mechanism(tree(31, ("free", "revolute", "helical", "spherical", "planar", "general")))
    peer = PinocchioTree(mechanism)
    q, _, _ = state(mechanism, 214)
    M = np.array(peer.pin.crba(peer.model, peer.data, peer.q(q)))
    M = np.triu(M) + np.triu(M, 1).T
    assert deviation(mechanism.mass_matrix(q), peer.back(peer.back(M).T)) < TOLERANCE
