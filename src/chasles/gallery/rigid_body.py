"""The free rigid body: body momentum on so(3)*, alone or with the attitude, and its exact solution.

celledoni2022 example 1, corrected: with the action g·μ of rotations the field is f(μ) = -I⁻¹ μ, so that μ' = μ × I⁻¹ μ,
Euler's equation in body axes. (As printed, f = +I⁻¹ μ, the motion runs backwards.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.solver import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.lie import s3

Invariants = dict[str, Callable[[np.ndarray], np.ndarray]]


def checked(name: str, value: ArrayLike, shape: tuple[int, ...], *, positive: bool = False) -> np.ndarray:
    """The value as an array of this shape; ValueError if it has another, is not finite or, if asked, not positive."""
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name}: shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all() or (positive and not (array > 0).all()):
        raise ValueError(f"{name}: {array.tolist()}; expected {'positive' if positive else 'finite'} numbers")
    return array


# ---------------------------------------------------------------- fields; p = 1/I1, 1/I2, 1/I3


@field
def momentum_field(t, y, p, out):
    """-I⁻¹ μ (celledoni2022 example 1, corrected)."""
    for k in range(3):
        out[k] = -p[k] * y[k]


@field
def attitude_field(t, y, p, out):
    """Body angular velocity Ω for the quaternion (from the right), -Ω for the momentum."""
    for k in range(3):
        w = p[k] * y[4 + k]
        out[k] = w
        out[3 + k] = -w


FORMULATIONS = {
    "momentum": (Space("so3*"), momentum_field),
    "attitude": (Space("s3", "so3*", side="right"), attitude_field),
}


# ---------------------------------------------------------------- exact solution


def jacobi(u: np.ndarray, m1: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """sn, cn, dn of the parameter m = 1 - m1, by the arithmetic-geometric mean (Bulirsch, Numer. Math. 7, 1965).

    The complement m1 is given, so that nothing is lost next to m = 1.
    """
    if m1 <= 0:
        return np.tanh(u), 1 / np.cosh(u), 1 / np.cosh(u)
    means = [(1.0, np.sqrt(m1))]
    while abs(np.subtract(*means[-1])) > 1e-8 * means[-1][0]:  # quadratic: what would follow is below 1e-16
        a, b = means[-1]
        means.append(((a + b) / 2, np.sqrt(a * b)))
    limit = sum(means[-1]) / 2
    sine = np.sin(limit * u)
    small = abs(sine) < 1e-80
    cot = np.cos(limit * u) / np.where(small, 1.0, sine)
    dn, c = np.ones_like(cot), limit * cot
    for a, b in reversed(means):
        cot, c = cot * c, c * dn
        dn, cot = (b + cot) / (a + cot), c / a
    sn = np.where(small, u, np.copysign(1 / np.hypot(1, c), sine))
    return sn, np.where(small, 1.0, c * sn), np.where(small, 1.0, dn)


def euler_solution(inertia: np.ndarray, momentum: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Body momentum at the times t from μ(0): μ_a = A cn, μ_b = B sn, μ_c = C dn (Landau, Lifshitz I, § 37).

    b is the axis of the middle moment of inertia and c the extreme axis about which the body turns for this energy.
    All differences are written without cancellation, and the starting phase enters by the addition theorems.
    """
    if not np.cross(momentum, momentum / inertia).any():
        return np.broadcast_to(momentum, (*t.shape, 3)).copy()  # a steady rotation
    a, b, c = np.argsort(inertia, kind="stable")
    weights = momentum**2 / inertia
    above = weights[c] * (inertia[c] - inertia[b]) - weights[a] * (inertia[b] - inertia[a])  # |μ|² - 2 E I_b
    if above < 0:
        a, c = c, a
    ia, ib, ic = inertia[a], inertia[b], inertia[c]
    to_c = weights[a] * (ic - ia) + weights[b] * (ic - ib)  # 2 E I_c - |μ|²
    to_a = weights[b] * (ib - ia) + weights[c] * (ic - ia)  # |μ|² - 2 E I_a
    m, m1 = (ib - ia) * to_c / ((ic - ib) * to_a), (ic - ia) * above / ((ic - ib) * to_a)
    size = np.sqrt(np.array([ia * to_c / (ic - ia), ib * to_c / (ic - ib), ic * to_a / (ic - ia)]))
    parity = 1 if (b - a) % 3 == 1 else -1
    turning = np.sign(momentum[c]) or 1.0
    rate = -parity * turning * np.sign(1 / ic - 1 / ib) * np.sqrt((ic - ib) * to_a / (ia * ib * ic))
    c0, s0, d0 = momentum[a] / size[0], momentum[b] / size[1], abs(momentum[c]) / size[2]
    sn, cn, dn = jacobi(rate * t, m1)
    below = cn * cn + sn * sn * d0 * d0
    result = np.empty((*t.shape, 3))
    result[..., a] = size[0] * (cn * c0 - sn * dn * s0 * d0) / below
    result[..., b] = size[1] * (sn * c0 * d0 + s0 * cn * dn) / below
    result[..., c] = size[2] * turning * (dn * d0 - m * sn * cn * s0 * c0) / below
    return result


