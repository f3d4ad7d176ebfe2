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
    state, vectors = stepper.state, stepper.scheme.vectors.split(stepper.vectors, stepper.packed)  # views

    def keep() -> None:
        parts = state.point[: 7 * n], state.point[7 * n : 13 * n], state.rate_n, state.a_n
        lam = state.lam.reshape(-1, 3)[stepper.structure.nodes].ravel()
        points.append((*(part.copy() for part in parts), lam, state.point[13 * n : -1].copy()))

    keep()
    while len(steps) < stepper.plan.steps:
        stepper.take(1)
        zeta = state.zeta.reshape(-1, 3)[row_nodes].ravel()
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


class PointSlopes(NamedTuple):
    """The equations at points (points, ...): derivatives by pose and by velocity, by V' (bodies, 6, 6), the Jacobian of
    the constraints on velocities of the bodies' spaces and on (ω in the body, r' in space), and the rotations between
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
        given = np.zeros((self.n, 4, 6))  # of each body by δ, V, V' and a
        for last in range(count - 1, 0, -CHUNK):
            part = slice(max(last - CHUNK, 0), last)
            points = self._points(MovingStates(*(x[part.start : last + 1] for x in states)))
            steps = StepsBack(self, part, self._charts(part), points)
            for k in range(last, part.start, -1):
                given[:, 0] += kicks[0][k].reshape(-1, 6)
                given[:, 1] += kicks[1][k].reshape(-1, 6)
                given = steps.back(k - 1 - part.start, given)
            steps.weigh(weights, part)
        return Cotangents(*given.transpose(1, 0, 2).reshape(4, size)), weights

    def _charts(self, part: slice) -> ChartSlopes:
        """Of some steps, (steps, bodies, 6, 6)."""
        run, shares, shape = self.run, self.shares, (-1, self.n, 6)
        a = run.rate[part] + (run.h / run.before)[part, None] * (run.a[part] - run.rate[part])
        ahead = shares.of_second * run.second[part] + shares.of_rate * run.rate[part] - shares.of_before * a
        given = run.x[part], run.star[part], run.first[part], run.second[part], ahead - run.second[part]
        return chart_of(self.turning, self.method.local, *(x.reshape(shape) for x in given))

    def _points(self, states: MovingStates) -> PointSlopes:
        values, by_pose, by_velocity = self.residuals.slopes(states)
        R = self.residuals.rotations(states.q)
        return PointSlopes(
            *(by_pose, by_velocity, self.residuals.inertia(R)),
            *(by_velocity.speed, self.residuals.to_space(by_velocity.speed, R), R),
            self._shift(values.shift, R, by_pose.shift),
        )

    def _shift(self, reaction: np.ndarray, R: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The derivative of the shift x = -W J(q)ᵀ ζ along the chart by the poses, (points, 6 bodies, 6 bodies)."""
        n, count = self.n, len(R)
        by_pose = -self.metric[:, :, None] * slopes.reshape(count, n, 6, 6 * n)
        by_pose[:, :, 3:] = np.einsum("sikj,sikm->sijm", R, by_pose[:, :, 3:])
        pushed = np.einsum("sikj,sik->sij", R, -(self.metric * reaction.reshape(count, n, 6))[..., 3:])
        for i in np.flatnonzero(self.turning):  # Rᵀ f turns with the body
            by_pose[:, i, 3:, 6 * i : 6 * i + 3] += so3.hat(pushed[:, i])
        return by_pose.reshape(count, 6 * n, 6 * n)


