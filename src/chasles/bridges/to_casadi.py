"""Functions for CasADi: callbacks with their Jacobians."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from chasles.bridges.function import Differentiable


def casadi_function(function: Differentiable) -> Any:
    """A CasADi `Callback` with a Jacobian. Keep the object as long as expressions use it."""
    casadi: Any = importlib.import_module("casadi")

    sizes, names = list(function.inputs.values()), list(function.inputs)

    callback: Any = casadi.Callback

    class Base(callback):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(sizes)

        def get_sparsity_in(self, k: int) -> Any:
            return casadi.Sparsity.dense(sizes[k], 1)

        def get_name_in(self, k: int) -> str:
            return names[k]

    class Slope(Base):
        """∂y/∂a, ∂y/∂b, ... of a, b, ... and the value, which is not needed."""

        def get_n_in(self) -> int:
            return len(sizes) + 1

        def get_n_out(self) -> int:
            return len(sizes)

        def get_name_in(self, k: int) -> str:
            return [*names, "out_y"][k]

        def get_name_out(self, k: int) -> str:
            return f"jac_y_{names[k]}"

        def get_sparsity_in(self, k: int) -> Any:
            return casadi.Sparsity.dense([*sizes, function.size][k], 1)

        def get_sparsity_out(self, k: int) -> Any:
            return casadi.Sparsity.dense(function.size, sizes[k])

        def eval(self, arguments: Any) -> Any:
            return list(map(casadi.DM, function.jacobian(*map(_vector, arguments[:-1]))))

    class Bridged(Base):
        def get_n_out(self) -> int:
            return 1

        def get_name_out(self, k: int) -> str:
            return "y"

        def get_sparsity_out(self, k: int) -> Any:
            return casadi.Sparsity.dense(function.size, 1)

        def eval(self, arguments: Any) -> Any:
            return [casadi.DM(function(*map(_vector, arguments)))]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> Any:
            self.slope = Slope(name)  # kept, or it would go
            return self.slope

    return Bridged(function.name)


def _vector(given: Any) -> np.ndarray:
    return np.array(given, dtype=float).reshape(-1)
