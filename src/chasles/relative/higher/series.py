"""Motion of all links as power series in time, and the twists of frames with their time derivatives of any order.

With the coefficients of the joints' velocities given, those of the links follow order by order from

    ω = ω_parent + R w,   R' = ω × R,   r' = r_parent' + ω_parent × d + R s,   d' = r' - r_parent'

in world axes, d = r - r_parent, with the joint's turning w and sliding s in the link's frame: mueller2018 eqs.
(72)-(75) in hybrid representation, each product a convolution. So k derivatives cost O(n k²), where the closed nested
brackets of mueller2018 eqs. (13), (21), (31) would cost O(nᵏ). Far from the origin nothing is lost: only `spatial`
twists look there.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, mat_add, mat_mul, mat_scale, mul, mul_t, scale, sub
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.joint import placement, screw_weights
from chasles.relative.kinematics import BODY, HYBRID, SPATIAL, place_of
from chasles.relative.tables import FREE, HEAD, REVOLUTE, SPHERICAL, constants_of, link, links_of

# coefficients of one order, in world axes; `arm` is d
ORDER = layout("ORDER", rotation=9, spin=3, velocity=3, arm=3)


@kernel
def slot(i, orders):
    """Where link i begins (the ground is -1): its position, then the coefficients of each order."""
    return (i + 1) * (3 + ORDER.size * orders)


@kernel
def at_order(i, orders, k):
    return (i + 1) * (3 + ORDER.size * orders) + 3 + ORDER.size * k


@kernel
def set_ground(work, orders, z):
    """The ground is at rest."""
    one, zero = like(1.0, z), like(0.0, z)
    none = (zero, zero, zero)
    store3(work, slot(-1, orders), none)
    for k in range(orders):
        at = at_order(-1, orders, k)
        unit = one if k == 0 else zero
        store9(work, at + ORDER.rotation, (unit, zero, zero, zero, unit, zero, zero, zero, unit))
        store3(work, at + ORDER.spin, none)
        store3(work, at + ORDER.velocity, none)
        store3(work, at + ORDER.arm, none)


@kernel
def turned_by(w, R):
    """w × R, column by column."""
    x, y, z = cross(w, (R[0], R[3], R[6])), cross(w, (R[1], R[4], R[7])), cross(w, (R[2], R[5], R[8]))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@kernel
def add_joint(numbers, c, kind, rates, at, R, w, u, z):
    """w + R w_j, u + R s_j for the joint's velocity coefficients that begin at `at`."""
    if kind == SPHERICAL or kind == FREE:
        w = add(w, mul(R, load3(rates, at, z)))
        if kind == FREE:
            u = add(u, mul(R, load3(rates, at + 3, z)))
        return w, u
    axis, speed = (R[2], R[5], R[8]), load(rates, at, z)
    if kind == REVOLUTE:
        return add_scaled(w, speed, axis), u
    turning, sliding = screw_weights(numbers, c, kind)
    return add_scaled(w, turning * speed, axis), add_scaled(u, sliding * speed, axis)


@kernel
def move_links(topology, numbers, q, rates, given, orders, whole, work, z):
    """`orders` coefficients of the rotations and arms of all links, and as many of the others as of v are `given`.

    rates: the coefficients of v, (order, nv) by rows; given is `orders`, or one less. Unless `whole`, of the rotations
    of links on joints with an axis only order zero and the third columns, the axes, are computed.
    """
    nv = topology[HEAD.velocities]
    set_ground(work, orders, z)
    for i in range(links_of(topology)):
        parent, kind, iq, iv = link(topology, i)
        c = constants_of(i)
        X, x = placement(numbers, c, kind, q, iq, z)
        P = load9(work, at_order(parent, orders, 0) + ORDER.rotation, z)
        d = mul(P, x)
        store9(work, at_order(i, orders, 0) + ORDER.rotation, mat_mul(P, X))
        store3(work, at_order(i, orders, 0) + ORDER.arm, d)
        store3(work, slot(i, orders), add(load3(work, slot(parent, orders), z), d))
        for k in range(given):
            before, here = at_order(parent, orders, k), at_order(i, orders, k)
            w, u = load3(work, before + ORDER.spin, z), load3(work, before + ORDER.velocity, z)
            for m in range(k + 1):
                rest = at_order(i, orders, k - m)
                R = load9(work, rest + ORDER.rotation, z)
                w, u = add_joint(numbers, c, kind, rates, m * nv + iv, R, w, u, z)
                base = load3(work, at_order(parent, orders, m) + ORDER.spin, z)
                u = add(u, cross(base, load3(work, rest + ORDER.arm, z)))
            store3(work, here + ORDER.spin, w)
            store3(work, here + ORDER.velocity, u)
            if k + 1 < orders:
                speed = sub(u, load3(work, before + ORDER.velocity, z))
                store3(work, at_order(i, orders, k + 1) + ORDER.arm, scale(1.0 / (k + 1), speed))
                if whole or kind == SPHERICAL or kind == FREE:
                    turn(work, i, orders, k, z)
                else:
                    turn_axis(work, i, orders, k, z)


