"""High-precision reference values for trees of bodies, computed from the definitions of kinematics and mechanics.

A tree is plain data: for each body its parent, the joint that carries it (screws in space, or a group), its pose in the
reference assembly, and its mass. Poses are products of exponentials in space, each exponential a summed power series.
Twists and accelerations are differences of poses along a path. Dynamics is d'Alembert's principle for material points:
each body is four particles with the mass, center and inertia of the body, and the generalized forces are

    tau_j = Σ_p m_p (x_p'' - g) . ∂x_p/∂q_j - Σ_i W_i . ∂V_i/∂v_j

with all derivatives differenced. No formula of rigid-body dynamics is used: no recursion, no inertia matrix, no
bracket. Arithmetic is `decimal` with 60 digits and differences of step 1e-12, so results are good to some 22 digits.

Inputs are doubles, taken exactly; directions and quaternions are made unit here, in high precision.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

DIGITS = 60
STEP = Decimal("1e-12")
Array = np.ndarray  # of dtype object, holding Decimal
REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")


def precise(function: Callable) -> Callable:
    """Run the function with the working precision."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with localcontext(prec=DIGITS):
            return function(*args, **kwargs)

    return wrapped


_exact = np.frompyfunc(lambda x: x if isinstance(x, Decimal) else Decimal(float(x)), 1, 1)


def exact(x: Any) -> Array:
    """A copy in high precision, every double taken as it is."""
    return np.array(_exact(np.array(x, dtype=object)), dtype=object)


def doubles(x: Any) -> np.ndarray:
    return np.array(x, dtype=float)


def zeros(*shape: int) -> Array:
    return np.full(shape, Decimal(0), dtype=object)


def identity(n: int) -> Array:
    a = zeros(n, n)
    a[np.diag_indices(n)] = Decimal(1)
    return a


def unit(x: Any) -> Array:
    x = exact(x)
    return x / (x @ x).sqrt()


def cross(a: Array, b: Array) -> Array:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dtype=object)


def hat(X: Array) -> Array:
    """A twist (angular, linear) as a 4x4 matrix."""
    a = zeros(4, 4)
    a[2, 1], a[1, 2] = X[0], -X[0]
    a[0, 2], a[2, 0] = X[1], -X[1]
    a[1, 0], a[0, 1] = X[2], -X[2]
    a[:3, 3] = X[3:]
    return a


def axial(S: Array) -> Array:
    """The vector of the skew part of a 3x3 matrix."""
    return np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]], dtype=object) / 2


def exponential(X: Array) -> Array:
    """exp of a twist: the power series of the matrix, after halving until it is small, then squared back."""
    halvings = max(0, int(max(abs(x) for x in X)).bit_length() + 3)
    a = hat(X) / 2**halvings
    total, term, k = identity(4), identity(4), 0
    while np.max(np.abs(term)) > Decimal(10) ** (-DIGITS - 2):
        k += 1
        term = term @ a / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def inverse(C: Array) -> Array:
    out = identity(4)
    out[:3, :3] = C[:3, :3].T
    out[:3, 3] = -(C[:3, :3].T @ C[:3, 3])
    return out


def pose_matrix(g: Any) -> Array:
    """A pose (w, x, y, z, position), its quaternion made unit, as a 4x4 matrix: v -> q v q*, column by column."""
    q, out = unit(g[:4]), identity(4)
    for k in range(3):
        v = identity(3)[k]
        t = 2 * cross(q[1:], v)
        out[:3, k] = v + q[0] * t + cross(q[1:], t)
    out[:3, 3] = exact(g[4:])
    return out


def screw(axis: Any, point: Any, pitch: float | None) -> Array:
    """The unit screw of an axis through a point, in space; pitch None is a translation."""
    e = unit(axis)
    if pitch is None:
        return np.concatenate([zeros(3), e])
    return np.concatenate([e, cross(exact(point), e) + Decimal(float(pitch)) * e])


def solve(a: Array, b: Array) -> Array:
    """Solution of a x = b by elimination with partial pivoting."""
    n, m = len(b), np.concatenate([a, b[:, None]], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(m[k:, k])))
        m[[k, pivot]] = m[[pivot, k]]
        m[k] = m[k] / m[k, k]
        for row in range(n):
            if row != k:
                m[row] = m[row] - m[row, k] * m[k]
    return m[:, n]


def cholesky(a: Array) -> Array:
    low = zeros(3, 3)
    for i, j in itertools.product(range(3), range(3)):
        if j < i:
            low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j] if j else a[i, j]) / low[j, j]
        elif j == i:
            low[i, i] = (a[i, i] - sum(low[i, k] ** 2 for k in range(i))).sqrt()
    return low


