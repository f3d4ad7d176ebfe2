"""Assembly modes: the configurations that a closed mechanism can have with some coordinates held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.assembly.mobility import mobility
from chasles.assembly.search import ASSEMBLED, attempt
from chasles.constraint.errors import AssemblyError
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.constraint import Drive
from chasles.model.force import JointForce
from chasles.model.system import System
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.relative.mechanism import Mechanism
from chasles.simulation.start.values import Values, by_name, in_the_turn_of

GUESSES = 400  # at most
FRUITLESS = 40  # guesses without a new mode, and twice as many as the last new one took, end the search
APART = 1e-6  # of rotations, and of positions in lengths of the model: nearer ones are the same


class AssemblyMode(NamedTuple):
    """A configuration on the constraints, and how far it is from where the search began: the length of the difference
    of all coordinates, angles in rad and lengths in those of the model."""

    q: np.ndarray
    distance: float


def assembly_modes(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    q: Values | None = None,
    *,
    held: Sequence[str] | None = None,
    t: float = 0.0,
    guesses: int = GUESSES,
) -> list[AssemblyMode]:
    """All configurations that are found with the coordinates of `q` held, joints by name: the nearest to neutral first.
    With `held`, those of the joints named there are, and the others are guesses: the nearest to these is the first.

    They have to be single ones: as many coordinates are to be held as there are freedoms. The search starts from many
    guesses spread evenly, so that a mode which few of them lead to may be missed: more `guesses` find more. Limits of
    joints are not looked at. q of the modes is in joint coordinates of `system.compile()`; `simulate(mode=2)` and
    `mode = 2` under [initial] in a model file start from the second.
    """
    name, mechanism = "assembly_modes", in_joint_coordinates("assembly_modes", system)
    names = tuple(q) if isinstance(q, Mapping) else ()
    if q is not None and not isinstance(q, Mapping):
        raise ValueError(f"{name}: q has coordinates by name of the joints that are held, such as {{'crank': 1.57}}")
    if isinstance(mechanism, Mechanism):
        given = by_name(f"{name}: q", mechanism, "q", q)
        return [AssemblyMode(mechanism.neutral() if given is None else np.asarray(given), 0.0)]
    own = with_joints(mechanism, names)
    kept = names if held is None else tuple(held)
    if unknown := [one for one in kept if one not in names]:
        raise ValueError(f"{name}: held names {unknown[0]!r}, of which q has no value")
    given = by_name(f"{name}: q", own, "q", q)
    start = own.neutral() if given is None else own.tables.check_q(name, given)
    found = modes(name, undriven(own), start, kept, t, guesses)
    if own is mechanism:
        return found
    every = []
    for mode in found:
        place = mechanism.neutral()
        for joint in mechanism.tree.coordinates:
            place[mechanism.tree.coordinates[joint]] = mode.q[own.tree.coordinates[joint]]
        every.append(AssemblyMode(place, mode.distance))
    return every


def with_joints(mechanism: ClosedMechanism, names: Iterable[str]) -> ClosedMechanism:
    """The mechanism with these joints in its tree: those that close loops get a part of their child there."""
    closing = {joint.name: joint for joint in mechanism.split.cut}
    wanted = [closing[name] for name in dict.fromkeys(names) if name in closing and closing[name].nv]
    if not wanted:
        return mechanism
    system = mechanism.system  # what acts on a joint keeps it in the tree
    still = [JointForce(f"start of {joint.name}", joint.name, (0.0,) * joint.nv) for joint in wanted]
    return ClosedMechanism(replace(system, forces=[*system.forces, *still]), tuple(closing))


def undriven(mechanism: ClosedMechanism) -> ClosedMechanism:
    """The mechanism without drives that begin wherever it is: they choose no configuration."""
    system, cut = mechanism.system, tuple(joint.name for joint in mechanism.split.cut)
    started = [item for item in system.constraints if isinstance(item, Drive) and item.begins_anywhere]
    others = [item for item in system.constraints if item not in started]
    if not started or not (others or cut):
        return mechanism
    pushed = {item.joint: system.joint(item.joint, "start").nv for item in started}
    still = [JointForce(f"start of {name}", name, (0.0,) * nv) for name, nv in pushed.items()]
    found = ClosedMechanism(replace(system, constraints=others, forces=[*system.forces, *still]), cut)
    return found if found.tree.coordinates == mechanism.tree.coordinates else mechanism


def modes(
    where: str, mechanism: ClosedMechanism, start: np.ndarray, held: Sequence[str], t: float, guesses: int = GUESSES
) -> list[AssemblyMode]:
    """The modes of a mechanism with the coordinates of some joints held as they are at `start`. Configurations that can
    move all the same, as bars that lie on each other, are none, unless all are such."""
    equations = LoopEquations(mechanism, t, held)
    found: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    moving: list[np.ndarray] = []
    last = 0
    for k, guess in enumerate(_guesses(equations, start, guesses)):
        if k > FRUITLESS + 2 * last:
            break
        place = attempt(equations, guess)
        if equations.off(place, ASSEMBLED) is not None:
            continue
        bodies = _bodies(mechanism, place, equations.length)
        if any(np.abs(bodies - other).max(initial=0.0) < APART for other in seen):
            continue
        seen.append(bodies)
        if mobility(equations, place)[1].shape[1]:
            moving.append(place)
            continue
        found.append(_in_the_turns_of(mechanism, start, place))
        last = k
    if moving and not found:
        _refuse_moving(where, equations, moving[0], held)
    if not found:
        kept = f" with {', '.join(map(repr, held))} as given" if held else ""
        raise AssemblyError(f"{where}: no configuration{kept} was found that satisfies all constraints")
    distances = [_distance(equations, start, place) for place in found]
    order = sorted(range(len(found)), key=lambda k: (round(distances[k], 6), *np.round(-found[k], 6)))
    return [AssemblyMode(found[k], distances[k]) for k in order]


def _guesses(equations: LoopEquations, start: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """The start, then configurations spread evenly over half a turn, or three lengths of the model, to either side of
    it in all that is not held: multiples of powers of the root of x^(n + 1) = x + 1, modulo 1."""
    yield start
    free, root = equations.free, 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (len(free) + 1))
    powers = root ** -np.arange(1.0, len(free) + 1)
    for k in range(1, count):
        step = np.zeros(equations.mechanism.nv)
        step[free] = (2.0 * ((0.5 + k * powers) % 1.0) - 1.0) * np.pi * equations.sizes()[free]
        yield equations.moved(start, step)


def _bodies(mechanism: ClosedMechanism, q: np.ndarray, length: float) -> np.ndarray:
    """Rotations and positions of all bodies, which do not know of full turns."""
    poses = mechanism.poses(q)
    turned = quaternion_to_matrix(poses[:, :4]).reshape(len(poses), 9)
    return np.concatenate([turned, poses[:, 4:] / length], axis=1)


def _in_the_turns_of(mechanism: ClosedMechanism, start: np.ndarray, q: np.ndarray) -> np.ndarray:
    found = q.copy()
    for joint in mechanism.tree.joints:
        place = mechanism.tree.coordinates[joint.name]
        found[place] = in_the_turn_of(joint, start[place], q[place])
    return found


def _distance(equations: LoopEquations, start: np.ndarray, q: np.ndarray) -> float:
    return float(np.linalg.norm(equations.mechanism.difference(q, start) / equations.sizes()))


def _refuse_moving(where: str, equations: LoopEquations, q: np.ndarray, held: Sequence[str]) -> None:
    """ValueError for a configuration that can move with what is held."""
    free = mobility(equations, q)[1]
    moving = np.abs(free / equations.sizes()[:, None]).max(axis=1)
    which = np.flatnonzero(moving > 1e-6 * moving.max())
    names = dict.fromkeys(equations.mechanism.tables.joint_of_velocity(int(k)) for k in which)
    kept = f"with {', '.join(map(repr, held))} held" if held else "with nothing held"
    count = free.shape[1]
    raise ValueError(
        f"{where}: {kept} the mechanism still has {count} degree{'' if count == 1 else 's'} of freedom, so there are "
        "no single configurations to choose from; give as many more coordinates, of "
        f"{', '.join(map(repr, list(names)[:12]))}"
    )
