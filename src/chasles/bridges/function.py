"""What a bridge carries: a function of vectors with its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)  # one is itself: JAX keeps compiled code by it
class Differentiable:
    """A function y = f(a, b, ...) of vectors, with its derivatives.

    `inputs` has the sizes of the arguments by name, `size` is that of y. f(a, b) is the value, f.jacobian(a, b) the
    derivatives by each argument, (size, n) each; f.pulled(w, a, b) is wᵀ ∂f/∂a, ... and f.pushed((da, db), a, b) is
    ∂f/∂a da + ∂f/∂b db. Quaternions among the numbers count as plain numbers, to first order along unit ones.
    """

    name: str
    inputs: Mapping[str, int]
    size: int
    value: Callable[..., np.ndarray]
    derivatives: Callable[..., tuple[np.ndarray, ...]]
    backward: Callable[..., tuple[np.ndarray, ...]] | None = None  # wᵀ ∂f, where there is a quicker way
    curvature: Callable[..., np.ndarray] | None = None  # second derivatives by all arguments in one row, if there are

    def __call__(self, *arguments: ArrayLike) -> np.ndarray:
        return np.asarray(self.value(*self._checked(arguments)), dtype=float)

    def jacobian(self, *arguments: ArrayLike) -> tuple[np.ndarray, ...]:
        """The derivatives by each argument, (size, n) each."""
        return self.derivatives(*self._checked(arguments))

    def pulled(self, weights: ArrayLike, *arguments: ArrayLike) -> tuple[np.ndarray, ...]:
        """The gradients of weights · f by each argument, (n,) each."""
        w = self._vector("weights", weights, self.size)
        given = self._checked(arguments)
        if self.backward is not None:
            return self.backward(w, *given)
        return tuple(w @ part for part in self.derivatives(*given))

    def pushed(self, directions: tuple[ArrayLike, ...], *arguments: ArrayLike) -> np.ndarray:
        """The derivative of f along directions of the arguments, (size,)."""
        along = self._checked(directions)
        parts = zip(self.derivatives(*self._checked(arguments)), along, strict=True)
        return np.sum([part @ direction for part, direction in parts], axis=0)

    def second(self, *arguments: ArrayLike) -> np.ndarray:
        """Second derivatives (size, n, n), with all arguments in one row."""
        if self.curvature is None:
            raise ValueError(f"{self.name}: has no second derivatives here; the page on bridges says which have")
        return self.curvature(*self._checked(arguments))

    def of_one_vector(self) -> tuple[Callable[[ArrayLike], np.ndarray], Callable[[ArrayLike], np.ndarray]]:
        """The function and its Jacobian (size, n) of all arguments in one vector, as SciPy and cyipopt take them."""
        ends = np.cumsum(list(self.inputs.values()))[:-1]

        def value(x: ArrayLike) -> np.ndarray:
            return self(*np.split(np.asarray(x, dtype=float), ends))

        def jacobian(x: ArrayLike) -> np.ndarray:
            return np.concatenate(self.jacobian(*np.split(np.asarray(x, dtype=float), ends)), axis=1)

        return value, jacobian

    def _checked(self, arguments: tuple[ArrayLike, ...]) -> list[np.ndarray]:
        if len(arguments) != len(self.inputs):
            raise TypeError(f"{self.name}: {len(arguments)} arguments; expected {', '.join(self.inputs)}")
        return [self._vector(name, x, n) for (name, n), x in zip(self.inputs.items(), arguments, strict=True)]

    def _vector(self, name: str, given: Any, n: int) -> np.ndarray:
        found = np.asarray(given, dtype=float)
        if found.shape != (n,):
            raise ValueError(f"{self.name}: {name} has shape {found.shape}; expected ({n},)")
        return found
