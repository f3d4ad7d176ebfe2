"""Laws of forces called at many random times in a compiled loop, to see where they change."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.kernel.address import invoke
from chasles.kernel.policy import kernel
from chasles.model.law import Law, PythonLaw

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


@kernel(entry=True)
def law_at(address, t, x, y, p, n_p, out):
    """One call of a law; what it does not write is zero."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    invoke(address, t, x, y, p, out, x.shape[0], y.shape[0], n_p, out.shape[0])


@kernel(entry=True)
def law_changes(address, times, path, x, y, p, n_p, sign, along, out, before, a, b, change, top, best):
    """How much a law changes from each of the times to the next, as a sum of absolute values, and where most (`top`,
    with the changes there in `best`).

    The arguments are those of the path, x and y at its times: in between if `along`, else frozen at the last point
    before, and where that changes the earlier one is taken once more: so changes are of time alone.
    """
    row, last, size = 0, path.shape[0] - 1, out.shape[0]
    largest, least = 0.0, 0
    for i in range(times.shape[0]):
        t = times[i]
        seam = False
        if i > 0 and not along and row < last and sign * (path[row + 1] - t) <= 0.0:
            seam = True
            fill(row, row, 0.0, x, y, a, b)
            law_at(address, t, a, b, p, n_p, out)
            total = 0.0
            for k in range(size):
                total += abs(out[k] - before[k])
            change[i - 1] = total
        while row < last and sign * (path[row + 1] - t) <= 0.0:
            row += 1
        theta, after = 0.0, row
        if along and row < last:
            after = row + 1
            theta = (t - path[row]) / (path[after] - path[row])
        fill(row, after, theta, x, y, a, b)
        law_at(address, t, a, b, p, n_p, out)
        total = 0.0
        for k in range(size):
            total += abs(out[k] - before[k])
            largest = max(largest, abs(out[k]))
            before[k] = out[k]
        if i > 0 and not seam:
            change[i - 1] = total
        if i > 0 and change[i - 1] > best[least]:
            best[least], top[least] = change[i - 1], i - 1
            for k in range(best.shape[0]):
                if best[k] < best[least]:
                    least = k
    return largest


@kernel
def fill(row, after, theta, x, y, a, b):
    """The arguments of a law between two points of the path."""
    for k in range(a.shape[0]):
        a[k] = x[row, k] + theta * (x[after, k] - x[row, k])
    for k in range(b.shape[0]):
        b[k] = y[row, k] + theta * (y[after, k] - y[row, k])


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
