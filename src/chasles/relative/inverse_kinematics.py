"""Position inverse kinematics of a frame: damped Gauss-Newton on the groups of the joints, within their limits.

The error of a frame at (R, p) from its target (R_t, p_t) is e = (log(RᵀR_t), p_t - p), in mixed representation, so that
rotation and position can be weighted, or left out. Along q exp(δ) it changes by -(dexpinv_e J_ω, J_v) δ with the mixed
Jacobian J. With D the squares of what is large for each coordinate (1 rad, or a length of the mechanism) a step solves
(JᵀJ + λD⁻¹) δ = Jᵀe as δ = DJᵀ(JDJᵀ + λI)⁻¹e: six equations however many joints, O(n). A step that does not lower the
error raises λ (Levenberg and Marquardt). Coordinates at a limit that the step would leave are held for this step
(active set), the others are stopped at their limits.
"""

from __future__ import annotations

import math

from chasles.kernel.algebra import add_scaled, dot, scale, sub
from chasles.kernel.dense import cholesky_factor, cholesky_solve
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, store6
from chasles.lie import pose as pose_group
from chasles.lie import quaternion, so3
from chasles.relative.jacobian import COLUMN, constant_place, walk_inward
from chasles.relative.joint import load_quaternion
from chasles.relative.kinematics import MIXED, twist_in
from chasles.relative.tables import FREE, HEAD, SPHERICAL, link, links_of, velocities_of

CONVERGED, STALLED, EXHAUSTED = range(3)
DAMPING = (1e-3, 1e-12, 1e6)  # first, least and most, relative to the mean square of the Jacobian's rows
SQUARE = 36 + 6  # six equations and their right-hand side
SMALL_STEP = 1e-13  # of a coordinate, relative to what is large for it
SMALL_GAIN = 1e-5  # of the square of the error: toward a target within reach it falls fast


