"""The order in which the mass matrix GᵀMG of a tree with followers has factors as that of a tree.

Velocities are eliminated where their links have met (`relative.elimination`). Each then has entries with some of those
that come later: the next of these is its parent in the elimination tree, and all of them are above it there. Numbered
so, the solver of ordinary trees (`derivative.factor`) serves, O(n (d + w)²) for depth d and w groups open at a link.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.relative.dependence import Dependence
from chasles.relative.tables import HEAD, LINK, VELOCITIES, link_table
from chasles.relative.tree import runs


class Factoring(NamedTuple):
    """Tables of that order, for kernels.

    column: for each of all velocities, the number of that which it depends on, and at last how many there are. place:
    the number of each velocity of v. tree: a topology without links that knows the ways. ends: as `subtree_ends`.
    """

    column: np.ndarray
    place: np.ndarray
    tree: np.ndarray
    ends: np.ndarray


def factoring(dependence: Dependence) -> Factoring:
    """The order of a tree: each velocity where its links have met."""
    links, count = link_table(dependence.every.topology), len(dependence.own)
    parents, column = links[:, LINK.parent].tolist(), dependence.column.tolist()
    moving = (dependence.ratio != 0.0).tolist()
    owner = np.repeat(np.arange(len(links)), np.array(VELOCITIES, dtype=int)[links[:, LINK.kind]]).tolist()
    met: list[tuple[int, bool]] = [(-2, True)] * count  # the link where they met, and whether it is one of them
    for r in range(len(column) - 1, -1, -1):
        if moving[r]:
            here, (other, _) = owner[r], met[column[r]]
            met[column[r]] = (here, True) if other == -2 else _meeting(parents, here, other)
    first = sorted(range(count), key=lambda k: (-met[k][0], met[k][1], -k))
    above = _elimination_tree(first, _neighbors(parents, owner, column, moving, count))
    return _numbered(above, dependence.column, count)


def _meeting(parents: list[int], one: int, other: int) -> tuple[int, bool]:
    """The link that carries two others, and whether it is one of them."""
    a, b = one, other
    while a != b:
        if a > b:
            a = parents[a]
        else:
            b = parents[b]
    return a, a in (one, other)


def _neighbors(
    parents: list[int], owner: list[int], column: list[int], moving: list[bool], count: int
) -> list[set[int]]:
    """For each velocity of v, those that it has an entry of the mass matrix with."""
    found: list[set[int]] = [set() for _ in range(count)]
    ways: list[list[int]] = []  # of each link, the velocities that move it
    own: list[list[int]] = [[] for _ in parents]
    for r, link in enumerate(owner):
        if moving[r]:
            own[link].append(column[r])
    for link, parent in enumerate(parents):
        ways.append([*(ways[parent] if parent >= 0 else ()), *own[link]])
        for k in own[link]:
            found[k].update(ways[-1])
            for other in ways[-1]:
                found[other].add(k)
    return found


def _elimination_tree(first: list[int], neighbors: list[set[int]]) -> list[int]:
    """For each velocity the next one that it has an entry with when it is eliminated, or -1; by Liu's algorithm."""
    step = {k: i for i, k in enumerate(first)}
    above, reached = [-1] * len(first), [-1] * len(first)  # reached: the last one found from here, to take short cuts
    for k in first:
        for other in neighbors[k]:
            while step[other] < step[k]:
                after, reached[other] = reached[other], k
                if after < 0:
                    above[other] = k
                    break
                other = after
    return above


def _numbered(above: list[int], column: np.ndarray, count: int) -> Factoring:
    """The velocities numbered so that all which are eliminated before one, and on its account, follow it."""
    below: list[list[int]] = [[] for _ in range(count + 1)]  # last: of the ground
    for k, other in enumerate(above):
        below[other].append(k)
    place, waiting = np.zeros(count, dtype=np.int64), below[-1][::-1]
    order: list[int] = []
    while waiting:
        k = waiting.pop()
        place[k] = len(order)
        order.append(k)
        waiting += below[k][::-1]
    before = [int(place[above[k]]) if above[k] >= 0 else -1 for k in order]
    ends = np.arange(1, count + 1)
    for k in range(count - 1, -1, -1):
        if before[k] >= 0:
            ends[before[k]] = max(ends[before[k]], ends[k])
    head = np.zeros(HEAD.size, dtype=np.int64)
    head[HEAD.velocities] = count
    ways = [np.array(part, dtype=np.int64) for part in (before, [0] * count, runs(before))]
    return Factoring(np.append(place[column], count), place, np.concatenate([head, *ways]), ends)
