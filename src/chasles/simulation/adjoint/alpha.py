"""The steps of generalized alpha taken backward: the discrete adjoint of `constrained.generalized_alpha`.

A step leads from (q, V, V', a) to the next by unknowns x'', λ and, with index 2, ζ (the formulas are at the top of that
module). With K the exact derivative of its equations by the unknowns, a cotangent of the result gives Kᵀ w = that of
the unknowns, and w goes back through the equations to what the step began with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates, ResidualParts
from chasles.constrained.group import on_se3
from chasles.constrained.run import ConstrainedStepper
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.lie import se3, so3

CHUNK = 32  # steps whose derivatives are in memory at once


class Replayed(NamedTuple):
    """What generalized alpha had at its points (points, ...) and in its steps (steps, ...)."""

    h: np.ndarray
    before: np.ndarray  # the step before each step
    q: np.ndarray
    v: np.ndarray
    rate: np.ndarray  # V'
    a: np.ndarray
    lam: np.ndarray  # in the order of the tiles, as ζ is
    angles: np.ndarray
    zeta: np.ndarray
    x: np.ndarray
    star: np.ndarray
    first: np.ndarray  # x'
    second: np.ndarray  # x''


def replay(stepper: ConstrainedStepper) -> Replayed:
    """Take the steps of a run again, one by one."""
    mechanism, n = stepper.mechanism, stepper.mechanism.n
    row_nodes = mechanism.elimination.order[mechanism._node]
    points: list[tuple[np.ndarray, ...]] = []
    steps: list[tuple[np.ndarray, ...]] = []

    def keep() -> None:
        state = stepper.state
        parts = state.point[: 7 * n], state.point[7 * n : 13 * n], state.rate_n, state.a_n
        lam = state.lam.reshape(-1, 3)[stepper.structure.nodes].ravel()
        points.append((*(part.copy() for part in parts), lam, state.point[13 * n : -1].copy()))

    keep()
    while len(steps) < stepper.plan.steps:
        stepper.take(1)
        vectors = stepper.scheme.vectors.split(stepper.vectors, stepper.packed)
        zeta = stepper.state.zeta.reshape(-1, 3)[row_nodes].ravel()
        steps.append((zeta, *(part.copy() for part in (vectors.x, vectors.star, vectors.rate, vectors.second))))
        keep()
    h = np.full(len(steps), stepper.plan.step)
    h[-1] = stepper.plan.last
    of_points, of_steps = ([np.array(part) for part in zip(*rows, strict=True)] for rows in (points, steps))
    return Replayed(h, np.concatenate([[stepper.first], h[:-1]]), *of_points, *of_steps)


class Cotangents(NamedTuple):
    """Of a point: by q exp(δ), V, V' and a, (6 bodies) each."""

    turn: np.ndarray
    v: np.ndarray
    rate: np.ndarray
    a: np.ndarray


class Weights(NamedTuple):
    """What residuals at a state are multiplied with: of motion, of the shift x (along the chart), of places, of
    speeds and of changes. The derivative by a parameter is that of minus their sum."""

    motion: np.ndarray
    shift: np.ndarray
    place: np.ndarray
    speed: np.ndarray
    change: np.ndarray


def ad_of(turning: np.ndarray, x: np.ndarray) -> np.ndarray:
    """ad of the algebra of each body, (..., bodies, 6, 6)."""
    out = se3.ad(x)
    out[..., ~turning, 3:, :] = 0.0
    return out


