"""The index-1 equations of a constrained system,

    M a + Jᵀ λ = f,   J a = rate,

and what projections need, with one factorization: mueller2013 eqs. (2), (39), (45). M is (Θ, m I) for each body, Θ
diagonal; a is the derivative of its velocities: ω in the body and, in the axes of space, r'' (SO(3)xR3) or R v' with
the body velocity v (SE(3)). Bodies with few joints are condensed: S = Σ J M⁻¹ Jᵀ on the joint tiles; hubs stay. The
reaction on a body is -Jᵀ λ.
"""

from __future__ import annotations

from chasles.absolute.factor import factorize, solve
from chasles.absolute.tables import BODY, FIELD, MASS, PAIR, SE3
from chasles.constraint.rows import (
    EMPTY,
    IDENTITY,
    MOTION,
    POINT,
    ROTOR,
    ROWS,
    TILE,
)
from chasles.constraint.special import add_target_speeds, evaluate, evaluate_rate
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_mul_t,
    mat_scale,
    mul,
    mul_t,
    scale,
    sub,
    transpose,
)
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, add9, load3, load9, store3, store9
from chasles.lie import quaternion

POSE, TWIST = 7, 6  # numbers of a body's pose and velocity in the state


@kernel
def each(a, b):
    """Products component by component: a diagonal matrix times a vector."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@kernel
def set_motion(bodies, n, q, v, motion):
    """Rotation, position, ω, r' and transport of every body, from its pose and its velocity in its space."""
    for i in range(n):
        at = i * MOTION.size
        unit = (q[POSE * i], q[POSE * i + 1], q[POSE * i + 2], q[POSE * i + 3])
        R = quaternion.to_matrix(unit)
        spin, linear = load3(v, TWIST * i, 0.0), load3(v, TWIST * i + 3, 0.0)
        store9(motion, at + MOTION.rotation, R)
        store3(motion, at + MOTION.position, load3(q, POSE * i + 4, 0.0))
        store3(motion, at + MOTION.spin, spin)
        if bodies[i * BODY.size + BODY.space] == SE3:
            store3(motion, at + MOTION.velocity, mul(R, linear))
            store3(motion, at + MOTION.transport, mul(R, cross(spin, linear)))
        else:
            store3(motion, at + MOTION.velocity, linear)
            store3(motion, at + MOTION.transport, (0.0, 0.0, 0.0))


@kernel
def angular_of(rows, tile, side):
    """Angular rows of one side of a tile."""
    return load9(rows, tile * ROWS.size + ROWS.first_angular + 18 * side, 0.0)


@kernel
def linear_of(rows, tile, side):
    """Linear rows of one side of a tile, which for points are minus and plus the identity and not stored."""
    return load9(rows, tile * ROWS.size + ROWS.first_linear + 18 * side, 0.0)


@kernel
def is_point(tiles, tile):
    return tiles[tile * TILE.size + TILE.kinds] == POINT


@kernel
def times(tiles, rows, tile, side, angular, linear):
    """J a of one side of a tile."""
    turned = mul(angular_of(rows, tile, side), angular)
    if is_point(tiles, tile):
        return add(turned, linear) if side == 1 else sub(turned, linear)
    return add(turned, mul(linear_of(rows, tile, side), linear))


@kernel
def size_of_row(tiles, rows, tile, side, k, turn, move):
    """How much row k of one side of a tile changes, at most, if a body turns and moves by so much."""
    at = tile * ROWS.size + ROWS.first_angular + 18 * side + 3 * k
    straight = 1.0
    if not is_point(tiles, tile):
        straight = abs(rows[at + 9]) + abs(rows[at + 10]) + abs(rows[at + 11])
    return turn * (abs(rows[at]) + abs(rows[at + 1]) + abs(rows[at + 2])) + move * straight


@kernel
def size(a):
    """Sum of the sizes of three numbers."""
    return abs(a[0]) + abs(a[1]) + abs(a[2])


