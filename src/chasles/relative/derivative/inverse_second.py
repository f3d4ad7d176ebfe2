"""Second derivatives of inverse dynamics, O(n d²) for depth d.

The derivatives of `inverse` once more, by the same rules (see `gather`). Let joint m move. All that it carries is
displaced along S_m, which changes no product of what is displaced with it; beyond the displacement, of what m carries

    δψ_j' = ψ_m' × S_j                        δψ_j'' = ψ_m'' × S_j + 2 ψ_m' × ψ_j'
    δ(2B) = G(I, ψ_m')                        δF = I ψ_m'' + 2B ψ_m'
    G(I, w) u = w ×* I u - I (w × u) + u ×* I w, so that 2B_i = G(I_i, V_i)

and with the velocity v_m, for joints j below m,

    ∂ψ_j'/∂v_m = S_m × S_j        ∂ψ_j''/∂v_m = χ_m × S_j + 2 S_m × ψ_j'        ∂(2B)/∂v_m = G(I, S_m)

singh2022 has these tensors in another form. The three roles that a velocity r can have when it is
the lowest of a triple are three kernels: the force that changes, the first variable, the second.

Derivatives are taken along q exp(δ): first of Q, then of the first derivative. Within spherical and free joints, whose
displacements do not commute, the order counts: ∂²Q/∂q_j∂q_m - ∂²Q/∂q_m∂q_j is ∂Q/∂q along the bracket [e_m, e_j].
"""

from __future__ import annotations

from chasles.kernel.algebra import force_cross, motion_cross
from chasles.kernel.lanes import store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6
from chasles.relative.algorithm import algorithm, out
from chasles.relative.coriolis import dot6
from chasles.relative.derivative.factor import after_run, next_run
from chasles.relative.derivative.gather import (
    DRIFT,
    DRIFT_RATE,
    LOADED,
    SCREW,
    SWING,
    block_at,
    gather,
    twice_b,
)
from chasles.relative.derivative.inverse import DERIVATIVE_WORK
from chasles.relative.derivative.mass import sub6
from chasles.relative.inverse_spatial import add6
from chasles.relative.mass import composite_momentum
from chasles.relative.tables import (
    HEAD,
    link,
    link_of_velocity,
    links_of,
    velocities_of,
    velocity_before,
)


@kernel
def scale6(s, a):
    return (s * a[0][0], s * a[0][1], s * a[0][2]), (s * a[1][0], s * a[1][1], s * a[1][2])


@kernel
def screw_of(topology, work, block, k, z):
    """S, ψ', ψ'' or χ of velocity k."""
    return load6(work, block_at(topology, block) + 6 * k, z)


@kernel
def joint_of(topology, k):
    """First velocity of the joint that velocity k belongs to, and the one after its last."""
    _, kind, _, iv = link(topology, link_of_velocity(topology, k))
    return iv, iv + velocities_of(kind)


@kernel
def g_operator(work, here, w, u, z):
    """G(I, w) u with the inertia of all that a link carries."""
    total = sub6(
        force_cross(w, composite_momentum(work, here, u, z)),
        composite_momentum(work, here, motion_cross(w, u), z),
    )
    return add6(total, force_cross(u, composite_momentum(work, here, w, z)))


@kernel
def g_transposed(work, here, S, IS, w, z):
    """The wrench x with x . u = S . G(I, w) u for all u."""
    total = sub6(force_cross(w, IS), composite_momentum(work, here, motion_cross(w, S), z))
    return sub6(total, force_cross(S, composite_momentum(work, here, w, z)))


