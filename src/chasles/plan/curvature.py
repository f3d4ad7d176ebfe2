"""Second derivatives of a motion: what the Hessians of Gauss and Newton leave out.

A step Φ counts λᵀ ∂²Φ, with the slopes λ of the cost of all that comes after it, and a quantity r with the slope p of
its cost pᵀ ∂²r. Both are differences of exact first derivatives. Along q exp(δ) these differences have an antisymmetric
part, of the bracket; the symmetric part is the Hessian.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from chasles.plan.account import Account, Course, Quadratic
    from chasles.plan.held_steps import HeldSteps

DIFFERENCE = 1e-6  # of a difference, of numbers of size one: Hessians need not be better


def add_curvature(
    steps: HeldSteps, account: Account, course: Course, points: np.ndarray, inputs: np.ndarray,
    linear: tuple[np.ndarray, np.ndarray], slopes: np.ndarray, cost: Quadratic,
) -> None:  # fmt: skip
    """Add both to the second derivatives of a cost; linear: A and B of all steps, by the states and the inputs."""
    A, B = linear
    n, m, h = 2 * steps.nv, B.shape[2], course.duration / steps.count
    first = np.concatenate([A[:, :n, :n], B[:, :n]], axis=2)
    found = np.empty((steps.count, n + m, n + m))
    units = np.concatenate([steps.dynamics.units[:-1], np.full(m, 1.0 + np.abs(inputs).max())])
    for k in range(n + m):
        size = DIFFERENCE * units[k]
        change = np.zeros(n + m)
        change[k] = size
        there = steps.derivatives(steps.moved(points[:-1], change[:n]), inputs + change[n:], h)
        found[:, k] = np.einsum("si,sij->sj", slopes[1:, :n], np.concatenate(there, axis=2) - first) / size
    found = 0.5 * (found + found.transpose(0, 2, 1))

    def moved(change: np.ndarray) -> Course:
        q, v = steps.split(steps.moved(points, change[:n]))
        return replace(course, q=q, v=v, u=inputs + change[n:])

    cost.add(np.arange(steps.count), 1, n, None, found)
    account.add_bends(cost, course, moved, units)
    cost.fold(A, B)


def bend_of(slopes: Any, pull: np.ndarray, units: np.ndarray, own: int) -> np.ndarray:
    """pᵀ ∂²r (nodes, own, own) of a quantity; slopes: its first derivatives (nodes, m, own) after a change of the
    states and inputs by the first `own` of their units."""
    first = slopes(np.zeros(len(units)))
    found = np.empty((len(pull), own, own))
    for k in range(own):
        size = DIFFERENCE * units[k]
        found[:, k] = np.einsum("km,kmn->kn", pull, slopes(size * np.eye(len(units))[k]) - first) / size
    return 0.5 * (found + found.transpose(0, 2, 1))
