"""Closed loops and machine elements: closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.gallery import overconstrained
from chasles.model import lead_screw, planetary_gear, rack_and_pinion
from chasles.validation.board import KnownValue, modeled, problem, row, simulate

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "certificate": False}
Z = (0.0, 0.0, 1.0)
SMALL = (1e-3, 1e-3, 1e-3)


def _body(name: str, mass: float = 1.0, com: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> ch.Body:
    return ch.Body(name, mass, com, SMALL)


@problem("closed form of the crank's angle")
def slider_crank() -> list[KnownValue]:
    """Slider-crank: position, velocity and acceleration of the piston, torque of the motor."""
    r, length, speed, mass = 0.1, 0.35, 12.0, 2.0
    system = ch.System(
        [ch.Body("crank", 0.0), ch.Body("rod", 0.0), ch.Body("piston", mass, (0, 0, 0), SMALL)],
        [
            ch.revolute("main", "ground", "crank", axis=Z, armature=1e-3),
            ch.revolute("big end", "crank", "rod", axis=Z, at=(r, 0, 0), armature=1e-9),
            ch.revolute("small end", "rod", "piston", axis=Z, at=(length, 0, 0)),
            ch.prismatic("guide", "ground", "piston", axis=(1, 0, 0)),
        ],
        constraints=[ch.Drive("motor", "main", f"0.4 + {speed} * t")],
        gravity=(0, 0, 0),
    )
    times = np.array([0.0, 0.11, 0.37])
    run = simulate(system, (0.0, 0.37), save=times, **TIGHT)
    phi = 0.4 + speed * times
    root = np.sqrt(length**2 - (r * np.sin(phi)) ** 2)
    x = r * np.cos(phi) + root
    slope = -r * np.sin(phi) - r**2 * np.sin(phi) * np.cos(phi) / root  # dx/dφ
    bend = -r * np.cos(phi) - r**2 * np.cos(2 * phi) / root - (r**2 * np.sin(phi) * np.cos(phi)) ** 2 / root**3
    piston = run["piston"]
    moved = run.frame("piston", "hybrid")
    return [
        row("position of the piston", x, piston.position[:, 0], 1e-10, "m"),
        row("velocity of the piston", slope * speed, moved.twist[:, 3], 1e-9, "m/s"),
        row("acceleration of the piston", bend * speed**2, moved.acceleration[:, 3], 1e-7, "m/s²"),
        row("torque of the motor", mass * bend * speed**2 * slope, run.coordinate_forces("motor")[:, 0], 1e-6, "N m"),
    ]


@problem("tan(output) = tan(input) / cos(bend)")
def cardan_joint() -> list[KnownValue]:
    """A universal joint between shafts that meet at 30 degrees."""
    bend, times = np.pi / 6, np.array([0.0, 0.2, 0.7, 1.1])
    tilted = ch.lie.rotation.axis_angle_to_quaternion((0.0, 1.0, 0.0), bend)
    system = ch.System(
        [_body("input"), _body("output")],
        [
            ch.revolute("first", "ground", "input", axis=Z),
            ch.revolute("second", "ground", "output", axis=Z, at=(*tilted, 0, 0, 0)),
            ch.universal("cross", "input", "output", axes=((1, 0, 0), (0, 1, 0)), child_at=(1, 0, 0, 0, 0, 0, 0)),
        ],
        constraints=[ch.Drive("motor", "first", "t")],
        gravity=(0, 0, 0),
    )
    run = simulate(system, (0.0, 1.1), save=times, **TIGHT)
    angle = run.joint("second").q[:, 0]
    ratio = run.joint("second").v[:, 0]
    known = np.arctan2(np.sin(times), np.cos(times) * np.cos(bend))
    alternative = np.arctan2(np.sin(times) * np.cos(bend), np.cos(times))
    first = abs(angle[1] - known[1]) < abs(angle[1] - alternative[1])  # which fork lies in the plane at the start
    c, s = (np.cos(bend), np.sin(bend) * np.cos(times)) if first else (np.cos(bend), np.sin(bend) * np.sin(times))
    return [
        row("angle of the output", known if first else alternative, angle, 1e-9, "rad"),
        row("ratio of the speeds", c / (1 - s**2), ratio, 1e-9),
    ]


@problem("Willis' equation")
def planetary_set() -> list[KnownValue]:
    """A planetary gear: speeds and torques."""
    sun, ring, torque = 20, 64, 3.0
    system = ch.System(
        [ch.Body("sun", 1.0, inertia=(1, 1, 0.01)), ch.Body("carrier", 1.0, inertia=(1, 1, 0.5))],
        [ch.revolute("s", "ground", "sun", axis=Z), ch.revolute("c", "ground", "carrier", axis=Z)],
        constraints=[planetary_gear("gears", "s", "c", (sun, ring))],
        forces=[ch.JointForce("motor", "s", [torque])],
        gravity=(0, 0, 0),
    )
    run = simulate(system, (0.0, 2.0), save=[0.0, 2.0], **TIGHT)
    ratio = 1 + ring / sun
    acceleration = torque / (0.01 + 0.5 / ratio**2)
    return [
        row("speed of the sun at 2 s", 2 * acceleration, run.joint("s").v[-1], 1e-8, "rad/s"),
        row("ratio of the speeds", ratio, run.joint("s").v[-1] / run.joint("c").v[-1], 1e-11),
    ]


@problem("energy of the two moving parts")
def rack_and_screw() -> list[KnownValue]:
    """A rack under its weight turns a pinion; a nut under load turns its screw."""
    g, mass, inertia, radius, lead = 9.81, 3.0, 0.02, 0.05, 0.01
    parts = [ch.Body("wheel", 1.0, inertia=(1, 1, inertia)), ch.Body("slide", mass, (0, 0, 0), SMALL)]
    joints = [ch.revolute("turn", "ground", "wheel", axis=Z), ch.prismatic("lift", "ground", "slide", axis=Z)]
    rows = []
    for name, transmission, ratio in (
        ("rack", rack_and_pinion("mesh", "turn", "lift", radius), radius),
        ("screw", lead_screw("thread", ["turn", "lift"], lead), lead / (2 * np.pi)),
    ):
        run = simulate(ch.System(parts, joints, constraints=[transmission]), (0.0, 0.5), save=[0.0, 0.5], **TIGHT)
        known = -g * mass / (mass + inertia / ratio**2) * 0.5**2 / 2
        rows.append(row(f"drop with a {name}", known, run.joint("lift").q[-1], 1e-11, "m"))
    return rows


@problem("Watt's governor: cos θ = g / (ω² l)")
def governor() -> list[KnownValue]:
    """Balls on two hinged arms of a spinning shaft: the angle of equilibrium."""
    length, speed = 0.4, 7.0
    joints = [ch.revolute("shaft", "ground", "shaft", axis=Z)]
    bodies = [ch.Body("shaft", 1.0, inertia=(1, 1, 1))]
    for k, side in enumerate((1.0, -1.0)):
        bodies.append(ch.Body(f"ball {k}", 2.0, (0, 0, -length)))
        joints.append(ch.revolute(f"arm {k}", "shaft", f"ball {k}", axis=(0, -side, 0), damping=0.5))
    system = ch.System(bodies, joints, constraints=[ch.Drive("motor", "shaft", f"{speed} * t")])
    run = simulate(system, (0.0, 30.0), q=[0.0, 0.5, 0.7], save="final", **TIGHT)
    known = np.arccos(9.81 / (speed**2 * length))
    return [row("angle of both arms", [known, known], run.q[-1, 1:], 1e-8, "rad")]


@problem("bennett1903: tan(θ/2) tan(φ/2) = sin((β + α)/2) / sin((β - α)/2)")
def bennett() -> list[KnownValue]:
    """Bennett's linkage, overconstrained: the angles of two joints."""
    a, b, alpha, angle = 1.0, 1.5, 0.5, 1.0
    beta = np.arcsin(np.sin(alpha) * b / a)
    ratio = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    linkage = overconstrained.bennett(a, b, alpha, angle)
    start: dict[str, Any] = {"poses": linkage.poses, "twists": linkage.twists, "coordinates": "absolute"}
    run = simulate(linkage.system, (0.0, 1.0), **start, method="rk4", step=1e-3, save=250, certificate=False)
    first, second = (run.joint(joint.name).q[:, 0] for joint in linkage.system.joints[:2])
    product = np.tan((angle + first) / 2) * np.tan(np.arctan2(ratio, np.tan(angle / 2)) + second / 2)
    return [row("product of the tangents of half angles", np.full(len(product), ratio), product, 1e-9)]


