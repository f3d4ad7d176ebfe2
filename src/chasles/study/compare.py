"""`compare`: integrators x configuration space x stabilisation on one mechanism.

This is the study that source 000 announces in its section 6: how the choice of the group acts with other Lie group
methods than Munthe-Kaas', and with a group chosen for each body.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import NAMES, SE3_NAME, SO3XR3_NAME
from chasles.integrate.constrained_method import (
    BACKWARD,
    CONSTRAINED_METHODS,
    HALF_EXPLICIT,
    BLieDF,
    EnergyMomentum,
    GeneralizedAlpha,
    HalfExplicit,
    Rattle,
)
from chasles.integrate.fixed_step import StepError
from chasles.integrate.method import COMMUTATOR_FREE, CROUCH_GROSSMAN, LOW_STORAGE, RKMK
from chasles.integrate.run import check_span, whole_or_nothing
from chasles.integrate.solution import Solution
from chasles.integrate.tableau import TABLEAUX
from chasles.model.system import System
from chasles.simulation.body_run import BodyRun
from chasles.simulation.simulate import simulate
from chasles.study.comparison import AUTO, OWN, Comparison, Row

METHODS = ("rk4", "dopri5", "dop853", "cf4", "cg3")
STABILIZATIONS = (None, "projection")
REPEATS = 3  # runs of which the fastest counts
TIGHT = {"rtol": 1e-13, "atol": 1e-13}
STEPS = 500  # of the longest step of a study in its span, if no steps are given
HALVINGS = 4


def explicit_methods() -> dict[str, Any]:
    """All explicit methods by their names: Munthe-Kaas on every tableau, commutator-free, Crouch-Grossman and
    low-storage methods."""
    tableaux = {name: RKMK(name) for name in TABLEAUX}
    return {**tableaux, **COMMUTATOR_FREE, **CROUCH_GROSSMAN, **LOW_STORAGE}


def constrained_methods() -> dict[str, Any]:
    """Methods for constrained systems by their names: they solve the constrained equations themselves."""
    return {
        "generalized_alpha": GeneralizedAlpha(),
        "generalized_alpha_index3": GeneralizedAlpha(index=3),
        **{f"bliedf{k}": BLieDF(k) for k in BACKWARD},
        "rattle": Rattle(),
        **{f"hem{k}": HalfExplicit(k) for k in HALF_EXPLICIT},
        "energy_momentum": EnergyMomentum(),
    }


def index_of(method: Any) -> int:
    """Of the equations that a method solves: 1 accelerations, 2 velocities, 3 positions."""
    if isinstance(method, Rattle | EnergyMomentum):
        return 3
    if isinstance(method, GeneralizedAlpha):
        return method.index
    return 2 if isinstance(method, BLieDF | HalfExplicit) else 1


def _methods(wanted: str | Iterable[Any]) -> dict[str, Any]:
    explicit, constrained = explicit_methods(), constrained_methods()
    known = {**explicit, **constrained}
    if isinstance(wanted, str):
        wanted = explicit if wanted == "all" else [wanted]
    found: dict[str, Any] = {}
    for method in wanted:
        if isinstance(method, str):
            if method not in known:
                raise ValueError(
                    f'compare: no explicit method {method!r}; there is "all", {", ".join(explicit)}, and for '
                    f"constrained systems {', '.join(constrained)}"
                )
            found[method] = known[method]
        else:
            found[getattr(method, "name", None) or str(method)] = method
    return found


def _spaces(system: System, wanted: Sequence[Any], stabilization: str | None) -> dict[str, Any]:
    """Names and spaces; "auto" only where it is another choice than the same space for all bodies."""
    result: dict[str, Any] = {}
    for space in wanted:
        if space == AUTO:
            chosen = AbsoluteMechanism(system, AUTO, stabilized=stabilization is not None).spaces
            used = set(chosen.values())
            if len(used) == 1 and used & set(wanted):
                continue
            result[AUTO] = chosen
        elif isinstance(space, Mapping):
            result["mapping" if "mapping" not in result else f"mapping {len(result)}"] = dict(space)
        elif space in NAMES:
            result[space] = space
        else:
            raise ValueError(f'compare: space {space!r}; expected "SE3", "SO3xR3", "auto" or a mapping of bodies')
    return result


def compare(
    system: System,
    span: tuple[float, float],
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    poses: ArrayLike | None = None,
    twists: ArrayLike | None = None,
    methods: str | Iterable[Any] = METHODS,
    spaces: Sequence[Any] = (SE3_NAME, SO3XR3_NAME, AUTO),
    stabilizations: Sequence[str | None] = STABILIZATIONS,
    steps: Sequence[float] | None = None,
    tell: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Run methods, spaces and stabilisations against each other on one mechanism in absolute coordinates.

    The start is as in `simulate`. `methods` are names ("rk4" is Munthe-Kaas' method on that tableau, "cf4", "cg3", ...,
    and for constrained systems "generalized_alpha", "bliedf3", "rattle", "hem5", "energy_momentum", ...), methods, or
    "all" explicit ones; those for constrained systems need no stabilisation and run once. `spaces` are "SE3", "SO3xR3",
    mappings of bodies, and "auto", which is left out where it takes the same space for all bodies; `stabilizations` are
    None and "projection". `steps` [s] are fixed steps, by default five, each half of the one before. Errors are against
    order 8 at tolerance 1e-13. `tell` is called before each group of runs, with how many are done, how many there are,
    and a line of text on the next. Ctrl-C ends it with the runs that are done (`complete` is False).
    """
    start, end = check_span(span)
    if steps is None:
        steps = [abs(end - start) / STEPS / 2**k for k in range(HALVINGS + 1)]
    sizes = sorted({float(h) for h in steps}, reverse=True)
    if not sizes or not (np.isfinite(sizes).all() and sizes[-1] > 0):
        raise ValueError(f"compare: steps {list(steps)}; expected positive numbers [s]")
    chosen = _methods(methods)
    for stabilization in stabilizations:
        if stabilization not in STABILIZATIONS:
            raise ValueError(f'compare: stabilization {stabilization!r}; expected "projection" or None')

    def go(space: Any, stabilization: str | None, method: Any, **options: Any) -> BodyRun:
        with warnings.catch_warnings(), whole_or_nothing():
            warnings.simplefilter("ignore", RuntimeWarning)  # a run that cannot go on; its row says so
            run = simulate(
                system,
                options.pop("span", (start, end)),
                *(q, v),
                coordinates="absolute",
                poses=poses,
                twists=twists,
                method=method,
                space=space,
                stabilization=stabilization,
                progress=False,
                **options,
            )
        assert isinstance(run, BodyRun)
        return run

    groups = [
        (name, method, stabilization, label, space)
        for name, method in chosen.items()
        for stabilization in (("projection",) if isinstance(method, CONSTRAINED_METHODS) else stabilizations)
        for label, space in _spaces(system, spaces, stabilization).items()
        if not isinstance(method, EnergyMomentum) or space == SO3XR3_NAME
    ]
    say = tell or (lambda done, total, next_one: None)
    say(0, len(groups), "reference")
    truth, second = (
        go(space, "projection", RKMK("dop853"), save="final", **TIGHT) for space in (SO3XR3_NAME, SE3_NAME)
    )
    if not (truth.success and second.success):
        raise ArithmeticError(f"compare: the reference could not be computed: {truth.message}")
    rows, complete = [], True
    try:
        for done, (name, method, stabilization, label, space) in enumerate(groups):
            shown = OWN if isinstance(method, CONSTRAINED_METHODS) else stabilization or "none"
            say(done, len(groups), f"{name} on {label}, stabilised by {shown}")
            once = (start, start + np.sign(end - start) * min(sizes[-1], abs(end - start)))
            with suppress(StepError):  # its row will say so
                go(space, stabilization, method, step=sizes[-1], span=once)  # compiles on first use
            for h in sizes:
                key = (name, method.order, label, shown, h)
                try:
                    run = go(space, stabilization, method, step=h)
                except StepError as error:
                    rows.append(_failed(key, system, error.solution, 0.0, str(error), index_of(method)))
                    continue
                again = (go(space, stabilization, method, step=h, save="final") for _ in range(REPEATS))
                seconds = min(one.solution.seconds for one in again)
                rows.append(_row(run, truth, key, seconds))
    except KeyboardInterrupt:
        if not rows:
            raise
        complete = False
    return Comparison(
        system.name,
        (start, end),
        tuple(joint.name for joint in system.joints),
        tuple(rows),
        _errors(second, truth)[0],
        complete,
    )


