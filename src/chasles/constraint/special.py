"""Rows beyond those of joints: coordinates of joints (coupled or driven), rolling, and the user's own.

A tile of these has its kind in its first row:

    TURN    c φ, the angle of B about the axis u_0 of A, from the direction w_0 of B and u_1, u_2 of A
    TRAVEL  c (R_A u_0)·d, the distance along it
    CUSTOM  what a law computes
    ROLL    the point of B in contact has the velocity of the plane of A: three rows along u_0, u_1, u_2 (the normal)
    SCREWS  of a joint given by screws, the twist is reciprocal to what the joint forbids (`screws`)
    ROTOR   no constraint but the inertia of a rotor, which is felt along one coordinate

A coordinate is alone (c q = offset), driven by a law of time (c q = offset + law), or one of several that are coupled
(Σ c_i q_i = offset): their tiles share their row of the equations, each with the Jacobians of its own bodies, and the
residual and the acceleration term of all are in the last, which knows how many are before it.

A rotor of inertia I on a coordinate q adds I s sᵀ to the mass matrix, s the row of q. As a body of its own, with the
acceleration α = s a + s' V and I α = λ, it is the row √I (s a - α) = 0: with α eliminated, a row √I s with -1 on the
diagonal, as the empty rows have it.

What the kernels need besides motion and numbers is at the end of the rows (`tile_work`): angles counted over full
turns, which are states of a simulation, a workspace for laws, and the time.
"""

from __future__ import annotations

import functools

from chasles.constraint.rotor import rotor_motion, rotor_rows
from chasles.constraint.rows import (
    CUSTOM,
    EMPTY,
    NUMBERS,
    ROLL,
    ROTOR,
    ROWS,
    SCREWS,
    TILE,
    TRAVEL,
    TURN,
    TURN_ANGLE,
    ZERO,
    acceleration_term,
    evaluate_tile,
    pose_of,
    store_row,
    vector,
    velocity_of,
)
from chasles.constraint.screw_rows import screw_rate, screw_rows
from chasles.constraint.tile_work import (
    ALONE,
    EXTRA,
    EXTRA_AT,
    LAST,
    OUT,
    TILE_WORK,
    angle_of,
    between,
    call_law,
    frame_turn,
    tile_target,
    tile_work_at,
)
from chasles.kernel.address import INTEGER, address_of, invoke
from chasles.kernel.address import INTEGERS as INTEGER_POINTER
from chasles.kernel.address import NUMBERS as REAL_POINTER
from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_mul, mul, mul_t, neg, scale, sub
from chasles.kernel.functions import atan2
from chasles.kernel.lanes import rint, sqrt
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, store3, store6
from chasles.lie import quaternion

UNBOUNDED = 1 << 40  # length of arrays of which only a pointer is known


@kernel
def drive(numbers, n, work, k):
    """Value (k = 0), rate (1) or acceleration (2) that a law of time asks of a coordinate; zero without a law."""
    if numbers[n + EXTRA_AT + EXTRA.law] == 0.0:
        return 0.0
    return work[call_law(numbers, n, work) + k]


@kernel
def coordinate(tiles, numbers, j, motion, work, near):
    """c q of tile j; an angle is the one nearest to its count, or to `near` (of c q) if it is not counted."""
    n = j * NUMBERS.size
    RA, RB, d, _, _ = between(numbers, n, motion, tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second])
    c = numbers[n + NUMBERS.s]
    if tiles[j * TILE.size + TILE.kinds] == TRAVEL:
        return c * dot(mul(RA, vector(numbers, n + NUMBERS.u)), d)
    x, y = mul(RA, vector(numbers, n + NUMBERS.u + 3)), mul(RA, vector(numbers, n + NUMBERS.u + 6))
    mark = mul(RB, vector(numbers, n + NUMBERS.w))
    angle = atan2(dot(y, mark), dot(x, mark))
    counted = int(numbers[n + EXTRA_AT + EXTRA.angle])
    close = near / c
    if counted >= 0:
        close = angle_of(work, counted)
    return c * (angle + TURN_ANGLE * rint((close - angle) / TURN_ANGLE))


