"""The unchecked tier: the caller's arrays, no checks, no allocation; for loops in Python that count microseconds.

    raw = mechanism.raw
    raw.inverse_dynamics(q, v, a, out)

Arrays must be C-contiguous float64 with one state, (n,), or a batch, (count, n); whatever else they are is not noticed.
A `Raw` has its own workspace: each thread needs one of its own, `Raw(mechanism)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from chasles.kernel.lanes import WIDTH
from chasles.relative import forward, inverse, mass
from chasles.relative.algorithm import Algorithm
from chasles.relative.derivative import forward as derivative_forward
from chasles.relative.derivative import inverse as derivative_inverse

EMPTY = np.empty(0)


class Raw:
    """Inverse and forward dynamics, their derivatives and the mass matrix of one mechanism, without checks."""

    inverse_dynamics: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    forward_dynamics: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def __init__(self, mechanism):
        self._mechanism = mechanism
        self.inverse_dynamics = _three(mechanism, inverse.inverse_dynamics)
        self.forward_dynamics = _three(mechanism, forward.forward_dynamics)

    @cached_property
    def mass_matrix(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """M(q) into `out`; prepared when it is first asked for, because its workspace grows with the square of nv."""
        return _one(self._mechanism, mass.mass_matrix)

    @cached_property
    def inverse_dynamics_derivatives(self) -> Callable[..., None]:
        """(q, v, a, dq, dv, da): derivatives of the forces of inverse dynamics into the last three."""
        algorithm = derivative_inverse.inverse_derivatives
        return _derivatives(self._mechanism, algorithm, full=_fills_all(self._mechanism))

    @cached_property
    def forward_dynamics_derivatives(self) -> Callable[..., None]:
        """(q, v, tau, a, dq, dv, dtau): accelerations and their derivatives into the last four."""
        algorithm, ends = derivative_forward.forward_derivatives, self._mechanism.subtree_ends
        return _derivatives(self._mechanism, algorithm, ends, full=True)


def _prepared(mechanism, algorithm: Algorithm):
    sizes = mechanism.sizes
    return (
        mechanism.topology,
        mechanism.numbers,
        algorithm.scalar,
        algorithm.lanes,
        algorithm.space(sizes),
        algorithm.space(sizes, lanes=True),
    )


def _three(mechanism, algorithm: Algorithm) -> Callable:
    topology, numbers, scalar, lanes, space, lane_space = _prepared(mechanism, algorithm)

    def call(q, v, x, out):
        if q.ndim == 1:
            scalar(topology, numbers, 1, q, v, x, EMPTY, out, space)
            return out
        count = len(q)
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
    free = any(joint.kind == "free" for joint in mechanism.tree.joints)
    return not free and not np.any(mechanism.topology[-mechanism.nv :])


def _derivatives(mechanism, algorithm: Algorithm, *fixed: np.ndarray, full: bool) -> Callable:
    topology, numbers, scalar, lanes, space, lane_space = _prepared(mechanism, algorithm)

    def call(q, v, x, *out):
        count = len(q) if q.ndim > 1 else 1
        flat = q.reshape(-1), v.reshape(-1), x.reshape(-1), EMPTY, *fixed, *[result.reshape(-1) for result in out]
        if count >= WIDTH:
            lanes(topology, numbers, count, *flat, lane_space)
        elif count:
            if not full:
                for result in out:
                    result[...] = 0.0
            scalar(topology, numbers, count, *flat, space)

    return call


def _one(mechanism, algorithm: Algorithm) -> Callable:
    topology, numbers, scalar, lanes, space, lane_space = _prepared(mechanism, algorithm)
    full = _fills_all(mechanism)

    def call(q, out):
        if full and q.ndim == 1:
            scalar(topology, numbers, 1, q, out.reshape(-1), space)
            return out
        count = 1 if q.ndim == 1 else len(q)
        if count >= WIDTH:
            lanes(topology, numbers, count, q.reshape(-1), out.reshape(-1), lane_space)
        elif count:
            if not full:
                out[...] = 0.0
            scalar(topology, numbers, count, q.reshape(-1), out.reshape(-1), space)
        return out

    return call
