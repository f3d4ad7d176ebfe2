"""Cotangents through the motion of bodies and through their projection onto constraints (`constrained.index1`).

Motion: accelerations a and multipliers λ solve symmetric equations K (a, λ) = ..., whose factor the stage left behind.
With the cotangent of a, w = K⁻¹ (ā, 0) are the weights of the residuals (`absolute.residual_tangent`), and cotangents
of poses and velocities are minus the derivatives of w · residuals. These are taken on duals, three directions of many
bodies at once: bodies of one color share no residual.

Projection: positions go by sweeps q ← q ⊕ a, M a + J(q)ᵀ μ = 0, where μ is that of equations that were factorized
before,

    M b + J*ᵀ μ = 0,   J* b = -g(q),

at the last stage of the step, or anew where sweeps were slow. Each sweep is taken again, and then back, with all its
derivatives; those of the factor too, which count where steps are long. What is left of g is rounding, but its
derivative is not: an exact projection of cotangents, at the end, stands for all further sweeps.
"""

from __future__ import annotations

from functools import cache

from chasles.absolute.entry import displace, largest_residual, largest_speed, set_clock
from chasles.absolute.factor import solve
from chasles.absolute.kkt import POSE, TWIST, add_jacobian_times, prepare, push_back, reaction, set_motion
from chasles.absolute.redundant import factorize_rows, solve_refined
from chasles.absolute.residual_tangent import BLOCKS, RESIDUAL_WORK
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, MECHANISM, SE3, WORK, tables_of, work_of
from chasles.absolute.tangent import set_direction, solve_equations
from chasles.constrained.index1 import space_of
from chasles.constraint.projection import SPEED_ROUNDING, SPEED_SWEEPS, SWEEPS, goes_on, is_slow, is_stuck
from chasles.constraint.rows import EMPTY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds
from chasles.constraint.tile_work import angle_of, time_of
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array, invoke
from chasles.kernel.algebra import add, cross, dot, mul, mul_t, scale
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray
from chasles.kernel.memory import Regions
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, layout, load3, load9, store3, store6
from chasles.lie import quaternion

NOTHING, SMALL = 1e-15, 1e-8  # moves that do not count, or not their squares
POOR = 1e-3  # a first sweep of velocities that leaves more than this needs a factor of its own
FURTHER = 3  # sweeps that derivatives are taken through beyond those that moved something
SPOTS = SWEEPS + 1  # poses of a projection
JOINTS = -1.0  # instead of whether forces act: velocities of joints are asked for, alone

