"""The rows of a joint given by screws: see SCREWS in `special`.

Its tile has the quaternions of the joint's frames on the bodies in place of u, as CUSTOM has them; its parameters are
the screws, its angle the first of its coordinates, which are all counted and are the guess; s is 1 for a second tile.
"""

from __future__ import annotations

from chasles.constraint.rows import EMPTY, NUMBERS, ROWS, TILE, ZERO, pose_of, store_row, velocity_of
from chasles.constraint.screws import SCREW_WORK, along_basis, screw_bend, screw_coordinates, screw_velocities
from chasles.constraint.tile_work import EXTRA, EXTRA_AT, TILE_WORK, angle_of, between, frame_turn, tile_work_at
from chasles.kernel.algebra import add, cross, mat_mul, mul, mul_t, neg, scale, sub, transpose
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6


@kernel(allocates=True, shared=True)
def solve_screws(tiles, numbers, j, motion, work):
    """Coordinates and basis of a joint given by screws, in the workspace; how many screws, the rotation of the child's
    frame in space, and both levers to its origin."""
    n, start = j * NUMBERS.size, tile_work_at(work)
    A, B = tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second]
    RA, RB, d, alpha, beta = between(numbers, n, motion, A, B)
    SA, SB = mat_mul(RA, frame_turn(numbers, n, 0)), mat_mul(RB, frame_turn(numbers, n, 1))
    first, angle = int(numbers[n + EXTRA_AT + EXTRA.parameters]), int(numbers[n + EXTRA_AT + EXTRA.angle])
    count = int(numbers[n + EXTRA_AT + EXTRA.count]) // 6
    for k in range(count):
        work[start + TILE_WORK.q + k] = angle_of(work, angle + k)
    screw_coordinates(
        numbers[first : first + 6 * count],
        count,
        mat_mul(transpose(SA), SB),
        mul_t(SA, d),
        work[start + TILE_WORK.q : start + TILE_WORK.v],
        work[start + TILE_WORK.screws : start + TILE_WORK.target],
    )
    return count, SB, add(alpha, d), beta


@kernel(allocates=True)
def screw_rows(tiles, numbers, j, motion, work):
    """Rows of a joint given by screws: N·V = 0 for the vectors N that are reciprocal to the screws."""
    n, at, row = j * NUMBERS.size, j * ROWS.size, j * TILE.size
    count, SB, lever_a, lever_b = solve_screws(tiles, numbers, j, motion, work)
    RA, RB = pose_of(motion, tiles[row + TILE.first])[0], pose_of(motion, tiles[row + TILE.second])[0]
    screws = work[tile_work_at(work) + TILE_WORK.screws :]
    error = load6(screws, SCREW_WORK.error, 0.0)
    for k in range(3):
        if tiles[row + TILE.kinds + k] == EMPTY:
            store_row(work, at, k, ZERO, ZERO, ZERO, ZERO)
            work[at + ROWS.residual + k] = 0.0
        else:
            which = count + 3 * int(numbers[n + NUMBERS.s]) + k
            N, M = load6(screws, SCREW_WORK.basis + 6 * which, 0.0)
            N, M = mul(SB, N), scale(1.0 / screws[SCREW_WORK.length], mul(SB, M))
            on_first = neg(mul_t(RA, add(N, cross(lever_a, M))))
            store_row(work, at, k, on_first, neg(M), mul_t(RB, add(N, cross(lever_b, M))), M)
            work[at + ROWS.residual + k] = along_basis(screws, which, error)


@kernel(allocates=True)
def screw_rate(tiles, numbers, j, motion, work):
    """Acceleration term of a joint given by screws: on the constraint, N·(V' - J' q') = 0 as N·J is zero always."""
    n, at, row = j * NUMBERS.size, j * ROWS.size, j * TILE.size
    A, B = tiles[row + TILE.first], tiles[row + TILE.second]
    count, SB, lever_a, lever_b = solve_screws(tiles, numbers, j, motion, work)
    start = tile_work_at(work)
    screws, v = work[start + TILE_WORK.screws :], work[start + TILE_WORK.v : start + TILE_WORK.screws]
    WA, vA, hA = velocity_of(motion, A, pose_of(motion, A)[0])
    WB, vB, hB = velocity_of(motion, B, pose_of(motion, B)[0])
    tip = add(vB, cross(WB, lever_b))
    turning, sliding = sub(WB, WA), sub(tip, add(vA, cross(WA, lever_a)))
    screw_velocities(count, mul_t(SB, turning), mul_t(SB, sliding), screws, v)
    bend = screw_bend(count, v, screws)
    inward = sub(add(cross(WB, cross(WB, lever_b)), hB), add(cross(WA, sub(tip, vA)), hA))
    rest = (
        sub(bend[0], mul_t(SB, cross(WB, WA))),
        sub(bend[1], mul_t(SB, sub(inward, cross(WB, sliding)))),
    )
    for k in range(3):
        used = tiles[row + TILE.kinds + k] != EMPTY
        which = count + 3 * int(numbers[n + NUMBERS.s]) + k
        work[at + ROWS.rate + k] = along_basis(screws, which, rest) if used else 0.0
