"""What all derivatives of the dynamics are made of: screws with their rates, and sums over all that a joint carries.

When q_j moves, all that joint j carries is displaced as one along its screw S_j, and nothing else moves. In a frame at
rest, with × = ad and ×* = -adᵀ, and with V, A the twist and acceleration of the parent of joint j (gravity is an
acceleration of the ground by -g), the motion of a link that j carries changes by more than the displacement:

    ∂V_i/∂q_j = S_j × V_i + ψ_j'                    ψ_j'  = V × S_j
    ∂A_i/∂q_j = S_j × A_i + ψ_j'' - V_i × ψ_j'      ψ_j'' = A × S_j + V × ψ_j'
    ∂A_i/∂v_j = χ_j - V_i × S_j                     χ_j   = ψ_j' + S_j',  S_j' = V_j × S_j

(singh2022.) So the wrench f_i = I_i A_i + V_i ×* I_i V_i, less what is applied, changes by

    ∂f_i/∂q_j = S_j ×* f_i + I_i ψ_j'' + 2B_i ψ_j'
    ∂f_i/∂v_j = I_i χ_j + 2B_i S_j                  2B_i u = (V_i ×* I_i - I_i V_i ×) u + u ×* I_i V_i

in which sums over links can be done first, inward. For joints with several freedoms on a group (spherical, free) this
is the derivative along q exp(δ); then ψ_j' and S_j' differ. The frame is the first link's of the tree, held still, so
that no digits are lost far from the origin.
"""

from __future__ import annotations

from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    force_cross,
    inertia_mul,
    motion_cross,
    mul_t,
    sub,
    sym_mul,
)
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.relative.coriolis import CARRIED, inertia_rates
from chasles.relative.inverse_spatial import add6, wrench_in_space
from chasles.relative.joint import placement
from chasles.relative.kinematics import composed
from chasles.relative.mass import moved_inertia, store_columns
from chasles.relative.tables import (
    FREE,
    GRAVITY,
    HEAD,
    SPHERICAL,
    constants_of,
    inertia_of,
    link,
    links_of,
    vector_at,
    velocities_of,
)

# of each link: as RATED of the Coriolis matrices up to `momentum`; the wrench on all it carries; its motion
LOADED = layout("LOADED", rotation=9, position=3, **CARRIED, wrench=6, twist=6, acceleration=6)
# of each velocity 24 numbers, in four blocks that begin at `screws_at` and have six each: S, ψ', ψ'' and χ
SCREW, DRIFT, DRIFT_RATE, SWING = range(4)
SCREW_NUMBERS = 24


@kernel
def screws_at(topology):
    """Where the screws begin in the workspace: behind the links."""
    return links_of(topology) * LOADED.size


@kernel
def block_at(topology, block):
    """Where a block of the screws begins."""
    return screws_at(topology) + block * 6 * topology[HEAD.velocities]


@kernel
def store_inertia(work, here, inertia, twist):
    """A link's own part of the sums, but for the wrench."""
    mass, moment, J = inertia
    J_rate, moment_rate = inertia_rates(inertia, twist)
    store3(work, here + LOADED.moment, moment)
    store6(work, here + LOADED.inertia, ((J[0], J[1], J[2]), (J[3], J[4], J[5])))
    store(work, here + LOADED.mass, mass)
    store6(work, here + LOADED.inertia_rate, ((J_rate[0], J_rate[1], J_rate[2]), (J_rate[3], J_rate[4], J_rate[5])))
    store3(work, here + LOADED.moment_rate, moment_rate)


@kernel
def ground_motion(numbers, R, z):
    """Twist and acceleration of the ground, seen from a link turned by R."""
    zero, g = like(0.0, z), vector_at(numbers, GRAVITY.vector)
    none = (zero, zero, zero)
    return (none, none), (none, mul_t(R, (like(-g[0], z), like(-g[1], z), like(-g[2], z))))


