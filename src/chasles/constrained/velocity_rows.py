"""How the velocity equations J V = 0 change with the poses: rows J + κ D(J V), velocities held fixed in their spaces.

With these rows and κ = dq/dV of the method, Newton's equations for J V = 0 are exact to first order of the step. Of
rows that laws compute and of rolling D(J V) is left out; the iteration then takes a little longer.
"""

from __future__ import annotations

from chasles.absolute.tables import BODY, SE3
from chasles.constraint.rows import (
    DISTANCE,
    DOT,
    EMPTY,
    HELIX,
    MOTION,
    NUMBERS,
    POINT,
    ROWS,
    TILE,
    ZERO,
    pose_of,
    vector,
)
from chasles.constraint.special import TURN
from chasles.kernel.algebra import add, add_scaled, cross, mul, mul_t, neg, scale, sub
from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store3


@kernel
def spin_of(motion, body):
    """Angular velocity in the body."""
    return ZERO if body < 0 else load3(motion, body * MOTION.size + MOTION.spin, 0.0)


@kernel
def turning_velocity(bodies, motion, body):
    """The part of the velocity of a body's center (in space) that turns with it: all on SE(3), none on SO(3)xR3."""
    if body < 0 or bodies[body * BODY.size + BODY.space] != SE3:
        return ZERO
    return load3(motion, body * MOTION.size + MOTION.velocity, 0.0)


@kernel
def velocity_at(motion, body):
    return ZERO if body < 0 else load3(motion, body * MOTION.size + MOTION.velocity, 0.0)


@kernel
def add_to_row(rows, at, angular, linear, kappa, left):
    """left = rows + κ (angular, linear), of one row of one side; the linear row is nine numbers behind."""
    store3(left, at, add_scaled(load3(rows, at, 0.0), kappa, angular))
    store3(left, at + 9, add_scaled(load3(rows, at + 9, 0.0), kappa, linear))


@kernel
def point_rows(workspace, j, kappa):
    """Rows of a tile of points, whose levers are further along by κ times the velocity that turns with the body."""
    bodies, motion, left = workspace.tables.bodies, workspace.motion, workspace.left_rows
    row, at = j * TILE.size, j * ROWS.size
    A, B = workspace.tables.tiles[row + TILE.first], workspace.tables.tiles[row + TILE.second]
    RA, RB = pose_of(motion, A)[0], pose_of(motion, B)[0]
    a = vector(workspace.tables.constants, j * NUMBERS.size + NUMBERS.a)
    b = vector(workspace.tables.constants, j * NUMBERS.size + NUMBERS.b)
    ca = add(cross(spin_of(motion, A), a), mul_t(RA, turning_velocity(bodies, motion, A)))
    cb = add(cross(spin_of(motion, B), b), mul_t(RB, turning_velocity(bodies, motion, B)))
    a, b = add_scaled(a, kappa, ca), add_scaled(b, kappa, cb)
    store3(left, at + ROWS.first_angular, cross((RA[0], RA[1], RA[2]), a))
    store3(left, at + ROWS.first_angular + 3, cross((RA[3], RA[4], RA[5]), a))
    store3(left, at + ROWS.first_angular + 6, cross((RA[6], RA[7], RA[8]), a))
    store3(left, at + ROWS.second_angular, cross(b, (RB[0], RB[1], RB[2])))
    store3(left, at + ROWS.second_angular + 3, cross(b, (RB[3], RB[4], RB[5])))
    store3(left, at + ROWS.second_angular + 6, cross(b, (RB[6], RB[7], RB[8])))


@kernel
def velocity_rows(workspace, kappa):
    """J + κ D(J V) of all tiles, to the left rows."""
    bodies, tiles, numbers = workspace.tables.bodies, workspace.tables.tiles, workspace.tables.constants
    motion, rows, left = workspace.motion, workspace.rows, workspace.left_rows
    for j in range(workspace.tables.nt):
        row, n, at = j * TILE.size, j * NUMBERS.size, j * ROWS.size
        A, B = tiles[row + TILE.first], tiles[row + TILE.second]
        if tiles[row + TILE.kinds] >= TURN:
            for k in range(ROWS.first_angular, ROWS.size):
                store(left, at + k, load(rows, at + k, 0.0))
            continue
        if tiles[row + TILE.kinds] == POINT:
            point_rows(workspace, j, kappa)
            continue
        RA, rA = pose_of(motion, A)
        RB, rB = pose_of(motion, B)
        WA, WB = mul(RA, spin_of(motion, A)), mul(RB, spin_of(motion, B))
        alpha, beta = mul(RA, vector(numbers, n + NUMBERS.a)), mul(RB, vector(numbers, n + NUMBERS.b))
        turn_a, turn_b = cross(WA, alpha), cross(WB, beta)
        d = sub(add(rB, beta), add(rA, alpha))
        speed = sub(add(velocity_at(motion, B), turn_b), add(velocity_at(motion, A), turn_a))
        turn_a = add(turn_a, turning_velocity(bodies, motion, A))
        turn_b = add(turn_b, turning_velocity(bodies, motion, B))
        for k in range(3):
            kind = tiles[row + TILE.kinds + k]
            # derivatives with respect to rotations (in space) and displacements of A and B
            by_A, by_rA, by_B, by_rB = ZERO, ZERO, ZERO, ZERO
            if kind == DOT:
                U = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k))
                W = mul(RB, vector(numbers, n + NUMBERS.w + 3 * k))
                dU, dW = cross(WA, U), cross(WB, W)
                by_A = add(cross(dU, W), cross(U, dW))
                by_B = add(cross(W, dU), cross(dW, U))
            elif kind != EMPTY:
                U, dU = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k)), ZERO
                if kind == DISTANCE:
                    U, dU = scale(1.0 / numbers[n + NUMBERS.s + k], d), scale(1.0 / numbers[n + NUMBERS.s + k], speed)
                else:  # the direction turns with A
                    dU = cross(WA, U)
                    by_A = add(cross(dU, d), cross(U, speed))
                by_A = sub(by_A, add(cross(alpha, dU), cross(turn_a, U)))
                by_B = add(cross(beta, dU), cross(turn_b, U))
                by_rA, by_rB = neg(dU), dU
                if kind == HELIX:
                    s = numbers[n + NUMBERS.s + k]
                    by_A, by_B = add_scaled(by_A, -s, cross(U, WB)), add_scaled(by_B, -s, cross(WB, U))
            place = at + 3 * k
            add_to_row(rows, place + ROWS.first_angular, mul_t(RA, by_A), by_rA, kappa, left)
            add_to_row(rows, place + ROWS.second_angular, mul_t(RB, by_B), by_rB, kappa, left)
