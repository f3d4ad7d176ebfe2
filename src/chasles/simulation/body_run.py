"""What a simulation in absolute coordinates leaves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from chasles.absolute.joints import angles_of, armatures
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.lie import pose as pose_group
from chasles.screw.representation import convert_twist
from chasles.simulation.bodies import BodyDynamics
from chasles.simulation.run import Energies, SolvedRun


class BodyFrameMotion:
    """The motion of a body or frame during a run; time is the first axis."""

    def __init__(self, run: BodyRun, name: str):
        frame = run.mechanism.system.frame(name)
        if frame.body not in run.mechanism.bodies:
            raise ValueError(f"run: frame {name!r} is on the ground, which does not move")
        self._run, self.name, self._frame = run, name, np.array(frame.pose)
        self._body = run.mechanism.bodies.index(frame.body)

    @cached_property
    def pose(self) -> np.ndarray:
        """Poses in space, (times, 7)."""
        return pose_group.compose(self._run.poses[:, self._body], self._frame)

    @property
    def position(self) -> np.ndarray:
        """(times, 3) [m]."""
        return self.pose[:, 4:]

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternions (w, x, y, z), (times, 4)."""
        return self.pose[:, :4]

    def twist(self, representation: str = "body") -> np.ndarray:
        """(times, 6) [rad/s, m/s]."""
        body = pose_group.Ad_apply(pose_group.inverse(self._frame), self._run.twists[:, self._body])
        return convert_twist(body, self.pose, "body", representation)


class JointStates(NamedTuple):
    """Coordinates and velocities of a joint during a run; time is the first axis."""

    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True)
class BodyRun(SolvedRun):
    """A motion simulated in absolute coordinates. `t` [s]; at these times `poses` (times, bodies, 7) and body `twists`.

    run["name"] is the motion of a body or frame; `reactions` are the joints' forces; `energy`, `violations` and
    `certificate` say how good it is.
    """

    dynamics: BodyDynamics
    controls: np.ndarray | None = field(default=None, repr=False)  # forces along the joints' velocities at these times

    @property
    def mechanism(self) -> AbsoluteMechanism:
        return self.dynamics.mechanism

    @cached_property
    def _states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.dynamics.split(self.solution.y)

    @cached_property
    def poses(self) -> np.ndarray:
        """Poses of the bodies' frames, (times, bodies, 7)."""
        return self.mechanism.poses(self._states[0])

    @cached_property
    def twists(self) -> np.ndarray:
        """Body twists of the bodies' frames, (times, bodies, 6)."""
        return self.mechanism.twists(*self._states[:2])

    def __getitem__(self, name: str) -> BodyFrameMotion:
        return BodyFrameMotion(self, name)

    @cached_property
    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity violation of each joint and constraint, (times, `mechanism.constraint_names`)."""
        angles = self.dynamics.angles(self.solution.y)
        return self.mechanism.residuals(*self._states[:2], self.t, angles)

    def reactions(self, joint: str) -> np.ndarray:
        """The wrench (torque [N m], force [N]) that a joint exerts on its child body, in the joint's frame on it,
        (times, 6): `AbsoluteMechanism.reactions`. Those of redundant constraints are not unique, which a warning says;
        they are the smallest that give the motion."""
        self._warn_if_open("reactions", joint)
        angles = self.dynamics.angles(self.solution.y)
        return self.mechanism.reactions(joint, *self._states[:2], self.t, angles, self.controls)

    def coordinate_forces(self, constraint: str) -> np.ndarray:
        """Generalised forces [N m or N] of a coupling on its two coordinates, (times, 2), or of a drive, (times, 1)."""
        self._warn_if_open("coordinate_forces", constraint)
        angles = self.dynamics.angles(self.solution.y)
        return self.mechanism.coordinate_forces(constraint, *self._states[:2], self.t, angles, self.controls)

    def _warn_if_open(self, what: str, name: str) -> None:
        """Warn if the multipliers of a joint or constraint are not unique."""
        among = self.mechanism.redundant
        if name in among:
            warnings.warn(
                f"{what} of {name!r} are not unique: equations of {', '.join(map(repr, among[:12]))} depend on each "
                "other, and rigid bodies do not tell how they share the load. Given are the smallest",
                stacklevel=3,
            )

    @cached_property
    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        return self.dynamics.coordinates(self.solution.y)

    def joint(self, name: str) -> JointStates:
        """Coordinates and velocities of a joint, as joint coordinates have them.

        Angles go on over full turns: counted, if something acts on the joint, else as far as the saved times tell.
        """
        joints = self.mechanism.joint_tables
        if name not in joints.coordinates:
            self.mechanism.system.joint(name, "run.joint")
            return JointStates(np.zeros((len(self.t), 0)), np.zeros((len(self.t), 0)))  # a weld
        q, v = (
            self._coordinates[0][:, joints.coordinates[name]].copy(),
            self._coordinates[1][:, joints.velocities[name]],
        )
        for k in angles_of(next(joint for joint in joints.order if joint.name == name)):
            if (name, k) not in self.mechanism.counted:
                ahead = 0.5 * (v[1:, k] + v[:-1, k]) * np.diff(self.t)  # nearly the angle turned between saved times
                turns = np.round((ahead - np.diff(q[:, k])) / (2 * np.pi))
                q[1:, k] += 2 * np.pi * np.cumsum(turns)
        return JointStates(q, v)

    @cached_property
    def energy(self) -> Energies:
        """Energies at the saved times."""
        mechanism, (central, velocity, work) = self.mechanism, self._states
        masses = np.array([body.mass for body in mechanism.system.bodies])
        spin, speed = velocity[..., :3], velocity[..., 3:]
        kinetic = 0.5 * np.einsum("bi,...bi,...bi->...", mechanism.moments, spin, spin)
        kinetic += 0.5 * np.einsum("b,...bi,...bi->...", masses, speed, speed)
        for name, coordinate, inertia in armatures(mechanism.system.joints):
            kinetic += 0.5 * inertia * self.joint(name).v[:, coordinate] ** 2
        gravity = -np.einsum("b,...bi,i->...", masses, central[..., 4:], np.array(mechanism.system.gravity))
        springs = mechanism.applied_forces(central, velocity, self.t, self.dynamics.angles(self.solution.y))[2]
        return Energies(kinetic, gravity, springs, work)

    def __str__(self) -> str:
        return self._described(f"{self.mechanism.system.name}: {self.mechanism.n} bodies in absolute coordinates")
