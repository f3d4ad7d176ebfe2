"""Sizes of errors of a step relative to the tolerance, and what of an error the constraints leave."""

from __future__ import annotations

from chasles.absolute.factor import solve
from chasles.absolute.kkt import POSE, add_jacobian_times, push_back
from chasles.absolute.tables import BODY, MASS, SE3
from chasles.constrained.goals import EXTENT, GOAL, ISLAND, measure_islands, squared_speed
from chasles.constrained.velocity import release_rotors
from chasles.kernel.algebra import dot, mul, mul_t, scale, sub
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.reference import value_of
from chasles.kernel.workspace import add3, load3, store3
from chasles.lie import quaternion

ROUNDING = 1e-14  # the least tolerance, relative: what is zero but for rounding must not be compared with zero


@kernel
def measure(desk, q, v):
    """Sizes of all islands at a state (`relative_size`)."""
    n, room, rest = desk.tables.n, desk.islands, desk.extents
    measure_islands(desk, q, v)
    for k in range(EXTENT.size * n):
        rest[k] = 0.0
    for i in range(n):
        at, mass = EXTENT.size * desk.plan.islands[i], desk.tables.masses[i * MASS.size + MASS.mass]
        light = mass / room[ISLAND.size * desk.plan.islands[i] + ISLAND.mass]
        add3(rest, at + EXTENT.center, scale(light, load3(q, POSE * i + 4, 0.0)))
    for i in range(n):
        at, linear = EXTENT.size * desk.plan.islands[i], load3(v, 6 * i + 3, 0.0)
        away = sub(load3(q, POSE * i + 4, 0.0), load3(rest, at + EXTENT.center, 0.0))
        spread = dot(away, away) + desk.goals[GOAL.size * i + GOAL.length]
        rest[at + EXTENT.spread] = max(rest[at + EXTENT.spread], spread)
        island = ISLAND.size * desk.plan.islands[i]
        room[island + ISLAND.speed] = max(room[island + ISLAND.speed], squared_speed(desk, q, v, i))
        rest[at + EXTENT.fastest] = max(rest[at + EXTENT.fastest], dot(linear, linear))


@kernel
def relative_size(desk, e, rates, h, rtol, atol):
    """Root of the mean square of e, six numbers a body, each relative to atol + rtol times the size of its island.

    `atol` is that of angles; that of displacements is with the bodies' goals.
    Sizes are 1 rad and how far the island spreads; of rates, the largest angular velocity and the largest velocity
    against its center.
    """
    n, room, rest, total = desk.tables.n, desk.islands, desk.extents, 0.0
    if n == 0:
        return 0.0
    for i in range(n):
        island = ISLAND.size * desk.plan.islands[i]
        at = EXTENT.size * desk.plan.islands[i]
        spread = sqrt(rest[at + EXTENT.spread])
        turn, move = 1.0, spread
        least_turn, least_move = ROUNDING, ROUNDING * (spread + sqrt(room[island + ISLAND.reach]))
        if rates:
            turn, move = sqrt(room[island + ISLAND.spin]), sqrt(room[island + ISLAND.speed])
            least_turn, least_move = (
                least_turn / abs(h),
                least_move / abs(h) + ROUNDING * sqrt(rest[at + EXTENT.fastest]),
            )
        turn = max(atol + rtol * turn, least_turn)
        move = max(desk.goals[GOAL.size * i + GOAL.atol] + rtol * move, least_move)
        angular, linear = load3(e, 6 * i, 0.0), load3(e, 6 * i + 3, 0.0)
        total += dot(angular, angular) / (turn * turn) + dot(linear, linear) / (move * move)
    return sqrt(total / (6.0 * n))


@kernel
def into_space(bodies, n, q, e, back):
    """Linear parts from the bodies' spaces to space, or back."""
    for i in range(n):
        if bodies[i * BODY.size + BODY.space] == SE3:
            at = POSE * i
            R = quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
            linear = load3(e, 6 * i + 3, 0.0)
            store3(e, 6 * i + 3, mul_t(R, linear) if back else mul(R, linear))


@kernel
def tangent_part(desk, e):
    """Remove from e (in the algebra, at the begin of the step) what the constraints would, in the metric of the kept
    factor."""
    bodies, tiles, nodes, incidences, _, column, row, _, _, _, _, _, n, nt, nn, _ = value_of(desk.tables)
    a, b = desk.a, desk.b
    into_space(bodies, n, desk.q, e, False)
    for k in range(3 * nn):
        b[k] = 0.0
    for k in range(6 * n):
        a[k] = 0.0
    add_jacobian_times(bodies, tiles, nodes, incidences, n, desk.old, e, b, -1.0, True)
    release_rotors(tiles, nodes, nt, b)
    solve(nn, column, row, desk.kept_factors, b)
    push_back(bodies, tiles, nodes, incidences, desk.weights, n, desk.old, b, a)
    for k in range(6 * n):
        e[k] += a[k]
    into_space(bodies, n, desk.q, e, True)
