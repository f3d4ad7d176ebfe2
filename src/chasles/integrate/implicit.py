"""Implicit Lie group methods with fixed steps: the Lie midpoint rule, Gauss-Munthe-Kaas, Lie-Poisson midpoint.

The equations of a step are solved to rounding by Newton's method. Its matrix is found by differences, kept from step to
step, and found anew when another one is cheaper than the iterations that the old one would still take. Iteration ends
when the corrections no longer become smaller; it must end near the rounding level, else the step has failed and
`StepError` says where and how.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import blocks, engine
from chasles.integrate.blocks import ALGEBRA, COUNT, KIND, POINT
from chasles.integrate.field import Field, PythonField, call
from chasles.integrate.progress import Progress
from chasles.integrate.solution import Solution
from chasles.integrate.solve import LieODE
from chasles.integrate.space import Space
from chasles.kernel.algebra import cross, force_cross
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, store3, store6

EPS = 2.220446049250313e-16
ITERATIONS = 40  # in one attempt at a step
REMAINDER = 1e-3 * EPS  # what may be left of the iteration; a tenth of EPS shows as drift in 1e6 steps
NOISE = 32 * EPS  # corrections that stop shrinking below this are rounding
STUCK = 1e-9  # ... and below this if the matrix is new
FLOOR = 1e-6  # sizes of unknowns below this part of the largest do not count
DIFFERENCE = 1.4901161193847656e-08  # sqrt(EPS), relative difference for the matrix

RUNNING, DONE, NOT_FINITE, NO_CONVERGENCE, POLE, SINGULAR = range(6)
# integer memory of a run; `matrices` counts how often Newton's matrix was found
COUNTS = layout("COUNTS", step=1, rows=1, status=1, evaluations=1, iterations=1, matrices=1, tried=1)
TIMES = layout("TIMES", start=1, end=1, step=1, last=1, sign=1)
SETTINGS = layout("SETTINGS", mode=1, stages=1, count=1, every=1, point=1, algebra=1)
GROUP, MUNTHE_KAAS, LIE_POISSON = range(3)  # how a stage uses the field

# ---------------------------------------------------------------- Newton's method


@kernel
def lu_factor(a, pivots, m):
    """Replace the m x m matrix by its triangular factors, rows exchanged; False if it is singular."""
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(a[i * m + k]) > abs(a[best * m + k]):
                best = i
        pivots[k] = best
        if not abs(a[best * m + k]) > 0.0:
            return False
        if best != k:
            for j in range(m):
                a[k * m + j], a[best * m + j] = a[best * m + j], a[k * m + j]
        inverse = 1.0 / a[k * m + k]
        for i in range(k + 1, m):
            a[i * m + k] *= inverse
            for j in range(k + 1, m):
                a[i * m + j] -= a[i * m + k] * a[k * m + j]
    return True


@kernel
def lu_solve(a, pivots, b, m):
    """Solve with the factors; b becomes the solution."""
    for k in range(m):
        other = pivots[k]
        b[k], b[other] = b[other], b[k]
    for i in range(m):
        for j in range(i):
            b[i] -= a[i * m + j] * b[j]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            b[i] -= a[i * m + j] * b[j]
        b[i] /= a[i * m + i]


@kernel
def measure(z, step, groups, base, size, m):
    """Set the sizes of the groups of unknowns from their base, value and correction."""
    largest = 0.0
    for g in range(base.shape[0]):
        size[g] = base[g]
    for i in range(m):
        size[groups[i]] = max(size[groups[i]], abs(z[i]), abs(step[i]))
    for g in range(base.shape[0]):
        largest = max(largest, size[g])
    for g in range(base.shape[0]):
        size[g] = max(size[g], FLOOR * largest, 1e-300)


@kernel
def relative(v, groups, size, m):
    """Largest component in units of the size of its group; not finite if any is not."""
    worst = 0.0
    for i in range(m):
        ratio = abs(v[i]) / size[groups[i]]
        worst = ratio if not ratio <= worst else worst
    return worst


@kernel
def iterations_left(correction, rate):
    """How many more corrections it takes from this one, at this rate, until nothing is left."""
    return np.log(REMAINDER / correction) / np.log(rate) if rate < 1.0 else np.inf


@kernel
def evaluate_all(residual, context, z, r, matrix, groups, base, size, counts, work, m):
    """The residual at z; if there is no matrix that can be used, also its differences in each unknown.

    One loop does both, because `residual` is compiled anew wherever it is called. False if the matrix is singular.
    """
    lu, pivots, valid = matrix
    trial, changed = work[:m], work[m : 2 * m]
    for i in range(m):
        trial[i] = z[i]
    for j in range(-1, 0 if valid[0] else m):
        delta = 0.0
        if j >= 0:
            trial[j] = z[j] + DIFFERENCE * size[groups[j]]
            delta = trial[j] - z[j]
        residual(context, trial, changed)
        if j < 0:
            for i in range(m):
                r[i] = changed[i]
            measure(z, r, groups, base, size, m)
        else:
            trial[j] = z[j]
            for i in range(m):
                lu[i * m + j] = (changed[i] - r[i]) / delta
    if valid[0]:
        return True
    counts[COUNTS.matrices] += 1
    return lu_factor(lu, pivots, m)


@kernel
def newton(residual, context, z, r, matrix, groups, base, size, counts, history, work, m):
    """Solve residual(context, z, r) = 0 from the guess z; DONE, or what went wrong. r becomes scratch space.

    `matrix` (factors, pivots, whether they are valid) is kept between calls. `history` receives residual and
    correction of each iteration, relative to the sizes of the unknowns.
    """
    lu, pivots, valid = matrix
    fresh = False
    before = np.inf
    for k in range(history.shape[1]):
        fresh = fresh or not valid[0]
        regular = evaluate_all(residual, context, z, r, matrix, groups, base, size, counts, work, m)
        counts[COUNTS.iterations] += 1
        counts[COUNTS.tried] = k + 1
        history[0, k] = relative(r, groups, size, m)
        history[1, k] = np.nan
        valid[0] = 0
        if not np.isfinite(history[0, k]):
            return NOT_FINITE
        if not regular:
            return SINGULAR
        lu_solve(lu, pivots, r, m)
        measure(z, r, groups, base, size, m)
        correction = relative(r, groups, size, m)
        history[1, k] = correction
        if not np.isfinite(correction):
            return SINGULAR
        valid[0] = 1
        for i in range(m):
            z[i] -= r[i]
        if correction <= REMAINDER:
            return DONE
        rate = correction / before
        before = correction
        if k == 0:
            continue
        if rate < 0.5 and correction * rate <= REMAINDER:
            return DONE
        if rate >= 0.5 and (correction <= NOISE or (fresh and correction <= STUCK)):
            return DONE
        if iterations_left(correction, rate) > m + 3:
            valid[0] = 0
    valid[0] = 0
    return NO_CONVERGENCE


# ---------------------------------------------------------------- the equations of a step


@kernel
def largest(y, first, count):
    value = 0.0
    for k in range(count):
        value = max(value, abs(y[first + k]))
    return value


@kernel
def natural_sizes(table, y, base):
    """Size of the two groups of unknowns of each block: 1 for rotations, that of the point for translations."""
    for i in range(table.shape[0]):
        kind, iy = table[i, KIND], table[i, POINT]
        base[2 * i] = 1.0
        base[2 * i + 1] = 0.0
        if kind == blocks.VECTOR:
            base[2 * i] = largest(y, iy, table[i, COUNT])
        elif kind == blocks.SE2:
            base[2 * i + 1] = max(abs(y[iy + 2]), abs(y[iy + 5]))
        elif kind == blocks.SE3:
            base[2 * i + 1] = max(abs(y[iy + 3]), abs(y[iy + 7]), abs(y[iy + 11]))
        elif kind == blocks.POSE:
            base[2 * i + 1] = largest(y, iy + 4, 3)
        elif kind == blocks.SCREWED:
            base[2 * i + 1] = largest(y, iy + 3, 3)
        elif kind == blocks.COSCREWED:
            force = largest(y, iy + 3, 3)
            base[2 * i + 1] = largest(y, iy, 3) / force if force > 0.0 else 1.0


@kernel
def poisson_sizes(table, y, base):
    """The same where the unknowns are increments of the point."""
    for i in range(table.shape[0]):
        iy = table[i, POINT]
        base[2 * i] = largest(y, iy, 3)
        base[2 * i + 1] = largest(y, iy + 3, 3) if table[i, KIND] == blocks.COSCREWED else 0.0


@kernel
def generator(table, x, y, out):
    """The vector with which x moves y, on dual algebras: -ad*_x y (004 section 3.4.2)."""
    for i in range(table.shape[0]):
        iy, ix = table[i, POINT], table[i, ALGEBRA]
        if table[i, KIND] == blocks.ROTATED:
            store3(out, iy, cross(load3(x, ix, 0.0), load3(y, iy, 0.0)))
        else:
            store6(out, iy, force_cross(load6(x, ix, 0.0), load6(y, iy, 0.0)))


@kernel
def stage_residual(context, z, r):
    """Equations of a step of a method in the algebra; z holds h times the stages' slopes.

    z_i = h dexpinv_{S_i} f(t + c_i h, exp(S_i) y) with S_i = sum_j a_ij z_j; without dexpinv for the midpoint rule.
    """
    table, settings, a, _, c, t, h, sign, y, point, s, f, _, address, p = context
    stages, n, d = settings[SETTINGS.stages], settings[SETTINGS.point], settings[SETTINGS.algebra]
    for i in range(stages):
        engine.linear(s, 0, a, i * stages, stages, z, d, 1.0)
        blocks.move(table, blocks.EXP, y, s, point, 0.0)
        call(address, t + c[i] * h, point, 0, p, f, 0, n, d)
        if settings[SETTINGS.mode] == MUNTHE_KAAS:
            blocks.pullback(table, blocks.EXP, -1, s, f, f, 0, 0.0)
        for m in range(d):
            r[i * d + m] = z[i * d + m] - h * sign * f[m]


@kernel
def poisson_residual(context, z, r):
    """Equations of the Lie-Poisson midpoint rule: z = -h ad*_x (y + z/2), x the mean field between y and y + z."""
    table, settings, _, b, c, t, h, sign, y, point, s, f, total, address, p = context
    n = settings[SETTINGS.point]
    for m in range(n):
        total[m] = 0.0
    for i in range(c.shape[0]):
        for m in range(n):
            point[m] = y[m] + c[i] * z[m]
        call(address, t + 0.5 * h, point, 0, p, f, 0, n, n)
        for m in range(n):
            total[m] += b[i] * f[m]
    for m in range(n):
        point[m] = y[m] + 0.5 * z[m]
    generator(table, total, point, s)
    for m in range(n):
        r[m] = z[m] - h * sign * s[m]


@kernel
def step_residual(context, z, r):
    """The equations of a step of the method in use."""
    if context[1][SETTINGS.mode] == LIE_POISSON:
        poisson_residual(context, z, r)
    else:
        stage_residual(context, z, r)


@kernel
def first_guess(context, z):
    """Take the field at the beginning of the step for all stages."""
    table, settings, _, _, _, t, h, sign, y, _, _, f, _, address, p = context
    d = settings[SETTINGS.algebra]
    call(address, t, y, 0, p, f, 0, settings[SETTINGS.point], d)
    if settings[SETTINGS.mode] == LIE_POISSON:
        generator(table, f, y, z)
        for i in range(z.shape[0]):
            z[i] *= h * sign
    else:
        for i in range(z.shape[0]):
            z[i] = h * sign * f[i % d]


@kernel
def clock(counts, times, count):
    """(t, end of the step, step, whether it is the last): times are counted from the start, full steps are equal."""
    k = counts[COUNTS.step]
    last = k + 1 == count
    t = times[TIMES.start] + k * times[TIMES.step]
    target = times[TIMES.end] if last else times[TIMES.start] + (k + 1) * times[TIMES.step]
    return t, target, times[TIMES.last] if last else times[TIMES.step], last


@kernel
def record(row, t, y, f, x, saved_t, saved_y, saved_f, saved_x):
    """A saved point: time, point, field value, and the move of the step that led to it."""
    saved_t[row] = t
    for m in range(y.shape[0]):
        saved_y[row, m] = y[m]
    for m in range(f.shape[0]):
        saved_f[row, m] = f[m]
        saved_x[row, m] = x[m]


@kernel
def finish_step(context, z, x, carry):
    """Move the point by the solution z of the equations; x becomes the move. False if it turned too far.

    Increments are added with what the last additions lost (`carry`), or rounding would make Casimirs drift.
    """
    table, settings, b, y = context[0], context[1], context[3], context[8]
    d = settings[SETTINGS.algebra]
    if settings[SETTINGS.mode] == LIE_POISSON:
        for i in range(d):
            x[i] = 0.0
            increment = z[i] + carry[i]
            new = y[i] + increment
            carry[i] = increment - (new - y[i])
            y[i] = new
        return True
    engine.linear(x, 0, b, 0, settings[SETTINGS.stages], z, d, 1.0)
    if settings[SETTINGS.mode] == MUNTHE_KAAS and engine.largest_angle(table, x) > engine.LARGEST_ANGLE:
        return False
    blocks.move(table, blocks.EXP, y, x, y, 0.0)
    return True


@kernel(entry=True)
def advance(
    table,
    settings,
    times,
    a,
    b,
    c,
    groups,
    y,
    carry,
    z,
    lu,
    pivots,
    valid,
    counts,
    history,
    memory,
    saved_t,
    saved_y,
    saved_f,
    saved_x,
    address,
    p,
    limit,
):
    """Take up to `limit` steps. y, carry, z, lu, pivots, valid and counts are the whole memory of the run."""
    count, every = settings[SETTINGS.count], settings[SETTINGS.every]
    n, d, m, sizes = settings[SETTINGS.point], settings[SETTINGS.algebra], z.shape[0], 2 * table.shape[0]
    point, s, f, total = memory[:n], memory[n : n + d], memory[n + d : n + 2 * d], memory[n + 2 * d : n + 3 * d]
    x = memory[n + 3 * d : n + 4 * d]
    at = n + 4 * d
    base, size = memory[at : at + sizes], memory[at + sizes : at + 2 * sizes]
    at += 2 * sizes
    r, work = memory[at : at + m], memory[at + m : at + 3 * m]
    for _ in range(limit):
        if counts[COUNTS.step] >= count:
            counts[COUNTS.status] = DONE
            return
        t, target, h, last = clock(counts, times, count)
        context = table, settings, a, b, c, t, h, times[TIMES.sign], y, point, s, f, total, address, p
        if settings[SETTINGS.mode] == LIE_POISSON:
            poisson_sizes(table, y, base)
        else:
            natural_sizes(table, y, base)
        first = counts[COUNTS.step] == 0
        if last:
            for i in range(m):
                z[i] *= h / times[TIMES.step]
        status = NO_CONVERGENCE
        for attempt in range(1 if first else 2):
            if first or attempt == 1:  # else the stages of the step before are the guess, with the matrix used there
                first_guess(context, z)
                counts[COUNTS.evaluations] += 1
                valid[0] = 0
            matrix = lu, pivots, valid
            status = newton(step_residual, context, z, r, matrix, groups, base, size, counts, history, work, m)
            if status == DONE:
                break
        if status == DONE and not finish_step(context, z, x, carry):
            status = POLE
        if status != DONE:
            counts[COUNTS.status] = status
            return
        counts[COUNTS.step] += 1
        if last or (every > 0 and counts[COUNTS.step] % every == 0):
            call(address, target, y, 0, p, f, 0, n, d)
            counts[COUNTS.evaluations] += 1
            for i in range(d):
                f[i] *= times[TIMES.sign]
            record(counts[COUNTS.rows], target, y, f, x, saved_t, saved_y, saved_f, saved_x)
            counts[COUNTS.rows] += 1
    counts[COUNTS.status] = RUNNING


# ---------------------------------------------------------------- methods


@dataclass(frozen=True)
class LieMidpoint:
    """The implicit Lie midpoint rule s = h f(t + h/2, exp(s/2) y), y1 = exp(s) y: symmetric, of order 2."""

    @property
    def order(self) -> int:
        return 2


@dataclass(frozen=True)
class Gauss:
    """Gauss collocation for X' = dexpinv_X f (004 eqs. (6)-(8)) with 1, 2 or 3 stages, of order 2, 4 or 6.

    With one stage it is the Lie midpoint rule. With more it is not symmetric: the coordinates start from y.
    """

    stages: int = 2

    def __post_init__(self):
        if self.stages not in (1, 2, 3):
            raise ValueError(f"Gauss: {self.stages!r} stages; expected 1, 2 or 3")

    @property
    def order(self) -> int:
        return 2 * self.stages


@dataclass(frozen=True)
class LiePoissonMidpoint:
    """Energy and Casimir functions kept together on so3*, se3* and products of them; of order 2.

    mu1 = mu0 + h ad*_x (mu0 + mu1)/2 (left invariance; 004 eq. (18)). The increment is tangent to the coadjoint orbit
    at the mean of mu0 and mu1, so the Casimirs, which are quadratic, are kept for any x. With x the mean of dH on the
    segment from mu0 to mu1, H(mu1) - H(mu0) = <x, mu1 - mu0> = 0. The mean is taken by Gauss's rule with so many
    `nodes`, exact if H is a polynomial of degree 2 `nodes`: one node, x = dH((mu0 + mu1)/2), for quadratic functions
    with linear terms, as those of the rigid body and the heavy top.
    """

    nodes: int = 1

    def __post_init__(self):
        if not (isinstance(self.nodes, int) and 1 <= self.nodes <= 16):
            raise ValueError(f"LiePoissonMidpoint: {self.nodes!r} nodes; expected 1 to 16")

    @property
    def order(self) -> int:
        return 2


Implicit = LieMidpoint | Gauss | LiePoissonMidpoint


def coefficients(method: Implicit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix a, weights b and nodes c of Gauss's rule on [0, 1]; for Lie-Poisson midpoint those of the mean."""
    stages = {LieMidpoint: 1, Gauss: getattr(method, "stages", 0)}.get(type(method), getattr(method, "nodes", 0))
    nodes, weights = np.polynomial.legendre.leggauss(stages)
    c, b = 0.5 * (nodes + 1), 0.5 * weights
    powers = np.arange(1, stages + 1)
    a = np.linalg.solve((c[:, None] ** (powers - 1)).T, (c[:, None] ** powers / powers).T).T  # sum_j a_ij c_j^k
    return a.reshape(-1), b, c