class StepsBack:
    """Steps of generalized alpha one after the other, with their derivatives. All that does not depend on cotangents is
    found for all of them at once: NumPy takes as long for one."""

    def __init__(self, adjoint: AlphaAdjoint, part: slice, chart: ChartSlopes, points: PointSlopes):
        """points: where the steps of this part begin and end, one more than steps."""
        self.adjoint, self.method, self.chart = adjoint, adjoint.method, chart
        h, before = (x[part, None, None, None] for x in (adjoint.run.h, adjoint.run.before))
        self.ratio, self.h, self.two = h / before, h, self.method.index == 2
        self.size, self.rows = 6 * adjoint.n, len(adjoint.residuals.rows)
        end = PointSlopes(*(ResidualParts(*(y[1:] for y in x)) if isinstance(x, tuple) else x[1:] for x in points))
        self.slopes = self._slopes(end)
        self.unknowns, self.onto = self._unknowns(), self._onto()
        self.moved = self._moved(points) if self.two else np.zeros((len(h), self.size, 0))
        self.shift = points.shift[:-1]
        self.matrix = self._matrix(end)
        self.found, self.of_x = np.zeros(self.matrix.shape[:2]), np.zeros((len(h), self.size))
        self.scales = np.abs(self.matrix).max(axis=2)
        self.balanced = self.matrix / self.scales[..., None]
        self.columns = np.abs(self.balanced).max(axis=1)
        self.balanced /= self.columns[:, None]

    def _slopes(self, end: PointSlopes) -> np.ndarray:
        """Derivatives of the equations by pose, V and V' (steps, equations, 3, 6 bodies): of motion, of what is held
        (speeds, or places with index 3, accelerations of rotors), then with index 2 of places."""
        residuals, size, rows = self.adjoint.residuals, self.size, self.rows
        out = np.zeros((len(self.h), size + (1 + self.two) * rows, 3, size))
        out[:, :size, 0], out[:, :size, 1] = end.by_pose.motion, end.by_velocity.motion
        for i in range(self.adjoint.n):
            own = slice(6 * i, 6 * i + 6)
            out[:, own, 2, own] = end.inertia[:, i]
        held, measured, rotors = out[:, size : size + rows], residuals.measured, residuals.rotors
        place = end.jacobian * measured[:, None]
        held[:, :, 0] = end.by_pose.speed * measured[:, None] if self.two else place
        held[:, :, 1] = place if self.two else 0.0
        held[:, rotors, 0], held[:, rotors, 1] = end.by_pose.change[:, rotors], end.by_velocity.change[:, rotors]
        held[:, rotors, 2] = end.jacobian[:, rotors]
        if self.two:
            out[:, size + rows :, 0] = place
        return out

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
        adjoint, count = self.adjoint, len(self.h)
        rows = -adjoint.metric.ravel() * points.in_space[:-1] * adjoint.residuals.measured[:, None]
        blocks = rows.reshape(count, -1, adjoint.n, 6).transpose(0, 2, 3, 1).copy()
        blocks[:, :, 3:] = points.rotations[:-1].transpose(0, 1, 3, 2) @ blocks[:, :, 3:]
        return (self.chart.onward @ blocks).reshape(count, self.size, self.rows)

    def _matrix(self, end: PointSlopes) -> np.ndarray:
        """K: the equations by x'', λ and ζ."""
        residuals, size, rows, n, count = self.adjoint.residuals, self.size, self.rows, self.adjoint.n, len(self.h)
        total = self.slopes.shape[1]
        out = np.zeros((count, total, total))
        by_body = self.slopes.reshape(count, total, 3, n, 6).transpose(0, 3, 1, 2, 4).reshape(count, n, total, 18)
        out[:, :, :size] = (by_body @ self.unknowns[:, :, :18]).transpose(0, 2, 1, 3).reshape(count, total, size)
        out[:, :size, size : size + rows] = end.in_space.transpose(0, 2, 1)
        if self.two:
            out[:, :, size + rows :] = self.slopes[:, :, 0] @ self.moved
        empty, free = ~residuals.measured & ~residuals.rotors, ~residuals.measured
        held = size + np.arange(rows)
        out[:, held[residuals.rotors], held[residuals.rotors]] -= 1.0
        out[:, held[empty], held[empty]] += 1.0
        if self.two:
            place = held[free] + rows
            out[:, place, place] += 1.0
        return out

    def back(self, k: int, given: np.ndarray) -> np.ndarray:
        """Cotangents (bodies, 4, 6) of what step k began with, from those of its result."""
        n, size, bar = self.adjoint.n, self.size, np.zeros(self.matrix.shape[1])
        bar[:size] = (given.reshape(n, 1, 24) @ self.unknowns[k]).ravel()
        if self.two:
            bar[size + self.rows :] = given[:, 0].ravel() @ self.moved[k]
        w = solve_balanced(self.matrix[k], self.balanced[k], self.scales[k], self.columns[k], bar)
        own = given.copy()
        own[:, :3] -= (w @ self.slopes[k].reshape(len(w), -1)).reshape(3, n, 6).transpose(1, 0, 2)
        begin = (own.reshape(n, 1, 24) @ self.onto[k]).reshape(n, 4, 6)
        self.found[k] = w
        if self.two:
            self.of_x[k] = (own[:, :1] @ self.chart.onward[k]).ravel()
            begin[:, 0] += (self.of_x[k] @ self.shift[k]).reshape(n, 6)
        return begin

    def weigh(self, weights: Weights, part: slice) -> None:
        """Write what the residuals of the points are multiplied with."""
        residuals, ends = self.adjoint.residuals, slice(part.start + 1, part.stop + 1)
        motion, held, places = np.split(self.found, [self.size, self.size + self.rows], axis=1)
        weights.motion[ends], weights.change[ends] = motion, np.where(residuals.rotors, held, 0.0)
        measured = np.where(residuals.measured, held, 0.0)
        if self.two:
            weights.speed[ends], weights.place[ends] = measured, np.where(residuals.measured, places, 0.0)
        else:
            weights.place[ends] = measured
        weights.shift[part] = -self.of_x


def solve_transposed(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve matrixᵀ w = right, with rows and columns of about one size, and one refinement."""
    rows = np.abs(matrix).max(axis=1)
    balanced = matrix / rows[:, None]
    columns = np.abs(balanced).max(axis=0)
    return solve_balanced(matrix, balanced / columns, rows, columns, right)


def solve_balanced(
    matrix: np.ndarray, balanced: np.ndarray, rows: np.ndarray, columns: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Solve matrixᵀ w = right with one refinement; balanced: the matrix divided by sizes of its rows and columns, which
    is lost."""
    from scipy.linalg.lapack import dgetrf, dgetrs  # takes long to load; lu_factor looks at its arguments for longer

    factors, pivots, _ = dgetrf(balanced.T, overwrite_a=1)  # of the transpose: LAPACK has columns where NumPy has rows
    w = dgetrs(factors, pivots, right / columns)[0] / rows
    w += dgetrs(factors, pivots, (right - w @ matrix) / columns)[0] / rows
    return w
