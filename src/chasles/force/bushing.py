"""Bushings: elastic mounts with 6x6 stiffness and damping between frames on two bodies.

With C the pose of the second frame in the first, X = log C and the twist W of the second frame relative to the first,
X' = dexpinv_{-X} W, so the wrench on the second body that derives from the energy is -dexpinv_{-X}ᵀ (K X + D X').
The formulas take one bushing or, as lanes, four: the rows of a table that follow each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chasles.force.table import BUSHING, FORCE, FORCES, FRAME, ROD, frame_motion, motion_at, vector_at
from chasles.kernel.algebra import add, cross, dot, mat_mul, mat_select, mul, mul_t, neg, scale, sub, transpose
from chasles.kernel.functions import atan2_upper
from chasles.kernel.gather import gather_rows
from chasles.kernel.lanes import WIDTH, maximum, sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.rows import store_rows
from chasles.kernel.tiles import symmetric_times
from chasles.kernel.workspace import add3, layout, load3, load9
from chasles.lie import ad_polynomial, quaternion
from chasles.lie.coefficients import QUOTIENT_LIMIT, TINY, dexpinv_axial, dexpinv_coefficients

# rows have both bodies, and in `third` whether there is damping. Numbers: frames on both bodies, tiles of the symmetric
# stiffness and damping
SYMMETRIC = layout("SYMMETRIC", aa=9, al=9, ll=9)
BUSH = layout("BUSH", first=FRAME.size, second=FRAME.size, stiffness=SYMMETRIC.size, damping=SYMMETRIC.size)
FRAMES, MATRIX, STATE = 2 * FRAME.size, SYMMETRIC.size, 18  # literals, as `gather_rows` takes them
# what four bushings give: wrenches on both bodies, power and energy
PUSH = layout("PUSH", first=6, second=6, power=1, energy=1)


class Mount(NamedTuple):
    """Frames (rotation, position) on both bodies, and the tiles (aa, al, ll) of stiffness and damping."""

    first: Any
    second: Any
    stiffness: Any
    damping: Any


class Deflection(NamedTuple):
    """A bushing at a state: the second frame (R, p) and its pose C in the first; X = log C, dexpinv of -X (two tiles)
    and the coefficients it is made of; the twists of the second frame and of the same frame on the first body, X', K X
    and D X'."""

    frame: Any
    pose: Any
    X: Any
    map: Any
    coefficients: Any
    twist: Any
    carried: Any
    rate: Any
    pull: Any
    drag: Any


@kernel
def frame_at(values, at):
    return load9(values, at + FRAME.rotation, 0.0), vector_at(values, at + FRAME.position)


@kernel
def symmetric_at(values, at):
    return (
        load9(values, at + SYMMETRIC.aa, 0.0),
        load9(values, at + SYMMETRIC.al, 0.0),
        load9(values, at + SYMMETRIC.ll, 0.0),
    )


@kernel
def bushing_at(values, at):
    """The numbers of one bushing."""
    return Mount(
        frame_at(values, at + BUSH.first),
        frame_at(values, at + BUSH.second),
        symmetric_at(values, at + BUSH.stiffness),
        symmetric_at(values, at + BUSH.damping),
    )


@kernel
def four_of(table, k, count, field):
    """A field of up to four rows from row k on, the last one again for those that are missing."""
    at, last = FORCES.size + field, k + count - 1
    return (
        table[at + k * FORCE.size],
        table[at + min(k + 1, last) * FORCE.size],
        table[at + min(k + 2, last) * FORCE.size],
        table[at + last * FORCE.size],
    )


@kernel
def further(places, by):
    return places[0] + by, places[1] + by, places[2] + by, places[3] + by


@kernel
def four_bushings(table, k, count, values):
    """The numbers of up to four bushings from row k on, as lanes."""
    places = four_of(table, k, count, FORCE.numbers)
    f = gather_rows(values, places, FRAMES)
    k = gather_rows(values, further(places, BUSH.stiffness), MATRIX)
    d = gather_rows(values, further(places, BUSH.damping), MATRIX)
    return Mount((f[0:9], f[9:12]), (f[12:21], f[21:24]), (k[0:9], k[9:18], k[18:27]), (d[0:9], d[9:18], d[18:27]))


@kernel
def four_motions(bodies, states, stride):
    """Poses and body twists of four bodies, as lanes."""
    a, b, c, d = bodies
    m = gather_rows(states, ((a + 1) * stride, (b + 1) * stride, (c + 1) * stride, (d + 1) * stride), STATE)
    return m[0:9], m[9:12], (m[12:15], m[15:18])


@kernel
def is_element(table, k):
    """Whether row k has a bushing or an element of a rod."""
    kind = table[FORCES.size + k * FORCE.size + FORCE.kind]
    return kind == BUSHING or kind == ROD


@kernel
def run_of_elements(table, k):
    """How many of the kind of row k follow each other from there on, at most four."""
    count, kind = 1, table[FORCES.size + k * FORCE.size + FORCE.kind]
    while count < WIDTH and k + count < table[FORCES.count]:
        if table[FORCES.size + (k + count) * FORCE.size + FORCE.kind] != kind:
            break
        count += 1
    return count


@kernel
def turn_of(C):
    """x = log C, and `half_angle(x)`, whose sine and cosine are those of the quaternion."""
    w, x, y, z = quaternion.from_matrix(C)
    v = (x, y, z)
    size = sqrt(maximum(dot(v, v), TINY))
    angle = 2.0 * atan2_upper(size, w)
    return scale(angle / size, v), (angle * angle, w, size / angle)