def onward_of(turning: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dexp_{-x} of each body."""
    out = se3.dexp(-x)
    out[..., ~turning, 3:, :3], out[..., ~turning, 3:, 3:] = 0.0, np.eye(3)
    return out


def back_of(turning: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Ad of exp(-x) of each body."""
    out = se3.Ad(se3.exp(-x))
    out[..., ~turning, 3:, :3], out[..., ~turning, 3:, 3:] = 0.0, np.eye(3)
    return out


class ChartSlopes(NamedTuple):
    """Derivatives of V, V' and of a - V' by x*, x' and x'' or a (bodies, 6, 6), of the displacement by x, and of where
    it leads by where it begins."""

    v_star: np.ndarray
    v_first: np.ndarray
    rate_star: np.ndarray
    rate_first: np.ndarray
    rate_second: np.ndarray
    a_star: np.ndarray
    a_off: np.ndarray
    onward: np.ndarray
    back: np.ndarray


def chart_of(turning: np.ndarray, local: bool, *given: np.ndarray) -> ChartSlopes:
    """Of `alpha_formulas.trial_state` and `carry_on`, at x, x*, x', x'' and a - x''."""
    x, star, first, second, off = given
    one = np.broadcast_to(np.eye(6), (*x.shape, 6))
    none = np.zeros_like(one)
    onward, back = onward_of(turning, x), back_of(turning, x)
    if not local:
        return ChartSlopes(none, one, none, none, one, none, one, onward, back)

    def along(y: np.ndarray) -> np.ndarray:
        """∂ lift(x*, y) / ∂x*."""
        ad_y, inner = ad_of(turning, y), (ad_star @ y[..., None])[..., 0]
        return 0.5 * ad_y - (ad_of(turning, inner) + ad_star @ ad_y) / 6

    ad_star, ad_first = ad_of(turning, star), ad_of(turning, first)
    lift = one - 0.5 * ad_star + ad_star @ ad_star / 6
    inner = (ad_star @ first[..., None])[..., 0]
    rate_star = along(second) - ad_first @ ad_first / 6
    rate_first = (ad_first @ ad_star - ad_of(turning, inner)) / 6
    return ChartSlopes(along(first), lift, rate_star, rate_first, lift, along(off), lift, onward, back)


def times(block: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Blocks (bodies, 6, 6), transposed, times (6 bodies)."""
    return np.einsum("ijk,ij->ik", block, y.reshape(-1, 6)).ravel()


def on_columns(matrix: np.ndarray, block: np.ndarray) -> np.ndarray:
    """A matrix (rows, 6 bodies) times blocks (bodies, 6, 6) on the diagonal."""
    rows = matrix.reshape(len(matrix), len(block), 6)
    return np.einsum("rij,ijk->rik", rows, block).reshape(matrix.shape)


class PointSlopes(NamedTuple):
    """The equations at a point: derivatives by pose and by velocity, by V' (bodies, 6, 6), the Jacobian of the
    constraints on velocities of the bodies' spaces and on (ω in the body, r' in space), and the rotations between
    these; and how the shift of the step that begins there follows the poses."""

    by_pose: ResidualParts
    by_velocity: ResidualParts
    inertia: np.ndarray
    jacobian: np.ndarray
    in_space: np.ndarray
    rotations: np.ndarray
    shift: np.ndarray


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
        self.metric = residuals.metric(method.metric)
        am, af, _, _ = method.coefficients
        self.shares = Shares((1.0 - af) / (1.0 - am), af / (1.0 - am), am / (1.0 - am))

    def back(self, kicks: tuple[np.ndarray, np.ndarray], states: MovingStates) -> tuple[Cotangents, Weights]:
        """Cotangents of the start, and the weights of the residuals at the points (points, ...). kicks: cotangents that
        the points but the first have, by δ and V. states: of all points, with ζ of the step that begins there."""
        size, rows, count = 6 * self.n, len(self.residuals.rows), len(states.t)
        weights = Weights(*(np.zeros((count, k)) for k in (size, size, rows, rows, rows)))
        found = Cotangents(kicks[0][-1], kicks[1][-1], np.zeros(size), np.zeros(size))
        for last in range(count - 1, 0, -CHUNK):
            first = max(last - CHUNK, 0)
            points = self._points(MovingStates(*(x[first : last + 1] for x in states)))
            charts = self._charts(slice(first, last))
            for k in range(last, first, -1):
                chart = ChartSlopes(*(part[k - 1 - first] for part in charts))
                step = StepBack(self, k, chart, points[k - first], points[k - 1 - first])
                found, own = step.back(found)
                for name in ("motion", "place", "speed", "change"):
                    getattr(weights, name)[k] = getattr(own, name)
                weights.shift[k - 1] = own.shift
                if k > 1:
                    found = found._replace(turn=found.turn + kicks[0][k - 1], v=found.v + kicks[1][k - 1])
        return found, weights

    def _charts(self, part: slice) -> ChartSlopes:
        """Of some steps, (steps, bodies, 6, 6)."""
        run, shares, shape = self.run, self.shares, (-1, self.n, 6)
        a = run.rate[part] + (run.h / run.before)[part, None] * (run.a[part] - run.rate[part])
        ahead = shares.of_second * run.second[part] + shares.of_rate * run.rate[part] - shares.of_before * a
        given = run.x[part], run.star[part], run.first[part], run.second[part], ahead - run.second[part]
        return chart_of(self.turning, self.method.local, *(x.reshape(shape) for x in given))

    def _points(self, states: MovingStates) -> list[PointSlopes]:
        values, by_pose, by_velocity = self.residuals.slopes(states)
        R = self.residuals.rotations(states.q)
        arrays = (
            *(self.residuals.inertia(R), by_velocity.speed, self.residuals.to_space(by_velocity.speed, R), R),
            self._shift(values.shift, R, by_pose.shift),
        )
        return [
            PointSlopes(
                ResidualParts(*(x[k] for x in by_pose)),
                ResidualParts(*(x[k] for x in by_velocity)),
                *(x[k] for x in arrays),
            )
            for k in range(len(R))
        ]

    def _shift(self, reaction: np.ndarray, R: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The derivative of the shift x = -W J(q)ᵀ ζ along the chart by the poses, (points, 6 bodies, 6 bodies)."""
        n, count = self.n, len(R)
        by_pose = -self.metric[:, :, None] * slopes.reshape(count, n, 6, 6 * n)
        by_pose[:, :, 3:] = np.einsum("sikj,sikm->sijm", R, by_pose[:, :, 3:])
        pushed = np.einsum("sikj,sik->sij", R, -(self.metric * reaction.reshape(count, n, 6))[..., 3:])
        for i in np.flatnonzero(self.turning):  # Rᵀ f turns with the body
            by_pose[:, i, 3:, 6 * i : 6 * i + 3] += so3.hat(pushed[:, i])
        return by_pose.reshape(count, 6 * n, 6 * n)


class StepBack:
    """A step of generalized alpha, from point k - 1 to point k, with its derivatives."""

    def __init__(self, adjoint: AlphaAdjoint, k: int, chart: ChartSlopes, point: PointSlopes, before: PointSlopes):
        self.adjoint, self.method, self.shares = adjoint, adjoint.method, adjoint.shares
        self.chart, self.point, self.before = chart, point, before
        _, _, gamma, beta = self.method.coefficients
        self.h = adjoint.run.h[k - 1]
        self.ratio = self.h / adjoint.run.before[k - 1]
        self.to_star, self.to_first = self.h**2 * beta * self.shares.of_second, self.h * gamma * self.shares.of_second
        self.to_v = self.to_star * chart.v_star + self.to_first * chart.v_first
        self.to_rate = self.to_star * chart.rate_star + self.to_first * chart.rate_first + chart.rate_second
        self.moved = self._by_zeta() if self.method.index == 2 else np.zeros((6 * adjoint.n, 0))

    def followed(self, by_pose: np.ndarray, by_velocity: np.ndarray, by_rate: np.ndarray | None) -> np.ndarray:
        """Rows by x'' from rows by pose, velocity and V'."""
        rows = self.to_star * on_columns(by_pose, self.chart.onward) + on_columns(by_velocity, self.to_v)
        return rows if by_rate is None else rows + on_columns(by_rate, self.to_rate)

    def _by_zeta(self) -> np.ndarray:
        """How ζ moves the bodies, seen from where they end, (6 bodies, rows)."""
        adjoint, before = self.adjoint, self.before
        rows = -adjoint.metric.ravel() * before.in_space * adjoint.residuals.measured[:, None]
        blocks = rows.reshape(len(rows), adjoint.n, 6).copy()
        blocks[..., 3:] = np.einsum("ikj,rik->rij", before.rotations, blocks[..., 3:])
        return np.einsum("ijk,rik->ijr", self.chart.onward, blocks).reshape(6 * adjoint.n, -1)

    def matrix(self) -> np.ndarray:
        """K: motion, then speeds or places (accelerations of rotors), then with index 2 places; by x'', λ and ζ."""
        point, residuals, size = self.point, self.adjoint.residuals, 6 * self.adjoint.n
        empty, rotors, two = ~residuals.measured & ~residuals.rotors, residuals.rotors, self.method.index == 2
        by_rate = np.zeros((size, size))
        for i, block in enumerate(point.inertia):
            by_rate[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = block
        motion = self.followed(point.by_pose.motion, point.by_velocity.motion, by_rate)
        none = np.zeros_like(point.jacobian)
        place = self.followed(point.jacobian, none, None)
        change = self.followed(point.by_pose.change, point.by_velocity.change, point.jacobian)
        held = self.followed(point.by_pose.speed, point.jacobian, None) if two else place
        held = np.where(rotors[:, None], change, np.where(empty[:, None], 0.0, held))
        release = np.diag(np.where(rotors, -1.0, np.where(empty, 1.0, 0.0)))
        if not two:
            return np.block([[motion, point.in_space.T], [held, release]])
        moved = self.moved
        of_held = np.where(rotors[:, None], point.by_pose.change, point.by_pose.speed) @ moved
        of_place = point.jacobian @ moved
        free = ~residuals.measured
        of_held[empty], of_place[free], place[free] = 0.0, np.eye(len(free))[free], 0.0
        return np.block([
            [motion, point.in_space.T, point.by_pose.motion @ moved],
            [held, release, of_held],
            [place, np.zeros_like(release), of_place],
        ])  # fmt: skip

    def unknowns(self, given: Cotangents) -> np.ndarray:
        """Cotangents of x'', λ and ζ from those of the result."""
        chart, rows = self.chart, len(self.point.jacobian)
        bar = self.to_star * times(chart.onward, given.turn) + times(self.to_v, given.v)
        bar = bar + times(self.to_rate, given.rate)
        if self.method.local:  # a = V' + lift(x*, ahead - x'')
            bar = bar + times(self.to_rate, given.a) + self.to_star * times(chart.a_star, given.a)
            bar = bar + (self.shares.of_second - 1.0) * times(chart.a_off, given.a)
        else:
            bar = bar + self.shares.of_second * given.a
        return np.concatenate([bar, np.zeros(rows), given.turn @ self.moved])

    def back(self, given: Cotangents) -> tuple[Cotangents, Weights]:
        """Cotangents of what the step began with, and the weights of its equations."""
        point, chart, method = self.point, self.chart, self.method
        residuals, size, rows = self.adjoint.residuals, 6 * self.adjoint.n, len(self.point.jacobian)
        w = solve_transposed(self.matrix(), self.unknowns(given))
        motion, held = w[:size], w[size : size + rows]
        change = np.where(residuals.rotors, held, 0.0)
        speed = np.where(residuals.measured, held, 0.0)
        place = np.where(residuals.measured, w[size + rows :], 0.0) if method.index == 2 else speed
        if method.index == 3:
            speed = np.zeros(rows)
        by_pose, by_velocity = point.by_pose, point.by_velocity
        turn = given.turn - motion @ by_pose.motion - place @ point.jacobian - speed @ by_pose.speed
        turn = turn - change @ by_pose.change
        v = given.v - motion @ by_velocity.motion - speed @ point.jacobian - change @ by_velocity.change
        rate = given.rate - times(point.inertia, motion) - change @ point.jacobian
        if method.local:
            rate = rate + given.a
        of_x, (_, _, gamma, beta), h = times(chart.onward, turn), method.coefficients, self.h
        of_first = times(chart.v_first, v) + times(chart.rate_first, rate)
        of_star = of_x + times(chart.v_star, v) + times(chart.rate_star, rate) + times(chart.a_star, given.a)
        of_ahead = times(chart.a_off, given.a) + h * gamma * of_first + h * h * beta * of_star
        of_a = h * (1.0 - gamma) * of_first + h * h * (0.5 - beta) * of_star - self.shares.of_before * of_ahead
        moved = of_x if method.index == 2 else np.zeros(size)
        begin = Cotangents(
            times(chart.back, turn) + moved @ self.before.shift,
            of_first + h * of_star,
            self.shares.of_rate * of_ahead + (1.0 - self.ratio) * of_a,
            self.ratio * of_a,
        )
        return begin, Weights(motion, -moved, place, speed, change)


def solve_transposed(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve matrixᵀ w = right, with rows and columns of about one size, and one refinement."""
    from scipy.linalg.lapack import dgetrf, dgetrs  # takes long to load; lu_factor looks at its arguments for longer

    rows = np.abs(matrix).max(axis=1)
    balanced = matrix / rows[:, None]
    columns = np.abs(balanced).max(axis=0)
    balanced = balanced / columns
    factors, pivots, _ = dgetrf(balanced)
    w = dgetrs(factors, pivots, right / columns, trans=1)[0] / rows
    w += dgetrs(factors, pivots, (right - w @ matrix) / columns, trans=1)[0] / rows
    return w
