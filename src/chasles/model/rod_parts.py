"""What rods and reduced bodies put into a system: bodies for their nodes, elements between these, and joints and frames
that place them.

All of them follow from these, and are made anew whenever a system is: `OfRod` marks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND, Body, Frame
from chasles.model.force import BetweenBodies, JointForce, Wrench
from chasles.model.joint import Joint
from chasles.model.placement import ORIGIN
from chasles.model.reduced import MOVES, ReducedBody
from chasles.model.rod import FREE_END, STRAINS, Rod
from chasles.model.rod_intrinsic import IntrinsicStrain, intrinsic_strains
from chasles.model.rod_joints import elastic_joints, intrinsic_forces
from chasles.model.rod_modes import modal_forces, modal_joints
from chasles.model.suggestion import meant
from chasles.screw import inertia as spatial


class OfRod:
    """Follows from a rod or reduced body of the system; model files have this in its place."""


class PlacedRods(tuple[Rod, ...]):
    """Rods of a system whose parts are in it already: these stay as they are. For systems that follow from others, as
    the tree of one with loops."""

    __slots__ = ()


class RodNode(OfRod, Body):
    """A node of a rod."""


class RodLink(OfRod, Body):
    """What is between two joints of one element or shape: it has no mass."""


class MassPoint(OfRod, Body):
    """A point of a reduced body, which moves with its shapes."""


@dataclass(frozen=True)
class Carrier(OfRod, Body):
    """A body with ends of rods welded to it; `bare`: without their masses."""

    bare: Any = None


class NodeJoint(OfRod, Joint):
    """Where a node of a rod is without stress, and how it is displaced from there."""


class NodeFrame(OfRod, Frame):
    """The welded end of a rod."""


@dataclass(frozen=True)
class RodElement(OfRod, BetweenBodies):
    """An element of a rod between frames on two bodies: numbers of `RodMesh`. value: the law of its intrinsic strain in
    the middle, with its program as parameters; `intrinsic` has all of it."""

    name: str
    bodies: tuple[str, str]
    frames: Any
    rest: Any
    flexibility: Any
    compliance: Any
    damping: Any
    bend: float
    rod: str
    index: int
    length: float
    intrinsic: IntrinsicStrain | None = None
    value: Any = None
    parameters: Any = ()

    @property
    def points(self) -> tuple[Any, Any]:
        """Origins of the frames, in the bodies' frames [m]."""
        return tuple(self.frames[0][4:]), tuple(self.frames[1][4:])


@dataclass(frozen=True)
class NodeLoad(OfRod, Wrench):
    """What a node has of a load along its rod; frame: of a welded end, on the body that carries it."""

    frame: Any = ORIGIN


class IntrinsicForce(OfRod, JointForce):
    """What an elastic joint of a rod is pushed with because its reference is strained."""


