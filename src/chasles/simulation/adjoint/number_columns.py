"""How the numbers of a mechanism, the start of a run and its actuators change with what a gradient is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chasles.absolute.joint_force import JOINT
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.numbers import PARTS, SystemNumbers, same_sign
from chasles.force.passive import PASSIVE
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from chasles.screw import inertia as spatial
from chasles.simulation.actuation import Actuation
from chasles.simulation.bodies.dynamics import spanning_tree
from chasles.simulation.parameter_family import Family, changes_structure, require_same_constants

EVERY = (*PARTS, "poses", "velocities", "actuators")
GEOMETRY = ("name", "parent", "child", "kind", "screws", "parent_frame", "child_frame")  # of joints


class NumberColumns:
    """Columns of changes of all numbers (`EVERY`), one for each number that varies."""

    def __init__(self, mechanism: AbsoluteMechanism, start: tuple[np.ndarray, np.ndarray], order: np.ndarray):
        """start: coordinates and velocities of the tree, that stay. order: of inputs among the joints' velocities."""
        self.mechanism, self.start, self.order = mechanism, start, order
        self.known: dict[Any, Any] = {}
        self.numbers = SystemNumbers(mechanism.system, mechanism, self.known)
        self.tree = spanning_tree(mechanism)[0]
        self.kinematics, self.geometry = self._kinematics(self.tree), _geometry(self.numbers)
        self.poses, self.velocities = mechanism.state(*self.kinematics)
        base = self._of(self.numbers, self.kinematics)
        edges = np.cumsum([0, *(len(part) for part in base.values())]).tolist()
        self.at = {name: slice(*edge) for name, *edge in zip(EVERY, edges, edges[1:], strict=False)}
        self.count, self.flat = edges[-1], np.concatenate(list(base.values()))

    def of(self, numbers: SystemNumbers) -> np.ndarray:
        """All numbers of a system of the same form."""
        if numbers is self.numbers:
            return self.flat
        kinematics = self.kinematics
        if _geometry(numbers) != self.geometry:
            tree = spanning_tree(numbers)[0]
            if not (np.array_equal(tree.tree.topology, self.tree.tree.topology) and tree.joints == self.tree.joints):
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
        tables = numbers.joint_tables
        actuation = Actuation(numbers.system, tables.velocities, tables.nv, self.order)
        more = poses.ravel(), velocities.ravel(), actuation.numbers
        return numbers.parts(self.numbers) | dict(zip(EVERY[len(PARTS) :], more, strict=True))

    # ------------------------------------------------------------ what varies

    def by_parameters(self, family: Family, names: Sequence[str]) -> np.ndarray:
        """By all numbers of some parameters, one after the other."""
        found = NumberFamily(family, self).derivatives(names, self.of)
        self.numbers.from_squares(found[self.at["constants"]])
        self._require_stops(found[self.at["joint_numbers"]])
        return found

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
        """By (m, m c, Θ about the origin) of each body, one after the other. Where its center of mass goes, all that is
        fixed in it goes back: numbers are linear in that."""
        mechanism, found = self.mechanism, []
        for i, body in enumerate(mechanism.system.bodies):
            mass, com = body.mass, np.array(body.com, dtype=float)
            moved = np.array([self._with_center(i, com, axis) for axis in np.eye(3)]).T
            change = moved @ np.column_stack([-com, np.eye(3), np.zeros((3, 6))]) / mass
            inertia = spatial.from_parameters(np.eye(10))[:, :3, :3]  # about the origin; then less that of the mass
            inertia[0] += (com @ com) * np.eye(3) - np.outer(com, com)
            for k, axis in enumerate(np.eye(3)):
                inertia[1 + k] -= 2.0 * com[k] * np.eye(3) - np.outer(axis, com) - np.outer(com, axis)
            change[self.at["masses"].start + i, 0] = 1.0
            first, turn = self.at["inertias"].start + 9 * i, quaternion_to_matrix(mechanism.central[i, :4])
            change[first : first + 9] = (turn.T @ inertia @ turn).reshape(10, 9).T
            found.append(change)
        return np.concatenate(found, axis=1)

    def _with_center(self, i: int, com: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """How numbers change as the center of a body moves along an axis."""
        centers = self.mechanism.central[:, 4:].copy()
        centers[i] = com + axis
        numbers = SystemNumbers(self.mechanism.system, self.mechanism, self.known, centers)
        there = np.concatenate(list(self._of(numbers, self.kinematics).values()))
        return np.subtract(there, self.flat, out=np.zeros(self.count), where=there != self.flat)


class NumberFamily(Family):
    """The numbers of a system that depends on parameters: nothing else is prepared."""

    def __init__(self, family: Family, columns: NumberColumns):
        self.build, self.values, self.sprung = family.build, family.values, family.sprung
        self.of_columns, self.base = columns, columns.numbers

    def member(self, changed: Mapping[str, np.ndarray], name: str) -> SystemNumbers:
        made, columns = self.made(changed), self.of_columns
        system = made if isinstance(made, System) else made.system
        numbers = SystemNumbers(system, columns.mechanism, columns.known)
        require_same_constants(self.base, numbers, name)
        same = zip(self.base.form, numbers.form, strict=True)
        if numbers.bodies != self.base.bodies or not all(np.array_equal(one, other) for one, other in same):
            raise changes_structure(name)
        return numbers


def _geometry(numbers: SystemNumbers) -> list[tuple[Any, ...]]:
    """What the tree's poses depend on."""
    return [tuple(getattr(joint, name) for name in GEOMETRY) for joint in numbers.system.joints]
