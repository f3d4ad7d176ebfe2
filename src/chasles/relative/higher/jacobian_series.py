"""Time derivatives of any order of the Jacobians of frames, in four representations.

A column in hybrid representation is (ω_j, ω_j × ρ_j + s_j) with the joint's axis in world axes and the arm ρ_j from the
joint's link to the frame; with the motion of all links as power series (`series`) its coefficients are convolutions.
Of order one they are mueller2018 eqs. (7), (16), (26), (27), (33), the last three corrected; of order two what the
jerks (13), (21), (31) consist of. O(d k²) for a frame at depth d and k derivatives, besides the links' motion.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, mul, scale
from chasles.kernel.lanes import like, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, load6, load9, store3, store6
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.higher.series import ORDER, at_order, back_turned, move_links, slot
from chasles.relative.jacobian import freedom, spread
from chasles.relative.kinematics import BODY, HYBRID, SPATIAL, place_of
from chasles.relative.tables import HEAD, constants_of, link, links_of, velocities_of


@kernel
def axis_of(R, axis):
    """A column of a matrix; the branch is the same for all lanes."""
    if axis == 0:
        return (R[0], R[3], R[6])
    if axis == 1:
        return (R[1], R[4], R[7])
    return (R[2], R[5], R[8])


@kernel
def hybrid_column(work, i, orders, axis, turning, sliding, arm, column, z):
    """Coefficients of a column of link i, six numbers an order from `column` on; the arm's three from `arm` on."""
    for k in range(orders):
        direction = axis_of(load9(work, at_order(i, orders, k) + ORDER.rotation, z), axis)
        linear = scale(sliding, direction)
        for m in range(k + 1):
            e = axis_of(load9(work, at_order(i, orders, m) + ORDER.rotation, z), axis)
            linear = add(linear, cross(scale(turning, e), load3(work, arm + 3 * (k - m), z)))
        store6(work, column + 6 * k, (scale(turning, direction), linear))


@kernel
def spatial_linear(work, i, orders, k, axis, turning, sliding, z):
    """Coefficient k of the linear part r × ω + s of a spatial column, with the position r of its own link."""
    direction = axis_of(load9(work, at_order(i, orders, k) + ORDER.rotation, z), axis)
    linear = add(scale(sliding, direction), cross(load3(work, slot(i, orders), z), scale(turning, direction)))
    for m in range(1, k + 1):
        r = scale(turning / m, load3(work, at_order(i, orders, m - 1) + ORDER.velocity, z))
        e = axis_of(load9(work, at_order(i, orders, k - m) + ORDER.rotation, z), axis)
        linear = add(linear, cross(r, e))
    return linear


@algorithm(
    work=f"3*slots+{ORDER.size}*slots*orders+9*orders",
    q="nq",
    rates="nv*given",
    where=fixed(whole=True),
    offset=fixed(),
    matrix=out("6*columns*given"),
)
def jacobian_series(topology, numbers, q, rates, where, offset, matrix, work, z):
    """Coefficients 1, 2, ... of the Jacobians of frames, (order, frame, 6, nv) by rows, as many as of v are given.

    `where`: representation, number of coefficients with that of order zero, link of each frame.
    """
    representation, orders, frames = where[0], where[1], where.shape[0] - 2
    nv, zero = topology[HEAD.velocities], like(0.0, z)
    move_links(topology, numbers, q, rates, orders - 1, orders, True, work, z)
    for k in range(6 * nv * frames * (orders - 1)):
        store(matrix, k, zero)
    arm = slot(links_of(topology), orders)
    column = arm + 3 * orders
    for f in range(frames):
        start = where[f + 2]
        X, x = place_of(offset, f, z)
        for k in range(orders):
            R = load9(work, at_order(start, orders, k) + ORDER.rotation, z)
            store3(work, arm + 3 * k, mul(R, x))
        i = start
        while i >= 0:
            parent, kind, _, iv = link(topology, i)
            c = constants_of(i)
            for freed in range(velocities_of(kind)):
                axis, turning, sliding = freedom(numbers, c, kind, freed)
                hybrid_column(work, i, orders, axis, turning, sliding, arm, column, z)
                for k in range(1, orders):
                    w, u = load6(work, column + 6 * k, z)
                    if representation == SPATIAL:
                        u = spatial_linear(work, i, orders, k, axis, turning, sliding, z)
                    elif representation != HYBRID:
                        w = back_turned(work, start, orders, k, X, work, column, 6, z)
                        if representation == BODY:
                            u = back_turned(work, start, orders, k, X, work, column + 3, 6, z)
                    spread(matrix, ((k - 1) * frames + f) * 6 * nv + iv + freed, nv, (w, u))
            for k in range(orders):
                add3(work, arm + 3 * k, load3(work, at_order(i, orders, k) + ORDER.arm, z))
            i = parent