@kernel
def force_row(topology, r, m, end, S, IS, H, here, qq, vv, qv, aq, work, z):
    """Force r is the lowest: second variable m, first variables j on the way to the ground, r's own joint included."""
    nv = topology[HEAD.velocities]
    own, after = joint_of(topology, m)
    Sm, drift = screw_of(topology, work, SCREW, m, z), screw_of(topology, work, DRIFT, m, z)
    rate, swing = screw_of(topology, work, DRIFT_RATE, m, z), screw_of(topology, work, SWING, m, z)
    a, b = g_transposed(work, here, S, IS, drift, z), g_transposed(work, here, S, IS, Sm, z)
    turned, push = force_cross(Sm, IS), force_cross(Sm, H)
    below = add6(force_cross(rate, IS), force_cross(drift, H))  # of S_j where m carries j
    below_drift = sub6(a, scale6(2.0, force_cross(drift, IS)))
    swinging, drifting = add6(force_cross(swing, IS), push), sub6(b, scale6(2.0, turned))
    above_drift = add6(a, push)
    k = end - 1
    while k != -1:
        first, last = next_run(topology, k)
        for j in range(first, last + 1):
            Sj, drift_j = screw_of(topology, work, SCREW, j, z), screw_of(topology, work, DRIFT, j, z)
            at = (r * nv + j) * nv + m
            if j >= own:  # m carries j, or they are of one joint
                store(qq, at, dot6(below_drift, drift_j) - dot6(below, Sj))
                weight = 2.0 if j >= after else 1.0
                store(vv, at, dot6(b, Sj) - weight * dot6(turned, Sj))
            else:
                rate_j = screw_of(topology, work, DRIFT_RATE, j, z)
                store(qq, at, dot6(turned, rate_j) + dot6(above_drift, drift_j))
                store(vv, at, dot6(b, Sj))
                value = dot6(turned, Sj)
                store(aq, at, value)
                store(aq, (j * nv + r) * nv + m, value)
            if j >= after:
                store(qv, at, dot6(drifting, drift_j) - dot6(swinging, Sj))
            else:
                store(qv, at, dot6(b, drift_j))
        k = after_run(topology, k, first)


@kernel
def first_variable(topology, r, m, start, S, drift, P, here, qq, vv, qv, work, z):
    """The first variable r is the lowest: second variable m, forces above r, from `start` on."""
    nv = topology[HEAD.velocities]
    own, after = joint_of(topology, m)
    Sm, drift_m = screw_of(topology, work, SCREW, m, z), screw_of(topology, work, DRIFT, m, z)
    rate_m, swing_m = screw_of(topology, work, DRIFT_RATE, m, z), screw_of(topology, work, SWING, m, z)
    change = add6(composite_momentum(work, here, rate_m, z), twice_b(work, here, drift_m, z)[0])
    inner = add6(motion_cross(rate_m, S), scale6(2.0, motion_cross(drift_m, drift)))
    change = add6(force_cross(S, change), composite_momentum(work, here, inner, z))
    change = add6(change, g_operator(work, here, drift_m, drift, z))
    change = add6(change, twice_b(work, here, motion_cross(drift_m, S), z)[0])
    moved = add6(change, force_cross(Sm, P))
    push = add6(twice_b(work, here, Sm, z)[0], composite_momentum(work, here, swing_m, z))
    mixed = add6(force_cross(S, push), g_operator(work, here, Sm, drift, z))
    across = motion_cross(Sm, S)
    if r >= after:  # m carries r
        inner = add6(motion_cross(swing_m, S), scale6(2.0, motion_cross(Sm, drift)))
        mixed = add6(mixed, add6(composite_momentum(work, here, inner, z), twice_b(work, here, across, z)[0]))
    pair = add6(g_operator(work, here, Sm, S, z), composite_momentum(work, here, across, z))  # of one joint
    k = start
    while k != -1:
        first, last = next_run(topology, k)
        for s in range(first, last + 1):
            screw, at = screw_of(topology, work, SCREW, s, z), (s * nv + r) * nv + m
            store(qq, at, dot6(screw, moved) if s < own else dot6(screw, change))
            store(qv, at, dot6(screw, mixed))
            if r < after:
                store(vv, at, dot6(screw, pair))
        k = after_run(topology, k, first)


