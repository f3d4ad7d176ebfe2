"""The rows of constraints: residual, Jacobian and acceleration term, for ω in the body and r' in space.

A tile is up to three rows between two bodies A and B (-1 is the ground). With the points a on A and b on B and
d = (r_B + R_B b) - (r_A + R_A a), with directions u fixed in A and w fixed in B, a row is

    POINT     d = 0 in space                                       (all three rows of the tile)
    SLIDE     (R_A u)·d = 0                                        a point of B in a plane of A
    DOT       (R_A u)·(R_B w) = s                                  directions keep their angle
    DISTANCE  (d·d - s²)/(2 s) = 0                                 a rigid link of length s
    HELIX     (R_A u)·d - s φ = 0                                  sliding along u coupled to the angle φ about it

where φ is the angle of B about u (the third row of its tile; the first two have directions across the axis). The
Jacobian of a body is three rows of an angular and a linear part. mueller2013 eqs. (37)-(47).
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, mul_t, neg, scale, sub
from chasles.kernel.functions import atan2
from chasles.kernel.lanes import rint
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load9, store3

EMPTY, POINT, SLIDE, DOT, DISTANCE, HELIX = range(6)
TURN, TRAVEL, CUSTOM, ROLL, SCREWS, ROTOR = range(6, 12)  # see `special`
# integers of a tile: the two bodies, the kinds of its rows, and the subgroup of SE(3) in which it holds body B, or 0
TILE = layout("TILE", first=1, second=1, kinds=3, subgroup=1)
# and its numbers: the points on the bodies, for each row u, w and s, and the axis of a subgroup in B
NUMBERS = layout("NUMBERS", a=3, b=3, u=9, w=9, s=3, axis=3)
# what is computed of a tile: residual, acceleration term, and for each side the angular and the linear rows
ROWS = layout("ROWS", residual=3, rate=3, first_angular=9, first_linear=9, second_angular=9, second_linear=9)
# state of a body: rotation, position, ω in the body, velocity in space, and W x r' if its space is SE(3), else zero:
# what turns the derivative of the velocity's components into the acceleration of the origin
MOTION = layout("MOTION", rotation=9, position=3, spin=3, velocity=3, transport=3)

# lower pairs to the ground hold a body in a motion subgroup
ROTATION, TRANSLATION, SCREW, CYLINDER, PLANE, SPHERE = range(1, 7)

TURN_ANGLE = 6.283185307179586
ZERO = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def vector(numbers, at):
    return (numbers[at], numbers[at + 1], numbers[at + 2])


@kernel
def pose_of(motion, body):
    """Rotation and position of a body; the ground's are the identity."""
    if body < 0:
        return IDENTITY, ZERO
    at = body * MOTION.size
    return load9(motion, at + MOTION.rotation, 0.0), load3(motion, at + MOTION.position, 0.0)


@kernel
def velocity_of(motion, body, R):
    """Angular velocity in space, velocity and transport of a body."""
    if body < 0:
        return ZERO, ZERO, ZERO
    at = body * MOTION.size
    spin = mul(R, load3(motion, at + MOTION.spin, 0.0))
    return spin, load3(motion, at + MOTION.velocity, 0.0), load3(motion, at + MOTION.transport, 0.0)


@kernel
def store_row(work, at, k, angular_a, linear_a, angular_b, linear_b):
    """Row k of the Jacobian of both sides."""
    store3(work, at + ROWS.first_angular + 3 * k, angular_a)
    store3(work, at + ROWS.first_linear + 3 * k, linear_a)
    store3(work, at + ROWS.second_angular + 3 * k, angular_b)
    store3(work, at + ROWS.second_linear + 3 * k, linear_b)