# ---------------------------------------------------------------- problems


@dataclass(frozen=True)
class LiePoisson:
    """Lie-Poisson equations mu' = +-ad*_{dH} mu on so3*, se3* or a product of them (004 eq. (18)).

    `gradient` is the field dH(mu) in the algebra, called as other fields are (see `LieODE`). `invariance` "left" takes
    the + sign (momenta in body axes: Euler's equations, the heavy top), "right" the - sign.
    """

    space: Space
    gradient: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()
    invariance: str = "left"

    def __post_init__(self):
        if self.invariance not in ("left", "right"):
            raise ValueError(f'LiePoisson: invariance {self.invariance!r}; expected "left" or "right"')
        _require_dual(self.space, "LiePoisson")

    @property
    def field(self) -> Field | Callable:
        return self.gradient

    @property
    def sign(self) -> float:
        """What dH is to be multiplied with to act as a field of `LieODE`: mu' = -ad*_f mu."""
        return -1.0 if self.invariance == "left" else 1.0


def _require_dual(space: Space, who: str) -> None:
    if not np.isin(space.table[:, KIND], (blocks.ROTATED, blocks.COSCREWED)).all():
        raise ValueError(f"{who}: {space} is not the dual of an algebra; expected so3*, se3* or a product of them")


# ---------------------------------------------------------------- runs with fixed steps


