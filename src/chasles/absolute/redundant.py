"""Equations that depend on each other: regularized, and refined against the equations themselves.

The multipliers of dependent rows are not unique and the matrix is singular. With -ε s on the diagonal of each joint
tile, where s is the mean of the diagonal of J M⁻¹ Jᵀ over rows of one kind there, it is regular whatever the order of
elimination, and

    (J M⁻¹ Jᵀ + ε s) dλ = J a - rate,   λ += dλ,   a -= M⁻¹ Jᵀ dλ

is the method of multipliers: a converges to the accelerations, which are unique, and λ from zero to the multipliers of
the smallest Σ s |λ|². A factor of another state must not be used: what its rows allow, those at hand do not quite, and
1/ε makes much of the difference. Systems with independent rows do not come here.
"""

from __future__ import annotations

from chasles.absolute.factor import factorize, solve
from chasles.absolute.kkt import (
    add_feedback,
    add_jacobian_times,
    angular_of,
    assemble,
    columns_scaled,
    each,
    free_accelerations,
    pair_with_itself,
    prepare,
    push_back,
)
from chasles.absolute.tables import BODY, FIELD, MASS, PAIR
from chasles.constraint.rows import CUSTOM, EMPTY, ROTOR, ROWS, TILE
from chasles.constraint.special import evaluate_rate
from chasles.kernel.algebra import scale
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, store3

REGULARIZATION = 1e-7  # ε where multipliers are asked for; rounding errors of theirs grow with 1/ε
IN_MOTION = 1e-10  # ε of simulations: what is small of J M⁻¹ Jᵀ next to a singular configuration must be well above it
REFINEMENTS = 2  # after the first solution, at least
MOST = 20  # near singular configurations, where rows with almost no effect converge slowly
REFINED = 1e-12  # residual of J a, relative to what it was


@kernel
def regularize(bodies, tiles, incidences, nodes, masses, n_bodies, rows, weight, matrix):
    """Subtract weight s from the diagonals of joint tiles; rows that are empty or of rotors are regular as they are."""
    for i in range(n_bodies):
        row, m = i * BODY.size, i * MASS.size
        inverse, light = load3(masses, m + MASS.inverse, 0.0), 1.0 / masses[m + MASS.mass]
        for e in range(bodies[row + BODY.first], bodies[row + BODY.first] + bodies[row + BODY.count]):
            tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
            S = pair_with_itself(tiles, rows, tile, side, columns_scaled(angular_of(rows, tile, side), inverse), light)
            for k in range(3):
                kind = tiles[tile * TILE.size + TILE.kinds + k]
                if kind != EMPTY and kind != ROTOR:
                    matrix[9 * nodes[tile] + 4 * k] -= weight * mean_of_kind(tiles, tile, S, k)


@kernel
def mean_of_kind(tiles, tile, S, k):
    """The mean of the diagonal of S over the rows of a tile that are of the kind of row k. So axes do not matter, and
    angles are kept apart from lengths. Rows from CUSTOM on may be either: these are alone."""
    kinds = tile * TILE.size + TILE.kinds
    kind, diagonal, total, used = tiles[kinds + k], (S[0], S[4], S[8]), 0.0, 0
    for other in range(3):
        if other == k or (tiles[kinds + other] == kind and kind < CUSTOM):
            total += diagonal[other]
            used += 1
    return total / used


@kernel
def weigh_rows(bodies, tiles, incidences, nodes, masses, n_bodies, rows, weights, at):
    """The diagonal of J M⁻¹ Jᵀ: residuals² divided by it have one unit, whatever a row measures."""
    for i in range(n_bodies):
        row, m = i * BODY.size, i * MASS.size
        inverse, light = load3(masses, m + MASS.inverse, 0.0), 1.0 / masses[m + MASS.mass]
        for e in range(bodies[row + BODY.first], bodies[row + BODY.first] + bodies[row + BODY.count]):
            tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
            S = pair_with_itself(tiles, rows, tile, side, columns_scaled(angular_of(rows, tile, side), inverse), light)
            add3(weights, at + 3 * nodes[tile], (S[0], S[4], S[8]))


