"""Frequencies, friction and impacts: closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.validation.board import KnownValue, modeled, problem, row, simulate

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "certificate": False}
SMALL = (1e-3, 1e-3, 1e-3)


def _slider(
    name: str, parent: str, axis: tuple[float, float, float] = (1.0, 0.0, 0.0), **more: float
) -> ch.model.Joint:
    return ch.prismatic(f"slide {name}", parent, name, axis=axis, **more)


@problem("ω = 2 √(k/m) sin(π j / (2 n + 2))")
def masses_and_springs() -> list[KnownValue]:
    """Six equal masses between seven springs: natural frequencies."""
    n, k, m = 6, 400.0, 2.0
    names = [f"mass {j}" for j in range(n)]
    springs = [
        ch.Spring(f"spring {j}", (names[j - 1] if j else "ground", names[j] if j < n else "ground"),
                  ((0.0, 0, 0) if j else (-1.0, 0, 0), (0.0, 0, 0) if j < n else (float(n), 0, 0)), k, 0.0, 0.9)
        for j in range(n + 1)
    ]  # fmt: skip
    joints = [ch.prismatic(f"slide {j}", "ground", names[j], axis=(1, 0, 0), at=(float(j), 0, 0)) for j in range(n)]
    system = ch.System([ch.Body(name, m, (0, 0, 0), SMALL) for name in names], joints, forces=springs)
    modes = np.sort([mode.frequency for mode in ch.linearize(modeled(system), np.zeros(n)).modes])
    known = 2 * np.sqrt(k / m) * np.sin(np.pi * np.arange(1, n + 1) / (2 * n + 2)) / (2 * np.pi)
    return [row("frequencies", known, modes, 1e-10, "Hz")]


@problem("two pendulums: λ = (2 ± √2) g / l")
def double_pendulum() -> list[KnownValue]:
    """Two point masses on two strings of one length: natural frequencies."""
    names = ["ground", "upper", "lower"]
    joints = [
        ch.revolute(f"pin {j}", names[j], names[j + 1], axis=(0, 1, 0), at=(0, 0, -0.7 if j else 0.0)) for j in range(2)
    ]
    system = ch.System([ch.Body(name, 1.3, (0, 0, -0.7)) for name in names[1:]], joints)
    modes = np.sort([mode.frequency for mode in ch.linearize(modeled(system), np.zeros(2)).modes])
    known = np.sqrt((2 + np.array([-1, 1]) * np.sqrt(2)) * 9.81 / 0.7) / (2 * np.pi)
    return [row("frequencies", known, modes, 1e-11, "Hz")]


M, K, C = 2.0, 50.0, 1.6  # of the damped oscillator [kg, N/m, N s/m]
TIMES = np.array([0.0, 1.0, 4.0, 10.0])


def _oscillator() -> tuple[ch.System, np.ndarray]:
    """A damped oscillator, and its positions at the times."""
    omega, zeta = np.sqrt(K / M), C / (2 * np.sqrt(K * M))
    damped = omega * np.sqrt(1 - zeta**2)
    system = ch.System([ch.Body("mass", M, (0, 0, 0), SMALL)], [_slider("mass", "ground", stiffness=K, damping=C)])
    phase = damped * TIMES
    return system, 0.1 * np.exp(-zeta * omega * TIMES) * (np.cos(phase) + zeta * omega / damped * np.sin(phase))


@problem("x = A exp(-ζ ω t) cos(ω_d t + φ)")
def damped_oscillator() -> list[KnownValue]:
    """A damped oscillator over ten seconds."""
    system, known = _oscillator()
    run = simulate(system, (0.0, 10.0), q=[0.1], save=TIMES, **TIGHT)
    return [row("position", known, run.q[:, 0], 1e-10, "m")]


@problem("x = A exp(-ζ ω t) cos(ω_d t + φ)")
def implicit_oscillator() -> list[KnownValue]:
    """The same oscillator by Radau IIA of order 5, in absolute coordinates."""
    system, known = _oscillator()
    method: dict[str, Any] = {"method": ch.integrate.RadauIIA(), "coordinates": "absolute", "step": 0.01}
    run = simulate(system, (0.0, 10.0), q=[0.1], save=TIMES, certificate=False, **method)
    return [row("position", known, run.q[:, 0], 1e-8, "m")]


@problem("friction below and above the slope's angle")
def block_on_slope() -> list[KnownValue]:
    """A block on a slope of 20 degrees: it stays, or slides by the closed form."""
    slope, m, g = np.deg2rad(20), 2.0, 9.81
    axis = (np.cos(slope), 0.0, -np.sin(slope))
    rows = []
    for mu, known in ((0.5, 0.0), (0.2, g * (np.sin(slope) - 0.2 * np.cos(slope)) / 2)):
        slide = ch.prismatic(
            "slide", "ground", "block", axis=axis, friction=mu * m * g * np.cos(slope), friction_speed=0
        )
        run = simulate(ch.System([ch.Body("block", m, (0, 0, 0), SMALL)], [slide]), (0.0, 1.0), **TIGHT)
        rows.append(row(f"way after 1 s, coefficient {mu}", known, run.q[-1], 1e-10 if known else 0.0, "m"))
    return rows


@problem("x decreases by 4 F / k in each full swing, then it sticks")
def dry_oscillator() -> list[KnownValue]:
    """An oscillator with dry friction: where it stops."""
    m, k, F = 1.0, 100.0, 3.0
    slide = _slider("mass", "ground", stiffness=k, friction=F, friction_speed=0.0)
    run = simulate(ch.System([ch.Body("mass", m, (0, 0, 0), SMALL)], [slide]), (0.0, 5.0), q=[0.2], **TIGHT)
    x, swings = 0.2, 0
    while abs(x) > F / k:
        x, swings = -(x - np.sign(x) * 2 * F / k), swings + 1
    return [row("place of rest", x, run.q[-1], 1e-10, "m"), row("speed there", 0.0, run.v[-1], 0.0, "m/s")]


@problem("T = √(2 h / g) (1 + e) / (1 - e)")
def bouncing_ball() -> list[KnownValue]:
    """A ball with restitution 0.7: the times of its impacts, and rest."""
    e, h, g = 0.7, 1.0, 9.81
    slide = ch.prismatic("slide", "ground", "ball", axis=(0, 0, 1), lower=0.0, restitution=e)
    run = simulate(ch.System([ch.Body("ball", 1.0, (0, 0, 0), SMALL)], [slide]), (0.0, 4.0), q=[h], **TIGHT)
    first = np.sqrt(2 * h / g)
    known = first * (1 + 2 * np.cumsum(e ** np.arange(1, 6)))
    struck = np.array([strike.t for strike in run.strikes])
    return [
        row("times of the second to the sixth impact", known, struck[1:6], 1e-9, "s"),
        row("time of the last one", first * (1 + e) / (1 - e), struck[-1], 1e-5, "s"),
        row("height at the end", 0.0, run.q[-1], 0.0, "m"),
    ]


@problem("a = g (m₁ - m₂) / (m₁ + m₂)")
def atwood() -> list[KnownValue]:
    """Atwood's machine: two weights on a rope, as a coupling; force of the rope."""
    m1, m2, g = 3.0, 2.0, 9.81
    bodies = [ch.Body("one", m1, (0, 0, 0), SMALL), ch.Body("two", m2, (0, 0, 0), SMALL)]
    joints = [_slider("one", "ground", (0, 0, 1)), _slider("two", "ground", (0, 0, 1))]
    rope = ch.Coupling("rope", ("slide one", "slide two"), (1.0, 1.0))
    run = simulate(ch.System(bodies, joints, constraints=[rope]), (0.0, 1.0), save=[0.0, 1.0], **TIGHT)
    return [
        row("way after 1 s", -g * (m1 - m2) / (m1 + m2) / 2, run.joint("slide one").q[-1], 1e-11, "m"),
        row("force of the rope", 2 * m1 * m2 * g / (m1 + m2), run.coordinate_forces("rope")[-1, 0], 1e-9, "N"),
    ]