# head of the memory: the address of `residuals`; where parts begin: duals, the mechanism with laws on duals and its
# end, addresses of forces and how many, numbers of forces on duals, colors of bodies (of each which one has it among
# those that a body's, a tile's or a joint's numbers depend on) and how many, whether these depend on where bodies are
# (`coloring.translates`), tiles that have residuals, `ROOM`, poses and
# workspaces of a projection; whether there are rotors, whether stages are projected, the address of `pull_sweeps`; where
# the account begins, how many rows it has room for, how many it has, and their size
PULL = layout(
    "PULL", residuals=1, duals=1, mechanism=1, mechanism_end=1, acting=1, n_acting=1, forces=1, color=1, of_bodies=1,
    of_tiles=1, of_joints=1, colors=1, translates=1, chosen=1, room=1, spots=1, rotors=1, staged=1, sweeps=1, account=1, capacity=1, used=1, row=1,
)  # fmt: skip
_n, _nt, _nn, _na = (getattr(MECHANISM.sizes, name) for name in ("n_bodies", "n_tiles", "n_nodes", "n_angles"))
_inputs = 6 * MECHANISM.sizes.n_joints  # at most
# duals of a state, of its residuals and of work; each begins where lanes may
PULL_DUALS = Regions(
    "PullDuals",
    q=WIDTH * POSE * _n,
    v=WIDTH * TWIST * _n,
    out=WIDTH * (12 * _n + 9 * _nt + _inputs),
    work=WIDTH * RESIDUAL_WORK.count,
)
duals_of = PULL_DUALS.views
# a state with the weights of its residuals, what is kept of it in the account; then cotangents and workspace
ACCOUNT = Regions(
    "AccountRow", t=1, forced=1, angles=1 * _na, controls=_inputs, q=POSE * _n, v=TWIST * _n, rate=6 * _n, lam=3 * _nt, zeta=3 * _nt,
    motion=6 * _n, shift=6 * _n, place=3 * _nt, speed=3 * _nt, change=3 * _nt,
)  # fmt: skip
ROOM = Regions(
    "PullRoom", t=1, forced=1, angles=1 * _na, controls=_inputs, q=POSE * _n, v=TWIST * _n, rate=6 * _n, lam=3 * _nt, zeta=3 * _nt,
    motion=6 * _n, shift=6 * _n, place=3 * _nt, speed=3 * _nt, change=3 * _nt,
    turns=MOTION.size * _n, turn=6 * _n, twist=6 * _n, owed=6 * _n, aside=6 * _n, along=6 * _n, a=6 * _n, x=3 * _nn, given=6 * _n,
    impulse=3 * _nn, total=3 * _nn, factor=SWEEPS + SPEED_SWEEPS, moved=6 * SWEEPS * _n, sweep=3 * SWEEPS * _nn,
    speeds=6 * SPEED_SWEEPS * _n, speed_sweep=3 * SPEED_SWEEPS * _nn, changes=6 * SPEED_SWEEPS * _n, speed_now=6 * _n, change_of_speed=6 * _n,
    of_spots=6 * SPOTS * _n,
)  # fmt: skip
room_of = ROOM.views
SPOT = Regions("PullSpot", q=POSE * _n, work=WORK.count)
spot_views, spot_size = SPOT.views, SPOT.total


@kernel
def fill(array, value):
    for k in range(array.shape[0]):
        array[k] = value


@kernel
def set_to(array, values):
    for k in range(array.shape[0]):
        array[k] = values[k]


@kernel
def turns_space(bodies, i):
    """Whether linear velocities of a body are in its own axes."""
    return bodies[i * BODY.size + BODY.space] == SE3


@kernel(allocates=True)
def to_space(tables, motion, x):
    """Vectors with linear parts in the bodies' spaces, with these in space."""
    for i in range(tables.n):
        if turns_space(tables.bodies, i):
            store3(x, 6 * i + 3, mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), load3(x, 6 * i + 3, 0.0)))


@kernel(allocates=True)
def to_body(tables, motion, x):
    """The way back."""
    for i in range(tables.n):
        if turns_space(tables.bodies, i):
            store3(x, 6 * i + 3, mul_t(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), load3(x, 6 * i + 3, 0.0)))


# ---------------------------------------------------------------- residuals of a state, times weights


@kernel
def clear_weights(room):
    fill(room.motion, 0.0)
    fill(room.shift, 0.0)
    fill(room.place, 0.0)
    fill(room.speed, 0.0)
    fill(room.change, 0.0)


@kernel
def clear_state(room, forced):
    """Nothing moves, nothing pushes."""
    fill(room.v, 0.0)
    fill(room.rate, 0.0)
    fill(room.lam, 0.0)
    fill(room.zeta, 0.0)
    room.forced[0] = forced


@kernel
def to_tiles(tables, x, out):
    """Numbers of nodes to all tiles."""
    for j in range(tables.nt):
        store3(out, 3 * j, load3(x, 3 * tables.nodes[j], 0.0))


@kernel
def to_rows(tables, integers, x, out, factor, rotors, others):
    """Numbers of nodes, times a factor, to residuals of tiles: of those of rotors, of the others, or both."""
    tiles, chosen = tables.tiles, integers[PULL.chosen]
    for j in range(tables.nt):
        for k in range(3):
            kind = tiles[j * TILE.size + TILE.kinds + k]
            own = rotors if kind == ROTOR else others
            counts = integers[chosen + j] != 0 and kind != EMPTY and own
            out[3 * j + k] = factor * x[3 * tables.nodes[j] + k] if counts else 0.0


