"""Rods for the page, which sweeps them along their nodes: where these are, sections, and what colors them over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.model.rod_section import Circle, Tube
from chasles.view.packing import packed
from chasles.view.part import ON_GROUND
from chasles.view.rod_solids import THINNEST
from chasles.view.rod_tubes import COLORINGS, RodTubes, known, values_of
from chasles.view.solids import rod_colors

MOMENTS = 400  # saved times of a run whose colors are on the page, at most


def rods_data(run: Any) -> dict[str, Any]:
    """All rods of a run: bodies and frames of their nodes, half extents of the sections there, and by what they can be
    colored: numbers (times, nodes), and colors from least to most."""
    system = run.mechanism.system
    some = run.part(slice(None, None, max(1, -(-len(run) // MOMENTS))))
    number = {body.name: k for k, body in enumerate(system.bodies)}
    colors, motions = rod_colors(system), {rod.name: some.rod(rod.name) for rod in system.rods}
    rods = []
    for rod in system.rods:
        frames = [system.frame(node) for node in rod.nodes]
        half = np.maximum([rod.outline(float(s)) for s in rod.mesh.s], THINNEST * rod.length)
        rods.append(
            {
                "name": rod.name,
                "color": colors[rod.name],
                "round": isinstance(rod.section[0] if isinstance(rod.section, tuple) else rod.section, Circle | Tube),
                "nodes": [[number.get(frame.body, ON_GROUND), list(frame.pose)] for frame in frames],
                "half": half.tolist(),
            }
        )
    return {
        "t": packed(np.asarray(some.t, dtype=float), "<f8"),
        "rods": rods,
        "colorings": [_coloring(run, what, motions, colors) for what in COLORINGS if known(what, system.rods)],
    }


def _coloring(run: Any, what: str, motions: dict[str, Any], colors: Any) -> dict[str, Any]:
    tubes = RodTubes(run, colors, what)
    ends = np.linspace(-tubes.largest if tubes.signed else 0.0, tubes.largest, 33)
    return {
        "name": what,
        "label": tubes.label,
        "range": [float(ends[0]), float(ends[-1])],
        "scale": tubes.shade(ends)[:, :3].round(4).tolist(),
        "values": {name: packed(values_of(motion, what), "<f4") for name, motion in motions.items()},
    }
