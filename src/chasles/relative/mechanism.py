"""A tree in joint coordinates, ready to compute with: `Mechanism(system)`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.system import System
from chasles.relative import forward, inverse, kinematics, mass
from chasles.relative.algorithm import Algorithm
from chasles.relative.tables import FREE, HEAD, LINK, SPHERICAL
from chasles.relative.tree import build
from chasles.screw.representation import check_representation

UNIT_TOLERANCE = 1e-8  # how far a quaternion in q may be from unit length
EMPTY = np.empty(0)


class Mechanism:
    """A tree of bodies in joint coordinates q and velocities v.

    Arrays have any leading axes (a batch); four states or more run on SIMD lanes, and in parallel on `threads`.
    q holds the coordinates of the joints one after the other in the order of `joints` (depth first), a quaternion
    (w, x, y, z) for a spherical joint and a pose for a free one; v their velocities, which for these two are the
    angular velocity and the twist in the child's joint frame. Derivatives with respect to q are taken along q exp(δ).
    """

    def __init__(self, system: System, threads: int = 1):
        self.system, self.tree, self.threads = system, build(system), threads
        self.topology, self.numbers = self.tree.topology, self.tree.numbers
        self.nq, self.nv = int(self.topology[HEAD.coordinates]), int(self.topology[HEAD.velocities])
        self.links = int(self.topology[HEAD.links])
        self.joints = tuple(joint.name for joint in self.tree.joints if joint.nv)
        self.bodies = tuple(body.name for body in system.bodies)
        table = self.topology[HEAD.size :].reshape(-1, LINK.size)
        kinds = table[:, LINK.kind]
        # where the unit quaternions of q begin, and what they belong to
        self._quaternions = table[(kinds == SPHERICAL) | (kinds == FREE), LINK.coordinate]
        self._free = table[kinds == FREE]
        self._spherical = table[kinds == SPHERICAL]

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.system.name!r}: {len(self.bodies)} bodies, {self.nq} coordinates, {self.nv} velocities>"
        )

    # ------------------------------------------------------------ running algorithms

    def _q(self, function: str, q: ArrayLike) -> np.ndarray:
        """Coordinates, finite and on their groups."""
        array = real_array(function, "q", q, (self.nq,))
        if len(self._quaternions):
            squares = sum(array[..., self._quaternions + k] ** 2 for k in range(4))
            off = np.abs(squares - 1.0)
            if np.any(off > 2 * UNIT_TOLERANCE):
                *batch, k = np.unravel_index(np.argmax(off), off.shape)
                joint = self.joint_at(int(self._quaternions[k]))
                where = f"[{', '.join(map(str, batch))}]" if batch else ""
                raise ValueError(
                    f"{function}: q{where}: the quaternion of joint {joint!r} has length "
                    f"{math.sqrt(squares.flat[np.argmax(off)]):.9g}; expected 1 (order w, x, y, z)"
                )
        return array

    def _v(self, function: str, name: str, value: ArrayLike) -> np.ndarray:
        return real_array(function, name, value, (self.nv,))

    def joint_at(self, coordinate: int) -> str:
        """The joint that a coordinate of q belongs to."""
        return next(name for name, part in self.tree.coordinates.items() if part.start <= coordinate < part.stop)

    def _run(
        self, function: str, algorithm: Algorithm, arrays: dict[str, np.ndarray], sizes: dict[str, int] | None = None
    ) -> tuple[list[np.ndarray], tuple[int, ...]]:
        """Results of an algorithm, each (count, size), and the leading shape."""
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
                if array.shape[:-1] != batch:  # a copy: a view would be read-only, another type to the compiler
                    array = np.array(np.broadcast_to(array, batch + array.shape[-1:]))
                flat[name] = np.ascontiguousarray(array).reshape(-1)
        every = {**self._sizes(), **(sizes or {})}
        count = math.prod(batch)
        return algorithm.run(self.topology, self.numbers, every, count, flat, self.threads), batch

    def _sizes(self) -> dict[str, int]:
        return {"nq": self.nq, "nv": self.nv, "links": self.links, "slots": self.links + 1}

    # ------------------------------------------------------------ kinematics

    def _places(self, function: str, frames: Iterable[str] | str | None) -> tuple[np.ndarray, np.ndarray]:
        """Links of frames, and the frames' poses on them (12 numbers each). Default: all bodies."""
        if frames is None:
            links, poses = self.tree.link_of_body, self.tree.body_in_link
        else:
            index = {name: k for k, name in enumerate(self.bodies)}
            links, poses = np.empty(len(frames := list(frames)), dtype=np.int64), np.empty((len(frames), 7))
            for k, name in enumerate(frames):
                frame = self.system.frame(name)
                body = index.get(frame.body)
                links[k] = -1 if body is None else self.tree.link_of_body[body]
                on_body = np.array(frame.pose)
                poses[k] = on_body if body is None else pose_group.compose(self.tree.body_in_link[body], on_body)
        matrices = quaternion_to_matrix(poses[:, :4]).reshape(-1, 9)
        return links, np.concatenate([matrices, poses[:, 4:]], axis=1).reshape(-1)

    def _motion(self, function: str, frames, representation: str, arrays: dict[str, np.ndarray]):
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
        return self._motion("poses", frames, "body", {"q": self._q("poses", q)})[0]

    def twists(
        self, q: ArrayLike, v: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """Twists of frames or bodies in a representation, (..., frames, 6) [rad/s, m/s]."""
        arrays = {"q": self._q("twists", q), "v": self._v("twists", "v", v)}
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
        arrays = {"q": self._q("accelerations", q), "v": self._v("accelerations", "v", v)}
        arrays["a"] = self._v("accelerations", "a", a)
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
        np.add.at(on_links, (..., self.tree.link_of_body[moving], slice(None)), moved[..., moving, :])
        return on_links.reshape(*given.shape[:-2], 6 * self.links)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: ArrayLike | None = None
    ) -> np.ndarray:
        """Generalised forces of a motion, M a + C v + g - Σ Jᵀ W, (..., nv) [N m or N].

        wrenches: applied to the bodies, (..., bodies, 6), each in its body's frame at its origin. Armatures count; the
        joints' own springs, dampers and friction and the forces of the system do not: they are part of the result.
        """
        name = "inverse_dynamics"
        arrays = {"q": self._q(name, q), "v": self._v(name, "v", v), "a": self._v(name, "a", a)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        (tau,), batch = self._run(name, inverse.inverse_dynamics, arrays)
        return tau.reshape(*batch, self.nv)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None
    ) -> np.ndarray:
        """Accelerations (..., nv) under generalised forces and wrenches as in `inverse_dynamics`."""
        name = "forward_dynamics"
        arrays = {"q": self._q(name, q), "v": self._v(name, "v", v), "tau": self._v(name, "tau", tau)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        (a,), batch = self._run(name, forward.forward_dynamics, arrays)
        if not np.isfinite(a).all():
            raise ValueError(self._why_not_finite(name, a, batch, arrays))
        return a.reshape(*batch, self.nv)

    def _why_not_finite(self, function: str, a: np.ndarray, batch: tuple[int, ...], arrays: dict) -> str:
        """What to say of accelerations (count, nv) that are not finite: the joint whose inertia is singular."""
        state, column = np.argwhere(~np.isfinite(a))[0]
        index = np.unravel_index(state, batch) if batch else ()
        where = f", state [{', '.join(map(str, index))}]" if batch else ""
        rows = {n: np.broadcast_to(x, (*batch, x.shape[-1]))[index].copy() if x.size else x for n, x in arrays.items()}
        found = forward.singular_links(self.topology, self.numbers, self._sizes(), **rows)
        if (link := next(found, None)) is not None:
            joint = next(joint for joint in self.tree.joints if joint.name == self.tree.joint_of_link[link])
            or_rotor = ", or the joint an armature" if joint.screws else ""
            return (
                f"{function}{where}: the inertia that joint {joint.name!r} moves is singular, so its acceleration is "
                f"not determined; give body {joint.child!r} inertia about the joint{or_rotor}"
            )
        named = next(name for name, part in self.tree.velocities.items() if part.start <= column < part.stop)
        return f"{function}{where}: the acceleration of joint {named!r} is not finite: {a[state, column]}"

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """M(q), (..., nv, nv)."""
        (matrix,), batch = self._run("mass_matrix", mass.mass_matrix, {"q": self._q("mass_matrix", q)})
        return matrix.reshape(*batch, self.nv, self.nv)
