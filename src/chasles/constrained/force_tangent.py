"""Derivatives of forces for Newton's matrix: springs with dampers by formula, wrenches of laws by differences; bushings
and rods have modules of their own.

Along an unknown d of a body its velocity changes by `ratio` d, so one derivative along both is enough. Springs,
bushings and joints with forces couple two bodies; both are explicit in the matrix. Constant wrenches are left out.
"""

from __future__ import annotations

import functools

import numpy as np

from chasles.absolute.joint_force import look
from chasles.absolute.tables import BODY, SE3
from chasles.constrained.body_tangent import twice_crossed
from chasles.constrained.bushing_tangent import bushing_tangent_address
from chasles.constrained.joint_tangent import DIFFERENCE, gives_way, gyration, stiffen_joint
from chasles.constrained.rod_tangent import rod_tangent_address
from chasles.constrained.tables import BLOCK
from chasles.constrained.tangent_job import job_of
from chasles.constrained.workspace import FORCE_CALL
from chasles.constraint.rows import IDENTITY
from chasles.force.table import (
    BUSHING,
    FORCE,
    FORCES,
    JOINT,
    MOVING,
    ROD,
    SPRING,
    WRENCH,
    add_wrench,
    line_between,
    motion_at,
    pull_of,
    vector_at,
)
from chasles.kernel.address import address_of, invoke
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    mat_add,
    mat_mul,
    mat_neg,
    mat_scale,
    mul,
    mul_t,
    outer,
    scale,
    skew,
    transpose,
)
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import add9, load3, load9, store3, store6, store9
from chasles.lie import quaternion


@kernel(allocates=True)
def pulled(job, line, distance, rate):
    """What a law between two points pulls with."""
    table, values = job.forces.table, job.forces.values
    return pull_of(job.t, table, line, values, table[line + FORCE.numbers], distance, rate, job.scratch)


@kernel(allocates=True)
def slopes_of(job, line, distance, rate):
    """What a law between two points pulls with, and its derivatives by distance and by speed: exact ones if there are
    programs for them, else differences, over a part of the distance and over how much the speed changes with it."""
    table, values, scratch = job.forces.table, job.forces.values, job.scratch
    pull, at, law = pulled(job, line, distance, rate), table[line + FORCE.numbers] + 9, table[line + FORCE.law]
    n, m = table[line + FORCE.third], table[line + FORCE.fourth]
    if n != 0:  # programs with time and distance, or time and speed, in each other's place
        x, y, out = scratch[0:1], scratch[1:2], scratch[2:5]
        x[0], y[0] = job.t, rate
        invoke(law, distance, x, y, values[at : at + n], out, 1, 1, n, 3)
        stiffness = out[1]
        y[0] = distance
        invoke(law, rate, x, y, values[at + n : at + n + m], out, 1, 1, m, 3)
        return pull, stiffness, out[1]
    h = DIFFERENCE * distance
    if not h > 0.0:
        return pull, 0.0, 0.0
    stiffness = (pulled(job, line, distance + h, rate) - pulled(job, line, distance - h, rate)) / (2.0 * h)
    h *= job.ratio
    if h == 0.0:
        return pull, stiffness, 0.0
    return pull, stiffness, (pulled(job, line, distance, rate + h) - pulled(job, line, distance, rate - h)) / (2.0 * h)


@kernel(allocates=True)
def spring_matrix(job, line):
    """Force of a spring on its first point, how it changes with the way from the first to the second (3x3), and with
    their speed."""
    table, values, ratio = job.forces.table, job.forces.values, job.ratio
    at = table[line + FORCE.numbers]
    stiffness, damping, length = vector_at(values, at + 6)
    first, second, distance, speeds, e, rate, _ = line_between(table, line, values, at, job.states, MOVING.size)
    near = 1.0 / distance if distance > 0.0 else 0.0
    pull = stiffness * (distance - length) + damping * rate
    sideways = stiffness + (damping * rate - stiffness * length) * near  # = pull / distance, and k where points meet
    if table[line + FORCE.law] != 0:
        pull, stiffness, damping = slopes_of(job, line, distance, rate)
        sideways = pull * near
    along = outer(e, e)
    across = mat_add(IDENTITY, mat_neg(along))
    D = mat_add(mat_scale(stiffness + damping * ratio, along), mat_scale(sideways, across))
    D = mat_add(D, mat_scale(damping * near, outer(e, mul(across, speeds))))
    return scale(pull, e), D, mat_scale(damping, along), first, second


@kernel
def levers(job, i, on_body):
    """How a point of a body moves as the body turns, -R a~, and how its velocity does, which on SO(3)xR3 is constant
    but for the spin's part."""
    R, V, a = on_body
    speed = cross(V[0], a)
    if i >= 0 and job.forces.bodies[i * BODY.size + BODY.space] == SE3:
        speed = add(speed, V[1])
    return mat_neg(mat_mul(R, skew(a))), mat_neg(mat_mul(R, skew(speed)))


