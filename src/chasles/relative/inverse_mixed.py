"""Inverse dynamics in mixed representation: angular velocities and torques in body axes, r' and forces in world axes.

The recursion follows from mueller2018 eqs. (56)-(58), the Newton-Euler equations of one body, as (66), (67) follow from
(41):

    ω_i = Rᵀ ω_parent + s v,   r_i'' = r_parent'' + R_parent (ω' × p + ω × (ω × p)) + what the joint slides
    t_parent += R t + p × R_parentᵀ f,   f_parent += f

with the rotation R and the origin p of the link in its parent. Gravity is an acceleration of the ground by -g.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, mat_mul, mul, mul_t, scale, sub, sym_mul
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.inverse import add_armature
from chasles.relative.joint import along_screws, constant_position, placement, store_felt, turned
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

# of each link, and first of the ground: `rotation` in space, `relative` and `position` in the parent
BLEND = layout("BLEND", rotation=9, relative=9, position=3, spin=3, spin_rate=3, acceleration=3, torque=3, force=3)


@kernel
def start_at_ground(numbers, work, z):
    """The ground does not turn and is accelerated against gravity."""
    one, zero = like(1.0, z), like(0.0, z)
    none, g = (zero, zero, zero), vector_at(numbers, GRAVITY.vector)
    store9(work, BLEND.rotation, (one, zero, zero, zero, one, zero, zero, zero, one))
    store3(work, BLEND.spin, none)
    store3(work, BLEND.spin_rate, none)
    store3(work, BLEND.acceleration, (like(-g[0], z), like(-g[1], z), like(-g[2], z)))
    store6(work, BLEND.torque, (none, none))


@kernel
def newton_euler_mixed(inertia, R, w, aw, al):
    """Torque in body axes and force in world axes of a link's motion: mueller2018 eqs. (56)-(58)."""
    mass, moment, rotational = inertia
    torque = add(sym_mul(rotational, aw), cross(w, sym_mul(rotational, w)))
    swing = add(cross(aw, moment), cross(w, cross(w, moment)))
    return add(torque, cross(moment, mul_t(R, al))), add(scale(mass, al), mul(R, swing))


@algorithm(work=f"{BLEND.size}*slots", q="nq", v="nv", a="nv", wrenches="6*links", tau=out("nv"))
def inverse_dynamics_mixed(topology, numbers, q, v, a, wrenches, tau, work, z):
    """tau of the motion (q, v, a). `wrenches` on the links, in their frames at their origins, may be empty."""
    n = links_of(topology)
    start_at_ground(numbers, work, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * BLEND.size, (parent + 1) * BLEND.size
        P = load9(work, base + BLEND.rotation, z)
        w, aw = load3(work, base + BLEND.spin, z), load3(work, base + BLEND.spin_rate, z)
        al = load3(work, base + BLEND.acceleration, z)
        if kind == REVOLUTE:
            X, x = turned(numbers, c, load(q, iq, z), z), vector_at(numbers, c + CONSTANT.position)
            R, speed = mat_mul(P, X), load(v, iv, z)
            al = add(al, mul(P, add(cross(aw, x), cross(w, cross(w, x)))))
            w, aw = mul_t(X, w), mul_t(X, aw)
            aw = (aw[0] + w[1] * speed, aw[1] - w[0] * speed, aw[2] + load(a, iv, z))
            w = (w[0], w[1], w[2] + speed)
        else:
            X, place = placement(numbers, c, kind, q, iq, z)
            store3(work, here + BLEND.position, place)
            R = mat_mul(P, X)
            joint, rate = along_screws(numbers, c, kind, v, iv, z), along_screws(numbers, c, kind, a, iv, z)
            al = add(al, mul(P, add(cross(aw, place), cross(w, cross(w, place)))))
            w, aw = mul_t(X, w), mul_t(X, aw)
            al = add(al, mul(R, add(cross(add(add(w, w), joint[0]), joint[1]), rate[1])))
            aw = add(aw, add(cross(w, joint[0]), rate[0]))
            w = add(w, joint[0])
        torque, force = newton_euler_mixed(inertia_of(numbers, c), R, w, aw, al)
        if wrenches.shape[0] > 0:
            applied = load6(wrenches, 6 * i, z)
            torque, force = sub(torque, applied[0]), sub(force, mul(R, applied[1]))
        store9(work, here + BLEND.rotation, R)
        store9(work, here + BLEND.relative, X)
        store3(work, here + BLEND.spin, w)
        store3(work, here + BLEND.spin_rate, aw)
        store3(work, here + BLEND.acceleration, al)
        store6(work, here + BLEND.torque, (torque, force))
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * BLEND.size, (parent + 1) * BLEND.size
        torque, force = load6(work, here + BLEND.torque, z)
        if kind == REVOLUTE:
            store(tau, iv, torque[2])
            p = constant_position(numbers, c, z)
        else:
            R = load9(work, here + BLEND.rotation, z)
            store_felt(numbers, c, kind, (torque, mul_t(R, force)), tau, iv, z)
            p = load3(work, here + BLEND.position, z)
        seen = mul_t(load9(work, base + BLEND.rotation, z), force)
        add3(work, base + BLEND.torque, add(mul(load9(work, here + BLEND.relative, z), torque), cross(p, seen)))
        add3(work, base + BLEND.force, force)
    add_armature(topology, numbers, a, tau, z)
