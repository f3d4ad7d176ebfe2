"""Runs of the methods for constrained systems: from a mechanism and a method to the arrays of their loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from chasles.absolute.implicit import alpha, bliedf, cayley, half_explicit, rattle
from chasles.absolute.implicit import structure as structures
from chasles.absolute.implicit.address import loop_address, run_loop
from chasles.absolute.implicit.force_stiffness import stiffen_address
from chasles.absolute.implicit.group import increment
from chasles.absolute.implicit.layout import COUNTS, DONE, WORKSPACE, Call, set_lengths, set_weights
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.constraint.rows import ROTOR
from chasles.force.table import FORCES
from chasles.integrate.constrained_method import (
    CONSTRAINED_METHODS,
    BLieDF,
    EnergyMomentum,
    GeneralizedAlpha,
    HalfExplicit,
    Rattle,
    adapts,
    less_demanding,
)
from chasles.integrate.fixed_step import FixedStepper, shortened
from chasles.integrate.options import Options, check_span
from chasles.kernel.workspace import fill
from chasles.simulation.bodies import BodyDynamics
from chasles.simulation.implicit_start import (
    algorithmic_start,
    exact_points,
    multistep_start,
    nonholonomic_rows,
    power_at_start,
    rates_of_angles,
)

LOOPS: dict[type, tuple[str, Any]] = {
    GeneralizedAlpha: ("generalized_alpha", alpha),
    BLieDF: ("bliedf", bliedf),
    Rattle: ("rattle", rattle),
    HalfExplicit: ("half_explicit", half_explicit),
    EnergyMomentum: ("energy_momentum", cayley),
}


class ConstrainedStepper(FixedStepper):
    """A run of a method for constrained systems, with fixed steps."""

    problems = (BodyDynamics,)
    methods = CONSTRAINED_METHODS
    memory_names: ClassVar[tuple[str, ...]] = ("memory", "counts")
    caller = "simulate"
    tolerances = (0.0, 0.0)  # rtol and atol of an adaptive run

    def __init__(
        self,
        problem: BodyDynamics,
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
        self._begin = y.copy()
        mechanism = self.mechanism = problem.mechanism
        velocities_alone = nonholonomic_rows(problem, y, check_span(span)[0])
        _refuse_nonholonomic(mechanism, method, velocities_alone)
        rotors = np.array([tile.kind == ROTOR for tile in mechanism.tiles], dtype=bool)
        unmeasured = velocities_alone | rotors[:, None] if mechanism.tiles else velocities_alone
        self.structure = structures.build(mechanism, unmeasured)
        self.counts = np.zeros(COUNTS.size, dtype=np.int64)
        self.packed = self.structure.packed
        self.p = mechanism.packed_for_run()
        if problem.held is not None:
            self.p[mechanism.control] = problem.held
        name, declared = LOOPS[type(method)]
        self.address, self.declared = loop_address(name), declared
        # one block: arrays that begin at the same place of their pages would compete for the same lines of the cache
        sizes = mechanism.work, WORKSPACE.size(self.packed), declared.VECTORS.size(self.packed)
        self.kept, self.work, self.vectors = np.split(np.zeros(sum(sizes)), np.cumsum(sizes)[:2])
        set_lengths(mechanism, WORKSPACE.split(self.work, self.packed).goals)
        self.stiffen = stiffen_address() if mechanism.forces.table[FORCES.count] else 0
        self.parameters, self.memory = self._prepare(self.start, y)
        self.start_with(y, np.empty(0))

    def _refuse_tolerances(self, method: Any, options: Options) -> None:
        for name in ("rtol", "atol"):
            given = getattr(options, name)
            if given is not None and name not in self.takes:
                instead = "; or give rtol and atol without step, and steps follow the error" if adapts(method) else ""
                raise ValueError(
                    f"simulate: with step={options.step!r} the steps of {method} are fixed, and {name}={given!r} has "
                    f"no part in them; give step alone{instead}"
                )

    def _prepare(self, t: float, y: np.ndarray, anew: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of the loop and its memory at a start; `anew` in the midst of a run, where forces may jump."""
        method, mechanism, packed = self.method, self.mechanism, self.packed
        if hasattr(method, "metric"):
            set_weights(mechanism, WORKSPACE.split(self.work, packed).weights, method.metric == "unit")
        q, v, _ = self.problem.split(y)
        state: dict[str, Any] = {"power": power_at_start(self.problem, t, y), "last_step": self.first}
        state |= {"contraction": 1.0, "angles": rates_of_angles(self.problem, y)}
        if isinstance(method, GeneralizedAlpha):
            start = algorithmic_start(self.problem, method, t, self.first, y, one_sided=anew)
            state |= {"point": start.y, "rate_n": start.rates, "a_n": start.algorithmic, "growth": start.change}
            state["lam"] = self._at_nodes(start.multipliers)
            names = dict(zip(("am", "af", "gamma", "beta"), method.coefficients, strict=True))
            names |= {"index": method.index, "local": method.local, "tolerance": method.tolerance}
            rtol, atol = self.tolerances
            parameters = fill(alpha.ALPHA, **names, project=method.project_velocity, rtol=rtol, atol=atol)
        elif isinstance(method, HalfExplicit):
            parameters = half_explicit.parameters_of(method, *self.tolerances)
            state["point"] = y
        else:
            angles, held = self.problem.angles(y), self.problem.held
            multipliers = mechanism.constrained_motion(q, v, held, t, angles).multipliers
            state |= {"point": y, "lam": self._at_nodes(multipliers)}
            if isinstance(method, BLieDF):
                self._steps_before = multistep_start(self.problem, method, t, self.plan, y)
                parameters = bliedf.parameters_of(method)
            else:
                parameters = np.array([method.tolerance])
        return parameters, self.declared.STATE.filled(packed, **state)

    def _at_nodes(self, multipliers: np.ndarray) -> np.ndarray:
        """Multipliers of tiles in the order of the elimination."""
        found = np.zeros((self.structure.n_nodes, 3))
        found[self.structure.nodes] = multipliers
        return found

    def take(self, limit: int) -> None:
        if isinstance(self.method, BLieDF):
            limit = self._take_beside(limit)
            if limit <= 0:
                return
        self._go_on(limit, self.plan.steps, self.every)

    def _go_on(self, limit: int, total: int, every: int) -> None:
        call = Call(
            *(self.p, self.packed, self.parameters, self.memory, self.kept, self.work, self.vectors, self.counts),
            *(self.history.reshape(-1), self.times, self.saved_t, self.saved_y.reshape(-1)),
            *(self.stiffen, limit, total, every),
        )
        run_loop(self.address, call)

    @property
    def state(self) -> Any:
        """What the method carries from step to step, by name: views of the memory."""
        return self.declared.STATE.split(self.memory, self.packed)

    def _take_beside(self, limit: int) -> int:
        """The first steps of a multistep method, and a shorter last one, by an explicit method; what is left to do."""
        plan, k = self.plan, self.method.k
        size = self.saved_y.shape[1]
        while limit > 0 and self.steps < min(k - 1, plan.steps):
            self.memory[:size] = self._steps_before[self.steps]
            self.save_step()
            limit -= 1
            if self.steps == k - 1:
                self._fill_history()
        regular = plan.steps - (plan.last != plan.step)
        if limit > 0 and self.steps == regular < plan.steps:
            self.memory[:size] = exact_points(self.problem, self.time, [plan.end], self.point())[0]
            self.save_step()
            self.counts[COUNTS.status] = DONE
            return 0
        return min(limit, regular - self.steps)

    def _fill_history(self) -> None:
        """Increments, velocities and works of the first steps, newest first."""
        mechanism, k, n = self.mechanism, self.method.k, self.mechanism.n
        points = np.array([self._begin, *self._steps_before[: k - 1]])[::-1]
        q, v, work = self.problem.split(points)
        state, past = self.state, (bliedf.MOST, n, 6)
        for m in range(k - 1):
            state.past.reshape(past)[m] = increment(mechanism, q[m + 1], q[m])
        state.velocities.reshape(past)[:k] = v
        state.works[: k - 1] = work[1:]

    def point(self) -> np.ndarray:
        return self.memory[: self.saved_y.shape[1]].copy()

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers of the method at the point reached, (tiles, 3): of generalized alpha and BLieDF."""
        return self.state.lam.reshape(-1, 3)[self.structure.nodes]

    def evaluations(self) -> int:
        return int(self.counts[COUNTS.iterations] + self.counts[COUNTS.evaluations])

    def no_curve(self) -> str:
        return "points of methods for constrained systems have none through them; ask for the times you want in save"

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


def _refuse_nonholonomic(mechanism: AbsoluteMechanism, method: Any, rows: np.ndarray) -> None:
    """Equations between velocities alone cannot be solved for positions."""
    by_position = isinstance(method, Rattle | EnergyMomentum) or (
        isinstance(method, GeneralizedAlpha) and method.index == 3
    )
    if by_position and rows.any():
        name = mechanism.tiles[int(np.argmax(rows.any(axis=1)))].joint
        raise ValueError(
            f"simulate: {name!r} is nonholonomic: it restricts velocities, and no equation of positions says the same. "
            f"{method} solves for positions alone; take GeneralizedAlpha(index=2), BLieDF or HalfExplicit, which "
            "hold velocities too"
        )
