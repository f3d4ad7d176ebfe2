"""Forces along the coordinates of joints, for bodies in absolute coordinates.

Coordinates and velocities of a joint are found from the poses and twists of its two bodies; what acts along them (the
joint's own springs, dampers, friction and stops, laws, inputs) goes back to the bodies as a wrench and its opposite.
With V the twist of the joint's frame on the child relative to the parent, a form of joint has v = P V, and the wrench
is Pᵀ τ: its power is τ·v, whatever V is, and on the constraint it does along each coordinate what τ says. (Of a joint
given by screws v is J⁺ V, and the wrench one that does not depend on units: `screw_wrench`. On the constraint the power
is the same.)

Angles are counted over full turns: the count is a state of the simulation, and serves only to choose among the angles
that the poses allow. `act_on_joint` leaves the angle of the state there; of joints along which nothing acts
(`JOINT.silent`) `silent_rates` and `silent_angles` do.
"""

from __future__ import annotations

from chasles.constraint.rows import TURN_ANGLE, pose_of, velocity_of
from chasles.constraint.screws import SCREW_WORK, screw_coordinates, screw_velocities, screw_wrench
from chasles.force.passive import add_displacement, add_one_freedom, add_rotation
from chasles.force.table import FORCE, FORCES, MOVING, SIGHT, SPOTTED, called, line_between, motion_at
from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_mul, mul, mul_t, scale, sub, transpose
from chasles.kernel.functions import atan2
from chasles.kernel.lanes import first_of, primal, rint, sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load9, store3
from chasles.lie import quaternion
from chasles.model.program import OWN_ARGUMENTS

# forms: axes along and about those of the parent's frame, two axes that cross (universal), a rotation, a pose, screws
AXES, CROSSED, BALL, LOOSE, SCREWS = range(5)
# a joint: its form, its bodies (-1: ground), how many coordinates and velocities, its first velocity among all, where
# its numbers begin and where those of its own forces or 0, the first of its laws in the table of forces and how many,
# and whether its angles are counted though nothing acts along them
JOINT = layout(
    "JOINT", form=1, first=1, second=1, coordinates=1, velocities=1, control=1, numbers=1, passive=1, laws=1, count=1,
    silent=1,
)  # fmt: skip
# its numbers: its frame on each body; for each velocity what it is (of AXES: along x, y, z, or about z) and its place
# among the counted coordinates or -1; the axes or screws; and if it has forces of its own, `PASSIVE` for each
FRAMES = layout("FRAMES", first=9, first_at=3, second=9, second_at=3)
FREEDOM = layout("FREEDOM", kind=1, counted=1)
ALONG_X, ALONG_Y, ALONG_Z, ABOUT_Z = range(4)
# of a joint at a state: coordinates, velocities, forces, and the result of a law; then what screws need
SPOT = layout("SPOT", q=7, v=6, tau=6, out=6, screws=SCREW_WORK.size)


@kernel
def kind_of(numbers, what, k):
    """What velocity k of a joint is, of those that begin at `what`."""
    return int(first_of(numbers[what + k * FREEDOM.size + FREEDOM.kind]))


@kernel
def place_of(numbers, what, k):
    """Where its coordinate is among the counted ones, or -1."""
    return int(first_of(numbers[what + k * FREEDOM.size + FREEDOM.counted]))


@kernel
def places(numbers, at, states, A, B):
    """Frames of a joint in space (R_A, R_B), d from the parent's to the child's, and the child's relative to the
    parent: angular velocity and velocity of its origin, in space."""
    RA, pA, VA = motion_at(states, MOVING.size, A)
    RB, pB, VB = motion_at(states, MOVING.size, B)
    on_second = load3(numbers, at + FRAMES.second_at, 0.0)
    origin = add(pB, mul(RB, on_second))
    WA = mul(RA, VA[0])
    turning = sub(mul(RB, VB[0]), WA)
    moving = mul(RB, add(VB[1], cross(VB[0], on_second)))
    sliding = sub(moving, add(mul(RA, VA[1]), cross(WA, sub(origin, pA))))
    d = sub(origin, add(pA, mul(RA, load3(numbers, at + FRAMES.first_at, 0.0))))
    frames = (
        mat_mul(RA, load9(numbers, at + FRAMES.first, 0.0)),
        mat_mul(RB, load9(numbers, at + FRAMES.second, 0.0)),
    )
    return frames[0], frames[1], d, turning, sliding


