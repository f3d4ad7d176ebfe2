"""The discrete rigid body of Moser and Veselov: the equation of a step."""

from __future__ import annotations

from dataclasses import dataclass

from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_add, mul, outer, scale, skew, skew_mul
from chasles.kernel.policy import kernel


@dataclass(frozen=True)
class MoserVeselov:
    """The discrete rigid body of Moser and Veselov with a torque (RATTLE on SO(3)), for rigid bodies; of order 2.

    h (P + h T/2)~ = F Jd - Jd F^T, Q1 = Q F, P1 = F^T (P + h T/2) + h T1/2, Jd = tr(I)/2 - I.

    There is no such F if the step turns the body by about 1 rad or more.
    """

    @property
    def order(self) -> int:
        return 2


@kernel
def moser_equation(inertia, a, c):
    """a~ = F Jd - Jd F^T with F = cay(c), Jd = tr(I)/2 - I: I c + c x I c = a (1 + |c|^2)/2, and its derivative."""
    v = mul(inertia, c)
    residual = add_scaled(add(v, cross(c, v)), -0.5 * (1.0 + dot(c, c)), a)
    matrix = mat_add(mat_add(inertia, skew_mul(c, inertia)), skew(scale(-1.0, v)))
    return residual, mat_add(matrix, outer(scale(-1.0, a), c))