@kernel
def pair(tiles, rows, s, side, B_tile, B_side, A, light):
    """A Bᵀ + L Kᵀ / m of two sides of tiles on one body, A already times the inverse inertia."""
    P = mat_mul_t(A, angular_of(rows, B_tile, B_side))
    first, second = is_point(tiles, s), is_point(tiles, B_tile)
    if first and second:
        x = light if side == B_side else -light
        return (P[0] + x, P[1], P[2], P[3], P[4] + x, P[5], P[6], P[7], P[8] + x)
    if first:
        K = linear_of(rows, B_tile, B_side)
        x = light if side == 1 else -light
        Q = (K[0], K[3], K[6], K[1], K[4], K[7], K[2], K[5], K[8])
    elif second:
        Q = linear_of(rows, s, side)
        x = light if B_side == 1 else -light
    else:
        Q, x = mat_mul_t(linear_of(rows, s, side), linear_of(rows, B_tile, B_side)), light
    return (
        *(P[0] + x * Q[0], P[1] + x * Q[1], P[2] + x * Q[2]),
        *(P[3] + x * Q[3], P[4] + x * Q[4], P[5] + x * Q[5]),
        *(P[6] + x * Q[6], P[7] + x * Q[7], P[8] + x * Q[8]),
    )


@kernel
def pair_with_itself(tiles, rows, tile, side, A, light):
    """The same of one side with itself, which is symmetric."""
    B = angular_of(rows, tile, side)
    x, y, z = (B[0], B[1], B[2]), (B[3], B[4], B[5]), (B[6], B[7], B[8])
    a, b, c = (A[0], A[1], A[2]), (A[3], A[4], A[5]), (A[6], A[7], A[8])
    xx, xy, xz, yy, yz, zz = dot(a, x), dot(a, y), dot(a, z), dot(b, y), dot(b, z), dot(c, z)
    if is_point(tiles, tile):
        xx, yy, zz = xx + light, yy + light, zz + light
    else:
        L = linear_of(rows, tile, side)
        x, y, z = (L[0], L[1], L[2]), (L[3], L[4], L[5]), (L[6], L[7], L[8])
        xx, xy, xz = xx + light * dot(x, x), xy + light * dot(x, y), xz + light * dot(x, z)
        yy, yz, zz = yy + light * dot(y, y), yz + light * dot(y, z), zz + light * dot(z, z)
    return (xx, xy, xz, xy, yy, yz, xz, yz, zz)


@kernel
def columns_scaled(A, d):
    """A times a diagonal matrix."""
    return (
        *(A[0] * d[0], A[1] * d[1], A[2] * d[2]),
        *(A[3] * d[0], A[4] * d[1], A[5] * d[2]),
        *(A[6] * d[0], A[7] * d[1], A[8] * d[2]),
    )


@kernel
def add_tile(matrix, slots, at, value, sign):
    """Add sign value to a tile of the matrix, transposed if it is stored so."""
    value = mat_scale(sign, value)
    if slots[PAIR * at + 1] == 0:
        add9(matrix, 9 * slots[PAIR * at], value)
    else:
        add9(matrix, 9 * slots[PAIR * at], transpose(value))


@kernel
def assemble(bodies, tiles, nodes, incidences, slots, masses, n_bodies, n_tiles, n_matrix, rows, matrix):
    """The matrix: inertias and Jacobians of hubs, minus S of the condensed bodies, -1 for rows that are empty
    and those of rotors."""
    for k in range(9 * n_matrix):
        matrix[k] = 0.0
    for t in range(n_tiles):
        for k in range(3):
            kind = tiles[t * TILE.size + TILE.kinds + k]
            if kind == EMPTY or kind == ROTOR:
                matrix[9 * nodes[t] + 4 * k] = -1.0
    for i in range(n_bodies):
        row, m = i * BODY.size, i * MASS.size
        first, count, at = bodies[row + BODY.first], bodies[row + BODY.count], bodies[row + BODY.slots]
        mass = masses[m + MASS.mass]
        if bodies[row + BODY.hub] != 0:
            theta = load3(masses, m + MASS.moments, 0.0)
            inertia = (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2])
            store9(matrix, 9 * bodies[row + BODY.angular], inertia)
            store9(matrix, 9 * bodies[row + BODY.linear], (mass, 0.0, 0.0, 0.0, mass, 0.0, 0.0, 0.0, mass))
            for e in range(count):
                tile, side = incidences[PAIR * (first + e)], incidences[PAIR * (first + e) + 1]
                add_tile(matrix, slots, at + 2 * e, angular_of(rows, tile, side), 1.0)
                if is_point(tiles, tile):
                    add_tile(matrix, slots, at + 2 * e + 1, IDENTITY, 1.0 if side == 1 else -1.0)
                else:
                    add_tile(matrix, slots, at + 2 * e + 1, linear_of(rows, tile, side), 1.0)
        else:
            inverse, light = load3(masses, m + MASS.inverse, 0.0), 1.0 / mass
            for x in range(count):
                tile, side = incidences[PAIR * (first + x)], incidences[PAIR * (first + x) + 1]
                A = columns_scaled(angular_of(rows, tile, side), inverse)
                add_tile(matrix, slots, at + x, pair_with_itself(tiles, rows, tile, side, A, light), -1.0)
                for y in range(first, first + x):
                    total = pair(tiles, rows, tile, side, incidences[PAIR * y], incidences[PAIR * y + 1], A, light)
                    add_tile(matrix, slots, at, total, -1.0)
                    at += 1
                at += 1


