"""The lowest tier: the caller's arrays, no conversion, no allocation; for loops in Python that count microseconds.

    raw = mechanism.raw
    raw.inverse_dynamics(q, v, a, out)

Arrays must be C-contiguous float64 with one state, (n,), or a batch, (count, n), which is looked at in each call;
whether their numbers make sense is not. A `Raw` has one workspace, for which threads wait: give each thread one of its
own, `Raw(mechanism)`. One state that comes again and again goes through a builtin of Python (`kernel.direct`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.kernel.direct import Form, available, builtin
from chasles.kernel.lanes import WIDTH
from chasles.relative import forward, inverse, mass
from chasles.relative.algorithm import Algorithm, evaluate
from chasles.relative.derivative import forward as derivative_forward
from chasles.relative.derivative import inverse as derivative_inverse
from chasles.relative.direct_calls import MANY_LINKS, OFTEN, Direct

EMPTY, NUMBER = np.empty(0), np.dtype(float)
NO_PLACES = np.empty(0, dtype=np.int64)
Into = Callable[..., np.ndarray]  # gives the last array


class Raw:
    """Inverse and forward dynamics, their derivatives and the mass matrix of one mechanism, in given arrays."""

    inverse_dynamics: Into
    forward_dynamics: Into

    def __init__(self, mechanism: Any):
        if mechanism.tree.dependence is not None:
            raise ValueError(
                "raw: is not there for mechanisms with joints that mimic others; take the methods themselves"
            )
        self._mechanism = mechanism
        self.inverse_dynamics = _into(mechanism, "inverse_dynamics", inverse.inverse_dynamics)
        self.forward_dynamics = _into(mechanism, "forward_dynamics", forward.forward_dynamics)

    @cached_property
    def mass_matrix(self) -> Into:
        """M(q) into `out`; prepared when it is first asked for, because its workspace grows with the square of nv."""
        return _into(self._mechanism, "mass_matrix", mass.mass_matrix, full=_fills_all(self._mechanism))

    @cached_property
    def packed_mass_matrix(self) -> Into:
        """The lower triangle of M(q), row by row, into `out`, (..., nv (nv + 1) / 2)."""
        full, packed = _fills_all(self._mechanism), self._mechanism.nv * (self._mechanism.nv + 1) // 2
        return _into(self._mechanism, "packed_mass_matrix", mass.packed_mass_matrix, full=full, packed=packed)

    @cached_property
    def inverse_dynamics_derivatives(self) -> Into:
        """(q, v, a, dq, dv, da): derivatives of the forces of inverse dynamics into the last three."""
        algorithm, full = derivative_inverse.inverse_derivatives, _fills_all(self._mechanism)
        return _into(self._mechanism, "inverse_dynamics_derivatives", algorithm, full=full)

    @cached_property
    def forward_dynamics_derivatives(self) -> Into:
        """(q, v, tau, a, dq, dv, dtau): accelerations and their derivatives into the last four."""
        algorithm, ends = derivative_forward.forward_derivatives, {"ends": self._mechanism.tables.subtree_ends}
        return _into(self._mechanism, "forward_dynamics_derivatives", algorithm, fixed=ends)


def _into(
    mechanism: Any,
    label: str,
    algorithm: Algorithm,
    *,
    fixed: Mapping[str, np.ndarray] | None = None,
    full: bool = True,
    **more: int,
) -> Into:
    """An algorithm as a function of the arrays that it reads and writes, without wrenches; full: whether it writes
    every number of its results."""
    topology, numbers, sizes = mechanism.tree.topology, mechanism.tree.numbers, mechanism.tables.sizes | more
    same = {"wrenches": EMPTY, **(fixed or {})}
    shapes = {
        "out" if algorithm.outputs == [name] else name: _shape(argument.size, sizes)
        for name, argument in algorithm.arguments.items()
        if name not in same
    }
    results, loop = len(algorithm.outputs), algorithm.scalar
    space, lane_space = algorithm.space(sizes), algorithm.space(sizes, lanes=True)
    direct, left, workspace = None, OFTEN, threading.RLock()

    def call(*arrays: np.ndarray) -> np.ndarray:
        nonlocal direct, left
        if direct is not None and direct(*arrays) is not None:
            return arrays[-1]
        count = _look(label, shapes, arrays, results)
        arrays = _apart(label, list(shapes), arrays, results)
        if not full and count < WIDTH:  # on lanes they are zero in the buffer that all results are copied from
            for array in arrays[-results:]:
                array[...] = 0.0
        # what cannot be written to is of another kind, for which other code would be compiled
        flat = iter([(array if array.flags.writeable else array.copy()).reshape(-1) for array in arrays])
        every = [same[name] if name in same else next(flat) for name in algorithm.arguments]
        if count >= WIDTH:
            with workspace:
                algorithm.lanes(topology, numbers, count, *every, lane_space)
        elif count:
            with workspace:
                loop(topology, numbers, count, *every, space)
            left -= arrays[0].ndim == 1
            if left == 0 and available() and mechanism.tables.links <= MANY_LINKS:
                direct = _direct(mechanism, algorithm, same, sizes, not full)
        return arrays[-1]

    return call


def _shape(size: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape of an array of a state, of which the size is known."""
    return (sizes["nv"], sizes["nv"]) if size == "nv*nv" else (evaluate(size, sizes),)


