"""Distributions of parameters by name, "normal(1, 0.1)". Each maps points of the unit cube to values by the inverse of
its distribution function, so that every design of points can be used with it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chasles.io.values import Reader
from chasles.model.suggestion import meant


class DistributionFamily(NamedTuple):
    """Names of the arguments, what is wrong with some ("" if nothing), and the values of points (..., coordinates)."""

    arguments: tuple[str, ...]
    wrong: Callable[..., str]
    values: Callable[..., np.ndarray]
    coordinates: int = 1
    size: int = 1


def _normal(u: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    from scipy.special import ndtri

    found: np.ndarray = mean + deviation * ndtri(u[..., 0])
    return found


def _triangular(u: np.ndarray, low: float, mode: float, high: float) -> np.ndarray:
    x, split = u[..., 0], (mode - low) / (high - low)
    rising = low + np.sqrt(x * (high - low) * (mode - low))
    return np.where(x <= split, rising, high - np.sqrt((1 - x) * (high - low) * (high - mode)))


def _von_mises(u: np.ndarray, mean: float, concentration: float) -> np.ndarray:
    from scipy.stats import vonmises

    found: np.ndarray = mean + vonmises.ppf(u[..., 0], concentration)
    return found


def _rotation(u: np.ndarray) -> np.ndarray:
    """Unit quaternions (w, x, y, z), uniform on SO(3), from three uniform numbers: the sphere S3 as pairs of circles
    whose squared radii are uniform."""
    first, second = np.sqrt(u[..., 0]), np.sqrt(1.0 - u[..., 0])
    a, b = 2 * np.pi * u[..., 1], 2 * np.pi * u[..., 2]
    return np.stack([first * np.cos(a), first * np.sin(a), second * np.cos(b), second * np.sin(b)], axis=-1)


def _positive(what: str) -> Callable[..., str]:
    return lambda first, second: "" if second > 0 else f"its {what} is {second:g}; expected more than 0"


FAMILIES = {
    "normal": DistributionFamily(("mean", "deviation"), _positive("standard deviation"), _normal),
    "lognormal": DistributionFamily(
        ("mean", "deviation"),
        _positive("standard deviation of the logarithm"),
        lambda u, m, s: np.exp(_normal(u, m, s)),
    ),
    "uniform": DistributionFamily(
        ("low", "high"),
        lambda low, high: "" if low < high else f"from {low:g} to {high:g}; expected the lower bound first",
        lambda u, low, high: low + (high - low) * u[..., 0],
    ),
    "triangular": DistributionFamily(
        ("low", "mode", "high"),
        lambda low, mode, high: (
            ""
            if low <= mode <= high and low < high
            else f"{low:g}, {mode:g}, {high:g}; expected low, mode, high in order"
        ),
        _triangular,
    ),
    "vonmises": DistributionFamily(("mean", "concentration"), _positive("concentration"), _von_mises),
    "rotation": DistributionFamily((), lambda: "", _rotation, coordinates=3, size=4),
}


@dataclass(frozen=True)
class Distribution:
    """A family with its numbers: normal(mean, deviation), lognormal(mean and deviation of the logarithm),
    uniform(low, high), triangular(low, mode, high), vonmises(mean, concentration) of angles, and rotation(), uniform on
    SO(3): a quaternion."""

    family: str
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            near = meant(self.family, FAMILIES)
            raise ValueError(f"there is no distribution {self.family!r}; {near}known: {', '.join(map(form, FAMILIES))}")
        expected = FAMILIES[self.family].arguments
        if len(self.numbers) != len(expected):
            raise ValueError(f"{self.family} has {len(self.numbers)} numbers; expected {form(self.family)}")
        if not all(map(math.isfinite, self.numbers)):
            raise ValueError(f"{self}: its numbers are not all finite")
        if wrong := FAMILIES[self.family].wrong(*self.numbers):
            raise ValueError(f"{self}: {wrong}")

    def __str__(self) -> str:
        return f"{self.family}({', '.join(map(repr, self.numbers))})"

    @property
    def coordinates(self) -> int:
        """How many coordinates of the unit cube it takes."""
        return FAMILIES[self.family].coordinates

    @property
    def size(self) -> int:
        """How many numbers a value has."""
        return FAMILIES[self.family].size

    def values(self, u: np.ndarray) -> np.ndarray:
        """Values (...) or (..., size) at points (..., coordinates) of the open unit cube."""
        return FAMILIES[self.family].values(u, *self.numbers)


def form(family: str) -> str:
    """How a distribution is written."""
    return f"{family}({', '.join(FAMILIES[family].arguments)})"


def number(text: str) -> float:
    """A number, or a quantity such as "25 mm"."""
    return Reader({}, {}).number(float(text) if re.fullmatch(r"[-+.\deE]+", text.strip()) else text.strip(), None)


def distribution(text: str | Distribution) -> Distribution:
    """The distribution that a text such as "normal(25 mm, 1 mm)" means."""
    if isinstance(text, Distribution):
        return text
    found = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not a distribution; expected one of {', '.join(map(form, FAMILIES))}")
    parts: Sequence[str] = [part for part in found[2].split(",") if part.strip()]
    try:
        numbers = tuple(map(number, parts))
    except ValueError as error:
        raise ValueError(f"{text.strip()}: {error}") from None
    return Distribution(found[1], numbers)
