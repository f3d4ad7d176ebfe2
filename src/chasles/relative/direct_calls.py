"""Calls on one state that come again and again: made into builtins (`kernel.direct`), with the checks in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.kernel.direct import Form, available, builtin
from chasles.relative.algorithm import Algorithm, evaluate

UNIT_TOLERANCE = 1e-8  # how far a quaternion in q may be from unit length
OFTEN = 8  # calls of a kind before a builtin is made for it, which takes some milliseconds
MANY_LINKS = 256  # of larger trees a call takes long, and other threads should run meanwhile
MOST = 64  # builtins of one mechanism: there may be very many frames
NOTHING = np.empty(0)
Direct = Callable[..., np.ndarray | None]


class DirectCalls:
    """The builtins of one mechanism: None until there is one. They give None for all but arrays of one state that are
    as they should be; then the thorough way says what is wrong."""

    inverse_dynamics: Direct | None = None
    forward_dynamics: Direct | None = None
    mass_matrix: Direct | None = None

    def __init__(
        self,
        topology: np.ndarray,
        numbers: np.ndarray,
        sizes: dict[str, int],
        quaternions: np.ndarray,
        possible: bool = True,
    ):
        self._tables, self._sizes, self._quaternions = (topology, numbers), sizes, quaternions
        self._asked: dict[Any, int] = {}
        self._possible = possible and sizes["links"] <= MANY_LINKS and sizes["nv"] > 0
        self.poses: dict[Any, Direct] = {}  # by frames
        self.jacobian: dict[Any, Direct] = {}  # by frames, with the representation if it is another one than body

    def again(self, function: str, *given: Any, key: Any = None, **options: Any) -> None:
        """A function was called on one state, for `key`. After some such calls there is a builtin (see `_made`)."""
        known = getattr(self, function)
        if not self._possible or (known and (callable(known) or len(known) >= MOST)):
            return
        asked = self._asked[function, key] = self._asked.get((function, key), 0) + 1
        if asked == OFTEN and available():
            made = self._made(*given, **options)
            if known is None:
                setattr(self, function, made)
            else:
                known[key] = made

    def _made(
        self,
        algorithm: Algorithm,
        given: tuple[str, ...],
        result: str,
        shape: tuple[int, ...],
        *,
        fixed: dict[str, np.ndarray] | None = None,
        sizes: dict[str, int] | None = None,
        finite: bool = False,
        clear: bool = False,
    ) -> Direct:
        """The builtin of an algorithm: of its arguments those that are given at each call, the result and its shape,
        those that are fixed; whether the result is to be looked at, and whether it must be zero before."""
        sizes, fixed, roles, arrays = {**self._sizes, **(sizes or {})}, fixed or {}, [], []
        for name, argument in algorithm.arguments.items():
            roles.append("in" if name in given else "out" if name == result else "fixed")
            arrays.append(fixed.get(name, NOTHING) if roles[-1] == "fixed" else evaluate(argument.size, sizes))
        form = Form(("fixed", "fixed", "count", *roles, "fixed"), 2 * UNIT_TOLERANCE, finite, clear)
        return builtin(
            algorithm.scalar, form, (*self._tables, *arrays, algorithm.space(sizes)), shape, self._quaternions
        )
