"""Runs under a sampled controller. It is asked again: if it gives the same inputs it is a function, and the companion
runs the closed loop with it. Else it has a memory, or chance: then each period is computed again under the recorded
input from the run's own state, and the errors of all periods are added."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from chasles.certificate import checkpoints, companion, mesh, voices
from chasles.certificate.features import features
from chasles.certificate.stiff import MORE
from chasles.certificate.verdict import MESH
from chasles.integrate.constrained_method import BLieDF
from chasles.integrate.event import Occurrence
from chasles.integrate.stepper import helping
from chasles.simulation.motion import solve_motion
from chasles.simulation.runaway import LARGEST_USABLE

if TYPE_CHECKING:
    from chasles.certificate.judge import Judge

INSIDE, PERIODS = 64, 32  # times within periods at which both are compared too, and of how many periods at most
KNOWN = 1 / 30  # of the tolerance: errors of periods that no loop is expected to amplify beyond it


def judge_sampled(judge: Judge) -> str:
    """Judge at the times at which the controller was asked. Returns what is missing for a verdict."""
    run, task = judge.run, judge.task
    edges = task.edges()
    found = kept_at(np.asarray(run.t), edges)
    stopped = [event.t for event in run.solution.events if event.event.terminal]
    if stopped:
        edges = np.append(edges[edges < stopped[-1]], stopped[-1])
        found = kept_at(np.asarray(run.t), edges)
    if found is None:
        return "the states at the times of the controller were not kept"
    states = np.asarray(run.solution.y[found])
    if not (np.abs(states) < LARGEST_USABLE).all():
        judge.broken = companion.BEYOND
        return ""
    inputs = np.asarray(run.inputs[found[1:]])  # held in the period that ends there
    judge.motion = judge.moved(edges, states)
    known = judge.ask and not hasattr(task.controller, "not_in_file")
    function = known and same_answers(judge, edges, states, inputs)
    inside = _times_inside(judge, edges)
    try:
        other, between, occurrences = _periods(judge, edges, states, inputs, function, inside)
    except companion.CompanionError as trouble:
        judge.budget.used += trouble.used
        why = "" if trouble.broke else f"; {MORE}"
        return f"no companion could be computed: {trouble}{why}"
    own = [_run_inside(judge, edges[k : k + 2], states[k], inputs[k], times) for k, times in inside.items()]
    t = np.concatenate([edges, *inside.values()])
    order = np.argsort(t, kind="stable")
    t, mine, theirs = (np.concatenate(parts)[order] for parts in ((t,), (states, *own), (other, *between)))
    judge.motion, motion = judge.moved(t, mine), judge.moved(t, theirs)
    judge.errors = judge.scale(judge.motion, motion).errors(judge.motion, motion)
    how, missing = "by a companion run that called the controller again, at its times and between them", ""
    if not function:
        at_edge = (order < len(edges))[None, :, None]
        judge.errors = np.cumsum(np.where(at_edge, judge.errors, 0.0), axis=1) + np.where(at_edge, 0.0, judge.errors)
        what = "the controller has memory or is random" if known else "the controller was not called again"
        how = f"sum over all periods under the recorded inputs: {what}"
        if KNOWN * judge.tolerance < judge.largest() <= judge.tolerance:
            missing = f"errors of the periods add up to {judge.largest():.1e}, and {what}: how the loop amplifies them "
            missing += "is not known; give the controller as a function of t, q and v alone"
    judge.say_error(t, how, missing)
    judge.say_voices(judge.made(edges, states, np.concatenate([inputs, inputs[-1:]])), judge.moved(edges, states))
    judge.findings += mesh.mesh_of_rods(judge, edges, states, judge.limits[MESH])
    judge.findings += voices.events(run, occurrences, edges[0], edges[-1])
    return ""


def kept_at(t: np.ndarray, edges: np.ndarray) -> np.ndarray | None:
    """The rows of the edges among the saved times, if they are all there."""
    at = np.clip(np.searchsorted(t, edges), 0, len(t) - 1)
    at = np.where(np.abs(t[np.maximum(at - 1, 0)] - edges) < np.abs(t[at] - edges), np.maximum(at - 1, 0), at)
    near = 1e-9 * np.diff(edges).min()
    return at if (np.abs(t[at] - edges) <= near).all() else None


def answer(judge: Judge, t: float, state: np.ndarray) -> np.ndarray:
    """The input that the controller gives."""
    task = judge.task
    q, v = task.dynamics.coordinates(state)
    assert task.controller is not None
    return np.atleast_1d(np.asarray(task.controller(float(t), q.copy(), v.copy()), dtype=float))


def same_answers(judge: Judge, edges: np.ndarray, states: np.ndarray, inputs: np.ndarray) -> bool:
    """Whether the controller, asked again at the recorded states in their order, gives the same inputs to the bit."""
    asked = (answer(judge, t, state) for t, state in zip(edges[:-1], states[:-1], strict=True))
    return all(np.array_equal(again, given) for again, given in zip(asked, inputs, strict=True))


def _times_inside(judge: Judge, edges: np.ndarray) -> dict[int, np.ndarray]:
    """Random times within some of the periods, by their numbers. A multistep method has no points there."""
    if isinstance(judge.task.method, BLieDF):
        return {}
    count = len(edges) - 1
    chosen = np.unique(judge.rng.integers(0, count, PERIODS)) if count > PERIODS else np.arange(count)
    each = -(-INSIDE // len(chosen))
    within = {int(k): np.sort(judge.rng.uniform(0.02, 0.98, each)) for k in chosen}
    return {k: edges[k] + (edges[k + 1] - edges[k]) * part for k, part in within.items()}


def _run_inside(judge: Judge, edges: np.ndarray, state: np.ndarray, given: np.ndarray, times: np.ndarray) -> np.ndarray:
    """States of the run within a period, which is done again from its begin."""
    task, (first, last) = judge.task, edges
    u = task.dynamics.actuation().forces(given)
    more = {name: value for name, value in task.more.items() if name not in checkpoints.NOT_AGAIN}
    more["step"] = min(more["step"], last - first) if more["step"] else None
    with helping():
        return solve_motion(task.dynamics, task.method, (first, last), state, u, **more, save=times, progress=False).y


def _periods(
    judge: Judge,
    edges: np.ndarray,
    states: np.ndarray,
    inputs: np.ndarray,
    closed: bool,
    inside: Mapping[int, np.ndarray],
) -> tuple[np.ndarray, list[np.ndarray], list[Occurrence]]:
    """States at the edges, inside, and events, by a companion: of the closed loop, or period by period from the states
    of the run."""
    task, rng, assert_motion = judge.task, judge.rng, judge.motion
    assert assert_motion is not None
    rtol, atol = companion.tolerances(task, judge.tolerance, judge.scale(assert_motion).smallest)
    judge.features = features(task, edges, states, None, rng, judge.budget)
    marks, nothing = np.sort(judge.features.stops), np.empty(0)
    out, between, occurrences, events = [states[0]], [], list[Occurrence](), voices.known_events(task)
    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        begin = out[-1] if closed else states[k]
        u = task.dynamics.actuation().forces(answer(judge, a, begin) if closed else inputs[k])
        within = marks[np.searchsorted(marks, a, "right") : np.searchsorted(marks, b)]
        stops = np.append(within, a + (b - a) * (0.3 + 0.4 * rng.random()))
        wanted = np.append(inside.get(k, nothing), b)
        made = companion.companion(
            *(task, (a, b), begin, u, wanted, np.sort(stops), judge.budget.left, rtol, atol, events)
        )
        occurrences += made.events
        judge.budget.used += made.evaluations
        out.append(made.y[-1])
        if k in inside:
            between.append(made.y[:-1])
    return np.array(out), between, occurrences
