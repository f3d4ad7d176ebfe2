"""Runs of the implicit methods: the Lie midpoint rule, Gauss-Munthe-Kaas, Lie-Poisson midpoint.

The equations of a step are solved to rounding by Newton's method; if that fails, `StepError` says where and how.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate import blocks, engine
from chasles.integrate.explicit_layout import LARGEST_ANGLE
from chasles.integrate.explicit_step import linear
from chasles.integrate.fixed_step import TIMES, FixedStepper, clock, record
from chasles.integrate.gauss import (
    GAUSS,
    IN_ALGEBRA,
    LIE_POISSON,
    ON_THE_GROUP,
    Gauss,
    LieMidpoint,
    gauss_rule,
    natural_sizes,
    stage_residual,
)
from chasles.integrate.newton import COUNTS, newton
from chasles.integrate.options import Options
from chasles.integrate.poisson import (
    LiePoisson,
    LiePoissonMidpoint,
    add_increment,
    generator,
    poisson_residual,
    poisson_sizes,
    require_dual,
)
from chasles.integrate.problem import LieODE
from chasles.integrate.space import Space
from chasles.integrate.status import DONE, NEAR_POLE, NO_CONVERGENCE, RUNNING
from chasles.integrate.stepper import as_field
from chasles.integrate.table import COUNT, KIND, R_N, SE2
from chasles.integrate.vector_field import call
from chasles.kernel.policy import kernel

# ---------------------------------------------------------------- the loop


@kernel
def step_residual(context, z, r):
    """The equations of a step of the method in use."""
    if context[2][GAUSS.mode] == LIE_POISSON:
        poisson_residual(context, z, r)
    else:
        stage_residual(context, z, r)


@kernel
def first_guess(context, z):
    """Take the field at the beginning of the step for all stages."""
    table, _, settings, _, _, _, t, h, sign, y, _, _, f, _, address, p = context
    d = settings[GAUSS.algebra]
    call(address, t, y, p, f, 0, settings[GAUSS.point], d, 0.0)
    if settings[GAUSS.mode] == LIE_POISSON:
        generator(table, f, y, z)
        for i in range(z.shape[0]):
            z[i] *= h * sign
    else:
        for i in range(z.shape[0]):
            z[i] = h * sign * f[i % d]


@kernel
def finish_step(context, z, x, carry):
    """Move the point by the solution z of the equations; x becomes the move. False if it turned too far."""
    table, addresses, settings, b, y = context[0], context[1], context[2], context[4], context[9]
    d = settings[GAUSS.algebra]
    if settings[GAUSS.mode] == LIE_POISSON:
        add_increment(y, z, carry)
        return True
    linear(x, b, 0, settings[GAUSS.stages], z, d, 1.0, 0.0)
    if settings[GAUSS.mode] == IN_ALGEBRA and blocks.largest_angle(table, x, 0.0) > LARGEST_ANGLE:
        return False
    blocks.move(table, addresses, y, x, y, 0.0)
    return True


@kernel(entry=True)
def advance(
    table,
    addresses,
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
    count, every = settings[GAUSS.count], settings[GAUSS.every]
    n, d, m, sizes = settings[GAUSS.point], settings[GAUSS.algebra], z.shape[0], 2 * table.shape[0]
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
        context = table, addresses, settings, a, b, c, t, h, times[TIMES.sign], y, point, s, f, total, address, p
        if settings[GAUSS.mode] == LIE_POISSON:
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
            status = NEAR_POLE
        if status != DONE:
            counts[COUNTS.status] = status
            return
        counts[COUNTS.step] += 1
        if last or (every > 0 and counts[COUNTS.step] % every == 0):
            call(address, target, y, p, f, 0, n, d, 0.0)
            counts[COUNTS.evaluations] += 1
            for i in range(d):
                f[i] *= times[TIMES.sign]
            record(counts[COUNTS.rows], target, y, f, x, saved_t, saved_y, saved_f, saved_x)
            counts[COUNTS.rows] += 1
    counts[COUNTS.status] = RUNNING


# ---------------------------------------------------------------- the run

Method = LieMidpoint | Gauss | LiePoissonMidpoint
MODES = {LieMidpoint: ON_THE_GROUP, Gauss: IN_ALGEBRA, LiePoissonMidpoint: LIE_POISSON}


def points_of(method: Method) -> int:
    """How many points the rule of Gauss has that a method uses."""
    if isinstance(method, LieMidpoint):
        return 1
    return method.stages if isinstance(method, Gauss) else method.nodes


class ImplicitStepper(FixedStepper):
    """A run of an implicit method on a space."""

    problems = (LieODE, LiePoisson)
    methods = (LieMidpoint, Gauss, LiePoissonMidpoint)
    memory_names = ("counts", "y", "carry", "z", "lu", "pivots", "valid")

    @classmethod
    def fits(cls, problem: Any, method: Any) -> bool:
        return super().fits(problem, method) and isinstance(problem.space, Space)

    def __init__(self, problem: LieODE | LiePoisson, method: Method, span, y0, options: Options):
        space = problem.space
        if isinstance(method, LiePoissonMidpoint):
            require_dual(space, "LiePoissonMidpoint")
        if getattr(problem, "correction", None):
            raise ValueError(f"solve: {method} takes no correction after its steps; take an explicit method")
        self.y = space.check(y0)
        super().__init__(problem, method, span, options, self.y, space.dimension)
        self.field = as_field(problem.field, space.dimension)
        self.address = self.field.address
        self.a, self.b, self.c = gauss_rule(points_of(method))
        sign = problem.sign if isinstance(problem, LiePoisson) else 1.0
        self.times[TIMES.sign] = sign
        n, d, mode = space.size, space.dimension, MODES[type(method)]
        stages = 1 if mode == LIE_POISSON else len(self.c)
        self.settings = np.array([mode, stages, self.plan.steps, self.every, n, d], dtype=np.int64)
        needed = (blocks.MOVE, blocks.PULLBACK) if mode == IN_ALGEBRA else (blocks.MOVE,)
        self.addresses = space.operations(*(needed if mode != LIE_POISSON else ()))
        m = stages * d
        self.groups = np.tile(_groups(space), stages)
        self.carry, self.z, self.lu = np.zeros(n), np.zeros(m), np.zeros(m * m)
        self.pivots, self.valid = np.zeros(m, dtype=np.int64), np.zeros(1, dtype=np.int64)
        self.memory = np.zeros(n + 4 * d + 4 * len(space.table) + 3 * m)
        f = np.empty(d)
        engine.evaluate(self.address, self.start, self.y, self.p, f)
        self.start_with(self.y, sign * f)

    def indices(self) -> dict[str, tuple[np.ndarray, int]]:
        return {"pivots": (self.pivots, len(self.z))}

    def no_curve(self) -> str:
        if isinstance(self.method, LiePoissonMidpoint):
            return "LiePoissonMidpoint moves points by no group element; save at the times you want (save=times)"
        return super().no_curve()

    def point(self) -> np.ndarray:
        return self.y.copy()

    def take(self, limit: int) -> None:
        advance(
            *(self.problem.space.table, self.addresses, self.settings, self.times, self.a, self.b, self.c, self.groups),
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
        angular = {R_N: count, SE2: 1}.get(int(row[KIND]), 3)
        result += [2 * i + (k >= angular) for k in range(count)]
    return np.array(result, dtype=np.int64)
