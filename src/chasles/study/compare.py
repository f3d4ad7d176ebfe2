"""`compare`: integrators x configuration space x stabilization on one mechanism.

This is the study that mueller2013 announces in its section 6: how the choice of the group acts with other Lie group
methods than Munthe-Kaas', and with a group chosen for each body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.space import SE3_NAME, SO3XR3_NAME
from chasles.integrate.fixed_step import StepError
from chasles.integrate.method import RKMK
from chasles.integrate.method_name import named_method
from chasles.integrate.options import check_span
from chasles.integrate.solution import Solution
from chasles.integrate.stepper import Interrupted, helping
from chasles.model.system import System
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate
from chasles.study.choice import RunGroup, all_groups, index_of, methods_of
from chasles.study.comparison import AUTO, Comparison, Row

METHODS = ("rk4", "dopri5", "dop853", "cf4", "cg3")
STIFF_METHODS = ("generalized_alpha", "bliedf2", "radau5")  # where there are rods, whose axial waves are fast
STABILIZATIONS = (None, "projection")
REPEATS = 3  # runs of which the fastest counts
TIGHT = {"rtol": 1e-13, "atol": 1e-13}
TIGHT_STIFF, LESS_TIGHT = 1e-10, 1e-8  # of rods, whose groups take the same steps: their error is seen by the tolerance
STEPS = 500  # of the longest step of a study in its span, if no steps are given
HALVINGS = 4


def compare(
    system: System,
    span: tuple[float, float],
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    poses: ArrayLike | None = None,
    twists: ArrayLike | None = None,
    methods: str | Iterable[Any] | None = None,
    spaces: Sequence[Any] = (SE3_NAME, SO3XR3_NAME, AUTO),
    stabilizations: Sequence[str | None] = STABILIZATIONS,
    steps: Sequence[float] | None = None,
    tell: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Run methods, spaces and stabilizations against each other on one mechanism in absolute coordinates.

    The start is as in `simulate`. `methods` are names ("rk4" is Munthe-Kaas' method on that tableau, "cf4", "cg3", ...,
    and for constrained systems "generalized_alpha", "bliedf3", "rattle", "hem5", "energy_momentum", ...), methods, or
    "all" explicit ones; those for constrained systems need no stabilization and run once. `spaces` are "SE3", "SO3xR3",
    mappings of bodies, and "auto", which is left out where it takes the same space for all bodies; `stabilizations` are
    None and "projection". `steps` [s] are fixed steps, by default five, each half of the one before. Errors are against
    order 8 at tolerance 1e-13. With rods, which are stiff, the methods are implicit by default, and errors are against
    "radau5" at 1e-10. `tell` is called before each group of runs, with how many are done, how many there are,
    and a line of text on the next. Ctrl-C raises `Interrupted`, whose `result` has the runs that are done.
    """
    start, end = check_span(span)
    sizes = _steps(steps, abs(end - start))
    for stabilization in stabilizations:
        if stabilization not in STABILIZATIONS:
            raise ValueError(f'compare: stabilization {stabilization!r}; expected "projection" or None')
    if methods is None:
        methods = STIFF_METHODS if system.rods else METHODS
    groups = all_groups(system, methods_of(methods), spaces, stabilizations)
    if not groups:
        raise ValueError(
            "compare: there is nothing to run; give methods, and SO3xR3 among the spaces for energy_momentum"
        )
    say = tell or (lambda done, total, next_one: None)
    case = _Case(system, (start, end), {"q": q, "v": v, "poses": poses, "twists": twists})
    say(0, len(groups), "reference")
    if system.rods:
        best, tight = named_method("compare", "radau5"), [{"rtol": x, "atol": x} for x in (TIGHT_STIFF, LESS_TIGHT)]
        reference = f"radau5 at {TIGHT_STIFF:g}"
    else:
        best, tight, reference = RKMK("dop853"), [TIGHT, TIGHT], Comparison.reference
    truth, second = (
        case.run(space, "projection", best, save="final", **how)
        for space, how in zip((SO3XR3_NAME, SE3_NAME), tight, strict=True)
    )
    if not (truth.success and second.success):
        raise ArithmeticError(f"compare: the reference could not be computed: {truth.message}")
    rows: list[Row] = []
    stop: KeyboardInterrupt | None = None
    try:
        for done, group in enumerate(groups):
            say(done, len(groups), f"{group.name} on {group.label}, stabilized by {group.shown}")
            for row in _rows(case, group, sizes, truth):
                rows.append(row)
    except KeyboardInterrupt as interrupt:
        if not rows:
            raise
        stop = interrupt
    found = Comparison(
        system.name,
        (start, end),
        tuple(joint.name for joint in system.joints),
        tuple(rows),
        _errors(second, truth)[0],
        stop is None,
        reference,
    )
    if stop is not None:
        raise Interrupted(f"compare: interrupted after {len(rows)} runs", found) from None
    return found


