"""What closes a tree exerts on its links by its multipliers, for one state after the other.

The same as `closing_wrenches` and `smallest_of`, with all that does not change prepared: friction that depends on loads
asks for it in every evaluation.
"""

from __future__ import annotations

import numpy as np

from chasles.constraint.rows import POINT, ROWS
from chasles.kernel.undisturbed import Calling
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.constraint import Coupling, Drive
from chasles.relative.loop import entry
from chasles.relative.loop.closed import ClosedMechanism


class ClosingPushes:
    """Accelerations, the smallest multipliers and their wrenches of a closed mechanism."""

    def __init__(self, mechanism: ClosedMechanism):
        self.mechanism, closing, tree = mechanism, mechanism.closing, mechanism.tree
        along = {item.name for item in mechanism.system.constraints if isinstance(item, Coupling | Drive)}
        found = list[tuple[int, int, int, int]]()
        pushed = list[np.ndarray]()
        for r, (group, k) in enumerate(closing.rows):
            number = closing.groups[group][0]
            tile, at = closing.tiles[number], number * ROWS.size + 3 * k
            if tile.joint in along:
                continue
            for link, angular, linear, sign in (
                (tile.first, ROWS.first_angular, ROWS.first_linear, -1.0),
                (tile.second, ROWS.second_angular, ROWS.second_linear, 1.0),
            ):
                if link >= 0:  # else the ground
                    found.append((r, link, at + angular, at + linear))
                    pushed.append(sign * np.eye(3)[k] if tile.kind == POINT else np.full(3, np.nan))
        places = np.array(found, dtype=int).reshape(-1, 4)
        three = np.arange(3)
        self.row, self.link = places[:, 0], places[:, 1]
        self.angular, self.linear = places[:, 2, None] + three, places[:, 3, None] + three
        self.fixed = np.array(pushed).reshape(-1, 3)  # of points, whose rows are not stored
        self.stored = np.isnan(self.fixed)
        members = [int(np.flatnonzero(tree.link_of_body == link)[0]) for link in self.link]
        self.member = np.array(members, dtype=int)
        self.in_link = quaternion_to_matrix(tree.body_in_link[self.member][:, :4])

    def motion(
        self, q: np.ndarray, v: np.ndarray, t: float, tau: np.ndarray, on_links: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (forces, nv) of a state under several forces tau and wrenches on the links, and the wrenches
        (forces, links, 6) of what closes the tree."""
        mechanism, count = self.mechanism, len(tau)
        packed, rows = mechanism.packed, mechanism.rows
        a, multipliers, ranks, work = (
            np.empty((count, mechanism.nv)),
            np.empty((count, rows)),
            np.empty(count),
            np.empty(packed.work),
        )
        states = [np.tile(x, (count, 1)) for x in (q, v)]
        p = packed.parameters
        with Calling(mechanism.laws):
            entry.accelerations_of_states(
                *(p.view(np.int64), p, np.full(count, t), *states, tau, on_links, work),
                *(a, multipliers, ranks),
            )
        if not np.isfinite(a).all():  # it says why
            mechanism.motion_on_links("simulate", {"q": q, "v": v, "tau": tau}, on_links, t)
        found = mechanism.constraint_rows(q, v, t)
        if ranks.min(initial=rows) < rows:
            scales = work[packed.scales_at : packed.scales_at + rows]
            scales = np.where(scales > 0.0, scales, 1.0)  # those of the rows, one over their reach
            idle = np.linalg.svd(found.jacobian * scales[:, None])[0][:, int(ranks.min()) :]
            weighted = multipliers / scales
            multipliers = (weighted - (weighted @ idle) @ idle.T) * scales
        return a, self._wrenches(q, found.tiles.ravel(), multipliers)

    def _wrenches(self, q: np.ndarray, tiles: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        turns = quaternion_to_matrix(self.mechanism.spanning.poses(q)[self.member, :4])
        linear = np.where(self.stored, tiles[self.linear], self.fixed)
        linear = np.einsum("pij,pkj,pk->pi", self.in_link, turns, linear)
        each = np.concatenate([tiles[self.angular], linear], axis=1)
        found = np.zeros((self.mechanism.tables.links, len(multipliers), 6))
        np.subtract.at(found, self.link, multipliers.T[self.row][:, :, None] * each[:, None, :])
        return found.transpose(1, 0, 2)
