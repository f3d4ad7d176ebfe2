"""What sensitivities cost: processor time of all derivatives of a run, as multiples of the run itself.

Run: python -m benchmarks.sensitivity_cost. Prints the table of docs/sensitivities.md.

Runs and derivatives are measured in turn in one process and one thread, and the best of several repetitions counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import page
from tests.relative import models

REPETITIONS = 7
STEPS, STEP = 400, 1e-3
METHODS = {"RKMK rk4": ch.integrate.RKMK("rk4"), "commutator-free cf4": ch.integrate.CommutatorFree("cf4")}


def best(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(REPETITIONS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def row(model: str, method: str) -> list[str]:
    """Multiples of the run for three directions and for all, and of a central difference for as many."""
    mechanism = ch.Mechanism(models.system_of(models.MODELS[model]()))
    rng = np.random.default_rng(1)
    q, v = models.coordinates(mechanism, rng), 0.3 * rng.normal(size=mechanism.nv)
    options: dict[str, Any] = {"method": METHODS[method], "step": STEP, "save": "final"}
    span, nv = (0.0, STEPS * STEP), mechanism.nv
    three = np.eye(2 * nv)[:, :3]
    plain = best(lambda: ch.simulate(mechanism, span, q, v, progress=False, **options))
    few = best(lambda: ch.sensitivities(mechanism, span, q, v, directions=three, threads=1, **options))
    every = best(lambda: ch.sensitivities(mechanism, span, q, v, threads=1, **options))
    cells = [f"{few / plain:.1f}", f"{every / plain:.0f}", f"{1 + 2 * 2 * nv}"]
    return [f"{model}, {method}", str(2 * nv), f"{plain / STEPS * 1e6:.2f}", *cells]


def measured() -> str:
    """The table of docs/sensitivities.md."""
    header = ["Model, method", "states", "step [µs]", "3 directions", "all states", "all by central differences"]
    return page.table(header, [row(model, method) for model in models.MODELS for method in METHODS])


def main() -> None:
    print(measured())


if __name__ == "__main__":
    main()
