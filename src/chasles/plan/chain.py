"""Derivatives of steps of trees whose coordinates add up, in closed form: those of forward dynamics at all stages of
all steps, four at a time on lanes, and the chain rule through each step.

    δqᵢ = δq + h Σ aᵢⱼ δvⱼ      δvᵢ = δv + h Σ aᵢⱼ δaⱼ      δaᵢ = ∂a/∂q δqᵢ + ∂a/∂v δvᵢ + ∂a/∂τ δτ
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.kernel.policy import kernel
from chasles.relative.raw import Raw


@kernel
def shifted(out, h, weights, first, stages, rates):
    """out += h Σ weights[first + j] rates[j]."""
    for j in range(stages):
        w = h * weights[first + j]
        if w != 0.0:
            for r in range(out.shape[0]):
                for c in range(out.shape[1]):
                    out[r, c] += w * rates[j, r, c]


@kernel
def start_rows(out, column):
    """Zero, but one from a column on."""
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[r, c] = 0.0
        out[r, column + r] = 1.0


@kernel(entry=True)
def chain(h, a, b, by_q, by_v, by_force, effect, found, rates_q, rates_v, q):
    """The derivatives `found` (steps, 2 nv, 2 nv + m) of steps by q, v and inputs. by_q, by_v, by_force: of the
    accelerations at the stages (stages, steps, nv, nv); effect: forces of inputs. The last are rooms."""
    stages, steps, nv = by_q.shape[0], by_q.shape[1], by_q.shape[2]
    columns, m = found.shape[2], effect.shape[1]
    for s in range(steps):
        for i in range(stages):
            start_rows(q, 0)
            shifted(q, h, a, i * stages, i, rates_q)
            v, rate, dq, dv, df = rates_q[i], rates_v[i], by_q[i, s], by_v[i, s], by_force[i, s]
            start_rows(v, nv)
            shifted(v, h, a, i * stages, i, rates_v)
            for r in range(nv):
                for c in range(columns):
                    rate[r, c] = 0.0
                for k in range(nv):
                    x, y, z = dq[r, k], dv[r, k], df[r, k]
                    for c in range(columns):
                        rate[r, c] += x * q[k, c] + y * v[k, c]
                    for c in range(m):
                        rate[r, 2 * nv + c] += z * effect[k, c]
        upper, lower = found[s, :nv], found[s, nv:]
        start_rows(upper, 0)
        shifted(upper, h, b, 0, stages, rates_q)
        start_rows(lower, nv)
        shifted(lower, h, b, 0, stages, rates_v)


class Chain:
    """The steps of a tree by a method with a table."""

    def __init__(self, mechanism: Any, table: Any, effect: np.ndarray):
        self.raw, self.nv, self.effect = Raw(mechanism), mechanism.nv, effect
        self.stages, self.a, self.b = table.stages, np.ascontiguousarray(table.matrix, dtype=float), np.array(table.b)

    def derivatives(self, q: np.ndarray, v: np.ndarray, forces: np.ndarray, h: float) -> np.ndarray:
        """(steps, 2 nv, 2 nv + inputs) of steps from q and v under forces."""
        nv, stages, steps, columns = self.nv, self.stages, len(q), 2 * self.nv + self.effect.shape[1]
        by = np.empty((3, stages, steps, nv, nv))
        speeds, rates = np.empty((stages, steps, nv)), np.empty((stages, steps, nv))
        for i in range(stages):
            speeds[i] = v + h * np.tensordot(self.a[i, :i], rates[:i], 1)
            at = q + h * np.tensordot(self.a[i, :i], speeds[:i], 1)
            self.raw.forward_dynamics_derivatives(at, speeds[i], forces, rates[i], *by[:, i])
        found = np.empty((steps, 2 * nv, columns))
        rooms = np.empty((stages, nv, columns)), np.empty((stages, nv, columns)), np.empty((nv, columns))
        chain(h, self.a.reshape(-1), self.b, *by, self.effect, found, *rooms)
        return found
