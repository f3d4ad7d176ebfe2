"""phi(ad) for any function phi that is analytic at 0 and real on the real axis, on so(3) and se(3).

Source: celledoni2022, section 2.3. With φ(iα) = φ₊ + i φ₋ and α = |x|: g1 = φ₋/α, g2 = (φ(0) - φ₊)/α², and their
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.face import face
from chasles.lie import ad_polynomial
from chasles.lie.arrays import real_array
from chasles.lie.kinds import BLOCK_LOWER, MATRIX, TWIST, VECTOR

RING = 64  # points of the trapezoidal rule on circles; its error falls geometrically


@face(x=VECTOR, g=VECTOR, out=MATRIX)
def _rotational(x, g):
    return ad_polynomial.matrix(x, g)


@face(x=TWIST, g=VECTOR, dg=VECTOR, out=BLOCK_LOWER)
def _spatial(x, g, dg):
    diagonal = ad_polynomial.matrix(x[0], g)
    return diagonal, ad_polynomial.matrix_derivative(x[0], x[1], g, dg), diagonal


def phi_ad(
    x: ArrayLike,
    phi: Callable[[np.ndarray], np.ndarray],
    *,
    derivative: Callable[[np.ndarray], np.ndarray] | None = None,
    radius: float = 1.0,
) -> np.ndarray:
    """The matrix phi(ad_x): 3x3 for a rotation vector x of shape (..., 3), 6x6 for a twist of shape (..., 6).

    `phi` takes and returns complex arrays. It must be analytic for |z| < 2 radius (for small angles its Maclaurin
    series is found from its values on the circle |z| = radius) and near the points iα, α = |x|. `derivative` is phi';
    without it the derivative that se(3) needs comes from values on a small circle about iα, at the price of about a
    digit.
    """
    x = real_array("lie.phi_ad", "x", x, ())
    if x.shape[-1:] not in ((3,), (6,)):
        raise ValueError(f"lie.phi_ad: x has shape {x.shape}; expected a rotation vector (..., 3) or a twist (..., 6)")
    if not (np.isfinite(radius) and radius > 0):
        raise ValueError(f"lie.phi_ad: radius must be positive, got {radius}")
    alpha = np.linalg.norm(x[..., :3], axis=-1)
    near = alpha <= 0.5 * radius
    series = _series(alpha, phi, radius)
    closed = _closed(np.where(near, radius, alpha), phi, derivative, radius)
    g, dg = (np.where(near[..., None], a, b) for a, b in zip(series, closed, strict=True))
    s = alpha**2
    g[..., 0] -= s * g[..., 2]  # from phi(0) + g1 ad + g2 ad² to k0 I + k1 x~ + k2 x xᵀ
    dg[..., 0] -= g[..., 2] + s * dg[..., 2]
    if not (np.isfinite(g).all() and np.isfinite(dg).all()):
        raise ValueError("lie.phi_ad: phi is not finite where it is needed; is it analytic there?")
    return _rotational(x, g) if x.shape[-1] == 3 else _spatial(x, g, dg)


def _circle(center: np.ndarray, radius: float, phi: Callable) -> np.ndarray:
    """Taylor coefficients of phi, times radius^k, from values on a circle."""
    ring = radius * np.exp(2j * np.pi * np.arange(RING) / RING)
    return np.fft.fft(phi(np.asarray(center)[..., None] + ring), axis=-1) / RING


def _series(alpha: np.ndarray, phi: Callable, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """(phi(0), g1, g2) and the derivatives with respect to s = alpha^2 from the Maclaurin series."""
    scaled = _circle(np.zeros(()), radius, phi).real
    scaled[0] = np.real(phi(np.zeros((), dtype=complex)))
    count = RING // 2
    coefficients = scaled[:count] / radius ** np.arange(count)
    s = np.minimum(alpha, 0.5 * radius) ** 2
    signs = (-1.0) ** np.arange(count // 2 - 1)
    odd, even = signs * coefficients[1:-1:2], signs * coefficients[2::2]
    polynomials = [np.polynomial.Polynomial(c) for c in (odd, even)]
    g = [np.full_like(s, coefficients[0]), *(p(s) for p in polynomials)]
    dg = [np.zeros_like(s), *(p.deriv()(s) for p in polynomials)]
    return np.stack(g, axis=-1), np.stack(dg, axis=-1)


def _closed(
    alpha: np.ndarray, phi: Callable, derivative: Callable | None, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same from the closed forms, for angles away from zero."""
    z = 1j * alpha
    value, origin = phi(z), np.real(phi(np.zeros((), dtype=complex)))
    slope = derivative(z) if derivative else _circle(z, 0.25 * radius, phi)[..., 1] / (0.25 * radius)
    g1, g2 = value.imag / alpha, (origin - value.real) / alpha**2
    d1 = (slope.real / alpha - value.imag / alpha**2) / (2 * alpha)
    d2 = (slope.imag / alpha**2 - 2 * g2 / alpha) / (2 * alpha)
    return np.stack([np.full_like(g1, origin), g1, g2], axis=-1), np.stack([np.zeros_like(g1), d1, d2], axis=-1)