def _direct(
    mechanism: Any, algorithm: Algorithm, same: Mapping[str, np.ndarray], sizes: dict[str, int], clear: bool
) -> Direct:
    """The builtin of an algorithm on one state in given arrays."""
    roles, arrays = [], []
    for name, argument in algorithm.arguments.items():
        written = "square" if argument.size == "nv*nv" else "vector"
        roles.append("fixed" if name in same else written if argument.role == "out" else "in")
        arrays.append(same[name] if name in same else evaluate(argument.size, sizes))
    form = Form(("fixed", "fixed", "count", *roles, "fixed"), None, finite_result=False, clear=clear)
    every = (mechanism.tree.topology, mechanism.tree.numbers, *arrays, algorithm.space(sizes))
    return builtin(algorithm.scalar, form, every, (), NO_PLACES)


def _look(label: str, shapes: Mapping[str, tuple[int, ...]], arrays: tuple[Any, ...], results: int) -> int:
    """How many states there are in arrays of these names and shapes a state; the last `results` are written to."""
    if len(arrays) != len(shapes):
        raise TypeError(f"raw.{label}({', '.join(shapes)}) takes {len(shapes)} arrays; {len(arrays)} were given")
    batch: tuple[int, ...] | None = None
    for k, ((name, shape), array) in enumerate(zip(shapes.items(), arrays, strict=True)):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"raw.{label}: {name} is a {type(array).__name__}; expected a NumPy array")
        if array.dtype != NUMBER or not array.dtype.isnative:
            raise TypeError(f"raw.{label}: {name} has numbers of type {array.dtype}; expected float64")
        if not array.flags.c_contiguous:
            raise ValueError(f"raw.{label}: {name} is not contiguous; give np.ascontiguousarray({name})")
        if not array.flags.aligned:
            raise ValueError(f"raw.{label}: {name} does not begin at a multiple of 8 bytes; give {name}.copy()")
        if k >= len(shapes) - results and not array.flags.writeable:
            raise ValueError(f"raw.{label}: {name} is written to, and it is read-only")
        first = array.shape[: 1 if batch is None and array.ndim > len(shape) else len(batch or ())]
        batch = first if batch is None else batch
        if array.shape != (*batch, *shape):
            more = f" of {batch[0]} states" if batch else ", or a batch of such"
            raise ValueError(f"raw.{label}: {name} has shape {array.shape}; expected {(*batch, *shape)}{more}")
    return math.prod(batch or ())


def _apart(label: str, names: list[str], arrays: tuple[np.ndarray, ...], results: int) -> tuple[np.ndarray, ...]:
    """The arrays, with copies of those that are read if results are written over them: the last four states overlap
    those before them, so a state may be read after its result was written."""
    given, written = arrays[:-results], arrays[-results:]
    for k, one in enumerate(written):
        for j in range(k):
            if np.may_share_memory(one, written[j]):
                first, second = names[len(given) + j], names[len(given) + k]
                raise ValueError(f"raw.{label}: {first} and {second} share memory; both are written to")
    shared = [any(np.may_share_memory(array, one) for one in written) for array in given]
    return (*(array.copy() if over else array for array, over in zip(given, shared, strict=True)), *written)


def _fills_all(mechanism) -> bool:
    """Whether matrices are filled by the kernels: entries of joints that are not on one way to the ground are not
    written, and a chain has none. On lanes they are zero in the buffer that all results are copied from."""
    free = any(joint.traits.holds_nothing for joint in mechanism.tree.joints)
    return not free and not np.any(mechanism.tree.topology[-mechanism.nv :])
