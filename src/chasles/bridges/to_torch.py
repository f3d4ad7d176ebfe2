"""Functions for PyTorch: `torch.autograd.Function` with the gradients of this package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.bridges.function import Differentiable


def torch_function(function: Differentiable) -> Callable[..., Any]:
    """A function of tensors (of 64 bits, on the processor) that autograd differentiates; twice, if the function has
    second derivatives. Arguments without gradients may be lists or arrays."""
    torch: Any = importlib.import_module("torch")
    base: Any = torch.autograd.Function
    sizes, count = list(function.inputs.values()), len(function.inputs)

    # Each gradient is a function too: those that autograd cannot follow it takes as constant, without a word.
    class Turned(base):  # type: ignore[misc]
        """Derivatives of `Pulled` along directions, by the weights and by all arguments."""

        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            weights, directions, arguments = _array(given[0]), given[1 : 1 + count], given[1 + count :]
            along, at = list(map(_array, directions)), list(map(_array, arguments))
            bent = np.einsum("i,ijk,j->k", weights, function.second(*at), np.concatenate(along))
            found = [function.pushed(tuple(along), *at), *np.split(bent, np.cumsum(sizes)[:-1])]
            return tuple(torch.from_numpy(np.array(part)) for part in found)

        @staticmethod
        def backward(ctx: Any, *directions: Any) -> Any:
            raise RuntimeError(f"torch_function: {function.name} has no third derivatives here")

    class Pulled(base):  # type: ignore[misc]
        """The gradients of weights · f."""

        @staticmethod
        def forward(ctx: Any, weights: Any, *arguments: Any) -> Any:
            ctx.save_for_backward(weights, *arguments)
            found = function.pulled(_array(weights), *map(_array, arguments))
            return tuple(torch.from_numpy(np.array(part)) for part in found)

        @staticmethod
        def backward(ctx: Any, *directions: Any) -> Any:
            if function.curvature is None:
                raise RuntimeError(
                    f"torch_function: {function.name} has no second derivatives here; the page on bridges says which "
                    "functions have"
                )
            weights, *arguments = ctx.saved_tensors
            return Turned.apply(weights, *directions, *arguments)

    class Bridged(base):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            ctx.save_for_backward(*arguments)
            return torch.from_numpy(np.array(function(*map(_array, arguments))))

        @staticmethod
        def backward(ctx: Any, weights: Any) -> Any:
            return Pulled.apply(weights, *ctx.saved_tensors)

    def applied(*arguments: Any) -> Any:
        given = (
            one if isinstance(one, torch.Tensor) else torch.as_tensor(np.asarray(one, dtype=float)) for one in arguments
        )
        return Bridged.apply(*given)

    return applied


def _array(tensor: Any) -> np.ndarray:
    found: np.ndarray = tensor.detach().cpu().numpy()
    if found.dtype != np.float64:
        raise TypeError(f"torch_function: a tensor is {found.dtype}; expected float64")
    return found