@kernel
def point_tile(RA, RB, a, b, d, work, at):
    """Three rows d = 0 in space: angular parts R_A a~ and -R_B b~. The linear parts, -I and I, are not stored."""
    store3(work, at + ROWS.residual, d)
    store3(work, at + ROWS.first_angular, cross((RA[0], RA[1], RA[2]), a))
    store3(work, at + ROWS.first_angular + 3, cross((RA[3], RA[4], RA[5]), a))
    store3(work, at + ROWS.first_angular + 6, cross((RA[6], RA[7], RA[8]), a))
    store3(work, at + ROWS.second_angular, cross(b, (RB[0], RB[1], RB[2])))
    store3(work, at + ROWS.second_angular + 3, cross(b, (RB[3], RB[4], RB[5])))
    store3(work, at + ROWS.second_angular + 6, cross(b, (RB[6], RB[7], RB[8])))


@kernel
def helix_angle(numbers, at, RA, RB, along):
    """Angle of B about the axis, from two directions of A and one of B across it, in the turn that `along` says."""
    across, other, mark = (
        mul(RA, vector(numbers, at + NUMBERS.u)),
        mul(RA, vector(numbers, at + NUMBERS.u + 3)),
        mul(RB, vector(numbers, at + NUMBERS.w)),
    )
    angle = atan2(dot(other, mark), dot(across, mark))
    return angle + TURN_ANGLE * rint((along - angle) / TURN_ANGLE)


@kernel
def evaluate_tile(tiles, numbers, j, motion, work):
    """Residual and Jacobian of tile j, at the poses of the bodies."""
    row, n, at = j * TILE.size, j * NUMBERS.size, j * ROWS.size
    A, B = tiles[row + TILE.first], tiles[row + TILE.second]
    RA, rA = pose_of(motion, A)
    RB, rB = pose_of(motion, B)
    a, b = vector(numbers, n + NUMBERS.a), vector(numbers, n + NUMBERS.b)
    d = sub(add(rB, mul(RB, b)), add(rA, mul(RA, a)))
    if tiles[row + TILE.kinds] == POINT:
        point_tile(RA, RB, a, b, d, work, at)
        return
    for k in range(3):
        kind = tiles[row + TILE.kinds + k]
        if kind == EMPTY:
            work[at + ROWS.residual + k] = 0.0
            store_row(work, at, k, ZERO, ZERO, ZERO, ZERO)
        elif kind == DOT:
            u, w = vector(numbers, n + NUMBERS.u + 3 * k), vector(numbers, n + NUMBERS.w + 3 * k)
            U, W = mul(RA, u), mul(RB, w)
            work[at + ROWS.residual + k] = dot(U, W) - numbers[n + NUMBERS.s + k]
            store_row(work, at, k, cross(u, mul_t(RA, W)), ZERO, cross(w, mul_t(RB, U)), ZERO)
        else:
            s = numbers[n + NUMBERS.s + k]
            if kind == DISTANCE:
                U, lever = scale(1.0 / s, d), a
                work[at + ROWS.residual + k] = (dot(d, d) - s * s) / (2.0 * s)
            else:
                U, lever = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k)), add(a, mul_t(RA, d))
                work[at + ROWS.residual + k] = dot(U, d)
            u_a, u_b = mul_t(RA, U), mul_t(RB, U)
            angular_a, angular_b = cross(u_a, lever), cross(b, u_b)
            if kind == HELIX:  # the third row; u of the first two and w of the first are across the axis
                angle = helix_angle(numbers, n, RA, RB, dot(U, d) / s)
                work[at + ROWS.residual + k] -= s * angle
                angular_a, angular_b = add_scaled(angular_a, s, u_a), add_scaled(angular_b, -s, u_b)
            store_row(work, at, k, angular_a, neg(U), angular_b, U)


@kernel
def centripetal(motion, body, point):
    """R (ω x (ω x point)) and the transport of a body: what its point accelerates by without the accelerations."""
    if body < 0:
        return ZERO
    at = body * MOTION.size
    spin = load3(motion, at + MOTION.spin, 0.0)
    inward = mul(load9(motion, at + MOTION.rotation, 0.0), cross(spin, cross(spin, point)))
    return add(inward, load3(motion, at + MOTION.transport, 0.0))


