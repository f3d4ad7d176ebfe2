"""Derivatives of inverse dynamics with respect to q, v and a, O(n d) for depth d.

With the sums of `gather` over all that a joint carries, I, 2B and the wrench F, for a joint r and a joint s between it
and the ground:

    ∂Q_s/∂q_r = S_s . (S_r ×* F_r + I_r ψ_r'' + 2B_r ψ_r')        ∂Q_r/∂q_s = I_r S_r . ψ_s'' + (2B_r)ᵀ S_r . ψ_s'
    ∂Q_s/∂v_r = S_s . (I_r χ_r + 2B_r S_r)                        ∂Q_r/∂v_s = I_r S_r . χ_s + (2B_r)ᵀ S_r . S_s
    ∂Q_s/∂a_r = S_s . I_r S_r = ∂Q_r/∂a_s

The formulas on the right hold for all pairs within a joint, too: its screws are displaced with all it carries, so the
wrench that they feel does not change with them. Wrenches applied to the links are constant in the links' frames.
"""

from __future__ import annotations

from chasles.kernel.algebra import dot, force_cross, sub
from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, store6
from chasles.relative.algorithm import algorithm, out
from chasles.relative.coriolis import dot6
from chasles.relative.derivative.gather import (
    DRIFT,
    DRIFT_RATE,
    LOADED,
    SCREW_NUMBERS,
    SWING,
    block_at,
    gather,
    screws_at,
    twice_b,
)
from chasles.relative.inverse_spatial import add6
from chasles.relative.mass import composite_momentum
from chasles.relative.tables import (
    CONSTANT,
    HEAD,
    constants_of,
    link,
    link_of_velocity,
    links_of,
    run_of_velocity,
    velocities_of,
    velocity_before,
)

DERIVATIVE_WORK = f"{LOADED.size}*links+{SCREW_NUMBERS}*nv"


@kernel
def fill(topology, r, iv, end, IS, H, P, C, work, dq, dv, da, z):
    """Row r along the way to the ground, from the velocities of r's own joint (up to `end`) on; column r above it."""
    nv, screws = topology[HEAD.velocities], screws_at(topology)
    drifts, rates, swings = block_at(topology, DRIFT), block_at(topology, DRIFT_RATE), block_at(topology, SWING)
    k = end - 1
    while k >= 0:
        first = run_of_velocity(topology, k)
        for s in range(first, k + 1):
            S, at = load6(work, screws + 6 * s, z), r * nv + s
            inertia = dot6(S, IS)
            store(da, at, inertia)
            store(dv, at, dot6(S, H) + dot6(load6(work, swings + 6 * s, z), IS))
            store(dq, at, dot6(load6(work, rates + 6 * s, z), IS) + dot6(load6(work, drifts + 6 * s, z), H))
            if s < iv:
                store(da, s * nv + r, inertia)
                store(dv, s * nv + r, dot6(S, C))
                store(dq, s * nv + r, dot6(S, P))
        k = velocity_before(topology, first)
    return k


@kernel
def fill_free(topology, r, f, IS, H, P, C, work, dq, dv, da, z):
    """The same for a free joint on the ground with velocities from f on: S is the identity, ψ' = 0, ψ'' of turning
    slides, of sliding is 0."""
    nv, rates = topology[HEAD.velocities], block_at(topology, DRIFT_RATE) + 6 * f + 3
    row, root = r * nv + f, link_of_velocity(topology, f) * LOADED.size
    swing = force_cross(load6(work, root + LOADED.twist, z), IS)
    store6(da, row, IS)
    store6(dv, row, (sub(H[0], swing[0]), sub(H[1], swing[1])))
    for k in range(3):
        store(dq, row + k, dot(load3(work, rates + 6 * k, z), IS[1]))
    store_column6(da, f * nv + r, nv, IS)
    store_column6(dv, f * nv + r, nv, C)
    store_column6(dq, f * nv + r, nv, P)


@kernel
def store_column6(matrix, at, nv, x):
    """Six numbers below each other."""
    store(matrix, at, x[0][0])
    store(matrix, at + nv, x[0][1])
    store(matrix, at + 2 * nv, x[0][2])
    store(matrix, at + 3 * nv, x[1][0])
    store(matrix, at + 4 * nv, x[1][1])
    store(matrix, at + 5 * nv, x[1][2])


@algorithm(
    work=DERIVATIVE_WORK,
    q="nq",
    v="nv",
    a="nv",
    wrenches="6*links",
    dq=out("nv*nv"),
    dv=out("nv*nv"),
    da=out("nv*nv"),
)
def inverse_derivatives(topology, numbers, q, v, a, wrenches, dq, dv, da, work, z):
    """∂Q/∂q, ∂Q/∂v and ∂Q/∂a = M by rows. Entries that vanish for every q are not written: they are to be zero before.

    `wrenches` on the links, in their frames at their origins, may be empty.
    """
    gather(topology, numbers, q, v, a, wrenches, work, z)
    screws, drifts = screws_at(topology), block_at(topology, DRIFT)
    rates, swings, nv = block_at(topology, DRIFT_RATE), block_at(topology, SWING), topology[HEAD.velocities]
    for i in range(links_of(topology)):
        _, kind, _, iv = link(topology, i)
        here, end = i * LOADED.size, iv + velocities_of(kind)
        for r in range(iv, end):
            S, drift = load6(work, screws + 6 * r, z), load6(work, drifts + 6 * r, z)
            IS = composite_momentum(work, here, S, z)
            B, H = twice_b(work, here, S, z)
            C = add6(B, composite_momentum(work, here, load6(work, swings + 6 * r, z), z))
            P = force_cross(S, load6(work, here + LOADED.wrench, z))
            P = add6(P, composite_momentum(work, here, load6(work, rates + 6 * r, z), z))
            P = add6(P, twice_b(work, here, drift, z)[0])
            ground = fill(topology, r, iv, end, IS, H, P, C, work, dq, dv, da, z)
            if ground < -1:
                fill_free(topology, r, -2 - ground, IS, H, P, C, work, dq, dv, da, z)
            own = r * nv + r
            store(da, own, load(da, own, z) + numbers[constants_of(i) + CONSTANT.armature])
