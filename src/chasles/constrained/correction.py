"""One correction of Newton's method for the equations of an implicit step, shared by the methods.

A method has in the workspace the trial state at the end of the step: poses q, velocities V, their derivatives V', and
multipliers λ. Its formulas make dV = d/κ and dV' = d/ϰ of the unknown d; with s = β h² or the like, cm = s/ϰ and
cc = s/κ. The equations of motion are multiplied by s, so that nothing in the matrix grows as the step becomes short.
The constraints are those of positions (index 3) or of velocities (stabilized index 2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chasles.absolute.kkt import add_jacobian_times, each, times
from chasles.absolute.redundant import MOST
from chasles.absolute.tables import BODY, FIELD, MASS, PAIR, SE3
from chasles.constrained.body_tangent import body_block
from chasles.constrained.goals import size_of_residual
from chasles.constrained.newton import add_multipliers
from chasles.constrained.saddle import clear_matrix, factorize_saddle, plus_diagonal, pushed_by, solve_saddle
from chasles.constrained.steps import evaluate_state
from chasles.constrained.velocity import release_rotors
from chasles.constrained.velocity_rows import velocity_rows
from chasles.constrained.workspace import OPERATIONS, ForceCall, workspace_at
from chasles.constraint.rows import IDENTITY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds, evaluate_rate
from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, add_scaled, cross, mat_scale, mul, scale, skew, sub
from chasles.kernel.lanes import load, store
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference, value_of
from chasles.kernel.workspace import add3, load3, load6, load9, store3
from chasles.lie import se3, so3

LINEAR, IN_POSITION, IN_VELOCITY = range(3)
ENOUGH = 1e-3  # of the residual, when rows that depend on others are refined


class Step(NamedTuple):
    """A step of a method: its begin and length, the numbers above, sweeps to correct positions, the index of the
    equations that are solved, and which coordinates V and V' follow (`chart_block`)."""

    t: float
    h: float
    s: float
    cm: float
    cc: float
    kappa: float
    sweeps: int
    solved_index: int
    form: int


@kernel
def chart_block(on_se3, x, v, form, kappa):
    """(A, B) of ∂x/∂d = [A 0; B A] in the equations of motion, by the form of the method.

    LINEAR: V and V' follow d. IN_POSITION: d is the displacement, V' follows x, so dexpinv_{-x}. IN_VELOCITY: d is κ dV
    and V = dexp_{-x} x', so that V' follows d - κ/2 [V, d], to first order of the step.
    """
    if form == LINEAR:
        return IDENTITY, mat_scale(0.0, IDENTITY)
    if form == IN_VELOCITY:
        w = scale(-0.5 * kappa, v[0])
        A = plus_diagonal(skew(w), 1.0)
        return A, skew(scale(-0.5 * kappa, v[1])) if on_se3 else mat_scale(0.0, IDENTITY)
    back = scale(-1.0, x[0]), scale(-1.0, x[1])
    if on_se3:
        A, B, _ = se3.dexpinv(back)
        return A, B
    return so3.dexpinv(back[0]), mat_scale(0.0, IDENTITY)


@kernel
def motion_residual(workspace, i, rate, lam):
    """M V' + gyroscopic terms - forces + Jᵀ λ of body i: (torque in the body, force in space)."""
    masses, gravity, motion = workspace.tables.masses, workspace.tables.gravity, workspace.motion
    m, at = i * MASS.size, i * MOTION.size
    w, theta, mass = load3(motion, at + MOTION.spin, 0.0), load3(masses, m + MASS.moments, 0.0), masses[m + MASS.mass]
    linear = load3(rate, 6 * i + 3, 0.0)
    if workspace.tables.bodies[i * BODY.size + BODY.space] == SE3:
        linear = mul(load9(motion, at + MOTION.rotation, 0.0), linear)
    linear = sub(add(linear, load3(motion, at + MOTION.transport, 0.0)), load3(gravity, FIELD.gravity, 0.0))
    torque, force = pushed_by(workspace, i, workspace.rows, lam)
    torque = add(torque, add(each(theta, load3(rate, 6 * i, 0.0)), cross(w, each(theta, w))))
    torque = sub(torque, load3(workspace.wrenches, 6 * i, 0.0))
    return torque, sub(add_scaled(force, mass, linear), load3(workspace.wrenches, 6 * i + 3, 0.0))


