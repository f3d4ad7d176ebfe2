"""Scalars of a trajectory: what `gradient` differentiates.

A term is made of a function of time and state, evaluated at all points of a run at once. Its derivatives with respect
to q and v are complex steps, which are exact to rounding, or what the function returns beside its values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.simulation.slopes import difference

STEP = 1e-30  # of a complex step: what is below rounding does no harm
PROBE, AGREEMENT = 1e-6, 1e-4  # a real difference, and how far it may be from the complex step, relative

POINTS, LARGEST = 6, 3.0  # of a polynomial in integrals, and the largest share of a point in an interval
BLOCK = 4096  # intervals whose polynomials are found at once
NONE = np.zeros(0, dtype=int)

Function = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Measure:
    """Numbers l(t, q, v) of points, and how they make one number: `weigh` takes times, values and which points are
    kinks, and gives the number and its derivatives with respect to the values."""

    function: Function
    weigh: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]
    name: str
    everywhere: bool = False  # whether all points count, however small their weights are

    def __add__(self, other: Measure | Sum) -> Sum:
        return Sum((self,)) + other

    def cotangents(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, kinks: np.ndarray = NONE
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """The number, and its derivatives with respect to the numbers q (times, nq) and v (times, nv). kinks: points
        where derivatives along the motion jump."""
        number, weights = self.number(t, self.values(t, q, v), kinks)
        return number, *self.along(t, q, v, weights)

    def values(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The numbers of points, (times,)."""
        with np.errstate(all="ignore"):  # points that do not count may have no value
            found = self.function(t, q, v)
        if isinstance(found, tuple) and len(found) != 3:
            raise ValueError(f"gradient: the function of {self.name} returned {len(found)} arrays; expected 1 or 3")
        values = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=float)
        if values.shape != (len(t),):
            raise ValueError(
                f"gradient: the function of {self.name} returned shape {values.shape}; expected ({len(t)},): a number "
                "for each time, from arrays t (times,), q (times, nq) and v (times, nv)"
            )
        return values

    def number(self, t: np.ndarray, values: np.ndarray, kinks: np.ndarray = NONE) -> tuple[float, np.ndarray]:
        """The number that the values of all points make, and its derivatives with respect to them."""
        number, weights = self.weigh(t, np.where(np.isfinite(values), values, 0.0), kinks)
        self._require_finite("is", values[:, None], t, (weights != 0.0) | self.everywhere)
        return number, weights

    def along(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of weights times values with respect to q and v."""
        counts = weights != 0.0
        with np.errstate(all="ignore"):
            found = self.function(t, q, v)
        if isinstance(found, tuple):
            by_q, by_v = (np.asarray(x, dtype=float) for x in found[1:])
            if by_q.shape != q.shape or by_v.shape != v.shape:
                raise ValueError(
                    f"gradient: the function of {self.name} returned derivatives of shapes {by_q.shape} and "
                    f"{by_v.shape}; expected {q.shape} and {v.shape}"
                )
        else:
            by_q, by_v = self._differentiated(t, q, v, counts)
        self._require_finite("has derivatives that are", np.concatenate([by_q, by_v], axis=1), t, counts)
        along_q, along_v = (np.where(counts[:, None], weights[:, None] * part, 0.0) for part in (by_q, by_v))
        return along_q, along_v

    def by_end_time(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, kinks: np.ndarray = NONE) -> float:
        """The derivative by the time of the last point, while states stay: of integrals, what is added to them, and of
        the function itself."""
        values = self.values(t, q, v)
        size = 0.02 * (t[-1] - t[-2])

        def moved(offset: float) -> np.ndarray:
            times = t.copy()
            times[-1] += offset
            return times

        found = difference(lambda offset: self.weigh(moved(offset), values, kinks)[0], size) if self.everywhere else 0.0
        weight = self.weigh(t, values, kinks)[1][-1]
        if weight != 0.0:
            found += weight * difference(lambda offset: self.values(moved(offset), q, v)[-1], size)
        return float(found)

    def _require_finite(self, told: str, found: np.ndarray, t: np.ndarray, counts: np.ndarray) -> None:
        """ValueError unless numbers of the points that count are finite."""
        wrong = ~np.isfinite(found).all(axis=1) & counts
        if wrong.any():
            raise ValueError(
                f"gradient: the function of {self.name} {told} not finite at t = {t[np.argmax(wrong)]:.6g} s; is there "
                "a norm, or 1/x, where x is zero?"
            )

    @np.errstate(all="ignore")
    def _differentiated(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives by complex steps, compared with a real difference along all numbers at once, at points that
        count."""
        both = np.concatenate([q, v], axis=1)
        found, nq = np.empty_like(both), q.shape[1]
        try:
            for k in range(both.shape[1]):
                x = both.astype(complex)
                x[:, k] += 1j * STEP
                found[:, k] = np.imag(self.function(t, x[:, :nq], x[:, nq:])) / STEP
        except TypeError as error:
            raise TypeError(f"gradient: the function of {self.name} does not take complex numbers, {TELL}") from error
        along = np.sin(1.0 + np.arange(both.shape[1])) * (np.abs(both).max(axis=0) + PROBE)
        ahead, behind = (both + s * PROBE * along for s in (1, -1))
        wanted = (
            np.asarray(self.function(t, ahead[:, :nq], ahead[:, nq:]))
            - self.function(t, behind[:, :nq], behind[:, nq:])
        ) / (2 * PROBE)
        size = np.abs(found * along)[counts].sum(axis=1).max(initial=0.0) + np.abs(wanted[counts]).max(initial=0.0)
        if np.abs(found @ along - wanted)[counts].max(initial=0.0) > AGREEMENT * size:
            raise ValueError(
                f"gradient: the function of {self.name} has other derivatives by complex steps than by differences: it "
                f"has abs, a norm or a comparison in it; write x * x for abs(x)**2, or {TELL}"
            )
        return found[:, :nq], found[:, nq:]


TELL = "let it return (values, derivatives by q, derivatives by v)"


@dataclass(frozen=True)
class Sum:
    """Terms that are added up."""

    terms: tuple[Measure, ...]

    def __add__(self, other: Measure | Sum) -> Sum:
        return Sum((*self.terms, *(other.terms if isinstance(other, Sum) else (other,))))


def end(function: Function) -> Measure:
    """l(t, q, v) at the end."""

    def weigh(t: np.ndarray, values: np.ndarray, kinks: np.ndarray = NONE) -> tuple[float, np.ndarray]:
        return float(values[-1]), np.eye(len(t))[-1]

    return Measure(function, weigh, "end")


def integral(function: Function) -> Measure:
    """The integral of l(t, q, v) over the run: of polynomials of degree five through six points at a time, not across
    kinks. Its order is six, so that its error is that of the run."""

    def weigh(t: np.ndarray, values: np.ndarray, kinks: np.ndarray = NONE) -> tuple[float, np.ndarray]:
        weights = quadrature(t, kinks)
        return float(weights @ values), weights

    return Measure(function, weigh, "integral", everywhere=True)


def trapezoidal(t: np.ndarray) -> np.ndarray:
    """Weights of points in an integral, by the trapezoidal rule."""
    steps, weights = np.diff(t), np.zeros(len(t))
    weights[:-1] += 0.5 * steps
    weights[1:] += 0.5 * steps
    return weights


def quadrature(t: np.ndarray, kinks: np.ndarray = NONE) -> np.ndarray:
    """Weights of points in an integral: of each interval the integral of the polynomial through the `POINTS` points
    about it, or fewer between kinks and where steps differ so much that weights would be large."""
    weights, edges = np.zeros(len(t)), np.unique([0, *kinks, len(t) - 1])
    blocks = ((a, b, begin) for a, b in itertools.pairwise(edges) for begin in range(a, b, BLOCK))
    for first, last, start in blocks:
        left, count = np.arange(start, min(start + BLOCK, last)), min(POINTS, last - first + 1)
        while len(left):
            begin = np.clip(left - count // 2 + 1, first, last + 1 - count)
            places, h = begin[:, None] + np.arange(count), t[left + 1] - t[left]
            shares = _of_intervals((t[places] - t[left][:, None]) / h[:, None])
            fits = (np.abs(shares).max(axis=1) < LARGEST) | (count == 2)
            np.add.at(weights, places[fits], (h[:, None] * shares)[fits])
            left, count = left[~fits], count - 1
    return weights


def _of_intervals(x: np.ndarray) -> np.ndarray:
    """Weights of values at x (intervals, points) in the integral from 0 to 1 of the polynomials through them."""
    powers, first = np.arange(x.shape[1]), np.round(x[:, 0])
    if np.ptp(x - first[:, None], axis=0).max() < 1e-9:  # equal steps: few are different
        _, chosen, which = np.unique(first, return_index=True, return_inverse=True)
    else:
        chosen = which = np.arange(len(x))
    matrix = x[chosen][:, None, :] ** powers[:, None]
    right = np.broadcast_to((1.0 / (1.0 + powers))[:, None], (len(chosen), len(powers), 1))
    return np.linalg.solve(matrix, right)[which, :, 0]


def samples(times: ArrayLike, function: Function) -> Measure:
    """The sum of l(t, q, v) over some times, which must be points of the run (`stops` makes them so)."""
    wanted = np.atleast_1d(np.asarray(times, dtype=float))

    def weigh(t: np.ndarray, values: np.ndarray, kinks: np.ndarray = NONE) -> tuple[float, np.ndarray]:
        span = abs(t[-1] - t[0]) or 1.0
        near = np.abs(t[:, None] - wanted).argmin(axis=0)
        off = np.abs(t[near] - wanted)
        if (off > 1e-9 * span).any():
            missing = wanted[np.argmax(off)]
            raise ValueError(
                f"gradient: t = {missing:.6g} is not a point of the run; simulate with stops=times, or with a step "
                "that meets them"
            )
        weights = np.bincount(near, minlength=len(t)).astype(float)
        return float(weights @ values), weights

    return Measure(function, weigh, "samples")


def smooth_maximum(function: Function, sharpness: float) -> Measure:
    """log(Σ exp(s l) h / T) / s: the largest l(t, q, v) of the run, from below, as the sharpness s grows; h: the
    trapezoidal weights of the points, T: the length of the run."""
    if not sharpness > 0:
        raise ValueError(f"smooth_maximum: sharpness is {sharpness!r}; expected a positive number")

    def weigh(t: np.ndarray, values: np.ndarray, kinks: np.ndarray = NONE) -> tuple[float, np.ndarray]:
        weights = trapezoidal(t)
        shares = weights / weights.sum() if len(t) > 1 else np.ones(1)
        top = values.max()
        powers = shares * np.exp(sharpness * (values - top))
        return float(top + np.log(powers.sum()) / sharpness), powers / powers.sum()

    return Measure(function, weigh, "smooth_maximum", everywhere=True)
