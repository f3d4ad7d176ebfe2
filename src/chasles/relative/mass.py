"""The mass matrix by composite rigid bodies, O(n d) for depth d: the composite-rigid-body algorithm, CRBA.

Everything is written in the frame of the tree's first link, in which all pairs of joints meet: M_ij = J_jᵀ (I_i J_i) is
six products a pair, with I_i the inertia of all that joint i carries: mueller2018 eq. (81) with the sum over bodies
done first. Not in the frame of space: far from its origin the parallel axes would cost digits.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, scale, sub, sym_mul
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.articulated import rotate_symmetric
from chasles.relative.joint import placement, screw_weights
from chasles.relative.kinematics import composed
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    HEAD,
    SPHERICAL,
    constants_of,
    inertia_of,
    link,
    link_of_velocity,
    links_of,
    run_of_velocity,
    velocity_before,
)

# of each link: its pose in the frame of the first link of its tree; mass, first moment and inertia of all it carries
COMPOSITE = layout("COMPOSITE", rotation=9, position=3, moment=3, inertia=6, mass=1)


@kernel
def columns_at(topology):
    """Where the columns of the Jacobian begin in the workspace, six numbers for each velocity."""
    return links_of(topology) * COMPOSITE.size


@kernel
def symmetric_of(inertia, z):
    return (
        *(like(inertia[0], z), like(inertia[1], z), like(inertia[2], z)),
        *(like(inertia[3], z), like(inertia[4], z), like(inertia[5], z)),
    )


@kernel
def moved_inertia(inertia, R, p, z):
    """Mass, first moment and rotational inertia of a link at the pose (R, p): the parallel axes theorem."""
    mass, moment, rotational = inertia
    h = mul(R, moment)
    J = rotate_symmetric(R, symmetric_of(rotational, z))
    k = add_scaled(h, 0.5 * mass, p)  # J - p~ k~ - k~ p~
    s = 2.0 * dot(p, k)
    J = (
        *(J[0] + s - 2.0 * p[0] * k[0], J[1] - p[0] * k[1] - k[0] * p[1], J[2] - p[0] * k[2] - k[0] * p[2]),
        *(J[3] + s - 2.0 * p[1] * k[1], J[4] - p[1] * k[2] - k[1] * p[2], J[5] + s - 2.0 * p[2] * k[2]),
    )
    return like(mass, z), add_scaled(h, mass, p), J


@kernel
def store_column(work, at, R, p, k, turning, sliding):
    """A unit screw along column k of R through p: turning about it and sliding along it."""
    axis = (R[k], R[3 + k], R[6 + k])
    angular = scale(turning, axis)
    store6(work, at, (angular, add(cross(p, angular), scale(sliding, axis))))


@kernel
def store_columns(numbers, c, kind, R, p, work, at):
    """The columns of the Jacobian that belong to a link's joint."""
    if kind == SPHERICAL or kind == FREE:
        store_column(work, at, R, p, 0, 1.0, 0.0)
        store_column(work, at + 6, R, p, 1, 1.0, 0.0)
        store_column(work, at + 12, R, p, 2, 1.0, 0.0)
        if kind == FREE:
            store_column(work, at + 18, R, p, 0, 0.0, 1.0)
            store_column(work, at + 24, R, p, 1, 0.0, 1.0)
            store_column(work, at + 30, R, p, 2, 0.0, 1.0)
    else:
        turning, sliding = screw_weights(numbers, c, kind)
        store_column(work, at, R, p, 2, turning, sliding)


@kernel
def gather_composites(topology, numbers, q, work, z):
    """Poses and columns of the Jacobian outward, then composite inertias inward."""
    n, zero, one = links_of(topology), like(0.0, z), like(1.0, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), i * COMPOSITE.size, parent * COMPOSITE.size
        if parent < 0:
            R, p = (one, zero, zero, zero, one, zero, zero, zero, one), (zero, zero, zero)
        else:
            R, p = placement(numbers, c, kind, q, iq, z)
            R, p = composed(load9(work, base + COMPOSITE.rotation, z), load3(work, base + COMPOSITE.position, z), R, p)
        store9(work, here + COMPOSITE.rotation, R)
        store3(work, here + COMPOSITE.position, p)
        store_columns(numbers, c, kind, R, p, work, columns_at(topology) + 6 * iv)
        mass, moment, J = moved_inertia(inertia_of(numbers, c), R, p, z)
        store3(work, here + COMPOSITE.moment, moment)
        store3(work, here + COMPOSITE.inertia, (J[0], J[1], J[2]))
        store3(work, here + COMPOSITE.inertia + 3, (J[3], J[4], J[5]))
        store(work, here + COMPOSITE.mass, mass)
    for i in range(n - 1, -1, -1):
        parent = link(topology, i)[0]
        if parent >= 0:
            here, base = i * COMPOSITE.size, parent * COMPOSITE.size
            for k in range(COMPOSITE.moment, COMPOSITE.size):
                store(work, base + k, load(work, base + k, z) + load(work, here + k, z))


