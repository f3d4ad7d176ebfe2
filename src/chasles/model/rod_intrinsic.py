"""Intrinsic strain of rods: a reference that changes with time, as by swelling, heat, muscles or tendons.

It is added to the strain of the reference curve. What each element has of it are programs (`model.program`) of the six
strains at its two points of Gauss, and the strains of the curve there (`force.rod`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.expression import used_names
from chasles.model.expression_law import Expression
from chasles.model.placement import as_numbers
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from chasles.model.rod import Rod

ARC_LENGTH = "s"  # arc length in expressions
GAUSS = 0.5 / math.sqrt(3.0)  # of an element, from its middle
NEAR = 0.01  # of an element: over which the strain of the curve is taken


class IntrinsicStrain(NamedTuple):
    """Of an element: the law of all strains in its middle, programs of each strain at its two points (empty where there
    is none), and the strains of the curve there (2, 6)."""

    value: Expression
    programs: tuple[tuple[tuple[float, ...], ...], ...]
    curve: tuple[tuple[float, ...], ...]


def settled(
    where: str, given: Any, strains: Sequence[str], known: Sequence[str]
) -> tuple[tuple[str, float | str], ...]:
    """Strains with their laws, in the order of `known`. strains: those that the rod has, if not all."""
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        laws = dict(pairs)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: intrinsic is {given!r}; expected strains by name, {{'bend_z': '2 * t'}}") from None
    for name, law in laws.items():
        if name not in known:
            expected = ", ".join(known)
            raise ValueError(f"{where}: intrinsic has {name!r}; {meant(str(name), known)}expected some of {expected}")
        if strains and name not in strains:
            raise ValueError(f"{where}: intrinsic has {name!r}, which is not among its strains {', '.join(strains)}")
        if isinstance(law, str):
            _law(where, name, law, 0.0)
        elif callable(law) or isinstance(law, bool):
            raise ValueError(f"{where}: intrinsic {name} is {law!r}; expected a number or an expression of t and s")
        else:
            laws[name] = float(as_numbers(where, f"intrinsic {name}", law, ()))
    return tuple((name, laws[name]) for name in known if name in laws and laws[name] != 0.0)


def _law(where: str, name: str, law: float | str, s: float, rates: bool = True) -> Expression:
    try:
        return Expression(law, rates=rates, names={ARC_LENGTH: s})
    except ValueError as error:
        raise ValueError(f"{where}: intrinsic {name} {error}; it may use t and s, the arc length [m]") from None


def varies(rod: Rod) -> bool:
    """Whether the intrinsic strain is not the same all along a rod."""
    return any(isinstance(law, str) and ARC_LENGTH in used_names(law) for _, law in rod.intrinsic)


def intrinsic_strains(rod: Rod, known: Sequence[str]) -> list[IntrinsicStrain | None]:
    """That of each element; None if there is none."""
    if not rod.intrinsic:
        return [None] * rod.elements
    L, where, laws = rod.length / rod.elements, f"rod {rod.name!r}", dict(rod.intrinsic)
    middles = L * (np.arange(rod.elements) + 0.5)
    places = middles[:, None] + L * GAUSS * np.array([-1.0, 1.0])
    around = rod.poses((places[..., None] + NEAR * L * np.array([-1.0, 1.0])).ravel()).reshape(-1, 2, 2, 7)
    mean = pose_group.log(pose_group.compose(pose_group.inverse(around[:, :, 0]), around[:, :, 1])) / (2.0 * NEAR * L)
    curve = [tuple(map(tuple, own)) for own in mean.tolist()]

    def at(s: float) -> tuple[tuple[float, ...], ...]:
        return tuple(_law(where, name, laws[name], s).program if name in laws else () for name in known)

    def value(s: float) -> Expression:
        return Expression([laws.get(name, 0.0) for name in known], names={ARC_LENGTH: s})

    if not varies(rod):
        programs, same = (at(0.0),) * 2, value(0.0)
        return [IntrinsicStrain(same, programs, curve[k]) for k in range(rod.elements)]
    found = zip(middles.tolist(), places.tolist(), curve, strict=True)
    return [IntrinsicStrain(value(middle), tuple(map(at, both)), own) for middle, both, own in found]


def strains_at(rod: Rod, times: np.ndarray, known: Sequence[str]) -> np.ndarray:
    """Intrinsic strains in the middle of each element at times, (..., elements, 6)."""
    found = np.zeros((*times.shape, rod.elements, 6))
    last, values = None, found[..., 0, :]
    for k, own in enumerate(intrinsic_strains(rod, known)):
        if own is not None:
            if own.value is not last:
                last, values = own.value, own.value.over(times)
            found[..., k, :] = values
    return found
