"""The elimination order: no fill in chains and trees of coupled bodies; in meshes less than by nested dissection."""

import pytest

from chasles.absolute.symbolic import Elimination, Support, eliminate


def coupled(n: int, pairs: list[tuple[int, int]]) -> Elimination:
    """The elimination of n bodies, two nodes each, with dense couplings between these pairs."""
    couplings = [(2 * i + a, 2 * j + b) for i, j in pairs for a in (0, 1) for b in (0, 1)]
    couplings += [(2 * i, 2 * i + 1) for i in range(n)]
    return eliminate(2 * n, couplings, Support(0, [], {}, list(range(n))), 0)


def grid(m: int) -> list[tuple[int, int]]:
    """Neighbors in a square mesh of m times m bodies."""
    beside = [(k, k + 1) for k in range(m * m) if (k + 1) % m]
    return beside + [(k, k + m) for k in range(m * m - m)]


def nested_dissection(rows: range, columns: range, m: int) -> list[int]:
    """Halves first, then the line of bodies between them; the longer side is cut."""
    if len(rows) * len(columns) <= 2:
        return [m * r + c for r in rows for c in columns]
    if len(rows) >= len(columns):
        h = len(rows) // 2
        halves = nested_dissection(rows[:h], columns, m) + nested_dissection(rows[h + 1 :], columns, m)
        return halves + [m * rows[h] + c for c in columns]
    h = len(columns) // 2
    halves = nested_dissection(rows, columns[:h], m) + nested_dissection(rows, columns[h + 1 :], m)
    return halves + [m * r + columns[h] for r in rows]


def played(n: int, pairs: list[tuple[int, int]], order) -> tuple[int, int]:
    """Lower tiles and products of an elimination of nodes in this order, by playing it on sets."""
    around: list[set[int]] = [set() for _ in range(2 * n)]
    for i, j in [*pairs, *((i, i) for i in range(n))]:
        for a, b in ((2 * i, 2 * j), (2 * i, 2 * j + 1), (2 * i + 1, 2 * j), (2 * i + 1, 2 * j + 1)):
            around[a].add(b)
            around[b].add(a)
    tiles = products = 0
    for k in order:
        near = around[k] - {k}
        tiles, products = tiles + len(near), products + len(near) * (len(near) + 1) // 2
        for i in near:
            around[i] = (around[i] | near) - {k}
    return tiles, products


def test_chains_and_trees_have_no_fill():
    n = 300
    for pairs in ([(k, k + 1) for k in range(n - 1)], [((k - 1) // 3, k) for k in range(1, n)]):
        found = coupled(n, pairs)
        assert len(found.row) == 4 * len(pairs) + n
        assert len(found.operations) == played(n, pairs, found.order.argsort())[1]


@pytest.mark.parametrize("m", [7, 20])
def test_meshes_have_less_fill_than_nested_dissection(m):
    """And far less than a band, by a count that shares nothing with the elimination."""
    pairs, n = grid(m), m * m
    found = coupled(n, pairs)
    ours = played(n, pairs, found.order.argsort())
    assert ours == (len(found.row), len(found.operations))
    halves = [2 * k + a for k in nested_dissection(range(m), range(m), m) for a in (0, 1)]
    dissected, band = played(n, pairs, halves), played(n, pairs, range(2 * n))
    assert ours[0] < dissected[0] < band[0]
    assert ours[1] < dissected[1] < band[1]
