"""A system in absolute coordinates, ready to compute with: `system.compile("absolute", space=...)`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute import assembly, entry
from chasles.absolute.space import SE3_NAME, choose_spaces
from chasles.absolute.symbolic import Elimination, Support, eliminate
from chasles.absolute.tables import BODY, MASS, SE3, SO3XR3, pack
from chasles.constraint.joints import Tile, joint_tiles
from chasles.constraint.rows import MOTION, NUMBERS, ROWS, TILE
from chasles.constraint.special import CUSTOM, EXTRA, EXTRA_AT, ROOM, TURN, WITH_PARTNER
from chasles.constraint.tiles import TileBuilder
from chasles.force.build import force_tables
from chasles.force.table import MOVING, SCRATCH
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import matrix_to_quaternion, quaternion_to_matrix
from chasles.model.body import GROUND
from chasles.model.force import JointForce
from chasles.model.law import Law, PythonLaw
from chasles.model.system import System
from chasles.screw.representation import check_representation, convert_twist

CONDENSED = 3  # a body with more joint tiles stays in the matrix


class BodyAccelerations(NamedTuple):
    """Accelerations of bodies in their spaces' own velocities, (..., bodies, 6), and multipliers (..., tiles, 3)."""

    accelerations: np.ndarray
    multipliers: np.ndarray


