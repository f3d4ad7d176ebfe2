"""How the numbers of a mechanism, the start of a run and its actuators change with what a gradient is asked for.

Few numbers of a system change with a parameter at first: those of its own joint or body. So frames of joints and
centers of mass are numbers by themselves, and what follows from them (where bodies are at the start, what is fixed in a
body seen from its center) comes later, for all parameters at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chasles.absolute.joint_force import JOINT
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.numbers import OF_SYSTEM, SystemNumbers, same_sign
from chasles.cached import cached_property
from chasles.force.passive import PASSIVE
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND
from chasles.model.system import System
from chasles.relative.loop.spanning import span
from chasles.relative.mechanism import Mechanism
from chasles.screw import inertia as spatial
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.tree_start import product
from chasles.simulation.parameter_family import Family, changes_structure, require_same_constants
from chasles.simulation.slopes import CENTRAL

OF_RUN = (*OF_SYSTEM, "poses", "velocities", "actuators")  # then what some of these follow from: centers and frames
TURN = 1e-2  # [rad or m] of differences


class NumberColumns:
    """Columns of changes of all numbers (`OF_RUN`), one for each number that varies."""

    def __init__(self, mechanism: AbsoluteMechanism, start: tuple[np.ndarray, np.ndarray], order: np.ndarray):
        """start: coordinates and velocities of the tree, that stay. order: of inputs among the joints' velocities."""
        self.mechanism, self.start, self.order = mechanism, start, order
        self.known: dict[Any, Any] = {}
        self.numbers, self.centers = self.numbers_of(mechanism.system), mechanism.central[:, 4:]
        self.tree = Mechanism(span(mechanism.system).system)
        self.joints = self.numbers.system.joints
        self.kinematics = self._kinematics(self.tree)
        self.poses, self.velocities = mechanism.state(*self.kinematics)
        base = self._of(self.numbers, self.kinematics)
        edges = np.cumsum([0, *(len(part) for part in base.values())]).tolist()
        self.at = {name: slice(*edge) for name, *edge in zip(base, edges, edges[1:], strict=False)}
        self.count, self.flat = self.at["actuators"].stop, np.concatenate(list(base.values()))

    def numbers_of(self, system: System, centers: np.ndarray | None = None) -> SystemNumbers:
        """Of a system of the same form, about the centers of mass of the mechanism, or others."""
        at = self.mechanism.central[:, 4:] if centers is None else centers
        return SystemNumbers(system, self.mechanism, self.known, at)

    def of(self, numbers: SystemNumbers) -> np.ndarray:
        """All numbers of a system of the same form, with centers and frames."""
        if numbers is self.numbers:
            return self.flat
        kinematics = self.kinematics
        if any(one.screws != other.screws for one, other in zip(self.joints, numbers.system.joints, strict=True)):
            joints = [
                replace(joint, parent_frame=own.parent_frame, child_frame=own.child_frame)
                for joint, own in zip(numbers.system.joints, self.joints, strict=True)
            ]
            tree = Mechanism(span(replace(numbers.system, joints=joints)).system)
            if (tree.joints, tree.nq, tree.nv) != (self.tree.joints, self.tree.nq, self.tree.nv):
                raise ValueError("the joints of the spanning tree change")
            kinematics = self._kinematics(tree)
        return np.concatenate(list(self._of(numbers, kinematics).values()))

    def _kinematics(self, tree: Mechanism) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists of the bodies' frames at the start."""
        (q, v), bodies = self.start, self.mechanism.bodies
        return tree.poses(q, bodies), tree.twists(q, v, bodies)

    def _of(self, numbers: SystemNumbers, kinematics: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
        if kinematics is self.kinematics and np.array_equal(numbers.central, self.numbers.central):
            poses, velocities = self.poses, self.velocities
        else:
            poses, velocities = numbers.state(*kinematics)
            poses[:, :4] = same_sign(poses[:, :4], self.poses[:, :4])
        tables, frames = numbers.joint_tables, _frames(numbers)
        actuation = Actuation(numbers.system, tables.velocities, tables.nv, self.order)
        frames[..., :4] = same_sign(frames[..., :4], _frames(self.numbers)[..., :4])
        of_bodies = np.array([body.com for body in numbers.system.bodies])
        more = poses.ravel(), velocities.ravel(), actuation.numbers, of_bodies.ravel(), frames.ravel()
        return numbers.parts(self.numbers) | dict(
            zip((*OF_RUN[len(OF_SYSTEM) :], "centers", "frames"), more, strict=True)
        )

    # ------------------------------------------------------------ what varies

    def by_parameters(self, family: Family, names: Sequence[str]) -> np.ndarray:
        """By all numbers of some parameters, one after the other."""
        every = NumberFamily(family, self).derivatives(names, self.of)
        found = every[: self.count]
        self.numbers.from_squares(found[self.at["constants"]])
        self._require_stops(found[self.at["joint_numbers"]])
        turn = quaternion_to_matrix(self.mechanism.central[:, :4])
        inertias = found[self.at["inertias"]].reshape(len(turn), 3, 3, -1)
        inertias[...] = np.einsum("iba,ibcp,icd->iadp", turn, inertias, turn)
        if (moved := every[self.at["centers"]]).any():
            found += self._by_centers @ moved
        frames = every[self.at["frames"]]
        columns = np.flatnonzero(frames.any(axis=0))
        if len(columns):
            found[self.at["poses"].start : self.at["velocities"].stop, columns] += self._by_frames(frames[:, columns])
        return found

    @cached_property
    def _by_centers(self) -> np.ndarray:
        """By places of the centers of mass, (count, 3 bodies). Where a center goes, all that is fixed in the body goes
        back: numbers are linear in that."""
        found = []
        for k in range(3 * self.mechanism.n):
            centers = self.centers.copy()
            centers.flat[k] += 1.0
            there = np.concatenate(
                list(self._of(self.numbers_of(self.mechanism.system, centers), self.kinematics).values())
            )
            found.append(
                np.subtract(there, self.flat, out=np.zeros(len(there)), where=there != self.flat)[: self.count]
            )
        return np.array(found).T

    def _by_frames(self, changes: np.ndarray) -> np.ndarray:
        """Changes of poses and velocities at the start, (13 bodies, columns), with those of the frames of joints."""
        base = _frames(self.numbers)
        given = np.moveaxis(changes.reshape(*base.shape, -1), -1, 0)
        unit = base[..., :4] * [1.0, -1.0, -1.0, -1.0]
        spin = 2.0 * product(unit, given[..., :4])[..., 1:]
        shift = np.einsum("jskl,pjsk->pjsl", quaternion_to_matrix(base[..., :4]), given[..., 4:])
        along = np.concatenate([spin, shift], axis=-1)
        size = np.abs(along).max(axis=(1, 2, 3), keepdims=True)
        found = 0.0
        for k, weight in enumerate(CENTRAL, 1):
            ahead, behind = (
                self._moved(pose_group.compose(base, pose_group.exp(x * along / size))) for x in (k * TURN, -k * TURN)
            )
            found = found + weight * (ahead - behind)
        return np.asarray(found * size[:, 0, 0] / TURN).T

    def _moved(self, frames: np.ndarray) -> np.ndarray:
        """Numbers of poses and velocities at the start (..., 13 bodies) with other frames (..., joints, 2, 7)."""
        places: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        shape, index = frames.shape[:-3], {joint.name: k for k, joint in enumerate(self.joints)}
        carried = {joint.child: joint for joint in self.tree.system.joints if joint.name in index}
        still = dict(zip(self.mechanism.bodies, zip(*self.kinematics, strict=True), strict=True))
        still[GROUND] = pose_group.identity(), np.zeros(6)

        def place(body: str) -> tuple[np.ndarray, np.ndarray]:
            if body not in places:
                pose, twist = still[body]
                if body not in carried:
                    places[body] = np.broadcast_to(pose, (*shape, 7)), np.broadcast_to(twist, (*shape, 6))
                else:
                    joint = carried[body]
                    (on, moving), (first, second) = still[joint.parent], _frames(self.numbers)[index[joint.name]]
                    step = pose_group.compose(pose_group.inverse(on), pose)
                    within = pose_group.compose(pose_group.compose(pose_group.inverse(first), step), second)
                    rate = twist - pose_group.Ad_apply(pose_group.inverse(step), moving)
                    rate = pose_group.Ad_apply(pose_group.inverse(second), rate)
                    first, second = (frames[..., index[joint.name], side, :] for side in range(2))
                    step = pose_group.compose(pose_group.compose(first, within), pose_group.inverse(second))
                    at, speed = place(joint.parent)
                    carried_on = pose_group.Ad_apply(pose_group.inverse(step), speed)
                    places[body] = pose_group.compose(at, step), carried_on + pose_group.Ad_apply(second, rate)
            return places[body]

        poses, twists = (np.stack(part, axis=-2) for part in zip(*map(place, self.mechanism.bodies), strict=True))
        poses, velocities = self.mechanism.state(poses, twists)
        poses[..., :4] = same_sign(poses[..., :4], self.poses[:, :4])
        return np.concatenate([poses.reshape(*shape, -1), velocities.reshape(*shape, -1)], axis=-1)

    def _require_stops(self, changes: np.ndarray) -> None:
        """ValueError if a parameter brings in a stop from zero: laws leave it out where it is zero."""
        tables = self.numbers.joint_tables
        for joint, row in zip(tables.order, tables.rows, strict=True):
            first = row[JOINT.passive] + PASSIVE.stop_stiffness
            own = first + PASSIVE.size * np.arange(joint.nv if row[JOINT.passive] else 0)
            if changes[own][tables.numbers[own] == 0.0].any():
                raise ValueError(
                    f"gradient: a parameter brings in the stop_stiffness of joint {joint.name!r} from zero, where it "
                    "is switched off; start from a small positive value"
                )

    def by_gravity(self) -> np.ndarray:
        return np.eye(self.count)[:, self.at["gravity"]]

    def by_bodies(self) -> np.ndarray:
        """By (m, m c, Θ about the origin) of each body, one after the other."""
        mechanism, found = self.mechanism, []
        for i, body in enumerate(mechanism.system.bodies):
            mass, com = body.mass, np.array(body.com, dtype=float)
            by_com = np.column_stack([-com, np.eye(3), np.zeros((3, 6))]) / mass
            change = self._by_centers[:, 3 * i : 3 * i + 3] @ by_com
            inertia = spatial.from_parameters(np.eye(10))[:, :3, :3]  # about the origin; then less that of the mass
            inertia[0] += (com @ com) * np.eye(3) - np.outer(com, com)
            for k, axis in enumerate(np.eye(3)):
                inertia[1 + k] -= 2.0 * com[k] * np.eye(3) - np.outer(axis, com) - np.outer(com, axis)
            change[self.at["masses"].start + i, 0] = 1.0
            first, turn = self.at["inertias"].start + 9 * i, quaternion_to_matrix(mechanism.central[i, :4])
            change[first : first + 9] = (turn.T @ inertia @ turn).reshape(10, 9).T
            found.append(change)
        return np.concatenate(found, axis=1)


class NumberFamily(Family):
    """The numbers of a system that depends on parameters: nothing else is prepared."""

    def __init__(self, family: Family, columns: NumberColumns):
        self.build, self.values, self.sprung = family.build, family.values, family.sprung
        self.of_columns, self.base = columns, columns.numbers

    def member(self, changed: Mapping[str, np.ndarray], name: str) -> SystemNumbers:
        made, columns = self.built(changed), self.of_columns
        system = made if isinstance(made, System) else made.system
        numbers = columns.numbers_of(system)
        require_same_constants(self.base, numbers, name)
        same = zip(self.base.form, numbers.form, strict=True)
        if numbers.bodies != self.base.bodies or not all(np.array_equal(one, other) for one, other in same):
            raise changes_structure(name)
        return numbers


def _frames(numbers: SystemNumbers) -> np.ndarray:
    """Frames of all joints on their bodies, (joints, 2, 7)."""
    joints = numbers.system.joints
    return np.array([(joint.parent_frame, joint.child_frame) for joint in joints]).reshape(len(joints), 2, 7)
