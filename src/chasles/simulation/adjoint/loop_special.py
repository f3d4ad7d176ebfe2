"""Cotangents through the rows of one tile that a law or rolling gives, from this tile alone on dual numbers: three
directions of its two links, or of its own numbers, at a time. Of a coordinate that a law of time drives this is for the
parameters of the law only."""

from __future__ import annotations

from chasles.constraint.rows import EMPTY, MOTION, NUMBERS, ROWS, TILE, TRAVEL, TURN
from chasles.constraint.special import EVALUATE, RATE, TARGET, call_special
from chasles.constraint.tile_work import EXTRA, EXTRA_AT, TILE_WORK, rows_size, set_time, tile_work_at
from chasles.kernel.address import as_integer_array
from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, mul_t, scale
from chasles.kernel.dual import TANGENTS, as_duals
from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9
from chasles.relative.forward import LIMB
from chasles.relative.loop.rows import unit
from chasles.simulation.adjoint.loop_tiles import WEIGHT, weights_of
from chasles.simulation.adjoint.tree import BACK

# a tile that is computed on duals: which it is, where its numbers are as duals and how many, and where its first number
# and the first parameter of its law are among the numbers of all tiles
# and the integers of the tile with links 0 and 1
SPECIAL = layout("SPECIAL", tile=1, duals=1, count=1, place=1, parameters=1, alone=TILE.size)
# motion of two links and rows of one tile, and T, all as duals
TILE_ALONE = layout("TILE_ALONE", motion=2 * MOTION.size, rows=rows_size(1, 0), total=1)
TILE_SIDE = layout("TILE_SIDE", twist=6, acceleration=6, xi=6)  # of each of the two links
BLOCKS = 4  # of three directions of a link: it turns, it is moved, and the rates of these


@kernel(shared=True)
def evaluate_alone(tiles, numbers, motion, rows, sides, fall, weights, at, rates):
    """T of a tile on duals (`loop_tiles`)."""
    call_special(EVALUATE, tiles, numbers, 0, motion, rows)
    if rates:
        call_special(RATE, tiles, numbers, 0, motion, rows)
    speeds = False
    for k in range(3):
        if weights[at + WEIGHT.speed + k] != 0.0:
            speeds = True
    if speeds:
        call_special(TARGET, tiles, numbers, 0, motion, rows)
    total = 0.0 * rows[0]
    for k in range(3):
        if tiles[TILE.kinds + k] != EMPTY:
            itself, vary, speed, acceleration = weights_of(weights, at, k)
            total += itself * rows[ROWS.residual + k]
            if speeds:
                total -= speed * rows[tile_work_at(rows) + TILE_WORK.target + k]
            if rates:
                total -= acceleration * rows[ROWS.rate + k]
            for side in range(2):
                if tiles[TILE.first + side] >= 0:
                    here, row = side * MOTION.size, ROWS.first_angular + 18 * side + 3 * k
                    R = load9(motion, here + MOTION.rotation, rows[0])
                    A, xi = (
                        load6(sides, side * TILE_SIDE.size + TILE_SIDE.acceleration, 0.0),
                        load6(sides, side * TILE_SIDE.size + TILE_SIDE.xi, 0.0),
                    )
                    angular = add_scaled(scale(vary, xi[0]), acceleration, A[0])
                    linear = mul(R, add_scaled(scale(vary, xi[1]), acceleration, A[1]))
                    linear = add(linear, scale(acceleration, fall))
                    turning = add_scaled(angular, speed, load3(motion, here + MOTION.spin, rows[0]))
                    moving = add_scaled(linear, speed, load3(motion, here + MOTION.velocity, rows[0]))
                    total += dot(load3(rows, row, rows[0]), turning) + dot(load3(rows, row + 9, rows[0]), moving)
    return total


@kernel
def put(motion, at, tangent, x):
    """Derivatives of a vector that is kept as duals."""
    for k in range(3):
        motion[WIDTH * (at + k) + tangent] = x[k]


@kernel(shared=True)
def set_side(motion, side, sides, frames, block):
    """Motion of a link with its derivatives along three directions, of rotation, position, ω or velocity; or with none
    (block -1)."""
    at, (w, u) = side * MOTION.size, load6(sides, side * TILE_SIDE.size + TILE_SIDE.twist, 0.0)
    R = load9(frames, MOTION.rotation, 0.0)
    for k in range(9):
        motion[WIDTH * (at + MOTION.rotation + k)] = R[k]
    velocity, transport = mul(R, u), mul(R, cross(w, u))
    for k in range(3):
        motion[WIDTH * (at + MOTION.position + k)] = frames[MOTION.position + k]
        motion[WIDTH * (at + MOTION.spin + k)] = w[k]
        motion[WIDTH * (at + MOTION.velocity + k)] = velocity[k]
        motion[WIDTH * (at + MOTION.transport + k)] = transport[k]
    for k in range(MOTION.size):
        for i in range(1, WIDTH):
            motion[WIDTH * (at + k) + i] = 0.0
    for i in range(TANGENTS if block >= 0 else 0):
        e = unit(i)
        if block == 0:
            for r in range(3):
                put(motion, at + MOTION.rotation + 3 * r, i + 1, cross((R[3 * r], R[3 * r + 1], R[3 * r + 2]), e))
            put(motion, at + MOTION.velocity, i + 1, mul(R, cross(e, u)))
            put(motion, at + MOTION.transport, i + 1, mul(R, cross(e, cross(w, u))))
        elif block == 1:
            put(motion, at + MOTION.position, i + 1, mul(R, e))
        elif block == 2:
            put(motion, at + MOTION.spin, i + 1, e)
            put(motion, at + MOTION.transport, i + 1, mul(R, cross(e, u)))
        else:
            put(motion, at + MOTION.velocity, i + 1, mul(R, e))
            put(motion, at + MOTION.transport, i + 1, mul(R, cross(w, e)))


