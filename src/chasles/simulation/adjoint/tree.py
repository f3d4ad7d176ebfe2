"""Cotangents through the equations of motion of a tree, O(n): whatever the number of parameters is.

The accelerations solve M a = τ - h. For a cotangent ā of them, with μ = M⁻¹ ā (from the articulated-body inertias that
the field left behind), all derivatives are those of the number

    s = μᵀ (τ - Q(q, v, a)) = μᵀ τ + Σ ξ·W - Σ (I ξ)·A + (I V)·[ξ, V]

at constant μ and a: twists V, accelerations A and ξ, the twists of velocities μ, go outward, their cotangents inward.
Of each link they give the derivatives by its ten inertial numbers, which s is linear in, and by its place on its
parent.
Forces W and τ are left to dual numbers, if there are any.
"""

from __future__ import annotations

from functools import cache

from chasles.force.law_tangent import DUALS
from chasles.force.table import SCRATCH
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array, invoke
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    force_cross,
    inertia_mul,
    motion_cross,
    mul,
    mul_t,
    scale,
    sub,
)
from chasles.kernel.dual import as_duals
from chasles.kernel.functions import sincos
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, layout, load3, load6, store3, store6
from chasles.lie import quaternion
from chasles.relative.forward import LIMB, carried
from chasles.relative.free_velocity import to_body
from chasles.relative.joint import along_screws, load_quaternion, screw_weights
from chasles.relative.kinematics import STATE
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    GRAVITY,
    PRISMATIC,
    SPHERICAL,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)
from chasles.simulation.adjoint.by_duals import pull
from chasles.simulation.adjoint.mass import place_of, solve_mass
from chasles.simulation.tree.motion import PART, tables_of

# of each link, and first of the ground: twist, acceleration, and the cotangents of twist, acceleration, ξ and, where
# something looks at it (`loop`), of the pose in space
BACK = layout("BACK", twist=6, acceleration=6, twist_bar=6, acceleration_bar=6, xi_bar=6, pose_bar=6)


@kernel
def add6(array, at, x):
    add3(array, at, x[0])
    add3(array, at + 3, x[1])


@kernel
def both(x, y):
    """Sum of two screws."""
    return add(x[0], y[0]), add(x[1], y[1])


@kernel
def less(x, y):
    return sub(x[0], y[0]), sub(x[1], y[1])


@kernel
def add_felt(numbers, c, kind, wrench, weight, out, iv):
    """out += weight Sᵀ W."""
    if kind == SPHERICAL or kind == FREE:
        add3(out, iv, scale(weight, wrench[0]))
        if kind == FREE:
            add3(out, iv + 3, scale(weight, wrench[1]))
    else:
        s, t = screw_weights(numbers, c, kind)
        out[iv] += weight * (s * wrench[0][2] + t * wrench[1][2])


@kernel
def outward(topology, numbers, v, limbs, work):
    """Twists of all links, and their accelerations, which are in `limbs`; no cotangents yet."""
    for k in range(BACK.size):
        work[k] = 0.0
    for i in range(links_of(topology)):
        parent, kind, _, iv = link(topology, i)
        here, base = (i + 1) * BACK.size, (parent + 1) * BACK.size
        R, p = place_of(numbers, i, kind, limbs)
        joint = along_screws(numbers, constants_of(i), kind, v, iv, 0.0)
        twist = both(carried(R, p, load6(work, base + BACK.twist, 0.0)), joint)
        store6(work, here + BACK.twist, twist)
        store6(work, here + BACK.acceleration, load6(limbs, (i + 1) * LIMB.size + LIMB.motion, 0.0))
        for k in range(BACK.twist_bar, BACK.size):
            work[here + k] = 0.0


@kernel
def add_inertial(g, at, x, y, weight):
    """g += weight times the derivatives of xᵀ I y by the ten numbers of I."""
    (w, u), (a, b) = x, y
    g[at] += weight * dot(u, b)
    add3(g, at + 1, scale(weight, add(cross(b, w), cross(u, a))))
    g[at + 4] += weight * w[0] * a[0]
    g[at + 5] += weight * (w[0] * a[1] + w[1] * a[0])
    g[at + 6] += weight * (w[0] * a[2] + w[2] * a[0])
    g[at + 7] += weight * w[1] * a[1]
    g[at + 8] += weight * (w[1] * a[2] + w[2] * a[1])
    g[at + 9] += weight * w[2] * a[2]


