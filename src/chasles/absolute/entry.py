"""What loops and Python call: accelerations and projections of a packed mechanism, through addresses, compiled once."""

from __future__ import annotations

import functools

from chasles.absolute.factor import solve
from chasles.absolute.forces import act
from chasles.absolute.joint_force import silent_rates
from chasles.absolute.kkt import (
    POSE,
    TWIST,
    accelerate,
    add_jacobian_times,
    angular_of,
    is_point,
    linear_of,
    prepare,
    push_back,
    set_motion,
    size,
    size_of_row,
)
from chasles.absolute.redundant import accelerate_refined, factorize_rows, solve_refined
from chasles.absolute.tables import BODY, FIELD, HEAD, SE3, joints_of, tables_of, work_of, work_size
from chasles.constraint.projection import SPEED_ROUNDING, SPEED_SWEEPS, goes_on, is_poor, is_slow, is_stuck, worse
from chasles.constraint.rows import CUSTOM, IDENTITY, MOTION, ROTOR, ROWS, TILE, TRAVEL, TURN, within_subgroup
from chasles.constraint.special import TARGET, add_target_speeds, angle_rates, call_special
from chasles.constraint.tile_work import angle_at, set_time, tile_target
from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, as_integers, invoke
from chasles.kernel.algebra import add, dot, mat_scale, mul, mul_t, scale
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import load3, load9, store3, store6, store9
from chasles.lie import quaternion

TINY = 1e-300


@kernel
def set_clock(integers, work, t, angles, at):
    """Time and counted angles (from `at` on in an array) to the workspace, for constraints that depend on them."""
    rows = work_of(work, integers).rows
    set_time(rows, t)
    for k in range(integers[HEAD.n_angles]):
        rows[angle_at(rows, k)] = angles[at + k]


