"""Accelerations of one state of a loop, by the builtin that is made after some calls."""

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.direct import available
from chasles.relative.direct_calls import OFTEN

pytestmark = pytest.mark.skipif(not available(), reason="there are no builtins here")
BAR = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}


@pytest.fixture(scope="module")
def linkage():
    """A four-bar linkage with a ball on its coupler, so that q has a quaternion; and a state of it."""
    system = ch.System(
        [ch.Body(name, **BAR) for name in ("crank", "coupler", "rocker", "ball")],
        [
            ch.revolute("a", "ground", "crank", axis=(0, 1, 0)),
            ch.revolute("b", "crank", "coupler", axis=(0, 1, 0), at=(1, 0, 0)),
            ch.revolute("c", "ground", "rocker", axis=(0, 1, 0), at=(1.3, 0, 0)),
            ch.revolute("d", "coupler", "rocker", axis=(0, 1, 0), at=(1, 0, 0), child_at=(1, 0, 0)),
            ch.spherical("hang", "coupler", "ball", at=(0.5, 0, 0)),
        ],
    )
    mechanism = system.compile()
    rng = np.random.default_rng(3)
    q = mechanism.assemble()
    return mechanism, q, rng.normal(size=mechanism.nv), rng.normal(size=mechanism.nv)


def test_the_same_bits_and_messages(linkage):
    mechanism, q, v, tau = linkage
    thorough = mechanism.forward_dynamics(q, v, tau)
    for _ in range(OFTEN):
        mechanism.forward_dynamics(q, v, tau)
    call = mechanism._one_state.call
    assert call is not None
    assert call(q, v, tau).tobytes() == thorough.tobytes()
    assert mechanism.forward_dynamics(q, v, tau).tobytes() == thorough.tobytes()
    assert mechanism.forward_dynamics(list(q), v, tau).tobytes() == thorough.tobytes()
    assert call(q, v, tau[:-1]) is None
    assert call(2.0 * q, v, tau) is None
    with pytest.raises(ValueError, match="tau has shape"):
        mechanism.forward_dynamics(q, v, tau[:-1])
    with pytest.raises(ValueError, match="not finite"):
        mechanism.forward_dynamics(q, np.where(np.arange(len(v)) == 1, np.nan, v), tau)
    pushed = mechanism.forward_dynamics(q, v, tau, np.ones((4, 6)))
    assert not np.array_equal(pushed, thorough)
