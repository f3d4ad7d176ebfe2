"""Inverse dynamics in spatial representation: mueller2018 eqs. (68)-(71), with (71b) corrected (-W_app, from the last
link on).

Twists, accelerations and wrenches of all links are seen from the origin of space, so that none is transformed on its
way along the tree; the joint screws and the inertias are moved there instead, (70b) and (71a).
Gravity is an acceleration of the ground by -g. Far from the origin the parallel axes cost digits, as in the paper.
"""

from __future__ import annotations

from chasles.kernel.algebra import (
    add,
    cross,
    dot,
    force_cross,
    inertia_mul,
    mat_mul,
    motion_cross,
    mul,
    mul_t,
    scale,
    sub,
)
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.inverse import add_armature
from chasles.relative.joint import along_screws, placement, store_felt, turned
from chasles.relative.kinematics import composed
from chasles.relative.mass import moved_inertia
from chasles.relative.tables import (
    CONSTANT,
    GRAVITY,
    REVOLUTE,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)

# of each link, and first of the ground; `screw` is that of a revolute joint
SPACE = layout("SPACE", rotation=9, position=3, screw=6, twist=6, acceleration=6, wrench=6)


@kernel
def start_at_ground(numbers, work, z):
    """The ground is the inertial frame, accelerated against gravity."""
    one, zero = like(1.0, z), like(0.0, z)
    none, g = (zero, zero, zero), vector_at(numbers, GRAVITY.vector)
    store9(work, SPACE.rotation, (one, zero, zero, zero, one, zero, zero, zero, one))
    store3(work, SPACE.position, none)
    store6(work, SPACE.twist, (none, none))
    store6(work, SPACE.acceleration, (none, (like(-g[0], z), like(-g[1], z), like(-g[2], z))))
    store6(work, SPACE.wrench, (none, none))


@kernel
def in_space(R, p, motion):
    """Ad of the pose (R, p) on a twist."""
    w = mul(R, motion[0])
    return w, add(mul(R, motion[1]), cross(p, w))


@kernel
def wrench_in_space(R, p, wrench):
    """Ad⁻ᵀ of the pose (R, p) on a wrench."""
    force = mul(R, wrench[1])
    return add(mul(R, wrench[0]), cross(p, force)), force


@kernel
def add6(a, b):
    return add(a[0], b[0]), add(a[1], b[1])


@algorithm(work=f"{SPACE.size}*slots", q="nq", v="nv", a="nv", wrenches="6*links", tau=out("nv"))
def inverse_dynamics_spatial(topology, numbers, q, v, a, wrenches, tau, work, z):
    """tau of the motion (q, v, a). `wrenches` on the links, in their frames at their origins, may be empty."""
    n = links_of(topology)
    start_at_ground(numbers, work, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * SPACE.size, (parent + 1) * SPACE.size
        R, p = load9(work, base + SPACE.rotation, z), load3(work, base + SPACE.position, z)
        if kind == REVOLUTE:
            p = add(p, mul(R, vector_at(numbers, c + CONSTANT.position)))
            R = mat_mul(R, turned(numbers, c, load(q, iq, z), z))
            axis = (R[2], R[5], R[8])
            arm, speed, gain = cross(p, axis), load(v, iv, z), load(a, iv, z)
            store6(work, here + SPACE.screw, (axis, arm))
            joint, rate = (scale(speed, axis), scale(speed, arm)), (scale(gain, axis), scale(gain, arm))
        else:
            X, x = placement(numbers, c, kind, q, iq, z)
            R, p = composed(R, p, X, x)
            joint = in_space(R, p, along_screws(numbers, c, kind, v, iv, z))
            rate = in_space(R, p, along_screws(numbers, c, kind, a, iv, z))
        before = load6(work, base + SPACE.twist, z)
        twist = add6(before, joint)
        A = add6(add6(load6(work, base + SPACE.acceleration, z), rate), motion_cross(before, joint))
        inertia = moved_inertia(inertia_of(numbers, c), R, p, z)
        wrench = add6(inertia_mul(inertia, A), force_cross(twist, inertia_mul(inertia, twist)))
        if wrenches.shape[0] > 0:
            applied = wrench_in_space(R, p, load6(wrenches, 6 * i, z))
            wrench = (sub(wrench[0], applied[0]), sub(wrench[1], applied[1]))
        store9(work, here + SPACE.rotation, R)
        store3(work, here + SPACE.position, p)
        store6(work, here + SPACE.twist, twist)
        store6(work, here + SPACE.acceleration, A)
        store6(work, here + SPACE.wrench, wrench)
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        here, base = (i + 1) * SPACE.size, (parent + 1) * SPACE.size
        torque, force = load6(work, here + SPACE.wrench, z)
        if kind == REVOLUTE:
            axis, arm = load6(work, here + SPACE.screw, z)
            store(tau, iv, dot(axis, torque) + dot(arm, force))
        else:
            R, p = load9(work, here + SPACE.rotation, z), load3(work, here + SPACE.position, z)
            own = (mul_t(R, sub(torque, cross(p, force))), mul_t(R, force))
            store_felt(numbers, constants_of(i), kind, own, tau, iv, z)
        add3(work, base + SPACE.wrench, torque)
        add3(work, base + SPACE.wrench + 3, force)
    add_armature(topology, numbers, a, tau, z)
