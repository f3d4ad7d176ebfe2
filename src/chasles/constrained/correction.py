"""One correction of Newton's method for the equations of an implicit step, shared by the methods.

A method has in the workspace the trial state at the end of the step: poses q, velocities V, their derivatives V', and
multipliers λ. Its formulas make dV = d/κ and dV' = d/ϰ of the unknown d; with s = β h² or the like, cm = s/ϰ and
cc = s/κ. The equations of motion are multiplied by s, so that nothing in the matrix grows as the step becomes short.
The constraints are those of positions (index 3) or of velocities (stabilized index 2).
"""

from __future__ import annotations

from typing import NamedTuple

from chasles.absolute.kkt import add_jacobian_times, each, times
from chasles.absolute.redundant import MOST
from chasles.absolute.tables import BODY, MASS, PAIR, SE3
from chasles.constrained.body_tangent import body_block
from chasles.constrained.goals import size_of_residual
from chasles.constrained.newton import add_multipliers
from chasles.constrained.saddle import clear_matrix, factorize_saddle, plus_diagonal, pushed_by, solve_saddle
from chasles.constrained.velocity import release_rotors
from chasles.constrained.velocity_rows import velocity_rows
from chasles.constraint.rows import IDENTITY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds, evaluate_rate
from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, add_scaled, cross, mat_scale, mul, scale, skew, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, load6, load9, store3
from chasles.lie import se3, so3

LINEAR, IN_POSITION, IN_VELOCITY = range(3)
ENOUGH = 1e-3  # of the residual, when rows that depend on others are refined


class Step(NamedTuple):
    """A step of a method: its begin and length, the numbers above, and sweeps to correct positions."""

    t: float
    h: float
    s: float
    cm: float
    cc: float
    kappa: float
    sweeps: int


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
def motion_residual(desk, i, rate, lam):
    """M V' + gyroscopic terms - forces + Jᵀ λ of body i: (torque in the body, force in space)."""
    masses, gravity, motion = desk.tables.masses, desk.tables.gravity, desk.motion
    m, at = i * MASS.size, i * MOTION.size
    w, theta, mass = load3(motion, at + MOTION.spin, 0.0), load3(masses, m + MASS.moments, 0.0), masses[m + MASS.mass]
    linear = load3(rate, 6 * i + 3, 0.0)
    if desk.tables.bodies[i * BODY.size + BODY.space] == SE3:
        linear = mul(load9(motion, at + MOTION.rotation, 0.0), linear)
    linear = sub(add(linear, load3(motion, at + MOTION.transport, 0.0)), (gravity[0], gravity[1], gravity[2]))
    torque, force = pushed_by(desk, i, desk.rows, lam)
    torque = add(torque, add(each(theta, load3(rate, 6 * i, 0.0)), cross(w, each(theta, w))))
    torque = sub(torque, load3(desk.wrenches, 6 * i, 0.0))
    return torque, sub(add_scaled(force, mass, linear), load3(desk.wrenches, 6 * i + 3, 0.0))


@kernel
def velocity_residual(desk, factor):
    """g = factor (J V - target)."""
    tables, nodes, motion, rows, g = desk.tables, desk.plan.nodes, desk.motion, desk.rows, desk.g
    for k in range(3 * desk.plan.n_nodes):
        g[k] = 0.0
    for i in range(tables.n):
        at, first = i * MOTION.size, tables.bodies[i * BODY.size + BODY.first]
        spin, velocity = load3(motion, at + MOTION.spin, 0.0), load3(motion, at + MOTION.velocity, 0.0)
        for e in range(first, first + tables.bodies[i * BODY.size + BODY.count]):
            tile = tables.incidences[PAIR * e]
            speed = times(tables.tiles, rows, tile, tables.incidences[PAIR * e + 1], spin, velocity)
            add3(g, 3 * nodes[tile], scale(factor, speed))
    add_target_speeds(tables.tiles, tables.constants, nodes, tables.nt, motion, rows, g, -factor)


@kernel
def position_residual(desk):
    """g = minus the residuals of positions."""
    for k in range(3 * desk.plan.n_nodes):
        desk.g[k] = 0.0
    for j in range(desk.tables.nt):
        store3(desk.g, 3 * desk.plan.nodes[j], scale(-1.0, load3(desk.rows, j * ROWS.size + ROWS.residual, 0.0)))