@kernel
def speed_residual(workspace, factor):
    """g = factor J V."""
    tables, nodes, motion, rows, g = (
        workspace.tables,
        workspace.plan.nodes,
        workspace.motion,
        workspace.rows,
        workspace.g,
    )
    for k in range(3 * workspace.plan.n_nodes):
        g[k] = 0.0
    for i in range(tables.n):
        at, first = i * MOTION.size, tables.bodies[i * BODY.size + BODY.first]
        spin, velocity = load3(motion, at + MOTION.spin, 0.0), load3(motion, at + MOTION.velocity, 0.0)
        for e in range(first, first + tables.bodies[i * BODY.size + BODY.count]):
            tile = tables.incidences[PAIR * e]
            speed = times(tables.tiles, rows, tile, tables.incidences[PAIR * e + 1], spin, velocity)
            add3(g, 3 * nodes[tile], scale(factor, speed))


@kernel
def velocity_residual(workspace, factor):
    """g = factor (J V - target)."""
    tables, nodes = workspace.tables, workspace.plan.nodes
    speed_residual(workspace, factor)
    add_target_speeds(
        tables.tiles, tables.constants, nodes, tables.nt, workspace.motion, workspace.rows, workspace.g, -factor
    )


@kernel
def position_residual(workspace):
    """g = minus the residuals of positions."""
    for k in range(3 * workspace.plan.n_nodes):
        workspace.g[k] = 0.0
    for j in range(workspace.tables.nt):
        store3(
            workspace.g,
            3 * workspace.plan.nodes[j],
            scale(-1.0, load3(workspace.rows, j * ROWS.size + ROWS.residual, 0.0)),
        )


@kernel
def refine(workspace, s, first, left, lam):
    """Sweeps against the equations that are not regularized, until the rows near singular ones have converged, too.

    λ gets what g has when a sweep begins. f is used up.
    """
    tables, nodes, f, g, d, before = (
        workspace.tables,
        workspace.plan.nodes,
        workspace.f,
        workspace.g,
        workspace.d,
        1e300,
    )
    for _ in range(MOST):
        add_multipliers(workspace, s, lam)
        position_residual(workspace)
        add_jacobian_times(
            tables.bodies, tables.tiles, nodes, tables.incidences, tables.n, workspace.rows, d, g, -1.0, True
        )
        release_rotors(tables.tiles, nodes, tables.nt, g)  # which are not regularized
        _, off = size_of_residual(workspace)
        if off <= ENOUGH * first or off > 0.9 * before:
            for k in range(3 * workspace.plan.n_nodes):
                g[k] = 0.0
            return
        before = off
        for k in range(6 * tables.n):
            f[k] = 0.0
        solve_saddle(workspace, left, workspace.rows, f)
        for k in range(6 * tables.n):
            d[k] += f[k]


