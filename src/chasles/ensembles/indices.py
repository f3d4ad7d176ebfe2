"""Sensitivity indices of Sobol: which parameter makes how much of the variance of a quantity.

With f at the points A, B and A_i (A with coordinate i of B, see `design.saltelli`), and V the variance of f:

    first order   S_i = mean(f_B (f_Ai - f_A)) / V            its part alone (saltelli2010, table 2, row b)
    total order   T_i = mean((f_A - f_Ai)²) / (2 V)           its part with all interactions (row f)

f is centered before, which changes neither value but takes its mean out of the error of the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RESAMPLES = 1000  # of the bootstrap


@dataclass(frozen=True, repr=False)
class SobolIndices:
    """First and total order of each parameter, with the half widths of their confidence intervals; of how many points,
    and how many were left out because a member of theirs has no result."""

    names: tuple[str, ...]
    first: np.ndarray
    total: np.ndarray
    first_error: np.ndarray
    total_error: np.ndarray
    confidence: float
    points: int = 0
    left_out: int = 0

    def __repr__(self) -> str:
        rows = [f"{'':16s} {'first order':>20s} {'total order':>20s}   ({self.confidence:.0%} confidence)"]
        for k, name in enumerate(self.names):
            parts = (self.first[k], self.first_error[k]), (self.total[k], self.total_error[k])
            rows.append(f"{name:16s} " + " ".join(f"{value:11.4f} ± {error:6.4f}" for value, error in parts))
        if self.left_out:
            rows.append(
                f"{self.left_out} of {self.points + self.left_out} points are left out: a member of each failed"
            )
        return "\n".join(rows)


def sobol_indices(values: np.ndarray, names: list[str], confidence: float, seed: int) -> SobolIndices:
    """Of values at the points of a saltelli design; points of which any of the values is missing are left out."""
    if not 0 < confidence < 1:
        raise ValueError(f"sobol: confidence is {confidence}; expected a number between 0 and 1")
    blocks = values.reshape(len(names) + 2, -1)
    all_points, blocks = blocks.shape[1], blocks[:, np.isfinite(blocks).all(axis=0)]
    n = blocks.shape[1]
    if n < 2:
        raise ValueError(f"sobol: {n} points have all their values; expected two or more")
    if not np.ptp(blocks[:2]) > 0:
        raise ValueError("sobol: the quantity is the same at all points; no parameter has an influence")
    first, total = _indices(blocks)
    rng = np.random.default_rng(seed)
    again = [_indices(blocks[:, rng.integers(n, size=n)]) for _ in range(RESAMPLES)]
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    errors = [np.ptp(np.quantile([one[k] for one in again], tails, axis=0), axis=0) / 2 for k in range(2)]
    return SobolIndices(tuple(names), first, total, errors[0], errors[1], confidence, n, all_points - n)


def _indices(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centered = blocks - blocks[:2].mean()
    A, B, mixed = centered[0], centered[1], centered[2:]
    variance = centered[:2].var()
    if variance == 0:
        return np.zeros(len(mixed)), np.zeros(len(mixed))
    return (B * (mixed - A)).mean(axis=1) / variance, ((A - mixed) ** 2).mean(axis=1) / (2 * variance)
