"""How batches reach the compiled loops."""

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED
from chasles.relative import forward, inverse, kinematics, mass
from chasles.relative.mechanism import Mechanism
from tests.relative import models


@pytest.fixture(scope="module")
def mechanism():
    return Mechanism(models.system_of(models.chain()))


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_loop_has_one_signature_however_it_is_called(mechanism):
    """Each costs seconds of compilation: a read-only or strided array must not make another."""
    n, bodies = mechanism.nv, len(mechanism.bodies)
    for batch in ((), (1,), (3,), (5,), (2, 3)):
        for q_batch in {(), batch}:
            q, x = np.zeros((*q_batch, n)), np.asfortranarray(np.zeros((*batch, n)))
            x.flags.writeable = False
            for wrenches in (None, np.zeros((bodies, 6)), np.zeros((*batch, bodies, 6))):
                mechanism.inverse_dynamics(q, x, x, wrenches)
                mechanism.forward_dynamics(q, x, x, wrenches)
            mechanism.accelerations(q, x, x)
            mechanism.twists(q, x)
        mechanism.mass_matrix(np.zeros((*batch, n)))
        mechanism.poses(np.zeros((*batch, n)))
    every = (inverse.inverse_dynamics, forward.forward_dynamics, mass.mass_matrix, kinematics.motion_of_frames)
    for algorithm in every:
        assert (len(algorithm.scalar.signatures), len(algorithm.lanes.signatures)) == (1, 1)
        algorithm.compile()
        algorithm.compile(lanes=True)
        assert (len(algorithm.scalar.signatures), len(algorithm.lanes.signatures)) == (1, 1)


def test_order_in_memory_does_not_matter(mechanism):
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 7, mechanism.nv))
    expected = mechanism.inverse_dynamics(q, v, a)
    for change in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1].copy()[::-1]):
        np.testing.assert_array_equal(mechanism.inverse_dynamics(change(q), change(v), change(a)), expected)


def test_no_states(mechanism):
    n, none = mechanism.nv, np.zeros((0, mechanism.nv))
    assert mechanism.inverse_dynamics(none, none, none).shape == (0, n)
    assert mechanism.forward_dynamics(none, none, none).shape == (0, n)
    assert mechanism.mass_matrix(none).shape == (0, n, n)
    assert mechanism.poses(none).shape == (0, 6, 7)
    assert mechanism.accelerations(none, none, none, "six").shape == (0, 6)
    assert mechanism.inverse_dynamics(np.zeros(n), none, none).shape == (0, n)
    assert mechanism.inverse_dynamics(none, none, none, np.zeros((0, 6, 6))).shape == (0, n)
    assert mechanism.mass_matrix(np.zeros((2, 0, 3, n))).shape == (2, 0, 3, n, n)


def test_no_frames(mechanism):
    assert mechanism.poses(np.zeros((4, mechanism.nq)), []).shape == (4, 0, 7)
