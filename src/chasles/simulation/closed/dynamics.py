"""A closed mechanism in joint coordinates as a problem for the integrators."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.space import SO3XR3_NAME
from chasles.assembly.mobility import regular
from chasles.assembly.rank import DEPENDENT, decomposed
from chasles.assembly.search import ASSEMBLED, attempt
from chasles.integrate.solution import Solution
from chasles.kernel.undisturbed import Calling
from chasles.model.system import System
from chasles.relative.determined import require_determined
from chasles.relative.loop.assembly import LoopEquations, refuse_contradictions
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.tables import HEAD
from chasles.relative.mechanism import Mechanism
from chasles.simulation.closed.energy_jumps import explained
from chasles.simulation.closed.motion import (
    closed_motion,
    free_joints_onto_loops,
    motion_of_free_joints,
    onto_loops,
    seen,
    with_workspace,
)
from chasles.simulation.compiled_system import in_joint_coordinates
from chasles.simulation.problem import Motion
from chasles.simulation.start.held import Holding, Wanted, assembled
from chasles.simulation.start.refusal import NEARLY_SINGULAR, refuse_start, refuse_turned
from chasles.simulation.start.values import Values, joint_changes
from chasles.simulation.tree.dynamics import TreeDynamics
from chasles.simulation.tree.quantities import ClosedQuantities

START_TOLERANCE = 1e-8  # how far a start may be off the constraints [rad or sizes of a body, and per second]


class ClosedDynamics(TreeDynamics):
    """The motion of a closed mechanism on the space of its tree: y = (q, v, work), held on the constraints."""

    quantities = ClosedQuantities
    mechanism: ClosedMechanism

    numbers_at = HEAD.numbers
    input_between = HEAD.control, HEAD.end

    @property
    def corrected(self) -> bool:  # type: ignore[override]
        return self.projected

    seen = staticmethod(seen)

    def __init__(
        self,
        mechanism: ClosedMechanism,
        projected: bool = True,
        baumgarte: Iterable[float] = (0.0, 0.0),
        space: str = SO3XR3_NAME,
    ):
        self.mechanism, self.projected, self.baumgarte = mechanism, projected, tuple(baumgarte)
        self.nq, self.nv = mechanism.nq, mechanism.nv
        self.choose(space)
        self.pack()

    def with_springs(self) -> Self:
        found = super().with_springs()
        found.rank = self.rank
        return found

    def packed(self) -> np.ndarray:
        found = with_workspace(self.mechanism)
        feedback = int(found.view(np.int64)[HEAD.feedback])
        found[feedback : feedback + 2] = self.baumgarte
        return found

    @property
    def rank(self) -> int:
        """How many of the rows are independent, once a start is known; -1 before."""
        return int(self.parameters.view(np.int64)[HEAD.rank])

    @rank.setter
    def rank(self, rank: int) -> None:
        self.parameters.view(np.int64)[HEAD.rank] = rank

    @property
    def chooses_rows(self) -> bool:  # type: ignore[override]
        """A step taken alone may solve others then, and differ by as much as its stages are off the constraints."""
        return 0 <= self.rank < self.mechanism.rows

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "rank": self.rank}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rank = state.pop("rank")
        super().__setstate__(state)
        self.rank = rank

    def locked(self, columns: tuple[int, ...], q: np.ndarray, t: float) -> TreeDynamics:
        found = super().locked(columns, q, t)
        assert isinstance(found, ClosedDynamics)
        if columns:  # rows may depend on each other that did not before
            J = np.delete(self.mechanism.constraint_rows(q, t=t).jacobian, list(columns), axis=1)
            found.rank = min(self.rank, int(np.linalg.matrix_rank(J, rtol=DEPENDENT)))
        return found

    def impulse_response(self, q: np.ndarray, t: float, columns: np.ndarray) -> np.ndarray:
        rows, reach, step = LoopEquations(self.mechanism, t).linear(q)
        _, right, rank = decomposed(rows, reach)
        free = step(right[rank:].T)  # motions that the loops allow, of length one in the metric of the masses
        return free @ free[columns].T

    def problem(self, u: ArrayLike | None = None) -> Motion:
        self._sticks_not()
        p = self.parameters.copy()
        if u is not None:
            p[self.control] = u
        motion, correction = (
            (motion_of_free_joints, free_joints_onto_loops) if self.free else (closed_motion, onto_loops)
        )
        correct = correction if self.projected else None
        return self._with_loads(Motion(self.space, motion, p, correct, dynamics=self, u=u, shown=self.shown), u)

    def start(
        self,
        t: float,
        q: Values | None,
        v: Values | None,
        assemble: bool | None = False,
        held: Holding | None = None,
        mode: int | None = None,
    ) -> np.ndarray:
        """The state at the start, on the constraints: assembled (None: if it is off, and given by name or not at
        all), or refused with what it violates."""
        mechanism, tree = self.mechanism, self.mechanism.tree
        require_determined(mechanism.spanning)
        wanted = Wanted(mechanism.split.cut, q, v, assemble, held, mode)
        at, speed, _ = self.split(self.state(*wanted.of_tree()))
        equations = LoopEquations(mechanism, t)
        judge = lru_cache(1)(lambda: self._judged(equations, at, speed))
        if wanted.to_assemble(judge):
            judge.cache_clear()
            before = at, speed
            at, speed = assembled("simulate", mechanism, wanted, t)
            places = [(where, where) for where in (tree.coordinates, tree.velocities)]
            joints = [joint for joint in tree.joints if joint.nv]
            self.start_changes = joint_changes(mechanism.system, joints, (q, v), before, (at, speed), places)
        require_determined(mechanism.spanning, at)
        refuse_start(
            mechanism.constraint_names,
            lambda: (*mechanism.constraint_violation(at, speed, t=t)[:2], mechanism.turned(at)),
            *judge(),
        )
        self.rank = regular(equations, at).rank
        forces = mechanism.applied_forces(at, speed, t)
        arrays = {"q": at, "v": speed, "tau": forces.tau}
        motion = mechanism.motion_on_links("constrained_motion", arrays, forces.wrenches, t, smallest=False)
        if self.rank < mechanism.rows:
            refuse_contradictions(equations, "constrained_motion", at, speed, motion.accelerations, motion.multipliers)
        return self.state(at, speed)

    def _judged(
        self, equations: LoopEquations, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """What a start is judged by, as `violated` takes it."""
        off = equations.seen(q, v)
        return v / self.velocity_sizes, START_TOLERANCE, off.position, off.velocity

    def explained(self, solution: Solution) -> Solution:
        """A solution that ended early, with the singular configuration it met in its message; one in which a joint
        turned over, or which lost its way in a singular configuration, has no success."""
        return explained(self, refuse_turned(solution, lambda y: self.mechanism.turned(self.split(y)[0])))

    def nearly_dependent(self, t: float, y: np.ndarray) -> tuple[int, tuple[str, ...]]:
        """How many constraint equations are well independent at a state, and whose are not."""
        near = self.mechanism.mobility(self.split(y)[0], t, NEARLY_SINGULAR)
        return near.rank, near.dependent

    def configured(self, t: float, y: np.ndarray) -> np.ndarray | None:
        equations = LoopEquations(self.mechanism, t)
        q = attempt(equations, self.split(y)[0])
        return self.moved_to(y, q) if equations.off(q, ASSEMBLED) is None else None

    def calling(self, tangents: bool = False) -> Calling:
        return Calling((*self.mechanism.tables.acting.laws, *self.mechanism.laws), tangents)


def dynamics_of(
    system: System | Mechanism | ClosedMechanism,
    projected: bool = True,
    baumgarte: Iterable[float] = (0.0, 0.0),
    space: str = SO3XR3_NAME,
) -> TreeDynamics:
    """The dynamics of a system in joint coordinates, of a tree or closed."""
    mechanism = in_joint_coordinates(system) if isinstance(system, System) else system
    if isinstance(mechanism, ClosedMechanism):
        return ClosedDynamics(mechanism, projected, baumgarte, space)
    return TreeDynamics(mechanism, space)
