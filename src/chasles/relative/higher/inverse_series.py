"""Inverse dynamics with its time derivatives of any order, in hybrid representation, O(n k²) for k of them.

The recursion of mueller2018 eqs. (72)-(76), corrected, on power series in time: world axes, at the links' origins. With
the spins ω(t) and origins r(t) of the links from `series`, a link needs the wrench

    force = m (r'' - g) + h'',   torque = (Θ ω)' + h × (r'' - g)

with its first moment and inertia in world axes, h' = ω × h and Θ' = ω~Θ - Θω~. Inward only the reference point changes,
(76b), and a joint feels the part of the wrench along its axes R(t) e.
This is also a check of `inverse_rates`, with which it shares neither frames nor formulas.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, mul_t, scale, sub, sym_mul
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.articulated import rotate_symmetric
from chasles.relative.higher.series import ORDER, at_order, axis_at, move_links, slot
from chasles.relative.joint import screw_weights
from chasles.relative.mass import symmetric_of
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    GRAVITY,
    HEAD,
    REVOLUTE,
    SPHERICAL,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)

LOAD = layout("LOAD", torque=3, force=3)  # of each link, and first of the ground, for each order
PART = layout("PART", inertia=6, moment=3, lift=3)  # of one link, for each order: Θ, h, r'' - g


@kernel
def swung(w, J):
    """ω~J + (ω~J)ᵀ of a symmetric matrix, six numbers."""
    x, y, z = cross(w, (J[0], J[1], J[2])), cross(w, (J[1], J[3], J[4])), cross(w, (J[2], J[4], J[5]))
    return ((2.0 * x[0], x[1] + y[0], x[2] + z[0]), (2.0 * y[1], y[2] + z[1], 2.0 * z[2]))


@kernel
def inertia_at(work, at, z):
    return (*load3(work, at + PART.inertia, z), *load3(work, at + PART.inertia + 3, z))


@kernel
def turn_inertia(numbers, i, orders, results, work, parts, z):
    """Coefficients of first moment and inertia of link i in world axes, one more of the moment than of the inertia."""
    _, h, J = inertia_of(numbers, constants_of(i))
    R = load9(work, at_order(i, orders, 0) + ORDER.rotation, z)
    J = rotate_symmetric(R, symmetric_of(J, z))
    store6(work, parts + PART.inertia, ((J[0], J[1], J[2]), (J[3], J[4], J[5])))
    store3(work, parts + PART.moment, mul(R, h))
    for k in range(1, results + 2):
        at, part = parts + k * PART.size, 1.0 / k
        w = load3(work, at_order(i, orders, 0) + ORDER.spin, z)
        moment = cross(w, load3(work, at - PART.size + PART.moment, z))
        for m in range(1, k):
            w = load3(work, at_order(i, orders, m) + ORDER.spin, z)
            moment = add(moment, cross(w, load3(work, at - (m + 1) * PART.size + PART.moment, z)))
        store3(work, at + PART.moment, scale(part, moment))
        if k <= results:
            x, y = swung(load3(work, at_order(i, orders, 0) + ORDER.spin, z), inertia_at(work, at - PART.size, z))
            for m in range(1, k):
                w = load3(work, at_order(i, orders, m) + ORDER.spin, z)
                more = swung(w, inertia_at(work, at - (m + 1) * PART.size, z))
                x, y = add(x, more[0]), add(y, more[1])
            store6(work, at + PART.inertia, (scale(part, x), scale(part, y)))


@kernel
def load_link(numbers, i, orders, results, work, parts, loads, z):
    """Coefficients of the wrench that link i needs."""
    mass, g = numbers[constants_of(i) + CONSTANT.mass], vector_at(numbers, GRAVITY.vector)
    turn_inertia(numbers, i, orders, results, work, parts, z)
    for k in range(results):
        at = parts + k * PART.size
        lift = scale(k + 1.0, load3(work, at_order(i, orders, k + 1) + ORDER.velocity, z))
        if k == 0:
            lift = sub(lift, g)
        store3(work, at + PART.lift, lift)
        spin = sym_mul(inertia_at(work, parts, z), load3(work, at_order(i, orders, k + 1) + ORDER.spin, z))
        for m in range(1, k + 2):
            w = load3(work, at_order(i, orders, k + 1 - m) + ORDER.spin, z)
            spin = add(spin, sym_mul(inertia_at(work, parts + m * PART.size, z), w))
        torque = scale(k + 1.0, spin)
        for m in range(k + 1):
            lever = load3(work, at - m * PART.size + PART.moment, z)
            torque = add(torque, cross(lever, load3(work, parts + m * PART.size + PART.lift, z)))
        swing = load3(work, at + 2 * PART.size + PART.moment, z)
        force = add_scaled(scale(mass, lift), (k + 1.0) * (k + 2.0), swing)
        store6(work, loads + k * LOAD.size, (torque, force))


@kernel
def apply_wrenches(wrenches, i, n, given, orders, results, work, loads, z):
    """Take off the wrenches applied to link i, turned into world axes."""
    for k in range(results):
        for m in range(max(0, k - given + 1), k + 1):
            R = load9(work, at_order(i, orders, m) + ORDER.rotation, z)
            torque, force = load6(wrenches, 6 * ((k - m) * n + i), z)
            at = loads + k * LOAD.size
            add3(work, at + LOAD.torque, scale(-1.0, mul(R, torque)))
            add3(work, at + LOAD.force, scale(-1.0, mul(R, force)))


@kernel
def feel(numbers, i, kind, iv, nv, orders, k, work, loads, tau, z):
    """Coefficient k of the joint's generalized forces."""
    zero = like(0.0, z)
    if kind == SPHERICAL or kind == FREE:
        torque, force = (zero, zero, zero), (zero, zero, zero)
        for m in range(k + 1):
            R = load9(work, at_order(i, orders, m) + ORDER.rotation, z)
            wrench = load6(work, loads + (k - m) * LOAD.size, z)
            torque, force = add(torque, mul_t(R, wrench[0])), add(force, mul_t(R, wrench[1]))
        store3(tau, k * nv + iv, torque)
        if kind == FREE:
            store3(tau, k * nv + iv + 3, force)
        return
    turning, sliding = screw_weights(numbers, constants_of(i), kind)
    total = zero
    for m in range(k + 1):
        axis, load_at = axis_at(work, i, orders, m, z), loads + (k - m) * LOAD.size
        total = total + turning * dot(axis, load3(work, load_at + LOAD.torque, z))
        if kind != REVOLUTE:
            total = total + sliding * dot(axis, load3(work, load_at + LOAD.force, z))
    store(tau, k * nv + iv, total)


