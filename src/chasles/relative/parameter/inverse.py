"""Derivatives of inverse dynamics with respect to the geometry: mueller2018 section 6.2, closed forms for every pair,
O(n d).

A parameter displaces all that hangs on a place by a screw U, fixed on the place's host: it is a joint at rest there,
with the rate of its screw η = U' = [V, U] from the twist V of the host, whose acceleration is A (gravity counted in).
Seen from what hangs on the place, the motion that comes from the host changes by

    of the twist: η     of the acceleration: ζ = [V, η] + [A, U]

and the wrench on each link behind the place by I ζ + B η, with its inertia I and B η = I' η - ad_ηᵀ(I V); the displaced
links take their wrenches W along, -ad_Uᵀ W. So with sums over all that a joint carries, or all that hangs on the place,

    dtau_k = J_kᵀ (I ζ + B η)                  for joints behind the place, which move along
    dtau_k = J_kᵀ (I ζ + B η - ad_Uᵀ W)        for joints before it

The sums I, I', I V and W are the composites of the mass and Coriolis matrices. Everything is written in the frame of
the tree's first link, held still.
"""

from __future__ import annotations

from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    force_cross,
    inertia_mul,
    mat_mul,
    motion_cross,
    mul_t,
    neg,
    sub,
    transpose,
)
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.coriolis import dot6, inertia_rates
from chasles.relative.jacobian import constant_place
from chasles.relative.joint import placement
from chasles.relative.kinematics import composed
from chasles.relative.mass import moved_inertia, store_columns
from chasles.relative.parameter.geometry import PLACED, UNIT_SCREWS, store_screws
from chasles.relative.tables import (
    GRAVITY,
    HEAD,
    constants_of,
    inertia_of,
    link,
    links_of,
    parent_of,
    vector_at,
    velocities_of,
)

# sums over all that a link carries: mass properties, their rates, momentum and wrench
SUMS = {"mass": 1, "moment": 3, "inertia": 6, "moment_rate": 3, "inertia_rate": 6, "momentum": 6, "wrench": 6}
LIMB = layout("LIMB", **SUMS, rotation=9, position=3, twist=6, acceleration=6)
SUM = LIMB.rotation  # how many numbers are summed
TRIPLE = 18  # numbers of a velocity: J_k, I J_k and Bᵀ J_k, in three arrays
CHANGE = layout("CHANGE", twist=6, acceleration=6, wrench=6)  # η, ζ and what reaches the joints before the place
SCRATCH = SUM + UNIT_SCREWS + 6 * CHANGE.size


@kernel
def set_body(work, at, inertia, twist, acceleration, z):
    """Set the sums to those of one body, given by its mass properties and its motion."""
    mass, moment, J = inertia
    J_rate, moment_rate = inertia_rates(inertia, twist)
    momentum = inertia_mul(inertia, twist)
    needed, turned = inertia_mul(inertia, acceleration), force_cross(twist, momentum)
    store(work, at + LIMB.mass, mass)
    store3(work, at + LIMB.moment, moment)
    store6(work, at + LIMB.inertia, ((J[0], J[1], J[2]), (J[3], J[4], J[5])))
    store3(work, at + LIMB.moment_rate, moment_rate)
    store6(work, at + LIMB.inertia_rate, ((J_rate[0], J_rate[1], J_rate[2]), (J_rate[3], J_rate[4], J_rate[5])))
    store6(work, at + LIMB.momentum, momentum)
    store6(work, at + LIMB.wrench, (add(needed[0], turned[0]), add(needed[1], turned[1])))


@kernel
def accumulate(work, base, here, z):
    """Add the sums of one link to another's."""
    for k in range(SUM):
        store(work, base + k, load(work, base + k, z) + load(work, here + k, z))


@kernel
def summed_inertia(work, at, z):
    x, y = load6(work, at + LIMB.inertia, z)
    return load(work, at + LIMB.mass, z), load3(work, at + LIMB.moment, z), (x[0], x[1], x[2], y[0], y[1], y[2])


@kernel
def summed_rate(work, at, z):
    """I', as an inertia: no mass, and the rates of the rest."""
    x, y = load6(work, at + LIMB.inertia_rate, z)
    return like(0.0, z), load3(work, at + LIMB.moment_rate, z), (x[0], x[1], x[2], y[0], y[1], y[2])


