"""The motion of a mechanism at some times: one set of names, whatever the coordinates."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from chasles.cached import cached_property
from chasles.integrate.solution import Solution
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.simulation.frame_motion import FrameMotion
from chasles.simulation.joint_motion import JointMotion
from chasles.simulation.named_forces import ForceColumn, columns_of, named_forces, values_of
from chasles.simulation.rod_motion import RodMotion, rod_motion

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism
    from chasles.relative.loop.closed import ClosedMechanism
    from chasles.relative.mechanism import Mechanism

ROWS_AT_ONCE = 1 << 16  # times that are worked on at once


@dataclass(frozen=True)
class Energies:
    """Energies [J] at the times; `work` is that of all forces but gravity and springs, since the start.

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


class Violations(NamedTuple):
    """How far joints and constraints are off, [rad, m] and [rad/s, m/s]: (times, `constraints`) each."""

    position: np.ndarray
    velocity: np.ndarray


@dataclass(frozen=True, repr=False)
class States:
    """A motion at times `t` [s]: what `run(t)` gives, and what a `Run` is at its saved times.

    Time is the first axis of all arrays; at a single time, run(0.5), they have none. They cannot be written to: copy
    one to change it. `q`, `v` and `a` are those of the joints, `poses`, `twists` and `accelerations` those of the
    bodies, in both kinds of coordinates. states["name"] is
    the motion of a body or frame, states.joint("name") that of a joint.
    """

    dynamics: Any
    solution: Solution
    given: np.ndarray | None = None  # the inputs at these times; None if there are none

    @cached_property
    def _kind(self) -> Any:
        """The formulas of the coordinates that were integrated in. They know these states by a weak reference: a part
        of a run that is larger than memory goes when it is done with, and not when the collector comes."""
        return self.dynamics.quantities(weakref.proxy(self))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_kind"}

    @property
    def mechanism(self) -> Mechanism | ClosedMechanism | AbsoluteMechanism:
        """The compiled system: `Mechanism`, `ClosedMechanism` or `AbsoluteMechanism`."""
        found: Mechanism | ClosedMechanism | AbsoluteMechanism = self.dynamics.mechanism
        return found

    @property
    def system(self) -> System:
        """The `System` that moves."""
        return self.mechanism.system

    @property
    def coordinates(self) -> str:
        """The coordinates of the integration: "relative" (joint coordinates) or "absolute"."""
        return self._kind.coordinates

    @property
    def t(self) -> np.ndarray:
        """The times [s]."""
        return unchanging(self.solution.t)

    def __len__(self) -> int:
        return len(self.t)

    # ------------------------------------------------------------ names

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints whose coordinates are in `q`, in their order. Joints that close a loop are not among
        them."""
        return tuple(joint.name for joint in self._kind.joints)

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints whose motion is known: those of `joints`, and those that close loops. In joint coordinates these
        are the ones with freedoms about and along one line."""
        return self._kind.moving_joints

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, in the order of `poses`."""
        return tuple(self.mechanism.bodies)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the further frames, on bodies and on the ground."""
        return tuple(frame.name for frame in self.mechanism.system.frames)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the joints and constraints that are equations here, in the order of `violations`."""
        return tuple(self._kind.constraints)

    # ------------------------------------------------------------ of all joints

    @property
    def q(self) -> np.ndarray:
        """Coordinates of the joints, (times, nq) [rad, m; quaternions of spherical and free ones]; full turns are
        counted."""
        return unchanging(self._kind.q())

    @property
    def v(self) -> np.ndarray:
        """Velocities of the joints, (times, nv) [rad/s, m/s]."""
        return unchanging(self._kind.v())

    @cached_property
    def a(self) -> np.ndarray:
        """Accelerations of the joints, (times, nv) [rad/s², m/s²], from the equations of motion."""
        return unchanging(self.collected(lambda part: [part._kind.a()])[0])

    @property
    def inputs(self) -> np.ndarray:
        """What the user gave, (times, inputs): a number for each actuator, or along each velocity if the system has no
        actuators. Zero if nothing was given. That of a controller is held in the period that ends at a time."""
        if self.given is not None:
            return unchanging(self.given)
        return np.broadcast_to(0.0, (*np.shape(self.t), self.dynamics.actuation().inputs))

    @property
    def forces(self) -> np.ndarray:
        """What acted of the inputs, as generalized forces along `v`, (times, nv) [N m, N]: after gears and limits."""
        return self._kind.forces()

    @cached_property
    def held(self) -> np.ndarray | None:
        """The forces of the inputs along the velocities of the equations of motion; None if there are no inputs."""
        return None if self.given is None else self.dynamics.actuation().along(self.given)

    @cached_property
    def acting(self) -> np.ndarray | None:
        """These, with friction that sticks and rigid limits; None if there are none."""
        set_valued = self.dynamics.set_valued
        if set_valued is None:
            return self.held
        dynamics, (q, v) = self.dynamics, self.dynamics.exact_coordinates(self.solution.y)
        given = np.zeros(v.shape) if self.held is None else dynamics.to_joints(self.held)
        with dynamics.calling():
            forces = set_valued.forces(dynamics.in_joints, q, v, given, self.solution.t)
        found: np.ndarray = dynamics.from_joints(given + forces)
        return found

    # ------------------------------------------------------------ of all bodies

    @cached_property
    def poses(self) -> np.ndarray:
        """Poses of the bodies, (times, bodies, 7): unit quaternion (w, x, y, z) and position [m]."""
        return unchanging(self.collected(lambda part: [part._kind.poses()])[0])

    @cached_property
    def twists(self) -> np.ndarray:
        """Twists of the bodies in their frames, (times, bodies, 6) [rad/s, m/s]."""
        return unchanging(self.collected(lambda part: [part._kind.twists()])[0])

    @cached_property
    def accelerations(self) -> np.ndarray:
        """Time derivatives of the twists, (times, bodies, 6) [rad/s², m/s²]."""
        return unchanging(self.collected(lambda part: [part._kind.accelerations()])[0])

    # ------------------------------------------------------------ of the system

    @cached_property
    def energies(self) -> Energies:
        """Energies [J], (times,) each: `kinetic`, `gravity`, `springs`, `work`, `total`, `balance`."""
        columns = self.collected(lambda part: part._kind.energies())
        return Energies(*map(unchanging, columns))

    @cached_property
    def violations(self) -> Violations:
        """How far joints and constraints are off; (times, 0) if none are equations, as in a tree in joint coordinates.
        A joint or constraint has its largest row."""
        return Violations(*map(unchanging, self.collected(lambda part: part._kind.violations())))

    def reactions(self, name: str) -> np.ndarray:
        """The wrench (torque [N m], force [N]) that a joint or constraint exerts on its child body, in the joint's
        frame on it, (times, 6). What acts along the joint's coordinates (motors, springs, dampers, friction, stops,
        armatures) is not part of it. Those of redundant constraints are not unique, which a warning says; they are the
        smallest that give the motion."""
        if any(rod.name == name for rod in self.system.rods):
            raise ValueError(
                f"reactions: {name!r} is a rod; run.rod({name!r}).ends are the stresses in the sections at its ends, "
                "which is what a welded end carries"
            )
        found = self.smallest_reactions(name)
        self._kind.warn_if_open(name, found)
        return found

    @property
    def open_reactions(self) -> dict[str, tuple[str, ...]]:
        """The components of reactions that are not unique, by joint or constraint: rigid bodies with redundant
        constraints do not tell them. Of a drive or coupling it is ("force",). Not known above 40 bodies."""
        found = self._kind.open_reactions
        return {} if found is None else found.components

    def smallest_reactions(self, name: str) -> np.ndarray:
        """As `reactions`, without a warning: for files, which have all of them whether asked for or not."""
        return self.collected(lambda part: [part._kind.reactions(name)])[0]

    def coordinate_forces(self, name: str) -> np.ndarray:
        """Generalized forces [N m or N] of a coupling on its coordinates, (times, n), or of a drive, (times, 1)."""
        found = self.smallest_coordinate_forces(name)
        self._kind.warn_if_open(name, found)
        return found

    def smallest_coordinate_forces(self, name: str) -> np.ndarray:
        """As `coordinate_forces`, without a warning."""
        return self.collected(lambda part: [part._kind.coordinate_forces(name)])[0]

    @property
    def force_names(self) -> tuple[str, ...]:
        """What exerts forces by itself: forces of the system, drives, couplings, and joints with springs, dampers,
        friction or limits."""
        return tuple(named_forces(self.system))

    def force(self, name: str) -> np.ndarray:
        """The force of one of `force_names`, (times, columns): what a spring or two-point force pulls its points
        together with [N]; the wrench (torque [N m], force [N]) of a bushing on its second body in its frame there; that
        of a wrench, as it is given; the generalized forces of a joint force, drive, coupling or joint."""
        return self.collected(lambda part: [values_of(part, name)])[0]

    def force_columns(self, name: str) -> tuple[ForceColumn, ...]:
        """The columns of `force(name)`: `part` and `unit` of each."""
        return columns_of(self.system, name)

    # ------------------------------------------------------------ of one part

    def __getitem__(self, name: str) -> FrameMotion:
        if not isinstance(name, str):  # which a loop over a run asks for, too
            some = next(iter(self.bodies), "body")
            raise TypeError(
                f"run[{name!r}]: expected the name of a body or frame, run[{some!r}]. Quantities at saved times are "
                "arrays, run.t[0], run.q[0]: loop over zip(run.t, run.q); run(t) has all of them at a time t"
            )
        return FrameMotion(self, name)

    def frame(self, name: str, representation: str = "body") -> FrameMotion:
        """The motion of a body or frame, as run[name]; twist and acceleration in a representation."""
        return FrameMotion(self, name, representation)

    def joint(self, name: str) -> JointMotion:
        """The motion of a joint."""
        return JointMotion(self, self._kind.joint(name))

    def rod(self, name: str) -> RodMotion:
        """A rod by its name: nodes, strains, stresses, curve, energy."""
        return rod_motion(self.mechanism, name, self.poses, self.twists, self.t, lambda: self.accelerations)

    @property
    def rods(self) -> tuple[RodMotion, ...]:
        """All rods of the system."""
        return tuple(self.rod(rod.name) for rod in self.mechanism.system.rods)

    # ------------------------------------------------------------ in parts, for runs larger than memory

    def part(self, rows: slice) -> Self:
        """The same at some of the times only, in memory."""
        s = self.solution
        cut: dict[str, Any] = {name: _cut(getattr(s, name), rows) for name in ("t", "y", "slopes", "moves")}
        if rows.step not in (None, 1):  # moves are those from one saved point to the next
            left_out = "some of the points were left out"
            cut |= {"slopes": None, "moves": None, "no_curve": left_out, "consecutive": False}
        arrays = {item.name: _cut(getattr(self, item.name), rows) for item in fields(self) if item.name in CUT}
        return replace(self, solution=replace(s, **cut), **arrays)

    def parts(self, rows: int = ROWS_AT_ONCE, until: int | None = None) -> Iterator[Self]:
        """Iterate over blocks of so many times: all of them, or the first `until`."""
        end = len(self) if until is None else until
        for first in range(0, end, rows):
            yield self.part(slice(first, min(first + rows, end)))

    def collected(self, function: Callable[[Self], Sequence[np.ndarray]]) -> list[np.ndarray]:
        """Arrays of all times, from a function that is called with a part at a time."""
        if np.size(self.t) <= ROWS_AT_ONCE or np.ndim(self.t) != 1:
            return list(function(self))
        columns = zip(*(function(part) for part in self.parts()), strict=True)
        return [np.concatenate(column) for column in columns]

    def __repr__(self) -> str:
        low, high = np.min(self.t), np.max(self.t)
        when = f"t = {low:g} s" if low == high else f"t = {low:g} to {high:g} s"
        return f"<States of {self.mechanism.system.name!r}, {when}: {self._kind}>"


def unchanging(array: np.ndarray) -> np.ndarray:
    """A view of an array that cannot be written to: what others are computed from is changed by nobody."""
    view = np.asanyarray(array).view()
    view.setflags(write=False)
    return view


CUT = ("given", "stored")  # fields with a row for each time


def _cut(array: np.ndarray | None, rows: slice) -> np.ndarray | None:
    return None if array is None else np.array(array[rows])
