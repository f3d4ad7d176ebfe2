"""The N-fold spherical pendulum of celledoni2022 section 5: a chain of point masses on massless rods, hanging from the
origin.

Rod k points along the unit vector q_k, q_k' = ω_k × q_k with ω_k·q_k = 0, and mass k is at x_k = Σ_{i≤k} L_i q_i.
Gravity acts along -e3. The paper inverts a dense 3N × 3N matrix R(q). Here the rods' tensions λ_k are the unknowns:
m_k x_k'' = -m_k g e3 - λ_k q_k + λ_{k+1} q_{k+1} with q_k·(x_k'' - x_{k-1}'') = -L_k |ω_k|² is a symmetric tridiagonal
system,

    (1/m_k + 1/m_{k-1}) λ_k - (q_{k-1}·q_k / m_{k-1}) λ_{k-1} - (q_k·q_{k+1} / m_k) λ_{k+1} = L_k |ω_k|²

(for the first rod 1/m_0 = 0, and -g e3·q_1 is added on the right), solved in two sweeps: O(N) time and no memory beyond
the result. The momenta of the Hamiltonian form lead to the velocities by the same matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.gallery.rigid_body import Invariants, checked
from chasles.integrate.engine import evaluate
from chasles.integrate.solver import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.kernel.algebra import add_scaled, cross, dot, scale
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store3

GRAVITY, FIRST = 0, 1  # parameters: gravity, then (1/mass, length) of each rod
ZERO = (0.0, 0.0, 0.0)


@kernel
def direction(y, k):
    """q_k; zero beyond the ends of the chain."""
    if k < 0 or 6 * k >= y.shape[0]:
        return ZERO
    return load3(y, 6 * k, 0.0)


@kernel
def lightness(p, k):
    """1/m_k; zero for the fixed end."""
    return p[FIRST + 2 * k] if k >= 0 else 0.0


@kernel
def eliminate(y, p, out, k, right):
    """Row k of the forward sweep, for a right-hand side. out[6k] keeps the reduced one, out[6k + 1] the multiplier of
    the next unknown and out[6k + 2] the pivot, until the backward sweep writes the result over them."""
    below = lightness(p, k - 1)
    pivot = lightness(p, k) + below
    if k > 0:
        coupling = -dot(direction(y, k - 1), direction(y, k)) * below
        ratio = coupling / out[6 * k - 4]
        out[6 * k - 5] = ratio
        pivot -= ratio * coupling
        right -= coupling * out[6 * k - 6]
    out[6 * k] = right / pivot
    out[6 * k + 2] = pivot


# ---------------------------------------------------------------- velocities: y = (q, ω), on (TS²)^N


@kernel
def acceleration(y, p, out, k, before, after):
    """Write f_k = (ω_k, q_k × ω_k') with the tensions of the neighboring rods; q_k × removes the rod's own."""
    q = direction(y, k)
    pull = scale(before * lightness(p, k - 1), direction(y, k - 1))
    pull = add_scaled(pull, after * lightness(p, k), direction(y, k + 1))
    if k == 0:
        pull = (pull[0], pull[1], pull[2] - p[GRAVITY])
    store3(out, 6 * k, load3(y, 6 * k + 3, 0.0))
    store3(out, 6 * k + 3, cross(q, cross(q, scale(1.0 / p[FIRST + 2 * k + 1], pull))))


@field
def velocity_field(t, y, p, out):
    """f = (ω_1, q_1 × h_1, ...), h_k = ω_k' (celledoni2022 section 5.2)."""
    n = y.shape[0] // 6
    for k in range(n):
        w = load3(y, 6 * k + 3, 0.0)
        right = p[FIRST + 2 * k + 1] * dot(w, w)
        if k == 0:
            right -= p[GRAVITY] * y[2]
        eliminate(y, p, out, k, right)
    after, tension = 0.0, out[6 * n - 6]
    for k in range(n - 1, 0, -1):
        before = out[6 * k - 6] - out[6 * k - 5] * tension
        acceleration(y, p, out, k, before, after)
        after, tension = tension, before
    acceleration(y, p, out, 0, 0.0, after)


velocity_kernel = velocity_field.kernel  # fields call kernels, not other fields


@field
def coordinate_field(t, y, p, out):
    """(q_1', ω_1', ...): the same motion in coordinates of R^6N, for methods that know nothing of spheres."""
    velocity_kernel(t, y, p, out)
    for k in range(y.shape[0] // 6):
        q = direction(y, k)
        turn = cross(load3(out, 6 * k, 0.0), q)
        store3(out, 6 * k + 3, cross(load3(out, 6 * k + 3, 0.0), q))
        store3(out, 6 * k, turn)


# ---------------------------------------------------------------- momenta: y = (q, π), on (T*S²)^N


@kernel
def carried(y, p, k):
    """(π_k × q_k)/L_k: the momentum of all masses from k on, without its part along the rod."""
    if k < 0 or 6 * k >= y.shape[0]:
        return ZERO
    return scale(1.0 / p[FIRST + 2 * k + 1], cross(load3(y, 6 * k + 3, 0.0), direction(y, k)))


@kernel
def gradient(y, p, out, k, before, own, after, weight):
    """Write f_k = (∂H/∂π_k, ∂H/∂q_k) with the momenta along the rods k - 1, k, k + 1 and the mass they carry."""
    q, length = direction(y, k), p[FIRST + 2 * k + 1]
    below, here = lightness(p, k - 1), lightness(p, k)
    v = scale(here + below, carried(y, p, k))  # q × removes the rod's own part
    v = add_scaled(v, -here, add_scaled(carried(y, p, k + 1), after, direction(y, k + 1)))
    v = add_scaled(v, -below, add_scaled(carried(y, p, k - 1), before, direction(y, k - 1)))
    w = scale(1.0 / length, cross(q, v))
    level = length * weight * p[GRAVITY]
    slope = scale(length * own, cross(w, q))
    store3(out, 6 * k, w)
    store3(out, 6 * k + 3, add_scaled((slope[0], slope[1], slope[2] + level), -level * q[2], q))


@field
def momentum_field(t, y, p, out):
    """f = (∂H/∂π_1, ∂H/∂q_1, ...) (celledoni2022 section 5.2, the two slots put right).

    The momentum of the masses from k on is P_k = (π_k × q_k)/L_k + σ_k q_k. That the rods keep their lengths,
    q_k·(x_k' - x_{k-1}') = 0 with m_k x_k' = P_k - P_{k+1}, gives the tridiagonal system for σ.
    """
    n = y.shape[0] // 6
    for k in range(n):
        side = scale(lightness(p, k), carried(y, p, k + 1))
        side = add_scaled(side, lightness(p, k - 1), carried(y, p, k - 1))
        eliminate(y, p, out, k, dot(direction(y, k), side))
    after, own, weight = 0.0, out[6 * n - 6], 0.0
    for k in range(n - 1, -1, -1):
        before = out[6 * k - 6] - out[6 * k - 5] * own if k > 0 else 0.0
        weight += 1.0 / lightness(p, k)
        gradient(y, p, out, k, before, own, after, weight)
        after, own = own, before


# ---------------------------------------------------------------- the system


@dataclass(frozen=True, eq=False)
class Pendulum:
    """A chain of N spherical pendulums.

    `masses` [kg] and `lengths` [m] from the fixed end on, `gravity` [m/s²]. `directions` and `velocities` are q_k and
    ω_k [rad/s] at t = 0, one for all rods or one for each; the defaults are those of celledoni2022 section 5.3, in
    which the motion is planar. `momenta` chooses y = (q_1, π_1, ...) with the conjugate momenta [kg m²/s] instead of
    y = (q_1, ω_1, ...).
    """

    masses: Sequence[float] = (1.0, 1.0)
    lengths: Sequence[float] = (1.0, 1.0)
    gravity: float = 9.81
    directions: ArrayLike = (np.sqrt(0.5), 0.0, np.sqrt(0.5))
    velocities: ArrayLike = (0.0, 1.0, 0.0)
    momenta: bool = False

    def __post_init__(self):
        shape = np.shape(self.masses)
        if len(shape) != 1 or not shape[0]:
            raise ValueError(f"Pendulum: masses of shape {shape}; expected one number for each rod, at least one")
        checked("Pendulum: masses", self.masses, shape, positive=True)
        checked("Pendulum: lengths", self.lengths, shape, positive=True)
        checked("Pendulum: gravity", self.gravity, ())
        q, w = self._each("directions"), self._each("velocities")
        for k, (norm, along) in enumerate(zip(np.linalg.norm(q, axis=1), (q * w).sum(axis=1), strict=True)):
            if not abs(norm - 1) < 1e-8:
                raise ValueError(f"Pendulum: direction {k} has length {norm:.9g}; expected a unit vector")
            if not abs(along) < 1e-8:
                raise ValueError(f"Pendulum: velocity {k} has the part {along:.3g} along its rod; expected none")

    def _each(self, name: str) -> np.ndarray:
        """One vector for each rod."""
        value, each = np.array(getattr(self, name), dtype=float), (self.number, 3)
        return np.broadcast_to(checked(f"Pendulum: {name}", value, (3,) if value.shape == (3,) else each), each)

    @classmethod
    def uniform(cls, number: int, *, mass: float = 1.0, length: float = 1.0, **others) -> Pendulum:
        """A chain of equal masses [kg] and rods [m]."""
        return cls((mass,) * number, (length,) * number, **others)

    @property
    def number(self) -> int:
        return len(self.masses)

    def problem(self) -> LieODE:
        chain = np.column_stack([1 / np.array(self.masses), np.array(self.lengths)])
        space = Space("t*s2" if self.momenta else "ts2", self.number)
        function = momentum_field if self.momenta else velocity_field
        return LieODE(space, function, [self.gravity, *chain.ravel().tolist()])

    def problem_in_coordinates(self) -> LieODE:
        """The same motion in R^6N, where nothing keeps |q_k| = 1; only with velocities."""
        if self.momenta:
            raise ValueError("Pendulum: coordinates are those of directions and velocities; expected momenta=False")
        return LieODE(Space(f"r{6 * self.number}"), coordinate_field, self.problem().parameters)

    def initial(self) -> np.ndarray:
        q, w = self._each("directions"), self._each("velocities")
        return np.concatenate([q, self._conjugate(q, w) if self.momenta else w], axis=-1).reshape(-1)

    # ------------------------------------------------------------ quantities of points y (..., 6 N)

    def _split(self, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        points = np.asarray(y, dtype=float)
        if points.shape[-1:] != (6 * self.number,):
            raise ValueError(f"Pendulum: points of shape {points.shape}; expected (..., {6 * self.number})")
        points = points.reshape(*points.shape[:-1], self.number, 6)
        return points[..., :3], points[..., 3:]

    def _mass_velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.cumsum(np.array(self.lengths)[:, None] * np.cross(w, q), axis=-2)

    def _conjugate(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """π_k = L_k q_k × P_k, P_k the momentum of all masses from k on; equal to R(q) ω."""
        momenta = np.array(self.masses)[:, None] * self._mass_velocities(q, w)
        carried_on = np.cumsum(momenta[..., ::-1, :], axis=-2)[..., ::-1, :]
        return np.array(self.lengths)[:, None] * np.cross(q, carried_on)

    def angular_velocities(self, y: ArrayLike) -> np.ndarray:
        """ω_k of each rod, (..., N, 3) [rad/s]; from momenta, point by point, by `momentum_field`."""
        q, x = self._split(y)
        if not self.momenta:
            return x
        problem = self.problem()
        parameters, rows = np.array(problem.parameters), np.asarray(y, dtype=float).reshape(-1, 6 * self.number)
        found = np.empty(rows.shape)  # not `empty_like`, which follows the strides of a broadcast array
        for row, result in zip(rows, found, strict=True):
            evaluate(momentum_field.address, 0.0, np.ascontiguousarray(row), parameters, result)
        return found.reshape(*q.shape[:-1], 6)[..., :3]

    def positions(self, y: ArrayLike) -> np.ndarray:
        """x_k of each mass, (..., N, 3) [m]."""
        return np.cumsum(np.array(self.lengths)[:, None] * self._split(y)[0], axis=-2)

    def energy(self, y: ArrayLike) -> np.ndarray:
        """Σ m_k (|x_k'|²/2 + g e3·x_k) [J]: footnote 6 of celledoni2022, corrected (the masses from max(i, j) on,
        each pair).
        """
        speed = self._mass_velocities(self._split(y)[0], self.angular_velocities(y))
        return ((0.5 * (speed**2).sum(axis=-1) + self.gravity * self.positions(y)[..., 2]) * self.masses).sum(axis=-1)

    def vertical_momentum(self, y: ArrayLike) -> np.ndarray:
        """Angular momentum about the vertical through the fixed end, e3·Σ m_k x_k × x_k' = e3·Σ π_k [kg m²/s]."""
        q, x = self._split(y)
        return (x if self.momenta else self._conjugate(q, x))[..., 2].sum(axis=-1)

    def invariants(self) -> Invariants:
        return {"energy": self.energy, "vertical momentum": self.vertical_momentum}
