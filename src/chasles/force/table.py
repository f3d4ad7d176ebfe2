"""Springs and wrenches on bodies, from the rows of a table; bushings are in `force.bushing`, rods in `force.rod`.

A row says what the force is, on which bodies, and where its numbers are; laws are called through their addresses. The
state of the bodies is an array with a slot for the ground and one for each body, which begins with `MOVING`.
"""

from __future__ import annotations

from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_mul, mul, mul_t, scale, sub
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6
from chasles.lie import quaternion
from chasles.model.program import MOST_SEEN, OWN_ARGUMENTS

# head of the table: forces in it, whether joints have their own, whether poses and twists of bodies are needed
ACTED = layout("ACTED", power=1, energy=1)  # what all forces together return: their power and potential energy
FORCES = layout("FORCES", count=1, passive=1, motion=1, spare=1)
# a force: what it is, up to four indices, where its numbers begin and how many are parameters, its law or 0, and how
# many things the law sees besides its own, whose rows begin where; these rows are behind those of all forces: a
# coordinate of a joint, or (third: 1) the distance of two points
FORCE = layout("FORCE", kind=1, first=1, second=1, third=1, fourth=1, numbers=1, parameters=1, law=1, seen=1, seen_at=1)
SPRING, WRENCH, JOINT, BUSHING, SEEN, ROD = range(6)
FRAME = layout("FRAME", rotation=9, position=3)
BODY, SPATIAL, HYBRID, MIXED = range(4)  # representations
MOVING = layout("MOVING", rotation=9, position=3, twist=6)
# arguments and result of a law that sees more than its own
SIGHT = layout("SIGHT", x=OWN_ARGUMENTS + MOST_SEEN, y=OWN_ARGUMENTS + MOST_SEEN, out=6)
SPOTTED = 384  # numbers for the arguments and results of laws, and for two joints at a state
SCRATCH = SPOTTED + SIGHT.size  # the last for laws that see other joints


@kernel
def vector_at(numbers, at):
    return (numbers[at], numbers[at + 1], numbers[at + 2])


@kernel
def motion_at(states, stride, i):
    """Pose and body twist of body i; -1 is the ground, which comes first."""
    at = (i + 1) * stride
    return (
        load9(states, at + MOVING.rotation, 0.0),
        load3(states, at + MOVING.position, 0.0),
        load6(states, at + MOVING.twist, 0.0),
    )


@kernel
def push_at(wrenches, i, R, point, force):
    """Add a force (in the axes of space) at a point of body i (in its frame)."""
    if i >= 0:
        local = mul_t(R, force)
        add3(wrenches, 6 * i, cross(point, local))
        add3(wrenches, 6 * i + 3, local)


@kernel
def line_between(table, row, values, at, states, stride):
    """Of two points on bodies: the bodies' motions and the points, the distance, relative velocity, direction, the rate
    of the distance, and the way from one to the other."""
    i, j = table[row + FORCE.first], table[row + FORCE.second]
    a, b = vector_at(values, at), vector_at(values, at + 3)
    R, p, V = motion_at(states, stride, i)
    S, s, W = motion_at(states, stride, j)
    apart = sub(add(s, mul(S, b)), add(p, mul(R, a)))
    distance = sqrt(dot(apart, apart))
    speeds = sub(mul(S, add(W[1], cross(W[0], b))), mul(R, add(V[1], cross(V[0], a))))
    direction = scale(1.0 / distance if distance > 0.0 else 0.0, apart)  # at no distance there is no direction to pull
    return (R, V, a), (S, W, b), distance, speeds, direction, dot(direction, speeds), apart


@kernel
def called(t, table, row, values, at, x, y, out, nx, ny, size, scratch):
    """Call the law of a force, whose parameters begin at `at`. What it sees besides its own arguments was put behind
    them before."""
    law, count, seen = table[row + FORCE.law], table[row + FORCE.parameters], table[row + FORCE.seen]
    if seen == 0:
        invoke(law, t, x, y, values[at : at + count], out, nx, ny, count, size)
    else:
        both = scratch[SPOTTED + SIGHT.x : SPOTTED + SIGHT.y], scratch[SPOTTED + SIGHT.y : SPOTTED + SIGHT.out]
        for k in range(nx):
            both[0][k] = x[k]
        for k in range(ny):
            both[1][k] = y[k]
        invoke(
            law,
            t,
            both[0],
            both[1],
            values[at : at + count],
            out,
            OWN_ARGUMENTS + seen,
            OWN_ARGUMENTS + seen,
            count,
            size,
        )


