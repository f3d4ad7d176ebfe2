"""Compiled loops that call a law alone at many times, for the scan before a run and for the certificate after it."""

from __future__ import annotations

import numpy as np

from chasles.kernel.address import invoke
from chasles.kernel.policy import kernel


@kernel(entry=True, allocates=True)
def vary(address, t, x, y, row, p, weights, low, values, changes, total, largest):
    """Call a law at times t with the arguments of `row`. `changes` are weighted sums of how much each result differs
    from the one before (at arguments that stay: where they change, those before are taken), `total` and `largest` the
    sum of changes and the largest size of each number; `values` are the results of calls from `low` on."""
    size = total.shape[0]
    before, out = np.zeros(size), np.zeros(size)
    for i in range(t.shape[0]):
        change = 0.0
        if i > 0:
            k = row[i - 1]
            for m in range(size):
                out[m] = 0.0
            invoke(address, t[i], x[k], y[k], p, out, x.shape[1], y.shape[1], p.shape[0], size)
            for m in range(size):
                difference = abs(out[m] - before[m])
                total[m] += difference
                change += weights[m] * difference
            changes[i - 1] = change
        if i == 0 or row[i] != row[i - 1]:
            for m in range(size):
                out[m] = 0.0
            invoke(address, t[i], x[row[i]], y[row[i]], p, out, x.shape[1], y.shape[1], p.shape[0], size)
        for m in range(size):
            before[m] = out[m]
            largest[m] = max(largest[m], abs(out[m]))
            if i - low >= 0 and i - low < values.shape[0]:
                values[i - low, m] = out[m]


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