@kernel
def add_products(weights, first, count, out, at, k_bar, bar_at):
    """Subtract from three cotangents the weights times tangents of what begins at `at`."""
    for m in range(count):
        w = weights[first + m]
        if w != 0.0:
            place = WIDTH * (at + m)
            for k in range(TANGENTS):
                k_bar[bar_at + k] -= w * out[place + 1 + k]


@kernel(allocates=True)
def set_duals(tables, room, duals):
    """The numbers of a state on duals, and its rotations."""
    for k in range(POSE * tables.n):
        duals.q[WIDTH * k] = room.q[k]
    for k in range(TWIST * tables.n):
        duals.v[WIDTH * k] = room.v[k]
    set_motion(tables.bodies, tables.n, room.q, room.v, room.turns)


@kernel(allocates=True)
def evaluate(memory, integers, room, duals, size):
    """`residuals` of the state on duals; `size` leaves velocities of joints out, or not."""
    mechanism = memory[integers[PULL.mechanism] : integers[PULL.mechanism_end]]
    acting, forces = integers[PULL.acting], integers[PULL.forces]
    count = integers[PULL.n_acting]
    invoke(
        *(integers[PULL.residuals], mechanism, mechanism.shape[0], memory[acting : acting + count], count),
        *(room.t[0], int(room.forced[0]), room.angles, memory[forces:], duals.q, duals.v),
        *(room.rate, room.lam, room.zeta, duals.work, duals.out, size),
    )


@kernel(allocates=True)
def point(integers, tables, room, duals, c, block, sign):
    """Tangents of all bodies of a color for a block of directions (sign 1), or none any more (0)."""
    for i in range(tables.n):
        if integers[integers[PULL.color] + i] == c:
            set_direction(tables.bodies, i, block, sign, room.turns, duals.q, duals.v, duals.v)


@kernel(allocates=True)
def pull_state(memory, integers, tables, room, duals, blocks):
    """Subtract from `turn` and `twist` the derivatives of weights times residuals by poses and velocities. blocks: two,
    of poses alone, or four. If nothing depends on where bodies are, those of places, which are the Jacobian, and of
    accelerations that turning makes of velocities are left out."""
    n, nt = tables.n, tables.nt
    of_bodies, of_tiles = integers[PULL.of_bodies], integers[PULL.of_tiles]
    set_duals(tables, room, duals)
    for c in range(integers[PULL.colors]):
        for block in range(0, blocks, 1 if integers[PULL.translates] != 0 else 2):
            point(integers, tables, room, duals, c, block, 1.0)
            evaluate(memory, integers, room, duals, 12 * n + 9 * nt)
            point(integers, tables, room, duals, c, block, 0.0)
            bar, part = room.turn if block < 2 else room.twist, 3 * (block % 2)
            for i in range(n):
                own = integers[of_bodies + c * n + i]
                if own >= 0:
                    add_products(room.motion, 6 * i, 6, duals.out, 6 * i, bar, 6 * own + part)
                    add_products(room.shift, 6 * i, 6, duals.out, 6 * n + 6 * i, bar, 6 * own + part)
            for j in range(nt):
                own = integers[of_tiles + c * nt + j]
                if own >= 0:
                    at = 12 * n + 3 * j
                    add_products(room.place, 3 * j, 3, duals.out, at, bar, 6 * own + part)
                    add_products(room.speed, 3 * j, 3, duals.out, at + 3 * nt, bar, 6 * own + part)
                    add_products(room.change, 3 * j, 3, duals.out, at + 6 * nt, bar, 6 * own + part)


