"""What a motion in joint coordinates shows, of a tree and of a mechanism with loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.cached import cached_property
from chasles.model.body import Frame
from chasles.model.joint import Joint
from chasles.model.mimic import Following
from chasles.simulation.joint_between import is_readable, joint_accelerations, joint_states
from chasles.simulation.open_reactions import OpenReactions, open_reactions

if TYPE_CHECKING:
    from chasles.simulation.states import States


class TreeQuantities:
    """The formulas of a tree."""

    coordinates = "relative"
    constraints: tuple[str, ...] = ()

    def __init__(self, states: States):
        self.states, self.dynamics = states, states.dynamics
        self.mechanism: Any = states.dynamics.mechanism
        self.t, self.y = states.solution.t, states.solution.y

    def __str__(self) -> str:
        n, nv = len(self.mechanism.bodies), self.mechanism.nv
        return f"{n} {'body' if n == 1 else 'bodies'}, {nv} {'velocity' if nv == 1 else 'velocities'}"

    # ------------------------------------------------------------ joints

    @property
    def joints(self) -> tuple[Joint, ...]:
        return tuple(joint for joint in self.mechanism.tree.joints if joint.nv)

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Also those that follow others, which have no coordinates in q."""
        return tuple(joint for joint in self.mechanism.tree.all_joints if joint.nv)

    def q(self) -> np.ndarray:
        return self.y[..., : self.dynamics.nq]

    def v(self) -> np.ndarray:
        return self.dynamics.split(self.y)[1]

    def a(self) -> np.ndarray:
        slopes = self.states.solution.slopes
        if slopes is not None:
            return self.dynamics.accelerations(self.y, slopes)
        return self.mechanism.accelerations_under(self.q(), self.v(), self.states.acting, self.t)

    def forces(self) -> np.ndarray:
        return np.broadcast_to(0.0 if self.states.held is None else self.states.held, self.v().shape)

    def joint(self, name: str) -> Joint:
        found = next((joint for joint in self.mechanism.tree.all_joints if joint.name == name), None)
        return found or self.mechanism.system.joint(name, "run.joint")

    def joint_states(self, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
        if (rule := self._rule(joint)) is not None:
            q = self.q()[..., self.mechanism.tree.coordinates[rule.leader]]
            return rule.ratio * q + rule.offset, self._along(joint, self.v())
        return self._own(joint, self.q(), self.mechanism.tree.coordinates), self._along(joint, self.v())

    def joint_accelerations(self, joint: Joint) -> np.ndarray:
        return self._along(joint, self.states.a)

    def joint_forces(self, joint: Joint) -> np.ndarray:
        """Of inputs; those on a joint that follows another are felt along the other's coordinate."""
        if self._rule(joint) is not None:
            return np.zeros((*np.shape(self.t), joint.nv))
        return self._along(joint, self.forces())

    def held_force(self, joint: Joint) -> np.ndarray:
        """Friction that sticks and rigid limits of a joint, along its velocities."""
        acting = self.states.acting
        if self._rule(joint) is not None:
            return self.joint_forces(joint)
        return self.joint_forces(joint) if acting is None else self._along(joint, acting) - self.joint_forces(joint)

    def _rule(self, joint: Joint) -> Following | None:
        """How a joint follows another one, if it does."""
        depends = self.mechanism.tree.dependence
        return None if depends is None else depends.following.get(joint.name)

    def _along(self, joint: Joint, values: np.ndarray) -> np.ndarray:
        """Rates of a joint among those of all."""
        if (rule := self._rule(joint)) is not None:
            return rule.ratio * values[..., self.mechanism.tree.velocities[rule.leader]] + 0.0  # no zero with a sign
        return self._own(joint, values, self.mechanism.tree.velocities)

    def _own(self, joint: Joint, values: np.ndarray, places: dict[str, slice]) -> np.ndarray:
        """The columns of a joint among those of all."""
        if joint.name not in places and joint.nv:
            raise ValueError(
                f"run.joint: {joint.name!r} is cut to open a loop, so it has no coordinates in the tree, whose joints "
                f"are {', '.join(map(repr, self.mechanism.joints))}; cut another one, system.compile(cut=[...]) or "
                'cut = [...] under [simulation] in a model file, or take coordinates="absolute"'
            )
        return values[..., places.get(joint.name, slice(0, 0))]

    # ------------------------------------------------------------ bodies and frames

    def poses(self) -> np.ndarray:
        return self.mechanism.poses(self.q())

    def twists(self) -> np.ndarray:
        return self.mechanism.twists(self.q(), self.v())

    def accelerations(self) -> np.ndarray:
        return self.mechanism.accelerations(self.q(), self.v(), self.states.a)

    def frame_pose(self, frame: Frame) -> np.ndarray:
        return self.mechanism.poses(self.q(), frame.name)

    def frame_twist(self, frame: Frame, representation: str) -> np.ndarray:
        return self.mechanism.twists(self.q(), self.v(), frame.name, representation=representation)

    def frame_acceleration(self, frame: Frame, representation: str) -> np.ndarray:
        return self.mechanism.accelerations(
            self.q(), self.v(), self.states.a, frame.name, representation=representation
        )

    # ------------------------------------------------------------ the system

    def energies(self) -> tuple[np.ndarray, ...]:
        q, v, work = self.dynamics.split(self.y)
        kinetic, gravity = self.mechanism.energy(q, v)
        return kinetic, gravity, self.mechanism.applied_forces(q, v, self.t).stored, work

    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        none = np.zeros((*np.shape(self.t), 0))
        return none, none

    open_reactions: OpenReactions | None = None  # those of a tree are unique

    def warn_if_open(self, name: str, found: np.ndarray) -> None:
        """Warn if a load is shared by what closes loops."""
        if self.open_reactions is not None:
            self.open_reactions.warn_if_loaded(self.states, name, found)

    def reactions(self, name: str) -> np.ndarray:
        return self.mechanism.reactions(name, self.q(), self.v(), self.states.acting, self.t)

    def coordinate_forces(self, name: str) -> np.ndarray:
        raise ValueError(f"coordinate_forces: there is no coupling or drive {name!r}; a tree has none")


class ClosedQuantities(TreeQuantities):
    """The formulas of a mechanism with loops: its tree, and the rows that close it."""

    @property
    def constraints(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.mechanism.constraint_names

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Also those that close loops, where the poses of their bodies tell their coordinates."""
        return (*super().moving_joints, *(joint for joint in self.mechanism.system.joints if self._closes(joint)))

    def _closes(self, joint: Joint) -> bool:
        """Whether it is cut, and what its coordinates are is known."""
        return is_readable(joint) and all(joint.name != one.name for one in self.mechanism.tree.all_joints)

    def joint_states(self, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
        return joint_states(self.states, joint) if self._closes(joint) else super().joint_states(joint)

    def joint_accelerations(self, joint: Joint) -> np.ndarray:
        if self._closes(joint):
            return joint_accelerations(self.states, joint, *self.joint_states(joint))
        return super().joint_accelerations(joint)

    @cached_property
    def open_reactions(self) -> OpenReactions | None:  # type: ignore[override]
        return open_reactions(self.mechanism, np.atleast_2d(self.q()), np.atleast_1d(self.t))

    def joint_forces(self, joint: Joint) -> np.ndarray:
        if self._closes(joint):  # nothing acts along a joint that is cut
            return np.zeros((*np.shape(self.t), joint.nv))
        return super().joint_forces(joint)

    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        found = self.mechanism.constraint_violation(self.q(), self.v(), t=self.t)
        return found.position, found.velocity

    def coordinate_forces(self, name: str) -> np.ndarray:
        return self.mechanism.coordinate_forces(name, self.q(), self.v(), self.states.acting, self.t)
