"""Half-explicit Runge-Kutta methods of index 2 in Munthe-Kaas form: explicit stages, J V = 0 at the next stage.

In the coordinates X of q = q_n exp(X) the equations are those of a vector space, X' = dexpinv_{-X} V, so that tableaux
for equations of index 2 keep their order. With the row of the next stage (or the weights, after the last one),

    W_i = dexpinv_{-X_i} V_i,   X_{i+1} = h Σ row_j W_j,   Q_{i+1} = q_n exp X_{i+1}
    M V'_i + J(Q_i)ᵀ Λ_i = F_i,   J(Q_{i+1}) V_{i+1} = target,   V_{i+1} = V_n + h Σ row_j V'_j

one linear system a stage. Positions drift by O(h^p), so each step ends with a projection. The error of a step is
measured by the last stage, which is at the end of the step too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.entry import set_clock
from chasles.absolute.kkt import POSE, each, set_motion
from chasles.absolute.redundant import REFINEMENTS
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, SE3
from chasles.constrained.chart import onward_inverse
from chasles.constrained.correction import velocity_residual
from chasles.constrained.error_estimate import error_size
from chasles.constrained.saddle import clear_matrix, solve_equations
from chasles.constrained.scheme import Scheme, StepRule
from chasles.constrained.steps import (
    apply_forces,
    count_from,
    finish_step,
    keep_targets,
    move_bodies,
    power_to_keep,
    predict_angles,
    project_state,
    set_state,
    start_clock,
    take_steps,
    to_chart,
)
from chasles.constrained.tables import BLOCK, PLACE, SEPARATE, SIZES
from chasles.constrained.velocity import release_rotors
from chasles.constrained.workspace import CARRIED, COUNTS, STATE_VECTOR, workspace_at
from chasles.constraint.rows import IDENTITY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import evaluate, evaluate_rate
from chasles.integrate.constrained_method import HalfExplicit
from chasles.integrate.status import NOT_FINITE
from chasles.kernel.algebra import add_scaled, cross, mat_mul_t, mat_scale, mul_t, scale, sub
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import add3, fill, layout, load3, load6, load9, store3, store6, store9

if TYPE_CHECKING:
    from chasles.constrained.start import Start

MOST_STAGES = 8
# parameters: stages, whether to project, tolerances of the error (zero: no estimate); then rows of the tableau below
# the first and the weights, then nodes and 1
HALF = layout("HALF", stages=1, project=1, rtol=1, atol=1, table=MOST_STAGES * MOST_STAGES, nodes=MOST_STAGES + 1)


STATE = Regions("HalfState", point=STATE_VECTOR.count, **CARRIED)
VECTORS = Regions(
    "HalfVectors",
    trial_v=6 * SIZES.n_bodies,  # of the stage
    x=6 * SIZES.n_bodies,
    slopes=6 * MOST_STAGES * SIZES.n_bodies,  # W of all stages
    rates=6 * MOST_STAGES * SIZES.n_bodies,  # V'
    last_x=6 * SIZES.n_bodies,  # of the last stage
    last_v=6 * SIZES.n_bodies,
    error_x=6 * SIZES.n_bodies,
    error_v=6 * SIZES.n_bodies,
)
state_of, vectors_of = STATE.views, VECTORS.views
make_method = joined("Half", "stages project rtol atol table nodes", STATE, VECTORS)


def parameters_of(method: HalfExplicit, rtol: float, atol: float) -> np.ndarray:
    rows, nodes = method.table
    table = np.zeros((MOST_STAGES, MOST_STAGES))
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
    ends = [*nodes, *[1.0] * (MOST_STAGES + 1 - len(nodes))]
    return fill(HALF, stages=len(rows), project=method.project, rtol=rtol, atol=atol, table=table, nodes=ends)


@kernel
def forces_on(workspace):
    """Applied and gyroscopic forces: torque in the body, force in space (less what turns with the body)."""
    masses, gravity, motion, wrenches, f = (
        workspace.tables.masses,
        workspace.tables.gravity,
        workspace.motion,
        workspace.wrenches,
        workspace.f,
    )
    for i in range(workspace.tables.n):
        at, m = i * MOTION.size, i * MASS.size
        spin = load3(motion, at + MOTION.spin, 0.0)
        turn = cross(spin, each(load3(masses, m + MASS.moments, 0.0), spin))
        fall = sub(load3(gravity, FIELD.gravity, 0.0), load3(motion, at + MOTION.transport, 0.0))
        store3(f, 6 * i, sub(load3(wrenches, 6 * i, 0.0), turn))
        store3(f, 6 * i + 3, add_scaled(load3(wrenches, 6 * i + 3, 0.0), masses[m + MASS.mass], fall))


@kernel
def keep_rotations(workspace):
    """Rotations of this stage, for the blocks of bodies on SE(3)."""
    for i in range(workspace.tables.n):
        if workspace.tables.bodies[i * BODY.size + BODY.space] == SE3:
            R = load9(workspace.motion, i * MOTION.size + MOTION.rotation, 0.0)
            store9(workspace.blocks, i * BLOCK.size + BLOCK.ll, R)


@kernel
def inertia_blocks(workspace):
    """M; on SE(3) the unknown V' has its linear part in axes that turned from this stage to the next."""
    masses, motion, blocks = workspace.tables.masses, workspace.motion, workspace.blocks
    for i in range(workspace.tables.n):
        at = i * BLOCK.size
        theta, mass = load3(masses, i * MASS.size + MASS.moments, 0.0), masses[i * MASS.size + MASS.mass]
        store9(blocks, at + BLOCK.aa, (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2]))
        if workspace.plan.places[i * PLACE.size + PLACE.kind] == SEPARATE:
            blocks[at + BLOCK.ll] = mass
        else:
            turned = IDENTITY
            if workspace.tables.bodies[i * BODY.size + BODY.space] == SE3:
                R = load9(motion, i * MOTION.size + MOTION.rotation, 0.0)
                turned = mat_mul_t(load9(blocks, at + BLOCK.ll, 0.0), R)
            store9(blocks, at + BLOCK.ll, mat_scale(mass, turned))
            store9(blocks, at + BLOCK.la, mat_scale(0.0, IDENTITY))
            store9(blocks, at + BLOCK.al, mat_scale(0.0, IDENTITY))