@kernel
def pull_own(numbers, i, limbs, work, g, weight):
    """Cotangents that a link's own inertia gives its twist, acceleration and ξ."""
    here, inertia = (i + 1) * BACK.size, inertia_of(numbers, constants_of(i))
    twist, A = load6(work, here + BACK.twist, 0.0), load6(work, here + BACK.acceleration, 0.0)
    xi = load6(limbs, (i + 1) * LIMB.size + LIMB.motion, 0.0)
    momentum, turned = inertia_mul(inertia, twist), motion_cross(xi, twist)
    change, push = inertia_mul(inertia, A), force_cross(twist, momentum)
    add6(work, here + BACK.acceleration_bar, inertia_mul(inertia, xi))
    add6(work, here + BACK.xi_bar, both(change, push))
    add6(work, here + BACK.twist_bar, less(inertia_mul(inertia, turned), force_cross(xi, momentum)))
    at = constants_of(i) + CONSTANT.mass
    add_inertial(g, at, xi, A, weight)
    add_inertial(g, at, twist, turned, weight)


@kernel
def in_base(numbers, c, kind, q, iq, wrench):
    """A cotangent of a link's place as that of its place at q = 0, to which the joint's motion is added."""
    torque, force = wrench
    if kind == SPHERICAL or kind == FREE:
        R = quaternion.to_matrix(load_quaternion(q, iq, 0.0))
        torque, force = mul(R, torque), mul(R, force)
        return (add(torque, cross(load3(q, iq + 4, 0.0), force)) if kind == FREE else torque), force
    slid = q[iq] if kind == PRISMATIC else q[iq] * numbers[c + CONSTANT.pitch]
    if kind != PRISMATIC:
        s, k = sincos(q[iq])
        torque = (k * torque[0] - s * torque[1], s * torque[0] + k * torque[1], torque[2])
        force = (k * force[0] - s * force[1], s * force[0] + k * force[1], force[2])
    return (torque[0] - slid * force[1], torque[1] + slid * force[0], torque[2]), force


@kernel
def add_place(numbers, c, wrench, g, at, weight):
    """g += weight times the derivatives by the numbers of a link's rotation and position at q = 0."""
    torque, force = wrench
    for r in range(3):
        row = vector_at(numbers, c + 3 * r)
        add3(g, at + c + 3 * r, scale(0.5 * weight, cross(row, torque)))
        g[at + c + CONSTANT.position + r] += weight * dot(row, force)


@kernel
def add_turn(q, iq, torque, force, kind, weight, y_bar):
    """Cotangents of the numbers of a quaternion, and of a free joint's position, from those along q exp(δ)."""
    w, x = q[iq], load3(q, iq + 1, 0.0)
    y_bar[iq] -= 2.0 * weight * dot(x, torque)
    add3(y_bar, iq + 1, scale(2.0 * weight, add_scaled(cross(x, torque), w, torque)))
    if kind == FREE:
        R = quaternion.to_matrix(load_quaternion(q, iq, 0.0))
        add3(y_bar, iq + 4, scale(weight, mul(R, force)))


@kernel
def hand_on(R, p, bar, work, at):
    """Give a cotangent to the parent."""
    force = mul(R, bar[1])
    add6(work, at, (add(mul(R, bar[0]), cross(p, force)), force))


@kernel
def pull_link(topology, numbers, i, q, v, a, mu, limbs, work, v_bar, y_bar, g, first, posed):
    """The cotangents of a link go to its joint, to its numbers, and on to its parent: all of -s. posed: whether there
    are some of poses in space."""
    parent, kind, iq, iv = link(topology, i)
    c, here, base = constants_of(i), (i + 1) * BACK.size, (parent + 1) * BACK.size
    twist, A = load6(work, here + BACK.twist, 0.0), load6(work, here + BACK.acceleration, 0.0)
    xi = load6(limbs, (i + 1) * LIMB.size + LIMB.motion, 0.0)
    joint, rate = along_screws(numbers, c, kind, v, iv, 0.0), along_screws(numbers, c, kind, a, iv, 0.0)
    A_bar, xi_bar = load6(work, here + BACK.acceleration_bar, 0.0), load6(work, here + BACK.xi_bar, 0.0)
    V_bar = both(load6(work, here + BACK.twist_bar, 0.0), force_cross(joint, A_bar))
    turned = force_cross(twist, A_bar)
    add_felt(numbers, c, kind, less(V_bar, turned), -1.0, v_bar, iv)
    before = less(A, both(rate, motion_cross(twist, joint)))  # the parent's, in this frame
    place = force_cross(less(twist, joint), V_bar)
    place = both(place, force_cross(before, A_bar))
    place = both(place, force_cross(less(xi, along_screws(numbers, c, kind, mu, iv, 0.0)), xi_bar))  # of s, negative
    if posed:
        place = less(place, load6(work, here + BACK.pose_bar, 0.0))
    if kind == SPHERICAL or kind == FREE:
        add_turn(q, iq, place[0], place[1], kind, 1.0, y_bar)
    else:
        s, t = screw_weights(numbers, c, kind)
        y_bar[iq] += s * place[0][2] + t * place[1][2]
        g[first + c + CONSTANT.armature] -= mu[iv] * a[iv]
        if kind != PRISMATIC:
            by_pitch = V_bar[1][2] * v[iv] + A_bar[1][2] * a[iv] + xi_bar[1][2] * mu[iv] - turned[1][2] * v[iv]
            g[first + c + CONSTANT.pitch] += place[1][2] * q[iq] - by_pitch
    add_place(numbers, c, in_base(numbers, c, kind, q, iq, place), g, first, 1.0)
    R, p = place_of(numbers, i, kind, limbs)
    hand_on(R, p, V_bar, work, base + BACK.twist_bar)
    hand_on(R, p, A_bar, work, base + BACK.acceleration_bar)
    hand_on(R, p, xi_bar, work, base + BACK.xi_bar)
    if posed:
        hand_on(R, p, load6(work, here + BACK.pose_bar, 0.0), work, base + BACK.pose_bar)


