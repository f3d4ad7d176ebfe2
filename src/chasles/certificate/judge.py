"""`certify`: the verdict on a run, by an independent motion over the whole of it and by what an exact one keeps."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.certificate import advice, checkpoints, companion, mesh, rods, sampled, stiff, transitions, voices
from chasles.certificate.budget import Budget, spent
from chasles.certificate.features import Features, features
from chasles.certificate.loads import pull_of
from chasles.certificate.movement import Movement, Scale, movement, scale_of
from chasles.certificate.verdict import ERROR, MESH, Certificate, Finding, by_words
from chasles.integrate.constrained_method import BLieDF
from chasles.integrate.fixed_step import StepError
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Solution
from chasles.model.rod_parts import shown_name
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task
from chasles.simulation.runaway import LARGEST_USABLE, usable

# what a run may be off by: the error relative to how far and how fast each joint moves, the others to a size that
# their lines tell
TOLERANCES: Mapping[str, float] = {
    ERROR: 1e-3,
    voices.ENERGY: 1e-2,
    voices.MOMENTUM: 1e-2,
    voices.GROUP: 1e-9,
    voices.POSITION: 1e-6,
    voices.VELOCITY: 1e-4,
    voices.DRIVES: 1e-2,
    MESH: 1e-2,
    rods.ELEMENT_TURN: 1.0,
    rods.FIBER_STRAIN: math.inf,
}
BETWEEN = 128  # times at which forces change, to see how far joints move between the checkpoints
SEED = 18  # of the random times: a verdict can be repeated
AGREED = 1 / 3  # of the tolerance; above it a finer companion decides
LOOSER = 100.0  # times the tolerance of a companion, if the first could not be afforded
FIRST = 0.8  # of the evaluations that there are: the share of the first companion
PATIENT = 0.55  # of these: what it may take in any case, if it took longer than expected
WORTH, ORDER = 1.4, 8  # times the first a finer one may cost at least to be worth it; order of the companion


def certify(
    run: Any,
    tolerances: Mapping[str, float] | None = None,
    *,
    ask: bool = True,
    without: Collection[str] = (),
    span: tuple[float, float] | None = None,
    seed: int = SEED,
    effort: float = 1.0,
) -> Certificate:
    """The certificate of a run, whose verdict is "passed", "failed" or "not judged".

    The whole span is integrated a second time, by another method with other steps. Both runs are compared at about 190
    random times, which do not depend on what was saved. Each joint counts relative to how far and how fast it moves.

    `tolerances` changes some of TOLERANCES, by the names of the lines, or a word of them: {"error": 1e-6}. Controllers
    and laws in Python are called again, unless ask=False. `without` leaves out joints by name, `span` judges a part of
    the time, by the motion in it. `seed` chooses the random times. A verdict costs at most about twice the run, or
    0.2 s; effort=10 may take ten times as long, for what could not be judged so.
    """
    begun = time.perf_counter()
    limits = dict(TOLERANCES)
    for name, value in (tolerances or {}).items():
        limits[by_words(name, TOLERANCES, "certify: unknown tolerance")] = float(value)
    if not effort > 0:
        raise ValueError(f"certify: effort is {effort!r}; expected a positive number")
    judge = Judge(run, limits, ask, tuple(without), span, np.random.default_rng(seed), float(effort))
    refused = judge.refusal()
    if not refused:
        refused = judge.by_kind()
    if judge.findings or judge.features is not None:
        judge.say_the_rest()
    seconds = time.perf_counter() - begun
    used = 0 if refused and judge.features is None else judge.budget.used + judge.budget.again
    cost = f"judged with {used} evaluations (run: {run.solution.evaluations})" if used else ""
    found = Certificate(
        _title(run),
        tuple(judge.findings),
        _ended(run),
        run.success and not judge.broken,
        judge.horizon,
        cost=cost,
        refused=judge.broken or refused,
        origin="" if run.kept is None else "recomputed",
        seconds=seconds,
    )
    return replace(found, advice=tuple(advice.advice(run, found, judge)))


def certificate_of(run: Any) -> Certificate:
    """What `run.certificate` is: `certify(run)`, unless that was switched off."""
    if run.task is None or run.task.certificate:
        effort = True if run.task is None else run.task.certificate
        return certify(run, effort=float(effort))
    off = "switched off (certificate=False); certify(run) judges it"
    return Certificate(_title(run), (), _ended(run), run.success, refused=off if run.success else run.message)


def _title(run: Any) -> str:
    return f"certificate of {run.mechanism.system.name!r}"


def _ended(run: Any) -> str:
    solution = run.solution
    work = f"{solution.steps} steps, {solution.rejections} rejected"
    return f"{solution.message}; {work}" if run.success else work  # else the verdict says why


@dataclass
class Judge:
    """What is being found out about a run."""

    run: Any
    limits: Mapping[str, float]
    ask: bool
    without: tuple[str, ...]
    part: tuple[float, float] | None
    rng: np.random.Generator
    effort: float = 1.0
    findings: list[Finding] = field(default_factory=list)
    horizon: float = math.nan
    broken: str = ""  # why the run is no good, whatever else
    parted: tuple[float, np.ndarray] | None = None  # rtol of a first companion, and its errors by a finer one
    features: Features | None = None
    errors: np.ndarray | None = None  # (joints, times, 2)
    motion: Movement | None = None
    lost: bool = False  # no check run came to its end
    wide: Any = None  # the second motion as a run, also between the checkpoints: for sizes

    @property
    def task(self) -> Task:
        return self.run.task

    @cached_property
    def budget(self) -> Budget:
        return Budget.of(self.task, self.run.solution, self.effort)

    @property
    def tolerance(self) -> float:
        return self.limits[ERROR]

    @cached_property
    def pull(self) -> tuple[float, bool]:
        """What the loads would accelerate the mechanism by, and whether they are in balance [m/s²]."""
        return pull_of(self.made(np.array(self.task.span[:1]), self.task.state[None]))

    def ends(self) -> tuple[float, float]:
        """Start and end of what was computed: an event may have ended it."""
        last = [found.t for found in self.run.solution.events if found.event.terminal]
        return self.task.span[0], last[-1] if last else self.task.span[1]

    # ------------------------------------------------------------ refusals

    def refusal(self) -> str:
        """Why there is nothing to judge, if so."""
        run, task = self.run, self.run.task
        if task is None:
            return "this run is not from `simulate`, so how to repeat it is not known"
        if run.partial:
            return "this is a part of a run; certify(run, span=(start, end)) of the whole judges a part of the time"
        if not len(run):
            return f"no point was saved: {run.message}"
        if not run.success:
            self._saved_voices()
            return f"the run did not reach its end: {run.message}"
        start, end = self.ends()
        if start == end:
            return "the span is empty: nothing was computed"
        if not run.mechanism.bodies:
            return "there are no bodies"
        if lost := advice.lost_laws(run.mechanism.system):
            return f"the law {lost[0]!r} is not in the file: open(..., laws={{{lost[0]!r}: function}})"
        if not self.ask and (asked := advice.python_laws(run.mechanism.system)):
            return f"ask=False, and a companion run would have to call the law {asked[0].__name__!r}, a Python function"
        unknown = set(self.without) - {joint.name for joint in run.mechanism.system.joints}
        unknown -= {body.name for body in run.mechanism.system.bodies}
        if unknown:
            raise ValueError(f"certify: without {sorted(unknown)[0]!r}: there is no such joint")
        return ""

    def _saved_voices(self) -> None:
        """What can be said of a run that broke off: at the points that it saved."""
        rows = np.unique(np.linspace(0, usable(self.run.solution) - 1, checkpoints.SPREAD).astype(int))
        t, y = (np.array([part[k] for k in rows]) for part in (self.run.t, self.run.solution.y))
        if len(t) and (np.abs(y) < LARGEST_USABLE).all():
            self.say_voices(self.made(t, y), movement(self.task.dynamics, t, y, self.without))

    # ------------------------------------------------------------ the motion

    def made(self, t: np.ndarray, y: np.ndarray, u: np.ndarray | None = None) -> Any:
        """A run with these states, under the constant input or the inputs u."""
        task = self.task
        solution = Solution(task.dynamics.space, task.method, t, y, True, "")
        return Run(task.dynamics, solution, task.constant(len(t)) if u is None else u, task=task)

    def moved(self, t: np.ndarray, y: np.ndarray) -> Movement:
        return movement(self.task.dynamics, t, y, self.without)

    def scale(self, *motions: Movement, wide: Movement | None = None) -> Scale:
        """Of the part of the time that is judged. What a joint does only between the checkpoints, as in a `wide`
        motion, counts little: it sets how small a later motion can be and not be its rounding."""
        chosen = [motion[self.rows(motion.t)] for motion in motions]
        (first, last), (pull, resting) = self.ends(), self.pull
        found = scale_of(*chosen, pull=pull, resting=resting, span=abs(last - first))
        if wide is None:
            return found
        brief = scale_of(wide, pull=pull, resting=resting, span=abs(last - first))
        far, fast = np.maximum(found.far, voices.BRIEF * brief.far), np.maximum(found.fast, voices.BRIEF * brief.fast)
        return replace(found, far=far, fast=fast)

    def rows(self, t: np.ndarray) -> np.ndarray:
        if self.part is None:
            return np.ones(len(t), dtype=bool)
        inside = (t >= min(self.part)) & (t <= max(self.part))
        if inside.sum() < 2:
            raise ValueError(
                f"certify: span {self.part} contains no saved time of the run, {t.min():g} to {t.max():g} s"
            )
        return inside

    def whole(self) -> str:
        """Judge a run under a constant input, or none. Returns what is missing for a verdict."""
        task, (start, end) = self.task, self.ends()
        spread = self.budget.most(checkpoints.SPREAD, checkpoints.SHARE, checkpoints.LEAST, each=companion.SAVED)
        times = checkpoints.checkpoint_times(start, end, self.rng, spread)
        if self.part is not None:
            more = min(self.part) + abs(self.part[1] - self.part[0]) * self.rng.random(checkpoints.SPREAD // 2)
            times = checkpoints.in_order(np.concatenate([times, more]), start, end)
        if isinstance(task.method, BLieDF) and task.more["step"] is not None:
            times = checkpoints.every_second_step(times, start, end, task.more["step"])
            if not len(times):
                return "there are too few steps of a multistep method"
        try:
            steps, done = checkpoints.steps_of(self.run, times)
        except StepError as error:
            self.broken = f"the run cannot be repeated: {error}"
            return ""
        if done is not None:
            self.budget.again += spent(task, done)
        if len(steps.times) < len(times):
            self.broken = f"the run cannot be repeated: {done.message if done else 'points are missing'}"
            return ""
        t, y = steps.states(task, task.method)
        t, y = np.concatenate([[start], t]), np.concatenate([[task.state], y])
        if not (np.abs(y) < LARGEST_USABLE).all():
            self.broken = companion.BEYOND
            return ""
        self.motion = self.moved(t, y)
        missing = self._compare(t, y)
        self.say_voices(self.made(t, y), self.motion)
        self.findings += mesh.mesh_of_rods(self, t, y, self.limits[MESH])
        self.findings += voices.drives(self.run.mechanism.system, start, end, self.rng, self.limits[voices.DRIVES])
        if isinstance(task.method, RKMK | Exponentials):
            self.findings.append(voices.repetition(task, len(steps.times), steps.repeated(task, task.method, end)))
        return missing

    def _compare(self, t: np.ndarray, y: np.ndarray) -> str:
        """The companion, a finer one if they do not agree, or what can be afforded."""
        task, (start, end), tolerance = self.task, self.ends(), self.tolerance
        assert self.motion is not None
        rtol, atol = companion.tolerances(task, tolerance, self.scale(self.motion).smallest)
        self.features = found = features(task, t, y, task.u, self.rng, self.budget)
        pieces = self.budget.most(companion.PIECES, companion.PIECES_SHARE, companion.LEAST_PIECES)
        stops, first = self._begins_anew(found, pieces), None
        last: companion.CompanionError | None = None
        for allowed in (rtol, LOOSER * rtol):
            try:
                limit = min(FIRST * self.budget.total, self.budget.left)
                first, wide = self._ask(t, stops, limit, allowed, atol)
                break
            except companion.CompanionError as trouble:
                last = trouble
                if trouble.broke or (trouble.late and self.run.constraints):
                    break
        if first is None:
            assert last is not None
            return stiff.judge_stiff(self, t, y, atol, last)
        other = self.moved(t, np.concatenate([[task.state], first.y]))
        decisive, how, missing = first, "by an adaptive run of order 8 with other steps", ""
        self.errors = self.scale(self.motion, other, wide=wide).errors(self.motion, other)
        if self.largest() > AGREED * tolerance:
            finest = self._finer(t, first, found, pieces, allowed, atol)
            if finest is not None:
                decisive, wide = finest
                own = self.moved(t, np.concatenate([[task.state], decisive.y]))
                scale = self.scale(self.motion, own, wide=wide)
                self.errors = scale.errors(self.motion, own)
                self.parted = allowed, scale.errors(other, own)
            elif allowed > rtol:
                missing = f"differs from a coarse companion run, and a finer one would be too expensive; {stiff.MORE}"
        if last is not None and not missing and self._parts_from(t, y, last):
            missing = f"differs from a companion run, which was too expensive to finish; {stiff.MORE}"
        self.say_error(t, how, missing)
        self.findings += voices.events(self.run, decisive.events, start, end)
        return ""

    def _begins_anew(self, found: Features, pieces: int) -> np.ndarray:
        """Where a second motion begins anew: at random, and where forces change."""
        return np.concatenate([companion.restarts(*self.ends(), self.rng, pieces), found.stops])

    def _parts_from(self, t: np.ndarray, y: np.ndarray, trouble: companion.CompanionError) -> bool:
        """Whether a second motion that was given up had left the run by then: a coarser one that agrees with the run
        may have stepped over the same."""
        if trouble.done is None or self.motion is None:
            return False
        times, states = trouble.done
        mine, its = np.isin(t, times), np.isin(times, t)
        if not mine.any():
            return False
        errors = self.scale(self.motion).errors(self.moved(t[mine], y[mine]), self.moved(times[its], states[its]))
        return bool(errors[:, self.rows(self.motion.t)[mine]].max(initial=0.0) > self.tolerance)

    def _ask(
        self, t: np.ndarray, stops: np.ndarray, limit: float, rtol: float, atol: np.ndarray
    ) -> tuple[companion.Companion, Movement]:
        """The second motion at the checkpoints, and how it moves: there and where forces change, which may be between
        all checkpoints."""
        task, (start, end) = self.task, self.ends()
        ordered, events = checkpoints.in_order(stops, start, end), voices.known_events(task)
        assert self.features is not None
        between = np.sort(self.features.stops)
        between = between[:: max(1, -(-len(between) // max(1, min(BETWEEN, self.budget.total // 400))))]
        times = checkpoints.in_order(np.concatenate([t[1:], between]), start, end)
        try:
            made = companion.companion(
                *(task, (start, end), task.state, task.u, times, ordered, max(int(limit), 1), rtol, atol, events),
                int(PATIENT * self.budget.total),
            )
        except companion.CompanionError as trouble:
            self.budget.used += trouble.used
            raise
        self.budget.used += made.evaluations
        path = np.concatenate([[start], times]), np.concatenate([[task.state], made.y])
        self.wide, wide = self.made(*path), self.moved(*path)
        return replace(made, y=made.y[np.isin(times, t[1:])]), wide

    def _finer(
        self, t: np.ndarray, first: companion.Companion, found: Features, pieces: int, rtol: float, atol: np.ndarray
    ) -> tuple[companion.Companion, Movement] | None:
        """A finer second motion with more break points, if what is left is enough for one; else the first has the
        word."""
        task = self.task
        dearer = self.budget.left / max(first.evaluations, 1)
        if dearer < WORTH:
            return None
        tighter = max(1e-3, (dearer / WORTH) ** -ORDER)
        if dearer > 2 * WORTH:
            states = np.concatenate([[task.state], first.y])
            found, pieces = features(task, t, states, task.u, self.rng, self.budget, found), 2 * pieces
        stops = self._begins_anew(found, pieces)
        tightest = np.maximum(tighter * atol, np.finfo(float).tiny)
        try:
            return self._ask(t, stops, self.budget.left, max(tighter * rtol, companion.FINEST), tightest)
        except companion.CompanionError:
            return None

    def largest(self) -> float:
        """The largest error in the part that is judged."""
        assert self.errors is not None
        assert self.motion is not None
        return float(self.errors[:, self.rows(self.motion.t)].max(initial=0.0))

    # ------------------------------------------------------------ lines

    def say_error(self, t: np.ndarray, how: str, missing: str = "") -> None:
        """The line of the error, and the horizon."""
        assert self.errors is not None
        assert self.motion is not None
        inside = self.rows(t)
        worst = np.where(inside, self.errors.max(axis=2, initial=0.0), 0.0)
        over = np.flatnonzero(worst.max(axis=0, initial=0.0) > self.tolerance)
        self.horizon = float(t[max(over[0] - 1, 0)]) if len(over) else float(t[-1])
        value, place = float(worst.max(initial=0.0)), ""
        if value > 0:
            k, i = np.unravel_index(int(np.argmax(worst)), worst.shape)
            name = shown_name(self.task.dynamics.mechanism.system.joints, self.motion.names[int(k)])
            place = f"; largest at {name!r}, t = {t[int(i)]:.4g} s"
        which = "whole run" if self.part is None else f"t = {self.part[0]:g} to {self.part[1]:g} s"
        scope = "all joints" if not self.without else f"without {', '.join(map(repr, self.without))}"
        self.findings.insert(
            0,
            Finding(ERROR, value, self.tolerance, missing or f"{scope}, {which}; {how}{place}", missing=bool(missing)),
        )

    def say_voices(self, run: Any, motion: Movement) -> None:
        wide = run if self.wide is None else self.wide
        self.findings += voices.all_of(run, motion, self.limits, wide, self.pull[1])
        self.findings += rods.rods(run, self.limits)

    def say_the_rest(self) -> None:
        """What was looked for in the forces, and what is not judged."""
        found = self.features
        if found is not None and found.in_time:
            names = ", ".join(map(repr, found.in_time[:3])) + (", ..." if len(found.in_time) > 3 else "")
            verb = "depends" if len(found.in_time) == 1 else "depend"
            note = f"{names} {verb} on time; called at {found.called} random times: changes "
            note += f"shorter than {1 / found.called:.0e} of the span are not found"
            self.findings.append(Finding("forces", math.nan, None, note))
        if found is not None and found.memory:
            self.findings = [finding for finding in self.findings if finding.name != voices.REPETITION]
            note = f"{found.memory[0]!r} is not a function of its arguments: called again, it gives other numbers"
            self.findings.append(Finding(voices.REPETITION, float(len(found.memory)), 0.0, note, count=True))
        if self.task.more["events"] and not any(finding.name == voices.EVENTS for finding in self.findings):
            self.findings.append(Finding(voices.EVENTS, math.nan, None, "not judged: no other method counted them"))
        note = "not judged: they follow from the states by the equations of motion"
        self.findings.append(Finding("accelerations, reactions", math.nan, None, note))

    def by_kind(self) -> str:
        """Judge the run. Returns what is missing for a verdict."""
        if self.task.controller is not None:
            return sampled.judge_sampled(self)
        return self.whole() if self.task.dynamics.set_valued is None else transitions.judge_transitions(self)
