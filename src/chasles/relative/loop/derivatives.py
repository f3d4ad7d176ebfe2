"""Derivatives of the equations of motion of closed mechanisms: `mechanism.derivatives`.

The accelerations solve M a + Jᵀ λ = τ - h, J a = c. Along a displacement δ and a change δv, with r and s what these
change at constant a and λ,

    M δa + Jᵀ δλ = r = δτ - δQ - δJᵀ λ        J δa = s = δc - δJ a

so that δa = N Nᵀ r + J⁺ s, where N are the motions that the constraints allow, of length one in the metric of the
masses, and J⁺ b is the least motion in that metric which J makes b of. δQ is that of the tree's inverse dynamics at
the accelerations a, in closed form; δJ and δc are by dual numbers. Nothing is differenced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.assembly.rank import DEPENDENT, decomposed
from chasles.cached import cached_property
from chasles.constraint.results import ForwardDerivatives, InverseDerivatives
from chasles.relative import inverse
from chasles.relative.derivative.inverse import inverse_derivatives
from chasles.relative.loop import assembly
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.tangent import RowTangents

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism, ConstraintRows


class Split(NamedTuple):
    """What rows allow and ask for at a configuration, in the metric of the masses."""

    free: np.ndarray  # N (nv, freedoms): Nᵀ M N = 1, J N = 0
    inverse: np.ndarray  # J⁺ (nv, rows)


def motions(equations: LoopEquations, q: np.ndarray) -> Split:
    """Motions that constraints allow, and the least ones that satisfy what they ask for."""
    rows, reach, step = equations.linear(q)
    scaled = rows / reach[:, None]
    _, right, rank = decomposed(rows, reach)
    size = float(np.linalg.norm(scaled))
    pseudo = np.linalg.pinv(scaled, rcond=DEPENDENT / size) if size > DEPENDENT else np.zeros(rows.T.shape)
    return Split(step(right[rank:].T), step(pseudo / reach))


class LoopDerivatives:
    """Derivatives with respect to the state, along q exp(δ) and v + δv for a column of each velocity of the tree.

    They are those of `forward_dynamics` and `inverse_dynamics` without the system's forces, as for trees; wrenches on
    the bodies are constant in the bodies' frames. Where rows depend on each other, accelerations are unique along
    displacements that stay on the constraints; others take the least change.
    """

    def __init__(self, mechanism: ClosedMechanism):
        self._mechanism = mechanism

    def __repr__(self) -> str:
        return f"<LoopDerivatives of {self._mechanism!r}>"

    def __getattr__(self, name: str) -> np.ndarray:
        raise AttributeError(
            f"derivatives of a closed mechanism have no {name!r}; those of its tree are `spanning.derivatives`"
        )

    @cached_property
    def _rows(self) -> RowTangents:
        return RowTangents(self._mechanism)

    @property
    def notes(self) -> tuple[str, ...]:
        """Of laws of constraints whose derivatives are differences, because they do not compile for dual numbers."""
        return self._rows.notes

    def constraint_rows(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> ConstraintRows:
        """Derivatives of `constraint_rows` of one state, those by q and then those by v in the last axis: (rows, 2 nv),
        of J (rows, nv, 2 nv)."""
        name, nv = "derivatives.constraint_rows", self._mechanism.nv
        at = self._mechanism._one(name, q)
        speed = np.zeros(nv) if v is None else self._mechanism.tables.check_v(name, "v", v)
        both = np.eye(2 * nv)
        return self._rows.along(at, speed, float(t), both[:nv], both[nv:])

    def _of_tree(self, name: str, q, v, a, on_links: np.ndarray) -> list[np.ndarray]:
        """∂Q/∂q, ∂Q/∂v and M of the tree at accelerations, (nv, nv) each."""
        arrays = {"q": q, "v": v, "a": a, "wrenches": on_links}
        found, _ = self._mechanism.tables.run(name, inverse_derivatives, arrays)
        return [x.reshape(self._mechanism.nv, -1) for x in found]

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> ForwardDerivatives:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ of `forward_dynamics`, (..., nv, nv) each."""
        name, mechanism = "derivatives.forward_dynamics", self._mechanism
        tables, on_links = mechanism.tables, mechanism._on_links(name, wrenches)
        arrays = {
            "q": tables.check_q(name, q),
            "v": tables.check_v(name, "v", v),
            "tau": tables.check_v(name, "tau", tau),
        }
        motion = mechanism.motion_on_links(name, arrays, on_links, t)
        batch, states = mechanism._states(
            name, t, **arrays, wrenches=on_links, a=motion.accelerations, multipliers=motion.multipliers
        )
        found = [self._accelerations(*state) for state in zip(*states, strict=True)]
        return ForwardDerivatives(*self._shaped(found, batch))

    def _shaped(self, found: list[list[np.ndarray]], batch: tuple[int, ...]) -> list[np.ndarray]:
        nv = self._mechanism.nv
        return [np.array([x[k] for x in found]).reshape(*batch, nv, nv) for k in range(3)]

    def _accelerations(self, q, v, tau, on_links, a, multipliers, t: float) -> list[np.ndarray]:
        nv, rows = self._mechanism.nv, self.constraint_rows(q, v, t)
        by_q, by_v, _ = self._of_tree("derivatives.forward_dynamics", q, v, a, on_links)
        free, least = motions(LoopEquations(self._mechanism, t), q)
        forces = np.concatenate([by_q, by_v], axis=1) + np.einsum("rik,r->ik", rows.jacobian, multipliers)
        asked = rows.right - np.einsum("rik,i->rk", rows.jacobian, a)
        change = least @ asked - free @ (free.T @ forces)
        return [change[:, :nv], change[:, nv:], free @ free.T]

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: ArrayLike | None = None,
        *,
        actuated: Iterable[str] | None = None,
        t: ArrayLike = 0.0,
    ) -> InverseDerivatives:
        """∂u/∂q, ∂u/∂v and ∂u/∂a of the forces u of `inverse_dynamics`, (..., nv, nv) each; rows of joints that are
        not actuated are zero. Of more forces than freedoms, those of the least ones."""
        name, mechanism = "derivatives.inverse_dynamics", self._mechanism
        forces = mechanism.inverse_dynamics(q, v, a, wrenches, actuated=actuated, applied=False, t=t)
        where, on_links = assembly.actuated_velocities(mechanism, actuated), mechanism._on_links(name, wrenches)
        tables = mechanism.tables
        batch, states = mechanism._states(
            *(name, t),
            q=tables.check_q(name, q),
            v=tables.check_v(name, "v", v),
            a=tables.check_v(name, "a", a),
            wrenches=on_links,
            forces=forces,
        )
        found = [self._forces(where, *state) for state in zip(*states, strict=True)]
        return InverseDerivatives(*self._shaped(found, batch))

    def _forces(self, where: np.ndarray, q, v, a, on_links, forces, t: float) -> list[np.ndarray]:
        """Nᵀ B u = Nᵀ Q(q, v, a), where N changes by δN = -J⁺ δJ N; u the least, so that it is (Nᵀ B)ᵀ y."""
        nv, mechanism = self._mechanism.nv, self._mechanism
        name = "derivatives.inverse_dynamics"
        by_q, by_v, mass = self._of_tree(name, q, v, a, on_links)
        (tau,), _ = mechanism.tables.run(name, inverse.inverse_dynamics, {"q": q, "v": v, "a": a, "wrenches": on_links})
        free, least = motions(LoopEquations(mechanism, t), q)
        turned = -np.einsum("ir,rjk,jn->ink", least, self.constraint_rows(q, v, t).jacobian[..., :nv], free)
        reach, reach_change, u = free[where].T, turned[where].transpose(1, 0, 2), forces[where]
        pseudo = np.linalg.pinv(reach)
        wanted = free.T @ by_q + np.einsum("ink,i->nk", turned, tau.reshape(-1))
        by_reach = np.einsum("nak,n->ak", reach_change, pseudo.T @ u)
        found = pseudo @ (wanted - np.einsum("nak,a->nk", reach_change, u)) + by_reach - pseudo @ (reach @ by_reach)
        every = [np.zeros((nv, nv)) for _ in range(3)]
        for into, given in zip(every, (found, pseudo @ (free.T @ by_v), pseudo @ (free.T @ mass)), strict=True):
            into[where] = given
        return every
