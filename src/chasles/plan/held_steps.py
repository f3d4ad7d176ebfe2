"""A mechanism as a sequence of steps x⁺ = Φ(x, u, h) with inputs that are held, and the derivatives of each step.

A state is a point of the integrator, as of `simulate`. Its changes are (δ, δv), δ along q exp(δ), so that rotations
have three numbers and no constraint; in a closed mechanism those of them that determine the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate import blocks
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import MUNTHE_KAAS, SET, scratch_size
from chasles.integrate.method import RKMK
from chasles.integrate.options import Options
from chasles.integrate.scalar import ON_DUALS
from chasles.integrate.step_address import step_address
from chasles.kernel.lanes import WIDTH, buffer
from chasles.plan.chain import Chain
from chasles.plan.held_loops import roll, roll_feedback, roll_tangents
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses
from chasles.simulation.slopes import CENTRAL
from chasles.simulation.tree.tangent import TangentTables

STRETCH = 1e-2  # of a step, over which its result is differenced by its size


class InputRange:
    """How many inputs a system has, between which limits, and the forces of each, (nv, inputs)."""

    def __init__(self, dynamics: Any):
        actuation = dynamics.actuation()
        self.inputs, limits = actuation.inputs, actuation._limits
        self.limits = limits.T.copy() if len(limits) else np.tile([[-np.inf], [np.inf]], self.inputs)
        self.effect = self.effect_of(dynamics.mechanism)

    def effect_of(self, mechanism: Any) -> np.ndarray:
        """The forces of each input in a mechanism with the same limits."""
        return Actuation.of_tree(mechanism).matrix(np.clip(np.zeros(self.inputs), *self.limits))


class HeldSteps(InputRange):
    """Steps of one size from a start, under one input each."""

    def __init__(self, dynamics: Any, method: Any, state: np.ndarray, start: float, steps: int):
        super().__init__(dynamics)
        self.dynamics, self.method, self.first, self.count = dynamics, method, state, steps
        self.mechanism, self.nq, self.nv, self.start = dynamics.mechanism, dynamics.nq, dynamics.nv, start
        self.actuation, space = dynamics.actuation(), dynamics.space
        with dynamics.calling():
            how = Options(step=1.0, save="final")
            self.stepper = ExplicitStepper(dynamics.problem(), method, (start, start + 1.0), state, how)
        stepper = self.stepper
        self.loop = (stepper.space.table, stepper.addresses), self._method(stepper.settings)
        self.f0, self.p, self.memory = np.zeros(space.dimension), stepper.p.copy(), np.zeros_like(stepper.memory)
        self.plain = self.nq == self.nv and dynamics.free is None
        self.closed = isinstance(self.mechanism, ClosedMechanism)
        self._duals: tuple[Any, ...] | None = None
        quick = self.plain and not self.closed and isinstance(method, RKMK)
        quick = quick and self.mechanism.tables.acting.empty and self.mechanism.tree.dependence is None
        self.chain = Chain(self.mechanism, method.table, self.effect) if quick else None

    def _method(self, settings: np.ndarray) -> tuple[np.ndarray, ...]:
        chosen, stepper = settings.copy(), self.stepper
        chosen[SET.dense] = 0
        return chosen, stepper.a, stepper.b, stepper.c, stepper.extra, stepper.program

    def times(self, h: float) -> np.ndarray:
        """Of all nodes."""
        return self.start + h * np.arange(self.count + 1)

    def split(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v of points."""
        q, v, _ = self.dynamics.split(points)
        return q, v

    def change(self, points: np.ndarray, old: np.ndarray) -> np.ndarray:
        """(δ, δv) from old points to others, (..., 2 nv)."""
        (q, v), (q0, v0) = self.split(points), self.split(old)
        return np.concatenate([self.mechanism.difference(q, q0), v - v0], axis=-1)

    def points(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Points of states (points, nq), (points, nv)."""
        free, found = self.dynamics.free, np.zeros((len(q), len(self.first)))
        found[:, : self.nq], found[:, self.nq : self.nq + self.nv] = q, free.from_body(q, v) if free else v
        return found

    def moved(self, points: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Points after a change (δ, δv) of all of them."""
        q, v = self.split(points)
        q = self.mechanism.retract(q, np.broadcast_to(change[: self.nv], v.shape))
        return self.points(q, v + change[self.nv :])

    # ------------------------------------------------------------ motions

    def roll(self, inputs: np.ndarray, h: float) -> np.ndarray:
        """The points (steps + 1, size) under inputs."""
        points = np.empty((self.count + 1, len(self.first)))
        points[0] = self.first
        self._roll(points, inputs, h, True)
        return points

    def results(self, points: np.ndarray, inputs: np.ndarray, h: float) -> np.ndarray:
        """Of each step from its own point, (steps, size)."""
        return self._roll(points, inputs, h, False)

    def off_halves(self, points: np.ndarray, inputs: np.ndarray, h: float) -> np.ndarray:
        """How far each step ends from where it ends if it is taken as two halves: turns and shifts relative to the
        largest of the whole motion, velocities to the largest of the motion, (steps,)."""
        begin, half = self.times(h), 0.5 * h
        middle = self._roll(points, inputs, half, False, begin)
        ends = self._roll(middle, inputs, half, False, begin + half)
        off = np.abs(self.change(ends, points[1:]))
        (q, v), length = self.split(points), h * self.count
        way = np.abs(self.mechanism.difference(q, np.broadcast_to(q[0], q.shape))).max(initial=0.0)
        fastest = np.abs(v).max(initial=0.0)
        scales = np.repeat([max(way, fastest * h), max(fastest, way / length)], self.nv)
        found: np.ndarray = (off / np.maximum(scales, np.finfo(float).tiny)).max(axis=1, initial=0.0)
        return found

    def _roll(
        self, points: np.ndarray, inputs: np.ndarray, h: float, follow: bool, times: np.ndarray | None = None
    ) -> np.ndarray:
        results, forces = np.empty((len(inputs), len(self.first))), np.ascontiguousarray(self.actuation.along(inputs))
        with self.dynamics.calling(), np.errstate(all="ignore"):
            roll(
                *self.loop,
                *(self.times(h) if times is None else times, h, points, results, forces, follow, self.f0, self.memory),
                *(self.stepper.address, self.p, self.dynamics.control.start),
            )
        return results

    def roll_with(self, policy: Any, share: float, moved: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Points and inputs under the feedback of a policy, with a share of its change of the inputs; `moved` is the
        change of what is constant along the motion."""
        points, inputs = np.empty((self.count + 1, len(self.first))), np.empty((self.count, self.inputs))
        points[0] = self.first
        if self.plain and not self.closed:
            roll_feedback(
                *self.loop,
                *(self.times(h), h, points, inputs, policy.points, policy.inputs, policy.change, policy.gains, share),
                *(moved, policy.bounds, self.effect, self.f0, self.memory, self.stepper.address, self.p),
                self.dynamics.control.start,
            )
            return points, inputs
        for k in range(self.count):
            x = self.change(points[k], policy.points[k])[policy.states[k]] if k else np.zeros(len(policy.states[0]))
            u = policy.inputs[k] + share * policy.change[k] + policy.gains[k] @ np.concatenate([x, moved])
            inputs[k] = np.clip(u, *policy.bounds)
            part = points[k : k + 2]
            self._one(part, inputs[k : k + 1], self.start + k * h, h)
            if not np.isfinite(points[k + 1]).all():
                points[k + 1 :], inputs[k + 1 :] = np.nan, np.nan
                break
        return points, inputs

    def _one(self, points: np.ndarray, inputs: np.ndarray, t: float, h: float) -> None:
        forces, results = np.ascontiguousarray(self.actuation.along(inputs)), np.empty((1, len(self.first)))
        with self.dynamics.calling():
            roll(
                *self.loop,
                *(np.array([t]), h, points, results, forces, True, self.f0, self.memory),
                *(self.stepper.address, self.p, self.dynamics.control.start),
            )

    # ------------------------------------------------------------ derivatives

    def states(self, points: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray | None]:
        """For each point which of (δ, δv) determine all of them, and these by those (points, 2 nv, states)."""
        if not self.closed:
            return np.tile(np.arange(2 * self.nv), (len(points), 1)), None
        q, v = self.split(points)
        found = [Allowed(self.mechanism, a, t).states(b) for a, b, t in zip(q, v, self.times(h), strict=True)]
        return np.array([chosen for chosen, _ in found]), np.array([basis for _, basis in found])

    def _on_duals(self) -> tuple[Any, ...]:
        """The loop on duals: its space and method, address, buffer, places and rooms."""
        if self._duals is None:
            stepper, dynamics, free = self.stepper, self.dynamics, self.dynamics.free is not None
            tables: TangentTables | ClosedTangentTables
            if isinstance(self.mechanism, ClosedMechanism):
                tables = ClosedTangentTables(self.mechanism, dynamics.parameters, free)
                (address, correction), places = tangent_addresses(), tables.places
            else:
                tables, correction = TangentTables(self.mechanism, free), 0
                address, count = tables.address, len(tables.constants) + self.nv
                places = tables.start + WIDTH * np.arange(count)
            settings = stepper.settings.copy()
            settings[SET.correction] = correction if stepper.problem.correction else 0
            settings[SET.step] = step_address(int(settings[SET.family]), ON_DUALS)
            needed = {blocks.MOVE} | ({blocks.PULLBACK} if settings[SET.family] == MUNTHE_KAAS else set())
            loop = (stepper.space.table, stepper.operations(*needed, on=ON_DUALS)), self._method(settings)
            n, d = dynamics.space.size, dynamics.space.dimension
            rooms = buffer(n), buffer(d), buffer(scratch_size(int(settings[SET.stages]), n, d))
            p = tables.packed(np.zeros(self.nv), np.zeros((len(places), 3)))
            self._laws = tables.laws  # called by address
            self._duals = loop, address, p, places.astype(np.int64), rooms
        return self._duals

    def derivatives(
        self, points: np.ndarray, inputs: np.ndarray, h: float, shifts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the steps from points (steps, size): by (δ, δv), (steps, 2 nv, 2 nv), and by the inputs; behind these by
        what `shifts` (count, m) change of the tables."""
        nv, n = self.nv, len(self.first)
        q, v = self.split(points)
        if self.chain is not None and shifts is None:
            forces = np.ascontiguousarray(self.actuation.along(inputs))
            found = self.chain.derivatives(np.ascontiguousarray(q), np.ascontiguousarray(v), forces, h)
            return found[:, :, : 2 * nv], found[:, :, 2 * nv :]
        loop, address, p, places, (y, f0, memory) = self._on_duals()
        own = 0 if shifts is None else shifts.shape[1]
        seeds = np.zeros((len(points), n, 2 * nv + self.inputs + own))
        seeds[:, :, : 2 * nv] = self._lifted(q, v)
        along = np.zeros((len(places), seeds.shape[2]))
        along[-nv:, 2 * nv : 2 * nv + self.inputs] = self.effect
        if shifts is not None:
            along[:, 2 * nv + self.inputs :] = shifts
        tangents, forces = np.empty_like(seeds), np.ascontiguousarray(self.actuation.along(inputs))
        with self.dynamics.calling(tangents=True):
            roll_tangents(
                *loop,
                *(self.times(h), h, np.ascontiguousarray(points), forces, seeds, along, tangents),
                *(y, f0, memory, address, p, places),
            )
        found = self._lowered(self.results(points, inputs, h), tangents)
        return found[:, :, : 2 * nv], found[:, :, 2 * nv :]

    def by_size(self, points: np.ndarray, inputs: np.ndarray, h: float) -> np.ndarray:
        """Derivatives of the steps by their size, (steps, 2 nv), the times of laws included: differences of eighth
        order."""
        size = STRETCH * h
        pairs = [
            self.results(points, inputs, h + k * size) - self.results(points, inputs, h - k * size) for k in range(1, 5)
        ]
        rates = np.tensordot(CENTRAL, pairs, 1) / size
        return self._lowered(self.results(points, inputs, h), rates[..., None])[..., 0]

    def _lifted(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Changes of points for each of (δ, δv), (points, size, 2 nv)."""
        nq, nv, free, unit = self.nq, self.nv, self.dynamics.free, np.eye(2 * self.nv)
        turn, change = (np.tile(part, (len(q), 1, 1)) for part in (unit[:, :nv], unit[:, nv:]))
        found = np.zeros((len(q), 2 * nv, len(self.first)))
        found[:, :, :nq] = self.mechanism.tables.configuration.lift(q[:, None], turn)
        moved = free.change_from_body(q[:, None], v[:, None], turn, change) if free else change
        found[:, :, nq : nq + nv] = moved
        return found.transpose(0, 2, 1)

    def _lowered(self, points: np.ndarray, tangents: np.ndarray) -> np.ndarray:
        """Changes (δ, δv) (points, 2 nv, columns) for those of points."""
        (q, v), moved, nq = self.split(points), tangents.transpose(0, 2, 1), self.nq
        delta = self.mechanism.tables.configuration.lower(q[:, None], moved[..., :nq])
        change = moved[..., nq : nq + self.nv]
        if self.dynamics.free:
            change = self.dynamics.free.change_to_body(q[:, None], v[:, None], delta, change)
        return np.concatenate([delta, change], axis=-1).transpose(0, 2, 1)
