"""Derivatives of a tree with respect to its coordinates, by differences of poses with 60 digits.

`along` is a tuple of columns (a joint and one of its freedoms). The derivative first along k, then along r is that of a
function of q exp(x_r e_r) exp(x_k e_k): what is differentiated later stands further left.
"""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np

from tests.oracle.tree import (
    REPRESENTATIONS,
    Array,
    Tree,
    exact,
    exponential,
    inverse,
    pose_matrix,
    precise,
    twist_by_definition,
    zeros,
)

STEP = Decimal("1e-9")
Column = tuple[int, int]


def displaced(tree: Tree, q: list, i: int, steps: list[tuple[int, Decimal]]) -> Array:
    """What joint i does in space at q exp(x_1 e_1) exp(x_2 e_2) ..."""
    link = tree.links[i]
    if link.group is None:
        delta = zeros(link.nv)
        for k, x in steps:
            delta[k] += x
        return link.motion(exact(q[i]), delta)
    g = pose_matrix(q[i] if link.group == "free" else [*q[i], 0, 0, 0])
    for k, x in steps:
        delta = zeros(6)
        delta[k] = x
        g = g @ exponential(delta)
    return link.place @ g @ inverse(link.place)


def poses_at(tree: Tree, q: list, motions: list[Array], along: tuple[Column, ...], steps: tuple[Decimal, ...]) -> Array:
    """Poses of all bodies at displaced coordinates; the first of `along` stands leftmost."""
    moved = list(motions)
    for i in {i for i, _ in along}:
        moved[i] = displaced(tree, q, i, [(k, x) for (j, k), x in zip(along, steps, strict=True) if j == i])
    return tree.assemble(moved)


def difference(function, count: int) -> Array:
    """The mixed derivative of order `count` at zero of a function of so many numbers, by central differences."""
    total = 0
    for signs in itertools.product((1, -1), repeat=count):
        total = total + int(np.prod(signs)) * function(tuple(sign * STEP for sign in signs))
    return total / (2 * STEP) ** count


@precise
def column_partials(tree: Tree, q: list, column: Column, along: tuple[Column, ...]) -> dict[str, Array]:
    """A column of the Jacobian of all bodies, differentiated along the first of `along`, then along the next, ...

    (bodies, 6) in each representation.
    """
    motions, order = tree.motions(q), (*reversed(along), column)
    found: dict[tuple, dict[str, Array]] = {}

    def at(steps: tuple[Decimal, ...], name: str) -> Array:
        if steps not in found:
            here = poses_at(tree, q, motions, order, (*steps, Decimal(0)))
            ahead, back = (poses_at(tree, q, motions, order, (*steps, x)) for x in (STEP, -STEP))
            twists = [twist_by_definition(C, D) for C, D in zip(here, (ahead - back) / (2 * STEP), strict=True)]
            found[steps] = {key: np.array([twist[key] for twist in twists], dtype=object) for key in REPRESENTATIONS}
        return found[steps][name]

    return {name: difference(lambda x, name=name: at(x, name), len(along)) for name in REPRESENTATIONS}


@precise
def christoffel_symbols(tree: Tree, q: list) -> Array:
    """Γ_ijk = Σ_p m_p ∂x_p/∂q_i . ∂²x_p/∂q_j∂q_k, of joints with axes only."""
    n, motions = len(tree.columns), tree.motions(q)
    first = tree.jacobians(q)[0].reshape(n, -1) * np.repeat(tree.masses, 3)
    symbols = zeros(n, n, n)
    for j, k in itertools.combinations_with_replacement(range(n), 2):
        along = (tree.columns[j], tree.columns[k])
        second = difference(lambda x, along=along: tree.points(poses_at(tree, q, motions, along, x)), 2)
        symbols[:, j, k] = symbols[:, k, j] = first @ second.ravel()
    return symbols
