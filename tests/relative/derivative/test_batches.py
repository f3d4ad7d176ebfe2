"""Derivatives of batches, on threads, through the raw tier, of large and of empty mechanisms; and what they say."""

from operator import attrgetter

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED
from chasles.model import joint as make
from chasles.model.body import GROUND, Body
from chasles.model.system import System
from chasles.relative.derivative import forward, inverse
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import MOVING, ZOO, deviation, state

FUNCTIONS = {
    "derivatives.inverse_dynamics": 3,
    "derivatives.forward_dynamics": 3,
    "derivatives.inverse_dynamics_second": 3,
    "derivatives.mass_matrix": 1,
    "derivatives.inverse_mass_matrix": 1,
    "terms.inverse_mass_matrix": 1,
}
# on lanes they take half a minute to compile
LONG = ("derivatives.inverse_dynamics_second", "derivatives.mass_matrix", "derivatives.inverse_mass_matrix")
on_lanes = pytest.mark.parametrize(
    "function", [pytest.param(name, marks=[pytest.mark.study] * (name in LONG)) for name in FUNCTIONS]
)


def results(mechanism: Mechanism, name: str, arrays: tuple) -> list[np.ndarray]:
    found = attrgetter(name)(mechanism)(*arrays[: FUNCTIONS[name]])
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.sample(1)
@on_lanes
@pytest.mark.parametrize("name", ["kinds", "floating"])
def test_a_batch_is_its_states(name, function):
    """On lanes, the last four overlapping, and with leading axes; branches, so that entries stay zero."""
    mechanism = MOVING[name]
    arrays = state(mechanism, 500, (2, 3))
    batch = results(mechanism, function, arrays)
    for index in np.ndindex(2, 3):
        single = results(mechanism, function, tuple(x[index] for x in arrays))
        for many, one in zip(batch, single, strict=True):
            assert many.shape == (2, 3, *one.shape)
            assert deviation(many[index], one) < 1e-11


@pytest.mark.parametrize("function", ["derivatives.inverse_dynamics", "derivatives.forward_dynamics"])
def test_threads_do_not_change_a_bit(function):
    mechanism = MOVING["floating"]
    arrays = state(mechanism, 501, (200,))
    two = Mechanism(mechanism.system, threads=2)
    for one, other in zip(results(mechanism, function, arrays), results(two, function, arrays), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(), (2,), (7,)])
def test_raw_tier(shape):
    """Into arrays that held something else."""
    mechanism = MOVING["floating"]
    n, arrays = mechanism.nv, state(mechanism, 502, shape)
    out = [np.full((*shape, n, n), 7.0) for _ in range(3)]
    mechanism.raw.inverse_dynamics_derivatives(*arrays, *out)
    for found, expected in zip(out, mechanism.derivatives.inverse_dynamics(*arrays), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(), (2,), pytest.param((7,), marks=pytest.mark.study)])  # seven are on lanes
