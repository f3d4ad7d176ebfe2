"""Functions for PyTorch: `torch.autograd.Function` with the gradients of this package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.bridges.function import Differentiable


def torch_function(function: Differentiable) -> Callable[..., Any]:
    """A function of tensors (of 64 bits, on the processor) that autograd differentiates once."""
    torch: Any = importlib.import_module("torch")
    base: Any = torch.autograd.Function

    def pulled(ctx: Any, weights: Any) -> Any:
        found = function.pulled(_array(weights), *map(_array, ctx.saved_tensors))
        return tuple(torch.from_numpy(np.array(part)) for part in found)

    class Bridged(base):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            ctx.save_for_backward(*arguments)
            return torch.from_numpy(np.array(function(*map(_array, arguments))))

        backward = staticmethod(torch.autograd.function.once_differentiable(pulled))

    found: Callable[..., Any] = Bridged.apply
    return found


def _array(tensor: Any) -> np.ndarray:
    found: np.ndarray = tensor.detach().cpu().numpy()
    if found.dtype != np.float64:
        raise TypeError(f"torch_function: a tensor is {found.dtype}; expected float64")
    return found
