"""Two quadrotors that carry a point mass on two rigid links along a given path: celledoni2022, section 6.

The third axis e3 points DOWN, along gravity (the text of the paper says up; its formulas, and its reference [50], mean
down). Link i has the unit vector q_i from quadrotor i to the load, so the quadrotor is at y - L_i q_i. ω_i, with
q_i' = ω_i × q_i, is in space axes; Ω_i, with R_i' = R_i Ω_i^, is in body axes.

A point is P = [y, v, R_1, Ω_1, R_2, Ω_2, q_1, ω_1, q_2, ω_2] with R_i as quaternions wxyz. The group of 6.1 acts as a
direct product, on each rotor as SO(3) × R³ (with the semidirect product that the paper's TSO(3) suggests, ψ is not an
action): f = [v, v', R_1 Ω_1, Ω_1', R_2 Ω_2, Ω_2', ω_1, q_1 × ω_1', ω_2, q_2 × ω_2'].

The paper leaves the control to its reference [50]. Here, as in its figures, the thrusts u_i are forces free to point
anywhere, which steer load and links; the moments M_i of the rotors are zero, so the attitudes turn freely and steer
nothing.
The desired path is a polynomial of degree up to five in each coordinate, so that a compiled field can hold it as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.gallery.rigid_body import Invariants, checked
from chasles.integrate.solver import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.kernel.algebra import add, add_scaled, cross, dot, neg, scale, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, store3
from chasles.lie import s3
from chasles.lie.quaternion import rotate

COEFFICIENTS = 6  # of the path, in each coordinate
ROTOR = layout("ROTOR", mass=1, length=1, inertia=3, formation=3, share=1)
P = layout(
    "P", gravity=1, controlled=1, load=1, gains=4, normal=3, path=3 * COEFFICIENTS, first=ROTOR.size, second=ROTOR.size
)
Y = layout("Y", position=3, velocity=3, turn1=4, rates1=3, turn2=4, rates2=3, link1=6, link2=6)
X = layout("X", position=3, velocity=3, turn1=3, rates1=3, turn2=3, rates2=3, link1=6, link2=6)
SPACE = Space("r6", "s3", "r3", "s3", "r3", "ts2", 2)
ZERO = (0.0, 0.0, 0.0)


@kernel
def path(t, p, order):
    """Derivative of an order of the desired path."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(COEFFICIENTS - 1, order - 1, -1):
        factor = 1.0
        for i in range(order):
            factor *= j - i
        at = P.path + j
        x = x * t + factor * p[at]
        y = y * t + factor * p[at + COEFFICIENTS]
        z = z * t + factor * p[at + 2 * COEFFICIENTS]
    return (x, y, z)


# ---------------------------------------------------------------- vectors with two time derivatives


@kernel
def jet_cross(a, b):
    """(a × b, its derivative, its second derivative)."""
    second = add(cross(a[2], b[0]), cross(a[0], b[2]))
    return cross(a[0], b[0]), add(cross(a[1], b[0]), cross(a[0], b[1])), add_scaled(second, 2.0, cross(a[1], b[1]))


@kernel
def jet_unit(x):
    """x/|x|, with |x|' = n·x' and |x|'' = n'·x' + n·x''."""
    r = 1.0 / np.sqrt(dot(x[0], x[0]))
    n = scale(r, x[0])
    along = dot(n, x[1])
    n1 = scale(r, add_scaled(x[1], -along, n))
    second = add_scaled(add_scaled(x[2], -(dot(n1, x[1]) + dot(n, x[2])), n), -2.0 * along, n1)
    return n, n1, scale(r, second)


@kernel
def jet_neg(x):
    return neg(x[0]), neg(x[1]), neg(x[2])


@kernel
def combined(r, a, b, c):
    return add_scaled(add_scaled(scale(r[0], a), r[1], b), r[2], c)


# ---------------------------------------------------------------- control (reference [50] of celledoni2022)


@kernel
def share(p, rotor, force, q):
    """μ_i = c_i (F·q_i) q_i: what link i is to carry of the force F on the load."""
    return scale(p[rotor + ROTOR.share] * dot(force, q), q)


@kernel
def share_rate(p, rotor, force, rate, q, dq):
    along = scale(dot(rate, q) + dot(force, dq), q)
    return scale(p[rotor + ROTOR.share], add_scaled(along, dot(force, q), dq))


