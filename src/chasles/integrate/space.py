"""Spaces on which groups act, as data: a table of blocks that the compiled loops interpret."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import blocks, table
from chasles.integrate.scalar import ON_SCALARS
from chasles.lie import pose, s3, se2, se3, so2, so3
from chasles.lie.product import counted, vector_length
from chasles.lie.transition.coordinates import ABSOLUTE, QUATERNION

TOLERANCE = 1e-8  # how far a starting point may be off the space


@dataclass(frozen=True)
class BlockKind:
    """A kind of block: its code, the numbers in a point and in the algebra, and the test of membership."""

    code: int
    shape: tuple[int, ...]
    algebra: int
    defect: Callable[[np.ndarray], np.ndarray]  # distance of points from the space
    what: str

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def _by(log: Callable[..., Any]) -> Callable[[np.ndarray], np.ndarray]:
    """Membership by the checks of the group's own function: zero, or its error."""

    def defect(y: np.ndarray) -> np.ndarray:
        log(y)
        return np.zeros(y.shape[:1])

    return defect


def _unit(y: np.ndarray) -> np.ndarray:
    return abs(np.linalg.norm(y[..., :3], axis=-1) - 1)


def _tangent(y: np.ndarray) -> np.ndarray:
    return np.maximum(_unit(y), abs((y[..., :3] * y[..., 3:]).sum(axis=-1)))


def _any(y: np.ndarray) -> np.ndarray:
    return np.zeros(y.shape[:1])


KINDS = {
    "so2": BlockKind(table.SO2, (2, 2), 1, _by(so2.log), "2x2 rotation matrix"),
    "so3": BlockKind(table.SO3, (3, 3), 3, _by(so3.log), "rotation matrix"),
    "s3": BlockKind(table.S3, (4,), 3, _by(s3.inverse), "unit quaternion"),
    "se2": BlockKind(table.SE2, (3, 3), 3, _by(se2.inverse), "planar pose matrix"),
    "se3": BlockKind(table.SE3, (4, 4), 6, _by(se3.inverse), "pose matrix"),
    "pose": BlockKind(table.POSE, (7,), 6, _by(pose.inverse), "pose"),
    "t*so3": BlockKind(table.POSE, (7,), 6, _by(pose.inverse), "unit quaternion and momentum"),
    "s2": BlockKind(table.ROTATED, (3,), 3, _unit, "unit vector"),
    "ts2": BlockKind(table.SCREWED, (6,), 6, _tangent, "unit vector q and w with q.w = 0"),
    "t*s2": BlockKind(table.SCREWED, (6,), 6, _tangent, "unit vector q and pi with q.pi = 0"),
    "so3*": BlockKind(table.ROTATED, (3,), 3, _any, "vector"),
    "se3*": BlockKind(table.COSCREWED, (6,), 6, _any, "pair of vectors"),
}
# absolute coordinates of a body, moved by one of two groups
CHARTS = {
    f"{group}:{chart.name}": BlockKind(first + chart.code, (6,), 6, _any, "six coordinates of a body")
    for group, first in (("se3", table.CHART), ("so3xr3", table.PRODUCT_CHART))
    for chart in ABSOLUTE.values()
    if chart.code != QUATERNION
}


def _measured(rows: np.ndarray, last: Sequence[int] | None) -> np.ndarray:
    """Of each vector that is measured: where it begins in the point and in the algebra vector, its length, and
    whether it has a floor."""
    plain = [(i, row) for i, row in enumerate(rows.tolist()) if row[table.KIND] == table.R_N]
    places = [(iy + k, ix + k, i) for i, (_, iy, ix, count, _) in plain for k in range(count)]
    sizes = list(last or ())
    single = len(places) - sum(map(abs, sizes))
    sizes, found, k = [1] * single + sizes, [], 0
    for size in sizes:
        part = places[k : k + abs(size)]
        if single < 0 or not part or part[0][2] != part[-1][2]:
            raise ValueError(f"Space: last is {last!r}; expected parts of the last of the {len(places)} plain numbers")
        found.append((*part[0][:2], abs(size), size < 0))
        k += abs(size)
    return np.array(found, dtype=np.int64).reshape(-1, 4)