@kernel
def gather(topology, numbers, q, v, a, work, columns, z):
    """Motion of all links outward, sums inward, and what each velocity feels."""
    n, nv, zero, one = links_of(topology), topology[HEAD.velocities], like(0.0, z), like(1.0, z)
    none = (zero, zero, zero)
    g = vector_at(numbers, GRAVITY.vector)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), i * LIMB.size, parent * LIMB.size
        R, p = placement(numbers, c, kind, q, iq, z)
        if parent < 0:
            twist, acceleration = (none, none), (none, neg(mul_t(R, g)))
            R, p = (one, zero, zero, zero, one, zero, zero, zero, one), none
        else:
            twist, acceleration = load6(work, base + LIMB.twist, z), load6(work, base + LIMB.acceleration, z)
            R, p = composed(load9(work, base + LIMB.rotation, z), load3(work, base + LIMB.position, z), R, p)
        store_columns(numbers, c, kind, R, p, work, columns + 6 * iv)
        own = (none, none)
        for k in range(iv, iv + velocities_of(kind)):
            J = load6(work, columns + 6 * k, z)
            speed, rate = load(v, k, z), load(a, k, z)
            own = (add_scaled(own[0], speed, J[0]), add_scaled(own[1], speed, J[1]))
            acceleration = (add_scaled(acceleration[0], rate, J[0]), add_scaled(acceleration[1], rate, J[1]))
        twist = (add(twist[0], own[0]), add(twist[1], own[1]))
        drift = motion_cross(twist, own)
        acceleration = (add(acceleration[0], drift[0]), add(acceleration[1], drift[1]))
        store9(work, here + LIMB.rotation, R)
        store3(work, here + LIMB.position, p)
        store6(work, here + LIMB.twist, twist)
        store6(work, here + LIMB.acceleration, acceleration)
        set_body(work, here, moved_inertia(inertia_of(numbers, c), R, p, z), twist, acceleration, z)
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        here = i * LIMB.size
        for k in range(iv, iv + velocities_of(kind)):
            at = columns + 6 * k
            J = load6(work, at, z)
            store6(work, at + 6 * nv, inertia_mul(summed_inertia(work, here, z), J))
            drag, swing = (
                inertia_mul(summed_rate(work, here, z), J),
                force_cross(J, load6(work, here + LIMB.momentum, z)),
            )
            store6(work, at + 12 * nv, (sub(drag[0], swing[0]), sub(drag[1], swing[1])))
        if parent >= 0:
            accumulate(work, parent * LIMB.size, here, z)


@kernel
def moved_part(mass_properties, s):
    """Mass properties of what is part of the host of place s and hangs on the place."""
    at = s * 10
    rotational = (
        *(mass_properties[at + 4], mass_properties[at + 5], mass_properties[at + 6]),
        *(mass_properties[at + 7], mass_properties[at + 8], mass_properties[at + 9]),
    )
    return mass_properties[at], vector_at(mass_properties, at + 1), rotational


@kernel
def find_changes(topology, host, first, last, part, place, sign, work, sums, z):
    """Sums over all that hangs on a place on a link, and the changes that its six parameters bring."""
    at = host * LIMB.size
    R, p = load9(work, at + LIMB.rotation, z), load3(work, at + LIMB.position, z)
    V, A = load6(work, at + LIMB.twist, z), load6(work, at + LIMB.acceleration, z)
    set_body(work, sums, moved_inertia(part, R, p, z), V, A, z)
    for i in range(first, last):
        if parent_of(topology, i) == host:
            accumulate(work, sums, i * LIMB.size, z)
    R, p = composed(R, p, place[0], place[1])
    store_screws(work, sums + SUM, R, p, sign)
    for c in range(6):
        U = load6(work, sums + SUM + 6 * c, z)
        twist, fall = motion_cross(V, U), motion_cross(A, U)
        turn = motion_cross(V, twist)
        acceleration = (add(turn[0], fall[0]), add(turn[1], fall[1]))
        to = sums + SUM + UNIT_SCREWS + c * CHANGE.size
        store6(work, to + CHANGE.twist, twist)
        store6(work, to + CHANGE.acceleration, acceleration)
        x, y = force_cross(U, load6(work, sums + LIMB.wrench, z))
        swing = force_cross(twist, load6(work, sums + LIMB.momentum, z))
        x, y = add(x, swing[0]), add(y, swing[1])
        drag = inertia_mul(summed_rate(work, sums, z), twist)
        needed = inertia_mul(summed_inertia(work, sums, z), acceleration)
        store6(work, to + CHANGE.wrench, (add(x, add(drag[0], needed[0])), add(y, add(drag[1], needed[1]))))