class Parts:
    """The parts of a system: those that were given, and those of its rods."""

    def __init__(
        self,
        rods: Sequence[Rod],
        bodies: Sequence[Body],
        joints: Sequence[Joint],
        frames: Sequence[Frame],
        forces: Sequence[Any],
        reduced: Sequence[ReducedBody] = (),
    ):
        self.bodies = {body.name: body.bare if isinstance(body, Carrier) else body for body in own_parts(bodies)}
        self.doubled = len(self.bodies) < len(own_parts(bodies))  # an error that the system tells of
        self.given = own_parts(bodies)
        self.joints, self.frames, self.forces = (
            list(own_parts(joints)),
            list(own_parts(frames)),
            list(own_parts(forces)),
        )
        self.held = {joint.child: joint for joint in reversed(self.joints)}
        self._places: dict[str, np.ndarray] = {GROUND: np.array(ORIGIN)}
        self._added: dict[str, list[np.ndarray]] = {}
        self._rods = rods
        for rod in rods:
            self._add(rod)
        for elastic in reduced:
            self._add_reduced(elastic)
        for name, more in self._added.items():
            self.bodies[name] = _carrier(self.bodies[name], more)

    def all(self) -> dict[str, tuple[Any, ...]]:
        """Bodies, joints, frames and forces."""
        bodies = self.given if self.doubled else tuple(self.bodies.values())
        others = {"joints": self.joints, "frames": self.frames, "forces": self.forces}
        return {"bodies": bodies, **{name: tuple(items) for name, items in others.items()}}

    def _add(self, rod: Rod) -> None:
        mesh, where = rod.mesh, f"rod {rod.name!r}"
        for end in rod.ends:
            if end not in (FREE_END, GROUND) and end not in self.bodies:
                known = [*self.bodies, GROUND, FREE_END]
                listed = ", ".join(known[-6:])
                if later := next((repr(one.name) for one in self._rods if end in one.nodes), ""):
                    raise ValueError(f"{where}: ends names {end!r}, of rod {later}, which comes later; list that first")
                raise ValueError(
                    f"{where}: ends names {end!r}, which is not a body; {meant(end, known)}expected {listed}"
                )
        bodies = {name: k for k, name in enumerate(rod.nodes) if name in rod.bodies}
        for name, k in bodies.items():
            if name in self.bodies:
                raise ValueError(f"{where}: its node {name!r} has the name of a body; rename one of them")
            center, mass = (mesh.offset[k], 0.0, 0.0), float(mesh.mass[k])
            self.bodies[name] = RodNode(name, mass, center, mesh.moments[k] if mass > 0.0 else (0.0,) * 3)
        free = rod.ends[0] == FREE_END
        base = rod.nodes[0] if free else rod.ends[0]
        begin = pose_group.inverse(mesh.poses[0]) if free else pose_group.identity()
        back = self._hangs_on_its_second_end(rod)
        for name, k in bodies.items():
            if name not in self.held and ((name == base and not back) or not rod.strains):
                parent = GROUND if name == base else base
                at = mesh.poses[k] if name == base else pose_group.compose(begin, mesh.poses[k])
                self.held[name] = NodeJoint(name, parent, name, "free", parent_frame=at)
                self.joints.append(self.held[name])
        ends = self._ends(rod, GROUND if back else base, pose_group.identity() if back else begin)
        places = [ends.get(k, (name, ORIGIN)) for k, name in enumerate(rod.nodes)]
        self._loads(rod, places)
        for k, (first, second) in enumerate(pairwise(places)):
            if first[0] == second[0]:
                raise ValueError(f"{where}: both ends of element {k} are on {first[0]!r}; expected two elements")
        if rod.strains:
            self._joints(rod, places, back)
        else:
            self._elements(rod, places)
        for k, (body, frame) in ends.items():
            if body not in bodies:
                self.frames.append(NodeFrame(rod.nodes[k], body, frame))
                if body != GROUND:
                    self._added.setdefault(body, []).append(end_inertia(rod, k, frame))
        for one in rod.added:
            body, frame = places[rod.nodes.index(rod.at(one.at, f"{where}: added mass"))]
            if body != GROUND:
                self._added.setdefault(body, []).append(spatial.transform(one.spatial, np.array(frame)))

    def _loads(self, rod: Rod, places: Sequence[tuple[str, tuple[float, ...]]]) -> None:
        """Loads along a rod, on its nodes; on a welded end they act on what carries it."""
        shares, along = rod.weights * (rod.length / rod.elements), rod.mesh.s
        for m, load in enumerate(rod.loads):
            for node, s, share, (body, frame) in zip(rod.nodes, along, shares, places, strict=True):
                if body != GROUND:
                    value = load.on(float(s), float(share))
                    self.forces.append(NodeLoad(f"{node} load {m}", body, value, load.representation, frame=frame))

    def _add_reduced(self, elastic: ReducedBody) -> None:
        """A reduced body: chains of joints along its shapes, from the first interface to each mass point and to each
        other interface. The joint of a shape that moves its point most has the coordinate; the others follow it."""
        shapes, (masses, _), base = elastic.parts, elastic.points, elastic.nodes[0]
        for name in elastic.nodes:
            if name in self.bodies:
                raise ValueError(f"{elastic.where}: its interface {name!r} has the name of a body; rename one of them")
        self.bodies[base] = RodLink(base, 0.0)
        if base not in self.held:
            self.held[base] = NodeJoint(base, GROUND, base, "free", parent_frame=elastic.interfaces[0])
            self.joints.append(self.held[base])
        leaders = np.linalg.norm(shapes.points, axis=2).argmax(axis=1)
        still = np.zeros((len(shapes.springs), 3))
        for p, place in enumerate(elastic.point_frames):
            name, twists = f"{elastic.name} point {p}", np.concatenate([still, shapes.points[:, p]], axis=1)
            own = {k for k, leader in enumerate(leaders) if leader == p}
            self._chain(elastic, name, base, place, twists, own)
            self.bodies[name] = MassPoint(name, float(masses[p]), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        for k, name in enumerate(elastic.nodes[1:]):
            self._chain(elastic, name, base, elastic.place(k + 1), shapes.interfaces[:, k], set())
            self.bodies[name] = RodLink(name, 0.0)

    def _chain(
        self, elastic: ReducedBody, end: str, parent: str, place: np.ndarray, twists: np.ndarray, own: set[int]
    ) -> None:
        """Joints from a body to `end`, one for each shape that moves it; own: shapes whose coordinate is here."""
        moving = [k for k, twist in enumerate(twists) if np.abs(twist).max() > MOVES] or [0]
        frame = place
        for k in moving:
            leader = f"{elastic.name} shape {k}"
            name = leader if k in own else f"{end} shape {k}"
            spring = float(elastic.parts.springs[k])
            turns, twist = bool(np.linalg.norm(twists[k, :3]) > MOVES), twists[k].copy()
            twist[:3] *= turns
            size = float(np.linalg.norm(twist[:3] if turns else twist[3:]))
            screw = twist / size if size > 0.0 else np.eye(6)[3]
            more: dict[str, Any] = {"mimic": leader, "mimic_ratio": size}
            if k in own:
                more = {"stiffness": spring, "damping": elastic.damping * spring}
            child = end if k == moving[-1] else f"{name} link"
            if child != end:
                self.bodies[child] = RodLink(child, 0.0)
            kind = "helical" if turns else "prismatic"
            self.joints.append(NodeJoint(name, parent, child, kind, [screw], parent_frame=frame, **more))
            self.held.setdefault(child, self.joints[-1])
            parent, frame = child, pose_group.identity()

    def _hangs_on_its_second_end(self, rod: Rod) -> bool:
        """Whether its joints lead from there to the first end, which is free, and held by nothing else."""
        first, second = rod.ends
        free = first == FREE_END and second != FREE_END and rod.nodes[0] not in self.held
        return bool(rod.strains) and free and (second == GROUND or second in self.held)

    def _ends(self, rod: Rod, base: str, begin: np.ndarray) -> dict[int, tuple[str, tuple[float, ...]]]:
        """Body and frame of the two ends."""
        mesh, n = rod.mesh, rod.elements
        found: dict[int, tuple[str, tuple[float, ...]]] = {0: (rod.nodes[0], ORIGIN), n: (rod.nodes[n], ORIGIN)}
        if rod.ends[0] != FREE_END:
            found[0] = (base, tuple(mesh.poses[0].tolist()))
        if rod.ends[1] != FREE_END:
            place = pose_group.compose(self.place(base), pose_group.compose(begin, mesh.poses[n]))
            on_body = pose_group.compose(pose_group.inverse(self.place(rod.ends[1])), place)
            found[n] = (rod.ends[1], tuple(on_body.tolist()))
        return found

    def _joints(self, rod: Rod, places: Sequence[tuple[str, tuple[float, ...]]], back: bool) -> None:
        """Elements as joints, and the bodies without mass between joints of one element."""
        for joint in (elastic_joints if rod.modes is None else modal_joints)(rod, places, back):
            if joint.child not in self.bodies:
                self.bodies[joint.child] = RodLink(joint.child, 0.0)
            *given, more = joint
            self.joints.append(NodeJoint(*given, **more))
            self.held.setdefault(joint.child, self.joints[-1])
        pushes = intrinsic_forces(rod, places, back) if rod.modes is None else modal_forces(rod)
        for name, value in pushes if rod.intrinsic else ():
            self.forces.append(IntrinsicForce(f"{name} intrinsic", name, value))

    def _elements(self, rod: Rod, places: Sequence[tuple[str, tuple[float, ...]]]) -> None:
        mesh = rod.mesh
        for k, strain in enumerate(intrinsic_strains(rod, STRAINS)):
            (first, at), (second, to) = places[k], places[k + 1]
            element = RodElement(
                name=f"{rod.name}[{k}]",
                bodies=(first, second),
                frames=(at, to),
                rest=tuple(mesh.rest[k].tolist()),
                flexibility=_rows(mesh.flexibility[k]),
                compliance=_rows(mesh.compliance[k]),
                damping=_rows(mesh.damping[k]),
                bend=float(mesh.bend[k]),
                rod=rod.name,
                index=k,
                length=float(mesh.lengths[k]),
                intrinsic=strain,
                value=None if strain is None else strain.value,
                parameters=() if strain is None else strain.value.program,
            )
            self.forces.append(element)

    def place(self, name: str) -> np.ndarray:
        """Pose of a body in space when all joints are at zero; one that no joint holds is at the origin."""
        chain: list[Joint] = []
        while name not in self._places:
            joint = self.held.get(name)
            if joint is None or joint in chain:
                self._places[name] = pose_group.identity()
                break
            chain.append(joint)
            name = joint.parent
        for joint in reversed(chain):
            at = pose_group.compose(self._places[joint.parent], np.array(joint.parent_frame))
            self._places[joint.child] = pose_group.compose(at, pose_group.inverse(np.array(joint.child_frame)))
        return self._places[name] if not chain else self._places[chain[0].child]


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))


