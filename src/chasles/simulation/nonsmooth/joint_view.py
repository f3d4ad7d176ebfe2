"""How friction that sticks and rigid limits look at a state: as coordinates and velocities of the joints of the tree.

What is held, forces at rest and impacts are found in joint coordinates, whichever are integrated. Absolute ones are
converted there and back; a coordinate that is held is then one more constraint, which steps end on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.assembly import examined, may_depend
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.cached import cached_property
from chasles.model.constraint import Drive

Function = Callable[..., Any]


class JointView:
    """For states that are made of joint coordinates."""

    nq: int
    nv: int

    @property
    def in_joints(self) -> Any:
        """The same system in joint coordinates."""
        return self

    def exact_coordinates(self: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities, zero to the last bit where they are held."""
        q, v = self.coordinates(y)
        return q, v

    def seen_in_event(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of what events see of a state."""
        return y[: self.nq], y[self.nq : self.nq + self.nv]

    def as_events_see(self, y: np.ndarray) -> np.ndarray:
        """What events see of a state."""
        return np.concatenate([*self.exact_coordinates(y), y[-1:]])

    def state_of_event(self: Any, y: np.ndarray) -> np.ndarray:
        """The state of which events see this."""
        found: np.ndarray = self.state(*self.seen_in_event(y), y[-1])
        return found

    def of_joints(self, function: Function) -> Function:
        """A function of t, (q, v, work) and parameters as one of what events see."""
        return function

    def to_joints(self, u: ArrayLike | None) -> np.ndarray:
        """Forces along the velocities of joint coordinates."""
        return np.zeros(self.nv) if u is None else np.array(u, dtype=float)

    def from_joints(self, u: np.ndarray) -> np.ndarray:
        """Such forces, as the equations of motion take them."""
        return u

    def moved_to(self, y: np.ndarray, q: np.ndarray) -> np.ndarray:
        """A state with other coordinates."""
        found = y.copy()
        found[: self.nq] = q
        return found

    def with_joints(self: Any, y: np.ndarray, q: np.ndarray, v: np.ndarray, work: float) -> np.ndarray:
        """A state with other coordinates, velocities and work."""
        found: np.ndarray = self.state(q, v, work)
        return found

    def at_rest(self, y: np.ndarray, columns: Sequence[int]) -> np.ndarray:
        """A state in which some velocities are zero."""
        found = y.copy()
        found[[self.nq + column for column in columns]] = 0.0
        return found


class BodyJointView:
    """For states that are made of poses and velocities of bodies."""

    mechanism: AbsoluteMechanism
    loading: Any = None  # friction that depends on loads, of a piece of a run

    @cached_property
    def in_joints(self) -> Any:
        from chasles.simulation.closed.dynamics import dynamics_of  # which needs what this module gives to `dynamics`

        return dynamics_of(self.mechanism.system)

    @cached_property
    def set_valued(self) -> Any:
        """Friction that sticks and rigid limits, if there are any."""
        if not any(joint.may_lock or joint.is_loaded for joint in self.mechanism.system.joints):
            return None
        return self.in_joints.set_valued

    def exact_coordinates(self: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, v = self.coordinates(y)
        found: tuple[np.ndarray, np.ndarray] = (q, v) if self.set_valued is None else self.set_valued.exactly(q, v)
        return found

    def seen_in_event(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.exact_coordinates(y)

    def as_events_see(self, y: np.ndarray) -> np.ndarray:
        return y.copy()

    def state_of_event(self, y: np.ndarray) -> np.ndarray:
        return y

    def of_joints(self: Any, function: Function) -> Function:
        def seen(t: float, y: np.ndarray, p: np.ndarray) -> Any:
            return function(t, self._in_joints_once(y), p)

        return seen

    def _in_joints_once(self: Any, y: np.ndarray) -> np.ndarray:
        """A state in joint coordinates; several events look at the same one."""
        known: tuple[bytes, np.ndarray] | None = getattr(self, "_last_seen", None)
        if known is None or known[0] != y.tobytes():
            known = self._last_seen = y.tobytes(), np.concatenate([*self.coordinates(y), y[-1:]])
        return known[1].copy()

    @cached_property
    def _own(self: Any) -> np.ndarray:
        """Which velocities of the tree are those of joints, and not of a floating loop."""
        found: np.ndarray = self.tree_order.velocities < self.mechanism.joint_tables.nv
        return found

    def to_joints(self: Any, u: ArrayLike | None) -> np.ndarray:
        given = np.zeros(self.mechanism.joint_tables.nv) if u is None else np.asarray(u, dtype=float)
        found = np.zeros((*given.shape[:-1], len(self._own)))
        found[..., self._own] = given[..., self.tree_order.velocities[self._own]]
        return found

    def from_joints(self: Any, u: np.ndarray) -> np.ndarray:
        found = np.zeros((*u.shape[:-1], self.mechanism.joint_tables.nv))
        found[..., self.tree_order.velocities[self._own]] = u[..., self._own]
        return found

    def moved_to(self, y: np.ndarray, q: np.ndarray) -> np.ndarray:
        return y.copy()

    def with_joints(self: Any, y: np.ndarray, q: np.ndarray, v: np.ndarray, work: float) -> np.ndarray:
        """Poses are put to the coordinates that changed, to a limit; the signs of quaternions stay."""
        tree = self.in_joints.mechanism
        tree, bodies, before = getattr(tree, "spanning", tree), self.mechanism.bodies, self.split(y)[0]
        central, velocity = self.mechanism.state(tree.poses(q, bodies), tree.twists(q, v, bodies))
        central[:, :4] *= np.where((central[:, :4] * before[:, :4]).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
        angles = self._angles_from(tree, q, central, velocity, self.angles(y).copy())
        found: np.ndarray = self.state(central, velocity, angles, work)
        return found

    def at_rest(self, y: np.ndarray, columns: Sequence[int]) -> np.ndarray:
        q, v = self.exact_coordinates(y)
        v[list(columns)] = 0.0
        return self.with_joints(y, q, v, float(y[-1]))

    def locked(self, columns: Sequence[int], q: np.ndarray, t: float) -> Any:
        """The same with some velocities of joint coordinates held at zero, by constraints."""
        found = copy.copy(self)
        found.set_valued = None
        if not columns:
            return found
        base, tree = self.mechanism, self.in_joints.mechanism
        places = dict[int, tuple[str, int]]()
        names = {item.name for item in (*base.system.joints, *base.system.constraints)}
        for joint, at in tree.tree.velocities.items():
            places |= {column: (joint, column - at.start) for column in range(at.start, at.stop)}
        held = list[Drive]()
        for joint, k in (places[column] for column in columns):
            name = f"{joint}[{k}] is held"
            while name in names:
                name += "'"
            held.append(Drive(name, joint, float(q[tree.tree.coordinates[joint].start + k]), k))
        system = replace(base.system, constraints=[*base.system.constraints, *held])
        closed = AbsoluteMechanism(system, base.spaces, True, base.baumgarte, base.inputs, base.every_angle)
        if may_depend(base):
            tree = getattr(tree, "spanning", tree)
            central, _ = base.state(tree.poses(q, base.bodies), np.zeros((base.n, 6)))
            closed = examined(closed, central, t)
        found.mechanism = closed  # holds of single coordinates of a tree never depend on each other
        return found
