"""Cotangents through the projection of bodies onto their constraints (`absolute.entry.project`).

Positions go there by sweeps q ← q ⊕ a, M a + J(q)ᵀ μ = 0, where μ is that of equations that were factorized before,

    M b + J*ᵀ μ = 0,   J* b = -g(q),

at the last stage of the step, or anew where sweeps were slow. Each sweep is taken again, and then back, with all its
derivatives; those of the factor too, which count where steps are long. What is left of g is rounding, but its
derivative is not: an exact projection of cotangents, at the end, stands for all further sweeps.
"""

from __future__ import annotations

from chasles.absolute.entry import displace, largest_residual, largest_speed, set_clock
from chasles.absolute.factor import solve
from chasles.absolute.kkt import POSE, TWIST, add_jacobian_times, prepare, push_back, set_motion
from chasles.absolute.redundant import factorize_rows, solve_refined
from chasles.absolute.tables import FIELD, HEAD, MASS, tables_of, work_of
from chasles.absolute.tangent import solve_equations
from chasles.constrained.index1 import space_of
from chasles.constraint.projection import SPEED_ROUNDING, SPEED_SWEEPS, SWEEPS, goes_on, is_poor, is_slow, is_stuck
from chasles.constraint.rows import EMPTY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds
from chasles.constraint.tile_work import angle_of, time_of
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.algebra import add, cross, dot, mul, scale
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, load9, store3, store6
from chasles.lie import quaternion
from chasles.simulation.adjoint.pull_state import (
    PULL,
    add_reactions,
    add_to_numbers,
    clear_state,
    clear_weights,
    fill,
    from_numbers,
    keep,
    multiply_by_masses,
    pull_state,
    room_of,
    set_to,
    spot_size,
    spot_views,
    to_body,
    to_rows,
    to_space,
    to_tiles,
    turns_space,
)

NOTHING, SMALL = 1e-15, 1e-8  # moves that do not count, or not their squares
FURTHER = 3  # sweeps that derivatives are taken through beyond those that moved something


@kernel(allocates=True)
def spot_at(memory, integers, head, k):
    """Poses and workspace of a projection after k sweeps."""
    at, size = integers[PULL.spots], spot_size(head)
    return spot_views(memory[at + k * size : at + (k + 1) * size], head)


@kernel(allocates=True)
def work_at(memory, integers, head, stage, k):
    """Rows and factor after k sweeps; -1: those of the last stage."""
    return work_of(stage if k < 0 else spot_at(memory, integers, head, k).work, head)


@kernel(allocates=True, shared=True)
def factorize_at(memory, integers, head, tables, k):
    work = work_of(spot_at(memory, integers, head, k).work, head)
    factorize_rows(tables, tables.masses, work.rows, work.matrix, work.factors)


@kernel(allocates=True, shared=True)
def solve_with(tables, work, x, a):
    """Multipliers x to right-hand sides of the rows, with the factor of `work`; a: what they move there."""
    fill(a, 0.0)
    solve_equations(tables, work.rows, work.factors, work.refinement, x, a)


@kernel(shared=True)
def pushed_by(tables, rows, x, a):
    """a = -M⁻¹ Jᵀ x with rows at hand."""
    fill(a, 0.0)
    push_back(
        *(tables.bodies, tables.tiles, tables.nodes, tables.incidences, tables.masses, tables.n),
        *(rows, x, a),
    )


@kernel(shared=True)
def rows_times(tables, rows, a, x, sign):
    """x = sign J a."""
    fill(x, 0.0)
    add_jacobian_times(tables.bodies, tables.tiles, tables.nodes, tables.incidences, tables.n, rows, a, x, sign, True)


@kernel
def divide_by_masses(tables, x):
    for i in range(tables.n):
        m = i * MASS.size
        inverse, light = load3(tables.masses, m + MASS.inverse, 0.0), 1.0 / tables.masses[m + MASS.mass]
        for k in range(3):
            x[6 * i + k] *= inverse[k]
            x[6 * i + 3 + k] *= light


@kernel(allocates=True, shared=True)
def subtract_reactions(tables, integers, work, room):
    """turn -= Jᵀ impulse, as residuals of places have it: not those of equations between velocities alone."""
    follows = integers[PULL.follows]
    for j in range(tables.nt):
        for k in range(3):
            if integers[follows + 3 * j + k] == 0:
                room.impulse[3 * tables.nodes[j] + k] = 0.0
    fill(room.along, 0.0)
    add_reactions(tables, work.rows, room.impulse, -1.0, room.along)
    to_body(tables, work.motion, room.along)
    for m in range(6 * tables.n):
        room.turn[m] += room.along[m]