@kernel(allocates=True)
def keep(memory, integers, room, size):
    """The state and its weights to the account."""
    if integers[PULL.used] < integers[PULL.capacity]:
        at, first = integers[PULL.account] + integers[PULL.used] * size, integers[PULL.room]
        for k in range(size):
            memory[at + k] = memory[first + k]
        integers[PULL.used] += 1


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
    pull_state(memory, integers, tables, room, duals, BLOCKS)
    if integers[PULL.translates] == 0:  # w · (M, J) R (ω x v) = ā · (ω x v)
        for i in range(n):
            if turns_space(tables.bodies, i):
                pushed = cross(load3(room.v, 6 * i, 0.0), load3(bar, 6 * n + 6 * i + 3, 0.0))
                add3(room.twist, 6 * i + 3, pushed)
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
def pull_inputs(memory, integers, tables, room, duals, g):
    """Add to the cotangents of forces along joints: the velocities that joints have as bodies move by the weights."""
    n, size = tables.n, 12 * tables.n + 9 * tables.nt
    if g.shape[0] > 0:
        set_to(room.along, room.motion)
        to_body(tables, room.turns, room.along)
        for k in range(TWIST * n):
            duals.v[WIDTH * k + 1] = room.along[k]
        room.forced[0] = JOINTS
        evaluate(memory, integers, room, duals, size + g.shape[0])
        room.forced[0] = 1.0
        for k in range(TWIST * n):
            duals.v[WIDTH * k + 1] = 0.0
        for k in range(g.shape[0]):
            g[k] += duals.out[WIDTH * (size + k) + 1]


@kernel
def add_to_numbers(tables, q, turn, twist, out):
    """Add cotangents by q exp(δ) and V to those of the numbers of a point."""
    n = tables.n
    for i in range(n):
        at, spin = POSE * i, load3(turn, 6 * i, 0.0)
        unit = (q[at], q[at + 1], q[at + 2], q[at + 3])
        turned, shift = quaternion.product(unit, (0.0, spin[0], spin[1], spin[2])), load3(turn, 6 * i + 3, 0.0)
        if turns_space(tables.bodies, i):
            shift = mul(quaternion.to_matrix(unit), shift)
        for k in range(4):
            out[at + k] += 2.0 * turned[k]
        add3(out, at + 4, shift)
    for k in range(TWIST * n):
        out[POSE * n + k] += twist[k]


@kernel
def from_numbers(tables, q, bar, turn, twist):
    """Cotangents by q exp(δ) and V from those of the numbers of a point."""
    n = tables.n
    for i in range(n):
        at = POSE * i
        unit = (q[at], q[at + 1], q[at + 2], q[at + 3])
        spin = quaternion.product(quaternion.conjugate(unit), (bar[at], bar[at + 1], bar[at + 2], bar[at + 3]))
        shift = load3(bar, at + 4, 0.0)
        if turns_space(tables.bodies, i):
            shift = mul_t(quaternion.to_matrix(unit), shift)
        store6(turn, 6 * i, ((0.5 * spin[1], 0.5 * spin[2], 0.5 * spin[3]), shift))
    for k in range(TWIST * n):
        twist[k] = bar[POSE * n + k]


# ---------------------------------------------------------------- through the projection


@kernel(allocates=True)
def spot_at(memory, integers, head, k):
    """Poses and workspace of a projection after k sweeps."""
    at, size = integers[PULL.spots], spot_size(head)
    return spot_views(memory[at + k * size : at + (k + 1) * size], head)


@kernel(allocates=True)
def work_at(memory, integers, head, stage, k):
    """Rows and factor after k sweeps; -1: those of the last stage."""
    return work_of(stage if k < 0 else spot_at(memory, integers, head, k).work, head)


@kernel(allocates=True)
def factorize_at(memory, integers, head, tables, k):
    work = work_of(spot_at(memory, integers, head, k).work, head)
    factorize_rows(tables, tables.masses, work.rows, work.matrix, work.factors)


@kernel(allocates=True)
def solve_with(tables, work, x, a):
    """Multipliers x to right-hand sides of the rows, with the factor of `work`; a: what they move there."""
    fill(a, 0.0)
    solve_equations(tables, work.rows, work.factors, work.refinement, x, a)


@kernel
def pushed_by(tables, rows, x, a):
    """a = -M⁻¹ Jᵀ x with rows at hand."""
    fill(a, 0.0)
    push_back(
        *(tables.bodies, tables.tiles, tables.nodes, tables.incidences, tables.masses, tables.n),
        *(rows, x, a),
    )


@kernel
def rows_times(tables, rows, a, x, sign):
    """x = sign J a."""
    fill(x, 0.0)
    add_jacobian_times(
        tables.bodies, tables.tiles, tables.nodes, tables.incidences, tables.n, rows, a, x, sign, True
    )


