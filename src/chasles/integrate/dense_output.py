"""Saved points and the curve between them: a cubic in the algebra through the moves of the steps."""

from __future__ import annotations

from chasles.integrate import blocks
from chasles.integrate.explicit_layout import SET, STATE
from chasles.integrate.explicit_step import add_move, copy
from chasles.kernel.lanes import like, store
from chasles.kernel.policy import kernel


@kernel
def hermite(table, addresses, terms, theta, h, y, f0, f1, x, out, u, work):
    """Point at fraction theta of a step: exp(u) y with u the cubic through 0 and x with slopes from f0 and f1."""
    d = u.shape[0]
    for m in range(d):
        u[m] = 0.0
    blocks.pullback(table, addresses, terms, u, f0, work, 0, 0.0)
    blocks.pullback(table, addresses, terms, x, f1, work, d, 0.0)
    s2, s3 = theta * theta, theta * theta * theta
    for m in range(d):
        u[m] = (3 * s2 - 2 * s3) * x[m] + h * ((theta - 2 * s2 + s3) * work[m] + (s3 - s2) * work[d + m])
    blocks.move(table, addresses, y, u, out, 0.0)


@kernel(entry=True)
def interpolate(table, addresses, intervals, theta, h, y, f0, f1, x, out, u, work):
    """`hermite` in exponential coordinates at fractions theta of intervals: of row `intervals[k]` of the rest."""
    d = u.shape[0]
    for k in range(theta.shape[0]):
        i, n = intervals[k], y.shape[0] // h.shape[0]
        p, a, b = y[n * i : n * i + n], f0[d * i : d * i + d], f1[d * i : d * i + d]
        move, at = x[d * i : d * i + d], out[n * k : n * k + n]
        hermite(table, addresses, -1, theta[k], h[i], p, a, b, move, at, u, work)


@kernel
def record(records, row, t, y, f, x, n, d, z):
    """A saved point: time, point, field value, and the move since the point saved before it."""
    first = row * (1 + n + 2 * d)
    store(records, first, like(t, z))
    copy(y, 0, records, first + 1, n, z)
    copy(f, 0, records, first + 1 + n, d, z)
    copy(x, 0, records, first + 1 + n + d, d, z)


@kernel
def room(records, settings, width):
    """How many points the records can hold."""
    return records.shape[0] // (width * (1 + settings[SET.point] + 2 * settings[SET.algebra]))


@kernel
def keep_move(table, addresses, settings, state, x, x_sum, work, z):
    """Remember the move of a step for the curve through the saved points."""
    d = settings[SET.algebra]
    if settings[SET.dense]:
        blocks.as_exponential(table, addresses, settings[SET.mapping], x, work, d, z)
        add_move(table, addresses, work, x_sum, state[STATE.since_save] == 0.0, d, z)
    state[STATE.since_save] += 1.0


@kernel(entry=True)
def follow_move(table, addresses, mapping, x, work, x_sum, first):
    """x_sum becomes the move since the last saved point after a further, unfinished step x in some coordinate map."""
    d = x_sum.shape[0]
    blocks.as_exponential(table, addresses, mapping, x, work, d, 0.0)
    add_move(table, addresses, work, x_sum, first, d, 0.0)
