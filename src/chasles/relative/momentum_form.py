"""The equations of motion as first-order equations in (q, momenta): mueller2018 eq. (79), O(n).

The paper takes the spatial momenta Π_i of all bodies as state, 6n numbers of which the joints leave nv free: their
rates with the constraint forces eliminated are Jᵀ(Π' - W) = 0. Here the state has just these nv numbers, the part of
P_i = Σ Π_l (of all that link i carries, in space) that joint i lets through, in axes in which its rate has no
velocity terms where the paper's has none:

    free joint        p = P_i, momentum about the origin of space         p' = W, applied wrenches
    spherical joint   p = momentum about the joint's center c, world axes  p' = torque about c - c' × linear part of P_i
    one freedom       p = J_iᵀ P_i (+ armature v)                          p' = tau + J_iᵀ W + (ad_V J_i)ᵀ P_i

So a free-floating tree keeps its momentum as a linear invariant with the rate 0, and a spherical joint on the ground
its angular momentum; every Runge-Kutta method keeps them to rounding. The velocities are the solution of M v = Jᵀ P,
which is forward dynamics without velocities and gravity: articulated bodies, O(n).
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, inertia_mul, motion_cross, mul, mul_t, scale, sub
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.forward import LIMB, forward_dynamics
from chasles.relative.inverse_spatial import add6, in_space, wrench_in_space
from chasles.relative.joint import along_screws, placement, screw_weights
from chasles.relative.kinematics import composed
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    GRAVITY,
    HEAD,
    SPHERICAL,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
)

solve = forward_dynamics.kernel
# of each link, and first of the ground, in space: momentum of, and wrench on, all that it carries
FLOW = layout("FLOW", rotation=9, position=3, twist=6, momentum=6, wrench=6)


@kernel
def place(topology, numbers, q, start, work, z):
    """Poses of the links in space; `start` is where the fields begin in the workspace."""
    one, zero = like(1.0, z), like(0.0, z)
    none = (zero, zero, zero)
    store9(work, start + FLOW.rotation, (one, zero, zero, zero, one, zero, zero, zero, one))
    store3(work, start + FLOW.position, none)
    store6(work, start + FLOW.twist, (none, none))
    store6(work, start + FLOW.momentum, (none, none))
    store6(work, start + FLOW.wrench, (none, none))
    for i in range(links_of(topology)):
        parent, kind, iq, _ = link(topology, i)
        here, base = start + (i + 1) * FLOW.size, start + (parent + 1) * FLOW.size
        R, p = placement(numbers, constants_of(i), kind, q, iq, z)
        R, p = composed(load9(work, base + FLOW.rotation, z), load3(work, base + FLOW.position, z), R, p)
        store9(work, here + FLOW.rotation, R)
        store3(work, here + FLOW.position, p)


@kernel
def move(topology, numbers, v, start, work, z):
    """Spatial twists and momenta, and the weights as wrenches, of each link by itself."""
    g = vector_at(numbers, GRAVITY.vector)
    for i in range(links_of(topology)):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), start + (i + 1) * FLOW.size, start + (parent + 1) * FLOW.size
        R, p = load9(work, here + FLOW.rotation, z), load3(work, here + FLOW.position, z)
        joint = in_space(R, p, along_screws(numbers, c, kind, v, iv, z))
        twist = add6(load6(work, base + FLOW.twist, z), joint)
        store6(work, here + FLOW.twist, twist)
        inertia = inertia_of(numbers, c)
        own = (mul_t(R, twist[0]), mul_t(R, sub(twist[1], cross(p, twist[0]))))
        store6(work, here + FLOW.momentum, wrench_in_space(R, p, inertia_mul(inertia, own)))
        weight = (like(inertia[0] * g[0], z), like(inertia[0] * g[1], z), like(inertia[0] * g[2], z))
        moment = add_scaled(mul(R, inertia[1]), inertia[0], p)
        store6(work, here + FLOW.wrench, (cross(moment, g), weight))


@kernel
def hand_inward(topology, i, start, work, z):
    """Give momentum and wrench of a link and what it carries to its parent."""
    here, base = start + (i + 1) * FLOW.size, start + (link(topology, i)[0] + 1) * FLOW.size
    for k in range(FLOW.momentum, FLOW.size, 3):
        add3(work, base + k, load3(work, here + k, z))


@kernel
def screw_in_space(numbers, c, kind, R, p):
    """J of a joint with one freedom."""
    turning, sliding = screw_weights(numbers, c, kind)
    axis = (R[2], R[5], R[8])
    angular = scale(turning, axis)
    return angular, add(cross(p, angular), scale(sliding, axis))


@algorithm(work=f"{FLOW.size}*slots", q="nq", v="nv", p=out("nv"))
def momenta(topology, numbers, q, v, p, work, z):
    """The momenta p of a state (q, v)."""
    place(topology, numbers, q, 0, work, z)
    move(topology, numbers, v, 0, work, z)
    for i in range(links_of(topology) - 1, -1, -1):
        _, kind, _, iv = link(topology, i)
        c, here = constants_of(i), (i + 1) * FLOW.size
        angular, linear = load6(work, here + FLOW.momentum, z)
        R, r = load9(work, here + FLOW.rotation, z), load3(work, here + FLOW.position, z)
        if kind == FREE:
            store6(p, iv, (angular, linear))
        elif kind == SPHERICAL:
            store3(p, iv, sub(angular, cross(r, linear)))
        else:
            J = screw_in_space(numbers, c, kind, R, r)
            rotor = numbers[c + CONSTANT.armature] * load(v, iv, z)
            store(p, iv, dot(J[0], angular) + dot(J[1], linear) + rotor)
        hand_inward(topology, i, 0, work, z)


@kernel
def joint_momenta(topology, p, generalized, start, work, z):
    """Jᵀ P from p: the same for one freedom, in the axes of the link for others."""
    for i in range(links_of(topology)):
        _, kind, _, iv = link(topology, i)
        here = start + (i + 1) * FLOW.size
        R = load9(work, here + FLOW.rotation, z)
        if kind == FREE:
            angular, linear = load6(p, iv, z)
            angular = sub(angular, cross(load3(work, here + FLOW.position, z), linear))
            store6(generalized, iv, (mul_t(R, angular), mul_t(R, linear)))
        elif kind == SPHERICAL:
            store3(generalized, iv, mul_t(R, load3(p, iv, z)))
        else:
            store(generalized, iv, load(p, iv, z))


@algorithm(
    work=f"{LIMB.size}*slots+{FLOW.size}*slots",
    q="nq",
    p="nv",
    tau="nv",
    wrenches="6*links",
    still=fixed(),
    v=out("nv"),
    rate=out("nv"),
    generalized=out("nv"),
)
def momentum_rates(topology, numbers, q, p, tau, wrenches, still, v, rate, generalized, work, z):
    """v and p' of a state (q, p), and M v. `still` is `numbers` without gravity; tau and wrenches may be empty."""
    n, zero, start = links_of(topology), like(0.0, z), (links_of(topology) + 1) * LIMB.size
    place(topology, numbers, q, start, work, z)
    joint_momenta(topology, p, generalized, start, work, z)
    for k in range(topology[HEAD.velocities]):
        store(rate, k, zero)  # serves as the velocities of a tree at rest
    solve(topology, still, q, rate, generalized, wrenches[:0], v, work, z)
    move(topology, numbers, v, start, work, z)
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        c, here = constants_of(i), start + (i + 1) * FLOW.size
        R, r = load9(work, here + FLOW.rotation, z), load3(work, here + FLOW.position, z)
        if wrenches.shape[0] > 0:
            applied = wrench_in_space(R, r, load6(wrenches, 6 * i, z))
            add3(work, here + FLOW.wrench, applied[0])
            add3(work, here + FLOW.wrench + 3, applied[1])
        torque, force = load6(work, here + FLOW.wrench, z)
        angular, linear = load6(work, here + FLOW.momentum, z)
        if kind == FREE:
            if tau.shape[0] > 0:
                torque, force = add6((torque, force), wrench_in_space(R, r, load6(tau, iv, z)))
            store6(rate, iv, (torque, force))
        elif kind == SPHERICAL:
            about = sub(torque, cross(r, force))
            if tau.shape[0] > 0:
                about = add(about, mul(R, load3(tau, iv, z)))
            # the center moves with the parent: on the ground exactly not
            w, u = load6(work, start + (parent + 1) * FLOW.size + FLOW.twist, z)
            store3(rate, iv, sub(about, cross(add(u, cross(w, r)), linear)))
        else:
            J = screw_in_space(numbers, c, kind, R, r)
            change = motion_cross(load6(work, here + FLOW.twist, z), J)
            total = dot(J[0], torque) + dot(J[1], force) + dot(change[0], angular) + dot(change[1], linear)
            store(rate, iv, total + load(tau, iv, z) if tau.shape[0] > 0 else total)
        hand_inward(topology, i, start, work, z)
