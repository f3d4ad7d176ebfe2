"""Whether rods have enough elements: the run once more with others, and how far its nodes are then elsewhere.

Twice as many elements show the error itself. Where these would be too dear, half and a quarter of them do: two
differences show the order p, and the error is the first over 2^p - 1. The steps are those of the run, so that errors in
time are nearly the same in all, and cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.certificate import checkpoints
from chasles.certificate.budget import spent
from chasles.certificate.movement import apart
from chasles.certificate.verdict import MESH, Finding
from chasles.integrate.fixed_step import StepError
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Solution
from chasles.lie import pose as pose_group
from chasles.model.rod import FREE_END
from chasles.model.rod_joints import order_of_factors
from chasles.model.rod_modes import carried_over, mode_name
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.bodies.rod_mesh import with_elements
from chasles.simulation.closed.dynamics import dynamics_of
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task
from chasles.simulation.runaway import LARGEST_USABLE

if TYPE_CHECKING:
    from chasles.certificate.judge import Judge

TIMES = 16  # at which meshes are compared, the end among them
SHARE = 0.5  # of what a verdict may take in any case: for twice as many elements
FEWEST = 16  # elements whose quarter still shows an order: two elements showed 4 where it was 2
LOWEST, HIGHEST = 1.0, 4.0  # orders that two differences may show
ASSUMED = 2.0  # if there is one alone: of waves with fronts; what is smooth is of order 4, and is then overestimated
SMALLEST = 1e-9  # motion [rad, lengths of a rod] that is none of rounding
NONE = np.empty(0)  # of a node that no joint of its own carries
INSTEAD = "rods.mesh_error(system, quantity) estimates it from your own runs"


@dataclass(frozen=True)
class Meshed:
    """The same run with other meshes: poses (times, nodes, 7) of the rods' nodes, by rod."""

    nodes: Mapping[str, np.ndarray]

    def of(self, rod: Any, every: int) -> np.ndarray:
        """Of every so many nodes."""
        return self.nodes[rod.name][:, ::every]


