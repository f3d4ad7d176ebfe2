"""A mechanism with loops in joint coordinates, ready to compute with: `system.compile("relative")`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.assembly import search
from chasles.assembly.equations import largest_of, names_of
from chasles.assembly.mobility import mobility
from chasles.assembly.rank import DEPENDENT
from chasles.cached import cached_property
from chasles.constraint.joints import row_units
from chasles.constraint.results import NOTHING, ConstrainedMotion, Mobility, Violation, WithoutTreeGroups
from chasles.constraint.rows import ROWS
from chasles.kernel.undisturbed import Calling
from chasles.model.mimic import as_couplings, refuse_modes
from chasles.model.scale import constraint_lengths
from chasles.model.summary import joints_as_html
from chasles.model.system import System
from chasles.registry import service
from chasles.relative.limits import JointLimits
from chasles.relative.loop import assembly, entry, reaction
from chasles.relative.loop.aligned import LoopAlignment
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.build import close, packed
from chasles.relative.loop.one_state import DirectAccelerations
from chasles.relative.loop.spanning import Spanning, closing_joints, span
from chasles.relative.loop.survey import SurveyTables
from chasles.relative.loop.tables import HEAD
from chasles.relative.loop.variant import like_recent, remember
from chasles.relative.mechanism import Mechanism
from chasles.relative.reaction import apart

if TYPE_CHECKING:  # loaded when they are asked for
    from chasles.relative.loop.derivatives import LoopDerivatives
    from chasles.relative.reach import Reach


class ConstraintRows(NamedTuple):
    """Of all rows g, g' = J v - target, the right side of J a = c, and J: (..., rows) each, J (..., rows, nv)."""

    residual: np.ndarray
    speed: np.ndarray
    right: np.ndarray
    jacobian: np.ndarray
    tiles: np.ndarray  # (..., tiles, 42): what `constraint.rows` computes


