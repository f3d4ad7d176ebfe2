"""Rods: closed forms, published problems, and solutions of the Cosserat equations by shooting."""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles import rods
from chasles.simulation.bodies.equilibrium import BodyEquilibrium
from chasles.validation.board import KnownValue, modeled, problem, remembered, row

SLENDER = (1, 1, 1, 1e6, 1e6 / 2.6, 1e6 / 2.6)  # EI = L = 1, L/r = 1000


def _cantilever(n: int, stiffness: tuple[float, ...], load: tuple[float, ...] = (0,) * 6) -> ch.System:
    section = rods.Stiffness(stiffness, 1.0, 1e-6 * np.array([2.0, 1.0, 1.0]))
    rod = ch.Rod("rod", rods.Line((0, 0, 0), (1, 0, 0)), section, ends=("ground", "free"), elements=n)
    return ch.System(rods=[rod], forces=[ch.Wrench("load", f"rod[{n}]", load, "hybrid")], gravity=(0, 0, 0))


def _tip(system: ch.System, n: int, steps: int | None = None) -> np.ndarray:
    """Where the last of n + 1 nodes is in equilibrium."""
    found = ch.equilibrium(modeled(system), steps=steps)
    assert isinstance(found, BodyEquilibrium)
    return found.pose(f"rod[{n}]")[4:]


@problem("exact: a moment of 2π EI/L bends a rod to a circle")
def roll_up() -> list[KnownValue]:
    """A cantilever rolled up to a circle, three elements."""
    found = _tip(_cantilever(3, (1, 1, 1, 1e4, 5e3, 5e3), (0, 0, 2 * np.pi, 0, 0, 0)), 3)
    return [row("position of the tip", [0, 0, 0], found, 1e-12, "L")]


@problem("bathe1979; Cosserat equations by shooting, 12 digits")
def bend_of_45_degrees() -> list[KnownValue]:
    """The 45 degree bend under 600, in one load step."""
    curve = rods.Arc((0, 0, 0), (100, 0, 0), (0, 0, -1), np.pi / 4)
    section, metal = rods.Constants(1, 1 / 12, 1 / 12, 1 / 6, 1.0), rods.Material(1e7, 0.0, density=1e-3)
    rows = []
    for n, tolerance in ((8, 1.3e-3), (16, 8e-5), (32, 6e-6)):
        rod = ch.Rod("rod", curve, section, metal, ("ground", "free"), n)
        load = ch.Wrench("load", f"rod[{n}]", (0, 0, 0, 0, 0, 600), "hybrid")
        found = _tip(ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0)), n)
        rows.append(row(f"tip, {n} elements", [15.684800534039, 47.150438573629, 53.474858791825], found, tolerance))
    return [row("tip, as printed for a coarse mesh", [15.9, 47.2, 53.4], found, 0.3), *rows]


@problem("Cosserat equations by shooting, 12 digits")
def elastica() -> list[KnownValue]:
    """A cantilever under a tip load of 10 EI/L²."""
    found = _tip(_cantilever(16, SLENDER, (0, 0, 0, 0, 10, 0)), 16, steps=4)[:2]
    return [row("tip, 16 elements", [0.445002538816, 0.810622237791], found, 4e-6, "L")]


@problem("(β L)² √(EI/ρA) with cosh x cos x = -1")
def cantilever_frequencies() -> list[KnownValue]:
    """Natural frequencies of a slender cantilever."""
    found = ch.linearize(modeled(_cantilever(16, (1, 1, 1, 1e8, 1e8 / 2.6, 1e8 / 2.6))))
    speeds = np.sort([2 * np.pi * mode.frequency for mode in found.modes])[[0, 2, 4]]  # bending about y and z in pairs
    known = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613]) ** 2
    return [row("first three, relative to the closed form", [1, 1, 1], speeds / known, 3e-4)]


@problem("Euler: π² EI/(4 L²), with the shear and extension of the section left small")
def column() -> list[KnownValue]:
    """A clamped column under its own axial load: where it buckles."""
    stiffness = rods.Stiffness((1, 5, 1, 1e6, 4e5, 4e5), 1.0, (2e-6, 1e-6, 1e-6))
    rod = ch.Rod("column", rods.Line((0, 0, 0), (0, 0, 1)), stiffness, ends=("ground", "free"), elements=16)
    press = ch.Wrench("press", "column@1", (0, 0, 0, 0, 0, -1), "hybrid")
    path = rods.load_path(modeled(ch.System(rods=[rod], forces=[press], gravity=(0, 0, 0))), (0, 20), max_step=0.3)
    found = path.load[list(path.bifurcations)] * 4 / np.pi**2
    return [row("loads in the weak and the strong plane, relative to the weak one", [1, 5], found, 2e-4)]


@problem("Prandtl and Michell: 4.012599 √(EI GJ)/L²; Cosserat equations by shooting, 10 digits")
def sideways_buckling() -> list[KnownValue]:
    """A slender strip under a load at its tip buckles sideways."""
    h, t, L, E = 0.6, 0.01, 10.0, 2e11
    G = E / 2.6
    bending, torsion = E * h * t**3 / 12, G * h * t**3 / 3
    section = rods.Stiffness(
        (torsion, E * t * h**3 / 12, bending, E * h * t, G * h * t, G * h * t), 50.0, (1.5, 1.5, 4e-4)
    )
    rows = []
    for n, tolerance in ((8, 6e-5), (16, 4e-6), (32, 2.5e-7)):
        rod = ch.Rod("strip", rods.Line((0, 0, 0), (L, 0, 0)), section, ends=("ground", "free"), elements=n)
        load = ch.Wrench("P", f"strip[{n}]", (0, 0, 0, 0, 0, -4.012599 * np.sqrt(bending * torsion) / L**2), "hybrid")
        found = rods.buckling(modeled(ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))), 1.5, steps=3)
        rows.append(row(f"load, relative to the classical one, {n} elements", 1.000413857, found, tolerance))
    return [row("load, relative to the classical one of a strip that is stiff upright", 1, found, 5e-4), *rows]


@problem("simo1988; Newton: the center of mass moves as the impulse says, and the momentum is the impulse")
def flying_spaghetti() -> list[KnownValue]:
    """A free rod that is pushed and turned at one end tumbles: its momentum and center of mass."""
    study = ch.load("flying_spaghetti")
    run = remembered(study.run(certificate=False, progress=False))
    masses = np.array([body.mass for body in run.system.bodies])
    arms = np.array([body.com for body in run.system.bodies])
    turns = ch.lie.rotation.quaternion_to_matrix(run.poses[..., :4])
    centers = run.poses[..., 4:] + np.einsum("tbij,bj->tbi", turns, arms)
    speeds = np.einsum("tbij,tbj->tbi", turns, run.twists[..., 3:] + np.cross(run.twists[..., :3], arms))
    t = run.t[-1]
    assert 2.5 < t <= 5.0  # the push grows to 20 at 2.5 s and falls to zero at 5 s
    impulse = 20 * (1.25 + (t - 2.5) - (t - 2.5) ** 2 / 5)
    way = 20 * (2.5**2 / 6 + 1.25 * (t - 2.5) + (t - 2.5) ** 2 / 2 - (t - 2.5) ** 3 / 15) / masses.sum()
    moved = masses @ (centers[-1] - centers[0]) / masses.sum()
    return [
        row("way of the center of mass at the end", [way, 0, 0], moved, 1e-11, "m"),
        row("momentum at the end", [impulse, 0, 0], masses @ speeds[-1], 1e-11, "kg m/s"),
    ]