@kernel
def add_jacobian_times(bodies, tiles, nodes, incidences, n_bodies, rows, a, x, sign, hubs):
    """x += sign J a on the joint tiles, a six numbers a body; with the hubs, or without."""
    for i in range(n_bodies):
        row = i * BODY.size
        if hubs or bodies[row + BODY.hub] == 0:
            angular, linear = load3(a, 6 * i, 0.0), load3(a, 6 * i + 3, 0.0)
            first = bodies[row + BODY.first]
            for e in range(first, first + bodies[row + BODY.count]):
                tile = incidences[PAIR * e]
                add3(
                    x, 3 * nodes[tile], scale(sign, times(tiles, rows, tile, incidences[PAIR * e + 1], angular, linear))
                )


@kernel
def reaction(bodies, tiles, nodes, incidences, i, rows, x):
    """Jᵀ λ on body i, with the multipliers in elimination order: (torque in the body, force in space)."""
    torque, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    first = bodies[i * BODY.size + BODY.first]
    for e in range(first, first + bodies[i * BODY.size + BODY.count]):
        tile = incidences[PAIR * e]
        multiplier = load3(x, 3 * nodes[tile], 0.0)
        side = incidences[PAIR * e + 1]
        torque = add(torque, mul_t(angular_of(rows, tile, side), multiplier))
        if is_point(tiles, tile):
            force = add_scaled(force, 1.0 if side == 1 else -1.0, multiplier)
        else:
            force = add(force, mul_t(linear_of(rows, tile, side), multiplier))
    return torque, force


@kernel
def respond(bodies, tiles, nodes, incidences, masses, n_bodies, rows, x, a):
    """Subtract M⁻¹ Jᵀ λ from a, and take over the hubs' part of the solution."""
    for i in range(n_bodies):
        row, m = i * BODY.size, i * MASS.size
        if bodies[row + BODY.hub] != 0:
            store3(a, 6 * i, load3(x, 3 * bodies[row + BODY.angular], 0.0))
            store3(a, 6 * i + 3, load3(x, 3 * bodies[row + BODY.linear], 0.0))
        else:
            torque, force = reaction(bodies, tiles, nodes, incidences, i, rows, x)
            turned = each(load3(masses, m + MASS.inverse, 0.0), torque)
            store3(a, 6 * i, sub(load3(a, 6 * i, 0.0), turned))
            pushed = add_scaled(load3(a, 6 * i + 3, 0.0), -1.0 / masses[m + MASS.mass], force)
            store3(a, 6 * i + 3, pushed)


@kernel
def push_back(bodies, tiles, nodes, incidences, masses, n_bodies, rows, x, a):
    """Subtract M⁻¹ Jᵀ λ from a, of all bodies.

    The hubs' part of the solution belongs to the rows that were factorized. This is for other rows, and for multipliers
    that add up over several solutions.
    """
    for i in range(n_bodies):
        m = i * MASS.size
        torque, force = reaction(bodies, tiles, nodes, incidences, i, rows, x)
        turned = each(load3(masses, m + MASS.inverse, 0.0), torque)
        store3(a, 6 * i, sub(load3(a, 6 * i, 0.0), turned))
        store3(a, 6 * i + 3, add_scaled(load3(a, 6 * i + 3, 0.0), -1.0 / masses[m + MASS.mass], force))


