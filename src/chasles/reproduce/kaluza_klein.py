"""The symplectic methods (15)-(17) of celledoni2022 on T*S with S = SO(3) × R³, for the heavy top with quadratic
Hamiltonian.

The paper calls this SLGIKK. All twelve unknowns are solved for, so that its order is observed, not inferred from the
method on T*SO(3). Only for short runs: a step is a Newton iteration in plain Python.
"""

from __future__ import annotations

import numpy as np

from chasles.gallery.spinning_top import SpinningTop
from chasles.lie import s3, so3

ITERATIONS, SLOW = 40, 8  # at most; more than these ask for a new matrix
TURN = 6.0  # rad a step, as dexpinv has a pole at 2π; an iteration that gets there has failed


def _middle(y: np.ndarray, z: np.ndarray, theta: float) -> np.ndarray:
    """(15) and the argument of f in (16): the point (exp(θξ)·g, M_θ), part by part; R³ is commutative, so dexp is 1.

    On so(3) dexp*_{-u} = dexp_u, and Ad*_exp(u) n = exp(u)ᵀ n.
    """
    turn, pulled = s3.exp(theta * z[:3]), s3.act(s3.exp(-theta * z[:3]), z[3:6])
    momentum = so3.dexp_apply(z[:3], y[4:7] + pulled) - theta * so3.dexp_apply(theta * z[:3], pulled)
    others = y[7:] + np.concatenate([theta * z[6:9], (1 - theta) * z[9:]])
    return np.concatenate([s3.compose(turn, y[:4]), momentum, others])


def _advanced(y: np.ndarray, z: np.ndarray, theta: float) -> np.ndarray:
    """(17)."""
    momentum = s3.act(s3.exp(z[:3]), y[4:7]) + s3.act(s3.exp((1 - theta) * z[:3]), z[3:6])
    turned = s3.compose(s3.exp(z[:3]), y[:4])
    return np.concatenate([turned / np.linalg.norm(turned), momentum, y[7:] + z[6:]])


def _turned(q: np.ndarray, z: np.ndarray) -> np.ndarray:
    """ξ and n of the rotation, turned by a quaternion; the parts of R³ stay."""
    return np.concatenate([s3.act(q, z[:6].reshape(2, 3)).ravel(), z[6:]])


def kaluza_klein(top: SpinningTop, theta: float, end: float, steps: int) -> np.ndarray:
    """The point (Q, π, q, p) after equal steps from t = 0.

    The unknowns are in the axes of the body, where Newton's matrix hardly changes: it is kept from step to step.
    """
    problem, y, h = top.problem(), top.initial(), end / steps
    field, p, f = problem.field, np.array(problem.parameters), np.empty(12)
    scale = np.repeat([1.0, np.linalg.norm(y[4:7]), 1.0, np.linalg.norm(y[10:])], 3)

    def residual(z: np.ndarray) -> np.ndarray:
        field(0.0, _middle(y, _turned(y[:4], z), theta), p, f)
        return z - h * _turned(s3.inverse(y[:4]), f)

    def derivative(z: np.ndarray) -> np.ndarray:
        r = residual(z)
        return np.stack([(residual(z + shift) - r) / shift.sum() for shift in np.diag(1e-7 * scale)], axis=1)

    z, matrix, last, found = -residual(np.zeros(12)), None, 0, False  # h f at the start
    for step in range(steps):
        if matrix is None or last > SLOW:
            matrix = np.linalg.inv(derivative(z))
        for iteration in range(ITERATIONS):
            last = iteration
            correction = matrix @ residual(z)
            z = z - correction
            found = bool((abs(correction) < 1e-13 * scale).all())
            if found or not np.linalg.norm(z[:3]) < TURN:
                break
        if not found:
            raise ArithmeticError(f"kaluza_klein: no solution of (15)-(16) in step {step}; take a smaller step")
        y = _advanced(y, _turned(y[:4], z), theta)
    return y
