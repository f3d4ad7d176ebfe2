"""Inverse dynamics with its first and second time derivative, in body representation, O(n): mueller2018 section 6.3.

The recursion of `relative.inverse`, (65)-(67) corrected, differentiated. Written with the matrix B = ω~' + ω~ω~, which
gives the acceleration B x of a point x of the link relative to its origin, the wrench of a link is linear in B and in
the acceleration l of the origin,

    torque = axial(B Σ) + h × l,   force = m l + B h,    axial(A) = (A₃₂ - A₂₃, A₁₃ - A₃₁, A₂₁ - A₁₂)

with Σ = ½ tr(Θ) I - Θ, Binet's tensor; so its derivatives are the same expression in B', l' and B'', l''. Dots are
derivatives of components in the link's frame: for y = Rᵀc, carried outward, y' = Rᵀc' - w × y with the joint's turning
w, and inward (R t)' = R (t' + w × t). A joint that turns about its z axis only needs two products for each of these.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, mul_t, neg, scale, sub
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load9, store3, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.joint import along_screws, constant_position, placement, store_felt, turned
from chasles.relative.tables import (
    CONSTANT,
    GRAVITY,
    HEAD,
    REVOLUTE,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)

# of each link, and first of the ground: three numbers (nine of B) for each derivative
RATED = layout("RATED", rotation=9, place=9, turning=6, spin=12, field=27, acceleration=9, torque=9, force=9)


@kernel
def start_at_ground(numbers, work, z):
    """The ground does not turn and is accelerated against gravity."""
    zero = like(0.0, z)
    for k in range(RATED.size):
        store(work, k, zero)
    g = vector_at(numbers, GRAVITY.vector)
    store3(work, RATED.acceleration, (like(-g[0], z), like(-g[1], z), like(-g[2], z)))


# ---------------------------------------------------------------- what a turning frame adds


@kernel
def less(a, s, b):
    """a - s e₃ × b."""
    return (a[0] + s * b[1], a[1] - s * b[0], a[2])


@kernel
def less_cross(a, w, b):
    """a - w × b."""
    return sub(a, cross(w, b))


@kernel
def seen_turning(c0, c1, c2, s0, s1):
    """Rᵀc and two derivatives from Rᵀc, Rᵀc', Rᵀc'', for a turning s0 e₃ with rate s1 e₃."""
    y1, z1 = less(c1, s0, c0), less(c2, s0, c1)
    return c0, y1, less(less(z1, s1, c0), s0, y1)


@kernel
def seen(c0, c1, c2, w0, w1):
    """The same for any turning w0 with rate w1."""
    y1, z1 = less_cross(c1, w0, c0), less_cross(c2, w0, c1)
    return c0, y1, less_cross(less_cross(z1, w1, c0), w0, y1)


# ---------------------------------------------------------------- links


@kernel
def field_of(w, rate, x, y, twice):
    """The matrix rate~ + x yᵀ + y xᵀ - 2 x·y I, and 2 (w wᵀ - w² I) with it if `twice`."""
    d = x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
    xy, xz, yz = x[0] * y[1] + x[1] * y[0], x[0] * y[2] + x[2] * y[0], x[1] * y[2] + x[2] * y[1]
    xx, yy, zz = x[0] * y[0], x[1] * y[1], x[2] * y[2]
    if twice:
        d = d + dot(w, w)
        xy, xz, yz = xy + 2.0 * w[0] * w[1], xz + 2.0 * w[0] * w[2], yz + 2.0 * w[1] * w[2]
        xx, yy, zz = xx + w[0] * w[0], yy + w[1] * w[1], zz + w[2] * w[2]
    return (
        *(2.0 * (xx - d), xy - rate[2], xz + rate[1]),
        *(xy + rate[2], 2.0 * (yy - d), yz - rate[0]),
        *(xz - rate[1], yz + rate[0], 2.0 * (zz - d)),
    )