def shown_name(joints: Sequence[Joint], name: str) -> str:
    """What to call a joint: one inside of a rod or reduced body by the mode or shape that it follows."""
    leaders = (joint.mimic for joint in joints if joint.name == name and isinstance(joint, OfRod))
    return next(leaders, None) or name


def followers(joints: Sequence[Joint]) -> set[str]:
    """Names of the joints inside of rods and reduced bodies that only follow a mode or shape, which says the same."""
    return {joint.name for joint in joints if isinstance(joint, OfRod) and joint.mimic is not None}


def shape_equations(joints: Sequence[Joint]) -> int:
    """Constraint equations inside of rods and reduced bodies, which hold their nodes on their strains or shapes."""
    return sum(6 - (joint.nv if joint.mimic is None else 0) for joint in joints if isinstance(joint, OfRod))


def own_parts(items: Sequence[Any]) -> tuple[Any, ...]:
    """What was given of them: a carrier of rods without them, and nothing of rods."""
    bare = (item.bare if isinstance(item, Carrier) else item for item in items)
    return tuple(item for item in bare if not isinstance(item, OfRod))


def end_inertia(rod: Rod, k: int, frame: tuple[float, ...]) -> np.ndarray:
    """Inertia of the node at an end that is welded to a body, 6x6 in the body's frame."""
    mesh = rod.mesh
    mass, moments, R = mesh.mass[k], mesh.moments[k], quaternion_to_matrix(np.array(frame[:4]))
    center = pose_group.act(np.array(frame), np.array([mesh.offset[k], 0.0, 0.0]))
    turned = R @ moments @ R.T + mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    return np.asarray(spatial.from_parameters(np.concatenate([[mass], mass * center, turned[np.triu_indices(3)]])))


def _carrier(body: Body, more: Sequence[np.ndarray]) -> Body:
    """A body with masses that are welded to it."""
    total = body.spatial + sum(more)
    mass = float(total[5, 5])
    if mass == body.mass:
        return body
    center = np.array([total[2, 4], total[0, 5], total[1, 3]]) / mass
    inertia = total[:3, :3] - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    inertia = (inertia + inertia.T) / 2.0
    if isinstance(body, RodNode):
        return RodNode(body.name, mass, center, inertia, physical=False)
    return Carrier(body.name, mass, center, inertia, body.shapes, None, False, body)
