"""Cotangents through the motion of bodies (`constrained.index1`).

Accelerations a and multipliers λ solve symmetric equations K (a, λ) = ..., whose factor the stage left behind. With the
cotangent of a, w = K⁻¹ (ā, 0) are the weights of the residuals, and cotangents of poses and velocities are minus the
derivatives of w · residuals.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.residual_tangent import BLOCKS
from chasles.absolute.tables import FIELD, HEAD, tables_of, work_of
from chasles.absolute.tangent import solve_equations
from chasles.constrained.index1 import space_of
from chasles.constraint.rows import TILE
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array, invoke
from chasles.kernel.algebra import cross
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, store3
from chasles.simulation.adjoint.projection_pull import pull_projection, pull_sweeps
from chasles.simulation.adjoint.pull_state import (
    JOINTS,
    PULL,
    add_reactions,
    add_to_numbers,
    clear_state,
    clear_weights,
    differentiate,
    duals_of,
    evaluate,
    fill,
    keep,
    multiply_by_masses,
    point,
    pull_state,
    room_of,
    set_duals,
    set_to,
    to_body,
    to_rows,
    to_space,
    to_tiles,
    turns_space,
)

# ---------------------------------------------------------------- through the motion


@native
def pull_motion(t, y_at, f_at, bar_at, y_bar_at, g_at, p_at, memory_at, sizes_at):
    """Through velocities and accelerations of a stage."""
    sizes = carray(sizes_at, (5,))
    y, f, bar = carray(y_at, (sizes[0],)), carray(f_at, (sizes[1],)), carray(bar_at, (sizes[1],))
    y_bar, g = carray(y_bar_at, (sizes[0],)), carray(g_at, (sizes[2],))
    p, memory = carray(p_at, (sizes[3],)), carray(memory_at, (sizes[4],))
    integers, head, tables = as_integer_array(memory), as_integer_array(p), tables_of(p)
    n, n_angles, gravity = tables.n, head[HEAD.n_angles], tables.gravity
    room, duals = room_of(memory[integers[PULL.room] :], head), duals_of(memory[integers[PULL.duals] :], head)
    space = space_of(p[head[HEAD.end] :], head)
    work, staged = work_of(space.work, head), integers[PULL.staged] != 0
    room.t[0] = t
    for k in range(n_angles):
        room.angles[k] = y[(POSE + TWIST) * n + k]
    for k in range(head[HEAD.end] - head[HEAD.control]):
        room.controls[k] = p[head[HEAD.control] + k]
        memory[integers[PULL.mechanism] + head[HEAD.control] + k] = room.controls[k]
    for k in range(6 * n):
        room.a[k] = bar[6 * n + k]
    fill(room.x, 0.0)
    to_space(tables, work.motion, room.a)
    solve_equations(tables, work.rows, work.factors, work.refinement, room.x, room.a)
    clear_state(room, 1.0)
    clear_weights(room)
    set_to(room.q, space.projected_q if staged else y[: POSE * n])
    set_to(room.v, space.projected_v if staged else y[POSE * n : (POSE + TWIST) * n])
    set_to(room.rate, f[6 * n : 12 * n])
    to_tiles(tables, work.x, room.lam)
    set_to(room.motion, room.a)
    to_rows(tables, integers, room.x, room.change, 1.0, True, True)
    alpha, beta = gravity[FIELD.alpha], gravity[FIELD.beta]
    to_rows(tables, integers, room.x, room.speed, 2.0 * alpha, False, True)  # rotors may turn as they do
    to_rows(tables, integers, room.x, room.place, beta * beta, False, True)
    fill(room.turn, 0.0)
    fill(room.twist, 0.0)
    pull_state(p, memory, integers, BLOCKS)
    if integers[PULL.translates] == 0:
        pull_transport(tables, work, room)
    keep(memory, integers, room, integers[PULL.row])
    pull_inputs(memory, integers, tables, room, duals, g)
    if staged:
        set_to(room.given, y[POSE * n : (POSE + TWIST) * n])
        set_to(room.q, y[: POSE * n])
        invoke(integers[PULL.sweeps], p, p.shape[0], y_bar, memory, memory.shape[0], 0)
    for k in range(6 * n):
        room.turn[k] += room.owed[k]
        room.twist[k] += bar[k]
        room.owed[k] = 0.0
    add_to_numbers(tables, y, room.turn, room.twist, y_bar)


@kernel(allocates=True)
def pull_transport(tables, work, room):
    """Through the accelerations R (ω x v) that turning makes of velocities v in the bodies: in equations of motion, and
    in rates of tiles but those that hold a body in a subgroup, where they are zero (`rows.acceleration_term`)."""
    for j in range(tables.nt):
        if tables.tiles[j * TILE.size + TILE.subgroup] != 0:
            store3(room.x, 3 * tables.nodes[j], (0.0, 0.0, 0.0))
    set_to(room.along, room.motion)
    multiply_by_masses(tables, room.along)
    add_reactions(tables, work.rows, room.x, 1.0, room.along)
    to_body(tables, work.motion, room.along)
    for i in range(tables.n):
        if turns_space(tables.bodies, i):
            add3(room.twist, 6 * i + 3, cross(load3(room.v, 6 * i, 0.0), load3(room.along, 6 * i + 3, 0.0)))


@kernel(allocates=True)
def pull_inputs(memory, integers, tables, room, duals, g):
    """Add to the cotangents of forces along joints: the velocities that joints have as bodies move by the weights."""
    n, size = tables.n, 12 * tables.n + 9 * tables.nt
    if g.shape[0] > 0:
        set_to(room.along, room.motion)
        to_body(tables, room.turns, room.along)
        for k in range(TWIST * n):
            duals.v[WIDTH * k + 1] = room.along[k]
        room.forced[0] = JOINTS
        evaluate(memory, integers, room, duals, size + 2 * g.shape[0])
        room.forced[0] = 1.0
        for k in range(TWIST * n):
            duals.v[WIDTH * k + 1] = 0.0
        for k in range(g.shape[0]):
            g[k] += duals.out[WIDTH * (size + k) + 1]


# ---------------------------------------------------------------- through the velocities of joints


@kernel(entry=True, allocates=True)
def pull_joints(memory, p, times, angles, Q, V, by_turns, by_speeds, turn, twist):
    """Add to the cotangents of bodies by q exp(δ) and V, of many states by rows, what those of joints make of them:
    by_turns along q exp(δ) of the joints, by_speeds of their velocities."""
    integers, head, tables = as_integer_array(memory), as_integer_array(p), tables_of(p)
    room, duals = room_of(memory[integers[PULL.room] :], head), duals_of(memory[integers[PULL.duals] :], head)
    nv, size = by_turns.shape[1], 12 * tables.n + 9 * tables.nt
    clear_state(room, JOINTS)
    for s in range(Q.shape[0]):
        room.t[0] = times[s]
        set_to(room.angles, angles[s])
        set_to(room.q, Q[s])
        set_to(room.v, V[s])
        set_duals(tables, room, duals)
        for c in range(integers[PULL.colors]):
            for block in range(0, BLOCKS, 1 if integers[PULL.translates] != 0 else 2):
                point(integers, tables, room, duals, c, block, 1.0)
                evaluate(memory, integers, room, duals, size + 2 * nv)
                point(integers, tables, room, duals, c, block, 0.0)
                for j in range(nv):
                    own = integers[integers[PULL.of_joints] + c * nv + j]
                    if own >= 0:
                        at, first = 6 * own + 3 * (block % 2), WIDTH * (size + j) + 1
                        turned = first + WIDTH * nv
                        for k in range(TANGENTS):
                            slope = duals.out[first + k]
                            if block < 2:
                                turn[s, at + k] += by_speeds[s, j] * slope + by_turns[s, j] * duals.out[turned + k]
                            else:
                                twist[s, at + k] += by_speeds[s, j] * slope


class Addresses(NamedTuple):
    motion: int
    projection: int
    sweeps: int
    differentiate: int


@cache
def pull_addresses() -> Addresses:
    """Addresses of `pull_motion` and what it calls, compiled now or loaded from the cache."""
    kinds = NUMBER, *(NUMBERS,) * 7, INTEGERS
    return Addresses(
        address_of(pull_motion, *kinds),
        address_of(pull_projection, *kinds),
        address_of(pull_sweeps, NUMBERS, INTEGER, NUMBERS, NUMBERS, INTEGER, INTEGER),
        address_of(differentiate, NUMBERS, INTEGER, NUMBERS, INTEGER, INTEGER),
    )
