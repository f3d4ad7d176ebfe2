"""Matrices C(q, v) with C v = the velocity terms of the equations of motion, O(n d) for depth d.

    C = Σ_l J_lᵀ (M_l J_l' + B_l J_l)        in a frame that is at rest, with the rates J' = ad_V J of the columns there

With B = -ad_Vᵀ M - M ad_V, the rate of a link's inertia, this is mueller2018 eq. (84); M' - 2C is not skew then.
With B = ½(-ad_Vᵀ M - M ad_V + (M V)×), where (h)× u = -ad_uᵀ h, B V is the same, and B + Bᵀ is the rate of the link's
inertia: so M' = C + Cᵀ, and M' - 2C is skew. For joints with one freedom it is the C of the Christoffel symbols
(echeandia2021). As in the mass matrix the sums over links are done first, inward: both B are linear in
nine rates of the inertia and six momenta. The frame is the first link's of the tree, held still, so that no digits are
lost far from the origin.
"""

from __future__ import annotations

from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    force_cross,
    inertia_mul,
    motion_cross,
    neg,
    scale,
    sym_mul,
)
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.joint import placement
from chasles.relative.kinematics import composed
from chasles.relative.mass import composite_momentum, moved_inertia, store_columns
from chasles.relative.tables import HEAD, constants_of, inertia_of, link, links_of, velocities_of

# of each link: as COMPOSITE of the mass matrix up to `mass`; rates of the inertia and momentum of all it carries; twist
CARRIED = {"moment": 3, "inertia": 6, "mass": 1, "inertia_rate": 6, "moment_rate": 3, "momentum": 6}
RATED = layout("RATED", rotation=9, position=3, **CARRIED, twist=6)
PAIR = 12  # numbers of a velocity: its column of the Jacobian, and the rate


@kernel
def inertia_rates(inertia, twist):
    """Rates of the rotational inertia (six numbers) and the first moment of a link that moves with a twist."""
    mass, h, J = inertia
    w, u = twist
    x, y, z = cross(w, (J[0], J[1], J[2])), cross(w, (J[1], J[3], J[4])), cross(w, (J[2], J[4], J[5]))
    s = 2.0 * dot(u, h)
    rotational = (
        2.0 * (x[0] - u[0] * h[0]) + s,
        x[1] + y[0] - u[0] * h[1] - u[1] * h[0],
        x[2] + z[0] - u[0] * h[2] - u[2] * h[0],
        2.0 * (y[1] - u[1] * h[1]) + s,
        y[2] + z[1] - u[1] * h[2] - u[2] * h[1],
        2.0 * (z[2] - u[2] * h[2]) + s,
    )
    return rotational, add_scaled(cross(w, h), mass, u)


@kernel
def gather(topology, numbers, q, v, work, z):
    """Poses, columns with their rates and twists outward; composite inertias, rates and momenta inward."""
    n, zero, one = links_of(topology), like(0.0, z), like(1.0, z)
    columns = n * RATED.size
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), i * RATED.size, parent * RATED.size
        if parent < 0:
            R, p = (one, zero, zero, zero, one, zero, zero, zero, one), (zero, zero, zero)
            twist = ((zero, zero, zero), (zero, zero, zero))
        else:
            R, p = placement(numbers, c, kind, q, iq, z)
            R, p = composed(load9(work, base + RATED.rotation, z), load3(work, base + RATED.position, z), R, p)
            twist = load6(work, base + RATED.twist, z)
        store_columns(numbers, c, kind, R, p, work, columns + 6 * iv)
        for k in range(iv, iv + velocities_of(kind)):
            a, b = load6(work, columns + 6 * k, z)
            speed = load(v, k, z)
            twist = (add_scaled(twist[0], speed, a), add_scaled(twist[1], speed, b))
        rates = columns + 6 * topology[HEAD.velocities]
        for k in range(iv, iv + velocities_of(kind)):
            store6(work, rates + 6 * k, motion_cross(twist, load6(work, columns + 6 * k, z)))
        inertia = moved_inertia(inertia_of(numbers, c), R, p, z)
        mass, moment, J = inertia
        J_rate, moment_rate = inertia_rates(inertia, twist)
        store9(work, here + RATED.rotation, R)
        store3(work, here + RATED.position, p)
        store3(work, here + RATED.moment, moment)
        store6(work, here + RATED.inertia, ((J[0], J[1], J[2]), (J[3], J[4], J[5])))
        store(work, here + RATED.mass, mass)
        store6(work, here + RATED.inertia_rate, ((J_rate[0], J_rate[1], J_rate[2]), (J_rate[3], J_rate[4], J_rate[5])))
        store3(work, here + RATED.moment_rate, moment_rate)
        store6(work, here + RATED.momentum, inertia_mul(inertia, twist))
        store6(work, here + RATED.twist, twist)
    for i in range(n - 1, -1, -1):
        parent = link(topology, i)[0]
        if parent >= 0:
            here, base = i * RATED.size, parent * RATED.size
            for k in range(RATED.moment, RATED.twist):
                store(work, base + k, load(work, base + k, z) + load(work, here + k, z))