@kernel
def fill_before(topology, host, work, columns, changes, matrix, at, parameters, z):
    """Entries of the joints that carry the place."""
    i = host
    while i >= 0:
        parent, kind, _, iv = link(topology, i)
        for k in range(iv, iv + velocities_of(kind)):
            J = load6(work, columns + 6 * k, z)
            for c in range(6):
                F = load6(work, changes + c * CHANGE.size + CHANGE.wrench, z)
                store(matrix, k * parameters + at + c, dot6(J, F))
        i = parent


@kernel
def fill_behind(topology, i, work, columns, changes, matrix, at, parameters, z):
    """Entries of the joint of link i, which hangs on the place."""
    nv = topology[HEAD.velocities]
    _, kind, _, iv = link(topology, i)
    for k in range(iv, iv + velocities_of(kind)):
        momentum, drag = load6(work, columns + 6 * (nv + k), z), load6(work, columns + 6 * (2 * nv + k), z)
        for c in range(6):
            change = changes + c * CHANGE.size
            value = dot6(momentum, load6(work, change + CHANGE.acceleration, z))
            store(matrix, k * parameters + at + c, value + dot6(drag, load6(work, change + CHANGE.twist, z)))


@kernel
def tilt_gravity(topology, numbers, q, i, place, sign, work, sums, z):
    """Changes that a place on the ground brings to a tree with the root i: only gravity turns against the tree."""
    _, kind, iq, _ = link(topology, i)
    zero = like(0.0, z)
    none = (zero, zero, zero)
    R, _ = placement(numbers, constants_of(i), kind, q, iq, z)
    down = mul_t(R, vector_at(numbers, GRAVITY.vector))
    store_screws(work, sums + SUM, mat_mul(transpose(R), place[0]), none, sign)
    for c in range(6):
        U = load6(work, sums + SUM + 6 * c, z)
        to = sums + SUM + UNIT_SCREWS + c * CHANGE.size
        store6(work, to + CHANGE.twist, (none, none))
        store6(work, to + CHANGE.acceleration, (none, cross(U[0], down)))


@algorithm(
    work=f"{LIMB.size}*links+{TRIPLE}*nv+{SCRATCH}",
    q="nq",
    v="nv",
    a="nv",
    placed=fixed(whole=True),
    places=fixed(),
    parts=fixed(),
    matrix=out("6*nv*places"),
)
def inverse_dynamics_by_geometry(topology, numbers, q, v, a, placed, places, parts, matrix, work, z):
    """dtau/dπ by rows, (nv, 6 places). `parts`: mass properties of what is part of a host and hangs on the place.

    Entries that vanish for every motion are not written: the matrix is to be zero before.
    """
    columns = links_of(topology) * LIMB.size
    sums = columns + TRIPLE * topology[HEAD.velocities]
    changes = sums + SUM + UNIT_SCREWS
    count = placed.shape[0] // PLACED.size
    gather(topology, numbers, q, v, a, work, columns, z)
    for s in range(count):
        row = s * PLACED.size
        host, first, last = placed[row + PLACED.host], placed[row + PLACED.first], placed[row + PLACED.last]
        sign, place = placed[row + PLACED.sign], constant_place(places, s, z)
        if host >= 0:
            find_changes(topology, host, first, last, moved_part(parts, s), place, sign, work, sums, z)
            fill_before(topology, host, work, columns, changes, matrix, 6 * s, 6 * count, z)
        for i in range(first, last):
            if parent_of(topology, i) < 0:
                tilt_gravity(topology, numbers, q, i, place, sign, work, sums, z)
            fill_behind(topology, i, work, columns, changes, matrix, 6 * s, 6 * count, z)
