"""From a kernel on one state to loops over batches: one source, compiled for one state and for lanes.

    @algorithm(work=..., q="nq", v="nv", tau=out("nv"))
    def kernel(topology, numbers, q, v, tau, work, z): ...

The kernel reads and writes buffers of scalars or of lanes, by the type of `z`. The loops bring rows of a batch into such
buffers and the results back. They are made from a text template, because Numba cannot cache functions that close over
another function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import types

from chasles.kernel.face import compile_text
from chasles.kernel.lanes import WIDTH, lanes_of, load, store
from chasles.kernel.lanes import buffer as lane_buffer
from chasles.kernel.policy import kernel
from chasles.kernel.rows import load_rows, store_rows


@kernel
def row_in(source, start, size, target):
    for k in range(size):
        target[k] = source[start + k]


@kernel
def row_out(target, start, size, source):
    for k in range(size):
        target[start + k] = source[k]


@kernel
def rows_in(source, start, size, target):
    """Four rows of a batch into a buffer of lanes."""
    k = 0
    while k + 4 <= size:
        square = load_rows(source, start + k, size, 4)
        store(target, k, square[0])
        store(target, k + 1, square[1])
        store(target, k + 2, square[2])
        store(target, k + 3, square[3])
        k += 4
    while k < size:
        store(target, k, load_rows(source, start + k, size, 1)[0])
        k += 1


@kernel
def rows_out(target, start, size, source):
    """A buffer of lanes into four rows of a batch."""
    z = lanes_of(0.0)
    k = 0
    while k + 4 <= size:
        square = (load(source, k, z), load(source, k + 1, z), load(source, k + 2, z), load(source, k + 3, z))
        store_rows(target, start + k, size, square)
        k += 4
    while k < size:
        store_rows(target, start + k, size, (load(source, k, z),))
        k += 1


@dataclass(frozen=True)
class Output:
    """Marks an argument of an algorithm that is a result."""

    size: str


def out(size: str) -> Output:
    return Output(size)


class Algorithm:
    """A kernel on one state of a tree with its compiled loops.

    `sizes` gives, for each array, how many numbers a state has: an expression in nq, nv, links. An input may be empty
    where the kernel allows it. `work` is the same for the workspace.
    """

    def __init__(self, function: Callable, work: str, sizes: dict[str, str | Output]):
        self.kernel = kernel(function)
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.inputs = {name: size for name, size in sizes.items() if isinstance(size, str)}
        self.outputs = {name: size.size for name, size in sizes.items() if isinstance(size, Output)}
        self.work = work
        self.scalar, self.lanes = self._loop("scalar"), self._loop("lanes")

    def _loop(self, mode: str) -> Any:
        names = [*self.inputs, *self.outputs]
        array = ", ".join(names)
        step, one = (WIDTH, "lanes_of(0.0)") if mode == "lanes" else (1, "0.0")
        rows = "rows" if mode == "lanes" else "row"
        lines = [f"def {self.__name__}_{mode}(topology, numbers, count, {array}, space):", f"    z, at = {one}, 0"]
        for name in names:
            lines += [
                f"    n_{name} = {name}.shape[0] // count",
                f"    b_{name} = space[at : at + {step} * n_{name}]",
                f"    at += {step} * n_{name}",
            ]
        lines += ["    work = space[at:]", "    i = 0", "    while True:"]
        lines += [f"        {rows}_in({name}, i * n_{name}, n_{name}, b_{name})" for name in self.inputs]
        buffers = ", ".join(f"b_{name}" for name in names)
        lines += [f"        function(topology, numbers, {buffers}, work, z)"]
        lines += [f"        {rows}_out({name}, i * n_{name}, n_{name}, b_{name})" for name in self.outputs]
        # the last four rows overlap those before them
        lines += [f"        if i >= count - {step}:", "            return", f"        i = min(i + {step}, count - {step})"]
        scope = {"__name__": self.__module__, "function": self.kernel, "lanes_of": lanes_of}
        scope |= {"row_in": row_in, "row_out": row_out, "rows_in": rows_in, "rows_out": rows_out}
        return kernel(entry=True)(compile_text("\n".join(lines) + "\n", f"{self.__name__}_{mode}", scope))

    def compile(self, lanes: bool = False) -> None:
        """Compile a loop now, or load it from the cache."""
        reals, whole = types.float64[::1], types.int64
        arrays = (reals,) * (len(self.inputs) + len(self.outputs) + 1)
        (self.lanes if lanes else self.scalar).compile((types.int64[::1], reals, whole, *arrays))

    def space(self, sizes: dict[str, int], lanes: bool = False) -> np.ndarray:
        """A buffer for everything that the loop needs; not to be shared between threads."""
        total = sum(evaluate(size, sizes) for size in (*self.inputs.values(), *self.outputs.values(), self.work))
        return lane_buffer(total if lanes else -(-total // WIDTH))


def evaluate(size: str, sizes: dict[str, int]) -> int:
    """A size such as "nv", "nv*nv" or "6*links" as a number."""
    product = 1
    for factor in size.split("*"):
        product *= int(factor) if factor.isdigit() else sizes[factor]
    return product


def algorithm(*, work: str, **sizes: str | Output) -> Callable[[Callable], Algorithm]:
    """Decorator: compile a kernel on one state and make its loops. Keywords name its arrays, in order."""
    return lambda function: Algorithm(function, work, sizes)
