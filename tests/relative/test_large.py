"""Chains and stars of many bodies: time and memory grow with the number of bodies and no faster."""

import functools
import time
import tracemalloc

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED
from chasles.model import joint as make
from chasles.model.body import Body
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism

pytestmark = pytest.mark.skipif(not COMPILED, reason="a matter of compiled code")
SMALL, LARGE = 500, 2000
LENGTH, MASS, WEIGHT = 0.1, 0.5, 0.5 * 9.81


@functools.cache
def mechanism(shape: str, count: int) -> Mechanism:
    """Links along x that turn about y, one after the other or all on the ground."""
    bodies = [Body(f"link {k}", MASS, (LENGTH / 2, 0, 0), (0.001, 0.002, 0.002)) for k in range(count)]
    joints = []
    for k in range(count):
        last = shape == "star" or k == 0
        parent, at = ("ground", (0, 0.1 * k, 0)) if last else (f"link {k - 1}", (LENGTH, 0, 0))
        joints.append(make.revolute(f"joint {k}", parent, f"link {k}", axis=(0, 1, 0), at=at))
    return Mechanism(System(bodies, joints))


def seconds_per_body(function, count: int) -> float:
    best = np.inf
    for _ in range(15):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best / count


@pytest.mark.first(1)
@pytest.mark.sample(1)
@pytest.mark.parametrize("what", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("shape", ["chain", "star"])
def test_time_and_memory_are_linear(shape, what):
    cost = {}
    for count in (SMALL, LARGE):
        function, state = getattr(mechanism(shape, count), what), np.full(count, 1e-3)
        function(state, state, state)
        cost[count] = seconds_per_body(lambda f=function, x=state: f(x, x, x), count)
        tracemalloc.start()
        function(state, state, state)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1000 * count  # bytes: an n x n matrix would be 8 n² (ABA keeps 55 numbers a link)
    assert cost[LARGE] < 3 * cost[SMALL]


def test_a_chain_held_level_feels_the_weight_of_what_follows():
    """tau_k = -Σ_{j >= k} m g (x_j - x_k): the moment about y of weights on the side of x is positive, held against."""
    chain, none = mechanism("chain", LARGE), np.zeros(LARGE)
    m = LARGE - np.arange(LARGE)  # links from k on; their centers are LENGTH (1/2, 3/2, ...) away: a sum of m²/2
    expected = -WEIGHT * LENGTH * m.astype(float) ** 2 / 2
    np.testing.assert_allclose(chain.inverse_dynamics(none, none, none), expected, rtol=1e-12)


def test_a_chain_that_is_held_stays():
    """Forward dynamics under the forces that hold it: what is left of the accelerations asks for no forces."""
    chain, none = mechanism("chain", LARGE), np.zeros(LARGE)
    q = np.linspace(0, 40, LARGE) ** 1.5 / 50
    tau = chain.inverse_dynamics(q, none, none)
    a = chain.forward_dynamics(q, none, tau)
    back = chain.inverse_dynamics(q, none, a)
    assert np.abs(back - tau).max() < 1e-13 * np.abs(tau).max()


def test_links_of_a_star_do_not_feel_each_other():
    star, alone, rng = mechanism("star", SMALL), mechanism("star", 1), np.random.default_rng(5)
    q, v, tau = rng.normal(size=(3, SMALL))
    expected = alone.forward_dynamics(q[:, None], v[:, None], tau[:, None])[:, 0]
    np.testing.assert_allclose(star.forward_dynamics(q, v, tau), expected, rtol=1e-13, atol=1e-12)


def test_poses_of_a_long_chain():
    chain = mechanism("chain", LARGE)
    poses = chain.poses(np.zeros(LARGE))
    np.testing.assert_allclose(poses[:, 4], LENGTH * np.arange(LARGE), rtol=0, atol=1e-9)
