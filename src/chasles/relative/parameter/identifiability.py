"""Which combinations of parameters data can tell apart: base parameters of a regressor, by its numerical rank.

Columns that are combinations of columns before them are grouped with these,

    W p = Σ_kept w_k (p_k + Σ_d K_kd p_d),     w_d = Σ_k w_k K_kd

so the base parameters p_k + Σ K_kd p_d fit the data as well as all parameters do, and nothing else can be found out.
(Gautier's numerical method, with columns scaled to unit length so that units do not matter.)
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie.arrays import real_array

TOLERANCE = 1e-9  # of a unit column: what is left of it beside the columns before it, if it depends on them
WIDTH = 110  # of the table
CLEARLY = (1e-1, 1e-2, 1e-3, 1e-5, 1e-7)  # parts of unit columns that are independent, from clear to hardly
NEGLIGIBLE = 1e-7  # coefficients of unit columns below this are what rounding left


@dataclass(frozen=True)
class Identifiability:
    """What a regressor can tell of its parameters; printed, a table of the base parameters."""

    names: tuple[str, ...]
    kept: np.ndarray  # columns that stand for base parameters, by number
    grouped: np.ndarray  # columns that are combinations of those
    unseen: np.ndarray  # columns that are zero: the data does not depend on these parameters
    combinations: np.ndarray  # K, (kept, grouped)
    singular_values: np.ndarray  # of all columns that are not zero, scaled to unit length; falling
    condition: float  # of the kept columns, scaled to unit length
    triangle: np.ndarray  # R of the kept columns' QR decomposition, not scaled

    @property
    def rank(self) -> int:
        """How many combinations can be found."""
        return len(self.kept)

    def terms(self, row: int) -> list[str]:
        """What base parameter number `row` is the sum of, written out."""
        found = [self.names[self.kept[row]]]
        for column, value in zip(self.grouped, self.combinations[row], strict=True):
            if value:
                size = f"{abs(value):.4g} "
                found.append(f"{'+' if value > 0 else '-'} {'' if size == '1 ' else size}{self.names[column]}")
        return found

    def values(self, parameters: ArrayLike) -> np.ndarray:
        """The base parameters (..., rank) of parameters (..., n)."""
        p = real_array("values", "parameters", parameters, (len(self.names),))
        return p[..., self.kept] + p[..., self.grouped] @ self.combinations.T

    def columns(self, regressor: ArrayLike) -> np.ndarray:
        """The regressor of the base parameters, (..., rank)."""
        return real_array("columns", "regressor", regressor, (len(self.names),))[..., self.kept]

    def standard_deviations(self, sigma: float) -> np.ndarray:
        """Of the base parameters from least squares, if each row has independent noise of standard deviation sigma."""
        inverse = np.linalg.solve(self.triangle, np.eye(self.rank))
        return sigma * np.linalg.norm(inverse, axis=1)

    def parameters(self, base: ArrayLike, prior: ArrayLike) -> np.ndarray:
        """Parameters with these base parameters, nearest to prior ones: of all that fit the data, those that change
        least (unseen ones do not change)."""
        b = real_array("parameters", "base", base, (self.rank,))
        p = real_array("parameters", "prior", prior, (len(self.names),)).copy()
        p = np.array(np.broadcast_to(p, (*np.broadcast_shapes(b.shape[:-1], p.shape[:-1]), p.shape[-1])))
        matrix = np.concatenate([np.eye(self.rank), self.combinations], axis=1)
        change = (b - self.values(p)) @ np.linalg.pinv(matrix).T
        p[..., np.concatenate([self.kept, self.grouped])] += change
        return p

    def __str__(self) -> str:
        s, rank = self.singular_values, self.rank
        lines = [
            f"{rank} of {len(self.names)} parameters can be found, {len(self.grouped)} in combination with them, "
            f"{len(self.unseen)} not at all",
            f"condition number of their columns, scaled to unit length: {self.condition:.3g}",
        ]
        if 0 < rank < len(s):
            lines.append(f"singular values fall from {s[rank - 1]:.2g} to {s[rank]:.2g} after the last of them")
        for k in range(rank):
            lines += _wrapped(f"{k + 1:{len(str(rank))}d} ", self.terms(k))
        if len(self.unseen):
            lines += _wrapped("not at all:", [f"{self.names[k]};" for k in self.unseen])
        return "\n".join(lines)


def _wrapped(head: str, terms: list[str]) -> list[str]:
    """Lines of a table; a term is not broken."""
    text = " ".join(term.replace(" ", "\u00a0") for term in terms)
    lines = textwrap.wrap(text, WIDTH, initial_indent=f"{head} ", subsequent_indent=" " * 6)
    return [line.replace("\u00a0", " ") for line in lines]


def identify(
    matrix: ArrayLike, names: Sequence[str], order: Sequence[int] | None = None, tolerance: float = TOLERANCE
) -> Identifiability:
    """The base parameters of stacked regressors (..., parameters).

    order: of preference, a permutation of the columns; a column is kept if it does not depend on those before it.
    tolerance: how much of a column of unit length has to be independent of them. Data with noise in the regressor
    itself (measured velocities and accelerations) needs one above the noise.
    """
    rows = real_array("identify", "matrix", matrix, (len(names),)).reshape(-1, len(names))
    if not len(rows):
        raise ValueError("identify: matrix has no rows; expected data")
    triangle = _triangle(rows)
    lengths = np.linalg.norm(triangle, axis=0)
    seen = lengths > tolerance * lengths.max(initial=0.0)
    unit = triangle / np.where(seen, lengths, 1.0)
    kept, grouped = _independent(
        unit, [k for k in (range(len(names)) if order is None else order) if seen[k]], tolerance
    )
    scaled = np.linalg.lstsq(unit[:, kept], unit[:, grouped], rcond=None)[0] if kept else np.zeros((0, 0))
    scaled[np.abs(scaled) < NEGLIGIBLE] = 0.0
    sizes = np.linalg.svd(unit[:, kept], compute_uv=False) if kept else np.ones(1)
    return Identifiability(
        tuple(names),
        np.array(kept, dtype=np.int64),
        np.array(grouped, dtype=np.int64),
        np.flatnonzero(~seen),
        scaled * lengths[grouped] / lengths[kept][:, None],
        np.linalg.svd(unit[:, seen], compute_uv=False),
        float(sizes[0] / sizes[-1]),
        _triangle(triangle[:, kept]),
    )


def _triangle(matrix: np.ndarray) -> np.ndarray:
    """R of a QR decomposition."""
    result: Any = np.linalg.qr(matrix, mode="r")
    return result


def _independent(unit: np.ndarray, order: list[int], tolerance: float) -> tuple[list[int], list[int]]:
    """Columns that do not depend on those before them, and the rest; both in rising order.

    Columns that are clearly independent go first, then those that hardly are: else a geometry that is nearly singular
    (axes that are nearly parallel) would have base parameters that hardly differ.
    """
    left = unit.copy()
    kept: list[int] = []
    for level in sorted({*CLEARLY, tolerance}, reverse=True):
        for k in order:
            length = np.linalg.norm(left[:, k])
            if level >= tolerance and k not in kept and length > level and len(kept) < min(unit.shape):
                direction = left[:, k] / length
                left -= np.outer(direction, direction @ left)
                kept.append(k)
    return sorted(kept), sorted(set(order) - set(kept))
