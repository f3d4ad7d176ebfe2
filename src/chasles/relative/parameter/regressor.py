"""Regressors: generalized forces and energies as linear functions of the bodies' ten parameters, O(n d) for depth d.

    tau = Y(q, v, a) π,     π = (m, m c, Θxx, Θxy, Θxz, Θyy, Θyz, Θzz) of each body, Θ about the origin of its frame

With the angular velocity w, its rate w' and the acceleration a of the body's origin (gravity counted in), all in the
body's frame, the Newton-Euler equations mueller2018 eq. (42) are linear in π. So a joint's screw (s; t), seen in that
frame, feels of each body the ten numbers

    m: t·a     m c: a × s + t × w' + (t × w) × w     Θ: the symmetric part of s w'ᵀ + (s × w) wᵀ

which cost less than to carry ten wrenches from link to link. A body is a frame on a link; those welded together share
a link and differ by this frame only.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, dot, mul_t
from chasles.kernel.lanes import like, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.inverse import carry
from chasles.relative.joint import along_screws, placement
from chasles.relative.kinematics import STATE, carried, composed, move_links, place_of
from chasles.relative.mass import store_columns
from chasles.relative.tables import GRAVITY, constants_of, link, links_of, vector_at, velocities_of

TEN = 10
# of each link: pose in the frame of its tree's first link; angular velocity, its rate and acceleration of the origin
MOVED = layout("MOVED", rotation=9, position=3, spin=3, spin_rate=3, acceleration=3)


@kernel
def move(topology, numbers, q, v, a, work, columns, z):
    """Motion of all links and, at `columns`, the screws of all joints in the frame of the tree's first link."""
    zero, one = like(0.0, z), like(1.0, z)
    g = vector_at(numbers, GRAVITY.vector)
    for i in range(links_of(topology)):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), i * MOVED.size, parent * MOVED.size
        R, p = placement(numbers, c, kind, q, iq, z)
        twist, rate = along_screws(numbers, c, kind, v, iv, z), along_screws(numbers, c, kind, a, iv, z)
        if parent < 0:
            ground = (zero, zero, zero), (zero, zero, zero), (like(-g[0], z), like(-g[1], z), like(-g[2], z))
            w, aw, al = carry(twist, rate, R, p, ground)
            R, p = (one, zero, zero, zero, one, zero, zero, zero, one), (zero, zero, zero)
        else:
            before = (
                load3(work, base + MOVED.spin, z),
                load3(work, base + MOVED.spin_rate, z),
                load3(work, base + MOVED.acceleration, z),
            )
            w, aw, al = carry(twist, rate, R, p, before)
            R, p = composed(load9(work, base + MOVED.rotation, z), load3(work, base + MOVED.position, z), R, p)
        store9(work, here + MOVED.rotation, R)
        store3(work, here + MOVED.position, p)
        store3(work, here + MOVED.spin, w)
        store3(work, here + MOVED.spin_rate, aw)
        store3(work, here + MOVED.acceleration, al)
        store_columns(numbers, c, kind, R, p, work, columns + 6 * iv)


@kernel
def store_ten(matrix, at, mass, moment, x, y):
    """The ten numbers of a body: of its mass, its first moment, and three and three of its inertia."""
    store(matrix, at, mass)
    store3(matrix, at + 1, moment)
    store3(matrix, at + 4, x)
    store3(matrix, at + 7, y)


@kernel
def store_felt_of_body(matrix, at, screw, w, aw, al):
    """What a screw, in the body's frame, feels of each of the ten parameters."""
    s, t = screw
    u = cross(s, w)
    x = (
        s[0] * aw[0] + u[0] * w[0],
        s[0] * aw[1] + s[1] * aw[0] + u[0] * w[1] + u[1] * w[0],
        s[0] * aw[2] + s[2] * aw[0] + u[0] * w[2] + u[2] * w[0],
    )
    y = (
        s[1] * aw[1] + u[1] * w[1],
        s[1] * aw[2] + s[2] * aw[1] + u[1] * w[2] + u[2] * w[1],
        s[2] * aw[2] + u[2] * w[2],
    )
    moment = add(cross(al, s), add(cross(t, aw), cross(cross(t, w), w)))
    store_ten(matrix, at, dot(t, al), moment, x, y)


@algorithm(
    work=f"{MOVED.size}*links+6*nv",
    q="nq",
    v="nv",
    a="nv",
    where=fixed(whole=True),
    offset=fixed(),
    matrix=out(f"{TEN}*nv*bodies"),
)
def regressor(topology, numbers, q, v, a, where, offset, matrix, work, z):
    """Y(q, v, a) by rows, (nv, 10 bodies). `where` has the link of each body, `offset` its pose on it.

    Entries that vanish for every motion are not written: the matrix is to be zero before.
    """
    columns, width = links_of(topology) * MOVED.size, TEN * where.shape[0]
    move(topology, numbers, q, v, a, work, columns, z)
    for b in range(where.shape[0]):
        i = where[b]
        if i < 0:  # welded to the ground
            continue
        here = i * MOVED.size
        X, x = place_of(offset, b, z)
        w, aw = load3(work, here + MOVED.spin, z), load3(work, here + MOVED.spin_rate, z)
        al = add(load3(work, here + MOVED.acceleration, z), add(cross(aw, x), cross(w, cross(w, x))))
        w, aw, al = mul_t(X, w), mul_t(X, aw), mul_t(X, al)
        R, p = composed(load9(work, here + MOVED.rotation, z), load3(work, here + MOVED.position, z), X, x)
        while i >= 0:
            parent, kind, _, iv = link(topology, i)
            for k in range(iv, iv + velocities_of(kind)):
                screw = carried(R, p, load6(work, columns + 6 * k, z))
                store_felt_of_body(matrix, k * width + TEN * b, screw, w, aw, al)
            i = parent


@algorithm(
    work=f"{STATE.size}*slots",
    q="nq",
    v="nv",
    where=fixed(whole=True),
    offset=fixed(),
    matrix=out(f"{2 * TEN}*bodies"),
)
def energy_regressor(topology, numbers, q, v, where, offset, matrix, work, z):
    """Kinetic and potential energy of unit parameters, (2, 10 bodies) by rows; O(n).

    ½ (m v·v + 2 m c·(v × w) + w·Θ w) and -g·(m p + R m c); bodies welded to the ground do not count.
    """
    zero, width = like(0.0, z), TEN * where.shape[0]
    move_links(topology, numbers, q, v, v[:0], work, z)
    g = vector_at(numbers, GRAVITY.vector)
    down = (like(-g[0], z), like(-g[1], z), like(-g[2], z))
    none = (zero, zero, zero)
    for b in range(where.shape[0]):
        if where[b] < 0:
            continue
        here = (where[b] + 1) * STATE.size
        X, x = place_of(offset, b, z)
        w, u = carried(X, x, load6(work, here + STATE.twist, z))
        R, p = composed(load9(work, here + STATE.rotation, z), load3(work, here + STATE.position, z), X, x)
        squares = (0.5 * w[0] * w[0], w[0] * w[1], w[0] * w[2])
        rest = (0.5 * w[1] * w[1], w[1] * w[2], 0.5 * w[2] * w[2])
        store_ten(matrix, TEN * b, 0.5 * dot(u, u), cross(u, w), squares, rest)
        store_ten(matrix, width + TEN * b, dot(down, p), mul_t(R, down), none, none)
