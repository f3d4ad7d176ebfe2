"""One kernel, two faces: a NumPy function that broadcasts over leading axes, and a kernel for compiled loops.

    @face(x=ROTATION_VECTOR, out=ROTATION)
    def exp(x): ...

makes `exp` callable from Python on arrays of any leading shape, with named errors for bad input. Other kernels call it
on tuples; there it is inlined and checks nothing.

From Python a batch runs on lanes, four elements at a time; the last block overlaps the one before it, so there is no
scalar remainder loop and one compilation serves every size. The loop is made from a text template, because Numba
cannot cache functions that close over another function.
"""

from __future__ import annotations

import inspect
import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.kernel.address import INTEGER, NUMBER_ARRAY
from chasles.kernel.lanes import WIDTH, all_true, fma, lane, lanes_of, maximum
from chasles.kernel.policy import COMPILED, INTERPRETED, Interpreted, kernel
from chasles.kernel.rows import load_rows, store_rows

TOLERANCE = 1e-8  # how far an argument may be off the group, and how near a singularity, before it is refused


@dataclass(frozen=True)
class Kind:
    """What an argument or a result is: its shape as an array, its form in kernels, what makes it valid.

    `unpack` turns the flat tuple of numbers into what kernels take, `pack` the reverse; `defect` is the square of the
    distance from the group.
    """

    name: str
    shape: tuple[int, ...]
    unpack: Callable | None = None
    pack: Callable | None = None
    defect: Callable | None = None
    expected: str = ""

    size: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "size", math.prod(self.shape))


@dataclass(frozen=True)
class Guard:
    """A condition on the arguments: `distance(*args)` from a singularity must exceed TOLERANCE."""

    distance: Callable
    found: str
    advice: str


@kernel
def _identity(flat):
    return flat


@kernel
def _single(flat):
    return flat[0]


@kernel
def _as_flat(value):
    return (value,)


def _finite_source(count: int) -> str:
    """Source of a kernel that is 0 for numbers whose sums of squares are finite, as all kernels need, and else NaN."""
    # times 1e155, not squared: a square would be shared with the kernel's own and keep it from being fused
    total = "0.0 * (1e155 * x[0])"
    for k in range(1, count):
        total = f"fma(0.0, 1e155 * x[{k}], {total})"
    return f"def finite(x):\n    return {total}\n"


def compile_text(text: str, name: str, scope: dict[str, Any]) -> Callable:
    """Define a function from text so that tracebacks can show it."""
    filename = f"<{scope['__name__']}.{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


_FINITE: dict[int, Any] = {}


def _finite(count: int) -> Any:
    if count not in _FINITE:
        scope = {"__name__": __name__, "fma": fma}
        _FINITE[count] = kernel(compile_text(_finite_source(count), "finite", scope))
    return _FINITE[count]


