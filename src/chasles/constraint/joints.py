"""The tiles of the joints of the model: which rows hold which joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from chasles.constraint.rows import (
    CYLINDER,
    DISTANCE,
    DOT,
    EMPTY,
    HELIX,
    NUMBERS,
    PLANE,
    POINT,
    ROLL,
    ROTATION,
    ROTOR,
    SCREW,
    SLIDE,
    SPHERE,
    TILE,
    TRANSLATION,
    TRAVEL,
)
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.joint import Joint
from chasles.model.placement import frame_with_z

Row = tuple[int, np.ndarray, np.ndarray, float]  # kind, u in the joint's frame on A, w in that on B, s
X, Y, Z = np.eye(3)
LENGTHS = (POINT, SLIDE, DISTANCE, HELIX, TRAVEL, ROLL)  # rows whose residuals are lengths


@dataclass(frozen=True)
class Tile:
    """Up to three rows of one joint or constraint; a rotor's row is an inertia and does not count."""

    joint: str
    first: int
    second: int
    integers: np.ndarray
    numbers: np.ndarray
    rows: int = field(init=False)

    def __post_init__(self):
        kinds = self.integers[TILE.kinds : TILE.kinds + 3]
        object.__setattr__(self, "rows", int(np.count_nonzero((kinds != EMPTY) & (kinds != ROTOR))))

    @property
    def kind(self) -> int:
        """Of its first row."""
        return int(self.integers[TILE.kinds])


def row_units(tiles: Sequence[Tile], lengths: Mapping[str, float]) -> np.ndarray:
    """What is large for each row, (tiles, 3): a length of its joint or constraint, or 1 for an angle."""
    kinds = np.array([tile.integers[TILE.kinds : TILE.kinds + 3] for tile in tiles]).reshape(-1, 3)
    known = np.array([lengths.get(tile.joint, 1.0) for tile in tiles]).reshape(-1, 1)
    return np.where(np.isin(kinds, LENGTHS), known, 1.0)


NONE: Row = (EMPTY, 0 * X, 0 * X, 0.0)
POINTS: list[Row] = [(POINT, 0 * X, 0 * X, 0.0)] * 3
PARALLEL: list[Row] = [(DOT, X, Z, 0.0), (DOT, Y, Z, 0.0)]  # the axes stay parallel
ALIGNED: list[Row] = [*PARALLEL, (DOT, X, Y, 0.0)]
ACROSS: list[Row] = [(SLIDE, X, 0 * X, 0.0), (SLIDE, Y, 0 * X, 0.0)]
HINGE = [POINTS, [*PARALLEL, NONE]]


def _helical(joint: Joint) -> list[list[Row]]:
    pitch = float(np.dot(joint.screws[0][:3], joint.screws[0][3:]))
    if pitch == 0.0:
        return HINGE
    helix = (HELIX, Z, 0 * X, pitch)
    slides = [(SLIDE, X, X, 0.0), (SLIDE, Y, 0 * X, 0.0)]  # w of the first marks the angle
    return [[*slides, helix], [*PARALLEL, NONE]]


def _universal(joint: Joint) -> list[list[Row]]:
    first, second = (np.array(screw[:3]) for screw in joint.screws)
    return [POINTS, [(DOT, first, second, float(first @ second)), NONE, NONE]]


class JointEquations(NamedTuple):
    """How joints of a kind hold: their rows, and the motion subgroup in which a lower pair holds a body on the ground
    (0: none)."""

    rows: Callable[[Joint], list[list[Row]]]
    subgroup: int = 0