@kernel
def column(R, k):
    """Axis k of a frame."""
    if k == 0:
        return (R[0], R[3], R[6])
    if k == 1:
        return (R[1], R[4], R[7])
    return (R[2], R[5], R[8])


@kernel
def in_turn(angle, counted, place):
    """The angle in the turn of its count, or within half a turn of zero if it has none."""
    if place < 0:
        return angle
    return angle + TURN_ANGLE * rint((counted[place] - angle) / TURN_ANGLE)


@kernel
def crossed(numbers, at):
    """Two axes of unit length, their cosine, and the part of each across the other, of unit length."""
    e, f = load3(numbers, at, 0.0), load3(numbers, at + 3, 0.0)
    c = dot(e, f)
    size = 1.0 / sqrt(1.0 - c * c)
    return e, f, c, scale(size, add_scaled(f, -c, e)), scale(size, add_scaled(e, -c, f))


@kernel
def dual_axes(SA, SB, numbers, at):
    """Vectors in space on which angular velocities have the rates of the two angles: the dual basis of the axes."""
    e, f, c, _, _ = crossed(numbers, at)
    E, F, size = mul(SA, e), mul(SB, f), 1.0 / (1.0 - c * c)
    return scale(size, add_scaled(E, -c, F)), scale(size, add_scaled(F, -c, E))


@kernel
def angle_about_z(SA, SB):
    """Angle of the child's frame about z of the parent's, within half a turn of zero."""
    mark = column(SB, 0)
    return atan2(dot(column(SA, 1), mark), dot(column(SA, 0), mark))


@kernel
def crossed_angles(SA, SB, numbers, at):
    """The two angles of a joint with axes that cross, within half a turn of zero."""
    e, f, _, x, y = crossed(numbers, at)
    ahead, back = mul_t(SA, mul(SB, f)), mul_t(SB, mul(SA, e))
    return atan2(dot(cross(e, x), ahead), dot(x, ahead)), atan2(-dot(cross(f, y), back), dot(y, back))


@kernel
def silent_frames(joints, numbers, j, motion):
    """The frames of joint j on both bodies, in space, from the motion of the constraints' rows."""
    row = j * JOINT.size
    at = joints[row + JOINT.numbers]
    RA, RB = pose_of(motion, joints[row + JOINT.first])[0], pose_of(motion, joints[row + JOINT.second])[0]
    first, second = load9(numbers, at + FRAMES.first, 0.0), load9(numbers, at + FRAMES.second, 0.0)
    return mat_mul(RA, first), mat_mul(RB, second)


@kernel(allocates=True)
def silent_rates(joints, numbers, n_joints, motion, rates):
    """Rates of the angles that are counted though nothing acts along them."""
    for j in range(n_joints):
        row = j * JOINT.size
        if joints[row + JOINT.silent] != 0:
            nv, at = joints[row + JOINT.velocities], joints[row + JOINT.numbers]
            A, B, what = joints[row + JOINT.first], joints[row + JOINT.second], at + FRAMES.size
            RA = pose_of(motion, A)[0]
            turning = sub(velocity_of(motion, B, pose_of(motion, B)[0])[0], velocity_of(motion, A, RA)[0])
            if joints[row + JOINT.form] == CROSSED:
                SA, SB = silent_frames(joints, numbers, j, motion)
                E, F = dual_axes(SA, SB, numbers, what + FREEDOM.size * nv)
                rates[place_of(numbers, what, 0)], rates[place_of(numbers, what, 1)] = dot(E, turning), dot(F, turning)
            else:
                z = column(load9(numbers, at + FRAMES.first, 0.0), 2)
                for k in range(nv):
                    place = place_of(numbers, what, k)
                    if place >= 0:
                        rates[place] = dot(mul(RA, z), turning)


