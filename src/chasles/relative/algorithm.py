"""From a kernel on one state to loops over batches: one source, compiled for one state and for lanes.

    @algorithm(work="27*slots", q="nq", v="nv", tau=out("nv"))
    def function(topology, numbers, q, v, tau, work, z): ...

The kernel reads and writes buffers of scalars or of lanes, by the type of `z`. The loops bring rows of a batch into
such buffers and the results back. They are made from a text template, because Numba cannot cache functions that close
over another function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.kernel.address import INTEGER, INTEGER_ARRAY, NUMBER_ARRAY
from chasles.kernel.face import compile_text
from chasles.kernel.lanes import WIDTH, lanes_of, load, store
from chasles.kernel.lanes import buffer as lane_buffer
from chasles.kernel.machine_code import Compiled
from chasles.kernel.policy import COMPILED, kernel
from chasles.kernel.rows import load_rows, store_rows

FEW = 4096  # links or results times states below which states go one by one: half a millisecond
PATIENCE = 1000  # times that many go one by one before code for lanes is compiled: half a second, which it takes too


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
class Argument:
    """What an array of an algorithm is: "in", "out", or "fixed", the same for all states (then `whole`: integers)."""

    role: str
    size: str = ""
    whole: bool = False


def out(size: str) -> Argument:
    """A result with so many numbers a state."""
    return Argument("out", size)


def fixed(whole: bool = False) -> Argument:
    """An array that is the same for all states: of integers if `whole`, else of floats."""
    return Argument("fixed", whole=whole)


class Algorithm:
    """A kernel on one state of a tree with its compiled loops.

    The size of an array says how many numbers a state has, in terms of nq, nv, links and slots (links and
    ground), by sums of products. An input may be empty where the kernel allows it. `work` is the size of the workspace.
    `fours`: whether there is a loop over states by fours; a kernel that itself uses lanes has none.
    """

    def __init__(self, function: Callable, work: str, arrays: dict[str, str | Argument], fours: bool = True):
        self.kernel = kernel(function)
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.arguments = {
            name: Argument("in", value) if isinstance(value, str) else value for name, value in arrays.items()
        }
        self.work, self.fours = work, fours
        self.inputs, self.outputs = self._names("in"), self._names("out")
        self._pace: dict[bool, float] = {}  # seconds for a state and link, on lanes and not
        self._waited = 0  # work that went one by one because there was no code for lanes yet

    @cached_property
    def scalar(self) -> Any:
        """The loop over states one by one, made when it is first used."""
        return self._loop("scalar")

    @cached_property
    def lanes(self) -> Any:
        """The loop over states by fours."""
        return self._loop("lanes")

    def _names(self, role: str) -> list[str]:
        return [name for name, argument in self.arguments.items() if argument.role == role]

    def _loop(self, mode: str) -> Any:
        """The loop as text. On lanes rows go through buffers; a single state is worked on where it is."""
        lanes = mode == "lanes"
        step, one = (WIDTH, "lanes_of(0.0)") if lanes else (1, "0.0")
        inputs, outputs = self.inputs, self.outputs
        arrays = ", ".join(self.arguments)
        lines = [f"def {self.__name__}_{mode}(topology, numbers, count, {arrays}, space):", f"    z, at = {one}, 0"]
        lines += [f"    n_{name} = {name}.shape[0] // count" for name in (*inputs, *outputs)]
        if lanes:
            for name in (*inputs, *outputs):
                lines += [f"    b_{name} = space[at : at + {step} * n_{name}]", f"    at += {step} * n_{name}"]
        lines += ["    work = space[at:]", "    i = 0", "    while True:"]
        if lanes:
            lines += [f"        rows_in({name}, i * n_{name}, n_{name}, b_{name})" for name in inputs]
        else:
            lines += [f"        b_{name} = {name}[i * n_{name} : (i + 1) * n_{name}]" for name in (*inputs, *outputs)]
        given = ", ".join(
            name if argument.role == "fixed" else f"b_{name}" for name, argument in self.arguments.items()
        )
        lines += [f"        function(topology, numbers, {given}, work, z)"]
        if lanes:
            lines += [f"        rows_out({name}, i * n_{name}, n_{name}, b_{name})" for name in outputs]
        # the last four rows overlap those before them
        lines += [
            f"        if i >= count - {step}:",
            "            return",
            f"        i = min(i + {step}, count - {step})",
        ]
        scope = {"__name__": self.__module__, "function": self.kernel, "lanes_of": lanes_of}
        scope |= {"rows_in": rows_in, "rows_out": rows_out}
        return kernel(entry=True)(compile_text("\n".join(lines) + "\n", f"{self.__name__}_{mode}", scope))

    def _kinds(self) -> tuple[str, ...]:
        """The kinds of the arguments of its loops."""
        arrays = [INTEGER_ARRAY if argument.whole else NUMBER_ARRAY for argument in self.arguments.values()]
        return (INTEGER_ARRAY, NUMBER_ARRAY, INTEGER, *arrays, NUMBER_ARRAY)

    def compile(self, lanes: bool = False) -> None:
        """Compile a loop now, or load it from the cache."""
        (self.lanes if lanes else self.scalar).compile(self._kinds())

    def _on_lanes(self, count: int, work: int) -> bool:
        """Whether states run by fours: if they are many, and there is code for it or enough was done to compile it.
        Results have the same bits in both ways."""
        if not (COMPILED and self.fours and count >= WIDTH and work >= FEW):
            return False
        kept = isinstance(self.lanes, Compiled)  # else each process compiles anyway
        if not kept or self._waited + work >= PATIENCE * FEW or self.lanes.at_hand(self._kinds()):
            return True
        self._waited += work
        return False

    def space(self, sizes: dict[str, int], lanes: bool = False) -> np.ndarray:
        """A buffer for all that a loop needs; not to be shared between threads."""
        total = evaluate(self.work, sizes)
        if lanes:  # arrays of a single state are worked on where they are
            total += sum(evaluate(x.size, sizes) for x in self.arguments.values() if x.role != "fixed")
        return lane_buffer(total if lanes else -(-total // WIDTH))

    def run(
        self,
        topology: np.ndarray,
        numbers: np.ndarray,
        sizes: dict[str, int],
        count: int,
        arrays: dict[str, np.ndarray],
        threads: int = 1,
    ) -> list[np.ndarray]:
        """The results of `count` states, each (count, size); inputs are flat, with one row a state.

        Many states run on lanes, four at once; on several threads if, by the time that the states before them took, the
        work is worth it.
        """
        from chasles.relative.sharing import shared  # not at the top: kernels do not depend on it

        results = [np.zeros((count, evaluate(self.arguments[name].size, sizes))) for name in self.outputs]
        every = {**arrays, **{name: result.reshape(-1) for name, result in zip(self.outputs, results, strict=True)}}
        work = count * max(sizes["links"], sum(result.shape[1] for result in results))
        lanes = self._on_lanes(count, work)
        loop = self.lanes if lanes else self.scalar  # made before several threads ask for it

        def part(first: int, last: int) -> None:
            rows = [
                array if self.arguments[name].role == "fixed" else _rows(array, count, first, last)
                for name, array in ((name, every[name]) for name in self.arguments)
            ]
            loop(topology, numbers, last - first, *rows, self.space(sizes, lanes))

        if threads > 1:
            shared(part, count, work, threads, self._pace, lanes)
        elif count:
            part(0, count)
        return results


class OneState:
    """An algorithm on one state of one mechanism, with all that does not change prepared: some microseconds a call."""

    def __init__(self, algorithm: Algorithm, sizes: dict[str, int]):
        self._algorithm, self._sizes = algorithm, sizes
        self._results = [(name, evaluate(algorithm.arguments[name].size, sizes)) for name in algorithm.outputs]
        self._spaces: list[np.ndarray] = []  # not in use; several threads may call at once

    def run(self, topology: np.ndarray, numbers: np.ndarray, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The results, each (1, size)."""
        results = [np.zeros((1, size)) for _, size in self._results]
        every = dict(arrays)
        for (name, _), result in zip(self._results, results, strict=True):
            every[name] = result[0]
        try:
            space = self._spaces.pop()
        except IndexError:
            space = self._algorithm.space(self._sizes)
        self._algorithm.scalar(topology, numbers, 1, *[every[name] for name in self._algorithm.arguments], space)
        self._spaces.append(space)
        return results


def _rows(array: np.ndarray, count: int, first: int, last: int) -> np.ndarray:
    size = array.size // count
    return array[first * size : last * size]


def evaluate(size: str, sizes: dict[str, int]) -> int:
    """A size such as "nv", "nv*nv" or "22*slots+6*nv" as a number."""
    total = 0
    for number, names in _terms(size):
        for name in names:
            number *= sizes[name]
        total += number
    return total


@functools.cache
def _terms(size: str) -> list[tuple[int, list[str]]]:
    """The products that a size is the sum of: a number and names."""
    terms = []
    for term in size.split("+"):
        factors = term.split("*")
        numbers = [int(factor) for factor in factors if factor.isdigit()]
        terms.append((math.prod(numbers), [factor for factor in factors if not factor.isdigit()]))
    return terms


def algorithm(*, work: str, fours: bool = True, **arrays: str | Argument) -> Callable[[Callable], Algorithm]:
    """Decorator: compile a kernel on one state and make its loops. Keywords name its arrays, in order."""
    return lambda function: Algorithm(function, work, arrays, fours)