@native
def accelerations(p_at, p_size, q_at, v_at, wrenches_at, work_at, a_at):
    """a (six numbers a body, derivatives of its velocities in its space; then rates of counted angles) of a state.

    Wrenches: torque in the body and force in space, at the center of mass. The multipliers are left in the workspace.
    """
    integers, p = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,))
    tables = tables_of(p)
    n, bodies = tables.n, tables.bodies
    q, v, wrenches = carray(q_at, (POSE * n,)), carray(v_at, (TWIST * n,)), carray(wrenches_at, (6 * n,))
    space = work_of(carray(work_at, (work_size(integers),)), integers)
    motion, rows, matrix, factors, x, a, _, _ = space
    out = carray(a_at, (6 * n + integers[HEAD.n_angles],))
    set_motion(bodies, n, q, v, motion)
    if tables.gravity[FIELD.regularization] > 0.0:
        accelerate_refined(tables, motion, wrenches, space)
    else:
        accelerate(tables, motion, wrenches, rows, matrix, factors, x, a)
    for i in range(n):
        angular, linear = load3(a, 6 * i, 0.0), load3(a, 6 * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] == SE3:
            linear = mul_t(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
            held = bodies[i * BODY.size + BODY.held]
            if held > 0:
                angular, linear = within_subgroup(tables.tiles, tables.constants, held - 1, angular, linear)
        store6(out, 6 * i, (angular, linear))
    if integers[HEAD.n_angles] > 0:
        for k in range(integers[HEAD.n_angles]):  # of joints on which something acts, as `act` left them
            out[6 * n + k] = p[integers[HEAD.rates] + k]
        joints = joints_of(p)
        silent_rates(joints.joints, joints.joint_numbers, joints.n, motion, out[6 * n :])
        angle_rates(tables.tiles, tables.constants, tables.nt, motion, out[6 * n :])


@kernel(allocates=True)
def power_of_drives(integers, p, work):
    """Power of constraints that depend on time, after `accelerations`: -λ·(J V), where J V is what they ask for."""
    tables, space = tables_of(p), work_of(work, integers)
    tiles, constants, rows, power = tables.tiles, tables.constants, space.rows, 0.0
    for t in range(tables.nt):
        kind = tiles[t * TILE.size + TILE.kinds]
        if kind == CUSTOM or kind == TURN or kind == TRAVEL:
            call_special(TARGET, tiles, constants, t, space.motion, rows)
            power -= dot(load3(space.x, 3 * tables.nodes[t], 0.0), tile_target(rows))
    return power


@kernel
def largest_residual(tiles, n_tiles, motion, rows):
    """The largest residual relative to what it is the difference of; NaN stays NaN."""
    share = 0.0
    for t in range(n_tiles):
        for k in range(3):
            off = abs(rows[t * ROWS.size + ROWS.residual + k])
            if off != 0.0:
                total = TINY
                for side in range(2):
                    i = tiles[t * TILE.size + TILE.first + side]
                    if i >= 0:
                        far = size(load3(motion, i * MOTION.size + MOTION.position, 0.0))
                        total += size_of_row(tiles, rows, t, side, k, 1.0, far)
                _, share = worse(off, total, 0.0, share)
    return share


@kernel
def largest_speed(tiles, nodes, n_tiles, rows, velocity, x):
    """The same of x = J V - target."""
    share = 0.0
    for t in range(n_tiles):
        for k in range(3):
            off = abs(x[3 * nodes[t] + k])
            if off != 0.0:
                total = TINY
                for side in range(2):
                    i = tiles[t * TILE.size + TILE.first + side]
                    if i >= 0:
                        turn, move = load3(velocity, 6 * i, 0.0), load3(velocity, 6 * i + 3, 0.0)
                        total += size_of_row(tiles, rows, t, side, k, size(turn), size(move))
                _, share = worse(off, total, 0.0, share)
    return share


@kernel
def displace(n, q, a, motion):
    """Move every body by a (rotation vector in the body, displacement in space), staying on the group."""
    for i in range(n):
        half = scale(0.5, load3(a, 6 * i, 0.0))
        at = POSE * i
        turn = (1.0, half[0], half[1], half[2])  # Cayley's map, once it is normalized: as good as exp for an iteration
        unit = quaternion.normalize(quaternion.product((q[at], q[at + 1], q[at + 2], q[at + 3]), turn))
        q[at], q[at + 1], q[at + 2], q[at + 3] = unit
        store3(q, at + 4, add(load3(q, at + 4, 0.0), load3(a, 6 * i + 3, 0.0)))
        store9(motion, i * MOTION.size + MOTION.rotation, quaternion.to_matrix(unit))
        store3(motion, i * MOTION.size + MOTION.position, load3(q, at + 4, 0.0))


@kernel
def solve_rows(tables, space):
    """The accelerations `a` that the right-hand side x of the rows asks for; x becomes the multipliers."""
    for k in range(6 * tables.n):
        space.a[k] = 0.0
    if tables.gravity[FIELD.regularization] > 0.0:
        solve_refined(tables, space.rows, space.factors, space.refinement, space.x, space.a)
    else:
        solve(tables.nn, tables.column, tables.row, space.factors, space.x)
        push_back(
            *(tables.bodies, tables.tiles, tables.nodes, tables.incidences, tables.masses, tables.n),
            *(space.rows, space.x, space.a),
        )


@kernel
def project_positions(tables, space, q, near):
    """The part of `project` that moves the bodies; it leaves a factor for velocities."""
    tiles, nt, rows, x = tables.tiles, tables.nt, space.rows, space.x
    redundant = tables.gravity[FIELD.regularization] > 0.0
    prepare(tiles, tables.constants, nt, space.motion, rows)
    share = largest_residual(tiles, nt, space.motion, rows)
    sweeps, stale = 0, near == 0 or redundant
    while True:
        fresh = stale
        if stale:
            factorize_rows(tables, tables.masses, rows, space.matrix, space.factors)
            stale = False
        if not goes_on(share, sweeps):
            break
        for k in range(3 * tables.nn):
            x[k] = 0.0
        for t in range(nt):
            for k in range(3):
                x[3 * tables.nodes[t] + k] = -rows[t * ROWS.size + ROWS.residual + k]
        solve_rows(tables, space)
        displace(tables.n, q, space.a, space.motion)
        prepare(tiles, tables.constants, nt, space.motion, rows)
        sweeps += 1
        before = share
        share = largest_residual(tiles, nt, space.motion, rows)
        stale = is_slow(share, before) or redundant
        if is_stuck(share, before, sweeps, fresh):
            break
    if stale and redundant:
        factorize_rows(tables, tables.masses, rows, space.matrix, space.factors)


@kernel
def project_velocities(tables, space):
    """The part of `project` that changes velocities, as the rows take them: ω in the body, r' in space."""
    bodies, tiles, nodes, incidences = tables.bodies, tables.tiles, tables.nodes, tables.incidences
    rows, x, velocity, share = space.rows, space.x, space.velocity, 0.0
    for sweep in range(SPEED_SWEEPS):
        for k in range(3 * tables.nn):
            x[k] = 0.0
        add_jacobian_times(bodies, tiles, nodes, incidences, tables.n, rows, velocity, x, -1.0, True)
        add_target_speeds(tiles, tables.constants, nodes, tables.nt, space.motion, rows, x, 1.0)
        for t in range(tables.nt):
            if tiles[t * TILE.size + TILE.kinds] == ROTOR:  # holds nothing
                x[3 * nodes[t]] = 0.0
        before = share
        share = largest_speed(tiles, nodes, tables.nt, rows, velocity, x)
        if not share > SPEED_ROUNDING:  # a NaN ends it too
            break
        if sweep == 1 and is_poor(share, before) and not tables.gravity[FIELD.regularization] > 0.0:
            factorize_rows(tables, tables.masses, rows, space.matrix, space.factors)
        solve_rows(tables, space)
        for k in range(6 * tables.n):
            velocity[k] += space.a[k]


@native
def project(p_at, p_size, q_at, v_at, work_at, near):
    """Bring a state back onto the constraints, mass-orthogonally: positions first, then velocities.

    Both are iterated to rounding with one factor, unless that converges slowly: the factor only says how far to go, the
    direction is that of the state at hand. If rows depend on others, every sweep has its own factor. near: 1 if the
    factor of a state nearby is in the workspace, else 0.
    """
    integers, p = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,))
    tables = tables_of(p)
    space = work_of(carray(work_at, (work_size(integers),)), integers)
    bodies, n, motion, velocity = tables.bodies, tables.n, space.motion, space.velocity
    q, v = carray(q_at, (POSE * n,)), carray(v_at, (TWIST * n,))
    set_motion(bodies, n, q, v, motion)
    project_positions(tables, space, q, near)
    for i in range(n):
        linear = load3(v, TWIST * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] == SE3:
            linear = mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
        store6(velocity, 6 * i, (load3(v, TWIST * i, 0.0), linear))
    project_velocities(tables, space)
    for i in range(n):
        linear = load3(velocity, 6 * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] == SE3:
            linear = mul_t(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
        store6(v, TWIST * i, (load3(velocity, 6 * i, 0.0), linear))


@functools.cache
def addresses() -> tuple[int, int]:
    """Addresses of `accelerations` and `project`, compiled now or loaded from the cache."""
    size = INTEGER
    return (
        address_of(accelerations, NUMBERS, size, *(NUMBERS,) * 5),
        address_of(project, NUMBERS, size, *(NUMBERS,) * 3, size),
    )


@functools.cache
def act_address() -> int:
    """Address of `act`, for mechanisms on which something acts: compiling it takes as long as all the rest."""
    return address_of(act, NUMBER, NUMBERS, INTEGER, *(NUMBERS,) * 5)


@kernel(entry=True, allocates=True)
def accelerations_of_states(address, integers, p, times, angles, q, v, wrenches, work, a, multipliers):
    """Accelerations and multipliers (elimination order) of a batch of states, by rows."""
    x = work_of(work, integers).x
    for k in range(q.shape[0]):
        set_clock(integers, work, times[k], angles[k], 0)
        invoke(address, p, p.shape[0], q[k], v[k], wrenches[k], work, a[k])
        for j in range(multipliers.shape[1]):
            multipliers[k, j] = x[j]


@kernel(entry=True)
def project_state(address, integers, p, t, angles, q, v, work):
    set_clock(integers, work, t, angles, 0)
    invoke(address, p, p.shape[0], q, v, work, 0)


@kernel(entry=True, allocates=True)
def jacobians_of_states(integers, p, times, angles, q, v, work, out):
    """Of each state, tile and side the angular and the linear rows (3x3 each); those that are not stored, too."""
    tables, space = tables_of(p), work_of(work, integers)
    tiles, nt, motion, rows = tables.tiles, tables.nt, space.motion, space.rows
    for k in range(q.shape[0]):
        set_motion(tables.bodies, tables.n, q[k], v[k], motion)
        set_clock(integers, work, times[k], angles[k], 0)
        prepare(tiles, tables.constants, nt, motion, rows)
        for t in range(nt):
            for side in range(2):
                at = 36 * t + 18 * side
                store9(out[k], at, angular_of(rows, t, side))
                linear = linear_of(rows, t, side)
                if is_point(tiles, t):
                    linear = mat_scale(2.0 * side - 1.0, IDENTITY)
                store9(out[k], at + 9, linear)


@kernel(entry=True, allocates=True)
def rows_of_states(integers, p, times, angles, q, v, work, residuals, rates):
    """Residuals and J V - target of all tiles (three numbers each, in the order of the tiles) of a batch of states."""
    bodies, tiles, nodes, incidences, _, _, _, _, _, _, constants, _, n, nt, nn, _ = tables_of(p)
    motion, rows, _, _, x, _, velocity, _ = work_of(work, integers)
    for k in range(q.shape[0]):
        set_motion(bodies, n, q[k], v[k], motion)
        set_clock(integers, work, times[k], angles[k], 0)
        prepare(tiles, constants, nt, motion, rows)
        for i in range(n):
            at = i * MOTION.size
            speeds = load3(motion, at + MOTION.spin, 0.0), load3(motion, at + MOTION.velocity, 0.0)
            store6(velocity, 6 * i, speeds)
        for j in range(3 * nn):
            x[j] = 0.0
        add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, velocity, x, 1.0, True)
        add_target_speeds(tiles, constants, nodes, nt, motion, rows, x, -1.0)
        for t in range(nt):
            for j in range(3):
                residuals[k, 3 * t + j] = rows[t * ROWS.size + ROWS.residual + j]
                rates[k, 3 * t + j] = x[3 * nodes[t] + j]
