"""One correction of Newton's method for the equations of an implicit step, shared by the methods.

A method has in the workspace the trial state at the end of the step: poses q, velocities V, their derivatives V', and
multipliers λ. Its formulas make dV = d/κ and dV' = d/ϰ of the unknown d; with s = β h² or the like, cm = s/ϰ and
cc = s/κ. The equations of motion are multiplied by s, so that nothing in the matrix grows as the step becomes short.
The constraints are those of positions (index 3) or of velocities (stabilised index 2).
"""

from __future__ import annotations

from chasles.absolute.implicit.position import release_rotors
from chasles.absolute.implicit.saddle import clear_matrix, factorise_saddle, plus_diagonal, pushed_by, solve_saddle
from chasles.absolute.implicit.stiffness import body_block
from chasles.absolute.implicit.velocity_rows import velocity_rows
from chasles.absolute.kkt import add_jacobian_times, each, times
from chasles.absolute.redundant import MOST, regularise
from chasles.absolute.tables import BODY, MASS, PAIR, SE3
from chasles.constraint.rows import IDENTITY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds, evaluate_rate
from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, add_scaled, cross, mat_scale, mul, scale, skew, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, load6, load9, store3
from chasles.lie import se3, so3

LINEAR, IN_POSITION, IN_VELOCITY = range(3)
ENOUGH = 1e-3  # of the residual, when rows that depend on others are refined
SLOW = 0.03  # a correction that is not smaller than the one before it by this factor asks for new factors
KEPT = 0.01  # how much smaller a correction with kept factors is than the one before it, at best


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
def motion_residual(bodies, tiles, nodes, incidences, masses, gravity, i, motion, rate, wrenches, rows, lam):
    """M V' + gyroscopic terms - forces + Jᵀ λ of body i: (torque in the body, force in space)."""
    m, at = i * MASS.size, i * MOTION.size
    w, theta, mass = load3(motion, at + MOTION.spin, 0.0), load3(masses, m + MASS.moments, 0.0), masses[m + MASS.mass]
    linear = load3(rate, 6 * i + 3, 0.0)
    if bodies[i * BODY.size + BODY.space] == SE3:
        linear = mul(load9(motion, at + MOTION.rotation, 0.0), linear)
    linear = sub(add(linear, load3(motion, at + MOTION.transport, 0.0)), (gravity[0], gravity[1], gravity[2]))
    torque, force = pushed_by(bodies, tiles, nodes, incidences, i, rows, lam)
    torque = add(torque, add(each(theta, load3(rate, 6 * i, 0.0)), cross(w, each(theta, w))))
    torque = sub(torque, load3(wrenches, 6 * i, 0.0))
    return torque, sub(add_scaled(force, mass, linear), load3(wrenches, 6 * i + 3, 0.0))


@kernel
def velocity_residual(bodies, tiles, constants, nodes, incidences, n, nt, motion, rows, factor, g):
    """g = factor (J V - target)."""
    for i in range(n):
        at, first = i * MOTION.size, bodies[i * BODY.size + BODY.first]
        spin, velocity = load3(motion, at + MOTION.spin, 0.0), load3(motion, at + MOTION.velocity, 0.0)
        for e in range(first, first + bodies[i * BODY.size + BODY.count]):
            tile = incidences[PAIR * e]
            speed = times(tiles, rows, tile, incidences[PAIR * e + 1], spin, velocity)
            add3(g, 3 * nodes[tile], scale(factor, speed))
    add_target_speeds(tiles, constants, nodes, nt, motion, rows, g, -factor)


@kernel
def refine(tables, structure, s, first, rows, left, blocks, matrix, factors, f, g, d, lam):
    """Sweeps against the equations that are not regularised, until the rows near singular ones have converged, too.

    λ gets what g has when a sweep begins. f is used up.
    """
    bodies, tiles, incidences, n, nt = tables[0], tables[1], tables[3], tables[12], tables[13]
    nodes, n_nodes, before = structure[1], structure[9], 1e300
    for _ in range(MOST):
        for k in range(3 * n_nodes):
            lam[k] += g[k] / s
            g[k] = 0.0
        for j in range(nt):
            store3(g, 3 * nodes[j], scale(-1.0, load3(rows, j * ROWS.size + ROWS.residual, 0.0)))
        add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, d, g, -1.0, True)
        release_rotors(tiles, nodes, nt, g)  # which are not regularised
        off = 0.0
        for k in range(3 * n_nodes):
            off = max(off, abs(g[k]))
        if off <= ENOUGH * first or off > 0.9 * before:
            for k in range(3 * n_nodes):
                g[k] = 0.0
            return
        before = off
        for k in range(6 * n):
            f[k] = 0.0
        solve_saddle(bodies, tiles, incidences, structure, n, left, rows, blocks, matrix, factors, f, g, f)
        for k in range(6 * n):
            d[k] += f[k]