@kernel
def demand(t, y, p):
    """The force F wanted on the load with two time derivatives, and its shares μ_1 and μ_2."""
    m, ky, kv = p[P.load], p[P.gains], p[P.gains + 1]
    down = (0.0, 0.0, p[P.gravity])
    q1, q2 = load3(y, Y.link1, 0.0), load3(y, Y.link2, 0.0)
    dq1, dq2 = cross(load3(y, Y.link1 + 3, 0.0), q1), cross(load3(y, Y.link2 + 3, 0.0), q2)
    error = sub(load3(y, Y.position, 0.0), path(t, p, 0))
    error1 = sub(load3(y, Y.velocity, 0.0), path(t, p, 1))
    wanted = sub(path(t, p, 2), down)
    force = scale(m, add_scaled(add_scaled(wanted, -ky, error), -kv, error1))
    u1, u2 = share(p, P.first, force, q1), share(p, P.second, force, q2)
    error2 = add_scaled(neg(wanted), 1.0 / m, add(u1, u2))  # exactly the error's second derivative
    force1 = scale(m, add_scaled(add_scaled(path(t, p, 3), -ky, error1), -kv, error2))
    rates = add(share_rate(p, P.first, force, force1, q1, dq1), share_rate(p, P.second, force, force1, q2, dq2))
    error3 = add_scaled(neg(path(t, p, 3)), 1.0 / m, rates)
    force2 = scale(m, add_scaled(add_scaled(path(t, p, 4), -ky, error2), -kv, error3))
    return (force, force1, force2), u1, u2


@kernel
def formation(force, normal):
    """The columns unit(-F × (F × s)), unit(-F × s), unit(-F) of the formation's frame, each with two derivatives."""
    side = jet_cross(force, (normal, ZERO, ZERO))
    return jet_unit(jet_neg(jet_cross(force, side))), jet_unit(jet_neg(side)), jet_unit(jet_neg(force))


@kernel
def thrust(y, p, link, rotor, frame, own, other):
    """u_i, along and across its link: the load's share, and the link's turn toward its place in the formation."""
    q, w = load3(y, link, 0.0), load3(y, link + 3, 0.0)
    mass, length, place = p[rotor + ROTOR.mass], p[rotor + ROTOR.length], load3(p, rotor + ROTOR.formation, 0.0)
    x, z, down = frame
    goal = combined(place, x[0], z[0], down[0])
    turn = cross(goal, combined(place, x[1], z[1], down[1]))
    turn1 = cross(goal, combined(place, x[2], z[2], down[2]))
    behind = add(w, cross(q, cross(q, turn)))
    wish = add_scaled(scale(-p[P.gains + 2], cross(goal, q)), -p[P.gains + 3], behind)
    wish = sub(add_scaled(wish, -dot(q, turn), cross(w, q)), cross(q, cross(q, turn1)))
    across = scale(mass * length, cross(q, wish))
    across = add_scaled(across, -mass / p[P.load], cross(q, cross(q, other)))
    along = mass * length * dot(w, w) + mass / p[P.load] * dot(q, add(own, other))
    return add(add_scaled(own, along, q), across)


# ---------------------------------------------------------------- motion


@kernel
def load_acceleration(y, p, u1, u2):
    """v' of (37): M_q (v' - g e3) = Σ (q_i·u_i - m_i L_i |ω_i|²) q_i, a combination of q_1 and q_2."""
    q1, w1 = load3(y, Y.link1, 0.0), load3(y, Y.link1 + 3, 0.0)
    q2, w2 = load3(y, Y.link2, 0.0), load3(y, Y.link2 + 3, 0.0)
    m, m1, m2 = p[P.load], p[P.first + ROTOR.mass], p[P.second + ROTOR.mass]
    b1 = dot(q1, u1) - m1 * p[P.first + ROTOR.length] * dot(w1, w1)
    b2 = dot(q2, u2) - m2 * p[P.second + ROTOR.length] * dot(w2, w2)
    c = dot(q1, q2)
    determinant = (m + m1) * (m + m2) - m1 * m2 * c * c
    a = scale(((m + m2) * b1 - m1 * c * b2) / determinant, q1)
    a = add_scaled(a, ((m + m1) * b2 - m2 * c * b1) / determinant, q2)
    return (a[0], a[1], a[2] + p[P.gravity])


