"""M⁻¹ times generalized forces, O(n), by the articulated-body inertias that forward dynamics left behind."""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, mul_t, sub
from chasles.kernel.dense import factor_symmetric, solve_symmetric
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, load9, store3, store6
from chasles.relative.articulated import load_articulated
from chasles.relative.forward import LIMB, accelerate, accelerate_turning, carried, hand_wrench, set_ground
from chasles.relative.joint import screw_weights
from chasles.relative.tables import CONSTANT, FREE, REVOLUTE, SPHERICAL, constants_of, link, links_of, vector_at

NOTHING = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@kernel
def place_of(numbers, i, kind, limbs):
    """Pose of link i in its parent's frame."""
    here = (i + 1) * LIMB.size
    R = load9(limbs, here + LIMB.rotation, 0.0)
    if kind == REVOLUTE:
        return R, vector_at(numbers, constants_of(i) + CONSTANT.position)
    return R, load3(limbs, here + LIMB.position, 0.0)


@kernel
def solve_mass(topology, numbers, limbs, force, x):
    """x = M⁻¹ force, by the articulated-body inertias in `limbs`; `motion` there becomes the twists of velocities x."""
    n = links_of(topology)
    for i in range(n):
        store6(limbs, (i + 1) * LIMB.size + LIMB.bias, NOTHING)
        store6(limbs, (i + 1) * LIMB.size + LIMB.drift, NOTHING)
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        here, base = (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        torque, push = load6(limbs, here + LIMB.bias, 0.0)
        if kind == FREE:
            torque, push = load6(force, iv, 0.0)
        elif kind == SPHERICAL:
            J, H, _ = load_articulated(limbs, here + LIMB.inertia, 0.0)
            own = load3(force, iv, 0.0)
            drive = sub(own, torque)
            store3(limbs, here + LIMB.drive, drive)
            torque, push = own, add(push, mul_t(H, solve_symmetric(factor_symmetric(J), drive)))
        else:
            s, t = screw_weights(numbers, constants_of(i), kind)
            drive = force[iv] - s * torque[2] - t * push[2]
            limbs[here + LIMB.drive] = drive
            U, share = load6(limbs, here + LIMB.coupling, 0.0), drive * limbs[here + LIMB.pivot]
            torque, push = add_scaled(torque, share, U[0]), add_scaled(push, share, U[1])
        if parent >= 0:
            R, p = place_of(numbers, i, kind, limbs)
            hand_wrench(limbs, base, R, p, torque, push)
    set_ground(limbs, (0.0, 0.0, 0.0), 0.0)
    for i in range(n):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        A = load6(limbs, base + LIMB.motion, 0.0)
        R, p = place_of(numbers, i, kind, limbs)
        if kind == REVOLUTE:
            accelerate_turning(numbers, c, iv, x, R, A, limbs, here, 0.0)
        else:
            accelerate(numbers, c, kind, force, iv, x, carried(R, p, A), limbs, here, 0.0)