@kernel
def rotor_residual(bodies, tiles, constants, nodes, nt, motion, rate, rows, lam, s, g):
    """Of rotors g = s (λ - J V' + rate); returns how many there are."""
    count = 0
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            count += 1
            evaluate_rate(tiles, constants, j, motion, rows)
            value = lam[3 * nodes[j]] + rows[j * ROWS.size + ROWS.rate]
            for side in range(2):
                i = tiles[j * TILE.size + TILE.first + side]
                if i >= 0:
                    linear = load3(rate, 6 * i + 3, 0.0)
                    if bodies[i * BODY.size + BODY.space] == SE3:
                        linear = mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
                    value -= times(tiles, rows, j, side, load3(rate, 6 * i, 0.0), linear)[0]
            g[3 * nodes[j]] = s * value
    return count


@kernel
def rotor_rows(tiles, nt, rows, factor, copied, left):
    """Left rows of rotors, whose equations are of accelerations; the others are those of positions, or `left` has
    them."""
    for j in range(nt):
        rotor = tiles[j * TILE.size + TILE.kinds] == ROTOR
        if rotor or not copied:
            for k in range(j * ROWS.size + ROWS.first_angular, (j + 1) * ROWS.size):
                left[k] = factor * rows[k] if rotor else rows[k]


@kernel
def correction(
    t, tables, structure, whole, p, packed, stiffen, fresh, index, form, s, cm, cc, kappa, x, rate, lam, q, v,
    motion, rows, left, blocks, matrix, factors, f, d, g, wrenches, room, regular,
):  # fmt: skip
    """d and, in g, s times the correction of λ, with rows at hand; returns the size of the constraints' residual.
    regular: weight of the regularisation, zero if no rows depend on others.

    If not `fresh`, with the factors of the iteration before: within a step they hardly change.
    """
    bodies, tiles, _, incidences, _, _, _, _, _, masses, constants, gravity, n, nt, _, _ = tables
    places, nodes, n_nodes, n_lower = structure[0], structure[1], structure[9], structure[10]
    worst = 0.0
    fresh = fresh or regular > 0.0  # rows that depend on others need factors of their own
    for k in range(3 * n_nodes):
        g[k] = 0.0
    if fresh:
        clear_matrix(tiles, nodes, nt, n_nodes + 2 * n_lower, matrix)
        if regular > 0.0:  # the iterations, which sum up λ, are the refinement
            regularise(bodies, tiles, incidences, nodes, masses, n, rows, regular / cm, matrix)
    for i in range(n):
        on_se3 = bodies[i * BODY.size + BODY.space] == SE3
        torque, force = motion_residual(
            bodies, tiles, nodes, incidences, masses, gravity, i, motion, rate, wrenches, rows, lam
        )
        store3(f, 6 * i, scale(-s, torque))
        store3(f, 6 * i + 3, scale(-s, force))
        if fresh:
            A, B = chart_block(on_se3, load6(x, 6 * i, 0.0), load6(v, 6 * i, 0.0), form, kappa)
            acceleration = load3(rate, 6 * i + 3, 0.0)
            body_block(
                bodies, places, tiles, constants, nodes, incidences, masses, i, motion, acceleration, lam, cm, cc, s,
                A, B, blocks,
            )  # fmt: skip
    if fresh and stiffen != 0:
        invoke(stiffen, t, s, 1.0 / kappa, p, p.shape[0], packed, packed.shape[0], q, v, blocks, matrix, d, room)
    if index == 2:
        velocity_residual(bodies, tiles, constants, nodes, incidences, n, nt, motion, rows, -kappa, g)
        if fresh:
            velocity_rows(bodies, tiles, constants, nt, motion, rows, kappa, left)
    else:
        for j in range(nt):
            store3(g, 3 * nodes[j], scale(-1.0, load3(rows, j * ROWS.size + ROWS.residual, 0.0)))
    for k in range(3 * n_nodes):
        worst = max(worst, abs(g[k]))
    rotors = rotor_residual(bodies, tiles, constants, nodes, nt, motion, rate, rows, lam, s, g)
    if fresh and rotors > 0:
        rotor_rows(tiles, nt, rows, cm, index == 2, left)
    used = left if index == 2 or rotors > 0 else rows
    if fresh:
        factorise_saddle(bodies, tiles, incidences, structure, n, used, rows, blocks, matrix, factors)
    solve_saddle(bodies, tiles, incidences, structure, n, used, rows, blocks, matrix, factors, f, g, d)
    if regular > 0.0 and index == 3:
        refine(tables, structure, s, worst, rows, used, blocks, matrix, factors, f, g, d, lam)
    return worst