def mesh_of_rods(judge: Judge, t: np.ndarray, y: np.ndarray, limit: float) -> list[Finding]:
    """The line on meshes. t, y: the run at the checkpoints; limit: what nodes may be off by, of how far rods move or
    bend."""
    system, task = judge.task.dynamics.mechanism.system, judge.task
    if not system.rods:
        return []
    if why := _impossible(task):
        return [Finding(MESH, math.nan, None, f"not judged: {why}; {INSTEAD}")]
    some = np.unique(np.linspace(0, len(t) - 1, TIMES + 1).round().astype(int))[1:]
    own = Meshed({rod.name: judge.made(t[some], y[some]).rod(rod.name).nodes for rod in system.rods})
    start = judge.made(t[:1], y[:1])

    def again(part: Callable[[int], int]) -> Meshed | None:
        return _again(judge, start, t[some], part)

    affordable = 2 * judge.budget.of_least <= SHARE * judge.effort
    finer = again(lambda n: 2 * n) if affordable and not isinstance(task.method, RKMK | Exponentials) else None
    half = quarter = None
    if finer is None:
        half = again(lambda n: n // 2) if all(rod.elements % 2 == 0 for rod in system.rods) else None
        if half is not None and all(rod.elements % 4 == 0 and rod.elements >= FEWEST for rod in system.rods):
            quarter = again(lambda n: n // 4)
    # strains of their own in each element: how coarse the model is was chosen, so the estimate is told, and not judged
    chosen = any(rod.strains and rod.modes is None for rod in system.rods)
    if finer is None and half is None and any(rod.strains for rod in system.rods):
        return [Finding(MESH, math.nan, None, f"not judged: no run with other numbers of elements; {INSTEAD}")]
    if finer is None and half is None:
        note = "no run with other numbers of elements was possible; use multiples of four, with joints and loads at "
        note += f"every fourth node; or {INSTEAD}"
        return [Finding(MESH, math.nan, limit, note, missing=True)]
    found: list[tuple[float, str, float]] = []
    for rod in system.rods:
        size = _size(rod, own, start)
        if finer is not None:
            error, order = _off(own.of(rod, 1), finer.of(rod, 2), size) / (1.0 - 2.0**-ASSUMED), math.nan
        else:
            assert half is not None
            near, order = _off(own.of(rod, 2), half.of(rod, 1), size), ASSUMED
            if quarter is not None and near > 0.0:
                far = _off(half.of(rod, 2), quarter.of(rod, 1), size)
                order = float(np.clip(np.log2(max(far, near) / near), LOWEST, HIGHEST))
            error = near / (2.0**order - 1.0)
        found.append((error, rod.name, order))
    error, name, order = max(found)
    how = "by twice as many elements" if finer is not None else "by half and a quarter of the elements"
    how = how if finer is not None or quarter is not None else "by half of the elements"
    note = f"largest in rod {name!r}, relative to how far it moves or bends; {how}"
    if chosen:
        note += "; not judged, because the rod has selected strains only"
    return [
        Finding(MESH, error, None if chosen else limit, note + ("" if finer is not None else f", of order {order:.1f}"))
    ]


def elements_for(judge: Judge, error: float, limit: float) -> str:
    """What to write for an error below the limit."""
    times = 2.0 if not math.isfinite(error) else max(2.0, 2.0 ** math.ceil(math.log2((2 * error / limit) ** 0.25)))
    rods = judge.task.dynamics.mechanism.system.rods
    return f"more elements in rods: {', '.join(f'{int(times * r.elements)} in {r.name!r}' for r in rods[:3])}"


def _impossible(task: Task) -> str:
    """Why a run with other meshes cannot be made of what is known, if so."""
    system = task.dynamics.mechanism.system
    limited = [rod for rod in system.rods if rod.strains]
    if isinstance(task.dynamics.mechanism, ClosedMechanism):
        return "loops in joint coordinates would have to be assembled again"
    if isinstance(task.dynamics, BodyDynamics) and limited:
        return f"rod {limited[0].name!r} has some strains only, and is in absolute coordinates"
    if held := [rod.name for rod in limited if rod.ends[1] != FREE_END]:
        return f"rod {held[0]!r} is held at its second end"
    if task.controller is not None or task.u is not None:
        return "inputs are for the joints of this mesh"
    if task.more["atol"] is not None and np.ndim(task.more["atol"]) > 0:
        return "atol is for the bodies of this mesh"
    return "" if task.dynamics.set_valued is None else "the times of impacts and of sticking change with the mesh"


def _again(judge: Judge, start: Any, times: np.ndarray, part: Callable[[int], int]) -> Meshed | None:
    """The run with other numbers of elements; None if there is none, or it does not come to its end."""
    task, system = judge.task, judge.task.dynamics.mechanism.system
    try:
        meshed = with_elements(system, {rod.name: part(rod.elements) for rod in system.rods})
        other = (_task if isinstance(task.dynamics, BodyDynamics) else _tree_task)(task, meshed, start)
        steps, solution = checkpoints.again(other, task.method, times, {})
        judge.budget.used += spent(other, solution) * len(meshed.bodies) // max(len(system.bodies), 1)
        if not solution.success or len(steps.times) < len(times):
            return None
        found = steps.states(other, task.method, exact=True)[1]
    except (ValueError, StepError):  # where something is at a node that there is not, or a mesh is too coarse
        return None
    if not (np.abs(found) < LARGEST_USABLE).all():
        return None
    run = Run(other.dynamics, Solution(other.dynamics.space, task.method, times, found, True, ""), None, task=other)
    return Meshed({rod.name: run.rod(rod.name).nodes for rod in meshed.rods})


def _task(task: Task, meshed: System, start: Any) -> Task:
    """The same on another mesh, from the same places and velocities."""
    own, mechanism = task.dynamics, task.dynamics.mechanism
    index = {name: k for k, name in enumerate(mechanism.bodies)}
    poses, twists = dict(zip(index, start.poses[0], strict=True)), dict(zip(index, start.twists[0], strict=True))
    spaces = {name: mechanism.spaces[name] for name in index}
    for rod in meshed.rods:
        before = mechanism.system.rod(rod.name)
        at, speeds = start.rod(rod.name).nodes[0], _node_twists(before, start)
        for k, name in enumerate(rod.nodes):
            if name in rod.bodies:
                place = k * before.elements / rod.elements
                poses[name], twists[name] = _between(before, at, speeds, place)
                spaces[name] = mechanism.spaces[before.bodies[0]]
    bodies = [body.name for body in meshed.bodies]
    dynamics = BodyDynamics(
        meshed,
        {name: spaces[name] for name in bodies},
        own.projected,
        mechanism.baumgarte,
        mechanism.inputs,
        "right" if own.spatial else "left",
        mechanism.every_angle,
    )
    order = dynamics.mechanism.bodies
    places, moving = (np.array([one[name] for name in order]) for one in (poses, twists))
    state = dynamics.start(task.span[0], None, None, places, moving, None)
    counted = own.angles(task.state)
    if dynamics.mechanism.angles_counted == len(counted):  # over full turns, which poses do not show
        state[13 * dynamics.n : -1] = counted
    return replace(task, dynamics=dynamics, state=state)


def _tree_task(task: Task, meshed: System, start: Any) -> Task:
    """The same in joint coordinates: coordinates of joints by their names, of nodes by their places, and of strains so
    that elements have together what they had."""
    own, mechanism = task.dynamics, task.dynamics.mechanism
    dynamics = dynamics_of(meshed, space=own.space_of_free)
    if isinstance(dynamics.mechanism, ClosedMechanism):
        raise ValueError("a loop")
    given: list[np.ndarray] = []
    for values, before, after in (
        (start.q[0], mechanism.tree.coordinates, dynamics.mechanism.tree.coordinates),
        (start.v[0], mechanism.tree.velocities, dynamics.mechanism.tree.velocities),
    ):
        numbers = {name: values[at] for name, at in before.items()}
        for rod in meshed.rods:
            _rename(mechanism.system.rod(rod.name), rod, numbers)
        given.append(np.concatenate([numbers[name] for name in after]))
    return replace(task, dynamics=dynamics, state=dynamics.start(task.span[0], given[0], given[1], None))


def _rename(before: Any, rod: Any, numbers: dict[str, np.ndarray]) -> None:
    """Give the joints of a rod of another mesh the numbers, by name, that they had. ValueError if a node is new."""
    if not rod.strains:
        every, left = divmod(before.elements, rod.elements)
        if left:
            raise ValueError("a node between those that there were")
        numbers |= {f"{rod.name}[{k}]": numbers.get(f"{rod.name}[{k * every}]", NONE) for k in range(rod.elements + 1)}
        return
    count, parts = before.elements, range(len(rod.strains))
    if before.modes is not None:
        modes = np.array([[numbers[mode_name(before, part, m)][0] for m in range(before.modes)] for part in parts])
        for part, own in enumerate(carried_over(before, rod, modes)):
            numbers |= {mode_name(rod, part, m): own[m : m + 1] for m in range(before.modes)}
        return
    found = np.array([numbers[before.nodes[k + 1]][order_of_factors(before, k)] for k in range(count)])
    fine = np.repeat(found, rod.elements, axis=0) / rod.elements  # parts so small that both meshes are made of them
    found = fine.reshape(rod.elements, count, -1).sum(axis=1)
    numbers |= {rod.nodes[k + 1]: own[order_of_factors(rod, k)] for k, own in enumerate(found)}


def _node_twists(rod: Any, start: Any) -> np.ndarray:
    """Twists of the sections at all nodes, in their frames, at the start."""
    return np.array([start[name].twist[0] for name in rod.nodes])


def _between(rod: Any, nodes: np.ndarray, twists: np.ndarray, place: float) -> tuple[np.ndarray, np.ndarray]:
    """Pose and twist at a place in numbers of elements: along the helix between two nodes, and as far from it as the
    reference is from its own helix, so that a rod without stress has none on the other mesh."""
    k = min(int(place), rod.elements - 1)
    part = place - k
    if part in (0.0, 1.0):
        return nodes[k + int(part)], twists[k + int(part)]
    mesh, A, B = rod.mesh, nodes[k], nodes[k + 1]
    X = pose_group.log(pose_group.compose(pose_group.inverse(A), B))
    reference = rod.poses(np.array([mesh.s[k], mesh.s[k] + part * mesh.lengths[k]]))
    bent = pose_group.compose(pose_group.inverse(reference[0]), reference[1])
    off = pose_group.compose(pose_group.inverse(pose_group.exp(part * mesh.rest[k])), bent)
    found = pose_group.compose(A, pose_group.compose(pose_group.exp(part * X), off))
    back = pose_group.inverse(found)
    in_space = [pose_group.Ad_apply(g, v) for g, v in ((A, twists[k]), (B, twists[k + 1]))]
    return found, pose_group.Ad_apply(back, (1.0 - part) * in_space[0] + part * in_space[1])


def _size(rod: Any, own: Meshed, start: Any) -> np.ndarray:
    """How far the nodes of a rod move from the start, or are bent from where they were without stress, seen from its
    first node: angle and distance."""
    nodes = np.concatenate([start.rod(rod.name).nodes, own.nodes[rod.name]])
    moved = apart(nodes, nodes[:1]).max(axis=(0, 1))
    seen = pose_group.compose(pose_group.inverse(nodes[:, :1]), nodes)
    unbent = pose_group.compose(pose_group.inverse(rod.mesh.poses[:1]), rod.mesh.poses)
    bent = apart(seen, unbent[None]).max(axis=(0, 1))
    return np.asarray(np.maximum(np.maximum(moved, bent), SMALLEST * np.array([1.0, rod.length])))


def _off(a: np.ndarray, b: np.ndarray, size: np.ndarray) -> float:
    """How far two motions of nodes are apart, at most."""
    return float((apart(a, b) / size).max(initial=0.0))