@kernel
def angle_rates(tiles, numbers, n_tiles, motion, out):
    """Rates of the angles that are counted over full turns."""
    for j in range(n_tiles):
        if tiles[j * TILE.size + TILE.kinds] == TURN:
            n = j * NUMBERS.size
            counted = int(numbers[n + EXTRA_AT + EXTRA.angle])
            if counted >= 0:
                A, B = tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second]
                RA, RB = pose_of(motion, A)[0], pose_of(motion, B)[0]
                turning = sub(velocity_of(motion, B, RB)[0], velocity_of(motion, A, RA)[0])
                out[counted] = dot(mul(RA, vector(numbers, n + NUMBERS.u)), turning)


@kernel
def coordinate_rows(tiles, numbers, j, motion, work):
    """Residual and Jacobian of a tile of one coordinate; its other two rows are empty."""
    n, at = j * NUMBERS.size, j * ROWS.size
    RA, RB, d, _, _ = between(numbers, n, motion, tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second])
    U = scale(numbers[n + NUMBERS.s], mul(RA, vector(numbers, n + NUMBERS.u)))
    u_a, u_b = mul_t(RA, U), mul_t(RB, U)
    if tiles[j * TILE.size + TILE.kinds] == TURN:
        store_row(work, at, 0, neg(u_a), ZERO, u_b, ZERO)
    else:
        a, b = vector(numbers, n + NUMBERS.a), vector(numbers, n + NUMBERS.b)
        store_row(work, at, 0, cross(u_a, add(a, mul_t(RA, d))), neg(U), cross(b, u_b), U)
    store_row(work, at, 1, ZERO, ZERO, ZERO, ZERO)
    store_row(work, at, 2, ZERO, ZERO, ZERO, ZERO)
    store3(work, at + ROWS.residual, ZERO)
    use = int(numbers[n + EXTRA_AT + EXTRA.use])
    if use == ALONE or use == LAST:
        target = numbers[n + NUMBERS.s + 1] + drive(numbers, n, work, 0)
        for i in range(j - int(numbers[n + NUMBERS.s + 2]), j):
            target -= coordinate(tiles, numbers, i, motion, work, 0.0)
        work[at + ROWS.residual] = coordinate(tiles, numbers, j, motion, work, target) - target


@kernel
def coordinate_bend(tiles, numbers, j, motion):
    """What (c q)'' has besides J times the velocities' derivatives."""
    n = j * NUMBERS.size
    A, B = tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second]
    RA, RB, d, alpha, beta = between(numbers, n, motion, A, B)
    WA, vA, hA = velocity_of(motion, A, RA)
    WB, vB, hB = velocity_of(motion, B, RB)
    U = scale(numbers[n + NUMBERS.s], mul(RA, vector(numbers, n + NUMBERS.u)))
    dU = cross(WA, U)
    if tiles[j * TILE.size + TILE.kinds] == TURN:
        return dot(sub(WB, WA), dU)
    turn_a, turn_b = cross(WA, alpha), cross(WB, beta)
    bend = sub(add(cross(WB, turn_b), hB), add(cross(WA, turn_a), hA))
    rate = sub(add(vB, turn_b), add(vA, turn_a))
    return dot(U, bend) + 2.0 * dot(dU, rate) + dot(cross(WA, dU), d)


@kernel
def coordinate_rate(tiles, numbers, j, motion, work):
    """Acceleration term of a tile of one coordinate."""
    n, at = j * NUMBERS.size, j * ROWS.size
    store3(work, at + ROWS.rate, ZERO)
    use = int(numbers[n + EXTRA_AT + EXTRA.use])
    if use == ALONE or use == LAST:
        bend = coordinate_bend(tiles, numbers, j, motion) - drive(numbers, n, work, 2)
        for i in range(j - int(numbers[n + NUMBERS.s + 2]), j):
            bend += coordinate_bend(tiles, numbers, i, motion)
        work[at + ROWS.rate] = -bend


