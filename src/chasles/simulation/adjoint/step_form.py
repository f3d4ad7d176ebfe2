"""Where the equations of a step of generalized alpha have derivatives: few of them follow each body.

What is found for each body has a row of the equations that follow it, all as long as the longest; behind its own are
numbers of equation 0 that count for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals
from chasles.simulation.adjoint.factors import SparseForm


class Chosen(NamedTuple):
    """Some of a list for each body (bodies, most), and which of these count."""

    at: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, used: np.ndarray) -> Chosen:
        """used (bodies, list)."""
        most = int(used.sum(axis=1).max(initial=0))
        at = np.argsort(~used, axis=1, kind="stable")[:, :most]
        counts = np.take_along_axis(used, at, axis=1)
        return cls(np.where(counts, at, 0), counts)


class EquationColumns:
    """Where residuals are that generalized alpha solves for: of motion, of what is held (rows of constraints, and
    accelerations of rotors), and of places with index 2. Rows without an equation are left out."""

    def __init__(self, residuals: BodyResiduals, two: bool):
        rows, edges = residuals.rows, residuals.edges
        self.n, self.size, self.two = residuals.n, 6 * residuals.n, two
        self.held = np.flatnonzero(residuals.measured | residuals.rotors)
        self.measured = np.flatnonzero(residuals.measured)
        self.rotors = np.flatnonzero(residuals.rotors[self.held])  # of those that are held
        self.others = np.flatnonzero(residuals.measured[self.held])
        self.speed, self.change = edges[2] + rows[self.held], edges[3] + rows[self.held]
        self.shift = slice(edges[0], edges[1])
        self.ends = np.cumsum([self.size, len(self.held), len(self.measured) if two else 0]).tolist()
        self._choose(residuals)
        self._columns()

    def _choose(self, residuals: BodyResiduals) -> None:
        """The equations, the rows that are held, and the places that follow each body."""
        one, two, three = self.ends
        bodies, tiles = (_following(residuals.n, owners) for owners in residuals.colors[1:3])
        follow, tile = np.zeros((self.n, three), dtype=bool), residuals.tile_of_rows
        follow[:, :one] = np.repeat(bodies, 6, axis=1)
        follow[:, one:two] = tiles[:, tile[self.held // 3]]
        follow[:, two:] = tiles[:, tile[self.measured // 3]] if self.two else False
        self.equations, self.rows, self.places = map(Chosen.of, (follow, follow[:, one:two], follow[:, two:]))

    def _columns(self) -> None:
        """Of each equation, where among the residuals its derivatives by pose and by velocity are."""
        (one, two, three), others = self.ends, self.others
        self.by_pose, self.by_velocity = np.arange(three), np.arange(three)
        for columns in (self.by_pose, self.by_velocity):
            columns[one:two], columns[one + self.rotors] = self.speed, self.change[self.rotors]
            columns[two:] = self.speed[others] if self.two else columns[two:]
        # places follow poses as speeds follow velocities
        self.of_places = np.zeros(three, dtype=bool)
        self.of_places[two:] = True
        if not self.two:
            self.of_places[one + others] = True

    def form(self, full_diagonal: bool) -> tuple[SparseForm, np.ndarray, np.ndarray]:
        """Where Kᵀ (x'', λ and ζ by the equations) has numbers; which of the contributions, those of `StepsBack` one
        after the other, add up to them; and where among these each begins."""
        (one, two, three), body = self.ends, np.arange(self.n)
        unknown = 6 * body[:, None] + np.arange(6)
        eq, rows, places = self.equations, self.rows, self.places
        diagonal = np.arange(one, two) if full_diagonal else one + self.rotors
        parts = [
            (unknown[:, :, None] * three + eq.at[:, None, :], eq.counts[:, None, :]),
            ((one + rows.at[:, None, :]) * three + unknown[:, :, None], rows.counts[:, None, :]),
            ((two + places.at[:, :, None]) * three + eq.at[:, None, :], places.counts[:, :, None] & eq.counts[:, None]),
            (diagonal * (three + 1), np.ones(len(diagonal), dtype=bool)),
        ]
        at = np.concatenate([place.ravel() for place, _ in parts])
        counts = np.concatenate([np.broadcast_to(used, place.shape).ravel() for place, used in parts])
        chosen = np.flatnonzero(counts)
        chosen = chosen[np.argsort(at[chosen], kind="stable")]
        found, first = np.unique(at[chosen], return_index=True)
        return SparseForm(three, found), chosen, first


def _following(n: int, owners: np.ndarray) -> np.ndarray:
    """Which of a list depend on each body (bodies, list). owners: of colors (colors, list)."""
    out = np.zeros((n, owners.shape[1]), dtype=bool)
    for row in owners:
        some = np.flatnonzero(row >= 0)
        out[row[some], some] = True
    return out
