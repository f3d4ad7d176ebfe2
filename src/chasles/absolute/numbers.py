"""The numbers of a system that its motion in absolute coordinates depends on, for derivatives by parameters.

They are those of an `AbsoluteMechanism`, but in central frames that are given: principal axes may jump where moments
are equal, and methods do not depend on them. So inertias are full matrices, and all is smooth in masses, lengths and
axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.absolute.build import make_tiles
from chasles.absolute.frames import CentralFrames
from chasles.absolute.joints import act_on
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.constraint.joints import Tile
from chasles.constraint.rows import CUSTOM, NUMBERS, ROTOR, SCREWS, TURN
from chasles.constraint.tile_work import EXTRA_AT
from chasles.constraint.tiles import TileBuilder
from chasles.force.table import FORCE, FORCES
from chasles.model.mimic import as_couplings
from chasles.model.system import System

ROTOR_AXIS = np.r_[NUMBERS.u : NUMBERS.u + 3, NUMBERS.w : NUMBERS.w + 3]  # fixed in A, and in B
OF_SYSTEM = ("constants", "values", "joint_numbers", "masses", "inertias", "gravity")


class SystemNumbers(CentralFrames):
    """Numbers of a system of the form of a mechanism, in the axes of its bodies. All joints have a place for springs
    and dampers."""

    def __init__(
        self,
        system: System,
        base: AbsoluteMechanism,
        known: dict[tuple[Any, ...], list[Tile]],
        centers: np.ndarray,
    ):
        """known: tiles of joints that do not change from one system to the next. centers: where central frames are,
        (bodies, 3)."""
        super().__init__(as_couplings(system), base.spaces, np.concatenate([base.central[:, :4], centers], axis=1))
        places = self._places()
        builder = TileBuilder(self.system, places)
        self.tiles = make_tiles(self, builder, any(base.baumgarte), known)
        self.forces, self.joint_tables = act_on(
            self.system, places, builder.counted, base.inputs, base.every_angle, base.every_angle
        )
        self.constants, self.laws = builder.numbers(self.tiles), (*self.forces.laws, *builder.laws)

    @property
    def form(self) -> tuple[np.ndarray, ...]:
        """What a parameter must leave as it is."""
        rows = self.forces.table[FORCES.size :].reshape(-1, FORCE.size).copy()
        rows[:, FORCE.law] = rows[:, FORCE.law] != 0  # a law may be made anew, at another address
        tiles = np.array([tile.integers for tile in self.tiles])
        return tiles, self.joint_tables.rows, rows, np.array([len(self.constants), len(self.forces.values)])

    def parts(self, like: SystemNumbers) -> dict[str, np.ndarray]:
        """All numbers, in the order of `OF_SYSTEM`, inertias in the frames of the bodies; zero for addresses and places
        in tables, and axes of rotors times their sizes. like: of the mechanism itself; quaternions have the signs that
        they have there."""
        constants = self.constants.copy()
        rows = constants[: NUMBERS.size * len(self.tiles)].reshape(-1, NUMBERS.size)
        for k, (tile, row) in enumerate(zip(self.tiles, rows, strict=True)):
            if tile.kind >= TURN:
                row[EXTRA_AT : EXTRA_AT + 6] = 0.0
            if tile.kind == ROTOR:  # linear in the inertia
                axis = row[ROTOR_AXIS]
                row[ROTOR_AXIS] = np.linalg.norm(axis) * axis
            if tile.kind in (CUSTOM, SCREWS):
                both = row[NUMBERS.u : NUMBERS.u + 8].reshape(2, 4)
                both[:] = same_sign(both, like.tiles[k].numbers[NUMBERS.u : NUMBERS.u + 8].reshape(2, 4))
        bodies = self.system.bodies
        masses, inertias = (np.array([getattr(body, name) for body in bodies]) for name in ("mass", "inertia"))
        gravity = np.array(self.system.gravity, dtype=float)
        of_joints = self.joint_tables.numbers
        parts = constants, self.forces.values, of_joints, masses, inertias.ravel(), gravity
        return dict(zip(OF_SYSTEM, parts, strict=True))

    def from_squares(self, changes: np.ndarray) -> None:
        """Make changes (constants, columns) of what `parts` has for rotors those of their axes."""
        for k, tile in enumerate(self.tiles):
            if tile.kind == ROTOR:
                places, axis = k * NUMBERS.size + ROTOR_AXIS, tile.numbers[ROTOR_AXIS]
                size = np.linalg.norm(axis)
                along = np.outer(axis, axis @ changes[places]) / (2.0 * size**2)
                changes[places] = (changes[places] - along) / size


def same_sign(units: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Quaternions (..., 4) with the sign in which they are near others."""
    return np.copysign(1.0, (units * like).sum(axis=-1, keepdims=True)) * units
