"""Tables of the springs, bushings, rods and wrenches of a system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.force.passive import PASSIVE
from chasles.force.rod import ACTUATED, RODS
from chasles.force.table import BUSHING, FORCE, FORCES, ROD, SEEN, SPRING, WRENCH
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.expression_law import Expression
from chasles.model.force import Bushing, Spring, TwoPointForce, Wrench
from chasles.model.joint import Joint
from chasles.model.law import Law
from chasles.model.rod_parts import NodeLoad, RodElement
from chasles.model.system import System
from chasles.screw.representation import REPRESENTATIONS

Places = Mapping[str, tuple[int, np.ndarray]]  # of each body: its index in the kernels (-1: fixed), its pose there


@dataclass(frozen=True)
class Acting:
    """Tables of forces, and the laws they call (kept alive here)."""

    table: np.ndarray
    values: np.ndarray
    laws: tuple[Law, ...]

    @property
    def empty(self) -> bool:
        """Nothing acts: neither a force nor a joint's own spring, damper, friction or stop."""
        return not (self.table[FORCES.count] or self.table[FORCES.passive])


def passive_rows(joint: Joint) -> np.ndarray:
    """What a joint does by itself, (velocities, 9)."""
    rows = np.empty((joint.nv, PASSIVE.size))
    for name in PASSIVE._fields[:-1]:
        rows[:, getattr(PASSIVE, name)] = getattr(joint, name)
    if joint.sticks:  # no function of the state: `simulation.nonsmooth.set_valued` finds it
        rows[:, [PASSIVE.friction, PASSIVE.friction_speed]] = 0.0, 1.0
    return rows


def is_passive(joint: Joint) -> bool:
    stops = joint.stop_stiffness > 0 and np.isfinite([*joint.lower, *joint.upper]).any()
    return bool(any(joint.damping) or any(joint.stiffness) or (any(joint.friction) and not joint.sticks) or stops)


def body_force_row(
    force: Spring | TwoPointForce | Bushing | Wrench | RodElement, places: Places
) -> tuple[np.ndarray, list[float]]:
    """The row of what acts on bodies, and its numbers without values or parameters."""
    row = np.zeros(FORCE.size, dtype=np.int64)
    if isinstance(force, Spring | TwoPointForce):
        bodies, poses = zip(*(places[body] for body in force.bodies), strict=True)
        points = pose_group.act(np.array(poses), np.array(force.points))
        row[: FORCE.third] = SPRING, *bodies
        if isinstance(force, Spring):
            return row, [*points.ravel(), force.stiffness, force.damping, force.length]
        slopes = force.value.slopes() if isinstance(force.value, Expression) else ()
        row[FORCE.third : FORCE.numbers] = [len(program) for program in slopes] or 0
        return row, [*points.ravel(), 0.0, 0.0, 0.0, *(number for program in slopes for number in program)]
    if isinstance(force, Bushing):
        bodies, poses = zip(*(places[body] for body in force.bodies), strict=True)
        frames = pose_group.compose(np.array(poses), np.array(force.frames))
        row[: FORCE.fourth] = BUSHING, *bodies, bool(np.any(force.damping))
        numbers = [value for frame in frames for value in _frame(frame)]
        return row, [*numbers, *_tiles(force.stiffness), *_tiles(force.damping)]
    if isinstance(force, RodElement):
        bodies, poses = zip(*(places[body] for body in force.bodies), strict=True)
        frames = pose_group.compose(np.array(poses), np.array(force.frames))
        row[: FORCE.fourth] = ROD, *bodies, bool(np.any(force.damping))
        numbers = [value for frame in frames for value in _frame(frame)]
        matrices = (force.flexibility, force.compliance, force.damping)
        numbers += [*(x for one in matrices for x in _tiles(one)), *force.rest, *[0.0] * 6, force.bend, *[0.0] * 6]
        return row, numbers + _intrinsic(force)
    body, pose = places[force.body]
    if body < 0:
        raise ValueError(f"wrench {force.name!r}: body {force.body!r} is welded to the ground and does not move")
    row[: FORCE.third] = WRENCH, body, REPRESENTATIONS.index(force.representation)
    if isinstance(force, NodeLoad):
        pose = pose_group.compose(np.array(pose), np.array(force.frame))
    return row, _frame(pose)


