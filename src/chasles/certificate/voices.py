"""Second voices: what an exact motion keeps, whatever the companion says. They catch what two runs may share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from chasles.certificate.loads import Rest
from chasles.certificate.movement import EPS, ROUNDING, Movement, sizes
from chasles.certificate.verdict import Finding
from chasles.force.build import is_passive
from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.constraint import Drive
from chasles.model.force import BetweenBodies, Wrench
from chasles.model.law import Law
from chasles.model.scale import constraint_lengths
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.nonsmooth.set_valued import Change, Limit
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task

ENERGY, MOMENTUM, GROUP, POSITION, VELOCITY = (
    "energy balance",
    "momentum",
    "distance from group",
    "joints, position",
    "joints, velocity",
)
DRIVES, EVENTS, REPETITION, REDUNDANT = "drives", "events", "repetition", "redundant equations"
BRIEF = 1e-4  # of what moves between the checkpoints alone: later motions below are taken for its rounding
AT_THE_END = 1e-3  # of the span
SAMPLES = 257  # times at which laws of drives are differentiated


def energy(run: Run, rest: Rest, tolerance: float, wide: Run) -> Finding:
    """The balance since the true start, of the largest energy or work; not below what rounding of the loads can do, and
    of the energy that comes and goes between the checkpoints, as in the second motion `wide`."""
    found = run.energies
    parts = [x for e in (found, wide.energies) for x in (e.kinetic, e.gravity - e.gravity[0], e.springs, e.work)]
    parts[4:] = [BRIEF * part for part in parts[4:]]
    floor = rest.energy + ROUNDING * float(np.abs(found.gravity).max())
    scale = max(floor, *(float(np.abs(part).max()) for part in parts))
    off = float(np.abs(found.balance - found.balance[0]).max())
    note = "largest change since the start, relative to the largest energy or work"
    return Finding(ENERGY, off / scale if scale > 0 else off, tolerance, note)


def kept_momenta(mechanism: Mechanism | ClosedMechanism) -> np.ndarray:
    """Directions (k, 6) in which the spatial momentum of a system is kept: none if the ground holds or pushes it."""
    system = mechanism.system
    for joint in mechanism.tree.all_joints:
        if joint.parent == GROUND and (not joint.traits.holds_nothing or is_passive(joint)):
            return np.empty((0, 6))
    if isinstance(mechanism, ClosedMechanism):
        held = [joint.parent for joint in mechanism.split.cut]
        for constraint in system.constraints:
            held += getattr(constraint, "bodies", ())
        if GROUND in held:
            return np.empty((0, 6))
    for force in system.forces:
        if isinstance(force, Wrench) or (isinstance(force, BetweenBodies) and GROUND in force.bodies):
            return np.empty((0, 6))
        if not isinstance(force, BetweenBodies | Wrench) and system.joint(force.joint).parent == GROUND:
            return np.empty((0, 6))
    g = np.array(system.gravity)
    if not g.any():
        return np.eye(6)
    down = g / np.linalg.norm(g)
    across = np.linalg.svd(down[None])[2][1:]
    return np.concatenate([np.pad(down[None], ((0, 0), (0, 3))), np.pad(across, ((0, 0), (3, 0)))])


def momentum(run: Run, rest: Rest, tolerance: float) -> list[Finding]:
    """The components that are kept, of the sum of the bodies' own, and not below what rounding of the loads can do."""
    mechanism = run.dynamics.mechanism
    kept = kept_momenta(mechanism)
    if not len(kept) or run.given is not None or not mechanism.bodies:
        return []
    arm = np.array([rest.size, rest.size, rest.size, 1.0, 1.0, 1.0])  # moments of momentum count by a size
    total = (mechanism.momentum(run.q, run.v) / arm) @ kept.T
    poses, twists = run.poses, run.twists
    inertia = np.array([body.spatial for body in run.system.bodies])
    own = pose_group.AdT_apply(pose_group.inverse(poses), np.einsum("bij,...bj->...bi", inertia, twists)) / arm
    size = max(float(np.abs(own).sum(axis=-2).max(initial=0.0)), rest.momentum)
    off = float(np.abs(total - total[0]).max())
    off = off / size if size > 0 else off
    parts = "all six components" if len(kept) == 6 else "about the vertical and along the horizontal"
    return [Finding(MOMENTUM, off, tolerance, parts)]


def violations(run: Run, motion: Movement, rest: Rest, limits: Mapping[str, float]) -> list[Finding]:
    """The joint or constraint that is violated most, of the size of the mechanism and of its speed, or of what the
    loads would give it: that of one that is held still is rounding. Angles count as what they move a body of the
    joint's size by, so that no unit of length is better than another."""
    names = run.constraints
    if not names:
        return []
    own = constraint_lengths(run.mechanism.system)
    lengths = np.array([own.get(name, rest.size) for name in names])
    position, speed = (np.abs(off).max(axis=0) * lengths for off in _violated(run)[:2])
    size = max(rest.size, float(motion.away.max(initial=0.0)))
    fast = max(float((sizes(motion.twists) * (rest.size, 1.0)).max(initial=0.0)), rest.speed)
    found = []
    for what, worst, scale in ((POSITION, position, size), (VELOCITY, speed, fast)):
        largest = float(worst.max())
        note = (
            f"largest at {names[int(np.argmax(worst))]!r}, relative to {scale:.3g} {'m' if what is POSITION else 'm/s'}"
        )
        found.append(Finding(what, largest / scale, limits[what], note))
    return found


def _violated(run: Run) -> Any:
    """Violations in rad and sizes of bodies, and these per second."""
    if run.coordinates == "absolute":
        central, velocity, _ = run.dynamics.split(run.solution.y)
        angles = run.dynamics.angles(run.solution.y)
        return run.mechanism.constraint_violation(central, velocity, run.t, angles, scaled=True)
    return run.mechanism.constraint_violation(run.q, run.v, t=run.t, scaled=True)


