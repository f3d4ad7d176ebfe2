"""The equations of an implicit step, K d + Rᵀ μ = f and L d = g, by one factorization (see `structure`).

d has six numbers a body: a rotation in the body and a displacement in space, so that rows and Jacobians are the same
for both groups. A block of K has four tiles (angular or linear row, angular or linear column); of condensed bodies its
inverse is kept. Points have linear rows -I and I, which are not stored.
"""

from __future__ import annotations

from chasles.absolute.kkt import angular_of, is_point, linear_of, times
from chasles.absolute.redundant import regularize
from chasles.absolute.tables import BODY, PAIR
from chasles.constrained.tables import BLOCK, FULL, PLACE, SEPARATE
from chasles.constrained.tile_lu import factorize_lu, solve_lu
from chasles.constrained.workspace import OPERATIONS, workspace_at
from chasles.constraint.rows import EMPTY, IDENTITY, ROTOR, TILE
from chasles.kernel.address import invoke
from chasles.kernel.algebra import (
    add,
    add_scaled,
    mat_add,
    mat_mul,
    mat_mul_t,
    mat_neg,
    mat_scale,
    mul,
    mul_t,
    scale,
    sub,
    transpose,
)
from chasles.kernel.dense import inverse3, inverse6, inverse6_lower
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, add9, load3, load9, store3, store9


@kernel
def invert_block(blocks, at, kind):
    """A body's block becomes its inverse."""
    aa, la = load9(blocks, at + BLOCK.aa, 0.0), load9(blocks, at + BLOCK.la, 0.0)
    if kind == SEPARATE:
        store9(blocks, at + BLOCK.aa, inverse3(aa))
        blocks[at + BLOCK.ll] = 1.0 / blocks[at + BLOCK.ll]
        return
    ll = load9(blocks, at + BLOCK.ll, 0.0)
    if kind == FULL:
        aa, al, la, ll = inverse6(aa, load9(blocks, at + BLOCK.al, 0.0), la, ll)
        store9(blocks, at + BLOCK.al, al)
    else:
        aa, la, ll = inverse6_lower(aa, la, ll)
    store9(blocks, at + BLOCK.aa, aa)
    store9(blocks, at + BLOCK.la, la)
    store9(blocks, at + BLOCK.ll, ll)


@kernel
def plus_diagonal(m, s):
    return (m[0] + s, m[1], m[2], m[3], m[4] + s, m[5], m[6], m[7], m[8] + s)


@kernel
def condense(workspace, i, left, right):
    """Subtract L K⁻¹ Rᵀ of body i from the tiles of its joints."""
    bodies, tiles, incidences = workspace.tables.bodies, workspace.tables.tiles, workspace.tables.incidences
    places, slots, blocks, block = workspace.plan.places, workspace.plan.slots, workspace.blocks, i * BLOCK.size
    first, count = bodies[i * BODY.size + BODY.first], bodies[i * BODY.size + BODY.count]
    at, kind = places[i * PLACE.size + PLACE.slots], places[i * PLACE.size + PLACE.kind]
    aa = load9(blocks, block + BLOCK.aa, 0.0)
    for y in range(first, first + count):
        tile, side = incidences[PAIR * y], incidences[PAIR * y + 1]
        A, point, sign = angular_of(right, tile, side), is_point(tiles, tile), 2.0 * side - 1.0
        turned = mat_mul_t(aa, A)
        if kind == SEPARATE:
            light = blocks[block + BLOCK.ll]
            moved = mat_scale(light * sign, IDENTITY)
            if not point:
                moved = mat_scale(light, transpose(linear_of(right, tile, side)))
        else:
            ll = load9(blocks, block + BLOCK.ll, 0.0)
            moved = mat_scale(sign, ll) if point else mat_mul_t(ll, linear_of(right, tile, side))
            moved = mat_add(moved, mat_mul_t(load9(blocks, block + BLOCK.la, 0.0), A))
            if kind == FULL:
                al = load9(blocks, block + BLOCK.al, 0.0)
                turned = mat_add(turned, mat_scale(sign, al) if point else mat_mul_t(al, linear_of(right, tile, side)))
        for x in range(first, first + count):
            other, its = incidences[PAIR * x], incidences[PAIR * x + 1]
            total = mat_mul(angular_of(left, other, its), turned)
            if is_point(tiles, other):
                total = mat_add(total, mat_scale(2.0 * its - 1.0, moved))
            else:
                total = mat_add(total, mat_mul(linear_of(left, other, its), moved))
            add9(workspace.matrix, 9 * slots[at], mat_neg(total))
            at += 1


