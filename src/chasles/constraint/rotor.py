"""The inertia of a rotor that one coordinate of a joint turns or slides: see ROTOR in `special`.

Its tile has √I times the axis: u fixed in A and, if two axes cross, w fixed in B; s is 0 if it turns, 1 if it slides.
"""

from __future__ import annotations

from chasles.constraint.rows import NUMBERS, ROWS, TILE, ZERO, store_row, vector, velocity_of
from chasles.constraint.tile_work import between
from chasles.kernel.algebra import add, cross, dot, mul, mul_t, neg, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import store3


@kernel
def rotor_row(numbers, n, RA, RB):
    """Direction of a rotor's row times √I: u fixed in A, plus, if two axes cross, w fixed in B."""
    return mul(RA, vector(numbers, n + NUMBERS.u)), mul(RB, vector(numbers, n + NUMBERS.w))


@kernel
def rotor_rows(tiles, numbers, j, motion, work):
    """Row of a rotor that turns about U, or slides along it; no residual."""
    n, at = j * NUMBERS.size, j * ROWS.size
    RA, RB, d, _, _ = between(numbers, n, motion, tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second])
    first, second = rotor_row(numbers, n, RA, RB)
    U = add(first, second)
    u_a, u_b = mul_t(RA, U), mul_t(RB, U)
    if numbers[n + NUMBERS.s] == 0.0:
        store_row(work, at, 0, neg(u_a), ZERO, u_b, ZERO)
    else:
        a, b = vector(numbers, n + NUMBERS.a), vector(numbers, n + NUMBERS.b)
        store_row(work, at, 0, cross(u_a, add(a, mul_t(RA, d))), neg(U), cross(b, u_b), U)
    store_row(work, at, 1, ZERO, ZERO, ZERO, ZERO)
    store_row(work, at, 2, ZERO, ZERO, ZERO, ZERO)
    store3(work, at + ROWS.residual, ZERO)


@kernel
def rotor_motion(tiles, numbers, j, motion):
    """√I times the rate of a rotor's coordinate, and what its derivative has besides the row times accelerations."""
    n = j * NUMBERS.size
    A, B = tiles[j * TILE.size + TILE.first], tiles[j * TILE.size + TILE.second]
    RA, RB, d, alpha, beta = between(numbers, n, motion, A, B)
    WA, vA, hA = velocity_of(motion, A, RA)
    WB, vB, hB = velocity_of(motion, B, RB)
    first, second = rotor_row(numbers, n, RA, RB)
    U, dU = add(first, second), add(cross(WA, first), cross(WB, second))
    if numbers[n + NUMBERS.s] == 0.0:
        turning = sub(WB, WA)
        return dot(U, turning), dot(dU, turning)
    turn_a, turn_b = cross(WA, alpha), cross(WB, beta)
    rate = sub(add(vB, turn_b), add(vA, turn_a))
    bend = sub(add(cross(WB, turn_b), hB), add(cross(WA, turn_a), hA))
    speed = dot(U, rate) + dot(dU, d)
    return speed, dot(U, bend) + 2.0 * dot(dU, rate) + dot(cross(WA, dU), d)
