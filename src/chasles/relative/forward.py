"""Forward dynamics: the accelerations under given forces, O(n), by articulated-body inertias.

This is the articulated-body algorithm, ABA (featherstone2008, section 7.3).

From the tips to the ground, each link's equation W = I A + b, which includes what hangs on it, is solved for its own
joint's acceleration and handed to the parent without it. Then, from the ground out, the accelerations follow.
Gravity is an acceleration of the ground by -g.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chasles.kernel.algebra import add, cross, dot, motion_cross, mul, mul_t, scale, sub, sym_mul
from chasles.kernel.dense import complement, factor_symmetric, minus_symmetric, solve6_symmetric, solve_symmetric
from chasles.kernel.lanes import fma, like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, out
from chasles.relative.articulated import (
    H_AT,
    M_AT,
    SIZE,
    add_articulated,
    articulated_mul,
    load_articulated,
    load_symmetric,
    shift,
    shift_turning,
    store_rigid,
    store_with_rigid,
    without,
)
from chasles.relative.joint import along_screws, placement, screw_weights, turned
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    GRAVITY,
    HEAD,
    LINK,
    REVOLUTE,
    SPHERICAL,
    constants_of,
    inertia_of,
    is_last,
    is_tip,
    link,
    links_of,
    parent_of,
    vector_at,
)

# of each link, and first of the ground. `motion` is the twist, later the acceleration; `drift` the part ad_V S v of the
# acceleration; `drive` what is left of the joint's force; for one freedom `coupling` is I S and `pivot` 1/(Sᵀ I S)
LIMB = layout("LIMB", rotation=9, position=3, motion=6, drift=6, inertia=SIZE, bias=6, drive=3, coupling=6, pivot=1)
MAX_CONDITION = 1e15  # of the inertia of a spherical or free joint, in the search for what made a result infinite


@kernel
def set_ground(work, a, z):
    """The ground's twist or acceleration (angular zero, linear a)."""
    zero = like(0.0, z)
    store3(work, LIMB.motion, (zero, zero, zero))
    store3(work, LIMB.motion + 3, (like(a[0], z), like(a[1], z), like(a[2], z)))


@kernel
def carried(R, p, motion):
    """Ad⁻¹ of the pose (R, p) on a twist or an acceleration."""
    return mul_t(R, motion[0]), mul_t(R, add(motion[1], cross(motion[0], p)))


@kernel
def gyroscopic(inertia, twist):
    """-ad_Vᵀ I V, the wrench that a steady twist needs; the parts that cancel are left out."""
    mass, moment, rotational = inertia
    w, u = twist
    swing = cross(w, moment)
    torque = add(cross(w, add(sym_mul(rotational, w), cross(moment, u))), cross(u, swing))
    return torque, cross(w, add(scale(mass, u), swing))


@kernel
def load2(work, at, z):
    return load(work, at, z), load(work, at + 1, z)


@kernel
def store2(work, at, x, y):
    store(work, at, x)
    store(work, at + 1, y)


@kernel
def outward(topology, numbers, q, v, work, z):
    """First sweep: poses, twists, and each link's equation by itself."""
    for i in range(links_of(topology)):
        place_link(topology, numbers, i, q, v, work, z)


@kernel
def place_link(topology, numbers, i, q, v, work, z):
    """The same of one link."""
    parent, kind, iq, iv = link(topology, i)
    c, here, base = constants_of(i), (i + 1) * LIMB.size, (parent + 1) * LIMB.size
    if kind == REVOLUTE:
        R, p = turned(numbers, c, load(q, iq, z), z), vector_at(numbers, c + CONSTANT.position)
        w, u = carried(R, p, load6(work, base + LIMB.motion, z))
        speed = load(v, iv, z)
        store2(work, here + LIMB.drift, w[1] * speed, -(w[0] * speed))  # the drift along z is zero
        store2(work, here + LIMB.drift + 3, u[1] * speed, -(u[0] * speed))
        twist = ((w[0], w[1], w[2] + speed), u)
    else:
        R, place = placement(numbers, c, kind, q, iq, z)
        store3(work, here + LIMB.position, place)
        joint = along_screws(numbers, c, kind, v, iv, z)
        w, u = carried(R, place, load6(work, base + LIMB.motion, z))
        twist = (add(w, joint[0]), add(u, joint[1]))
        store6(work, here + LIMB.drift, motion_cross(twist, joint))
    store9(work, here + LIMB.rotation, R)
    begin(topology, numbers, i, twist, work, z)