@kernel
def place_explicit(workspace, i, left, right):
    """Block and rows of body i, which stays in the matrix."""
    bodies, tiles, incidences = workspace.tables.bodies, workspace.tables.tiles, workspace.tables.incidences
    places, slots, blocks, block = workspace.plan.places, workspace.plan.slots, workspace.blocks, i * BLOCK.size
    first, count, matrix = bodies[i * BODY.size + BODY.first], bodies[i * BODY.size + BODY.count], workspace.matrix
    at, kind = places[i * PLACE.size + PLACE.slots], places[i * PLACE.size + PLACE.kind]
    angular, linear = places[i * PLACE.size + PLACE.angular], places[i * PLACE.size + PLACE.linear]
    add9(matrix, 9 * angular, load9(blocks, block + BLOCK.aa, 0.0))
    if kind == SEPARATE:
        add9(matrix, 9 * linear, mat_scale(blocks[block + BLOCK.ll], IDENTITY))
    else:
        add9(matrix, 9 * linear, load9(blocks, block + BLOCK.ll, 0.0))
        add9(matrix, 9 * slots[at + 1], load9(blocks, block + BLOCK.la, 0.0))
        if kind == FULL:
            add9(matrix, 9 * slots[at], load9(blocks, block + BLOCK.al, 0.0))
    at += 2
    for e in range(first, first + count):
        tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
        add9(matrix, 9 * slots[at], angular_of(left, tile, side))
        add9(matrix, 9 * slots[at + 2], transpose(angular_of(right, tile, side)))
        if is_point(tiles, tile):
            add9(matrix, 9 * slots[at + 1], mat_scale(2.0 * side - 1.0, IDENTITY))
            add9(matrix, 9 * slots[at + 3], mat_scale(2.0 * side - 1.0, IDENTITY))
        else:
            add9(matrix, 9 * slots[at + 1], linear_of(left, tile, side))
            add9(matrix, 9 * slots[at + 3], transpose(linear_of(right, tile, side)))
        at += 4


@kernel
def clear_matrix(workspace, weight):
    """`empty_matrix`, regularized by a weight if rows depend on others."""
    tables, plan = workspace.tables, workspace.plan
    empty_matrix(workspace)
    if weight > 0.0:
        regularize(
            tables.bodies, tables.tiles, tables.incidences, plan.nodes, tables.masses, tables.n, workspace.rows, weight,
            workspace.matrix,
        )  # fmt: skip


@kernel
def empty_matrix(workspace):
    """Nothing but -1 for rows that are empty and those of rotors."""
    tables, plan, matrix = workspace.tables, workspace.plan, workspace.matrix
    for k in range(9 * (plan.n_nodes + 2 * plan.n_lower)):
        matrix[k] = 0.0
    for t in range(tables.nt):
        for k in range(3):
            kind = tables.tiles[t * TILE.size + TILE.kinds + k]
            if kind == EMPTY or kind == ROTOR:
                matrix[9 * plan.nodes[t] + 4 * k] = -1.0


@kernel
def factorize_saddle(workspace, left, right):
    """Factors of the equations, to couplings already in the matrix; blocks of condensed bodies are inverted."""
    plan = workspace.plan
    for i in range(workspace.tables.n):
        if plan.places[i * PLACE.size + PLACE.explicit] != 0:
            place_explicit(workspace, i, left, right)
        else:
            invert_block(workspace.blocks, i * BLOCK.size, plan.places[i * PLACE.size + PLACE.kind])
            condense(workspace, i, left, right)
    factorize_lu(
        plan.n_nodes, plan.n_lower, plan.column, plan.row, plan.first, plan.operations, workspace.matrix,
        workspace.factors,
    )  # fmt: skip


@kernel
def times_inverse(blocks, block, kind, angular, linear):
    """K⁻¹ f of a condensed body."""
    turned = mul(load9(blocks, block + BLOCK.aa, 0.0), angular)
    if kind == SEPARATE:
        return turned, scale(blocks[block + BLOCK.ll], linear)
    moved = add(mul(load9(blocks, block + BLOCK.ll, 0.0), linear), mul(load9(blocks, block + BLOCK.la, 0.0), angular))
    if kind == FULL:
        turned = add(turned, mul(load9(blocks, block + BLOCK.al, 0.0), linear))
    return turned, moved