def _errors(run: BodyRun, truth: BodyRun) -> tuple[float, float]:
    """Largest error at the end: of a position [m] or a rotation [rad], and of a body twist [rad/s, m/s]."""
    return pose_error(run.poses[-1], truth.poses[-1]), float(abs(run.twists[-1] - truth.twists[-1]).max())


def pose_error(got: np.ndarray, wanted: np.ndarray) -> float:
    """Largest error of a position [m] or a small rotation [rad] of poses (bodies, 7)."""
    sign = np.where(np.sum(got[:, :4] * wanted[:, :4], axis=1, keepdims=True) < 0, -1.0, 1.0)
    turned = 2 * np.linalg.norm(sign * got[:, :4] - wanted[:, :4], axis=1)
    moved = np.linalg.norm(got[:, 4:] - wanted[:, 4:], axis=1)
    return float(max(turned.max(initial=0.0), moved.max(initial=0.0)))


Key = tuple[str, int, str, str, float]  # method, order, space, stabilisation, step


def _failed(key: Key, system: System, solution: Solution, seconds: float, message: str, index: int) -> Row:
    """The row of a run that could not go on."""
    nothing = (np.nan,) * len(system.joints)
    numbers: dict[str, Any] = dict.fromkeys(("position", "velocity", "energy", "error", "velocity_error"), np.nan)
    numbers |= {"joints": nothing, "message": message, "index": index}
    return Row(*key, solution.steps, solution.evaluations, seconds, **numbers)


def _row(run: BodyRun, truth: BodyRun, key: Key, seconds: float) -> Row:
    solution = run.solution
    if not solution.success:
        return _failed(key, run.mechanism.system, solution, seconds, run.message, index_of(solution.method))
    position, velocity = run.violations
    balance = run.energy.balance
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
