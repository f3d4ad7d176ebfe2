"""Motions that tell parameters apart: sums of sines within limits, chosen by what torques on them would tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.relative.parameter.identifiability import Identifiability
from chasles.relative.parameter.inertial import check_terms

LOOKED_AT = 60  # times of a period at which a motion is judged
CHECKED_AT = 400  # times at which it is held to its limits
FIRST = 0.3  # how far the first changes of the search go, of the coefficients
SHRINK, GROW = 0.93, 1.3  # of that distance after a change that was worse, and better


@dataclass(frozen=True)
class Excitation:
    """A periodic motion: q = middle + Σ (sines_k sin k ω t + cosines_k cos k ω t), ω = 2π / period.

    excitation(t) gives q, v and a at times. `condition` is that of the base parameters' columns, scaled to unit length;
    `told` says what torques on the motion tell.
    """

    period: float
    middle: np.ndarray
    sines: np.ndarray  # (nv, harmonics)
    cosines: np.ndarray
    told: Identifiability

    @property
    def condition(self) -> float:
        """How much worse the worst combination of parameters is told than the best; 1 is ideal."""
        return self.told.condition

    def __call__(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and a at times, (times, nv) each."""
        return motion_of(np.asarray(t, dtype=float), self.period, self.middle, self.sines, self.cosines)


def motion_of(
    t: np.ndarray, period: float, middle: np.ndarray, sines: np.ndarray, cosines: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of sines and their derivatives at times (n,)."""
    speed = 2 * np.pi / period * np.arange(1, sines.shape[1] + 1)
    s, c = np.sin(np.multiply.outer(t, speed)), np.cos(np.multiply.outer(t, speed))
    q = middle + s @ sines.T + c @ cosines.T
    v = (speed * c) @ sines.T - (speed * s) @ cosines.T
    a = -(speed**2 * s) @ sines.T - (speed**2 * c) @ cosines.T
    return q, v, a


def excitation(
    system: System | Mechanism | ClosedMechanism,
    period: float = 10.0,
    *,
    harmonics: int = 5,
    position: ArrayLike | None = None,
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    joint_terms: Iterable[str] | str = (),
    tries: int = 400,
    seed: int = 0,
) -> Excitation:
    """Design a motion of a tree within limits from which its inertial parameters can be identified.

    position: (low, high) of the coordinates, speed and acceleration: their largest sizes; numbers, or one for each
    joint; by default the limits of the joints. The determinant of what the torques tell of the base parameters
    (D-optimality) is made large by a random search with `tries` motions, all of which keep the limits.
    """
    mechanism = system.compile() if isinstance(system, System) else system
    if not isinstance(mechanism, Mechanism) or mechanism.nq != mechanism.nv:
        raise ValueError("excitation: expected a tree whose joints have no quaternions; spherical and free ones do")
    terms = check_terms("excitation", joint_terms)
    if not (np.isfinite(period) and period > 0) or harmonics < 1 or tries < 1:
        raise ValueError("excitation: expected a period above 0, and one harmonic and one try or more")
    low, high, fastest, strongest = _limits(mechanism, position, speed, acceleration)
    middle, rng = 0.5 * (low + high), np.random.default_rng(seed)
    any_motion = mechanism.parameters.inertial_identifiability(joint_terms=terms)  # what any motion could tell
    t, fine = np.linspace(0, period, LOOKED_AT, endpoint=False), np.linspace(0, period, CHECKED_AT, endpoint=False)

    def within(x: np.ndarray) -> np.ndarray:
        """Coefficients (2, nv, harmonics), each joint's scaled so that it just keeps its limits."""
        q, v, a = motion_of(fine, period, 0.0 * middle, *x)
        with np.errstate(divide="ignore"):
            room = [0.5 * (high - low), fastest, strongest] / np.abs([q, v, a]).max(axis=1)
        return x * room.min(axis=0)[:, None]

    def worth(x: np.ndarray) -> float:
        matrix = mechanism.parameters.regressor(*motion_of(t, period, middle, *x), terms)
        columns = any_motion.columns(matrix).reshape(-1, any_motion.rank)
        size = np.abs(np.diag(np.linalg.qr(columns / np.linalg.norm(columns, axis=0).clip(1e-300), mode="r")))
        return float(np.log(size.clip(1e-300)).sum() + np.log(np.linalg.norm(columns, axis=0).clip(1e-300)).sum())

    shape, reach = (2, mechanism.nv, harmonics), FIRST
    best = within(rng.normal(size=shape))
    value = worth(best)
    for k in range(tries - 1):
        fresh = k < tries // 4
        step = rng.normal(size=shape) if fresh else best + reach * np.abs(best).mean() * rng.normal(size=shape)
        trial = within(step)
        found = worth(trial)
        if not fresh:
            reach *= GROW if found > value else SHRINK
            reach = max(reach, 1e-3)
        if found > value:
            best, value = trial, found
    told = mechanism.parameters.inertial_identifiability(*motion_of(t, period, middle, *best), terms)
    return Excitation(period, middle, best[0], best[1], told)


def _limits(
    mechanism: Mechanism, position: ArrayLike | None, speed: ArrayLike | None, acceleration: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Low and high coordinates, largest speeds and accelerations, (nv,) each."""
    own, nv = mechanism.limits, mechanism.nv
    low, high = (own.lower, own.upper) if position is None else np.asarray(position, dtype=float)
    low, high = (np.broadcast_to(np.asarray(x, dtype=float), (nv,)) for x in (low, high))
    fastest = np.broadcast_to(np.asarray(own.velocity if speed is None else speed, dtype=float), (nv,))
    strongest = np.broadcast_to(np.asarray(np.inf if acceleration is None else acceleration, dtype=float), (nv,))
    for k in np.flatnonzero(~np.isfinite(high - low)):
        name = mechanism.tables.joint_of_any(int(k))
        raise ValueError(f"excitation: joint {name!r} has no limits; give position=(low, high)")
    if not ((low < high).all() and (fastest > 0).all() and (strongest > 0).all()):
        raise ValueError("excitation: expected low < high, and speeds and accelerations above 0")
    return low, high, fastest, strongest
