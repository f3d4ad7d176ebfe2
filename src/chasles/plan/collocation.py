"""`collocate`: the best motion with inputs that are polynomials in each interval, by collocation at Gauss points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.plan.account import Account, Course
from chasles.plan.gauss_transcription import GaussIntervals
from chasles.plan.held_steps import InputRange
from chasles.plan.nonlinear import Program, solved
from chasles.plan.outcome import InfeasibleError, InputSequence
from chasles.plan.planner import bounds_of, durations_of, span_of
from chasles.plan.quantities import CALLER
from chasles.plan.terms import ALWAYS, MotionLimit, nodes_of
from chasles.relative.mechanism import Mechanism
from chasles.simulation.prepare import prepare
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate
from chasles.simulation.start.values import Values


@dataclass(frozen=True)
class CollocatedMotion:
    """A motion that was planned by collocation.

    t, q, v: its nodes. inputs: at the Gauss points of the intervals (intervals, stages, inputs), whose times are
    `input_times`; between them they are polynomials. `run` is the motion simulated with inputs that are held, a
    twentieth of an interval each.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray
    input_times: np.ndarray
    cost: float
    violations: dict[str, float]
    system: Any = field(repr=False)

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
    def run(self) -> Run:
        """The motion simulated again, with inputs that are held."""
        held = self.held()
        how: dict[str, Any] = {
            "controller": held,
            "period": held.period,
            "step": held.period,
            "method": "rk4",
            "progress": False,
        }
        return simulate(self.system, (float(self.t[0]), float(self.t[-1])), self.q[0], self.v[0], **how)


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
    stages: int = 2,
    tolerance: float = 1e-9,
    iterations: int = 3000,
    solver: str = "auto",
) -> CollocatedMotion:
    """The motion of a tree that brings costs to a minimum within limits, by collocation at Gauss points.

    Costs, limits and bounds as in `optimize`; limits hold at the nodes. guess: coordinates at the nodes
    (intervals + 1, nq); by default the start, everywhere. stages: Gauss points in an interval. solver: "ipopt" (needs
    the package ipyopt), "scipy", or "auto": the first that there is. Systems have no springs, dampers and laws.
    """
    begin, end = span_of(span, intervals)
    if solver not in ("auto", "ipopt", "scipy"):
        raise ValueError(f'{CALLER}: solver is {solver!r}; expected "auto", "ipopt" or "scipy"')
    dynamics, state = prepare(CALLER, system, begin, q, v, "relative", inputs=True)
    mechanism = dynamics.mechanism
    if not isinstance(mechanism, Mechanism) or not mechanism.tables.acting.empty or mechanism.tree.dependence:
        raise ValueError(
            f"{CALLER}: collocate is for trees without springs, dampers, laws and joints that mimic others; take "
            "optimize"
        )
    task = Transcription(mechanism, dynamics, state, (begin, end), int(intervals), int(stages))
    every = [limits] if isinstance(limits, MotionLimit) else list(limits)
    wanted = list(costs) if isinstance(costs, Sequence) else [costs]
    task.account = Account(mechanism, task.count, task.inputs, wanted, every)
    task.bounds = bounds_of(task.actuated, low, high)
    length = durations_of(duration, end - begin, task.account)
    program, z = task.program(task.guessed(guess), length)
    z = solved(program, z, tolerance, iterations, solver)
    return task.result(z, system, max(1e3 * tolerance, 1e-6))