@kernel
def begin(topology, numbers, i, twist, work, z):
    """The equation of a link by itself, which moves with a twist."""
    here, inertia = (i + 1) * LIMB.size, inertia_of(numbers, constants_of(i))
    store6(work, here + LIMB.motion, twist)
    store6(work, here + LIMB.bias, gyroscopic(inertia, twist))
    if is_tip(topology, i):
        store_rigid(work, here + LIMB.inertia, inertia, z)


@kernel
def hand_wrench(work, base, R, p, torque, force):
    """Give to the parent the wrench that a link and its limbs ask of it."""
    force = mul(R, force)
    add3(work, base + LIMB.bias, add(mul(R, torque), cross(p, force)))
    add3(work, base + LIMB.bias + 3, force)


@kernel
def hand_inertia(topology, numbers, i, work, J, H, M):
    """Give to the parent the inertia of link i and its limbs; the first to come brings in the parent's own."""
    parent = parent_of(topology, i)
    at = (parent + 1) * LIMB.size + LIMB.inertia
    if is_last(topology, i):
        store_with_rigid(work, at, inertia_of(numbers, constants_of(parent)), J, H, M)
    else:
        add_articulated(work, at, J, H, M)


@kernel
def reduce_turning(topology, numbers, i, force, work, here, base, z):
    """A revolute joint, whose reduced inertia has no z row: the short path. Loads stand late: registers are few."""
    J = load_symmetric(work, here + LIMB.inertia, z)
    torque, push = load6(work, here + LIMB.bias, z)
    row = load3(work, here + LIMB.inertia + H_AT + 6, z)
    pivot, drive = 1.0 / J[5], force - torque[2]
    store6(work, here + LIMB.coupling, ((J[2], J[4], J[5]), row))
    store(work, here + LIMB.pivot, pivot)
    store(work, here + LIMB.drive, drive)
    if base > 0:
        H, M = load6(work, here + LIMB.inertia + H_AT, z), load_symmetric(work, here + LIMB.inertia + M_AT, z)
        x, y, e, t = J[2] * pivot, J[4] * pivot, scale(pivot, row), drive * pivot
        K = (J[0] - x * J[2], J[1] - x * J[4], J[3] - y * J[4])
        G = (
            *(H[0][0] - x * row[0], H[0][1] - x * row[1], H[0][2] - x * row[2]),
            *(H[1][0] - y * row[0], H[1][1] - y * row[1], H[1][2] - y * row[2]),
        )
        N = (
            *(M[0] - e[0] * row[0], M[1] - e[0] * row[1], M[2] - e[0] * row[2]),
            *(M[3] - e[1] * row[1], M[4] - e[1] * row[2], M[5] - e[2] * row[2]),
        )
        a, b = load2(work, here + LIMB.drift, z)
        u, v = load2(work, here + LIMB.drift + 3, z)
        torque = (
            torque[0] + K[0] * a + K[1] * b + G[0] * u + G[1] * v + J[2] * t,
            torque[1] + K[1] * a + K[2] * b + G[3] * u + G[4] * v + J[4] * t,
            force,
        )
        push = (
            push[0] + G[0] * a + G[3] * b + N[0] * u + N[1] * v + row[0] * t,
            push[1] + G[1] * a + G[4] * b + N[1] * u + N[3] * v + row[1] * t,
            push[2] + G[2] * a + G[5] * b + N[2] * u + N[4] * v + row[2] * t,
        )
        R, p = load9(work, here + LIMB.rotation, z), vector_at(numbers, constants_of(i) + CONSTANT.position)
        hand_wrench(work, base, R, p, torque, push)
        J, H, M = shift_turning(R, p, K, G, N)
        hand_inertia(topology, numbers, i, work, J, H, M)