def _intrinsic(element: RodElement) -> list[float]:
    """`force.rod.ACTUATED` of an element whose reference changes with time, and its programs; else nothing."""
    own = element.intrinsic
    if own is None:
        return []
    behind = RODS.size + ACTUATED.size
    places: list[float] = []
    programs: list[float] = []
    for program in (one for point in own.programs for one in point):
        places += [float(behind + len(programs)), float(len(program))]
        programs += program
    return [*element.rest, *own.curve[0], *own.curve[1], element.length, 1.0, *places, *programs]


def _frame(pose: np.ndarray) -> list[float]:
    return [*quaternion_to_matrix(pose[:4]).ravel(), *pose[4:]]


def _tiles(given: tuple[Any, ...]) -> list[float]:
    """Three of the four tiles of a symmetric 6x6 matrix, as `force.bushing.BUSH` has them."""
    matrix = np.array(given)
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    return [*matrix[:3, :3].ravel(), *matrix[:3, 3:].ravel(), *matrix[3:, 3:].ravel()]


def seen_joints(system: System) -> list[str]:
    """Joints whose coordinates are seen by laws of other things."""
    laws = [getattr(force, "value", None) for force in system.forces]
    return [name for law in laws if isinstance(law, Expression) for name, which in law.seen if isinstance(which, int)]


def sees_frames(system: System) -> bool:
    """Whether a law depends on the distance of two frames."""
    laws = [getattr(force, "value", None) for force in system.forces]
    return any(isinstance(which, str) for law in laws if isinstance(law, Expression) for _, which in law.seen)


def seen_row(
    seen: tuple[str, int | str], system: System, places: Places, sight: Callable[[str, int], tuple[int, int]]
) -> tuple[np.ndarray, list[float]]:
    """The row of what a law sees besides its own, and its numbers. sight: where a coordinate of a joint is found, and
    its velocity."""
    row = np.zeros(FORCE.size, dtype=np.int64)
    name, which = seen
    if isinstance(which, int):
        row[: FORCE.third] = SEEN, *sight(name, which)
        return row, []
    points: list[float] = []
    row[[FORCE.kind, FORCE.third]] = SEEN, 1
    for end, one in ((FORCE.first, name), (FORCE.second, which)):
        body, point = system.place(one)
        row[end], pose = places[body]
        points += pose_group.act(np.array(pose), np.array(point)).tolist()
    return row, points


def finish(
    rows: Sequence[tuple[np.ndarray, list[float], object]],
    own: list[np.ndarray],
    passive: bool,
    motion: bool,
    other_row: Callable[[tuple[str, int | str]], tuple[np.ndarray, list[float]]],
) -> Acting:
    """The tables from rows with their numbers and forces; `own` goes before all numbers. other_row: row and numbers of
    what a law sees besides its own."""
    lines: list[np.ndarray] = []
    numbers: list[list[float]] = []
    taken = 0
    laws: list[Law] = []
    others: list[tuple[np.ndarray, list[float]]] = []
    for row, values, force in rows:
        value = getattr(force, "value", None)
        if isinstance(value, Law):
            if not laws or laws[-1] is not value:  # elements of a rod share one
                laws.append(value)
            parameters = list(getattr(force, "parameters", ()))
            row[FORCE.parameters], row[FORCE.law] = len(parameters), value.address
            if isinstance(value, Expression) and value.seen:
                row[FORCE.seen], row[FORCE.seen_at] = len(value.seen), len(rows) + len(others)
                others += map(other_row, value.seen)
            values = [*values, *parameters]
        elif value is not None:
            values = [*values, *value]
        row[FORCE.numbers], taken = taken, taken + len(values)
        lines.append(row)
        numbers.append(values)
    count = len(lines)
    for row, values in others:
        row[FORCE.numbers], taken = taken, taken + len(values)
        lines.append(row)
        numbers.append(values)
    head = np.zeros(FORCES.size, dtype=np.int64)
    head[[FORCES.count, FORCES.passive, FORCES.motion]] = count, passive, motion
    every = [*(part.ravel() for part in own), *(np.array(part, dtype=float) for part in numbers)]
    return Acting(
        np.concatenate([head, *lines]) if lines else head,
        np.concatenate(every) if every else np.zeros(1),
        tuple(laws),
    )
