"""Inverse dynamics by the recursions of the four representations: one result."""

import numpy as np
import pytest

from tests.relative.zoo import MOVING, ZOO, deviation, state


@pytest.mark.parametrize("representation", ["spatial", "hybrid", "mixed"])
@pytest.mark.parametrize("name", MOVING)
def test_recursions_agree(name, representation):
    mechanism = MOVING[name]
    q, v, a = state(mechanism, 8, (6,))
    wrenches = np.random.default_rng(9).normal(size=(6, len(mechanism.bodies), 6)) * 3
    for applied in (None, wrenches):
        body = mechanism.inverse_dynamics(q, v, a, applied)
        other = mechanism.inverse_dynamics(q, v, a, applied, representation=representation)
        assert deviation(other, body) < 5e-14
        one = mechanism.inverse_dynamics(
            q[4], v[4], a[4], None if applied is None else applied[4], representation=representation
        )
        assert deviation(one, other[4]) < 1e-13


def test_nothing_that_moves_and_unknown_names():
    fixed = ZOO["fixed"]
    none = np.zeros((5, 0))
    for representation in ("body", "spatial", "hybrid", "mixed"):
        assert fixed.inverse_dynamics(none, none, none, representation=representation).shape == (5, 0)
    with pytest.raises(ValueError, match="'global' is not a representation"):
        fixed.inverse_dynamics(none, none, none, representation="global")
