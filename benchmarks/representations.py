"""Inverse dynamics in four representations: operations counted and time measured.

Run: python -m benchmarks.representations. It prints a page.

mueller2018 section 4 counts frame transformations and Lie brackets and calls a comparison due. Operations are counted
by running the kernels themselves, uncompiled, on numbers that count (in a process with the compiler switched off).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from typing import Any, ClassVar

import numpy as np

from benchmarks import page
from chasles.model.body import Body
from chasles.model.joint import free, revolute
from chasles.model.system import System
from chasles.relative import inverse, inverse_hybrid, inverse_mixed, inverse_spatial, joint
from chasles.relative.tree import build

RECURSIONS = {
    "body": inverse.inverse_dynamics,
    "spatial": inverse_spatial.inverse_dynamics_spatial,
    "hybrid": inverse_hybrid.inverse_dynamics_hybrid,
    "mixed": inverse_mixed.inverse_dynamics_mixed,
}
COMMAND = "python -m benchmarks.representations"
REPETITIONS = 31
STATES = 400
FUNCTIONS = {  # kernels whose calls are counted, by what they are on the page
    "rotations of a vector": ("mul", "mul_t"),
    "products of rotations": ("mat_mul",),
    "rotations of an inertia": ("rotate_symmetric",),
    "cross products": ("cross",),
}


def system(kind: str) -> System:
    """A chain of revolute joints ("chain 7"), or a tree on a free base ("floating 30"), with generic geometry."""
    name, size = kind.split()
    rng, bodies, joints = np.random.default_rng(1), [], []
    for k in range(int(size)):
        bodies.append(Body(f"b{k}", rng.uniform(1, 2), rng.normal(size=3) * 0.1, rng.uniform(0.8, 1.0, 3) * 0.1))
        parent = "ground" if k == 0 else f"b{k - 1 if name == 'chain' else rng.integers(max(0, k - 5), k)}"
        if k == 0 and name == "floating":
            joints.append(free("j0", parent, "b0"))
        else:
            joints.append(revolute(f"j{k}", parent, f"b{k}", axis=rng.normal(size=3), at=rng.normal(size=3) * 0.3))
    return System(bodies, joints)


# ---------------------------------------------------------------- counting


class Counted:
    """A number that counts the operations on it."""

    operations: ClassVar[Counter[str]] = Counter()

    def __init__(self, value: float):
        self.value = value

    def _combined(self, name: str, other: Any, value: float) -> Counted:
        Counted.operations[name] += 1
        return Counted(value)

    def __add__(self, other: Any) -> Counted:
        if isinstance(other, Pattern):
            return self
        return self._combined("additions", other, self.value + float(other))

    def __sub__(self, other: Any) -> Counted:
        return self._combined("additions", other, self.value - float(other))

    def __rsub__(self, other: Any) -> Counted:
        return self._combined("additions", other, float(other) - self.value)

    def __mul__(self, other: Any) -> Counted:
        return self._combined("multiplications", other, self.value * float(other))

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Counted:
        return self._combined("divisions", other, self.value / float(other))

    def __rtruediv__(self, other: Any) -> Counted:
        return self._combined("divisions", other, float(other) / self.value)

    def __neg__(self) -> Counted:
        return Counted(-self.value)

    def __float__(self) -> float:
        return self.value


class Pattern:
    """The pattern of a scalar, z: `like` computes value + 0.0 z with it, which is no operation when compiled."""

    def __rmul__(self, other: float) -> Pattern:
        return self

    def __radd__(self, other: Any) -> Counted:
        return other if isinstance(other, Counted) else Counted(float(other))


def counted_sincos(angle: Counted) -> tuple[Counted, Counted]:
    return Counted(float(np.sin(angle.value))), Counted(float(np.cos(angle.value)))


def operations(representation: str, links: int) -> Counter[str]:
    """Calls and operations of one evaluation on a chain."""
    joint.sincos = counted_sincos
    tree = build(system(f"chain {links}"))
    rng = np.random.default_rng(2)
    q, v, a = (np.array([Counted(x) for x in rng.normal(size=links)], dtype=object) for _ in range(3))
    algorithm = RECURSIONS[representation]
    tau, work = np.empty(links, dtype=object), np.empty(10_000 * (links + 1), dtype=object)
    Counted.operations = Counter()
    names = {name: what for what, group in FUNCTIONS.items() for name in group}

    def watch(frame, event, argument):
        if event == "call" and frame.f_code.co_name in names:
            Counted.operations[names[frame.f_code.co_name]] += 1

    sys.setprofile(watch)
    algorithm.kernel(
        *(tree.topology, tree.numbers.astype(object), q, v, a),
        np.empty(0, dtype=object),
        tau,
        work,
        Pattern(),
    )
    sys.setprofile(None)
    return Counted.operations


def count() -> None:
    """Print, as JSON, what a link in the middle of a chain adds."""
    few, many = 4, 14
    result = {}
    for representation in RECURSIONS:
        less, more = operations(representation, few), operations(representation, many)
        result[representation] = {name: (more[name] - less[name]) / (many - few) for name in more}
    print(json.dumps(result))


def counts() -> dict[str, dict[str, float]]:
    """The counts, from a process without the compiler."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    code = "from benchmarks import representations; representations.count()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# ---------------------------------------------------------------- time