@kernel
def move_link(y, p, out, link, at, rotor, dv, u):
    """(ω_i, q_i × ω_i') with L_i ω_i' = q_i × (v' - g e3 - u_i/m_i) (37)."""
    q = load3(y, link, 0.0)
    pull = add_scaled((dv[0], dv[1], dv[2] - p[P.gravity]), -1.0 / p[rotor + ROTOR.mass], u)
    store3(out, at, load3(y, link + 3, 0.0))
    store3(out, at + 3, cross(q, cross(q, scale(1.0 / p[rotor + ROTOR.length], pull))))


@kernel
def move_rotor(y, p, out, turn, rates, at, rotor):
    """(R_i Ω_i, Ω_i') with J_i Ω_i' = -Ω_i × J_i Ω_i."""
    w = load3(y, rates, 0.0)
    j = load3(p, rotor + ROTOR.inertia, 0.0)
    store3(out, at, rotate((y[turn], y[turn + 1], y[turn + 2], y[turn + 3]), w))
    torque = cross((j[0] * w[0], j[1] * w[1], j[2] * w[2]), w)
    store3(out, at + 3, (torque[0] / j[0], torque[1] / j[1], torque[2] / j[2]))


@field
def transport(t, y, p, out):
    """f(P) of celledoni2022 section 6.1, with the control or, if it is switched off, without thrust."""
    u1, u2 = ZERO, ZERO
    if p[P.controlled] != 0.0:
        force, own1, own2 = demand(t, y, p)
        frame = formation(force, load3(p, P.normal, 0.0))
        u1 = thrust(y, p, Y.link1, P.first, frame, own1, own2)
        u2 = thrust(y, p, Y.link2, P.second, frame, own2, own1)
    dv = load_acceleration(y, p, u1, u2)
    store3(out, X.position, load3(y, Y.velocity, 0.0))
    store3(out, X.velocity, dv)
    move_rotor(y, p, out, Y.turn1, Y.rates1, X.turn1, P.first)
    move_rotor(y, p, out, Y.turn2, Y.rates2, X.turn2, P.second)
    move_link(y, p, out, Y.link1, X.link1, P.first, dv, u1)
    move_link(y, p, out, Y.link2, X.link2, P.second, dv, u2)


# ---------------------------------------------------------------- the system

Vector = tuple[float, float, float]


def _inclined(degrees: float) -> tuple[Vector, Vector]:
    """Two links in the plane of x and z, inclined to the vertical to both sides."""
    s, c = float(np.sin(np.radians(degrees))), float(np.cos(np.radians(degrees)))
    return (s, 0.0, c), (-s, 0.0, c)


