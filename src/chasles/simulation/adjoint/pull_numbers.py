"""Cotangents of the numbers of a mechanism: minus the derivatives of weights times residuals (`residual_tangent`) by
masses and inertias, and along directions of the numbers of tiles, of forces and of joints.

Residuals are local: of a tile's numbers they are what its own rows do to its two bodies, of a force's numbers the
wrenches on them. So each is evaluated alone on duals, along three directions at once, at poses that do not vary.
"""

from __future__ import annotations

from chasles.absolute.forces import set_states
from chasles.absolute.joint_force import JOINT, SPOT, spot_joint, store_turns
from chasles.absolute.kkt import set_motion
from chasles.absolute.residual_tangent import guess_screws
from chasles.absolute.tables import HEAD, MASS, MECHANISM, forces_of, tables_of
from chasles.constraint.rows import MOTION, ROTOR, ROWS, TILE, TURN, acceleration_term, evaluate_tile
from chasles.constraint.special import EVALUATE, RATE, TARGET, call_special
from chasles.constraint.tile_work import TILE_WORK, angle_at, rows_size, set_time, tile_work_at
from chasles.force.table import FORCE, FORCES, MOVING, SCRATCH
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.algebra import add, cross, dot, mul_t, scale, sub
from chasles.kernel.dual import TANGENTS, as_duals
from chasles.kernel.lanes import WIDTH
from chasles.kernel.memory import Regions
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load9, store3
from chasles.simulation.adjoint.pull_state import ACCOUNT, add_products, to_space

# three directions of the numbers of a tile, of a force or of a joint: which of these; the tile, the row of the force or
# the joint; the last of the tiles that share their row, or the first of the joint's velocities; the bodies of a force;
# where the directions begin and end among all; the address of what adds the force
OF_BLOCK = layout("OF_BLOCK", what=1, owner=1, other=1, bodies=2, begin=1, end=1, call=1)
OF_TILE, OF_FORCE, OF_JOINT = range(3)
# weights of the rows of a tile, of its residual, acceleration term and target
TILE_WEIGHTS = layout("TILE_WEIGHTS", rows=36, place=3, rate=3, target=3)
_n, _na = MECHANISM.sizes.n_bodies, MECHANISM.sizes.n_angles
NUMBER_ROOM = Regions(
    "NumberRoom",
    rows=WIDTH * rows_size(MECHANISM.sizes.n_tiles, _na),
    turned=WIDTH * MOTION.size * _n,
    states=WIDTH * (MOVING.size * _n + MOVING.size),
    scratch=WIDTH * SCRATCH,
    counted=WIDTH * _na,
    rates=WIDTH * _na,
    wrenches=WIDTH * 6 * _n,
    motion=MOTION.size * _n,
    rate=6 * _n,
    local=6 * _n,
    weights=TILE_WEIGHTS.size,
)
account_of, number_room_of = ACCOUNT.views, NUMBER_ROOM.views


@kernel(allocates=True)
def point(numbers, places, directions, block, sign):
    """Tangents of the numbers along three directions (sign 1), or none any more (0)."""
    for e in range(block[OF_BLOCK.begin], block[OF_BLOCK.end]):
        at = WIDTH * places[e] + 1
        for k in range(TANGENTS):
            numbers[at + k] = sign * directions[TANGENTS * e + k]


@kernel(allocates=True)
def pull_bodies(tables, state, room, found, at):
    """By masses, by inertias (nine numbers each, in the bodies) and by gravity."""
    n, forced = tables.n, state.forced[0]
    fall = scale(forced, load3(tables.gravity, 0, 0.0))
    for i in range(n):
        m = i * MOTION.size
        turn, push = load3(state.motion, 6 * i, 0.0), load3(state.motion, 6 * i + 3, 0.0)
        spin, spun = load3(room.motion, m + MOTION.spin, 0.0), load3(state.rate, 6 * i, 0.0)
        moved = add(load3(room.rate, 6 * i + 3, 0.0), load3(room.motion, m + MOTION.transport, 0.0))
        found[at + i] -= dot(push, sub(moved, fall))
        turned, first = cross(turn, spin), at + n + 9 * i
        for k in range(3):
            row = add(scale(state.motion[6 * i + k], spun), scale(turned[k], spin))
            add3(found, first + 3 * k, scale(-1.0, row))
        add3(found, at + 10 * n, scale(forced * tables.masses[i * MASS.size + MASS.mass], push))