class Space:
    """A product of spaces with the action of a group on each: Space("ts2", 3), Space("pose", "r6", side="right").

    Names: the groups so2, so3, s3, se2, se3, pose acting on themselves; s2 and so3* (rotations), ts2 and t*s2 (SE(3) by
    Ad, celledoni2022 section 5.1), se3* (coadjoint), t*so3 (the semidirect product of celledoni2022 section 3.1, stored
    as quaternion and momentum), r1, r2, ... (translations), and absolute coordinates of a body other than quaternions,
    moved by SE(3) or SO(3) x R3: se3:rotation_vector, so3xr3:euler:ZYX, ... (names of `lie.transition`).
    A number repeats the name before it. `side` is that of the groups' action on themselves: "left" writes exp(x) y (f
    is a spatial velocity), "right" y exp(x) (f is a body velocity).
    Points and algebra vectors are flat arrays, block after block.
    Errors of steps are relative to the size of each number of r1, r2, ...; `last` divides the last of these numbers
    into vectors of so many, each measured as a whole. A -1 in it is a number that counts at least as the `floor` of the
    problem. The first `positions` of these vectors are positions: their rates are velocities.
    """

    def __init__(
        self, *description: str | int, side: str = "left", last: Sequence[int] | None = None, positions: int = 0
    ):
        if side not in ("left", "right"):
            raise ValueError(f'Space: side {side!r}; expected "left" or "right"')
        self.description, self.side, self._last = description, side, last
        self._blocks = tuple(self._parse())
        rows, iy, ix = [], 0, 0
        for _, kind in self._blocks:
            group = (table.SO2, table.SO3, table.S3, table.SE2, table.SE3, table.POSE)
            mirrored = side == "right" and (kind.code in group or kind.code >= table.CHART)
            rows.append((kind.code, iy, ix, kind.algebra, -1 if mirrored else 1))
            iy, ix = iy + kind.size, ix + kind.algebra
        self.table = np.array(rows, dtype=np.int64)
        self.size, self.dimension = iy, ix
        starts: dict[BlockKind, list[int]] = {}
        for (_, kind), row in zip(self._blocks, rows, strict=True):
            if kind.code != table.R_N:
                starts.setdefault(kind, []).append(row[1])
        self.measured = _measured(self.table, last)
        self._starts = {kind: np.array(some) for kind, some in starts.items()}
        # a uniform velocity of positions is no reason for a short first step
        self._moved = positions
        found = [(ix, size) for _, ix, size, _ in self.measured.tolist() if size > 1][:positions]
        self.positions = np.array([ix + k for ix, size in found for k in range(size)], dtype=np.int64)

    def __repr__(self) -> str:
        side = ', side="right"' if self.side == "right" else ""
        return f"Space({', '.join(map(repr, self.description))}{side})"

    def __reduce__(self) -> Any:
        return partial(type(self), side=self.side, last=self._last, positions=self._moved), self.description

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return False
        return np.array_equal(self.table, other.table) and np.array_equal(self.measured, other.measured)

    def __hash__(self) -> int:
        return hash(self.table.tobytes())

    def _parse(self) -> Iterator[tuple[str, BlockKind]]:
        for name, count in counted("Space", self.description):
            if name in KINDS:
                kind = KINDS[name]
            elif name in CHARTS:
                kind = CHARTS[name]
            elif n := vector_length(name):
                kind = BlockKind(table.R_N, (n,), n, _any, "vector")
            else:
                raise ValueError(
                    f"Space: {name!r} is unknown; expected one of {', '.join(KINDS)}, r1, r2, ..., "
                    "se3:rotation_vector, so3xr3:rotation_vector, ..."
                )
            for _ in range(count):
                yield name, kind

    def check(self, y: ArrayLike) -> np.ndarray:
        """The point as a flat float64 array; ValueError if it has the wrong length or is off the space."""
        point = np.array(y).reshape(-1)
        if point.dtype.kind not in "fiub":
            raise ValueError(f"{self}: a point has {self.size} real numbers, not {point.dtype}")
        point = point.astype(float)
        if point.shape != (self.size,):
            raise ValueError(f"{self}: a point has {self.size} numbers, not {point.size}")
        if not np.isfinite(point).all():
            raise ValueError(f"{self}: number {int(np.argmin(np.isfinite(point)))} of the point is not finite")
        if not self._on_space(point):
            self._refuse(point)
        return point

    def _on_space(self, point: np.ndarray) -> bool:
        """Whether all blocks are on their spaces; those of one kind are looked at together."""
        for kind, starts in self._starts.items():
            try:
                if not (
                    kind.defect(point[starts[:, None] + np.arange(kind.size)].reshape(-1, *kind.shape)) <= TOLERANCE
                ).all():
                    return False
            except ValueError:
                return False
        return True

    def _refuse(self, point: np.ndarray) -> None:
        """Name the first block that is off its space."""
        for i, (name, kind) in enumerate(self._blocks):
            part = point[self.table[i, 1] : self.table[i, 1] + kind.size].reshape(1, *kind.shape)
            try:
                defect = float(kind.defect(part)[0])
            except ValueError as error:
                raise ValueError(f"{self}: block {i} ({name}) is not a {kind.what}: {error}") from None
            if not defect <= TOLERANCE:
                raise ValueError(
                    f"{self}: block {i} ({name}) is off the space by {defect:.3g} (more than {TOLERANCE:g}); "
                    f"expected a {kind.what}"
                )

    def move(self, y: ArrayLike, x: ArrayLike, coordinates: int = table.EXP) -> np.ndarray:
        """exp(x) y (or y exp(x) on the right)."""
        point, vector = np.array(y, dtype=float).reshape(-1), np.array(x, dtype=float).reshape(-1)
        if vector.shape != (self.dimension,):
            raise ValueError(f"{self}: an algebra vector has {self.dimension} numbers, not {vector.size}")
        out = np.empty(self.size)
        blocks.move_point(self.table, self.operations(blocks.MOVE, mapping=coordinates), point, vector, out)
        return out

    def operations(self, *needed: int, mapping: int = table.EXP, on: str = ON_SCALARS) -> np.ndarray:
        """Addresses of compiled operations (`blocks.MOVE`, ...) on the blocks of this space."""
        return blocks.operations(self.table, *needed, mapping=mapping, on=on)