@kernel
def composite_rate(work, here, rate_weight, momentum_weight, u, z):
    """B u of all that a link carries, with B = rate_weight (-ad_Vᵀ M - M ad_V) + momentum_weight (M V)×."""
    x, y = load6(work, here + RATED.inertia_rate, z)
    moment = load3(work, here + RATED.moment_rate, z)
    torque = add(sym_mul((x[0], x[1], x[2], y[0], y[1], y[2]), u[0]), cross(moment, u[1]))
    swing = force_cross(u, load6(work, here + RATED.momentum, z))
    return (
        add_scaled(scale(rate_weight, torque), momentum_weight, swing[0]),
        add_scaled(scale(rate_weight, neg(cross(moment, u[0]))), momentum_weight, swing[1]),
    )


@kernel
def dot6(a, b):
    return dot(a[0], b[0]) + dot(a[1], b[1])


@algorithm(work=f"{RATED.size}*links+{PAIR}*nv", q="nq", v="nv", weights=fixed(), matrix=out("nv*nv"))
def coriolis_matrix(topology, numbers, q, v, weights, matrix, work, z):
    """C(q, v) by rows. `weights` of the two parts of B: (1, 0) for mueller2018 eq. (84), (½, ½) for M' - 2C skew."""
    n, nv, zero = links_of(topology), topology[HEAD.velocities], like(0.0, z)
    columns = n * RATED.size
    rates = columns + 6 * nv
    gather(topology, numbers, q, v, work, z)
    for i in range(n):
        parent, kind, _, iv = link(topology, i)
        here = i * RATED.size
        for r in range(iv, iv + velocities_of(kind)):
            J, rate = load6(work, columns + 6 * r, z), load6(work, rates + 6 * r, z)
            G, F = composite_momentum(work, here, J, z), composite_momentum(work, here, rate, z)
            B = composite_rate(work, here, weights[0], weights[1], J, z)
            H = composite_rate(work, here, weights[0], -weights[1], J, z)  # Bᵀ J
            F = (add(F[0], B[0]), add(F[1], B[1]))
            for s in range(iv, iv + velocities_of(kind)):
                store(matrix, s * nv + r, dot6(load6(work, columns + 6 * s, z), F))
            j, filled = parent, iv
            while j >= 0:
                above, other, _, first = link(topology, j)
                last = first + velocities_of(other)
                for s in range(last, filled):  # joints in between that are not on the way to the ground
                    store(matrix, r * nv + s, zero)
                    store(matrix, s * nv + r, zero)
                for s in range(first, last):
                    column = load6(work, columns + 6 * s, z)
                    store(matrix, s * nv + r, dot6(column, F))
                    store(matrix, r * nv + s, dot6(column, H) + dot6(load6(work, rates + 6 * s, z), G))
                filled, j = first, above
            for s in range(filled):
                store(matrix, r * nv + s, zero)
                store(matrix, s * nv + r, zero)
