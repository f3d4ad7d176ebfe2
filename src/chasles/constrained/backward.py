"""Coefficients of backward differentiation formulas for steps of any length."""

from __future__ import annotations

import numpy as np

from chasles.kernel.policy import kernel

MOST = 5  # steps
# by how much a step may be longer than the one before: less than steps that grow for ever may (`largest_growth`)
GROWTH = {2: 2.0, 3: 1.4, 4: 1.2, 5: 1.1}


@kernel
def set_coefficients(method, h):
    """α and γ of the step: those of equal steps, or by the lengths of the steps of the past."""
    steps, nodes, equal = method.steps, method.nodes, True
    nodes[0], nodes[1] = 0.0, -1.0
    for m in range(MOST):
        nodes[m + 2] = nodes[m + 1] - method.lengths[m] / h
        equal = equal and (m >= steps - 1 or method.lengths[m] == h)
    for i in range(MOST + 1):
        method.alpha[i] = method.equal_alpha[i]
    for i in range(MOST):
        method.gamma[i] = method.equal_gamma[i]
    if not equal:
        method.alpha[0] = 0.0
        for i in range(1, steps + 1):
            slope = 1.0 / nodes[i]
            for j in range(1, steps + 1):
                if j != i:
                    slope *= nodes[j] / (nodes[j] - nodes[i])
            method.alpha[i] = slope
            method.alpha[0] -= slope
        total = 0.0
        for i in range(steps):
            total += method.alpha[i]
            method.gamma[i] = total


@kernel
def set_prediction(method):
    """Weights of the k + 1 points of the past in the polynomial through them, at the new point."""
    nodes, total = method.nodes, -1.0
    method.beta[0], method.sums[0] = -1.0, -1.0
    for i in range(1, method.steps + 2):
        weight = 1.0
        for j in range(1, method.steps + 2):
            if j != i:
                weight *= nodes[j] / (nodes[j] - nodes[i])
        total += weight
        method.beta[i], method.sums[i] = weight, total


def largest_growth(k: int) -> float:
    """The largest ratio of a step to the one before with which steps may grow for ever: up to it no solution of
    Σ α_i y_{n+1-i} = 0 grows, as no root of Σ α_i z^(k-i) is larger than 1."""
    low, high = 1.0, 4.0
    for _ in range(50):
        ratio = 0.5 * (low + high)
        nodes = -np.cumsum(np.concatenate([[0.0], ratio ** -np.arange(k)]))
        others = [np.delete(nodes[1:], i) for i in range(k)]
        alpha = np.array([np.prod(o / (o - x)) / x for x, o in zip(nodes[1:], others, strict=True)])
        roots = np.roots(np.cumsum([-alpha.sum(), *alpha])[:-1])  # divided by z - 1
        low, high = (ratio, high) if np.abs(roots).max() <= 1.0 else (low, ratio)
    return low