@kernel
def pushed_by(workspace, i, rows, x):
    """Rᵀ μ on body i: (torque in the body, force in space)."""
    bodies, tiles, incidences = workspace.tables.bodies, workspace.tables.tiles, workspace.tables.incidences
    torque, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    first = bodies[i * BODY.size + BODY.first]
    for e in range(first, first + bodies[i * BODY.size + BODY.count]):
        tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
        multiplier = load3(x, 3 * workspace.plan.nodes[tile], 0.0)
        torque = add(torque, mul_t(angular_of(rows, tile, side), multiplier))
        if is_point(tiles, tile):
            force = add_scaled(force, 2.0 * side - 1.0, multiplier)
        else:
            force = add(force, mul_t(linear_of(rows, tile, side), multiplier))
    return torque, force


@kernel
def solve_saddle(workspace, left, right, d):
    """d and, in g, μ; f (six numbers a body) is kept unless d is its place."""
    bodies, tiles, incidences, plan = (
        workspace.tables.bodies,
        workspace.tables.tiles,
        workspace.tables.incidences,
        workspace.plan,
    )
    places, blocks, f, x = plan.places, workspace.blocks, workspace.f, workspace.g
    for i in range(workspace.tables.n):
        at, turn, push = i * PLACE.size, load3(f, 6 * i, 0.0), load3(f, 6 * i + 3, 0.0)
        if places[at + PLACE.explicit] != 0:
            store3(x, 3 * places[at + PLACE.angular], turn)
            store3(x, 3 * places[at + PLACE.linear], push)
        else:
            angular, linear = times_inverse(blocks, i * BLOCK.size, places[at + PLACE.kind], turn, push)
            first = bodies[i * BODY.size + BODY.first]
            for e in range(first, first + bodies[i * BODY.size + BODY.count]):
                tile = incidences[PAIR * e]
                there = times(tiles, left, tile, incidences[PAIR * e + 1], angular, linear)
                add3(x, 3 * plan.nodes[tile], scale(-1.0, there))
    solve_lu(plan.n_nodes, plan.n_lower, plan.column, plan.row, workspace.matrix, workspace.factors, x)
    for i in range(workspace.tables.n):
        at = i * PLACE.size
        if places[at + PLACE.explicit] != 0:
            store3(d, 6 * i, load3(x, 3 * places[at + PLACE.angular], 0.0))
            store3(d, 6 * i + 3, load3(x, 3 * places[at + PLACE.linear], 0.0))
        else:
            torque, force = pushed_by(workspace, i, right, x)
            torque, force = sub(load3(f, 6 * i, 0.0), torque), sub(load3(f, 6 * i + 3, 0.0), force)
            angular, linear = times_inverse(blocks, i * BLOCK.size, places[at + PLACE.kind], torque, force)
            store3(d, 6 * i, angular)
            store3(d, 6 * i + 3, linear)


@native(vectorized=False)
def solve_equations_apart(at, fresh):
    workspace = workspace_at(at)
    if fresh:
        factorize_saddle(workspace, workspace.rows, workspace.old_rows)
    solve_saddle(workspace, workspace.rows, workspace.old_rows, workspace.d)


@kernel
def solve_equations(workspace, fresh):
    """d and, in g, μ, with the rows at hand on the left and the old ones on the right; if not `fresh`, with the factors
    at hand."""
    operations = workspace.operations
    invoke(operations[OPERATIONS.solve_equations], operations[OPERATIONS.workspace], fresh)


@kernel
def separate_block(workspace, i, angular, linear):
    """A block whose angular and linear part do not meet: a matrix and a mass."""
    at = i * BLOCK.size
    store9(workspace.blocks, at + BLOCK.aa, angular)
    if workspace.plan.places[i * PLACE.size + PLACE.kind] == SEPARATE:
        workspace.blocks[at + BLOCK.ll] = linear
    else:
        store9(workspace.blocks, at + BLOCK.ll, mat_scale(linear, IDENTITY))
        store9(workspace.blocks, at + BLOCK.la, mat_scale(0.0, IDENTITY))
        store9(workspace.blocks, at + BLOCK.al, mat_scale(0.0, IDENTITY))