@kernel(allocates=True)
def weigh_rows(tables, state, room, j, last):
    """Weights of what a tile computes; whether there are any."""
    out, weights = 0.0, room.weights
    for m in range(TILE_WEIGHTS.size):
        weights[m] = 0.0
    for k in range(3):
        lam, zeta = state.lam[3 * j + k], state.zeta[3 * j + k]
        speed, change = state.speed[3 * last + k], state.change[3 * last + k]
        weights[TILE_WEIGHTS.place + k] = state.place[3 * last + k]
        weights[TILE_WEIGHTS.rate + k], weights[TILE_WEIGHTS.target + k] = -change, -speed
        out += abs(speed) + abs(change) + abs(state.place[3 * last + k])
        for side in range(2):
            i = tables.tiles[j * TILE.size + TILE.first + side]
            for part in range(0 if i >= 0 else 6, 6, 3):
                at, place = 6 * i + part, 18 * side + 3 * part + 3 * k
                spin = load3(room.motion, i * MOTION.size + MOTION.spin + part, 0.0)
                pushed = add(scale(lam, load3(state.motion, at, 0.0)), scale(zeta, load3(state.shift, at, 0.0)))
                moved = add(scale(speed, spin), scale(change, load3(room.rate, at, 0.0)))
                row = add(pushed, moved)
                store3(weights, TILE_WEIGHTS.rows + place, row)
                out += abs(row[0]) + abs(row[1]) + abs(row[2])
    return out > 0.0


@kernel(allocates=True)
def evaluate_rows(tables, numbers, room, j):
    """Residual and Jacobian of a tile."""
    if tables.tiles[j * TILE.size + TILE.kinds] < TURN:
        evaluate_tile(tables.tiles, numbers, j, room.motion, as_duals(room.rows))
    else:
        call_special(EVALUATE, tables.tiles, numbers, j, as_duals(room.turned), as_duals(room.rows))


@kernel(allocates=True)
def evaluate_rest(tables, numbers, room, j):
    """Acceleration term of a tile, and what J V must be, where these have weights."""
    kind, weights, rows = tables.tiles[j * TILE.size + TILE.kinds], room.weights, as_duals(room.rows)
    changes, speeds = load3(weights, TILE_WEIGHTS.rate, 0.0), load3(weights, TILE_WEIGHTS.target, 0.0)
    if dot(changes, changes) > 0.0:
        if kind < TURN:
            acceleration_term(tables.tiles, numbers, j, room.motion, rows)
        else:
            call_special(RATE, tables.tiles, numbers, j, as_duals(room.turned), rows)
    if kind >= TURN and kind != ROTOR and dot(speeds, speeds) > 0.0:
        call_special(TARGET, tables.tiles, numbers, j, as_duals(room.turned), rows)


@kernel(allocates=True)
def set_angles(state, out, at, step):
    """Counted angles as duals that do not vary, at places that follow each other by a step."""
    for k in range(state.angles.shape[0]):
        place = WIDTH * (at + step * k)
        out[place] = state.angles[k]
        for m in range(1, WIDTH):
            out[place + m] = 0.0


@kernel(allocates=True)
def pull_tile(tables, numbers, state, room, block, found, at):
    """Along directions of the numbers of a tile, and of the parameters of its law."""
    j, last = block[OF_BLOCK.owner], block[OF_BLOCK.other]
    rows, weights = room.rows, room.weights
    evaluate_rows(tables, numbers, room, j)
    add_products(weights, TILE_WEIGHTS.rows, 36, rows, j * ROWS.size + ROWS.first_angular, found, at)
    if last != j:
        evaluate_rows(tables, numbers, room, last)
    evaluate_rest(tables, numbers, room, last)
    add_products(weights, TILE_WEIGHTS.place, 3, rows, last * ROWS.size + ROWS.residual, found, at)
    add_products(weights, TILE_WEIGHTS.rate, 3, rows, last * ROWS.size + ROWS.rate, found, at)
    kind, duals = tables.tiles[last * TILE.size + TILE.kinds], as_duals(rows)
    if kind >= TURN and kind != ROTOR:
        target = tile_work_at(duals) + TILE_WORK.target
        add_products(weights, TILE_WEIGHTS.target, 3, rows, target, found, at)
    if kind >= TURN:  # those of screws may have become a guess
        set_angles(state, rows, angle_at(duals, 0), -1)


@kernel(allocates=True)
def pull_force(p, values, of_joints, forces, n_joints, state, room, block, found, at):
    """Along directions of the numbers of a force, and of the joints that it acts on or sees. The table has a first row
    to spare, for one that acts alone."""
    table, row = forces.table, FORCES.size + block[OF_BLOCK.owner] * FORCE.size
    for k in range(FORCE.size):
        table[FORCES.size + k] = table[row + k]
    set_angles(state, room.counted, 0, 1)
    guess_screws(
        *(forces.joints, as_duals(of_joints), n_joints),
        *(as_duals(room.states), as_duals(room.counted), as_duals(room.scratch)),
    )
    for side in range(2):
        i = block[OF_BLOCK.bodies + side]
        for k in range(WIDTH * 6 if i >= 0 else 0):
            room.wrenches[WIDTH * 6 * i + k] = 0.0
    invoke(
        *(block[OF_BLOCK.call], state.t[0], p, p.shape[0], values, of_joints),
        *(room.counted, room.rates, room.states, room.wrenches, room.scratch),
    )
    for side in range(2):
        i = block[OF_BLOCK.bodies + side]
        if i >= 0:
            add_products(room.local, 6 * i, 6, room.wrenches, 6 * i, found, at)