@kernel
def factorize_rows(tables, masses, rows, matrix, factors):
    """The factor of the rows at hand, regularized if some depend on others."""
    bodies, tiles, nodes, incidences, slots, column, row, first, operations, _, _, gravity, n, nt, nn, nm = tables
    assemble(bodies, tiles, nodes, incidences, slots, masses, n, nt, nm, rows, matrix)
    if gravity[FIELD.regularization] > 0.0:
        regularize(bodies, tiles, incidences, nodes, masses, n, rows, gravity[FIELD.regularization], matrix)
    factorize(nn, column, row, first, operations, matrix, factors)


@kernel(shared=True)
def solve_refined(tables, rows, factors, refinement, x, a):
    """a becomes the nearest, in the metric of the masses, with J a = x; x becomes the multipliers that change it so.

    The entries of hubs in x are zero when they come. refinement: workspace, nine numbers a
    node: what J a must be, the multipliers so far, and the weights of the rows.
    """
    bodies, tiles, nodes, incidences, _, column, row, _, _, masses, _, _, n, nt, nn, _ = tables
    so_far, weights = 3 * nn, 6 * nn
    for k in range(3 * nn):
        refinement[k], refinement[so_far + k], refinement[weights + k] = x[k], 0.0, 0.0
    weigh_rows(bodies, tiles, incidences, nodes, masses, n, rows, refinement, weights)
    before, size = 0.0, 0.0
    for sweep in range(1 + MOST):
        for k in range(3 * nn):
            x[k] = refinement[k]
        for t in range(nt):
            for k in range(3 * nodes[t], 3 * nodes[t] + 3):
                if tiles[t * TILE.size + TILE.kinds + k - 3 * nodes[t]] == ROTOR:  # J a - λ = 0
                    x[k] = refinement[k] + refinement[so_far + k]
        add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, a, x, -1.0, True)
        previous, size = size, 0.0
        for k in range(3 * nn):
            if refinement[weights + k] > 0.0:
                size = max(size, x[k] * x[k] / refinement[weights + k])
        before = max(before, size)
        if sweep > REFINEMENTS and (size <= REFINED**2 * before or size > 0.9**2 * previous):
            break
        solve(nn, column, row, factors, x)
        for k in range(3 * nn):
            refinement[so_far + k] += x[k]
        push_back(bodies, tiles, nodes, incidences, masses, n, rows, x, a)
    for k in range(3 * nn):
        x[k] = refinement[so_far + k]


@kernel
def accelerate_refined(tables, motion, wrenches, space):
    """`kkt.accelerate` of a system some of whose rows depend on others. space: `tables.WORK`."""
    bodies, tiles, nodes, incidences, _, _, _, _, _, masses, constants, gravity, n, nt, _, _ = tables
    rows, x, a = space.rows, space.x, space.a
    prepare(tiles, constants, nt, motion, rows)
    factorize_rows(tables, masses, rows, space.matrix, space.factors)
    free_accelerations(bodies, masses, gravity, n, motion, wrenches, x, a)
    for i in range(n):
        row, m = i * BODY.size, i * MASS.size
        if bodies[row + BODY.hub] != 0:
            angular, linear = 3 * bodies[row + BODY.angular], 3 * bodies[row + BODY.linear]
            store3(a, 6 * i, each(load3(masses, m + MASS.inverse, 0.0), load3(x, angular, 0.0)))
            store3(a, 6 * i + 3, scale(1.0 / masses[m + MASS.mass], load3(x, linear, 0.0)))
            store3(x, angular, (0.0, 0.0, 0.0))
            store3(x, linear, (0.0, 0.0, 0.0))
    for t in range(nt):
        evaluate_rate(tiles, constants, t, motion, rows)
        store3(x, 3 * nodes[t], load3(rows, t * ROWS.size + ROWS.rate, 0.0))
    alpha, beta = gravity[FIELD.alpha], gravity[FIELD.beta]
    if alpha != 0.0 or beta != 0.0:
        add_feedback(bodies, tiles, nodes, incidences, constants, alpha, beta, n, nt, motion, rows, x)
    solve_refined(tables, rows, space.factors, space.refinement, x, a)
