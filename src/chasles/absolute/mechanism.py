"""A system in absolute coordinates, ready to compute with: `system.compile("absolute", space=...)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute import assembly, entry
from chasles.absolute.build import make_tiles, pack
from chasles.absolute.forces import forces_on_states, joints_of_states
from chasles.absolute.frames import CentralFrames
from chasles.absolute.joints import act_on, settle_couplings
from chasles.absolute.plan import make_plan
from chasles.absolute.reactions import coordinate_forces, on_constraints, reactions
from chasles.absolute.redundant import IN_MOTION, REGULARIZATION
from chasles.absolute.space import choose_spaces
from chasles.absolute.states import rows_of, states_of
from chasles.absolute.tables import FIELD, FORCE_WORK, HEAD, WORK
from chasles.assembly.equations import largest_of
from chasles.cached import cached_property
from chasles.constraint.alignment import Alignment
from chasles.constraint.joints import row_units
from chasles.constraint.results import ConstrainedMotion, Mobility, Violation, WithoutTreeGroups
from chasles.constraint.tiles import TileBuilder
from chasles.display import html as shown
from chasles.kernel.undisturbed import Calling
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.mimic import as_couplings
from chasles.model.scale import constraint_lengths
from chasles.model.system import System

if TYPE_CHECKING:  # loaded when they are asked for
    from chasles.absolute.derivatives import BodyDerivatives

Given = ArrayLike | None
# between heavy bodies the acceleration of a light one is the difference of two large ones: beyond this ratio of masses
# it loses so many digits that steps would follow its rounding, so it is refined
UNEVEN = 1e5


class AbsoluteMechanism(CentralFrames, WithoutTreeGroups):
    """The poses of all bodies as coordinates, joints as constraints.

    A state has for each body the pose of its central frame (at the center of mass, along principal axes), (bodies, 7),
    and its velocity: the body twist on SE(3), (ω in the body, r' in space) on SO(3)xR3. `state` and `poses` convert
    from and to the frames of the user's bodies.
    """

    def __init__(
        self,
        system: System,
        space: str | Mapping[str, str] = "auto",
        stabilized: bool = True,
        baumgarte: tuple[float, float] = (0.0, 0.0),
        inputs: bool = False,
        every_angle: bool = True,
    ):
        """inputs: whether inputs will act on the joints. every_angle: whether the angles of all joints are counted over
        full turns, or only those that forces and constraints need (as in result files of earlier versions)."""
        system = as_couplings(system)
        self.baumgarte, self.inputs, self.every_angle = baumgarte, inputs, every_angle
        self._given = (space, stabilized)
        self.constraint_names = tuple(item.name for item in (*system.joints, *system.constraints))
        spaces, self._reasons = choose_spaces(system, space, stabilized)
        super().__init__(system, spaces)
        places = self._places()
        builder = TileBuilder(system, places)
        self.tiles = make_tiles(self, builder, any(baumgarte))
        self.alignment = Alignment.of(self.tiles)
        self.laws = tuple(builder.laws)
        self._plan = make_plan(self.n, self.tiles)
        self._node, self.elimination = self._plan.node, self._plan.elimination
        self.counted = builder.counted  # joint and coordinate of what is counted over turns
        self.forces, self.joint_tables = act_on(system, places, self.counted, inputs, every_angle)
        self.joints = tuple(joint.name for joint in self.joint_tables.order)
        self.angles_counted = len(self.counted)
        self.packed = pack(self, builder)
        self._redundant: tuple[str, ...] = ()
        self.redundant_equations = 0
        integers = self.packed.view(np.int64)
        self.control = slice(
            int(integers[HEAD.control]), int(integers[HEAD.end])
        )  # where the input is in the parameters
        self.work = WORK.size(integers)

    def __repr__(self) -> str:
        rows = sum(tile.rows for tile in self.tiles)
        return f"<AbsoluteMechanism {self.system.name!r}: {self.n} bodies, {rows} constraint equations>"

    def __reduce__(self) -> Any:
        # the tables hold addresses of this process; they follow from the system
        given = (self.system, *self._given, self.baumgarte, self.inputs, self.every_angle)
        return type(self), given, (self._redundant, self.redundant_equations)

    def __setstate__(self, redundant: tuple[tuple[str, ...], int]) -> None:
        self.__dict__.update(self.with_redundant(*redundant).__dict__)

    def _repr_html_(self) -> str:
        rows = [(name, *self.explain_spaces()[name].split(": ", 1)) for name in self.bodies]
        return shown.page(repr(self)[1:-1], shown.table(("body", "space", "why"), rows))

    def explain_spaces(self) -> dict[str, str]:
        """For each body its space and why."""
        return {name: f"{self.spaces[name]}: {self._reasons[name]}" for name in self.bodies}

    # ------------------------------------------------------------ computing

    def applied_forces(
        self, central: ArrayLike, velocity: ArrayLike, u: Given = None, t: ArrayLike = 0.0, angles: Given = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Wrenches of all forces but gravity (torque in the body, force in space, at the center), power, energy.

        u: forces along the velocities of the joints, as in `joints`.
        """
        batch, q, v, times, counted, _ = states_of(self, central, velocity, t, angles)
        wrenches, results = np.zeros((len(q), 6 * self.n)), np.zeros((len(q), 2))
        work, p = np.empty(FORCE_WORK.size(self.packed.view(np.int64))), self.packed.copy()
        if u is not None and not self.inputs:
            raise ValueError("applied_forces: inputs u need a mechanism that was compiled with inputs=True")
        controls = np.zeros((*batch, self.joint_tables.nv if self.inputs else 0))
        controls[...] = 0.0 if u is None else u
        integers, held = p.view(np.int64), controls.reshape(len(q), controls.shape[-1])
        if not self.forces.empty:
            with Calling(self.forces.laws):
                forces_on_states(entry.act_address(), integers, times, counted, held, p, q, v, wrenches, work, results)
        return wrenches.reshape(*batch, self.n, 6), results[:, 0].reshape(batch), results[:, 1].reshape(batch)

    def joint_states(
        self, central: ArrayLike, velocity: ArrayLike, angles: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (..., nq) and velocities (..., nv) of all joints, in the order of `joints`: that of joint
        coordinates. Angles are in the turns that `angles` says, or within half a turn of zero."""
        batch, q, v, _, counted, _ = states_of(self, central, velocity, 0.0, angles)
        return self._joint_states(batch, q, v, counted)

    def _joint_states(
        self, batch: tuple[int, ...], q: np.ndarray, v: np.ndarray, counted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        nq, nv = self.joint_tables.nq, self.joint_tables.nv
        coordinates, velocities = np.empty((len(q), nq)), np.empty((len(q), nv))
        work = np.empty(FORCE_WORK.size(self.packed.view(np.int64)))
        integers = self.packed.view(np.int64)
        joints_of_states(integers, self.packed, counted, q, v, work, coordinates, velocities)
        return coordinates.reshape(*batch, nq), velocities.reshape(*batch, nv)

    def angles(self, central: ArrayLike) -> np.ndarray:
        """What is counted over full turns, (..., counted), from poses alone: angles within half a turn of zero, those
        of couplings in the turns that satisfy them best."""
        q = np.asarray(central, dtype=float)
        angles = np.zeros((*q.shape[:-2], self.angles_counted))
        if not self.counted:
            return angles
        batch, (rows, v) = rows_of(q, np.zeros((*q.shape[:-1], 6)))
        near = self._joint_states(batch, rows, v, np.zeros((len(rows), self.angles_counted)))[0]
        for k, (joint, coordinate) in enumerate(self.counted):
            angles[..., k] = near[..., self.joint_tables.coordinates[joint].start + coordinate]
        settle_couplings(self.system, self.tiles, self.joint_tables, near, angles)
        return angles

    def constrained_motion(
        self, central: ArrayLike, velocity: ArrayLike, u: Given = None, t: ArrayLike = 0.0, angles: Given = None
    ) -> ConstrainedMotion:
        """Accelerations and multipliers of states under gravity, the system's forces and inputs u along the joints; if
        equations depend on each other, those of the nearest states on the constraints."""
        q, v = on_constraints(self, np.asarray(central, dtype=float), np.asarray(velocity, dtype=float), t, angles)
        return self._solved(q, v, t, angles, self.applied_forces(q, v, u, t, angles)[0])[0]

    def accelerations_under(
        self, central: ArrayLike, velocity: ArrayLike, u: Given = None, t: ArrayLike = 0.0, angles: Given = None
    ) -> np.ndarray:
        """Accelerations (..., bodies, 6) under gravity, the system's forces and inputs u along the joints."""
        return self.constrained_motion(central, velocity, u, t, angles).accelerations

    def forward_dynamics(
        self,
        central: ArrayLike,
        velocity: ArrayLike,
        wrenches: ArrayLike | None = None,
        t: ArrayLike = 0.0,
        angles: ArrayLike | None = None,
    ) -> np.ndarray:
        """Accelerations (..., bodies, 6) under gravity and given wrenches alone.

        wrenches: applied to the bodies, (..., bodies, 6), each in its body's frame at its origin, as in joint
        coordinates.
        """
        q, v = on_constraints(self, np.asarray(central, dtype=float), np.asarray(velocity, dtype=float), t, angles)
        given = np.zeros((self.n, 6)) if wrenches is None else wrenches
        given = real_array("forward_dynamics", "wrenches", given, (self.n, 6))
        return self._solved(q, v, t, angles, self.central_wrenches(q, given))[0].accelerations

    def inverse_dynamics(
        self,
        central: ArrayLike,
        velocity: ArrayLike,
        a: ArrayLike,
        *,
        applied: bool = True,
        t: ArrayLike = 0.0,
        angles: Given = None,
    ) -> np.ndarray:
        """The wrenches on the bodies (..., bodies, 6), each in its body's frame at its origin, that give accelerations
        a against gravity and, if `applied`, besides the forces of the system: M a + bias, less these. The constraints
        need no part in it; theirs is any -Jᵀ λ of it."""
        q, v, rate = (np.asarray(x, dtype=float) for x in (central, velocity, a))
        R, spin = quaternion_to_matrix(q[..., :4]), v[..., :3]
        linear = np.where(
            self._mixed[:, None],
            rate[..., 3:],
            np.einsum("...ij,...j->...i", R, rate[..., 3:] + np.cross(spin, v[..., 3:])),
        )
        masses = np.array([body.mass for body in self.system.bodies])[:, None]
        torque = self.moments * rate[..., :3] + np.cross(spin, self.moments * spin)
        needed = np.concatenate([torque, masses * (linear - self.system.gravity)], axis=-1)
        if applied and not self.forces.empty:
            needed = needed - self.applied_forces(q, v, t=t, angles=angles)[0]
        return self.body_wrenches(q, needed)

    @cached_property
    def derivatives(self) -> BodyDerivatives:
        """Derivatives of forward and inverse dynamics with respect to the state."""
        from chasles.absolute.derivatives import BodyDerivatives

        return BodyDerivatives(self)

    def _solved(
        self, central: ArrayLike, velocity: ArrayLike, t: ArrayLike, angles: ArrayLike | None, wrenches: np.ndarray
    ) -> tuple[ConstrainedMotion, np.ndarray]:
        """Accelerations, and what the last state left in the workspace. wrenches: as those of `applied_forces`."""
        batch, q, v, times, counted, (w,) = states_of(self, central, velocity, t, angles, wrenches)
        a, multipliers = (
            np.empty((len(q), 6 * self.n + self.angles_counted)),
            np.empty((len(q), 3 * self.elimination.nodes)),
        )
        work = np.empty(self.work)

        def solve(parameters: np.ndarray, multipliers: np.ndarray) -> None:
            entry.accelerations_of_states(
                entry.addresses()[0], parameters.view(np.int64), parameters, times, counted, q, v, w, work, a,
                multipliers,
            )  # fmt: skip

        with Calling(self.laws):
            solve(self.packed, multipliers)
            if self._redundant:  # the regularization that is good for multipliers is too large for accelerations
                solve(self.packed_for_run(), np.empty_like(multipliers))
        if not np.isfinite(a).all():
            raise ArithmeticError(self._singular())
        of_tiles = multipliers.reshape(len(q), self.elimination.nodes, 3)[:, self.elimination.order[self._node]]
        accelerations = a[:, : 6 * self.n].reshape(*batch, self.n, 6)
        return ConstrainedMotion(accelerations, of_tiles.reshape(*batch, len(self.tiles), 3)), work

    def _singular(self) -> str:
        return (
            "the equations are singular: constraints that depend on each other, for which `examined(poses)` prepares a "
            "mechanism, or that contradict each other"
        )

    def constraint_violation(
        self,
        central: ArrayLike,
        velocity: ArrayLike,
        t: ArrayLike = 0.0,
        angles: ArrayLike | None = None,
        *,
        scaled: bool = False,
    ) -> Violation:
        """Violation of each joint's and constraint's position and velocity equations, largest row, (..., joints and
        constraints), in the order of `constraint_names`; [m or rad] or with `scaled` lengths in sizes of bodies. A
        joint that is the wrong way round (`turned`) is off by its angle [rad]."""
        units, owner, count = self.row_units if scaled else 1.0, self.constraint_of_tile, len(self.constraint_names)
        rows = self.rows(central, velocity, t, angles)
        position, speed = (largest_of(np.abs(each / units).max(axis=-1), owner, count) for each in rows)
        if len(self.alignment.tiles):
            self.alignment.add_to(self.constraint_names, position, self.rotations(central))
        return Violation(position, speed)

    @cached_property
    def row_units(self) -> np.ndarray:
        """What is large for each row, (tiles, 3): 1 rad, or the size of a body [m]."""
        return row_units(self.tiles, constraint_lengths(self.system))

    def rotations(self, central: ArrayLike) -> np.ndarray:
        """Rotation matrices of the central frames, (..., bodies, 3, 3)."""
        return quaternion_to_matrix(np.asarray(central, dtype=float)[..., :4])

    def turned(self, central: ArrayLike) -> dict[str, float]:
        """The joints that are the wrong way round at central poses (bodies, 7), and by what angle [rad]."""
        return self.alignment.turned(self.rotations(central))

    def rows(
        self, central: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Residuals g and g' of every tile, (..., tiles, 3) each."""
        batch, q, v, times, counted, _ = states_of(self, central, velocity, t, angles)
        shape = (*batch, len(self.tiles), 3)
        residuals, rates = np.empty((len(q), 3 * len(self.tiles))), np.empty((len(q), 3 * len(self.tiles)))
        integers, work = self.packed.view(np.int64), np.empty(self.work)
        with Calling(self.laws):
            entry.rows_of_states(integers, self.packed, times, counted, q, v, work, residuals, rates)
        return residuals.reshape(shape), rates.reshape(shape)

    def jacobians(
        self, central: ArrayLike, velocity: ArrayLike | None = None, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> np.ndarray:
        """J of every tile and side, (..., tiles, 2, 3, 6): columns are ω in the body and r' of the center in space."""
        given = np.asarray(central, dtype=float)
        speeds = np.zeros((*given.shape[:-1], 6)) if velocity is None else np.asarray(velocity, dtype=float)
        batch, q, v, times, counted, _ = states_of(self, given, speeds, t, angles)
        out = np.empty((len(q), len(self.tiles), 2, 2, 3, 3))
        integers, work = self.packed.view(np.int64), np.empty(self.work)
        flat = out.reshape(len(q), 36 * len(self.tiles))
        with Calling(self.laws):
            entry.jacobians_of_states(integers, self.packed, times, counted, q, v, work, flat)
        both = np.concatenate([out[:, :, :, 0], out[:, :, :, 1]], axis=-1)
        return both.reshape(*batch, len(self.tiles), 2, 3, 6)

    @cached_property
    def constraint_of_tile(self) -> np.ndarray:
        """For each tile the index of its joint or constraint in `constraint_names`; -1 for rotors."""
        order = {name: k for k, name in enumerate(self.constraint_names)}
        return np.array([order.get(tile.joint, -1) for tile in self.tiles], dtype=int)

    def project(
        self, central: ArrayLike, velocity: ArrayLike, t: float = 0.0, angles: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state (in the metric of the masses) on the constraints, for one that is near."""
        q, v = np.array(central, dtype=float).reshape(-1), np.array(velocity, dtype=float).reshape(-1)
        if self.tiles:
            counted = (
                self.angles(q.reshape(self.n, 7)) if angles is None else np.asarray(angles, dtype=float)
            ).reshape(-1)
            integers, work = self.packed.view(np.int64), np.empty(self.work)
            with Calling(self.laws):
                entry.project_state(entry.addresses()[1], integers, self.packed, float(t), counted, q, v, work)
        return q.reshape(self.n, 7), v.reshape(self.n, 6)

    def assemble(self, poses: ArrayLike, t: float = 0.0, *, held: Iterable[str] = ()) -> np.ndarray:
        """Poses of the bodies' frames (bodies, 7) that satisfy all constraints, near rough ones; AssemblyError if none.

        The steps are the shortest in the metric of the masses and are damped; quaternions need not be quite unit.
        held: bodies whose poses stay as given; those of the others are then also looked for farther away.
        """
        return assembly.assemble(self, poses, t, held)

    def consistent_velocities(
        self, poses: ArrayLike, twists: ArrayLike, t: float = 0.0, held: Iterable[str] = ()
    ) -> np.ndarray:
        """The body twists (bodies, 6) that satisfy all constraints at these poses, nearest in the kinetic energy of the
        difference; AssemblyError if there are none. Twists of the bodies named in `held` stay as given."""
        return assembly.consistent_velocities(self, poses, twists, t, held)

    def consistent_accelerations(
        self, central: ArrayLike, velocity: ArrayLike, a: ArrayLike, t: ArrayLike = 0.0, angles: Given = None
    ) -> np.ndarray:
        """The accelerations (..., bodies, 6) that satisfy all constraints, nearest to given ones in the metric of the
        masses: those that the wrenches for the given ones bring about."""
        wrenches = self.inverse_dynamics(central, velocity, a, applied=False, t=t, angles=angles)
        return self.forward_dynamics(central, velocity, wrenches, t, angles)

    def examined(self, poses: ArrayLike, t: float = 0.0) -> AbsoluteMechanism:
        """The mechanism for motions that go through poses on the constraints: itself or, if equations depend on others
        there (`redundant` has the names), one that computes with such equations. Then motions are what they are without
        the surplus ones, and multipliers are the smallest that give them. A simulation does this at its start.

        RedundantConstraintsError if equations contradict each other, or the configuration is singular.
        """
        return assembly.examined(self, self.state(poses)[0], t)

    def mobility(self, poses: ArrayLike, t: float = 0.0) -> Mobility:
        """Equations, rank and freedoms at poses (bodies, 7) on the constraints, and what depends on each other there;
        see `chasles.mobility` for the neighborhood."""
        return assembly.mobility_of(self, self.state(poses)[0], t)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Joints and constraints whose equations depend on others, as found by `examined`: their reactions are not
        unique."""
        return self._redundant

    def with_redundant(self, names: tuple[str, ...], equations: int) -> AbsoluteMechanism:
        """The mechanism for states where the equations of joints and constraints with these names depend on others, and
        so many of them do; with none, equations are solved as they are."""
        other = object.__new__(type(self))  # this one is left as it is: others may compute with it
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("derivatives", None)
        other.packed = self.packed.copy()
        at = int(other.packed.view(np.int64)[HEAD.gravity]) + FIELD.regularization
        other.packed[at] = REGULARIZATION if names else 0.0
        other._redundant, other.redundant_equations = names, equations
        return other

    def packed_for_run(self, explicit: bool = False) -> np.ndarray:
        """A copy of the packed mechanism for a simulation, whose forces may write to it. explicit: for what asks for
        accelerations; if masses differ by much, they are refined as those with redundant constraints are."""
        packed = self.packed.copy()
        if self._redundant or (explicit and self.mass_ratio > UNEVEN):
            packed[int(packed.view(np.int64)[HEAD.gravity]) + FIELD.regularization] = IN_MOTION
        return packed

    @cached_property
    def mass_ratio(self) -> float:
        """Of the largest mass to the smallest, of bodies that joints or constraints hold."""
        held = {body for tile in self.tiles for body in (tile.first, tile.second) if body >= 0}
        masses = [self.system.bodies[body].mass for body in held]
        return max(masses) / min(masses) if masses else 1.0

    def reactions(
        self,
        joint: str,
        central: ArrayLike,
        velocity: ArrayLike,
        u: Given = None,
        t: ArrayLike = 0.0,
        angles: Given = None,
    ) -> np.ndarray:
        """The wrench (torque [N m], force [N]), (..., 6), that a joint or constraint exerts on its child body.

        The child gets this wrench, the parent its opposite. It is given in the joint's frame on the child: its axes,
        torque about its origin. For a constraint the child is its second body and the frame that body's own; if the
        second body is the ground, the axes and origin of space. It is -Jᵀλ of mueller2013 eq. (2). Forces along a
        joint's coordinates and its armature are not part of it; of a coupling see `coordinate_forces`.
        """
        q, v = np.asarray(central, dtype=float), np.asarray(velocity, dtype=float)
        return reactions(self, joint, q, v, u, t, angles)

    def coordinate_forces(
        self,
        constraint: str,
        central: ArrayLike,
        velocity: ArrayLike,
        u: Given = None,
        t: ArrayLike = 0.0,
        angles: Given = None,
    ) -> np.ndarray:
        """Generalized forces [N m or N] of a coupling on each of its coordinates, or of a drive on its one
        (..., 1)."""
        q, v = np.asarray(central, dtype=float), np.asarray(velocity, dtype=float)
        return coordinate_forces(self, constraint, q, v, u, t, angles)