@kernel
def pull_of(t, table, row, values, at, distance, rate, scratch):
    """What a law between two points pulls with."""
    x, y, out = scratch[0:1], scratch[1:2], scratch[2:5]
    x[0], y[0] = distance, rate
    first = at + 9 + table[row + FORCE.third] + table[row + FORCE.fourth]  # behind the programs of its slopes
    called(t, table, row, values, first, x, y, out, 1, 1, 1, scratch)
    return out[0]


@kernel
def add_spring(t, table, row, values, at, states, stride, wrenches, scratch):
    """A spring with damper between two points, or a law; returns (power of the damper or law, stored energy)."""
    i, j = table[row + FORCE.first], table[row + FORCE.second]
    stiffness, damping, length = vector_at(values, at + 6)
    (R, _, a), (S, _, b), distance, _, direction, rate, apart = line_between(table, row, values, at, states, stride)
    # without a free length the force is smooth where the points meet, and so it is written: k apart, not k |apart| e
    lost = damping * rate
    force = add_scaled(scale(stiffness, apart), lost - stiffness * length, direction)
    if table[row + FORCE.law] != 0:
        lost = pull_of(t, table, row, values, at, distance, rate, scratch)
        force = scale(lost, direction)
    push_at(wrenches, i, R, a, force)
    push_at(wrenches, j, S, b, scale(-1.0, force))
    return -lost * rate, 0.5 * stiffness * (distance - length) * (distance - length)


@kernel
def frame_motion(motion, X, x):
    """Pose and body twist of a frame (X, x) on a body with this motion."""
    R, p, V = motion
    return mat_mul(R, X), add(p, mul(R, x)), (mul_t(X, V[0]), mul_t(X, add(V[1], cross(V[0], x))))


@kernel
def push_frame(wrenches, i, X, x, torque, force):
    """Add a wrench in the frame (X, x) on body i."""
    if i >= 0:
        force_in_link = mul(X, force)
        add3(wrenches, 6 * i, add(mul(X, torque), cross(x, force_in_link)))
        add3(wrenches, 6 * i + 3, force_in_link)


@kernel
def to_body(representation, R, p, wrench):
    """A wrench in the body's frame, from a representation; the dual of the conversion of twists."""
    torque, force = wrench
    if representation == SPATIAL:
        torque = sub(torque, cross(p, force))
    if representation == SPATIAL or representation == HYBRID:
        torque = mul_t(R, torque)
    if representation != BODY:
        force = mul_t(R, force)
    return torque, force


@kernel
def add_wrench(t, table, row, values, at, states, stride, wrenches, scratch):
    """A wrench on a body, constant or from a law; returns its power."""
    i, representation, law = table[row + FORCE.first], table[row + FORCE.second], table[row + FORCE.law]
    X, x = load9(values, at + FRAME.rotation, 0.0), vector_at(values, at + FRAME.position)
    R, p, (w, u) = frame_motion(motion_at(states, stride, i), X, x)
    at += FRAME.size
    wrench = (vector_at(values, at), vector_at(values, at + 3)) if law == 0 else ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    if law != 0:
        pose, twist, out = scratch[0:7], scratch[7:13], scratch[13:19]
        unit = quaternion.from_matrix(R)
        pose[0] = unit[0]
        store3(pose, 1, (unit[1], unit[2], unit[3]))
        store3(pose, 4, p)
        store6(twist, 0, (w, u))
        called(t, table, row, values, at, pose, twist, out, 7, 6, 6, scratch)
        wrench = load6(out, 0, 0.0)
    torque, force = to_body(representation, R, p, wrench)
    push_frame(wrenches, i, X, x, torque, force)
    return dot(torque, w) + dot(force, u)
