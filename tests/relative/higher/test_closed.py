"""Closed mass and Coriolis matrices in three representations, and Christoffel symbols, against the recursions."""

import numpy as np
import pytest

from chasles.relative import system_level
from chasles.relative.higher import closed
from tests.relative.zoo import MOVING, ZOO, deviation, rate_of, state


@pytest.mark.parametrize("representation", closed.FORMS)
@pytest.mark.parametrize("name", MOVING)
def test_mass_matrix_and_velocity_terms(name, representation):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 41)
    assert deviation(closed.mass_matrix(mechanism, q, representation), mechanism.mass_matrix(q)) < 1e-13
    C = closed.coriolis(mechanism, q, v, representation)
    assert deviation(C @ v, mechanism.terms.coriolis(q, v) @ v) < 1e-13
    if representation == "body":
        assert deviation(C, mechanism.terms.coriolis(q, v)) < 1e-13
    else:
        assert deviation(C, mechanism.terms.coriolis(q, v)) > 1e-2


@pytest.mark.parametrize("name", MOVING)
def test_mass_rate_minus_two_c_is_skew_in_spatial_form(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 42)
    rate = rate_of(mechanism.mass_matrix, mechanism, q, v)
    skew = {form: closed.coriolis(mechanism, q, v, form) for form in closed.FORMS}
    assert deviation(skew["spatial"] + skew["spatial"].T, rate) < 1e-10
    for form in ("body", "hybrid"):
        assert deviation(skew[form] + skew[form].T, rate) > 1e-2


@pytest.mark.parametrize("representation", closed.FORMS)
@pytest.mark.parametrize("name", ["kinds", "floating"])
def test_jacobian_rates(name, representation):
    """Against differences of the Jacobian of the links."""
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 43)
    parts = system_level.factors(mechanism, q, representation)
    expected = rate_of(lambda x: system_level.factors(mechanism, x, representation).jacobian, mechanism, q, v)
    assert deviation(closed.jacobian_rate(parts, v, representation), expected) < 1e-10


@pytest.mark.parametrize("name", ["arm", "geared"])
def test_christoffel_symbols(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 44, (6,))
    symbols = mechanism.derivatives.christoffel_symbols(q)
    C = np.einsum("...ijk,...k->...ij", symbols, v)
    assert deviation(C, mechanism.terms.coriolis(q, v, skew=True)) < 1e-13
    assert (
        deviation(np.einsum("...ij,...j->...i", C, v), mechanism.terms.bias(q, v) - mechanism.terms.gravity(q)) < 1e-13
    )
    np.testing.assert_array_equal(symbols, np.swapaxes(symbols, -1, -2))
    rate = rate_of(mechanism.mass_matrix, mechanism, q[0], v[0])
    assert deviation(C[0] + C[0].T, rate) < 1e-10


def test_unknown_forms():
    arm = ZOO["arm"]
    q, v, _ = state(arm)
    for call in (lambda: closed.mass_matrix(arm, q, "mixed"), lambda: closed.coriolis(arm, q, v, "mixed")):
        with pytest.raises(ValueError, match="'mixed' has no closed form here; it is one of body, spatial, hybrid"):
            call()
