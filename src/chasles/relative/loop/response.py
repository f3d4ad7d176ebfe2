"""How a tree responds to wrenches on its links: M⁻¹ Jᵀ by the articulated-body inertias that are there, O(n) each.

The sweep to the ground factorizes M⁻¹ = Bᵀ D⁻¹ B: behind each joint a wrench is handed on without the part ε that moves
the joint. So the matrix of the constraints is a product of what single sweeps to the ground give,

    J M⁻¹ Jᵀ = F Fᵀ,   F = J Bᵀ D^(-1/2),

with a row of F that is zero but on the way from the bodies of the constraint to the ground.

A row can be zero by structure, as those across the plane of a planar loop, and then it is rounding: its own length does
not tell. Its reach does: what it would be if every joint that its wrench meets had its screw along the wrench; for the
up to three rows of a group their mean.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, dot, mul, mul_t, scale, sub
from chasles.kernel.dense import complement, factor_symmetric, minus_symmetric, solve_symmetric
from chasles.kernel.lanes import fma, sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, load6, load9, store3, store6
from chasles.relative.articulated import load_articulated
from chasles.relative.forward import LIMB, accelerate, accelerate_turning, carried, set_ground
from chasles.relative.joint import screw_weights
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    REVOLUTE,
    SPHERICAL,
    constants_of,
    link,
    links_of,
    vector_at,
)

NOTHING = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@kernel
def root_of(factor, x):
    """D^(-1/2) L⁻¹ x of a factor L D Lᵀ."""
    i0, i1, i2, l10, l20, l21 = factor
    b = x[1] - l10 * x[0]
    return (sqrt(i0) * x[0], sqrt(i1) * b, sqrt(i2) * (x[2] - l20 * x[0] - l21 * b))


@kernel
def place_of(numbers, i, kind, limbs):
    """Pose of link i in its parent's frame."""
    here = (i + 1) * LIMB.size
    R = load9(limbs, here + LIMB.rotation, 0.0)
    if kind == REVOLUTE:
        return R, vector_at(numbers, constants_of(i) + CONSTANT.position)
    return R, load3(limbs, here + LIMB.position, 0.0)


@kernel
def hand_on(numbers, i, kind, parent, limbs, wrench, wrenches):
    """Add a wrench on link i to those on its parent."""
    if parent >= 0:
        R, p = place_of(numbers, i, kind, limbs)
        force = mul(R, wrench[1])
        add3(wrenches, 6 * parent, add(mul(R, wrench[0]), cross(p, force)))
        add3(wrenches, 6 * parent + 3, force)


@kernel
def past_one_freedom(numbers, i, kind, limbs, wrench):
    """What a wrench on link i moves a joint with one freedom by, ε = Sᵀ W, and what it hands on."""
    here = (i + 1) * LIMB.size
    U, pivot = load6(limbs, here + LIMB.coupling, 0.0), limbs[here + LIMB.pivot]
    s, t = screw_weights(numbers, constants_of(i), kind)
    moving = fma(t, wrench[1][2], s * wrench[0][2])  # so written, the compiler fuses it alike alone and on lanes
    part = moving * pivot
    return moving, (sub(wrench[0], scale(part, U[0])), sub(wrench[1], scale(part, U[1])))


@kernel
def row_of_factor(topology, numbers, visits, first, count, limbs, wrenches, lever, F, at):
    """A row of F from wrenches on some links, along their way to the ground; these wrenches become zero.

    The squared reach is returned. With the length `lever` between forces and torques it is at least the row's squared
    length, and never a difference of large numbers.
    """
    reach = 0.0
    for k in range(first, first + count):
        i = visits[k]
        parent, kind, _, iv = link(topology, i)
        here = (i + 1) * LIMB.size
        wrench = load6(wrenches, 6 * i, 0.0)
        store6(wrenches, 6 * i, NOTHING)
        size = dot(wrench[0], wrench[0]) + lever * lever * dot(wrench[1], wrench[1])
        if kind == SPHERICAL or kind == FREE:
            J, H, M = load_articulated(limbs, here + LIMB.inertia, 0.0)
            factor = factor_symmetric(J)
            turned = root_of(factor, wrench[0])
            store3(F, at + iv, turned)
            reach += dot(turned, turned) + 3.0 * size / (J[0] + J[3] + J[5])
            push = sub(wrench[1], mul_t(H, solve_symmetric(factor, wrench[0])))
            if kind == FREE:
                rest = factor_symmetric(minus_symmetric(M, complement(J, H, factor)))
                moved = root_of(rest, push)
                store3(F, at + iv + 3, moved)
                reach += dot(moved, moved)
            else:
                hand_on(numbers, i, kind, parent, limbs, ((0.0, 0.0, 0.0), push), wrenches)
        else:
            moving, wrench = past_one_freedom(numbers, i, kind, limbs, wrench)
            F[at + iv] = moving * sqrt(limbs[here + LIMB.pivot])
            s, t = screw_weights(numbers, constants_of(i), kind)
            reach += limbs[here + LIMB.pivot] * (s * s + t * t / (lever * lever)) * size
            hand_on(numbers, i, kind, parent, limbs, wrench, wrenches)
    return reach


@kernel
def respond_to(topology, numbers, limbs, wrenches, still, change):
    """change = M⁻¹ times the generalized forces of the wrenches, which are used up; still: zeros."""
    n = links_of(topology)
    for i in range(n - 1, -1, -1):
        parent, kind, _, _ = link(topology, i)
        here = (i + 1) * LIMB.size
        wrench = load6(wrenches, 6 * i, 0.0)
        store6(limbs, here + LIMB.drift, NOTHING)
        if kind == FREE:
            store3(limbs, here + LIMB.bias, scale(-1.0, wrench[0]))
            store3(limbs, here + LIMB.bias + 3, scale(-1.0, wrench[1]))
        elif kind == SPHERICAL:
            J, H, _ = load_articulated(limbs, here + LIMB.inertia, 0.0)
            store3(limbs, here + LIMB.drive, wrench[0])
            push = sub(wrench[1], mul_t(H, solve_symmetric(factor_symmetric(J), wrench[0])))
            hand_on(numbers, i, kind, parent, limbs, ((0.0, 0.0, 0.0), push), wrenches)
        else:
            moving, wrench = past_one_freedom(numbers, i, kind, limbs, wrench)
            limbs[here + LIMB.drive] = moving
            hand_on(numbers, i, kind, parent, limbs, wrench, wrenches)
    set_ground(limbs, (0.0, 0.0, 0.0), 0.0)
    for i in range(n):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        A = load6(limbs, base + LIMB.motion, 0.0)
        if kind == REVOLUTE:
            R = load9(limbs, here + LIMB.rotation, 0.0)
            accelerate_turning(numbers, c, iv, change, R, A, limbs, here, 0.0)
        else:
            R, p = place_of(numbers, i, kind, limbs)
            accelerate(numbers, c, kind, still, iv, change, carried(R, p, A), limbs, here, 0.0)