@kernel
def free_accelerations(bodies, masses, gravity, n_bodies, motion, wrenches, x, a):
    """M⁻¹ f of the free bodies, and f of the hubs, to the right. Wrenches: torque in the body, force in space."""
    for i in range(n_bodies):
        row, m, at = i * BODY.size, i * MASS.size, i * MOTION.size
        spin = load3(motion, at + MOTION.spin, 0.0)
        mass = masses[m + MASS.mass]
        momentum = each(load3(masses, m + MASS.moments, 0.0), spin)
        torque = sub(load3(wrenches, 6 * i, 0.0), cross(spin, momentum))
        fall = sub(load3(gravity, FIELD.gravity, 0.0), load3(motion, at + MOTION.transport, 0.0))
        push = load3(wrenches, 6 * i + 3, 0.0)
        if bodies[row + BODY.hub] != 0:
            store3(x, 3 * bodies[row + BODY.angular], torque)
            store3(x, 3 * bodies[row + BODY.linear], add_scaled(push, mass, fall))
        else:
            store3(a, 6 * i, each(load3(masses, m + MASS.inverse, 0.0), torque))
            store3(a, 6 * i + 3, add_scaled(fall, 1.0 / mass, push))


@kernel
def prepare(tiles, constants, n_tiles, motion, rows):
    """Residuals and Jacobians of all tiles."""
    for t in range(n_tiles):
        evaluate(tiles, constants, t, motion, rows)


@kernel
def add_feedback(bodies, tiles, nodes, incidences, constants, alpha, beta, n_bodies, n_tiles, motion, rows, x):
    """Baumgarte's stabilization: x -= 2 alpha (J V - target) + beta² g on the right of J a = rate."""
    for i in range(n_bodies):
        at, first = i * MOTION.size, bodies[i * BODY.size + BODY.first]
        spin, velocity = load3(motion, at + MOTION.spin, 0.0), load3(motion, at + MOTION.velocity, 0.0)
        for e in range(first, first + bodies[i * BODY.size + BODY.count]):
            tile = incidences[PAIR * e]
            speed = times(tiles, rows, tile, incidences[PAIR * e + 1], spin, velocity)
            add3(x, 3 * nodes[tile], scale(-2.0 * alpha, speed))
    add_target_speeds(tiles, constants, nodes, n_tiles, motion, rows, x, 2.0 * alpha)
    for t in range(n_tiles):
        add3(x, 3 * nodes[t], scale(-beta * beta, load3(rows, t * ROWS.size + ROWS.residual, 0.0)))


@kernel
def accelerate(tables, motion, wrenches, rows, matrix, factors, x, a):
    """Accelerations a and multipliers x of the state in `motion`; rows and factors stay for what comes after."""
    bodies, tiles, nodes, incidences, masses = (
        tables.bodies, tables.tiles, tables.nodes, tables.incidences, tables.masses
    )  # fmt: skip
    constants, gravity, n_bodies, n_tiles, n_nodes = tables.constants, tables.gravity, tables.n, tables.nt, tables.nn
    prepare(tiles, constants, n_tiles, motion, rows)
    assemble(bodies, tiles, nodes, incidences, tables.slots, masses, n_bodies, n_tiles, tables.nm, rows, matrix)
    factorize(n_nodes, tables.column, tables.row, tables.first, tables.operations, matrix, factors)
    free_accelerations(bodies, masses, gravity, n_bodies, motion, wrenches, x, a)
    for t in range(n_tiles):
        evaluate_rate(tiles, constants, t, motion, rows)
        store3(x, 3 * nodes[t], load3(rows, t * ROWS.size + ROWS.rate, 0.0))
    alpha, beta = gravity[FIELD.alpha], gravity[FIELD.beta]
    if alpha != 0.0 or beta != 0.0:
        add_feedback(bodies, tiles, nodes, incidences, constants, alpha, beta, n_bodies, n_tiles, motion, rows, x)
    add_jacobian_times(bodies, tiles, nodes, incidences, n_bodies, rows, a, x, -1.0, False)
    solve(n_nodes, tables.column, tables.row, factors, x)
    respond(bodies, tiles, nodes, incidences, masses, n_bodies, rows, x, a)
