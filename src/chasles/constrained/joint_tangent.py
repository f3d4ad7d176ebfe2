"""Derivatives of what acts along the coordinates of a joint, for Newton's matrix.

With velocities v = P V of the joint and the wrench Pᵀ τ on its two bodies, forces of the joint's own and those of laws
add -Pᵀ (∂τ/∂q + ∂τ/∂v `ratio`) P, with the derivatives of τ by differences along the joint's coordinates. How P itself
turns with the bodies is left out, and so are inputs and constant forces: the iteration then takes a little longer.
"""

from __future__ import annotations

from chasles.absolute.joint_force import (
    ABOUT_Z,
    AXES,
    BALL,
    FRAMES,
    FREEDOM,
    JOINT,
    LOOSE,
    SCREWS,
    SPOT,
    add_laws,
    kind_of,
    passive_forces,
    push_joint,
    spot_joint,
)
from chasles.absolute.tables import MASS
from chasles.constrained.tables import BLOCK
from chasles.force.table import MOVING
from chasles.kernel.algebra import add, dot, mul, outer, scale
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add9, load3, load9, store3, store6
from chasles.lie import quaternion

DIFFERENCE = 1e-6  # of 1 rad, or of the size of a body
NONE = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@kernel
def gives_way(joints, j):
    """Whether what acts along joint j depends on its coordinates or velocities."""
    return joints[j * JOINT.size + JOINT.passive] != 0 or joints[j * JOINT.size + JOINT.count] != 0


@kernel
def gyration(masses, i):
    """The largest radius of gyration of body i [m]."""
    at = i * MASS.size
    a, b, c = load3(masses, at + MASS.moments, 0.0)
    return sqrt(max(max(a, b), c) / masses[at + MASS.mass])


@kernel
def slides(form, numbers, what, k, nv):
    """Whether coordinate k of a joint is a length."""
    if form == AXES:
        return kind_of(numbers, what, k) != ABOUT_Z
    if form == SCREWS:
        turn = load3(numbers, what + FREEDOM.size * nv + 6 * k, 0.0)
        return dot(turn, turn) == 0.0
    return k > 2


@kernel(allocates=True)
def move_joint(form, k, e, spot):
    """Move the joint in `spot` by e along its velocity k."""
    unit = (spot[SPOT.q], spot[SPOT.q + 1], spot[SPOT.q + 2], spot[SPOT.q + 3])
    along = (e if k % 3 == 0 else 0.0, e if k % 3 == 1 else 0.0, e if k % 3 == 2 else 0.0)
    if form != BALL and form != LOOSE:
        spot[SPOT.q + k] += e
    elif k < 3:
        turned = quaternion.product(unit, quaternion.exp(along))
        spot[SPOT.q], spot[SPOT.q + 1], spot[SPOT.q + 2], spot[SPOT.q + 3] = turned
    else:
        store3(spot, SPOT.q + 4, add(load3(spot, SPOT.q + 4, 0.0), quaternion.rotate(unit, along)))


@kernel(allocates=True)
def wrench_on(states, i, wrenches):
    """The wrench on body i, torque in the body and force in space, which is then set to zero; none on the ground."""
    if i < 0:
        return NONE
    R = load9(states, (i + 1) * MOVING.size + MOVING.rotation, 0.0)
    wrench = load3(wrenches, 6 * i, 0.0), mul(R, load3(wrenches, 6 * i + 3, 0.0))
    store6(wrenches, 6 * i, NONE)
    return wrench


@kernel
def add_product(target, aa, al, la, ll, s, w, p):
    """Add s w pᵀ to four tiles."""
    turned, moved = scale(s, w[0]), scale(s, w[1])
    add9(target, aa, outer(turned, p[0]))
    add9(target, al, outer(turned, p[1]))
    add9(target, la, outer(moved, p[0]))
    add9(target, ll, outer(moved, p[1]))


@kernel
def add_to_block(blocks, i, s, w, p):
    if i >= 0:
        at = i * BLOCK.size
        add_product(blocks, at + BLOCK.aa, at + BLOCK.al, at + BLOCK.la, at + BLOCK.ll, s, w, p)


@kernel(allocates=True)
def stiffen_joint(job, j, at_slots):
    """Add s ∂(-Q)/∂d of what acts along joint j."""
    joints, numbers, states, blocks, spot = (
        job.forces.joints,
        job.forces.joint_numbers,
        job.states,
        job.blocks,
        job.scratch,
    )
    law_wrenches, slots, s = job.law_wrenches, job.slots, job.s
    row = j * JOINT.size
    form, nv = joints[row + JOINT.form], joints[row + JOINT.velocities]
    A, B = joints[row + JOINT.first], joints[row + JOINT.second]
    what, length = joints[row + JOINT.numbers] + FRAMES.size, gyration(job.forces.masses, B if B >= 0 else A)
    wrench_on(states, A, law_wrenches)
    wrench_on(states, B, law_wrenches)
    for k in range(nv):
        change, small = NONE, DIFFERENCE * (length if slides(form, numbers, what, k, nv) else 1.0)
        for side in range(2):
            e = small if side == 0 else -small
            spot_joint(joints, numbers, j, states, job.forces.counted, spot)
            move_joint(form, k, e, spot)
            spot[SPOT.v + k] += job.ratio * e
            for i in range(nv):
                spot[SPOT.tau + i] = 0.0
            if joints[row + JOINT.passive] != 0:
                passive_forces(joints, numbers, j, spot)
            laws = job.forces.table, job.forces.values
            add_laws(job.t, joints, numbers, j, *laws, states, job.forces.counted, spot)
            factor = -0.5 / e
            first, second = load3(spot, SPOT.tau, 0.0), load3(spot, SPOT.tau + 3, 0.0)
            change = add(change[0], scale(factor, first)), add(change[1], scale(factor, second))
        store6(spot, SPOT.tau, change)
        push_joint(joints, numbers, j, states, law_wrenches, spot)
        on_first, on_second = wrench_on(states, A, law_wrenches), wrench_on(states, B, law_wrenches)
        for i in range(nv):
            spot[SPOT.tau + i] = 1.0 if i == k else 0.0
        push_joint(joints, numbers, j, states, law_wrenches, spot)
        first, second = wrench_on(states, A, law_wrenches), wrench_on(states, B, law_wrenches)
        add_to_block(blocks, A, s, on_first, first)
        add_to_block(blocks, B, s, on_second, second)
        if at_slots >= 0:
            m = at_slots
            aa, al, la, ll = 9 * slots[m], 9 * slots[m + 1], 9 * slots[m + 2], 9 * slots[m + 3]
            add_product(job.matrix, aa, al, la, ll, s, on_first, second)
            aa, al, la, ll = 9 * slots[m + 4], 9 * slots[m + 5], 9 * slots[m + 6], 9 * slots[m + 7]
            add_product(job.matrix, aa, al, la, ll, s, on_second, first)
