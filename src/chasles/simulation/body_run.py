"""What a simulation in absolute coordinates leaves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.joints import angles_of, armatures
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.lie import pose as pose_group
from chasles.screw.representation import convert_acceleration, convert_twist
from chasles.simulation.bodies import BodyDynamics
from chasles.simulation.joint_motion import JointMotion
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

    def acceleration(self, representation: str = "body") -> np.ndarray:
        """Time derivative of the twist, (times, 6) [rad/s², m/s²]."""
        body = pose_group.Ad_apply(pose_group.inverse(self._frame), self._run.accelerations[:, self._body])
        return convert_acceleration(body, self.twist(), self.pose, "body", representation)


@dataclass(frozen=True, repr=False)
class BodyRun(SolvedRun):
    """A motion simulated in absolute coordinates. `t` [s]; at these times `poses` (times, bodies, 7) and body `twists`.

    run["name"] is the motion of a body or frame, run(times) the poses and twists in between; `reactions` are those of
    the joints; `energy`, `violations` and `certificate` say how good it is.
    """

    dynamics: BodyDynamics

    @property
    def mechanism(self) -> AbsoluteMechanism:
        return self.dynamics.mechanism

    @cached_property
    def _states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.dynamics.split(self.solution.y)

    @cached_property
    def poses(self) -> np.ndarray:
        """Poses of the bodies' frames, (times, bodies, 7)."""
        return self.collected(lambda part: [part.mechanism.poses(part._states[0])])[0]

    @cached_property
    def twists(self) -> np.ndarray:
        """Body twists of the bodies' frames, (times, bodies, 6)."""
        return self.collected(lambda part: [part.mechanism.twists(*part._states[:2])])[0]

    @cached_property
    def accelerations(self) -> np.ndarray:
        """Time derivatives of the body twists of the bodies' frames, (times, bodies, 6)."""
        return self.collected(lambda part: [part._accelerations()])[0]

    def _accelerations(self) -> np.ndarray:
        mechanism, (central, velocity, _) = self.mechanism, self._states
        angles = self.dynamics.angles(self.solution.y)
        rate = mechanism.accelerations_under(central, velocity, self.controls, self.t, angles)
        return mechanism.accelerations(central, velocity, rate)

    def __getitem__(self, name: str) -> BodyFrameMotion:
        return BodyFrameMotion(self, name)

    def frame(self, name: str) -> BodyFrameMotion:
        """The motion of a body or frame, as run[name]."""
        return BodyFrameMotion(self, name)

    def __call__(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Poses (..., bodies, 7) and body twists (..., bodies, 6) of the bodies' frames at any times in the span, on
        the curve through the saved points."""
        central, velocity, _ = self.dynamics.split(self.solution(times))
        return self.mechanism.poses(central), self.mechanism.twists(central, velocity)

    @cached_property
    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity violation of each joint and constraint, (times, `mechanism.constraint_names`)."""
        return tuple(self.collected(lambda part: part._violations()))  # type: ignore[return-value]

    def _violations(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mechanism.constraint_violation(*self._states[:2], self.t, self.dynamics.angles(self.solution.y))[:2]

    def reactions(self, joint: str) -> np.ndarray:
        """The wrench (torque [N m], force [N]) that a joint exerts on its child body, in the joint's frame on it,
        (times, 6): `AbsoluteMechanism.reactions`. Those of redundant constraints are not unique, which a warning says;
        they are the smallest that give the motion."""
        self._warn_if_open("reactions", joint)
        return self.collected(lambda part: [part._wrenches(part.mechanism.reactions, joint)])[0]

    def coordinate_forces(self, constraint: str) -> np.ndarray:
        """Generalised forces [N m or N] of a coupling on its two coordinates, (times, 2), or of a drive, (times, 1)."""
        self._warn_if_open("coordinate_forces", constraint)
        return self.collected(lambda part: [part._wrenches(part.mechanism.coordinate_forces, constraint)])[0]

    def _wrenches(self, function: Callable[..., np.ndarray], name: str) -> np.ndarray:
        return function(name, *self._states[:2], self.controls, self.t, self.dynamics.angles(self.solution.y))

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
    def _coordinates(self) -> list[np.ndarray]:
        return self.collected(lambda part: part.dynamics.coordinates(part.solution.y))

    def joint(self, name: str) -> JointMotion:
        """The motion of a joint."""
        return JointMotion(self, self.mechanism.system.joint(name, "run.joint"))

    def joint_accelerations(self, name: str) -> np.ndarray:
        raise ValueError("run: accelerations of joints are those of joint coordinates; see run[name].acceleration()")

    def joint_states(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a joint, as joint coordinates have them.

        Angles go on over full turns, which are counted during the run.
        """
        q, v, turns = self.turned_states(name)
        return q + 2 * np.pi * turns, v

    def turned_states(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates and velocities of a joint, and full turns since the first saved time that are to be added: none,
        but for files of earlier versions, in which turns were not counted if nothing acts on the joint."""
        joints = self.mechanism.joint_tables
        if name not in joints.coordinates:
            none = np.zeros((len(self.t), 0))  # a weld
            return none, none, none
        q, v = (
            self._coordinates[0][:, joints.coordinates[name]],
            self._coordinates[1][:, joints.velocities[name]],
        )
        turns = np.zeros_like(q)
        for k in angles_of(next(joint for joint in joints.order if joint.name == name)):
            if (name, k) not in self.mechanism.counted:
                ahead = 0.5 * (v[1:, k] + v[:-1, k]) * np.diff(self.t)  # nearly the angle turned between saved times
                turns[1:, k] = np.cumsum(np.round((ahead - np.diff(q[:, k])) / (2 * np.pi)))
        return q, v, turns

    def _energies(self) -> Energies:
        mechanism, (central, velocity, work) = self.mechanism, self._states
        masses = np.array([body.mass for body in mechanism.system.bodies])
        spin, speed = velocity[..., :3], velocity[..., 3:]
        kinetic = 0.5 * np.einsum("bi,...bi,...bi->...", mechanism.moments, spin, spin)
        kinetic += 0.5 * np.einsum("b,...bi,...bi->...", masses, speed, speed)
        for name, coordinate, inertia in armatures(mechanism.system.joints):
            kinetic += 0.5 * inertia * self.joint_states(name)[1][:, coordinate] ** 2
        gravity = -np.einsum("b,...bi,i->...", masses, central[..., 4:], np.array(mechanism.system.gravity))
        springs = mechanism.applied_forces(central, velocity, None, self.t, self.dynamics.angles(self.solution.y))[2]
        return Energies(kinetic, gravity, springs, work)

    def __str__(self) -> str:
        return self._described(f"{self.mechanism.system.name}: {self.mechanism.n} bodies in absolute coordinates")
