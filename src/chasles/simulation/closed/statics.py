"""Forces on a closed mechanism at rest, along independent coordinates."""

from __future__ import annotations

import numpy as np

from chasles.assembly.search import ASSEMBLED, attempt
from chasles.kernel.undisturbed import Calling
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.tree.statics import ROUNDING, Point, Statics
from chasles.simulation.tree.tangent import TangentTables, slopes

KNOWN = 1e-4  # of the largest force, divided by the sizes: along soft coordinates forces are compared with this
EXACT, DIFFERENCED = (
    1e-13,
    1e-11,
)  # errors of the stiffness, of what it is the sum of: without and with laws differenced


class ClosedStatics(Statics):
    """With N the motions that constraints allow and λ their forces, Nᵀ f is left of the forces f of the tree, and the
    stiffness is -Nᵀ (δf - δJᵀ λ) N: that of the tree and the geometric one."""

    def __init__(self, mechanism: ClosedMechanism, u: np.ndarray, t: float = 0.0):
        super().__init__(mechanism.spanning, u, t)
        self.mechanism, self.equations = mechanism, LoopEquations(mechanism, t)
        self.tables = TangentTables(mechanism.spanning)

    negligible = 1e-10

    def at(self, q: np.ndarray) -> Point:
        tree, allowed, forces = self.tree, Allowed(self.mechanism, q, self.t), self.forces(q)
        _, chosen, basis = allowed.velocities
        moves = np.concatenate([basis, np.zeros_like(basis)])
        with Calling(tree.tables.acting.laws, True):
            change = allowed.mass @ slopes(self.tables, self.t, q, self.still, self.u - forces, moves)[1]
        multipliers, left = allowed.multipliers(forces), basis.T @ forces

        jacobian = allowed.tangents(self.still, basis, np.zeros_like(basis)).jacobian
        turned = np.einsum("rik,r->ik", jacobian, multipliers)
        stiffness = basis.T @ (turned - change)
        if left.any():  # the motions turn, too, and with them what is left
            columns = np.einsum("rik,if->rfk", jacobian, basis).reshape(self.mechanism.rows, -1)
            follow = allowed.solved(columns)[chosen].reshape(len(chosen), len(chosen), -1)
            stiffness -= np.einsum("c,cij->ij", left, follow)
        sizes, play, shares = self.sizes[chosen], self.in_play(q), np.abs(basis.T)
        largest, reach = (play * self.sizes).max(initial=0.0), shares @ (1.0 / self.sizes)
        parts = np.abs(turned) + np.abs(change)
        rounded = largest + (self.sizes[:, None] * parts * sizes).max(initial=0.0)
        relative = (
            DIFFERENCED if any(law.note for law in self.tables.laws) or self.mechanism.derivatives.notes else EXACT
        )
        error = relative * shares @ parts + ROUNDING * rounded * np.outer(reach, reach)
        return Point(q, left, shares @ play + KNOWN * largest * reach, sizes, stiffness, error, chosen, basis)

    def moved(self, point: Point, move: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        q = attempt(self.equations, self.mechanism.retract(point.q, point.basis @ move))
        if not np.isfinite(q).all() or self.equations.off(q, ASSEMBLED) is not None or self.mechanism.turned(q):
            return None
        free = Allowed(self.mechanism, q, self.t).velocities.free
        if free.shape[1] != len(point.chosen) or np.linalg.matrix_rank(free[point.chosen]) < free.shape[1]:
            return None  # these coordinates do not determine the others here
        return q, np.linalg.solve(free[point.chosen].T, free.T @ self.forces(q))
