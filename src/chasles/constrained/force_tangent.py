"""Derivatives of forces for Newton's matrix: springs with dampers by formula, wrenches of laws by differences.

Along an unknown d of a body its velocity changes by `ratio` d, so one derivative along both is enough. Springs and
joints with forces couple two bodies; both are explicit in the matrix. Constant wrenches are left out.
"""

from __future__ import annotations

import functools

from numba import carray, types

from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.tables import BODY, SE3, force_work_of, force_work_size, forces_of
from chasles.constrained.body_tangent import twice_crossed
from chasles.constrained.joint_tangent import DIFFERENCE, gives_way, gyration, stiffen_joint
from chasles.constrained.saddle import BLOCK
from chasles.constrained.tables import plan_of
from chasles.constraint.rows import IDENTITY
from chasles.force.table import (
    FORCE,
    FORCES,
    JOINT,
    MOVING,
    SPRING,
    WRENCH,
    add_wrench,
    motion_at,
    vector_at,
)
from chasles.kernel.address import INTEGERS, NUMBERS, address_of, as_integers
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_add,
    mat_mul,
    mat_neg,
    mat_scale,
    mul,
    mul_t,
    outer,
    scale,
    skew,
    sub,
    transpose,
)
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add9, load3, load9, store3, store6, store9
from chasles.lie import quaternion


@kernel
def spring_matrix(table, line, values, at, states, ratio):
    """Force of a spring on its first point, and how it changes with the way from the first to the second (3x3)."""
    i, j = table[line + FORCE.first], table[line + FORCE.second]
    a, b = vector_at(values, at), vector_at(values, at + 3)
    stiffness, damping, length = vector_at(values, at + 6)
    R, p, V = motion_at(states, MOVING.size, i)
    S, s, W = motion_at(states, MOVING.size, j)
    apart = sub(add(s, mul(S, b)), add(p, mul(R, a)))
    speeds = sub(mul(S, add(W[1], cross(W[0], b))), mul(R, add(V[1], cross(V[0], a))))
    distance = sqrt(dot(apart, apart))
    near = 1.0 / distance if distance > 0.0 else 0.0
    e = scale(near, apart)
    rate = dot(e, speeds)
    pull = stiffness * (distance - length) + damping * rate
    along = outer(e, e)
    across = mat_add(IDENTITY, mat_neg(along))
    D = mat_add(mat_scale(stiffness + damping * ratio, along), mat_scale(pull * near, across))
    D = mat_add(D, mat_scale(damping * near, outer(e, mul(across, speeds))))
    return scale(pull, e), D, R, S, a, b


@kernel
def lever(R, a):
    """How a point moves as its body turns: -R a~."""
    return mat_neg(mat_mul(R, skew(a)))


@kernel
def add_pair(target, aa, al, la, ll, D, first, second, factor):
    """Add factor G₁ᵀ D G₂ to four tiles, G = [lever, I]."""
    DG = mat_mul(D, second)
    add9(target, aa, mat_scale(factor, mat_mul(transpose(first), DG)))
    add9(target, al, mat_scale(factor, mat_mul(transpose(first), D)))
    add9(target, la, mat_scale(factor, DG))
    add9(target, ll, mat_scale(factor, D))


@kernel
def add_own(blocks, i, D, G, a, turned, s):
    """A spring's part in the block of one body; turned: the force on it, in its axes."""
    if i >= 0:
        at = i * BLOCK.size
        add_pair(blocks, at + BLOCK.aa, at + BLOCK.al, at + BLOCK.la, at + BLOCK.ll, D, G, G, s)
        add9(blocks, at + BLOCK.aa, mat_scale(-s, twice_crossed(a, turned)))


@kernel
def stiffen_spring(table, line, values, states, slots, at_slots, s, ratio, blocks, matrix):
    i, j = table[line + FORCE.first], table[line + FORCE.second]
    force, D, R, S, a, b = spring_matrix(table, line, values, table[line + FORCE.numbers], states, ratio)
    G, H = lever(R, a), lever(S, b)
    add_own(blocks, i, D, G, a, mul_t(R, force), s)
    add_own(blocks, j, D, H, b, mul_t(S, scale(-1.0, force)), s)
    if at_slots >= 0:
        k = at_slots
        add_pair(matrix, 9 * slots[k], 9 * slots[k + 1], 9 * slots[k + 2], 9 * slots[k + 3], D, G, H, -s)
        k += 4
        add_pair(matrix, 9 * slots[k], 9 * slots[k + 1], 9 * slots[k + 2], 9 * slots[k + 3], D, H, G, -s)


