"""Nodes of a motion as numbers that can be varied freely: changes along q exp(δ) of given nodes, and velocities.

In a closed mechanism these are independent coordinates and velocities, chosen at each given node. The others follow
from the constraints, so that each node is a state that the mechanism can have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.plan.gauss_transcription import Blocks
from chasles.plan.quantities import CALLER
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.closed.allowed import Allowed

SWEEPS = 30  # of Newton's method for coordinates that follow
CLOSED_ENOUGH = 1e-13  # of the size of a step, relative to the coordinates
RANK = 1e-9  # of singular values: less of the largest is a row that says nothing new


class TreeNodes:
    """Nodes of a tree: (δ, v) of each."""

    def __init__(self, mechanism: Any, base: np.ndarray):
        """base: q of nodes that δ is counted from."""
        self.mechanism, self.nv, self.base = mechanism, mechanism.nv, base
        self.blocks, self.size = Blocks(mechanism), 2 * mechanism.nv
        self.rows = np.tile(np.arange(self.size), (len(base), 1))  # of (δ, δv): those that determine a node

    def variables(self, v: np.ndarray) -> np.ndarray:
        """Those of the given nodes with velocities."""
        return np.concatenate([np.zeros_like(v), v], axis=1)

    def states(self, x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v of variables (nodes, size)."""
        return self.mechanism.retract(self.base, x[:, : self.nv]), x[:, self.nv :]

    def closing(self, mechanism: Any, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """What is left of the constraints in another design: here there are none."""
        return np.zeros((len(q), 0))

    def follow(self, q: np.ndarray, v: np.ndarray, t: np.ndarray, closing: np.ndarray) -> np.ndarray:
        """(δ, δv) by the design with variables held (nodes, 2 nv, parameters), of the slopes of `closing` (nodes,
        numbers, parameters): nothing follows here."""
        return np.zeros((len(q), 2 * self.nv, closing.shape[2]))

    def slopes(self, x: np.ndarray, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(δ, δv) at the nodes by the variables, (nodes, 2 nv, size)."""
        nv, found = self.nv, np.zeros((len(x), self.size, self.size))
        found[:, :nv, :nv] = self.blocks.dexp(-x[:, :nv])
        found[:, nv + np.arange(nv), nv + np.arange(nv)] = 1.0
        return found


class LoopNodes:
    """Nodes of a closed mechanism: independent coordinates, as δ from given nodes, and independent velocities."""

    def __init__(
        self, mechanism: ClosedMechanism, base: np.ndarray, t: np.ndarray, held: tuple[np.ndarray, np.ndarray]
    ):
        """held: which coordinates and velocities (nv) of the first node are to stay as they are in other designs."""
        self.mechanism, self.nv, self.base, self.blocks = mechanism, mechanism.nv, base, Blocks(mechanism)
        allowed = [Allowed(mechanism, q, float(at)) for q, at in zip(base, t, strict=True)]
        self.between_places = ~allowed[0]._between_velocities()
        places, rates = ([getattr(one, what).chosen for one in allowed] for what in ("places", "velocities"))
        places[0] = allowed[0].determining(allowed[0].places, held[0])
        rates[0] = allowed[0].determining(allowed[0].velocities, held[1])
        if len({len(x) for x in places}) > 1 or len({len(x) for x in rates}) > 1:
            raise ValueError(
                f"{CALLER}: the mechanism has more degrees of freedom at some nodes of the guess than at others; give "
                "a guess that keeps away from singular places"
            )
        self.places, self.rates = np.array(places), np.array(rates)
        self.free = self.places.shape[1]  # of the coordinates
        self.size = self.free + self.rates.shape[1]
        self.rows = np.concatenate([self.places, self.nv + self.rates], axis=1)

    def variables(self, v: np.ndarray) -> np.ndarray:
        """Those of the given nodes with velocities."""
        return np.concatenate([np.zeros((len(v), self.free)), np.take_along_axis(v, self.rates, axis=1)], axis=1)

    def states(self, x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v of variables (nodes, size); not a number where the independent coordinates can be had by none."""
        delta = np.zeros((len(x), self.nv))
        np.put_along_axis(delta, self.places, x[:, : self.free], axis=1)
        for _ in range(SWEEPS):
            q = self.mechanism.retract(self.base, delta)
            rows = self.mechanism.constraint_rows(q, None, t)
            J = rows.jacobian[:, self.between_places] @ self.blocks.dexp(-delta)
            step = np.einsum("knr,kr->kn", self._inverse(J, self.places), rows.residual[:, self.between_places])
            delta -= step
            if not np.abs(step).max(initial=0.0) > CLOSED_ENOUGH * (1.0 + np.abs(delta).max(initial=0.0)):
                break
        else:
            delta[np.abs(step).max(axis=1) > 1e-8] = np.nan
        q = self.mechanism.retract(self.base, np.nan_to_num(delta))
        v = np.zeros((len(x), self.nv))
        np.put_along_axis(v, self.rates, x[:, self.free :], axis=1)
        rows = self.mechanism.constraint_rows(q, v, t)
        v -= np.einsum("knr,kr->kn", self._inverse(rows.jacobian, self.rates), rows.speed)
        lost = np.isnan(delta).any(axis=1)
        q[lost], v[lost] = np.nan, np.nan
        return q, v

    def _inverse(self, J: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """What the others than the chosen ones must change by for unit changes of rows, (nodes, nv, rows)."""
        others = J.copy()
        for k in range(chosen.shape[1]):
            others[np.arange(len(J)), :, chosen[:, k]] = 0.0
        return np.linalg.pinv(others, rcond=RANK) if others.size else np.zeros((len(J), self.nv, J.shape[1]))

    def slopes(self, x: np.ndarray, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(δ, δv) at the nodes by the variables, (nodes, 2 nv, size)."""
        nv, free, found = self.nv, self.free, np.zeros((len(x), 2 * self.nv, self.size))
        J = self.mechanism.constraint_rows(q, v, t).jacobian
        chart = self.blocks.dexp(-self.mechanism.difference(q, self.base))
        turned = J[:, self.between_places] @ chart
        unit = np.zeros((len(x), nv, free))
        for k in range(free):
            unit[np.arange(len(x)), self.places[:, k], k] = 1.0
        found[:, :nv, :free] = chart @ (unit - self._inverse(turned, self.places) @ (turned @ unit))
        inverse = self._inverse(J, self.rates)
        for k in range(self.size - free):
            found[np.arange(len(x)), nv + self.rates[:, k], free + k] = 1.0
        for k in range(len(x)):
            own = found[k]
            rows = self.mechanism.derivatives._rows.along(q[k], v[k], float(t[k]), own[:nv], own[nv:])
            own[nv:] -= inverse[k] @ rows.speed
        return found

    def closing(self, mechanism: ClosedMechanism, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """What is left of the constraints in another design, first of places, then of velocities, (nodes, numbers)."""
        rows = mechanism.constraint_rows(q, v, t)
        return np.concatenate([rows.residual[:, self.between_places], rows.speed], axis=1)

    def follow(self, q: np.ndarray, v: np.ndarray, t: np.ndarray, closing: np.ndarray) -> np.ndarray:
        """(δ, δv) by the design with variables held (nodes, 2 nv, parameters), of the slopes of `closing` (nodes,
        numbers, parameters): what is not independent moves back onto the constraints."""
        nv, found = self.nv, np.zeros((len(q), 2 * self.nv, closing.shape[2]))
        J = self.mechanism.constraint_rows(q, v, t).jacobian
        chart = self.blocks.dexp(-self.mechanism.difference(q, self.base))
        places, speeds = np.split(closing, [int(self.between_places.sum())], axis=1)
        found[:, :nv] = -chart @ self._inverse(J[:, self.between_places] @ chart, self.places) @ places
        inverse = self._inverse(J, self.rates)
        for k, own in enumerate(found):
            rows = self.mechanism.derivatives._rows.along(q[k], v[k], float(t[k]), own[:nv], own[nv:])
            own[nv:] = -inverse[k] @ (rows.speed + speeds[k])
        return found
