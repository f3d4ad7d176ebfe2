"""Springs and wrenches on bodies, from the rows of a table.

A row says what the force is, on which bodies, and where its numbers are; laws are called through their addresses. The
state of the bodies is an array with a slot for the ground and one for each body, which begins with `MOVING`.
"""

from __future__ import annotations

from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, cross, dot, mat_mul, mul, mul_t, scale, sub
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6
from chasles.lie import quaternion

# head of the table: forces in it, whether joints have their own, whether poses and twists of bodies are needed
FORCES = layout("FORCES", count=1, passive=1, motion=1, spare=1)
# a force: what it is, up to four indices, where its numbers begin and how many are parameters, its law or 0
FORCE = layout("FORCE", kind=1, first=1, second=1, third=1, fourth=1, numbers=1, parameters=1, law=1)
SPRING, WRENCH, JOINT = range(3)
BODY, SPATIAL, HYBRID, MIXED = range(4)  # representations
MOVING = layout("MOVING", rotation=9, position=3, twist=6)
SCRATCH = 192  # numbers for the arguments and results of laws, and for a joint at a state


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
def add_spring(table, row, values, at, states, stride, wrenches):
    """A spring with damper between two points; returns (power of the damper, stored energy)."""
    i, j = table[row + FORCE.first], table[row + FORCE.second]
    a, b = vector_at(values, at), vector_at(values, at + 3)
    stiffness, damping, length = vector_at(values, at + 6)
    R, p, V = motion_at(states, stride, i)
    S, s, W = motion_at(states, stride, j)
    apart = sub(add(s, mul(S, b)), add(p, mul(R, a)))
    distance = sqrt(dot(apart, apart))
    speeds = sub(mul(S, add(W[1], cross(W[0], b))), mul(R, add(V[1], cross(V[0], a))))
    direction = scale(1.0 / distance if distance > 0.0 else 0.0, apart)  # at no distance there is no direction to pull
    rate = dot(direction, speeds)
    pull = stiffness * (distance - length) + damping * rate
    push_at(wrenches, i, R, a, scale(pull, direction))
    push_at(wrenches, j, S, b, scale(-pull, direction))
    return -damping * rate * rate, 0.5 * stiffness * (distance - length) * (distance - length)


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
    X = load9(values, at, 0.0)
    x = vector_at(values, at + 9)
    R, p, V = motion_at(states, stride, i)
    R, p = mat_mul(R, X), add(p, mul(R, x))
    w = mul_t(X, V[0])
    u = mul_t(X, add(V[1], cross(V[0], x)))
    at += 12
    wrench = (vector_at(values, at), vector_at(values, at + 3)) if law == 0 else ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    if law != 0:
        pose, twist, out = scratch[0:7], scratch[7:13], scratch[13:19]
        unit = quaternion.from_matrix(R)
        pose[0] = unit[0]
        store3(pose, 1, (unit[1], unit[2], unit[3]))
        store3(pose, 4, p)
        store6(twist, 0, (w, u))
        count = table[row + FORCE.parameters]
        invoke(law, t, pose, twist, values[at : at + count], out, 7, 6, count, 6)
        wrench = load6(out, 0, 0.0)
    torque, force = to_body(representation, R, p, wrench)
    force_in_link = mul(X, force)
    add3(wrenches, 6 * i, add(mul(X, torque), cross(x, force_in_link)))
    add3(wrenches, 6 * i + 3, force_in_link)
    return dot(torque, w) + dot(force, u)
