"""Derivatives of any order of the columns of a Jacobian with respect to the coordinates, in closed form.

With E_k the derivative along freedom k, that is along q exp(δ e_k), and all freedoms on the way from the ground to the
frame, the tensor is D[j, k, r, ...] = ... E_r E_k J_j: first along k, then along r. Put j, k, r, ... into one order by
their links from the ground outward, and of one link the later derivative first: s_1, s_2, ..., s_m. Then

    body     [...[[J_j, J_s2], J_s3] ..., J_sm]           if j = s_1 is further in than all the others, else 0
    spatial  [J_s1, [J_s2, ... [J_s(m-1), J_j]]]          if j = s_m, else 0
    hybrid   linear part ω_s1 × (ω_s2 × ... (ω_s(m-1) × v_sm)), always; angular part as spatial, with ω only
    mixed    linear part as hybrid, angular part as body

For joints with one freedom the E_k are the partial derivatives, the order among equals does not matter, and these are
mueller2018 eqs. (5), (12), (14), (15), (20), (23) and (25) with what (25) leaves out, for k < j; a joint with several
axes counts as so many joints. The freedoms of a spherical or free joint do not commute: E_r E_k differs from E_k E_r.
"""

from __future__ import annotations

from chasles.kernel.algebra import cross, motion_cross
from chasles.kernel.lanes import like, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6, store6
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.jacobian import COLUMN, constant_place, spread, walk_inward
from chasles.relative.kinematics import BODY, HYBRID, MIXED, SPATIAL, twist_in
from chasles.relative.tables import HEAD, link_of_velocity


@kernel
def rank(topology, way, first, count, m, number, place):
    """Where a freedom stands in the order: by its link, of one link the later derivative first. `number` has the
    freedoms' numbers on the way as its digits, the column's highest."""
    digit = number
    for _ in range(m - 1 - place):
        digit //= count
    freedom = way[first + digit % count]
    return link_of_velocity(topology, freedom) * m + m - 1 - place, freedom


@kernel
def next_freedom(topology, way, first, count, m, number, after, outward):
    """The freedom that follows, outward or inward, the one of rank `after`: its rank and itself."""
    found, chosen = -1, -1
    for place in range(m):
        key, freedom = rank(topology, way, first, count, m, number, place)
        beyond = key > after if outward else key < after
        nearer = found < 0 or (key < found if outward else key > found)
        if beyond and nearer:
            found, chosen = key, freedom
    return found, chosen


@kernel
def body_entry(topology, way, first, count, m, number, work, z):
    """Nested brackets from the column's freedom outward; zero unless it is the innermost."""
    zero = like(0.0, z)
    own, column = rank(topology, way, first, count, m, number, 0)
    nest = load6(work, column * COLUMN.size + COLUMN.value, z)
    key, freedom = next_freedom(topology, way, first, count, m, number, -1, True)
    if key != own:
        return (zero, zero, zero), (zero, zero, zero)
    for _ in range(m - 1):
        key, freedom = next_freedom(topology, way, first, count, m, number, key, True)
        nest = motion_cross(nest, load6(work, freedom * COLUMN.size + COLUMN.value, z))
    return nest


@kernel
def world_entry(topology, way, first, count, m, number, representation, work, z):
    """Nested brackets, or cross products of hybrid columns, from the outermost freedom inward."""
    zero = like(0.0, z)
    none = (zero, zero, zero)
    own, _ = rank(topology, way, first, count, m, number, 0)
    key, freedom = next_freedom(topology, way, first, count, m, number, 1 << 62, False)
    outermost = key == own
    w, u = load6(work, freedom * COLUMN.size + COLUMN.rate, z)
    for _ in range(m - 1):
        key, freedom = next_freedom(topology, way, first, count, m, number, key, False)
        other = load6(work, freedom * COLUMN.size + COLUMN.rate, z)
        if representation == SPATIAL:
            w, u = motion_cross(other, (w, u))
        else:
            w, u = cross(other[0], w), cross(other[0], u)
    if outermost:
        return w, u
    return none, none if representation == SPATIAL else u


@algorithm(
    work=f"{COLUMN.size}*nv", q="nq", where=fixed(whole=True), way=fixed(whole=True), offset=fixed(), tensor=out("size")
)
def jacobian_partials(topology, numbers, q, where, way, offset, tensor, work, z):
    """Derivatives of the Jacobians of frames, (frame, 6, nv, nv, ...) by rows.

    `where`: representation, order of the derivatives, link of each frame. `way`: for each frame the number of freedoms
    on its way from the ground, then these.
    """
    representation, m, frames = where[0], where[1] + 1, where.shape[0] - 2
    nv, zero, empty, first = topology[HEAD.velocities], like(0.0, z), q[:0], 1
    entries = nv**m
    for k in range(6 * entries * frames):
        store(tensor, k, zero)
    for f in range(frames):
        X, x = constant_place(offset, f, z)
        R, p, _ = walk_inward(topology, numbers, q, empty, where[f + 2], X, x, work, z)
        count = way[first - 1]
        for d in range(count):  # the columns in world axes are kept where rates would be
            at = way[first + d] * COLUMN.size
            body = load6(work, at + COLUMN.value, z)
            world = SPATIAL if representation == SPATIAL else HYBRID
            store6(work, at + COLUMN.rate, twist_in(world, R, p, body))
        for number in range(count**m):
            place, rest, scale = 0, number, 1
            for _ in range(m):
                place += way[first + rest % count] * scale
                rest, scale = rest // count, scale * nv
            w, u = body_entry(topology, way, first, count, m, number, work, z)
            if representation != BODY:
                angular, linear = world_entry(topology, way, first, count, m, number, representation, work, z)
                w, u = w if representation == MIXED else angular, linear
            spread(tensor, 6 * entries * f + place, entries, (w, u))
        first += count + 1