@kernel
def reduce(topology, numbers, i, tau, work, here, base, z):
    """Any other joint."""
    _, kind, _, iv = link(topology, i)
    c = constants_of(i)
    J, H, M = load_articulated(work, here + LIMB.inertia, z)
    bias, drift = load6(work, here + LIMB.bias, z), load6(work, here + LIMB.drift, z)
    R, p = load9(work, here + LIMB.rotation, z), load3(work, here + LIMB.position, z)
    zero = like(0.0, z)
    none, nothing = (zero, zero, zero, zero, zero, zero), (zero, zero, zero, zero, zero, zero, zero, zero, zero)
    if kind == FREE:  # only the joint's own force reaches the parent
        torque, push = load6(tau, iv, z)
        J, H, M = none, nothing, none
    elif kind == SPHERICAL:
        force = load3(tau, iv, z)
        drive, factor = sub(force, bias[0]), factor_symmetric(J)
        store3(work, here + LIMB.drive, drive)
        M = minus_symmetric(M, complement(J, H, factor))
        push = add(bias[1], mul_t(H, solve_symmetric(factor, drive)))
        push = add(push, articulated_mul(none, nothing, M, drift)[1])
        torque, J, H = force, none, nothing
    else:
        s, t = screw_weights(numbers, c, kind)
        U = (  # written so that lanes and single states round alike
            (fma(t, H[2], s * J[2]), fma(t, H[5], s * J[4]), fma(t, H[8], s * J[5])),
            (fma(t, M[2], s * H[6]), fma(t, M[4], s * H[7]), fma(t, M[5], s * H[8])),
        )
        pivot = 1.0 / (fma(t, U[1][2], s * U[0][2]) + numbers[c + CONSTANT.armature])
        drive = load(tau, iv, z) - s * bias[0][2] - t * bias[1][2]
        store6(work, here + LIMB.coupling, U)
        store(work, here + LIMB.pivot, pivot)
        store(work, here + LIMB.drive, drive)
        J, H, M = without(J, H, M, U, pivot)
        moved = articulated_mul(J, H, M, drift)
        torque = add(add(bias[0], moved[0]), scale(drive * pivot, U[0]))
        push = add(add(bias[1], moved[1]), scale(drive * pivot, U[1]))
    if base > 0:
        hand_wrench(work, base, R, p, torque, push)
        J, H, M = shift(R, p, J, H, M)
        hand_inertia(topology, numbers, i, work, J, H, M)


@kernel
def accelerate_turning(numbers, c, iv, a, R, A, work, here, z):
    """Acceleration of a revolute joint and its link, from the parent's acceleration A."""
    w, u = carried(R, vector_at(numbers, c + CONSTANT.position), A)
    w = (w[0] + load(work, here + LIMB.drift, z), w[1] + load(work, here + LIMB.drift + 1, z), w[2])
    u = (u[0] + load(work, here + LIMB.drift + 3, z), u[1] + load(work, here + LIMB.drift + 4, z), u[2])
    U = load6(work, here + LIMB.coupling, z)
    rate = (load(work, here + LIMB.drive, z) - dot(U[0], w) - dot(U[1], u)) * load(work, here + LIMB.pivot, z)
    store(a, iv, rate)
    store6(work, here + LIMB.motion, ((w[0], w[1], w[2] + rate), u))