@kernel
def composite_momentum(work, here, twist, z):
    """Momentum of all that a link carries, moving as one with this twist."""
    mass, moment = load(work, here + COMPOSITE.mass, z), load3(work, here + COMPOSITE.moment, z)
    at = here + COMPOSITE.inertia
    J = (*load3(work, at, z), *load3(work, at + 3, z))
    angular, linear = twist
    return add(sym_mul(J, angular), cross(moment, linear)), sub(scale(mass, linear), cross(moment, angular))


@kernel
def turn_columns(nv, at, work, z):
    """The columns of the Jacobian once more, component by component, so that a loop over joints runs through memory."""
    for s in range(nv):
        for k in range(6):
            store(work, at + (6 + k) * nv + s, load(work, at + 6 * s + k, z))


@kernel
def fill_row(topology, nv, r, row, torque, force, work, at, matrix, z):
    """M_rs for all joints s on the way from r to the ground, in runs of joints that follow each other. The row begins
    at `row` of the matrix."""
    k, free = r, at + 6 * nv
    while k >= 0:
        first = run_of_velocity(topology, k)
        for s in range(first, k + 1):
            value = load(work, free + s, z) * torque[0] + load(work, free + 3 * nv + s, z) * force[0]
            value += load(work, free + nv + s, z) * torque[1] + load(work, free + 4 * nv + s, z) * force[1]
            value += load(work, free + 2 * nv + s, z) * torque[2] + load(work, free + 5 * nv + s, z) * force[2]
            store(matrix, row + s, value)
        k = velocity_before(topology, first)
    if k < -1:  # a free joint on the ground, whose columns are those of the identity
        store3(matrix, row - 2 - k, torque)
        store3(matrix, row - 2 - k + 3, force)


@kernel
def mirror_row(topology, nv, r, matrix, z):
    """M_sr = M_rs."""
    k = r
    while k >= 0:
        first = run_of_velocity(topology, k)
        for s in range(first, min(k + 1, r)):
            store(matrix, s * nv + r, load(matrix, r * nv + s, z))
        k = velocity_before(topology, first)
    if k < -1:
        for s in range(-2 - k, 4 - k):
            store(matrix, s * nv + r, load(matrix, r * nv + s, z))


@algorithm(work=f"{COMPOSITE.size}*links+12*nv", q="nq", matrix=out("nv*nv"))
def mass_matrix(topology, numbers, q, matrix, work, z):
    """M(q), all of it, by rows. Entries that vanish for every q are not written: the matrix is to be zero before."""
    nv, columns = topology[HEAD.velocities], columns_at(topology)
    gather_composites(topology, numbers, q, work, z)
    turn_columns(nv, columns, work, z)
    for r in range(nv):
        i = link_of_velocity(topology, r)
        torque, force = composite_momentum(work, i * COMPOSITE.size, load6(work, columns + 6 * r, z), z)
        fill_row(topology, nv, r, r * nv, torque, force, work, columns, matrix, z)
        own = r * nv + r
        store(matrix, own, load(matrix, own, z) + numbers[constants_of(i) + CONSTANT.armature])
        mirror_row(topology, nv, r, matrix, z)


@algorithm(work=f"{COMPOSITE.size}*links+12*nv", q="nq", triangle=out("packed"))
def packed_mass_matrix(topology, numbers, q, triangle, work, z):
    """The lower triangle of M(q), row by row: half of the memory, which is what batches wait for."""
    nv, columns = topology[HEAD.velocities], columns_at(topology)
    gather_composites(topology, numbers, q, work, z)
    turn_columns(nv, columns, work, z)
    for r in range(nv):
        i, row = link_of_velocity(topology, r), r * (r + 1) // 2
        torque, force = composite_momentum(work, i * COMPOSITE.size, load6(work, columns + 6 * r, z), z)
        fill_row(topology, nv, r, row, torque, force, work, columns, triangle, z)
        store(triangle, row + r, load(triangle, row + r, z) + numbers[constants_of(i) + CONSTANT.armature])
