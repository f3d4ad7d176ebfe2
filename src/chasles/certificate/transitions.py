"""Runs with friction that sticks or rigid limits: the companion finds its own times of sticking, slipping, impacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.certificate import checkpoints, companion, mesh, voices
from chasles.certificate.features import features
from chasles.certificate.stiff import MORE
from chasles.certificate.verdict import MESH, Finding
from chasles.integrate.stepper import helping
from chasles.simulation.motion import solve_motion
from chasles.simulation.runaway import LARGEST_USABLE

if TYPE_CHECKING:
    from chasles.certificate.judge import Judge


def judge_transitions(judge: Judge) -> str:
    """Judge at random times, at which the run is computed again. Returns what is missing for a verdict."""
    task, (start, end) = judge.task, judge.ends()
    times = checkpoints.checkpoint_times(start, end, judge.rng)
    more = {name: value for name, value in task.more.items() if name not in checkpoints.NOT_AGAIN}
    with helping():
        own = solve_motion(
            task.dynamics, task.method, (start, end), task.state, task.u, **more, save=times, progress=False
        )
    judge.budget.again += own.evaluations
    if len(own.y) < len(times) or not (np.abs(own.y) < LARGEST_USABLE).all():
        judge.broken = f"the run cannot be repeated: {own.message}"
        return ""
    t, y = np.concatenate([[start], times]), np.concatenate([[task.state], own.y])
    judge.motion = judge.moved(t, y)
    rtol, atol = companion.tolerances(task, judge.tolerance, judge.scale(judge.motion).smallest)
    pieces = judge.budget.most(companion.PIECES, companion.PIECES_SHARE, companion.LEAST_PIECES)
    judge.features = found = features(task, t, y, task.u, judge.rng, judge.budget)
    restarts = np.concatenate([companion.restarts(start, end, judge.rng, pieces), found.stops])
    stops = checkpoints.in_order(restarts, start, end)
    events = voices.known_events(task)
    try:
        made = companion.companion(
            *(task, (start, end), task.state, task.u, times, stops, judge.budget.left, rtol, atol, events)
        )
    except companion.CompanionError as trouble:
        judge.budget.used += trouble.used
        return f"no companion run could be computed: {trouble}" + ("" if trouble.broke else f"; {MORE}")
    judge.budget.used += made.evaluations
    other = judge.moved(t, np.concatenate([[task.state], made.y]))
    judge.errors = judge.scale(judge.motion, other).errors(judge.motion, other)
    judge.say_error(t, "by an adaptive run of order 8 with its own times of sticking, slipping and impacts")
    judge.say_voices(judge.made(t, y), judge.motion)
    judge.findings += mesh.mesh_of_rods(judge, t, y, judge.limits[MESH])
    judge.findings += voices.drives(judge.run.mechanism.system, start, end, judge.rng, judge.limits[voices.DRIVES])
    judge.findings += voices.events(judge.run, made.events, start, end)
    if not any(found.event.terminal for found in judge.run.solution.events):  # where one ended the run is no step's end
        same = bool((own.y[-1] == judge.run.solution.y[-1]).all())
        note = f"the run was repeated; its end is {'bit-identical' if same else 'different'}"
        judge.findings.append(Finding(voices.REPETITION, float(not same), 0.0, note, count=True))
    return ""