@kernel
def second_variable(topology, r, j, start, S, drift, P, C, here, qq, vv, qv, aq, work, z):
    """The second variable r is the lowest: first variable j, and forces, above r, from `start` on."""
    nv = topology[HEAD.velocities]
    own, _ = joint_of(topology, j)
    Sj, drift_j = screw_of(topology, work, SCREW, j, z), screw_of(topology, work, DRIFT, j, z)
    rate_j = screw_of(topology, work, DRIFT_RATE, j, z)
    moved = add6(composite_momentum(work, here, rate_j, z), twice_b(work, here, drift_j, z)[0])
    moved = sub6(force_cross(S, moved), composite_momentum(work, here, motion_cross(S, rate_j), z))
    moved = sub6(moved, twice_b(work, here, motion_cross(S, drift_j), z)[0])
    moved = add6(moved, g_operator(work, here, drift, drift_j, z))
    below = add6(moved, force_cross(Sj, P))
    mixed = g_operator(work, here, S, drift_j, z)
    mixed_below = add6(mixed, force_cross(Sj, C))
    both = g_operator(work, here, S, Sj, z)
    inertia = force_cross(S, composite_momentum(work, here, Sj, z))
    inertia = sub6(inertia, composite_momentum(work, here, motion_cross(S, Sj), z))
    k = start
    while k != -1:
        first, last = next_run(topology, k)
        for s in range(first, last + 1):
            screw, at = screw_of(topology, work, SCREW, s, z), (s * nv + j) * nv + r
            value = dot6(screw, both)
            store(vv, at, value)
            store(vv, (s * nv + r) * nv + j, value)
            store(aq, at, dot6(screw, inertia))
            store(qq, at, dot6(screw, below) if s < own else dot6(screw, moved))
            store(qv, at, dot6(screw, mixed_below) if s < own else dot6(screw, mixed))
        k = after_run(topology, k, first)


@kernel
def fill(topology, r, iv, end, here, qq, vv, qv, aq, work, z):
    """All triples in which velocity r is the lowest."""
    S, drift = screw_of(topology, work, SCREW, r, z), screw_of(topology, work, DRIFT, r, z)
    IS = composite_momentum(work, here, S, z)
    B, H = twice_b(work, here, S, z)
    C = add6(B, composite_momentum(work, here, screw_of(topology, work, SWING, r, z), z))
    P = add6(force_cross(S, load6(work, here + LOADED.wrench, z)), twice_b(work, here, drift, z)[0])
    P = add6(P, composite_momentum(work, here, screw_of(topology, work, DRIFT_RATE, r, z), z))
    k, above = end - 1, velocity_before(topology, iv)
    while k != -1:
        first, last = next_run(topology, k)
        for s in range(first, last + 1):
            force_row(topology, r, s, end, S, IS, H, here, qq, vv, qv, aq, work, z)
            first_variable(topology, r, s, above, S, drift, P, here, qq, vv, qv, work, z)
            if s < iv:
                second_variable(topology, r, s, above, S, drift, P, C, here, qq, vv, qv, aq, work, z)
        k = after_run(topology, k, first)


@algorithm(
    work=DERIVATIVE_WORK,
    q="nq",
    v="nv",
    a="nv",
    wrenches="6*links",
    qq=out("nv*nv*nv"),
    vv=out("nv*nv*nv"),
    qv=out("nv*nv*nv"),
    aq=out("nv*nv*nv"),
)
def inverse_second_derivatives(topology, numbers, q, v, a, wrenches, qq, vv, qv, aq, work, z):
    """∂²Q_k/∂q_j∂q_m, ∂²Q_k/∂v_j∂v_m, ∂²Q_k/∂q_j∂v_m, ∂²Q_k/∂a_j∂q_m at (k nv + j) nv + m.

    Entries that vanish for every q are not written: they are to be zero before.
    """
    gather(topology, numbers, q, v, a, wrenches, work, z)
    for i in range(links_of(topology)):
        _, kind, _, iv = link(topology, i)
        end = iv + velocities_of(kind)
        for r in range(iv, end):
            fill(topology, r, iv, end, i * LOADED.size, qq, vv, qv, aq, work, z)
