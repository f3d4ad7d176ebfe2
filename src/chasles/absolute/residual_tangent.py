"""The equations of implicit methods on dual numbers: residuals of motion and of constraints at a state, with exact
derivatives along poses and velocities of the bodies. They serve the adjoint of generalized alpha.

At poses q, velocities V, their derivatives V' and multipliers λ, ζ:

    motion = M V' + gyroscopic terms - forces + J(q)ᵀ λ,   shift = J(q)ᵀ ζ,   place = g(q),
    speed = J(q) V - target (of rotors J V),   change = J(q) V' - rate,   and velocities of the joints

Torques are in the bodies, forces in space; tiles are in their order.
"""

from __future__ import annotations

from functools import cache

from chasles.absolute.forces import set_states
from chasles.absolute.joint_force import FRAMES, JOINT, SCREWS, SPOT, place_of, spot_joint, store_turns
from chasles.absolute.kkt import (
    POSE,
    TWIST,
    add_jacobian_times,
    angular_of,
    each,
    is_point,
    linear_of,
    prepare,
    set_motion,
)
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, MECHANISM, PAIR, SE3, forces_of, tables_of
from chasles.absolute.tangent import SPEED, set_direction
from chasles.constraint.rows import MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds, evaluate_rate
from chasles.constraint.tile_work import angle_at, rows_size, set_time
from chasles.force.law_tangent import DUALS
from chasles.force.table import MOVING, SCRATCH
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, as_integers, invoke
from chasles.kernel.algebra import add, cross, mul, mul_t, scale, sub
from chasles.kernel.dual import TANGENTS
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, load9, store3, store6

BLOCKS = SPEED + 1  # of directions of a body: it turns, shifts, spins, moves

# workspace of `residuals`, of duals; `linear` is for velocities and accelerations as rows take them
RESIDUAL_WORK = DualRegions(
    "ResidualWork",
    motion=MOTION.size * MECHANISM.sizes.n_bodies,
    rows=rows_size(MECHANISM.sizes.n_tiles, MECHANISM.sizes.n_angles),
    states=MOVING.size * MECHANISM.sizes.n_bodies + MOVING.size,
    scratch=SCRATCH,
    counted=1 * MECHANISM.sizes.n_angles,
    rates=1 * MECHANISM.sizes.n_angles,
    wrenches=6 * MECHANISM.sizes.n_bodies,
    moving=6 * MECHANISM.sizes.n_bodies,
    nodes=3 * MECHANISM.sizes.n_nodes,
)
residual_work_of, residual_work_size = RESIDUAL_WORK.views, RESIDUAL_WORK.total


@kernel
def add_reaction(tables, rows, multipliers, i, out, at):
    """Add J(q)ᵀ times multipliers, in the order of the tiles, on body i."""
    first = tables.bodies[i * BODY.size + BODY.first]
    for e in range(first, first + tables.bodies[i * BODY.size + BODY.count]):
        tile, side = tables.incidences[PAIR * e], tables.incidences[PAIR * e + 1]
        push = load3(multipliers, 3 * tile, 0.0)
        add3(out, at, mul_t(angular_of(rows, tile, side), push))
        if is_point(tables.tiles, tile):
            add3(out, at + 3, scale(2.0 * side - 1.0, push))
        else:
            add3(out, at + 3, mul_t(linear_of(rows, tile, side), push))


@kernel
def store_motion(tables, space, forced, rate, lam, zeta, i, out):
    """The residual of motion and the shift of body i; and its velocity, to `moving`."""
    n, at, m = tables.n, i * MOTION.size, i * MASS.size
    masses, gravity, motion = tables.masses, tables.gravity, space.motion
    R, spin = load9(motion, at + MOTION.rotation, 0.0), load3(motion, at + MOTION.spin, 0.0)
    theta, mass = load3(masses, m + MASS.moments, 0.0), masses[m + MASS.mass]
    linear = load3(rate, 6 * i + 3, 0.0)
    wrench = load3(space.wrenches, 6 * i, 0.0), mul(R, load3(space.wrenches, 6 * i + 3, 0.0))
    fall = scale(float(forced), load3(gravity, FIELD.gravity, 0.0))
    pull = sub(load3(motion, at + MOTION.transport, 0.0), fall)
    if tables.bodies[i * BODY.size + BODY.space] == SE3:
        linear = mul(R, linear)
    pull = add(pull, linear)
    turn = add(cross(spin, each(theta, spin)), each(theta, load3(rate, 6 * i, 0.0)))
    store6(out, 6 * i, (sub(turn, wrench[0]), sub(scale(mass, pull), wrench[1])))
    add_reaction(tables, space.rows, lam, i, out, 6 * i)
    for k in range(6 * n + 6 * i, 6 * n + 6 * i + 6):
        out[k] = 0.0
    add_reaction(tables, space.rows, zeta, i, out, 6 * n + 6 * i)
    store6(space.moving, 6 * i, (spin, load3(motion, at + MOTION.velocity, 0.0)))