@kernel
def wrench_of(inertia, B, al):
    """Torque and force of a link, or a derivative of them."""
    mass, h, J = inertia
    s = 0.5 * (J[0] + J[3] + J[5])
    xx, yy, zz, xy, xz, yz = s - J[0], s - J[3], s - J[5], -J[1], -J[2], -J[4]
    swing = (
        B[6] * xy + B[7] * yy + B[8] * yz - B[3] * xz - B[4] * yz - B[5] * zz,
        B[0] * xz + B[1] * yz + B[2] * zz - B[6] * xx - B[7] * xy - B[8] * xz,
        B[3] * xx + B[4] * xy + B[5] * xz - B[0] * xy - B[1] * yy - B[2] * yz,
    )
    return add(swing, cross(h, al)), add_scaled(mul(B, h), mass, al)


@kernel
def load_wrench(numbers, c, work, here, k, z):
    """Derivative k of the link's own wrench, stored where those of its children are added."""
    B, al = load9(work, here + RATED.field + 9 * k, z), load3(work, here + RATED.acceleration + 3 * k, z)
    torque, force = wrench_of(inertia_of(numbers, c), B, al)
    store3(work, here + RATED.torque + 3 * k, torque)
    store3(work, here + RATED.force + 3 * k, force)


@kernel
def origin_rate(work, base, k, p, z):
    """Derivative k of the acceleration of a point p fixed on the parent, in the parent's axes."""
    B = load9(work, base + RATED.field + 9 * k, z)
    return add(load3(work, base + RATED.acceleration + 3 * k, z), mul(B, p))


@kernel
def turn_outward(numbers, c, q, iq, rates, iv, nv, second, work, here, base, z):
    """Spins and accelerations of a link on a revolute joint."""
    R, p = turned(numbers, c, load(q, iq, z), z), vector_at(numbers, c + CONSTANT.position)
    s0, s1, s2 = load(rates, iv, z), load(rates, iv + nv, z), load(rates, iv + 2 * nv, z)
    store9(work, here + RATED.rotation, R)
    at, spin, acceleration = base + RATED.spin, here + RATED.spin, here + RATED.acceleration
    c0, c1, c2 = mul_t(R, load3(work, at, z)), mul_t(R, load3(work, at + 3, z)), mul_t(R, load3(work, at + 6, z))
    y0, y1, y2 = seen_turning(c0, c1, c2, s0, s1)
    store3(work, spin, (y0[0], y0[1], y0[2] + s0))
    store3(work, spin + 3, (y1[0], y1[1], y1[2] + s1))
    store3(work, spin + 6, (y2[0], y2[1], y2[2] + s2))
    if second:
        _, _, z2 = seen_turning(c1, c2, mul_t(R, load3(work, at + 9, z)), s0, s1)
        y3 = less(less(less(z2, s2, c0), 2.0 * s1, y1), s0, y2)
        store3(work, spin + 9, (y3[0], y3[1], y3[2] + load(rates, iv + 3 * nv, z)))
    c0, c1 = mul_t(R, origin_rate(work, base, 0, p, z)), mul_t(R, origin_rate(work, base, 1, p, z))
    store3(work, acceleration, c0)
    store3(work, acceleration + 3, less(c1, s0, c0))
    if second:
        c2 = mul_t(R, origin_rate(work, base, 2, p, z))
        store3(work, acceleration + 6, seen_turning(c0, c1, c2, s0, s1)[2])