@kernel
def axis_at(work, i, orders, k, z):
    """Coefficient k of the third column of the rotation."""
    at = at_order(i, orders, k) + ORDER.rotation
    return load(work, at + 2, z), load(work, at + 5, z), load(work, at + 8, z)


@kernel
def turn_axis(work, i, orders, k, z):
    """Coefficient k + 1 of the third column of the rotation."""
    at, part = at_order(i, orders, k + 1) + ORDER.rotation, 1.0 / (k + 1)
    axis = cross(load3(work, at_order(i, orders, 0) + ORDER.spin, z), axis_at(work, i, orders, k, z))
    for m in range(1, k + 1):
        w = load3(work, at_order(i, orders, m) + ORDER.spin, z)
        axis = add(axis, cross(w, axis_at(work, i, orders, k - m, z)))
    store(work, at + 2, part * axis[0])
    store(work, at + 5, part * axis[1])
    store(work, at + 8, part * axis[2])


@kernel
def turn(work, i, orders, k, z):
    """Coefficient k + 1 of the rotation, from R' = ω × R."""
    here, part = at_order(i, orders, k + 1), 1.0 / (k + 1)
    w = load3(work, at_order(i, orders, 0) + ORDER.spin, z)
    R = turned_by(w, load9(work, at_order(i, orders, k) + ORDER.rotation, z))
    for m in range(1, k + 1):
        w = load3(work, at_order(i, orders, m) + ORDER.spin, z)
        R = mat_add(R, turned_by(w, load9(work, at_order(i, orders, k - m) + ORDER.rotation, z)))
    store9(work, here + ORDER.rotation, mat_scale(part, R))


@kernel
def hybrid_twist(work, i, orders, k, x, z):
    """Coefficient k of the hybrid twist of a point x on link i."""
    at = at_order(i, orders, k)
    u = load3(work, at + ORDER.velocity, z)
    for m in range(k + 1):
        R = load9(work, at_order(i, orders, k - m) + ORDER.rotation, z)
        u = add(u, cross(load3(work, at_order(i, orders, m) + ORDER.spin, z), mul(R, x)))
    return load3(work, at + ORDER.spin, z), u


@kernel
def back_turned(work, i, orders, k, X, series, at, stride, z):
    """Coefficient k of Rᵀ y for the frame with rotation X on link i; y_m begins at `at` + m `stride` of `series`."""
    y = mul_t(load9(work, at_order(i, orders, 0) + ORDER.rotation, z), load3(series, at + k * stride, z))
    for m in range(1, k + 1):
        R = load9(work, at_order(i, orders, m) + ORDER.rotation, z)
        y = add(y, mul_t(R, load3(series, at + (k - m) * stride, z)))
    return mul_t(X, y)


@algorithm(
    work=f"3*slots+{ORDER.size}*slots*orders",
    q="nq",
    rates="nv*orders",
    where=fixed(whole=True),
    offset=fixed(),
    twist=out("6*places*orders"),
)
def twist_series(topology, numbers, q, rates, where, offset, twist, work, z):
    """Coefficients of the twists of frames, (order, frame, 6). `where`: representation, orders, link of each frame."""
    representation, orders, frames = where[0], where[1], where.shape[0] - 2
    move_links(topology, numbers, q, rates, orders, orders, True, work, z)
    stride = 6 * frames
    for f in range(frames):
        i = where[f + 2]
        X, x = place_of(offset, f, z)
        for k in range(orders):
            store6(twist, k * stride + 6 * f, hybrid_twist(work, i, orders, k, x, z))
        # what order k becomes needs lower orders only: converted in place, the highest first
        for k in range(orders - 1, -1, -1):
            at = k * stride + 6 * f
            if representation == SPATIAL:
                w, u = load6(twist, at, z)
                p = add(
                    load3(work, slot(i, orders), z), mul(load9(work, at_order(i, orders, 0) + ORDER.rotation, z), x)
                )
                u = add(u, cross(p, w))
                for m in range(1, k + 1):
                    velocity = load3(twist, at - (k - m + 1) * stride + 3, z)
                    u = add(u, cross(scale(1.0 / m, velocity), load3(twist, at - m * stride, z)))
                store6(twist, at, (w, u))
            elif representation != HYBRID:
                store3(twist, at, back_turned(work, i, orders, k, X, twist, 6 * f, stride, z))
                if representation == BODY:
                    store3(twist, at + 3, back_turned(work, i, orders, k, X, twist, 6 * f + 3, stride, z))
