"""R^n with addition, so that vectors can take part in products of groups. n is the length of the last axis.

Nothing here is worth a kernel: plain NumPy, with the same names as the other groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie.arrays import real_array


def _vector(name: str, argument: str, x: ArrayLike) -> np.ndarray:
    return real_array(f"rn.{name}", argument, x)


def _pair(name: str, x: ArrayLike, y: ArrayLike, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    a, b = _vector(name, names[0], x), _vector(name, names[1], y)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"rn.{name}: {names[0]} has {a.shape[-1]} components and {names[1]} has {b.shape[-1]}")
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(f"rn.{name}: {names[0]} {a.shape} and {names[1]} {b.shape} do not broadcast") from None
    return a, b


def _matrices(x: np.ndarray, diagonal: float) -> np.ndarray:
    n = x.shape[-1]
    return np.broadcast_to(diagonal * np.eye(n), (*x.shape[:-1], n, n)).copy()


def identity(n: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Zero vectors of n components."""
    return np.zeros((*shape, n))


def random(rng: np.random.Generator, n: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Standard normal vectors of n components."""
    return rng.standard_normal((*shape, n))


def compose(g: ArrayLike, h: ArrayLike) -> np.ndarray:
    """Sum g + h."""
    a, b = _pair("compose", g, h, ("g", "h"))
    return a + b


def inverse(g: ArrayLike) -> np.ndarray:
    """-g."""
    return -_vector("inverse", "g", g)


def act(g: ArrayLike, p: ArrayLike) -> np.ndarray:
    """Translation p + g."""
    a, b = _pair("act", g, p, ("g", "p"))
    return a + b


def interpolate(g: ArrayLike, h: ArrayLike, t: ArrayLike) -> np.ndarray:
    """Straight line g + t (h - g)."""
    a, b = _pair("interpolate", g, h, ("g", "h"))
    return a + real_array("rn.interpolate", "t", t, ())[..., None] * (b - a)


def exp(x: ArrayLike) -> np.ndarray:
    """x itself."""
    return _vector("exp", "x", x)


def log(g: ArrayLike) -> np.ndarray:
    """g itself."""
    return _vector("log", "g", g)


def Ad(g: ArrayLike) -> np.ndarray:
    """Identity matrices."""
    return _matrices(_vector("Ad", "g", g), 1.0)


def ad(x: ArrayLike) -> np.ndarray:
    """Zero matrices."""
    return _matrices(_vector("ad", "x", x), 0.0)


def bracket(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Zero."""
    a, b = _pair("bracket", x, y, ("x", "y"))
    return np.zeros(np.broadcast_shapes(a.shape, b.shape))


def dexp(x: ArrayLike) -> np.ndarray:
    """Identity matrices."""
    return _matrices(_vector("dexp", "x", x), 1.0)


def dexpinv(x: ArrayLike) -> np.ndarray:
    """Identity matrices."""
    return _matrices(_vector("dexpinv", "x", x), 1.0)


def ddexp(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Zero matrices."""
    return _zero_derivative("ddexp", x, y)


def ddexpinv(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Zero matrices."""
    return _zero_derivative("ddexpinv", x, y)


def _zero_derivative(name: str, x: ArrayLike, y: ArrayLike) -> np.ndarray:
    a, b = _pair(name, x, y, ("x", "y"))
    return _matrices(np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)), 0.0)


def bch(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Sum x + y."""
    a, b = _pair("bch", x, y, ("x", "y"))
    return a + b
