"""What a gradient costs beside its run: `python -m benchmarks.gradient_cost`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import chasles as ch

STEPS, REPEATS = 1000, 15
Z = (0.0, 0.0, 1.0)
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


def four_bars(masses: np.ndarray, lengths: np.ndarray) -> ch.System:
    """A row of four-bars, one hung on the coupler of another: of three rods each, with these masses and lengths."""
    bodies: list[ch.Body] = []
    joints: list[Any] = []
    for k, ((crank, coupler, rocker), mass) in enumerate(zip(lengths, masses, strict=True)):
        parent, at = (f"coupler {k - 1}", lengths[k - 1, 1]) if k else ("ground", 0.0)
        names = [f"{name} {k}" for name in ("crank", "coupler", "rocker")]
        for name, size, weight in zip(names, lengths[k], mass, strict=True):
            turning = weight * np.array([0.01, size**2 / 12, size**2 / 12])
            bodies.append(ch.Body(name, weight, (size / 2, 0, 0), turning))
        joints += [
            ch.revolute(f"A{k}", parent, names[0], axis=Z, at=(at, 0, 0)),
            ch.revolute(f"B{k}", names[0], names[1], axis=Z, at=(crank, 0, 0)),
            ch.revolute(f"D{k}", parent, names[2], axis=Z, at=(at + 0.7, 0, 0)),
            ch.revolute(f"C{k}", names[1], names[2], axis=Z, at=(coupler, 0, 0), child_at=(rocker, 0, 0)),
        ]
    return ch.System(bodies, joints, gravity=(0, -9.81, 0), name=f"{len(lengths)} four-bars")


def measured() -> tuple[float, float, int]:
    """Least times of pairs, a run and its gradient [s], and by how many numbers."""
    mechanism, rng = arm().compile(), np.random.default_rng(0)
    q, v = rng.normal(size=(2, mechanism.nv))
    return timed(mechanism, q, v, 1.0, ("q", "v", "inputs", "bodies", "gravity"), REPEATS)


def of_loops(count: int) -> list[tuple[float, float, int]]:
    """The same of a row of four-bars: by the start and the inputs, then by bodies and gravity too, then by all masses
    and lengths as parameters."""
    values: dict[str, Any] = {"masses": np.ones((count, 3)), "lengths": np.tile([0.3, 0.8, 0.6], (count, 1))}
    mechanism: Any = four_bars(**values).compile()
    near = mechanism.neutral()
    for k in range(count):
        for name, angle in zip("ABD", (0.8, -0.2, 1.4), strict=True):
            near[mechanism.tree.coordinates[f"{name}{k}"]] = angle
    q = mechanism.assemble(near)
    v = mechanism.consistent_velocities(q, np.ones(mechanism.nv))
    given = mechanism, q, v, 0.2
    own = "q", "v", "inputs"
    return [
        timed(*given, own, 3),
        timed(*given, (*own, "bodies", "gravity"), 3),
        timed(*given, (*own, *values), 3, system=four_bars, parameters=values),
    ]


def timed(
    mechanism: Any, q: np.ndarray, v: np.ndarray, span: float, by: tuple[str, ...], repeats: int, **more: Any
) -> tuple[float, float, int]:
    """Least times of pairs, a run of so many seconds and its gradient [s], and by how many numbers."""
    total = ch.objective.integral(cost) + ch.objective.end(cost)
    control, runs, gradients = np.zeros(mechanism.nv), [], []
    for _ in range(repeats):
        begin = time.process_time()
        run = ch.simulate(mechanism, (0.0, span), q, v, method="rk4", step=span / STEPS, control=control)
        middle = time.process_time()
        found = ch.gradient(run, total, by=by, **more)
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
    lines = {"arm": [measured()]} | {f"{count} four-bars": of_loops(count) for count in (1, 10)}
    for name, figures in lines.items():
        for run, gradient, count in figures:
            print(
                f"{name}: {STEPS} steps, {count} numbers: run {1e3 * run:.2f} ms, gradient {1e3 * gradient:.2f} ms; "
                f"gradient / run: {gradient / run:.2f}"
            )
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