@kernel(shared=True)
def push_side(tiles, tile, side, rows, motion, weights, fall_bar, work, here):
    """Cotangents of the acceleration and of ξ of one of the two links, which T is linear in."""
    R = load9(motion, tiles[tile * TILE.size + TILE.first + side] * MOTION.size + MOTION.rotation, 0.0)
    for k in range(3):
        if tiles[tile * TILE.size + TILE.kinds + k] != EMPTY:
            _, vary, _, acceleration = weights_of(weights, tile * WEIGHT.size, k)
            row = tile * ROWS.size + ROWS.first_angular + 18 * side + 3 * k
            angular, linear = load3(rows, row, 0.0), load3(rows, row + 9, 0.0)
            own = mul_t(R, linear)
            add3(work, here + BACK.xi_bar, scale(vary, angular))
            add3(work, here + BACK.xi_bar + 3, scale(vary, own))
            add3(work, here + BACK.acceleration_bar, scale(acceleration, angular))
            add3(work, here + BACK.acceleration_bar + 3, scale(acceleration, own))
            add3(fall_bar, 0, scale(acceleration, linear))


@kernel(allocates=True, shared=True)
def pull_special(
    at, memory, room, sides, t, tiles, touched, motion, rows, weights, limbs, work, fall, fall_bar, g, rates
):
    """Cotangents of the links of a tile in `work`, and of its numbers and of what falls with gravity.

    at: of its `SPECIAL` in the memory; room: `TILE_ALONE`, as duals.
    """
    integers = as_integer_array(memory)
    tile, count, place = integers[at + SPECIAL.tile], integers[at + SPECIAL.count], integers[at + SPECIAL.place]
    alone, duals = integers[at + SPECIAL.alone : at + SPECIAL.size], integers[at + SPECIAL.duals]
    numbers, parameters = memory[duals : duals + WIDTH * count], integers[at + SPECIAL.parameters]
    moving, total = room[: WIDTH * TILE_ALONE.rows], room[WIDTH * TILE_ALONE.total :]
    by_law = alone[TILE.kinds] == TURN or alone[TILE.kinds] == TRAVEL
    kept = as_duals(numbers), as_duals(moving), as_duals(room[WIDTH * TILE_ALONE.rows : WIDTH * TILE_ALONE.total])
    result, weight = as_duals(total), tile * WEIGHT.size
    set_time(kept[2], t)
    for side in range(2):
        c = tiles[tile * TILE.size + TILE.first + side]
        if c >= 0:
            for k in range(6):
                sides[side * TILE_SIDE.size + TILE_SIDE.twist + k] = work[(touched[c] + 1) * BACK.size + BACK.twist + k]
                A = work[(touched[c] + 1) * BACK.size + BACK.acceleration + k]
                sides[side * TILE_SIDE.size + TILE_SIDE.acceleration + k] = A
                sides[side * TILE_SIDE.size + TILE_SIDE.xi + k] = limbs[(touched[c] + 1) * LIMB.size + LIMB.motion + k]
            set_side(moving, side, sides, motion[c * MOTION.size :], -1)
    for side in range(0 if by_law else 2):
        c = tiles[tile * TILE.size + TILE.first + side]
        if c >= 0:
            here = (touched[c] + 1) * BACK.size
            push_side(tiles, tile, side, rows, motion, weights, fall_bar, work, here)
            for block in range(BLOCKS):
                set_side(moving, side, sides, motion[c * MOTION.size :], block)
                result[0] = evaluate_alone(alone, kept[0], kept[1], kept[2], sides, fall, weights, weight, rates)
                bar = here + (BACK.pose_bar + 3 * block if block < 2 else BACK.twist_bar + 3 * (block - 2))
                add3(work, bar, (total[1], total[2], total[3]))
            set_side(moving, side, sides, motion[c * MOTION.size :], -1)
    for first in range(NUMBERS.size if by_law else 0, count, TANGENTS):
        if first >= NUMBERS.size or not (EXTRA_AT <= first < EXTRA_AT + EXTRA.size or first == NUMBERS.axis):
            last = min(first + TANGENTS, count)
            for k in range(first, last):
                numbers[WIDTH * k + 1 + k - first] = 1.0
            result[0] = evaluate_alone(alone, kept[0], kept[1], kept[2], sides, fall, weights, weight, rates)
            for k in range(first, last):
                numbers[WIDTH * k + 1 + k - first] = 0.0
                g[place + k if first < NUMBERS.size else parameters + k - NUMBERS.size] -= total[1 + k - first]
