"""Impacts at limits of coordinates, several at once: Newton's law of restitution.

Impulses p >= 0 at the closed limits change their speeds u to u + W p. Each limit gives back at least e of the speed at
which it was struck, u+ >= -e u-, and no more where it pushes: a complementarity problem, with the same minimizer as the
forces at rest. Constant friction is bounded, so it gives no impulse; that in
proportion to loads would, and is left out, with a warning; loops and drives do, through W. The energy lost is
sum p (1 - e) |u-| / 2: never negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.simulation.nonsmooth.box_forces import forces_in_box

ROUNDING = 1e-12  # of the velocities and changes that make it: a rebound so near to its share is its share
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


def impact(
    response: np.ndarray, columns: np.ndarray, sides: np.ndarray, v: np.ndarray, bounce: np.ndarray, sizes: np.ndarray
) -> Impact:
    """The impact at limits of the coordinates `columns`, each pushing along its side, none of which they move away
    from. `response` is what unit impulses along these coordinates change velocities by, (nv, limits), `sizes` what is
    large for each velocity."""
    before = sides * v[columns]
    W = sides[:, None] * response[columns] * sides
    p = forces_in_box((1.0 + bounce) * before, W, np.zeros(len(columns)), np.full(len(columns), np.inf))
    change = response @ (sides * p)
    unmoved = (v == 0.0) & (np.abs(change) <= UNMOVED * sizes * np.abs(change / sizes).max())
    after = np.where(unmoved, 0.0, v + change)
    share, size = 0.0 - sides * bounce * before, np.abs(before) + np.abs(W) @ p
    exact = (p > 0.0) & (np.abs(after[columns] - share) <= ROUNDING * size)
    after[columns[exact]] = share[exact]  # to the last bit
    lost = -0.5 * float(p @ (before + sides * after[columns]))
    return Impact(after, p, lost)
