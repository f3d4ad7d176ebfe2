"""Derivatives of many numbers by many parameters from few evaluations, where most numbers depend on one parameter only.

All parameters are varied at once first, by parts of steps that no two of them share: by how much a number changes tells
which parameter it is straight in, if it is. The parameters that anything else depends on are varied one by one. Those
that change different numbers are then varied at once, as far as differences of eighth order need. Truncation and
rounding both stay near 1e-13 of the numbers. A dependence that is not smooth is found out: a formula of lower order on
the same points must agree, or else the same formula over half of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # weights of f(p + k h) - f(p - k h), k = 1 ... 4
FORWARD = (-761 / 280, 8.0, -14.0, 56 / 3, -35 / 2, 56 / 5, -14 / 3, 8 / 7, -1 / 8)  # of f(p + k h), k = 0 ... 8
LOWER_CENTRAL = (3 / 4, -3 / 20, 1 / 60, 0.0)  # the same points, order six
TO_ZERO = (8 / 5, -4 / 5, 8 / 35, -1 / 35)  # of f(p + k h) + f(p - k h) - 2 f(p): zero, but where there is a kink
LOWER_FORWARD = (-363 / 140, 7.0, -21 / 2, 35 / 3, -35 / 4, 21 / 5, -7 / 6, 1 / 7, 0.0)  # and order seven
ROUNDING, ALIKE = 2e-15, 1e-13  # of numbers and of their slopes: derivatives that differ by no more are the same
AGREEMENT = 1e-7  # of two results, relative to the largest derivative
GOLDEN = 0.6180339887498949
FEW = 16  # parameters that are varied one by one, whether they change anything or not

Numbers = Callable[[np.ndarray], np.ndarray]  # by how far parameters are off, in steps
Along = Callable[[float], np.ndarray]  # the same along some of them


class NoDerivativeError(ValueError):
    """A parameter changes what numbers mean."""


class NotSmoothError(ValueError):
    """Derivatives by a parameter over a step and over half of it differ."""

    def __init__(self, parameter: int, off: float):
        super().__init__(parameter, off)
        self.parameter, self.off = parameter, off


class CannotVaryError(ValueError):
    """A parameter can neither increase nor decrease."""

    def __init__(self, parameter: int, reason: Exception):
        super().__init__(parameter, reason)
        self.parameter, self.reason = parameter, reason


class NumberSlopes:
    """Derivatives of f, which is evaluated once at each place, per step of each of `count` parameters.

    f raises ValueError where parameters have no meaning. known_smooth: whether results of two orders are not compared.
    sizes: of what the numbers are sums of, which says what rounding is; by default their own.
    """

    def __init__(
        self,
        f: Numbers,
        base: np.ndarray,
        count: int,
        known_smooth: bool = False,
        sizes: np.ndarray | None = None,
    ):
        self.base, self.count, self.known_smooth = base, count, known_smooth
        of_numbers = np.abs(base) if sizes is None else sizes
        self.sizes = np.where(np.isfinite(of_numbers), of_numbers, 0.0)
        self._f, self._known = f, dict[bytes, np.ndarray | ValueError]()

    def found(self, at_zero: np.ndarray) -> np.ndarray:
        """All of them, (numbers, count). at_zero: parameters that may have no meaning on one side."""
        found, every = np.zeros((len(self.base), self.count)), np.arange(self.count)
        left = self._straight(every, found)
        if left is None and at_zero.any():
            self._bent(every[at_zero], np.ones(len(self.base), dtype=bool), found)
            every = every[~at_zero]
            left = self._straight(every, found)
        self._bent(every, np.ones(len(self.base), dtype=bool) if left is None else left, found)
        return found

    # ------------------------------------------------------------ values

    def change(self, offsets: np.ndarray) -> np.ndarray:
        """f - base at offsets (count,). Limits at infinity do not move."""
        key = offsets.tobytes()
        if key not in self._known:
            try:
                value = self._f(offsets)
                self._known[key] = np.subtract(value, self.base, out=np.zeros_like(value), where=value != self.base)
            except NoDerivativeError:
                raise
            except ValueError as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, ValueError):
            raise known
        return known

    def along(self, some: Iterable[int], among: np.ndarray | None = None) -> Along:
        """Changes by steps of some parameters at once. among: numbers of which alone may change."""
        direction = np.zeros(self.count)
        direction[list(some)] = 1.0

        def at(offset: float) -> np.ndarray:
            found = self.change(offset * direction)
            if among is not None and found[~among].any():
                raise ValueError("numbers change that no parameter changes by itself")
            return found

        return at

    # ------------------------------------------------------------ numbers that are straight in one parameter

    def _straight(self, own: np.ndarray, found: np.ndarray) -> np.ndarray | None:
        """Put the slopes of those by some parameters into `found`; which other numbers change. None if f has no values
        at the places that are tried, or if too few parameters are there to make it worthwhile."""
        if len(own) < 3:
            return None
        parts = np.ones(len(own)), spread(len(own), 1), -spread(len(own), 2)
        offsets = np.zeros((3, self.count))
        offsets[:, own] = parts
        try:
            changes = np.array([self.change(one) for one in offsets])
        except ValueError:  # which parameter it is, and what is wrong, is found by varying them one by one
            return None
        order, changed = np.argsort(parts[1]), np.any(changes != 0.0, axis=0)
        ratio = np.divide(changes[1], changes[0], out=np.zeros_like(changes[0]), where=changes[0] != 0.0)
        middles = 0.5 * (parts[1][order][1:] + parts[1][order][:-1])
        which = order[np.searchsorted(middles, ratio)]
        factors = np.array([part[which] for part in parts])
        slopes = (changes[0] - changes[2]) / (factors[0] - factors[2])
        straight = (np.abs(changes - factors * slopes) <= self._rounding(slopes)).all(axis=0)
        rows = np.flatnonzero(changed & straight)
        found[rows, own[which[rows]]] = slopes[rows]
        return np.asarray(changed & ~straight)

    def _rounding(self, slopes: np.ndarray) -> np.ndarray:
        """By how much slopes may differ that are the same."""
        return np.asarray(ROUNDING * (self.sizes + np.abs(slopes)) + ALIKE * np.abs(slopes))

    # ------------------------------------------------------------ all others

    def _bent(self, own: np.ndarray, rows: np.ndarray, found: np.ndarray) -> None:
        """Put the slopes of some numbers by some parameters into `found`."""
        if not rows.any():
            return
        effective, probes = own.tolist(), list[np.ndarray]()
        if len(own) > FEW:
            effective = self._effective(effective, rows)
        for j in effective:
            try:
                probes.append((self.along([j])(1.0) != 0.0) & rows)
            except NoDerivativeError:
                raise
            except ValueError:  # there is nothing on this side
                probes.append(rows)
        for group in apart(probes):
            together = self.along([effective[k] for k in group], np.any([probes[k] for k in group], axis=0) | ~rows)
            for k in group:
                mine = probes[k]
                slopes = self._together(together, mine) if len(group) > 1 else None
                found[mine, effective[k]] = self._alone(effective[k], rows)[mine] if slopes is None else slopes

    def _effective(self, own: list[int], rows: np.ndarray) -> list[int]:
        """Those of some parameters that change some numbers, or may do so: halves of them are varied at once."""
        try:
            if not self.along(own)(1.0)[rows].any():
                return []
        except ValueError:
            return own
        middle = len(own) // 2
        if not middle:
            return own
        return self._effective(own[:middle], rows) + self._effective(own[middle:], rows)

    def _together(self, at: Along, mine: np.ndarray) -> np.ndarray | None:
        """Slopes of the numbers that one of several parameters changes, if they can be told from those varied at
        once."""
        try:
            for formula in (self._of_line, self._of_quadratic, self._of_many):
                slopes, alike = formula(at)
                if alike[mine].all():
                    return slopes[mine]
        except ValueError:  # there is nothing at some place
            pass
        return None

    def _alone(self, parameter: int, rows: np.ndarray) -> np.ndarray:
        at = self.along([parameter])
        for formula in (self._of_line, self._of_quadratic):
            try:
                slopes, alike = formula(at)
            except NoDerivativeError:
                raise
            except ValueError:
                continue
            if alike[rows].all():
                return slopes
        coarse, lower, kink = self._one_by_one(at, parameter)
        enough = AGREEMENT * np.abs(coarse[rows]).max() + 1e-13 * self.sizes.max(initial=0.0)
        if not self.known_smooth and not max(np.abs(coarse - lower)[rows].max(), kink[rows].max()) <= enough:
            # strongly curved, or not smooth
            fine, _, kink = self._one_by_one(lambda offset: at(0.5 * offset), parameter)
            off = float(max(np.abs(coarse - 2.0 * fine)[rows].max(), kink[rows].max()))
            if not off <= enough:
                raise NotSmoothError(parameter, off)
        return coarse

    # ------------------------------------------------------------ formulas: slopes, and which ones are right

    def _of_line(self, at: Along) -> tuple[np.ndarray, np.ndarray]:
        """Of numbers that are straight: slopes to both sides, over different lengths, agree to rounding."""
        ahead, behind = at(1.0), -2.0 * at(-0.5)
        return (at(1.0) - at(-0.5)) / 1.5, np.abs(ahead - behind) <= self._rounding(ahead)

    def _of_quadratic(self, at: Along) -> tuple[np.ndarray, np.ndarray]:
        """Of polynomials of second order, as moments are in lengths: two lengths of central differences agree."""
        far, near = 0.5 * (at(1.0) - at(-1.0)), at(0.5) - at(-0.5)
        bend, same = at(1.0) + at(-1.0), 4.0 * (at(0.5) + at(-0.5))
        enough = self._rounding(far)
        return far, (np.abs(far - near) <= enough) & (np.abs(bend - same) <= 4.0 * enough + ALIKE * np.abs(bend))

    def _of_many(self, at: Along) -> tuple[np.ndarray, np.ndarray]:
        """Of order eight, and which ones agree with those of order six."""
        coarse, lower, kink = _central(at)
        return coarse, np.maximum(np.abs(coarse - lower), kink) <= AGREEMENT * np.abs(coarse) + 1e-13 * self.sizes

    def _one_by_one(self, at: Along, parameter: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Central difference, or one-sided where there is nothing on the other side (a damping below zero); the same of
        lower order; by how much slopes to both sides differ."""
        try:
            return _central(at)
        except NoDerivativeError:
            raise
        except ValueError as error:
            refused = error
        for side in (1.0, -1.0):
            try:
                points = [at(k * side) for k in range(1, 9)]
            except ValueError:
                continue
            coarse, lower = np.tensordot(FORWARD[1:], points, 1), np.tensordot(LOWER_FORWARD[1:], points, 1)
            return side * coarse, side * lower, np.zeros_like(coarse)
        raise CannotVaryError(parameter, refused) from refused


