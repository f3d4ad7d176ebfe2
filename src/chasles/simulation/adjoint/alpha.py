"""The steps of generalized alpha taken backward: the discrete adjoint of `constrained.generalized_alpha`.

A step leads from (q, V, V', a) to the next by unknowns x'', λ and, with index 2, ζ (the formulas are at the top of that
module). With K the exact derivative of its equations by the unknowns, a cotangent of the result gives Kᵀ w = that of
the unknowns, and w goes back through the equations to what the step began with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates, made_states
from chasles.constrained.group import on_se3
from chasles.constraint.rows import SCREWS
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.lie import so3
from chasles.simulation.adjoint.chart_slopes import ChartSlopes, chart_of, lifted
from chasles.simulation.adjoint.factors import SURPLUS, BalancedFactors
from chasles.simulation.adjoint.replay import Replayed
from chasles.simulation.adjoint.step_form import EquationColumns
from chasles.simulation.adjoint.velocity_back import VelocitiesBack
from chasles.simulation.adjoint.weights import Weighed, Weights

CHUNK, NUMBERS = 16, 4e6  # steps whose derivatives are in memory at once, and how many these may be


class Cotangents(NamedTuple):
    """Of a point: by q exp(δ), V, V' and a, (6 bodies) each."""

    turn: np.ndarray
    v: np.ndarray
    rate: np.ndarray
    a: np.ndarray


class PointSlopes(NamedTuple):
    """The equations at points (points, ...), as columns for each of 6 numbers of each body: how they follow its pose
    and velocity, all residuals (bodies, 2, 3, numbers); the Jacobian of the constraints by (ω in the body, r' in
    space), (bodies, 6, rows), and the rotations to these; and what turns with the bodies of the shift of the step that
    begins there (bodies, 3, 3)."""

    by_pose: np.ndarray
    by_velocity: np.ndarray
    in_space: np.ndarray
    rotations: np.ndarray
    turned: np.ndarray


class Shares(NamedTuple):
    """Of x'', V' and a in the next a."""

    of_second: float
    of_rate: float
    of_before: float


