"""Collocation at Gauss points, on the group: the equations of an interval and their exact derivatives.

Unknown are the states at the nodes, and in each interval accelerations αᵢ and inputs uᵢ at its Gauss points. With

    vᵢ = v + h Σ aᵢⱼ αⱼ,   wⱼ = vⱼ + ½ h Σ aⱼₗ [vₗ, vⱼ],   θᵢ = h Σ aᵢⱼ wⱼ,   qᵢ = q exp(θᵢ)

inverse dynamics Q(qᵢ, vᵢ, αᵢ) is what the inputs give, and the interval ends at the next node. The bracket, zero but
for spherical and free joints, makes two stages of order four on the group (munthekaas1999).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate.gauss import gauss_rule
from chasles.lie import pose as pose_group
from chasles.lie import s3
from chasles.relative.tables import FREE, LINK, SPHERICAL, link_table


class Blocks:
    """Ad, dexp and brackets of the configurations of a tree, as matrices of all velocities."""

    def __init__(self, mechanism: Any):
        self.nv = mechanism.nv
        table = link_table(mechanism.tree.independent)
        self.parts = [
            (slice(at, at + (6 if kind == FREE else 3)), pose_group if kind == FREE else s3)
            for kind, at in zip(table[:, LINK.kind].tolist(), table[:, LINK.velocity].tolist(), strict=True)
            if kind in (SPHERICAL, FREE)
        ]

    def _of(self, x: np.ndarray, name: str, identity: bool = True) -> np.ndarray:
        found = np.zeros((*x.shape[:-1], self.nv, self.nv))
        if identity:
            found[..., np.arange(self.nv), np.arange(self.nv)] = 1.0
        for own, group in self.parts:
            function = getattr(group, name)
            found[..., own, own] = function(group.exp(x[..., own]) if name == "Ad" else x[..., own])
        return found

    def carried(self, theta: np.ndarray) -> np.ndarray:
        """Ad of exp(-θ)."""
        return self._of(-theta, "Ad")

    def dexp(self, x: np.ndarray) -> np.ndarray:
        return self._of(x, "dexp")

    def dexpinv(self, x: np.ndarray) -> np.ndarray:
        return self._of(x, "dexpinv")

    def ad(self, x: np.ndarray) -> np.ndarray:
        return self._of(x, "ad", identity=False)


class GaussIntervals:
    """All intervals at once: their stages, what they leave of the equations, and the derivatives of both.

    Columns of derivatives: δ and v of the node, the accelerations of the stages, and the length h.
    """

    def __init__(self, mechanism: Any, stages: int):
        self.mechanism, self.nv, self.stages, self.blocks = mechanism, mechanism.nv, stages, Blocks(mechanism)
        a, self.b, self.c = gauss_rule(stages)
        self.a = a.reshape(stages, stages)
        self.columns = 2 * self.nv + stages * self.nv + 1

    def place(self, q: np.ndarray, v: np.ndarray, alpha: np.ndarray, h: np.ndarray) -> None:
        """Stages of intervals of lengths h (K) from nodes q (K, nq), v (K, nv) with accelerations alpha (K, s, nv)."""
        nv, s, K, last = self.nv, self.stages, len(q), self.columns - 1
        self.q0, self.alpha, self.h = q, alpha, h
        dv = np.zeros((K, s, nv, self.columns))
        dv[..., np.arange(nv), nv + np.arange(nv)] = 1.0
        for i in range(s):
            for j in range(s):
                own = 2 * nv + j * nv + np.arange(nv)
                dv[:, i, np.arange(nv), own] = h[:, None] * self.a[i, j]
        dv[..., last] = np.einsum("ij,kjn->kin", self.a, alpha)
        one, two, three = h[:, None], h[:, None, None], h[:, None, None, None]
        self.v, self.dv = v[:, None] + two * np.einsum("ij,kjn->kin", self.a, alpha), dv
        w, dw = self.v.copy(), dv.copy()
        if self.blocks.parts:
            turn = self.blocks.ad(self.v)  # (K, s, nv, nv)
            for j in range(s):
                for m in range(s):
                    part = 0.5 * self.a[j, m] * (turn[:, m] @ self.v[:, j, :, None])[..., 0]
                    w[:, j] += one * part
                    dw[:, j] += 0.5 * two * self.a[j, m] * (turn[:, m] @ dv[:, j] - turn[:, j] @ dv[:, m])
                    dw[:, j, :, last] += part
        self.w, self.dw = w, dw
        self.theta, self.dtheta = (
            two * np.einsum("ij,kjn->kin", self.a, w),
            three * np.einsum("ij,kjnc->kinc", self.a, dw),
        )
        self.dtheta[..., last] += np.einsum("ij,kjn->kin", self.a, w)
        self.q = self.mechanism.retract(q[:, None], self.theta)
        self.dq = self._moved(self.theta, self.dtheta)

    def _moved(self, theta: np.ndarray, dtheta: np.ndarray) -> np.ndarray:
        """Changes of q exp(θ) for those of q, which are the first columns, and of θ."""
        found = self.blocks.dexp(-theta) @ dtheta
        found[..., : self.nv] += self.blocks.carried(theta)
        return found

    def forces(self) -> tuple[np.ndarray, np.ndarray]:
        """Q of all stages (K, s, nv), and its derivatives (K, s, nv, columns)."""
        Q = self.mechanism.inverse_dynamics(self.q, self.v, self.alpha)
        by = self.mechanism.derivatives.inverse_dynamics(self.q, self.v, self.alpha)
        found = by.dq @ self.dq + by.dv @ self.dv
        for i in range(self.stages):
            own = slice(2 * self.nv + i * self.nv, 2 * self.nv + (i + 1) * self.nv)
            found[:, i, :, own] += by.da[:, i]
        return Q, found

    def ends(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the next nodes are off the ends of intervals, (K, 2 nv), its derivatives by the columns, and by δ of the
        next node (K, nv, nv)."""
        nv, h, last = self.nv, self.h[:, None], self.columns - 1
        theta = h * np.einsum("j,kjn->kn", self.b, self.w)
        dtheta = h[:, None] * np.einsum("j,kjnc->knc", self.b, self.dw)
        dtheta[..., last] += np.einsum("j,kjn->kn", self.b, self.w)
        off = self.mechanism.difference(q, self.mechanism.retract(self.q0, theta))
        speeds = v - (self.v0() + h * np.einsum("j,kjn->kn", self.b, self.alpha))
        found = np.zeros((len(q), 2 * nv, self.columns))
        found[:, :nv] = -self.blocks.dexpinv(off) @ self._moved(theta, dtheta)
        found[:, nv + np.arange(nv), nv + np.arange(nv)] = -1.0
        for j in range(self.stages):
            found[:, nv + np.arange(nv), 2 * nv + j * nv + np.arange(nv)] = -h * self.b[j]
        found[:, nv:, last] = -np.einsum("j,kjn->kn", self.b, self.alpha)
        return np.concatenate([off, speeds], axis=1), found, self.blocks.dexpinv(-off)

    def v0(self) -> np.ndarray:
        """Velocities at the nodes."""
        return self.v[:, 0] - self.h[:, None] * np.einsum("j,kjn->kn", self.a[0], self.alpha)
