"""Rods in joint coordinates: time of a right-hand side for each segment, of rods with strains of their own in each
element and with polynomials along the rod.

    python -m benchmarks.strain_speed
"""

from __future__ import annotations

import time
from dataclasses import replace

import chasles as ch

STEPS, STEP = 1000, 1e-6
CASES: tuple[tuple[tuple[str, ...], int | None], ...] = (
    (("bend_z",), None),
    (("bend_y", "bend_z"), None),
    (("twist", "bend_y", "bend_z"), None),
    (ch.rods.STRAINS, None),
    (("bend_z",), 3),
    (("bend_y", "bend_z"), 3),
    (("twist", "bend_y", "bend_z"), 2),
)


def per_segment(n: int, strains: tuple[str, ...], modes: int | None, element: str) -> float:
    """Processor time of a right-hand side for a segment [s], within steps of the classical method."""
    material = ch.rods.Material(E=1e6, density=1000.0)
    line, circle = ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Circle(0.02)
    rod = ch.Rod("rod", line, circle, material, ("ground", "free"), n, damping=1e-3, strains=strains, modes=modes)
    rod = replace(rod, element=element)
    mechanism = ch.System(rods=[rod]).compile()
    spent = 0.0
    for steps in (10, STEPS):
        began = time.process_time()
        ch.simulate(mechanism, (0.0, steps * STEP), step=STEP, method="rk4", certificate=False, save="final")
        spent = time.process_time() - began
    return spent / (4 * STEPS * n)


def main() -> None:
    for n in (16, 64):
        for strains, modes in CASES:
            for element in ("helix",) if modes is None else ("helix", "magnus"):
                order = "2" if element == "helix" else "4"
                what = ", ".join(strains) + ("" if modes is None else f"; {modes} modes each") + f"; order {order}"
                print(f"{n:3} segments, {what}: {1e6 * per_segment(n, strains, modes, element):.2f} µs")


if __name__ == "__main__":
    main()
