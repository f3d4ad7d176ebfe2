"""Lie-Poisson equations on duals of algebras, and the midpoint rule that keeps their energy and Casimir functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from chasles.integrate.gauss import GAUSS, largest
from chasles.integrate.space import Space
from chasles.integrate.table import ALGEBRA_AT, COSCREWED, KIND, POINT_AT, ROTATED
from chasles.integrate.vector_field import Field, call
from chasles.kernel.algebra import cross, force_cross
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, store3, store6


@dataclass(frozen=True)
class LiePoisson:
    """Lie-Poisson equations mu' = +-ad*_{dH} mu on so3*, se3* or a product of them (celledoni2022 eq. (18)).

    `gradient` is the field dH(mu) in the algebra, called as other fields are (see `LieODE`). `invariance` "left" takes
    the + sign (momenta in body axes: Euler's equations, the heavy top), "right" the - sign.
    """

    space: Space
    gradient: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()
    invariance: str = "left"

    def __post_init__(self):
        if self.invariance not in ("left", "right"):
            raise ValueError(f'LiePoisson: invariance {self.invariance!r}; expected "left" or "right"')
        require_dual(self.space, "LiePoisson")

    @property
    def field(self) -> Field | Callable:
        return self.gradient

    @property
    def sign(self) -> float:
        """What dH is to be multiplied with to act as a field of `LieODE`: mu' = -ad*_f mu."""
        return -1.0 if self.invariance == "left" else 1.0


def require_dual(space: Space, who: str) -> None:
    if not np.isin(space.table[:, KIND], (ROTATED, COSCREWED)).all():
        raise ValueError(f"{who}: {space} is not the dual of an algebra; expected so3*, se3* or a product of them")


@dataclass(frozen=True)
class LiePoissonMidpoint:
    """Energy and Casimir functions kept together on so3*, se3* and products of them; of order 2.

    mu1 = mu0 + h ad*_x (mu0 + mu1)/2 (left invariance; celledoni2022 eq. (18)). The increment is tangent to the
    coadjoint orbit at the mean of mu0 and mu1, so the Casimirs, which are quadratic, are kept for any x. With x the
    mean of dH on the segment from mu0 to mu1, H(mu1) - H(mu0) = <x, mu1 - mu0> = 0. The mean is taken by Gauss's rule
    with so many `nodes`, exact if H is a polynomial of degree 2 `nodes`: one node, x = dH((mu0 + mu1)/2), for quadratic
    functions with linear terms, as those of the rigid body and the heavy top.
    """

    nodes: int = 1

    def __post_init__(self):
        if not (isinstance(self.nodes, int) and 1 <= self.nodes <= 16):
            raise ValueError(f"LiePoissonMidpoint: {self.nodes!r} nodes; expected 1 to 16")

    @property
    def order(self) -> int:
        return 2


# ---------------------------------------------------------------- equations


@kernel
def poisson_sizes(table, y, base):
    """The same where the unknowns are increments of the point."""
    for i in range(table.shape[0]):
        iy = table[i, POINT_AT]
        base[2 * i] = largest(y, iy, 3)
        base[2 * i + 1] = largest(y, iy + 3, 3) if table[i, KIND] == COSCREWED else 0.0


@kernel
def generator(table, x, y, out):
    """The vector with which x moves y, on dual algebras: -ad*_x y (celledoni2022 section 3.4.2)."""
    for i in range(table.shape[0]):
        iy, ix = table[i, POINT_AT], table[i, ALGEBRA_AT]
        if table[i, KIND] == ROTATED:
            store3(out, iy, cross(load3(x, ix, 0.0), load3(y, iy, 0.0)))
        else:
            store6(out, iy, force_cross(load6(x, ix, 0.0), load6(y, iy, 0.0)))


@kernel
def poisson_residual(context, z, r):
    """Equations of the Lie-Poisson midpoint rule: z = -h ad*_x (y + z/2), x the mean field between y and y + z."""
    table, _, settings, _, b, c, t, h, sign, y, point, s, f, total, address, p = context
    n = settings[GAUSS.point]
    for m in range(n):
        total[m] = 0.0
    for i in range(c.shape[0]):
        for m in range(n):
            point[m] = y[m] + c[i] * z[m]
        call(address, t + 0.5 * h, point, p, f, 0, n, n, 0.0)
        for m in range(n):
            total[m] += b[i] * f[m]
    for m in range(n):
        point[m] = y[m] + 0.5 * z[m]
    generator(table, total, point, s)
    for m in range(n):
        r[m] = z[m] - h * sign * s[m]


@kernel
def add_increment(y, z, carry):
    """y += z. What the additions lose goes to `carry` and into the next ones, or rounding would make Casimirs drift."""
    for i in range(y.shape[0]):
        increment = z[i] + carry[i]
        new = y[i] + increment
        carry[i] = increment - (new - y[i])
        y[i] = new