@kernel
def give_motion(motion, body, offset, Q, work, at, side):
    """Pose and body twist of the frame that the user gave a body, (Q, offset) in its central one, for its law."""
    R, r = pose_of(motion, body)
    W, v, _ = velocity_of(motion, body, R)
    unit = quaternion.from_matrix(mat_mul(R, Q))
    place = at + TILE_WORK.poses + 7 * side
    work[place] = unit[0]
    store3(work, place + 1, (unit[1], unit[2], unit[3]))
    store3(work, place + 4, add(r, mul(R, offset)))
    spin = mul_t(R, W)
    linear = add(mul_t(R, v), cross(spin, offset))
    store6(work, at + TILE_WORK.twists + 6 * side, (mul_t(Q, spin), mul_t(Q, linear)))


@kernel(shared=True)
def custom_law(tiles, numbers, j, motion, work):
    """Evaluate the law of a CUSTOM tile; where its result is."""
    n, at = j * NUMBERS.size, tile_work_at(work)
    offset = vector(numbers, n + NUMBERS.a)
    give_motion(motion, tiles[j * TILE.size + TILE.first], offset, frame_turn(numbers, n, 0), work, at, 0)
    offset = vector(numbers, n + NUMBERS.b)
    give_motion(motion, tiles[j * TILE.size + TILE.second], offset, frame_turn(numbers, n, 1), work, at, 1)
    return call_law(numbers, n, work)


@kernel
def custom_rows(tiles, numbers, j, motion, work):
    """Residual and Jacobian from a law: from its body twists to ω in the body and r' of the center in space."""
    n, at, row = j * NUMBERS.size, j * ROWS.size, j * TILE.size
    result = custom_law(tiles, numbers, j, motion, work)
    for side in range(2):
        R, _ = pose_of(motion, tiles[row + TILE.first + side])
        offset, Q = vector(numbers, n + NUMBERS.a + 3 * side), frame_turn(numbers, n, side)
        for k in range(3):
            given = result + OUT.first + 18 * side + 6 * k
            used = 1.0 if tiles[row + TILE.kinds + k] != EMPTY else 0.0
            angular = mul(Q, scale(used, load3(work, given, 0.0)))
            linear = mul(Q, scale(used, load3(work, given + 3, 0.0)))
            place = at + ROWS.first_angular + 18 * side + 3 * k
            store3(work, place, add(angular, cross(offset, linear)))
            store3(work, place + 9, mul(R, linear))
            work[at + ROWS.residual + k] = used * work[result + OUT.residual + k]


@kernel
def custom_rate(tiles, numbers, j, motion, work):
    """Acceleration term from a law, whose is for the derivatives of body twists."""
    at, row = j * ROWS.size, j * TILE.size
    result = custom_law(tiles, numbers, j, motion, work)
    for k in range(3):
        used = 1.0 if tiles[row + TILE.kinds + k] != EMPTY else 0.0
        value = work[result + OUT.rate + k]
        for side in range(2):
            body = tiles[row + TILE.first + side]
            R, _ = pose_of(motion, body)
            W, v, transport = velocity_of(motion, body, R)
            Q = frame_turn(numbers, j * NUMBERS.size, side)
            linear = mul(Q, load3(work, result + OUT.first + 18 * side + 6 * k + 3, 0.0))
            value += dot(mul(R, linear), sub(cross(W, v), transport))
        work[at + ROWS.rate + k] = used * value