@kernel
def map_of(X, half, k, dk):
    """dexpinv of -X, two tiles, from what is known of its angle: `se3.dexpinv`."""
    x, v = neg(X[0]), neg(X[1])
    far = ad_polynomial.matrix_derivative_split(x, v, half[0], k, dexpinv_axial(half))
    near = ad_polynomial.matrix_derivative(x, v, k, dk)
    return ad_polynomial.matrix(x, k), mat_select(half[0] < QUOTIENT_LIMIT, near, far)


@kernel
def relative_motion(frames, first, second):
    """What a `Deflection` begins with, of frames on bodies with these motions (pose and body twist)."""
    R, p, V = frame_motion(first, frames[0][0], frames[0][1])
    S, s, W = frame_motion(second, frames[1][0], frames[1][1])
    C, c = mat_mul(transpose(R), S), mul_t(R, sub(s, p))
    x, half = turn_of(C)
    coefficients = dexpinv_coefficients(half)
    X = x, ad_polynomial.apply(x, c, coefficients[0])
    A, B = map_of(X, half, coefficients[0], coefficients[1])
    Y = mul_t(C, V[0]), mul_t(C, add(V[1], cross(V[0], c)))
    w, u = sub(W[0], Y[0]), sub(W[1], Y[1])
    return (S, s), (C, c), X, (A, B), coefficients, W, Y, (mul(A, w), add(mul(B, w), mul(A, u)))


@kernel
def deflection(bushing, first, second):
    """A bushing between bodies with these motions."""
    moved = relative_motion((bushing.first, bushing.second), first, second)
    pull, drag = symmetric_times(bushing.stiffness, moved[2]), symmetric_times(bushing.damping, moved[7])
    return Deflection(*moved, pull, drag)  # type: ignore[call-arg]  # eight of them


@kernel
def in_body(frame, torque, force):
    """A wrench in a frame on a body, in the frame of the body."""
    turned = mul(frame[0], force)
    return add(mul(frame[0], torque), cross(frame[1], turned)), turned


@kernel
def wrenches_of(frames, at):
    """The wrenches of an element on both bodies in their frames, and the power of its damping."""
    (C, c), (A, B), rate, pull, drag = at.pose, at.map, at.rate, at.pull, at.drag
    P, Q = add(pull[0], drag[0]), add(pull[1], drag[1])
    torque, force = neg(add(mul_t(A, P), mul_t(B, Q))), neg(mul_t(A, Q))
    back = neg(mul(C, force))
    turn = sub(cross(c, back), mul(C, torque))
    power = -dot(rate[0], drag[0]) - dot(rate[1], drag[1])
    return in_body(frames[0], turn, back), in_body(frames[1], torque, force), power


@kernel
def energy_of(at):
    return 0.5 * (dot(at.X[0], at.pull[0]) + dot(at.X[1], at.pull[1]))


@kernel
def push_two(table, row, wrenches, on_first, on_second):
    """Add wrenches on the two bodies of a row."""
    i, j = table[row + FORCE.first], table[row + FORCE.second]
    if j >= 0:
        add3(wrenches, 6 * j, on_second[0])
        add3(wrenches, 6 * j + 3, on_second[1])
    if i >= 0:
        add3(wrenches, 6 * i, on_first[0])
        add3(wrenches, 6 * i + 3, on_first[1])


@kernel
def add_bushing(table, row, values, at, states, stride, wrenches):
    """An elastic mount; returns (power of its damping, stored energy)."""
    i, j = table[row + FORCE.first], table[row + FORCE.second]
    bushing = bushing_at(values, at)
    moved = deflection(bushing, motion_at(states, stride, i), motion_at(states, stride, j))
    on_first, on_second, power = wrenches_of((bushing.first, bushing.second), moved)
    push_two(table, row, wrenches, on_first, on_second)
    return power, energy_of(moved)


@kernel
def add_bushings(table, k, count, values, states, stride, wrenches, scratch):
    """Up to four elastic mounts, from row k on; returns (power of their damping, stored energy)."""
    first, second = four_of(table, k, count, FORCE.first), four_of(table, k, count, FORCE.second)
    bushing = four_bushings(table, k, count, values)
    at = deflection(bushing, four_motions(first, states, stride), four_motions(second, states, stride))
    on_first, on_second, power = wrenches_of((bushing.first, bushing.second), at)
    energy = energy_of(at)
    store_rows(scratch, 0, PUSH.size, (*on_first[0], *on_first[1], *on_second[0], *on_second[1], power, energy))
    return push_four(table, k, count, wrenches, scratch)


@kernel
def push_four(table, k, count, wrenches, scratch):
    """Add what `PUSH` has of up to four elements from row k on; returns their power and energy."""
    lost, stored = 0.0, 0.0
    for r in range(count):
        line, at = FORCES.size + (k + r) * FORCE.size, r * PUSH.size
        on_first = load3(scratch, at + PUSH.first, 0.0), load3(scratch, at + PUSH.first + 3, 0.0)
        on_second = load3(scratch, at + PUSH.second, 0.0), load3(scratch, at + PUSH.second + 3, 0.0)
        push_two(table, line, wrenches, on_first, on_second)
        lost, stored = lost + scratch[at + PUSH.power], stored + scratch[at + PUSH.energy]
    return lost, stored
