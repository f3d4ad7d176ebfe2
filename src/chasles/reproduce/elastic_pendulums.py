"""What celledoni2022 leaves open: chains of N pendulums of length L/N "could be seen" as beams. With springs in their
joints they are a rod whose elements are joints, and tend to the rod as N grows. Counted as figure 19."""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.display.style import BLUE, ORANGE
from chasles.reproduce.figure import Claim, Figure

NUMBERS = (4, 8, 16, 32)
WEIGHT = 8.0  # times EI/L³
SAG = -0.6406377  # of the tip of the rod under it, in L: by shooting
FREQUENCY = 1.8751040687119611**2  # of the clamped rod, in √(EI/ρAL⁴)
STIFFNESS = (1.0, 1.0, 1.0, 1e6, 1e6 / 2.6, 1e6 / 2.6)


def chain(number: int, weight: float) -> ch.System:
    """N equal rigid rods, hinged with springs; length, mass and bending stiffness of all are 1."""
    section = ch.rods.Stiffness(STIFFNESS, 1.0, (2e-6, 1e-6, 1e-6))
    line = ch.rods.Line((0, 0, 0), (1, 0, 0))
    rod = ch.Rod("rod", line, section, ends=("ground", "free"), elements=number, masses="offset", strains="bend_y")
    return ch.System(rods=[rod], gravity=(0, 0, -weight))


def errors(number: int) -> tuple[float, float]:
    """Of the sag under the weight, and of the lowest frequency, relative."""
    heavy = chain(number, WEIGHT)
    sag = heavy.compile().poses(ch.equilibrium(heavy).q)[-1, 6]
    frequency = np.abs(ch.linearize(chain(number, 0.0)).eigenvalues.imag).min()
    return abs(sag / SAG - 1.0), abs(frequency / FREQUENCY - 1.0)


def figure_19() -> Figure:
    """Errors of chains of pendulums against the rod that they tend to."""
    sag, frequency = np.array([errors(n) for n in NUMBERS]).T
    table = {"N": np.array(NUMBERS), "error of the sag": sag, "error of the frequency": frequency}
    order = [float(np.log2(each[-2] / each[-1])) for each in (sag, frequency)]
    says = "N pendulums of length L/N with elastic joints tend to the rod"
    claims = [
        Claim(says, "order of the sag under its weight, 16 to 32 pendulums", order[0], 1.8, 2.2),
        Claim(says, "order of the lowest frequency, 16 to 32 pendulums", order[1], 1.8, 2.2),
        Claim(says, "error of the sag with 32 pendulums", float(sag[-1]), 0.0, 1e-3),
    ]

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        axes.loglog(NUMBERS, sag, "o-", color=BLUE, label="sag under its weight")
        axes.loglog(NUMBERS, frequency, "s--", color=ORANGE, label="lowest frequency")
        axes.set_xlabel("$N$")
        axes.set_ylabel("relative error")
        axes.legend()

    return Figure(19, "Chains of elastic pendulums tend to the rod", {"errors": table}, claims, draw)
