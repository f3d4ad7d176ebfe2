"""What a motion in absolute coordinates shows: of the bodies directly, of the joints from the poses of their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles import caution
from chasles.absolute.joints import armatures
from chasles.cached import cached_property
from chasles.model.body import Frame
from chasles.model.joint import Joint
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.screw.representation import convert_acceleration, convert_twist
from chasles.simulation import joint_between
from chasles.simulation.open_reactions import OpenReactions, open_reactions

if TYPE_CHECKING:
    from chasles.simulation.states import States


class BodyQuantities:
    """The formulas of absolute coordinates."""

    coordinates = "absolute"

    def __init__(self, states: States):
        self.states, self.dynamics = states, states.dynamics
        self.mechanism: Any = states.dynamics.mechanism
        self.t, self.y = states.solution.t, states.solution.y

    def __str__(self) -> str:
        n = self.mechanism.n
        return f"{n} {'body' if n == 1 else 'bodies'} in absolute coordinates"

    @cached_property
    def _split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.dynamics.split(self.y)

    @property
    def _angles(self) -> np.ndarray:
        return self.dynamics.angles(self.y)

    # ------------------------------------------------------------ joints

    @property
    def joints(self) -> tuple[Joint, ...]:
        return self.dynamics.tree_order.joints

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        own = {joint.name for joint in self.joints}
        return (*self.joints, *(joint for joint in self.mechanism.joint_tables.order if joint.name not in own))

    @cached_property
    def _of_tree(self) -> list[np.ndarray]:
        return self.states.collected(lambda part: self.dynamics.coordinates(part.solution.y))

    def q(self) -> np.ndarray:
        return self._of_tree[0]

    def v(self) -> np.ndarray:
        return self._of_tree[1]

    def a(self) -> np.ndarray:
        found = [np.zeros((*np.shape(self.t), 0))]
        return np.concatenate([*found, *(self.joint_accelerations(joint) for joint in self.joints)], axis=-1)

    def forces(self) -> np.ndarray:
        found = [np.zeros((*np.shape(self.t), 0))]
        return np.concatenate([*found, *(self.joint_forces(joint) for joint in self.joints)], axis=-1)

    def joint(self, name: str) -> Joint:
        every = (*self.mechanism.system.joints, *self.moving_joints)
        found = next((joint for joint in every if joint.name == name), None)
        return found or self.mechanism.system.joint(name, "run.joint")

    @cached_property
    def _of_joints(self) -> list[np.ndarray]:
        """Coordinates and velocities of all joints, those that close loops too."""
        return self.states.collected(lambda part: self.dynamics.every_joint(part.solution.y))

    def joint_states(self, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
        tables = self.mechanism.joint_tables
        if joint.name in tables.coordinates or not joint.nv:
            places = (tables.coordinates, tables.velocities)
            q, v = (
                values[..., where.get(joint.name, slice(0, 0))]
                for values, where in zip(self._of_joints, places, strict=True)
            )
            return q, v
        body = self.mechanism.bodies.index(joint.child)  # of a loop that floats, in the tree only
        return self.states.poses[..., body, :], self.states.twists[..., body, :]

    def joint_accelerations(self, joint: Joint) -> np.ndarray:
        q, v = (np.zeros(0),) * 2 if joint.traits.quaternion or not joint.nv else self.joint_states(joint)
        return joint_between.joint_accelerations(self.states, joint, q, v)

    def joint_forces(self, joint: Joint) -> np.ndarray:
        u, where = self.states.held, self.mechanism.joint_tables.velocities
        if u is None or joint.name not in where:
            return np.zeros((*np.shape(self.t), joint.nv))
        return u[..., where[joint.name]]

    def held_force(self, joint: Joint) -> np.ndarray:
        """Friction that sticks and rigid limits of a joint, along its velocities."""
        acting, given = self.states.acting, self.joint_forces(joint)
        return given if acting is None else acting[..., self.mechanism.joint_tables.velocities[joint.name]] - given

    # ------------------------------------------------------------ bodies and frames

    def poses(self) -> np.ndarray:
        return self.mechanism.poses(self._split[0])

    def twists(self) -> np.ndarray:
        return self.mechanism.twists(*self._split[:2])

    def accelerations(self) -> np.ndarray:
        central, velocity, _ = self._split
        rate = self.mechanism.accelerations_under(central, velocity, self.states.acting, self.t, self._angles)
        return self.mechanism.accelerations(central, velocity, rate)

    def _moving(self, body: str, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pose, body twist and its rate of a frame on a body or on the ground."""
        poses, twists, rates = (self._of_body(what, body, frame) for what in ("poses", "twists", "accelerations"))
        return poses, twists, rates

    def _of_body(self, what: str, body: str, frame: np.ndarray) -> np.ndarray:
        return joint_between.of_body(self.states, what, body, frame)

    def frame_pose(self, frame: Frame) -> np.ndarray:
        return self._of_body("poses", frame.body, np.array(frame.pose))

    def frame_twist(self, frame: Frame, representation: str) -> np.ndarray:
        body = self._of_body("twists", frame.body, np.array(frame.pose))
        return convert_twist(body, self.frame_pose(frame), "body", representation)

    def frame_acceleration(self, frame: Frame, representation: str) -> np.ndarray:
        pose, twist, rate = self._moving(frame.body, np.array(frame.pose))
        return convert_acceleration(rate, twist, pose, "body", representation)

    # ------------------------------------------------------------ the system

    @property
    def constraints(self) -> tuple[str, ...]:
        return self.mechanism.constraint_names

    def energies(self) -> tuple[np.ndarray, ...]:
        mechanism, (central, velocity, work) = self.mechanism, self._split
        masses = np.array([body.mass for body in mechanism.system.bodies])
        spin, speed = velocity[..., :3], velocity[..., 3:]
        kinetic = 0.5 * np.einsum("bi,...bi,...bi->...", mechanism.moments, spin, spin)
        kinetic = kinetic + 0.5 * np.einsum("b,...bi,...bi->...", masses, speed, speed)
        for name, coordinate, inertia in armatures(mechanism.system.joints):
            kinetic = kinetic + 0.5 * inertia * self.joint_states(self.joint(name))[1][..., coordinate] ** 2
        gravity = -np.einsum("b,...bi,i->...", masses, central[..., 4:], np.array(mechanism.system.gravity))
        springs = mechanism.applied_forces(central, velocity, None, self.t, self._angles)[2]
        return kinetic, gravity, springs, work

    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mechanism.constraint_violation(*self._split[:2], self.t, self._angles)[:2]

    def warn_if_open(self, name: str, found: np.ndarray) -> None:
        """Warn if a load is shared by joints and constraints whose equations depend on each other."""
        among = self.mechanism.redundant
        if name not in among or not np.size(self.t):
            return
        if self.open_reactions is not None and self.open_reactions.spaces:
            self.open_reactions.warn_if_loaded(self.states, name, found)
            return
        caution.warn(
            f"reactions are not unique: {', '.join(map(repr, among[:12]))}, whose equations depend on each other. "
            "Rigid bodies do not determine how they share the load; this is one possible distribution",
            UserWarning,
        )

    @cached_property
    def open_reactions(self) -> OpenReactions | None:
        """None where joint coordinates do not tell."""
        closed = compiled(self.mechanism.system) if self.mechanism.redundant else None
        if not isinstance(closed, ClosedMechanism):
            return None
        return open_reactions(closed, np.atleast_2d(self.q()), np.atleast_1d(self.t))

    def reactions(self, name: str) -> np.ndarray:
        if any(joint.name == name and joint.traits.holds_nothing for joint in self.moving_joints):
            return np.zeros((*np.shape(self.t), 6))
        return self._of_rows(self.mechanism.reactions, name)

    def coordinate_forces(self, name: str) -> np.ndarray:
        return self._of_rows(self.mechanism.coordinate_forces, name)

    def _of_rows(self, function: Any, name: str) -> np.ndarray:
        return function(name, *self._split[:2], self.states.acting, self.t, self._angles)
