"""C(q, v): against the dense mueller2018 eq. (84), the velocity terms, differences of the mass matrix,
Christoffel symbols.
"""

import numpy as np
import pytest

from chasles.relative import system_level
from tests.relative.zoo import MOVING, ZOO, deviation, rate_of, state


@pytest.mark.parametrize("name", MOVING)
def test_matrix_of_the_paper(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 10)
    parts = system_level.factors(mechanism, q)
    _, b = system_level.body_rates(parts, v)
    M, J, rate = system_level.inertias(mechanism), parts.jacobian, system_level.jacobian_rate(parts, v)
    assert deviation(mechanism.terms.coriolis(q, v), J.T @ (M @ rate - b.T @ M @ J)) < 1e-13


@pytest.mark.parametrize("skew", [False, True])
@pytest.mark.parametrize("name", MOVING)
def test_velocity_terms(name, skew):
    mechanism = MOVING[name]
    q, v, a = state(mechanism, 11, (2, 3))
    C = mechanism.terms.coriolis(q, v, skew=skew)
    terms = mechanism.terms.bias(q, v) - mechanism.terms.gravity(q)
    assert deviation((C @ v[..., None])[..., 0], terms) < 1e-13
    assert deviation(mechanism.terms.coriolis(q[1, 1], v[1, 1], skew=skew), C[1, 1]) < 1e-13
    whole = (mechanism.mass_matrix(q) @ a[..., None])[..., 0] + mechanism.terms.bias(q, v)
    assert deviation(whole, mechanism.inverse_dynamics(q, v, a)) < 1e-13


@pytest.mark.parametrize("name", MOVING)
def test_mass_rate_minus_two_c_is_skew_for_the_second_and_not_for_the_first(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 12)
    rate = rate_of(mechanism.mass_matrix, mechanism, q, v)
    C = mechanism.terms.coriolis(q, v, skew=True)
    assert deviation(C + C.T, rate) < 1e-10
    first = mechanism.terms.coriolis(q, v)
    assert deviation(first + first.T, rate) > 1e-2


@pytest.mark.parametrize("name", ["arm", "geared"])
def test_christoffel_symbols(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 13)
    D = np.array([rate_of(mechanism.mass_matrix, mechanism, q, e) for e in np.eye(mechanism.nv)])  # D[k, i, j]
    symbols = 0.5 * (np.einsum("kij->ijk", D) + np.einsum("jik->ijk", D) - np.einsum("ijk->ijk", D))
    assert deviation(mechanism.terms.coriolis(q, v, skew=True), symbols @ v) < 1e-10


def test_gravity_forces_are_the_slope_of_the_potential():
    for mechanism in MOVING.values():
        q, v, _ = state(mechanism, 14)
        slope = rate_of(lambda x, m=mechanism: m.energy(x, np.zeros(m.nv))[1], mechanism, q, v)
        assert mechanism.terms.gravity(q) @ v == pytest.approx(slope, rel=1e-10, abs=1e-9)


def test_nothing_that_moves():
    none = np.zeros((3, 0))
    assert ZOO["fixed"].terms.coriolis(none, none).shape == (3, 0, 0)
    assert ZOO["fixed"].terms.gravity(none).shape == (3, 0)
