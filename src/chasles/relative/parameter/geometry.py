"""Derivatives of poses and Jacobians with respect to the geometry: mueller2018 section 6.2, O(d) for a frame at depth
d.

A place is a frame fixed on a link, its host; a parameter displaces all that hangs on the place by exp(δ) there, which
is B(π) = B exp(U π) of mueller2018 with a unit screw U. In the coordinates of a frame that hangs on the place this is
the twist ξ = Ad U, by the pose of the place in the frame. The body Jacobian's columns before the place change by [J_k,
ξ] (mueller2018 eq. (5), with the parameter in the role of a joint), those behind it do not: they move along. In other
representations the axes move as well, as in the Jacobian's time derivative.
"""

from __future__ import annotations

from chasles.kernel.algebra import cross, mat_mul, motion_cross, mul_t, neg, sub, transpose
from chasles.kernel.lanes import like
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.jacobian import constant_place, freedom, rate_in, seen_column, spread
from chasles.relative.joint import placement
from chasles.relative.kinematics import PLACE, composed, twist_in
from chasles.relative.tables import HEAD, constants_of, link, links_of, velocities_of

# of a place: its host, the links [first, last) that hang on it, and 1, or -1 if a positive parameter displaces backward
PLACED = layout("PLACED", host=1, first=1, last=1, sign=1)
UNIT_SCREWS = 36  # numbers of the six unit screws of a place


@kernel
def store_screws(work, at, R, p, sign):
    """Ad of a pose (R, p) on the unit screws of six parameters, times the sign of their place."""
    x, y, z = (R[0], R[3], R[6]), (R[1], R[4], R[7]), (R[2], R[5], R[8])
    if sign < 0:
        x, y, z = neg(x), neg(y), neg(z)
    zero = 0.0 * x[0]
    none = (zero, zero, zero)
    store6(work, at, (x, cross(p, x)))
    store6(work, at + 6, (y, cross(p, y)))
    store6(work, at + 12, (z, cross(p, z)))
    store6(work, at + 18, (none, x))
    store6(work, at + 24, (none, y))
    store6(work, at + 30, (none, z))


@kernel
def look_back(topology, numbers, q, start, R, p, work, columns, z):
    """Poses of a frame, at (R, p) on a link, in the links on its way to the ground, and the body columns there."""
    i = start
    while True:
        store9(work, (i + 1) * PLACE.size + PLACE.rotation, R)
        store3(work, (i + 1) * PLACE.size + PLACE.position, p)
        if i < 0:
            return R, p
        parent, kind, iq, iv = link(topology, i)
        c, back = constants_of(i), mul_t(R, p)
        for k in range(velocities_of(kind)):
            axis, turning, sliding = freedom(numbers, c, kind, k)
            store6(work, columns + 6 * (iv + k), seen_column(R, back, axis, turning, sliding))
        X, x = placement(numbers, c, kind, q, iq, z)
        R, p = composed(X, x, R, p)
        i = parent


@kernel
def spread_rates(topology, where, f, host, R, p, screw, work, columns, matrix, at, parameters, z):
    """Derivatives of all columns of the Jacobian of frame f, for one parameter."""
    nv, zero = topology[HEAD.velocities], like(0.0, z)
    i = where[f + 1]
    while i >= 0:
        parent, kind, _, iv = link(topology, i)
        for k in range(iv, iv + velocities_of(kind)):
            column = load6(work, columns + 6 * k, z)
            rate = ((zero, zero, zero), (zero, zero, zero))
            if i <= host:  # on the way to the ground the numbers of the links fall
                rate = motion_cross(column, screw)
            change = rate_in(where[0], R, p, screw, column, rate)
            spread(matrix, at + k * parameters, nv * parameters, change)
        i = parent


@algorithm(
    work=f"{PLACE.size}*slots+6*nv+{UNIT_SCREWS}",
    q="nq",
    where=fixed(whole=True),
    offset=fixed(),
    hanging=fixed(whole=True),
    placed=fixed(whole=True),
    places=fixed(),
    pose=out("36*pairs"),
    matrix=out("36*entries"),
)
def geometry(topology, numbers, q, where, offset, hanging, placed, places, pose, matrix, work, z):
    """Derivatives of poses (frames, 6, parameters) and of Jacobians (frames, 6, nv, parameters); either may be empty.

    `where` is the representation, then the links of the frames; `hanging` tells for each pair of frame and place
    whether the first hangs on the second; `placed` and `places` are the rows and the poses of the places. Entries that
    vanish for every q are not written: the results are to be zero before.
    """
    nv = topology[HEAD.velocities]
    count = placed.shape[0] // PLACED.size
    parameters = 6 * count
    columns = (links_of(topology) + 1) * PLACE.size
    screws = columns + 6 * nv
    for f in range(where.shape[0] - 1):
        X, x = constant_place(offset, f, z)
        R, p = look_back(topology, numbers, q, where[f + 1], X, x, work, columns, z)
        for s in range(count):
            if hanging[f * count + s] == 0:
                continue
            host, sign = placed[s * PLACED.size + PLACED.host], placed[s * PLACED.size + PLACED.sign]
            seen = (host + 1) * PLACE.size
            S, t = load9(work, seen + PLACE.rotation, z), load3(work, seen + PLACE.position, z)
            P, u = constant_place(places, s, z)
            store_screws(work, screws, mat_mul(transpose(S), P), mul_t(S, sub(u, t)), sign)
            for c in range(6):
                screw = load6(work, screws + 6 * c, z)
                at = 6 * s + c
                if pose.shape[0] > 0:
                    spread(pose, 6 * parameters * f + at, parameters, twist_in(where[0], R, p, screw))
                if matrix.shape[0] > 0:
                    at += 6 * nv * parameters * f
                    spread_rates(topology, where, f, host, R, p, screw, work, columns, matrix, at, parameters, z)
