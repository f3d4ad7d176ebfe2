"""phi_ad against the power series of its function in the matrix ad, summed with 60 digits."""

import numpy as np
import pytest
from mpmath import mp

from chasles import lie
from chasles.lie import phi_ad
from tests.lie.cases import BY_NAME, EPS
from tests.oracle.definitions import ORACLE, ulp_error

TERMS = 250


def taylor(coefficient):
    with mp.workdps(60):
        return [coefficient(k) for k in range(TERMS)]


def dexp(z):
    return np.where(z == 0, 1, np.expm1(z) / np.where(z == 0, 1, z))


def dexpinv(z):
    return np.where(z == 0, 1, z / np.where(z == 0, 1, np.expm1(z)))


def dexp_prime(z):
    return (np.exp(z) * (z - 1) + 1) / z**2


def dexpinv_prime(z):
    return (np.expm1(z) - z * np.exp(z)) / np.expm1(z) ** 2


FUNCTIONS = {  # function, derivative, Taylor coefficients, largest angle of the series
    "exp": (np.exp, np.exp, taylor(lambda k: 1 / mp.factorial(k)), 20.0),
    "dexp": (dexp, dexp_prime, taylor(lambda k: 1 / mp.factorial(k + 1)), 20.0),
    "dexpinv": (
        dexpinv,
        dexpinv_prime,
        taylor(lambda k: mp.mpf(-0.5) if k == 1 else mp.bernoulli(k) / mp.factorial(k)),
        3.0,
    ),
    "cos": (np.cos, lambda z: -np.sin(z), taylor(lambda k: mp.cos(k * mp.pi / 2) / mp.factorial(k)), 5.0),
    "own": (lambda z: 1 / (4 - z), lambda z: 1 / (4 - z) ** 2, taylor(lambda k: mp.mpf(4) ** (-k - 1)), 2.5),
}
ANGLES = [0.0, 1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.499, 0.501, 0.8, 1.0, 2.0, 2.5, 3.0, 5.0, 20.0]


def check(group, name, **options):
    """Errors in ulp of the largest entry: 4, and the angle itself, whose rounding moves sin and cos by so many."""
    phi, _, coefficients, largest = FUNCTIONS[name]
    angles = np.array([angle for angle in ANGLES if angle <= largest])
    x = BY_NAME[group].vectors(0, angles.shape)
    x[:, :3] *= (angles / np.linalg.norm(x[:, :3], axis=1))[:, None]
    for angle, row, found in zip(angles, x, phi_ad(x, phi, **options), strict=True):
        assert ulp_error(found, ORACLE[group].phi_ad(row, coefficients)) <= 4 + angle, angle


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rotations(name):
    check("so3", name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_twists_with_the_derivative_given(name):
    check("se3", name, derivative=FUNCTIONS[name][1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_twists_with_the_derivative_found(name):
    check("se3", name)


@pytest.mark.parametrize("group", ["so3", "se3"])
@pytest.mark.parametrize(("name", "phi"), [("dexp", dexp), ("dexpinv", dexpinv)])
def test_the_named_differentials_are_special_cases(group, name, phi):
    x = BY_NAME[group].vectors(1, (60,))
    np.testing.assert_allclose(phi_ad(x, phi), getattr(BY_NAME[group].f, name)(x), rtol=0, atol=8 * EPS)


@pytest.mark.parametrize("radius", [0.5, 1.0, 1.9])
def test_the_radius_is_free_within_the_domain(radius):
    """1/(4 - z) is analytic for |z| < 4, so any radius below 2 serves."""
    x = BY_NAME["se3"].vectors(2, (20,), largest=2.5)
    found = phi_ad(x, FUNCTIONS["own"][0], derivative=FUNCTIONS["own"][1], radius=radius)
    np.testing.assert_allclose(found, phi_ad(x, FUNCTIONS["own"][0]), rtol=0, atol=EPS)


@pytest.mark.parametrize("size", [3, 6])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)], ids=str)
def test_leading_axes(size, shape):
    x = np.random.default_rng(3).normal(size=(*shape, size))
    found = phi_ad(x, np.exp)
    assert found.shape == (*shape, size, size)
    for index in np.ndindex(*shape):
        np.testing.assert_allclose(found[index], phi_ad(x[index], np.exp), rtol=0, atol=EPS)


def test_phi_of_a_constant_and_of_z():
    x = np.array([0.3, -0.2, 0.9, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(phi_ad(x, lambda z: 2.0 + 0 * z), 2 * np.eye(6), rtol=0, atol=16 * EPS)
    np.testing.assert_allclose(phi_ad(x, lambda z: z), lie.se3.ad(x), rtol=0, atol=16 * EPS)


@pytest.mark.parametrize("x", [np.zeros(2), np.zeros(4), np.zeros((3, 7))], ids=str)
def test_wrong_shapes(x):
    with pytest.raises(ValueError, match=r"lie\.phi_ad: x has shape .*; expected a rotation vector .* or a twist"):
        phi_ad(x, np.exp)
    with pytest.raises(ValueError, match=r"lie\.phi_ad: x has shape \(\); expected"):
        phi_ad(1.0, np.exp)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.inf, np.nan])
def test_wrong_radius(radius):
    with pytest.raises(ValueError, match=r"lie\.phi_ad: radius must be positive"):
        phi_ad(np.zeros(3), np.exp, radius=radius)


def test_vectors_that_are_not_finite():
    with pytest.raises(ValueError, match=r"lie\.phi_ad: .* not finite"):
        phi_ad([np.nan, 0.0, 0.0], np.exp)


def test_functions_that_are_not_finite():
    with pytest.raises(ValueError, match=r"lie\.phi_ad: phi is not finite where it is needed; is it analytic there"):
        phi_ad([0.1, 0.0, 0.0], lambda z: np.where(z == 0, np.nan, z))
