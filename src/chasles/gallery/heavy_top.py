"""The heavy top of source 000, section 5.1: a box on a spherical joint, in absolute coordinates on two groups.

The body frame is at the centre of mass and the pivot at the origin, r = R r0. The index-1 equations (39) and (41) are
integrated with the Munthe-Kaas form of the classical Runge-Kutta method, without stabilisation, so that the drift from
the constraint shows what each configuration space does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, neg, scale, sub, sym_mul
from chasles.kernel.policy import kernel
from chasles.lie import se3, so3xr3


class HeavyTop(NamedTuple):
    """Data of the top, as source 000 gives them (no gravity: "heavy" is the name of the example)."""

    mass: float = 21.6  # [kg]
    inertia: tuple[float, float, float] = (0.36, 0.306, 0.09)  # principal, about the centre of mass [kg m²]
    centre: tuple[float, float, float] = (0.5, 0.0, 0.0)  # r0, from the pivot, in the body frame [m]
    angular_velocity: tuple[float, float, float] = (0.0, 20 * np.pi, 10 * np.pi)  # at the start, body frame [rad/s]

    def pivot_inertia_inverse(self) -> tuple[float, ...]:
        """Inverse of the inertia about the pivot, as a symmetric six."""
        r = np.array(self.centre)
        about_pivot = np.diag(self.inertia) + self.mass * (r @ r * np.eye(3) - np.outer(r, r))
        inverse = np.linalg.inv(about_pivot)
        return tuple(float(inverse[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


@dataclass(frozen=True)
class TopRun:
    """Outcome of a run: times [s], states, distance of the pivot from the origin [m], kinetic energy [J]."""

    space: str
    time: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    velocity: np.ndarray  # twist: body on SE(3), mixed on SO(3) x R3
    pivot_drift: np.ndarray
    energy: np.ndarray

    @property
    def energy_drift(self) -> np.ndarray:
        return self.energy - self.energy[0]


@kernel
def _torque(top, w):
    """Gyroscopic torque -w × Θ w."""
    theta = top[1]
    return neg(cross(w, (theta[0] * w[0], theta[1] * w[1], theta[2] * w[2])))


@kernel
def acceleration_body(top, g, twist):
    """Solve 000 (39) for the rate of the body twist.

    The right-hand side of the acceleration constraint, -ω × (ω × r0) + ω × v, vanishes on the constraint and is coded
    as zero: that keeps the pivot to rounding.
    """
    w, v = twist
    force = scale(-top[0], cross(w, v))
    dw = sym_mul(top[3], add(_torque(top, w), cross(top[2], force)))
    return dw, neg(cross(top[2], dw))


@kernel
def acceleration_mixed(top, g, twist):
    """Solve 000 (41) for the rates of (ω, r')."""
    w, r0 = twist[0], top[2]
    centripetal = cross(w, cross(w, r0))
    dw = sym_mul(top[3], add_scaled(_torque(top, w), -top[0], cross(r0, centripetal)))
    return dw, mul(g[0], sub(centripetal, cross(r0, dw)))


@kernel
def _twist_sum(a, s, b):
    """a + s b."""
    return add_scaled(a[0], s, b[0]), add_scaled(a[1], s, b[1])


@kernel
def _minus(a):
    return neg(a[0]), neg(a[1])


@kernel
def _stage(state, slope, h, compose, exp, dexpinv_apply, acceleration, top):
    """Evaluate the field at state ∘ exp(h slope): the rates of the local coordinates and of the velocity."""
    (g, v), (dx, dv) = state, slope
    x = scale(h, dx[0]), scale(h, dx[1])
    moved, velocity = compose(g, exp(x)), _twist_sum(v, h, dv)
    return dexpinv_apply(_minus(x), velocity), acceleration(top, moved, velocity)


@kernel
def munthe_kaas_rk4_step(state, h, compose, exp, dexpinv_apply, acceleration, top):
    """One step of the classical method on g exp(X), X' = dexpinv_{-X} V (000 eq. (36))."""
    g, v = state
    k1 = v, acceleration(top, g, v)
    k2 = _stage(state, k1, 0.5 * h, compose, exp, dexpinv_apply, acceleration, top)
    k3 = _stage(state, k2, 0.5 * h, compose, exp, dexpinv_apply, acceleration, top)
    k4 = _stage(state, k3, h, compose, exp, dexpinv_apply, acceleration, top)
    c = h / 6.0
    dx = _twist_sum(_twist_sum(_twist_sum(k1[0], 2.0, k2[0]), 2.0, k3[0]), 1.0, k4[0])
    dv = _twist_sum(_twist_sum(_twist_sum(k1[1], 2.0, k2[1]), 2.0, k3[1]), 1.0, k4[1])
    return compose(g, exp((scale(c, dx[0]), scale(c, dx[1])))), _twist_sum(v, c, dv)


@kernel
def _record(row, state, top):
    """Write rotation (9), position (3), twist (6), pivot drift and kinetic energy."""
    (r, p), (w, v) = state
    for k in range(9):
        row[k] = r[k]
    for k in range(3):
        row[9 + k], row[12 + k], row[15 + k] = p[k], w[k], v[k]
    pivot = sub(p, mul(r, top[2]))
    theta = top[1]
    row[18] = np.sqrt(dot(pivot, pivot))
    row[19] = 0.5 * (dot(w, (theta[0] * w[0], theta[1] * w[1], theta[2] * w[2])) + top[0] * dot(v, v))


@kernel
def _march(state, h, compose, exp, dexpinv_apply, acceleration, top, out):
    _record(out[0], state, top)
    for n in range(1, out.shape[0]):
        state = munthe_kaas_rk4_step(state, h, compose, exp, dexpinv_apply, acceleration, top)
        _record(out[n], state, top)


@kernel(entry=True)
def _run_se3(rotation, position, w, v, h, top, out):
    state = ((rotation, position), (w, v))
    _march(state, h, se3.compose, se3.exp, se3.dexpinv_apply, acceleration_body, top, out)


@kernel(entry=True)
def _run_so3xr3(rotation, position, w, v, h, top, out):
    state = ((rotation, position), (w, v))
    _march(state, h, so3xr3.compose, so3xr3.exp, so3xr3.dexpinv_apply, acceleration_mixed, top, out)


SPACES = {"SE3": _run_se3, "SO3xR3": _run_so3xr3}


def simulate(space: str, *, step: float = 1e-3, end: float = 10.0, top: HeavyTop | None = None) -> TopRun:
    """Integrate the top from rest position R = I on "SE3" or "SO3xR3" with a fixed step [s] until `end` [s]."""
    top = top or HeavyTop()
    if space not in SPACES:
        raise ValueError(f"heavy_top: space {space!r} is unknown; expected one of {', '.join(SPACES)}")
    if not (np.isfinite(step) and np.isfinite(end) and 0 < step <= end):
        raise ValueError(f"heavy_top: step {step} s and end {end} s; expected 0 < step <= end, both finite")
    count = round(end / step)
    if abs(count * step - end) > 1e-9 * end:
        raise ValueError(
            f"heavy_top: end {end} s is not a whole number of steps of {step} s; the nearest is {count * step:.6g} s"
        )
    identity = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    w, r0 = top.angular_velocity, top.centre
    v = tuple(float(x) for x in np.cross(w, r0))  # body and space axes coincide at the start
    out = np.empty((count + 1, 20))
    SPACES[space](identity, r0, w, v, step, (top.mass, top.inertia, r0, top.pivot_inertia_inverse()), out)
    if not np.isfinite(out.sum()):
        bad = int(np.argmax(~np.isfinite(out).all(axis=1)))
        raise ArithmeticError(
            f"heavy_top on {space}: not finite from t = {bad * step:.6g} s on; try a smaller step than {step} s"
        )
    return TopRun(
        space,
        np.arange(count + 1) * step,
        out[:, :9].reshape(-1, 3, 3),
        out[:, 9:12],
        out[:, 12:18],
        out[:, 18],
        out[:, 19],
    )