@kernel(allocates=True)
def silent_angles(joints, numbers, n_joints, motion, counted):
    """Put the angles that are counted though nothing acts along them in the turns of the count, to the count."""
    for j in range(n_joints):
        row = j * JOINT.size
        if joints[row + JOINT.silent] != 0:
            nv, what = joints[row + JOINT.velocities], joints[row + JOINT.numbers] + FRAMES.size
            SA, SB = silent_frames(joints, numbers, j, motion)
            if joints[row + JOINT.form] == CROSSED:
                first, second = place_of(numbers, what, 0), place_of(numbers, what, 1)
                angles = crossed_angles(SA, SB, numbers, what + FREEDOM.size * nv)
                counted[first] = in_turn(angles[0], counted, first)
                counted[second] = in_turn(angles[1], counted, second)
            else:
                for k in range(nv):
                    place = place_of(numbers, what, k)
                    if place >= 0:
                        counted[place] = in_turn(angle_about_z(SA, SB), counted, place)


@kernel(allocates=True, shared=True)
def spot_joint(joints, numbers, j, states, counted, spot):
    """Coordinates and velocities of joint j at the poses and twists of the bodies, to `spot`."""
    row = j * JOINT.size
    form, nv, at = joints[row + JOINT.form], joints[row + JOINT.velocities], joints[row + JOINT.numbers]
    SA, SB, d, turning, sliding = places(numbers, at, states, joints[row + JOINT.first], joints[row + JOINT.second])
    what = at + FRAMES.size
    if form == AXES:
        for k in range(nv):
            kind, place = kind_of(numbers, what, k), place_of(numbers, what, k)
            if kind == ABOUT_Z:
                spot[SPOT.q + k] = in_turn(angle_about_z(SA, SB), counted, place)
                spot[SPOT.v + k] = dot(column(SA, 2), turning)
            else:
                axis = column(SA, kind)
                spot[SPOT.q + k], spot[SPOT.v + k] = dot(axis, d), dot(axis, sliding)
    elif form == CROSSED:
        first, second = crossed_angles(SA, SB, numbers, what + FREEDOM.size * nv)
        spot[SPOT.q] = in_turn(first, counted, place_of(numbers, what, 0))
        spot[SPOT.q + 1] = in_turn(second, counted, place_of(numbers, what, 1))
        E, F = dual_axes(SA, SB, numbers, what + FREEDOM.size * nv)
        spot[SPOT.v], spot[SPOT.v + 1] = dot(E, turning), dot(F, turning)
    elif form == SCREWS:
        for k in range(nv):
            place = place_of(numbers, what, k)
            spot[SPOT.q + k] = counted[place] if place >= 0 else 0.0
        screws, work = numbers[what + FREEDOM.size * nv :], spot[SPOT.screws :]
        q = spot[SPOT.q : SPOT.v]
        screw_coordinates(screws, nv, mat_mul(transpose(SA), SB), mul_t(SA, d), q, work)
        screw_velocities(nv, mul_t(SB, turning), mul_t(SB, sliding), work, spot[SPOT.v :])
    else:
        unit = quaternion.from_matrix(mat_mul(transpose(SA), SB))
        spot[SPOT.q], spot[SPOT.q + 1], spot[SPOT.q + 2], spot[SPOT.q + 3] = unit
        store3(spot, SPOT.v, mul_t(SB, turning))
        if form == LOOSE:
            store3(spot, SPOT.q + 4, mul_t(SA, d))
            store3(spot, SPOT.v + 3, mul_t(SB, sliding))


