"""Bodies that are too light for absolute coordinates: what is said of them before a run."""

from __future__ import annotations

import numpy as np

from chasles import caution
from chasles.absolute.mechanism import AbsoluteMechanism

RATIO = 1e-9  # of masses, from which on the rounding of accelerations is what shortens the steps


def warn_of_light_bodies(where: str, mechanism: AbsoluteMechanism) -> None:
    """The acceleration of a light body between others is a difference of their forces, which are known to rounding,
    divided by its mass."""
    masses = np.array([body.mass for body in mechanism.system.bodies])
    if not len(masses) or masses.min() > RATIO * masses.max():
        return
    met: dict[int, set[int]] = {}
    for tile in mechanism.tiles:
        for body, other in ((tile.first, tile.second), (tile.second, tile.first)):
            met.setdefault(body, set()).add(other)
    for body, others in met.items():
        heaviest = max(others, key=lambda other: masses[other] if other >= 0 else 0.0)
        if body >= 0 and heaviest >= 0 and len(others) > 1 and masses[body] < RATIO * masses[heaviest]:
            light, heavy = (mechanism.system.bodies[k].name for k in (body, heaviest))
            caution.warn(
                f"{where}: body {light!r} has {masses[body] / masses[heaviest]:.1g} of the mass of {heavy!r}, which it "
                "is joined with: in absolute coordinates rounding shortens the steps, or they fail. Take "
                'coordinates="relative", which knows no such limit, or give the body more mass'
            )
            return
