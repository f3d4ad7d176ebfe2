"""`collocate`: the best motion with inputs that are polynomials in each interval, by collocation at Gauss points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.caution import warn
from chasles.plan.account import Account, Course
from chasles.plan.design import DesignedSystem
from chasles.plan.gauss_transcription import GaussIntervals
from chasles.plan.held_steps import InputRange
from chasles.plan.node_program import NodeProgram
from chasles.plan.nonlinear import Program, ProgramEnd, require_solver, solved
from chasles.plan.outcome import InputSequence, said
from chasles.plan.planner import bounds_of, durations_of, require_ends, require_start, span_of, terms_of
from chasles.plan.quantities import CALLER
from chasles.plan.stage_field import FieldOnDuals
from chasles.plan.terms import ALWAYS, MotionLimit, nodes_of
from chasles.relative.loop.closed import in_joint_coordinates
from chasles.relative.mechanism import Mechanism
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.prepare import prepare
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate
from chasles.simulation.start.values import Values

BETWEEN, TINY = 1e-2, 1e-300  # defects of a motion that is none, relative; what is divided by at least


@dataclass(frozen=True)
class CollocatedMotion:
    """A motion that was planned by collocation.

    t, q, v: its nodes. inputs: at the Gauss points of the intervals (intervals, stages, inputs), whose times are
    `input_times`; between them they are polynomials. settled: whether a minimum was found. parameters: those of the
    design that were found, by name. `run` is the motion simulated with inputs that are held, a
    twentieth of an interval each. `defects` tells of each interval how far it is from what is simulated.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray
    input_times: np.ndarray
    cost: float
    violations: dict[str, float]
    iterations: int
    settled: bool
    system: Any = field(repr=False)
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """How long the motion takes [s]."""
        return float(self.t[-1] - self.t[0])

    def held(self, samples: int = 20) -> InputSequence:
        """The inputs as a controller that holds them, so many times in an interval: their values in the middle."""
        count, stages, _ = self.inputs.shape
        points = (self.input_times[0] - self.t[0]) / (self.t[1] - self.t[0])
        middles = (np.arange(samples) + 0.5) / samples
        weights = np.array(
            [
                np.prod([(middles - points[j]) / (points[i] - points[j]) for j in range(stages) if j != i], axis=0)
                * np.ones(samples)
                for i in range(stages)
            ]
        )
        values = np.einsum("is,kim->ksm", weights, self.inputs).reshape(count * samples, -1)
        return InputSequence(values, float(self.t[0]), self.duration / (count * samples))

    @cached_property
    def defects(self) -> np.ndarray:
        """How far each interval ends from the next node (intervals,) if it is simulated from its own: turns and shifts
        relative to the largest of the whole motion or of the interval, velocities to the largest of the motion."""
        inputs, count = self.held().inputs, len(self.inputs)
        samples, mechanism = len(inputs) // count, in_joint_coordinates("defects", self.system)
        difference = mechanism.tables.configuration.difference
        period, found = self.duration / len(inputs), np.empty((2, count, self.v.shape[1]))
        for k in range(count):
            held = InputSequence(inputs[k * samples : (k + 1) * samples], float(self.t[k]), period)
            run = _simulated(
                mechanism, (float(self.t[k]), float(self.t[k + 1])), self.q[k], self.v[k], held, certificate=False
            )
            found[0, k] = difference(self.q[k + 1], run.q[-1])
            found[1, k] = run.v[-1] - self.v[k + 1]
        way = np.abs(difference(self.q[0], self.q)).max(initial=0.0)
        fastest = np.abs(self.v).max(initial=0.0)
        far = max(way, fastest * self.duration / count), max(fastest, way / self.duration)
        with np.errstate(invalid="ignore"):
            shares = np.abs(found).max(axis=2) / np.maximum(far, TINY)[:, None]
        return np.where(np.isfinite(shares), shares, np.inf).max(axis=0)

    @cached_property
    def run(self) -> Run:
        """The motion simulated again, with inputs that are held."""
        held = self.held()
        return _simulated(self.system, (float(self.t[0]), float(self.t[-1])), self.q[0], self.v[0], held)

    def __str__(self) -> str:
        count, step = len(self.inputs), self.duration / len(self.inputs)
        return said(f"{count} intervals of {step:.4g} s, {self.iterations} iterations", self)


def _simulated(
    system: Any, span: tuple[float, float], q: np.ndarray, v: np.ndarray, held: InputSequence, **more: Any
) -> Run:
    """A motion with inputs that are held, a step each."""
    how: dict[str, Any] = {"controller": held, "period": held.period, "step": held.period, "method": "rk4"}
    return simulate(system, span, q, v, progress=False, **how, **more)


