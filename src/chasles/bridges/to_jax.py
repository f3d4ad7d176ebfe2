"""Functions for JAX: under `jit` by callbacks, with derivatives forward and backward."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.bridges.function import Differentiable


def jax_function(function: Differentiable, mode: str = "reverse") -> Callable[..., Any]:
    """A function of JAX arrays with the derivatives of a `Differentiable`; `jit` and `vmap` work.

    mode: "reverse" for `grad` and `vjp`, or "forward" for `jvp` and `jacfwd`: JAX takes one rule for each function.
    Numbers are 64 bits: `jax.config.update("jax_enable_x64", True)`.
    """
    jax: Any = importlib.import_module("jax")

    if mode not in ("reverse", "forward"):
        raise ValueError(f'jax_function: mode is {mode!r}; expected "reverse" or "forward"')
    if not jax.config.jax_enable_x64:
        raise ValueError('jax_function: needs numbers of 64 bits; jax.config.update("jax_enable_x64", True) first')
    vector = jax.ShapeDtypeStruct((function.size,), np.float64)
    sizes = tuple(jax.ShapeDtypeStruct((n,), np.float64) for n in function.inputs.values())

    def called(host: Callable[..., Any], shapes: Any, *arguments: Any) -> Any:
        return jax.pure_callback(host, shapes, *arguments, vmap_method="sequential")

    if mode == "forward":
        pushing: Any = jax.custom_jvp(lambda *arguments: called(function, vector, *arguments))

        def push(arguments: Any, directions: Any) -> Any:
            along = called(lambda *both: _pushed(function, both), vector, *directions, *arguments)
            return pushing(*arguments), along

        pushing.defjvp(push)
        forward: Callable[..., Any] = pushing
        return forward
    pulling: Any = jax.custom_vjp(lambda *arguments: called(function, vector, *arguments))
    pulling.defvjp(
        lambda *arguments: (pulling(*arguments), arguments),
        lambda arguments, weights: called(lambda *all: _pulled(function, all), sizes, weights, *arguments),
    )
    reverse: Callable[..., Any] = pulling
    return reverse


def _pushed(function: Differentiable, both: tuple[Any, ...]) -> np.ndarray:
    n = len(function.inputs)
    return function.pushed(tuple(both[:n]), *both[n:])


def _pulled(function: Differentiable, given: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.ascontiguousarray(part) for part in function.pulled(given[0], *given[1:]))