@kernel
def retract(topology, q, delta, end):
    """q exp(δ)."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            unit = load_quaternion(q, iq, 0.0)
            if kind == FREE:
                step = pose_group.exp(load6(delta, iv, 0.0))
                end[iq + 4], end[iq + 5], end[iq + 6] = pose_group.compose((unit, load3(q, iq + 4, 0.0)), step)[1]
            turn = quaternion.exp(load3(delta, iv, 0.0))
            end[iq], end[iq + 1], end[iq + 2], end[iq + 3] = quaternion.normalize(quaternion.product(unit, turn))
        else:
            end[iq] = q[iq] + delta[iv]


@kernel
def evaluate(topology, numbers, where, offset, target, weights, q, columns):
    """The weighted error at q, and the columns of its Jacobian; those of joints not on the way are not set."""
    X, x = constant_place(offset, 0, 0.0)
    R, p, _ = walk_inward(topology, numbers, q, q[:0], where, X, x, columns, 0.0)
    back = quaternion.conjugate(quaternion.from_matrix(R))
    unit = quaternion.product(back, (target[0], target[1], target[2], target[3]))
    turn = quaternion.log(quaternion.flip(unit))
    away = sub((target[4], target[5], target[6]), p)
    i = where
    while i >= 0:
        parent, kind, _, iv = link(topology, i)
        for k in range(iv, iv + velocities_of(kind)):
            angular, linear = twist_in(MIXED, R, p, load6(columns, k * COLUMN.size, 0.0))
            angular = so3.dexpinv_apply(turn, angular)
            store6(columns, k * COLUMN.size, (scale(weights[0], angular), scale(weights[1], linear)))
        i = parent
    return scale(weights[0], turn), scale(weights[1], away)


@kernel
def fill(array, value):
    for k in range(array.shape[0]):
        array[k] = value


@kernel
def held(q, low, high, pull):
    """Whether a coordinate stands at a limit that it would leave."""
    return (q <= low and pull < 0.0) or (q >= high and pull > 0.0)


@kernel
def step_of(topology, where, damping, error, limits, q, columns, square, delta):
    """δ of the damped equations, within the limits; its largest number relative to what is large for the coordinate,
    and the error that it would leave if linear."""
    fill(square, 0.0)
    angular, linear = error
    nv = topology[HEAD.velocities]
    for once in range(2):  # first the equations, then the steps
        i, largest = where, 0.0
        while i >= 0:
            parent, kind, iq, iv = link(topology, i)
            for k in range(iv, iv + velocities_of(kind)):
                at = k * COLUMN.size
                J = load6(columns, at, 0.0)
                single = kind != SPHERICAL and kind != FREE
                pull = dot(J[0], error[0]) + dot(J[1], error[1])
                fixed = single and held(q[iq], limits[k], limits[nv + k], pull)
                size = limits[2 * nv + k]
                if once == 0 and not fixed:
                    for r in range(6):
                        for s in range(r + 1):
                            square[6 * r + s] += size * columns[at + r] * (size * columns[at + s])
                elif once == 1:
                    y = load6(square, 36, 0.0)
                    value = 0.0 if fixed else size * size * (dot(J[0], y[0]) + dot(J[1], y[1]))
                    if single:
                        value = min(max(value, limits[k] - q[iq]), limits[nv + k] - q[iq])
                    delta[k] = value
                    largest = max(largest, abs(value) / size)
                    angular, linear = add_scaled(angular, -value, J[0]), add_scaled(linear, -value, J[1])
            i = parent
        if once == 0:
            trace = square[0] + square[7] + square[14] + square[21] + square[28] + square[35]
            if not trace > 0.0:  # every coordinate is held, or the frame is not moved by any
                return 0.0, error
            for r in range(6):
                square[7 * r] += damping * trace / 6.0
            store6(square, 36, error)
            cholesky_factor(square, 6)
            cholesky_solve(square, square[36:], 6)
    return largest, (angular, linear)


@kernel
def half_square(error):
    return 0.5 * (dot(error[0], error[0]) + dot(error[1], error[1]))


@kernel(entry=True)
def approach(topology, numbers, where, offset, target, weights, limits, tolerance, most, q, work):
    """Bring a frame from q to its target: how it ended, iterations and error. q is overwritten by the best found.

    `limits` are the lower ones of all velocities, then the upper ones, then what is large for each. The workspace is
    25 nv + nq + 42 numbers.
    """
    nv = topology[HEAD.velocities]
    square, delta = work[:SQUARE], work[SQUARE : SQUARE + nv]
    columns, other = work[SQUARE + nv : SQUARE + 13 * nv], work[SQUARE + 13 * nv : SQUARE + 25 * nv]
    trial = work[SQUARE + 25 * nv : SQUARE + 25 * nv + q.shape[0]]
    fill(delta, 0.0)
    damping, growth = DAMPING[0], 2.0
    error = evaluate(topology, numbers, where, offset, target, weights, q, columns)
    cost = half_square(error)
    for iteration in range(most):
        if math.sqrt(2.0 * cost) <= tolerance:
            return CONVERGED, iteration, math.sqrt(2.0 * cost)
        size, foreseen = step_of(topology, where, damping, error, limits, q, columns, square, delta)
        if not size > SMALL_STEP:
            return STALLED, iteration, math.sqrt(2.0 * cost)
        retract(topology, q, delta, trial)
        new = evaluate(topology, numbers, where, offset, target, weights, trial, other)
        gain, hope = cost - half_square(new), cost - half_square(foreseen)
        if gain > 0.0:
            for k in range(q.shape[0]):
                q[k] = trial[k]
            error, cost = new, half_square(new)
            columns, other = other, columns
            trust = 2.0 * gain / hope - 1.0  # 1 if the error is as the linear equations foresee (nielsen1999)
            damping = max(max(0.1, 1.0 - trust**3) * damping, DAMPING[1])
            growth = 2.0
            if gain < SMALL_GAIN * cost:
                return STALLED, iteration + 1, math.sqrt(2.0 * cost)
        else:
            damping, growth = growth * damping, 2.0 * growth
            if damping > DAMPING[2]:
                return STALLED, iteration + 1, math.sqrt(2.0 * cost)
    ended = CONVERGED if math.sqrt(2.0 * cost) <= tolerance else EXHAUSTED
    return ended, most, math.sqrt(2.0 * cost)