@kernel
def store_tiles(tables, space, rate, out, at):
    """Place, speed and change of all tiles."""
    tiles, nodes, rows, x = tables.tiles, tables.nodes, space.rows, space.nodes
    bodies, incidences, n, nt = tables.bodies, tables.incidences, tables.n, tables.nt
    for k in range(3 * tables.nn):
        x[k] = 0.0
    add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, space.moving, x, 1.0, True)
    for j in range(nt):
        store3(out, at + 3 * j, load3(rows, j * ROWS.size + ROWS.residual, 0.0))
        store3(out, at + 3 * (nt + j), load3(x, 3 * nodes[j], 0.0))
    add_target_speeds(tiles, tables.constants, nodes, nt, space.motion, rows, x, -1.0)
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] != ROTOR:  # which may move as it does
            store3(out, at + 3 * (nt + j), load3(x, 3 * nodes[j], 0.0))
    for i in range(n):
        linear = load3(rate, 6 * i + 3, 0.0)
        store3(space.moving, 6 * i, load3(rate, 6 * i, 0.0))
        if bodies[i * BODY.size + BODY.space] == SE3:
            store3(space.moving, 6 * i + 3, mul(load9(space.motion, i * MOTION.size + MOTION.rotation, 0.0), linear))
        else:
            store3(space.moving, 6 * i + 3, linear)
    for k in range(3 * tables.nn):
        x[k] = 0.0
    add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, space.moving, x, 1.0, True)
    for j in range(nt):
        evaluate_rate(tiles, tables.constants, j, space.motion, rows)
        change = sub(load3(x, 3 * nodes[j], 0.0), load3(rows, j * ROWS.size + ROWS.rate, 0.0))
        store3(out, at + 3 * (2 * nt + j), change)


@kernel(allocates=True)
def guess_screws(joints, numbers, n_joints, states, counted, spot):
    """Coordinates of joints given by screws, with their derivatives, as the guess of what looks at them later: Newton's
    method has the derivatives only after a step."""
    for j in range(n_joints):
        row = j * JOINT.size
        if joints[row + JOINT.form] == SCREWS:
            spot_joint(joints, numbers, j, states, counted, spot)
            for k in range(joints[row + JOINT.velocities]):
                place = place_of(numbers, joints[row + JOINT.numbers] + FRAMES.size, k)
                if place >= 0:
                    counted[place] = spot[SPOT.q + k]


@native
def residuals(
    p_at,
    p_size,
    acting_at,
    n_acting,
    t,
    forced,
    angles_at,
    values_at,
    q_at,
    v_at,
    rate_at,
    lam_at,
    zeta_at,
    work_at,
    out_at,
    out_size,
):
    """(motion, shift, place, speed, change, velocities of joints) of a state; q, v, numbers of forces, work and out are
    duals. acting: addresses of what adds forces (`force_duals`); forced: whether they and gravity act, 1 or 0; -1 asks
    for velocities of the joints alone, and how their coordinates change (`joint_force.store_turns`). If there is no
    place for these (out_size), they are left out."""
    integers, p = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,))
    tables, forces = tables_of(p), forces_of(p)
    n, nt, count = tables.n, tables.nt, integers[HEAD.n_angles]
    q, v, rate, angles = (
        carray(q_at, (POSE * n,)), carray(v_at, (TWIST * n,)), carray(rate_at, (6 * n,)), carray(angles_at, (count,))
    )  # fmt: skip
    lam, zeta, out = carray(lam_at, (3 * nt,)), carray(zeta_at, (3 * nt,)), carray(out_at, (out_size,))
    space = residual_work_of(carray(work_at, (residual_work_size(integers),)), integers)
    set_states(tables.bodies, n, q, v, space.states)
    for k in range(count):
        space.counted[k] = angles[k]
    guess_screws(
        *(forces.joints, forces.joint_numbers, integers[HEAD.n_joints], space.states, space.counted, space.scratch)
    )
    if forced >= 0:
        set_motion(tables.bodies, n, q, v, space.motion)
        set_time(space.rows, t)
        for k in range(count):
            space.rows[angle_at(space.rows, k)] = angles[k]
        prepare(tables.tiles, tables.constants, nt, space.motion, space.rows)
        for k in range(6 * n):
            space.wrenches[k] = 0.0
        acting, values = carray(acting_at, (n_acting,)), carray(values_at, (forces.values.shape[0],))
        for k in range(n_acting if forced != 0 else 0):
            invoke(
                *(acting[k], t, p, p_size, values, forces.joint_numbers),
                *(space.counted, space.rates, space.states, space.wrenches, space.scratch),
            )
        for i in range(n):
            store_motion(tables, space, forced, rate, lam, zeta, i, out)
        store_tiles(tables, space, rate, out, 12 * n)
    at = 12 * n + 9 * nt
    turns = (at + out_size) // 2 if forced < 0 else out_size
    for j in range(integers[HEAD.n_joints] if out_size > at else 0):
        spot_joint(forces.joints, forces.joint_numbers, j, space.states, space.counted, space.scratch)
        if turns < out_size:
            store_turns(forces.joints, j, space.scratch, out, turns)
            turns += forces.joints[j * JOINT.size + JOINT.velocities]
        for i in range(forces.joints[j * JOINT.size + JOINT.velocities]):
            out[at] = space.scratch[SPOT.v + i]
            at += 1


