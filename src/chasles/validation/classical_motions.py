"""Motions that textbooks and toys are known for: quadratures and conserved quantities."""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.validation.board import KnownValue, problem, row, simulate

TIGHT: dict[str, Any] = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-13, "certificate": False}
G = 9.81


@problem("complete elliptic integral: T = 4 K(m) / rate", peers=True)
def dzhanibekov() -> list[KnownValue]:
    """Dzhanibekov's nut: it spins about its middle axis and turns over, again and again."""
    from scipy.special import ellipk

    I1, I2, I3 = inertia = 3.0, 2.0, 1.0
    w = np.array([1e-2, 5.0, 0.0])
    energy2, momentum2 = float(np.array(inertia) @ w**2), float((np.array(inertia) * w) @ (np.array(inertia) * w))
    # as in Landau and Lifshitz, with the momentum about the axis of the largest moment of inertia
    rate = np.sqrt((I1 - I2) * (momentum2 - energy2 * I3) / (I1 * I2 * I3))
    modulus = (I2 - I3) * (energy2 * I1 - momentum2) / ((I1 - I2) * (momentum2 - energy2 * I3))
    period = 4 * ellipk(modulus) / rate
    body = ch.System(
        [ch.Body("nut", 1.0, inertia=inertia)], [ch.spherical("place", "ground", "nut")], gravity=(0, 0, 0)
    )
    run = simulate(body, (0.0, period), v=w, save=[0.0, period / 2, period], **TIGHT)
    return [
        row("angular velocity after half a period: turned over", [1, -1, 1] * w, run.v[1], 1e-9, "rad/s"),
        row("angular velocity after a period", w, run.v[2], 1e-9, "rad/s"),
    ]


@problem("the spherical pendulum's quadratures, seen from the table")
def foucault() -> list[KnownValue]:
    """Foucault's pendulum, let go at rest on a turntable: the turn of its plane in five swings."""
    from scipy.integrate import quad

    length, start, table = 2.0, 0.2, 0.3  # [m, rad, rad/s]
    # of u = cos of the angle to the vertical: u'² = 2 g/l (u - r0)(u - r1)(r2 - u), with h = sin² of it times the turn
    g, h = G / length, np.sin(start) ** 2 * table
    energy = 0.5 * h * table - g * np.cos(start)
    r0, r1, r2 = np.sort(np.roots([-2 * g, -2 * energy, 2 * g, 2 * energy - h**2]).real)

    def slope(x: float, turn: bool) -> float:  # dt/dx and dφ/dx with u = r1 + (r2 - r1) sin² x
        u = r1 + (r2 - r1) * np.sin(x) ** 2
        return 2.0 / np.sqrt(2 * g * (u - r0)) * (h / (1 - u * u) if turn else 1.0)

    time, turn = (20 * quad(slope, 0.0, np.pi / 2, args=(one,), epsabs=1e-14, epsrel=1e-13)[0] for one in (False, True))
    system = ch.System(
        [ch.Body("table", 1.0, inertia=(1, 1, 1)), ch.Body("bob", 1.0, (0, 0, -length))],
        [
            ch.revolute("axis", "ground", "table", axis=(0, 0, 1)),
            ch.universal("hook", "table", "bob", axes=((1, 0, 0), (0, 1, 0))),
        ],
        constraints=[ch.Drive("motor", "axis", f"{table} * t")],
        frames=[ch.Frame("tip", "bob", (0, 0, -length))],
    )
    tight: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "certificate": False}
    run = simulate(system, (0.0, time), [0.0, 0.0, start], [table, 0.0, 0.0], save=[0.0, time], **tight)
    x, y, z = run["tip"].position[-1]  # it began at -x
    plane = np.arctan2(-y, -x) - table * time
    known = np.angle(np.exp(1j * (turn - table * time)))
    return [
        row("cosine of the angle to the vertical after five swings", np.cos(start), -z / length, 1e-9),
        row("turn of the plane on the table", known, np.angle(np.exp(1j * plane)), 1e-8, "rad"),
    ]


@ch.law
def gliding(t, pose, twist, parameters, out):
    """Viscous friction c at the lowest point of a ball of radius R; torque and force in space, at its center."""
    c, R = parameters[0], parameters[1]
    w, x, y, z = pose[0], pose[1], pose[2], pose[3]
    a, b, d = twist[0], twist[1], twist[2]
    # angular velocity and velocity of the center in space, along x and y
    turn_x = (1 - 2 * (y * y + z * z)) * a + 2 * (x * y - w * z) * b + 2 * (x * z + w * y) * d
    turn_y = 2 * (x * y + w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z - w * x) * d
    a, b, d = twist[3], twist[4], twist[5]
    move_x = (1 - 2 * (y * y + z * z)) * a + 2 * (x * y - w * z) * b + 2 * (x * z + w * y) * d
    move_y = 2 * (x * y + w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z - w * x) * d
    out[3], out[4], out[5] = -c * (move_x - R * turn_y), -c * (move_y + R * turn_x), 0.0
    out[0], out[1], out[2] = R * out[4], -R * out[3], 0.0


