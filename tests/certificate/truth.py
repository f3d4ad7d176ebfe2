"""Truths that do not come from chasles: SciPy, begun anew at jumps, and equations of planar chains."""

import functools
import itertools

import numpy as np
from scipy.integrate import solve_ivp


def exact(rates, span, start, at=None, breaks=(), tolerance=1e-12):
    """States at times `at`, or at the end, by DOP853 of SciPy, begun anew at `breaks`."""
    edges = [span[0], *(b for b in sorted(breaks) if span[0] < b < span[1]), span[1]]
    at = np.atleast_1d(span[1] if at is None else at).astype(float)
    state, found = np.array(start, dtype=float), np.empty((len(at), len(start)))
    found[at <= span[0]] = state
    gap = 1e-13 * max(abs(span[0]), abs(span[1]), 1e-3)  # a jump is at neither end of what is integrated
    for a, b in itertools.pairwise(edges):
        here = (at > a) & (at <= b)
        times = np.clip(at[here], a + gap, b - gap)
        wanted = np.unique(np.append(times, b - gap))
        done = solve_ivp(
            rates, (a + gap, b - gap), state, method="DOP853", rtol=tolerance, atol=1e-3 * tolerance, t_eval=wanted
        )
        assert done.success, done.message
        found[here], state = done.y[:, np.searchsorted(done.t, times)].T, done.y[:, -1]
    return found


FORGETFUL = np.linspace(0.0, 30.0, 301)  # times [s]


@functools.cache
def forgetful():
    """Angles of a double pendulum that forgets its start q = (2.5, 1.0), at the times `FORGETFUL`."""
    return exact(chain_rates(2), (0.0, 30.0), [2.5, 1.0, 0.0, 0.0], FORGETFUL, tolerance=1e-13)[:, :2]


def chain_rates(n, torque=None, gravity=9.81):
    """Rates of a planar chain of the rods of `models.chain`, by the angles and rates (q, v) of its joints.

    Lagrange's equations in absolute angles φ: Σ A_ij (cos(φ_i - φ_j) φ_j'' + sin(φ_i - φ_j) φ_j'²) = -w_i sin φ_i + τ.
    """
    below = np.arange(n)[::-1]  # rods that hang on each
    coupling = np.array([[0.35 + below[i] if i == j else 0.5 + below[max(i, j)] for j in range(n)] for i in range(n)])
    weight = gravity * (0.5 + below)

    def rates(t, state):
        q, v = state[:n], state[n:]
        angle, speed = np.cumsum(q), np.cumsum(v)
        apart = angle[:, None] - angle[None]
        right = -(coupling * np.sin(apart)) @ speed**2 - weight * np.sin(angle)
        if torque is not None:
            own = torque(t, q, v)
            right = right + own - np.append(own[1:], 0.0)
        return np.concatenate([v, np.diff(np.linalg.solve(coupling * np.cos(apart), right), prepend=0.0)])

    return rates