# of joints given by any screws `TileBuilder.screw_tiles` makes the rows
EQUATIONS: Mapping[str, JointEquations] = {
    "revolute": JointEquations(lambda joint: HINGE, ROTATION),
    "prismatic": JointEquations(lambda joint: [[*ACROSS, NONE], ALIGNED], TRANSLATION),
    "helical": JointEquations(_helical, SCREW),
    "cylindrical": JointEquations(lambda joint: [[*ACROSS, NONE], [*PARALLEL, NONE]], CYLINDER),
    "universal": JointEquations(_universal),
    "planar": JointEquations(lambda joint: [[(SLIDE, Z, 0 * X, 0.0), NONE, NONE], [*PARALLEL, NONE]], PLANE),
    "spherical": JointEquations(lambda joint: [POINTS], SPHERE),
    "free": JointEquations(lambda joint: []),
    "weld": JointEquations(lambda joint: [POINTS, ALIGNED]),
}


def rows_of(joint: Joint) -> list[list[Row]]:
    """The rows of a joint in groups of three, in a frame of the joint whose z is its axis (see `axis_frame`)."""
    if joint.kind not in EQUATIONS:
        raise ValueError(f"joint {joint.name!r}: no rows are known for a joint of kind {joint.kind!r}")
    return EQUATIONS[joint.kind].rows(joint)


def subgroup_of(joint: Joint) -> int:
    """The motion subgroup in which a lower pair to the ground holds a body; 0 if the joint is none."""
    return EQUATIONS[joint.kind].subgroup if joint.kind in EQUATIONS else 0


def axis_frame(joint: Joint) -> np.ndarray:
    """Pose, in the joint's frame, of the frame in which `rows_of` writes the rows."""
    if joint.traits.line or joint.traits.plane:
        screw = np.array(joint.screws[joint.traits.angle or 0])
        axis = screw[:3] if screw[:3].any() else screw[3:]
        return np.array([*frame_with_z(axis), 0.0, 0.0, 0.0])
    return pose_group.identity()


def make_tile(joint: str, first: int, second: int, frames: tuple, rows: list[Row], subgroup: int = 0) -> Tile:
    """A tile of rows between frames on two bodies, each a pose in the body's own (central) frame."""
    integers, numbers = np.zeros(TILE.size, dtype=np.int64), np.zeros(NUMBERS.size)
    rotations = [quaternion_to_matrix(frame[:4]) for frame in frames]
    integers[[TILE.first, TILE.second, TILE.subgroup]] = first, second, subgroup
    numbers[NUMBERS.a : NUMBERS.a + 3], numbers[NUMBERS.b : NUMBERS.b + 3] = frames[0][4:], frames[1][4:]
    numbers[NUMBERS.axis : NUMBERS.axis + 3] = rotations[1] @ Z
    for k, (kind, u, w, s) in enumerate(rows):
        integers[TILE.kinds + k] = kind
        numbers[NUMBERS.u + 3 * k : NUMBERS.u + 3 * k + 3] = rotations[0] @ u
        numbers[NUMBERS.w + 3 * k : NUMBERS.w + 3 * k + 3] = rotations[1] @ w
        numbers[NUMBERS.s + k] = s
    return Tile(joint, first, second, integers, numbers)


def joint_tiles(joint: Joint, first: int, second: int, on_first: np.ndarray, on_second: np.ndarray, special: bool):
    """The tiles of a joint between bodies whose central frames see the joint's frames at these poses.

    `special`: the child is on SE(3) and the parent is the ground, so that a lower pair holds it in a subgroup.
    """
    axis = axis_frame(joint)
    frames = (pose_group.compose(on_first, axis), pose_group.compose(on_second, axis))
    subgroup = subgroup_of(joint) if special else 0
    return [make_tile(joint.name, first, second, frames, rows, subgroup) for rows in rows_of(joint)]


def distance_tile(name: str, first: int, second: int, points: tuple, length: float) -> Tile:
    """A rigid link of a length between points of two bodies."""
    frames = tuple(np.array([1.0, 0.0, 0.0, 0.0, *point]) for point in points)
    return make_tile(name, first, second, frames, [(DISTANCE, 0 * X, 0 * X, length), NONE, NONE])