@kernel
def move_outward(numbers, c, kind, q, iq, rates, iv, nv, second, work, here, base, z):
    """The same for any joint, which may also slide: in the link's axes by s, so that p' = R s."""
    R, p = placement(numbers, c, kind, q, iq, z)
    w0, s0 = along_screws(numbers, c, kind, rates, iv, z)
    w1, s1 = along_screws(numbers, c, kind, rates, iv + nv, z)
    w2, s2 = along_screws(numbers, c, kind, rates, iv + 2 * nv, z)
    p1, p2 = mul(R, s0), mul(R, add(s1, cross(w0, s0)))
    store9(work, here + RATED.rotation, R)
    store3(work, here + RATED.place, p)
    store3(work, here + RATED.place + 3, p1)
    store3(work, here + RATED.place + 6, p2)
    store3(work, here + RATED.turning, w0)
    store3(work, here + RATED.turning + 3, w1)
    at, spin, acceleration = base + RATED.spin, here + RATED.spin, here + RATED.acceleration
    c0, c1, c2 = mul_t(R, load3(work, at, z)), mul_t(R, load3(work, at + 3, z)), mul_t(R, load3(work, at + 6, z))
    y0, y1, y2 = seen(c0, c1, c2, w0, w1)
    store3(work, spin, add(y0, w0))
    store3(work, spin + 3, add(y1, w1))
    store3(work, spin + 6, add(y2, w2))
    B = load9(work, base + RATED.field, z)
    a0 = mul_t(R, origin_rate(work, base, 0, p, z))
    a1 = mul_t(R, add(origin_rate(work, base, 1, p, z), mul(B, p1)))
    # what the sliding adds: (2 Rᵀω + w) × s + s', and its derivatives
    x0, x1 = add(add(y0, y0), w0), add(add(y1, y1), w1)
    store3(work, acceleration, add(a0, add(cross(x0, s0), s1)))
    more = add(add(cross(x1, s0), cross(x0, s1)), s2)
    store3(work, acceleration + 3, add(less_cross(a1, w0, a0), more))
    if second:
        w3, s3 = along_screws(numbers, c, kind, rates, iv + 3 * nv, z)
        _, _, z2 = seen(c1, c2, mul_t(R, load3(work, at + 9, z)), w0, w1)
        y3 = less_cross(less_cross(less_cross(z2, w2, c0), scale(2.0, w1), y1), w0, y2)
        store3(work, spin + 9, add(y3, w3))
        drift = add(mul(B, p2), mul(load9(work, base + RATED.field + 9, z), scale(2.0, p1)))
        a2 = mul_t(R, add(origin_rate(work, base, 2, p, z), drift))
        more = add(cross(add(add(y2, y2), w2), s0), cross(scale(2.0, x1), s1))
        more = add(more, add(cross(x0, s2), s3))
        store3(work, acceleration + 6, add(seen(a0, a1, a2, w0, w1)[2], more))


@kernel
def load_link(numbers, c, second, work, here, z):
    """B and the wrench that the link itself needs, with their derivatives."""
    spin, field = here + RATED.spin, here + RATED.field
    w, a, b = load3(work, spin, z), load3(work, spin + 3, z), load3(work, spin + 6, z)
    store9(work, field, field_of(w, a, scale(0.5, w), w, False))
    load_wrench(numbers, c, work, here, 0, z)
    store9(work, field + 9, field_of(w, b, w, a, False))
    load_wrench(numbers, c, work, here, 1, z)
    if second:
        store9(work, field + 18, field_of(a, load3(work, spin + 9, z), w, b, True))
        load_wrench(numbers, c, work, here, 2, z)


# ---------------------------------------------------------------- inward


@kernel
def turn_inward(work, here, base, p, s0, s1, second, z):
    """The wrench of a link on a revolute joint and its derivatives, added to its parent's."""
    R = load9(work, here + RATED.rotation, z)
    f0, f1 = load3(work, here + RATED.force, z), load3(work, here + RATED.force + 3, z)
    t0, t1 = load3(work, here + RATED.torque, z), load3(work, here + RATED.torque + 3, z)
    g1, u1 = less(f1, -s0, f0), less(t1, -s0, t0)
    force = mul(R, f0)
    add3(work, base + RATED.force, force)
    add3(work, base + RATED.torque, add(mul(R, t0), cross(p, force)))
    force = mul(R, g1)
    add3(work, base + RATED.force + 3, force)
    add3(work, base + RATED.torque + 3, add(mul(R, u1), cross(p, force)))
    if second:
        f2, t2 = load3(work, here + RATED.force + 6, z), load3(work, here + RATED.torque + 6, z)
        force = mul(R, less(less(less(f2, -s1, f0), -s0, f1), -s0, g1))
        torque = mul(R, less(less(less(t2, -s1, t0), -s0, t1), -s0, u1))
        add3(work, base + RATED.force + 6, force)
        add3(work, base + RATED.torque + 6, add(torque, cross(p, force)))


