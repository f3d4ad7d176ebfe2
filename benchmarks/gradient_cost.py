"""What a gradient costs beside its run: `python -m benchmarks.gradient_cost`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import chasles as ch

STEPS, REPEATS = 1000, 15
JOINTS = 7
# numbers of each link and its joint; the first two alone are few parameters, all of them many
NUMBERS: dict[str, Any] = {
    "mass": np.linspace(2.0, 1.0, JOINTS),
    "armature": np.full(JOINTS, 0.01),
    "com": np.tile([0.02, 0.01, 0.15], (JOINTS, 1)),
    "inertia": np.tile([0.02, 0.022, 0.005], (JOINTS, 1)),
    "at": np.tile([0.001, 0.002, 0.3], (JOINTS, 1)),
    "damping": np.full(JOINTS, 0.05),
    "stiffness": np.full(JOINTS, 0.5),
    "rest": np.full(JOINTS, 0.1),
}
METHODS = {"rk4": "rk4", "generalized alpha": ch.integrate.GeneralizedAlpha(rho=0.8)}


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


def arm_of(**numbers: np.ndarray) -> ch.System:
    """The same arm with numbers of its links and joints."""
    given = NUMBERS | numbers
    of_bodies, names = ("mass", "com", "inertia"), [f"link {k}" for k in range(JOINTS)]
    bodies = [ch.Body(name, **{key: given[key][k] for key in of_bodies}) for k, name in enumerate(names)]
    ends, others = ["ground", *names], [key for key in given if key not in of_bodies]
    joints = [
        ch.revolute(f"joint {k}", ends[k], name, axis=(0, k % 2, 1 - k % 2), **{key: given[key][k] for key in others})
        for k, name in enumerate(names)
    ]
    return ch.System(bodies, joints, name="arm")


def by_parameters(method: str, repeats: int = 5) -> dict[str, float]:
    """In absolute coordinates, processor times [s] of a run, and of its gradients by the initial state and the inputs,
    and by few and many parameters of a function."""
    q, v = np.random.default_rng(0).normal(size=(2, JOINTS))
    total = ch.objective.integral(cost) + ch.objective.end(cost)
    mechanism = arm_of().compile()
    more: Any = {"coordinates": "absolute", "method": METHODS[method], "step": 1.0 / STEPS, "certificate": False}
    few = {name: NUMBERS[name] for name in ("mass", "armature")}
    found: dict[str, list[float]] = {}

    def taken(name: str, function: Any, *given: Any, **options: Any) -> Any:
        begin = time.process_time()
        result = function(*given, **options)
        found.setdefault(name, []).append(time.process_time() - begin)
        return result

    for _ in range(repeats):
        run = taken("run", ch.simulate, mechanism, (0.0, 1.0), q, v, control=np.zeros(JOINTS), **more)
        taken("state", ch.gradient, run, total, by=("q", "v", "inputs"))
        for name, values in (("few", few), ("many", NUMBERS)):
            taken(name, ch.gradient, run, total, by=tuple(values), system=arm_of, parameters=values)
    return {name: min(times) for name, times in found.items()}


def count_of(names: tuple[str, ...] = tuple(NUMBERS)) -> int:
    return sum(np.size(NUMBERS[name]) for name in names)


def main() -> None:
    run, gradient, count = measured()
    print(f"{STEPS} steps, {count} numbers: run {1e3 * run:.2f} ms, gradient {1e3 * gradient:.2f} ms")
    print(f"gradient / run: {gradient / run:.2f}")
    few, many = count_of(("mass", "armature")), count_of()
    for method in METHODS:
        found = by_parameters(method)
        state, some, every = (found[name] / found["run"] for name in ("state", "few", "many"))
        print(
            f"absolute coordinates, {method}: run {1e3 * found['run']:.2f} ms, gradient / run: {state:.1f} by the "
            f"state and inputs, {some:.1f} by {few} parameters, {every:.1f} by {many}"
        )


if __name__ == "__main__":
    main()
