"""Cotangents of the numbers that forces on a tree depend on, whatever the number of parameters is.

Forces are evaluated on duals, along directions of their numbers. A spring pushes two links only, and a damper its
joint: numbers that act on different ones share a direction, and what a force becomes tells which of them did it. Where
links are has effect on all forces beyond; of these numbers a direction has one parameter, or one number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chasles.force.passive import PASSIVE
from chasles.force.table import FORCE, FORCES, JOINT, WRENCH
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import CONSTANT, GRAVITY
from chasles.simulation.slopes import apart


class ForceNumbers:
    """What is asked for of the numbers of a tree and its forces, (count,), that change by `shifts`, (count, m).

    `directions` (count, k) of them, and for each, and each number of (tau, wrenches), the `owners` (k, outputs): which
    of `size` cotangents it counts for, the last one if for none."""

    def __init__(self, mechanism: Mechanism, shifts: np.ndarray):
        tree, outputs = len(mechanism.tree.numbers), mechanism.nv + 6 * mechanism.tables.links
        self.tree, self.shifts = tree, shifts
        changed = np.any(shifts != 0.0, axis=1)
        self.values = tree + np.flatnonzero(changed[tree:])
        pushed = np.zeros((len(shifts) - tree, outputs), dtype=bool)
        for some, where in _acts_on(mechanism):
            pushed[some, where] = True
        groups = apart(list(pushed[self.values - tree]))
        self.places = np.flatnonzero(changed[:tree] & _places_links(tree))
        columns = np.flatnonzero(np.any(shifts[self.places] != 0.0, axis=0))
        self.by_number = len(self.places) < len(columns)
        self.moved = self.places if self.by_number else columns
        self.size = len(self.values) + len(self.moved) + 1
        count = len(groups) + len(self.moved)
        self.directions = np.zeros((len(shifts), count))
        self.owners = np.full((count, outputs), self.size - 1, dtype=np.int64)
        for k, group in enumerate(groups):
            self.directions[self.values[group], k] = 1.0
            for one in group:
                self.owners[k, pushed[self.values[one] - tree]] = one
        for k, one in enumerate(self.moved.tolist(), len(groups)):
            self.owners[k] = len(self.values) + k - len(groups)
            if self.by_number:
                self.directions[one, k] = 1.0
            else:
                self.directions[self.places, k] = shifts[self.places, one]

    def by_parameters(self, g: np.ndarray) -> np.ndarray:
        """Derivatives (m,) by parameters from the cotangents that were found."""
        values, moved = g[: len(self.values)], g[len(self.values) : self.size - 1]
        found = values @ self.shifts[self.values]
        if self.by_number:
            return found + moved @ self.shifts[self.places]
        found[self.moved] += moved
        return found


def _places_links(count: int) -> np.ndarray:
    """Which numbers of a tree say where links are."""
    found = np.zeros(count, dtype=bool)
    links = found[GRAVITY.size :][: (count - GRAVITY.size) // CONSTANT.size * CONSTANT.size].reshape(-1, CONSTANT.size)
    links[:, : CONSTANT.mass] = links[:, CONSTANT.pitch] = True
    return found


def _acts_on(mechanism: Mechanism) -> Iterator[tuple[slice, slice]]:
    """Parts of the numbers of forces, and which of (tau, wrenches) they have effect on."""
    acting, nv, first = mechanism.tables.acting, mechanism.nv, 0
    table = acting.table
    if table[FORCES.passive]:
        first = nv * PASSIVE.size
        for joint in mechanism.tree.joints:
            at = mechanism.tree.velocities[joint.name]
            together = 3 if joint.traits.quaternion else 1  # rotations by all three
            for k in range(at.start, at.stop, together):
                yield slice(k * PASSIVE.size, (k + together) * PASSIVE.size), slice(k, k + together)
    rows = table[FORCES.size :].reshape(-1, FORCE.size)
    ends = [*(first + rows[1:, FORCE.numbers]), len(acting.values)]
    parts = [slice(first + int(row[FORCE.numbers]), int(end)) for row, end in zip(rows, ends, strict=False)]
    for row, part in zip(rows[: table[FORCES.count]], parts, strict=False):
        seen = parts[int(row[FORCE.seen_at]) :][: int(row[FORCE.seen])]
        if row[FORCE.kind] == JOINT:
            pushed = [slice(int(row[FORCE.third]), int(row[FORCE.third] + row[FORCE.fourth]))]
        else:
            links = row[[FORCE.first] if row[FORCE.kind] == WRENCH else [FORCE.first, FORCE.second]]
            pushed = [slice(nv + 6 * i, nv + 6 * i + 6) for i in links.tolist() if i >= 0]
        for own in (part, *seen):
            for where in pushed:
                yield own, where