def times(kind: str, lanes: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Nanoseconds a state, and the largest deviation from the body representation, by representation."""
    from chasles.relative.mechanism import Mechanism  # not at the top: it needs the compiler

    tree, rng = Mechanism(system(kind)), np.random.default_rng(3)
    q, v, a = tree.random(rng, (STATES,)), rng.normal(size=(STATES, tree.nv)), rng.normal(size=(STATES, tree.nv))
    loops, results = {}, {}
    for name, algorithm in RECURSIONS.items():
        results[name] = np.zeros(STATES * tree.nv)
        loop = algorithm.lanes if lanes else algorithm.scalar
        arrays = (
            q.ravel(),
            v.ravel(),
            a.ravel(),
            np.empty(0),
            results[name],
            algorithm.space(tree.tables.sizes, lanes),
        )
        loops[name] = partial(loop, tree.tree.topology, tree.tree.numbers, STATES, *arrays)
    samples: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(REPETITIONS):
        for name, run in loops.items():
            run()  # not timed: caches as the loop itself leaves them
            start = time.perf_counter()
            run()
            samples[name].append((time.perf_counter() - start) / STATES * 1e9)
    size = np.abs(results["body"]).max()
    return (
        {name: statistics.median(values) for name, values in samples.items()},
        {name: float(np.abs(result - results["body"]).max() / size) for name, result in results.items()},
    )


def main() -> None:
    found = counts()
    rows = [*FUNCTIONS, "multiplications", "additions"]
    table = [[row, *(f"{found[name].get(row, 0):.0f}" for name in RECURSIONS)] for row in rows]
    speed, deviation = [], dict.fromkeys(RECURSIONS, 0.0)
    for kind in ("chain 7", "floating 30", "chain 100"):
        for lanes in (False, True):
            measured, off = times(kind, lanes)
            best = min(measured.values())
            speed.append(
                [
                    f"{kind}, {'lanes' if lanes else 'one state'}",
                    *(f"{value:.0f} ({value / best:.2f})" for value in measured.values()),
                ]
            )
            deviation = {name: max(deviation[name], off[name]) for name in off}
    page.show(
        "representations.md",
        command=COMMAND,
        machine=page.machine(),
        load=page.load(),
        tools=page.versions("chasles", "numba", "numpy"),
        operations=page.table(["A link adds", *RECURSIONS], table),
        speed=page.table(["ns a state (ratio to the fastest)", *RECURSIONS], speed),
        deviations=", ".join(f"{name} {value:.0e}" for name, value in deviation.items() if name != "body"),
        states=STATES,
        repetitions=REPETITIONS,
    )


if __name__ == "__main__":
    main()
