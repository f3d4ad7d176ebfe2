"""Finite products of groups, described as data: `Product("pose", 3, "r4")` is SE(3)^3 x R^4.

Elements and algebra vectors are flat arrays, the blocks one after the other, each as its own group stores it (matrices
flattened by rows). Equal neighbors are one call of the group's function, so SE(3)^n costs no loop over bodies.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie.arrays import real_array

# group: shape of an element, dimension of the algebra
GROUPS: dict[str, tuple[tuple[int, ...], int]] = {
    "so2": ((2, 2), 1),
    "so3": ((3, 3), 3),
    "s3": ((4,), 3),
    "se2": ((3, 3), 3),
    "se3": ((4, 4), 6),
    "pose": ((7,), 6),
    "so3xr3": ((4, 4), 6),
    "s3xr3": ((7,), 6),
}


@dataclass(frozen=True)
class Block:
    """`count` copies of one group; where they lie in the flat element and in the flat algebra vector."""

    group: str
    count: int
    shape: tuple[int, ...]
    dimension: int
    element: slice
    algebra: slice

    @property
    def module(self) -> ModuleType:
        return importlib.import_module(f"chasles.lie.{self.group}")


class Product:
    """A product of groups with the functions of a group; componentwise.

    Arguments are names of groups, each optionally followed by the number of copies: Product("s3", "pose", 2, "r3").
    """

    def __init__(self, *description: str | int):
        self.description = description
        self.blocks = tuple(_parse(description))
        self.size = self.blocks[-1].element.stop  # numbers in an element
        self.dimension = self.blocks[-1].algebra.stop

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.description))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self.blocks == other.blocks

    def __hash__(self) -> int:
        return hash(tuple((b.group, b.count, b.dimension) for b in self.blocks))

    # ------------------------------------------------------------ the group

    def identity(self, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Identity elements in an array with the given leading shape."""
        return self._join([self._make(b, "identity", (*shape, b.count)) for b in self.blocks], shape)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Random elements, each block as its group draws them."""
        return self._join([self._make(b, "random", (*shape, b.count), rng) for b in self.blocks], shape)

    def compose(self, g: ArrayLike, h: ArrayLike) -> np.ndarray:
        """Product g h, block by block."""
        return self._map("compose", g, h)

    def inverse(self, g: ArrayLike) -> np.ndarray:
        """Inverse, block by block."""
        return self._map("inverse", g)

    def interpolate(self, g: ArrayLike, h: ArrayLike, t: ArrayLike) -> np.ndarray:
        """Geodesics of all blocks at once."""
        t = np.asarray(t, dtype=float)[..., None]
        return self._map("interpolate", g, h, extra=(t,))

    def exp(self, x: ArrayLike) -> np.ndarray:
        """Exponential, block by block."""
        return self._map("exp", x, algebra=(True,))

    def log(self, g: ArrayLike) -> np.ndarray:
        """Logarithm, block by block."""
        return self._map("log", g, to_algebra=True)

    def bracket(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Lie bracket, block by block."""
        return self._map("bracket", x, y, algebra=(True, True), to_algebra=True)

    # ------------------------------------------------------------ block-diagonal matrices

    def Ad(self, g: ArrayLike) -> np.ndarray:
        """Adjoint action, a block-diagonal matrix."""
        return self._diagonal("Ad", g, algebra=(False,))

    def ad(self, x: ArrayLike) -> np.ndarray:
        """ad, a block-diagonal matrix."""
        return self._diagonal("ad", x)

    def dexp(self, x: ArrayLike) -> np.ndarray:
        """dexp, a block-diagonal matrix."""
        return self._diagonal("dexp", x)

    def dexpinv(self, x: ArrayLike) -> np.ndarray:
        """dexpinv, a block-diagonal matrix."""
        return self._diagonal("dexpinv", x)

    def ddexp(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Directional derivative of dexp, a block-diagonal matrix."""
        return self._diagonal("ddexp", x, y, algebra=(True, True))

    def ddexpinv(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Directional derivative of dexpinv, a block-diagonal matrix."""
        return self._diagonal("ddexpinv", x, y, algebra=(True, True))

    # ------------------------------------------------------------ machinery

    def _make(self, block: Block, name: str, shape: tuple[int, ...], *args) -> np.ndarray:
        size = (block.dimension,) if block.group == "rn" else ()
        return getattr(block.module, name)(*args, *size, shape)

    def _split(self, name: str, position: int, value: ArrayLike, algebra: bool) -> Iterator[np.ndarray]:
        array = real_array(f"product.{name}", f"argument {position + 1}", value, ())
        expected = self.dimension if algebra else self.size
        if array.shape[-1:] != (expected,):
            what = "an algebra vector" if algebra else "an element"
            raise ValueError(
                f"product.{name}: argument {position + 1} has shape {array.shape}; expected {what} of {self}, "
                f"shape (..., {expected})"
            )
        for b in self.blocks:
            shape = (b.dimension,) if algebra else b.shape
            part = array[..., b.algebra if algebra else b.element]
            yield part.reshape(*array.shape[:-1], b.count, *shape)

    def _apply(self, name, args, algebra, extra=()):
        """Results of all blocks, with errors that also name the block."""
        parts = zip(*(self._split(name, k, a, algebra[k]) for k, a in enumerate(args)), strict=True)
        for index, (block, values) in enumerate(zip(self.blocks, parts, strict=True)):
            try:
                yield block, getattr(block.module, name)(*values, *extra)
            except ValueError as error:
                raise ValueError(f"{self}, block {index}: {error}") from None

    def _join(self, parts: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        widths = [math.prod(p.shape[len(shape) :]) for p in parts]
        return np.concatenate([p.reshape(*shape, width) for p, width in zip(parts, widths, strict=True)], axis=-1)

    def _map(self, name, *args, algebra=(False, False), to_algebra=False, extra=()) -> np.ndarray:
        flat = []
        for block, result in self._apply(name, args, algebra, extra):
            rank = 1 if to_algebra or block.group == "rn" else len(block.shape)
            lead = result.shape[: result.ndim - rank - 1]
            flat.append(result.reshape(*lead, math.prod(result.shape[len(lead) :])))
        return np.concatenate(flat, axis=-1)

    def _diagonal(self, name, *args, algebra=(True,)) -> np.ndarray:
        matrix = None
        for block, result in self._apply(name, args, algebra):
            if matrix is None:
                matrix = np.zeros((*result.shape[:-3], self.dimension, self.dimension))
            for k in range(block.count):
                at = slice(block.algebra.start + k * block.dimension, block.algebra.start + (k + 1) * block.dimension)
                matrix[..., at, at] = result[..., k, :, :]
        assert matrix is not None
        return matrix


COUNTED = "expected names, each optionally followed by a number of copies"


def counted(function: str, description: Sequence[str | int]) -> Iterator[tuple[str, int]]:
    """Names with their numbers of copies, from ("pose", 3, "r4"); ValueError for anything else."""
    previous: str | None = None
    for item in description:
        if isinstance(item, str):
            if previous is not None:
                yield previous, 1
            previous = item
        elif previous is None or isinstance(item, bool) or not isinstance(item, int | np.integer):
            raise ValueError(
                f"{function}: expected names, each optionally followed by a number of copies, not {item!r}"
            )
        elif item < 1:
            raise ValueError(f"{function}: {previous!r} is to be taken {item} times; expected at least once")
        else:
            yield previous, int(item)
            previous = None
    if previous is not None:
        yield previous, 1
    elif not description:
        raise ValueError(f"{function}: {COUNTED}")


def vector_length(name: str) -> int:
    """n of a name such as "r4", 0 if it is not of this form."""
    return int(name[1:]) if re.fullmatch("r[0-9]+", name) else 0


def _parse(description: Sequence[str | int]) -> Iterator[Block]:
    element = algebra = 0
    for name, count in counted("product", description):
        if name in GROUPS:
            group, (shape, dimension) = name, GROUPS[name]
        elif n := vector_length(name):
            group, shape, dimension = "rn", (n,), n
        else:
            raise ValueError(f"product: {name!r} is not a group; expected one of {', '.join(GROUPS)}, r1, r2, ...")
        ends = element + count * math.prod(shape), algebra + count * dimension
        yield Block(group, count, shape, dimension, slice(element, ends[0]), slice(algebra, ends[1]))
        element, algebra = ends
