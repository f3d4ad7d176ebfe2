"""The tiles of constraints beyond joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from chasles.constraint.joints import NONE, Tile, X, Y, Z, axis_frame, distance_tile, make_tile
from chasles.constraint.rows import CUSTOM, EMPTY, NUMBERS, ROLL, ROTOR, SCREWS, SLIDE, TRAVEL, TURN
from chasles.constraint.screws import MOST_SCREWS
from chasles.constraint.special import special_address
from chasles.constraint.tile_work import ALONE, BETWEEN, EXTRA, EXTRA_AT, FIRST, LAST
from chasles.lie import pose as pose_group
from chasles.model.cam import Cam
from chasles.model.constraint import (
    Constraint,
    Coupling,
    CustomConstraint,
    Distance,
    Drive,
    PointOnLine,
    PointOnPlane,
    Rolling,
)
from chasles.model.joint import Joint
from chasles.model.law import Law
from chasles.model.placement import frame_with_z
from chasles.model.system import System

Places = Mapping[str, tuple[int, np.ndarray]]  # of each body its index (-1: ground) and its frame's pose in the central


@dataclass
class TileBuilder:
    """Collects the tiles of constraints, with the laws they call, their parameters and angles counted over turns."""

    system: System
    places: Places
    counted: list[tuple[str, int]] = field(default_factory=list)  # joint and coordinate of each counted angle
    laws: list[Law] = field(default_factory=list)
    parameters: list[float] = field(default_factory=list)

    def build(self, constraint: Constraint) -> list[Tile]:
        """The tiles of a constraint."""
        return self._special(self._tiles(constraint))

    def _special(self, tiles: list[Tile]) -> list[Tile]:
        """Tiles that know the function that computes them."""
        for tile in tiles:
            if tile.kind >= TURN:
                tile.numbers[EXTRA_AT + EXTRA.function] = self._exact(special_address(), "special")
        return tiles

    def screw_tiles(self, joint: Joint) -> list[Tile]:
        """The tiles of a joint given by screws: six rows less the screws. Its coordinates are counted."""
        _require_independent(joint)
        (first, on_first), (second, on_second) = self._frames(joint)
        angle, tiles = len(self.counted), []
        self.counted += [(joint.name, k) for k in range(joint.nv)]
        for start in range(0, 6 - joint.nv, 3):
            count = min(3, 6 - joint.nv - start)
            rows = [(SCREWS, 0 * X, 0 * X, 0.0)] * count + [NONE] * (3 - count)
            tile = make_tile(joint.name, first, second, (on_first, on_second), rows)
            tile.numbers[NUMBERS.u : NUMBERS.u + 8] = (*on_first[:4], *on_second[:4])
            tile.numbers[NUMBERS.s] = start // 3
            tile.numbers[EXTRA_AT + EXTRA.parameters] = len(self.parameters)
            tile.numbers[EXTRA_AT + EXTRA.count] = 6 * joint.nv
            tile.numbers[EXTRA_AT + EXTRA.angle] = angle
            tiles.append(tile)
        self.parameters += np.array(joint.screws).ravel().tolist()
        return self._special(tiles)

    def rotor_tiles(self, joint: Joint) -> list[Tile]:
        """The tiles of a joint's armature, one for each coordinate that has some."""
        if joint.traits.any_screws and any(joint.armature):
            raise ValueError(
                f"joint {joint.name!r}: an armature of a joint given by screws needs joint coordinates "
                "(coordinates='relative'); give the joint as joints of the named kinds"
            )
        tiles = []
        for k, inertia in enumerate(joint.armature):
            if inertia:
                (first, on_first), (second, on_second) = self._frames(joint)
                screw, on_child = np.array(joint.screws[k]), 0 * X
                slides = not screw[:3].any()
                axis = screw[3:] if slides else screw[:3]
                if joint.traits.crossed:  # rates are components in the dual basis of the two axes
                    axes = [np.array(screw[:3]) for screw in joint.screws]
                    c = float(axes[0] @ axes[1])
                    one, other = np.array((1.0, -c)) / (1.0 - c * c)
                    axis, on_child = (one * axes[0], other * axes[1]) if k == 0 else (other * axes[0], one * axes[1])
                root = np.sqrt(inertia)
                rows = [(ROTOR, root * axis, root * on_child, float(slides)), NONE, NONE]
                tiles.append(make_tile(f"armature of {joint.name}, {k}", first, second, (on_first, on_second), rows))
        return self._special(tiles)

    def _frames(self, joint: Joint) -> tuple[tuple[int, np.ndarray], tuple[int, np.ndarray]]:
        """The bodies of a joint and its frames on them."""
        ends = ((joint.parent, joint.parent_frame), (joint.child, joint.child_frame))
        placed = [(self.places[body][0], pose_group.compose(self.places[body][1], np.array(at))) for body, at in ends]
        return placed[0], placed[1]

    @staticmethod
    def _exact(address: int, what: str) -> int:
        if address >= 2**53:
            raise OverflowError(f"the address of {what} is not exact as a number")
        return address

    def _tiles(self, constraint: Constraint) -> list[Tile]:
        name = constraint.name
        if isinstance(constraint, Coupling):
            tiles = []
            for k, (joint, coordinate, c) in enumerate(constraint.terms):
                tile = self._coordinate(name, self.system.joint(joint), coordinate, c)
                tile.numbers[EXTRA_AT + EXTRA.use] = BETWEEN if k else FIRST
                if tile.kind == TURN:
                    tile.numbers[EXTRA_AT + EXTRA.angle] = len(self.counted)
                    self.counted.append((joint, coordinate))
                tiles.append(tile)
            tiles[-1].numbers[NUMBERS.s + 1 : NUMBERS.s + 3] = constraint.offset, len(tiles) - 1
            tiles[-1].numbers[EXTRA_AT + EXTRA.use] = LAST
            return tiles
        if isinstance(constraint, Drive):
            tile = self._coordinate(name, self.system.joint(constraint.joint), constraint.coordinate, 1.0)
            tile.numbers[EXTRA_AT + EXTRA.use] = ALONE
            if isinstance(constraint.value, Law):
                self._give_law(tile, constraint.value, constraint.parameters)
            else:
                tile.numbers[NUMBERS.s + 1] = constraint.value
            return [tile]
        (first, on_first), (second, on_second) = (self.places[body] for body in constraint.bodies)
        if isinstance(constraint, CustomConstraint | Cam):
            if isinstance(constraint, Cam):
                at, point = constraint.frames
                on_first, on_second = pose_group.compose(on_first, at), pose_group.compose(on_second, point)
            rows = [(CUSTOM, 0 * X, 0 * X, 0.0)] * constraint.rows + [NONE] * (3 - constraint.rows)
            tile = make_tile(name, first, second, (on_first, on_second), rows)
            tile.numbers[NUMBERS.u : NUMBERS.u + 8] = (*on_first[:4], *on_second[:4])  # turns of the users' frames
            self._give_law(tile, constraint.law, constraint.parameters)
            return [tile]
        points = [
            pose_group.act(on, np.array(p)) for on, p in zip((on_first, on_second), constraint.points, strict=True)
        ]
        if isinstance(constraint, Distance):
            return [distance_tile(name, first, second, tuple(points), constraint.length)]
        axis = constraint.direction if isinstance(constraint, PointOnLine) else constraint.normal
        turn = frame_with_z(np.array(axis))
        frames = (
            np.array([*pose_group.compose(on_first, np.array([*turn, 0.0, 0.0, 0.0]))[:4], *points[0]]),
            np.array([*on_second[:4], *points[1]]),
        )
        if isinstance(constraint, PointOnLine):
            return [make_tile(name, first, second, frames, [(SLIDE, X, 0 * X, 0.0), (SLIDE, Y, 0 * X, 0.0), NONE])]
        if isinstance(constraint, PointOnPlane):
            return [make_tile(name, first, second, frames, [(SLIDE, Z, 0 * X, 0.0), NONE, NONE])]
        assert isinstance(constraint, Rolling)
        disc = 0 * X if constraint.axis is None else np.array(constraint.axis)
        rows = [(ROLL, X, disc, constraint.radius), (ROLL, Y, 0 * X, 0.0), (ROLL, Z, 0 * X, 0.0)]
        return [make_tile(name, first, second, frames, rows)]

    def _coordinate(self, name: str, joint: Joint, coordinate: int, ratio: float) -> Tile:
        """c times a coordinate of a joint."""
        kind = TRAVEL if joint.velocity_units[coordinate] == "m" else TURN
        first, second = self._frames(joint)
        axis = axis_frame(joint)
        frames = tuple(pose_group.compose(frame, axis) for _, frame in (first, second))
        rows = [(kind, Z, X, ratio), (EMPTY, X, 0 * X, 0.0), (EMPTY, Y, 0 * X, 0.0)]
        tile = make_tile(name, first[0], second[0], frames, rows)
        tile.numbers[EXTRA_AT + EXTRA.angle] = -1.0
        return tile

    def _give_law(self, tile: Tile, law: Law, parameters) -> None:
        self.laws.append(law)
        tile.numbers[EXTRA_AT + EXTRA.law] = self._exact(law.address, repr(law))
        tile.numbers[EXTRA_AT + EXTRA.parameters] = len(self.parameters)  # moved to the end of the tiles later
        tile.numbers[EXTRA_AT + EXTRA.count] = len(parameters)
        self.parameters += list(parameters)

    def numbers(self, tiles: list[Tile]) -> np.ndarray:
        """The numbers of all tiles, and behind them the parameters of laws."""
        rows = np.array([tile.numbers for tile in tiles]).reshape(len(tiles), NUMBERS.size)
        special = [t for t, tile in enumerate(tiles) if tile.kind in (TURN, TRAVEL, CUSTOM, SCREWS)]
        rows[special, EXTRA_AT + EXTRA.parameters] += rows.size
        return np.concatenate([rows.ravel(), self.parameters])