def redundant(run: Run) -> list[Finding]:
    """Constraint equations that depend on others."""
    mechanism = run.dynamics.mechanism
    names = mechanism.redundant
    if not names:
        return []
    note = f"reactions are not unique: {', '.join(map(repr, names[:4]))}{', ...' if len(names) > 4 else ''}"
    return [Finding(REDUNDANT, float(mechanism.redundant_equations), None, note, count=True)]


def group(run: Run, tolerance: float) -> list[Finding]:
    """How far the quaternions are from length one."""
    starts = (
        np.arange(0, 7 * run.dynamics.n, 7)
        if run.coordinates == "absolute"
        else run.dynamics.mechanism.tables.quaternions
    )
    if not len(starts):
        return []
    squares = np.sum([run.solution.y[:, np.asarray(starts) + k] ** 2 for k in range(4)], axis=0)
    return [Finding(GROUP, float(np.abs(np.sqrt(squares) - 1).max()), tolerance, "quaternions")]


def drives(system: Any, start: float, end: float, rng: np.random.Generator, tolerance: float) -> list[Finding]:
    """Whether the rates and accelerations that laws of drives write are derivatives: else nothing moves so."""
    names = []
    for item in system.constraints:
        if isinstance(item, Drive) and isinstance(item.value, Law):
            names.append((_off_differences(item, start, end, rng), item.name))
    if not names:
        return []
    worst, name = max(names)
    return [Finding(DRIVES, worst, tolerance, f"rates against differences of the law, largest of {name!r}")]


def _off_differences(item: Drive, start: float, end: float, rng: np.random.Generator) -> float:
    law, p, nothing = item.value.function, np.array(item.parameters, dtype=float), np.zeros(1)

    def at(times: np.ndarray) -> np.ndarray:
        out = np.zeros((len(times), 3))
        for row, t in zip(out, times, strict=True):
            law(t, nothing, nothing, p, row)
        return out

    h = 1e-6 * (end - start)
    t = start + h + (end - start - 2 * h) * (np.arange(SAMPLES) + rng.random(SAMPLES)) / SAMPLES
    low, here, high = at(t - h), at(t), at(t + h)
    rate = (high[:, :2] - low[:, :2]) / (2 * h)
    bend = np.abs(high[:, :2] + low[:, :2] - 2 * here[:, :2])  # where the law is smooth over h
    smooth = bend < 1e-3 * np.abs(high[:, :2] - low[:, :2]) + 1e-9 * np.abs(here[:, :2])
    size = np.maximum(np.abs(rate), np.abs(here[:, 1:])).max(axis=0)
    rounding = 1e2 * EPS * np.abs(here[:, :2]).max(axis=0) / abs(h)
    off = (np.abs(rate - here[:, 1:]) * smooth).max(axis=0)
    return float(np.where(off > rounding, off / np.maximum(size, np.finfo(float).tiny), 0.0).max())


def events(run: Any, occurrences: Iterable[Any], start: float, end: float) -> list[Finding]:
    """Events of the run against those of the companion, by name and number. One at the very end, as a terminal one, may
    be on either side of it."""
    if not run.task.more["events"]:
        return []
    if not known_events(run.task):
        return [Finding(EVENTS, math.nan, None, "not judged: their functions are not in the file")]
    mine, other = (_counted(found, start, end) for found in (run.solution.events, occurrences))
    off = {name: (mine[name], other[name]) for name in sorted({*mine, *other}) if mine[name] != other[name]}
    told = [f"{name!r} {a}, by the companion {b}" for name, (a, b) in off.items()]
    note = (
        "; ".join(told[:3])
        or f"the companion run finds as many ({mine.total()}); their times are as accurate as the states"
    )
    return [Finding(EVENTS, float(sum(abs(a - b) for a, b in off.values())), 0.0, note, count=True)]


def repetition(task: Task, steps: int, same: bool) -> Finding:
    """Whether explicit steps taken again give the same bits. If not, a law has a memory, unless the steps themselves
    depend on those before them; laws that were called alone, forth and back, tell of their memory in any case."""
    if same:
        return Finding(REPETITION, 0.0, 0.0, f"{steps} steps were repeated with bit-identical results", count=True)
    if task.dynamics.chooses_rows:
        note = "not judged: near singular configurations the step before decides which dependent equations are solved"
        return Finding(REPETITION, math.nan, None, note)
    note = "repeated steps give other numbers: a law is not a function of its arguments alone"
    return Finding(REPETITION, 1.0, 0.0, note, count=True)


def known_events(task: Task) -> list[Any]:
    """The events whose functions there are: a file has only their names."""
    watched = list(task.more["events"])
    return [] if any(hasattr(event.function, "not_in_file") for event in watched) else watched


def _counted(occurrences: Iterable[Any], start: float, end: float) -> Counter[str]:
    near = AT_THE_END * abs(end - start)
    kept = [found for found in occurrences if not isinstance(found.event, Limit | Change)]  # states tell of these
    return Counter(found.event.name for found in kept if abs(found.t - end) > near)


def all_of(run: Any, motion: Movement, limits: Mapping[str, float], wide: Any, resting: bool) -> list[Finding]:
    """What is kept, at the checkpoints; `wide` is a second motion that shows how large energies become."""
    rest = Rest.of(run, abs(float(run.task.span[1] - run.task.span[0])), resting)
    found = [energy(run, rest, limits[ENERGY], wide)]
    found += violations(run, motion, rest, limits)
    found += redundant(run) if run.coordinates == "absolute" else momentum(run, rest, limits[MOMENTUM])
    return found + group(run, limits[GROUP])
