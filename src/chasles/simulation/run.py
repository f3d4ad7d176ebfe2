"""What a simulation leaves: a solution that knows its bodies and joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.solution import Solution
from chasles.model import shown
from chasles.registry import service
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.dynamics import TreeDynamics
from chasles.simulation.joint_motion import JointMotion
from chasles.simulation.reaction import tree_reactions
from chasles.simulation.start_values import StartChange

PART = 1 << 16  # saved times that are worked on at once


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
        return self._run.collected(lambda part: [part.mechanism.poses(part.q, self.name)])[0]

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
        return self._run.collected(
            lambda run: [run.mechanism.twists(run.q, run.v, self.name, representation=representation)]
        )[0]

    def acceleration(self, representation: str = "body") -> np.ndarray:
        """Time derivative of the twist, (times, 6) [rad/s², m/s²]."""
        return self._run.collected(
            lambda run: [run.mechanism.accelerations(run.q, run.v, run.a, self.name, representation=representation)]
        )[0]


@dataclass(frozen=True, repr=False)
class SolvedRun(ABC):
    """What every run has: the solution and how it ended, and its certificate."""

    dynamics: Any
    solution: Solution
    options: dict[str, Any]
    controls: np.ndarray | None = None  # generalised forces u at the saved times
    stored: np.ndarray | None = None  # energies that a file has, with a field for each kind
    task: Any = None  # what `simulate` was asked for
    kept: Callable[[], Any] | None = None  # the certificate that a file has, looked at when it is asked for

    @property
    def t(self) -> np.ndarray:
        return self.solution.t

    @property
    def success(self) -> bool:
        return self.solution.success

    @property
    def message(self) -> str:
        return self.solution.message

    @property
    def start_changes(self) -> tuple[StartChange, ...]:
        """What assemble=True changed of the start: of each joint or body the values before and after."""
        return self.dynamics.start_changes

    def __len__(self) -> int:
        return len(self.t)

    @cached_property
    def certificate(self):
        """How good the run is: see `chasles.certify`. It is found out when it is asked for, and kept."""
        if self.kept is not None:
            return self.kept()
        return service("certificate")(self)

    @cached_property
    def energy(self) -> Energies:
        """Energies at the saved times."""
        if self.stored is not None:
            return Energies(*(self.stored[item.name] for item in fields(Energies)))
        return Energies(*self.collected(lambda part: [getattr(part._energies(), f.name) for f in fields(Energies)]))

    @abstractmethod
    def _energies(self) -> Energies:
        """Energies of a run, or part of one, that fits into memory."""

    # ------------------------------------------------------------ in parts, for runs larger than memory

    def part(self, rows: slice) -> Self:
        """The run at some of its saved times only, in memory."""
        s = self.solution
        cut: dict[str, Any] = {name: _cut(getattr(s, name), rows) for name in ("t", "y", "slopes", "moves")}
        return replace(
            self,
            solution=replace(s, **cut),
            controls=_cut(self.controls, rows),
            stored=_cut(self.stored, rows),
        )

    def parts(self, rows: int = PART) -> Iterator[Self]:
        """The run in parts of so many saved times, one after the other."""
        for first in range(0, len(self), rows):
            yield self.part(slice(first, min(first + rows, len(self))))

    def collected(self, function: Callable[[Self], Sequence[np.ndarray]]) -> list[np.ndarray]:
        """Arrays of the whole run, time first, from a function that is called with a part at a time."""
        if len(self) <= PART:
            return list(function(self))
        columns = zip(*(function(part) for part in self.parts()), strict=True)
        return [np.concatenate(column) for column in columns]

    # ------------------------------------------------------------ to other forms

    def save(self, file: str | Path, quantities: str | Iterable[str] = "all") -> None:
        """Write the run to a result file (.h5), with what can be computed from it, for other programs: see `save_run`.
        A name that ends in .html makes its 3D page instead, which opens in a browser and needs nothing else."""
        if Path(file).suffix.lower() in (".html", ".htm"):
            service("save page")(self, file)
            return
        service("save")(self, Path(file), quantities)

    def export(self, file: str | Path) -> None:
        """Write the run as a table, by the ending of the file: .csv or .npz."""
        service("export")(self, file)

    def to_pandas(self):
        """A pandas.DataFrame with time as its index and the columns of `export`."""
        return service("pandas")(self)

    def to_xarray(self):
        """An xarray.Dataset with dimensions time, body and joint."""
        return service("xarray")(self)

    # ------------------------------------------------------------ pictures

    def plot(self, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None):
        """Draw quantities by name, "energy", "joints.elbow", ..., or an overview, as a matplotlib figure of a size
        [inches], and write it to a file if one is given: see `chasles.plot`."""
        return service("plot")(self, *names, file=file, size=size)

    def picture(self, t: float | None = None, file: str | Path | None = None, **options: Any):
        """The mechanism at a time [s], by default the end, as an image, and in a file: see `chasles.view.picture`."""
        return service("picture")(self, t, file, **options)

    def animate(self, file: str | Path, **options: Any) -> Path:
        """Write the motion as .gif or .mp4; options such as fps, speed, size: see `chasles.view.animation`."""
        return service("animate")(self, file, **options)

    def show(self) -> None:
        """Show the run in 3D: inline in a notebook, else in the browser; see `chasles.show`."""
        service("show")(self)

    def report(self, file: str | Path) -> None:
        """Write a report as one HTML file: model, method, certificate, figures, 3D page, how to do it again."""
        service("report")(self, file)

    # ------------------------------------------------------------ shown

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        verdict = self.__dict__.get("certificate")  # if it was asked for
        told = "certificate: not asked for yet, run.certificate" if verdict is None else ""
        return shown.page(title, shown.lines([*lines, told]), "" if verdict is None else verdict._repr_html_())

    def _described(self, what: str) -> str:
        s = self.solution
        times = f"t = {self.t[0]:g} to {self.t[-1]:g} s, {len(self)} points" if len(self) else "no point"
        text = (
            f"{what}, {times}\n{s.method}: {s.steps} steps, {s.rejections} rejected, "
            f"{s.evaluations} evaluations, {s.seconds:.3g} s\n{s.message}"
        )
        return "\n".join([text, *(f"start assembled, {change}" for change in self.start_changes)])


def _cut(array: np.ndarray | None, rows: slice) -> np.ndarray | None:
    return None if array is None else np.array(array[rows])


@dataclass(frozen=True, repr=False)
class Run(SolvedRun):
    """A simulated motion. `t` [s], and at these times `q`, `v`, `a` in joint coordinates.

    run["name"] is the motion of a body or frame, run.joint("name") that of a joint, run(times) the states (q, v) in
    between, `energy` and `certificate` say how good it is.
    """

    dynamics: TreeDynamics

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
        if self.solution.slopes is not None:
            return self.dynamics.accelerations(self.solution.y, self.solution.slopes)
        return self.collected(lambda part: [part._accelerations()])[0]

    def _accelerations(self) -> np.ndarray:
        u = 0.0 if self.controls is None else self.controls
        return self.mechanism.accelerations_under(self.q, self.v, u, self.t)

    def __getitem__(self, name: str) -> FrameMotion:
        return FrameMotion(self, name)

    def frame(self, name: str) -> FrameMotion:
        """The motion of a body or frame, as run[name]."""
        return FrameMotion(self, name)

    def joint(self, name: str) -> JointMotion:
        """The motion of a joint."""
        found = next((joint for joint in self.mechanism.tree.joints if joint.name == name), None)
        return JointMotion(self, found or self.mechanism.system.joint(name, "run.joint"))

    def joint_states(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a joint."""
        tree = self.mechanism.tree
        if name not in tree.coordinates:
            if self.mechanism.system.joint(name, "run.joint").nv:
                raise ValueError(
                    f"run.joint: {name!r} is cut to open a loop, so it has no coordinates in the tree, whose joints "
                    f"are {', '.join(map(repr, self.mechanism.joints))}; cut another one, system.compile(cut=[...]), "
                    'or take coordinates="absolute"'
                )
            return np.zeros((len(self), 0)), np.zeros((len(self), 0))
        return self.q[:, tree.coordinates[name]], self.v[:, tree.velocities[name]]

    def joint_accelerations(self, name: str) -> np.ndarray:
        """Time derivatives of the velocities of a joint."""
        velocities = self.mechanism.tree.velocities
        return self.a[:, velocities[name]] if name in velocities else np.zeros((len(self), 0))

    def reactions(self, joint: str) -> np.ndarray:
        """The wrench (torque [N m], force [N]) that a joint exerts on its child body, in the joint's frame on it,
        (times, 6); what acts along its coordinates (motors, springs, dampers, friction, stops, armatures) is not part
        of it."""
        return self.collected(lambda part: [tree_reactions(part, joint)])[0]

    def __call__(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """q and v at any times in the span, on the curve through the saved points."""
        q, v, _ = self.dynamics.split(self.solution(times))
        return q, v

    def _energies(self) -> Energies:
        kinetic, gravity = self.mechanism.energy(self.q, self.v)
        springs = self.mechanism.applied_forces(self.q, self.v, self.t).stored
        return Energies(kinetic, gravity, springs, self.dynamics.split(self.solution.y)[2])

    def __str__(self) -> str:
        mechanism = self.mechanism
        return self._described(f"{mechanism.system.name}: {len(mechanism.bodies)} bodies, {mechanism.nv} velocities")
