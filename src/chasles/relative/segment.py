"""Segments in forward dynamics: chains of links without mass, moved by joints that all follow others.

An element of a rod whose strains are polynomials is one. In the frame of the link before it, its last link is at the
product of all motions, and accelerates by A = A' + Σ C_k a_k + drift. A group has one column C_k, the sum of its
joints' screws times their ratios. So the equation of the last link is brought to that frame at once:

    P_k += I C_k,   D_kl += C_kᵀ I C_l + C_kᵀ P_l + C_lᵀ P_k,   d_k += C_kᵀ b - Σ r tau

instead of link by link, each of which would carry the terms of all groups.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_mul, motion_cross, mul, neg
from chasles.kernel.functions import sincos
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, load9, store3, store6, store9
from chasles.relative.articulated import articulated_mul, load_articulated, shift
from chasles.relative.elimination import LINK_PLAN, OPEN, PLAN
from chasles.relative.forward import LIMB, begin, carried, hand_inertia
from chasles.relative.joint import constant_position, constant_rotation
from chasles.relative.open_terms import GROUP_TERM, add6, add_to, rooms
from chasles.relative.tables import CONSTANT, PRISMATIC, constants_of, link, parent_of


@kernel
def row_of(i):
    return PLAN.size + i * LINK_PLAN.size


@kernel
def column_at(j):
    """Where the column is of the group whose first link in a segment is j."""
    return (j + 1) * LIMB.size + LIMB.coupling


@kernel
def has_column(plan, j):
    """Whether link j of a segment is the first one of a group."""
    return plan[row_of(j) + LINK_PLAN.group] >= 0 and plan[row_of(j) + LINK_PLAN.column] == j


@kernel
def dot6(a, b):
    return dot(a[0], b[0]) + dot(a[1], b[1])


@kernel
def in_base(R, p, wrench):
    """A wrench on a link, in the frame in which that is at (R, p)."""
    force = mul(R, wrench[1])
    return add(mul(R, wrench[0]), cross(p, force)), force


@kernel
def moved(R, p, turn, slide):
    """The pose (R, p) after a turn about its z axis, and a slide along it."""
    sine, cosine = sincos(turn)
    turned = (
        *(cosine * R[0] + sine * R[1], cosine * R[1] - sine * R[0], R[2]),
        *(cosine * R[3] + sine * R[4], cosine * R[4] - sine * R[3], R[5]),
        *(cosine * R[6] + sine * R[7], cosine * R[7] - sine * R[6], R[8]),
    )
    return turned, add_scaled(p, slide, (R[2], R[5], R[8]))


@kernel
def place_segment(topology, numbers, plan, ratios, last, q, v, wrenches, work, z):
    """First sweep along a segment: pose and twist of its last link, columns and drift in the frame of the one before.
    Wrenches on the links between act on the groups, and on that one."""
    first, zero = last + 1 - plan[row_of(last) + LINK_PLAN.segment], like(0.0, z)
    base = (parent_of(topology, first) + 1) * LIMB.size
    none, one = (zero, zero, zero), like(1.0, z)
    for j in range(first, last + 1):
        store6(work, column_at(j), (none, none))
    _, _, rests, _ = rooms(topology, plan)
    R, p, drift = (one, zero, zero, zero, one, zero, zero, zero, one), none, (none, none)
    twist, screw, swing = load6(work, base + LIMB.motion, z), (none, none), (none, none)
    turn, slide = zero, zero  # about and along the axis, by the joints that have it
    for j in range(first, last + 1):
        _, kind, iq, iv = link(topology, j)
        c, x, speed = constants_of(j), load(q, iq, z), load(v, iv, z)
        pitch = 1.0 if kind == PRISMATIC else numbers[c + CONSTANT.pitch]
        if plan[row_of(j) + LINK_PLAN.repeated] == 0:
            R, p = moved(R, p, turn, slide)
            turn, slide = zero, zero
            p = add(p, mul(R, constant_position(numbers, c, z)))
            R = mat_mul(R, constant_rotation(numbers, c, z))
            axis = (R[2], R[5], R[8])
            screw = (none, axis) if kind == PRISMATIC else (axis, add_scaled(cross(p, axis), pitch, axis))
            swing = motion_cross(twist, screw)
        slide = slide + pitch * x
        if kind != PRISMATIC:
            turn = turn + x
        drift = (add_scaled(drift[0], speed, swing[0]), add_scaled(drift[1], speed, swing[1]))
        twist = (add_scaled(twist[0], speed, screw[0]), add_scaled(twist[1], speed, screw[1]))
        if plan[row_of(j) + LINK_PLAN.group] >= 0:
            at, ratio = column_at(plan[row_of(j) + LINK_PLAN.column]), like(ratios[iv], z)
            column = load6(work, at, z)
            store6(work, at, (add_scaled(column[0], ratio, screw[0]), add_scaled(column[1], ratio, screw[1])))
        if wrenches.shape[0] and j < last:
            R, p = moved(R, p, turn, slide)
            turn, slide = zero, zero
            push = in_base(R, p, load6(wrenches, 6 * j, z))
            add6(work, base + LIMB.bias, (neg(push[0]), neg(push[1])))
            for k in range(first, j + 1):
                if has_column(plan, k):
                    felt = dot6(load6(work, column_at(k), z), push)
                    add_to(work, rests + plan[row_of(k) + LINK_PLAN.group], -felt, z)
    here, (R, p) = (last + 1) * LIMB.size, moved(R, p, turn, slide)
    store9(work, here + LIMB.rotation, R)
    store3(work, here + LIMB.position, p)
    store6(work, here + LIMB.drift, drift)
    begin(topology, numbers, last, carried(R, p, twist), work, z)


@kernel
def load_columns(topology, numbers, plan, ratios, first, last, tau, work, z):
    """Forces on the joints of each group, and rotors that they turn, in the room of its column."""
    for j in range(first, last + 1):
        store(work, (j + 1) * LIMB.size + LIMB.drive, like(0.0, z))
        store(work, (j + 1) * LIMB.size + LIMB.pivot, like(0.0, z))
    for j in range(first, last + 1):
        if plan[row_of(j) + LINK_PLAN.group] >= 0:
            at, (_, _, _, iv) = (plan[row_of(j) + LINK_PLAN.column] + 1) * LIMB.size, link(topology, j)
            add_to(work, at + LIMB.drive, ratios[iv] * load(tau, iv, z), z)
            armature = ratios[iv] * ratios[iv] * numbers[constants_of(j) + CONSTANT.armature]
            add_to(work, at + LIMB.pivot, like(armature, z), z)


@kernel
def reduce_segment(topology, numbers, plan, ratios, last, tau, work, z):
    """Give to the link before a segment what its last link and the groups ask of it."""
    row, here = row_of(last), (last + 1) * LIMB.size
    first = last + 1 - plan[row + LINK_PLAN.segment]
    base = (parent_of(topology, first) + 1) * LIMB.size
    terms, pairs, rests, _ = rooms(topology, plan)
    R, p = load9(work, here + LIMB.rotation, z), load3(work, here + LIMB.position, z)
    drift, bias = load6(work, here + LIMB.drift, z), in_base(R, p, load6(work, here + LIMB.bias, z))
    J, H, M = load_articulated(work, here + LIMB.inertia, z)
    J, H, M = shift(R, p, J, H, M)
    m, entry = plan[row + LINK_PLAN.open], plan[row + LINK_PLAN.open_at]
    for k in range(m):
        at = terms + GROUP_TERM.size * plan[entry + OPEN.size * k]
        store6(work, at + GROUP_TERM.before, in_base(R, p, load6(work, at, z)))
    load_columns(topology, numbers, plan, ratios, first, last, tau, work, z)
    pair, i, found = entry + OPEN.size * m, first, plan[row + LINK_PLAN.columns]
    for k in range(found):
        while not has_column(plan, i):
            i += 1
        own = load6(work, column_at(i), z)
        at = terms + GROUP_TERM.size * plan[entry + OPEN.size * k]
        old, more = load6(work, at + GROUP_TERM.before, z), articulated_mul(J, H, M, own)
        term = (add(old[0], more[0]), add(old[1], more[1]))
        store6(work, at, term)
        rotor, force = (i + 1) * LIMB.size + LIMB.pivot, (i + 1) * LIMB.size + LIMB.drive
        add_to(work, pairs + plan[pair], load(work, rotor, z) + dot6(own, term) + dot6(own, old), z)
        add_to(work, rests + plan[entry + OPEN.size * k + OPEN.group], dot6(own, bias) - load(work, force, z), z)
        j = i
        for other in range(k + 1, m):
            there = load6(work, terms + GROUP_TERM.size * plan[entry + OPEN.size * other] + GROUP_TERM.before, z)
            value = dot6(own, there)
            if other < found:
                j += 1
                while not has_column(plan, j):
                    j += 1
                value += dot6(load6(work, column_at(j), z), term)
            add_to(work, pairs + plan[pair + other - k], value, z)
        pair += m - k
        i += 1
    for k in range(m):
        group, up = plan[entry + OPEN.size * k + OPEN.group], plan[entry + OPEN.size * k + OPEN.up]
        at = terms + GROUP_TERM.size * plan[entry + OPEN.size * k]
        term = load6(work, at if k < found else at + GROUP_TERM.before, z)
        add_to(work, rests + group, dot6(term, drift), z)
        add6(work, terms + GROUP_TERM.size * up, term)
    if base > 0:
        moved = articulated_mul(J, H, M, drift)
        add6(work, base + LIMB.bias, (add(bias[0], moved[0]), add(bias[1], moved[1])))
        hand_inertia(topology, numbers, first, work, J, H, M)


@kernel
def accelerate_segment(topology, plan, ratios, last, a, work, z):
    """The accelerations of a segment's joints, and that of its last link, which is also returned."""
    first, here = last + 1 - plan[row_of(last) + LINK_PLAN.segment], (last + 1) * LIMB.size
    base, (_, _, _, rates) = (parent_of(topology, first) + 1) * LIMB.size, rooms(topology, plan)
    A, drift = load6(work, base + LIMB.motion, z), load6(work, here + LIMB.drift, z)
    A = (add(A[0], drift[0]), add(A[1], drift[1]))
    for j in range(first, last + 1):
        group, (_, _, _, iv) = plan[row_of(j) + LINK_PLAN.group], link(topology, j)
        if group < 0:
            store(a, iv, like(0.0, z))
        else:
            rate = load(work, rates + group, z)
            store(a, iv, ratios[iv] * rate)
            if has_column(plan, j):
                column = load6(work, column_at(j), z)
                A = (add_scaled(A[0], rate, column[0]), add_scaled(A[1], rate, column[1]))
    A = carried(load9(work, here + LIMB.rotation, z), load3(work, here + LIMB.position, z), A)
    store6(work, here + LIMB.motion, A)
    return A