@dataclass
class Link:
    """A body and the joint that carries it.

    screws: (k, 6) unit screws in space in the reference assembly, of a joint with axes. group: None, "spherical" or
    "free", with `place` the pose (4x4) of its frame in space. reference: pose (4x4) of the body.
    """

    parent: int
    screws: Array
    reference: Array
    mass: Any
    com: Any
    inertia: Any  # 3x3 about the center of mass, in the body's axes
    group: str | None = None
    place: Array | None = None
    armature: Any = ()
    particles: Array = field(init=False)  # four, of a quarter of the mass each, in the body's frame (rows x, y, z, 1)

    def __post_init__(self):
        with localcontext(prec=DIGITS):
            self.mass, self.com, self.inertia = exact(self.mass).item(), exact(self.com), exact(self.inertia)
            self.armature = exact(self.armature if len(self.armature) else [0.0] * self.nv)
            corners = exact([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])  # Σ t tᵀ = 4 I
            # second moments Σ m x xᵀ about the center of mass
            spread = cholesky((np.trace(self.inertia) * identity(3) / 2 - self.inertia) / self.mass)
            self.particles = np.full((4, 4), Decimal(1), dtype=object)
            self.particles[:, :3] = self.com + corners @ spread.T

    @property
    def nv(self) -> int:
        return {"spherical": 3, "free": 6, None: len(self.screws)}[self.group]

    def motion(self, q: Array, delta: Array | None = None) -> Array:
        """What the joint does to all it carries, in space: exp(Y_1 q_1) ... exp(Y_k q_k), or J g J⁻¹.

        delta: displaces q to q + delta, or g to g exp(delta).
        """
        if self.group is None:
            out = identity(4)
            for k, Y in enumerate(self.screws):
                out = out @ exponential(Y * (q[k] + (0 if delta is None else delta[k])))
            return out
        g = pose_matrix(q if self.group == "free" else [*q, 0, 0, 0])
        if delta is not None:
            g = g @ exponential(delta if self.group == "free" else np.concatenate([delta, zeros(3)]))
        assert self.place is not None
        return self.place @ g @ inverse(self.place)