class ClosedMechanism(WithoutTreeGroups):
    """A mechanism with loops or further constraints: a spanning tree in joint coordinates q and velocities v, closed by
    rows of equations.

    The tree, `spanning`, is a `Mechanism`; which joints it has is the rule of `relative.loop.spanning`, or the user's
    who names joints to cut. q and v are those of the tree, in the order of `joints`. `constraint_names` are the cut
    joints, those for which a body was split, and the constraints of the system.
    """

    def __init__(self, system: System, cut: Iterable[str] = (), threads: int = 1, sprung: bool = False):
        """sprung: whether the tables have springs and dampers of the joints where there are none."""
        system = as_couplings(system)
        self.cut = names_of(cut)  # as given; `split` has all that are cut
        split = span(system, self.cut)
        self._stand_on(Mechanism(split.system, threads, sprung), system, split)
        self.closing = close(self.split, system.constraints, self.spanning)
        self._close()
        self.aligned = LoopAlignment(self.spanning, self.closing)

    def on(self, tree: Mechanism, system: System, split: Spanning) -> ClosedMechanism:
        """The mechanism of a system of the same form and geometry, on its tree."""
        found = object.__new__(type(self))
        found.cut, found.closing, found.aligned = self.cut, self.closing, self.aligned
        found.__dict__["survey_tables"] = self.survey_tables
        found._stand_on(tree, system, split)
        found._close()
        return found

    def _stand_on(self, tree: Mechanism, system: System, split: Spanning) -> None:
        self.system, self.split, self.spanning = system, split, tree
        self.tables, self.tree, self.joints, self.nq, self.nv = tree.tables, tree.tree, tree.joints, tree.nq, tree.nv
        self.bodies = tuple(body.name for body in system.bodies)
        self.neutral, self.random, self.retract = tree.neutral, tree.random, tree.retract
        self.difference, self.interpolate = tree.difference, tree.interpolate
        self.energy, self.momentum, self.mass_matrix = tree.energy, tree.momentum, tree.mass_matrix
        self.center_of_mass, self.applied_forces = tree.center_of_mass, tree.applied_forces

    def _close(self) -> None:
        self.constraint_names, self.constraint_of_row = self.closing.names, self.closing.name_of_row
        self.laws, self.rows = self.closing.laws, len(self.closing.rows)
        self.packed = packed(self.spanning, self.closing)
        self._one_state = DirectAccelerations(self)

    def __repr__(self) -> str:
        return (
            f"<ClosedMechanism {self.system.name!r}: {len(self.bodies)} bodies, {self.nv} velocities, "
            f"{self.rows} constraint equations>"
        )

    def __reduce__(self) -> Any:
        return type(self), (self.system, self.cut, self.spanning.threads)  # the tables hold addresses of this process

    def _repr_html_(self) -> str:
        return joints_as_html(repr(self)[1:-1], self)

    def with_rank(self, rank: int) -> np.ndarray:
        """The packed mechanism for states where so many rows are independent (-1: as many as are found)."""
        found = self.packed.parameters.copy()
        found.view(np.int64)[HEAD.rank] = rank
        return found

    # ------------------------------------------------------------ kinematics

    @property
    def limits(self) -> JointLimits:
        """Limits of the joints of the tree as arrays (nv,): lower, upper, velocity, effort."""
        return self.spanning.limits

    def poses(self, q: ArrayLike, frames: Iterable[str] | str | None = None) -> np.ndarray:
        """Poses in space as in `Mechanism.poses`; on the constraints they are those of the closed mechanism."""
        return self.spanning.poses(q, self.bodies if frames is None else frames)

    def twists(self, q: ArrayLike, v: ArrayLike, frames: Iterable[str] | str | None = None, **how: Any) -> np.ndarray:
        """Twists as in `Mechanism.twists`."""
        return self.spanning.twists(q, v, self.bodies if frames is None else frames, **how)

    def accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frames: Iterable[str] | str | None = None, **how: Any
    ) -> np.ndarray:
        """Time derivatives of the twists as in `Mechanism.accelerations`."""
        return self.spanning.accelerations(q, v, a, self.bodies if frames is None else frames, **how)

    def jacobian(self, q: ArrayLike, frames: Iterable[str] | str | None = None, **how: Any) -> np.ndarray:
        """Jacobians of frames as in `Mechanism.jacobian`, in the velocities of the tree."""
        return self.spanning.jacobian(q, self.bodies if frames is None else frames, **how)

    def inverse_kinematics(
        self,
        frame: str,
        target: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        weights: ArrayLike = (1.0, 1.0),
        tolerance: float = 1e-10,
        iterations: int = 100,
        restarts: int = 100,
        seed: int = 0,
        t: float = 0.0,
    ) -> Reach:
        """Coordinates on the constraints and within the joints' limits that bring a frame or body to a pose, as
        `Mechanism.inverse_kinematics` does; drives are where they are at time t. q0: where to start, near which it is
        assembled."""
        given = target, q0, weights, tolerance, iterations, restarts, seed
        from chasles.relative.loop import inverse_kinematics
        from chasles.relative.reach import aim

        return inverse_kinematics.reach(self, aim(self.spanning, frame, *given), q0 is not None, t)

    # ------------------------------------------------------------ constraints

    def _states(self, function: str, t: ArrayLike, **arrays: np.ndarray) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Arrays (..., k) and times as contiguous rows of a batch."""
        if type(t) is float and all(array.ndim == 1 and array.flags.carray for array in arrays.values()):
            return (), [*(array.reshape(1, -1) for array in arrays.values()), np.array([t])]  # one state, read only
        times = np.asarray(t, dtype=float)[..., None]
        given = {**arrays, "t": times}
        try:
            batch = np.broadcast_shapes(*(array.shape[:-1] for array in given.values()))
        except ValueError:
            listing = ", ".join(f"{name} {array.shape[:-1]}" for name, array in given.items())
            raise ValueError(f"{function}: leading axes do not broadcast: {listing}") from None
        count = math.prod(batch)
        integers = (np.broadcast_to(a, batch + a.shape[-1:]) for a in given.values())
        every = [np.array(a, order="C").reshape(count, a.shape[-1]) for a in integers]  # by rows, as kernels take them
        return batch, [*every[:-1], every[-1].reshape(-1)]

    def constraint_rows(self, q: ArrayLike, v: ArrayLike | None = None, t: ArrayLike = 0.0) -> ConstraintRows:
        """The rows at states (..., nq), (..., nv) and times t [s]."""
        name = "constraint_rows"
        speeds = np.zeros(self.nv) if v is None else self.tables.check_v(name, "v", v)
        batch, (q, v, times) = self._states(name, t, q=self.tables.check_q(name, q), v=speeds)
        count, m = len(q), self.rows
        g, rate, right, J = (np.empty((count, size)) for size in (m, m, m, m * self.nv))
        tiles = np.empty((count, ROWS.size * len(self.closing.tiles)))
        p, at = self.packed.parameters, self.packed.rows_at
        work = np.zeros(self.packed.work)  # tiles of one or two rows leave the places of the others as they are
        with Calling(self.laws):
            entry.rows_of_states(p.view(np.int64), p, times, q, v, work, at, g, rate, right, J, tiles)
        shapes = ((m,), (m,), (m,), (m, self.nv), (len(self.closing.tiles), ROWS.size))
        found = zip((g, rate, right, J, tiles), shapes, strict=True)
        return ConstraintRows(*(array.reshape(*batch, *shape) for array, shape in found))

    def constraint_jacobian(self, q: ArrayLike, t: ArrayLike = 0.0) -> np.ndarray:
        """J of all rows in the velocities of the tree, (..., rows, nv)."""
        return self.constraint_rows(q, None, t).jacobian

    def _largest(self, rows: np.ndarray) -> np.ndarray:
        """The largest of each constraint's rows, (..., constraints), of numbers (..., rows)."""
        return largest_of(rows, self.constraint_of_row, len(self.constraint_names))

    def constraint_violation(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        t: ArrayLike = 0.0,
        *,
        scaled: bool = False,
    ) -> Violation:
        """How far each constraint is off at q [m or rad]; with v and a, in velocity and acceleration too.

        With `scaled` the numbers are in units of the size of the bodies.
        A joint that is the wrong way round (`turned`) is off by its angle [rad].
        """
        if a is not None and v is None:
            raise ValueError("constraint_violation: accelerations need velocities; give v too")
        rows = self.constraint_rows(q, v, t)
        found = self.violation_of(self.tables.check_q("constraint_violation", q), rows, scaled, v is not None)
        if a is None:
            return found
        rates = np.einsum("...ij,...j->...i", rows.jacobian, self.tables.check_v("constraint_violation", "a", a))
        return found._replace(acceleration=self._largest((rates - rows.right) / (self.row_units if scaled else 1.0)))

    def violation_of(self, q: np.ndarray, rows: ConstraintRows, scaled: bool, speeds: bool = False) -> Violation:
        """`constraint_violation` at q, where the rows are known."""
        units = self.row_units if scaled else 1.0
        position = self._largest(rows.residual / units)
        if self.aligned.names:
            position = self.aligned.alignment.add_to(self.constraint_names, position, self.aligned.rotations(q))
        return Violation(position, self._largest(rows.speed / units) if speeds else NOTHING)

    @cached_property
    def survey_tables(self) -> SurveyTables:
        """What surveys of configurations need."""
        return SurveyTables.of(self.closing)

    @cached_property
    def row_units(self) -> np.ndarray:
        """What is large for each row: 1 rad, or the size of a body [m]."""
        units = row_units(self.closing.tiles, constraint_lengths(self.system))
        return np.array([units[self.closing.groups[g][0], k] for g, k in self.closing.rows])

    def turned(self, q: ArrayLike) -> dict[str, float]:
        """The cut joints that are the wrong way round at a configuration, and by what angle [rad]."""
        return self.aligned.turned(self._one("turned", q))

    def mobility(self, q: ArrayLike, t: float = 0.0, tolerance: float = DEPENDENT) -> Mobility:
        """Equations, rank and freedoms at a configuration, and the constraints that depend on each other there.

        tolerance: of the singular values of J M^(-1/2), with rows divided by their reach (`relative.loop.response`) or,
        if it is larger than that of rounding, by their length.
        """
        return mobility(LoopEquations(self, t), self._one("mobility", q), tolerance)[0]

    def project(self, q: ArrayLike, v: ArrayLike, t: float = 0.0, rank: int = -1) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state (in the metric of the masses) on the constraints, for one that is near."""
        coordinates, velocities = np.array(q, dtype=float), np.array(v, dtype=float)
        parameters, work, report = self.with_rank(rank), np.empty(self.packed.work), np.zeros(4)
        with Calling(self.laws):
            entry.project_state(parameters.view(np.int64), parameters, float(t), coordinates, velocities, work, report)
        return coordinates, velocities

    def assemble(self, q: ArrayLike | None = None, t: float = 0.0, *, held: Iterable[str] = ()) -> np.ndarray:
        """Coordinates that satisfy all constraints, near rough ones (default: neutral); AssemblyError if none.

        The steps are the shortest in the metric of the masses and are damped. held: joints whose coordinates stay as
        given; what is not given is then also looked for farther away.
        """
        given, held = self.neutral() if q is None else self._one("assemble", q), names_of(held)
        restarts = search.RESTARTS if held or q is None else 0
        return search.assemble(LoopEquations(self, t, held), given, held, restarts)

    def assembly_modes(self, q: Mapping[str, Any] | None = None, t: float = 0.0, *, guesses: int = 400) -> list[Any]:
        """All configurations found with the coordinates of `q` held, joints by name: each with `q` and `distance` from
        neutral, the nearest first, as `simulate(mode=1)` takes it."""
        return service("assembly modes")(self, q, t=t, guesses=guesses)

    def consistent_accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, t: float = 0.0, held: Iterable[str] = ()
    ) -> np.ndarray:
        """The accelerations that satisfy all constraints at (q, v), nearest to given ones in the metric of the masses;
        AssemblyError if there are none. Those of the joints named in `held` stay as given."""
        return assembly.consistent_accelerations(self, q, v, a, t, held)

    def consistent_velocities(self, q: ArrayLike, v: ArrayLike, t: float = 0.0, held: Iterable[str] = ()) -> np.ndarray:
        """The velocities that satisfy all constraints at q, nearest in the kinetic energy of the difference;
        AssemblyError if there are none. Velocities of the joints named in `held` stay as given."""
        name = "consistent_velocities"
        velocities = self.tables.check_v(name, "v", v)
        if velocities.ndim != 1:
            raise ValueError(f"{name}: v has shape {velocities.shape}; one state at a time")
        held = names_of(held)
        return search.consistent_velocities(LoopEquations(self, t, held), self._one(name, q), velocities, held)

    def _one(self, function: str, q: ArrayLike) -> np.ndarray:
        """Coordinates of one state."""
        found = self.tables.check_q(function, q)
        if found.ndim != 1:
            raise ValueError(f"{function}: q has shape {found.shape}; one state at a time")
        return found

    # ------------------------------------------------------------ dynamics

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """Accelerations (..., nv) under generalized forces (..., nv) and wrenches on the bodies, as in
        `Mechanism.forward_dynamics`: M a + Jᵀ λ = tau - C v - g + Σ Jᵀ W, J a = c."""
        name, usual = "forward_dynamics", wrenches is None and type(t) is float and t == 0.0
        if usual and (call := self._one_state.call) and (found := call(q, v, tau)) is not None:
            return found
        arrays = {
            "q": self.tables.check_q(name, q),
            "v": self.tables.check_v(name, "v", v),
            "tau": self.tables.check_v(name, "tau", tau),
        }
        found = self.motion_on_links(name, arrays, self._on_links(name, wrenches), t).accelerations
        if usual and found.ndim == 1:
            self._one_state.again()
        return found

    def _on_links(self, name: str, wrenches: ArrayLike | None) -> np.ndarray:
        """Wrenches on bodies as wrenches on links; those on a split body act on its first part."""
        if wrenches is None:
            return np.zeros(6 * self.tables.links)
        given = np.asarray(wrenches, dtype=float)
        parts = len(self.spanning.bodies) - len(self.bodies)
        if given.ndim >= 2 and parts:
            given = np.concatenate([given, np.zeros((*given.shape[:-2], parts, 6))], axis=-2)
        return self.tables.wrenches(name, given)

    def motion_on_links(
        self, name: str, arrays: dict[str, np.ndarray], on_links: np.ndarray, t: ArrayLike, smallest: bool = True
    ) -> ConstrainedMotion:
        """Accelerations and multipliers under forces tau and wrenches on the links. Of multipliers that are not unique
        the `smallest`, or else any."""
        batch, (q, v, tau, w, times) = self._states(name, t, **arrays, wrenches=on_links)
        a, multipliers, ranks = np.empty((len(q), self.nv)), np.empty((len(q), self.rows)), np.empty(len(q))
        integers, work = self.packed.parameters.view(np.int64), np.empty(self.packed.work)
        p = self.packed.parameters
        with Calling(self.laws):
            entry.accelerations_of_states(integers, p, times, q, v, tau, w, work, a, multipliers, ranks)
        if not np.isfinite(a).all():
            rows = {"q": q, "v": v, "tau": tau, "wrenches": w}
            raise ValueError(self.tables.why_not_finite(name, a, (len(q),), rows))
        for k in np.flatnonzero(ranks < self.rows) if smallest and ranks.min(initial=self.rows) < self.rows else ():
            multipliers[k] = assembly.smallest(self, name, q[k], v[k], a[k], multipliers[k], times[k])
        return ConstrainedMotion(a.reshape(*batch, self.nv), multipliers.reshape(*batch, self.rows))

    def accelerations_under(
        self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """Joint accelerations (..., nv) under gravity, the system's forces and generalized forces u."""
        return self.constrained_motion(q, v, u, t).accelerations

    def constrained_motion(
        self,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike | None = None,
        t: ArrayLike = 0.0,
        wrenches: ArrayLike | None = None,
    ) -> ConstrainedMotion:
        """Accelerations and multipliers under gravity, the system's forces, generalized forces u and wrenches on the
        bodies."""
        forces = self.applied_forces(q, v, t)
        name = "constrained_motion"
        arrays = {"q": self.tables.check_q(name, q), "v": self.tables.check_v(name, "v", v)}
        arrays["tau"] = forces.tau + self.tables.check_u(name, u)
        return self.motion_on_links(name, arrays, forces.wrenches + self._on_links(name, wrenches), t)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: ArrayLike | None = None,
        *,
        actuated: Iterable[str] | None = None,
        applied: bool = True,
        t: ArrayLike = 0.0,
    ) -> np.ndarray:
        """Generalized forces (..., nv) in the actuated joints, zero elsewhere, that give a motion at times t [s].

        actuated: names of joints of the tree; default: those of the system's actuators or, if it has none, all. They
        are unique if there are as many actuated freedoms as the mobility; with more, those of least norm. applied:
        whether the springs, dampers, friction and other forces of the system count. What drives and couplings give is
        no part of it: `coordinate_forces`. ValueError if the motion violates the constraints, or the actuated joints
        cannot bring it about.
        """
        name = "inverse_dynamics"
        state = {"q": self.tables.check_q(name, q), "v": self.tables.check_v(name, "v", v)}
        state["a"], pushes = self.tables.check_v(name, "a", a), np.zeros(self.nv)
        state["wrenches"] = self._on_links(name, wrenches)
        if applied:
            self.spanning._refuse_loaded(name)
            forces = self.applied_forces(state["q"], state["v"], t)
            pushes = forces.tau - self.spanning._slip_friction(state["v"], state["a"])
            state["wrenches"] = state["wrenches"] + forces.wrenches
        batch, rows = self._states(name, t, **state, tau=pushes)
        found = [assembly.inverse_dynamics(self, actuated, *row) for row in zip(*rows, strict=True)]
        return np.array(found).reshape(*batch, self.nv)

    def coordinate_forces(
        self, constraint: str, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """Generalized forces [N m or N] of a coupling on each of its coordinates, or of a drive on its one
        (..., 1), under gravity, the system's forces and generalized forces u. As in
        `AbsoluteMechanism.coordinate_forces`."""
        return reaction.coordinate_forces(self, constraint, q, v, u, t)

    @cached_property
    def _apart(self) -> ClosedMechanism:
        """The mechanism with a hinge in place of each weld of its tree; `relative.reaction` says what for."""
        cut = [item.name for item in (*self.split.cut, *self.split.welds)]
        keep = {name: self.system.joint(name) for name in cut}
        joints = [keep.get(item.name, item) for item in apart(self.system).joints]
        return ClosedMechanism(self.system.rearranged(joints=joints), cut)

    def reactions(
        self, joint: str, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """The wrench (torque [N m], force [N]), (..., 6), that a joint or constraint exerts on its child body, under
        gravity, the system's forces and generalized forces u.

        The child gets this wrench, the parent its opposite. It is given in the joint's frame on the child: its axes,
        torque about its origin. For a constraint the child is its second body and the frame that body's own; if the
        second body is the ground, the axes and origin of space. As in `AbsoluteMechanism.reactions`.
        """
        return reaction.reactions(self, joint, q, v, u, t)

    @cached_property
    def derivatives(self) -> LoopDerivatives:
        """Derivatives of the equations of motion and of the rows."""
        from chasles.relative.loop.derivatives import LoopDerivatives

        return LoopDerivatives(self)


def in_joint_coordinates(function: str, system: Any) -> Mechanism | ClosedMechanism:
    """A system, or a mechanism of it in any coordinates, as a mechanism in joint coordinates."""
    if isinstance(system, Mechanism | ClosedMechanism):
        return system
    found = system if isinstance(system, System) else getattr(system, "system", None)
    if not isinstance(found, System):
        raise ValueError(f"{function}: is given {system!r}; expected a System or a mechanism")
    return compiled(found)


def compiled(system: System, cut: Iterable[str] = (), **options: Any) -> Mechanism | ClosedMechanism:
    """A system in joint coordinates: a `Mechanism` if it is a tree, else a `ClosedMechanism`."""
    cut = names_of(cut)
    if (found := like_recent(system, cut, options)) is not None:
        return found
    if system.constraints or closing_joints(system, cut):
        refuse_modes(system)
        found = ClosedMechanism(system, cut, **options)
    else:
        found = Mechanism(system, **options)
    remember(found)
    return found