@cache
def residuals_address() -> int:
    """Address of `residuals`, compiled now or loaded from the cache."""
    reals, duals, size = NUMBERS, DUALS, INTEGER
    return address_of(
        *(residuals, reals, size, INTEGERS, size, NUMBER, size, reals),
        *(duals, duals, duals, reals, reals, reals, duals, duals, size),
    )


@kernel
def store_slopes(owners, first, rows, size, out, at, slopes):
    """Tangents of residuals, `size` for each row of a table of owners, as derivatives along a body."""
    for i in range(rows):
        body = owners[first + i]
        if body >= 0:
            for k in range(TANGENTS):
                for j in range(at + size * i, at + size * (i + 1)):
                    slopes[body, k, j] = out[WIDTH * j + 1 + k]


@kernel(entry=True, allocates=True)
def residuals_of_states(
    address, integers, p, on_duals, acting, color, of_bodies, of_tiles, of_joints, times, forced, angles, controls, Q,
    V, rate, lam, zeta, motion, of_forces, q, v, work, out, values, slopes,
):  # fmt: skip
    """Of each state the values (states, size) of `residuals`, and their derivatives along q exp(δ) and V of each body
    (states, 4 blocks, bodies, 3, size), which come as zeros; none if there is no place for them.

    p: the packed mechanism, of numbers; on_duals: the same with laws on duals. color and which bodies residuals depend
    on: `coloring.Colors`. Q, V, rate, lam, zeta: states by rows. Duals are numbers of forces, q, v, the workspace and
    the result. All arrays come one by one: tuples would be taken apart in Python, which takes longer than a state.
    """
    bodies, n, nt, size = tables_of(p).bodies, tables_of(p).n, tables_of(p).nt, values.shape[1]
    nv, colors = of_joints.shape[0] // max(1, of_bodies.shape[0] // n), of_bodies.shape[0] // n
    for s in range(Q.shape[0]):
        for k in range(POSE * n):
            q[WIDTH * k] = Q[s, k]
        for k in range(TWIST * n):
            v[WIDTH * k] = V[s, k]
        for k in range(controls.shape[1]):
            on_duals[integers[HEAD.control] + k] = controls[s, k]
        set_motion(bodies, n, Q[s], V[s], motion)
        for first in range(BLOCKS * colors if slopes.shape[0] > 0 else 1):
            c, block = first // BLOCKS, first % BLOCKS
            for i in range(n if slopes.shape[0] > 0 else 0):
                if color[i] == c:
                    set_direction(bodies, i, block, 1.0, motion, q, v, v)
            invoke(
                *(
                    address,
                    on_duals,
                    on_duals.shape[0],
                    acting,
                    acting.shape[0],
                    times[s],
                    forced[s],
                    angles[s],
                    of_forces,
                    q,
                    v,
                ),
                *(rate[s], lam[s], zeta[s], work, out, size),
            )
            if slopes.shape[0] > 0:
                for i in range(n):
                    if color[i] == c:
                        set_direction(bodies, i, block, 0.0, motion, q, v, v)
                along = slopes[s, block]
                store_slopes(of_bodies, c * n, n, 6, out, 0, along)
                store_slopes(of_bodies, c * n, n, 6, out, 6 * n, along)
                for k in range(3):
                    store_slopes(of_tiles, c * nt, nt, 3, out, 12 * n + 3 * nt * k, along)
                store_slopes(of_joints, c * nv, nv, 1, out, 12 * n + 9 * nt, along)
        for j in range(size):
            values[s, j] = out[WIDTH * j]
