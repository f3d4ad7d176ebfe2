"""Rods in pictures: tubes and strips swept along their elements as they are bent, colored by what sections carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.rod import STRAINS, Rod
from chasles.model.rod_section import Circle, Tube
from chasles.model.suggestion import meant
from chasles.simulation.rod_motion import RodMotion, fiber_strains, rod_motion
from chasles.view.part import Color
from chasles.view.rod_solids import THINNEST
from chasles.view.tessellate import Surface

PIECES, EDGES = 8, 16  # of an element, and around a round section
SAMPLES = 60  # saved times at which the range of the colors is looked for
# stresses, by the name of their coloring: which make it, its label, and whether its sign matters
STRESSES = {
    "moment": (("bend_y", "bend_z"), "bending moment [N m]", False),
    "torque": (("twist",), "torque [N m]", True),
    "axial": (("stretch",), "axial force [N]", True),
    "shear": (("shear_y", "shear_z"), "shear force [N]", False),
}
COLORINGS = (*STRESSES, "strain")
LABEL = "strain of a fiber"
# from least to most; of numbers with a sign from most negative to most positive, zero in the middle
SCALE = np.array([(0.19, 0.21, 0.56), (0.13, 0.57, 0.66), (0.96, 0.84, 0.35), (0.80, 0.16, 0.14)])
SIGNED = np.array([(0.15, 0.31, 0.70), (0.86, 0.87, 0.88), (0.75, 0.15, 0.17)])


def check_coloring(where: str, color: str | None, rods: tuple[Rod, ...]) -> None:
    """ValueError if rods cannot be colored so."""
    if color is None:
        return
    if color not in COLORINGS:
        raise ValueError(
            f"{where}: color is {color!r}; {meant(str(color), COLORINGS)}expected {', '.join(COLORINGS)}, or None"
        )
    if not rods:
        raise ValueError(f"{where}: color={color!r} is for rods, and there are none")
    if not known(color, rods):
        parts = ", ".join(STRESSES[color][0])
        raise ValueError(f"{where}: color={color!r}, but no rod has the strains {parts}: what holds them are reactions")


def known(color: str, rods: tuple[Rod, ...]) -> bool:
    """Whether a rod has strains that a coloring is made of."""
    parts = STRESSES[color][0] if color in STRESSES else STRAINS
    return any(not rod.strains or set(parts) & set(rod.strains) for rod in rods)


def values_of(motion: RodMotion, color: str) -> np.ndarray:
    """Numbers at the nodes, (times, nodes). Stresses of strains that a rod does not have count as nothing."""
    rod = motion.rod
    if color == "strain":
        found = fiber_strains(rod, motion.strains)
        inner = 0.5 * (found[..., 1:] + found[..., :-1])
        return np.concatenate([found[..., :1], inner, found[..., -1:]], axis=-1)
    own = motion.sections[..., [STRAINS.index(name) for name in STRESSES[color][0]]]
    own = np.nan_to_num(own)
    return own[..., 0] if STRESSES[color][2] else np.linalg.norm(own, axis=-1)


class RodTubes:
    """The rods of a run, ready to be drawn at any moment. colors: of rods by name; color: what colors them instead."""

    def __init__(self, run: Any, colors: dict[str, Color], color: str | None = None):
        self.mechanism, self.rods, self.colors, self.color = run.mechanism, run.mechanism.system.rods, colors, color
        self.largest = 0.0
        if color is not None:
            some = run.part(slice(None, None, max(1, len(run) // SAMPLES)))
            found = [np.abs(values_of(some.rod(rod.name), color)).max(initial=0.0) for rod in self.rods]
            self.largest = float(np.nanmax(found))

    @property
    def label(self) -> str:
        """What the colors mean."""
        return LABEL if self.color == "strain" else STRESSES[str(self.color)][1]

    @property
    def signed(self) -> bool:
        """Whether the colors have a sign."""
        return self.color in STRESSES and STRESSES[str(self.color)][2]

    def shade(self, values: np.ndarray) -> np.ndarray:
        """Colors (..., 4) of numbers."""
        part = values / (self.largest or 1.0)
        anchors = SIGNED if self.signed else SCALE
        at = np.clip(0.5 + 0.5 * part if self.signed else part, 0.0, 1.0) * (len(anchors) - 1)
        mixed = [np.interp(at, np.arange(len(anchors)), anchors[:, k]) for k in range(3)]
        return np.stack([*mixed, np.ones_like(part)], axis=-1)

    def surfaces(self, poses: np.ndarray, t: float) -> list[tuple[Surface, np.ndarray]]:
        """Of each rod its surface, and a color for each triangle, for poses (bodies, 7)."""
        found = []
        still = np.zeros((len(poses), 6))
        for rod in self.rods:
            motion = rod_motion(self.mechanism, rod.name, poses, still, t)
            frames, s = _frames(motion)
            surface, ring = swept(rod, frames, s)
            shown = np.array(self.colors[rod.name])
            if self.color is not None:
                at_rings = np.interp(s, rod.mesh.s, values_of(motion, self.color))
                middles = np.concatenate([0.5 * (at_rings[1:] + at_rings[:-1]), at_rings[[0, -1]]])
                shown = self.shade(middles)[ring]
            found.append((surface, np.broadcast_to(shown, (len(surface.triangles), 4))))
        return found


def _frames(motion: RodMotion) -> tuple[np.ndarray, np.ndarray]:
    """Frames of sections along a rod, and their arc lengths."""
    nodes, mesh = motion.nodes, motion.rod.mesh
    X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[:-1]), nodes[1:]))
    parts = np.arange(PIECES) / PIECES
    inner = pose_group.compose(nodes[:-1, None], pose_group.exp(parts[:, None] * X[:, None])).reshape(-1, 7)
    s = (mesh.s[:-1, None] + mesh.lengths[:, None] * parts).ravel()
    return np.concatenate([inner, nodes[-1:]]), np.append(s, mesh.s[-1])


def swept(rod: Rod, frames: np.ndarray, s: np.ndarray) -> tuple[Surface, np.ndarray]:
    """The surface through sections at frames, closed at both ends; and between which rings each triangle is: 0 and on
    along it, then the two ends."""
    section = rod.section[0] if isinstance(rod.section, tuple) else rod.section
    angle = 2 * np.pi * np.arange(EDGES) / EDGES
    if isinstance(section, Circle | Tube):
        shape = normal = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        edges = [(k, (k + 1) % EDGES) for k in range(EDGES)]
    else:  # corners of their own for each side, whose normals differ
        corners, sides = [(1, -1), (1, 1), (-1, 1), (-1, -1)], [(1, 0), (0, 1), (-1, 0), (0, -1)]
        shape = np.array([corners[(k + m) % 4] for k in range(4) for m in range(2)], dtype=float)
        normal = np.repeat(np.array(sides, dtype=float), 2, axis=0)
        edges = [(2 * k, 2 * k + 1) for k in range(4)]
    half = np.maximum([rod.outline(float(x)) for x in s], THINNEST * rod.length)
    R, places, m, rings = quaternion_to_matrix(frames[:, :4]), frames[:, 4:], len(shape), len(frames)
    around = places[:, None] + np.einsum("nij,nkj->nki", R[:, :, 1:], half[:, None] * shape)
    normals = np.einsum("nij,kj->nki", R[:, :, 1:], normal)
    ends = np.concatenate([around[0], places[:1], around[-1], places[-1:]])
    along = np.concatenate([np.repeat(-R[:1, :, 0], m + 1, axis=0), np.repeat(R[-1:, :, 0], m + 1, axis=0)])
    base, a, b = m * np.arange(rings - 1)[:, None], *np.array(edges).T
    sides_of = np.stack([(base + a, base + b, base + m + b), (base + a, base + m + b, base + m + a)], axis=-1)
    triangles = sides_of.transpose(1, 2, 3, 0).reshape(-1, 3)
    first, last = m * rings, m * rings + m + 1
    caps = [(first + m, first + k, first + j) for j, k in edges] + [(last + m, last + j, last + k) for j, k in edges]
    ring = np.concatenate([np.repeat(np.arange(rings - 1), 2 * len(edges)), np.repeat([rings - 1, rings], len(edges))])
    every = np.concatenate([triangles, np.array(caps)]).astype(np.int32)
    faces = np.where(ring >= rings - 1, ring - rings + 2, 0).astype(np.int64)
    vertices = np.concatenate([around.reshape(-1, 3), ends])
    return Surface(vertices, np.concatenate([normals.reshape(-1, 3), along]), every, faces), ring