@problem("equilibrium of each link, solved by SciPy")
def hanging_chain() -> list[KnownValue]:
    """A chain of eight rods between two points: the discrete catenary."""
    from scipy.optimize import brentq

    n, length, span = 8, 0.25, 1.2
    links = [f"link {k}" for k in range(n)]
    bodies = [ch.Body(name, 1.0, (length / 2, 0, 0), (1e-3, length**2 / 12, length**2 / 12)) for name in links]
    joints = [
        ch.revolute(
            f"pin {k}", links[k - 1] if k else "ground", links[k], axis=(0, 1, 0), at=(length if k else 0.0, 0, 0)
        )
        for k in range(n)
    ]
    joints.append(ch.revolute("end", "ground", links[-1], axis=(0, 1, 0), at=(span, 0, 0), child_at=(length, 0, 0)))
    system = ch.System(bodies, joints)

    def slopes(
        tension: float,
    ) -> np.ndarray:  # rotations about y: positive is down; vertical force at the rods' middles
        return np.arctan2((n / 2 - 0.5 - np.arange(n)) * 9.81, tension)

    tension = brentq(lambda h: length * np.cos(slopes(h)).sum() - span, 1e-3, 1e3, xtol=1e-14, rtol=1e-14)
    known = slopes(tension)
    guess = np.diff(known + 0.02 * np.cos(np.arange(n)), prepend=0.0)
    rest = ch.equilibrium(modeled(system), guess)
    return [row("slope of each rod", known, np.cumsum(rest.q[:n]), 1e-9, "rad")]