@kernel
def hold_nothing(tables, x):
    """Zero at rows that are empty, and at those of rotors."""
    for j in range(tables.nt):
        for k in range(3):
            kind = tables.tiles[j * TILE.size + TILE.kinds + k]
            if kind == EMPTY or kind == ROTOR:
                x[3 * tables.nodes[j] + k] = 0.0


@kernel
def largest(a):
    size = 0.0
    for k in range(a.shape[0]):
        size = max(size, abs(a[k]))
    return size


@kernel(allocates=True)
def sweep_positions(memory, integers, head, tables, room, stage, near):
    """The sweeps of `entry.project_positions` from room.q, each at a spot of its own: how many, and whose factor is
    there at the end."""
    n, nt, refined = tables.n, tables.nt, tables.gravity[FIELD.regularization] > 0.0
    first = spot_at(memory, integers, head, 0)
    set_to(first.q, room.q)
    set_clock(head, first.work, room.t[0], room.angles, 0)
    work = work_of(first.work, head)
    fill(room.along, 0.0)
    set_motion(tables.bodies, n, first.q, room.along, work.motion)
    prepare(tables.tiles, tables.constants, nt, work.motion, work.rows)
    share, sweeps, owner = largest_residual(tables.tiles, nt, work.motion, work.rows), 0, -1
    if near == 0 or refined:
        factorize_at(memory, integers, head, tables, 0)
        owner = 0
    while goes_on(share, sweeps):
        here = spot_at(memory, integers, head, sweeps)
        work, factor = work_of(here.work, head), work_at(memory, integers, head, stage, owner)
        fill(work.x, 0.0)
        for j in range(nt):
            for k in range(3):
                work.x[3 * tables.nodes[j] + k] = -work.rows[j * ROWS.size + ROWS.residual + k]
        if refined:
            fill(work.a, 0.0)
            solve_refined(tables, work.rows, factor.factors, work.refinement, work.x, work.a)
        else:
            solve(tables.nn, tables.column, tables.row, factor.factors, work.x)
            pushed_by(tables, work.rows, work.x, work.a)
        set_to(room.moved[6 * n * sweeps : 6 * n * (sweeps + 1)], work.a)
        set_to(room.sweep[3 * tables.nn * sweeps : 3 * tables.nn * (sweeps + 1)], work.x)
        room.factor[sweeps], fresh = float(owner), owner == sweeps
        sweeps += 1
        there = spot_at(memory, integers, head, sweeps)
        set_to(there.q, here.q)
        set_clock(head, there.work, room.t[0], room.angles, 0)
        moved = work_of(there.work, head)
        set_motion(tables.bodies, n, there.q, room.along, moved.motion)
        displace(n, there.q, work.a, moved.motion)
        prepare(tables.tiles, tables.constants, nt, moved.motion, moved.rows)
        before = share
        share = largest_residual(tables.tiles, nt, moved.motion, moved.rows)
        stuck = is_stuck(share, before, sweeps, fresh)
        if refined or (is_slow(share, before) and not stuck):
            factorize_at(memory, integers, head, tables, sweeps)
            owner = sweeps
        if stuck:
            break
    return sweeps, owner


@kernel(allocates=True, shared=True)
def sweep_velocities(memory, integers, head, tables, room, stage, end, owner):
    """The sweeps of `entry.project_velocities` at the spot `end`, from room.given: how many. room.along has velocities
    on the constraints then, and `impulse` the sum of all multipliers."""
    n, nn, at = tables.n, tables.nn, work_of(spot_at(memory, integers, head, end).work, head)
    tiles, nodes = tables.tiles, tables.nodes
    set_to(room.along, room.given)
    to_space(tables, at.motion, room.along)
    fill(room.impulse, 0.0)
    share, sweeps = 0.0, 0
    while sweeps < SPEED_SWEEPS:
        x = room.speed_sweep[3 * nn * sweeps : 3 * nn * (sweeps + 1)]
        rows_times(tables, at.rows, room.along, x, -1.0)
        add_target_speeds(tiles, tables.constants, nodes, tables.nt, at.motion, at.rows, x, 1.0)
        for j in range(tables.nt):
            if tiles[j * TILE.size + TILE.kinds] == ROTOR:  # holds nothing
                x[3 * nodes[j]] = 0.0
        before = share
        share = largest_speed(tiles, nodes, tables.nt, at.rows, room.along, x)
        if not share > SPEED_ROUNDING:
            break
        if sweeps == 1 and is_poor(share, before) and owner != end:
            factorize_at(memory, integers, head, tables, end)
            owner = end
        factor = work_at(memory, integers, head, stage, owner)
        set_to(room.speeds[6 * n * sweeps : 6 * n * (sweeps + 1)], room.along)
        change = room.changes[6 * n * sweeps : 6 * n * (sweeps + 1)]
        if tables.gravity[FIELD.regularization] > 0.0:
            fill(change, 0.0)
            solve_refined(tables, at.rows, factor.factors, at.refinement, x, change)
        else:
            solve(nn, tables.column, tables.row, factor.factors, x)
            pushed_by(tables, at.rows, x, change)
        for k in range(6 * n):
            room.along[k] += change[k]
        for k in range(3 * nn):
            room.impulse[k] += x[k]
        room.factor[SWEEPS + sweeps] = float(owner)
        sweeps += 1
    return sweeps