@kernel
def divide_by_masses(tables, x):
    for i in range(tables.n):
        m = i * MASS.size
        inverse, light = load3(tables.masses, m + MASS.inverse, 0.0), 1.0 / tables.masses[m + MASS.mass]
        for k in range(3):
            x[6 * i + k] *= inverse[k]
            x[6 * i + 3 + k] *= light


@kernel
def multiply_by_masses(tables, x):
    for i in range(tables.n):
        m = i * MASS.size
        theta, mass = load3(tables.masses, m + MASS.moments, 0.0), tables.masses[m + MASS.mass]
        for k in range(3):
            x[6 * i + k] *= theta[k]
            x[6 * i + 3 + k] *= mass


@kernel
def add_reactions(tables, rows, x, sign, out):
    """out += sign Jᵀ x of all bodies, forces in space."""
    for i in range(tables.n):
        torque, force = reaction(tables.bodies, tables.tiles, tables.nodes, tables.incidences, i, rows, x)
        add3(out, 6 * i, scale(sign, torque))
        add3(out, 6 * i + 3, scale(sign, force))


@kernel(allocates=True)
def subtract_reactions(tables, work, room):
    """turn -= Jᵀ impulse, as residuals of places have it."""
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
        room.factor[sweeps] = float(owner)
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
        stuck = is_stuck(share, before, sweeps)
        if refined or (is_slow(share, before) and not stuck):
            factorize_at(memory, integers, head, tables, sweeps)
            owner = sweeps
        if stuck:
            break
    return sweeps, owner


@kernel(allocates=True)
def sweep_velocities(memory, integers, head, tables, room, stage, end, owner):
    """The sweeps of `entry.project_velocities` at the spot `end`, from room.given: how many. Its velocities become those
    on the constraints; `impulse` has the sum of all multipliers."""
    n, nn, at = tables.n, tables.nn, work_of(spot_at(memory, integers, head, end).work, head)
    bodies, tiles, nodes = tables.bodies, tables.tiles, tables.nodes
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
        if sweeps == 1 and share > POOR * before and owner != end:
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
    room, duals = room_of(memory[integers[PULL.room] :], head), duals_of(memory[integers[PULL.duals] :], head)
    stage = space_of(p[head[HEAD.end] :], head).work
    sweeps, owner = sweep_positions(memory, integers, head, tables, room, stage, near)
    fill(room.of_spots, 0.0)
    rotors = integers[PULL.rotors] != 0
    end = spot_at(memory, integers, head, sweeps)
    if near != 0:
        from_numbers(tables, end.q, carray(bar_at, ((POSE + TWIST) * n,)), room.turn, room.twist)
    if owner != sweeps:
        factorize_at(memory, integers, head, tables, sweeps)
    # the state whose residuals are looked at is at the end, from here on
    set_to(room.q, end.q)
    if rotors:
        pull_shared_speeds(memory, integers, head, tables, room, duals, stage, sweeps, owner)
    else:  # the result is the same whatever the factor is
        pull_speeds(memory, integers, head, tables, room, duals, stage, sweeps)
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
            pull_state(memory, integers, tables, room, duals, 2)
            to_rows(tables, integers, room.x, room.place, 1.0, False, True)
            set_to(room.impulse, room.x)
            hold_nothing(tables, room.impulse)
            subtract_reactions(tables, at, room)
            set_to(room.rate, moved)
            to_body(tables, at.motion, room.rate)
            keep(memory, integers, room, row)
            pull_factor(memory, integers, head, tables, room, duals, stage, used, x)
        for m in range(6 * n):
            room.turn[m] += room.of_spots[6 * n * k + m]