@algorithm(
    work=f"3*slots+{ORDER.size + LOAD.size}*slots*orders+{PART.size}*orders+{PART.size}",
    q="nq",
    rates="nv*orders",
    wrenches="6*links*loads",
    counts=fixed(whole=True),
    tau=out("nv*results"),
)
def inverse_series(topology, numbers, q, rates, wrenches, counts, tau, work, z):
    """Coefficients of tau, (order, nv), one less than of v are given.

    counts: number of results; how many coefficients of the wrenches on the links (in their frames, at their origins)
    are given: the others are zero.
    """
    n, nv, results = links_of(topology), topology[HEAD.velocities], counts[0]
    orders = results + 1
    move_links(topology, numbers, q, rates, orders, orders, counts[1] > 0, work, z)
    parts = slot(n, orders)
    first = parts + PART.size * (results + 2)
    zero = like(0.0, z)
    for k in range(LOAD.size * results):
        store(work, first + k, zero)
    for i in range(n):
        loads = first + (i + 1) * LOAD.size * results
        load_link(numbers, i, orders, results, work, parts, loads, z)
        apply_wrenches(wrenches, i, n, counts[1], orders, results, work, loads, z)
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        loads, base = first + (i + 1) * LOAD.size * results, first + (parent + 1) * LOAD.size * results
        for k in range(results):
            feel(numbers, i, kind, iv, nv, orders, k, work, loads, tau, z)
            torque, force = load6(work, loads + k * LOAD.size, z)
            for m in range(k + 1):
                arm = load3(work, at_order(i, orders, m) + ORDER.arm, z)
                torque = add(torque, cross(arm, load3(work, loads + (k - m) * LOAD.size + LOAD.force, z)))
            add3(work, base + k * LOAD.size + LOAD.torque, torque)
            add3(work, base + k * LOAD.size + LOAD.force, force)
    if topology[HEAD.armatures] > 0:
        for i in range(n):
            armature, iv = numbers[constants_of(i) + CONSTANT.armature], link(topology, i)[3]
            for k in range(results):
                at = k * nv + iv
                store(tau, at, load(tau, at, z) + (k + 1.0) * armature * load(rates, at + nv, z))
