"""Runs of the methods for constrained systems: from a mechanism and a method to the arrays of their loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD
from chasles.constrained import structure as structures
from chasles.constrained.body_sizes import set_lengths, set_weights
from chasles.constrained.force_tangent import force_tangent_addresses
from chasles.constrained.group import increment
from chasles.constrained.operations import addresses, refuse_missing
from chasles.constrained.problem import BodyProblem
from chasles.constrained.schemes import SCHEMES
from chasles.constrained.start import Start, exact_points, nonholonomic_rows
from chasles.constrained.workspace import COUNTS, WORKSPACE, Call, run_address, run_loop
from chasles.constraint.rows import ROTOR
from chasles.integrate.constrained_method import CONSTRAINED_METHODS, BLieDF, HalfExplicit, less_demanding
from chasles.integrate.fixed_step import FixedStepper, shortened
from chasles.integrate.options import Options, check_span
from chasles.kernel.flat_call import flat_call
from chasles.once import once


class ConstrainedStepper(FixedStepper):
    """A run of a method for constrained systems, with fixed steps."""

    methods = CONSTRAINED_METHODS
    memory_names: ClassVar[tuple[str, ...]] = ("memory", "counts")
    caller = "simulate"
    tolerances = (0.0, 0.0)  # rtol and atol of an adaptive run
    points_beside: np.ndarray | None = None  # of steps that the method takes by other means

    def __init__(
        self,
        problem: BodyProblem,
        method: Any,
        span: Any,
        y0: np.ndarray,
        options: Options,
        first: float | None = None,
    ):
        """first: the first step [s], if steps change."""
        self._refuse_tolerances(method, options)
        y = np.array(y0, dtype=float)
        super().__init__(problem, method, span, options, y, 0)
        self.first = self.plan.step if first is None else float(np.copysign(first, self.plan.step))
        self.begin, self.scheme = y.copy(), SCHEMES[type(method)]
        mechanism = self.mechanism = problem.mechanism
        velocities_alone = nonholonomic_rows(problem, y, check_span(span)[0])
        _refuse_nonholonomic(mechanism, method, velocities_alone)
        rotors = np.array([tile.kind == ROTOR for tile in mechanism.tiles], dtype=bool)
        unmeasured = velocities_alone | rotors[:, None] if mechanism.tiles else velocities_alone
        self.structure = _structure(mechanism, unmeasured)
        self.counts = np.zeros(COUNTS.size, dtype=np.int64)
        self.packed = self.structure.packed
        self.p = mechanism.packed_for_run()
        if problem.held is not None:
            self.p[mechanism.control] = problem.held
        self.operations: Any = addresses(self.scheme.loop, self._unused_operations())
        # one block: arrays that begin at the same place of their pages would compete for the same lines of the cache
        sizes = mechanism.work, WORKSPACE.size(self.packed), self.scheme.vectors.size(self.packed)
        self.row_work, self.work, self.vectors = np.split(np.zeros(sum(sizes)), np.cumsum(sizes)[:2])
        shared = WORKSPACE.split(self.work, self.packed)
        set_lengths(mechanism, shared.goals)
        set_weights(mechanism, shared.metric, getattr(method, "metric", "mass") == "unit")
        self.force_tangents = np.array(force_tangent_addresses(mechanism.forces.table), dtype=np.int64)
        self.parameters = self.scheme.parameters(method, *self.tolerances)
        self.memory = self._state_at(self.start, y)
        self.start_with(y, np.empty(0))

    def _refuse_tolerances(self, method: Any, options: Options) -> None:
        for name in ("rtol", "atol"):
            given = getattr(options, name)
            if given is not None and name not in self.takes:
                raise ValueError(
                    f"simulate: with step={options.step!r} the steps of {method} are fixed, and {name}={given!r} has "
                    f"no part in them; give step alone, or rtol and atol without step, and steps follow the error"
                )

    def _unused_operations(self) -> frozenset[str]:
        """What need not be compiled: nothing is projected, counted or estimated."""
        counts = self.p.view(np.int64)[HEAD.n_angles] > 0
        unused = set() if counts else {"finish_angles"}
        if not any(self.tolerances):
            unused |= {"leave_tangent", "error_size"}
        return frozenset(unused)

    def _state_at(self, t: float, y: np.ndarray, jump: bool = False) -> np.ndarray:
        """The state of the method at a start; `jump`: in the midst of a run, where forces may jump."""
        start = Start(self.problem, self.structure, t, self.first, y, jump)
        return self.scheme.state.filled(self.packed, **self.scheme.start(start, self.method))

    def take(self, limit: int) -> None:
        if self.scheme.take_beside is not None:
            limit = self.scheme.take_beside(self, limit)
            if limit <= 0:
                return
        self._go_on(limit, self.plan.steps, self.every)

    def _go_on(self, limit: int, total: int, every: int) -> None:
        call = Call(
            *(self.p, self.packed, self.parameters, self.memory, self.row_work, self.work, self.vectors, self.counts),
            *(self.history.reshape(-1), self.times, self.saved_t, self.saved_y.reshape(-1)),
            *(self.force_tangents, self.operations, limit, total, every),
        )
        flat_call(run_loop, run_address(), call)
        refuse_missing(self.scheme.loop, self.operations)

    @property
    def state(self) -> Any:
        """What the method carries from step to step, by name: views of the memory."""
        return self.scheme.state.split(self.memory, self.packed)

    def exact_points(self, t: float, times: Sequence[float], y: np.ndarray) -> np.ndarray:
        """Points at some times after t, by an explicit method of order 8."""
        return exact_points(self.problem, t, times, y)

    def increment(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """x with start exp(x) = end of each body in its space."""
        return increment(self.mechanism, start, end)

    def set_point(self, y: np.ndarray) -> None:
        self.state.point[:] = y

    def point(self) -> np.ndarray:
        return self.memory[: self.saved_y.shape[1]].copy()

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers of the method at the point reached, (tiles, 3): of generalized alpha and BLieDF."""
        return self.state.lam.reshape(-1, 3)[self.structure.nodes]

    def evaluations(self) -> int:
        return int(self.counts[COUNTS.iterations] + self.counts[COUNTS.evaluations])

    def no_curve(self) -> str:
        return 'not all steps were kept; save="all" keeps them, save=times computes the points at these times'

    def tried(self) -> tuple[Sequence[float], Sequence[float], str]:
        corrections, residuals = self.history[:, : self.counts[COUNTS.tried]]
        tile = self.mechanism.tiles[self.counts[COUNTS.worst]].joint if self.mechanism.tiles else ""
        level = "velocity" if self.counts[COUNTS.level] else "position"
        at = f"; the largest {level} residual is at {tile!r}" if tile else ""
        said = f"; corrections in units of the tolerance {shortened(corrections)}" if corrections.size else ""
        return residuals, corrections, said + at

    def advice(self, status: int) -> str:
        advice = less_demanding(self.method)
        if self.mechanism.redundant and isinstance(self.method, BLieDF | HalfExplicit):
            advice += (
                "; some constraint equations depend on others, and if this is a singular configuration, "
                "GeneralizedAlpha, Rattle, EnergyMomentum or RKMK may pass it"
            )
        return advice


@once
def structures_of(mechanism: AbsoluteMechanism) -> dict[bytes, structures.Structure]:
    """Structures of a mechanism, by the rows that are of velocities alone."""
    return {}


def _structure(mechanism: AbsoluteMechanism, unmeasured: np.ndarray) -> structures.Structure:
    known, key = structures_of(mechanism), unmeasured.tobytes()
    if key not in known:
        known.setdefault(key, structures.build(mechanism, unmeasured))
    return known[key]


def _refuse_nonholonomic(mechanism: AbsoluteMechanism, method: Any, rows: np.ndarray) -> None:
    """Equations between velocities alone cannot be solved for positions."""
    if SCHEMES[type(method)].positions_alone(method) and rows.any():
        name = mechanism.tiles[int(np.argmax(rows.any(axis=1)))].joint
        raise ValueError(
            f"simulate: {name!r} is nonholonomic: it restricts velocities, and no equation of positions says the same. "
            f"{method} solves for positions alone; take GeneralizedAlpha(index=2), BLieDF or HalfExplicit, which "
            "hold velocities too"
        )
