"""Where no explicit companion can be afforded: the run by its own method with steps that have no common measure with
its own, and its first step against an explicit run. This sees less, and where it would see nothing it says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from chasles.certificate import checkpoints, companion, voices
from chasles.certificate.checkpoints import one_step
from chasles.certificate.verdict import Finding
from chasles.integrate.constrained_method import BLieDF
from chasles.integrate.method import RKMK, Exponentials
from chasles.model.rod_parts import shown_name
from chasles.simulation.laws.samples import items_with_laws
from chasles.simulation.runaway import LARGEST_USABLE

if TYPE_CHECKING:
    from chasles.certificate.judge import Judge

FIRST_STEP = "first step"
MORE = "certify(run, effort=10), or --effort 10 on the command line, allows ten times the work"
LOOSER = 10.0  # a step's error may be so many times the tolerance: it is damped away
SOME, DEAR = 3, 6  # of the checkpoints every so many, where each costs a step; or one that solves equations
IN_A_STEP = np.array([1e-4, 1e-3, 1e-2, 0.1, 0.3])


def judge_stiff(judge: Judge, t: np.ndarray, y: np.ndarray, atol: np.ndarray, trouble: companion.CompanionError) -> str:
    """Compare with the same method. Returns what is missing for a verdict."""
    task = judge.task
    assert judge.motion is not None
    assert judge.features is not None
    if trouble.broke or trouble.late:
        stops = checkpoints.in_order(judge.features.stops, *judge.ends())
        how = f"by equal steps of order 8; adaptive steps did not reach the end: {trouble}"
        if agrees(judge, t, partial(companion.equal, stops=stops), how):
            return ""
    elif isinstance(task.method, RKMK | Exponentials) and not any(items_with_laws(task.dynamics.mechanism.system)):
        # laws may act in regions so thin that steps which are not begun anew there jump over them
        how = "by equal steps of an implicit method: an explicit run would be too expensive"
        if agrees(judge, t, partial(companion.implicit, atol=atol), how):
            return ""
    some = every(len(t), 1 if isinstance(task.method, RKMK | Exponentials | BLieDF) else DEAR)
    try:
        other, factor, larger = companion.own_method(task, t[some][1:], atol, judge.budget)
    except companion.CompanionError as error:
        if not error.broke:
            return f"every companion run would be too expensive: {error}; {MORE}"
        judge.lost = True
        return f"a check run with other steps did not reach the end: {error}"
    if not (np.abs(other) < LARGEST_USABLE).all():
        if larger:
            return f"with larger steps {companion.BEYOND}, and smaller ones would be too expensive; {MORE}"
        judge.broken = f"with smaller steps {companion.BEYOND}"
        return ""
    t, judge.motion = t[some], judge.motion[some]
    motion = judge.moved(t, np.concatenate([[task.state], other]))
    judge.errors = factor * judge.scale(judge.motion, motion).errors(judge.motion, motion)
    steps, missing = "larger" if larger else "smaller", ""
    if judge.largest() <= judge.tolerance:
        if trouble.broke:
            missing = f"agrees with the same method at {steps} steps, but the companion broke off: {trouble}"
        elif judge.features.in_time:
            missing = (
                f"agrees with the same method at {steps} steps, but {judge.features.in_time[0]!r} depends on time and "
                f"another method would be too expensive; {MORE}"
            )
    elif larger:
        missing = f"differs from the same method at larger steps by {judge.largest():.1e}, and smaller ones would "
        missing += f"be too expensive; {MORE}"
    judge.say_error(t, f"by the same method with {steps} steps alone: an explicit run would be too expensive", missing)
    judge.findings += first_step(judge, atol)
    return ""


def every(count: int, step: int) -> np.ndarray:
    """Every so many of the times, with the first and the last."""
    some = np.arange(count) % step == (count - 1) % step
    some[0] = True
    return some


def agrees(judge: Judge, t: np.ndarray, ask: Callable[..., companion.Companion], how: str) -> bool:
    """Whether equal steps come through where those of the companion did not, and agree with the run: then it is right.
    If they do not agree, either may be wrong."""
    task, some = judge.task, every(len(t), SOME)
    assert judge.motion is not None
    try:
        other = ask(task, judge.ends(), t[some][1:], judge.budget, events=voices.known_events(task))
    except companion.CompanionError:
        return False
    whole, judge.motion = judge.motion, judge.motion[some]
    motion = judge.moved(t[some], np.concatenate([[task.state], other.y]))
    judge.errors = judge.scale(judge.motion, motion).errors(judge.motion, motion)
    if judge.largest() > judge.tolerance:
        judge.errors, judge.motion = None, whole
        return False
    judge.say_error(t[some], how)
    judge.findings += voices.events(judge.run, other.events, *judge.ends())
    return True


def first_step(judge: Judge, atol: np.ndarray) -> list[Finding]:
    """The first step of the run against an explicit run over it: fast parts that the method damps away show here."""
    task, (start, end) = judge.task, judge.ends()
    if task.more["step"] is None:
        return []
    after = start + float(np.copysign(min(task.more["step"], abs(end - start)), end - start))
    mine = one_step(task, task.method, start, after, task.state)
    stops = start + (after - start) * IN_A_STEP
    try:
        other = companion.companion(
            task,
            (start, after),
            task.state,
            task.u,
            np.array([after]),
            stops,
            judge.budget.left,
            1e-7,
            atol,
        )
    except companion.CompanionError as trouble:
        judge.budget.used += trouble.used
        return []
    judge.budget.used += other.evaluations
    assert judge.motion is not None
    t = np.array([start, after])
    one, two = (judge.moved(t, np.stack([task.state, state])) for state in (mine, other.y[-1]))
    errors = judge.scale(judge.motion, two).errors(one, two).max(axis=(1, 2), initial=0.0)
    worst = int(np.argmax(errors))
    name = shown_name(task.dynamics.mechanism.system.joints, judge.motion.names[worst])
    note = f"against an explicit run over it, largest at {name!r}"
    return [Finding(FIRST_STEP, float(errors[worst]), LOOSER * judge.tolerance, note)]