@kernel(allocates=True)
def pull_factor(memory, integers, head, tables, room, duals, stage, used, x):
    """How equations follow the poses that they were factorized at: -hat · dK (b, μ), with μ = x and hat in room.a and
    room.x. Sweeps that follow make up for it to first order, but for what rotors share."""
    n, t = tables.n, room.t[0]
    factor = work_at(memory, integers, head, stage, used)
    clear_weights(room)
    pushed_by(tables, factor.rows, x, room.shift)  # b
    if largest(room.shift) >= (NOTHING if integers[PULL.rotors] != 0 else SMALL):
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
        pull_state(memory, integers, tables, room, duals, 2)
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
def pull_speeds(memory, integers, head, tables, room, duals, stage, end):
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
    pull_state(memory, integers, tables, room, duals, 2)
    keep(memory, integers, room, integers[PULL.row])
    clear_state(room, 0.0)
    clear_weights(room)
    set_to(room.v, room.along)
    to_rows(tables, integers, room.x, room.speed, 1.0, False, True)
    pull_state(memory, integers, tables, room, duals, 2)
    keep(memory, integers, room, integers[PULL.row])
    set_to(room.twist, room.a)
    multiply_by_masses(tables, room.twist)
    to_body(tables, at.motion, room.twist)


@kernel(allocates=True)
def pull_shared_speeds(memory, integers, head, tables, room, duals, stage, end, owner):
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
        pull_state(memory, integers, tables, room, duals, 2)
        keep(memory, integers, room, integers[PULL.row])
        clear_state(room, 0.0)
        clear_weights(room)
        to_tiles(tables, room.impulse, room.lam)
        set_to(room.motion, room.along)
        pull_state(memory, integers, tables, room, duals, 2)
        set_to(room.rate, room.change_of_speed)
        to_body(tables, at.motion, room.rate)
        keep(memory, integers, room, integers[PULL.row])
        for i in range(n):  # the change is made in space: seen from a body that turns, it turns the other way
            if turns_space(tables.bodies, i):
                add3(room.turn, 6 * i, cross(load3(room.twist, 6 * i + 3, 0.0), load3(room.rate, 6 * i + 3, 0.0)))
        pull_factor(memory, integers, head, tables, room, duals, stage, used, room.impulse)
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
    for k in range(1 + FURTHER if integers[PULL.rotors] != 0 else 1):
        factor = work_at(memory, integers, head, stage, end if k == 0 else owner)
        set_to(room.along, room.turn)
        to_space(tables, at.motion, room.along)
        divide_by_masses(tables, room.along)
        rows_times(tables, at.rows, room.along, room.x, -1.0)
        solve_with(tables, factor, room.x, room.a)
        hold_nothing(tables, room.x)
        set_to(room.impulse, room.x)
        subtract_reactions(tables, at, room)
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


# ---------------------------------------------------------------- through the velocities of joints


@kernel(entry=True, allocates=True)
def pull_joints(memory, p, times, angles, Q, V, by_turns, by_speeds, turn, twist):
    """Add to the cotangents of bodies by q exp(δ) and V, of many states by rows, what those of joints make of them:
    by_turns along q exp(δ) of the joints, by_speeds of their velocities. Joints turn by the same matrix by which their
    velocities follow those of bodies."""
    integers, head, tables = as_integer_array(memory), as_integer_array(p), tables_of(p)
    room, duals = room_of(memory[integers[PULL.room] :], head), duals_of(memory[integers[PULL.duals] :], head)
    n, nv, size = tables.n, by_turns.shape[1], 12 * tables.n + 9 * tables.nt
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
                evaluate(memory, integers, room, duals, size + nv)
                point(integers, tables, room, duals, c, block, 0.0)
                for j in range(nv):
                    own = integers[integers[PULL.of_joints] + c * nv + j]
                    if own >= 0:
                        at, first = 6 * own + 3 * (block % 2), WIDTH * (size + j) + 1
                        for k in range(TANGENTS):
                            slope = duals.out[first + k]
                            if block < 2:
                                turn[s, at + k] += by_speeds[s, j] * slope
                            else:
                                turn[s, at + k] += by_turns[s, j] * slope
                                twist[s, at + k] += by_speeds[s, j] * slope


@cache
def pull_addresses() -> tuple[int, int, int]:
    """Addresses of `pull_motion`, `pull_projection` and `pull_sweeps`, compiled now or loaded from the cache."""
    kinds = NUMBER, *(NUMBERS,) * 7, INTEGERS
    sweeps = address_of(pull_sweeps, NUMBERS, INTEGER, NUMBERS, NUMBERS, INTEGER, INTEGER)
    return address_of(pull_motion, *kinds), address_of(pull_projection, *kinds), sweeps
