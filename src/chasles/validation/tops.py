"""Free bodies and tops: elliptic functions and published digits."""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.validation.board import KnownValue, problem, row, simulate

TIGHT: dict[str, Any] = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-13, "certificate": False}


def _free(inertia: tuple[float, float, float]) -> ch.System:
    return ch.System(
        [ch.Body("body", 1.0, (0, 0, 0), inertia)], [ch.spherical("pivot", "ground", "body")], gravity=(0, 0, 0)
    )


@problem("Jacobi's elliptic functions", peers=True)
def free_rigid_body() -> list[KnownValue]:
    """A free rigid body: angular velocity by elliptic functions."""
    from scipy.special import ellipj

    I1, I2, I3 = inertia = 3.0, 2.0, 1.0
    w1, w3 = 1.0, 1.1  # w2 = 0 at the start; I1 w1² (I1 - I2) > I3 w3² (I2 - I3): the momentum circles the first axis
    energy2, momentum2 = I1 * w1**2 + I3 * w3**2, (I1 * w1) ** 2 + (I3 * w3) ** 2
    a1 = np.sqrt((momentum2 - energy2 * I3) / (I1 * (I1 - I3)))
    a2 = np.sqrt((energy2 * I1 - momentum2) / (I2 * (I1 - I2)))
    a3 = np.sqrt((energy2 * I1 - momentum2) / (I3 * (I1 - I3)))
    rate = np.sqrt((I1 - I2) * (momentum2 - energy2 * I3) / (I1 * I2 * I3))
    modulus = (I2 - I3) * (I1 * energy2 - momentum2) / ((I1 - I2) * (momentum2 - energy2 * I3))
    times = np.array([0.0, 1.0, 5.0, 20.0])
    sn, cn, dn, _ = ellipj(rate * times, modulus)
    known = np.stack([a1 * dn, -a2 * sn, a3 * cn], axis=1)
    run = simulate(_free(inertia), (0.0, 20.0), v=[w1, 0.0, w3], save=times, **TIGHT)
    return [row("angular velocity at 1, 5 and 20 s", known[1:], run.v[1:], 1e-9, "rad/s")]


@problem("Euler's equations of a symmetric body", peers=True)
def regular_precession() -> list[KnownValue]:
    """A free symmetric body precesses regularly."""
    A, C, spin, lateral = 2.0, 1.0, 3.0, 0.5
    run = simulate(_free((A, A, C)), (0.0, 10.0), v=[lateral, 0.0, spin], save=[0.0, 10.0], **TIGHT)
    phase = (C - A) / A * spin * 10.0
    known = [lateral * np.cos(phase), lateral * np.sin(phase), spin]
    precession = np.hypot(A * lateral, C * spin) / A  # of the body about the momentum
    return [
        row("angular velocity at 10 s", known, run.v[-1], 1e-10, "rad/s"),
        row("axis returns after one precession", *_axis_after(A, C, spin, lateral, 2 * np.pi / precession), 1e-10),
    ]


def _axis_after(A: float, C: float, spin: float, lateral: float, period: float) -> tuple[np.ndarray, np.ndarray]:
    run = simulate(_free((A, A, C)), (0.0, period), v=[lateral, 0.0, spin], save=[0.0, period], **TIGHT)
    axes = ch.lie.rotation.quaternion_to_matrix(run["body"].orientation)[:, :, 2]
    return axes[0], axes[1]


def _lagrange(theta: float, spin: float) -> tuple[ch.System, np.ndarray]:
    """A symmetric top of 1 kg with its center 0.3 m above its pivot, and its orientation at an inclination."""
    top = ch.System([ch.Body("top", 1.0, (0, 0, 0.3), (0.01, 0.01, 0.02))], [ch.spherical("pivot", "ground", "top")])
    return top, np.array([np.cos(theta / 2), np.sin(theta / 2), 0.0, 0.0])


@problem("the integral of the inclination's equation", peers=True)
def lagrange_top() -> list[KnownValue]:
    """Lagrange's top, let go at rest: its inclination over time."""
    from scipy.integrate import quad

    theta, spin, A, C, weight = 0.6, 40.0, 0.01 + 0.09, 0.02, 9.81 * 0.3
    top = ch.System([ch.Body("top", 1.0, (0, 0, 0.3), (0.01, 0.01, C))], [ch.spherical("pivot", "ground", "top")])
    # of u = cos θ: u'² = 2 weight/A (u0 - u) (1 - u² - k (u0 - u)), with k of the spin; it moves between two roots
    u0, k = np.cos(theta), (C * spin) ** 2 / (2 * A * weight)
    lowest, third = np.sort(np.roots([1.0, -k, k * u0 - 1.0]).real)

    def slope(x: float) -> float:  # dt/dx with u = lowest + (u0 - lowest) sin² x
        u = lowest + (u0 - lowest) * np.sin(x) ** 2
        return 2.0 / np.sqrt(2 * weight / A * (third - u))

    def time(x: float) -> float:
        return quad(slope, x, np.pi / 2, epsabs=1e-14, epsrel=1e-13)[0]

    period = 2 * time(0.0)
    times = np.array([0.0, time(np.pi / 4), period / 2, period + time(np.pi / 4), 2 * period])
    known = lowest + (u0 - lowest) * np.array([1.0, 0.5, 0.0, 0.5, 1.0])
    start = np.array([np.cos(theta / 2), np.sin(theta / 2), 0.0, 0.0])
    run = simulate(top, (0.0, times[-1]), q=start, v=[0.0, 0.0, spin], save=times, **TIGHT)
    found = ch.lie.rotation.quaternion_to_matrix(run["top"].orientation)[:, 2, 2]
    return [row("cosine of the inclination at five times in two periods", known, found, 1e-9)]