@kernel(allocates=True)
def pull_joint(of_joints, forces, n_joints, state, room, block, turns, speeds, found, at):
    """Along directions of the numbers of a joint, whose coordinates and velocities count."""
    j, iv, weights, spot = block[OF_BLOCK.owner], block[OF_BLOCK.other], room.weights, room.scratch
    states, counted, duals = as_duals(room.states), as_duals(room.counted), as_duals(room.scratch)
    nv = forces.joints[j * JOINT.size + JOINT.velocities]
    set_angles(state, room.counted, 0, 1)
    guess_screws(forces.joints, as_duals(of_joints), n_joints, states, counted, duals)
    spot_joint(forces.joints, as_duals(of_joints), j, states, counted, duals)
    store_turns(forces.joints, j, duals, duals, SPOT.tau)
    for k in range(nv):
        weights[k], weights[nv + k] = -turns[iv + k], -speeds[iv + k]
    add_products(weights, 0, nv, spot, SPOT.tau, found, at)
    add_products(weights, nv, nv, spot, SPOT.v, found, at)


@kernel(entry=True, allocates=True)
def pull_numbers(p, numbers, rows, turns, speeds, blocks, places, directions, space, found):
    """Add to what was `found` along blocks of directions, then by masses, inertias and gravity, the cotangents that
    states make, by rows (`pull_state.ACCOUNT`). turns, speeds: of what joints show there, by rows too, or none.

    p: the packed mechanism, with laws on duals, and a row to spare in the table of forces; numbers: on duals those of
    its tiles, forces and joints; directions: three numbers for each of the places among them."""
    integers, tables, forces = as_integer_array(p), tables_of(p), forces_of(p)
    room, n, n_joints = number_room_of(space, integers), tables.n, integers[HEAD.n_joints]
    count, first = blocks.shape[0] // OF_BLOCK.size, WIDTH * tables.constants.shape[0]
    last = first + WIDTH * forces.values.shape[0]
    constants, values, of_joints = as_duals(numbers[:first]), numbers[first:last], numbers[last:]
    for s in range(rows.shape[0]):
        state = account_of(rows[s], integers)
        set_motion(tables.bodies, n, state.q, state.v, room.motion)
        for k in range(6 * n):
            room.rate[k], room.local[k] = state.rate[k], -state.motion[k]
        to_space(tables, room.motion, room.rate)
        for i in range(n):
            R = load9(room.motion, i * MOTION.size + MOTION.rotation, 0.0)
            store3(room.local, 6 * i + 3, mul_t(R, load3(room.local, 6 * i + 3, 0.0)))
        pull_bodies(tables, state, room, found, TANGENTS * count)
        if count > 0:
            for k in range(MOTION.size * n):
                room.turned[WIDTH * k] = room.motion[k]
            set_states(tables.bodies, n, state.q, state.v, as_duals(room.states))
            duals = as_duals(room.rows)
            set_time(duals, state.t[0])
            set_angles(state, room.rows, angle_at(duals, 0), -1)
            for k in range(forces.control.shape[0]):
                forces.control[k] = state.controls[k]
        weighed, before = False, -1
        for b in range(count):
            block, at = blocks[b * OF_BLOCK.size : (b + 1) * OF_BLOCK.size], TANGENTS * b
            what = block[OF_BLOCK.what]
            if what == OF_TILE:
                if block[OF_BLOCK.owner] != before:
                    before = block[OF_BLOCK.owner]
                    weighed = weigh_rows(tables, state, room, before, block[OF_BLOCK.other])
                if weighed:
                    point(numbers, places, directions, block, 1.0)
                    pull_tile(tables, constants, state, room, block, found, at)
                    point(numbers, places, directions, block, 0.0)
            elif what == OF_FORCE:
                if state.forced[0] > 0.0:
                    point(numbers, places, directions, block, 1.0)
                    pull_force(p, values, of_joints, forces, n_joints, state, room, block, found, at)
                    point(numbers, places, directions, block, 0.0)
            elif turns.shape[0] > 0:
                point(numbers, places, directions, block, 1.0)
                pull_joint(of_joints, forces, n_joints, state, room, block, turns[s], speeds[s], found, at)
                point(numbers, places, directions, block, 0.0)