class Tree:
    """q, v and a are lists with one array for each link, as are the results for joints."""

    def __init__(self, links: Sequence[Link], gravity: Any):
        self.links, self.gravity = list(links), exact(gravity)
        self.columns = [(i, k) for i, link in enumerate(self.links) for k in range(link.nv)]
        self._last: tuple[Any, Any] = (None, None)  # the Jacobians found last, and where

    # ------------------------------------------------------------ kinematics

    def motions(self, q: list, delta: list | None = None) -> list[Array]:
        return [link.motion(exact(q[i]), None if delta is None else delta[i]) for i, link in enumerate(self.links)]

    def assemble(self, motions: list[Array]) -> Array:
        """Poses of all bodies (bodies, 4, 4): the product over all that carries a body, then its reference pose."""
        carried: dict[int, Array] = {-1: identity(4)}

        def of(i: int) -> Array:
            if i not in carried:
                carried[i] = of(self.links[i].parent) @ motions[i]
            return carried[i]

        return np.array([of(i) @ link.reference for i, link in enumerate(self.links)], dtype=object)

    @precise
    def poses(self, q: list) -> Array:
        return self.assemble(self.motions(q))

    def along(self, q: list, v: list, a: list, t: Decimal) -> Array:
        """Poses at time t on a path with velocities v and accelerations a at t = 0: q exp(t v + t²/2 a)."""
        return self.assemble(self.motions(q, [t * exact(x) + t * t / 2 * exact(y) for x, y in zip(v, a, strict=True)]))

    @precise
    def motion(self, q: list, v: list, a: list) -> tuple[Array, dict[str, Array], dict[str, Array]]:
        """Poses, twists and the twists' time derivatives in the four representations."""
        at = {k: self.along(q, v, a, k * STEP) for k in range(-2, 3)}
        twists = {
            k: [twist_by_definition(at[k][i], (at[k + 1][i] - at[k - 1][i]) / (2 * STEP)) for i in range(len(at[0]))]
            for k in (-1, 0, 1)
        }
        speeds = {name: np.array([t[name] for t in twists[0]], dtype=object) for name in REPRESENTATIONS}
        rates = {
            name: np.array(
                [(x[name] - y[name]) / (2 * STEP) for x, y in zip(twists[1], twists[-1], strict=True)], dtype=object
            )
            for name in REPRESENTATIONS
        }
        return at[0], speeds, rates

    # ------------------------------------------------------------ dynamics

    def points(self, poses: Array) -> Array:
        """Positions of all particles (4 bodies, 3)."""
        return np.concatenate([link.particles @ C[:3].T for link, C in zip(self.links, poses, strict=True)])

    @precise
    def jacobians(self, q: list) -> tuple[Array, Array]:
        """∂x_p/∂q_j (columns, particles, 3) and the body twists of unit velocities (columns, bodies, 6)."""
        where = [tuple(np.ravel(x)) for x in q]
        if where != self._last[0]:
            self._last = (where, self._jacobians(q))
        return self._last[1]

    def _jacobians(self, q: list) -> tuple[Array, Array]:
        motions = self.motions(q)
        poses = self.assemble(motions)
        points, twists = [], []
        for i, k in self.columns:
            sides = []
            for sign in (1, -1):
                delta = zeros(self.links[i].nv)
                delta[k] = sign * STEP
                moved = [*motions[:i], self.links[i].motion(exact(q[i]), delta), *motions[i + 1 :]]
                sides.append(self.assemble(moved))
            rate = (sides[0] - sides[1]) / (2 * STEP)
            points.append(self.points(rate))
            twists.append([twist_by_definition(C, D)["body"] for C, D in zip(poses, rate, strict=True)])
        return np.array(points, dtype=object), np.array(twists, dtype=object)

    @property
    def masses(self) -> Array:
        return np.repeat(np.array([link.mass / 4 for link in self.links], dtype=object), 4)

    @property
    def armatures(self) -> Array:
        return np.array([self.links[i].armature[k] for i, k in self.columns], dtype=object)

    @precise
    def mass_matrix(self, q: list) -> Array:
        """Σ_p m_p ∂x_p/∂q_j . ∂x_p/∂q_k, and armatures."""
        J = self.jacobians(q)[0].reshape(len(self.columns), -1)
        return (J * np.repeat(self.masses, 3)) @ J.T + np.diag(self.armatures) * 1

    @precise
    def inverse_dynamics(self, q: list, v: list, a: list, wrenches: Any = None) -> Array:
        """Generalized forces; wrenches (bodies, 6) in the bodies' frames."""
        before, here, after = (self.points(self.along(q, v, a, k * STEP)) for k in (-1, 0, 1))
        needed = ((after - 2 * here + before) / STEP**2 - self.gravity) * self.masses[:, None]
        points, twists = self.jacobians(q)
        flat = np.concatenate([exact(x) for x in a])
        tau = points.reshape(len(self.columns), -1) @ needed.ravel() + self.armatures * flat
        if wrenches is not None:
            tau = tau - twists.reshape(len(self.columns), -1) @ exact(wrenches).ravel()
        return tau

    @precise
    def forward_dynamics(self, q: list, v: list, tau: list, wrenches: Any = None) -> Array:
        rest = [zeros(link.nv) for link in self.links]
        drive = np.concatenate([exact(x) for x in tau]) - self.inverse_dynamics(q, v, rest, wrenches)
        return solve(self.mass_matrix(q), drive)

    # ------------------------------------------------------------ energies

    @precise
    def kinetic_energy(self, q: list, v: list) -> Decimal:
        none = [zeros(link.nv) for link in self.links]
        ahead, back = (self.points(self.along(q, v, none, sign * STEP)) for sign in (1, -1))
        speed = (ahead - back) / (2 * STEP)
        rotors = (link.armature @ exact(v[i]) ** 2 for i, link in enumerate(self.links) if link.nv)
        return (self.masses @ (speed**2).sum(axis=1) + sum(r for r in rotors if not isinstance(r, int))) / 2

    @precise
    def potential_energy(self, q: list) -> Decimal:
        return -(self.masses @ (self.points(self.poses(q)) @ self.gravity))


def twist_by_definition(C: Array, rate: Array) -> dict[str, Array]:
    """The four representations of a twist from a pose and its time derivative.

    w_s = (R' Rᵀ), w_b = (Rᵀ R'); body (w_b, Rᵀ r'), spatial (w_s, r' + r x w_s), hybrid (w_s, r'), mixed (w_b, r').
    """
    R, r, turn, slide = C[:3, :3], C[:3, 3], rate[:3, :3], rate[:3, 3]
    w_b, w_s = axial(R.T @ turn), axial(turn @ R.T)
    return {
        "body": np.concatenate([w_b, R.T @ slide]),
        "spatial": np.concatenate([w_s, slide + cross(r, w_s)]),
        "hybrid": np.concatenate([w_s, slide]),
        "mixed": np.concatenate([w_b, slide]),
    }