@problem("geradin2001 and bruels2010; digits of Exudyn's verification (Runge-Kutta of order 6)", peers=True)
def heavy_top() -> list[KnownValue]:
    """The heavy top of Géradin and Cardona at 150 rad/s."""
    top = ch.System(
        [ch.Body("top", 15.0, (0, 1, 0), (0.234375, 0.46875, 0.234375))], [ch.spherical("pivot", "ground", "top")]
    )
    times = np.array([0.0, 0.01, 0.02, 0.03, 0.05, 0.06, 2.0])
    run = simulate(top, (0.0, 2.0), v=[0.0, 150.0, -4.61538], save=times, **TIGHT)
    spatial = run.frame("top", "hybrid").twist[:, 1]
    body = [
        [4.5748, 150, -0.6347],
        [1.2594, 150, 4.4536],
        [-4.2537, 150, 1.8644],
        [3.6303, 150, -2.9772],
        [3.4673, 150, 3.216],
    ]
    quaternions = [[0.73149, 0.015154, 0.68146, -0.017402], [0.070614, 0.045708, 0.99644, -0.0063419]]
    found = run["top"].orientation[1:3]
    found = found * np.sign(np.sum(found * quaternions, axis=1))[:, None]
    return [
        row("angular velocity in space, y, at 0.01 s", 149.8473939540758, spatial[1], 1e-9, "rad/s"),
        row("angular velocity in space, y, at 2 s", -106.163804143, spatial[-1], 1e-7, "rad/s"),
        row("angular velocity in the body, five times", body, run.v[1:6], 6e-5, "rad/s"),
        row("quaternion at 0.01 and 0.02 s", quaternions, found, 6e-6),
    ]


@problem("complete elliptic integral", peers=True)
def pendulum() -> list[KnownValue]:
    """A pendulum released at 120 degrees: period, and position as in problem A01 of the IFToMM library."""
    from scipy.special import ellipk

    point = ch.System(
        [ch.Body("mass", 1.0, (0, -1, 0))],
        [ch.revolute("pivot", "ground", "mass", axis=(0, 0, 1))],
        gravity=(0, -9.81, 0),
    )
    start = 2 * np.pi / 3
    period = 4 * ellipk(np.sin(start / 2) ** 2) / np.sqrt(9.81)
    run = simulate(point, (0.0, 1.25 * period), q=[start], save=[0.0, period / 4, 1.25 * period], **TIGHT)
    times = [0.0, 1.0, 5.0, 10.0]
    fall = simulate(point, (0.0, 10.0), q=[-np.pi / 2], save=times, **TIGHT)
    known = [[0.986291751132, -0.165010853126], [-0.942305435044, -0.334754338414], [-0.275087462577, -0.961419205099]]
    found = np.stack([np.sin(fall.q[1:, 0]), -np.cos(fall.q[1:, 0])], axis=1)
    return [
        row("angle after a quarter and five quarters of the period", [0.0, 0.0], run.q[1:, 0], 1e-9, "rad"),
        row("A01: position at 1, 5 and 10 s", known, found, 1e-9, "m"),
    ]


@problem("exponential map")
def screw_motion() -> list[KnownValue]:
    """A constant twist moves a body along a screw, exactly."""
    twist = np.array([0.3, -0.5, 0.8, 1.0, 0.2, -0.4])
    known = ch.lie.se3.exp(7.0 * twist)
    space, field = ch.integrate.Space("pose", side="right"), ch.integrate.field(_constant)
    run = ch.integrate.solve(
        ch.integrate.LieODE(space, field, twist), ch.integrate.RKMK("rk4"), (0.0, 7.0), [1, 0, 0, 0, 0, 0, 0], step=1.0
    )
    return [row("pose after seven steps of 1 s", known, ch.lie.pose.to_matrix(run.y[-1]), 1e-14)]


def _constant(t, y, p, out):
    for k in range(6):
        out[k] = p[k]


@problem("Kepler's third law and equation")
def kepler() -> list[KnownValue]:
    """A satellite on an ellipse of eccentricity 0.6."""
    mu, a, e = 398600.4418, 12000.0, 0.6  # km³/s², km
    satellite = ch.System(
        [ch.Body("satellite", 1.0, (0, 0, 0), (1, 1, 1))],
        [ch.general("place", "ground", "satellite", screws=[[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])],
        forces=[ch.TwoPointForce("gravity", ("ground", "satellite"), value=f"{mu} / distance**2")],
        gravity=(0, 0, 0),
    )
    n = np.sqrt(mu / a**3)
    anomaly = 2.0  # eccentric
    time = (anomaly - e * np.sin(anomaly)) / n
    known = [a * (np.cos(anomaly) - e), a * np.sqrt(1 - e * e) * np.sin(anomaly)]
    start, speed = [a * (1 - e), 0.0], [0.0, np.sqrt(mu / a * (1 + e) / (1 - e))]
    run = simulate(
        satellite, (0.0, 2 * np.pi / n + time), q=start, v=speed, save=[0.0, time, 2 * np.pi / n + time], **TIGHT
    )
    return [
        row("position at an eccentric anomaly of 2, and one revolution later", [known, known], run.q[1:], 1e-5, "km")
    ]