@native
def pull_sweeps(p_at, p_size, bar_at, memory_at, memory_size, near):
    """Through the projection of the poses room.q and the velocities room.given, which end where `turn` and `twist` are
    cotangents; if the factor of the last stage is near, cotangents are those of numbers."""
    p, memory = carray(p_at, (p_size,)), carray(memory_at, (memory_size,))
    integers, head, tables = as_integer_array(memory), as_integer_array(p), tables_of(p)
    n, nn, row = tables.n, tables.nn, integers[PULL.row]
    room = room_of(memory[integers[PULL.room] :], head)
    stage = space_of(p[head[HEAD.end] :], head).work
    sweeps, owner = sweep_positions(memory, integers, head, tables, room, stage, near)
    fill(room.of_spots, 0.0)
    shared = integers[PULL.shared] != 0
    end = spot_at(memory, integers, head, sweeps)
    if near != 0:
        from_numbers(tables, end.q, carray(bar_at, ((POSE + TWIST) * n,)), room.turn, room.twist)
    if owner != sweeps:
        factorize_at(memory, integers, head, tables, sweeps)
    # the state whose residuals are looked at is at the end, from here on
    set_to(room.q, end.q)
    if shared:
        pull_shared_speeds(p, memory, integers, head, tables, room, stage, sweeps, owner)
    else:  # the result is the same whatever the factor is
        pull_speeds(p, memory, integers, head, tables, room, stage, sweeps)
    settle(memory, integers, head, tables, room, stage, sweeps, owner)
    for k in range(sweeps - 1, -1, -1):
        moved, x = room.moved[6 * n * k : 6 * n * (k + 1)], room.sweep[3 * nn * k : 3 * nn * (k + 1)]
        if largest(moved) >= NOTHING:
            here, after = spot_at(memory, integers, head, k), spot_at(memory, integers, head, k + 1)
            used = int(room.factor[k])
            at, factor = work_of(here.work, head), work_at(memory, integers, head, stage, used)
            to_space(tables, work_of(after.work, head).motion, room.turn)
            for i in range(n):  # transposed derivative of Cayley's map, and what it carries
                half, bar = scale(0.5, load3(moved, 6 * i, 0.0)), load3(room.turn, 6 * i, 0.0)
                spin = scale(1.0 / (1.0 + dot(half, half)), add(bar, cross(half, bar)))
                store6(room.along, 6 * i, (spin, load3(room.turn, 6 * i + 3, 0.0)))
                unit = quaternion.normalize((1.0, half[0], half[1], half[2]))
                store3(room.turn, 6 * i, mul(quaternion.to_matrix(unit), bar))
            to_body(tables, at.motion, room.turn)
            divide_by_masses(tables, room.along)
            rows_times(tables, at.rows, room.along, room.x, -1.0)
            solve_with(tables, factor, room.x, room.a)
            set_to(room.q, here.q)
            clear_state(room, 0.0)
            clear_weights(room)
            to_tiles(tables, x, room.lam)
            set_to(room.motion, room.along)
            pull_state(p, memory, integers, 2)
            to_rows(tables, integers, room.x, room.place, 1.0, False, True)
            set_to(room.impulse, room.x)
            subtract_reactions(tables, integers, at, room)
            set_to(room.rate, moved)
            to_body(tables, at.motion, room.rate)
            keep(memory, integers, room, row)
            pull_factor(p, memory, integers, head, tables, room, stage, used, x)
        for m in range(6 * n):
            room.turn[m] += room.of_spots[6 * n * k + m]


