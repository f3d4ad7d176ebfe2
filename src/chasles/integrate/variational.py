"""A step of the variational methods for rigid bodies, LieVerlet and MoserVeselov.

They need one torque a step and solve no more than a cubic equation in three unknowns.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.cotangent import back, load4
from chasles.integrate.lie_verlet import LieVerlet as LieVerlet
from chasles.integrate.lie_verlet import cay_equation, exp_equation
from chasles.integrate.moser_veselov import MoserVeselov as MoserVeselov
from chasles.integrate.moser_veselov import moser_equation
from chasles.integrate.newton import COUNTS, REMAINDER, STUCK
from chasles.integrate.status import DONE, NO_CONVERGENCE, NOT_FINITE, SINGULAR
from chasles.integrate.stopping import at_rounding, converged
from chasles.integrate.vector_field import call
from chasles.kernel.algebra import add_scaled, dot, mul, scale, sub
from chasles.kernel.dense import solve3
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3
from chasles.lie import quaternion, s3

THETA, VERLET_EXP, VERLET_CAY, MOSER_VESELOV = range(4)  # methods


@kernel
def mapped(method, w):
    """Quaternion of the turn in a step: exp(w), or that of the Rodrigues vector w."""
    if method == VERLET_EXP:
        return quaternion.exp(w)
    return s3.cay(w)


@kernel
def size(v):
    return sqrt(dot(v, v))


@kernel
def solve_turn(method, inertia, inverse, a, history, counts):
    """The turn w of a step from h times the momentum, a, by Newton's method; (status, w)."""
    matrix = load9(inertia, 0, 0.0)
    w = scale(1.0 if method == VERLET_EXP else 0.5, mul(load9(inverse, 0, 0.0), a))
    before = 0.0  # so that the first contraction is infinite
    for k in range(history.shape[1]):
        if method == VERLET_EXP:
            residual, derivative = exp_equation(matrix, a, w)
        elif method == VERLET_CAY:
            residual, derivative = cay_equation(matrix, a, w)
        else:
            residual, derivative = moser_equation(matrix, a, w)
        counts[COUNTS.iterations] += 1
        counts[COUNTS.tried] = k + 1
        history[0, k] = size(residual) / (size(a) + 1e-300)
        delta = solve3(derivative, residual)
        correction = size(delta) / (size(w) + size(delta) + 1e-300)
        history[1, k] = correction
        if not np.isfinite(history[0, k]):
            return NOT_FINITE, w
        if not np.isfinite(correction):
            return SINGULAR, w
        w = sub(w, delta)
        rate = correction / before
        if converged(correction, rate, 0.0, REMAINDER, REMAINDER) or at_rounding(correction, rate, STUCK):
            return DONE, w
        before = correction
    return NO_CONVERGENCE, w


@kernel
def variational_step(method, t, h, y, inertia, source, counts, history):
    """P + h T/2, a turn F with that momentum, F^T (P + h T/2) + h T1/2; y holds the body momentum P here.

    The torque kept in `source` is T(t, Q) and becomes T1.
    """
    _, inverse, torque, address, p = source
    q = load4(y, 0)
    half = add_scaled(load3(y, 4, 0.0), 0.5 * h, load3(torque, 0, 0.0))
    status, w = solve_turn(method, inertia, inverse, scale(h, half), history, counts)
    if status != DONE:
        return status
    e = mapped(method, w)
    q = quaternion.keep_unit(quaternion.product(q, e))
    for k in range(4):
        y[k] = q[k]
    call(address, t + h, y, p, torque, 0, 4, 3, 0.0)
    counts[COUNTS.evaluations] += 1
    store3(y, 4, add_scaled(back(e, half), 0.5 * h, load3(torque, 0, 0.0)))
    return DONE if np.isfinite(y[4] + y[5] + y[6]) else NOT_FINITE
