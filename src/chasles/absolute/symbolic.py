"""The symbolic phase of the factorisation: elimination order and operation list, once for a mechanism.

The matrix has symmetric 3x3 tiles: joint tiles, and bodies with many joints as two tiles (angular, linear). Bodies with
few joints are condensed: they appear only as couplings among their joint tiles. A joint tile may be eliminated once one
of its bodies is gone (condensed counts), so every pivot is definite and none is searched for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
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


def minimum_degree(neighbours: list[set[int]], allowed: Callable[[int, list[bool]], bool]) -> list[int]:
    """An elimination order with little fill; a node that is not allowed waits for another elimination."""
    adjacent = [set(some) for some in neighbours]
    done = [False] * len(adjacent)
    order: list[int] = []
    heap = [(len(some), i) for i, some in enumerate(adjacent)]
    heapq.heapify(heap)
    waiting: list[tuple[int, int]] = []
    while len(order) < len(adjacent):
        degree, k = heapq.heappop(heap)
        if done[k] or degree != len(adjacent[k]):
            continue
        if not allowed(k, done):
            waiting.append((degree, k))
            continue
        done[k] = True
        order.append(k)
        around = adjacent[k]
        for i in around:
            adjacent[i] |= around
            adjacent[i] -= {i, k}
            heapq.heappush(heap, (len(adjacent[i]), i))
        for item in waiting:
            heapq.heappush(heap, item)
        waiting = []
    return order


def eliminate(nodes: int, couplings: list[tuple[int, int]], allowed: Callable[[int, list[bool]], bool]) -> Elimination:
    """Order, fill and operation list for nodes with these couplings."""
    neighbours: list[set[int]] = [set() for _ in range(nodes)]
    for i, j in couplings:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    sequence = minimum_degree(neighbours, allowed)
    order = np.empty(nodes, dtype=np.int64)
    order[sequence] = np.arange(nodes)
    below: list[list[int]] = []
    children: list[list[int]] = [[] for _ in range(nodes)]
    column: list[int] = [0]
    row: list[int] = []
    slots: dict[tuple[int, int], int] = {}
    for k in range(nodes):
        found = {int(order[i]) for i in neighbours[sequence[k]] if order[i] > k}
        for child in children[k]:
            found.update(below[child])
        found.discard(k)
        below.append(sorted(found))
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