@kernel(allocates=True)
def wrench_of(t, table, line, values, states, spare, room, i):
    """The wrench of a law on its body: (torque in the body, force in space)."""
    store6(spare, 6 * i, ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    add_wrench(t, table, line, values, table[line + FORCE.numbers], states, MOVING.size, spare, room)
    R = load9(states, (i + 1) * MOVING.size + MOVING.rotation, 0.0)
    return load3(spare, 6 * i, 0.0), mul(R, load3(spare, 6 * i + 3, 0.0))


@kernel
def stiffen_law(t, table, line, values, states, spare, room, on_se3, s, ratio, blocks, length):
    """Differences along the six directions of the law's body, whose size is `length`."""
    i = table[line + FORCE.first]
    at, block = (i + 1) * MOVING.size, i * BLOCK.size
    R, r, V = motion_at(states, MOVING.size, i)
    speed = mul(R, V[1])
    for k in range(6):
        x, y, z = 1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0
        unit = (x, y, z)
        torque, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for side in range(2):
            e = (DIFFERENCE if side == 0 else -DIFFERENCE) * (1.0 if k < 3 else length)
            if k < 3:
                turn = quaternion.to_matrix(quaternion.exp(scale(e, unit)))
                new = mat_mul(R, turn)
                store9(states, at + MOVING.rotation, new)
                linear = V[1] if on_se3 else mul_t(new, speed)
                store6(states, at + MOVING.twist, (add_scaled(V[0], ratio * e, unit), linear))
            else:
                store3(states, at + MOVING.position, add_scaled(r, e, unit))
                store6(states, at + MOVING.twist, (V[0], add_scaled(V[1], ratio * e, mul_t(R, unit))))
            found = wrench_of(t, table, line, values, states, spare, room, i)
            torque = add_scaled(torque, -s / (2.0 * e), found[0])
            force = add_scaled(force, -s / (2.0 * e), found[1])
            store9(states, at + MOVING.rotation, R)
            store3(states, at + MOVING.position, r)
            store6(states, at + MOVING.twist, V)
        tile = 0 if k < 3 else BLOCK.al
        for m in range(3):
            place = block + tile + 3 * m + k % 3
            blocks[place] += torque[0] * (m == 0) + torque[1] * (m == 1) + torque[2] * (m == 2)
            blocks[place + BLOCK.la] += force[0] * (m == 0) + force[1] * (m == 1) + force[2] * (m == 2)


@native
def stiffen(t, s, ratio, p_at, p_size, e_at, e_size, q_at, v_at, blocks_at, matrix_at, spare_at, room_at):
    """Add s ∂(-Q)/∂d of all forces to the blocks of the bodies, and couplings to the matrix."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    forces, plan, space = (
        forces_of(p),
        plan_of(packed),
        force_work_of(carray(room_at, (force_work_size(whole),)), whole),
    )
    n, bodies, table, values, masses = forces.n, forces.bodies, forces.table, forces.values, forces.masses
    slots, coupled, states, room = plan.slots, plan.coupled, space.states, space.scratch
    q, v = carray(q_at, (POSE * n,)), carray(v_at, (TWIST * n,))
    blocks, spare = carray(blocks_at, (BLOCK.size * n,)), carray(spare_at, (6 * n,))
    matrix = carray(matrix_at, (9 * (plan.n_nodes + 2 * plan.n_lower),))
    for i in range(n):  # the ground's slot was written when the forces were evaluated
        at = (i + 1) * MOVING.size
        R = quaternion.to_matrix((q[POSE * i], q[POSE * i + 1], q[POSE * i + 2], q[POSE * i + 3]))
        linear = load3(v, TWIST * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] != SE3:
            linear = mul_t(R, linear)
        store9(states, at + MOVING.rotation, R)
        store3(states, at + MOVING.position, load3(q, POSE * i + 4, 0.0))
        store6(states, at + MOVING.twist, (load3(v, TWIST * i, 0.0), linear))
    for k in range(table[FORCES.count]):
        line = FORCES.size + k * FORCE.size
        if table[line + FORCE.kind] == SPRING:
            stiffen_spring(table, line, values, states, slots, coupled[k], s, ratio, blocks, matrix)
        elif table[line + FORCE.kind] == WRENCH and table[line + FORCE.law] != 0:
            i = table[line + FORCE.first]
            on_se3 = bodies[i * BODY.size + BODY.space] == SE3
            stiffen_law(t, table, line, values, states, spare, room, on_se3, s, ratio, blocks, gyration(masses, i))
        elif table[line + FORCE.kind] == JOINT and gives_way(forces.joints, table[line + FORCE.first]):
            stiffen_joint(
                t, forces.joints, forces.joint_numbers, table[line + FORCE.first], table, values, forces.counted,
                states, slots, coupled[k], s, ratio, blocks, matrix, spare, room, masses,
            )  # fmt: skip


@functools.cache
def stiffen_address() -> int:
    """Address of `stiffen`, compiled now or loaded from the cache."""
    size, real = types.int64, types.float64
    return address_of(stiffen, real, real, real, NUMBERS, size, INTEGERS, size, *(NUMBERS,) * 6)
