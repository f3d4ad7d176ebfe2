"""How rods look: tubes and strips along their elements, each half of an element on its nearer node.

Every piece is fixed to a node, so a picture needs the poses of the bodies and nothing else, as of all other solids.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.rod import Rod
from chasles.model.rod_section import Circle, Tube
from chasles.model.system import System
from chasles.view.part import Color, Part, tube

PIECES = 3  # straight ones in half of an element
THINNEST = 0.002  # of the length of a rod: what is thinner is not seen


def rod_solids(system: System, colors: dict[str, Color]) -> dict[str, list[Part]]:
    """The solids of all rods by the bodies that they are on; colors: of rods by name."""
    found: dict[str, list[Part]] = defaultdict(list)
    for rod in system.rods:
        places = [(frame.body, np.array(frame.pose)) for frame in map(system.frame, rod.nodes)]
        for k in range(rod.elements):
            both = places[k : k + 2]
            for end, (begin, stop) in _halves([body for body, _ in both]):
                body, frame = both[end]
                pieces = _pieces(rod, k, frame, end, np.linspace(begin, stop, PIECES + 1), colors[rod.name])
                found[body] += [replace(piece, rod=rod.name) for piece in pieces]
    return found


def _halves(bodies: list[str]) -> list[tuple[int, tuple[float, float]]]:
    """Which end of an element carries which part of it; nothing moves with the ground, so that its node carries all."""
    on_ground = [body == GROUND for body in bodies]
    if any(on_ground):
        return [(on_ground.index(False), (0.0, 1.0))]
    return [(0, (0.0, 0.5)), (1, (0.5, 1.0))]


def _pieces(rod: Rod, k: int, frame: np.ndarray, end: int, places: np.ndarray, color: Color) -> list[Part]:
    """Pieces between places in [0, 1] along element k, in the frame of the body at one of its ends."""
    rest = rod.mesh.rest[k]
    frames = pose_group.compose(frame, pose_group.exp((places - end)[:, None] * rest))
    middles = pose_group.compose(frame, pose_group.exp(((places[:-1] + places[1:]) / 2 - end)[:, None] * rest))
    section = rod.section if not isinstance(rod.section, tuple) else rod.section[0]
    begin, step = k / rod.elements, 1 / rod.elements
    found = []
    for m, middle in enumerate(middles):
        s = begin + step * float(places[m] + places[m + 1]) / 2
        y, z = (max(half, THINNEST * rod.length) for half in rod.outline(s * rod.length))
        if isinstance(section, Circle | Tube):
            found.append(tube(frames[m, 4:], frames[m + 1, 4:], y, color))
        else:
            length = float(np.linalg.norm(frames[m + 1, 4:] - frames[m, 4:]))
            found.append(Part("box", (1.02 * length, 2 * y, 2 * z), tuple(middle.tolist()), color))
    return found