class Transcription:
    """The nonlinear program of a motion: its variables are, of each interval, the node (δ from the guess, v),
    accelerations and inputs of the stages; then the last node, and the duration."""

    account: Account
    bounds: np.ndarray
    base: np.ndarray  # coordinates of the nodes that δ is counted from
    turned: np.ndarray  # derivatives of q exp(δ) by δ
    _last: np.ndarray | None = None  # the variables that intervals are placed for

    def __init__(
        self, mechanism: Any, dynamics: Any, state: np.ndarray, span: tuple[float, float], count: int, stages: int
    ):
        self.mechanism, self.span, self.count, self.stages, self.nv = mechanism, span, count, stages, mechanism.nv
        self.first, self.interval = dynamics.split(state)[:2], GaussIntervals(mechanism, stages)
        self.actuated = InputRange(dynamics)
        self.inputs, self.effect = self.actuated.inputs, self.actuated.effect
        self.width = 2 * self.nv + stages * (self.nv + self.inputs)
        self.size = count * self.width + 2 * self.nv + 1
        starts = self.width * np.arange(count + 1)
        self.at = {"node": starts[:, None] + np.arange(2 * self.nv)}
        alpha = 2 * self.nv + np.arange(stages * self.nv)
        self.at["alpha"] = starts[:count, None] + alpha
        self.at["u"] = starts[:count, None] + 2 * self.nv + stages * self.nv + np.arange(stages * self.inputs)

    def guessed(self, guess: ArrayLike | None) -> np.ndarray:
        """Coordinates at the nodes that δ is counted from."""
        if guess is None:
            return np.tile(self.first[0], (self.count + 1, 1))
        value = np.array(guess, dtype=float)
        if value.shape != (self.count + 1, self.mechanism.nq) or not np.isfinite(value).all():
            raise ValueError(
                f"{CALLER}: the guess has shape {value.shape}; expected finite coordinates of all nodes, "
                f"({self.count + 1}, {self.mechanism.nq})"
            )
        value[0] = self.first[0]
        found: np.ndarray = self.mechanism.tables.check_q(CALLER, value)
        return found

    # ------------------------------------------------------------ from variables to motions

    def parts(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        """q, v of the nodes, accelerations and inputs of the stages, and the duration."""
        nodes, nv = z[self.at["node"]], self.nv
        alpha = z[self.at["alpha"]].reshape(self.count, self.stages, nv)
        u = z[self.at["u"]].reshape(self.count, self.stages, self.inputs)
        return self.mechanism.retract(self.base, nodes[:, :nv]), nodes[:, nv:], alpha, u, float(z[-1])

    def course(self, z: np.ndarray) -> Course:
        q, v, _, u, T = self.parts(z)
        return Course(self.span[0] + T * np.arange(self.count + 1) / self.count, q, v, u[:, 0], T)

    def _place(self, z: np.ndarray) -> None:
        if self._last is None or not np.array_equal(z, self._last):
            q, v, alpha, _, T = self.parts(z)
            self.interval.place(q[:-1], v[:-1], alpha, T / self.count)
            self.turned = self.interval.blocks.dexp(-z[self.at["node"]][:, : self.nv])
            self._last = z.copy()

    # ------------------------------------------------------------ cost

    def cost(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The cost and its gradient."""
        self._place(z)
        _, _, _, u, T = self.parts(z)
        total, slope, h, share = 0.0, np.zeros(self.size), T / self.count, self.interval.b[:, None]
        for effort in self.account.efforts:
            part = float((share * effort.weight * u**2).sum())
            total += h * part
            slope[self.at["u"]] += (2 * h * share * effort.weight * u).reshape(self.count, -1)
            slope[-1] += part / self.count
        for one in self.account.durations:
            total += one.weight * T
            slope[-1] += one.weight
        for wish in self.account.wishes:
            total += self._wish(z, wish, slope)
        return total, slope

    def _wish(self, z: np.ndarray, wish: Any, slope: np.ndarray) -> float:
        """Add the gradient of a wish; its value."""
        if not (isinstance(wish.when, str) and wish.when == ALWAYS):
            nodes, course = nodes_of(wish.when, self.count), self.course(z)
            r, by = self.account._at(wish.quantity, nodes, course)
            np.add.at(
                slope, self.at["node"][nodes], np.einsum("km,kmc->kc", 2 * wish.weight * r, self._by_nodes(by, nodes))
            )
            return float((wish.weight * r**2).sum())
        interval, nv, T = self.interval, self.nv, float(z[-1])
        h = T / self.count
        t = self.span[0] + h * (np.arange(self.count)[:, None] + interval.c)
        flat = [x.reshape(-1, x.shape[-1]) for x in (interval.q, interval.v)]
        r, by = wish.quantity.numbers(self.mechanism, t.ravel(), *flat)
        shares = np.tile(h * interval.b, self.count)
        pull = 2 * shares[:, None] * wish.weight * r
        part = float(shares @ (wish.weight * r**2).sum(axis=1))
        both = np.concatenate([interval.dq, interval.dv], axis=2).reshape(-1, 2 * nv, interval.columns)
        columns = np.einsum("km,kmc,kcd->kd", pull, by, both).reshape(self.count, self.stages, -1).sum(axis=1)
        columns[:, :nv] = np.einsum("kn,knm->km", columns[:, :nv], self.turned[:-1])
        slope[self.at["node"][:-1]] += columns[:, : 2 * nv]
        slope[self.at["alpha"]] += columns[:, 2 * nv : -1]
        slope[-1] += columns[:, -1].sum() / self.count + part / T
        return part

    def _by_nodes(self, by: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Derivatives by the variables of nodes, from those by (δ at the node, δv)."""
        return np.concatenate([by[..., : self.nv] @ self.turned[nodes], by[..., self.nv :]], axis=-1)

    # ------------------------------------------------------------ equations

    def rows(self, z: np.ndarray) -> np.ndarray:
        """Equations of motion, of the ends of intervals, and limits."""
        self._place(z)
        q, v, _, u, _ = self.parts(z)
        Q = self.mechanism.inverse_dynamics(self.interval.q, self.interval.v, self.interval.alpha)
        off, _, _ = self.interval.ends(q[1:], v[1:])
        course = self.course(z)
        limited = [self.account._at(one.limit.quantity, one.nodes, course)[0] for one in self.account.restraints]
        return np.concatenate([(Q - u @ self.effect.T).ravel(), off.ravel(), *(x.ravel() for x in limited)])

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """The entries of the Jacobian, in the order of `places`."""
        self._place(z)
        q, v, _, _, _ = self.parts(z)
        nv, turned = self.nv, self.turned
        _, by = self.interval.forces()
        by[..., :nv] = by[..., :nv] @ turned[:-1, None]
        by[..., -1] /= self.count
        _, ends, following = self.interval.ends(q[1:], v[1:])
        ends[..., :nv] = ends[..., :nv] @ turned[:-1]
        ends[..., -1] /= self.count
        after = np.zeros((self.count, 2 * nv, 2 * nv))
        after[:, :nv, :nv] = following @ turned[1:]
        after[:, nv + np.arange(nv), nv + np.arange(nv)] = 1.0
        course = self.course(z)
        limited = [
            self._by_nodes(self.account._at(one.limit.quantity, one.nodes, course)[1], one.nodes)
            for one in self.account.restraints
        ]
        effect = np.broadcast_to(-self.effect, (self.count, self.stages, nv, self.inputs))
        return np.concatenate([x.ravel() for x in (by, effect, ends, after, *limited)])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries."""
        nv, s, K = self.nv, self.stages, self.count
        local = np.concatenate(
            [self.at["node"][:-1], self.at["alpha"], np.full((K, 1), self.size - 1)], axis=1
        )  # columns of an interval
        first = np.arange(K * s * nv).reshape(K, s, nv)
        second = K * s * nv + np.arange(K * 2 * nv).reshape(K, 2 * nv)
        u = self.at["u"].reshape(K, s, 1, self.inputs)
        pairs = [
            np.broadcast_arrays(first[..., None], local[:, None, None]),
            np.broadcast_arrays(first[..., None], u),
            np.broadcast_arrays(second[..., None], local[:, None]),
            np.broadcast_arrays(second[..., None], self.at["node"][1:, None]),
        ]
        row = K * s * nv + K * 2 * nv
        for one in self.account.restraints:
            own = row + np.arange(one.low.size).reshape(one.low.shape)
            pairs.append(np.broadcast_arrays(own[..., None], self.at["node"][one.nodes][:, None]))
            row += one.low.size
        return tuple(np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))  # type: ignore[return-value]

    def program(self, base: np.ndarray, duration: tuple[float, float, float]) -> tuple[Program, np.ndarray]:
        """The program, and the variables to begin with."""
        self.base, z = base, np.zeros(self.size)
        z[-1] = duration[1]
        rates = self.mechanism.difference(base[1:], base[:-1]) * (self.count / duration[1])
        z[self.at["node"][1:, self.nv :]] = rates
        z[self.at["node"][0, self.nv :]] = self.first[1]
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for bound, limit in ((low, self.bounds[0]), (high, self.bounds[1])):
            bound[self.at["u"]] = np.tile(limit, self.stages)
            bound[self.at["node"][0]] = np.concatenate([np.zeros(self.nv), self.first[1]])
        low[-1], high[-1] = duration[0], duration[2]
        equations = np.zeros(self.count * (self.stages * self.nv + 2 * self.nv))
        least = np.concatenate([equations, *(one.low.ravel() for one in self.account.restraints)])
        most = np.concatenate([equations, *(one.high.ravel() for one in self.account.restraints)])
        return Program(self.cost, self.rows, self.slopes, self.places(), low, high, least, most), z

    def result(self, z: np.ndarray, system: Any, tolerance: float) -> CollocatedMotion:
        """The motion, if it satisfies everything."""
        course, (_, _, _, u, T) = self.course(z), self.parts(z)
        own = self.count * (self.stages * self.nv + 2 * self.nv)
        found = {"equations of motion": float(np.abs(self.rows(z)[:own]).max())}
        for one, values in zip(self.account.restraints, self.account.values(course), strict=True):
            found[one.limit.quantity.name] = max(
                found.get(one.limit.quantity.name, 0.0), float(one.off(values).max(initial=0.0))
            )
        scale = float(np.abs(self.interval.forces()[0]).max(initial=0.0)) or 1.0
        wrong = [name for name, off in found.items() if not off <= tolerance * (scale if "equations" in name else 1.0)]
        if wrong:
            listed = "; ".join(f"{name} by {found[name]:.4g}" for name in wrong)
            raise InfeasibleError(f"{CALLER}: no motion was found within the limits; violated: {listed}", found)
        times = course.t[:-1, None] + T / self.count * self.interval.c
        return CollocatedMotion(course.t, course.q, course.v, u, times, self.cost(z)[0], found, system)
