"""What a simulation leaves: a solution that knows its bodies and joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.solution import Solution
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.dynamics import TreeDynamics


@dataclass(frozen=True)
class Energies:
    """Energies [J] at the saved times; `work` is that of all forces but gravity and springs, since the start.

    `balance` = kinetic + gravity + springs - work would be constant in an exact motion.
    """

    kinetic: np.ndarray
    gravity: np.ndarray
    springs: np.ndarray
    work: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.gravity + self.springs

    @property
    def balance(self) -> np.ndarray:
        return self.total - self.work


class FrameMotion:
    """The motion of a body or frame during a run; time is the first axis."""

    def __init__(self, run: Run, name: str):
        self._run, self.name = run, name
        run.mechanism.system.frame(name)

    @cached_property
    def pose(self) -> np.ndarray:
        """Poses in space, (times, 7)."""
        return self._run.mechanism.poses(self._run.q, self.name)

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
        run = self._run
        return run.mechanism.twists(run.q, run.v, self.name, representation=representation)

    def acceleration(self, representation: str = "body") -> np.ndarray:
        """Time derivative of the twist, (times, 6) [rad/s², m/s²]."""
        run = self._run
        return run.mechanism.accelerations(run.q, run.v, run.a, self.name, representation=representation)


@dataclass(frozen=True)
class JointMotion:
    """Coordinates, velocities and accelerations of a joint during a run; time is the first axis."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@dataclass(frozen=True)
class SolvedRun:
    """What every run has: the solution and how it ended, and its certificate."""

    dynamics: Any
    solution: Solution
    options: dict[str, Any] = field(repr=False)

    @property
    def t(self) -> np.ndarray:
        return self.solution.t

    @property
    def success(self) -> bool:
        return self.solution.success

    @property
    def message(self) -> str:
        return self.solution.message

    def __len__(self) -> int:
        return len(self.t)

    @cached_property
    def certificate(self):
        """How good the run is: see `chasles.certify`."""
        from chasles.simulation.certificate import certify  # which looks at runs

        this: Any = self  # one of the two kinds of runs
        return certify(this)

    def _described(self, what: str) -> str:
        s = self.solution
        return (
            f"{what}, t = {self.t[0]:g} to {self.t[-1]:g} s\n{s.method}: {s.steps} steps, {s.rejections} rejected, "
            f"{s.evaluations} evaluations, {s.seconds:.3g} s\n{s.message}"
        )


@dataclass(frozen=True)
class Run(SolvedRun):
    """A simulated motion. `t` [s], and at these times `q`, `v`, `a` in joint coordinates.

    run["name"] is the motion of a body or frame, run.joint("name") that of a joint, run(times) the states (q, v) in
    between, `energy` and `certificate` say how good it is.
    """

    dynamics: TreeDynamics
    controls: np.ndarray | None = field(default=None, repr=False)  # generalised forces u at the saved times

    @property
    def mechanism(self) -> Mechanism | ClosedMechanism:
        return self.dynamics.mechanism

    @property
    def q(self) -> np.ndarray:
        return self.dynamics.split(self.solution.y)[0]

    @property
    def v(self) -> np.ndarray:
        return self.dynamics.split(self.solution.y)[1]

    @cached_property
    def a(self) -> np.ndarray:
        """Joint accelerations, from the equations of motion at the saved states."""
        u = 0.0 if self.controls is None else self.controls
        return self.mechanism.accelerations_under(self.q, self.v, u, self.t)

    def __getitem__(self, name: str) -> FrameMotion:
        return FrameMotion(self, name)

    def joint(self, name: str) -> JointMotion:
        """The motion of a joint."""
        if name not in self.mechanism.tree.coordinates:
            self.mechanism.system.joint(name, "run.joint")
        iq, iv = self.mechanism.tree.coordinates[name], self.mechanism.tree.velocities[name]
        return JointMotion(self.q[:, iq], self.v[:, iv], self.a[:, iv])

    def __call__(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """q and v at any times in the span, on the curve through the saved points."""
        q, v, _ = self.dynamics.split(self.solution(times))
        return q, v

    @cached_property
    def energy(self) -> Energies:
        """Energies at the saved times."""
        kinetic, gravity = self.mechanism.energy(self.q, self.v)
        springs = self.mechanism.applied_forces(self.q, self.v, self.t).stored
        return Energies(kinetic, gravity, springs, self.dynamics.split(self.solution.y)[2])

    def __str__(self) -> str:
        mechanism = self.mechanism
        return self._described(f"{mechanism.system.name}: {len(mechanism.bodies)} bodies, {mechanism.nv} velocities")