class AlphaAdjoint:
    """A run of generalized alpha, ready to be taken backward."""

    def __init__(self, residuals: BodyResiduals, method: GeneralizedAlpha, run: Replayed):
        self.residuals, self.run, self.method = residuals, run, method
        self.n, self.turning = residuals.n, on_se3(residuals.mechanism)
        # with rows that depend on others, index 2 is index 3 with velocities projected (`generalized_alpha`)
        self.onto = method.index == 2 and bool(residuals.mechanism.redundant)
        two = method.index == 2 and not self.onto
        self.metric, self.columns = residuals.metric(method.metric), EquationColumns(residuals, two)
        self.form = self.columns.form(bool(residuals.mechanism.redundant))
        am, af, _, _ = method.coefficients
        self.shares = Shares((1.0 - af) / (1.0 - am), af / (1.0 - am), am / (1.0 - am))
        self.account: list[Weighed] = []

    def back(self, kicks: tuple[np.ndarray, np.ndarray], states: MovingStates) -> Cotangents:
        """Cotangents of the start; `account` gets states with the weights of their residuals, those of the points
        first. kicks: cotangents that the points but the first have, by δ and V. states: of all points, with ζ of the
        step that begins there."""
        size, rows, count = 6 * self.n, len(self.residuals.rows), len(states.t)
        weights = Weights(*(np.zeros((count, k)) for k in (size, size, rows, rows, rows)))
        solved = self._by_their_rows(states._replace(v=self._solved_velocities(states.v)))
        self.account = [Weighed(solved, weights)]
        given = np.zeros((self.n, 4, 6))  # of each body by δ, V, V' and a
        chunk = int(np.clip(NUMBERS / (12 * self.n * self.residuals.size), 2, CHUNK))
        for last in range(count - 1, 0, -chunk):
            part = slice(max(last - chunk, 0), last)
            points = self._points(MovingStates(*(x[part.start : last + 1] for x in solved)))
            steps = StepsBack(self, part, self._charts(part), points)
            ends = slice(part.start + 1, last + 1)
            projected = self._velocities(states, ends, solved.v[ends], states.v[ends]) if self.onto else None
            changes = self._changes(states, part) if self.run.follows[part].any() else None
            for k in range(last - 1, part.start - 1, -1):
                given[:, 0] += kicks[0][k + 1].reshape(-1, 6)
                given[:, 1] += kicks[1][k + 1].reshape(-1, 6)
                if projected is not None:
                    given[:, 1], turn = projected.back(k - part.start, given[:, 1])
                    given[:, 0] += turn
                given = steps.back(k - part.start, given)
                if changes is not None and self.run.follows[k]:
                    share = (self.run.h[k] / self.run.before[k]) ** 2
                    v, turn = changes.back(k - part.start, (1.0 - share) * given[:, 1])
                    given[:, 1] = share * given[:, 1] + v
                    given[:, 0] += turn
            steps.weigh(weights, part)
            self.account += [one for each in (projected, changes) if each is not None for one in each.account]
        return Cotangents(*given.transpose(1, 0, 2).reshape(4, size))

    def _by_their_rows(self, states: MovingStates) -> MovingStates:
        """The same reactions by the rows that joints given by screws have here: those of a step were chosen where it
        was predicted to end (`screws.make_basis`)."""
        residuals = self.residuals
        kinds = np.array([residuals.mechanism.tiles[tile].kind for tile in residuals.rows // 3], dtype=int)
        own = np.flatnonzero((kinds == SCREWS) & residuals.measured)
        if not len(own):
            return states
        at, lam, zeta, last = residuals.rows[own], states.lam.copy(), states.zeta.copy(), len(states.t) - 1
        for first in range(0, last + 1, CHUNK):
            part = MovingStates(*(x[first : first + CHUNK] for x in states))
            values, (_, by_velocity) = residuals.columns(part)
            rotations = residuals.rotations(part.q)
            rows = by_velocity[..., residuals.edges[2] + at].reshape(*rotations.shape[:2], 6, -1)
            rows[:, :, 3:] = rotations @ rows[:, :, 3:]
            for k, across in enumerate(np.linalg.pinv(rows.reshape(len(rows), 6 * self.n, -1)), first):
                lam[k, at] -= across @ values.motion[k - first]
                if self.columns.two and k < last:
                    shift = (self.run.star[k] - self.run.x[k]).reshape(self.n, 6) / self.metric
                    shift[:, 3:] = (rotations[k - first] @ shift[:, 3:, None])[..., 0]
                    zeta[k, at] += across @ (shift.ravel() - values.shift[k - first])
        return states._replace(lam=lam, zeta=zeta)

    def _solved_velocities(self, v: np.ndarray) -> np.ndarray:
        """Velocities at which the equations of the points hold: those before they are projected."""
        if not self.onto or len(v) == 1:
            return v
        star, first = (x.reshape(-1, self.n, 6) for x in (self.run.star, self.run.first))
        ends = lifted(self.turning, self.method.local, star, first)
        return np.concatenate([v[:1], ends.reshape(len(ends), -1)])

    def _velocities(self, states: MovingStates, at: slice, given: np.ndarray, on: np.ndarray) -> VelocitiesBack:
        count = len(given)
        poses = {name: getattr(states, name)[at] for name in ("t", "angles", "q")}
        return VelocitiesBack(
            self.residuals, made_states(self.residuals.mechanism, count, forced=np.zeros(count), **poses), given, on
        )

    def _changes(self, states: MovingStates, part: slice) -> VelocitiesBack:
        """Velocities of points where the step changes, and those on the constraints that they are compared with."""
        mechanism, v, on = self.residuals.mechanism, states.v[part], states.v[part].copy()
        for k in np.flatnonzero(self.run.follows[part]):
            t, q, angles = (getattr(states, name)[part][k] for name in ("t", "q", "angles"))
            on[k] = mechanism.project(q.reshape(-1, 7), v[k].reshape(-1, 6), float(t), angles)[1].ravel()
        return self._velocities(states, part, v, on)

    def _charts(self, part: slice) -> ChartSlopes:
        """Of some steps, (steps, bodies, 6, 6)."""
        run, shares, shape = self.run, self.shares, (-1, self.n, 6)
        a = run.rate[part] + (run.h / run.before)[part, None] * (run.a[part] - run.rate[part])
        ahead = shares.of_second * run.second[part] + shares.of_rate * run.rate[part] - shares.of_before * a
        given = run.x[part], run.star[part], run.first[part], run.second[part], ahead - run.second[part]
        return chart_of(self.turning, self.method.local, *(x.reshape(shape) for x in given))

    def _points(self, states: MovingStates) -> PointSlopes:
        residuals, columns = self.residuals, self.columns
        values, (by_pose, by_velocity) = residuals.columns(states)
        R = residuals.rotations(states.q)
        in_space = by_velocity[..., columns.speed].reshape(len(R), self.n, 6, -1)
        in_space[:, :, 3:] = R @ in_space[:, :, 3:]
        shift = self.metric * values.shift.reshape(len(R), self.n, 6)
        pushed = (R.transpose(0, 1, 3, 2) @ -shift[..., 3:, None])[..., 0]
        pushed[:, ~self.turning] = 0.0  # Rᵀ f turns with the body
        return PointSlopes(by_pose, by_velocity, in_space, R, so3.hat(pushed))


class StepsBack:
    """Steps of generalized alpha one after the other, with their derivatives. All that does not depend on cotangents is
    found for all of them at once: NumPy takes as long for one."""

    def __init__(self, adjoint: AlphaAdjoint, part: slice, chart: ChartSlopes, points: PointSlopes):
        """points: where the steps of this part begin and end, one more than steps."""
        self.adjoint, self.method, self.chart, self.where = adjoint, adjoint.method, chart, adjoint.columns
        h, before = (x[part, None, None, None] for x in (adjoint.run.h, adjoint.run.before))
        self.ratio, self.h, self.n, self.size = h / before, h, adjoint.n, 6 * adjoint.n
        self.rotations, self.turned = points.rotations[:-1], points.turned[:-1]
        self.slopes, self.shift = self._slopes(points), points.by_pose[:-1, ..., self.where.shift]
        self.unknowns, self.onto = self._unknowns(), self._onto()
        self.moved = self._moved(points) if self.where.two else np.zeros((len(h), self.size, 0))
        self.found, self.of_x = np.zeros((len(h), self.where.ends[-1])), np.zeros((len(h), self.size))
        self.factors = self._factors(points.in_space[1:])

    def _slopes(self, points: PointSlopes) -> np.ndarray:
        """Derivatives by pose, V and V' of each body, of the equations that follow it (steps, bodies, 18, most)."""
        where, (at, counts) = self.where, self.where.equations
        body, (side, number) = np.arange(self.n)[:, None, None], np.divmod(np.arange(6)[:, None], 3)
        of_places = where.of_places[at][:, None]
        by_pose = points.by_pose[1:, body, side, number, where.by_pose[at][:, None]]
        by_velocity = points.by_velocity[1:, body, side, number, where.by_velocity[at][:, None]]
        out = np.zeros((len(self.h), self.n, 3, 6, at.shape[1]))
        out[:, :, 0] = np.where(of_places, by_velocity, by_pose) * counts[:, None]
        out[:, :, 1] = by_velocity * (counts[:, None] & ~of_places)
        inertia = self.adjoint.residuals.inertia(points.rotations[1:])
        for i in range(self.n):
            own = int(np.searchsorted(at[i][counts[i]], 6 * i))
            out[:, i, 2, :, own : own + 6] = inertia[:, i].transpose(0, 2, 1)
        if len(where.rotors):
            rotors = np.zeros(where.ends[-1], dtype=int)
            rotors[where.ends[0] + where.rotors] = where.speed[where.rotors]
            column = rotors[at][:, None]
            out[:, :, 2] += points.by_velocity[1:, body, side, number, column] * ((column > 0) & counts[:, None])
        return out.reshape(len(self.h), self.n, 18, -1)

    def _unknowns(self) -> np.ndarray:
        """Changes of the result (δ, V, V' and a of each body) by its x'', (steps, bodies, 24, 6)."""
        chart, shares, (_, _, gamma, beta) = self.chart, self.adjoint.shares, self.method.coefficients
        to_star, to_first = self.h**2 * beta * shares.of_second, self.h * gamma * shares.of_second
        to_rate = to_star * chart.rate_star + to_first * chart.rate_first + chart.rate_second
        a = shares.of_second * chart.a_off
        if self.method.local:  # a = V' + lift(x*, ahead - x'')
            a = to_rate + to_star * chart.a_star + (shares.of_second - 1.0) * chart.a_off
        return np.concatenate(
            [to_star * chart.onward, to_star * chart.v_star + to_first * chart.v_first, to_rate, a], axis=2
        )

    def _onto(self) -> np.ndarray:
        """Changes of the result by those of what the step began with, its unknowns held: (steps, bodies, 24, 24)."""
        chart, shares, h, (_, _, gamma, beta) = self.chart, self.adjoint.shares, self.h, self.method.coefficients
        none, local = np.zeros_like(chart.onward), float(self.method.local)
        first = np.concatenate([none, chart.v_first, chart.rate_first, local * chart.rate_first], axis=2)
        a_star = chart.a_star + local * chart.rate_star
        star = np.concatenate([chart.onward, chart.v_star, chart.rate_star, a_star], axis=2)
        ahead = h * gamma * first + h * h * beta * star
        ahead[:, :, 18:] += chart.a_off
        a = h * (1.0 - gamma) * first + h * h * (0.5 - beta) * star - shares.of_before * ahead
        begin = np.concatenate([chart.back, none, none, none], axis=2)
        rate = shares.of_rate * ahead + (1.0 - self.ratio) * a
        return np.concatenate([begin, first + h * star, rate, self.ratio * a], axis=3)

    def _moved(self, points: PointSlopes) -> np.ndarray:
        """How ζ moves the bodies, seen from where they end, (steps, 6 bodies, rows)."""
        blocks = -self.adjoint.metric[..., None] * points.in_space[:-1][..., self.where.others]
        blocks[:, :, 3:] = self.rotations.transpose(0, 1, 3, 2) @ blocks[:, :, 3:]
        return (self.chart.onward @ blocks).reshape(len(self.h), self.size, -1)

    def _factors(self, in_space: np.ndarray) -> BalancedFactors:
        """Of Kᵀ: x'', λ and ζ by the equations. in_space: Jacobians of the constraints where the steps end."""
        where, (one, two, _), count = self.where, self.where.ends, len(self.h)
        redundant = bool(self.adjoint.residuals.mechanism.redundant)
        form, chosen, first = self.adjoint.form
        body = np.arange(self.n)[:, None, None]
        followed = self.unknowns[:, :, :18].transpose(0, 1, 3, 2) @ self.slopes
        held = in_space[:, body, np.arange(6)[:, None], where.rows.at[:, None]]
        moved = np.zeros((count, 0))
        if where.two:
            blocks = self.moved.reshape(count, self.n, 6, -1)[:, body, np.arange(6), where.places.at[..., None]]
            moved = blocks @ self.slopes[:, :, :6]
        diagonal = np.zeros((count, two - one if redundant else len(where.rotors)))
        diagonal[:, where.rotors if redundant else slice(None)] = -1.0
        parts = [part.reshape(count, -1) for part in (followed, held, moved, diagonal)]
        numbers = np.add.reduceat(np.concatenate(parts, axis=1)[:, chosen], first, axis=1)
        return BalancedFactors(form, numbers, self._surplus(in_space) if redundant else None)

    def _surplus(self, in_space: np.ndarray) -> np.ndarray:
        """What is added to the diagonal of Kᵀ for its factor where rows depend on others: parts of that of
        -J M⁻¹ Jᵀ, as x'' moves the bodies."""
        (one, two, three), inverse = self.where.ends, self.adjoint.residuals.metric("mass")
        out, reach = np.zeros((len(self.h), three)), self.h[:, 0, 0] ** 2 * self.method.coefficients[3]
        size = np.einsum("sijr,ij->sr", in_space**2, inverse)
        out[:, one:two] = -SURPLUS * self.adjoint.shares.of_second * reach * size
        out[:, one + self.where.rotors] = 0.0
        return out

    def back(self, k: int, given: np.ndarray) -> np.ndarray:
        """Cotangents (bodies, 4, 6) of what step k began with, from those of its result."""
        n, size, bar = self.n, self.size, np.zeros(self.where.ends[-1])
        bar[:size] = (given.reshape(n, 1, 24) @ self.unknowns[k]).ravel()
        if self.where.two:
            bar[self.where.ends[1] :] = given[:, 0].ravel() @ self.moved[k]
        w = self.factors.solve(k, bar)
        own = given.copy()
        own[:, :3] -= (self.slopes[k] @ w[self.where.equations.at][..., None]).reshape(n, 3, 6)
        begin = (own.reshape(n, 1, 24) @ self.onto[k]).reshape(n, 4, 6)
        self.found[k] = w
        if self.where.two:
            moved = own[:, :1] @ self.chart.onward[k]
            self.of_x[k] = moved.ravel()
            begin[:, 0] += self._with_poses(k, moved[:, 0])
        return begin

    def _with_poses(self, k: int, moved: np.ndarray) -> np.ndarray:
        """Cotangents of the poses that step k began at, from those (bodies, 6) of its shift x = -W J(q)ᵀ ζ along the
        chart."""
        pushed = moved.copy()
        pushed[:, 3:] = (self.rotations[k] @ moved[:, 3:, None])[..., 0]
        out = (self.shift[k] @ (-self.adjoint.metric * pushed).ravel()).reshape(-1, 6)
        out[:, :3] += (moved[:, None, 3:] @ self.turned[k])[:, 0]
        return out

    def weigh(self, weights: Weights, part: slice) -> None:
        """Write what the residuals of the points are multiplied with."""
        where, ends = self.where, slice(part.start + 1, part.stop + 1)
        motion, held, places = np.split(self.found, where.ends[:2], axis=1)
        weights.motion[ends], weights.shift[part] = motion, -self.of_x
        weights.change[ends, where.held[where.rotors]] = held[:, where.rotors]
        if where.two:
            weights.speed[ends, where.measured], weights.place[ends, where.measured] = held[:, where.others], places
        else:
            weights.place[ends, where.measured] = held[:, where.others]
