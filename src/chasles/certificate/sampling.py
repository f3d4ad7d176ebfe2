"""Laws of forces called at many random times in a compiled loop, to see where they change."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.model.law import Law, PythonLaw
from chasles.simulation.law_calls import law_at, law_changes

CONSTANT = 1e-9  # change of a law, of its size, that is none
COMPILED, PYTHON = 1 << 20, 1 << 13  # times at which a law is called
MOST = 64  # largest changes that are kept and looked into


class Changes(NamedTuple):
    """Times, the change from each to the next, the places of the largest changes in order, and the largest value."""

    times: np.ndarray
    change: np.ndarray
    top: np.ndarray
    largest: float

    @property
    def constant(self) -> bool:
        return not len(self.top) or bool(self.change[self.top[0]] <= CONSTANT * self.largest)


class Sampler:
    """A law with its arguments along a path: x and y at the path's times."""

    def __init__(self, law: Law, parameters: Any, path: np.ndarray, x: np.ndarray, y: np.ndarray, size: int):
        self.law, self.path, self.size = law, np.ascontiguousarray(path, dtype=float), size
        self.x, self.y = (np.ascontiguousarray(part, dtype=float).reshape(len(path), -1) for part in (x, y))
        self.p, self.n_p = np.array([*parameters, 0.0], dtype=float), len(parameters)
        self.python = isinstance(law, PythonLaw)
        self.sign = 1.0 if self.path[-1] >= self.path[0] else -1.0

    @property
    def count(self) -> int:
        return PYTHON if self.python else COMPILED

    def value(self, t: float, row: int) -> np.ndarray:
        """The law at a time, with the arguments of a point of the path."""
        out = np.zeros(self.size)
        x, y = self.x[row].copy(), self.y[row].copy()
        law_at(self.law.address, float(t), x, y, self.p, self.n_p, out)
        return out

    def changes(self, times: np.ndarray, along: bool) -> Changes:
        """Changes from each time to the next."""
        change, out, before = np.zeros(max(len(times) - 1, 0)), np.zeros(self.size), np.zeros(self.size)
        a, b = np.zeros(self.x.shape[1]), np.zeros(self.y.shape[1])
        top, best = np.zeros(MOST, dtype=np.int64), np.zeros(MOST)
        largest = law_changes(
            *(self.law.address, times, self.path, self.x, self.y, self.p, self.n_p, self.sign, along),
            *(out, before, a, b, change, top, best),
        )
        return Changes(times, change, top[np.argsort(-best)][: int((best > 0).sum())], float(largest))

    def jumps(self, found: Changes) -> list[tuple[float, float]]:
        """The neighbouring numbers between which the law jumps in time, by bisection of its largest changes."""
        pairs = []
        for i in found.top:
            if not found.change[i] > 1e-3 * found.change[found.top[0]]:
                break
            a, b = float(found.times[i]), float(found.times[i + 1])
            row = max(int(np.searchsorted(self.sign * self.path, self.sign * a, "right")) - 1, 0)
            at_a, at_b = self.value(a, row), self.value(b, row)
            while (c := 0.5 * (a + b)) not in (a, b):
                at_c = self.value(c, row)
                if np.abs(at_c - at_a).sum() < np.abs(at_c - at_b).sum():
                    a, at_a = c, at_c
                else:
                    b, at_b = c, at_c
                if np.abs(at_b - at_a).sum() < 0.3 * found.change[i]:
                    break  # it is a slope, not a jump
            else:
                pairs.append((a, b))
        return pairs
