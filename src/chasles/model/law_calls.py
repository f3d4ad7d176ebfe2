"""Compiled loops that call a law alone."""

from __future__ import annotations

from chasles.kernel.address import invoke
from chasles.kernel.policy import kernel


@kernel
def law_at(address, t, x, y, p, out):
    """One call of a law; what it does not write is zero."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    invoke(address, t, x, y, p, out, x.shape[0], y.shape[0], p.shape[0], out.shape[0])


@kernel(entry=True)
def law_values(address, times, rows, x, y, p, values):
    """The law at each of the times, with the arguments of a row of x and y."""
    for i in range(times.shape[0]):
        law_at(address, times[i], x[rows[i]], y[rows[i]], p, values[i])