def _steps(wanted: Sequence[float] | None, span: float) -> list[float]:
    """Steps [s], the longest first."""
    if wanted is None:
        wanted = [span / STEPS / 2**k for k in range(HALVINGS + 1)]
    sizes = sorted({float(h) for h in wanted}, reverse=True)
    if not sizes or not (np.isfinite(sizes).all() and sizes[-1] > 0):
        raise ValueError(f"compare: steps {list(wanted)}; expected positive numbers [s]")
    return sizes


class _Case(NamedTuple):
    """What all runs of a comparison share."""

    system: System
    span: tuple[float, float]
    start: dict[str, Any]

    def run(self, space: Any, stabilization: str | None, method: Any, **options: Any) -> Run:
        with helping():  # of a run that cannot go on its row says so
            return simulate(
                self.system,
                options.pop("span", self.span),
                coordinates="absolute",
                method=method,
                space=space,
                stabilization=stabilization,
                progress=False,
                **self.start,
                **options,
            )


def _rows(case: _Case, group: RunGroup, sizes: list[float], truth: Run) -> Iterator[Row]:
    """A row for each step."""
    (start, end), method = case.span, group.method
    choice = (group.space, group.stabilization, method)
    once = (start, start + np.sign(end - start) * min(sizes[-1], abs(end - start)))
    with suppress(StepError):  # its row will say so
        case.run(*choice, step=sizes[-1], span=once)  # compiles on first use
    for h in sizes:
        key = (group.name, method.order, group.label, group.shown, h)
        try:
            run = case.run(*choice, step=h)
        except StepError as error:
            yield _failed(key, case.system, error.solution, 0.0, str(error), index_of(method))
            continue
        again = (case.run(*choice, step=h, save="final") for _ in range(REPEATS))
        seconds = min(one.solution.seconds for one in again)
        yield _row(run, truth, key, seconds)


def _errors(run: Run, truth: Run) -> tuple[float, float]:
    """Largest error at the end: of a position [m] or a rotation [rad], and of a body twist [rad/s, m/s]."""
    return pose_error(run.poses[-1], truth.poses[-1]), float(abs(run.twists[-1] - truth.twists[-1]).max())


def pose_error(got: np.ndarray, wanted: np.ndarray) -> float:
    """Largest error of a position [m] or a small rotation [rad] of poses (bodies, 7)."""
    sign = np.where(np.sum(got[:, :4] * wanted[:, :4], axis=1, keepdims=True) < 0, -1.0, 1.0)
    turned = 2 * np.linalg.norm(sign * got[:, :4] - wanted[:, :4], axis=1)
    moved = np.linalg.norm(got[:, 4:] - wanted[:, 4:], axis=1)
    return float(max(turned.max(initial=0.0), moved.max(initial=0.0)))


Key = tuple[str, int, str, str, float]  # method, order, space, stabilization, step


def _failed(key: Key, system: System, solution: Solution, seconds: float, message: str, index: int) -> Row:
    """The row of a run that could not go on."""
    nothing = (np.nan,) * len(system.joints)
    numbers: dict[str, Any] = dict.fromkeys(("position", "velocity", "energy", "error", "velocity_error"), np.nan)
    numbers |= {"joints": nothing, "message": message, "index": index}
    return Row(*key, solution.steps, solution.evaluations, seconds, **numbers)


def _row(run: Run, truth: Run, key: Key, seconds: float) -> Row:
    solution = run.solution
    if not solution.success:
        return _failed(key, run.mechanism.system, solution, seconds, run.message, index_of(solution.method))
    position, velocity = run.violations
    balance = run.energies.balance
    error, velocity_error = _errors(run, truth)
    return Row(
        *key,
        solution.steps,
        solution.evaluations,
        seconds,
        position=float(position.max(initial=0.0)),
        velocity=float(velocity.max(initial=0.0)),
        energy=float(abs(balance - balance[0]).max()),
        error=error,
        velocity_error=velocity_error,
        joints=tuple(float(x) for x in position.max(axis=0)),
        index=index_of(solution.method),
    )