# ---------------------------------------------------------------- the system


@dataclass(frozen=True)
class RigidBody:
    """A free rigid body in principal axes.

    `inertia` are the principal moments of inertia [kg m²], `momentum` the body angular momentum at t = 0 [kg m²/s].
    `formulation` is "momentum", y = μ on so(3)*, or "attitude", y = (quaternion wxyz body to space, μ).
    The defaults are the asymmetric top of the standard demonstrations; only positive moments are required of `inertia`.
    """

    inertia: tuple[float, float, float] = (2.0, 1.0, 2 / 3)
    momentum: tuple[float, float, float] = (0.4, 0.8, 0.2)
    formulation: str = "momentum"

    def __post_init__(self):
        checked("RigidBody: inertia", self.inertia, (3,), positive=True)
        checked("RigidBody: momentum", self.momentum, (3,))
        if self.formulation not in FORMULATIONS:
            raise ValueError(f"RigidBody: formulation {self.formulation!r}; expected one of {', '.join(FORMULATIONS)}")

    def problem(self) -> LieODE:
        space, function = FORMULATIONS[self.formulation]
        return LieODE(space, function, tuple(1 / moment for moment in self.inertia))

    def initial(self) -> np.ndarray:
        """The starting point; the attitude starts at the identity."""
        momentum = np.array(self.momentum, dtype=float)
        return momentum if self.formulation == "momentum" else np.concatenate([[1.0, 0, 0, 0], momentum])

    def body_momentum(self, y: ArrayLike) -> np.ndarray:
        """μ [kg m²/s] of points y (..., n)."""
        return np.asarray(y, dtype=float)[..., -3:]

    def angular_velocity(self, y: ArrayLike) -> np.ndarray:
        """I⁻¹ μ, in body axes [rad/s]."""
        return self.body_momentum(y) / np.array(self.inertia)

    def energy(self, y: ArrayLike) -> np.ndarray:
        """Kinetic energy μ·I⁻¹μ/2 [J]."""
        return 0.5 * (self.body_momentum(y) * self.angular_velocity(y)).sum(axis=-1)

    def momentum_norm(self, y: ArrayLike) -> np.ndarray:
        """|μ|, which labels the coadjoint orbit [kg m²/s]."""
        return np.linalg.norm(self.body_momentum(y), axis=-1)

    def spatial_momentum(self, y: ArrayLike) -> np.ndarray:
        """R μ, in space axes [kg m²/s]; constant. Only with the attitude."""
        if self.formulation != "attitude":
            raise ValueError('RigidBody: the spatial momentum needs formulation="attitude"')
        return s3.act(np.asarray(y, dtype=float)[..., :4], self.body_momentum(y))

    def invariants(self) -> Invariants:
        found: Invariants = {"energy": self.energy, "momentum norm": self.momentum_norm}
        if self.formulation == "attitude":
            found["spatial momentum"] = self.spatial_momentum
        return found

    def reference(self, t: ArrayLike) -> np.ndarray:
        """Exact body momentum at the times t [s], shape (..., 3), in Jacobi's elliptic functions."""
        return euler_solution(
            np.array(self.inertia, dtype=float), np.array(self.momentum, dtype=float), np.asarray(t, dtype=float)
        )