@kernel
def add_pair(target, places, D, N, first, second, factor):
    """Add factor G₁ᵀ (D G₂ + N E₂) to four tiles, G = [lever, I], E = [how the velocity turns, 0]."""
    aa, al, la, ll = places
    DG, back = mat_add(mat_mul(D, second[0]), mat_mul(N, second[1])), transpose(first[0])
    add9(target, aa, mat_scale(factor, mat_mul(back, DG)))
    add9(target, al, mat_scale(factor, mat_mul(back, D)))
    add9(target, la, mat_scale(factor, DG))
    add9(target, ll, mat_scale(factor, D))


@kernel
def add_end(blocks, i, D, N, G, a, turned, s):
    """A spring's part in the block of one body; turned: the force on it, in its axes."""
    if i >= 0:
        at = i * BLOCK.size
        places = at + BLOCK.aa, at + BLOCK.al, at + BLOCK.la, at + BLOCK.ll
        add_pair(blocks, places, D, N, G, G, s)
        add9(blocks, at + BLOCK.aa, mat_scale(-s, twice_crossed(a, turned)))


@kernel
def slots_at(slots, k):
    """Where four tiles are in the matrix."""
    return 9 * slots[k], 9 * slots[k + 1], 9 * slots[k + 2], 9 * slots[k + 3]


@kernel(allocates=True)
def stiffen_spring(job, line, at_slots):
    table, blocks, s = job.forces.table, job.blocks, job.s
    i, j = table[line + FORCE.first], table[line + FORCE.second]
    force, D, N, first, second = spring_matrix(job, line)
    G, H = levers(job, i, first), levers(job, j, second)
    add_end(blocks, i, D, N, G, first[2], mul_t(first[0], force), s)
    add_end(blocks, j, D, N, H, second[2], mul_t(second[0], scale(-1.0, force)), s)
    if at_slots >= 0:
        add_pair(job.matrix, slots_at(job.slots, at_slots), D, N, G, H, -s)
        add_pair(job.matrix, slots_at(job.slots, at_slots + 4), D, N, H, G, -s)


@kernel(allocates=True)
def wrench_of(job, line, i):
    """The wrench of a law on its body: (torque in the body, force in space)."""
    table, values, states, law_wrenches = job.forces.table, job.forces.values, job.states, job.law_wrenches
    store6(law_wrenches, 6 * i, ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    at = table[line + FORCE.numbers]
    add_wrench(job.t, table, line, values, at, states, MOVING.size, law_wrenches, job.scratch)
    R = load9(states, (i + 1) * MOVING.size + MOVING.rotation, 0.0)
    return load3(law_wrenches, 6 * i, 0.0), mul(R, load3(law_wrenches, 6 * i + 3, 0.0))


@kernel
def stiffen_law(job, line):
    """Differences along the six directions of the law's body."""
    i, states, blocks, s, ratio = job.forces.table[line + FORCE.first], job.states, job.blocks, job.s, job.ratio
    on_se3, length = job.forces.bodies[i * BODY.size + BODY.space] == SE3, gyration(job.forces.masses, i)
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
            wrench = wrench_of(job, line, i)
            torque = add_scaled(torque, -s / (2.0 * e), wrench[0])
            force = add_scaled(force, -s / (2.0 * e), wrench[1])
            store9(states, at + MOVING.rotation, R)
            store3(states, at + MOVING.position, r)
            store6(states, at + MOVING.twist, V)
        tile = 0 if k < 3 else BLOCK.al
        for m in range(3):
            place = block + tile + 3 * m + k % 3
            blocks[place] += torque[0] * (m == 0) + torque[1] * (m == 1) + torque[2] * (m == 2)
            blocks[place + BLOCK.la] += force[0] * (m == 0) + force[1] * (m == 1) + force[2] * (m == 2)


@native
def add_force_tangents(call):
    """Add s ∂(-Q)/∂d of springs, laws and forces along joints to the blocks of the bodies, and couplings to the
    matrix."""
    job = by_reference(job_of(call))
    forces, table, coupled = job.forces, job.forces.table, job.coupled
    for k in range(table[FORCES.count]):
        line = FORCES.size + k * FORCE.size
        if table[line + FORCE.seen] != 0:
            joints, numbers = forces.joints, forces.joint_numbers
            look(joints, numbers, table, forces.values, line, job.states, forces.counted, job.scratch)
        if table[line + FORCE.kind] == SPRING:
            stiffen_spring(job, line, coupled[k])
        elif table[line + FORCE.kind] == WRENCH and table[line + FORCE.law] != 0:
            stiffen_law(job, line)
        elif table[line + FORCE.kind] == JOINT and gives_way(forces.joints, table[line + FORCE.first]):
            stiffen_joint(job, table[line + FORCE.first], coupled[k])


@functools.cache
def force_tangent_address() -> int:
    """Address of `add_force_tangents`, compiled now or loaded from the cache."""
    return address_of(add_force_tangents, FORCE_CALL)


def force_tangent_addresses(table: np.ndarray) -> list[int]:
    """Addresses of the derivatives of the forces in a table, by their kinds: nothing is compiled that has nothing to
    do."""
    rows = table[FORCES.size :][: table[FORCES.count] * FORCE.size].reshape(-1, FORCE.size)
    kinds, passes = set(rows[:, FORCE.kind].tolist()), {BUSHING: bushing_tangent_address, ROD: rod_tangent_address}
    others = [force_tangent_address()] if kinds - passes.keys() else []
    return others + [address() for kind, address in passes.items() if kind in kinds]