@kernel
def contact(numbers, n, RA, RB):
    """Of a rolling sphere or disc: normal, from the center to the contact, height of the center, axis in space, both
    of a disc's sine and cosine of its inclination (1 and 0 for a sphere)."""
    radius = numbers[n + NUMBERS.s]
    normal = mul(RA, vector(numbers, n + NUMBERS.u + 6))
    axis = vector(numbers, n + NUMBERS.w)
    K = mul(RB, axis)
    along = dot(normal, K)
    across = add_scaled(normal, -along, K)
    size = sqrt(dot(across, across))
    return normal, scale(-radius / size, across), radius * size, K, across, size


@kernel
def rolling_rows(tiles, numbers, j, motion, work):
    """Velocity of B's point in contact relative to the plane, along the plane's directions; the gap as residual."""
    n, at, row = j * NUMBERS.size, j * ROWS.size, j * TILE.size
    RA, RB, d, alpha, beta = between(numbers, n, motion, tiles[row + TILE.first], tiles[row + TILE.second])
    normal, reach, height, _, _, _ = contact(numbers, n, RA, RB)
    lever_a, lever_b = mul_t(RA, add(add(alpha, d), reach)), mul_t(RB, add(beta, reach))
    for k in range(3):
        u = vector(numbers, n + NUMBERS.u + 3 * k)
        U = mul(RA, u)
        store_row(work, at, k, cross(u, lever_a), neg(U), cross(lever_b, mul_t(RB, U)), U)
    store3(work, at + ROWS.residual, (0.0, 0.0, dot(normal, d) - height))


@kernel
def rolling_rate(tiles, numbers, j, motion, work):
    """Acceleration term of rolling: the derivative of the velocity of what is in contact, which changes."""
    n, at, row = j * NUMBERS.size, j * ROWS.size, j * TILE.size
    A, B = tiles[row + TILE.first], tiles[row + TILE.second]
    RA, RB, d, alpha, beta = between(numbers, n, motion, A, B)
    normal, reach, _, K, across, size = contact(numbers, n, RA, RB)
    WA, vA, hA = velocity_of(motion, A, RA)
    WB, vB, hB = velocity_of(motion, B, RB)
    d_normal, dK = cross(WA, normal), cross(WB, K)
    # across = n - (n·K) K
    d_across = sub(d_normal, scale(dot(d_normal, K) + dot(normal, dK), K))
    d_across = add_scaled(d_across, -dot(normal, K), dK)
    radius = numbers[n + NUMBERS.s]
    d_unit = scale(1.0 / size, add_scaled(d_across, -dot(across, d_across) / (size * size), across))
    d_lever_b = add_scaled(cross(WB, beta), -radius, d_unit)
    lever_a, lever_b = add(add(alpha, d), reach), add(beta, reach)
    d_lever_a = sub(add(vB, d_lever_b), vA)
    speed = sub(add(vB, cross(WB, lever_b)), add(vA, cross(WA, lever_a)))
    bend = sub(add(cross(WB, d_lever_b), hB), add(cross(WA, d_lever_a), hA))
    for k in range(3):
        U = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k))
        work[at + ROWS.rate + k] = -dot(U, bend) - dot(cross(WA, U), speed)


EVALUATE, RATE, TARGET = range(3)  # what `special` computes