def test_raw_tier_of_forward_dynamics(shape):
    mechanism = MOVING["floating"]
    n, arrays = mechanism.nv, state(mechanism, 502, shape)
    out = [np.full((*shape, n, n), 7.0) for _ in range(3)]
    a = np.full((*shape, n), 7.0)
    for _ in range(2):
        mechanism.raw.forward_dynamics_derivatives(*arrays, a, *out)
        for found, expected in zip(out, mechanism.derivatives.forward_dynamics(*arrays), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert deviation(a, mechanism.forward_dynamics(*arrays)) < 1e-12


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_loop_has_one_signature_however_it_is_called():
    mechanism = MOVING["floating"]
    wrenches = np.zeros((len(mechanism.bodies), 6))
    for shape in ((), (2,), (5,)):
        q, v, x = state(mechanism, 504, shape)
        x = np.asfortranarray(x)
        x.flags.writeable = False
        for given in (None, wrenches):
            mechanism.derivatives.inverse_dynamics(q, v, x, given)
            mechanism.derivatives.forward_dynamics(q, v, x, given)
    for algorithm in (inverse.inverse_derivatives, forward.forward_derivatives):
        algorithm.compile()
        assert len(algorithm.scalar.signatures) == 1
    inverse.inverse_derivatives.compile(lanes=True)
    assert len(inverse.inverse_derivatives.lanes.signatures) == 1


@on_lanes
def test_nothing(function):
    """No states, and no joints."""
    mechanism = MOVING["arm"]
    for found in results(mechanism, function, tuple(np.zeros((3, 0, 7)))):
        assert found.shape[:2] == (0, 7)
    for shape in ((), (5,)):
        empty = np.zeros((*shape, 0))
        for found in results(ZOO["fixed"], function, (empty, empty, empty)):
            assert found.shape[: len(shape)] == shape
            assert found.size == 0


def long_chain(count: int) -> Mechanism:
    rng = np.random.default_rng(5)
    bodies = [Body(f"b{k}", 1.0, rng.normal(size=3) * 0.1, (0.1, 0.1, 0.1)) for k in range(count)]
    names = [GROUND, *(body.name for body in bodies)]
    return Mechanism(
        System(
            bodies,
            [
                make.revolute(f"j{k}", names[k], names[k + 1], axis=rng.normal(size=3), at=(0.2, 0, 0))
                for k in range(count)
            ],
        )
    )


def test_a_chain_of_300():
    """Inverse dynamics along a direction; forward dynamics by what inverse dynamics says of its accelerations."""
    mechanism, rng = long_chain(300), np.random.default_rng(6)
    q, v, a, u = rng.normal(size=(4, 300)) * np.array([1.0, 0.1, 0.1, 1.0])[:, None]
    found = mechanism.derivatives.inverse_dynamics(q, v, a)
    h, weights = 1e-3, (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    sides = list(enumerate(weights, start=1))
    forces = mechanism.inverse_dynamics
    slope = sum(w * (forces(q + k * h * u, v, a) - forces(q - k * h * u, v, a)) / h for k, w in sides)
    assert deviation(found.dq @ u, slope) < 1e-10
    assert deviation(found.da, mechanism.mass_matrix(q)) < 1e-14
    tau = forces(q, v, a)
    back = mechanism.derivatives.forward_dynamics(q, v, tau)
    for solved, right in ((back.dq, -found.dq), (back.dv, -found.dv), (back.dtau, np.eye(300))):
        # the residual of a stable solution: roundings of the terms that are added up
        assert np.abs(found.da @ solved - right).max() < 1e-14 * (np.abs(found.da) @ np.abs(solved)).max()


def test_second_derivatives_within_a_joint_differ_by_a_bracket():
    """dq_dq[k, j, l] - dq_dq[k, l, j] = ∂Q_k/∂q [e_l, e_j], and the others are symmetric."""
    mechanism = MOVING["rooted"]
    q, v, a = state(mechanism, 503)
    found, first = (
        mechanism.derivatives.inverse_dynamics_second(q, v, a),
        mechanism.derivatives.inverse_dynamics(q, v, a),
    )
    bracket = np.zeros((mechanism.nv,) * 3)  # [:, l, j]: components of [e_l, e_j]
    for joint in mechanism.tree.joints:
        at = mechanism.tree.velocities[joint.name].start
        if joint.kind in ("spherical", "free"):
            for m, j in np.ndindex(3, 3):
                turn = np.cross(np.eye(3)[m], np.eye(3)[j])
                bracket[at : at + 3, at + m, at + j] = turn
                if joint.kind == "free":
                    bracket[at + 3 : at + 6, at + m, at + 3 + j] = turn
                    bracket[at + 3 : at + 6, at + 3 + m, at + j] = turn
    expected = np.einsum("kc,clj->kjl", first.dq, bracket)
    assert np.abs(expected).max() > 1
    assert deviation(found.dq_dq - np.swapaxes(found.dq_dq, 1, 2), expected) < 1e-12
    assert deviation(found.dv_dv, np.swapaxes(found.dv_dv, 1, 2)) < 1e-14
    assert deviation(found.da_dq, np.swapaxes(found.da_dq, 0, 1)) < 1e-14
    assert deviation(found.da_dq, mechanism.derivatives.mass_matrix(q)) < 1e-14


def test_singular_inertia_is_named():
    """A point mass on the axis of its joint: its acceleration is not determined."""
    bodies = [Body("arm", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1)), Body("bead", 1.0, (0, 0, 0), (0.0, 0.0, 0.0))]
    joints = [
        make.revolute("shoulder", GROUND, "arm", axis=(0, 0, 1)),
        make.revolute("spin", "arm", "bead", axis=(0, 0.1, 1), at=(0.7, 0.3, 0.1)),
    ]
    mechanism = Mechanism(System(bodies, joints))
    zero = np.zeros(2)
    with pytest.raises(
        ValueError, match=r"derivatives\.forward_dynamics: the inertia that joint 'spin' moves is singular"
    ):
        mechanism.derivatives.forward_dynamics(zero, zero, np.ones(2))
    with pytest.raises(
        ValueError, match=r"terms\.inverse_mass_matrix, state \[0\]: the inertia that joint 'spin' moves"
    ):
        mechanism.terms.inverse_mass_matrix(np.zeros((3, 2)))


def test_wrong_arguments_are_named():
    mechanism = MOVING["arm"]
    with pytest.raises(ValueError, match=r"derivatives\.inverse_dynamics: v"):
        mechanism.derivatives.inverse_dynamics(np.zeros(7), np.zeros(6), np.zeros(7))
    with pytest.raises(ValueError, match=r"derivatives\.mass_matrix: along"):
        mechanism.derivatives.mass_matrix(np.zeros(7), np.zeros(5))
    with pytest.raises(ValueError, match=r"derivatives\.forward_dynamics: wrenches"):
        mechanism.derivatives.forward_dynamics(np.zeros(7), np.zeros(7), np.zeros(7), np.zeros((3, 6)))
