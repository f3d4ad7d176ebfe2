"""Costs and limits of a plan, by name."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from chasles.plan.quantities import CALLER, MotionQuantity

ALWAYS, END = "always", "end"
NODE_TOLERANCE = 1e-9  # of a step
When = str | ArrayLike


@dataclass(frozen=True)
class EffortCost:
    """∫ Σ weight u² dt, exactly, as inputs are held."""

    weight: np.ndarray


@dataclass(frozen=True)
class DurationCost:
    """weight T."""

    weight: float


@dataclass(frozen=True)
class Wish:
    """∫ Σ weight r² dt by the trapezoidal rule over the nodes; at moments the sum without dt."""

    quantity: MotionQuantity
    weight: np.ndarray
    when: When
    sides: int = 1


@dataclass(frozen=True)
class MotionLimit:
    """low <= r <= high at nodes; of inputs, in steps: at their starts, or at both `sides` of them."""

    quantity: MotionQuantity
    low: np.ndarray
    high: np.ndarray
    when: When
    sides: int = 1


def effort(weight: ArrayLike = 1.0) -> EffortCost:
    """∫ Σ weight u² dt; a weight for all inputs, or one for each."""
    return EffortCost(_weights("effort", weight))


def duration(weight: float = 1.0) -> DurationCost:
    """weight T, for plans whose end time is free."""
    return DurationCost(float(_weights("duration", weight)))


def tracking(what: MotionQuantity, weight: ArrayLike = 1.0, when: When = ALWAYS) -> Wish:
    """∫ Σ weight r² dt of a quantity; when: "end", or fractions of the duration, where Σ weight r² is added."""
    return Wish(_quantity("tracking", what), _weights("tracking", weight), _when("tracking", when))


def final(what: MotionQuantity, weight: ArrayLike = 1.0) -> Wish:
    """Σ weight r² at the end."""
    return tracking(what, weight, END)


def keep(
    what: MotionQuantity, low: ArrayLike | None = None, high: ArrayLike | None = None, when: When = ALWAYS
) -> MotionLimit:
    """low <= r <= high at all nodes, at the end, or at fractions of the duration. None: no limit on this side."""
    least = np.asarray(-np.inf if low is None else low, dtype=float)
    most = np.asarray(np.inf if high is None else high, dtype=float)
    if np.isnan(least).any() or np.isnan(most).any() or (least > most).any():
        raise ValueError(f"{CALLER}: keep has low {low!r} and high {high!r}; expected low <= high")
    return MotionLimit(_quantity("keep", what), least, most, _when("keep", when))


def reach(what: MotionQuantity, when: When = END) -> MotionLimit:
    """r = 0 at the end, or at fractions of the duration, each of them at a node: the quantity reaches its target
    there."""
    return MotionLimit(_quantity("reach", what), np.zeros(()), np.zeros(()), _when("reach", when))


def nodes_of(when: When, edges: np.ndarray, driven: bool = False) -> np.ndarray:
    """The numbers of nodes; edges: at which shares of the duration all nodes are. driven: of the steps that begin
    there, and at the end of the last one."""
    steps = len(edges) - 1
    if driven:
        return (
            np.arange(steps) if isinstance(when, str) and when == ALWAYS else nodes_of(when, edges).clip(0, steps - 1)
        )
    if isinstance(when, str):
        return np.arange(steps + 1) if when == ALWAYS else np.array([steps])
    shares = np.atleast_1d(np.asarray(when, dtype=float))
    nodes: np.ndarray = np.abs(edges - shares[:, None]).argmin(axis=1)
    for share in shares[np.abs(edges[nodes] - shares) * steps > NODE_TOLERANCE]:
        parts = Fraction(float(share)).limit_denominator(1000).denominator
        raise ValueError(
            f"{CALLER}: when={share:g} of the duration lies between two of {steps} steps; take a number of steps that "
            f"is a multiple of {parts}, or a share that is a multiple of 1/{steps}"
        )
    return nodes


def _weights(name: str, weight: ArrayLike) -> np.ndarray:
    found = np.asarray(weight, dtype=float)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise ValueError(f"{CALLER}: the weight of {name} is {weight!r}; expected numbers, 0 or more")
    return found


def _quantity(name: str, what: MotionQuantity) -> MotionQuantity:
    if not isinstance(what, MotionQuantity):
        raise TypeError(f"{CALLER}: {name} of {what!r}; expected a quantity: frame, state, joint, speed or quantity")
    return what


def _when(name: str, when: When) -> When:
    if isinstance(when, str):
        if when not in (ALWAYS, END):
            raise ValueError(f'{CALLER}: {name} has when={when!r}; expected "always", "end" or shares from 0 to 1')
        return when
    shares = np.atleast_1d(np.asarray(when, dtype=float))
    if not (shares.size and ((shares >= 0) & (shares <= 1)).all()):
        raise ValueError(f"{CALLER}: {name} has when={when!r}; expected shares of the duration from 0 to 1")
    return shares
