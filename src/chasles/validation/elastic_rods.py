"""Rods: closed forms, published problems, and solutions of the Cosserat equations by shooting."""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles import rods
from chasles.simulation.bodies.equilibrium import BodyEquilibrium
from chasles.validation.board import KnownValue, modeled, problem, row

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
    section, metal = rods.Constants(1, 1 / 12, 1 / 12, 1 / 6, 1.0), rods.Material(1e7, 0.0)
    rows = []
    for n, tolerance in ((8, 1.3e-3), (16, 8e-5), (32, 6e-6)):
        rod = ch.Rod("rod", curve, section, metal, ("ground", "free"), n)
        load = ch.Wrench("load", f"rod[{n}]", (0, 0, 0, 0, 0, 600), "hybrid")
        found = _tip(ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0)), n)
        rows.append(row(f"tip, {n} elements", [15.684800534039, 47.150438573629, 53.474858791825], found, tolerance))
    return rows


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
