"""How the numbers of a mechanism, the start of a run and its actuators change with what a gradient is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.numbers import PARTS, SystemNumbers, same_sign
from chasles.lie.rotation import quaternion_to_matrix
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.screw import inertia as spatial
from chasles.simulation.actuation import Actuation
from chasles.simulation.bodies.dynamics import spanning_tree
from chasles.simulation.parameter_family import Family, NoDerivativeError

EVERY = (*PARTS, "poses", "velocities", "actuators")


class NumberColumns:
    """Columns of changes, for names of parameters, "bodies" and "gravity"."""

    def __init__(
        self, mechanism: AbsoluteMechanism, family: Family | None, start: tuple[np.ndarray, np.ndarray], order: np.ndarray
    ):
        """start: coordinates and velocities of the tree, that stay. order: of inputs among the joints' velocities."""
        self.mechanism, self.family, self.start, self.order = mechanism, family, start, order
        self.numbers = SystemNumbers(mechanism.system, mechanism)
        self.kinematics = self._kinematics(spanning_tree(mechanism)[0])
        self.base = self._of(self.numbers, self.kinematics)
        edges = np.cumsum([0, *(len(part) for part in self.base.values())]).tolist()
        self.at = {name: slice(*edge) for name, edge in zip(EVERY, zip(edges, edges[1:], strict=False), strict=True)}
        self.count, self._flat = edges[-1], np.concatenate(list(self.base.values()))

    def by(self, name: str) -> np.ndarray:
        """Changes (count, columns)."""
        if name == "gravity":
            return np.eye(self.count)[:, self.at["gravity"]]
        if name == "bodies":
            return self._by_bodies()
        assert self.family is not None
        size = self.family.values[name].size
        columns = [self.family.derivative(name, k, self._changed) for k in range(size)]
        return np.array(columns).reshape(size, self.count).T

    # ------------------------------------------------------------ numbers of a system

    def _changed(self, relative: Mechanism | ClosedMechanism) -> np.ndarray:
        """Of the system with other parameters."""
        assert self.family is not None
        if relative is self.family.base:
            return self._flat
        numbers = SystemNumbers(relative.system, self.mechanism)
        for one, other in zip(self.numbers.form, numbers.form, strict=True):
            if not np.array_equal(one, other):
                raise NoDerivativeError(
                    "gradient: a parameter changes which joints, rotors or forces there are, so there is no derivative; "
                    "keep away from values where something appears, such as an armature or a pitch of zero"
                )
        plain = isinstance(relative, Mechanism) and relative.tree.dependence is None
        tree: Any = relative if plain else spanning_tree(numbers)[0]
        return np.concatenate(list(self._of(numbers, self._kinematics(tree)).values()))

    def _kinematics(self, tree: Mechanism) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists of the bodies' frames at the start."""
        (q, v), bodies = self.start, self.mechanism.bodies
        return tree.poses(q, bodies), tree.twists(q, v, bodies)

    def _of(self, numbers: SystemNumbers, kinematics: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
        poses, velocities = numbers.state(*kinematics)
        if hasattr(self, "base"):
            poses[:, :4] = same_sign(poses[:, :4], self.base["poses"].reshape(-1, 7)[:, :4])
        tables = numbers.joint_tables
        actuation = Actuation(numbers.system, tables.velocities, tables.nv, self.order)
        more = poses.ravel(), velocities.ravel(), actuation.numbers
        return numbers.parts(self.numbers) | dict(zip(EVERY[len(PARTS) :], more, strict=True))

    # ------------------------------------------------------------ bodies

    def _by_bodies(self) -> np.ndarray:
        """By (m, m c, Θ about the origin) of each body, one after the other. Where its center of mass goes, all that is
        fixed in it goes back: numbers are linear in that."""
        mechanism, found = self.mechanism, []
        for i, body in enumerate(mechanism.system.bodies):
            mass, com = body.mass, np.array(body.com, dtype=float)
            moved = np.array([self._with_center(i, com, axis) for axis in np.eye(3)]).T
            change, turn = np.zeros((self.count, 10)), quaternion_to_matrix(mechanism.central[i, :4])
            by_com = np.column_stack([-com, np.eye(3), np.zeros((3, 6))]) / mass
            change += moved @ by_com
            inertia = spatial.from_parameters(np.eye(10))[:, :3, :3]  # about the origin; then less that of the mass
            spread = (com @ com) * np.eye(3) - np.outer(com, com)
            inertia[0] += spread
            for k, axis in enumerate(np.eye(3)):
                inertia[1 + k] -= 2.0 * com[k] * np.eye(3) - np.outer(axis, com) - np.outer(com, axis)
            change[self.at["masses"].start + i, 0] = 1.0
            first = self.at["inertias"].start + 9 * i
            change[first : first + 9] = (turn.T @ inertia @ turn).reshape(10, 9).T
            found.append(change)
        return np.concatenate(found, axis=1)

    def _with_center(self, i: int, com: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """How numbers change as the center of a body moves along an axis."""
        both = []
        for sign in (1.0, -1.0):
            centers = self.mechanism.central[:, 4:].copy()
            centers[i] = com + sign * axis
            numbers = SystemNumbers(self.mechanism.system, self.mechanism, centers)
            both.append(np.concatenate(list(self._of(numbers, self.kinematics).values())))
        return np.subtract(*both, out=np.zeros(self.count), where=both[0] != both[1]) / 2.0