def _central(at: Along) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ahead, behind = ([at(sign * k) for k in (1.0, 2.0, 3.0, 4.0)] for sign in (1.0, -1.0))
    pairs, bends = np.subtract(ahead, behind), np.add(ahead, behind)
    return (
        *(np.tensordot(weights, pairs, 1) for weights in (CENTRAL, LOWER_CENTRAL)),
        np.abs(np.tensordot(TO_ZERO, bends, 1)),
    )


def difference(f: Callable[[float], Any], h: float) -> Any:
    """f'(0), of eighth order."""
    return sum(weight * (f(k * h) - f(-k * h)) for k, weight in enumerate(CENTRAL, 1)) / h


def spread(count: int, key: int) -> np.ndarray:
    """Numbers from 1/2 to 1 that are all different, and have nothing in common with those of another key."""
    return np.asarray(0.5 + 0.5 * np.modf(np.sqrt(2.0 + key) + GOLDEN * (1.0 + 0.1 * key) * np.arange(count))[0])


def apart(changed: list[np.ndarray]) -> list[list[int]]:
    """Groups of things that change different numbers. changed: of each, which ones, (numbers,)."""
    groups = list[tuple[list[int], np.ndarray]]()
    for j, own in enumerate(changed):
        for group, taken in groups:
            if not (taken & own).any():
                group.append(j)
                taken |= own
                break
        else:
            groups.append(([j], own.copy()))
    return [group for group, _ in groups]