@kernel
def accelerate(numbers, c, kind, tau, iv, a, A, work, here, z):
    """The same for any other joint; A is already in the link's frame."""
    drift = load6(work, here + LIMB.drift, z)
    A = (add(A[0], drift[0]), add(A[1], drift[1]))
    if kind == FREE:
        J, H, M = load_articulated(work, here + LIMB.inertia, z)
        bias, force = load6(work, here + LIMB.bias, z), load6(tau, iv, z)
        total = solve6_symmetric(J, H, M, (sub(force[0], bias[0]), sub(force[1], bias[1])))
        store6(a, iv, (sub(total[0], A[0]), sub(total[1], A[1])))
        store6(work, here + LIMB.motion, total)
    elif kind == SPHERICAL:
        J, H, M = load_articulated(work, here + LIMB.inertia, z)
        drive = load3(work, here + LIMB.drive, z)
        total = solve_symmetric(factor_symmetric(J), sub(drive, mul(H, A[1])))
        store3(a, iv, sub(total, A[0]))
        store6(work, here + LIMB.motion, (total, A[1]))
    else:
        U = load6(work, here + LIMB.coupling, z)
        rate = (load(work, here + LIMB.drive, z) - dot(U[0], A[0]) - dot(U[1], A[1])) * load(work, here + LIMB.pivot, z)
        s, t = screw_weights(numbers, c, kind)
        store(a, iv, rate)
        store3(work, here + LIMB.motion, (A[0][0], A[0][1], A[0][2] + s * rate))
        store3(work, here + LIMB.motion + 3, (A[1][0], A[1][1], A[1][2] + t * rate))


@algorithm(work=f"{LIMB.size}*slots", q="nq", v="nv", tau="nv", wrenches="6*links", a=out("nv"))
def forward_dynamics(topology, numbers, q, v, tau, wrenches, a, work, z):
    """a under the joints' forces tau and `wrenches` on the links (in their frames at their origins; may be empty)."""
    n = links_of(topology)
    set_ground(work, (0.0, 0.0, 0.0), z)
    outward(topology, numbers, q, v, work, z)
    for k in range(wrenches.shape[0] and 6 * n):
        at = (k // 6 + 1) * LIMB.size + LIMB.bias + k % 6
        store(work, at, load(work, at, z) - load(wrenches, k, z))
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        if kind == REVOLUTE:
            reduce_turning(topology, numbers, i, load(tau, iv, z), work, here, base, z)
        else:
            reduce(topology, numbers, i, tau, work, here, base, z)
    g = vector_at(numbers, GRAVITY.vector)
    set_ground(work, (-g[0], -g[1], -g[2]), z)
    for i in range(n):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        R = load9(work, here + LIMB.rotation, z)
        if kind == REVOLUTE:
            accelerate_turning(numbers, c, iv, a, R, load6(work, base + LIMB.motion, z), work, here, z)
        else:
            A = carried(R, load3(work, here + LIMB.position, z), load6(work, base + LIMB.motion, z))
            accelerate(numbers, c, kind, tau, iv, a, A, work, here, z)


def singular_links(topology, numbers, sizes, q, v, tau, wrenches) -> Iterator[int]:
    """Links whose joint's inertia has no inverse at a state, from the tips on: the first is where things go wrong."""
    space = forward_dynamics.space(sizes)
    forward_dynamics.scalar(topology, numbers, 1, q, v, tau, wrenches, np.empty(sizes["nv"]), space)
    limbs = space[: LIMB.size * sizes["slots"]].reshape(-1, LIMB.size)
    for i in range(sizes["links"] - 1, -1, -1):
        kind, limb = topology[HEAD.size + i * LINK.size + LINK.kind], limbs[i + 1]
        if kind in (SPHERICAL, FREE):
            J, H, M = (limb[LIMB.inertia + k : LIMB.inertia + n] for k, n in ((0, H_AT), (H_AT, M_AT), (M_AT, SIZE)))
            order, H = [[0, 1, 2], [1, 3, 4], [2, 4, 5]], H.reshape(3, 3)
            matrix = J[order] if kind == SPHERICAL else np.block([[J[order], H], [H.T, M[order]]])
            if not np.isfinite(matrix).all() or np.linalg.cond(matrix) > MAX_CONDITION:
                yield i
        elif not np.isfinite(limb[LIMB.pivot]):
            yield i