def collocate(
    system: Any,
    span: tuple[float, float],
    intervals: int,
    costs: Sequence[Any] | Any,
    q: Values | None = None,
    v: Values | None = None,
    *,
    limits: Sequence[MotionLimit] | MotionLimit = (),
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    guess: ArrayLike | None = None,
    duration: tuple[float, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    stages: int = 2,
    tolerance: float = 1e-9,
    iterations: int = 3000,
    solver: str = "auto",
) -> CollocatedMotion:
    """Find the motion of a tree that minimizes costs within limits, by collocation at Gauss points.

    Costs, limits and bounds of inputs as in `optimize`; limits hold at the nodes. guess: coordinates at the nodes
    (intervals + 1, nq); by default the start, everywhere. stages: Gauss points in an interval. solver: "ipopt" (needs
    the package ipyopt), "scipy", or "auto": the first that there is. parameters, bounds: of a design, as in `shoot`.

    Equations of motion hold at Gauss points. What is between them is looked at afterwards (`defects`), with a warning
    where the motion is none of the system.
    """
    begin, end = span_of(span, intervals)
    require_ends(tolerance, iterations)
    require_solver(solver)
    if isinstance(stages, bool) or not isinstance(stages, int | np.integer) or stages < 1:
        raise ValueError(f"{CALLER}: stages is {stages!r}; expected a positive whole number")
    design = DesignedSystem(system, parameters, bounds)
    dynamics, state = prepare(CALLER, design.mechanism or system, begin, q, v, "relative", inputs=True)
    refuse_sticking(CALLER, dynamics.mechanism.system)
    if not isinstance(dynamics.mechanism, Mechanism):
        raise ValueError(f"{CALLER}: collocate is for trees, and this system has loops or constraints; take shoot")
    actuated = InputRange(dynamics)
    account = Account(
        dynamics.mechanism, int(intervals), actuated.inputs, *terms_of(costs, limits), design=design.values
    )
    for wish in account.wishes:
        if _always(wish) and np.ndim(getattr(wish.quantity, "target", ())) == 2:
            raise ValueError(
                f"{CALLER}: {wish.quantity.name} has a target for each node, and collocate tracks between nodes too; "
                "give a function of time, or the nodes by when="
            )
    first = dynamics.split(state)[:2]
    require_start(account, begin, *first)
    length = durations_of(duration, begin, end - begin, account)
    task = Collocation(account, first, begin, bounds_of(actuated, low, high), design, actuated, int(stages))
    program, z = task.program(guess, length)
    return task.result(solved(program, z, tolerance, iterations, solver), tolerance)


class Collocation(NodeProgram):
    """The nonlinear program of a motion: beside nodes it has accelerations and inputs of the stages of an interval."""

    by_design: np.ndarray

    def __init__(
        self,
        account: Account,
        first: tuple[np.ndarray, np.ndarray],
        begin: float,
        bounds: np.ndarray,
        design: DesignedSystem,
        actuated: InputRange,
        stages: int,
    ):
        super().__init__(account, first, begin, bounds, design)
        self.stages, self.interval = stages, GaussIntervals(self.mechanism, stages)
        self.actuated, self.inputs, self.effect = actuated, actuated.inputs, actuated.effect
        tables = self.mechanism.tables
        self.plain = tables.acting.empty and self.mechanism.tree.dependence is None
        self.field = None if self.plain else FieldOnDuals(self.mechanism)

    def lay_out(self, path: np.ndarray, duration: float, inner: int) -> None:
        super().lay_out(path, duration, inner)
        self.at["alpha"], self.at["u"] = np.split(self.at["inner"], [self.stages * self.nv], axis=1)

    # ------------------------------------------------------------ from variables to motions

    def placed(self, z: np.ndarray) -> None:
        """Find the stages."""
        if self.design.size and self.mechanism is not self.design.mechanism:
            self.mechanism = self.interval.mechanism = self.design.mechanism
            self.account = self.account.of(self.mechanism, self.design.values)
            self.field, self.effect = FieldOnDuals(self.mechanism), self.actuated.effect_of(self.mechanism)
        alpha = z[self.at["alpha"]].reshape(self.count, self.stages, self.nv)
        self.u = z[self.at["u"]].reshape(self.count, self.stages, self.inputs)
        self.h = float(z[self.time]) / self.count
        self.interval.place(self.q[:-1], self.v[:-1], alpha, self.h)
        self.stage_times = self.begin + self.h * (np.arange(self.count)[:, None] + self.interval.c)

    def sloped(self, z: np.ndarray) -> None:
        """Derivatives of the equations by the design."""
        self.by_design, self.effect_slopes, tables = np.zeros((0, 0)), None, None
        if self.design.size:
            tables, more = self.design.derivatives(lambda m, values: self._of_design(z, m, values))
            cut = self.nv * self.inputs
            self.by_design, effect = more[:-cut], more[-cut:].reshape(self.nv, self.inputs, self.design.size)
            self.effect_slopes = np.einsum("nmp,ksm->ksnp", effect, self.u)
        self.tables = tables

    def _of_design(self, z: np.ndarray, mechanism: Any, values: Mapping[str, Any]) -> np.ndarray:
        """The cost, the limits and the forces of inputs for other parameters and the same motion."""
        account, effect = self.account.of(mechanism, values), self.actuated.effect_of(mechanism)
        return np.concatenate([[self._cost_of(account, z)], self.limited(account, self.course(z)), effect.ravel()])

    def course(self, z: np.ndarray) -> Course:
        return Course(self.t, self.q, self.v, self.u[:, 0], float(z[self.time]))

    # ------------------------------------------------------------ cost

    def cost(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The cost and its gradient."""
        self.slope(z)
        slope, share = np.zeros(self.size), self.interval.b[:, None]
        for effort in self.account.efforts:
            slope[self.at["u"]] += (2 * self.h * share * effort.weight * self.u).reshape(self.count, -1)
            slope[self.time] += float((share * effort.weight * self.u**2).sum()) / self.count
        slope[self.time] += sum(one.weight for one in self.account.durations)
        for wish in self.account.wishes:
            self._add_wish(z, wish, slope)
        if self.design.size:
            slope[self.time + 1 :] += self.by_design[0]
        return self._cost_of(self.account, z), slope

    def _cost_of(self, account: Account, z: np.ndarray) -> float:
        """The cost of the motion that is placed, by an account."""
        share, total = self.interval.b[:, None], sum(one.weight for one in account.durations) * float(z[self.time])
        total += sum(self.h * float((share * one.weight * self.u**2).sum()) for one in account.efforts)
        for wish in account.wishes:
            if _always(wish):
                r, _ = wish.quantity.numbers(account.tree, *self._flat_stages())
                total += float(np.tile(self.h * self.interval.b, self.count) @ (wish.weight * r**2).sum(axis=1))
            else:
                r, _ = account._at(wish.quantity, nodes_of(wish.when, self.count), self.course(z))
                total += float((wish.weight * r**2).sum())
        return total

    def _flat_stages(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times and states of all stages, one after the other."""
        q, v = (x.reshape(-1, x.shape[-1]) for x in (self.interval.q, self.interval.v))
        return self.stage_times.ravel(), q, v

    def _add_wish(self, z: np.ndarray, wish: Any, slope: np.ndarray) -> None:
        """Add the gradient of a wish."""
        if not _always(wish):
            nodes = nodes_of(wish.when, self.count)
            r, by = self.account._at(wish.quantity, nodes, self.course(z))
            pull = np.einsum("km,kmc->kc", 2 * wish.weight * r, by @ self.by[nodes])
            np.add.at(slope, self.at["node"][nodes], pull)
            return
        interval, nv = self.interval, self.nv
        r, by = wish.quantity.numbers(self.mechanism, *self._flat_stages())
        shares = np.tile(self.h * interval.b, self.count)
        pull = 2 * shares[:, None] * wish.weight * r
        both = np.concatenate([interval.dq, interval.dv], axis=2).reshape(-1, 2 * nv, interval.columns)
        columns = np.einsum("km,kmc,kcd->kd", pull, by, both).reshape(self.count, self.stages, -1).sum(axis=1)
        slope[self.at["node"][:-1]] += np.einsum("kn,knm->km", columns[:, : 2 * nv], self.by[:-1])
        slope[self.at["alpha"]] += columns[:, 2 * nv : -1]
        slope[self.time] += columns[:, -1].sum() / self.count
        slope[self.time] += float(shares @ (wish.weight * r**2).sum(axis=1)) / float(z[self.time])

    # ------------------------------------------------------------ equations

    def rows(self, z: np.ndarray) -> np.ndarray:
        """Equations of motion, of the ends of intervals, and limits."""
        self.place(z)
        off, _, _ = self.interval.ends(self.q[1:], self.v[1:])
        return np.concatenate([self._motion().ravel(), off.ravel(), self.limited(self.account, self.course(z))])

    def _motion(self) -> np.ndarray:
        """What is left of the equations of motion: forces, or accelerations where there are springs and laws."""
        interval = self.interval
        if self.field is None:
            Q = self.mechanism.inverse_dynamics(interval.q, interval.v, interval.alpha)
            return np.asarray(Q - self.u @ self.effect.T)
        return interval.alpha - self.field.accelerations(
            self.stage_times, interval.q, interval.v, self.u @ self.effect.T
        )

    def _motion_slopes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Its derivatives by the columns of the interval, the inputs and the design."""
        interval, nv, P = self.interval, self.nv, self.design.size
        if self.field is None:
            _, by = interval.forces()
            return by, np.broadcast_to(-self.effect, (self.count, self.stages, nv, self.inputs)), by[..., :0]
        shifts = np.zeros((self.count, self.stages, self.field.count, self.inputs + P))
        shifts[..., -nv:, : self.inputs] = self.effect
        if self.tables is not None and self.effect_slopes is not None:
            shifts[..., :-nv, self.inputs :] = self.tables
            shifts[..., -nv:, self.inputs :] = self.effect_slopes
        state, more, rate = self.field.slopes(
            self.stage_times, interval.q, interval.v, self.u @ self.effect.T, shifts, self.h
        )
        by = -(state[..., :nv] @ interval.dq + state[..., nv:] @ interval.dv)
        places = np.arange(self.count)[:, None] + interval.c
        by[..., -1] -= rate * places[..., None]  # of laws of time
        for i in range(self.stages):
            own = 2 * nv + i * nv + np.arange(nv)
            by[:, i, np.arange(nv), own] += 1.0
        return by, -more[..., : self.inputs], -more[..., self.inputs :]

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """The entries of the Jacobian, in the order of `places`."""
        self.slope(z)
        nv, by_node = self.nv, self.by
        by, by_inputs, by_design = self._motion_slopes()
        by[..., : 2 * nv] = by[..., : 2 * nv] @ by_node[:-1, None]
        by[..., -1] /= self.count
        _, ends, following = self.interval.ends(self.q[1:], self.v[1:])
        ends[..., : 2 * nv] = ends[..., : 2 * nv] @ by_node[:-1]
        ends[..., -1] /= self.count
        after = by_node[1:].copy()
        after[:, :nv] = following @ after[:, :nv]
        limits = self.limit_slopes(self.course(z), self.by_design[1:])
        return np.concatenate([x.ravel() for x in (by, by_inputs, by_design, ends, after, *limits)])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries."""
        nv, s, K = self.nv, self.stages, self.count
        local = np.concatenate([self.at["node"][:-1], self.at["alpha"], np.full((K, 1), self.time)], axis=1)
        first = np.arange(K * s * nv).reshape(K, s, nv)
        second = K * s * nv + np.arange(K * 2 * nv).reshape(K, 2 * nv)
        u = self.at["u"].reshape(K, s, 1, self.inputs)
        designed = self.time + 1 + np.arange(self.design.size)
        pairs = [
            np.broadcast_arrays(first[..., None], local[:, None, None]),
            np.broadcast_arrays(first[..., None], u),
            np.broadcast_arrays(first[..., None], designed),
            np.broadcast_arrays(second[..., None], local[:, None]),
            np.broadcast_arrays(second[..., None], self.at["node"][1:, None]),
            *self.limit_places(K * s * nv + K * 2 * nv),
        ]
        return tuple(np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))  # type: ignore[return-value]

    def program(self, guess: Any, duration: tuple[float, float, float]) -> tuple[Program, np.ndarray]:
        """The program, and the variables to begin with."""
        path = self.guessed(guess, duration[1])
        self.lay_out(path, duration[1], self.stages * (self.nv + self.inputs))
        z = self.start(path, duration[1])
        low, high = self.box(duration)
        low[self.at["u"]], high[self.at["u"]] = (np.tile(x, self.stages) for x in self.bounds)
        self.equations = self.count * (self.stages + 2) * self.nv
        least, most = self.edges(self.equations)
        return Program(self.cost, self.rows, self.slopes, self.places(), low, high, least, most), z

    def result(self, solution: ProgramEnd, tolerance: float) -> CollocatedMotion:
        """The motion, if it satisfies everything."""
        z = solution.z
        cost, course = self.cost(z)[0], self.course(z)
        scale = 1.0
        if self.field is None:
            scale = float(np.abs(self.interval.forces()[0]).max(initial=0.0)) or 1.0
        off = float(np.abs(self.rows(z)[: self.equations]).max()) / scale
        found = self.require(course, off, tolerance, solution)
        motion = CollocatedMotion(
            *(course.t, course.q, course.v, self.u, self.stage_times, cost, found, solution.iterations),
            *(not solution.problem, self.design.found(), self.design.values),
        )
        worst = int(np.argmax(motion.defects))
        if motion.defects[worst] > BETWEEN:
            warn(
                f"{CALLER}: between nodes the motion is not one of the system: simulated from t = "
                f"{motion.t[worst]:.4g} s on, it misses the next node by {motion.defects[worst]:.2g} of its size. Its "
                "cost is not to be trusted; take more intervals or stages, or a small cost of effort"
            )
        return motion


def _always(wish: Any) -> bool:
    return isinstance(wish.when, str) and wish.when == ALWAYS
