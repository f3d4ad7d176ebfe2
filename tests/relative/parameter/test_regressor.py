"""Regressors against Pinocchio, against what else they must agree with, in batches; parameters to and from systems."""

import numpy as np
import pytest

import chasles as ch
from chasles.relative.mechanism import Mechanism
from chasles.screw import inertia
from chasles.validation.pinocchio_tree import PinocchioTree
from tests.relative.zoo import MOVING, ZOO, deviation, state

ALL = ("armature", "damping", "friction")
PINOCCHIO = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # m, m c, xx, xy, yy, xz, yz, zz


def carried_over(place: np.ndarray) -> np.ndarray:
    """Ten parameters on a joint of Pinocchio, in its order, from ten in the body's frame: (10, 10)."""
    units = inertia.from_parameters(np.eye(10))
    return inertia.to_parameters(inertia.transform(units, place)).T[PINOCCHIO]


@pytest.mark.parametrize("name", [name for name in MOVING if name != "geared"])
def test_as_pinocchio(name):
    pytest.importorskip("pinocchio")
    mechanism = MOVING[name]
    peer = PinocchioTree(mechanism)
    for seed in range(3):
        q, v, a = state(mechanism, 300 + seed)
        theirs = peer.pin.computeJointTorqueRegressor(peer.model, peer.data, peer.q(q), peer.v(v), peer.v(a))
        theirs = peer.back(np.array(theirs).T).T
        found = mechanism.parameters.regressor(q, v, a)
        for k, body in enumerate(mechanism.bodies):
            joint, place = peer.carried[body]
            own = found[:, 10 * k : 10 * k + 10]
            expected = theirs[:, 10 * (joint - 1) : 10 * joint] @ carried_over(place) if joint else 0.0 * own
            assert deviation(own, expected) < 1e-12


@pytest.mark.parametrize("name", MOVING)
def test_energies(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 1, (5,))
    rotors = np.array([x for j in mechanism.tree.joints for x in (j.armature if j.screws else [0.0] * j.nv)])
    kinetic, potential = mechanism.energy(q, v)
    found = mechanism.parameters.energy_regressor(q, v) @ mechanism.parameters.inertial()
    assert deviation(found, np.stack([kinetic - 0.5 * v**2 @ rotors, potential], axis=-1)) < 1e-14


def test_batches_threads_and_single_states_agree():
    mechanism = ZOO["kinds"]
    q, v, a = state(mechanism, 2, (259,))
    every = mechanism.parameters.regressor(q, v, a)
    np.testing.assert_array_equal(Mechanism(mechanism.system, threads=2).parameters.regressor(q, v, a), every)
    for k in (0, 258):
        assert deviation(mechanism.parameters.regressor(q[k], v[k], a[k]), every[k]) < 1e-14
    assert mechanism.parameters.regressor(q[:6].reshape(2, 3, -1), v[0], a[:3]).shape == (2, 3, *every.shape[1:])
    assert mechanism.parameters.regressor(q[:0], v[:0], a[:0]).shape == (0, *every.shape[1:])
    assert ZOO["fixed"].parameters.regressor([], [], []).shape == (0, 20)


def rubbing() -> Mechanism:
    """Joints with rotors, dampers and dry friction, and a body that floats."""
    bodies = [ch.Body(f"b{k}", 1.0 + k, (0.1, 0.2, 0.0), (0.2, 0.3, 0.4)) for k in range(4)]
    own = {"damping": 0.4, "friction": 0.7, "friction_speed": 0.05}
    joints = [
        ch.revolute("turn", "ground", "b0", axis=(0, 0, 1), armature=0.3, **own),
        ch.cylindrical("both", "b0", "b1", axis=(0, 1, 0), at=(0.5, 0, 0), armature=(0.1, 0.2), **own),
        ch.spherical("ball", "b1", "b2", at=(0, 0, 0.5), damping=(0.1, 0.2, 0.3)),
    ]
    return Mechanism(ch.System(bodies, joints))


def test_joint_terms_are_what_motors_have_to_give_besides():
    mechanism, rng = rubbing(), np.random.default_rng(3)
    q, (v, a) = mechanism.random(rng, (7,)), rng.normal(size=(2, 7, mechanism.nv))
    needed = mechanism.inverse_dynamics(q, v, a, applied=False) - mechanism.applied_forces(q, v).tau
    assert deviation(mechanism.inverse_dynamics(q, v, a), needed) < 1e-14
    assert deviation(mechanism.parameters.regressor(q, v, a, ALL) @ mechanism.parameters.inertial(ALL), needed) < 1e-14
    names = mechanism.parameters.inertial_names(ALL)
    assert (
        len(names) == len(mechanism.parameters.inertial(ALL)) == mechanism.parameters.regressor(q, v, a, ALL).shape[-1]
    )
    assert names[:4] == ("b0: m", "b0: mcx", "b0: mcy", "b0: mcz")
    assert names[40:44] == ("turn: armature", "both[0]: armature", "both[1]: armature", "turn: damping")


def test_parameters_to_a_system_and_back():
    mechanism, rng = rubbing(), np.random.default_rng(4)
    parameters = mechanism.parameters.inertial(ALL)
    parameters[40:] = rng.uniform(0.1, 1.0, len(parameters) - 40)
    parameters[:10] = inertia.to_parameters(inertia.spatial_inertia(2.0, (0.3, 0.1, -0.2), np.diag([0.3, 0.2, 0.4])))
    parameters[20:30] = 0.0  # a massless body is allowed where others are carried, not at a tip
    with pytest.raises(ValueError, match="joint 'ball' carries no mass"):
        Mechanism(mechanism.parameters.with_inertial(parameters, ALL))
    parameters[20:30] = parameters[10:20]
    other = Mechanism(mechanism.parameters.with_inertial(parameters, ALL))
    np.testing.assert_allclose(other.parameters.inertial(ALL)[:46], parameters[:46], rtol=1e-14, atol=1e-15)
    free = [k for k, name in enumerate(other.parameters.inertial_names(ALL)) if name.startswith("free ")]
    given = np.setdiff1d(np.arange(len(parameters)), free)  # the tree's own joints have no numbers in the system
    np.testing.assert_allclose(other.parameters.inertial(ALL)[given], parameters[given], rtol=1e-14, atol=1e-15)


def test_what_is_not_physical_is_named():
    mechanism = rubbing()
    parameters = mechanism.parameters.inertial()
    assert mechanism.parameters.unphysical(parameters) == {}
    parameters[0], parameters[14] = -1.0, -5.0
    found = mechanism.parameters.unphysical(parameters)
    assert list(found) == ["b0", "b1"]
    assert "negative mass" in found["b0"]
    with pytest.raises(ValueError, match="body 'b0': inertia has negative mass: -1"):
        mechanism.parameters.with_inertial(parameters)


def test_bad_input():
    mechanism = rubbing()
    q, v = mechanism.neutral(), np.zeros(mechanism.nv)
    with pytest.raises(
        ValueError, match=r"parameters\.regressor: joint term 'mass' is unknown; expected some of armature"
    ):
        mechanism.parameters.regressor(q, v, v, "mass")
    with pytest.raises(ValueError, match=r"parameters\.unphysical: parameters"):
        mechanism.parameters.unphysical(np.zeros(39))
    with pytest.raises(ValueError, match=r"parameters\.regressor"):
        mechanism.parameters.regressor(q, v[1:], v)
