"""A tree in joint coordinates, ready to compute with: `Mechanism(system)`."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.constraint.results import Mobility, Violation
from chasles.force.table import SCRATCH
from chasles.kernel.lanes import WIDTH
from chasles.kernel.undisturbed import Calling
from chasles.model.summary import joints_as_html
from chasles.model.system import System
from chasles.relative import (
    force,
    forward,
    inverse,
    inverse_hybrid,
    inverse_mixed,
    inverse_spatial,
    kinematics,
    mass,
    reaction,
)
from chasles.relative.groups import Centroidal, MomentumForm, Terms, TwistForm
from chasles.relative.limits import JointLimits, joint_limits
from chasles.relative.raw import Raw
from chasles.relative.tree_tables import NO_NUMBERS, TreeTables, tables_of
from chasles.screw.representation import check_representation

if TYPE_CHECKING:  # each is loaded when it is asked for: together they are a tenth of the package
    from chasles.relative.derivative.derivatives import Derivatives
    from chasles.relative.higher.methods import Rates
    from chasles.relative.parameter.analysis import Parameters
    from chasles.relative.reach import Reach


class AppliedForces(NamedTuple):
    """Generalized forces tau (..., nv), wrenches on the links, power [W] of all but springs, energy [J] in springs."""

    tau: np.ndarray
    wrenches: np.ndarray
    power: np.ndarray
    stored: np.ndarray


RECURSIONS = {
    "body": inverse.inverse_dynamics,
    "spatial": inverse_spatial.inverse_dynamics_spatial,
    "hybrid": inverse_hybrid.inverse_dynamics_hybrid,
    "mixed": inverse_mixed.inverse_dynamics_mixed,
}


class Mechanism:
    """A tree of bodies in joint coordinates q and velocities v.

    Arrays have any leading axes (a batch); four states or more run on SIMD lanes, and in parallel on `threads`.
    q holds the coordinates of the joints in the order of `joints` (depth first): a quaternion (w, x, y, z) for a
    spherical joint, a pose for a free one. v holds their velocities: the angular velocity of a spherical joint and the
    twist of a free one, in the child's joint frame. Derivatives with respect to q are taken along q exp(δ).
    A joint that follows another, `mimic`, has no part in q and v: what acts on it acts on the other by their ratio.
    """

    def __init__(self, system: System, threads: int = 1, sprung: bool = False):
        """sprung: whether joints have a place for springs and dampers even if none has any, for derivatives."""
        self._take(system, tables_of(system, threads, sprung))

    @classmethod
    def _of_tables(cls, system: System, tables: TreeTables) -> Mechanism:
        """The mechanism of a system whose tables are there."""
        found = object.__new__(cls)
        found._take(system, tables)
        return found

    def _take(self, system: System, tables: TreeTables) -> None:
        self.system, self.threads, self.tables = system, tables.threads, tables
        self.tree, self.nq, self.nv, self.bodies = self.tables.tree, self.tables.nq, self.tables.nv, self.tables.bodies
        self.joints = tuple(joint.name for joint in self.tree.joints if joint.nv)
        of_tree = self.tables.configuration
        self.neutral, self.random, self.retract = of_tree.neutral, of_tree.random, of_tree.retract
        self.difference, self.interpolate = of_tree.difference, of_tree.interpolate
        self._raw, self._direct = threading.local(), self.tables.direct
        self._direct_poses, self._direct_jacobian = self._direct.poses, self._direct.jacobian

    def __reduce__(self) -> Any:
        return type(self), (self.system, self.threads, self.tables.sprung)  # the tables hold addresses of this process

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.system.name!r}: {len(self.bodies)} bodies, {self.nq} coordinates, {self.nv} velocities>"
        )

    def _repr_html_(self) -> str:
        return joints_as_html(repr(self)[1:-1], self)

    # ------------------------------------------------------------ groups

    @cached_property
    def derivatives(self) -> Derivatives:
        """Derivatives with respect to q, v and accelerations or forces."""
        from chasles.relative.derivative.derivatives import Derivatives

        return Derivatives(self)

    @property
    def rates(self) -> Rates:
        """Time derivatives of twists, Jacobians, forces and accelerations, of any order."""
        from chasles.relative.higher.methods import Rates

        return Rates(self)

    @property
    def parameters(self) -> Parameters:
        """Inertial and geometric parameters: regressors, derivatives, what data can identify."""
        from chasles.relative.parameter.analysis import Parameters

        return Parameters(self)

    @property
    def terms(self) -> Terms:
        """Parts of the equations of motion: bias, gravity, Coriolis matrix, M⁻¹."""
        return Terms(self)

    @property
    def centroidal(self) -> Centroidal:
        """Velocity of the center of mass and momentum about it."""
        return Centroidal(self)

    @property
    def twist_form(self) -> TwistForm:
        """The state as coordinates and twists of the bodies."""
        return TwistForm(self)

    @property
    def momentum_form(self) -> MomentumForm:
        """The state as coordinates and momenta of the joints."""
        return MomentumForm(self)

    @property
    def limits(self) -> JointLimits:
        """Limits of the joints as arrays (nv,): lower, upper, velocity, effort."""
        return joint_limits(self.tree.joints)

    @property
    def raw(self) -> Raw:
        """The unchecked tier, for loops that count microseconds; each thread has its own, with its own workspace."""
        own: Raw | None = getattr(self._raw, "own", None)
        if own is None:
            own = self._raw.own = Raw(self)
        return own

    # ------------------------------------------------------------ kinematics

    def _motion(
        self, function: str, frames: Any, representation: str, arrays: dict[str, np.ndarray]
    ) -> list[np.ndarray]:
        check_representation(function, representation)
        single = isinstance(frames, str)
        links, offset = self.tables.places(function, [frames] if single else frames)
        where = np.concatenate([[kinematics.REPRESENTATIONS.index(representation)], links])
        every = {"q": arrays["q"], "v": arrays.get("v", NO_NUMBERS), "a": arrays.get("a", NO_NUMBERS), "where": where}
        sizes = {"places": len(links)}
        results, batch = self.tables.run(function, kinematics.motion_of_frames, {**every, "offset": offset}, sizes)
        shape = batch if single else (*batch, len(links))
        if function == "poses" and not batch:
            fixed = {"where": where, "offset": offset}
            quicker = kinematics.poses_of_four_frames if len(links) >= WIDTH else kinematics.motion_of_frames
            given: Any = quicker, ("q",), "pose", (*shape, 7)
            self._direct.again(function, *given, key=frames, fixed=fixed, sizes=sizes)
        return [result.reshape(*shape, size) for result, size in zip(results, (7, 6, 6), strict=True)]

    def poses(self, q: ArrayLike, frames: Iterable[str] | str | None = None) -> np.ndarray:
        """Poses in space of frames or bodies, (..., frames, 7); one name gives (..., 7), None all bodies."""
        try:
            found = self._direct_poses[frames](q)
        except KeyError:  # there is none yet
            found = None
        except TypeError:  # a list
            frames = tuple(() if frames is None else frames)
            call = self._direct_poses.get(frames)
            found = call and call(q)
        if found is not None:
            return found
        return self._motion("poses", frames, "body", {"q": self.tables.check_q("poses", q)})[0]

    def twists(
        self, q: ArrayLike, v: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """Twists of frames or bodies in a representation, (..., frames, 6) [rad/s, m/s]."""
        arrays = {"q": self.tables.check_q("twists", q), "v": self.tables.check_v("twists", "v", v)}
        return self._motion("twists", frames, representation, arrays)[1]

    def accelerations(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frames: Iterable[str] | str | None = None,
        *,
        representation: str = "body",
    ) -> np.ndarray:
        """Time derivatives of the twists in a representation, (..., frames, 6) [rad/s², m/s²]; gravity is no part."""
        arrays = {"q": self.tables.check_q("accelerations", q), "v": self.tables.check_v("accelerations", "v", v)}
        arrays["a"] = self.tables.check_v("accelerations", "a", a)
        return self._motion("accelerations", frames, representation, arrays)[2]

    def jacobian(
        self, q: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """J with twist = J v of frames or bodies, (..., frames, 6, nv); one name gives (..., 6, nv)."""
        try:
            found = self._direct_jacobian[frames if representation == "body" else (None, frames, representation)](q)
        except KeyError:  # there is none yet
            found = None
        except TypeError:  # a list
            frames = tuple(() if frames is None else frames)
            call = self._direct_jacobian.get(frames if representation == "body" else (None, frames, representation))
            found = call and call(q)
        if found is not None:
            return found
        return self.tables.jacobians("jacobian", frames, representation, {"q": self.tables.check_q("jacobian", q)})

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
    ) -> Reach:
        """Coordinates within the joints' limits that bring a frame or body to a pose; tries random starts if need be.

        target: in space, a pose, a 4x4 matrix or a position [m]. weights: of rotation [1/rad] and of position [1/m];
        (0, 1) asks for the position only, (1, 0) for the orientation only. q0: where to start (default: neutral).
        tolerance: of the length of the weighted error, with positions in units of the longest body on the way from the
        ground to the frame. Angles are those within half a turn of q0, where the limits let them. The result is true if
        it was reached.
        """
        from chasles.relative.reach import aim, reach

        return reach(self, aim(self, frame, target, q0, weights, tolerance, iterations, restarts, seed))

    # ------------------------------------------------------------ dynamics

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: ArrayLike | None = None,
        *,
        applied: bool = True,
        t: ArrayLike = 0.0,
        representation: str = "body",
    ) -> np.ndarray:
        """Generalized forces that motors must give for a motion, (..., nv) [N m or N], at times t [s]: M a + C v + g -
        Σ Jᵀ W less the forces of the system. By the RNEA, O(n).

        wrenches: applied to the bodies, (..., bodies, 6), each in its body's frame at its origin. Armatures count.
        applied: whether the joints' own springs, dampers and friction and the forces of the system do; if not, it is
        the inverse of `forward_dynamics`, else of `accelerations_under`. Friction that sticks counts where a joint
        moves or begins to.
        representation: of the recursion; the arguments and, to rounding, the result are the same in all.
        """
        name, acts = "inverse_dynamics", applied and self._acts
        usual = wrenches is None and representation == "body" and not acts
        if usual and (call := self._direct.inverse_dynamics) and (found := call(q, v, a)) is not None:
            return found
        check_representation(name, representation)
        arrays = {
            "q": self.tables.check_q(name, q),
            "v": self.tables.check_v(name, "v", v),
            "a": self.tables.check_v(name, "a", a),
        }
        arrays["wrenches"] = self.tables.wrenches(name, wrenches)
        if acts:
            self._refuse_loaded(name)
            forces = self.applied_forces(arrays["q"], arrays["v"], t)
            arrays["wrenches"] = forces.wrenches + (0.0 if wrenches is None else arrays["wrenches"])
        (tau,), batch = self.tables.run(name, RECURSIONS[representation], arrays)
        if acts:
            return tau.reshape(*batch, self.nv) - forces.tau + self._slip_friction(arrays["v"], arrays["a"])
        if usual and not batch:
            self._direct.again(name, inverse.inverse_dynamics, ("q", "v", "a"), "tau", (self.nv,))
        return tau.reshape(*batch, self.nv)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None
    ) -> np.ndarray:
        """Accelerations (..., nv) under generalized forces and wrenches as in `inverse_dynamics`; by the ABA, O(n)."""
        name, usual = "forward_dynamics", wrenches is None
        if usual and (call := self._direct.forward_dynamics) and (found := call(q, v, tau)) is not None:
            return found
        arrays = {
            "q": self.tables.check_q(name, q),
            "v": self.tables.check_v(name, "v", v),
            "tau": self.tables.check_v(name, "tau", tau),
        }
        arrays["wrenches"] = self.tables.wrenches(name, wrenches)
        (a,), batch = self.tables.run(name, forward.forward_dynamics, arrays)
        if not np.isfinite(a).all():
            raise ValueError(self.tables.why_not_finite(name, a, batch, arrays))
        if usual and not batch:
            self._direct.again(name, forward.forward_dynamics, ("q", "v", "tau"), "a", (self.nv,), finite=True)
        return a.reshape(*batch, self.nv)

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """The mass matrix M(q), (..., nv, nv); by the CRBA, O(n d) for depth d."""
        name = "mass_matrix"
        if (call := self._direct.mass_matrix) and (found := call(q)) is not None:
            return found
        (matrix,), batch = self.tables.run(name, mass.mass_matrix, {"q": self.tables.check_q(name, q)})
        if not batch:
            self._direct.again(name, mass.mass_matrix, ("q",), "matrix", (self.nv, self.nv), clear=True)
        return matrix.reshape(*batch, self.nv, self.nv)

    def energy(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy [J], (...) each; the latter is zero with the center of mass at the origin."""
        both = self.tables.totals("energy", q, v)[0]
        return both[..., 0], both[..., 1]

    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Total momentum (angular, linear) about the origin of space, in its axes, (..., 6) [N m s, N s]."""
        return self.tables.totals("momentum", q, v)[1]

    def center_of_mass(self, q: ArrayLike) -> np.ndarray:
        """Center of mass in space of all that moves, (..., 3) [m]."""
        self.tables.check_mass("center_of_mass")
        return self.tables.totals("center_of_mass", q, None)[2][..., :3]

    # ------------------------------------------------------------ constraints, of which a tree has none

    constraint_names: tuple[str, ...] = ()

    def constraint_violation(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        t: ArrayLike = 0.0,
        *,
        scaled: bool = False,
    ) -> Violation:
        """Nothing can be violated: arrays (..., 0), as `ClosedMechanism.constraint_violation` has them."""
        none = np.zeros((*self.tables.check_q("constraint_violation", q).shape[:-1], 0))
        return Violation(none, none, none)

    def assemble(self, q: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """The coordinates as they are (default: neutral): all of them are assembled."""
        return self.neutral() if q is None else self.tables.check_q("assemble", q)

    def project(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """The state as it is."""
        return self.tables.check_q("project", q), self.tables.check_v("project", "v", v)

    def mobility(self, q: ArrayLike | None = None, t: float = 0.0) -> Mobility:
        """As many degrees of freedom as velocities."""
        return Mobility(0, 0, self.nv, ())

    # ------------------------------------------------------------ the forces of the system

    @cached_property
    def _acts(self) -> bool:
        """Whether anything acts besides gravity."""
        loaded = any(joint.is_loaded for joint in self.tree.all_joints)
        return not self.tables.acting.empty or bool(self._slipping.any()) or loaded

    @cached_property
    def _slipping(self) -> np.ndarray:
        """Friction that sticks, while it slips, of each velocity (nv)."""
        found = np.zeros(self.nv)
        for joint in self.tree.joints:
            if joint.sticks:
                found[self.tree.velocities[joint.name]] = joint.friction
        return found

    def _refuse_loaded(self, function: str) -> None:
        """ValueError if friction depends on what joints carry, which `simulate` alone follows."""
        for joint in self.tree.all_joints:
            if joint.is_loaded:
                raise ValueError(
                    f"{function}: the friction of joint {joint.name!r} depends on its load (friction_coefficient), "
                    "which only simulate follows; give applied=False to leave all forces out"
                )

    def _slip_friction(self, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """What friction that sticks takes of a motion (..., nv), against v or, where it begins, against a. At rest it
        can be anything up to its bound, and counts as none. It is no part of `applied_forces`."""
        return self._slipping * np.sign(np.where(v != 0.0, v, a))

    def applied_forces(self, q: ArrayLike, v: ArrayLike, t: ArrayLike = 0.0) -> AppliedForces:
        """All that acts on states (..., nq), (..., nv) at times t [s], besides gravity."""
        name = "applied_forces"
        given = [self.tables.check_q(name, q), self.tables.check_v(name, "v", v), np.asarray(t, dtype=float)[..., None]]
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in given))
        count, depends = math.prod(batch), self.tree.dependence
        if depends is not None:
            given[:2] = depends.coordinates(given[0]), depends.velocities(given[1])
        q, v, t = (  # copies: for arrays that are read-only code of its own would be compiled
            np.array(np.broadcast_to(array, batch + array.shape[-1:]), order="C").reshape(count, array.shape[-1])
            for array in given
        )
        tau, wrenches, results = (
            np.empty((count, v.shape[-1])),
            np.empty((count, 6 * self.tables.links)),
            np.empty((count, 2)),
        )
        states = np.empty(kinematics.STATE.size * (self.tables.links + 1))
        tables = (self.tree.topology, self.tree.numbers, self.tables.acting.table, self.tables.acting.values)
        sizes = np.array([*map(len, tables), q.shape[-1], v.shape[-1], 6 * self.tables.links, len(states)])
        arrays = (t.reshape(-1), *tables, q, v, tau, wrenches, results, states, np.empty(SCRATCH), sizes)
        if self.tables.acting.empty:
            for array in (tau, wrenches, results):
                array.fill(0.0)
        else:
            with Calling(self.tables.acting.laws):
                force.forces_on_states(force.act_address(), *arrays)
        if depends is not None:
            tau = depends.reduced(tau, -1)
        return AppliedForces(
            tau.reshape(*batch, self.nv),
            wrenches.reshape(*batch, 6 * self.tables.links),
            results[:, 0].reshape(batch),
            results[:, 1].reshape(batch),
        )

    def accelerations_under(
        self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """Joint accelerations (..., nv) under gravity, the system's forces and generalized forces u."""
        forces = self.applied_forces(q, v, t)
        arrays = {
            "q": self.tables.check_q("accelerations_under", q),
            "v": self.tables.check_v("accelerations_under", "v", v),
        }
        arrays |= {"tau": forces.tau + self.tables.check_u("accelerations_under", u), "wrenches": forces.wrenches}
        (a,), batch = self.tables.run("accelerations_under", forward.forward_dynamics, arrays)
        if not np.isfinite(a).all():
            raise ValueError(self.tables.why_not_finite("accelerations_under", a, batch, arrays))
        return a.reshape(*batch, self.nv)

    @cached_property
    def _apart(self) -> Mechanism:
        """The mechanism with a hinge in place of each weld; `relative.reaction` says what for."""
        return Mechanism(reaction.apart(self.system))

    def reactions(
        self, joint: str, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """The wrench (torque [N m], force [N]), (..., 6), that a joint exerts on its child body, under gravity, the
        system's forces and generalized forces u. It does no work along the joint's freedoms.

        The child gets this wrench, the parent its opposite. It is given in the joint's frame on the child: its axes,
        torque about its origin.
        """
        at, speed = self.tables.check_q("reactions", q), self.tables.check_v("reactions", "v", v)
        time = np.broadcast_to(np.asarray(t, dtype=float), at.shape[:-1])
        own = next((item for item in self.tree.all_joints if item.name == joint), None)
        own = self.system.joint(joint, "reactions") if own is None else own
        acting = self.tables.check_u("reactions", u)
        return reaction.reactions(self, own, at, speed, self.accelerations_under(at, speed, acting, time), time)
