"""The lowest tier: the caller's arrays, no conversion, no allocation; for loops in Python that count microseconds.

    raw = mechanism.raw
    raw.inverse_dynamics(q, v, a, out)

Arrays must be C-contiguous float64 with one state, (n,), or a batch, (count, n), which is looked at, in less than a
microsecond; whether their numbers make sense is not. A `Raw` has its own workspace: each thread needs one of its own,
`Raw(mechanism)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.kernel.lanes import WIDTH
from chasles.relative import forward, inverse, mass
from chasles.relative.algorithm import Algorithm
from chasles.relative.derivative import forward as derivative_forward
from chasles.relative.derivative import inverse as derivative_inverse

EMPTY = np.empty(0)
NUMBER = np.dtype(float)
NEXT = (8,)  # strides of a vector


class Raw:
    """Inverse and forward dynamics, their derivatives and the mass matrix of one mechanism, in given arrays."""

    inverse_dynamics: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    forward_dynamics: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def __init__(self, mechanism: Any):
        if mechanism.tree.dependence is not None:
            raise ValueError(
                "raw: is not there for mechanisms with joints that mimic others; take the methods themselves"
            )
        self._mechanism = mechanism
        self.inverse_dynamics = _three(mechanism, inverse.inverse_dynamics, "a")
        self.forward_dynamics = _three(mechanism, forward.forward_dynamics, "tau")

    @cached_property
    def mass_matrix(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """M(q) into `out`; prepared when it is first asked for, because its workspace grows with the square of nv."""
        return _one(self._mechanism, mass.mass_matrix, "mass_matrix", (self._mechanism.nv, self._mechanism.nv))

    @cached_property
    def packed_mass_matrix(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """The lower triangle of M(q), row by row, into `out`, (..., nv (nv + 1) / 2)."""
        packed = self._mechanism.nv * (self._mechanism.nv + 1) // 2
        return _one(self._mechanism, mass.packed_mass_matrix, "packed_mass_matrix", (packed,), packed=packed)

    @cached_property
    def inverse_dynamics_derivatives(self) -> Callable[..., None]:
        """(q, v, a, dq, dv, da): derivatives of the forces of inverse dynamics into the last three."""
        algorithm, full = derivative_inverse.inverse_derivatives, _fills_all(self._mechanism)
        return _derivatives(self._mechanism, algorithm, ("a",), ("dq", "dv", "da"), full=full)

    @cached_property
    def forward_dynamics_derivatives(self) -> Callable[..., None]:
        """(q, v, tau, a, dq, dv, dtau): accelerations and their derivatives into the last four."""
        algorithm, ends = derivative_forward.forward_derivatives, self._mechanism.tables.subtree_ends
        return _derivatives(self._mechanism, algorithm, ("tau", "a"), ("dq", "dv", "dtau"), ends, full=True)


def _prepared(mechanism, algorithm: Algorithm, **more: int):
    sizes = mechanism.tables.sizes | more
    return (
        mechanism.tree.topology,
        mechanism.tree.numbers,
        algorithm.scalar,
        algorithm.lanes,
        algorithm.space(sizes),
        algorithm.space(sizes, lanes=True),
    )


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
        if k >= len(shapes) - results and not array.flags.writeable:
            raise ValueError(f"raw.{label}: {name} is written to, and it is read-only")
        first = array.shape[: 1 if batch is None and array.ndim > len(shape) else len(batch or ())]
        batch = first if batch is None else batch
        if array.shape != (*batch, *shape):
            more = f" of {batch[0]} states" if batch else ", or a batch of such"
            raise ValueError(f"raw.{label}: {name} has shape {array.shape}; expected {(*batch, *shape)}{more}")
    return math.prod(batch or ())


def _three(mechanism, algorithm: Algorithm, third: str) -> Callable:
    topology, numbers, scalar, lanes, space, lane_space = _prepared(mechanism, algorithm)
    one, other = (mechanism.nq,), (mechanism.nv,)
    shapes: dict[str, tuple[int, ...]] = {"q": one, "v": other, third: other, "out": other}
    label = "inverse_dynamics" if third == "a" else "forward_dynamics"

    known_q = known_v = known_x = known_out = None  # loops come with the same arrays again

    def call(q, v, x, out):
        nonlocal known_q, known_v, known_x, known_out
        if q is known_q and v is known_v and x is known_x and out is known_out and q is not None:
            scalar(topology, numbers, 1, q, v, x, EMPTY, out, space)
            return out
        try:
            if (
                q.shape == one
                and v.shape == x.shape == out.shape == other
                and q.strides == v.strides == x.strides == out.strides == NEXT
                and q.dtype is v.dtype is x.dtype is out.dtype is NUMBER
                and out.flags.writeable
            ):
                known_q, known_v, known_x, known_out = q, v, x, out
                scalar(topology, numbers, 1, q, v, x, EMPTY, out, space)
                return out
        except AttributeError:
            pass  # no array: which of them is said below
        count = _look(label, shapes, (q, v, x, out), 1)
        flat = q.reshape(-1), v.reshape(-1), x.reshape(-1), EMPTY, out.reshape(-1)
        if count >= WIDTH:
            lanes(topology, numbers, count, *flat, lane_space)
        elif count:
            scalar(topology, numbers, count, *flat, space)
        return out

    return call


def _fills_all(mechanism) -> bool:
    """Whether matrices are filled by the kernels: entries of joints that are not on one way to the ground are not
    written, and a chain has none. On lanes they are zero in the buffer that all results are copied from."""
    free = any(joint.traits.holds_nothing for joint in mechanism.tree.joints)
    return not free and not np.any(mechanism.tree.topology[-mechanism.nv :])


def _derivatives(
    mechanism, algorithm: Algorithm, vectors: tuple[str, ...], matrices: tuple[str, ...], *fixed: np.ndarray, full: bool
) -> Callable:
    topology, numbers, scalar, lanes, space, lane_space = _prepared(mechanism, algorithm)
    nv = mechanism.nv
    shapes: dict[str, tuple[int, ...]] = {"q": (mechanism.nq,), "v": (nv,), **dict.fromkeys(vectors, (nv,))}
    shapes |= dict.fromkeys(matrices, (nv, nv))
    label = f"{'inverse' if matrices[-1] == 'da' else 'forward'}_dynamics_derivatives"
    results = len(shapes) - 3
    known: tuple[Any, ...] = ()  # loops come with the same arrays again
    count, flat = 0, known

    def call(*arrays):
        nonlocal known, count, flat
        if len(arrays) != len(known) or not all(map(is_, arrays, known)):
            count = _look(label, shapes, arrays, results)
            (q, v, x), out = arrays[:3], arrays[3:]
            flat = q.reshape(-1), v.reshape(-1), x.reshape(-1), EMPTY, *fixed, *[result.reshape(-1) for result in out]
            known = arrays
        if count >= WIDTH:
            lanes(topology, numbers, count, *flat, lane_space)
        elif count:
            if not full:
                for result in arrays[3:]:
                    result[...] = 0.0
            scalar(topology, numbers, count, *flat, space)

    return call


def _one(mechanism, algorithm: Algorithm, name: str, shape: tuple[int, ...], **sizes: int) -> Callable:
    topology, numbers, scalar, lanes, space, lane_space = _prepared(mechanism, algorithm, **sizes)
    full = _fills_all(mechanism)
    shapes = {"q": (mechanism.nq,), "out": shape}
    known_q = known_out = flat_out = None  # loops come with the same arrays again

    def call(q, out):
        nonlocal known_q, known_out, flat_out
        if q is known_q and out is known_out and q is not None:
            if not full:
                flat_out.fill(0.0)
            scalar(topology, numbers, 1, q, flat_out, space)
            return out
        count = _look(name, shapes, (q, out), 1)
        if count >= WIDTH:
            lanes(topology, numbers, count, q.reshape(-1), out.reshape(-1), lane_space)
        elif count:
            if not full:
                out[...] = 0.0
            scalar(topology, numbers, count, q.reshape(-1), out.reshape(-1), space)
            if q.ndim == 1:
                known_q, known_out, flat_out = q, out, out.reshape(-1)
        return out

    return call
