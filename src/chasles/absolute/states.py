"""States in absolute coordinates as kernels take them: one record of poses, velocities, times and counted angles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism


class BodyStates(NamedTuple):
    """States (count,) of a batch of any shape, each array contiguous with a row a state."""

    batch: tuple[int, ...]
    q: np.ndarray  # central poses, (count, 7 bodies)
    v: np.ndarray  # velocities, (count, 6 bodies)
    t: np.ndarray  # times [s]
    angles: np.ndarray  # counted over full turns, (count, counted)
    more: list[np.ndarray]  # other arrays (..., bodies, k) of the states


def states_of(
    mechanism: AbsoluteMechanism,
    central: ArrayLike,
    velocity: ArrayLike,
    t: ArrayLike = 0.0,
    angles: ArrayLike | None = None,
    *more: np.ndarray,
) -> BodyStates:
    """States with any leading axes, which broadcast; angles that are not given are those of the poses."""
    given = (np.asarray(central, dtype=float), np.asarray(velocity, dtype=float), *more)
    batch, (q, v, *others) = rows_of(*given)
    times = np.array(np.broadcast_to(t, batch), dtype=float).reshape(-1)
    if angles is None:
        return BodyStates(batch, q, v, times, mechanism.angles(q.reshape(len(q), mechanism.n, 7)), others)
    shape = (*batch, mechanism.angles_counted)
    counted = np.array(np.broadcast_to(np.asarray(angles, dtype=float), shape), order="C").reshape(len(q), shape[-1])
    return BodyStates(batch, q, v, times, counted, others)


def rows_of(*arrays: np.ndarray) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """Arrays (..., bodies, k) as contiguous rows."""
    batch = np.broadcast_shapes(*(array.shape[:-2] for array in arrays))
    count = math.prod(batch)
    # in the order of rows: np.array alone would keep the order in memory of what is broadcast
    rows = [np.array(np.broadcast_to(a, batch + a.shape[-2:]), order="C") for a in arrays]
    return batch, [row.reshape(count, math.prod(row.shape[len(batch) :])) for row in rows]
