"""A tree as tables for kernels: arguments are checked, algorithms are run on them; what groups of methods share."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.force.build import Acting
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.system import System
from chasles.relative import acting, forward, jacobian, kinematics, momentum
from chasles.relative.algorithm import Algorithm, OneState
from chasles.relative.configuration import Configuration
from chasles.relative.derivative.factor import subtree_ends
from chasles.relative.direct_calls import UNIT_TOLERANCE, DirectCalls
from chasles.relative.tables import CONSTANT, FREE, GRAVITY, HEAD, LINK, SPHERICAL, link_table
from chasles.relative.tree import Tree, build
from chasles.screw.representation import check_representation

if TYPE_CHECKING:
    from chasles.relative.lifted import Lifted

KNOWN_PLACES = 64  # sets of frames whose places are kept
NO_NUMBERS = np.empty(0)
FLOAT = np.dtype(float)
CAN_SPIN = (
    "none about the line through its center of mass, as a point mass or a thin rod, and the joint lets it spin about "
    "that line; a little will do, inertia=(1e-6, 1e-6, 1e-6), or take a universal joint, which does not let it"
)


def ready(value: ArrayLike, size: int) -> TypeGuard[np.ndarray]:
    """Whether kernels can read an argument as it is, one state with finite numbers; checking it costs a microsecond."""
    return (
        type(value) is np.ndarray
        and value.shape == (size,)
        and value.dtype is FLOAT
        and value.flags.carray
        and math.isfinite(sum(value.tolist()))  # if only the sum overflows, the thorough check decides
    )


class TreeTables:
    """`Mechanism.tables`: for code that computes with kernels; users need none of it."""

    def __init__(self, system: System, threads: int = 1, sprung: bool = False):
        self.system, self.tree, self.threads, self.sprung = system, build(system), threads, sprung
        self.topology, self.numbers = self.tree.topology, self.tree.numbers
        independent = self.tree.independent
        self.nq, self.nv = int(independent[HEAD.coordinates]), int(independent[HEAD.velocities])
        self.links = int(self.topology[HEAD.links])
        # of all joints, also of those that follow others
        self.sizes = {"nq": int(self.topology[HEAD.coordinates]), "nv": int(self.topology[HEAD.velocities])}
        self.sizes |= {"links": self.links, "slots": self.links + 1}
        self.bodies = tuple(body.name for body in system.bodies)
        table = link_table(independent)
        kinds = table[:, LINK.kind]
        # where the unit quaternions of q begin, and what they belong to
        self.quaternions = table[(kinds == SPHERICAL) | (kinds == FREE), LINK.coordinate]
        self.configuration = Configuration(independent)
        whole = self.tree.dependence is None
        self.direct = DirectCalls(self.topology, self.numbers, self.sizes, self.quaternions, possible=whole)
        self._one_state: dict[tuple[Any, ...], OneState] = {}
        self._known_places: dict[tuple[str, ...] | None, tuple[np.ndarray, np.ndarray]] = {}

    def with_numbers(self, system: System, tree: Tree, same_forces: bool) -> TreeTables:
        """Those of a system that differs in numbers alone."""
        found = object.__new__(type(self))
        kept = ("threads", "sprung", "topology", "nq", "nv", "links", "sizes", "bodies", "quaternions", "configuration")
        found.__dict__.update({name: vars(self)[name] for name in kept})
        found.system, found.tree, found.numbers, found._one_state = system, tree, tree.numbers, {}
        found._known_places = self._known_places
        whole = tree.dependence is None
        found.direct = DirectCalls(found.topology, tree.numbers, found.sizes, found.quaternions, possible=whole)
        if same_forces:
            found.__dict__["acting"] = self.acting
        return found

    @cached_property
    def acting(self) -> Acting:
        """The system's forces as tables, on all joints."""
        return acting.tables(self.system, self.tree.every, own=self.sprung)

    lifted: Lifted | None = None  # the algorithms, if joints follow others

    @property
    def all_numbers(self) -> np.ndarray:
        """The numbers of the tree, and of how joints follow others."""
        depends = self.tree.dependence
        return self.numbers if depends is None else np.concatenate([self.numbers, depends.numbers])

    @cached_property
    def subtree_ends(self) -> np.ndarray:
        """For each velocity, the end of the velocities of all that it carries."""
        return subtree_ends(self.topology)

    def check_q(self, function: str, q: ArrayLike) -> np.ndarray:
        """Coordinates, finite and on their groups. Read only: it may be the caller's array."""
        array = q if ready(q, self.nq) else real_array(function, "q", q, (self.nq,))
        if len(self.quaternions) and not (array.ndim == 1 and self._are_unit(array)):
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

    def _are_unit(self, q: np.ndarray) -> bool:
        """Whether the quaternions of one state are; in Python, which is quicker for few numbers."""
        values = q.tolist()
        return all(
            abs(sum(x * x for x in values[k : k + 4]) - 1.0) <= 2 * UNIT_TOLERANCE for k in self.quaternions.tolist()
        )

    def check_v(self, function: str, name: str, value: ArrayLike) -> np.ndarray:
        """Velocities, accelerations or generalized forces, finite. Read only: it may be the caller's array."""
        return value if ready(value, self.nv) else real_array(function, name, value, (self.nv,))

    def checked(self, function: str, q: ArrayLike, **more: ArrayLike) -> dict[str, np.ndarray]:
        """Coordinates, and velocities and the like by their names."""
        found = {"q": self.check_q(function, q)}
        for key, value in more.items():
            found[key] = self.check_v(function, key, value)
        return found

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

    def joint_of_any(self, velocity: int) -> str:
        """The joint that one of all velocities belongs to, also of those that follow others."""
        return next(name for name, part in self.tree.every.velocities.items() if part.start <= velocity < part.stop)

    @cached_property
    def without_gravity(self) -> TreeTables:
        """The same tables where nothing has weight."""
        tables = copy.copy(self)
        tables.numbers = self.numbers.copy()
        tables.numbers[GRAVITY.vector : GRAVITY.vector + 3] = 0.0
        return tables

    def run(
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

    def places(self, function: str, frames: Iterable[str] | str | None) -> tuple[np.ndarray, np.ndarray]:
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

    def wrenches(self, function: str, wrenches: ArrayLike | None) -> np.ndarray:
        """Wrenches on bodies, in their frames, as sums on the links in theirs."""
        if wrenches is None:
            return NO_NUMBERS
        given = real_array(function, "wrenches", wrenches, (len(self.bodies), 6))
        on_links = np.zeros((*given.shape[:-2], self.links, 6))
        back = pose_group.inverse(self.tree.body_in_link)
        moved = pose_group.AdT_apply(back, given)
        moving = self.tree.link_of_body >= 0
        np.add.at(
            np.moveaxis(on_links, -2, 0), self.tree.link_of_body[moving], np.moveaxis(moved[..., moving, :], -2, 0)
        )
        return on_links.reshape(*given.shape[:-2], 6 * self.links)

    def why_not_finite(self, function: str, a: np.ndarray, batch: tuple[int, ...], arrays: dict[str, Any]) -> str:
        """What to say of accelerations (count, nv) that are not finite: the joint whose inertia is singular."""
        state, column = np.argwhere(~np.isfinite(a))[0]
        index = np.unravel_index(state, batch) if batch else ()
        where = f", state [{', '.join(map(str, index))}]" if batch else ""
        if self.tree.dependence is not None:
            named = self.joint_of_velocity(int(column))
            return (
                f"{function}{where}: the acceleration of joint {named!r} is not finite; do it and the joints that "
                "follow it move anything that has inertia?"
            )
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

    # ------------------------------------------------------------ what several groups compute

    def on_frames(
        self, function: str, frames: Iterable[str] | str | None, representation: str, orders: int
    ) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """For kernels that look at frames: representation, orders and links; places on the links; shape of results."""
        check_representation(function, representation)
        links, offset = self.places(function, [frames] if isinstance(frames, str) else frames)
        where = np.concatenate([[kinematics.REPRESENTATIONS.index(representation), orders], links])
        return where, offset, () if isinstance(frames, str) else (len(links),)

    def jacobians(self, function: str, frames: Any, representation: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Jacobians of frames or, with v, their time derivatives."""
        check_representation(function, representation)
        single = isinstance(frames, str)
        links, offset = self.places(function, [frames] if single else frames)
        where = np.concatenate([[kinematics.REPRESENTATIONS.index(representation)], links])
        rates = "v" in arrays
        every = {"q": arrays["q"], "v": arrays.get("v", NO_NUMBERS), "where": where, "offset": offset}
        columns = len(links) * self.nv
        sizes = {"columns": 0 if rates else columns, "rates": columns if rates else 0}
        results, batch = self.run(function, jacobian.jacobians, every, sizes)
        if not rates and not batch:
            shape = (6, self.nv) if single else (len(links), 6, self.nv)
            fixed = {"where": where, "offset": offset}
            given: Any = jacobian.jacobians, ("q",), "matrix", shape
            key = frames if representation == "body" else (None, frames, representation)  # None: not a tuple of frames
            self.direct.again(function, *given, key=key, fixed=fixed, sizes=sizes)
        return results[rates].reshape(*batch, *(() if single else (len(links),)), 6, self.nv)

    def totals(self, function: str, q: ArrayLike, v: ArrayLike | None) -> list[np.ndarray]:
        """Energies, momenta, and position and velocity of the center of mass."""
        arrays = {"q": self.check_q(function, q), "v": NO_NUMBERS if v is None else self.check_v(function, "v", v)}
        results, batch = self.run(function, momentum.totals, arrays)
        return [result.reshape(*batch, result.shape[-1]) for result in results]

    def check_mass(self, function: str) -> None:
        if not self.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)[:, CONSTANT.mass].any():
            raise ValueError(f"{function}: nothing of {self.system.name!r} that moves has a mass: there is no center")


class FollowingTables(TreeTables):
    """The same of a tree some of whose joints follow others: arrays are those of the independent coordinates."""

    @cached_property
    def lifted(self) -> Lifted:  # type: ignore[override]
        """The algorithms, brought to the independent coordinates."""
        from chasles.relative.lifted import Lifted  # all algorithms: for those who need them

        assert self.tree.dependence is not None
        return Lifted(self, self.tree.dependence)

    def run(
        self, function: str, algorithm: Algorithm, arrays: dict[str, np.ndarray], sizes: dict[str, int] | None = None
    ) -> tuple[list[np.ndarray], tuple[int, ...]]:
        return self.lifted.run(function, algorithm, arrays, sizes or {})

    def run_on_all(
        self, function: str, algorithm: Algorithm, arrays: dict[str, np.ndarray], sizes: dict[str, int]
    ) -> tuple[list[np.ndarray], tuple[int, ...]]:
        """An algorithm on the coordinates of all joints."""
        return super().run(function, algorithm, arrays, sizes)


def tables_of(system: System, threads: int = 1, sprung: bool = False) -> TreeTables:
    """The tables of a system."""
    follows = any(joint.mimic is not None for joint in system.joints)
    return (FollowingTables if follows else TreeTables)(system, threads, sprung)