@kernel(allocates=True)
def store_turns(joints, j, spot, out, at):
    """How the coordinates of a joint in `spot` change, along q exp(δ) as its velocities are: duals of value zero, of
    quaternions, or the coordinates themselves."""
    row = j * JOINT.size
    form, nv = joints[row + JOINT.form], joints[row + JOINT.velocities]
    if form == BALL or form == LOOSE:
        unit = (spot[SPOT.q], spot[SPOT.q + 1], spot[SPOT.q + 2], spot[SPOT.q + 3])
        still = (primal(unit[0]), primal(unit[1]), primal(unit[2]), primal(unit[3]))
        turn = quaternion.product(quaternion.conjugate(still), unit)
        store3(out, at, scale(2.0, (turn[1], turn[2], turn[3])))
        if form == LOOSE:
            store3(out, at + 3, mul_t(quaternion.to_matrix(still), load3(spot, SPOT.q + 4, 0.0)))
    else:
        for k in range(nv):
            out[at + k] = spot[SPOT.q + k]


@kernel(allocates=True)
def push_joint(joints, numbers, j, states, wrenches, spot):
    """The forces tau in `spot` as a wrench on the child and its opposite on the parent, in the bodies' frames."""
    row = j * JOINT.size
    form, nv, at = joints[row + JOINT.form], joints[row + JOINT.velocities], joints[row + JOINT.numbers]
    A, B = joints[row + JOINT.first], joints[row + JOINT.second]
    SA, SB, _, _, _ = places(numbers, at, states, A, B)
    what = at + FRAMES.size
    torque, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # in space, at the origin of the child's frame
    if form == AXES:
        for k in range(nv):
            kind, tau = kind_of(numbers, what, k), spot[SPOT.tau + k]
            if kind == ABOUT_Z:
                torque = add_scaled(torque, tau, column(SA, 2))
            else:
                force = add_scaled(force, tau, column(SA, kind))
    elif form == CROSSED:
        E, F = dual_axes(SA, SB, numbers, what + FREEDOM.size * nv)
        torque = add_scaled(scale(spot[SPOT.tau], E), spot[SPOT.tau + 1], F)
    elif form == SCREWS:
        torque, force = screw_wrench(nv, spot[SPOT.tau :], spot[SPOT.screws :])
        torque, force = mul(SB, torque), mul(SB, force)
    else:
        torque = mul(SB, load3(spot, SPOT.tau, 0.0))
        if form == LOOSE:
            force = mul(SB, load3(spot, SPOT.tau + 3, 0.0))
    on_second = load3(numbers, at + FRAMES.second_at, 0.0)
    R, p, _ = motion_at(states, MOVING.size, B)
    origin = add(p, mul(R, on_second))
    if B >= 0:
        local = mul_t(R, force)
        add3(wrenches, 6 * B, add(mul_t(R, torque), cross(on_second, local)))
        add3(wrenches, 6 * B + 3, local)
    if A >= 0:
        R, p, _ = motion_at(states, MOVING.size, A)
        add3(wrenches, 6 * A, mul_t(R, scale(-1.0, add(torque, cross(sub(origin, p), force)))))
        add3(wrenches, 6 * A + 3, mul_t(R, scale(-1.0, force)))


@kernel(allocates=True)
def passive_forces(joints, numbers, j, spot):
    """Add the joint's own springs, dampers, friction and stops to tau; returns (power, stored energy)."""
    row = j * JOINT.size
    form, nv = joints[row + JOINT.form], joints[row + JOINT.velocities]
    values, v, tau = numbers[joints[row + JOINT.passive] :], spot[SPOT.v : SPOT.tau], spot[SPOT.tau : SPOT.out]
    power, energy = 0.0, 0.0
    if form == BALL or form == LOOSE:
        unit = (spot[SPOT.q], spot[SPOT.q + 1], spot[SPOT.q + 2], spot[SPOT.q + 3])
        power, energy = add_rotation(values, 0, unit, v, tau)
        if form == LOOSE:
            more, stored = add_displacement(values, 3, unit, load3(spot, SPOT.q + 4, 0.0), v, tau)
            power, energy = power + more, energy + stored
    else:
        for k in range(nv):
            more, stored = add_one_freedom(values, k, spot[SPOT.q + k], v[k], tau)
            power, energy = power + more, energy + stored
    return power, energy


