"""Christoffel symbols of the first kind, of trees whose joints have one freedom each: O(n d²) for depth d.

    Γ_ijk = Σ_l tr(Ĵ_i N_l (Ĵ_s Ĵ_r)ᵀ),   s and r the inner and the outer one of j and k

in a frame at rest, with the 4x4 matrices N = [[Σ, h], [hᵀ, m]] of second moments: mueller2018 eq. (87), corrected. The
sum over the links l beyond i, j and k is that of N, done first. If i is not beyond r, this is the work on J_i of the
wrench that the centripetal acceleration Ĵ_s Ĵ_r x of all points beyond r needs; else Ĵ_i N is formed once for i. The
frame is that of the first link of the tree.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, scale, sub, sym_mul
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6
from chasles.relative.algorithm import algorithm, out
from chasles.relative.mass import COMPOSITE, columns_at, gather_composites
from chasles.relative.tables import HEAD, link, link_of_velocity, parent_of


@kernel
def moments_of(work, here, z):
    """Mass, first moment and Binet's tensor of all that a link carries."""
    J = (*load3(work, here + COMPOSITE.inertia, z), *load3(work, here + COMPOSITE.inertia + 3, z))
    s = 0.5 * (J[0] + J[3] + J[5])
    spread = (s - J[0], -J[1], -J[2], s - J[3], -J[4], s - J[5])
    return load(work, here + COMPOSITE.mass, z), load3(work, here + COMPOSITE.moment, z), spread


@kernel
def centripetal_wrench(moments, inner, outer):
    """Wrench of the points x that have the accelerations ω_s × (ω_r × x + v_r)."""
    mass, h, spread = moments
    (ws, _), (wr, vr) = inner, outer
    base = cross(ws, vr)
    # axial((ω_r ω_sᵀ - ω_s·ω_r I) Σ) = (Σ ω_s) × ω_r, the second term being symmetric
    torque = add(cross(sym_mul(spread, ws), wr), cross(h, base))
    return torque, add(scale(mass, base), cross(ws, cross(wr, h)))


@kernel
def moment_matrix(moments, column):
    """Ĵ N as a 3x3 matrix and a vector."""
    mass, h, S = moments
    w, v = column
    x, y, z = cross(w, (S[0], S[1], S[2])), cross(w, (S[1], S[3], S[4])), cross(w, (S[2], S[4], S[5]))
    square = (
        *(x[0] + v[0] * h[0], y[0] + v[0] * h[1], z[0] + v[0] * h[2]),
        *(x[1] + v[1] * h[0], y[1] + v[1] * h[1], z[1] + v[1] * h[2]),
        *(x[2] + v[2] * h[0], y[2] + v[2] * h[1], z[2] + v[2] * h[2]),
    )
    return square, add_scaled(cross(w, h), mass, v)


@kernel
def store_pair(symbols, nv, i, j, k, value):
    store(symbols, (i * nv + j) * nv + k, value)
    store(symbols, (i * nv + k) * nv + j, value)


@kernel
def joint_before(topology, r):
    """The velocity of the link that carries the link of velocity r; -1 on the ground."""
    parent = parent_of(topology, link_of_velocity(topology, r))
    return -1 if parent < 0 else link(topology, parent)[3]


@algorithm(work=f"{COMPOSITE.size}*links+6*nv", q="nq", symbols=out("nv*nv*nv"))
def christoffel(topology, numbers, q, symbols, work, z):
    """Γ_ijk by rows, of joints with one freedom each."""
    nv, columns, zero = topology[HEAD.velocities], columns_at(topology), like(0.0, z)
    gather_composites(topology, numbers, q, work, z)
    for k in range(nv * nv * nv):
        store(symbols, k, zero)
    for last in range(nv):  # the outermost of the three
        moments = moments_of(work, link_of_velocity(topology, last) * COMPOSITE.size, z)
        own = load6(work, columns + 6 * last, z)
        square, side = moment_matrix(moments, own)
        trace = square[0] + square[4] + square[8]
        s = last
        while s >= 0:
            inner = load6(work, columns + 6 * s, z)
            torque, force = centripetal_wrench(moments, inner, own)
            i = last
            while i >= 0:  # j or k is the outermost
                column = load6(work, columns + 6 * i, z)
                store_pair(symbols, nv, i, s, last, dot(column[0], torque) + dot(column[1], force))
                i = joint_before(topology, i)
            turn, slide = sub(mul(square, inner[0]), scale(trace, inner[0])), cross(side, inner[0])
            r = last
            while r >= 0:  # i is the outermost, s the inner one of j and k
                outer = load6(work, columns + 6 * r, z)
                if r >= s and r < last:
                    store_pair(symbols, nv, last, s, r, dot(outer[0], turn) + dot(outer[1], slide))
                r = joint_before(topology, r)
            s = joint_before(topology, s)