class AbsoluteMechanism:
    """The poses of all bodies as coordinates, joints as constraints.

    A state has for each body the pose of its central frame (at the centre of mass, along principal axes), (bodies, 7),
    and its velocity: the body twist on SE(3), (ω in the body, r' in space) on SO(3)xR3. `state` and `poses` convert
    from and to the frames of the user's bodies.
    """

    def __init__(
        self,
        system: System,
        space: str | Mapping[str, str] = "auto",
        stabilized: bool = True,
        baumgarte: tuple[float, float] = (0.0, 0.0),
    ):
        self.system, self.baumgarte = system, baumgarte
        self.constraint_names = tuple(item.name for item in (*system.joints, *system.constraints))
        self.bodies = tuple(body.name for body in system.bodies)
        self._index = {name: i for i, name in enumerate(self.bodies)}
        for body in system.bodies:
            if not (body.mass > 0 and np.linalg.eigvalsh(np.array(body.inertia)).min() > 0):
                raise ValueError(
                    f"body {body.name!r} has mass {body.mass:g} and inertia {body.inertia}: in absolute coordinates "
                    "every body needs a mass and a positive inertia; weld it to another, or use joint coordinates"
                )
        _refuse_joint_forces(system)
        self.spaces, self._reasons = choose_spaces(system, space, stabilized)
        self.moments, self.central = _central_frames(system)
        self.tiles = self._make_tiles()
        self.elimination = self._eliminate()
        self.forces = force_tables(system, self._places())
        self.parameters = self._pack()
        nt, nm, nn = len(self.tiles), self.elimination.tiles, self.elimination.nodes
        rows_end = MOTION.size * self.n + ROWS.size * nt + self.angles_counted + ROOM.size + 1
        self._multipliers_at = rows_end + 18 * nm
        self.work = self._multipliers_at + 3 * nn + 12 * self.n

    @property
    def n(self) -> int:
        return len(self.bodies)

    def __repr__(self) -> str:
        rows = sum(tile.rows for tile in self.tiles)
        return f"<AbsoluteMechanism {self.system.name!r}: {self.n} bodies, {rows} constraint equations>"

    def explain_spaces(self) -> dict[str, str]:
        """For each body its space and why."""
        return {name: f"{self.spaces[name]}: {self._reasons[name]}" for name in self.bodies}

    # ------------------------------------------------------------ building

    def _central(self, body: str, frame: ArrayLike) -> np.ndarray:
        """A pose on a body's frame as seen from its central frame."""
        pose = np.array(frame, dtype=float)
        return pose if body == GROUND else pose_group.compose(pose_group.inverse(self.central[self._index[body]]), pose)

    def _places(self) -> dict[str, tuple[int, np.ndarray]]:
        places = {name: (i, self._central(name, pose_group.identity())) for i, name in enumerate(self.bodies)}
        return {**places, GROUND: (-1, pose_group.identity())}

    def _make_tiles(self) -> list[Tile]:
        tiles: list[Tile] = []
        for joint in self.system.joints:
            first, second = self._index.get(joint.parent, -1), self._index[joint.child]
            frames = self._central(joint.parent, joint.parent_frame), self._central(joint.child, joint.child_frame)
            # with feedback of the violation the acceleration does not stay in the subgroup
            special = first < 0 and self.spaces[joint.child] == SE3_NAME and not any(self.baumgarte)
            tiles += joint_tiles(joint, first, second, *frames, special)
        self._builder = TileBuilder(self.system, self._places())
        for constraint in self.system.constraints:
            tiles += self._builder.build(constraint)
        self.laws = tuple(self._builder.laws)
        self.counted = tuple(self._builder.counted)  # joint and coordinate of each angle that is counted over turns
        self.angles_counted = len(self.counted)
        return tiles

    def _eliminate(self) -> Elimination:
        incident: list[list[int]] = [[] for _ in range(self.n)]
        for t, tile in enumerate(self.tiles):
            for body in (tile.first, tile.second):
                if body >= 0:
                    incident[body].append(t)
        self._incident = incident
        # tiles of coupled coordinates share a node
        shares = [
            tile.numbers[EXTRA_AT + EXTRA.use] == WITH_PARTNER if tile.kind >= TURN else False for tile in self.tiles
        ]
        self._node = (np.cumsum(~np.array(shares, dtype=bool)) - 1).astype(int).tolist()
        # bodies with many tiles stay in the matrix; also those that meet a node twice, which one slot cannot hold
        self._hubs = [
            i
            for i, some in enumerate(incident)
            if len(some) > CONDENSED or len({self._node[t] for t in some}) < len(some)
        ]
        first_hub = self._node[-1] + 1 if self.tiles else 0
        node_of_hub = {body: first_hub + 2 * k for k, body in enumerate(self._hubs)}
        self._node_of_hub = node_of_hub
        couplings = []
        for i, some in enumerate(incident):
            nodes = [self._node[t] for t in some]
            if i in node_of_hub:
                couplings += [(t, node_of_hub[i] + k) for t in nodes for k in (0, 1)]
            else:
                couplings += [(a, b) for k, a in enumerate(nodes) for b in nodes[:k]]
        joint_of = [""] * first_hub
        bodies_of: dict[str, list[int]] = {}
        for t, tile in enumerate(self.tiles):
            joint_of[self._node[t]] = tile.joint
            # of a user's equations one cannot know whether they move one body alone: they wait for all
            moved = () if tile.kind == CUSTOM else (tile.second, tile.first)
            bodies_of.setdefault(tile.joint, []).extend(b for b in moved if b >= 0)
        support = Support(first_hub, joint_of, bodies_of, self._hubs)
        return eliminate(first_hub + 2 * len(self._hubs), couplings, support, first_hub)

    def _pack(self) -> np.ndarray:
        e, order = self.elimination, self.elimination.order
        bodies, masses = np.zeros((self.n, BODY.size), dtype=np.int64), np.zeros((self.n, MASS.size))
        incidences: list[tuple[int, int]] = []
        slots: list[tuple[int, int]] = []
        for i, body in enumerate(self.system.bodies):
            some = self._incident[i]
            bodies[i, BODY.space] = SE3 if self.spaces[body.name] == SE3_NAME else SO3XR3
            bodies[i, [BODY.first, BODY.count, BODY.slots]] = len(incidences), len(some), len(slots)
            held = [t for t in some if self.tiles[t].integers[TILE.subgroup] and self.tiles[t].second == i]
            bodies[i, BODY.held] = held[0] + 1 if held else 0
            masses[i] = body.mass, *self.moments[i], *(1 / self.moments[i])
            incidences += [(t, int(self.tiles[t].second == i)) for t in some]
            if i in self._node_of_hub:
                node = self._node_of_hub[i]
                bodies[i, [BODY.hub, BODY.angular, BODY.linear]] = 1, order[node], order[node + 1]
                slots += [e.slot(self._node[t], node + k) for t in some for k in (0, 1)]
            else:
                slots += [e.slot(self._node[a], self._node[b]) for k, a in enumerate(some) for b in some[: k + 1]]
        whole = {"column": e.column, "row": e.row, "first": e.first, "operations": e.operations}
        addresses = entry.addresses()
        return pack(
            {
                "bodies": bodies,
                "tiles": np.array([tile.integers for tile in self.tiles], dtype=np.int64),
                "nodes": order[self._node].astype(np.int64),
                "incidences": np.array(incidences, dtype=np.int64),
                "slots": np.array(slots, dtype=np.int64),
                **whole,
                "masses": masses,
                "constants": self._builder.numbers(self.tiles),
                "gravity": np.array((*map(float, np.array(self.system.gravity)), *self.baumgarte)),
                "table": self.forces.table,
                "values": self.forces.values,
            },
            {
                "n_bodies": self.n,
                "n_tiles": len(self.tiles),
                "n_nodes": e.nodes,
                "n_matrix": e.tiles,
                "n_angles": self.angles_counted,
                "accelerations": addresses[0],
                "project": addresses[1],
                "act": addresses[2],
            },
        )

    # ------------------------------------------------------------ states

    def state(self, poses: ArrayLike, twists: ArrayLike | None = None, representation: str = "body"):
        """Central poses (..., bodies, 7) and velocities (..., bodies, 6) from poses and twists of the users' frames."""
        check_representation("state", representation)
        given = real_array("state", "poses", poses, (self.n, 7))
        twist = (
            np.zeros((*given.shape[:-1], 6)) if twists is None else real_array("state", "twists", twists, (self.n, 6))
        )
        body = convert_twist(twist, given, representation, "body")
        central = pose_group.compose(given, self.central)
        velocity = pose_group.Ad_apply(pose_group.inverse(self.central), body)
        rotation = quaternion_to_matrix(central[..., :4])
        mixed = self._mixed
        velocity[..., mixed, 3:] = np.einsum("...ij,...j->...i", rotation, velocity[..., 3:])[..., mixed, :]
        return central, velocity

    @property
    def _mixed(self) -> np.ndarray:
        return np.array([self.spaces[name] != SE3_NAME for name in self.bodies], dtype=bool)

    def poses(self, central: ArrayLike) -> np.ndarray:
        """Poses of the users' body frames, (..., bodies, 7)."""
        return pose_group.compose(np.asarray(central, dtype=float), pose_group.inverse(self.central))

    def twists(self, central: ArrayLike, velocity: ArrayLike, representation: str = "body") -> np.ndarray:
        """Twists of the users' body frames, (..., bodies, 6)."""
        check_representation("twists", representation)
        q, body = np.asarray(central, dtype=float), np.array(velocity, dtype=float)
        rotation = quaternion_to_matrix(q[..., :4])
        back = np.einsum("...ji,...j->...i", rotation, body[..., 3:])
        body[..., self._mixed, 3:] = back[..., self._mixed, :]
        return convert_twist(pose_group.Ad_apply(self.central, body), self.poses(q), "body", representation)

    # ------------------------------------------------------------ computing

    def _rows(self, *arrays: np.ndarray) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Arrays (..., bodies, k) as contiguous rows."""
        batch = np.broadcast_shapes(*(array.shape[:-2] for array in arrays))
        count = math.prod(batch)
        # in the order of rows: np.array alone would keep the order in memory of what is broadcast
        rows = [np.array(np.broadcast_to(a, batch + a.shape[-2:]), order="C").reshape(count, -1) for a in arrays]
        return batch, rows

    def applied_forces(self, central: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0):
        """Wrenches of all forces but gravity (torque in the body, force in space, at the centre), power, energy."""
        batch, (q, v) = self._rows(np.asarray(central, dtype=float), np.asarray(velocity, dtype=float))
        times = np.array(np.broadcast_to(t, batch), dtype=float).reshape(-1)
        wrenches, results = np.empty((len(q), 6 * self.n)), np.empty((len(q), 2))
        work = np.empty(MOVING.size * (self.n + 1) + SCRATCH)
        entry.forces_on_states(entry.addresses()[2], times, self.parameters, q, v, wrenches, work, results)
        self._raise_of_laws(self.forces.laws)
        return wrenches.reshape(*batch, self.n, 6), results[:, 0].reshape(batch), results[:, 1].reshape(batch)

    def _raise_of_laws(self, laws: Iterable[Law]) -> None:
        for law in laws:
            if isinstance(law, PythonLaw) and law.error is not None:
                error, law.error = law.error, None
                raise error

    def angles(self, central: ArrayLike) -> np.ndarray:
        """Angles of coupled joints, (..., counted), in the turns that satisfy the couplings best.

        If both coordinates of a coupling are angles, the first is within half a turn of zero.
        """
        q = np.asarray(central, dtype=float)
        found = np.zeros((*q.shape[:-2], self.angles_counted))
        for before, tile in itertools.pairwise(self.tiles):
            if tile.kind < TURN or tile.numbers[EXTRA_AT + EXTRA.use] != WITH_PARTNER:
                continue
            first, second = self._coordinate(before, q), self._coordinate(tile, q)
            c1, c2, offset = before.numbers[NUMBERS.s], tile.numbers[NUMBERS.s], tile.numbers[NUMBERS.s + 1]
            if tile.kind == TURN:
                second = second + 2 * np.pi * np.round(((offset - c1 * first) / c2 - second) / (2 * np.pi))
            else:
                first = first + 2 * np.pi * np.round(((offset - c2 * second) / c1 - first) / (2 * np.pi))
            for one, value in ((before, first), (tile, second)):
                if one.kind == TURN:
                    found[..., int(one.numbers[EXTRA_AT + EXTRA.angle])] = value
        return found

    def _coordinate(self, tile: Tile, q: np.ndarray) -> np.ndarray:
        """Angle within half a turn, or distance, of a tile of a joint's coordinate."""
        rotations, positions = [], []
        for body in (tile.first, tile.second):
            pose = q[..., body, :] if body >= 0 else np.broadcast_to(pose_group.identity(), (*q.shape[:-2], 7))
            rotations.append(quaternion_to_matrix(pose[..., :4]))
            positions.append(pose[..., 4:])
        a, b = (tile.numbers[at : at + 3] for at in (NUMBERS.a, NUMBERS.b))
        axis, x, y = (rotations[0] @ tile.numbers[NUMBERS.u + 3 * k : NUMBERS.u + 3 * k + 3] for k in range(3))
        if tile.kind == TURN:
            mark = rotations[1] @ tile.numbers[NUMBERS.w : NUMBERS.w + 3]
            return np.arctan2(np.sum(y * mark, -1), np.sum(x * mark, -1))
        return np.sum(axis * (positions[1] + rotations[1] @ b - positions[0] - rotations[0] @ a), -1)

    def _clock(self, batch: tuple[int, ...], count: int, q: np.ndarray, t: ArrayLike, angles: ArrayLike | None):
        """Times and counted angles of the rows of a batch."""
        times = np.array(np.broadcast_to(t, batch), dtype=float).reshape(-1)
        if angles is None:
            return times, self.angles(q.reshape(count, self.n, 7))
        counted = np.broadcast_to(np.asarray(angles, dtype=float), (*batch, self.angles_counted))
        return times, np.array(counted, order="C").reshape(count, self.angles_counted)

    def accelerations(
        self, central: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> BodyAccelerations:
        """Accelerations and multipliers of states under gravity and the system's forces."""
        wrenches = self.applied_forces(central, velocity, t)[0]
        batch, (q, v, w) = self._rows(np.asarray(central, dtype=float), np.asarray(velocity, dtype=float), wrenches)
        times, counted = self._clock(batch, len(q), q, t, angles)
        a, multipliers = (
            np.empty((len(q), 6 * self.n + self.angles_counted)),
            np.empty((len(q), 3 * self.elimination.nodes)),
        )
        work, whole = np.empty(self.work), self.parameters.view(np.int64)
        entry.accelerations_of_states(
            entry.addresses()[0], whole, self.parameters, times, counted, q, v, w, work, a, multipliers,
            self._multipliers_at,
        )  # fmt: skip
        self._raise_of_laws(self.laws)
        if not np.isfinite(a).all():
            raise ArithmeticError(self._singular())
        found = multipliers.reshape(len(q), -1, 3)[:, self.elimination.order[self._node]]
        return BodyAccelerations(
            a[:, : 6 * self.n].reshape(*batch, self.n, 6), found.reshape(*batch, len(self.tiles), 3)
        )

    def _singular(self) -> str:
        return "the equations are singular: constraints that depend on each other, or contradict each other"

    def residuals(
        self, central: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Violation of each joint's and constraint's position and velocity equations, largest row, (..., joints and
        constraints), in the order of `constraint_names`."""
        out = []
        for rows in self.rows(central, velocity, t, angles):
            largest = np.abs(rows).max(axis=-1)
            each = np.zeros((*largest.shape[:-1], len(self.constraint_names)))
            for k, name in enumerate(self.constraint_names):
                own = self._tiles_of.get(name)
                if own:
                    each[..., k] = largest[..., own].max(axis=-1)
            out.append(each)
        return out[0], out[1]

    def rows(
        self, central: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Residuals g and g' of every tile, (..., tiles, 3) each."""
        batch, (q, v) = self._rows(np.asarray(central, dtype=float), np.asarray(velocity, dtype=float))
        times, counted = self._clock(batch, len(q), q, t, angles)
        shape = (*batch, len(self.tiles), 3)
        found, rates = np.empty((len(q), 3 * len(self.tiles))), np.empty((len(q), 3 * len(self.tiles)))
        whole, work = self.parameters.view(np.int64), np.empty(self.work)
        entry.rows_of_states(whole, self.parameters, times, counted, q, v, work, found, rates)
        self._raise_of_laws(self.laws)
        return found.reshape(shape), rates.reshape(shape)

    def jacobians(
        self, central: ArrayLike, velocity: ArrayLike | None = None, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> np.ndarray:
        """J of every tile and side, (..., tiles, 2, 3, 6): columns are ω in the body and r' of the centre in space."""
        given = np.asarray(central, dtype=float)
        speeds = np.zeros((*given.shape[:-1], 6)) if velocity is None else np.asarray(velocity, dtype=float)
        batch, (q, v) = self._rows(given, speeds)
        times, counted = self._clock(batch, len(q), q, t, angles)
        out = np.empty((len(q), len(self.tiles), 2, 2, 3, 3))
        whole, work = self.parameters.view(np.int64), np.empty(self.work)
        entry.jacobians_of_states(whole, self.parameters, times, counted, q, v, work, out.reshape(len(q), -1))
        self._raise_of_laws(self.laws)
        both = np.concatenate([out[:, :, :, 0], out[:, :, :, 1]], axis=-1)
        return both.reshape(*batch, len(self.tiles), 2, 3, 6)

    @cached_property
    def _tiles_of(self) -> dict[str, list[int]]:
        """The tiles of each joint and constraint."""
        found: dict[str, list[int]] = {}
        for t, tile in enumerate(self.tiles):
            found.setdefault(tile.joint, []).append(t)
        return found

    def project(
        self, central: ArrayLike, velocity: ArrayLike, t: float = 0.0, angles: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The nearest state (in the metric of the masses) on the constraints, and a report (`entry.project`)."""
        q, v = np.array(central, dtype=float).reshape(-1), np.array(velocity, dtype=float).reshape(-1)
        report = np.zeros(4)
        if self.tiles:
            counted = (
                self.angles(q.reshape(self.n, 7)) if angles is None else np.asarray(angles, dtype=float)
            ).reshape(-1)
            whole, work = self.parameters.view(np.int64), np.empty(self.work)
            entry.project_state(entry.addresses()[1], whole, self.parameters, float(t), counted, q, v, work, report)
            self._raise_of_laws(self.laws)
        return q.reshape(self.n, 7), v.reshape(self.n, 6), report

    def assemble(self, poses: ArrayLike, t: float = 0.0) -> np.ndarray:
        """Poses of the bodies' frames (bodies, 7) that satisfy all constraints, near rough ones; AssemblyError if none.

        The steps are the shortest in the metric of the masses and are damped; quaternions need not be quite unit.
        """
        return assembly.assemble(self, poses, t)

    def consistent_velocities(self, poses: ArrayLike, twists: ArrayLike, t: float = 0.0) -> np.ndarray:
        """The body twists (bodies, 6) that satisfy all constraints at these poses, nearest in the kinetic energy of the
        difference; AssemblyError if there are none."""
        return assembly.consistent_velocities(self, poses, twists, t)

    def check_independent(self, poses: ArrayLike, t: float = 0.0) -> None:
        """RedundantConstraintsError, with the joints involved, if constraints depend on each other at these poses."""
        assembly.check_independent(self, self.state(poses)[0], t)

    def reactions(
        self, joint: str, central: ArrayLike, velocity: ArrayLike, t: ArrayLike = 0.0, angles: ArrayLike | None = None
    ) -> np.ndarray:
        """The wrench (torque [N m], force [N]), (..., 6), that a joint or constraint exerts on its child body.

        The child gets this wrench, the parent its opposite. It is given in the joint's frame on the child: its axes,
        torque about its origin. For a constraint the child is its second body and the frame that body's own; if the
        second body is the ground, the axes and origin of space. It is -Jᵀλ of source 000 eq. (2).
        """
        q, v = np.asarray(central, dtype=float), np.asarray(velocity, dtype=float)
        return assembly.reactions(self, joint, q, v, t, angles)


def _central_frames(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments (bodies, 3) and poses (bodies, 7) of the central frames on the bodies' own."""
    moments, frames = np.empty((len(system.bodies), 3)), np.empty((len(system.bodies), 7))
    for i, body in enumerate(system.bodies):
        inertia, frames[i] = np.array(body.inertia), np.array([1.0, 0.0, 0.0, 0.0, *np.asarray(body.com)])
        if np.count_nonzero(inertia - np.diag(np.diagonal(inertia))):
            moments[i], axes = np.linalg.eigh(inertia)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            frames[i, :4] = matrix_to_quaternion(axes)
        else:  # the axes that the user gave are principal ones
            moments[i] = np.diagonal(inertia)
    return moments, frames


def _refuse_joint_forces(system: System) -> None:
    """What acts along joint coordinates is not there yet in absolute coordinates."""
    for force in system.forces:
        if isinstance(force, JointForce):
            raise ValueError(
                f"joint force {force.name!r}: joint forces need joint coordinates (coordinates='relative')"
            )
    if system.actuators:
        raise ValueError(f"actuator {system.actuators[0].name!r}: actuators need joint coordinates")
    for joint in system.joints:
        stops = joint.stop_stiffness > 0 and np.isfinite([*joint.lower, *joint.upper]).any()
        own: Any = (*joint.damping, *joint.stiffness, *joint.friction, *joint.armature)
        if any(own) or stops:
            raise ValueError(
                f"joint {joint.name!r} has springs, damping, friction, stops or an armature: these need joint "
                "coordinates (coordinates='relative'); between bodies use springs with dampers"
            )
