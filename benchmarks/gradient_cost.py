"""What a gradient costs beside its run: `python -m benchmarks.gradient_cost`."""

from __future__ import annotations

import time

import numpy as np

import chasles as ch

STEPS, REPEATS = 1000, 15


def arm(count: int = 7) -> ch.System:
    """An arm of revolute joints about z and y in turn."""
    bodies = [ch.Body(f"link {k}", 2.0 - 0.2 * k, (0.02, 0.01, 0.15), (0.02, 0.02, 0.005)) for k in range(count)]
    joints = [
        ch.revolute(
            *(f"joint {k}", f"link {k - 1}" if k else "ground", f"link {k}"),
            axis=(0, k % 2, 1 - k % 2),
            at=(0, 0, 0.3 if k else 0.0),
        )
        for k in range(count)
    ]
    return ch.System(bodies, joints, name="arm")


def cost(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return (q * q).sum(axis=-1) + 0.1 * (v * v).sum(axis=-1)


def measured() -> tuple[float, float, int]:
    """Least times of pairs, a run and its gradient [s], and by how many numbers."""
    mechanism, rng = arm().compile(), np.random.default_rng(0)
    q, v = rng.normal(size=(2, mechanism.nv))
    total = ch.objective.integral(cost) + ch.objective.end(cost)
    runs, gradients = [], []
    for _ in range(REPEATS):
        begin = time.process_time()
        run = ch.simulate(mechanism, (0.0, 1.0), q, v, method="rk4", step=1.0 / STEPS, control=np.zeros(mechanism.nv))
        middle = time.process_time()
        found = ch.gradient(run, total, by=("q", "v", "inputs", "bodies", "gravity"))
        runs.append(middle - begin)
        gradients.append(time.process_time() - middle)
    return min(runs), min(gradients), sum(part.size for part in found.parts.values())


def main() -> None:
    run, gradient, count = measured()
    print(f"{STEPS} steps, {count} numbers: run {1e3 * run:.2f} ms, gradient {1e3 * gradient:.2f} ms")
    print(f"gradient / run: {gradient / run:.2f}")


if __name__ == "__main__":
    main()