@kernel(allocates=True, shared=True)
def look(joints, numbers, table, values, line, states, counted, scratch):
    """Put what a law sees besides its own where `called` takes it."""
    other = scratch[SPOT.size : 2 * SPOT.size]
    for i in range(table[line + FORCE.seen]):
        row = FORCES.size + (table[line + FORCE.seen_at] + i) * FORCE.size
        if table[row + FORCE.third] == 0:
            spot_joint(joints, numbers, table[row + FORCE.first], states, counted, other)
            k = table[row + FORCE.second]
            scratch[SPOTTED + SIGHT.x + OWN_ARGUMENTS + i] = other[SPOT.q + k]
            scratch[SPOTTED + SIGHT.y + OWN_ARGUMENTS + i] = other[SPOT.v + k]
        else:
            seen = line_between(table, row, values, table[row + FORCE.numbers], states, MOVING.size)
            scratch[SPOTTED + SIGHT.x + OWN_ARGUMENTS + i] = seen[2]
            scratch[SPOTTED + SIGHT.y + OWN_ARGUMENTS + i] = seen[5]


@kernel(allocates=True)
def add_laws(t, joints, numbers, j, table, values, states, counted, spot):
    """Add the forces of a joint's laws, and constant ones, to tau; returns their power."""
    row = j * JOINT.size
    nq, nv, power = joints[row + JOINT.coordinates], joints[row + JOINT.velocities], 0.0
    for k in range(joints[row + JOINT.count]):
        line = FORCES.size + (joints[row + JOINT.laws] + k) * FORCE.size
        law, first = table[line + FORCE.law], table[line + FORCE.numbers]
        out = spot[SPOT.out : SPOT.out + nv]
        if law == 0:
            for i in range(nv):
                out[i] = values[first + i]
        else:
            q, v = spot[SPOT.q : SPOT.v], spot[SPOT.v : SPOT.tau]
            look(joints, numbers, table, values, line, states, counted, spot)
            called(t, table, line, values, first, q, v, out, nq, nv, nv, spot)
        for i in range(nv):
            spot[SPOT.tau + i] += out[i]
            power += out[i] * spot[SPOT.v + i]
    return power


@kernel(allocates=True)
def act_on_joint(t, joints, numbers, j, table, values, control, counted, rates, states, wrenches, spot):
    """All that acts along the coordinates of joint j; returns (power of what is not a spring, stored energy).

    Coordinates that are counted and their rates are left in `counted` and `rates`.
    """
    row = j * JOINT.size
    nv, at = joints[row + JOINT.velocities], joints[row + JOINT.numbers]
    spot_joint(joints, numbers, j, states, counted, spot)
    what = at + FRAMES.size
    power, energy = 0.0, 0.0
    for k in range(nv):
        u, place = control[joints[row + JOINT.control] + k], place_of(numbers, what, k)
        spot[SPOT.tau + k] = u
        power += u * spot[SPOT.v + k]
        if place >= 0:
            counted[place], rates[place] = spot[SPOT.q + k], spot[SPOT.v + k]
    if joints[row + JOINT.passive] != 0:
        more, energy = passive_forces(joints, numbers, j, spot)
        power += more
    power += add_laws(t, joints, numbers, j, table, values, states, counted, spot)
    push_joint(joints, numbers, j, states, wrenches, spot)
    return power, energy