@kernel
def acceleration_term(tiles, numbers, j, motion, work):
    """The right-hand side of J a = rate of tile j: minus what g'' has besides J times the velocities' derivatives.

    For a body on SE(3) these are those of its body twist. The rows of a lower pair to the ground are constant in its
    frame, then the rate vanishes identically on the constraint and is coded as zero: mueller2013 eq. (38).
    """
    row, n, at = j * TILE.size, j * NUMBERS.size, j * ROWS.size
    if tiles[row + TILE.subgroup] != 0:
        store3(work, at + ROWS.rate, ZERO)
        return
    A, B = tiles[row + TILE.first], tiles[row + TILE.second]
    if tiles[row + TILE.kinds] == POINT:
        first = centripetal(motion, A, vector(numbers, n + NUMBERS.a))
        store3(work, at + ROWS.rate, sub(first, centripetal(motion, B, vector(numbers, n + NUMBERS.b))))
        return
    RA, rA = pose_of(motion, A)
    RB, rB = pose_of(motion, B)
    WA, vA, hA = velocity_of(motion, A, RA)
    WB, vB, hB = velocity_of(motion, B, RB)
    alpha, beta = mul(RA, vector(numbers, n + NUMBERS.a)), mul(RB, vector(numbers, n + NUMBERS.b))
    turn_a, turn_b = cross(WA, alpha), cross(WB, beta)
    # d'' without the accelerations; the transport of bodies on SE(3) is part of their velocities' derivatives
    bend = sub(add(cross(WB, turn_b), hB), add(cross(WA, turn_a), hA))
    d = sub(add(rB, beta), add(rA, alpha))
    rate = sub(add(vB, turn_b), add(vA, turn_a))
    for k in range(3):
        kind = tiles[row + TILE.kinds + k]
        value = 0.0
        if kind == DOT:
            U = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k))
            W = mul(RB, vector(numbers, n + NUMBERS.w + 3 * k))
            dU, dW = cross(WA, U), cross(WB, W)
            value = dot(cross(WA, dU), W) + 2.0 * dot(dU, dW) + dot(U, cross(WB, dW))
        elif kind == DISTANCE:
            value = (dot(rate, rate) + dot(d, bend)) / numbers[n + NUMBERS.s + k]
        elif kind != EMPTY:
            U = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k))
            dU = cross(WA, U)
            value = dot(U, bend) + 2.0 * dot(dU, rate) + dot(cross(WA, dU), d)
            if kind == HELIX:
                value -= numbers[n + NUMBERS.s + k] * dot(sub(WB, WA), dU)
        work[at + ROWS.rate + k] = -value


@kernel
def within_subgroup(tiles, numbers, j, angular, linear):
    """The part of a body acceleration that lies in the algebra of the subgroup of tile j, in which it must lie.

    The equations leave it outside by rounding; without stabilization that would grow to a drift.
    """
    group, n = tiles[j * TILE.size + TILE.subgroup], j * NUMBERS.size
    b, e = vector(numbers, n + NUMBERS.b), vector(numbers, n + NUMBERS.axis)
    slide = add(linear, cross(angular, b))
    if group == TRANSLATION:
        return ZERO, scale(dot(e, linear), e)
    if group == ROTATION or group == SCREW or group == CYLINDER or group == PLANE:
        angular = scale(dot(e, angular), e)
    turned = cross(b, angular)
    if group == SCREW:
        return angular, add_scaled(turned, numbers[n + NUMBERS.s + 2] * dot(e, angular), e)
    if group == CYLINDER:
        return angular, add_scaled(turned, dot(e, slide), e)
    if group == PLANE:
        return angular, add(turned, add_scaled(slide, -dot(e, slide), e))
    return angular, turned
