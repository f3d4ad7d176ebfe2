"""Sizes of errors of a step relative to the tolerance, and what of an error the constraints leave."""

from __future__ import annotations

from chasles.absolute.factor import solve
from chasles.absolute.kkt import POSE, add_jacobian_times, push_back
from chasles.absolute.tables import BODY, MASS, SE3
from chasles.constrained.goals import EXTENT, GOAL, ISLAND, measure_islands, squared_speed
from chasles.constrained.velocity import release_rotors
from chasles.constrained.workspace import OPERATIONS, workspace_at
from chasles.kernel.address import invoke
from chasles.kernel.algebra import dot, mul, mul_t, scale, sub
from chasles.kernel.lanes import sqrt
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import value_of
from chasles.kernel.workspace import add3, load3, store3
from chasles.lie import quaternion

# The least tolerance, relative: what is zero but for rounding must not be compared with zero. Newton's method leaves up
# to 4e-15 of the positions; velocities are differences of positions over h, and estimates differences of velocities
# with weights whose sum is about 2. So velocities are known to 1e-14/h of the positions. Where a tolerance asks for
# more, N steps may add up to an error of N 1e-14/h of them, whatever rtol is.
ROUNDING = 1e-14


@kernel
def measure(workspace, q, v):
    """Sizes of all islands at a state (`relative_size`)."""
    n, sizes, extents = workspace.tables.n, workspace.island_sizes, workspace.extents
    measure_islands(workspace, q, v)
    for k in range(EXTENT.size * n):
        extents[k] = 0.0
    for i in range(n):
        at, mass = EXTENT.size * workspace.plan.islands[i], workspace.tables.masses[i * MASS.size + MASS.mass]
        light = mass / sizes[ISLAND.size * workspace.plan.islands[i] + ISLAND.mass]
        add3(extents, at + EXTENT.center, scale(light, load3(q, POSE * i + 4, 0.0)))
    for i in range(n):
        at, linear = EXTENT.size * workspace.plan.islands[i], load3(v, 6 * i + 3, 0.0)
        away = sub(load3(q, POSE * i + 4, 0.0), load3(extents, at + EXTENT.center, 0.0))
        spread = dot(away, away) + workspace.goals[GOAL.size * i + GOAL.length]
        extents[at + EXTENT.spread] = max(extents[at + EXTENT.spread], spread)
        island = ISLAND.size * workspace.plan.islands[i]
        sizes[island + ISLAND.speed] = max(sizes[island + ISLAND.speed], squared_speed(workspace, q, v, i))
        extents[at + EXTENT.fastest] = max(extents[at + EXTENT.fastest], dot(linear, linear))


@kernel
def leave_tangent(workspace, method):
    """`tangent_part` of the errors of coordinates and velocities."""
    operations = workspace.operations
    if workspace.tables.nt > 0:
        invoke(operations[OPERATIONS.leave_tangent], operations[OPERATIONS.workspace], method.error_x, method.error_v)


@native(vectorized=False)
def leave_tangent_apart(at, error_x, error_v):
    workspace = workspace_at(at)
    size = 6 * workspace.tables.n
    for kind in range(2):
        tangent_part(workspace, carray(error_x if kind == 0 else error_v, (size,)))


@kernel
def error_size(workspace, method, h):
    """The larger of the errors of coordinates and velocities, `error_x` and `error_v`, relative to the tolerance."""
    operations = workspace.operations
    invoke(
        operations[OPERATIONS.error_size], operations[OPERATIONS.workspace], method.error_x, method.error_v,
        method.trial_v, h, method.rtol, method.atol,
    )  # fmt: skip
    return workspace.error[0]


@native(vectorized=False)
def error_size_apart(at, error_x, error_v, trial_v, h, rtol, atol):
    workspace = workspace_at(at)
    size = 6 * workspace.tables.n
    x, v = carray(error_x, (size,)), carray(error_v, (size,))
    measure(workspace, workspace.trial_q, carray(trial_v, (size,)))
    position = relative_size(workspace, x, False, h, rtol, atol)
    workspace.error[0] = max(position, relative_size(workspace, v, True, h, rtol, atol))


@kernel
def relative_size(workspace, e, rates, h, rtol, atol):
    """Root of the mean square of e, six numbers a body, each relative to atol + rtol times the size of its island.

    `atol` is that of angles; that of displacements is with the bodies' goals.
    Sizes are 1 rad and how far the island spreads; of rates, the largest angular velocity and the largest velocity
    against its center.
    """
    n, sizes, extents, total = workspace.tables.n, workspace.island_sizes, workspace.extents, 0.0
    if n == 0:
        return 0.0
    for i in range(n):
        island = ISLAND.size * workspace.plan.islands[i]
        at = EXTENT.size * workspace.plan.islands[i]
        spread = sqrt(extents[at + EXTENT.spread])
        turn, move = 1.0, spread
        least_turn, least_move = ROUNDING, ROUNDING * (spread + sqrt(sizes[island + ISLAND.reach]))
        if rates:
            turn, move = sqrt(sizes[island + ISLAND.spin]), sqrt(sizes[island + ISLAND.speed])
            least_turn, least_move = (
                least_turn / abs(h),
                least_move / abs(h) + ROUNDING * sqrt(extents[at + EXTENT.fastest]),
            )
        turn = max(atol + rtol * turn, least_turn)
        move = max(workspace.goals[GOAL.size * i + GOAL.atol] + rtol * move, least_move)
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
def tangent_part(workspace, e):
    """Remove from e (in the algebra, at the begin of the step) what the constraints would, in the metric of the kept
    factor."""
    bodies, tiles, nodes, incidences, _, column, row, _, _, _, _, _, n, nt, nn, _ = value_of(workspace.tables)
    a, b = workspace.response, workspace.row_solution
    into_space(bodies, n, workspace.q, e, False)
    for k in range(3 * nn):
        b[k] = 0.0
    for k in range(6 * n):
        a[k] = 0.0
    add_jacobian_times(bodies, tiles, nodes, incidences, n, workspace.old_rows, e, b, -1.0, True)
    release_rotors(tiles, nodes, nt, b)
    solve(nn, column, row, workspace.row_factors, b)
    push_back(bodies, tiles, nodes, incidences, workspace.metric, n, workspace.old_rows, b, a)
    for k in range(6 * n):
        e[k] += a[k]
    into_space(bodies, n, workspace.q, e, True)