@kernel
def rotor_residual(workspace, rate, lam, s):
    """Of rotors g = s (λ - J V' + rate); returns how many there are."""
    bodies, tiles, nodes, motion, rows = (
        workspace.tables.bodies,
        workspace.tables.tiles,
        workspace.plan.nodes,
        workspace.motion,
        workspace.rows,
    )
    count = 0
    for j in range(workspace.tables.nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            count += 1
            evaluate_rate(tiles, workspace.tables.constants, j, motion, rows)
            value = lam[3 * nodes[j]] + rows[j * ROWS.size + ROWS.rate]
            for side in range(2):
                i = tiles[j * TILE.size + TILE.first + side]
                if i >= 0:
                    linear = load3(rate, 6 * i + 3, 0.0)
                    if bodies[i * BODY.size + BODY.space] == SE3:
                        linear = mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
                    value -= times(tiles, rows, j, side, load3(rate, 6 * i, 0.0), linear)[0]
            workspace.g[3 * nodes[j]] = s * value
    return count


@kernel
def rotor_rows(workspace, factor, copied):
    """Left rows of rotors, whose equations are of accelerations; the others are those of positions, or `left` has
    them."""
    for j in range(workspace.tables.nt):
        rotor = workspace.tables.tiles[j * TILE.size + TILE.kinds] == ROTOR
        if rotor or not copied:
            share = factor if rotor else 1.0
            for k in range(j * ROWS.size + ROWS.first_angular, (j + 1) * ROWS.size):
                store(workspace.left_rows, k, share * load(workspace.rows, k, 0.0))


@kernel
def motion_blocks(workspace, method, step):
    """The blocks of all bodies, without what forces add."""
    bodies = workspace.tables.bodies
    for i in range(workspace.tables.n):
        on_se3 = bodies[i * BODY.size + BODY.space] == SE3
        x, v = load6(method.x, 6 * i, 0.0), load6(method.trial_v, 6 * i, 0.0)
        A, B = chart_block(on_se3, x, v, step.form, step.kappa)
        body_block(workspace, step, i, load3(method.trial_rate, 6 * i + 3, 0.0), method.lam, A, B)


@kernel
def motion_residuals(workspace, method, step):
    """f of all bodies."""
    for i in range(workspace.tables.n):
        torque, force = motion_residual(workspace, i, method.trial_rate, method.lam)
        store3(workspace.f, 6 * i, scale(-step.s, torque))
        store3(workspace.f, 6 * i + 3, scale(-step.s, force))


@kernel
def motion_equations(workspace, method, step, fresh, first):
    """f and, if `fresh`, the blocks of all bodies and what forces add to them; wrenches from the row `first` on."""
    s = step.s
    if fresh:
        motion_blocks(workspace, method, step)
    if fresh and workspace.force_tangents.shape[0] > 0:
        call = ForceCall(
            *(step.t + step.h, s, 1.0 / step.kappa, workspace.mechanism, workspace.structure, workspace.trial_q),
            *(method.trial_v, workspace.blocks, workspace.matrix, workspace.law_wrenches, workspace.element_tiles),
            *(workspace.force_work, workspace.wrenches, workspace.acted, first),
        )
        for k in range(workspace.force_tangents.shape[0]):
            invoke(workspace.force_tangents[k], by_reference(call))
    motion_residuals(workspace, method, step)


class CorrectionPass(NamedTuple):
    """What differs from one correction of a step to the next (`correction`)."""

    weight: float
    fresh: bool
    first: int


class TrialState(NamedTuple):
    """The trial state of a method."""

    x: Any
    trial_v: Any
    trial_rate: Any
    lam: Any


@kernel
def correction(workspace, method, step, weight, fresh, first):
    """d and, in g, s times the correction of λ, at a trial state; returns how large the constraints' residual is
    (`size_of_residual`).

    The method has the trial state: x, trial_v, trial_rate and lam; its poses are in the workspace. weight: of the
    regularization, zero if no rows depend on others. If not `fresh`, with the factors of the iteration before: within a
    step they hardly change. first: the row of the table of forces from which on wrenches are not known yet and come
    with their derivatives.
    """
    operations = workspace.operations
    invoke(
        operations[OPERATIONS.correction], operations[OPERATIONS.workspace], method.x, method.trial_v,
        method.trial_rate, method.lam, by_reference(step), by_reference(CorrectionPass(weight, fresh, first)),
    )  # fmt: skip
    return workspace.off[0], workspace.uneven[0]


@native(vectorized=False)
def correction_apart(at, x, v, rate, lam, given, iteration):
    workspace, step = workspace_at(at), by_reference(value_of(given))
    weight, first = iteration.weight, iteration.first
    size, multipliers = 6 * workspace.tables.n, 3 * workspace.plan.n_nodes
    method = by_reference(
        TrialState(carray(x, (size,)), carray(v, (size,)), carray(rate, (size,)), carray(lam, (multipliers,)))
    )
    evaluate_state(workspace, workspace.trial_q, method.trial_v)
    rows, index = workspace.rows, step.solved_index
    fresh = iteration.fresh or weight > 0.0  # rows that depend on others need factors of their own
    if fresh:
        clear_matrix(workspace, weight / step.cm)
    motion_equations(workspace, method, step, fresh, first)
    if index == 2:
        velocity_residual(workspace, -step.kappa)
        if fresh:
            velocity_rows(workspace, step.kappa)
    else:
        position_residual(workspace)
    off, uneven = size_of_residual(workspace)
    rotors = rotor_residual(workspace, method.trial_rate, method.lam, step.s)
    if fresh and rotors > 0:
        rotor_rows(workspace, step.cm, index == 2)
    used = workspace.left_rows if index == 2 or rotors > 0 else rows
    if fresh:
        factorize_saddle(workspace, used, rows)
    solve_saddle(workspace, used, rows, workspace.d)
    if weight > 0.0 and index == 3:
        refine(workspace, step.s, uneven, used, method.lam)
    workspace.off[0], workspace.uneven[0] = off, uneven
