"""Impacts at limits of coordinates, several at once: Newton's law of restitution.

Impulses p >= 0 at the closed limits change their speeds u to u + W p. Each limit gives back at least e of the speed at
which it was struck, u+ >= -e u-, and no more where it pushes: a complementarity problem, with the same minimizer as the
forces at rest. Loops and drives take part through W. Constant friction is bounded, so it gives no impulse.

Friction in proportion to loads does: the blow goes through the joints, and each may take up to mu times the impulse
that it carries, against its slip after the impact (Moreau), or as much as stops it; mu is the static coefficient of
what rests before and after. A coordinate that strikes rebounds
with its own e, whatever rubs there. The energy lost is -sum p (u- + u+) / 2. Restitution and friction together can make
it negative, which is refused (Kane's paradox).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.simulation.nonsmooth.box_forces import forces_in_box
from chasles.simulation.nonsmooth.loaded_friction import FrictionLoadError

ROUNDING = 1e-12  # of the velocities and changes that make it: a rebound so near to its share is its share
LOADINGS, LOADED = 200, 1e-14  # iterations for the impulses that joints carry, and how exact they become
UNMOVED = 1e-13  # of the largest change: a velocity that was zero and changes by less is not changed


class Strike(NamedTuple):
    """What happened at rigid limits at a time [s]: the names of the events, velocities of all joints before and after
    [rad/s, m/s], and the energy lost [J]."""

    t: float
    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    lost: float


class Impact(NamedTuple):
    """Velocities after, impulses [N s or N m s] and the energy lost [J]."""

    velocities: np.ndarray
    impulses: np.ndarray
    lost: float


class Rubbing(NamedTuple):
    """Coordinates whose friction depends on what they carry: names, columns, coefficients of those that slide and of
    those that rest before and after, and the vectors (terms, 3, limits and these) that unit impulses make, whose
    lengths are the impulse carried by each of `whose`."""

    names: tuple[str, ...]
    columns: np.ndarray
    sliding: np.ndarray
    resting: np.ndarray
    vectors: np.ndarray
    whose: np.ndarray

    def carried(self, impulses: np.ndarray) -> np.ndarray:
        """What each carries, by the impulses at limits and here."""
        if not len(self.columns):
            return np.zeros(0)
        return np.bincount(self.whose, np.linalg.norm(self.vectors @ impulses, axis=1), len(self.columns))


NONE = Rubbing((), np.zeros(0, dtype=int), np.zeros(0), np.zeros(0), np.zeros((0, 3, 0)), np.zeros(0, dtype=int))


def impact(
    response: np.ndarray, columns: np.ndarray, sides: np.ndarray, v: np.ndarray, bounce: np.ndarray, sizes: np.ndarray,
    rubs: Rubbing = NONE,
) -> Impact:  # fmt: skip
    """The impact at limits of the coordinates `columns`, each pushing along its side, none of which they move away
    from. `response` is what unit impulses along these coordinates, and then along those that rub, change velocities by,
    (nv, limits and these); `sizes` what is large for each velocity."""
    limits, columns, sides = (
        len(columns),
        np.append(columns, rubs.columns),
        np.append(sides, np.ones(len(rubs.columns))),
    )
    before = sides * v[columns]
    W = sides[:, None] * response[columns] * sides
    p = _impulses(np.append((1.0 + bounce) * before[:limits], before[limits:]), W, sides, rubs)
    change = response @ (sides * p)
    unmoved = (v == 0.0) & (np.abs(change) <= UNMOVED * sizes * np.abs(change / sizes).max())
    after = np.where(unmoved, 0.0, v + change)
    share, size = 0.0 - sides[:limits] * bounce * before[:limits], np.abs(before) + np.abs(W) @ np.abs(p)
    share = np.append(share, np.zeros(len(rubs.columns)))  # what friction stops has no speed
    exact = (p != 0.0) & (np.abs(after[columns] - share) <= ROUNDING * size)
    after[columns[exact]] = share[exact]  # to the last bit
    lost = -0.5 * float(p @ (before + sides * after[columns]))
    if lost < -ROUNDING * float(np.abs(p) @ size):
        raise FrictionLoadError(
            f"simulate: an impact with this restitution and friction in proportion to the load of "
            f"{', '.join(map(repr, rubs.names))} would gain {-lost:.3g} J (Kane's paradox); take a smaller restitution "
            "or friction_coefficient, or compliant limits (stop_stiffness)"
        )
    return Impact(after, p[:limits], lost)


def _impulses(a: np.ndarray, W: np.ndarray, sides: np.ndarray, rubs: Rubbing) -> np.ndarray:
    """Impulses at limits, then of friction, by speeds before with what limits give back, and the response W to them.

    What rests has its static coefficient as long as that holds it; what the blow sets sliding slides by the other."""
    coefficient = rubs.resting
    while True:
        p, most = _within(coefficient, a, W, sides, rubs)
        slips = np.abs(p[len(p) - len(most) :]) >= most
        now = np.where(slips, rubs.sliding, coefficient)
        if (now == coefficient).all():
            return p
        coefficient = now


def _within(
    coefficient: np.ndarray, a: np.ndarray, W: np.ndarray, sides: np.ndarray, rubs: Rubbing
) -> tuple[np.ndarray, np.ndarray]:
    """The impulses with given coefficients of friction, and how much friction may take of them."""
    limits, most = len(a) - len(rubs.columns), np.zeros(len(rubs.columns))
    for _ in range(LOADINGS):
        p = forces_in_box(a, W, np.append(np.zeros(limits), -most), np.append(np.full(limits, np.inf), most))
        now = coefficient * rubs.carried(sides * p)
        if np.abs(now - most).max(initial=0.0) <= LOADED * now.max(initial=0.0):
            return p, most
        most = now
    raise FrictionLoadError(
        f"simulate: the impulses of an impact and those of friction of {', '.join(map(repr, rubs.names))} cannot be "
        "found: friction changes its own load by more than itself (Painlevé's paradox); look at friction_coefficient"
    )
