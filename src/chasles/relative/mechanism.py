"""A tree in joint coordinates, ready to compute with: `Mechanism(system)`."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from chasles.constraint.results import Mobility, Violation
from chasles.force.build import Acting
from chasles.force.table import SCRATCH
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.law import raise_error_of
from chasles.model.summary import joints_as_html
from chasles.model.system import System
from chasles.relative import (
    acting,
    force,
    forward,
    inverse,
    inverse_hybrid,
    inverse_mixed,
    inverse_spatial,
    kinematics,
    mass,
)
from chasles.relative.algorithm import Algorithm, OneState
from chasles.relative.configuration import Configuration
from chasles.relative.derivative.derivatives import Derivatives
from chasles.relative.higher.methods import HigherOrder
from chasles.relative.parameter.analysis import ParameterAnalysis
from chasles.relative.raw import Raw
from chasles.relative.tables import FREE, HEAD, LINK, SPHERICAL, link_table
from chasles.relative.tree import build
from chasles.screw.representation import check_representation


class AppliedForces(NamedTuple):
    """Generalized forces tau (..., nv), wrenches on the links, power [W] of all but springs, energy [J] in springs."""

    tau: np.ndarray
    wrenches: np.ndarray
    power: np.ndarray
    stored: np.ndarray


UNIT_TOLERANCE = 1e-8  # how far a quaternion in q may be from unit length
KNOWN_PLACES = 64  # sets of frames whose places are kept
EMPTY = np.empty(0)
FLOAT = np.dtype(float)
RECURSIONS = {
    "body": inverse.inverse_dynamics,
    "spatial": inverse_spatial.inverse_dynamics_spatial,
    "hybrid": inverse_hybrid.inverse_dynamics_hybrid,
    "mixed": inverse_mixed.inverse_dynamics_mixed,
}


def ready(value: ArrayLike, size: int) -> TypeGuard[np.ndarray]:
    """Whether kernels can read an argument as it is, one state with finite numbers; checking it costs a microsecond."""
    return (
        type(value) is np.ndarray
        and value.shape == (size,)
        and value.dtype is FLOAT
        and value.flags.carray
        and math.isfinite(sum(value.tolist()))  # if only the sum overflows, the thorough check decides
    )


CAN_SPIN = (
    "none about the line through its center of mass, as a point mass or a thin rod, and the joint lets it spin about "
    "that line; a little will do, inertia=(1e-6, 1e-6, 1e-6), or take a universal joint, which does not let it"
)


class Mechanism(ParameterAnalysis, Derivatives, HigherOrder):
    """A tree of bodies in joint coordinates q and velocities v.

    Arrays have any leading axes (a batch); four states or more run on SIMD lanes, and in parallel on `threads`.
    q holds the coordinates of the joints one after the other in the order of `joints` (depth first), a quaternion
    (w, x, y, z) for a spherical joint and a pose for a free one; v their velocities, which for these two are the
    angular velocity and the twist in the child's joint frame. Derivatives with respect to q are taken along q exp(δ).
    """

    def __init__(self, system: System, threads: int = 1, sprung: bool = False):
        """sprung: whether joints have a place for springs and dampers even if none has any, for derivatives."""
        self.sprung = sprung
        self.system, self.tree, self.threads = system, build(system), threads
        self.topology, self.numbers = self.tree.topology, self.tree.numbers
        self.nq, self.nv = int(self.topology[HEAD.coordinates]), int(self.topology[HEAD.velocities])
        self.links = int(self.topology[HEAD.links])
        self.sizes = {"nq": self.nq, "nv": self.nv, "links": self.links, "slots": self.links + 1}
        self.joints = tuple(joint.name for joint in self.tree.joints if joint.nv)
        self.bodies = tuple(body.name for body in system.bodies)
        table = link_table(self.topology)
        kinds = table[:, LINK.kind]
        # where the unit quaternions of q begin, and what they belong to
        self.quaternions = table[(kinds == SPHERICAL) | (kinds == FREE), LINK.coordinate]
        self.configuration = Configuration(self.topology)
        self.neutral, self.random = self.configuration.neutral, self.configuration.random
        self.retract, self.difference = self.configuration.retract, self.configuration.difference
        self.interpolate = self.configuration.interpolate
        self._one_state: dict[tuple[Any, ...], OneState] = {}
        self._known_places: dict[tuple[str, ...] | None, tuple[np.ndarray, np.ndarray]] = {}
        self._raw = threading.local()

    def __reduce__(self) -> Any:
        return type(self), (self.system, self.threads, self.sprung)  # the tables hold addresses of this process

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.system.name!r}: {len(self.bodies)} bodies, {self.nq} coordinates, {self.nv} velocities>"
        )

    def _repr_html_(self) -> str:
        return joints_as_html(repr(self)[1:-1], self)

    # ------------------------------------------------------------ running algorithms

    def check_q(self, function: str, q: ArrayLike) -> np.ndarray:
        """Coordinates, finite and on their groups. Read only: it may be the caller's array."""
        array = q if ready(q, self.nq) else real_array(function, "q", q, (self.nq,))
        if len(self.quaternions):
            squares = np.sum([array[..., self.quaternions + k] ** 2 for k in range(4)], axis=0)
            off = np.abs(squares - 1.0)
            if np.any(off > 2 * UNIT_TOLERANCE):
                *batch, k = np.unravel_index(np.argmax(off), off.shape)
                joint = self.joint_at(int(self.quaternions[k]))
                where = f"[{', '.join(map(str, batch))}]" if batch else ""
                raise ValueError(
                    f"{function}: q{where}: the quaternion of joint {joint!r} has length "
                    f"{math.sqrt(squares.flat[np.argmax(off)]):.9g}; expected 1 (order w, x, y, z)"
                )
        return array

    def check_v(self, function: str, name: str, value: ArrayLike) -> np.ndarray:
        """Velocities, accelerations or generalized forces, finite. Read only: it may be the caller's array."""
        return value if ready(value, self.nv) else real_array(function, name, value, (self.nv,))

    def check_u(self, function: str, u: ArrayLike | None) -> np.ndarray:
        """Generalized forces (..., nv), or one number for all; None is none."""
        given = np.asarray(0.0 if u is None else u, dtype=float)
        return np.full(self.nv, given) if given.ndim == 0 else self.check_v(function, "u", given)

    def joint_at(self, coordinate: int) -> str:
        """The joint that a coordinate of q belongs to."""
        return next(name for name, part in self.tree.coordinates.items() if part.start <= coordinate < part.stop)

    def joint_of_velocity(self, velocity: int) -> str:
        """The joint that a velocity belongs to."""
        return next(name for name, part in self.tree.velocities.items() if part.start <= velocity < part.stop)

    def _run(
        self, function: str, algorithm: Algorithm, arrays: dict[str, np.ndarray], sizes: dict[str, int] | None = None
    ) -> tuple[list[np.ndarray], tuple[int, ...]]:
        """Results of an algorithm, each (count, size), and the leading shape."""
        every = {**self.sizes, **sizes} if sizes else self.sizes
        if all(arrays[name].ndim == 1 for name in algorithm.inputs):
            key = (algorithm, *sizes.values()) if sizes else (algorithm,)
            if (one := self._one_state.get(key)) is None:
                one = self._one_state[key] = OneState(algorithm, every)
            return one.run(self.topology, self.numbers, arrays), ()
        inputs = {name: array for name, array in arrays.items() if algorithm.arguments[name].role == "in"}
        shapes = {name: array.shape[:-1] for name, array in inputs.items() if array.size or array.ndim > 1}
        try:
            batch = np.broadcast_shapes(*shapes.values())
        except ValueError:
            listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ValueError(f"{function}: leading axes do not broadcast: {listing}") from None
        flat = dict(arrays)
        for name, array in inputs.items():
            if name in shapes:
                if array.shape[:-1] != batch or not array.flags.writeable:  # read-only is another type to the compiler
                    array = np.array(np.broadcast_to(array, batch + array.shape[-1:]))
                flat[name] = np.ascontiguousarray(array).reshape(-1)
        count = math.prod(batch)
        return algorithm.run(self.topology, self.numbers, every, count, flat, self.threads), batch

    @property
    def raw(self) -> Raw:
        """The unchecked tier, for loops that count microseconds; each thread has its own, with its own workspace."""
        own: Raw | None = getattr(self._raw, "own", None)
        if own is None:
            own = self._raw.own = Raw(self)
        return own

    # ------------------------------------------------------------ kinematics

    def _places(self, function: str, frames: Iterable[str] | str | None) -> tuple[np.ndarray, np.ndarray]:
        """Links of frames, and the frames' poses on them (12 numbers each). Default: all bodies."""
        names = None if frames is None else tuple(frames)
        if (known := self._known_places.get(names)) is not None:
            return known
        if names is None:
            links, poses = self.tree.link_of_body, self.tree.body_in_link
        else:
            index = {name: k for k, name in enumerate(self.bodies)}
            links, poses = np.empty(len(names), dtype=np.int64), np.empty((len(names), 7))
            for k, name in enumerate(names):
                frame = self.system.frame(name)
                body = index.get(frame.body)
                links[k] = -1 if body is None else self.tree.link_of_body[body]
                on_body = np.array(frame.pose)
                poses[k] = on_body if body is None else pose_group.compose(self.tree.body_in_link[body], on_body)
        matrices = quaternion_to_matrix(poses[:, :4]).reshape(-1, 9)
        places = links, np.concatenate([matrices, poses[:, 4:]], axis=1).reshape(-1)
        if len(self._known_places) < KNOWN_PLACES:
            self._known_places[names] = places
        return places

    def _motion(
        self, function: str, frames: Any, representation: str, arrays: dict[str, np.ndarray]
    ) -> list[np.ndarray]:
        check_representation(function, representation)
        single = isinstance(frames, str)
        links, offset = self._places(function, [frames] if single else frames)
        where = np.concatenate([[kinematics.REPRESENTATIONS.index(representation)], links])
        every = {"q": arrays["q"], "v": arrays.get("v", EMPTY), "a": arrays.get("a", EMPTY), "where": where}
        results, batch = self._run(
            function, kinematics.motion_of_frames, {**every, "offset": offset}, {"places": len(links)}
        )
        shape = batch if single else (*batch, len(links))
        return [result.reshape(*shape, size) for result, size in zip(results, (7, 6, 6), strict=True)]

    def poses(self, q: ArrayLike, frames: Iterable[str] | str | None = None) -> np.ndarray:
        """Poses in space of frames or bodies, (..., frames, 7); one name gives (..., 7), None all bodies."""
        return self._motion("poses", frames, "body", {"q": self.check_q("poses", q)})[0]

    def twists(
        self, q: ArrayLike, v: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """Twists of frames or bodies in a representation, (..., frames, 6) [rad/s, m/s]."""
        arrays = {"q": self.check_q("twists", q), "v": self.check_v("twists", "v", v)}
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
        arrays = {"q": self.check_q("accelerations", q), "v": self.check_v("accelerations", "v", v)}
        arrays["a"] = self.check_v("accelerations", "a", a)
        return self._motion("accelerations", frames, representation, arrays)[2]

    # ------------------------------------------------------------ dynamics

    def _wrenches(self, function: str, wrenches: ArrayLike | None) -> np.ndarray:
        """Wrenches on bodies, in their frames, as sums on the links in theirs."""
        if wrenches is None:
            return EMPTY
        given = real_array(function, "wrenches", wrenches, (len(self.bodies), 6))
        on_links = np.zeros((*given.shape[:-2], self.links, 6))
        back = pose_group.inverse(self.tree.body_in_link)
        moved = pose_group.AdT_apply(back, given)
        moving = self.tree.link_of_body >= 0
        np.add.at(
            np.moveaxis(on_links, -2, 0), self.tree.link_of_body[moving], np.moveaxis(moved[..., moving, :], -2, 0)
        )
        return on_links.reshape(*given.shape[:-2], 6 * self.links)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: ArrayLike | None = None,
        *,
        representation: str = "body",
    ) -> np.ndarray:
        """Generalized forces of a motion, M a + C v + g - Σ Jᵀ W, (..., nv) [N m or N]; by the RNEA, O(n).

        wrenches: applied to the bodies, (..., bodies, 6), each in its body's frame at its origin. Armatures count; the
        joints' own springs, dampers and friction and the forces of the system do not: they are part of the result.
        representation: of the recursion; the arguments and, to rounding, the result are the same in all.
        """
        name = "inverse_dynamics"
        check_representation(name, representation)
        arrays = {"q": self.check_q(name, q), "v": self.check_v(name, "v", v), "a": self.check_v(name, "a", a)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        (tau,), batch = self._run(name, RECURSIONS[representation], arrays)
        return tau.reshape(*batch, self.nv)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None
    ) -> np.ndarray:
        """Accelerations (..., nv) under generalized forces and wrenches as in `inverse_dynamics`; by the ABA, O(n)."""
        name = "forward_dynamics"
        arrays = {"q": self.check_q(name, q), "v": self.check_v(name, "v", v), "tau": self.check_v(name, "tau", tau)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        (a,), batch = self._run(name, forward.forward_dynamics, arrays)
        if not np.isfinite(a).all():
            raise ValueError(self._why_not_finite(name, a, batch, arrays))
        return a.reshape(*batch, self.nv)

    def _why_not_finite(self, function: str, a: np.ndarray, batch: tuple[int, ...], arrays: dict[str, Any]) -> str:
        """What to say of accelerations (count, nv) that are not finite: the joint whose inertia is singular."""
        state, column = np.argwhere(~np.isfinite(a))[0]
        index = np.unravel_index(state, batch) if batch else ()
        where = f", state [{', '.join(map(str, index))}]" if batch else ""
        rows = {n: np.broadcast_to(x, (*batch, x.shape[-1]))[index].copy() if x.size else x for n, x in arrays.items()}
        found = forward.singular_links(self.topology, self.numbers, self.sizes, **rows)
        if (link := next(found, None)) is not None:
            joint = next(joint for joint in self.tree.joints if joint.name == self.tree.joint_of_link[link])
            or_rotor = ", or the joint an armature" if joint.screws else ""
            if joint.traits.ball:
                or_rotor = f": it has {CAN_SPIN}"
            return (
                f"{function}{where}: the inertia that joint {joint.name!r} moves is singular, so its acceleration is "
                f"not determined; give body {joint.child!r} inertia about the joint{or_rotor}"
            )
        named = next(name for name, part in self.tree.velocities.items() if part.start <= column < part.stop)
        return f"{function}{where}: the acceleration of joint {named!r} is not finite: {a[state, column]}"

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """The mass matrix M(q), (..., nv, nv); by the CRBA, O(n d) for depth d."""
        (matrix,), batch = self._run("mass_matrix", mass.mass_matrix, {"q": self.check_q("mass_matrix", q)})
        return matrix.reshape(*batch, self.nv, self.nv)

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
        none = np.zeros((*self.check_q("constraint_violation", q).shape[:-1], 0))
        return Violation(none, none, none)

    def assemble(self, q: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """The coordinates as they are (default: neutral): all of them are assembled."""
        return self.neutral() if q is None else self.check_q("assemble", q)

    def project(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """The state as it is."""
        return self.check_q("project", q), self.check_v("project", "v", v)

    def mobility(self, q: ArrayLike | None = None, t: float = 0.0) -> Mobility:
        """As many freedoms as velocities."""
        return Mobility(0, 0, self.nv, ())

    # ------------------------------------------------------------ the forces of the system

    @cached_property
    def acting(self) -> Acting:
        """The system's forces as tables."""
        return acting.tables(self.system, self.tree, own=self.sprung)

    def applied_forces(self, q: ArrayLike, v: ArrayLike, t: ArrayLike = 0.0) -> AppliedForces:
        """All that acts on states (..., nq), (..., nv) at times t [s], besides gravity."""
        name = "applied_forces"
        given = [self.check_q(name, q), self.check_v(name, "v", v), np.asarray(t, dtype=float)[..., None]]
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in given))
        count = math.prod(batch)
        q, v, t = (
            np.ascontiguousarray(np.broadcast_to(array, batch + array.shape[-1:])).reshape(count, array.shape[-1])
            for array in given
        )
        tau, wrenches, results = np.empty((count, self.nv)), np.empty((count, 6 * self.links)), np.empty((count, 2))
        states = np.empty(kinematics.STATE.size * (self.links + 1))
        tables = (self.topology, self.numbers, self.acting.table, self.acting.values)
        sizes = np.array([*map(len, tables), self.nq, self.nv, 6 * self.links, len(states)])
        arrays = (t.reshape(-1), *tables, q, v, tau, wrenches, results, states, np.empty(SCRATCH), sizes)
        if self.acting.empty:
            for array in (tau, wrenches, results):
                array.fill(0.0)
        else:
            force.forces_on_states(force.act_address(), *arrays)
        raise_error_of(self.acting.laws)
        return AppliedForces(
            tau.reshape(*batch, self.nv),
            wrenches.reshape(*batch, 6 * self.links),
            results[:, 0].reshape(batch),
            results[:, 1].reshape(batch),
        )

    def accelerations_under(
        self, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: ArrayLike = 0.0
    ) -> np.ndarray:
        """Joint accelerations (..., nv) under gravity, the system's forces and generalized forces u."""
        forces = self.applied_forces(q, v, t)
        arrays = {"q": self.check_q("accelerations_under", q), "v": self.check_v("accelerations_under", "v", v)}
        arrays |= {"tau": forces.tau + self.check_u("accelerations_under", u), "wrenches": forces.wrenches}
        (a,), batch = self._run("accelerations_under", forward.forward_dynamics, arrays)
        if not np.isfinite(a).all():
            raise ValueError(self._why_not_finite("accelerations_under", a, batch, arrays))
        return a.reshape(*batch, self.nv)

    def static_forces(self, q: ArrayLike, link_wrenches: np.ndarray | None = None) -> np.ndarray:
        """Generalized forces (..., nv) that hold the mechanism at rest against gravity and wrenches on the links."""
        still = np.zeros(self.nv)
        arrays = {"q": self.check_q("static_forces", q), "v": still, "a": still}
        arrays["wrenches"] = EMPTY if link_wrenches is None else link_wrenches
        (tau,), batch = self._run("static_forces", inverse.inverse_dynamics, arrays)
        return tau.reshape(*batch, self.nv)
