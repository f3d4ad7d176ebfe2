"""`solve(problem, method, span, y0, ...)`: the driver around the compiled loops."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as data_field

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import engine
from chasles.integrate.engine import COUNT_, REAL, SET, STATE
from chasles.integrate.field import Field, PythonField
from chasles.integrate.method import COORDINATES, RKMK, Exponentials
from chasles.integrate.space import Space

CHUNK_ROWS = 1024
REASONS = {
    engine.DONE: "reached the end",
    engine.NOT_FINITE: "the field or the solution is not finite",
    engine.UNDERFLOW: "the step became too small to advance the time",
    engine.POLE: "a step turned by more than 6 rad, near the pole of dexpinv at 2 pi",
}


@dataclass(frozen=True)
class LieODE:
    """y' = f(t, y) acting on the space: f gives an element of the algebra, in flat form.

    `field` is compiled (see `field`), called as f(t, y, p, out), or a plain Python function f(t, y, p) that returns the
    algebra element. `parameters` is the vector p.
    """

    space: Space
    field: Field | Callable
    parameters: Sequence[float] = ()


@dataclass
class Solution:
    """What `solve` returns. `t` and `y` are the saved points, time first; call it for points in between."""

    space: Space
    method: RKMK | Exponentials
    t: np.ndarray
    y: np.ndarray
    success: bool
    message: str
    steps: int
    rejections: int
    evaluations: int
    seconds: float
    _slopes: np.ndarray = data_field(repr=False)
    _moves: np.ndarray = data_field(repr=False)
    _dense: bool = data_field(repr=False, default=True)

    def __call__(self, times: ArrayLike) -> np.ndarray:
        """Points on the space between the saved ones, by cubic Hermite interpolation in the algebra (order 4)."""
        if not self._dense:
            raise ValueError("Solution: points saved at given times cannot be interpolated; save every step instead")
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
        low, high = min(self.t[0], self.t[-1]), max(self.t[0], self.t[-1])
        if not ((wanted >= low) & (wanted <= high)).all():
            raise ValueError(f"Solution: times must lie in [{low:.6g}, {high:.6g}]")
        order = self.t if self.t[-1] >= self.t[0] else -self.t
        interval = np.clip(np.searchsorted(order, wanted * np.sign(self.t[-1] - self.t[0] or 1), "right") - 1, 0, None)
        interval = np.minimum(interval, len(self.t) - 2)
        d, n = self.space.dimension, self.space.size
        result, u, work = np.empty((len(wanted), n)), np.empty(d), np.empty(2 * d)
        for row, (i, when) in enumerate(zip(interval, wanted, strict=True)):
            h = self.t[i + 1] - self.t[i]
            arguments = (self.y[i], self._slopes[i], self._slopes[i + 1], self._moves[i + 1], result[row], u, work)
            engine.interpolate(self.space.table, 0, -1, (when - self.t[i]) / h, h, *arguments)
        return result.reshape(*np.shape(times), n)


class Run:
    """The state of a run in plain arrays: it can be stored and continued to the same bits."""

    def __init__(
        self, problem: LieODE, method: RKMK | Exponentials, span, y0, *, step, rtol, atol, save, controller, first_step
    ):
        self.problem, self.method = problem, method
        space = problem.space
        self.start, self.end = _check_span(span)
        self.adaptive = step is None
        self.times = np.empty(0)
        save_every = self._saving(save)
        self._check_step(step, rtol, atol, controller)
        n, d = space.size, space.dimension
        self.y = space.check(y0)
        self.p = np.array(problem.parameters, dtype=float).reshape(-1)
        self.field = problem.field if isinstance(problem.field, Field) else PythonField(problem.field, d)
        self.address = self.field.address
        self.settings = np.zeros(SET.size, dtype=np.int64)
        self.real = np.zeros(REAL.size)
        self.extra, self.program = np.zeros((0, 4)), np.zeros((0, 3), dtype=np.int64)
        self._load_method()
        stages = int(self.settings[SET.stages])
        self.settings[[SET.adaptive, SET.save_every, SET.point, SET.algebra]] = self.adaptive, save_every, n, d
        self.settings[SET.dense] = 1
        self.settings[SET.controller] = (
            engine.FIXED if step else {"pi": engine.PREDICTIVE, "paper": engine.PAPER}[controller]
        )
        order = min(method.order, method.embedded_order) if self.adaptive else method.order
        safety = 0.85 if controller == "paper" else 0.9
        shortest = 16 * np.spacing(max(abs(self.start), abs(self.end)))
        self.real[:] = self.start, self.end, 0.0, rtol, atol, safety, 1 / (1 + order), shortest
        self.state, self.counts = np.zeros(STATE.size), np.zeros(COUNT_.size, dtype=np.int64)
        self.f0, self.x_sum = np.empty(d), np.zeros(d)
        self.memory = np.zeros(2 * stages * d + stages * max(n, d) + 5 * d + 2 * n)
        self.records = np.empty((max(2, min(CHUNK_ROWS, max(8, 4_000_000 // (1 + n + 2 * d)))), 1 + n + 2 * d))
        self.evaluate(self.start, self.y, self.f0)
        self.counts[COUNT_.evaluations] = 1
        self.state[STATE.t], self.state[STATE.old_error] = self.start, 1.0
        self._first_step(step, first_step, controller)

    # ------------------------------------------------------------ set-up

    def _saving(self, save) -> int:
        if isinstance(save, str):
            if save not in ("all", "final"):
                raise ValueError(
                    f'solve: save {save!r}; expected "all", "final", a number of steps, or an array of times'
                )
            return 1 if save == "all" else 0
        if isinstance(save, int | np.integer):
            if save < 1:
                raise ValueError(f"solve: save every {save} steps; expected at least 1")
            return int(save)
        times = np.array(save, dtype=float).reshape(-1)
        direction = 1.0 if self.end > self.start else -1.0
        inside = (direction * (times - self.start) >= 0) & (direction * (self.end - times) >= 0)
        if not times.size or not inside.all() or (np.diff(direction * times) < 0).any():
            raise ValueError("solve: times to save must lie in the span, in the order in which they are passed")
        self.times = times
        return 0

    def _check_step(self, step, rtol, atol, controller):
        if controller not in ("pi", "paper"):
            raise ValueError(f'solve: controller {controller!r}; expected "pi" or "paper"')
        if step is not None:
            if not (np.isfinite(step) and step > 0):
                raise ValueError(
                    f"solve: step {step}; expected a positive number (the direction follows from the span)"
                )
            if step > abs(self.end - self.start):
                raise ValueError(f"solve: step {step} is longer than the span {abs(self.end - self.start)}")
            return
        if not self.method.embedded_order:
            raise ValueError(
                f"solve: {self.method} has no embedded estimate of the error; give step=..., or take a pair such as "
                'RKMK("dopri5"), CommutatorFree("cf43")'
            )
        if not (np.isfinite(rtol) and np.isfinite(atol) and rtol >= 0 and atol > 0):
            raise ValueError(f"solve: rtol {rtol} and atol {atol}; expected rtol >= 0 and atol > 0")

    def _load_method(self):
        s = self.settings
        if isinstance(self.method, RKMK):
            table = self.method.table
            s[[SET.family, SET.mapping, SET.terms]] = (
                engine.MUNTHE_KAAS,
                COORDINATES[self.method.coordinates],
                self.method.terms,
            )
            s[[SET.stages, SET.same_last]] = table.stages, table.first_same_as_last
            self.a, self.b, self.c = table.matrix.reshape(-1), np.array(table.b), table.c
            estimates = [w for w in (table.embedded, table.second_embedded) if w is not None]
            self.e = np.array([np.array(table.b) - w for w in estimates]).reshape(-1)
            s[SET.estimates] = len(estimates)
            self.extra = self.method.commutators()
        else:
            s[[SET.family, SET.terms]] = engine.EXPONENTIALS, -1
            s[SET.stages] = len(self.method.stages)
            self.program, weights, self.c = self.method.program()
            self.a, self.b, self.e = weights.reshape(-1), np.empty(0), np.empty(0)

    def evaluate(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        """The field at a point, with the checks a first evaluation deserves."""
        if isinstance(self.field, Field):
            engine.evaluate(self.address, t, y, self.p, out)
        else:
            engine.evaluate(self.address, t, y, self.p, out)
            self.raise_field_error()
        if not np.isfinite(out).all():
            raise ValueError(f"solve: the field is not finite at the start, t = {t:.6g}: {out}")

    def raise_field_error(self):
        if isinstance(self.field, PythonField) and self.field.error is not None:
            raise self.field.error

    def _first_step(self, step, first_step, controller):
        direction = 1.0 if self.end > self.start else -1.0
        span = abs(self.end - self.start)
        if step is not None:
            self.real[REAL.step] = direction * step
            self.state[STATE.h] = direction * step
        elif first_step is not None:
            if not 0 < first_step <= span:
                raise ValueError(f"solve: first_step {first_step}; expected a positive number up to {span}")
            self.state[STATE.h] = direction * first_step
        elif controller == "paper":
            self.state[STATE.h] = direction * span / 100
        else:
            self.state[STATE.h] = direction * self._guess(span, direction)

    def _guess(self, span: float, direction: float) -> float:
        """First step from the size of the field and of its change (Hairer, Norsett, Wanner I, II.4)."""
        rtol, atol = self.real[REAL.rtol], self.real[REAL.atol]
        scale = atol + rtol
        size = float(np.sqrt(np.mean((self.f0 / scale) ** 2)))
        h = min(span / 100, 0.01 / size * scale / atol if size > 1e-10 else 1e-3 * span)
        h = max(h, 1e-10 * span)
        f1 = np.empty_like(self.f0)
        engine.evaluate(
            self.address,
            self.start + direction * h,
            self.problem.space.move(self.y, direction * h * self.f0),
            self.p,
            f1,
        )
        change = float(np.sqrt(np.mean(((f1 - self.f0) / scale) ** 2))) / h
        self.counts[COUNT_.evaluations] += 1
        largest = max(size, change)
        better = (0.01 / largest) ** self.real[REAL.exponent] if largest > 1e-15 else span
        return float(min(100 * h, better, span)) if np.isfinite(better) else h

    # ------------------------------------------------------------ going

    def advance(self, limit: int) -> int:
        engine.advance(
            self.problem.space.table,
            self.settings,
            self.real,
            self.a,
            self.b,
            self.c,
            self.e,
            self.extra,
            self.program,
            self.state,
            self.counts,
            self.y,
            self.f0,
            self.x_sum,
            self.times,
            self.records,
            self.memory,
            self.address,
            self.p,
            limit,
        )
        return int(self.counts[COUNT_.status])


def _check_span(span) -> tuple[float, float]:
    try:
        start, end = (float(x) for x in span)
    except (TypeError, ValueError):
        raise ValueError(f"solve: span {span!r}; expected (start, end)") from None
    if not (np.isfinite(start) and np.isfinite(end)):
        raise ValueError(f"solve: span ({start}, {end}) is not finite")
    return start, end


def solve(
    problem: LieODE,
    method: RKMK | Exponentials,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    save: str | int | ArrayLike = "all",
    controller: str = "pi",
    first_step: float | None = None,
) -> Solution:
    """Integrate a problem from y0 over the span; backwards if the end is before the start.

    With `step` the steps are fixed (the last one is shortened to end exactly); without, they follow rtol and atol.
    `save` is "all" accepted steps, "final", every so many steps, or an array of times. `controller` is "pi", or
    "paper" for the rule of 004 section 4 (absolute tolerance atol, error measured in the algebra).
    """
    begin = time.perf_counter()
    start, end = _check_span(span)
    if start == end:
        point = problem.space.check(y0)
        d = problem.space.dimension
        blank = np.zeros((1, d))
        return Solution(
            problem.space, method, np.array([start]), point[None], True, "the span is empty", 0, 0, 0, 0.0, blank, blank
        )
    run = Run(
        problem,
        method,
        span,
        y0,
        step=step,
        rtol=rtol,
        atol=atol,
        save=save,
        controller=controller,
        first_step=first_step,
    )
    n, d = problem.space.size, problem.space.dimension
    pieces = []
    if not run.times.size:
        pieces.append(np.concatenate([[start], run.y, run.f0, np.zeros(d)])[None])
    limit = 256 if isinstance(run.field, PythonField) else 100_000
    interrupted = False
    while True:
        try:
            status = run.advance(limit)
        except KeyboardInterrupt:
            interrupted, status = True, engine.RUNNING
        rows = int(run.counts[COUNT_.records])
        if rows:
            pieces.append(run.records[:rows].copy())
            run.counts[COUNT_.records] = 0
        run.raise_field_error()
        if interrupted or status not in (engine.RUNNING, engine.FULL):
            break
    rows_ = np.concatenate(pieces) if pieces else np.empty((0, 1 + n + 2 * d))
    message = "interrupted by the user" if interrupted else REASONS[status]
    success = status == engine.DONE and not interrupted
    if not success:
        message = f"{message} at t = {run.state[STATE.t]:.8g} (step {run.state[STATE.h]:.3g})"
        warnings.warn(f"solve: {message}", RuntimeWarning, stacklevel=2)
    return Solution(
        problem.space,
        method,
        rows_[:, 0],
        rows_[:, 1 : 1 + n],
        success,
        message,
        int(run.counts[COUNT_.accepted]),
        int(run.counts[COUNT_.rejected]),
        int(run.counts[COUNT_.evaluations]),
        time.perf_counter() - begin,
        rows_[:, 1 + n : 1 + n + d],
        rows_[:, 1 + n + d :],
        not run.times.size,
    )
