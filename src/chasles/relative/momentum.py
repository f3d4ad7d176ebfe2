"""Energies, momentum and center of mass of a state, and the centroidal momentum matrix: O(n).

The momentum is that of all links about the origin of space, (angular, linear), the sum of the spatial momenta
Π = Ad⁻ᵀ M V (mueller2018 eq. (35)); the centroidal one is about the center of mass, in world axes. Armatures have
kinetic energy, but no momentum: what their rotors turn about is not known. What is welded to the ground does not count.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, inertia_mul, mul, scale, sub
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.jacobian import spread
from chasles.relative.joint import placement
from chasles.relative.kinematics import STATE, composed, move_links
from chasles.relative.mass import COMPOSITE, columns_at, composite_momentum, moved_inertia, store_columns
from chasles.relative.tables import (
    CONSTANT,
    GRAVITY,
    HEAD,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
    velocities_of,
)


@kernel
def armature_energy(topology, numbers, v, z):
    total = like(0.0, z)
    if topology[HEAD.armatures] > 0:
        for i in range(links_of(topology)):
            speed = load(v, link(topology, i)[3], z)
            total = total + 0.5 * numbers[constants_of(i) + CONSTANT.armature] * speed * speed
    return total


@algorithm(work=f"{STATE.size}*slots", q="nq", v="nv", energy=out("2"), momentum=out("6"), center=out("6"))
def totals(topology, numbers, q, v, energy, momentum, center, work, z):
    """Kinetic and potential energy, momentum about the origin, position and velocity of the center of mass.

    v may be empty: then the links do not move. The potential is zero with the center of mass at the origin.
    """
    move_links(topology, numbers, q, v, v[:0], work, z)
    zero, total = like(0.0, z), 0.0
    kinetic, none = zero, (zero, zero, zero)
    angular, linear, moment = none, none, none
    for i in range(links_of(topology)):
        inertia, at = inertia_of(numbers, constants_of(i)), (i + 1) * STATE.size
        R, p = load9(work, at + STATE.rotation, z), load3(work, at + STATE.position, z)
        total += inertia[0]
        moment = add(moment, add_scaled(mul(R, inertia[1]), inertia[0], p))
        if v.shape[0] > 0:
            twist = load6(work, at + STATE.twist, z)
            L, P = inertia_mul(inertia, twist)
            kinetic = kinetic + 0.5 * (dot(L, twist[0]) + dot(P, twist[1]))
            P = mul(R, P)
            angular, linear = add(angular, add(mul(R, L), cross(p, P))), add(linear, P)
    if v.shape[0] > 0:
        kinetic = kinetic + armature_energy(topology, numbers, v, z)
    g = vector_at(numbers, GRAVITY.vector)
    store(energy, 0, kinetic)
    store(energy, 1, -dot(moment, g))
    store6(momentum, 0, (angular, linear))
    store6(center, 0, (scale(1.0 / total, moment), scale(1.0 / total, linear)))


@kernel
def place_links(topology, numbers, q, work, z):
    """Poses of the links in space; their center of mass."""
    zero, total = like(0.0, z), 0.0
    moment = (zero, zero, zero)
    for i in range(links_of(topology)):
        parent, kind, iq, _ = link(topology, i)
        c, here, base = constants_of(i), i * COMPOSITE.size, parent * COMPOSITE.size
        R, p = placement(numbers, c, kind, q, iq, z)
        if parent >= 0:
            R, p = composed(load9(work, base + COMPOSITE.rotation, z), load3(work, base + COMPOSITE.position, z), R, p)
        store9(work, here + COMPOSITE.rotation, R)
        store3(work, here + COMPOSITE.position, p)
        mass, own, _ = inertia_of(numbers, c)
        total += mass
        moment = add(moment, add_scaled(mul(R, own), mass, p))
    return scale(1.0 / total, moment)


@algorithm(work=f"{COMPOSITE.size}*links+6*nv", q="nq", matrix=out("6*nv"))
def centroidal_matrix(topology, numbers, q, matrix, work, z):
    """A(q), 6 x nv by rows: A v is the momentum about the center of mass, in world axes.

    Column k is the momentum of all that joint k carries, moving as one with its screw: composite bodies as in the mass
    matrix, from the center of mass.
    """
    n, nv, columns = links_of(topology), topology[HEAD.velocities], columns_at(topology)
    middle = place_links(topology, numbers, q, work, z)
    for i in range(n):
        _, kind, _, iv = link(topology, i)
        c, here = constants_of(i), i * COMPOSITE.size
        R = load9(work, here + COMPOSITE.rotation, z)
        p = sub(load3(work, here + COMPOSITE.position, z), middle)
        store_columns(numbers, c, kind, R, p, work, columns + 6 * iv)
        mass, moment, J = moved_inertia(inertia_of(numbers, c), R, p, z)
        store3(work, here + COMPOSITE.moment, moment)
        store6(work, here + COMPOSITE.inertia, ((J[0], J[1], J[2]), (J[3], J[4], J[5])))
        store(work, here + COMPOSITE.mass, mass)
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        here = i * COMPOSITE.size
        for k in range(iv, iv + velocities_of(kind)):
            spread(matrix, k, nv, composite_momentum(work, here, load6(work, columns + 6 * k, z), z))
        if parent >= 0:
            for k in range(COMPOSITE.moment, COMPOSITE.size):
                at = parent * COMPOSITE.size + k
                store(work, at, load(work, at, z) + load(work, here + k, z))
