"""Velocities onto the constraints at the end of a step: J V = target."""

from __future__ import annotations

from chasles.absolute.factor import solve
from chasles.absolute.kkt import add_jacobian_times, push_back, size, size_of_row
from chasles.absolute.redundant import factorize_rows, solve_refined
from chasles.absolute.tables import FIELD, MASS
from chasles.constrained.steps import from_chart, power_to_keep, to_chart
from chasles.constrained.workspace import OPERATIONS, workspace_at
from chasles.constraint.rows import ROTOR, TILE
from chasles.constraint.special import add_target_speeds
from chasles.kernel.address import invoke
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import value_of
from chasles.kernel.workspace import load3, load6, store6

TINY = 1e-300


@kernel
def release_rotors(tiles, nodes, nt, b):
    """Rotors hold nothing."""
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            b[3 * nodes[j]] = 0.0


@kernel
def missing(workspace, velocity):
    """The largest number of b relative to what adds up to it in J V."""
    tiles, rows, largest = workspace.tables.tiles, workspace.rows, 0.0
    for t in range(workspace.tables.nt):
        for k in range(3):
            total = 0.0
            for side in range(2):
                i = tiles[t * TILE.size + TILE.first + side]
                if i >= 0:
                    turn, move = load3(velocity, 6 * i, 0.0), load3(velocity, 6 * i + 3, 0.0)
                    total += size_of_row(tiles, rows, t, side, k, size(turn), size(move))
            largest = max(largest, abs(workspace.row_solution[3 * workspace.tables.nodes[t] + k]) / max(total, TINY))
    return largest


@kernel
def factorize_at_hand(workspace, weights):
    """The factor of the rows at hand in a metric."""
    operations = workspace.operations
    invoke(operations[OPERATIONS.factorize], operations[OPERATIONS.workspace], weights)


@native(vectorized=False)
def factorize_apart(at, weights):
    workspace = workspace_at(at)
    metric = carray(weights, (MASS.size * workspace.tables.n,))
    factorize_rows(value_of(workspace.tables), metric, workspace.rows, workspace.row_matrix, workspace.row_factors)


@kernel
def onto_velocities(workspace, weights, sweeps, enough):
    """`velocity` (ω in the body, r' in space) onto J V = target, orthogonally in the metric of the weights.

    Sweeps with a factor of these weights and rows nearby, or if some rows depend on others, of the masses and the rows
    at hand, until no more than `enough` of J V is missing. Returns the work of constraints that depend on time.
    """
    operations = workspace.operations
    invoke(operations[OPERATIONS.onto_velocities], operations[OPERATIONS.workspace], weights, sweeps, enough)
    return workspace.impulse_work[0]


@native(vectorized=False)
def onto_velocities_apart(at, weights, sweeps, enough):
    workspace = workspace_at(at)
    metric, velocity = carray(weights, (MASS.size * workspace.tables.n,)), workspace.velocity
    work, a, b = 0.0, workspace.response, workspace.row_solution
    bodies, tiles, nodes, incidences, _, column, row, _, _, _, constants, gravity, n, nt, nn, _ = value_of(
        workspace.tables
    )
    for _ in range(sweeps):
        for k in range(3 * nn):
            b[k] = 0.0
        for k in range(6 * n):
            a[k] = 0.0
        add_jacobian_times(bodies, tiles, nodes, incidences, n, workspace.rows, velocity, b, -1.0, True)
        add_target_speeds(tiles, constants, nodes, nt, workspace.motion, workspace.rows, b, 1.0)
        release_rotors(tiles, nodes, nt, b)
        if enough > 0.0 and not missing(workspace, velocity) > enough:
            break
        if gravity[FIELD.regularization] > 0.0:
            solve_refined(value_of(workspace.tables), workspace.rows, workspace.row_factors, workspace.refinement, b, a)
        else:
            solve(nn, column, row, workspace.row_factors, b)
            push_back(bodies, tiles, nodes, incidences, metric, n, workspace.rows, b, a)
        for k in range(6 * n):
            velocity[k] += a[k]
        work += power_to_keep(workspace, nodes, b, workspace.targets)
    workspace.impulse_work[0] = work


@kernel
def project_velocity(workspace, weights, trial_v, sweeps, accuracy):
    """The same of velocities in the spaces of the bodies."""
    for i in range(workspace.tables.n):
        store6(workspace.velocity, 6 * i, from_chart(workspace, i, load6(trial_v, 6 * i, 0.0)))
    work = onto_velocities(workspace, weights, sweeps, accuracy)
    for i in range(workspace.tables.n):
        store6(trial_v, 6 * i, to_chart(workspace, i, load6(workspace.velocity, 6 * i, 0.0)))
    return work
