"""Positions in the stabilized form of index 2: x = x* - W J_nᵀ ζ holds g = 0 at the end of the step.

W is a metric, J_n the rows at the begin of the step. The equations J T W J_nᵀ dζ = g + J T dx*, with T = dexp_{-x}, are
solved with the factor of J_n W J_nᵀ, again and again if the step turns the bodies far.
"""

from __future__ import annotations

from chasles.absolute.factor import solve
from chasles.absolute.kkt import POSE, add_jacobian_times, push_back
from chasles.absolute.redundant import factorize_rows
from chasles.absolute.tables import BODY, SE3
from chasles.constrained.chart import onward
from chasles.constrained.steps import evaluate_state, from_chart, start_clock
from chasles.constrained.workspace import OPERATIONS, workspace_at
from chasles.constraint.rows import ROTOR, ROWS, TILE
from chasles.kernel.address import invoke
from chasles.kernel.algebra import mul_t
from chasles.kernel.lanes import store
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import value_of
from chasles.kernel.workspace import add3, load3, load6, store3, store6
from chasles.lie import quaternion


@native(vectorized=False)
def keep_rows_apart(at, t):
    workspace = workspace_at(at)
    start_clock(workspace, t)
    evaluate_state(workspace, workspace.q, workspace.v)
    copy_rows(workspace)
    factorize_rows(
        value_of(workspace.tables), workspace.metric, workspace.rows, workspace.row_matrix, workspace.row_factors
    )


@kernel
def copy_rows(workspace):
    """The rows at hand become the old ones."""
    for j in range(workspace.tables.nt):
        if workspace.tables.tiles[j * TILE.size + TILE.kinds] == ROTOR:  # holds nothing, so it has no part in ζ
            for k in range(ROWS.size):
                store(workspace.rows, j * ROWS.size + k, 0.0)
    for k in range(workspace.tables.nt * ROWS.size):  # all at once: the compiler makes one copy of it
        workspace.old_rows[k] = workspace.rows[k]


@kernel
def keep_rows(workspace, t):
    """Rows of the begin of a step but those of rotors, and their factor."""
    operations = workspace.operations
    invoke(operations[OPERATIONS.keep_rows], operations[OPERATIONS.workspace], t)


@kernel
def displacement(workspace, zeta):
    """a = -W J_nᵀ ζ in the algebra of each body's space, from the start of the step.

    ζ may be a sum over several solutions: hubs too follow from it, not from what was solved for them.
    """
    tables, q, a = workspace.tables, workspace.q, workspace.response
    for k in range(6 * tables.n):
        a[k] = 0.0
    push_back(
        tables.bodies,
        tables.tiles,
        tables.nodes,
        tables.incidences,
        workspace.metric,
        tables.n,
        workspace.old_rows,
        zeta,
        a,
    )
    for i in range(tables.n):
        if tables.bodies[i * BODY.size + BODY.space] == SE3:
            at = POSE * i
            R = quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
            store3(a, 6 * i + 3, mul_t(R, load3(a, 6 * i + 3, 0.0)))


@kernel
def sweeps_for(turned):
    """How often the positions are corrected in an iteration of a step that turns by so much [rad]."""
    return 1 if turned < 0.01 else 2 if turned < 0.1 else 3


@kernel
def correct_position(workspace, sweeps, x, zeta):
    """Correct ζ so that g + J `step` vanishes; the change of x is in d.

    `displacement`: the move (in the body, in space) by the rest of the correction.
    """
    remaining_position(workspace)
    for sweep in range(sweeps):
        leave_unmeasured(workspace)
        solve_rows(workspace, x, zeta, sweep + 1 < sweeps)


@kernel
def leave_unmeasured(workspace):
    """Equations between velocities alone have no part in positions."""
    tables, unmeasured, b = workspace.tables, workspace.plan.unmeasured, workspace.row_solution
    for t in range(tables.nt):
        for k in range(3):
            if unmeasured[3 * t + k] != 0:
                b[3 * tables.nodes[t] + k] = 0.0


@kernel
def begin_zeta(workspace, zeta):
    """With equations between velocities alone ζ begins at zero: corrections move nothing along such a row, but what was
    ζ in the step before would, with the rows of this one, and nothing would take it back."""
    tables, unmeasured = workspace.tables, workspace.plan.unmeasured
    count = 0
    for t in range(tables.nt):
        if tables.tiles[t * TILE.size + TILE.kinds] != ROTOR:
            for k in range(3):
                count += unmeasured[3 * t + k]
    if count != 0:
        for k in range(3 * tables.nn):
            zeta[k] = 0.0


@kernel
def remaining_position(workspace):
    """b = -(g + J `displacement`), and no change of x so far."""
    tables, b, total = workspace.tables, workspace.row_solution, workspace.d
    for k in range(3 * tables.nn):
        b[k] = 0.0
    for k in range(6 * tables.n):
        total[k] = 0.0
    for t in range(tables.nt):
        for k in range(3):
            b[3 * tables.nodes[t] + k] -= workspace.rows[t * ROWS.size + ROWS.residual + k]
    add_jacobian_times(
        tables.bodies,
        tables.tiles,
        tables.nodes,
        tables.incidences,
        tables.n,
        workspace.rows,
        workspace.displacement,
        b,
        -1.0,
        True,
    )


@kernel
def solve_rows(workspace, x, zeta, again):
    """One sweep: b = -residual is solved for dζ; if another follows, it becomes minus the residual that is left."""
    bodies, tiles, nodes, incidences, _, column, row, _, _, _, _, _, n, _, nn, _ = value_of(workspace.tables)
    a, b, unsolved = workspace.response, workspace.row_solution, workspace.unsolved
    for k in range(0, 3 * nn if again else 0, 3):
        store3(unsolved, k, load3(b, k, 0.0))
    solve(nn, column, row, workspace.row_factors, b)
    for k in range(0, 3 * nn, 3):
        add3(zeta, k, load3(b, k, 0.0))
    displacement(workspace, b)
    for k in range(0, 6 * n, 3):
        add3(workspace.d, k, load3(a, k, 0.0))
    if again:
        for i in range(n):
            on_se3 = bodies[i * BODY.size + BODY.space] == SE3
            moved = onward(on_se3, load6(x, 6 * i, 0.0), load6(a, 6 * i, 0.0))
            store6(a, 6 * i, from_chart(workspace, i, moved))
        for k in range(0, 3 * nn, 3):
            store3(b, k, load3(unsolved, k, 0.0))
        add_jacobian_times(bodies, tiles, nodes, incidences, n, workspace.rows, a, b, -1.0, True)
