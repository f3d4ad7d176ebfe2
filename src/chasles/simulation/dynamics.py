"""A system in joint coordinates as a problem for the integrators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.solution import Solution
from chasles.integrate.space import Space
from chasles.model.system import System
from chasles.relative.determined import require_determined
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import FREE, LINK, SPHERICAL, link_table
from chasles.simulation.actuation import Actuation
from chasles.simulation.laws import laws_may_raise
from chasles.simulation.problem import Motion
from chasles.simulation.start_values import StartChange, Values, by_name
from chasles.simulation.tree_motion import PART, parameters, tree_motion


class TreeDynamics:
    """The motion of a tree on its space: y = (q, v, work), velocities acting from the right (body velocities)."""

    mechanism: Mechanism | ClosedMechanism
    start_changes: tuple[StartChange, ...] = ()  # what assembly made of the values that were given

    def __init__(self, system: System | Mechanism):
        self.mechanism = mechanism = system if isinstance(system, Mechanism) else Mechanism(system)
        self.nq, self.nv = mechanism.nq, mechanism.nv
        self.space = tree_space(mechanism.topology, self.nv)
        self.parameters = self.packed()
        whole = self.parameters.view(np.int64)
        self.control = slice(int(whole[PART.control]), int(whole[PART.work]))  # where the input is in the parameters

    def packed(self) -> np.ndarray:
        """The parameters of the problem, without an input."""
        assert isinstance(self.mechanism, Mechanism)
        return parameters(self.mechanism)

    def __getstate__(self) -> dict[str, Any]:
        # the parameters hold addresses of this process
        return {name: value for name, value in vars(self).items() if name != "parameters"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.parameters = self.packed()

    def problem(self, u: ArrayLike | None = None) -> Motion:
        """The problem under constant generalised forces u (nv)."""
        p = self.parameters.copy()
        if u is not None:
            p[self.control] = u
        return Motion(self.space, tree_motion, p, dynamics=self, u=u)

    def state(self, q: Values | None = None, v: Values | None = None, work: float = 0.0) -> np.ndarray:
        """A state (q, v, work); by default neutral and at rest."""
        mechanism = self.mechanism
        q, v = by_name("simulate: q", mechanism, "q", q), by_name("simulate: v", mechanism, "v", v)
        q = mechanism.neutral() if q is None else mechanism.check_q("simulate", q)
        v = np.zeros(self.nv) if v is None else mechanism.check_v("simulate", "v", v)
        if q.ndim != 1 or v.ndim != 1:
            raise ValueError(f"simulate: q and v have shapes {q.shape} and {v.shape}; expected one state")
        return np.concatenate([q, v, [work]])

    def start(self, t: float, q: Values | None, v: Values | None, assemble: bool) -> np.ndarray:
        """The state at the start; a tree has nothing to assemble."""
        state = self.state(q, v)
        assert isinstance(self.mechanism, Mechanism)
        require_determined(self.mechanism, self.split(state)[0])
        return state

    def explained(self, solution: Solution) -> Solution:
        """A solution, with more to say on how it ended; of a tree there is nothing more."""
        return solution

    def explain_start(self, state: np.ndarray, u: np.ndarray | None) -> None:
        """Raise what the equations of motion say of a state at which accelerations are not finite, if they do."""
        if isinstance(self.mechanism, Mechanism):
            q, v, _ = self.split(state)
            self.mechanism.forward_dynamics(q, v, np.zeros(self.nv) if u is None else u)

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and work of states (..., nq + nv + 1)."""
        return y[..., : self.nq], y[..., self.nq : self.nq + self.nv], y[..., -1]

    def coordinates(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of the joints at states."""
        return self.split(y)[:2]

    def actuation(self) -> Actuation:
        return Actuation.of_tree(self.mechanism)

    def energy_scale(self, y: np.ndarray) -> float:
        """The kinetic energy of the whole system at the speed of its fastest free joint; none if there is no such."""
        v, links = self.split(y)[1], link_table(self.mechanism.topology)
        at, fastest = 0, 0.0
        for kind in links[:, LINK.kind].tolist():
            if kind == FREE:
                fastest = max(fastest, float(np.sum(v[at + 3 : at + 6] ** 2)))
            at += {FREE: 6, SPHERICAL: 3}.get(kind, 1)
        return 0.5 * fastest * sum(body.mass for body in self.mechanism.system.bodies)

    def laws_may_raise(self):
        assert isinstance(self.mechanism, Mechanism)
        return laws_may_raise(self.mechanism.acting.laws)


def tree_space(topology: np.ndarray, nv: int) -> Space:
    """The space of (q, v, work). Errors of angular and linear velocities of a free joint are measured by the sizes of
    these vectors: their numbers go through zero as the body turns. The work is compared with `energy_scale` at least:
    where a force is nearly across the velocity it stays near zero, however much energy there is."""
    sizes: list[int] = []
    for kind in link_table(topology)[:, LINK.kind].tolist():
        sizes += {FREE: [3, 3], SPHERICAL: [3]}.get(kind, [1])
    return Space(*blocks(topology), f"r{nv + 1}", side="right", last=(*sizes, -1))


def blocks(topology: np.ndarray) -> list[str]:
    """The space of q: a pose for each free joint, a quaternion for each spherical one, vectors in between."""
    blocks, plain = [], 0
    for kind in link_table(topology)[:, LINK.kind].tolist():
        if kind in (FREE, SPHERICAL):
            if plain:
                blocks.append(f"r{plain}")
            blocks.append("pose" if kind == FREE else "s3")
            plain = 0
        else:
            plain += 1
    return [*blocks, f"r{plain}"] if plain else blocks