@kernel
def free_rates_back(topology, q, v, a, bar, a_bar, v_bar, y_bar, stopped):
    """Cotangents through w' = R (v' + ω x v) of free joints (`free_velocity.rates_from_body`): a holds w' there, and
    becomes v'. `stopped`: what is on the ground has v = 0 there."""
    for i in range(links_of(topology)):
        parent, kind, iq, iv = link(topology, i)
        if kind == FREE:
            R = quaternion.to_matrix(load_quaternion(q, iq, 0.0))
            rate, turned = mul_t(R, load3(a, iv + 3, 0.0)), mul_t(R, load3(bar, iv + 3, 0.0))
            add_turn(q, iq, cross(rate, turned), (0.0, 0.0, 0.0), SPHERICAL, 1.0, y_bar)
            store3(a_bar, iv + 3, turned)
            if parent >= 0 or not stopped:
                spin, speed = load3(v, iv, 0.0), load3(v, iv + 3, 0.0)
                add3(v_bar, iv, cross(speed, turned))
                add3(v_bar, iv + 3, cross(turned, spin))
                rate = sub(rate, cross(spin, speed))
            store3(a, iv + 3, rate)


@kernel
def free_velocities_back(topology, q, v, v_bar, y_bar, nq):
    """Cotangents through v = Rᵀ w of free joints, and of all other velocities as they are."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == FREE:
            R, bar = quaternion.to_matrix(load_quaternion(q, iq, 0.0)), load3(v_bar, iv + 3, 0.0)
            add_turn(q, iq, cross(bar, load3(v, iv + 3, 0.0)), (0.0, 0.0, 0.0), SPHERICAL, 1.0, y_bar)
            store3(v_bar, iv + 3, mul(R, bar))
    for k in range(v_bar.shape[0]):
        y_bar[nq + k] += v_bar[k]


@kernel
def stop_roots(topology, x):
    """Roots are looked at from their own place: linear velocities count as zero, and have no cotangent."""
    for i in range(links_of(topology)):
        parent, kind, _, iv = link(topology, i)
        if kind == FREE and parent < 0:
            store3(x, iv + 3, (0.0, 0.0, 0.0))


@kernel
def pull_forces(t, nq, nv, links, x, limbs, mu, v_bar, y_bar, g, memory):
    """Cotangents of q, v and of the directions of their numbers, from forces and wrenches: of μᵀ τ + Σ ξ·W."""
    n = nq + nv
    bars, x_bar = x[n : 2 * n], x[2 * n :]  # the cotangents of the state, and those of forces
    for k in range(n):
        bars[k] = 0.0
    for k in range(nv):
        x_bar[k] = mu[k]
    for i in range(links):
        for k in range(6):
            x_bar[nv + 6 * i + k] = limbs[(i + 1) * LIMB.size + LIMB.motion + k]
    pull(t, x[:n], x_bar, bars, g, memory)
    for k in range(nq):
        y_bar[k] += bars[k]
    for k in range(nv):
        v_bar[k] += bars[nq + k]


@kernel(allocates=True)
def pull_motion(t, y, f, bar, y_bar, g, p, memory):
    """All of it, for the state whose field f was the last that was computed with p."""
    integers = as_integer_array(p)
    topology, numbers, table, _, _ = tables_of(integers, p)
    nq, nv, links = integers[PART.coordinates], integers[PART.velocities], integers[PART.links]
    free, limbs, q = integers[PART.free] != 0, p[integers[PART.work] :], y[:nq]
    size = BACK.size * (links + 1)
    room = memory[memory.shape[0] - size - 8 * nv - 2 * nq - 6 * links :]
    work, v, a, mu = room[:size], room[size : size + nv], room[size + nv : size + 2 * nv], room[size + 2 * nv :]
    a_bar, v_bar, x = room[size + 3 * nv :], room[size + 4 * nv : size + 5 * nv], room[size + 5 * nv :]
    for k in range(nv):
        v[k], a[k], a_bar[k], v_bar[k] = y[nq + k], f[nv + k], bar[nv + k], 0.0
        y_bar[nq + k] += bar[k]
    if free:
        to_body(topology, q, v, v, 0.0)
    for k in range(nq):
        x[k] = q[k]
    for k in range(nv):
        x[nq + k] = v[k]
    if free:
        stop_roots(topology, v)
        free_rates_back(topology, q, v, a, bar[nv:], a_bar, v_bar, y_bar, True)
    outward(topology, numbers, v, limbs, work)
    solve_mass(topology, numbers, limbs, a_bar, mu)
    acting = table[0] + table[1] != 0
    wrenches = limbs[(LIMB.size + STATE.size) * (links + 1) :]
    for k in range(nv):
        g[k] += mu[k]
    for i in range(links - 1, -1, -1):
        if acting:
            for k in range(6):
                work[(i + 1) * BACK.size + BACK.xi_bar + k] -= wrenches[6 * i + k]
        pull_own(numbers, i, limbs, work, g[nv:], -1.0)
        pull_link(topology, numbers, i, q, v, a, mu, limbs, work, v_bar, y_bar, g, nv, False)
    for k in range(3):  # the ground accelerates by -g
        g[nv + GRAVITY.vector + k] += work[BACK.acceleration_bar + 3 + k]
    if free:
        stop_roots(topology, v_bar)
    if acting:
        pull_forces(t, nq, nv, links, x, limbs, mu, v_bar, y_bar, g[nv + numbers.shape[0] :], memory)
    if free:
        free_velocities_back(topology, q, x[nq : nq + nv], v_bar, y_bar, nq)
    else:
        for k in range(nv):
            y_bar[nq + k] += v_bar[k]


@native
def pull_tree(t, y, f, bar, y_bar, g, p, memory, sizes):
    """`pull_motion` through pointers; sizes: of y, bar, g, p and memory."""
    n = carray(sizes, (5,))
    state, given, found = carray(y, (n[0],)), carray(bar, (n[1],)), carray(y_bar, (n[0],))
    pull_motion(
        t, state, carray(f, (n[1],)), given, found, carray(g, (n[2],)), carray(p, (n[3],)), carray(memory, (n[4],))
    )


@native
def forces_tangent(t, y, p, out, y_size, p_size, out_size):
    """(tau, wrenches) of all forces on duals, from (q, v); p as `TangentTables` packs it."""
    packed, x, result = carray(p, WIDTH * p_size), carray(y, y_size), carray(out, out_size)
    integers = as_integer_array(packed)
    nq, nv, links = integers[PART.coordinates], integers[PART.velocities], integers[PART.links]
    topology, table = (
        integers[PART.size : integers[PART.table]],
        integers[integers[PART.table] : integers[PART.numbers]],
    )
    numbers = as_duals(packed[integers[PART.numbers] : integers[PART.values]])
    values = as_duals(packed[integers[PART.values] : integers[PART.control]])
    space = as_duals(packed[integers[PART.work] :])
    at = LIMB.size * (links + 1)
    states, scratch = space[at : at + STATE.size * (links + 1)], space[at + STATE.size * (links + 1) :]
    for k in range(nv):
        result[k] = 0.0
    invoke(
        *(integers[PART.act], t, topology, numbers, table, values, x[:nq], x[nq:]),
        *(result[:nv], result[nv:], states, scratch, scratch[SCRATCH:], integers[PART.sizes : PART.sizes + 8]),
    )


@cache
def forces_address() -> int:
    """Address of `forces_tangent`, compiled now or loaded from the cache."""
    return address_of(forces_tangent, NUMBER, DUALS, NUMBERS, DUALS, *(INTEGER,) * 3)


@cache
def tree_address() -> int:
    """Address of `pull_tree`, compiled now or loaded from the cache."""
    return address_of(pull_tree, NUMBER, *(NUMBERS,) * 7, INTEGERS)


def room_size(mechanism: Mechanism) -> int:
    """Numbers of workspace at the end of the memory."""
    links = mechanism.tables.links
    return BACK.size * (links + 1) + 8 * mechanism.nv + 2 * mechanism.nq + 6 * links
