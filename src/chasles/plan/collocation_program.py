"""The nonlinear program of collocation: its variables, cost, equations and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.plan.account import Account, Course, always_of
from chasles.plan.collocated import CollocatedMotion
from chasles.plan.design import DesignedSystem
from chasles.plan.gauss_transcription import GaussIntervals
from chasles.plan.held_steps import InputRange
from chasles.plan.hessian import CollocationHessian
from chasles.plan.mesh import Refined
from chasles.plan.node_program import NodeProgram, no_motion
from chasles.plan.nonlinear import Program, ProgramEnd
from chasles.plan.stage_field import FieldOnDuals
from chasles.plan.terms import nodes_of
from chasles.relative.loop.closed import ClosedMechanism


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
        given: tuple[Any, Any] = (None, None),
    ):
        """given: q and v of the start, as they were given."""
        super().__init__(account, first, begin, bounds, design, given)
        self.stages, self.interval = stages, GaussIntervals(self.mechanism, stages)
        self.actuated, self.inputs, self.effect = actuated, actuated.inputs, actuated.effect
        self.closed, self.rank = isinstance(self.mechanism, ClosedMechanism), -1
        tables = self.mechanism.tables
        self.plain = not self.closed and tables.acting.empty and self.mechanism.tree.dependence is None

    @cached_property
    def field(self) -> FieldOnDuals | None:
        """Accelerations, where equations of motion are not those of inverse dynamics."""
        return None if self.plain else FieldOnDuals(self.mechanism, self.rank)

    def lay_out(self, path: np.ndarray, duration: float, inner: int) -> None:
        super().lay_out(path, duration, inner)
        self.at["alpha"], self.at["u"] = np.split(self.at["inner"], [self.stages * self.nv], axis=1)

    # ------------------------------------------------------------ from variables to motions

    def placed(self, z: np.ndarray) -> None:
        """Find the stages."""
        self._take_design()
        alpha = z[self.at["alpha"]].reshape(self.count, self.stages, self.nv)
        self.u = z[self.at["u"]].reshape(self.count, self.stages, self.inputs)
        self.h = float(z[self.time]) * self.shares
        if self.lost:
            return
        self.interval.place(self.q[:-1], self.v[:-1], alpha, self.h)
        self.stage_times = self.t[:-1, None] + self.h[:, None] * self.interval.c

    def _take_design(self) -> None:
        """Take the mechanism of the design that is chosen."""
        if self.design.size and self.mechanism is not self.design.mechanism:
            self.mechanism = self.interval.mechanism = self.design.mechanism
            self.account = self.account.of(self.mechanism, self.design.values)
            self.field = FieldOnDuals(self.mechanism, self.rank)
            self.effect = self.actuated.effect_of(self.mechanism)

    def sloped(self, z: np.ndarray) -> None:
        """Derivatives of the equations by the design."""
        self.by_design, self.effect_slopes, tables, count = np.zeros((0, 0)), None, None, self.design.size
        if count:
            tables, more = self.design.derivatives(lambda m, values: self._of_design(z, m, values))
            own, closing = self.nv * self.inputs, self.nodes.closing(self.mechanism, self.q, self.v, self.t).size
            self.by_design, effect, left = np.split(more, [len(more) - own - closing, len(more) - closing])
            self.effect_slopes = np.einsum("nmp,ksm->ksnp", effect.reshape(self.nv, self.inputs, count), self.u)
            self.follow = self.nodes.follow(self.q, self.v, self.t, left.reshape(self.count + 1, -1, count))
        self.tables = tables

    def _of_design(self, z: np.ndarray, mechanism: Any, values: Mapping[str, Any]) -> np.ndarray:
        """The cost, the limits, the forces of inputs and what is left of constraints, for other parameters and the same
        motion."""
        account, effect = self.account.of(mechanism, values), self.actuated.effect_of(mechanism)
        left, limits = self.nodes.closing(mechanism, self.q, self.v, self.t), self.limited(account, self.course(z))
        return np.concatenate([[self._cost_of(account, z)], limits, effect.ravel(), left.ravel()])

    @property
    def lost(self) -> bool:
        """Whether a loop cannot be closed at a node."""
        return not np.isfinite(self.q).all()

    def course(self, z: np.ndarray) -> Course:
        stages = self.stage_times, self.interval.q, self.interval.v, self.u
        return Course(self.t, self.q, self.v, self.u[:, 0], float(z[self.time]), stages)

    def _by_variables(self, by: np.ndarray, intervals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (intervals, ..., columns) by the columns of intervals as those by the variables, and by the
        design."""
        n = 2 * self.nv
        own, share, turn = by[..., :n], self.shares[intervals], (slice(None),) + (None,) * (by.ndim - 3)
        parts = own @ self.by[intervals][turn], by[..., n:-1], by[..., -1:] * share.reshape(-1, *(1,) * (by.ndim - 1))
        return np.concatenate(parts, axis=-1), own @ self.follow[intervals][turn]

    def driven_slopes(self, slopes: np.ndarray, steps: np.ndarray, sides: int = 1) -> tuple[np.ndarray, np.ndarray]:
        interval, n = self.interval, 2 * self.nv
        parts = slopes.reshape(len(steps), self.stages, *slopes.shape[1:])
        both = np.concatenate([interval.dq, interval.dv], axis=2)[steps]
        by, following = self._by_variables(parts[..., :n] @ both, steps)
        return np.concatenate([by, parts[..., n:]], axis=-1), following

    def driven_places(self, steps: np.ndarray, sides: int = 1) -> np.ndarray:
        local, u = self._local()[steps], self.at["u"].reshape(self.count, self.stages, self.inputs)[steps]
        tiled = np.repeat(local[:, None], self.stages, axis=1)
        return np.concatenate([tiled, u], axis=2).reshape(-1, local.shape[1] + self.inputs)

    def _local(self) -> np.ndarray:
        """The variables that belong to the columns of each interval."""
        time = np.full((self.count, 1), self.time)
        return np.concatenate([self.at["node"][:-1], self.at["alpha"], time], axis=1)

    # ------------------------------------------------------------ cost

    def cost(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The cost and its gradient."""
        self.place(z)
        if self.lost:
            return np.nan, np.full(self.size, np.nan)
        self.slope(z)
        slope, share = np.zeros(self.size), self.interval.b[:, None]
        for effort in self.account.efforts:
            slope[self.at["u"]] += (2 * self.h[:, None, None] * share * effort.weight * self.u).reshape(self.count, -1)
            slope[self.time] += float((self.shares[:, None, None] * share * effort.weight * self.u**2).sum())
        slope[self.time] += sum(one.weight for one in self.account.durations)
        for wish in self.account.wishes:
            self._add_wish(z, wish, slope)
        if self.design.size:
            slope[self.time + 1 :] += self.by_design[0]
        return self._cost_of(self.account, z), slope

    def _cost_of(self, account: Account, z: np.ndarray) -> float:
        """The cost of the motion that is placed, by an account."""
        share, total = self.interval.b[:, None], sum(one.weight for one in account.durations) * float(z[self.time])
        total += sum(float((self.h[:, None, None] * share * one.weight * self.u**2).sum()) for one in account.efforts)
        for wish in account.wishes:
            places, shares, staged = self.places_of(wish)
            course = self.course(z)
            r, _ = (
                wish.quantity.numbers(account.tree, *course.driven(places))
                if staged
                else account._at(wish.quantity, places, course)
            )
            total += float(shares @ (wish.weight * r**2).sum(axis=1))
        return total

    def places_of(self, wish: Any) -> tuple[np.ndarray, np.ndarray, bool]:
        """The nodes of a wish, or its intervals, whether it is these, and what each node or stage counts: in integrals,
        or as part of a mean."""
        staged = always_of(wish) or wish.quantity.driven
        places = nodes_of(wish.when, self.mesh, staged)
        if not staged:
            return places, np.ones(len(places)), False
        return places, np.outer(self.h if always_of(wish) else np.ones(len(places)), self.interval.b).ravel(), True

    def _add_wish(self, z: np.ndarray, wish: Any, slope: np.ndarray) -> None:
        """Add the gradient of a wish."""
        steps, shares, staged = self.places_of(wish)
        if not staged:
            r, by = self.account._at(wish.quantity, steps, self.course(z))
            pull = np.einsum("km,kmc->kc", 2 * wish.weight * r, by @ self.by[steps])
            np.add.at(slope, self.at["node"][steps], pull)
            slope[self.time + 1 :] += np.einsum("km,kmc,kcp->p", 2 * wish.weight * r, by, self.follow[steps])
            return
        r, by = wish.quantity.numbers(self.account.tree, *self.course(z).driven(steps))
        pull = np.einsum("km,kmc->kc", 2 * shares[:, None] * wish.weight * r, by)
        own, following = self.driven_slopes(pull[:, None], steps)
        np.add.at(slope, self.driven_places(steps)[:, : own.shape[-1]], own.reshape(len(pull), -1))
        slope[self.time + 1 :] += following.reshape(len(pull), self.design.size).sum(axis=0)
        if always_of(wish):
            slope[self.time] += float(shares @ (wish.weight * r**2).sum(axis=1)) / float(z[self.time])

    # ------------------------------------------------------------ equations

    def rows(self, z: np.ndarray) -> np.ndarray:
        """Equations of motion, of the ends of intervals, and limits."""
        self.place(z)
        if self.lost:
            return np.full(self.row_count, np.nan)
        off = np.take_along_axis(self.interval.ends(self.q[1:], self.v[1:])[0], self.nodes.rows[1:], axis=1)
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
        forced = np.zeros((self.count, self.stages, nv, self.inputs + P))
        forced[..., : self.inputs], shifts = self.effect, None
        if self.tables is not None and self.effect_slopes is not None:
            shifts = np.concatenate([np.zeros((len(self.tables), self.inputs)), self.tables], axis=1)
            forced[..., self.inputs :] = self.effect_slopes
        state, more, rate = self.field.slopes(
            self.stage_times, interval.q, interval.v, self.u @ self.effect.T, forced, self.h.min(), shifts
        )
        by = -(state[..., :nv] @ interval.dq + state[..., nv:] @ interval.dv)
        places = (self.mesh[:-1] / self.shares)[:, None] + interval.c
        by[..., -1] -= rate * places[..., None]  # of laws of time
        for i in range(self.stages):
            own = 2 * nv + i * nv + np.arange(nv)
            by[:, i, np.arange(nv), own] += 1.0
        return by, -more[..., : self.inputs], -more[..., self.inputs :]

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """The entries of the Jacobian, in the order of `places`."""
        self.place(z)
        if self.lost:
            return np.full(self.entry_count, np.nan)
        self.slope(z)
        nv, by_node, follow = self.nv, self.by, self.follow
        by, by_inputs, by_design = self._motion_slopes()
        every = np.arange(self.count)
        by, following = self._by_variables(by, every)
        by_design = by_design + following
        _, ends, turned = self.interval.ends(self.q[1:], self.v[1:])
        after = np.concatenate([by_node[1:], follow[1:]], axis=2)
        after[:, :nv] = turned @ after[:, :nv]
        after, ends_design = np.split(after, [self.nodes.size], axis=2)
        ends, following = self._by_variables(ends, every)
        ends_design = ends_design + following
        chosen = [np.take_along_axis(x, self.nodes.rows[1:, :, None], axis=1) for x in (ends, after, ends_design)]
        limits = self.limit_slopes(self.course(z), self.by_design[1:])
        return np.concatenate([x.ravel() for x in (by, by_inputs, by_design, *chosen, *limits)])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries."""
        nv, s, K, own = self.nv, self.stages, self.count, self.nodes.size
        local = self._local()
        first = np.arange(K * s * nv).reshape(K, s, nv)
        second = K * s * nv + np.arange(K * own).reshape(K, own)
        u = self.at["u"].reshape(K, s, 1, self.inputs)
        designed = self.time + 1 + np.arange(self.design.size)
        pairs = [
            np.broadcast_arrays(first[..., None], local[:, None, None]),
            np.broadcast_arrays(first[..., None], u),
            np.broadcast_arrays(first[..., None], designed),
            np.broadcast_arrays(second[..., None], local[:, None]),
            np.broadcast_arrays(second[..., None], self.at["node"][1:, None]),
            np.broadcast_arrays(second[..., None], designed),
            *self.limit_places(K * s * nv + K * own),
        ]
        return tuple(np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))  # type: ignore[return-value]

    def program(self, guess: Any, duration: tuple[float, float, float]) -> tuple[Program, np.ndarray]:
        """The program, and the variables to begin with."""
        path = self.guessed(guess, duration[1])
        self.lay_out(path, duration[1], self.stages * (self.nv + self.inputs))
        return self._program(duration), self.start(path, duration[1])

    def begun(self, start: Refined, duration: tuple[float, float, float]) -> tuple[Program, np.ndarray]:
        """The same from a motion on a coarser mesh."""
        self._take_design()
        self.lay_out(start.q, float(start.rest[0]), self.stages * (self.nv + self.inputs))
        z = np.zeros(self.size)
        z[self.at["node"]], z[self.at["inner"]] = self.nodes.variables(start.v), start.inner
        z[self.time :] = start.rest
        return self._program(duration), z

    def _program(self, duration: tuple[float, float, float]) -> Program:
        low, high = self.box(duration)
        low[self.at["u"]], high[self.at["u"]] = (np.tile(x, self.stages) for x in self.bounds)
        self.equations, self.timed = self.count * (self.stages * self.nv + self.nodes.size), duration[0] < duration[2]
        least, most = self.edges(self.equations)
        places = self.places()
        self.row_count, self.entry_count = len(least), len(places[0])
        program = Program(self.cost, self.rows, self.slopes, places, low, high, least, most)
        if self.rough is not None:
            program.rough, program.bends = self.rough, CollocationHessian(self, self.units)
        return program

    def result(self, solution: ProgramEnd, tolerance: float) -> CollocatedMotion:
        """The motion, if it satisfies everything."""
        z = solution.z
        self.place(z)
        if self.lost:
            raise no_motion(solution.iterations)
        cost, course = self.cost(z)[0], self.course(z)
        scale = 1.0
        if self.field is None:
            scale = float(np.abs(self.interval.forces()[0]).max(initial=0.0)) or 1.0
        off = float(np.abs(self.rows(z)[: self.equations]).max()) / scale
        found = self.require(course, off, tolerance, solution)
        return CollocatedMotion(
            *(course.t, course.q, course.v, self.u, self.stage_times, cost, found, solution.iterations),
            *(not solution.problem, self.design.found(), self.design.values, self.account),
        )