@kernel
def move_inward(work, here, base, second, z):
    """The same for any joint; its place p moves."""
    R = load9(work, here + RATED.rotation, z)
    w0, w1 = load3(work, here + RATED.turning, z), load3(work, here + RATED.turning + 3, z)
    p0, p1 = load3(work, here + RATED.place, z), load3(work, here + RATED.place + 3, z)
    f0, f1 = load3(work, here + RATED.force, z), load3(work, here + RATED.force + 3, z)
    t0, t1 = load3(work, here + RATED.torque, z), load3(work, here + RATED.torque + 3, z)
    g1, u1 = add(f1, cross(w0, f0)), add(t1, cross(w0, t0))
    F0, F1 = mul(R, f0), mul(R, g1)
    add3(work, base + RATED.force, F0)
    add3(work, base + RATED.torque, add(mul(R, t0), cross(p0, F0)))
    add3(work, base + RATED.force + 3, F1)
    add3(work, base + RATED.torque + 3, add(mul(R, u1), add(cross(p0, F1), cross(p1, F0))))
    if second:
        f2, t2 = load3(work, here + RATED.force + 6, z), load3(work, here + RATED.torque + 6, z)
        F2 = mul(R, add(add(f2, cross(w1, f0)), cross(w0, add(f1, g1))))
        T2 = mul(R, add(add(t2, cross(w1, t0)), cross(w0, add(t1, u1))))
        p2 = load3(work, here + RATED.place + 6, z)
        add3(work, base + RATED.force + 6, F2)
        T2 = add(T2, add(cross(p2, F0), add(cross(scale(2.0, p1), F1), cross(p0, F2))))
        add3(work, base + RATED.torque + 6, T2)


@algorithm(
    work=f"{RATED.size}*slots",
    q="nq",
    rates="nv*orders",
    wrenches="6*links*loads",
    counts=fixed(whole=True),
    tau=out("nv*results"),
)
def inverse_rates(topology, numbers, q, rates, wrenches, counts, tau, work, z):
    """tau, tau' and, if asked for, tau'', one after the other, of q and rates = (v, a, a') or (v, a, a', a'').

    counts: 2 or 3, the number of results; how many of the wrenches on the links (in their frames, at their origins),
    their derivatives and second derivatives are given: the others are zero.
    """
    n, nv, results = links_of(topology), topology[HEAD.velocities], counts[0]
    second = results > 2
    start_at_ground(numbers, work, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * RATED.size, (parent + 1) * RATED.size
        if kind == REVOLUTE:
            turn_outward(numbers, c, q, iq, rates, iv, nv, second, work, here, base, z)
        else:
            move_outward(numbers, c, kind, q, iq, rates, iv, nv, second, work, here, base, z)
        load_link(numbers, c, second, work, here, z)
        for k in range(min(counts[1], results)):
            at = 6 * (k * n + i)
            add3(work, here + RATED.torque + 3 * k, neg(load3(wrenches, at, z)))
            add3(work, here + RATED.force + 3 * k, neg(load3(wrenches, at + 3, z)))
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * RATED.size, (parent + 1) * RATED.size
        for k in range(results):
            wrench = (load3(work, here + RATED.torque + 3 * k, z), load3(work, here + RATED.force + 3 * k, z))
            store_felt(numbers, c, kind, wrench, tau, k * nv + iv, z)
        if kind == REVOLUTE:
            p = constant_position(numbers, c, z)
            turn_inward(work, here, base, p, load(rates, iv, z), load(rates, iv + nv, z), second, z)
        else:
            move_inward(work, here, base, second, z)
    if topology[HEAD.armatures] > 0:
        for i in range(n):
            armature, iv = numbers[constants_of(i) + CONSTANT.armature], link(topology, i)[3]
            for k in range(results):
                at = k * nv + iv
                store(tau, at, load(tau, at, z) + armature * load(rates, at + nv, z))
