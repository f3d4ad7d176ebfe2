"""Panels of rods: what their sections carry, at places along the arc, over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.model.rod import STRAINS
from chasles.view.plot_panel import Panel

PLACES = 5  # sections along a rod, from end to end
# stresses that make a number, by its name, and the label
RESULTANTS = {
    "torque": (("twist",), "torque [N m]"),
    "moment": (("bend_y", "bend_z"), "bending moment [N m]"),
    "axial": (("stretch",), "axial force [N]"),
    "shear": (("shear_y", "shear_z"), "shear force [N]"),
}


def rod_names(run: Any) -> list[str]:
    """All names of panels of rods."""
    return [
        f"rods.{rod.name}.{what}"
        for rod in run.mechanism.system.rods
        for what in (*RESULTANTS, "energy")
        if what == "energy" or _known(rod, what)
    ]


def rod_panels(run: Any, rest: str) -> list[Panel]:
    """Those of "NAME.moment" and the like; of "NAME" alone: all that its law knows."""
    by_name = {rod.name: rod for rod in run.mechanism.system.rods}
    if rest in by_name:
        return [_panel(by_name[rest], what) for what in RESULTANTS if _known(by_name[rest], what)]
    name, _, what = rest.rpartition(".")
    if name not in by_name:
        return []
    if what == "energy":
        stored = Panel(f"rod {name}", "strain energy [J]", ("$V$",), lambda part: part.rod(name).energy[:, None])
        return [stored]
    return [_panel(by_name[name], what)] if what in RESULTANTS and _known(by_name[name], what) else []


def _known(rod: Any, what: str) -> bool:
    """Whether its law knows them: of strains that it does not have they are reactions."""
    return not rod.strains or any(strain in rod.strains for strain in RESULTANTS[what][0])


def _panel(rod: Any, what: str) -> Panel:
    parts, label = RESULTANTS[what]
    own = [STRAINS.index(strain) for strain in parts if not rod.strains or strain in rod.strains]
    nodes = np.unique(np.linspace(0, rod.elements, min(PLACES, rod.elements + 1)).round().astype(int))

    def values(part: Any) -> np.ndarray:
        found = part.rod(rod.name).sections[:, nodes][..., own]
        return found[..., 0] if len(own) == 1 else np.linalg.norm(found, axis=-1)

    series = tuple(f"$s$ = {rod.mesh.s[k]:.3g} m" for k in nodes)
    return Panel(f"rod {rod.name}", label, series, values)