@kernel
def refine(desk, s, first, left, lam):
    """Sweeps against the equations that are not regularized, until the rows near singular ones have converged, too.

    λ gets what g has when a sweep begins. f is used up.
    """
    tables, nodes, f, g, d, before = desk.tables, desk.plan.nodes, desk.f, desk.g, desk.d, 1e300
    for _ in range(MOST):
        add_multipliers(desk, s, lam)
        position_residual(desk)
        add_jacobian_times(tables.bodies, tables.tiles, nodes, tables.incidences, tables.n, desk.rows, d, g, -1.0, True)
        release_rotors(tables.tiles, nodes, tables.nt, g)  # which are not regularized
        _, off = size_of_residual(desk)
        if off <= ENOUGH * first or off > 0.9 * before:
            for k in range(3 * desk.plan.n_nodes):
                g[k] = 0.0
            return
        before = off
        for k in range(6 * tables.n):
            f[k] = 0.0
        solve_saddle(desk, left, desk.rows, f)
        for k in range(6 * tables.n):
            d[k] += f[k]


@kernel
def rotor_residual(desk, rate, lam, s):
    """Of rotors g = s (λ - J V' + rate); returns how many there are."""
    bodies, tiles, nodes, motion, rows = desk.tables.bodies, desk.tables.tiles, desk.plan.nodes, desk.motion, desk.rows
    count = 0
    for j in range(desk.tables.nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            count += 1
            evaluate_rate(tiles, desk.tables.constants, j, motion, rows)
            value = lam[3 * nodes[j]] + rows[j * ROWS.size + ROWS.rate]
            for side in range(2):
                i = tiles[j * TILE.size + TILE.first + side]
                if i >= 0:
                    linear = load3(rate, 6 * i + 3, 0.0)
                    if bodies[i * BODY.size + BODY.space] == SE3:
                        linear = mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
                    value -= times(tiles, rows, j, side, load3(rate, 6 * i, 0.0), linear)[0]
            desk.g[3 * nodes[j]] = s * value
    return count


@kernel
def rotor_rows(desk, factor, copied):
    """Left rows of rotors, whose equations are of accelerations; the others are those of positions, or `left` has
    them."""
    for j in range(desk.tables.nt):
        rotor = desk.tables.tiles[j * TILE.size + TILE.kinds] == ROTOR
        if rotor or not copied:
            for k in range(j * ROWS.size + ROWS.first_angular, (j + 1) * ROWS.size):
                desk.left[k] = factor * desk.rows[k] if rotor else desk.rows[k]


@kernel
def motion_equations(desk, step, form, x, v, rate, lam, fresh):
    """f and, if `fresh`, the blocks of all bodies and what forces add to them."""
    tables, s = desk.tables, step.s
    for i in range(tables.n):
        torque, force = motion_residual(desk, i, rate, lam)
        store3(desk.f, 6 * i, scale(-s, torque))
        store3(desk.f, 6 * i + 3, scale(-s, force))
        if fresh:
            on_se3 = tables.bodies[i * BODY.size + BODY.space] == SE3
            A, B = chart_block(on_se3, load6(x, 6 * i, 0.0), load6(v, 6 * i, 0.0), form, step.kappa)
            body_block(
                tables.bodies, desk.plan.places, tables.tiles, tables.constants, desk.plan.nodes, tables.incidences,
                tables.masses, i, desk.motion, load3(rate, 6 * i + 3, 0.0), lam, step.cm, step.cc, s, A, B, desk.blocks,
            )  # fmt: skip
    if fresh and desk.stiffen != 0:
        p, packed = desk.p, desk.packed
        invoke(
            desk.stiffen, step.t + step.h, s, 1.0 / step.kappa, p, p.shape[0], packed, packed.shape[0], desk.new_q, v,
            desk.blocks, desk.matrix, desk.spare, desk.room,
        )  # fmt: skip


@kernel
def correction(desk, step, index, form, x, v, rate, lam, weight, fresh):
    """d and, in g, s times the correction of λ, with rows at hand; returns how large the constraints' residual is
    (`size_of_residual`).

    weight: of the regularization, zero if no rows depend on others.
    If not `fresh`, with the factors of the iteration before: within a step they hardly change.
    """
    tables, rows = desk.tables, desk.rows
    fresh = fresh or weight > 0.0  # rows that depend on others need factors of their own
    if fresh:
        clear_matrix(desk, weight / step.cm)
    motion_equations(desk, step, form, x, v, rate, lam, fresh)
    if index == 2:
        velocity_residual(desk, -step.kappa)
        if fresh:
            velocity_rows(
                tables.bodies, tables.tiles, tables.constants, tables.nt, desk.motion, rows, step.kappa, desk.left
            )
    else:
        position_residual(desk)
    off, uneven = size_of_residual(desk)
    rotors = rotor_residual(desk, rate, lam, step.s)
    if fresh and rotors > 0:
        rotor_rows(desk, step.cm, index == 2)
    used = desk.left if index == 2 or rotors > 0 else rows
    if fresh:
        factorize_saddle(desk, used, rows)
    solve_saddle(desk, used, rows, desk.d)
    if weight > 0.0 and index == 3:
        refine(desk, step.s, uneven, used, lam)
    return off, uneven
