"""A state of bodies with weights of its residuals, and the derivatives of weights times residuals: what cotangents go
through in `body_pull` and `projection_pull`.

Residuals are evaluated on duals (`absolute.residual_tangent`), three directions of many bodies at once: bodies of one
color share no residual (`absolute.coloring`).
"""

from __future__ import annotations

from chasles.absolute.kkt import POSE, TWIST, reaction, set_motion
from chasles.absolute.residual_tangent import RESIDUAL_WORK
from chasles.absolute.tables import BODY, MASS, MECHANISM, SE3, WORK, tables_of
from chasles.absolute.tangent import set_direction
from chasles.constraint.projection import SPEED_SWEEPS, SWEEPS
from chasles.constraint.rows import EMPTY, MOTION, ROTOR, TILE
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.algebra import mul, mul_t, scale
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray
from chasles.kernel.memory import Regions
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, layout, load3, load9, store3, store6
from chasles.lie import quaternion

SPOTS = SWEEPS + 1  # poses of a projection
JOINTS = -1.0  # instead of whether forces act: what joints show is asked for, alone

# head of the memory: the address of `residuals`; where parts begin: duals, the mechanism with laws on duals and its
# end, addresses of forces and how many, numbers of forces on duals, colors of bodies (of each which one has it among
# those that a body's, a tile's or a joint's numbers depend on) and how many, whether these depend on where bodies are
# (`coloring.translates`), tiles that have residuals, rows whose residuals follow the poses as the Jacobian says,
# `ROOM`, poses and workspaces of a projection; whether a projection depends on whose factor it has, as with rotors and
# rolling; whether stages are projected, the addresses of `differentiate` and `pull_sweeps`; where the account begins,
# how many rows it has room for, how many it has, and their size
PULL = layout(
    "PULL", residuals=1, duals=1, mechanism=1, mechanism_end=1, acting=1, n_acting=1, forces=1, color=1, of_bodies=1,
    of_tiles=1, of_joints=1, colors=1, translates=1, chosen=1, follows=1, room=1, spots=1, shared=1, staged=1,
    differentiate=1, sweeps=1, account=1, capacity=1, used=1, row=1,
)  # fmt: skip
_n, _nt, _nn, _na = (getattr(MECHANISM.sizes, name) for name in ("n_bodies", "n_tiles", "n_nodes", "n_angles"))
_inputs = 6 * MECHANISM.sizes.n_joints  # at most
# duals of a state, of its residuals and of work; each begins where lanes may
PULL_DUALS = Regions(
    "PullDuals",
    q=WIDTH * POSE * _n,
    v=WIDTH * TWIST * _n,
    out=WIDTH * (12 * _n + 9 * _nt + 2 * _inputs),
    work=WIDTH * RESIDUAL_WORK.count,
)
duals_of = PULL_DUALS.views
# a state with the weights of its residuals, what is kept of it in the account; then cotangents and workspace
_kept = {
    "t": 1, "forced": 1, "angles": 1 * _na, "controls": _inputs, "q": POSE * _n, "v": TWIST * _n, "rate": 6 * _n,
    "lam": 3 * _nt, "zeta": 3 * _nt, "motion": 6 * _n, "shift": 6 * _n, "place": 3 * _nt, "speed": 3 * _nt,
    "change": 3 * _nt,
}  # fmt: skip
ACCOUNT = Regions("AccountRow", **_kept)
ROOM = Regions(
    "PullRoom",
    **_kept,
    turns=MOTION.size * _n,
    **dict.fromkeys(("turn", "twist", "owed", "aside", "along", "a", "given", "speed_now", "change_of_speed"), 6 * _n),
    **dict.fromkeys(("x", "impulse", "total"), 3 * _nn),
    factor=SWEEPS + SPEED_SWEEPS,
    moved=6 * SWEEPS * _n,
    sweep=3 * SWEEPS * _nn,
    speeds=6 * SPEED_SWEEPS * _n,
    speed_sweep=3 * SPEED_SWEEPS * _nn,
    changes=6 * SPEED_SWEEPS * _n,
    of_spots=6 * SPOTS * _n,
)
room_of = ROOM.views
PULL_SPOT = Regions("PullSpot", q=POSE * _n, work=WORK.count)
spot_views, spot_size = PULL_SPOT.views, PULL_SPOT.total


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


@kernel
def add_reactions(tables, rows, x, sign, out):
    """out += sign Jᵀ x of all bodies, forces in space."""
    for i in range(tables.n):
        torque, force = reaction(tables.bodies, tables.tiles, tables.nodes, tables.incidences, i, rows, x)
        add3(out, 6 * i, scale(sign, torque))
        add3(out, 6 * i + 3, scale(sign, force))


@kernel
def multiply_by_masses(tables, x):
    for i in range(tables.n):
        m = i * MASS.size
        theta, mass = load3(tables.masses, m + MASS.moments, 0.0), tables.masses[m + MASS.mass]
        for k in range(3):
            x[6 * i + k] *= theta[k]
            x[6 * i + 3 + k] *= mass


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
    """`residuals` of the state on duals; `size` leaves what joints show out, or not."""
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


@native
def differentiate(p_at, p_size, memory_at, memory_size, blocks):
    """Subtract from `turn` and `twist` the derivatives of weights times residuals by poses and velocities. blocks: two,
    of poses alone, or four. If nothing depends on where bodies are, those of places, which are the Jacobian, and of
    accelerations that turning makes of velocities are left out."""
    p, memory = carray(p_at, (p_size,)), carray(memory_at, (memory_size,))
    integers, head, tables = as_integer_array(memory), as_integer_array(p), tables_of(p)
    room, duals = room_of(memory[integers[PULL.room] :], head), duals_of(memory[integers[PULL.duals] :], head)
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
def pull_state(p, memory, integers, blocks):
    """`differentiate`, which is compiled once for all who call it."""
    invoke(integers[PULL.differentiate], p, p.shape[0], memory, memory.shape[0], blocks)


@kernel(allocates=True)
def keep(memory, integers, room, size):
    """The state and its weights to the account."""
    if integers[PULL.used] < integers[PULL.capacity]:
        at, first = integers[PULL.account] + integers[PULL.used] * size, integers[PULL.room]
        for k in range(size):
            memory[at + k] = memory[first + k]
        integers[PULL.used] += 1
