"""Compiled loops that call a law, or the equations of motion, alone at many times: for the scan of the laws before a
run and for the certificate after it."""

from __future__ import annotations

from chasles.integrate.vector_field import call
from chasles.kernel.policy import kernel
from chasles.model.law_calls import law_at


@kernel(entry=True)
def law_changes(address, times, path, x, y, p, sign, along, out, before, a, b, changes, total, largest):
    """How much each number of a law changes from each of the times to the next (`changes`, a column a number: as many
    of `out` as there are columns); the sum of these, and the largest size of each number.

    The arguments are those of the path, x and y at its times: in between if `along`, else frozen at the last point
    before, and where that changes the earlier one is taken once more: so changes are of time alone.
    """
    row, last = 0, path.shape[0] - 1
    for i in range(times.shape[0]):
        t = times[i]
        seam = not along and row < last and sign * (path[row + 1] - t) <= 0.0
        if i > 0 and seam:
            fill(row, row, 0.0, x, y, a, b)
            law_at(address, t, a, b, p, out)
            differences(out, before, changes, i - 1, total)
        while row < last and sign * (path[row + 1] - t) <= 0.0:
            row += 1
        theta, after = 0.0, row
        if along and row < last:
            after = row + 1
            theta = (t - path[row]) / (path[after] - path[row])
        fill(row, after, theta, x, y, a, b)
        law_at(address, t, a, b, p, out)
        if i > 0 and not seam:
            differences(out, before, changes, i - 1, total)
        for k in range(changes.shape[1]):
            largest[k] = max(largest[k], abs(out[k]))
            before[k] = out[k]


@kernel
def differences(out, before, changes, i, total):
    """By how much numbers differ, to a row of `changes`."""
    for k in range(changes.shape[1]):
        changes[i, k] = abs(out[k] - before[k])
        total[k] += changes[i, k]


@kernel(entry=True)
def weighed(changes, weights, change, top, best):
    """The weighted sum of the changes of all numbers; the places of the largest in `top`, with what they are in
    `best`."""
    least = 0
    for i in range(changes.shape[0]):
        sum = 0.0
        for k in range(weights.shape[0]):
            sum += weights[k] * changes[i, k]
        change[i] = sum
        if sum > best[least]:
            best[least], top[least] = sum, i
            for k in range(best.shape[0]):
                if best[k] < best[least]:
                    least = k


@kernel
def fill(row, after, theta, x, y, a, b):
    """The arguments of a law between two points of the path."""
    for k in range(a.shape[0]):
        a[k] = x[row, k] + theta * (x[after, k] - x[row, k])
    for k in range(b.shape[0]):
        b[k] = y[row, k] + theta * (y[after, k] - y[row, k])


@kernel(entry=True)
def fields_at(address, times, y, p, out):
    """The rates of a system at each of the times, at a row of y."""
    for i in range(times.shape[0]):
        call(address, times[i], y[i], p, out[i], 0, y.shape[1], out.shape[1], 0.0)
