"""Functions for CasADi: callbacks with their Jacobians."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np

from chasles.bridges.function import Differentiable


def casadi_function(function: Differentiable) -> Any:
    """A CasADi `Callback` with a Jacobian and, if the function has second derivatives, a Hessian. Keep the object as
    long as expressions use it."""
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

        def has_jacobian(self) -> bool:
            return function.curvature is not None

        def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> Any:
            self.bend = Bend(name)
            return self.bend

    class Bend(Base):
        """Derivatives of the columns of each Jacobian, one below the other, by a, b, ... and by the value, on which
        none depends; of a, b, ..., the value and the Jacobians."""

        every = (*sizes, function.size)

        def get_n_in(self) -> int:
            return 2 * len(sizes) + 1

        def get_n_out(self) -> int:
            return len(sizes) * len(self.every)

        def get_name_in(self, k: int) -> str:
            return [*names, "out_y", *(f"out_jac_y_{name}" for name in names)][k]

        def get_name_out(self, k: int) -> str:
            own, other = divmod(k, len(self.every))
            return f"jac_jac_y_{names[own]}_{[*names, 'out_y'][other]}"

        def get_sparsity_in(self, k: int) -> Any:
            if k < len(self.every):
                return casadi.Sparsity.dense(self.every[k], 1)
            return casadi.Sparsity.dense(function.size, sizes[k - len(self.every)])

        def get_sparsity_out(self, k: int) -> Any:
            own, other = divmod(k, len(self.every))
            rows, columns = function.size * sizes[own], self.every[other]
            return casadi.Sparsity(rows, columns) if other == len(sizes) else casadi.Sparsity.dense(rows, columns)

        def eval(self, arguments: Any) -> Any:
            whole = function.second(*map(_vector, arguments[: len(sizes)]))
            edges = np.cumsum([0, *sizes])
            found = []
            for own in range(len(sizes)):
                rows = whole[:, edges[own] : edges[own + 1]].transpose(1, 0, 2).reshape(-1, whole.shape[2])
                found += [casadi.DM(rows[:, a:b]) for a, b in itertools.pairwise(edges)]
                found.append(casadi.DM(len(rows), function.size))
            return found

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