class StepError(ArithmeticError):
    """A step could not be taken. `time` and `step` say which, `residuals` and `corrections` how the iteration went
    (relative to the size of the unknowns), and `solution` holds the points saved before it."""

    def __init__(self, message: str, time: float, step: float, residuals, corrections, solution: Solution):
        super().__init__(message)
        self.time, self.step, self.solution = time, step, solution
        self.residuals, self.corrections = tuple(map(float, residuals)), tuple(map(float, corrections))


FOUND = {
    NOT_FINITE: "the field or an iterate is not finite",
    NO_CONVERGENCE: "Newton's iteration did not converge",
    POLE: "the step turned by more than 6 rad, near the pole of dexpinv at 2 pi",
    SINGULAR: "Newton's matrix is singular",
}
ADVICE = {
    NOT_FINITE: "check the field near this point, or try a shorter step",
    NO_CONVERGENCE: "try a shorter step; if that does not help, check that the field is smooth here",
    POLE: "try a shorter step, or LieMidpoint, which has no pole",
    SINGULAR: "try a shorter step",
}


class Schedule(NamedTuple):
    """Fixed steps, all `step` long but the last."""

    start: float
    end: float
    step: float
    last: float
    steps: int


def schedule(who: str, span: tuple[float, float], step: float) -> Schedule:
    """Divide the span into steps; backwards if the end is before the start."""
    try:
        start, end = (float(x) for x in span)
    except (TypeError, ValueError):
        raise ValueError(f"{who}: span {span!r}; expected (start, end)") from None
    if not (np.isfinite(start) and np.isfinite(end)):
        raise ValueError(f"{who}: span ({start}, {end}) is not finite")
    if not (isinstance(step, float | int | np.floating | np.integer) and np.isfinite(step) and step > 0):
        raise ValueError(f"{who}: step {step!r}; expected a positive number (the direction follows from the span)")
    length = abs(end - start)
    if length and step > length:
        raise ValueError(f"{who}: step {step} is longer than the span {length}")
    ratio = length / step
    steps = int(np.ceil(ratio - 1e-6))  # a last step longer by a millionth is better than one that is so short
    whole = abs(ratio - steps) <= 8 * EPS * max(ratio, 1.0)
    last = step if whole else length - (steps - 1) * step
    direction = 1.0 if end >= start else -1.0
    return Schedule(start, end, direction * step, direction * last, steps)