@problem("Jellett's integral: C n (R - e) before, C n (R + e) after")
def tippe_top() -> list[KnownValue]:
    """The tippe top turns over: its axis and its spin. A slow rolling motion keeps the axis off by 1e-4."""
    R, e, mass, moment = 0.02, 0.004, 0.02, 3.2e-6
    spin, lean, friction = 180.0, 0.05, 0.1
    top = ch.System(
        [ch.Body("slide", 0.0), ch.Body("top", mass, (0, 0, -e), (0.95 * moment, 0.95 * moment, moment))],
        [
            ch.general("table", "ground", "slide", screws=[[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]], at=(0, 0, R)),
            ch.spherical("center", "slide", "top"),
        ],
        forces=[ch.Wrench("friction", "top", gliding, "hybrid", parameters=[friction, R])],
    )
    q, v = [0, 0, np.cos(lean / 2), np.sin(lean / 2), 0, 0], [0, 0, 0, 0, spin]
    tight: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "certificate": False}
    run = simulate(top, (0.0, 12.0), q, v, every=0.05, **tight)
    rotation = ch.lie.rotation.quaternion_to_matrix(run["top"].orientation)
    axis = rotation[:, :, 2]
    momentum = np.einsum("tij,j,tj->ti", rotation, np.array([0.95, 0.95, 1.0]) * moment, run.v[:, 2:])
    arm = R * np.array([0.0, 0.0, 1.0]) - e * axis  # from the point of contact to the center of mass
    jellett = np.einsum("ti,ti->t", momentum, arm)
    return [
        row("Jellett's integral over its start, five times", np.ones(5), jellett[::48][:5] / jellett[0], 1e-7),
        row("axis at the end", -1.0, axis[-1, 2], 1e-4),
        row("spin at the end", -jellett[0] / (moment * (R + e)), run.v[-1, 4], 0.02, "rad/s"),
    ]


@problem("steady precession: moments of weight, centrifugal forces and gyroscopes in balance", peers=True)
def gyroscopic_chain() -> list[KnownValue]:
    """Two gyroscopes, one hanging on the other, precess together."""
    mass, center, hook, A, C = 1.0, 0.15, 0.3, 2e-3, 3e-3  # places on the axis [m], moments across and along it
    angles, rate = np.array([0.5, 0.9]), 6.0  # to the vertical, and of the plane of both axes about it
    # T - V does not change with the angles: this gives the spins
    s, c = np.sin(angles), np.cos(angles)
    radius = np.array([center * s[0], hook * s[0] + center * s[1]])
    arms = np.array([[center, hook], [0.0, center]])
    moments = mass * (rate**2 * c * (arms @ radius) - G * s * arms.sum(axis=1))
    spins = (moments / s + A * rate**2 * c) / (C * rate) - rate * c
    parts: dict[str, Any] = {"com": (0, 0, -center), "inertia": (A, A, C)}
    system = ch.System(
        [ch.Body("upper", mass, **parts), ch.Body("lower", mass, **parts)],
        [ch.spherical("hook", "ground", "upper"), ch.spherical("link", "upper", "lower", at=(0, 0, -hook))],
    )
    turns = np.array([angles[0], angles[1] - angles[0]])
    q = np.stack([np.cos(turns / 2), 0 * turns, np.sin(turns / 2), 0 * turns], axis=1)
    omega = np.stack([-rate * s, 0 * s, spins + rate * c], axis=1)  # of each in its own axes
    rotation = ch.lie.rotation.quaternion_to_matrix(q[1])
    v = np.concatenate([omega[0], omega[1] - rotation.T @ omega[0]])
    run = simulate(system, (0.0, 2.0), q.ravel(), v, save=[0.0, 0.7, 2.0], **TIGHT)
    found = [
        np.arccos(ch.lie.rotation.quaternion_to_matrix(run[name].orientation)[1:, 2, 2]) for name in ("upper", "lower")
    ]
    place = run["lower"].position[-1]
    turned = hook * s[0] * np.array([-np.cos(2 * rate), -np.sin(2 * rate)])
    return [
        row("angles to the vertical at 0.7 and 2 s", np.repeat(angles, 2), np.ravel(found), 1e-9, "rad"),
        row("place of the lower joint at 2 s", [*turned, -hook * c[0]], place, 1e-9, "m"),
    ]