def shares_row(tile: Tile) -> bool:
    """Whether a tile has its row in common with the one before it: both are of coupled coordinates."""
    return tile.kind in (TURN, TRAVEL) and tile.numbers[EXTRA_AT + EXTRA.use] > FIRST


def _require_independent(joint: Joint) -> None:
    """ValueError for a joint whose screws depend on each other wherever it is: poses do not tell its coordinates."""
    if joint.nv <= MOST_SCREWS:
        for q in np.random.default_rng(0).uniform(-1.0, 1.0, (4, joint.nv)):
            after, twists = pose_group.identity(), []
            for screw, value in zip(reversed(joint.screws), reversed(q), strict=True):
                twists.append(pose_group.Ad_apply(pose_group.inverse(after), np.array(screw)))
                after = pose_group.compose(pose_group.exp(value * np.array(screw)), after)
            spanned = np.array(twists)
            turning = spanned[:, :3].any(axis=1)
            spanned[:, 3:] /= np.linalg.norm(spanned[turning, 3:], axis=1).max(initial=0.0) or 1.0  # no unit of length
            spanned /= np.linalg.norm(spanned, axis=1, keepdims=True)
            if np.linalg.matrix_rank(spanned, tol=1e-8) == joint.nv:
                return
    raise ValueError(
        f"joint {joint.name!r}: its {joint.nv} screws depend on each other, so poses of bodies do not determine its "
        "coordinates; leave out those that add no freedom, or use joint coordinates (coordinates='relative')"
    )
