"""Inverse dynamics with its time derivatives of any order, in hybrid representation, O(n k²) for k of them.

The recursion of 002 eqs. (72)-(76), corrected, on power series in time: world axes, at the links' origins. With the
rotations R(t) of the links and their origins r(t) from `series`, the points R x of a link give its wrench,

    force = m (r'' - g) + R'' h,   torque = R h × (r'' - g) + Σ_c (R Σ)_c × R''_c

where c counts columns, h is the first moment and Σ = ½ tr(Θ) I - Θ Binet's tensor; no spin is needed. Inward only the
reference point changes, (76b), and a joint feels the part of the wrench along its axes R(t) e.
This is also a check of `inverse_rates`, with which it shares neither frames nor formulas.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mat_mul, mul, mul_t, scale, sub
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.higher.series import ORDER, at_order, move_links, slot
from chasles.relative.joint import screw_weights
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
PART = layout("PART", spread=9, moment=3, lift=3)  # of one link, for each order: R Σ, R h, r'' - g


@kernel
def columns_crossed(A, B):
    """The sum of the cross products of the columns of A with those of B."""
    return (
        A[3] * B[6] - A[6] * B[3] + A[4] * B[7] - A[7] * B[4] + A[5] * B[8] - A[8] * B[5],
        A[6] * B[0] - A[0] * B[6] + A[7] * B[1] - A[1] * B[7] + A[8] * B[2] - A[2] * B[8],
        A[0] * B[3] - A[3] * B[0] + A[1] * B[4] - A[4] * B[1] + A[2] * B[5] - A[5] * B[2],
    )


@kernel
def load_link(numbers, i, orders, results, work, parts, loads, z):
    """Coefficients of the wrench that link i needs."""
    mass, h, J = inertia_of(numbers, constants_of(i))
    g, s = vector_at(numbers, GRAVITY.vector), 0.5 * (J[0] + J[3] + J[5])
    spread = (s - J[0], -J[1], -J[2], -J[1], s - J[3], -J[4], -J[2], -J[4], s - J[5])
    for k in range(results):
        at, R = parts + k * PART.size, load9(work, at_order(i, orders, k) + ORDER.rotation, z)
        lift = scale(k + 1.0, load3(work, at_order(i, orders, k + 1) + ORDER.velocity, z))
        if k == 0:
            lift = sub(lift, g)
        store9(work, at + PART.spread, mat_mul(R, spread))
        store3(work, at + PART.moment, mul(R, h))
        store3(work, at + PART.lift, lift)
        second = load9(work, at_order(i, orders, k + 2) + ORDER.rotation, z)
        force = add_scaled(scale(mass, lift), (k + 1.0) * (k + 2.0), mul(second, h))
        zero = like(0.0, z)
        torque = (zero, zero, zero)
        for m in range(k + 1):
            part = parts + (k - m) * PART.size
            twice = load9(work, at_order(i, orders, m + 2) + ORDER.rotation, z)
            swing = columns_crossed(load9(work, part + PART.spread, z), twice)
            torque = add_scaled(torque, (m + 1.0) * (m + 2.0), swing)
            lever = load3(work, parts + m * PART.size + PART.moment, z)
            torque = add(torque, cross(lever, load3(work, part + PART.lift, z)))
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
    """Coefficient k of the joint's generalised forces."""
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
        at, load_at = at_order(i, orders, m) + ORDER.rotation, loads + (k - m) * LOAD.size
        axis = (load(work, at + 2, z), load(work, at + 5, z), load(work, at + 8, z))
        total = total + turning * dot(axis, load3(work, load_at + LOAD.torque, z))
        if kind != REVOLUTE:
            total = total + sliding * dot(axis, load3(work, load_at + LOAD.force, z))
    store(tau, k * nv + iv, total)


@algorithm(
    work=f"3*slots+{ORDER.size + LOAD.size}*slots*orders+{PART.size}*orders",
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
    orders = results + 2
    move_links(topology, numbers, q, rates, results + 1, orders, work, z)
    parts = slot(n, orders)
    first = parts + PART.size * results
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
