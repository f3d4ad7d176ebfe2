"""Inverse dynamics in body representation: the generalized forces of a motion, O(n).

This is the recursive Newton-Euler algorithm, RNEA.

mueller2018 eqs. (65)-(67), with (67a) corrected, in a cheaper form of the same recursion: the acceleration that is
carried along is the one of the link's origin (not the linear part of the twist's derivative), so no linear velocity is
needed. Gravity is an acceleration of the ground by -g.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, mul, mul_t, scale, sym_mul
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load9, store3, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.joint import along_screws, constant_position, placement, store_felt, turned
from chasles.relative.tables import (
    CONSTANT,
    GRAVITY,
    HEAD,
    REVOLUTE,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)

# of each link, and first of the ground
BODY = layout("BODY", rotation=9, position=3, spin=3, spin_rate=3, acceleration=3, torque=3, force=3)


@kernel
def start_at_ground(numbers, work, z):
    """The ground does not turn and is accelerated against gravity."""
    zero = like(0.0, z)
    store3(work, BODY.spin, (zero, zero, zero))
    store3(work, BODY.spin_rate, (zero, zero, zero))
    g = vector_at(numbers, GRAVITY.vector)
    store3(work, BODY.acceleration, (like(-g[0], z), like(-g[1], z), like(-g[2], z)))
    store3(work, BODY.torque, (zero, zero, zero))
    store3(work, BODY.force, (zero, zero, zero))


@kernel
def carry_turning(speed, rate, R, p, motion):
    """From the parent's angular velocity, its derivative and its origin's acceleration to those of a link that turns
    about its z axis."""
    w, aw, al = motion
    al = mul_t(R, add(al, add(cross(aw, p), cross(w, cross(w, p)))))
    w, aw = mul_t(R, w), mul_t(R, aw)
    aw = (aw[0] + w[1] * speed, aw[1] - w[0] * speed, aw[2] + rate)
    return (w[0], w[1], w[2] + speed), aw, al


@kernel
def carry(twist, rate, R, p, motion):
    """The same for any joint, with its S v and S a."""
    w, aw, al = motion
    al = mul_t(R, add(al, add(cross(aw, p), cross(w, cross(w, p)))))
    w, aw = mul_t(R, w), mul_t(R, aw)
    turning, sliding = twist
    al = add(al, add(cross(add(add(w, w), turning), sliding), rate[1]))
    return add(w, turning), add(aw, add(cross(w, turning), rate[0])), al


@kernel
def newton_euler(inertia, w, aw, al):
    """Wrench that gives a link this motion, at its origin: mueller2018 eq. (42) with the acceleration of the origin."""
    mass, moment, rotational = inertia
    torque = add(add(sym_mul(rotational, aw), cross(w, sym_mul(rotational, w))), cross(moment, al))
    force = add(scale(mass, al), add(cross(aw, moment), cross(w, cross(w, moment))))
    return torque, force


@kernel
def add_armature(topology, numbers, a, tau, z):
    """Rotor inertias, felt by their joint only."""
    if topology[HEAD.armatures] > 0:
        for i in range(links_of(topology)):
            armature = numbers[constants_of(i) + CONSTANT.armature]
            iv = link(topology, i)[3]
            store(tau, iv, load(tau, iv, z) + armature * load(a, iv, z))


@kernel
def motion_of(work, at, z):
    return (
        load3(work, at + BODY.spin, z),
        load3(work, at + BODY.spin_rate, z),
        load3(work, at + BODY.acceleration, z),
    )


@algorithm(work=f"{BODY.size}*slots", q="nq", v="nv", a="nv", wrenches="6*links", tau=out("nv"))
def inverse_dynamics(topology, numbers, q, v, a, wrenches, tau, work, z):
    """tau of the motion (q, v, a). `wrenches` on the links, in their frames at their origins, may be empty."""
    n = links_of(topology)
    start_at_ground(numbers, work, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * BODY.size, (parent + 1) * BODY.size
        if kind == REVOLUTE:  # most joints are: a path of its own is a quarter faster
            R, p = turned(numbers, c, load(q, iq, z), z), vector_at(numbers, c + CONSTANT.position)
            w, aw, al = carry_turning(load(v, iv, z), load(a, iv, z), R, p, motion_of(work, base, z))
        else:
            R, place = placement(numbers, c, kind, q, iq, z)
            store3(work, here + BODY.position, place)
            twist, rate = along_screws(numbers, c, kind, v, iv, z), along_screws(numbers, c, kind, a, iv, z)
            w, aw, al = carry(twist, rate, R, place, motion_of(work, base, z))
        torque, force = newton_euler(inertia_of(numbers, c), w, aw, al)
        store9(work, here + BODY.rotation, R)
        store3(work, here + BODY.spin, w)
        store3(work, here + BODY.spin_rate, aw)
        store3(work, here + BODY.acceleration, al)
        store3(work, here + BODY.torque, torque)
        store3(work, here + BODY.force, force)
    for k in range(wrenches.shape[0] and 6 * n):
        at = (k // 6 + 1) * BODY.size + BODY.torque + k % 6
        store(work, at, load(work, at, z) - load(wrenches, k, z))
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * BODY.size, (parent + 1) * BODY.size
        torque, force = load3(work, here + BODY.torque, z), load3(work, here + BODY.force, z)
        if kind == REVOLUTE:
            store(tau, iv, torque[2])
            p = constant_position(numbers, c, z)
        else:
            store_felt(numbers, c, kind, (torque, force), tau, iv, z)
            p = load3(work, here + BODY.position, z)
        R = load9(work, here + BODY.rotation, z)
        force = mul(R, force)
        add3(work, base + BODY.torque, add(mul(R, torque), cross(p, force)))
        add3(work, base + BODY.force, force)
    add_armature(topology, numbers, a, tau, z)
