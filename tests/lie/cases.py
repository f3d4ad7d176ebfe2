"""The groups under test, samples of their elements and of their functions' arguments, and the measure of agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles import lie
from chasles.kernel.face import Face, Kind, faces

EPS = float(np.finfo(float).eps)


# ---------------------------------------------------------------- groups


@dataclass(frozen=True)
class Case:
    """A group: its functions, the shapes of its elements, which coordinates are rotation vectors."""

    name: str
    f: Any  # the module, or a Product
    dim: int
    shape: tuple[int, ...]
    angular: tuple[slice, ...] = ()
    signs: tuple[slice, ...] = ()  # quaternions whose sign means nothing

    def __str__(self) -> str:
        return self.name

    def identity(self, shape: tuple[int, ...] = ()) -> np.ndarray:
        return self.f.identity(4, shape) if self.name == "rn" else self.f.identity(shape)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        return self.f.random(rng, 4, shape) if self.name == "rn" else self.f.random(rng, shape)

    def elements(self, seed: int, shape: tuple[int, ...] = (40,)) -> np.ndarray:
        return self.random(np.random.default_rng(seed), shape)

    def vectors(self, seed: int, shape: tuple[int, ...] = (40,), largest: float = 3.14) -> np.ndarray:
        """Algebra vectors: angles from 1e-12 to `largest`, log-uniform and uniform by turns; normal linear parts."""
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(*shape, self.dim))
        for part in self.angular:
            size = 10.0 ** rng.uniform(-12, np.log10(largest), (*shape, 1))
            size.reshape(-1)[::2] = rng.uniform(1e-12, largest, size.size)[::2]
            x[..., part] *= size / np.linalg.norm(x[..., part], axis=-1, keepdims=True)
        return x

    def aligned(self, g: np.ndarray, like: np.ndarray) -> np.ndarray:
        """g with the sign of each quaternion whose sign means nothing as in `like`."""
        g = g.copy()
        for part in self.signs:
            g[..., part] *= np.sign(np.sum(g[..., part] * like[..., part], axis=-1, keepdims=True))
        return g


FIRST, HEAD = slice(0, 1), slice(0, 3)
PRODUCT = lie.product.Product("s3", "pose", 2, "r3", "so2")
GROUPS = [
    Case("so2", lie.so2, 1, (2, 2), (FIRST,)),
    Case("so3", lie.so3, 3, (3, 3), (HEAD,)),
    Case("s3", lie.s3, 3, (4,), (HEAD,)),
    Case("se2", lie.se2, 3, (3, 3), (FIRST,)),
    Case("se3", lie.se3, 6, (4, 4), (HEAD,)),
    Case("pose", lie.pose, 6, (7,), (HEAD,), (slice(0, 4),)),
    Case("so3xr3", lie.so3xr3, 6, (4, 4), (HEAD,)),
    Case("s3xr3", lie.s3xr3, 6, (7,), (HEAD,)),
    Case("rn", lie.rn, 4, (4,)),
    Case(
        "product",
        PRODUCT,
        19,
        (25,),
        (HEAD, slice(3, 6), slice(9, 12), slice(18, 19)),
        (slice(4, 8), slice(11, 15)),
    ),
]
BY_NAME = {case.name: case for case in GROUPS}


def having(*names: str) -> list[Case]:
    """The groups with all of these functions."""
    return [case for case in GROUPS if all(hasattr(case.f, name) for name in names)]


# ---------------------------------------------------------------- functions and their arguments

MODULES = [getattr(lie, name) for name in ("so2", "so3", "s3", "se2", "se3", "pose", "so3xr3", "s3xr3", "rotation")]
FACES = faces(*MODULES)
DRAW = {
    "rotation matrix": lie.so3.random,
    "2x2 rotation matrix": lie.so2.random,
    "unit quaternion (w, x, y, z)": lie.s3.random,
    "pose matrix": lie.se3.random,
    "planar pose matrix": lie.se2.random,
    "pose (w, x, y, z, position)": lie.pose.random,
}


def sample(kind: Kind, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random values of a kind: group elements as their group draws them, everything else normal."""
    return DRAW[kind.name](rng, shape) if kind.name in DRAW else rng.normal(size=(*shape, *kind.shape))


def arguments(face: Face, *shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """Valid arguments with the given leading shapes (the last one is used for all further arguments)."""
    rng = np.random.default_rng(seed)
    args = []
    for k, (name, kind) in enumerate(face.kinds):
        value = sample(kind, rng, shapes[min(k, len(shapes) - 1)])
        args.append(value / np.linalg.norm(value, axis=-1, keepdims=True) if name == "axis" else value)
    return args


def results(value: Any) -> tuple[np.ndarray, ...]:
    """One or several results as a tuple."""
    return value if isinstance(value, tuple) else (value,)


# ---------------------------------------------------------------- agreement


def close(a: np.ndarray, b: np.ndarray, ulps: float) -> None:
    """All entries agree to `ulps` roundings (2⁻⁵²) of the largest entry, or of 1 if that is larger."""
    b = np.asarray(b)
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    np.testing.assert_allclose(a, b, rtol=0, atol=ulps * EPS * scale)