@kernel(allocates=True, shared=True)
def pull_factor(p, memory, integers, head, tables, room, stage, used, x):
    """How equations follow the poses that they were factorized at: -hat · dK (b, μ), with μ = x and hat in room.a and
    room.x. Sweeps that follow make up for it to first order, but for what is shared by the factor."""
    n, t = tables.n, room.t[0]
    factor = work_at(memory, integers, head, stage, used)
    clear_weights(room)
    pushed_by(tables, factor.rows, x, room.shift)  # b
    if largest(room.shift) >= (NOTHING if integers[PULL.shared] != 0 else SMALL):
        clear_state(room, 0.0)
        room.t[0] = time_of(factor.rows)
        for k in range(room.angles.shape[0]):
            room.angles[k] = angle_of(factor.rows, k)
        for i in range(n):
            at = i * MOTION.size
            unit = quaternion.from_matrix(load9(factor.motion, at + MOTION.rotation, 0.0))
            for k in range(4):
                room.q[POSE * i + k] = unit[k]
            store3(room.q, POSE * i + 4, load3(factor.motion, at + MOTION.position, 0.0))
        to_tiles(tables, x, room.lam)
        to_tiles(tables, room.x, room.zeta)
        set_to(room.motion, room.a)
        set_to(room.aside, room.turn)
        fill(room.turn, 0.0)
        pull_state(p, memory, integers, 2)
        for k in range(6 * n):
            found = room.turn[k]
            room.turn[k] = room.aside[k]
            if used < 0:
                room.owed[k] += found
            else:
                room.of_spots[6 * n * used + k] += found
        # of the system's numbers: hat · (M b + Jᵀ μ) and b · Jᵀ hat
        set_to(room.aside, room.shift)
        fill(room.shift, 0.0)
        fill(room.zeta, 0.0)
        set_to(room.rate, room.aside)
        to_body(tables, factor.motion, room.rate)
        keep(memory, integers, room, integers[PULL.row])
        fill(room.rate, 0.0)
        to_tiles(tables, room.x, room.lam)
        set_to(room.motion, room.aside)
        keep(memory, integers, room, integers[PULL.row])
        room.t[0] = t
        first = work_of(spot_at(memory, integers, head, 0).work, head)
        for k in range(room.angles.shape[0]):
            room.angles[k] = angle_of(first.rows, k)


@kernel(allocates=True)
def pull_speeds(p, memory, integers, head, tables, room, stage, end):
    """Through velocities that are projected exactly, at poses whose factor is there."""
    at = work_of(spot_at(memory, integers, head, end).work, head)
    sweep_velocities(memory, integers, head, tables, room, stage, end, end)
    to_body(tables, at.motion, room.along)
    set_to(room.a, room.twist)
    to_space(tables, at.motion, room.a)
    fill(room.x, 0.0)
    solve_equations(tables, at.rows, at.factors, at.refinement, room.x, room.a)
    clear_state(room, 0.0)
    clear_weights(room)
    for k in range(6 * tables.n):
        room.rate[k] = room.along[k] - room.given[k]
    to_tiles(tables, room.impulse, room.lam)
    set_to(room.motion, room.a)
    pull_state(p, memory, integers, 2)
    keep(memory, integers, room, integers[PULL.row])
    clear_state(room, 0.0)
    clear_weights(room)
    set_to(room.v, room.along)
    to_rows(tables, integers, room.x, room.speed, 1.0, False, True)
    pull_state(p, memory, integers, 2)
    keep(memory, integers, room, integers[PULL.row])
    set_to(room.twist, room.a)
    multiply_by_masses(tables, room.twist)
    to_body(tables, at.motion, room.twist)


