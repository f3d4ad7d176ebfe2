"""How far hot kernels are from the processor's limit: counted operations a second, against fused multiply-adds.

    python -m benchmarks.processor_limit

Operations (additions, multiplications, divisions, square roots) are counted by running the kernels themselves, not
compiled, on numbers that count. The limit is a loop of independent fused multiply-adds on the same lanes, two
operations each. Sines and cosines are not counted, so the shares are a little low.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.representations import Counted, Pattern, counted_sincos, system

KERNELS = ("inverse dynamics", "forward dynamics", "mass matrix, lower triangle", "derivatives of inverse dynamics")
CHAINS = (7, 30)
STATES = 2000
ROUNDS = 7
CHAINED = 12  # accumulators: more than a fused multiply-add takes cycles, times two units
HEAD = ["kernel, four states at a time", "operations a state", "ns a state", "operations a second", "of the limit"]


def algorithms() -> dict[str, Any]:
    from chasles.relative import forward, inverse, mass
    from chasles.relative.derivative import inverse as slopes

    found = (inverse.inverse_dynamics, forward.forward_dynamics, mass.packed_mass_matrix, slopes.inverse_derivatives)
    return dict(zip(KERNELS, found, strict=True))


def sizes_of(links: int) -> dict[str, int]:
    return {"nq": links, "nv": links, "links": links, "slots": links + 1, "packed": links * (links + 1) // 2}


def count() -> None:
    """Print, as JSON, the operations of one state by kernel and chain. The compiler is switched off."""
    from chasles.relative import joint
    from chasles.relative.algorithm import evaluate
    from chasles.relative.tree import build

    joint.sincos = counted_sincos
    result: dict[str, dict[str, int]] = {}
    for name, algorithm in algorithms().items():
        result[name] = {}
        for links in CHAINS:
            tree, rng = build(system(f"chain {links}")), np.random.default_rng(2)
            arrays: list[Any] = []
            for key, argument in algorithm.arguments.items():
                size = evaluate(argument.size, sizes_of(links)) if argument.size else 0
                values = [Counted(x) for x in rng.normal(size=size)]
                arrays.append(np.array([] if key == "wrenches" else values, dtype=object))
            work = np.array([Counted(0.0)] * evaluate(algorithm.work, sizes_of(links)), dtype=object)
            Counted.operations = Counter()
            algorithm.kernel(tree.topology, tree.numbers.astype(object), *arrays, work, Pattern())
            result[name][str(links)] = sum(Counted.operations.values())
    print(json.dumps(result))


def counts() -> dict[str, dict[str, int]]:
    code = "from benchmarks import processor_limit; processor_limit.count()"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout))


def limit() -> float:
    """Operations a second of fused multiply-adds on lanes that do not wait for each other."""
    from chasles.kernel.face import compile_text
    from chasles.kernel.lanes import WIDTH, fma, lane, lanes_of
    from chasles.kernel.policy import kernel

    names = [f"x{k}" for k in range(CHAINED)]
    lines = [f"    {name} = lanes_of(start + {k})" for k, name in enumerate(names)]
    lines += ["    a, b = lanes_of(factor), lanes_of(start)", "    for i in range(count):"]
    lines += [f"        {name} = fma({name}, a, b)" for name in names]
    text = "\n".join(["def loop(count, start, factor):", *lines, f"    return lane({' + '.join(names)}, 0)"])
    scope = {"__name__": __name__, "fma": fma, "lanes_of": lanes_of, "lane": lane}
    loop = kernel(entry=True)(compile_text(text, "loop", scope))
    loop(10, 1.0, 0.5)
    turns, best = 2_000_000, np.inf
    for _ in range(ROUNDS):
        began = time.process_time()
        loop(turns, 1.0, 0.5)
        best = min(best, time.process_time() - began)
    return 2 * WIDTH * CHAINED * turns / best


def measured() -> dict[str, dict[int, float]]:
    """Seconds a state of each kernel on lanes, by chain."""
    from chasles.relative.algorithm import evaluate
    from chasles.relative.mechanism import Mechanism

    result: dict[str, dict[int, float]] = {name: {} for name in KERNELS}
    for links in CHAINS:
        tree, rng = Mechanism(system(f"chain {links}")), np.random.default_rng(3)
        for name, algorithm in algorithms().items():
            arrays = []
            for key, argument in algorithm.arguments.items():
                size = 0 if key == "wrenches" else evaluate(argument.size, sizes_of(links))
                arrays.append(rng.normal(size=STATES * size))
            space = algorithm.space(sizes_of(links), lanes=True)
            best = np.inf
            for _ in range(ROUNDS):
                began = time.process_time()
                algorithm.lanes(tree.tree.topology, tree.tree.numbers, STATES, *arrays, space)
                best = min(best, time.process_time() - began)
            result[name][links] = best / STATES
    return result


def rows() -> tuple[list[list[str]], float]:
    """Lines of the table, and the limit [operations a second]."""
    operations, most, times = counts(), limit(), measured()
    lines = []
    for name in KERNELS:
        for links in CHAINS:
            number, seconds = operations[name][str(links)], times[name][links]
            rate = number / seconds
            cells = [f"{name}, chain of {links}", str(number), f"{1e9 * seconds:.0f}", f"{rate / 1e9:.1f}e9"]
            lines.append([*cells, f"{rate / most:.0%}"])
    return lines, most


def main() -> None:
    lines, most = rows()
    print(page.table(HEAD, lines))
    print(f"limit: {most / 1e9:.1f}e9 operations a second; load average {page.load()}")


if __name__ == "__main__":
    main()