@problem("Clairaut's relation and a quadrature")
def geodesic_on_a_torus() -> list[KnownValue]:
    """A point that moves freely on a torus: a geodesic."""
    from scipy.integrate import quad

    R, r, meridian, around = 1.0, 0.4, 0.9, 0.5  # radii [m]; rates at the outer equator [rad/s]
    system = ch.System(
        [ch.Body("arm", 0.0), ch.Body("point", 1.0, (r, 0, 0))],
        [
            ch.revolute("around", "ground", "arm", axis=(0, 0, 1)),
            ch.revolute("meridian", "arm", "point", axis=(0, -1, 0), at=(R, 0, 0)),
        ],
        gravity=(0, 0, 0),
    )
    # Clairaut: ρ² φ' is kept with ρ = R + r cos ψ; speed² = r² ψ'² + ρ² φ'²
    kept, speed2 = (R + r) ** 2 * around, (r * meridian) ** 2 + ((R + r) * around) ** 2

    def slope(psi: float, turn: bool) -> float:
        rho = R + r * np.cos(psi)
        return r / np.sqrt(speed2 - (kept / rho) ** 2) * (kept / rho**2 if turn else 1.0)

    time, turn = (quad(slope, 0.0, 0.5, args=(one,), epsabs=1e-14, epsrel=1e-13)[0] for one in (False, True))
    run = simulate(system, (0.0, time), [0.0, 0.0], [around, meridian], save=[0.0, time], **TIGHT)
    return [row("longitude and latitude on the torus", [turn, 0.5], run.q[-1], 1e-11, "rad")]


@problem("Lagrange's equations of a chain in the plane, by SciPy", peers=True)
def falling_chain() -> list[KnownValue]:
    """A folded chain of 16 rods falls, one end held."""
    from scipy.integrate import solve_ivp

    n, link, mass = 16, 1 / 16, 1 / 16
    start = np.where(np.arange(n) < n // 2, np.pi / 2 - 0.05, -np.pi / 2 + 0.05)  # of each rod, below the horizontal
    # rod i moves the centers of all j >= i: by its length those beyond, by half of it its own
    beyond = n - 1.0 - np.maximum.outer(np.arange(n), np.arange(n))
    masses = mass * link**2 * (beyond + 0.5 + np.eye(n) * (1 / 3 - 0.5))
    weights = mass * link * G * (n - 0.5 - np.arange(n))

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        angle, speed = y[:n], y[n:]
        differences = angle[:, None] - angle
        forces = weights * np.cos(angle) - (masses * np.sin(differences)) @ speed**2
        return np.concatenate([speed, np.linalg.solve(masses * np.cos(differences), forces)])

    times = np.array([0.0, 0.2, 0.4])
    y = solve_ivp(rates, (0.0, 0.4), np.concatenate([start, 0 * start]), "DOP853", times, rtol=1e-12, atol=1e-12).y
    links = [f"link {k}" for k in range(n)]
    slender = (1e-9, mass * link**2 / 12, mass * link**2 / 12)
    system = ch.System(
        [ch.Body(name, mass, (link / 2, 0, 0), slender) for name in links],
        [
            ch.revolute(
                f"pin {k}", links[k - 1] if k else "ground", name, axis=(0, 1, 0), at=(link if k else 0.0, 0, 0)
            )
            for k, name in enumerate(links)
        ],
    )
    run = simulate(system, (0.0, 0.4), np.diff(start, prepend=0.0), save=times, **TIGHT)
    return [
        row("angles of the rods at 0.2 and 0.4 s", y[:n, 1:].T, np.cumsum(run.q[1:], axis=1), 1e-8, "rad"),
        row("their rates at 0.4 s", y[n:, -1], np.cumsum(run.v[-1]), 1e-6, "rad/s"),
    ]


@problem("Huygens: T = 2π √(4 a / g), whatever the amplitude")
def cycloidal_pendulum() -> list[KnownValue]:
    """A bead on a cycloid swings with one period, whatever its amplitude."""
    a = 0.25
    turn = np.linspace(-2.9, 2.9, 400)
    wire = np.stack([a * (turn + np.sin(turn)), -a * (1 + np.cos(turn))], axis=1)
    period = 2 * np.pi * np.sqrt(4 * a / G)
    bead = ch.System(
        [ch.Body("bead", 1.0)],
        [ch.general("plane", "ground", "bead", screws=[[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])],
        constraints=[ch.Cam("wire", ("ground", "bead"), wire, closed=False)],
        gravity=(0, -G, 0),
    )
    rows = []
    for begin in (0.3, 1.5, 2.5):
        q = [a * (begin + np.sin(begin)), -a * (1 + np.cos(begin))]
        run = simulate(bead, (0.0, period), q, save=[0.0, period / 4, period], rtol=1e-10, certificate=False)
        rows.append(
            row(f"place after a quarter and a whole period, from {begin} rad", [0.0, q[0]], run.q[1:, 0], 1e-8, "m")
        )
    return rows