class Face:
    """A kernel with its NumPy function. Call it on arrays; inside a kernel, call it on tuples."""

    def __init__(self, function: Callable, kinds: dict[str, Kind], out: Kind | tuple[Kind, ...], guard: Guard | None):
        self.kernel = kernel(function)
        self.kinds, self.guard = tuple(kinds.items()), guard
        self.out = out if isinstance(out, tuple) else (out,)
        self._single_result = not isinstance(out, tuple)
        self.__doc__, self.__name__, self.__qualname__ = function.__doc__, function.__name__, function.__qualname__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in kinds]
        )
        self.label = f"{self.__module__.rpartition('.')[2]}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<chasles function {self.label}{self.__signature__}>"

    @cached_property
    def entry(self) -> Any:
        """The compiled loop over a batch (a Numba dispatcher), made when it is first used."""
        return self._make_loop() if COMPILED else None

    def compile(self) -> None:
        """Compile the loop over batches now, or load it from the cache."""
        array, count = NUMBER_ARRAY, INTEGER
        self.entry.compile((count, *(array, count) * len(self.kinds), *(array,) * len(self.out)))

    # ------------------------------------------------------------ the compiled loop

    def _scope(self) -> dict[str, Any]:
        scope: dict[str, Any] = {"__name__": self.__module__, "function": self.kernel}
        scope |= {"load_rows": load_rows, "store_rows": store_rows, "all_true": all_true}
        scope |= {"maximum": maximum, "lane": lane, "lanes_of": lanes_of}
        for k, (_, kind) in enumerate(self.kinds):
            scope[f"unpack{k}"] = kind.unpack or (_single if kind.shape == () else _identity)
            scope[f"finite{k}"] = _finite(kind.size)
            scope[f"defect{k}"] = kind.defect
        for k, kind in enumerate(self.out):
            scope[f"pack{k}"] = kind.pack or (_as_flat if kind.shape == () else _identity)
        if self.guard:
            scope["guard"] = self.guard.distance
        return scope

    def _make_loop(self) -> Any:
        """The loop as text: load, check, call, store. Each check that fails in any lane sets its bit of the status."""
        inputs = range(len(self.kinds))
        arguments = ", ".join([f"x{k}, stride{k}" for k in inputs] + [f"out{k}" for k in range(len(self.out))])
        name = f"{self.__module__.rpartition('.')[2]}_{self.__name__}"
        lines = [f"def {name}(n, {arguments}):", "    status, worst, i = 0, lanes_of(0.0), 0", "    while True:"]

        def check(condition: str, bit: int):
            lines.append(f"        status = status if all_true({condition}) else status | {bit}")

        for k, (_, kind) in enumerate(self.kinds):
            lines.append(f"        flat{k} = load_rows(x{k}, i * stride{k}, stride{k}, {kind.size})")
            lines.append(f"        value{k} = unpack{k}(flat{k})")
            check(f"finite{k}(flat{k}) == 0.0", _not_finite(k))
            if kind.defect:
                lines.append(f"        off{k} = defect{k}(value{k})")
                lines.append(f"        worst = maximum(worst, off{k})")
                check(f"off{k} <= {TOLERANCE**2}", _off_group(k))
        values = ", ".join(f"value{k}" for k in inputs)
        if self.guard:
            check(f"guard({values}) > {TOLERANCE}", _SINGULAR)
        lines.append(f"        result = function({values})")
        for k, kind in enumerate(self.out):
            value = "result" if self._single_result else f"result[{k}]"
            lines.append(f"        store_rows(out{k}, i * {kind.size}, {kind.size}, pack{k}({value}))")
        lines += [
            f"        if i >= n - {WIDTH}:",
            "            return status, max(max(lane(worst, 0), lane(worst, 1)), max(lane(worst, 2), lane(worst, 3)))",
            f"        i = min(i + {WIDTH}, n - {WIDTH})",
        ]
        return kernel(entry=True)(compile_text("\n".join(lines) + "\n", name, self._scope()))

    # ------------------------------------------------------------ the NumPy function

    def __call__(self, *args, out=None, **kwargs) -> Any:
        if INTERPRETED.depth:  # compiler switched off, called by another kernel
            return self.kernel(*args)
        if kwargs or len(args) != len(self.kinds):
            args = self._bind(args, kwargs)
        arrays = [self._as_array(name, kind, value) for (name, kind), value in zip(self.kinds, args, strict=True)]
        shapes = [a.shape[: a.ndim - len(kind.shape)] for a, (_, kind) in zip(arrays, self.kinds, strict=True)]
        batch = shapes[0] if len(shapes) == 1 else self._broadcast(shapes)
        n = math.prod(batch)
        results = self._results(batch, out)
        if n == 0:
            return results[0] if self._single_result else tuple(results)
        rows = [
            array.reshape(-1, kind.size)  # one element for all, or one a row
            if array.size == kind.size or shape == batch
            else np.broadcast_to(array, batch + kind.shape).reshape(-1, kind.size)
            for array, shape, (_, kind) in zip(arrays, shapes, self.kinds, strict=True)
        ]
        # blocks overlap, so a result that is also an argument is written at the end
        aliased = out is not None and any(np.may_share_memory(a, b) for a in rows for b in results)
        targets = [np.empty_like(result) for result in results] if aliased else results
        flat = [target.reshape(n, kind.size) for target, kind in zip(targets, self.out, strict=True)]
        if self._run(n, rows, flat)[0]:
            self._refuse(n, batch, rows)
        if aliased:
            for result, target in zip(results, targets, strict=True):
                result[...] = target
        return results[0] if self._single_result else tuple(results)

    def _results(self, batch, out):
        """New arrays for the results, or the caller's, which must fit exactly."""
        shapes = [batch + kind.shape for kind in self.out]
        if out is None:
            return [np.empty(shape) for shape in shapes]
        given = [out] if self._single_result else list(out)
        for array, shape in zip(given, shapes, strict=True):
            if not (
                isinstance(array, np.ndarray)
                and array.dtype == np.float64
                and array.shape == shape
                and array.flags.c_contiguous
                and array.flags.behaved
            ):
                kind = "a writeable C-contiguous, aligned float64 array"
                raise ValueError(f"{self.label}: out must be {kind} of shape {shape}")
        return given

    def _bind(self, args, kwargs):
        try:
            return self.__signature__.bind(*args, **kwargs).args
        except TypeError as error:
            raise TypeError(f"{self.label}{self.__signature__}: {error}") from None

    def _as_array(self, name: str, kind: Kind, value: Any) -> np.ndarray:
        try:
            array = np.asarray(value)
        except ValueError:  # ragged lists
            array = np.asarray(None)
        if array.dtype.kind not in "fiu":
            if array.dtype.kind == "c":
                raise ValueError(f"{self.label}: {name} is complex; a real {kind.name} was expected")
            raise ValueError(f"{self.label}: {name} is not an array of numbers; expected a {kind.name}, {_shape(kind)}")
        if kind.shape and array.shape[-len(kind.shape) :] != kind.shape:
            raise ValueError(f"{self.label}: {name} has shape {array.shape}; expected a {kind.name}, {_shape(kind)}")
        array = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
        # read-only arrays would be compiled for once more, and compiled code takes no others than aligned ones
        return array if array.flags.behaved else array.copy()

    def _broadcast(self, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            listing = ", ".join(f"{name} {shape}" for (name, _), shape in zip(self.kinds, shapes, strict=True))
            raise ValueError(f"{self.label}: leading axes do not broadcast: {listing}") from None

    def _run(self, n, rows, outputs=None):
        """Fill the outputs of a batch; each argument has one row, or one an element.

        Returns the status bits and the square of the worst distance from the group.
        """
        if outputs is None:
            outputs = [np.empty((n, kind.size)) for kind in self.out]
        if not COMPILED:
            return self._run_in_python(rows, outputs)
        arguments = []
        for array in rows:
            single = len(array) == 1
            if not single and n < WIDTH:
                array = array[np.minimum(np.arange(WIDTH), n - 1)]
            arguments += [array.reshape(-1), 0 if single else array.shape[1]]
        if n >= WIDTH:
            return self.entry(n, *arguments, *(out.reshape(-1) for out in outputs))
        padded = [np.empty((WIDTH, kind.size)) for kind in self.out]
        verdict = self.entry(WIDTH, *arguments, *(out.reshape(-1) for out in padded))
        for out, full in zip(outputs, padded, strict=True):
            out[...] = full[:n]
        return verdict

    def _run_in_python(self, rows, outputs):
        """The same with the compiler switched off: a whole column takes the place of a scalar."""
        scope = self._scope()
        status, worst = 0, 0.0
        with Interpreted(), np.errstate(all="ignore"):
            values = []
            for k, array in enumerate(rows):
                values.append(scope[f"unpack{k}"](tuple(array.T)))
                status |= _not_finite(k) * (not np.isfinite(1e155 * array).all())
                if defect := self.kinds[k][1].defect:
                    worst = max(worst, float(np.max(defect(values[k]))))
                    status |= _off_group(k) * (not worst <= TOLERANCE**2)
            if self.guard:
                status |= _SINGULAR * (not np.all(self.guard.distance(*values) > TOLERANCE))
            result = self.kernel(*values)
            for k, value in enumerate((result,) if self._single_result else result):
                for column, number in enumerate(scope[f"pack{k}"](value)):
                    outputs[k][:, column] = number
        return status, worst

    def _refuse(self, n, batch, rows):
        """Find the first bad element by bisection and raise an error that names it."""
        low, high = 0, n
        while high - low > 1:
            middle = (low + high) // 2
            first_half = [r if len(r) == 1 else r[low:middle] for r in rows]
            low, high = (low, middle) if self._run(middle - low, first_half)[0] else (middle, high)
        element = [r if len(r) == 1 else r[low:high] for r in rows]
        status, worst = self._run(1, element)
        where = f"[{', '.join(str(int(i)) for i in np.unravel_index(low, batch))}]" if batch else ""
        for k, (name, kind) in enumerate(self.kinds):
            expected = f"expected a {kind.name}, {_shape(kind)}" + (f": {kind.expected}" if kind.expected else "")
            if status & _not_finite(k):
                found = "is too large to be squared" if np.isfinite(element[k]).all() else "is not finite"
                raise ValueError(f"{self.label}: {name}{where} {found}: {element[k][0]}; {expected}")
            if status & _off_group(k):
                found = f"is off the group by {worst**0.5:.3g} (more than {TOLERANCE:g})"
                raise ValueError(f"{self.label}: {name}{where} {found}; {expected}")
        assert self.guard is not None
        raise ValueError(f"{self.label}: {self.kinds[0][0]}{where} {self.guard.found}; {self.guard.advice}")


_SINGULAR = 1


def _not_finite(k: int) -> int:
    return 2 << (2 * k)


def _off_group(k: int) -> int:
    return 4 << (2 * k)


def _shape(kind: Kind) -> str:
    return "shape (" + ", ".join(["...", *map(str, kind.shape)]) + ")"


def face(*, out: Kind | tuple[Kind, ...], guard: Guard | None = None, **kinds: Kind) -> Callable[[Callable], Face]:
    """Decorator: compile a kernel and give it a NumPy function. Keywords name the kernel's arguments, in order."""
    return lambda function: Face(function, kinds, out, guard)


def faces(*modules: ModuleType) -> list[Face]:
    """The functions of some modules, each once."""
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Face)}
    return list(found.values())
