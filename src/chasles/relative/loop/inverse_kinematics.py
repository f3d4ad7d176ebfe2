"""Position inverse kinematics of closed mechanisms: damped Gauss-Newton steps along what the constraints allow.

As `relative.inverse_kinematics` of trees, with steps δ = N y, J N = 0, each followed by an assembly nearby. Coordinates
at a limit that a step would leave are held for the step and in its assembly. It is a question of geometry alone: the
metric is that of what is large for each coordinate, masses have no part in it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from chasles.assembly import search
from chasles.assembly.equations import Linear
from chasles.assembly.rank import decomposed
from chasles.relative.approach import ON_LIMIT, Approach
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.reach import Aim, Reach, best_of, error_of, nearest_turns

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism


class Geometry(LoopEquations):
    """The rows that close a tree, in the metric of the coordinates."""

    def __init__(self, mechanism: ClosedMechanism, t: float, held: np.ndarray, large: np.ndarray):
        super().__init__(mechanism, t, held)
        self.large = large

    def linear(self, x: np.ndarray, on_group: bool = False) -> Linear:
        root = np.diag(self.large)[:, self.free]
        return Linear(self.jacobian(x, on_group) @ root, self.units, root.__matmul__)

    def project(self, x: np.ndarray) -> np.ndarray:
        return search.approach(self, x)

    def allowed(self, x: np.ndarray) -> np.ndarray:
        """Motions (nv, freedoms)."""
        rows, reach, step = self.linear(x)
        if not len(rows):
            return step(np.eye(len(self.free)))
        _, right, rank = decomposed(rows, reach)
        return step(right[rank:].T)


def reach(mechanism: ClosedMechanism, aim: Aim, given: bool, t: float) -> Reach:
    """See `ClosedMechanism.inverse_kinematics`; given: whether the start is, and has to be near the constraints."""
    if given:
        nothing = np.empty(0, dtype=int)
        equations = Geometry(mechanism, t, nothing, aim.limits[2 * mechanism.nv :])
        aim = aim._replace(start=search.assemble(equations, aim.start))
    approach = _Approach(mechanism, aim, t)
    best = best_of(mechanism.spanning, aim, approach)
    if math.isinf(best.residual):
        return replace(best, message="no start was found on the constraints and within the limits; give q0 near one")
    wrapped, counted = nearest_turns(mechanism.spanning, best.q, aim), mechanism.closing.counted
    wrapped[counted] = best.q[counted]  # couplings and drives count full turns
    approach.clip(wrapped)
    return replace(best, q=wrapped, residual=error_of(mechanism.spanning, aim, wrapped))


class _Approach(Approach):
    """The same along what the constraints allow, from a start that is assembled first."""

    def __init__(self, mechanism: ClosedMechanism, aim: Aim, t: float):
        super().__init__(mechanism.spanning, aim)
        self.mechanism, self.t = mechanism, t

    def equations(self, held: np.ndarray) -> Geometry:
        return Geometry(self.mechanism, self.t, np.flatnonzero(held), self.large)

    def allowed(self, q: np.ndarray, held: np.ndarray) -> np.ndarray:
        return self.equations(held).allowed(q)

    def onto(self, q: np.ndarray, held: np.ndarray) -> np.ndarray | None:
        """The configuration on the constraints and within the limits near one, or None."""
        held = held.copy()
        for _ in range(len(held) + 1):
            equations = self.equations(held)
            q = search.attempt(equations, q)
            if not np.isfinite(q).all() or equations.off(q, search.ASSEMBLED) is not None or self.mechanism.turned(q):
                return None
            out = self.beyond(q, ON_LIMIT)
            if not out.any():
                return q
            if held[out != 0.0].any():
                return None
            held |= out != 0.0
            which = np.flatnonzero(out)
            q[self.place[which]] = np.where(out > 0, self.high, self.low)[which]
        return None
