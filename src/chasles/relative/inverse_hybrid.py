"""Inverse dynamics in hybrid representation: mueller2018 eqs. (72)-(76), with (75b) and (76b) corrected.

World axes, at the origin of each link: on its way along the tree a quantity changes its reference point only, by
d = r_i - r_parent; the joint screws and the inertias are turned instead, (75b) and (76a). The velocity of the origins
drops out: r_i' - r_parent' in (75d) is ω_parent × d and what the joint slides. In (76b) the applied wrench is
subtracted, the loop begins at the last link, ad_ω is that of ω_i, and d_{i+1,i} is r_{i+1,i}.
Gravity is an acceleration of the ground by -g.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_mul, mul, mul_t, sub
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.articulated import rotate_symmetric
from chasles.relative.inverse import add_armature, newton_euler
from chasles.relative.joint import along_screws, placement, store_felt, turned
from chasles.relative.mass import symmetric_of
from chasles.relative.tables import (
    CONSTANT,
    GRAVITY,
    REVOLUTE,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)

# of each link, and first of the ground; `offset` is d
POINT = layout("POINT", rotation=9, offset=3, spin=3, spin_rate=3, acceleration=3, torque=3, force=3)


@kernel
def start_at_ground(numbers, work, z):
    """The ground does not turn and is accelerated against gravity."""
    one, zero = like(1.0, z), like(0.0, z)
    none, g = (zero, zero, zero), vector_at(numbers, GRAVITY.vector)
    store9(work, POINT.rotation, (one, zero, zero, zero, one, zero, zero, zero, one))
    store3(work, POINT.spin, none)
    store3(work, POINT.spin_rate, none)
    store3(work, POINT.acceleration, (like(-g[0], z), like(-g[1], z), like(-g[2], z)))
    store3(work, POINT.torque, none)
    store3(work, POINT.force, none)


@kernel
def turned_inertia(inertia, R, z):
    """mueller2018 eq. (76a): mass, first moment and rotational inertia in world axes."""
    mass, moment, rotational = inertia
    return mass, mul(R, moment), rotate_symmetric(R, symmetric_of(rotational, z))


@algorithm(work=f"{POINT.size}*slots", q="nq", v="nv", a="nv", wrenches="6*links", tau=out("nv"))
def inverse_dynamics_hybrid(topology, numbers, q, v, a, wrenches, tau, work, z):
    """tau of the motion (q, v, a). `wrenches` on the links, in their frames at their origins, may be empty."""
    n = links_of(topology)
    start_at_ground(numbers, work, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * POINT.size, (parent + 1) * POINT.size
        P = load9(work, base + POINT.rotation, z)
        w, aw = load3(work, base + POINT.spin, z), load3(work, base + POINT.spin_rate, z)
        al = load3(work, base + POINT.acceleration, z)
        if kind == REVOLUTE:
            R, d = mat_mul(P, turned(numbers, c, load(q, iq, z), z)), mul(P, vector_at(numbers, c + CONSTANT.position))
            axis, speed = (R[2], R[5], R[8]), load(v, iv, z)
            al = add(al, add(cross(aw, d), cross(w, cross(w, d))))
            aw = add_scaled(add_scaled(aw, load(a, iv, z), axis), speed, cross(w, axis))
            w = add_scaled(w, speed, axis)
        else:
            X, x = placement(numbers, c, kind, q, iq, z)
            R, d = mat_mul(P, X), mul(P, x)
            joint, rate = along_screws(numbers, c, kind, v, iv, z), along_screws(numbers, c, kind, a, iv, z)
            turning, sliding = mul(R, joint[0]), mul(R, joint[1])
            al = add(al, add(cross(aw, d), cross(w, cross(w, d))))
            al = add(al, add(cross(add(add(w, w), turning), sliding), mul(R, rate[1])))
            aw = add(aw, add(cross(w, turning), mul(R, rate[0])))
            w = add(w, turning)
        torque, force = newton_euler(turned_inertia(inertia_of(numbers, c), R, z), w, aw, al)
        if wrenches.shape[0] > 0:
            applied = load6(wrenches, 6 * i, z)
            torque, force = sub(torque, mul(R, applied[0])), sub(force, mul(R, applied[1]))
        store9(work, here + POINT.rotation, R)
        store3(work, here + POINT.offset, d)
        store3(work, here + POINT.spin, w)
        store3(work, here + POINT.spin_rate, aw)
        store3(work, here + POINT.acceleration, al)
        store6(work, here + POINT.torque, (torque, force))
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        here, base = (i + 1) * POINT.size, (parent + 1) * POINT.size
        torque, force = load6(work, here + POINT.torque, z)
        at = here + POINT.rotation
        if kind == REVOLUTE:
            store(tau, iv, dot((load(work, at + 2, z), load(work, at + 5, z), load(work, at + 8, z)), torque))
        else:
            R = load9(work, at, z)
            store_felt(numbers, constants_of(i), kind, (mul_t(R, torque), mul_t(R, force)), tau, iv, z)
        add3(work, base + POINT.torque, add(torque, cross(load3(work, here + POINT.offset, z), force)))
        add3(work, base + POINT.force, force)
    add_armature(topology, numbers, a, tau, z)