@problem("rolling without slip: a = g sin α / (1 + k²)")
def rolling_ball() -> list[KnownValue]:
    """A ball rolls down a plane of 25 degrees."""
    slope, radius = np.deg2rad(25), 0.1
    ball = ch.System(
        [ch.Body("ball", 2.0, inertia=(0.4 * 2 * radius**2,) * 3)],
        [ch.free("place", "ground", "ball", at=(0, 0, radius))],
        constraints=[ch.Rolling("plane", ("ground", "ball"), radius)],
        gravity=(9.81 * np.sin(slope), 0, -9.81 * np.cos(slope)),
    )
    run = simulate(ball, (0.0, 1.0), save=[0.0, 1.0], **TIGHT)
    return [row("way after 1 s", 9.81 * np.sin(slope) / 1.4 / 2, run["ball"].position[-1, 0], 1e-10, "m")]


@problem("toggle of two springs: F = 2 k (1 - L / l) x")
def von_mises_truss() -> list[KnownValue]:
    """Von Mises' truss: its height below the limit load."""
    from scipy.optimize import brentq

    k, half, height = 1000.0, 1.0, 0.3
    relaxed = np.hypot(half, height)
    at = np.sqrt(half ** (2 / 3) * relaxed ** (4 / 3) - half**2)  # where dF/dx = 0, from the closed form
    load = 2 * k * (relaxed / np.hypot(half, at) - 1) * at

    def system(force: float) -> ch.System:
        springs = [
            ch.Spring(f"spring {side}", ("ground", "pin"), ((side * half, 0, 0), (0, 0, 0)), k, 0.0, relaxed)
            for side in (-1, 1)
        ]
        push = ch.JointForce("load", "slide", [-force])
        slide = ch.prismatic("slide", "ground", "pin", axis=Z)
        return ch.System([_body("pin")], [slide], forces=[*springs, push], gravity=(0, 0, 0))

    def balance(x: float, part: float) -> float:
        return float(2 * k * (relaxed / np.hypot(half, x) - 1) * x - part * load)

    parts = 0.5, 0.9
    known = [brentq(balance, at, height, args=(part,), xtol=1e-15, rtol=1e-14) for part in parts]
    found = [ch.equilibrium(modeled(system(part * load)), [height]).q[0] for part in parts]
    return [row("height under half and nine tenths of the limit load", known, found, 1e-10, "m")]