@kernel
def move_along(topology, numbers, c, kind, iv, R, p, V, A, v, a, work, z):
    """Twist and acceleration of a link from V, A of its parent; stores the screws of its joint and their rates."""
    screws = screws_at(topology) + 6 * iv
    drifts, rates = block_at(topology, DRIFT) + 6 * iv, block_at(topology, DRIFT_RATE) + 6 * iv
    swings = block_at(topology, SWING) + 6 * iv
    store_columns(numbers, c, kind, R, p, work, screws)
    twist, acceleration = V, A
    for k in range(velocities_of(kind)):
        S, speed, gain = load6(work, screws + 6 * k, z), load(v, iv + k, z), load(a, iv + k, z)
        drift = motion_cross(V, S)
        store6(work, drifts + 6 * k, drift)
        store6(work, rates + 6 * k, add6(motion_cross(A, S), motion_cross(V, drift)))
        twist = add_scaled(twist[0], speed, S[0]), add_scaled(twist[1], speed, S[1])
        acceleration = (
            add_scaled(add_scaled(acceleration[0], gain, S[0]), speed, drift[0]),
            add_scaled(add_scaled(acceleration[1], gain, S[1]), speed, drift[1]),
        )
        if kind != SPHERICAL and kind != FREE:  # with one freedom the screw turns as with the parent
            store6(work, swings, add6(drift, drift))
    if kind == SPHERICAL or kind == FREE:
        for k in range(velocities_of(kind)):
            turn = motion_cross(twist, load6(work, screws + 6 * k, z))
            store6(work, swings + 6 * k, add6(load6(work, drifts + 6 * k, z), turn))
    return twist, acceleration


@kernel
def gather(topology, numbers, q, v, a, wrenches, work, z):
    """Screws, their rates and the motion of the links outward; sums over all that each link carries inward."""
    n, zero, one = links_of(topology), like(0.0, z), like(1.0, z)
    for i in range(n):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), i * LOADED.size, parent * LOADED.size
        R, p = placement(numbers, c, kind, q, iq, z)
        if parent < 0:
            V, A = ground_motion(numbers, R, z)
            R, p = (one, zero, zero, zero, one, zero, zero, zero, one), (zero, zero, zero)
        else:
            R, p = composed(load9(work, base + LOADED.rotation, z), load3(work, base + LOADED.position, z), R, p)
            V, A = load6(work, base + LOADED.twist, z), load6(work, base + LOADED.acceleration, z)
        store9(work, here + LOADED.rotation, R)
        store3(work, here + LOADED.position, p)
        twist, acceleration = move_along(topology, numbers, c, kind, iv, R, p, V, A, v, a, work, z)
        store6(work, here + LOADED.twist, twist)
        store6(work, here + LOADED.acceleration, acceleration)
        inertia = moved_inertia(inertia_of(numbers, c), R, p, z)
        momentum = inertia_mul(inertia, twist)
        wrench = add6(inertia_mul(inertia, acceleration), force_cross(twist, momentum))
        if wrenches.shape[0] > 0:
            applied = wrench_in_space(R, p, load6(wrenches, 6 * i, z))
            wrench = (sub(wrench[0], applied[0]), sub(wrench[1], applied[1]))
        store6(work, here + LOADED.momentum, momentum)
        store6(work, here + LOADED.wrench, wrench)
        store_inertia(work, here, inertia, twist)
    for i in range(n - 1, -1, -1):
        parent = link(topology, i)[0]
        if parent >= 0:
            here, base = i * LOADED.size, parent * LOADED.size
            for k in range(LOADED.moment, LOADED.twist):
                store(work, base + k, load(work, base + k, z) + load(work, here + k, z))


@kernel
def twice_b(work, here, u, z):
    """2B u and (2B)ᵀ u of all that a link carries."""
    x, y = load6(work, here + LOADED.inertia_rate, z)
    moment = load3(work, here + LOADED.moment_rate, z)
    torque = add(sym_mul((x[0], x[1], x[2], y[0], y[1], y[2]), u[0]), cross(moment, u[1]))
    force = cross(u[0], moment)
    swing = force_cross(u, load6(work, here + LOADED.momentum, z))
    return (add(torque, swing[0]), add(force, swing[1])), (sub(torque, swing[0]), sub(force, swing[1]))
