"""Transmissions by name: couplings from the numbers of a designer, such as teeth, radius and lead.

Angles of joints count as their axes say; of two gears with parallel axes, let the axes have the same direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from chasles.model.constraint import Coupling
from chasles.model.placement import as_numbers


def gear_pair(
    name: str, joints: Sequence[str], teeth: Sequence[float], internal: bool = False, offset: float = 0.0
) -> Coupling:
    """Two gears in mesh: z_1 q_1 + z_2 q_2 = z_1 offset, or z_1 q_1 - z_2 q_2 if one of them is an internal gear.

    joints: those that carry the gears, on the same body; teeth: numbers of teeth, or radii, of both; offset: angle of
    the first gear [rad] when the second is at zero.
    """
    where = f"gear pair {name!r}"
    first, second = _names(where, joints, 2)
    z = _positive(where, "teeth", teeth, 2)
    start = _number(where, "offset", offset)
    return Coupling(name, (first, second), (z[0], -z[1] if internal else z[1]), z[0] * start)


def planetary_gear(
    name: str, sun: str, carrier: str, teeth: Sequence[float], ring: str | None = None, offset: float = 0.0
) -> Coupling:
    """A planetary set by Willis' equation: z_s (q_sun - q_carrier) + z_r (q_ring - q_carrier) = offset.

    sun, carrier, ring: joints on the same body, with the same axis; ring: None if the ring gear stands still; teeth:
    numbers of teeth of the sun and the ring.
    """
    where = f"planetary gear {name!r}"
    z_sun, z_ring = _positive(where, "teeth", teeth, 2)
    if not z_ring > z_sun:
        raise ValueError(
            f"{where}: teeth is [{z_sun:g}, {z_ring:g}]; expected the number of the inner gear first, which is smaller"
        )
    ratios = {sun: z_sun, ring: z_ring, carrier: -(z_sun + z_ring)}
    if len(ratios) < 3:
        raise ValueError(
            f"{where}: sun {sun!r}, ring {ring!r} and carrier {carrier!r}; expected the names of different joints"
        )
    terms = [(joint, c) for joint, c in ratios.items() if joint is not None]
    return Coupling(name, tuple(j for j, _ in terms), tuple(c for _, c in terms), _number(where, "offset", offset))


def rack_and_pinion(name: str, pinion: str, rack: str, radius: float, offset: float = 0.0) -> Coupling:
    """A rack that a pinion moves: q_rack = radius q_pinion + offset.

    pinion, rack: joints on the same body, a revolute and a prismatic one; radius [m] of the pitch circle, negative if
    the rack moves back when the pinion turns forward; offset [m].
    """
    where = f"rack and pinion {name!r}"
    r = _not_zero(where, "radius", radius)
    return Coupling(name, (pinion, rack), (-r, 1.0), _number(where, "offset", offset))


def lead_screw(name: str, joints: str | Sequence[str], lead: float, offset: float = 0.0) -> Coupling:
    """A screw that moves a nut: distance = lead / (2π) angle + offset.

    joints: that of the angle and that of the distance; or one cylindrical joint, which has both. lead: distance in one
    turn [m], negative for a left-handed thread; offset [m].
    """
    where = f"lead screw {name!r}"
    ratios, start = (-_not_zero(where, "lead", lead) / (2 * math.pi), 1.0), _number(where, "offset", offset)
    if isinstance(joints, str) or len(joints) == 1:
        one = joints if isinstance(joints, str) else joints[0]
        return Coupling(name, (one, one), ratios, start, (0, 1))
    return Coupling(name, _names(where, joints, 2), ratios, start)


def _names(where: str, joints: Any, count: int) -> tuple[str, ...]:
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"{where}: joints is {joints!r}; expected the names of {count} different joints")
    return names


def _number(where: str, what: str, value: Any) -> float:
    return float(as_numbers(where, what, value, ()))


def _not_zero(where: str, what: str, value: Any) -> float:
    number = _number(where, what, value)
    if number == 0.0:
        raise ValueError(f"{where}: {what} is 0; expected a number [m] that is not zero")
    return number


def _positive(where: str, what: str, values: Any, count: int) -> list[float]:
    numbers = as_numbers(where, what, values, (count,))
    if not (numbers > 0).all():
        raise ValueError(f"{where}: {what} is {numbers.tolist()}; expected {count} positive numbers")
    listed: list[float] = numbers.tolist()
    return listed