@kernel
def rotor_equations(workspace):
    """Rotors: J V' - λ = rate, all of this stage; what turned to the next is in the blocks."""
    bodies, tiles, masses, blocks = (
        workspace.tables.bodies,
        workspace.tables.tiles,
        workspace.tables.masses,
        workspace.blocks,
    )
    old, rows, g, nodes = workspace.old_rows, workspace.rows, workspace.g, workspace.plan.nodes
    for j in range(workspace.tables.nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            at = j * ROWS.size
            for side in range(2):
                i, place = tiles[j * TILE.size + TILE.first + side], at + ROWS.first_angular + 18 * side
                store3(rows, place, load3(old, place, 0.0))
                linear = load3(old, place + 9, 0.0)
                if i >= 0 and bodies[i * BODY.size + BODY.space] == SE3:
                    turned = load9(blocks, i * BLOCK.size + BLOCK.ll, 0.0)
                    linear = scale(1.0 / masses[i * MASS.size + MASS.mass], mul_t(turned, linear))
                store3(rows, place + 9, linear)
            g[3 * nodes[j]] = old[at + ROWS.rate]


@kernel
def begin(workspace, method, t, h):
    """The first stage is the begin of the step."""
    predict_angles(workspace, t, h, method.angles)
    start_clock(workspace, t)
    count_from(workspace, workspace.counted_angles)
    for k in range(6 * workspace.tables.n):
        method.trial_v[k], method.x[k] = workspace.v[k], 0.0
    for k in range(POSE * workspace.tables.n):
        workspace.trial_q[k] = workspace.q[k]
    set_state(workspace, workspace.trial_q, method.trial_v)


@kernel
def keep_stage(workspace, method, i):
    """Rows, targets and the slope of stage i, and of the last one where it is."""
    tables, rows = workspace.tables, workspace.rows
    if i + 1 == method.stages:
        for k in range(6 * tables.n):
            method.last_x[k], method.last_v[k] = method.x[k], method.trial_v[k]
    keep_rotations(workspace)
    keep_targets(workspace, workspace.targets)
    for j in range(tables.nt):
        if tables.tiles[j * TILE.size + TILE.kinds] == ROTOR:  # its rows were those of the stage before
            evaluate(tables.tiles, tables.constants, j, workspace.motion, rows)
            evaluate_rate(tables.tiles, tables.constants, j, workspace.motion, rows)
    for k in range(tables.nt * ROWS.size):
        workspace.old_rows[k] = rows[k]
    for body in range(tables.n):
        on_se3 = tables.bodies[body * BODY.size + BODY.space] == SE3
        slope = onward_inverse(on_se3, load6(method.x, 6 * body, 0.0), load6(method.trial_v, 6 * body, 0.0))
        store6(method.slopes, 6 * (i * tables.n + body), slope)


@kernel
def go_on(workspace, method, t, h, i):
    """Poses of the stage after i, and its velocities without the rate of stage i."""
    n, row, turns, angles = workspace.tables.n, i * MOST_STAGES, workspace.counted_angles, workspace.stage_angles
    for k in range(6 * n):
        far, fast = 0.0, workspace.v[k]
        for j in range(i + 1):
            far += method.table[row + j] * method.slopes[6 * n * j + k]
        for j in range(i):
            fast += h * method.table[row + j] * method.rates[6 * n * j + k]
        method.x[k], method.trial_v[k] = h * far, fast
    move_bodies(workspace, method.x)
    for k in range(workspace.integers[HEAD.n_angles]):
        angles[k] = turns[k] + method.nodes[i + 1] * (method.angles[k] - turns[k])
    set_clock(workspace.integers, workspace.row_work, t + method.nodes[i + 1] * h, angles, 0)
    count_from(workspace, angles)
    set_state(workspace, workspace.trial_q, method.trial_v)


@kernel
def add_rates(workspace, method, i, span):
    """What the equations gave for V'_i, to it and to the velocities of the stage after it; the motion follows."""
    for body in range(workspace.tables.n):
        rate, at = to_chart(workspace, body, load6(workspace.d, 6 * body, 0.0)), 6 * (i * workspace.tables.n + body)
        add3(method.rates, at, rate[0])
        add3(method.rates, at + 3, rate[1])
        add3(method.trial_v, 6 * body, scale(span, rate[0]))
        add3(method.trial_v, 6 * body + 3, scale(span, rate[1]))
    set_motion(workspace.tables.bodies, workspace.tables.n, workspace.trial_q, method.trial_v, workspace.motion)


@kernel
def solve_stage(workspace, method, h, i):
    """V'_i and Λ_i from J V = target at the stage after it; returns the power of constraints that depend on time."""
    tables, nodes, regular = workspace.tables, workspace.plan.nodes, workspace.tables.gravity[FIELD.regularization]
    span = h * method.table[i * MOST_STAGES + i]
    velocity_residual(workspace, -1.0 / span)
    clear_matrix(workspace, regular)
    inertia_blocks(workspace)
    rotor_equations(workspace)
    solve_equations(workspace, True)
    power = power_to_keep(workspace, nodes, workspace.g, workspace.targets)
    for k in range(6 * tables.n):
        method.rates[6 * tables.n * i + k] = 0.0
    add_rates(workspace, method, i, span)
    for _ in range(REFINEMENTS if regular > 0.0 else 0):
        for k in range(6 * tables.n):
            workspace.f[k] = 0.0
        velocity_residual(workspace, -1.0 / span)
        release_rotors(tables.tiles, nodes, tables.nt, workspace.g)
        solve_equations(workspace, False)
        power += power_to_keep(workspace, nodes, workspace.g, workspace.targets)
        add_rates(workspace, method, i, span)
    return power


@kernel
def estimate(workspace, method, h):
    """Two estimates of the error of the step relative to the tolerance: the last stage against the result, of
    order 1, 2, 3 in HEM3, HEM4, HEM5; and, of HEM5, the formula of order 2 with the slopes of the last two stages alone
    (Brasey's). These are at 4/5 and 1, so that its weights are 5/2 and -3/2: 5/2 - 3/2 = 1, 5/2 · 4/5 - 3/2 = 1/2.
    """
    n, x, v, off_x, off_v = workspace.tables.n, method.x, method.trial_v, method.error_x, method.error_v
    for k in range(6 * n):
        off_x[k] = method.last_x[k] - x[k]
        off_v[k] = method.last_v[k] - v[k]
    first = error_size(workspace, method, h)
    if method.stages < MOST_STAGES:
        return first, 0.0
    one, two = 6 * n * (method.stages - 2), 6 * n * (method.stages - 1)
    for k in range(6 * n):
        off_x[k] = h * (2.5 * method.slopes[one + k] - 1.5 * method.slopes[two + k]) - x[k]
        off_v[k] = workspace.v[k] + h * (2.5 * method.rates[one + k] - 1.5 * method.rates[two + k]) - v[k]
    return first, error_size(workspace, method, h)


@kernel
def advance(workspace, method, t, h):
    """One step."""
    work, finite = 0.0, 0.0
    begin(workspace, method, t, h)
    for i in range(method.stages):
        power = apply_forces(workspace, t + method.nodes[i] * h, workspace.trial_q, method.trial_v)
        forces_on(workspace)
        keep_stage(workspace, method, i)
        go_on(workspace, method, t, h, i)
        power += solve_stage(workspace, method, h, i)
        work += h * method.table[(method.stages - 1) * MOST_STAGES + i] * power
        workspace.counts[COUNTS.evaluations] += 1
    for k in range(6 * workspace.tables.n):
        finite += method.trial_v[k] + method.x[k]
    if not abs(finite) < 1e300:
        workspace.counts[COUNTS.status], workspace.counts[COUNTS.tried] = NOT_FINITE, 0
        return False
    if method.atol + method.rtol > 0.0:
        method.errors[0], method.errors[1] = estimate(workspace, method, h)
    if method.project and workspace.tables.nt > 0:
        project_state(workspace, method.trial_v)
    if workspace.integers[HEAD.n_angles] > 0:  # those at the end of the step: the last stage's were predicted
        count_from(workspace, method.angles)
        apply_forces(workspace, t + h, workspace.trial_q, method.trial_v)
    finish_step(workspace, work, method.trial_v, method.angles)
    return True


@native(vectorized=False)
def half_explicit(at, call):
    """Take up to `limit` steps."""
    workspace, p = workspace_at(at), call.parameters
    values = (
        *(int(p[HALF.stages]), p[HALF.project] != 0.0, p[HALF.rtol], p[HALF.atol]),
        *(p[HALF.table : HALF.nodes], p[HALF.nodes :]),
    )
    method = make_method(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


def start(begin: Start, method: HalfExplicit) -> dict[str, Any]:
    return begin.carried()


def step_rule(method: HalfExplicit) -> StepRule:
    """The order is that of the estimate: of the last stage, and of HEM5 that of both (`step_control`)."""
    return StepRule({3: 2, 4: 3, 5: 5}[method.order], 0.9, 0.2, 5.0)


SCHEME = Scheme(
    data=HalfExplicit,
    loop=half_explicit,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: False,
    step_rule=step_rule,
)
