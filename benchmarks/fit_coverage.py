"""Identification of an arm with seven joints: how long 10 000 samples take, and how often intervals cover the truth.

python -m benchmarks.fit_coverage [repetitions]
"""

import sys
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import chasles as ch
from chasles.fit.by_regression import Regression

EXAMPLE: Any = import_module("examples.inertial_identification")
NOISE, TERMS = EXAMPLE.NOISE, EXAMPLE.TERMS
SAMPLES = 10_000


@dataclass
class Coverage:
    """What was measured: processor time of a fit, and how often each interval covers the truth."""

    seconds: float
    rank: int
    coverage: np.ndarray
    unseen: list[str]


def measured(repetitions: int) -> Coverage:
    rng = np.random.default_rng(0)
    arm = ch.Mechanism(EXAMPLE.system(rng))
    true, (q, v, a) = arm.parameters.inertial(TERMS), EXAMPLE.trajectory(rng, SAMPLES)
    matrix = arm.parameters.regressor(q, v, a, TERMS)
    clean = matrix @ true
    torques = clean + NOISE * rng.normal(size=clean.shape)
    fit = ch.fit.to_torques(arm, q, v, a, torques, joint_terms=TERMS)
    begin = time.process_time()
    fit = ch.fit.to_torques(arm, q, v, a, torques, joint_terms=TERMS)
    spent = time.process_time() - begin
    factors = [np.linalg.qr(matrix[:, k]) for k in range(arm.nv)]
    regression = Regression(fit.told, np.array([np.vstack([R, np.zeros(R.shape[1])]) for _, R in factors]))
    hits, wanted = np.zeros(fit.told.rank), fit.told.values(true)
    for _ in range(repetitions):  # of the noise, on the same motion: Q and R are those of above
        torques = clean + NOISE * rng.normal(size=clean.shape)
        along = np.array([Q.T @ torques[:, k] for k, (Q, _) in enumerate(factors)])
        outside = np.sqrt(np.sum(torques**2, axis=0) - np.sum(along**2, axis=1))
        base, covariance, _ = regression.solved(np.column_stack([along, outside]), SAMPLES)
        hits += np.abs(base - wanted) < 1.96 * np.sqrt(np.diag(covariance))
    return Coverage(spent, fit.told.rank, hits / repetitions, [fit.told.names[k] for k in fit.told.unseen])


def main(repetitions: int = 1000) -> None:
    found = measured(repetitions)
    part = found.coverage
    print(f"{SAMPLES} samples: {found.seconds:.2f} s of processor time; {found.rank} base parameters")
    print(
        f"95 % intervals cover in {part.mean():.2%} of {repetitions} repetitions ({part.min():.1%} to {part.max():.1%})"
    )
    print(f"not at all: {', '.join(found.unseen)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
