"""A system in absolute coordinates as a problem for the integrators."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.assembly import BodyEquations, examined, may_depend, mobility_of, refuse_contradictions
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SE3_NAME
from chasles.assembly.equations import names_of
from chasles.assembly.search import ASSEMBLED, attempt
from chasles.cached import cached_property
from chasles.constrained.body_sizes import lengths_of
from chasles.constrained.index1 import (
    body_motion,
    onto_constraints,
    spatial_motion,
    spatial_onto_constraints,
    with_workspace,
)
from chasles.constraint.screws import SingularJointError
from chasles.integrate.solution import Solution
from chasles.integrate.space import Space
from chasles.kernel.undisturbed import Calling
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.joint import Joint
from chasles.model.scale import energy_of
from chasles.model.system import System
from chasles.once import once
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.loop.spanning import span
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.bodies.quantities import BodyQuantities
from chasles.simulation.bodies.tree_order import Quaternion, TreeOrder, quaternions, tree_order
from chasles.simulation.closed.energy_jumps import explained
from chasles.simulation.compiled_system import in_absolute_coordinates
from chasles.simulation.nonsmooth.joint_view import BodyJointView
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.problem import Motion
from chasles.simulation.start.held import Holding, Wanted, assembled
from chasles.simulation.start.refusal import NEARLY_SINGULAR, refuse_start, refuse_turned
from chasles.simulation.start.values import StartChange, Values, body_changes, by_name, joint_changes


@once
def spanning_tree(mechanism: AbsoluteMechanism) -> tuple[Mechanism, tuple[Joint, ...]]:
    """The spanning tree of a mechanism in joint coordinates, to read starts in them, and the joints that are cut."""
    split = span(mechanism.system)
    return Mechanism(split.system), tuple(split.cut)


POSITION_TOLERANCE = 1e-8  # how far a start may be off the constraints [rad or sizes of a body, and per second]


class BodyDynamics(BodyJointView):
    """The motion of all bodies on their groups: y = (central poses, velocities, counted angles, work).

    trivialization: "left" has velocities with ω in the bodies and moves poses by exp on the right, "right" has spatial
    velocities (on SE(3) the spatial twist, on SO(3)xR3 ω in space and r') and moves them by exp on the left.
    """

    quantities = BodyQuantities  # what is shown of a motion
    chooses_rows = False  # whether a projection chooses which of dependent rows the next step solves

    @property
    def corrected(self) -> bool:
        """Whether each step ends on constraints."""
        return self.projected

    start_changes: tuple[StartChange, ...] = ()  # what assembly made of the values that were given
    negative: tuple[str, ...] = ()  # joints whose quaternions have the other sign than products of those of the bodies

    def __init__(
        self,
        system: System | AbsoluteMechanism,
        space: str | Mapping[str, str],
        projected: bool,
        baumgarte: tuple[float, float] = (0.0, 0.0),
        inputs: bool = False,
        trivialization: str = "left",
        every_angle: bool = True,
    ):
        if trivialization not in ("left", "right"):
            raise ValueError(
                f'simulate: trivialization {trivialization!r}; expected "left" (body velocities) or "right" (spatial)'
            )
        self.spatial = trivialization == "right"
        every = system.joints if isinstance(system, System) else system.system.joints
        inputs = inputs or any(joint.may_lock or joint.is_loaded for joint in every)  # whose forces are inputs
        if isinstance(system, AbsoluteMechanism) and inputs and not system.inputs:
            system = AbsoluteMechanism(
                system.system, system.spaces, baumgarte=system.baumgarte, inputs=True, every_angle=every_angle
            )
        if isinstance(system, System):
            stabilized = projected or any(baumgarte)
            system = in_absolute_coordinates(system, space, stabilized, baumgarte, inputs, every_angle)
        elif any(baumgarte) and tuple(baumgarte) != system.baumgarte:
            raise ValueError(
                f"simulate: the mechanism was compiled with baumgarte={system.baumgarte}; compile it with {baumgarte}"
            )
        self.mechanism: AbsoluteMechanism = system
        for joint in system.system.joints:
            if (joint.may_lock or joint.is_loaded) and not joint.traits.line:
                raise ValueError(
                    f"simulate: joint {joint.name!r} has stick-slip friction or rigid limits, which absolute "
                    f"coordinates support for joints about and along one line, not for a {joint.kind} one; use "
                    'coordinates="relative"'
                )
        self.projected = projected
        self.held: np.ndarray | None = None  # inputs along the joints' velocities, of `under`
        blocks: list[str] = []
        for name in self.mechanism.bodies:
            blocks += ["pose"] if self.mechanism.spaces[name] == SE3_NAME else ["s3", "r3"]
        self.n = self.mechanism.n
        self.space = Space(
            *(*blocks, f"r{6 * self.n + self.mechanism.angles_counted + 1}"),
            side="left" if self.spatial else "right",
            last=(*[3] * (blocks.count("r3") + 2 * self.n), *[1] * self.mechanism.angles_counted, -1),
            positions=blocks.count("r3"),
        )

    @property
    def nv(self) -> int:
        """The number of velocities in a state: six of each body."""
        return 6 * self.n

    @property
    def control(self) -> slice:
        """Where the input is in the parameters of the problem."""
        return self.mechanism.control

    def under(self, u: ArrayLike | None) -> BodyDynamics:
        """The same under constant forces u along the velocities of the joints."""
        self._sticks_not()
        other = copy.copy(self)
        other.held = None if u is None else np.asarray(u, dtype=float)
        return other

    def problem(self, u: ArrayLike | None = None) -> Motion:
        """The problem under constant forces u along the velocities of the joints."""
        motion, correction = (
            (spatial_motion, spatial_onto_constraints) if self.spatial else (body_motion, onto_constraints)
        )
        self._sticks_not()
        p = with_workspace(self.mechanism)
        if u is not None:
            p[self.control] = u
        found = Motion(self.space, motion, p, correction if self.projected else None, dynamics=self, u=u)
        return found if self.loading is None else self.loading.added_to(found, self.control, u)

    def _sticks_not(self) -> None:
        """What sticks is known to `simulate` alone."""
        if self.set_valued is not None:
            refuse_sticking("Simulation", self.mechanism.system)

    def energy_scale(self, y: np.ndarray) -> float:
        """The kinetic energy of the whole system at the speed of its fastest body."""
        speeds = self.split(y)[1].reshape(-1, 6)[:, 3:]
        fastest = float(np.max(np.sum(speeds**2, axis=1), initial=0.0))
        return 0.5 * fastest * sum(body.mass for body in self.mechanism.system.bodies)

    @property
    def tree_order(self) -> TreeOrder:
        """The joints of the tree, and where their coordinates and velocities are."""
        return tree_order(self.mechanism)

    @cached_property
    def units(self) -> np.ndarray:
        """What is large for each number of the algebra: 1 rad or the size of the body, these per second, and work."""
        mechanism = self.mechanism
        poses = np.repeat([[1.0, length] for length in lengths_of(mechanism)], 3)
        return np.concatenate([poses, poses, np.ones(mechanism.angles_counted), [energy_of(mechanism.system)]])

    def coordinates(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of the joints of the tree at states, as joint coordinates have them."""
        order, (q, v) = self.tree_order, self.every_joint(y)
        if order.floating:
            poses, velocities, _ = self.split(y)
            moving = self.mechanism.poses(poses), self.mechanism.twists(poses, velocities)
            q, v = (
                np.concatenate([own, *(found[..., k, :] for k in order.floating)], axis=-1)
                for own, found in zip((q, v), moving, strict=True)
            )
        return (q, v) if order.plain else (q[..., order.coordinates], v[..., order.velocities])

    def every_joint(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of all joints at states, those that close loops too. Quaternions have the sign
        that they were given at the start, and keep it."""
        poses, velocities, _ = self.split(y)
        q, v = self.mechanism.joint_states(poses, velocities, self.angles(y))
        for one in self.quaternions:
            off = one.turned_over(poses, q) != (one.name in self.negative)
            q[..., one.at : one.at + 4] *= np.where(off, -1.0, 1.0)[..., None]
        return q, v

    @property
    def quaternions(self) -> tuple[Quaternion, ...]:
        return quaternions(self.mechanism)

    def state(self, poses: np.ndarray, velocities: np.ndarray, angles: np.ndarray, work: float = 0.0) -> np.ndarray:
        own = self._converted(poses, velocities, back=False) if self.spatial else velocities
        return np.concatenate([poses.ravel(), own.ravel(), angles.ravel(), [work]])

    def _converted(self, poses: np.ndarray, velocities: np.ndarray, back: bool) -> np.ndarray:
        """Velocities of the bodies' spaces as spatial ones, or back."""
        R, r = quaternion_to_matrix(poses[..., :4]), poses[..., 4:]
        on_se3 = np.array([self.mechanism.spaces[name] == SE3_NAME for name in self.mechanism.bodies])[:, None]
        spin, linear = velocities[..., :3], velocities[..., 3:]
        if back:
            moved = np.einsum("...ji,...j->...i", R, linear + np.cross(spin, r))
            spin = np.einsum("...ji,...j->...i", R, spin)
        else:
            spin = np.einsum("...ij,...j->...i", R, spin)
            moved = np.einsum("...ij,...j->...i", R, linear) + np.cross(r, spin)
        return np.concatenate([spin, np.where(on_se3, moved, linear)], axis=-1)

    def angles(self, y: np.ndarray) -> np.ndarray:
        """Angles counted over full turns, (..., counted)."""
        return y[..., 13 * self.n : -1]

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Central poses (..., bodies, 7), velocities (..., bodies, 6) and work."""
        n = self.n
        poses = y[..., : 7 * n].reshape(*y.shape[:-1], n, 7)
        velocities = y[..., 7 * n : 13 * n].reshape(*y.shape[:-1], n, 6)
        return poses, self._converted(poses, velocities, back=True) if self.spatial else velocities, y[..., -1]

    def actuation(self) -> Actuation:
        tables = self.mechanism.joint_tables
        return Actuation(self.mechanism.system, tables.velocities, tables.nv, self.tree_order.velocities)

    def explained(self, solution: Solution) -> Solution:
        """A solution; one in which a joint turned over, or which ended at a singular configuration of its loops or lost
        its way there, says so."""
        solution = refuse_turned(solution, lambda y: self.mechanism.turned(self.split(y)[0]))
        if not may_depend(self.mechanism):
            return solution
        return explained(self, solution)

    def nearly_dependent(self, t: float, y: np.ndarray) -> tuple[int, tuple[str, ...]]:
        """How many constraint equations are well independent at a state, and whose are not."""
        if not may_depend(self.mechanism):
            return 0, ()
        near = mobility_of(self.mechanism, self.split(y)[0], t, NEARLY_SINGULAR)
        return near.rank, near.dependent

    def configured(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """The state moved onto the constraints at a time, next to where it is; None if it cannot be."""
        equations, found = BodyEquations(self.mechanism, t), y.copy()
        central = attempt(equations, self.split(y)[0])
        found[: 7 * self.n] = central.ravel()
        return found if equations.off(central, ASSEMBLED) is None else None

    def explain_start(self, state: np.ndarray, u: np.ndarray | None) -> None:
        """Accelerations that are not finite at the start have no further explanation here: the start is examined."""

    def calling(self, tangents: bool = False) -> Calling:
        return Calling((*self.mechanism.forces.laws, *self.mechanism.laws), tangents)

    def start(
        self,
        t: float,
        q: Values | None,
        v: Values | None,
        poses: ArrayLike | None,
        twists: ArrayLike | None,
        assemble: bool | None,
        held: Holding | None = None,
        mode: int | None = None,
    ) -> np.ndarray:
        """The state at the start, at time t: from poses and twists of the bodies, or from q and v of joint coordinates.

        A state off the constraints is assembled, with held values as they are, or projected, or refused with the joints
        and by how much.
        """
        mechanism = self.mechanism
        if poses is None:
            if twists is not None:
                raise ValueError("simulate: twists need poses; or give q and v in joint coordinates")
            central, velocity, angles = self._from_joints(t, q, v, assemble, held, mode)
        elif mode is not None:
            raise ValueError("simulate: mode chooses among the assembly modes of joint coordinates; give q, not poses")
        elif q is not None or v is not None:
            raise ValueError("simulate: give either poses and twists, or q and v in joint coordinates")
        else:
            given = poses, twists
            if assemble:
                poses, twists = self._assembled(poses, twists, t, () if held is None else names_of(held))
            central, velocity = mechanism.state(poses, twists)
            angles = mechanism.angles(central)
            if assemble:
                now = mechanism.poses(central), mechanism.twists(central, velocity)
                self.start_changes = body_changes(mechanism.system, mechanism.bodies, given, now)
        self._refuse(central, velocity, t, angles)
        self.mechanism = examined(mechanism, central, t)
        if self.mechanism.redundant:
            refuse_contradictions(self.mechanism, central, velocity, t, angles)
        return self.state(central, velocity, angles)

    def _assembled(self, poses: Any, twists: Any, t: float, held: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists on the constraints, near the given ones; those of held bodies stay."""
        found = self.mechanism.assemble(poses, t, held=held)
        given = np.zeros((self.n, 6)) if twists is None else twists
        return found, self.mechanism.consistent_velocities(found, given, t, held=held)

    def _from_joints(
        self,
        t: float,
        q: Values | None,
        v: Values | None,
        assemble: bool | None,
        held: Holding | None,
        mode: int | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Central poses, velocities and counted angles of joint coordinates and velocities."""
        mechanism = self.mechanism
        tree, cut = spanning_tree(mechanism)
        wanted = Wanted(cut, q, v, assemble, held, mode)
        given = [by_name(f"simulate: {key}", tree, key, x) for key, x in zip("qv", wanted.of_tree(), strict=True)]
        at = tree.neutral() if given[0] is None else tree.tables.check_q("simulate", given[0])
        speed = np.zeros(tree.nv) if given[1] is None else tree.tables.check_v("simulate", "v", given[1])
        bodies = mechanism.bodies  # those of the tree may have more parts
        poses, twists = tree.poses(at, bodies), tree.twists(at, speed, bodies)
        found = self._placed(tree, at, poses, twists)
        if not wanted.to_assemble(lambda: self._judged(*found, t)):
            return found
        closed = compiled(mechanism.system) if wanted.loosely else None
        if isinstance(closed, ClosedMechanism):
            now, rates = assembled("simulate", closed, wanted, t)
            found = self._placed(tree, now, tree.poses(now, bodies), tree.twists(now, rates, bodies))
        else:
            found = self._placed(tree, at, *self._assembled(poses, twists, t, ()))
        places = [(where, where) for where in (tree.tree.coordinates, tree.tree.velocities)]
        joints, after = [joint for joint in tree.tree.joints if joint.nv], self.coordinates(self.state(*found))
        self.start_changes = joint_changes(mechanism.system, joints, (q, v), (at, speed), after, places)
        return found

    def _placed(
        self, tree: Mechanism, q: np.ndarray, poses: np.ndarray, twists: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Central poses, velocities and counted angles, in the turns and with the signs of coordinates q of a tree."""
        mechanism = self.mechanism
        central, velocity = mechanism.state(poses, twists)
        angles = self._angles_from(tree, q, central, velocity, mechanism.angles(central))
        own, places = np.zeros(mechanism.joint_tables.nq), mechanism.joint_tables.coordinates
        for joint, columns in tree.tree.coordinates.items():
            if joint in places:
                own[places[joint]] = q[columns]
        self.negative = tuple(one.name for one in self.quaternions if one.turned_over(central, own))
        return central, velocity, angles

    def _angles_from(
        self, tree: Mechanism, q: np.ndarray, central: np.ndarray, velocity: np.ndarray, angles: np.ndarray
    ) -> np.ndarray:
        """Counted angles in the turns of the coordinates q of a tree; those of joints that are cut stay as they are."""
        mechanism, where = self.mechanism, tree.tree.coordinates
        for k, (joint, coordinate) in enumerate(mechanism.counted):
            if joint in where:
                angles[k] = q[where[joint]][coordinate]
        near = mechanism.joint_states(central, velocity, angles)[0]  # assembly may have moved them
        own = mechanism.joint_tables.coordinates
        return np.array([near[own[joint]][coordinate] for joint, coordinate in mechanism.counted])

    def _refuse(self, central: np.ndarray, velocity: np.ndarray, t: float, angles: np.ndarray) -> None:
        judged = self._judged(central, velocity, angles, t)
        names, position = self.mechanism.constraint_names, judged[2]
        for joint in self.mechanism.system.joints if np.isnan(position).any() else ():
            if joint.traits.any_screws and np.isnan(position[names.index(joint.name)]):
                raise SingularJointError(
                    f"simulate: the screws of joint {joint.name!r} depend on each other at the start, so its "
                    "coordinates are not determined there; start elsewhere, or use joint coordinates"
                )

        def amounts() -> tuple[Any, ...]:
            off = self.mechanism.constraint_violation(central, velocity, t, angles)
            return *off[:2], self.mechanism.turned(central)

        refuse_start(names, amounts, *judged)

    def _judged(self, central: np.ndarray, velocity: np.ndarray, angles: np.ndarray, t: float) -> tuple[Any, ...]:
        """What a start is judged by, as `violated` takes it."""
        position, speed, _ = self.mechanism.constraint_violation(central, velocity, t, angles, scaled=True)
        return velocity.ravel() / self.units[: velocity.size], POSITION_TOLERANCE, position, speed