@kernel
def compute(what, tiles, numbers, j, motion, work):
    """Residual and Jacobian, acceleration term, or what J V must be (left in `TILE_WORK.target`), of a special tile of
    any kind but SCREWS."""
    kind, n = tiles[j * TILE.size + TILE.kinds], j * NUMBERS.size
    if what == EVALUATE:
        if kind == CUSTOM:
            custom_rows(tiles, numbers, j, motion, work)
        elif kind == ROLL:
            rolling_rows(tiles, numbers, j, motion, work)
        elif kind == ROTOR:
            rotor_rows(tiles, numbers, j, motion, work)
        else:
            coordinate_rows(tiles, numbers, j, motion, work)
    elif what == RATE:
        if kind == CUSTOM:
            custom_rate(tiles, numbers, j, motion, work)
        elif kind == ROLL:
            rolling_rate(tiles, numbers, j, motion, work)
        elif kind == ROTOR:
            store3(work, j * ROWS.size + ROWS.rate, (-rotor_motion(tiles, numbers, j, motion)[1], 0.0, 0.0))
        else:
            coordinate_rate(tiles, numbers, j, motion, work)
    else:
        at = tile_work_at(work) + TILE_WORK.target
        if kind == CUSTOM:
            store3(work, at, load3(work, custom_law(tiles, numbers, j, motion, work) + OUT.target, 0.0))
        elif kind == ROTOR:  # free to move as it does
            store3(work, at, (rotor_motion(tiles, numbers, j, motion)[0], 0.0, 0.0))
        elif (kind == TURN or kind == TRAVEL) and int(numbers[n + EXTRA_AT + EXTRA.use]) == ALONE:
            store3(work, at, (drive(numbers, n, work, 1), 0.0, 0.0))
        else:
            store3(work, at, ZERO)


@native
def special(what, tiles_at, numbers_at, j, motion_at, work_at, work_size):
    """What a special tile computes. A function of its own, called through its address, which the tile has: so the
    loops over ordinary tiles stay small."""
    tiles, numbers = carray(tiles_at, (UNBOUNDED,)), carray(numbers_at, (UNBOUNDED,))
    motion, work = carray(motion_at, (UNBOUNDED,)), carray(work_at, (work_size,))
    if tiles[j * TILE.size + TILE.kinds] != SCREWS or what == TARGET:
        compute(what, tiles, numbers, j, motion, work)
    elif what == EVALUATE:
        screw_rows(tiles, numbers, j, motion, work)
    else:
        screw_rate(tiles, numbers, j, motion, work)


@native
def special_tangent(what, tiles_at, numbers_at, j, motion_at, work_at, work_size):
    """The same with motion and rows on dual numbers, of any kind but SCREWS."""
    tiles, numbers = carray(tiles_at, (UNBOUNDED,)), carray(numbers_at, (UNBOUNDED,))
    motion, work = carray(motion_at, (UNBOUNDED,)), carray(work_at, (work_size,))
    compute(what, tiles, numbers, j, motion, work)


@functools.cache
def special_address() -> int:
    """Address of `special`, compiled now or loaded from the cache."""
    size = INTEGER
    return address_of(special, size, INTEGER_POINTER, REAL_POINTER, size, REAL_POINTER, REAL_POINTER, size)


@kernel
def call_special(what, tiles, numbers, j, motion, work):
    address = int(numbers[j * NUMBERS.size + EXTRA_AT + EXTRA.function])
    invoke(address, what, tiles, numbers, j, motion, work, work.shape[0])


@kernel
def evaluate(tiles, numbers, j, motion, work):
    """Residual and Jacobian of any tile, at the poses of the bodies."""
    if tiles[j * TILE.size + TILE.kinds] < TURN:
        evaluate_tile(tiles, numbers, j, motion, work)
    else:
        call_special(EVALUATE, tiles, numbers, j, motion, work)


@kernel
def evaluate_rate(tiles, numbers, j, motion, work):
    """The acceleration term of any tile: see `rows.acceleration_term`."""
    if tiles[j * TILE.size + TILE.kinds] < TURN:
        acceleration_term(tiles, numbers, j, motion, work)
    else:
        call_special(RATE, tiles, numbers, j, motion, work)


@kernel
def add_target_speeds(tiles, numbers, nodes, n_tiles, motion, work, x, sign):
    """x += sign times what J V of the tiles must be: zero, but for constraints that depend on time."""
    for j in range(n_tiles):
        if tiles[j * TILE.size + TILE.kinds] >= TURN:
            call_special(TARGET, tiles, numbers, j, motion, work)
            add3(x, 3 * nodes[j], scale(sign, tile_target(work)))
