"""What a `Mechanism` can say about its parameters: regressors, derivatives by geometry, what data can identify."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie.arrays import real_array
from chasles.model.system import System
from chasles.relative import kinematics
from chasles.relative.group import Group
from chasles.relative.parameter import inertial
from chasles.relative.parameter.geometry import geometry
from chasles.relative.parameter.identifiability import Identifiability, identify
from chasles.relative.parameter.inverse import inverse_dynamics_by_geometry
from chasles.relative.parameter.places import Places, carriers_of, displaced, places_of
from chasles.relative.parameter.regressor import TEN, energy_regressor, regressor
from chasles.screw.representation import check_representation

MEASURED = {"pose": slice(0, 6), "position": slice(3, 6), "orientation": slice(0, 3)}


class Parameters(Group):
    """The parameters of a mechanism, `mechanism.parameters`.

    Inertial parameters are those of `parameters.inertial`, ten a body; geometric ones are small screws at places
    (`parameter.places`), six a place. `places` names joints (the frames on both bodies), pairs (joint, "parent") or
    (joint, "child"), and frames; None stands for all joints.
    """

    __slots__ = ()

    # ------------------------------------------------------------ inertial parameters

    def inertial(self, joint_terms: Iterable[str] | str = ()) -> np.ndarray:
        """π, (10 bodies,): m, m c, and Θ (xx, xy, xz, yy, yz, zz) about the origin, of each body in its own frame.

        joint_terms: some of "armature", "damping", "friction"; these numbers of all velocities follow, term by term.
        """
        terms = inertial.check_terms("parameters.inertial", joint_terms)
        return inertial.parameters_of(self._tables.system, self._tables.tree.every, terms)

    def inertial_names(self, joint_terms: Iterable[str] | str = ()) -> tuple[str, ...]:
        """Names in the order of `parameters.inertial`."""
        terms = inertial.check_terms("parameters.inertial_names", joint_terms)
        return inertial.names_of(self._tables.system, self._tables.tree.every, terms)

    def _check_parameters(self, function: str, parameters: ArrayLike, terms: tuple[str, ...]) -> np.ndarray:
        count = len(inertial.names_of(self._tables.system, self._tables.tree.every, terms))
        return real_array(function, "parameters", parameters, (count,))

    def with_inertial(self, parameters: ArrayLike, joint_terms: Iterable[str] | str = ()) -> System:
        """The system with these parameters; ValueError that names the body if they are not physical."""
        name = "parameters.with_inertial"
        terms = inertial.check_terms(name, joint_terms)
        given = self._check_parameters(name, parameters, terms)
        return inertial.system_with(self._tables.system, self._tables.tree.every, given, terms)

    def unphysical(self, parameters: ArrayLike, joint_terms: Iterable[str] | str = ()) -> dict[str, str]:
        """What is wrong with the bodies of which no distribution of mass has these parameters; {} if all is well."""
        terms = inertial.check_terms("parameters.unphysical", joint_terms)
        return inertial.violations(
            self._tables.system, self._check_parameters("parameters.unphysical", parameters, terms)
        )

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, joint_terms: Iterable[str] | str = ()) -> np.ndarray:
        """Y(q, v, a), (..., nv, 10 bodies): inverse dynamics is Y π with π of `parameters.inertial`.

        joint_terms: columns for the armatures, dampings and dry frictions follow, as in `parameters.inertial`. Then Y π
        is what motors have to give: dampings count with v, dry friction with tanh(v / friction_speed).
        """
        terms = inertial.check_terms("parameters.regressor", joint_terms)
        arrays = self._tables.checked("parameters.regressor", q, v=v, a=a)
        where, offset = self._tables.places("parameters.regressor", None)
        every = {**arrays, "where": where, "offset": offset}
        (matrix,), batch = self._tables.run(
            "parameters.regressor", regressor, every, {"bodies": len(self._tables.bodies)}
        )
        matrix = matrix.reshape(*batch, self._tables.nv, TEN * len(self._tables.bodies))
        if not terms:
            return matrix
        speeds = np.concatenate([np.full(joint.nv, joint.friction_speed) for joint in self._tables.tree.every.joints])
        v, a, depends = arrays["v"], arrays["a"], self._tables.tree.dependence
        if depends is not None:
            v, a = depends.velocities(v), depends.velocities(a)
        with np.errstate(divide="ignore", invalid="ignore"):  # what sticks has its sign at any speed, and none at rest
            rubbing = np.where(v == 0.0, 0.0, np.tanh(v / speeds))
        felt = {"armature": a, "damping": v, "friction": rubbing}
        more = [
            np.broadcast_to(self._diagonal(term, felt[term]), (*batch, self._tables.nv, n))
            for term, n in self._counts(terms)
        ]
        return np.concatenate([matrix, *more], axis=-1)

    def _counts(self, terms: tuple[str, ...]) -> list[tuple[str, int]]:
        return [(term, len(inertial.columns_of(self._tables.tree.every, term))) for term in terms]

    def _diagonal(self, term: str, values: np.ndarray) -> np.ndarray:
        """Columns of joint terms: each is felt by its own velocity, and by those that this depends on."""
        where = inertial.columns_of(self._tables.tree.every, term)
        columns = np.zeros((*values.shape, len(where)))
        columns[..., where, np.arange(len(where))] = values[..., where]
        depends = self._tables.tree.dependence
        return columns if depends is None else depends.reduced(columns, -2)

    def energy_regressor(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """(..., 2, 10 bodies): kinetic and potential energy as linear functions of π; armatures do not count."""
        name = "parameters.energy_regressor"
        where, offset = self._tables.places(name, None)
        every = {
            "q": self._tables.check_q(name, q),
            "v": self._tables.check_v(name, "v", v),
            "where": where,
            "offset": offset,
        }
        (matrix,), batch = self._tables.run(name, energy_regressor, every, {"bodies": len(self._tables.bodies)})
        return matrix.reshape(*batch, 2, TEN * len(self._tables.bodies))

    # ------------------------------------------------------------ geometric parameters

    def places(self, places: Any = None) -> Places:
        """Places as tables, with the `parameters`' names; may be given wherever places are, to look them up once."""
        return self._at("parameters.places", places)

    def _at(self, function: str, places: Any) -> Places:
        return (
            places
            if isinstance(places, Places)
            else places_of(function, self._tables.system, self._tables.tree.every, places)
        )

    def with_geometry(self, delta: ArrayLike, places: Any = None) -> System:
        """The system with its places displaced by exp(δ), δ (6 places,): derivatives by geometry are those at 0."""
        chosen = self._at("parameters.with_geometry", places)
        screws = real_array("parameters.with_geometry", "delta", delta, (6 * len(chosen),))
        return displaced(self._tables.system, chosen, screws.reshape(-1, 6))

    def _geometry(
        self, function: str, q: ArrayLike, frames: Any, places: Any, representation: str, jacobian: bool
    ) -> np.ndarray:
        check_representation(function, representation)
        chosen, single = self._at(function, places), isinstance(frames, str)
        listed = [frames] if single else list(self._tables.bodies if frames is None else frames)
        links, offset = self._tables.places(function, listed)
        hanging = chosen.hanging(
            [self._tables.system.frame(name) for name in listed], carriers_of(self._tables.tree.every)
        )
        arrays = {
            "q": self._tables.check_q(function, q),
            "offset": offset,
            "places": chosen.poses.reshape(-1),
        }
        arrays["where"] = np.concatenate([[kinematics.REPRESENTATIONS.index(representation)], links])
        arrays["hanging"] = hanging.astype(np.int64).reshape(-1)
        arrays["placed"] = chosen.table.reshape(-1)
        pairs = len(listed) * len(chosen)
        sizes = {"pairs": 0 if jacobian else pairs, "entries": pairs * self._tables.nv if jacobian else 0}
        results, batch = self._tables.run(function, geometry, arrays, sizes)
        shape = (
            *batch,
            *(() if single else (len(listed),)),
            6,
            *((self._tables.nv,) if jacobian else ()),
            6 * len(chosen),
        )
        return results[jacobian].reshape(shape)

    def pose_derivatives(
        self,
        q: ArrayLike,
        frames: Iterable[str] | str | None = None,
        places: Any = None,
        *,
        representation: str = "body",
    ) -> np.ndarray:
        """How frames or bodies move with the geometry, (..., frames, 6, 6 places): the twist of each frame, in the
        representation, for a unit rate of each parameter. One name gives (..., 6, 6 places), None all bodies."""
        return self._geometry("parameters.pose_derivatives", q, frames, places, representation, False)

    def jacobian_derivatives(
        self, q: ArrayLike, frames: Iterable[str] | str, places: Any = None, *, representation: str = "body"
    ) -> np.ndarray:
        """Derivatives of `jacobian` with respect to the geometry, (..., frames, 6, nv, 6 places)."""
        return self._geometry("parameters.jacobian_derivatives", q, frames, places, representation, True)

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, places: Any = None) -> np.ndarray:
        """Derivatives of `inverse_dynamics` with respect to the geometry, (..., nv, 6 places)."""
        name = "parameters.inverse_dynamics_derivatives"
        arrays = self._tables.checked(name, q, v=v, a=a)
        chosen = self._at(name, places)
        arrays |= {"placed": chosen.table.reshape(-1), "places": chosen.poses.reshape(-1)}
        arrays["parts"] = chosen.parts.reshape(-1)
        (matrix,), batch = self._tables.run(name, inverse_dynamics_by_geometry, arrays, {"places": len(chosen)})
        return matrix.reshape(*batch, self._tables.nv, 6 * len(chosen))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, places: Any = None
    ) -> np.ndarray:
        """Derivatives of `forward_dynamics` with respect to the geometry, (..., nv, 6 places): -M⁻¹ dtau/dπ."""
        a = self._mechanism.forward_dynamics(q, v, tau)
        change = self.inverse_dynamics_derivatives(q, v, a, places)
        return -np.linalg.solve(self._mechanism.mass_matrix(q), change)

    # ------------------------------------------------------------ what data can tell

    def inertial_identifiability(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        joint_terms: Iterable[str] | str = (),
        *,
        seed: int = 0,
        tolerance: float = 1e-9,
    ) -> Identifiability:
        """Which combinations of inertial parameters the generalized forces of motions tell: the base parameters.

        q, v, a: the motions; none stands for random ones, which tell what any motion could. Parameters are grouped with
        those of bodies nearer to the ground.
        """
        names = self.inertial_names(joint_terms)
        if q is None and v is None and a is None:
            rng = np.random.default_rng(seed)
            count = 10 + 3 * len(names) // max(1, self._tables.nv)
            q = self._tables.configuration.random(rng, (count,))
            v, a = rng.normal(size=(2, count, self._tables.nv))
        if q is None or v is None or a is None:
            raise ValueError("inertial_identifiability: give q, v and a, or none of them for random motions")
        return identify(self.regressor(q, v, a, joint_terms), names, self.inertial_order(joint_terms), tolerance)

    def inertial_order(self, joint_terms: Iterable[str] | str = ()) -> list[int]:
        """The order in which inertial parameters stand for those that depend on them: from the ground outwards, masses
        last, so that they are grouped with other parameters, not these with them."""
        rank = {joint.child: k for k, joint in enumerate(self._tables.tree.every.joints)}
        bodies = sorted(range(len(self._tables.bodies)), key=lambda k: rank[self._tables.bodies[k]])
        order = [TEN * k + j for k in bodies for j in (*range(1, TEN), 0)]
        return [*order, *range(TEN * len(bodies), len(self.inertial_names(joint_terms)))]

    def geometric_identifiability(
        self,
        frames: Iterable[str] | str,
        q: ArrayLike | None = None,
        places: Any = None,
        *,
        measured: str = "pose",
        seed: int = 0,
        tolerance: float = 1e-9,
    ) -> Identifiability:
        """Which combinations of geometric parameters measured frames tell; q: where, none for random configurations.

        measured: "pose", "position" or "orientation" of the frames. Joints' frames on children are grouped with others.
        """
        name = "parameters.geometric_identifiability"
        if measured not in MEASURED:
            raise ValueError(f"{name}: measured is {measured!r}; expected one of {', '.join(MEASURED)}")
        chosen = self._at(name, places)
        if q is None:
            rows = MEASURED[measured].stop - MEASURED[measured].start
            q = self._tables.configuration.random(np.random.default_rng(seed), (10 + 18 * len(chosen) // rows,))
        derivative = self.pose_derivatives(q, frames, chosen)[..., MEASURED[measured], :]
        sides = [side for _, side in chosen.names]
        order = [
            6 * k + j
            for last in (False, True)
            for k in range(len(sides))
            if (sides[k] == "child") == last
            for j in range(6)
        ]
        return identify(derivative, chosen.parameters, order, tolerance)