@dataclass(frozen=True)
class Quadrotors:
    """Two quadrotors with a load; the defaults are the experiment of celledoni2022 section 6.2. SI units, e3 down.

    `path` has the coefficients c of y_d = Σ c_j t^j, up to six for each coordinate. `gains` are k_y, k_v of the load
    and k_q, k_w of the links. `formation` are the links' unit vectors r_i in the formation's frame, whose third axis is
    -F/|F|, along r_1 + r_2; `normal` is the vector s_d that fixes its turn about that axis, and must not be parallel to
    the force F on the load. `controlled=False` switches the thrust off. At t = 0 the attitudes are the identity,
    `position` and `velocity` are those of the load, `directions` and `angular_velocities` q_i and ω_i, `rates` Ω_i.
    """

    load_mass: float = 0.4
    masses: tuple[float, float] = (0.755, 0.755)
    lengths: tuple[float, float] = (0.6, 0.8)
    inertias: tuple[Vector, Vector] = ((0.0820, 0.0845, 0.1377), (0.0820, 0.0845, 0.1377))
    gravity: float = 9.81
    path: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((-2.5, 1.0), (0.0,), (-0.75, -5.0, 1.0))
    gains: tuple[float, float, float, float] = (12.0, 5.0, 16.0, 5.0)
    formation: tuple[Vector, Vector] = _inclined(30.0)
    normal: Vector = (0.0, -1.0, 0.0)
    controlled: bool = True
    position: Vector = (-2.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    directions: tuple[Vector, Vector] = _inclined(80.0)
    angular_velocities: tuple[Vector, Vector] = (ZERO, ZERO)
    rates: tuple[Vector, Vector] = (ZERO, ZERO)

    def __post_init__(self):
        for name, shape in (("load_mass", ()), ("masses", (2,)), ("lengths", (2,)), ("inertias", (2, 3))):
            checked(f"Quadrotors: {name}", getattr(self, name), shape, positive=True)
        for name, shape in (("gravity", ()), ("gains", (4,)), ("normal", (3,)), ("position", (3,)), ("velocity", (3,))):
            checked(f"Quadrotors: {name}", getattr(self, name), shape)
        for name in ("formation", "directions", "angular_velocities", "rates"):
            checked(f"Quadrotors: {name}", getattr(self, name), (2, 3))
        self._path()
        for name in ("formation", "directions"):
            norms = np.linalg.norm(getattr(self, name), axis=1)
            if not (abs(norms - 1) < 1e-8).all():
                raise ValueError(f"Quadrotors: {name} of lengths {norms.tolist()}; expected unit vectors")
        if not (abs((np.array(self.directions) * self.angular_velocities).sum(axis=1)) < 1e-8).all():
            raise ValueError("Quadrotors: angular_velocities have a part along their links; expected none")
        total = np.sum(self.formation, axis=0)
        if not (np.array(self.formation)[:, 2] > 0).all() or np.linalg.norm(total[:2]) > 1e-8:
            raise ValueError(
                f"Quadrotors: formation {self.formation}; expected links that hang down (third coordinate positive) "
                "and add up to a vertical vector"
            )
        if not np.linalg.norm(self.normal) > 0:
            raise ValueError("Quadrotors: normal is zero; expected a vector across the force on the load")

    def _path(self) -> np.ndarray:
        if len(self.path) != 3:
            raise ValueError(f"Quadrotors: path has {len(self.path)} coordinates; expected 3")
        table = np.zeros((3, COEFFICIENTS))
        for row, coefficients in zip(table, self.path, strict=True):
            if not 1 <= len(coefficients) <= COEFFICIENTS:
                raise ValueError(
                    f"Quadrotors: path with {len(coefficients)} coefficients; expected 1 to {COEFFICIENTS}"
                )
            row[: len(coefficients)] = checked("Quadrotors: path", coefficients, (len(coefficients),))
        return table

    def problem(self) -> LieODE:
        p = np.zeros(P.size)
        p[[P.gravity, P.controlled, P.load]] = self.gravity, self.controlled, self.load_mass
        p[P.gains : P.gains + 4], p[P.normal : P.normal + 3] = self.gains, self.normal
        p[P.path : P.first] = self._path().ravel()
        spread = np.linalg.norm(np.sum(self.formation, axis=0))
        for i, at in enumerate((P.first, P.second)):
            r = self.formation[i]
            p[at : at + ROTOR.size] = (
                *(self.masses[i], self.lengths[i]),
                *(*self.inertias[i], *r, 1 / (r[2] * spread)),
            )
        return LieODE(SPACE, transport, p.tolist())

    def initial(self) -> np.ndarray:
        rotors = [[1.0, 0, 0, 0, *rates] for rates in self.rates]
        links = [[*q, *w] for q, w in zip(self.directions, self.angular_velocities, strict=True)]
        return np.concatenate([self.position, self.velocity, *rotors, *links])

    # ------------------------------------------------------------ quantities of points y (..., 32)

    def desired(self, t: ArrayLike) -> np.ndarray:
        """The desired position of the load at the times t, (..., 3) [m]."""
        return np.stack([np.polynomial.polynomial.polyval(np.asarray(t, float), c) for c in self._path()], axis=-1)

    def load_error(self, t: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Distance of the load from the desired position [m]."""
        return np.linalg.norm(np.asarray(y, dtype=float)[..., :3] - self.desired(t), axis=-1)

    def load_force(self, t: ArrayLike, y: ArrayLike) -> np.ndarray:
        """The force F that the control wants on the load, (..., 3) [N]."""
        t, y = np.asarray(t, dtype=float), np.asarray(y, dtype=float)
        derivatives = [np.polynomial.polynomial.polyder(self._path().T, k) for k in range(3)]
        at = [np.moveaxis(np.polynomial.polynomial.polyval(t, c), 0, -1) for c in derivatives]
        wanted = at[2] - np.array([0.0, 0.0, self.gravity])
        errors = self.gains[0] * (y[..., :3] - at[0]) + self.gains[1] * (y[..., 3:6] - at[1])
        return self.load_mass * (wanted - errors)

    def desired_directions(self, t: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Where the control turns the links: `formation` with its third axis along -F, (..., 2, 3)."""
        force = self.load_force(t, y)
        side = np.cross(force, self.normal)
        columns = np.stack([-np.cross(force, side), -side, -force], axis=-1)
        frame = columns / np.linalg.norm(columns, axis=-2, keepdims=True)
        return np.einsum("...ij,kj->...ki", frame, np.array(self.formation))

    def links(self, y: ArrayLike) -> np.ndarray:
        """The unit vectors q_i from the quadrotors to the load, (..., 2, 3)."""
        y = np.asarray(y, dtype=float)
        return y[..., Y.link1 :].reshape(*y.shape[:-1], 2, 6)[..., :3]

    def rotor_positions(self, y: ArrayLike) -> np.ndarray:
        """Positions y - L_i q_i of the quadrotors, (..., 2, 3) [m]."""
        load = np.asarray(y, dtype=float)[..., None, :3]
        return load - np.array(self.lengths)[:, None] * self.links(y)

    def rotor_velocities(self, y: ArrayLike) -> np.ndarray:
        """Velocities v - L_i q_i' of the quadrotors, (..., 2, 3) [m/s]."""
        y = np.asarray(y, dtype=float)
        links = y[..., Y.link1 :].reshape(*y.shape[:-1], 2, 6)
        turning = np.cross(links[..., 3:], links[..., :3])
        return y[..., None, Y.velocity : Y.velocity + 3] - np.array(self.lengths)[:, None] * turning

    def energy(self, y: ArrayLike) -> np.ndarray:
        """T + U of celledoni2022 section 6 [J]; constant without thrust."""
        y = np.asarray(y, dtype=float)
        v, links = y[..., Y.velocity : Y.velocity + 3], y[..., Y.link1 :].reshape(*y.shape[:-1], 2, 6)
        heights = y[..., None, 2] - np.array(self.lengths) * links[..., 2]
        kinetic = 0.5 * (self.load_mass * v**2).sum(axis=-1) + self.rotor_energies(y).sum(axis=-1)
        kinetic = kinetic + 0.5 * (self.rotor_velocities(y) ** 2).sum(axis=-1) @ np.array(self.masses)
        return kinetic - self.gravity * (self.load_mass * y[..., 2] + heights @ np.array(self.masses))

    def rotor_energies(self, y: ArrayLike) -> np.ndarray:
        """Ω_i·J_i Ω_i/2, (..., 2) [J]; constant, as there are no moments."""
        y = np.asarray(y, dtype=float)
        rates = np.stack([y[..., at : at + 3] for at in (Y.rates1, Y.rates2)], axis=-2)
        return 0.5 * (np.array(self.inertias) * rates**2).sum(axis=-1)

    def rotor_momenta(self, y: ArrayLike) -> np.ndarray:
        """R_i J_i Ω_i, in space axes, (..., 2, 3) [kg m²/s]; constant, as there are no moments."""
        y = np.asarray(y, dtype=float)
        blocks = ((Y.turn1, Y.rates1, self.inertias[0]), (Y.turn2, Y.rates2, self.inertias[1]))
        momenta = [s3.act(y[..., a : a + 4], y[..., b : b + 3] * np.array(inertia)) for a, b, inertia in blocks]
        return np.stack(momenta, axis=-2)

    def horizontal_momentum(self, y: ArrayLike) -> np.ndarray:
        """Horizontal part of the total momentum, (..., 2) [kg m/s]; constant without thrust."""
        y = np.asarray(y, dtype=float)
        rotors = np.array(self.masses)[:, None] * self.rotor_velocities(y)
        return (self.load_mass * y[..., Y.velocity : Y.velocity + 3] + rotors.sum(axis=-2))[..., :2]

    def invariants(self) -> Invariants:
        """Constants of the motion: with control only those of the freely turning rotors."""
        found: Invariants = {"rotor energies": self.rotor_energies, "rotor momenta": self.rotor_momenta}
        if not self.controlled:
            found |= {"energy": self.energy, "horizontal momentum": self.horizontal_momentum}
        return found
