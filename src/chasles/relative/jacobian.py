"""Jacobians of frames and their time derivatives in four representations, O(d) for a frame at depth d.

One walk from the frame to the ground gives the columns in body representation, J_j = Ad⁻¹ S_j (mueller2018 eqs. (102),
(103)), and, with the twist of the frame relative to each link on the way, their rates [J_j, V_rel] (mueller2018 eq.
(5)). Then they are converted. The rates of hybrid and mixed Jacobians are mueller2018 eqs. (26) and (33), both wrong as
printed, in their corrected form R(J' + ω × J); of the spatial one Ad(J' + ad_V J), which is (16).
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, motion_cross, mul_t, scale
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load6, store6
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.joint import placement, screw_weights
from chasles.relative.kinematics import HYBRID, MIXED, SPATIAL, composed, place_of, twist_in
from chasles.relative.tables import FREE, HEAD, SPHERICAL, constants_of, link, velocities_of

COLUMN = layout("COLUMN", value=6, rate=6)  # of each velocity


@kernel
def freedom(numbers, c, kind, k):
    """Freedom k of a joint: the axis it belongs to, and how much it turns about it and slides along it."""
    if kind == SPHERICAL or kind == FREE:
        return k % 3, 1.0 if k < 3 else 0.0, 0.0 if k < 3 else 1.0
    turning, sliding = screw_weights(numbers, c, kind)
    return 2, turning, sliding


@kernel
def seen_column(R, back, axis, turning, sliding):
    """Ad⁻¹ of a pose (R, p) on the unit screw of a freedom; `back` is Rᵀ p."""
    direction = (R[3 * axis], R[3 * axis + 1], R[3 * axis + 2])
    angular = scale(turning, direction)
    return angular, add(cross(angular, back), scale(sliding, direction))


@kernel
def walk_inward(topology, numbers, q, v, start, R, p, work, z):
    """Body columns, and rates unless v is empty, of a frame at (R, p) on a link; its pose and body twist."""
    zero = like(0.0, z)
    twist = ((zero, zero, zero), (zero, zero, zero))
    i = start
    while i >= 0:
        parent, kind, iq, iv = link(topology, i)
        c, back, relative = constants_of(i), mul_t(R, p), twist
        for k in range(velocities_of(kind)):
            axis, turning, sliding = freedom(numbers, c, kind, k)
            column, at = seen_column(R, back, axis, turning, sliding), (iv + k) * COLUMN.size
            store6(work, at + COLUMN.value, column)
            if v.shape[0] > 0:
                # the joint's own screws are constant in its link, so only what comes after it changes the column
                store6(work, at + COLUMN.rate, motion_cross(column, relative))
                speed = load(v, iv + k, z)
                twist = (add_scaled(twist[0], speed, column[0]), add_scaled(twist[1], speed, column[1]))
        X, x = placement(numbers, c, kind, q, iq, z)
        R, p = composed(X, x, R, p)
        i = parent
    return R, p, twist


@kernel
def rate_in(representation, R, p, twist, column, rate):
    """Rate of a column in a representation, from column and rate in body representation."""
    if representation == SPATIAL:
        drift = motion_cross(twist, column)
        rate = (add(rate[0], drift[0]), add(rate[1], drift[1]))
    elif representation == HYBRID:
        rate = (add(rate[0], cross(twist[0], column[0])), add(rate[1], cross(twist[0], column[1])))
    elif representation == MIXED:
        rate = (rate[0], add(rate[1], cross(twist[0], column[1])))
    return twist_in(representation, R, p, rate)


@kernel
def spread(matrix, at, nv, column):
    """Write a column of a matrix that is stored by rows."""
    store(matrix, at, column[0][0])
    store(matrix, at + nv, column[0][1])
    store(matrix, at + 2 * nv, column[0][2])
    store(matrix, at + 3 * nv, column[1][0])
    store(matrix, at + 4 * nv, column[1][1])
    store(matrix, at + 5 * nv, column[1][2])


@kernel
def constant_place(offset, k, z):
    R, p = place_of(offset, k, z)
    return R, (like(p[0], z), like(p[1], z), like(p[2], z))


@algorithm(
    work=f"{COLUMN.size}*nv",
    q="nq",
    v="nv",
    where=fixed(whole=True),
    offset=fixed(),
    matrix=out("6*columns"),
    rate=out("6*rates"),
)
def jacobians(topology, numbers, q, v, where, offset, matrix, rate, work, z):
    """Jacobians of frames, (frames, 6, nv) by rows, and their rates. `where` is the representation, then the links.

    Either result may be empty; the rates need v.
    """
    representation, nv, zero = where[0], topology[HEAD.velocities], like(0.0, z)
    for k in range(matrix.shape[0] and 6 * nv * (where.shape[0] - 1)):
        store(matrix, k, zero)
    for k in range(rate.shape[0] and 6 * nv * (where.shape[0] - 1)):
        store(rate, k, zero)
    for f in range(where.shape[0] - 1):
        X, x = constant_place(offset, f, z)
        R, p, twist = walk_inward(topology, numbers, q, v, where[f + 1], X, x, work, z)
        i = where[f + 1]
        while i >= 0:
            parent, kind, _, iv = link(topology, i)
            for k in range(iv, iv + velocities_of(kind)):
                column, at = load6(work, k * COLUMN.size + COLUMN.value, z), 6 * nv * f + k
                if matrix.shape[0] > 0:
                    spread(matrix, at, nv, twist_in(representation, R, p, column))
                if rate.shape[0] > 0:
                    change = load6(work, k * COLUMN.size + COLUMN.rate, z)
                    spread(rate, at, nv, rate_in(representation, R, p, twist, column, change))
            i = parent
