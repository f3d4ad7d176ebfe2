"""Hessians of the Lagrangian of a motion, for Ipopt: σ ∂²f + Σ λ ∂²g, with the multipliers λ of the rows g.

First derivatives are exact, so second ones are differences of them, contracted with λ, in all intervals at once. An
interval has the columns (δ, δv) of its node, what it has besides, its length h, and (δ, δv) of the next node. Along
q exp(δ) these differences have an antisymmetric part; what the chart of the nodes adds has the opposite one, so all is
symmetrized in the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.plan.curvature import DIFFERENCE, bend_of
from chasles.plan.gauss_transcription import GaussIntervals
from chasles.plan.terms import ALWAYS

if TYPE_CHECKING:
    from chasles.plan.collocation_program import Collocation
    from chasles.plan.node_program import NodeProgram
    from chasles.plan.shooting import Shooting


@dataclass(frozen=True)
class LagrangianTerm:
    """A quantity in the Lagrangian, at nodes or in steps (`staged`): its slopes, and the first derivatives by its
    numbers, and the second ones, if these are squared. lasting: whether it counts in proportion to the duration."""

    what: Any
    places: np.ndarray
    staged: bool
    state: Any  # t, q, v, and u in steps
    slopes: np.ndarray
    pull: np.ndarray
    bend: np.ndarray | None = None
    lasting: bool = False
    sides: int = 1

    @property
    def gradient(self) -> np.ndarray:
        found: np.ndarray = np.einsum("km,kmc->kc", self.pull, self.slopes)
        return found


class MotionHessian(ABC):
    """What quantities add, and how all is put together; equations and efforts are for the kinds of programs below."""

    task: Any

    def __init__(self, task: NodeProgram, units: np.ndarray, inner: int):
        """units: of (δ, δv). inner: columns of an interval besides its node, with those of the inputs last."""
        self.nv, self.n, self.inner = task.nv, 2 * task.nv, inner
        self.length = self.n + inner  # the column of h
        self.coupled = bool(task.nodes.blocks.parts)  # differences of nodes are no vectors
        self.curved = self.coupled or task.nodes.size < self.n  # nodes are no vectors
        terms: list[Any] = [*task.account.wishes, *(one.limit for one in task.account.restraints)]
        self.wide = self.coupled or any(one.sides > 1 for one in terms)  # the next node is among the columns
        self.columns = self.length + 1 + (self.n if self.wide else 0)
        self.units = self.least_units = units[: self.n]  # what changes for differences are relative to
        self.tree, self.mechanism = task.account.tree, task.mechanism

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries, of the lower triangle; entries of one place are added."""
        at, rows, columns = self.task.at, [], []
        parts = [at["node"][:-1], at["inner"], *([at["node"][1:]] if self.wide else [])]
        for own in (np.concatenate(parts, axis=1), at["node"]):
            every = np.concatenate([own, np.full((len(own), 1), self.task.time)], axis=1)
            below = np.tril_indices(every.shape[1])
            rows.append(every[:, below[0]].ravel())
            columns.append(every[:, below[1]].ravel())
        return np.concatenate(rows), np.concatenate(columns)

    def entries(self, z: np.ndarray, multipliers: np.ndarray, factor: float) -> np.ndarray:
        """The entries, by λ and σ."""
        task, n, own = self.task, self.n, self.task.nodes.size
        task.place(z)
        if task.lost:
            return np.full(len(self.places()[0]), np.nan)
        task.slope(z)
        moved = np.abs(self.mechanism.difference(task.q, np.broadcast_to(task.q[0], task.q.shape))).max(axis=0)
        self.units = np.maximum(self.least_units, np.concatenate([moved, np.abs(task.v).max(axis=0)]))
        parts = self._parts(z, multipliers[task.equations :], factor)
        H, slopes = self.intervals(z, multipliers[: task.equations], [x for x in parts if x.staged], factor)
        turn = np.zeros((task.count, self.columns, own + self.inner + 1 + (own if self.wide else 0)))
        inner = np.arange(self.inner)
        turn[:, :n, :own], turn[:, n + inner, own + inner] = task.by[:-1], 1.0
        turn[:, self.length, -1] = task.shares
        if self.wide:
            turn[:, self.length + 1 :, own + self.inner : -1] = task.by[1:]
        H = turn.transpose(0, 2, 1) @ H @ turn
        return np.concatenate([_below(H), _below(self._at_nodes(z, [x for x in parts if not x.staged], slopes))])

    @abstractmethod
    def intervals(
        self, z: np.ndarray, multipliers: np.ndarray, parts: list[LagrangianTerm], factor: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives of each interval by its columns, and first ones by (δ, δv) of all nodes."""

    # ------------------------------------------------------------ quantities

    def _parts(self, z: np.ndarray, limits: np.ndarray, factor: float) -> list[LagrangianTerm]:
        """All quantities, with the multipliers of limits."""
        task, found, at = self.task, list[LagrangianTerm](), 0
        course = task.course(z)

        def looked_at(what: Any, places: np.ndarray, staged: bool, sides: int) -> tuple[np.ndarray, np.ndarray, Any]:
            state = course.driven(places, sides) if staged else [x[places] for x in (course.t, course.q, course.v)]
            return *what.numbers(self.tree, *state), state

        for one in task.account.restraints:
            what, sides = one.limit.quantity, one.limit.sides
            _, slopes, state = looked_at(what, one.nodes, one.driven, sides)
            pull, at = limits[at : at + one.low.size].reshape(one.low.shape), at + one.low.size
            found.append(LagrangianTerm(what, one.nodes, one.driven, state, slopes, pull, sides=sides))
        for wish in task.account.wishes:
            places, shares, staged = task.places_of(wish)
            r, slopes, state = looked_at(wish.quantity, places, staged, wish.sides)
            bend = 2 * factor * shares[:, None] * np.broadcast_to(wish.weight, r.shape)
            lasting = isinstance(wish.when, str) and wish.when == ALWAYS
            found.append(
                LagrangianTerm(wish.quantity, places, staged, state, slopes, bend * r, bend, lasting, wish.sides)
            )
        return found

    def bent(self, part: LagrangianTerm) -> np.ndarray:
        """Second derivatives by the columns of its slopes, at each of its places."""
        slopes, own, n = part.slopes, part.slopes.shape[2], self.n
        found = np.zeros((len(slopes), own, own))
        if part.bend is not None:
            found += slopes.transpose(0, 2, 1) @ (part.bend[..., None] * slopes)
        if part.what.straight(self.tree) or not part.pull.any():
            return found
        t, q, v, *u = part.state
        units = np.concatenate([self.units, 1.0 + np.abs(self.task.u).reshape(-1, self.task.inputs).max(axis=0)])

        def moved(change: np.ndarray) -> np.ndarray:
            there = self.mechanism.retract(q, np.broadcast_to(change[: self.nv], v.shape)), v + change[self.nv : n]
            slopes: np.ndarray = part.what.numbers(self.tree, t, *there, *(x + change[n:] for x in u))[1]
            return slopes

        return found + bend_of(moved, part.pull, units, own)

    def _at_nodes(self, z: np.ndarray, parts: list[LagrangianTerm], slopes: np.ndarray) -> np.ndarray:
        """Second derivatives by the variables of each node and the duration; slopes: of equations, by (δ, δv)."""
        task, n, own = self.task, self.n, self.task.nodes.size
        H, cross = np.zeros((task.count + 1, n, n)), np.zeros((task.count + 1, n))
        for part in parts:
            np.add.at(H, part.places, self.bent(part))
            np.add.at(slopes, part.places, part.gradient)
            if part.lasting:
                np.add.at(cross, part.places, part.gradient / float(z[task.time]))
        found = np.zeros((task.count + 1, own + 1, own + 1))
        found[:, :own, :own] = task.by.transpose(0, 2, 1) @ H @ task.by
        found[:, :own, own] = found[:, own, :own] = np.einsum("kn,knm->km", cross, task.by)
        if self.curved:
            x, sizes = z[task.at["node"]], DIFFERENCE * self.units[task.nodes.rows]
            for j in range(own):
                there = x.copy()
                there[:, j] += sizes[:, j]
                q, v = task.nodes.states(there, task.t)
                lost = ~np.isfinite(v).all(axis=1)  # a loop that is almost stretched
                there[lost], q[lost], v[lost] = x[lost], task.q[lost], task.v[lost]
                by = task.nodes.slopes(there, q, v, task.t)
                found[:, j, :own] += np.einsum("kn,knm->km", slopes, by - task.by) / sizes[:, j, None]
        return found

    def changes(self, directions: list[int], inner: np.ndarray, row: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Differences of a gradient `row` of changes of the columns (intervals, columns), along some columns, the
        length and the next node; inner: what is large in an interval, for each of its columns."""
        task, nv, found = self.task, self.nv, np.zeros((self.task.count, self.columns, self.columns))
        sizes = np.empty((task.count, self.columns))
        sizes[:, : self.n], sizes[:, self.n : self.length] = self.units, inner
        sizes[:, self.length] = task.h
        after = range(self.length + 1, self.length + 1 + nv if self.coupled else 0)
        if self.wide:
            sizes[:, self.length + 1 :] = self.units
        first = row(np.zeros_like(sizes))
        for k in (*directions, *([self.length] if task.timed else []), *after):
            change = np.zeros_like(sizes)
            change[:, k] = DIFFERENCE * sizes[:, k]
            found[:, k] = (row(change) - first) / change[:, k, None]
        return found

    def next_nodes(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v of the next nodes after a change of the columns."""
        q, v = self.task.q[1:], self.task.v[1:]
        if not self.coupled:
            return q, v
        at = self.length + 1
        return self.mechanism.retract(q, change[:, at : at + self.nv]), v + change[:, at + self.nv :]

    def turned(self, ends: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """The multipliers of ends as a gradient by (δ, δv) of the next nodes."""
        return np.concatenate([_times(ends[:, : self.nv], turned), ends[:, self.nv :]], axis=1)

    def all_of(self, left: np.ndarray) -> np.ndarray:
        """Multipliers of all numbers of the ends, (intervals, 2 nv), of those that are rows."""
        found = np.zeros((self.task.count, self.n))
        np.put_along_axis(found, self.task.nodes.rows[1:], left.reshape(self.task.count, -1), axis=1)
        return found


class CollocationHessian(MotionHessian):
    """Of collocation: the equations and quantities at the stages by (δ, δv, u, α, t) there, and what the map from nodes
    to stages adds."""

    def __init__(self, task: Collocation, units: np.ndarray):
        super().__init__(task, units, task.stages * (task.nv + task.inputs))
        self.task, self.moved = task, GaussIntervals(task.mechanism, task.stages)
        self.plain = np.append(np.arange(self.n + task.stages * self.nv), self.length)  # columns of the map
        self.timed = task.field is not None and bool(task.field.laws)

    def intervals(
        self, z: np.ndarray, multipliers: np.ndarray, parts: list[LagrangianTerm], factor: float
    ) -> tuple[np.ndarray, np.ndarray]:
        task, n, m, s, nv, count = self.task, self.n, self.task.inputs, self.task.stages, self.nv, self.task.count
        motion, left = np.split(multipliers, [count * s * nv])
        ends = self.all_of(left)
        g, S = self._stages(motion.reshape(count, s, nv))
        lasting = np.zeros((count, s, n + m))
        for part in parts:
            own, shape = part.slopes.shape[2], (len(part.places), s)
            pull = part.gradient.reshape(*shape, own)
            np.add.at(S[:, :, :own, :own], part.places, self.bent(part).reshape(*shape, own, own))
            np.add.at(g[:, :, :own], part.places, pull)
            if part.lasting:
                lasting[..., :own] += pull / task.h[:, None, None]
        D = self._stage_map()
        H = (D.transpose(0, 1, 3, 2) @ S @ D).sum(axis=1)
        by_length = np.einsum("kiy,kiyc->kc", lasting, D[:, :, : n + m])
        for effort in task.account.efforts:
            self._add_effort(H, by_length, factor * np.broadcast_to(effort.weight, (m,)))
        largest = np.full(self.inner, 1.0 + np.abs(task.interval.alpha).max(initial=0.0))
        curved = list(range(n + s * nv)) if self.coupled else []  # in the others all is linear
        more = self.changes(curved, largest, lambda change: self._mapped(change, g, ends))
        if not self.coupled:
            by_length += more[:, self.length]
            by_length[:, self.length] -= 0.5 * more[:, self.length, self.length]
            more[:, self.length] = 0.0
        H += more
        H[:, self.length] += by_length
        H[:, :, self.length] += by_length
        return H, self._node_slopes(g, ends)

    def _add_effort(self, H: np.ndarray, by_length: np.ndarray, weight: np.ndarray) -> None:
        """Σ h b w u²."""
        task, own = self.task, np.arange(self.length - self.task.stages * self.task.inputs, self.length)
        price = 2 * np.multiply.outer(task.interval.b, weight).ravel()
        H[:, own, own] += task.h[:, None] * price
        by_length[:, own] += price * task.u.reshape(task.count, -1)

    def _stage_map(self) -> np.ndarray:
        """(δ, δv, u, α, t) of the stages by the columns."""
        task, n, m, nv, s = self.task, self.n, self.task.inputs, self.nv, self.task.stages
        D = np.zeros((task.count, s, n + m + nv + 1, self.columns))
        D[:, :, :nv][..., self.plain], D[:, :, nv:n][..., self.plain] = task.interval.dq, task.interval.dv
        for i in range(s):
            D[:, i, n + np.arange(m), n + s * nv + i * m + np.arange(m)] = 1.0
            D[:, i, n + m + np.arange(nv), n + i * nv + np.arange(nv)] = 1.0
        D[:, :, -1, self.length] = (task.mesh[:-1] / task.shares)[:, None] + task.interval.c
        return D

    def _stages(self, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives of λ times the equations of motion. They are linear in α and in u."""
        interval, nv, n, t = self.task.interval, self.nv, self.n, self.task.stage_times
        first = self._pulled(pull, interval.q, interval.v, t)
        S = np.zeros((*first.shape, first.shape[2]))
        for k in range(n):
            change = np.zeros(n)
            change[k] = size = DIFFERENCE * self.units[k]
            q = self.mechanism.retract(interval.q, np.broadcast_to(change[:nv], interval.v.shape))
            S[:, :, k] = (self._pulled(pull, q, interval.v + change[nv:], t) - first) / size
        if self.timed:
            size = DIFFERENCE * float(self.task.h.sum())
            S[:, :, -1] = (self._pulled(pull, interval.q, interval.v, t + size) - first) / size
        S[:, :, n:-1, :n], S[:, :, n:-1, -1] = S[:, :, :n, n:-1].transpose(0, 1, 3, 2), S[:, :, -1, n:-1]
        return first, S

    def _pulled(self, pull: np.ndarray, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Derivatives of λ times the equations of motion by (δ, δv, u, α, t) of the stages."""
        task, alpha = self.task, self.task.interval.alpha
        if task.field is None:
            by = self.mechanism.derivatives.inverse_dynamics(q, v, alpha)
            parts = [_times(pull, x) for x in (by.dq, by.dv)] + [-pull @ task.effect, _times(pull, by.da)]
            return np.concatenate([*parts, np.zeros((*pull.shape[:2], 1))], axis=2)
        by_inputs = np.broadcast_to(task.effect, (*t.shape, *task.effect.shape))
        state, forced, rate = task.field.slopes(t, q, v, task.u @ task.effect.T, by_inputs, task.h.min())
        parts = [-_times(pull, state), -_times(pull, forced), pull, -(pull * rate).sum(axis=2, keepdims=True)]
        return np.concatenate(parts, axis=2)

    def _mapped(self, change: np.ndarray, g: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The gradient by the columns, with that by the stages and the multipliers of ends held."""
        task, nv, n, moved = self.task, self.nv, self.n, self.moved
        alpha = change[:, n : n + task.stages * nv].reshape(task.count, task.stages, nv)
        q, v = self.mechanism.retract(task.q[:-1], change[:, :nv]), task.v[:-1] + change[:, nv:n]
        moved.place(q, v, task.interval.alpha + alpha, task.h + change[:, self.length])
        found = np.zeros((task.count, self.columns))
        _, by, turned = moved.ends(*self.next_nodes(change))
        found[:, self.plain] = _stage_gradient(moved, g) + _times(ends, by)
        if self.coupled:
            found[:, self.length + 1 :] = self.turned(ends, turned)
        return found

    def _node_slopes(self, g: np.ndarray, ends: np.ndarray) -> np.ndarray:
        task, n, found = self.task, self.n, np.zeros((self.task.count + 1, self.n))
        _, by, turned = task.interval.ends(task.q[1:], task.v[1:])
        found[:-1] = (_stage_gradient(task.interval, g) + _times(ends, by))[:, :n]
        found[1:] += self.turned(ends, turned)
        return found


class ShootingHessian(MotionHessian):
    """Of multiple shooting: differences of the derivatives of steps by (δ, δv), the input and the length."""

    def __init__(self, task: Shooting, units: np.ndarray):
        super().__init__(task, units, task.inputs)
        self.task = task

    def intervals(
        self, z: np.ndarray, multipliers: np.ndarray, parts: list[LagrangianTerm], factor: float
    ) -> tuple[np.ndarray, np.ndarray]:
        task, n, m, ends = self.task, self.n, self.task.inputs, self.all_of(multipliers)
        largest = 1.0 + np.abs(task.u).max(axis=0, initial=0.0)
        H = self.changes(list(range(self.length)), largest, lambda change: self._row(change, ends)[0])
        by_length = np.zeros((task.count, self.columns))
        slopes = np.zeros((task.count + 1, n))
        for part in parts:
            bent, gradient = self.bent(part), part.gradient
            for side in range(part.sides):
                first = self.length + 1 if side else 0  # the column of its node
                own = np.concatenate([first + np.arange(n), n + np.arange(m)])
                one, of_side = (part.places[:, None], own), slice(side, None, part.sides)
                np.add.at(H, (part.places[:, None, None], own[:, None], own), bent[of_side])
                np.add.at(slopes, part.places + side, gradient[of_side, :n])
                if part.lasting:
                    np.add.at(by_length, one, gradient[of_side] / task.h)
        for effort in task.account.efforts:
            price, at = 2 * factor * np.broadcast_to(effort.weight, (m,)), n + np.arange(m)
            H[:, at, at] += task.h * price
            by_length[:, at] += price * task.u
        row, after = self._row(np.zeros((task.count, self.columns)), ends)
        slopes[:-1] += row[:, :n]
        slopes[1:] += after
        H = 0.5 * (H + H.transpose(0, 2, 1))
        H[:, self.length] += by_length
        H[:, :, self.length] += by_length
        return H, slopes

    def _row(self, change: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of the multipliers of ends by the columns, and by the next nodes, after a change."""
        task, held, nv, n, found = self.task, self.task.held, self.nv, self.n, np.zeros_like(change)
        q, v = self.mechanism.retract(task.q[:-1], change[:, :nv]), task.v[:-1] + change[:, nv:n]
        points, u = held.points(q, v), np.ascontiguousarray(task.u + change[:, n : self.length])
        h = task.h + float(change[0, self.length])
        off = held.change(held.points(*self.next_nodes(change)), held.results(points, u, h))
        blocks = task.nodes.blocks
        pull = -self.turned(ends, blocks.dexpinv(off[:, :nv]))
        A, B = held.derivatives(points, u, h)
        found[:, :n], found[:, n : self.length] = _times(pull, A), _times(pull, B)
        if task.timed:
            found[:, self.length] = (pull * held.by_size(points, u, h)).sum(axis=1)
        after = self.turned(ends, blocks.dexpinv(-off[:, :nv]))
        if self.coupled:
            found[:, self.length + 1 :] = after
        return found, after


def _stage_gradient(interval: GaussIntervals, g: np.ndarray) -> np.ndarray:
    """The gradient by the columns of the map of one by (δ, δv) of the stages."""
    nv = interval.nv
    found: np.ndarray = np.einsum("kin,kinc->kc", g[..., :nv], interval.dq)
    return found + np.einsum("kin,kinc->kc", g[..., nv : 2 * nv], interval.dv)


def _times(pull: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.einsum("...n,...nc->...c", pull, slopes)
    return found


def _below(H: np.ndarray) -> np.ndarray:
    """The lower triangles, one after the other, of what is symmetrized."""
    rows, columns = np.tril_indices(H.shape[1])
    return (0.5 * (H + H.transpose(0, 2, 1)))[:, rows, columns].ravel()
