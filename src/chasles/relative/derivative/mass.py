"""Derivatives of the mass matrix with respect to q, O(n d²) for depth d, and the inverse of the mass matrix.

When q_m moves, all that joint m carries is displaced as one along S_m. So of M_rs = S_s . I_r S_r, where joint r is the
lower one and I_r the inertia of all that it carries,

    ∂M_rs/∂q_m = 0                                     if joint m carries joint s, or is joint s
               = S_s . (S_m ×* I_r S_r)                if m is below s, and carries r or is r
               = S_s . (S_m ×* I_m - I_m S_m ×) S_r    if m is below r
"""

from __future__ import annotations

from chasles.kernel.algebra import force_cross, motion_cross, sub
from chasles.kernel.lanes import store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.coriolis import dot6
from chasles.relative.derivative.factor import COLUMNS, after_run, factor, invert, next_run
from chasles.relative.mass import COMPOSITE, columns_at, composite_momentum, gather_composites, mass_matrix
from chasles.relative.tables import (
    HEAD,
    link,
    link_of_velocity,
    links_of,
    velocities_of,
    velocity_before,
)

fill_mass_matrix = mass_matrix.kernel


@kernel
def first_of_joint(topology, k):
    """The first velocity of the joint that velocity k belongs to."""
    return link(topology, link_of_velocity(topology, k))[3]


@kernel
def sub6(a, b):
    return sub(a[0], b[0]), sub(a[1], b[1])


@kernel
def store_way(topology, r, m, start, wrench, work, derivative, z):
    """∂M_rs/∂q_m = ∂M_sr/∂q_m = S_s . wrench for all s on the way to the ground that begins with `start`."""
    nv, k = topology[HEAD.velocities], start
    while k != -1:
        first, last = next_run(topology, k)
        for s in range(first, last + 1):
            value = dot6(load6(work, columns_at(topology) + 6 * s, z), wrench)
            store(derivative, (r * nv + s) * nv + m, value)
            store(derivative, (s * nv + r) * nv + m, value)
        k = after_run(topology, k, first)


@kernel
def store_below(topology, r, end, IS, work, derivative, z):
    """∂M_rs/∂q_m for all m on the way from r to the ground, its joint's velocities up to `end` included."""
    k = end - 1
    while k != -1:
        first, last = next_run(topology, k)
        for m in range(first, last + 1):
            wrench = force_cross(load6(work, columns_at(topology) + 6 * m, z), IS)
            above = velocity_before(topology, first_of_joint(topology, m))
            store_way(topology, r, m, above, wrench, work, derivative, z)
        k = after_run(topology, k, first)


@kernel
def store_above(topology, m, start, S, work, here, derivative, z):
    """∂M_rs/∂q_m for all r and s above m, from `start` on."""
    k = start
    while k != -1:
        first, last = next_run(topology, k)
        for r in range(first, last + 1):
            screw = load6(work, columns_at(topology) + 6 * r, z)
            turned = force_cross(S, composite_momentum(work, here, screw, z))
            wrench = sub6(turned, composite_momentum(work, here, motion_cross(S, screw), z))
            store_way(topology, r, m, r, wrench, work, derivative, z)
        k = after_run(topology, k, first)


@algorithm(work=f"{COMPOSITE.size}*links+12*nv", q="nq", derivative=out("nv*nv*nv"))
def mass_matrix_derivative(topology, numbers, q, derivative, work, z):
    """∂M_rs/∂q_m at (r nv + s) nv + m. Entries that vanish for every q are not written: they are to be zero before."""
    gather_composites(topology, numbers, q, work, z)
    for i in range(links_of(topology)):
        _, kind, _, iv = link(topology, i)
        here, end = i * COMPOSITE.size, iv + velocities_of(kind)
        for r in range(iv, end):
            S = load6(work, columns_at(topology) + 6 * r, z)
            store_below(topology, r, end, composite_momentum(work, here, S, z), work, derivative, z)
            store_above(topology, r, velocity_before(topology, iv), S, work, here, derivative, z)


@algorithm(
    work=f"{COMPOSITE.size}*links+{12 + COLUMNS}*nv+4",
    q="nq",
    ends=fixed(whole=True),
    inverse=out("nv*nv"),
)
def inverse_mass_matrix(topology, numbers, q, ends, inverse, work, z):
    """M⁻¹ by rows; `ends` is from `subtree_ends`."""
    fill_mass_matrix(topology, numbers, q, inverse, work, z)
    factor(topology, inverse, z)
    invert(topology, ends, inverse, work, columns_at(topology) + 12 * topology[HEAD.velocities], z)
