"""The motions that constraints allow about a state, in independent coordinates: the ground on which closed mechanisms
are linearized and their equilibria are found.

Of a state (q, v) on the constraints, δ with J δ = 0 and δv with J δv + δ(J v - target) = 0 stay on them. Some of the
numbers of (δ, δv) determine all others, (δ, δv) = basis x. With M δa + Jᵀ δλ = r and J δa = s, where r and s are what
the displacement changes at constant accelerations and multipliers, δa = N Nᵀ r + J⁺ s, for N of length one in the
metric of the masses. r has (δJ)ᵀ λ: the geometric stiffness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.assembly.rank import decomposed, shortest
from chasles.assembly.search import SATISFIED
from chasles.constraint.alignment import described
from chasles.constraint.errors import AssemblyError
from chasles.constraint.rows import CUSTOM, ROLL
from chasles.model.scale import length_of
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism, ConstraintRows
from chasles.relative.loop.derivatives import motions

POOR = 1e-3  # of the best choice: those that were asked for are not taken
PREFERRED = 0.5  # of the best choice of an independent coordinate: as good, if it comes earlier


def require_on_constraints(function: str, mechanism: ClosedMechanism, q: np.ndarray, v: np.ndarray, t: float) -> None:
    """AssemblyError with what a state violates, unless it is on the constraints as simulations ask for it."""
    equations = LoopEquations(mechanism, t)
    if (off := equations.off(q, SATISFIED)) is not None:
        turned = described(mechanism.turned(q))
        raise AssemblyError(
            f"{function}: the coordinates violate {off}{turned}; take those of `assemble` or `equilibrium`"
        )
    speeds = equations.speeds(q, v)
    amounts, limit = equations.by_constraint(speeds / equations.units), SATISFIED * (1.0 + equations.fastest(v))
    if not amounts.max(initial=0.0) <= limit:
        listed = equations.listed(amounts, limit, "[m/s or rad/s]", equations.by_constraint(speeds))
        raise AssemblyError(
            f"{function}: the velocities violate {listed}; take those of `mechanism.consistent_velocities(q, v)`, or "
            "in a model file use a drive with a constant value"
        )


def running_constraints(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> tuple[str, ...]:
    """Names of the constraints, such as drives, that a mechanism at rest violates at a time: they move it."""
    equations = LoopEquations(mechanism, t)
    speeds = equations.by_constraint(equations.speeds(q, np.zeros(mechanism.nv)) / equations.units)
    return tuple(name for name, speed in zip(equations.names, speeds, strict=True) if speed > SATISFIED)


class Motions(NamedTuple):
    """Velocities N z that rows allow: N is the identity in the chosen ones."""

    free: np.ndarray  # the same, orthonormal in the metric of the masses
    chosen: np.ndarray
    basis: np.ndarray


class Allowed:
    """The linear motions that a closed mechanism can make about a configuration at a time."""

    def __init__(self, mechanism: ClosedMechanism, q: np.ndarray, t: float):
        self.mechanism, self.q, self.t = mechanism, q, t
        equations = LoopEquations(mechanism, t)
        self.rows, self.reach, self.step = equations.linear(q)
        self.least = motions(equations, q).inverse
        self.mass = mechanism.mass_matrix(q)
        root = self.step(np.eye(mechanism.nv))
        self.lengths = np.linalg.norm(root, axis=1)  # of a velocity in the metric of the masses, if all others are free
        every = np.ones(mechanism.rows, dtype=bool)
        self.velocities = self._motions(every)
        between_places = ~self._between_velocities()
        self.places = self.velocities if between_places.all() else self._motions(between_places)

    def _motions(self, rows: np.ndarray) -> Motions:
        if not rows.any():
            free = self.step(np.eye(self.mechanism.nv))
        else:
            _, right, rank = decomposed(self.rows[rows], self.reach[rows])
            free = self.step(right[rank:].T)
        chosen = _independent(free / self.lengths[:, None])
        basis = free @ np.linalg.inv(free[chosen])
        basis[chosen] = np.eye(len(chosen))
        return Motions(free, chosen, basis)

    def _between_velocities(self) -> np.ndarray:
        """Which rows hold velocities alone, as those of rolling: nowhere is there anything left of their places."""
        closing, found = self.mechanism.closing, np.zeros(self.mechanism.rows, dtype=bool)
        kinds = [closing.tiles[closing.groups[group][-1]].kind for group, _ in closing.rows]
        may = np.array([kind in (ROLL, CUSTOM) for kind in kinds], dtype=bool)
        if may.any():
            steps = np.random.default_rng(0).uniform(-0.1, 0.1, (4, self.mechanism.nv))
            places = self.mechanism.retract(self.q, steps * LoopEquations(self.mechanism, self.t).sizes())
            residual = self.mechanism.constraint_rows(places, None, self.t).residual
            found = may & ~residual.any(axis=0)
        return found

    def determining(self, motions: Motions, first: np.ndarray) -> np.ndarray:
        """Velocities that determine motions: of those that come first (nv), as far as they do."""
        return _independent(motions.free / self.lengths[:, None], first)

    def multipliers(self, forces: np.ndarray) -> np.ndarray:
        """The smallest λ for which J M⁻¹ (f - Jᵀ λ) vanishes: what constraints carry of forces f (nv)."""
        scaled, root = self.rows / self.reach[:, None], self.step(np.eye(self.mechanism.nv))
        return shortest(scaled.T, np.ones(len(root)), root.T @ forces) / self.reach

    def solved(self, right: np.ndarray) -> np.ndarray:
        """J⁺ b of columns b (rows, k): the least motion in the metric of the masses that J makes b of."""
        return self.least @ right

    def tangents(self, v: np.ndarray, moves: np.ndarray, changes: np.ndarray) -> ConstraintRows:
        """How the rows change along columns (moves, changes) of (q, v), exactly."""
        return self.mechanism.derivatives._rows.along(self.q, v, self.t, moves, changes)

    def _turns(self, v: np.ndarray) -> np.ndarray:
        """The largest angular velocity of a link, or where none turns of a velocity in lengths of the model, (k,)."""
        twists = self.mechanism.spanning.twists(self.q, v)
        turning, moving = (np.abs(part).max(axis=(-2, -1)) for part in (twists[..., :3], twists[..., 3:]))
        return np.where(turning > 0.0, turning, moving / length_of(self.mechanism.system))

    # ------------------------------------------------------------ about a state

    def states(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of (δ, δv) determine all of them, and (δ, δv) by these, (2 nv, states)."""
        nv, places, rates = self.mechanism.nv, self.places.basis, self.velocities.basis
        follow = np.zeros_like(places)  # of δv, what comes with δ
        if v.any():
            follow = self.solved(-self.tangents(v, places, np.zeros_like(places)).speed)
            follow -= rates @ follow[self.velocities.chosen]
        basis = np.block([[places, np.zeros_like(rates)], [follow, rates]])
        return np.concatenate([self.places.chosen, nv + self.velocities.chosen]), basis

    def accelerations(
        self, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray, basis: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """Derivatives of the accelerations along (δ, δv) of `basis` and behind it other changes, of those of the tree
        under the constant push -Jᵀ λ."""
        nv = self.mechanism.nv
        rows, forces = self.tangents(v, basis[:nv], basis[nv:]), self.mass @ slopes
        forces[:, : basis.shape[1]] -= np.einsum("rik,r->ik", rows.jacobian, multipliers)
        found = self.velocities.free @ (self.velocities.free.T @ forces)
        found[:, : basis.shape[1]] += self.solved(rows.right - np.einsum("rik,i->rk", rows.jacobian, a))
        return found


def _independent(shares: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
    """Of rows (n, k) k that are independent, in their order: pivots, the first of those that are nearly the best; those
    of `first` (n) before all others, unless they are far worse."""
    left, chosen = shares.copy(), list[int]()
    for _ in range(shares.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        sizes[chosen] = 0.0
        if first is not None and (sizes * first).max() > POOR * sizes.max():
            sizes *= first
        k = int(np.argmax(sizes >= PREFERRED * sizes.max()))
        chosen.append(k)
        left -= np.outer(left @ left[k], left[k]) / sizes[k] ** 2
    return np.array(sorted(chosen), dtype=int)