def saving(who: str, save: str | int, steps: int) -> tuple[int, int]:
    """(steps between saved points, 0 for the last only; number of saved points)."""
    if isinstance(save, str) and save == "final":
        return 0, 2 if steps else 1
    if isinstance(save, str) and save == "all":
        return 1, 1 + steps
    if isinstance(save, int | np.integer) and save >= 1:
        return int(save), 1 - int(-steps // save)
    raise ValueError(f'{who}: save {save!r}; expected "all", "final" or a number of steps, at least 1')


class FixedRun:
    """What runs with fixed steps share: saved points, the loop, and the report of a failure.

    Derived classes have the arrays that their loop needs, and `take(limit)`, which takes some steps. The arrays named
    in `memory_names` are all that a run remembers: it can be stored and continued to the same bits.
    """

    name = "solve"
    memory_names: tuple[str, ...] = ("counts", "y")

    def __init__(self, space: Space, method: Any, field: Field | PythonField, plan: Schedule, save: str | int):
        self.space, self.method, self.field, self.plan = space, method, field, plan
        self.every, rows = saving(self.name, save, plan.steps)
        n, d = space.size, space.dimension
        self.saved_t, self.saved_y = np.empty(rows), np.empty((rows, n))
        self.saved_f, self.saved_x = np.empty((rows, d)), np.zeros((rows, d))
        self.counts = np.zeros(COUNTS.size, dtype=np.int64)
        self.history = np.zeros((2, ITERATIONS))
        self.times = np.array([plan.start, plan.end, plan.step, plan.last, 1.0])
        self.begin = time.perf_counter()

    def take(self, limit: int) -> None:
        raise NotImplementedError

    def evaluations(self) -> int:
        raise NotImplementedError

    def dense(self) -> bool:
        """Whether the saved points can be interpolated."""
        return self.every == 1

    def start_with(self, y: np.ndarray, f: np.ndarray) -> None:
        """Save the first point; its field value must be a number."""
        self.raise_field_error()
        if not np.isfinite(f).all():
            raise ValueError(f"{self.name}: the field is not finite at the start, t = {self.plan.start:.6g}: {f}")
        self.saved_t[0], self.saved_y[0], self.saved_f[0] = self.plan.start, y, f
        self.counts[COUNTS.rows], self.counts[COUNTS.evaluations] = 1, 1

    def raise_field_error(self) -> None:
        if isinstance(self.field, PythonField) and self.field.error is not None:
            raise self.field.error

    def advance(self, limit: int) -> int:
        """Take up to `limit` steps; the status. Raises what a Python field raised, and `StepError`."""
        self.take(limit)
        self.raise_field_error()
        status = int(self.counts[COUNTS.status])
        if status not in (RUNNING, DONE):
            self.fail(status)
        return status

    def finish(self, max_steps: int | None = None, progress: bool | None = None) -> Solution:
        """Go to the end, or until `max_steps` steps are taken in all. Ctrl-C returns what there is."""
        limit, status = 64, RUNNING
        with Progress(self.plan.start, self.plan.end, progress) as line:
            while status == RUNNING:
                taken = int(self.counts[COUNTS.step])
                if max_steps is not None and (limit := min(limit, max_steps - taken)) <= 0:
                    return self.solution(False, f"stopped after {taken} steps")
                began = time.perf_counter()
                try:
                    status = self.advance(limit)
                    line.show(self.plan.start + self.plan.step * float(self.counts[COUNTS.step]))
                except KeyboardInterrupt:
                    return self.solution(False, f"interrupted after {self.counts[COUNTS.step]} steps")
                limit = int(np.clip(limit * 0.1 / max(time.perf_counter() - began, 1e-6), 16, 16 * limit))
        return self.solution(True, "reached the end" if self.plan.steps else "the span is empty")

    def solution(self, success: bool, message: str) -> Solution:
        """What there is so far."""
        rows = slice(int(self.counts[COUNTS.rows]))
        return Solution(
            self.space,
            self.method,
            self.saved_t[rows],
            self.saved_y[rows],
            success,
            message,
            steps=int(self.counts[COUNTS.step]),
            evaluations=self.evaluations(),
            seconds=time.perf_counter() - self.begin,
            checkpoint=self.checkpoint(),
            slopes=self.saved_f[rows] if self.dense() else None,
            moves=self.saved_x[rows] if self.dense() else None,
        )

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Copies of all that the run remembers."""
        return {name: getattr(self, name).copy() for name in self.memory_names}

    def restore(self, checkpoint: dict[str, np.ndarray]) -> None:
        """Continue from a checkpoint of the same problem, method and options; the points before are not kept."""
        for name in self.memory_names:
            if name not in checkpoint or np.shape(checkpoint[name]) != getattr(self, name).shape:
                raise ValueError(f"{self.name}: the checkpoint does not fit this problem and method ({name!r})")
            getattr(self, name)[...] = checkpoint[name]
        self.counts[COUNTS.rows] = 0

    def fail(self, status: int) -> NoReturn:
        k, plan = int(self.counts[COUNTS.step]), self.plan
        h = plan.last if k + 1 == plan.steps else plan.step
        t = plan.start + k * plan.step
        residuals, corrections = self.history[:, : self.counts[COUNTS.tried]]
        shown = [f"{x:.2g}" for x in residuals]
        if len(shown) > 6:
            shown[3:-3] = ["..."]
        message = (
            f"{self.name}: {FOUND[status]} in step {k + 1} of {plan.steps}, t = {t:.8g}, h = {h:.3g}, "
            f"{self.method}; relative residuals {', '.join(shown)}; {ADVICE[status]}"
        )
        raise StepError(message, t, h, residuals, corrections, self.solution(False, message))


class ImplicitRun(FixedRun):
    """A run of an implicit method on a space; see `solve_implicit`."""

    name = "solve_implicit"
    memory_names = ("counts", "y", "carry", "z", "lu", "pivots", "valid")

    def __init__(self, problem: LieODE | LiePoisson, method: Implicit, span, y0, *, step: float, save: str | int):
        if not isinstance(method, Implicit):
            raise TypeError(f"{self.name}: {method!r}; expected LieMidpoint, Gauss or LiePoissonMidpoint")
        space = problem.space
        if isinstance(method, LiePoissonMidpoint):
            _require_dual(space, "LiePoissonMidpoint")
        given = problem.field
        field = given if isinstance(given, Field) else PythonField(given, space.dimension)
        super().__init__(space, method, field, schedule(self.name, span, step), save)
        self.y = space.check(y0)
        self.p = np.array(problem.parameters, dtype=float).reshape(-1)
        self.a, self.b, self.c = coefficients(method)
        sign = problem.sign if isinstance(problem, LiePoisson) else 1.0
        self.times[TIMES.sign] = sign
        n, d = space.size, space.dimension
        mode = {LieMidpoint: GROUP, Gauss: MUNTHE_KAAS, LiePoissonMidpoint: LIE_POISSON}[type(method)]
        stages = 1 if mode == LIE_POISSON else len(self.c)
        self.settings = np.array([mode, stages, self.plan.steps, self.every, n, d], dtype=np.int64)
        m = stages * d
        self.groups = np.tile(_groups(space), stages)
        self.carry, self.z, self.lu = np.zeros(n), np.zeros(m), np.zeros(m * m)
        self.pivots, self.valid = np.zeros(m, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self.memory = np.zeros(n + 4 * d + 4 * len(space.table) + 3 * m)
        self.address = self.field.address
        f = np.empty(d)
        engine.evaluate(self.address, self.plan.start, self.y, self.p, f)
        self.start_with(self.y, sign * f)

    def dense(self) -> bool:
        return self.every == 1 and not isinstance(self.method, LiePoissonMidpoint)

    def take(self, limit: int) -> None:
        advance(
            *(self.space.table, self.settings, self.times, self.a, self.b, self.c, self.groups),
            *(self.y, self.carry, self.z, self.lu, self.pivots, self.valid, self.counts, self.history, self.memory),
            *(self.saved_t, self.saved_y, self.saved_f, self.saved_x, self.address, self.p, limit),
        )

    def evaluations(self) -> int:
        residuals = int(self.counts[COUNTS.iterations] + len(self.z) * self.counts[COUNTS.matrices])
        return len(self.c) * residuals + int(self.counts[COUNTS.evaluations])


def _groups(space: Space) -> np.ndarray:
    """For each number in the algebra the group of unknowns of one kind: 2 i for rotations in block i (or a vector),
    2 i + 1 for translations."""
    result: list[int] = []
    for i, row in enumerate(space.table):
        count = int(row[COUNT])
        angular = {blocks.VECTOR: count, blocks.SE2: 1}.get(int(row[KIND]), 3)
        result += [2 * i + (k >= angular) for k in range(count)]
    return np.array(result, dtype=np.int64)


def solve_implicit(
    problem: LieODE | LiePoisson,
    method: Implicit,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float,
    save: str | int = "all",
    max_steps: int | None = None,
    resume: dict[str, np.ndarray] | None = None,
    progress: bool | None = None,
) -> Solution:
    """Integrate a problem with an implicit method and fixed steps; backwards if the end is before the start.

    `method` is LieMidpoint(), Gauss() or, on duals of algebras, LiePoissonMidpoint(). The last step is shortened to end
    exactly. `save` is "all" steps, "final", or every so many steps. The equations of each step are solved to rounding;
    if that fails, StepError tells where, and its `solution` has the points before. The points of a run that saves
    every step can be interpolated (not those of LiePoissonMidpoint, which moves points by no group element).
    `max_steps` stops early; the `checkpoint` of that solution given as `resume` continues to the same bits.
    `progress` shows a line for long runs; by default on a terminal.
    """
    run = ImplicitRun(problem, method, span, y0, step=step, save=save)
    if resume is not None:
        run.restore(resume)
    return run.finish(max_steps, progress)
