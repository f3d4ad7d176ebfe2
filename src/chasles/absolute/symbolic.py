"""The symbolic phase of the factorization: elimination order and operation list, once for a mechanism.

The matrix has symmetric 3x3 tiles: joint tiles, and bodies with many joints as two tiles (angular, linear). Bodies with
few joints are condensed: they appear only as couplings among their joint tiles. Pivots are not searched for, so the
order must see to it that each is definite: see `Support`.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Elimination:
    """What the numeric phase runs. Tile k < n is the diagonal one of the k-th eliminated node, n + e lower tile e."""

    order: np.ndarray  # place of each node in the elimination
    column: np.ndarray  # (n + 1,): first lower tile of each column
    row: np.ndarray  # (e,): row of each lower tile
    first: np.ndarray  # (n + 1,): first operation of each column
    operations: np.ndarray  # (operations, 3): target -= L[a] D L[b]ᵀ as (a, b, target)
    slots: dict[tuple[int, int], int]  # lower tile of (row, column), both in elimination order

    @property
    def nodes(self) -> int:
        return len(self.order)

    @property
    def tiles(self) -> int:
        return self.nodes + len(self.row)

    def slot(self, i: int, j: int) -> tuple[int, bool]:
        """Tile of the coupling of nodes i and j, and whether it is stored transposed (row j, column i)."""
        a, b = int(self.order[i]), int(self.order[j])
        if a == b:
            return a, False
        return (self.nodes + self.slots[(a, b)], False) if a > b else (self.nodes + self.slots[(b, a)], True)


class Support:
    """Which joint tiles may be eliminated: those whose equations the bodies that are gone (or condensed) can satisfy.

    The pivots of joint tiles are definite as long as the rows of all joints eliminated so far are independent on the
    bodies gone so far. That is so if each of these joints has such a body for itself: then joints and bodies form trees
    with at most one loop each, and a loop has all of its bodies. Two joints of one body, as at the ends of a rod
    between bodies that still stand, may have more rows than the body has freedoms. Once all bodies are gone every joint
    may go.
    """

    def __init__(
        self,
        first_hub: int,
        joint_of: list[str],
        bodies_of: dict[str, list[int]],
        hubs: list[int],
        definite: Collection[str] = (),
    ):
        """Nodes before first_hub are tiles of the joints `joint_of`; then two for each hub. Those of rotors are
        `definite` by themselves."""
        self._first_hub, self._joint_of, self._bodies_of, self._hubs = first_hub, joint_of, bodies_of, hubs
        self._standing = dict.fromkeys(hubs, 2)  # nodes that are not eliminated yet
        self._supports: dict[int, str] = {}  # the joint of each body that has one
        self._supported: set[str] = set(definite)
        self._refused: dict[str, int] = {}  # how many hubs stood when a joint found no support

    def allows(self, node: int) -> bool:
        """Whether a node may be eliminated; if so, it is."""
        if node >= self._first_hub:
            hub = self._hubs[(node - self._first_hub) // 2]
            self._standing[hub] -= 1
            if not self._standing[hub]:
                del self._standing[hub]
            return True
        joint = self._joint_of[node]
        if not self._standing or joint in self._supported:
            return True
        if self._refused.get(joint) == len(self._standing) or not self._find(joint):
            self._refused[joint] = len(self._standing)
            return False
        return True

    def _find(self, joint: str) -> bool:
        """A body for a joint, others changing theirs if need be: an augmenting path of the matching."""
        came: dict[int, tuple[str, int | None]] = {}
        queue: list[tuple[str, int | None]] = [(joint, None)]
        for wanting, left in queue:  # grows
            for body in self._bodies_of[wanting]:
                if body in self._standing or body in came:
                    continue
                came[body] = (wanting, left)
                if body in self._supports:
                    queue.append((self._supports[body], body))
                    continue
                at: int | None = body
                while at is not None:
                    self._supports[at], at = came[at]
                self._supported.add(joint)
                return True
        return False


def minimum_degree(neighbors: list[set[int]], support: Support, first_hub: int) -> list[int]:
    """An elimination order with little fill; a node that is not allowed waits for the elimination of a hub.

    Of equal nodes the one that waits for the fewest others is first: a chain is eliminated from both of its ends in
    turn, and the processor computes the two at the same time.
    """
    adjacent = [set(some) for some in neighbors]
    done, level = [False] * len(adjacent), [0] * len(adjacent)
    order: list[int] = []
    heap = [(len(some), 0, i) for i, some in enumerate(adjacent)]
    heapq.heapify(heap)
    waiting: list[int] = []
    while len(order) < len(adjacent):
        *key, k = heapq.heappop(heap)
        if done[k] or key != [len(adjacent[k]), level[k]]:
            continue
        if not support.allows(k):
            waiting.append(k)
            continue
        done[k] = True
        order.append(k)
        around = adjacent[k]
        for i in around:
            adjacent[i] |= around
            adjacent[i] -= {i, k}
            level[i] = max(level[i], level[k] + 1)
            heapq.heappush(heap, (len(adjacent[i]), level[i], i))
        if k >= first_hub:
            for i in waiting:
                heapq.heappush(heap, (len(adjacent[i]), level[i], i))
            waiting = []
    return order


def eliminate(nodes: int, couplings: list[tuple[int, int]], support: Support, first_hub: int) -> Elimination:
    """Order, fill and operation list for nodes with these couplings."""
    neighbors: list[set[int]] = [set() for _ in range(nodes)]
    for i, j in couplings:
        if i != j:
            neighbors[i].add(j)
            neighbors[j].add(i)
    sequence = minimum_degree(neighbors, support, first_hub)
    order = np.empty(nodes, dtype=np.int64)
    order[sequence] = np.arange(nodes)
    below: list[list[int]] = []
    children: list[list[int]] = [[] for _ in range(nodes)]
    column: list[int] = [0]
    row: list[int] = []
    slots: dict[tuple[int, int], int] = {}
    for k in range(nodes):
        filled = {int(order[i]) for i in neighbors[sequence[k]] if order[i] > k}
        for child in children[k]:
            filled.update(below[child])
        filled.discard(k)
        below.append(sorted(filled))
        if below[k]:
            children[below[k][0]].append(k)
        for i in below[k]:
            slots[(i, k)] = len(row)
            row.append(i)
        column.append(len(row))
    operations, first = [], [0]
    for k in range(nodes):
        for b in range(column[k], column[k + 1]):
            for a in range(b, column[k + 1]):
                target = row[a] if a == b else nodes + slots[(row[a], row[b])]
                operations.append((a, b, target))
        first.append(len(operations))
    columns, rows, firsts = (np.array(part, dtype=np.int64) for part in (column, row, first))
    return Elimination(order, columns, rows, firsts, np.array(operations, dtype=np.int64).reshape(-1, 3), slots)