@kernel(allocates=True)
def pull_shared_speeds(p, memory, integers, head, tables, room, stage, end, owner):
    """Through the sweeps of velocities. Rotors share what the others are told, as the factor has it, and no further
    sweep corrects their shares."""
    n, nn, at = tables.n, tables.nn, work_of(spot_at(memory, integers, head, end).work, head)
    sweeps = sweep_velocities(memory, integers, head, tables, room, stage, end, owner)
    to_body(tables, at.motion, room.along)
    set_to(room.given, room.along)
    used = owner
    if sweeps > 0:
        used = int(room.factor[SWEEPS + sweeps - 1])
    # velocities that are on the constraints already still have derivatives that are not: further sweeps move nothing
    for k in range(sweeps + FURTHER - 1, -1, -1):
        fill(room.impulse, 0.0)
        fill(room.change_of_speed, 0.0)
        set_to(room.speed_now, room.given)
        if k < sweeps:
            used = int(room.factor[SWEEPS + k])
            set_to(room.impulse, room.speed_sweep[3 * nn * k : 3 * nn * (k + 1)])
            set_to(room.change_of_speed, room.changes[6 * n * k : 6 * n * (k + 1)])
            set_to(room.speed_now, room.speeds[6 * n * k : 6 * n * (k + 1)])
            to_body(tables, at.motion, room.speed_now)
        factor = work_at(memory, integers, head, stage, used)
        set_to(room.along, room.twist)
        to_space(tables, at.motion, room.along)
        divide_by_masses(tables, room.along)
        rows_times(tables, at.rows, room.along, room.x, -1.0)
        solve_with(tables, factor, room.x, room.a)
        clear_state(room, 0.0)
        clear_weights(room)
        set_to(room.v, room.speed_now)
        to_rows(tables, integers, room.x, room.speed, 1.0, False, True)
        pull_state(p, memory, integers, 2)
        keep(memory, integers, room, integers[PULL.row])
        clear_state(room, 0.0)
        clear_weights(room)
        to_tiles(tables, room.impulse, room.lam)
        set_to(room.motion, room.along)
        pull_state(p, memory, integers, 2)
        set_to(room.rate, room.change_of_speed)
        to_body(tables, at.motion, room.rate)
        keep(memory, integers, room, integers[PULL.row])
        for i in range(n):  # the change is made in space: seen from a body that turns, it turns the other way
            if turns_space(tables.bodies, i):
                add3(room.turn, 6 * i, cross(load3(room.twist, 6 * i + 3, 0.0), load3(room.rate, 6 * i + 3, 0.0)))
        pull_factor(p, memory, integers, head, tables, room, stage, used, room.impulse)
        set_to(room.q, spot_at(memory, integers, head, end).q)
        if used == end:
            for m in range(6 * n):
                room.turn[m] += room.of_spots[6 * n * end + m]
                room.of_spots[6 * n * end + m] = 0.0
        hold_nothing(tables, room.x)
        fill(room.along, 0.0)
        add_reactions(tables, at.rows, room.x, -1.0, room.along)
        to_body(tables, at.motion, room.along)
        for m in range(6 * n):
            room.twist[m] += room.along[m]


@kernel(allocates=True)
def settle(memory, integers, head, tables, room, stage, end, owner):
    """Through all further sweeps of positions, which move nothing but derivatives: some with the factor, if rotors
    share them, and the rest at once."""
    at = work_of(spot_at(memory, integers, head, end).work, head)
    fill(room.total, 0.0)
    for k in range(1 + FURTHER if integers[PULL.shared] != 0 else 1):
        factor = work_at(memory, integers, head, stage, end if k == 0 else owner)
        set_to(room.along, room.turn)
        to_space(tables, at.motion, room.along)
        divide_by_masses(tables, room.along)
        rows_times(tables, at.rows, room.along, room.x, -1.0)
        solve_with(tables, factor, room.x, room.a)
        set_to(room.impulse, room.x)
        subtract_reactions(tables, integers, at, room)
        for m in range(3 * tables.nn):
            room.total[m] += room.x[m]
    clear_state(room, 0.0)
    clear_weights(room)
    to_rows(tables, integers, room.total, room.place, 1.0, False, True)
    keep(memory, integers, room, integers[PULL.row])


@native
def pull_projection(t, y_at, f_at, bar_at, y_bar_at, g_at, p_at, memory_at, sizes_at):
    """Through the projection at the end of a step; the factor that it began with is that of the last stage, whose
    field comes next."""
    sizes = carray(sizes_at, (5,))
    y, bar, y_bar = carray(y_at, (sizes[0],)), carray(bar_at, (sizes[1],)), carray(y_bar_at, (sizes[0],))
    p, memory = carray(p_at, (sizes[3],)), carray(memory_at, (sizes[4],))
    integers, head, tables = as_integer_array(memory), as_integer_array(p), tables_of(p)
    room, n = room_of(memory[integers[PULL.room] :], head), tables.n
    room.t[0] = t
    for k in range(head[HEAD.n_angles]):
        room.angles[k] = y[(POSE + TWIST) * n + k]
    set_to(room.q, y[: POSE * n])
    set_to(room.given, y[POSE * n : (POSE + TWIST) * n])
    invoke(integers[PULL.sweeps], p, p.shape[0], bar, memory, memory.shape[0], 1)
    add_to_numbers(tables, y, room.turn, room.twist, y_bar)
    for k in range((POSE + TWIST) * n, y.shape[0]):
        y_bar[k] += bar[k]
