"""The variational Stoermer-Verlet method on SO(3), with exponential or Cayley map: the equation of a step."""

from __future__ import annotations

from dataclasses import dataclass

from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_add,
    mat_scale,
    mul,
    outer,
    scale,
    skew,
    skew_mul,
    sub,
)
from chasles.kernel.policy import kernel
from chasles.lie.coefficients import dexpinv_coefficients, half_angle


@dataclass(frozen=True)
class LieVerlet:
    """The variational Stoermer-Verlet method with steps exp(h xi) or cay(h xi), for rigid bodies; of order 2.

    (dtau^-1_{h xi})^* I xi = P + h T/2, Q1 = Q tau(h xi), P1 = (dtau^-1_{-h xi})^* I xi + h T1/2 with the torque T in
    body axes. In space axes the momentum changes by the torques alone: pi1 = pi + h (Q T + Q1 T1)/2.
    """

    map: str = "exp"

    def __post_init__(self):
        if self.map not in ("exp", "cay"):
            raise ValueError(f'LieVerlet: map {self.map!r}; expected "exp" or "cay"')

    @property
    def order(self) -> int:
        return 2


@kernel
def exp_equation(inertia, a, w):
    """(dexpinv_w)^* I w = a and its derivative; (dexpinv_w)^* v = v + w x v/2 + g2 w x (w x v)."""
    v = mul(inertia, w)
    (_, _, g), (_, _, dg), _ = dexpinv_coefficients(half_angle(w))
    wv = cross(w, v)
    wwv = cross(w, wv)
    residual = sub(add_scaled(add_scaled(v, 0.5, wv), g, wwv), a)
    first = mat_scale(0.5, mat_add(skew_mul(w, inertia), skew(scale(-1.0, v))))
    s = dot(w, v)
    diagonal = (s, 0.0, 0.0, 0.0, s, 0.0, 0.0, 0.0, s)
    second = mat_add(mat_add(diagonal, outer(w, v)), mat_scale(-2.0, outer(v, w)))
    second = mat_add(second, skew_mul(w, skew_mul(w, inertia)))
    return residual, mat_add(mat_add(inertia, first), mat_add(mat_scale(g, second), outer(scale(2.0 * dg, wwv), w)))


@kernel
def cay_equation(inertia, a, c):
    """(dcay^-1_u)^* I u = a, u = 2 c: I c + c x I c + c (c . I c) = a/2, and its derivative."""
    v = mul(inertia, c)
    s = dot(c, v)
    residual = add_scaled(add(add(v, cross(c, v)), scale(s, c)), -0.5, a)
    diagonal = (s, 0.0, 0.0, 0.0, s, 0.0, 0.0, 0.0, s)
    matrix = mat_add(mat_add(inertia, skew_mul(c, inertia)), skew(scale(-1.0, v)))
    return residual, mat_add(matrix, mat_add(diagonal, outer(scale(2.0, c), v)))
