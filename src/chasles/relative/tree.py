"""From a `System` to the tables of its tree: links in depth-first order, with axes along z, welded bodies as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import FAR, GROUND, UPPER
from chasles.model.joint import Joint
from chasles.model.mimic import Following, followers, without_mimics
from chasles.model.placement import ORIGIN, frame_with_z
from chasles.model.rod_parts import OfRod
from chasles.model.system import System
from chasles.relative.dependence import Dependence, dependent_tree
from chasles.relative.tables import (
    CONSTANT,
    COORDINATES,
    FREE,
    GRAVITY,
    HEAD,
    HELICAL,
    LINK,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    VELOCITIES,
    link_table,
)
from chasles.screw import inertia as spatial

OWN_RECURSIONS = {"spherical": SPHERICAL, "free": FREE}  # kinds that are no product of exponentials of screws
ROUNDING = 1e-15  # of the moments that are added up to an inertia: smaller ones are what rounding left


@dataclass(frozen=True)
class Tree:
    """The tables of a tree, and where the model's bodies and joints are in them."""

    topology: np.ndarray
    numbers: np.ndarray
    joints: tuple[Joint, ...]  # depth first
    coordinates: dict[str, slice]  # of each joint, in q
    velocities: dict[str, slice]  # of each joint, in v
    joint_of_link: tuple[str, ...]
    link_of_body: np.ndarray  # (bodies,), -1 for what is welded to the ground; in the order of the system
    body_in_link: np.ndarray  # (bodies, 7): pose of the body's frame in the link's
    # with joints that follow others: `joints`, `coordinates` and `velocities` are those of the others; topology and
    # numbers are of all, `independent` is the part of the topology that q has coordinates of
    independent: np.ndarray
    dependence: Dependence | None = None

    @property
    def every(self) -> Tree:
        """The tree with coordinates of all joints, also of those that follow others."""
        return self if self.dependence is None else self.dependence.every

    @property
    def all_joints(self) -> tuple[Joint, ...]:
        """Depth first, with those that follow others."""
        return self.every.joints

    def rotors(self, columns: Iterable[int]) -> np.ndarray:
        """Which of all velocities have the rotors that are felt along some of v."""
        found = np.array(list(columns), dtype=np.int64)
        return found if self.dependence is None else self.dependence.own[found]


def inbound(system: System) -> dict[str, Joint]:
    """The joint that carries each body; a body without one gets a free joint to the ground."""
    carried: dict[str, Joint] = {}
    if system.constraints:
        names = [repr(constraint.name) for constraint in system.constraints]
        raise ValueError(f"the constraints {', '.join(names[:8])} are no part of a tree; use system.compile()")
    for joint in system.joints:
        if joint.child in carried:
            raise ValueError(
                f"body {joint.child!r} is the child of two joints, {carried[joint.child].name!r} and {joint.name!r}: "
                "a `Mechanism` must be a tree; use system.compile(), which closes loops"
            )
        carried[joint.child] = joint
    taken = {joint.name for joint in system.joints}
    for body in system.bodies:
        if body.name not in carried:
            name = f"free {body.name}"
            while name in taken:
                name += "'"
            carried[body.name] = Joint(name, GROUND, body.name, "free")
    return carried


def depth_first(system: System) -> list[Joint]:
    """All joints, each after the one that carries its parent; ValueError for a loop."""
    carried = inbound(system)
    children: dict[str, list[Joint]] = {}
    for body in system.bodies:
        joint = carried[body.name]
        children.setdefault(joint.parent, []).append(joint)
    order, stack = [], children.get(GROUND, [])[::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(children.get(joint.child, ())))
    if len(order) < len(system.bodies):
        seen = {joint.name for joint in order}
        lost = [joint.name for joint in carried.values() if joint.name not in seen]
        raise ValueError(
            f"joints {', '.join(map(repr, lost[:6]))} form a loop that does not reach the ground: "
            "a `Mechanism` must be a tree; use system.compile(), which closes loops"
        )
    return order


def elements(joint: Joint) -> Iterator[tuple[int, tuple[float, ...], float]]:
    """The elementary joints of a joint: kind, pose of the frame with the axis along z in the joint's frame, pitch."""
    if joint.kind in OWN_RECURSIONS:
        yield OWN_RECURSIONS[joint.kind], ORIGIN, 0.0
    for screw, armature in zip(joint.screws, joint.armature if joint.screws else (), strict=True):
        w, v = np.array(screw[:3]), np.array(screw[3:])
        if not w.any():
            yield PRISMATIC, (*frame_with_z(v), 0.0, 0.0, 0.0), 0.0
            continue
        pitch = float(w @ v)
        turning = (
            REVOLUTE if pitch == 0.0 and armature == 0.0 and not joint.may_lock else HELICAL
        )  # a rotor can be added
        yield turning, (*frame_with_z(w), *np.cross(w, v)), pitch


@dataclass
class _Links:
    """Links as they are found along the joints."""

    rows: list[tuple[int, int, int, int]] = field(default_factory=list)  # parent, kind, first coordinate and velocity
    pitches: list[float] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    coordinates: dict[str, slice] = field(default_factory=dict)
    velocities: dict[str, slice] = field(default_factory=dict)


def build(system: System) -> Tree:
    """The tables of a system whose joints form a tree."""
    if any(joint.mimic is not None for joint in system.joints):
        return dependent_tree(system, _build(without_mimics(system), followers(system.joints)))
    return _build(system, {})


def _build(system: System, following: Mapping[str, Following]) -> Tree:
    """The tables of a tree in which all joints have coordinates of their own; some follow others in the end."""
    joints = depth_first(system)
    links, bases, link_of_body, body_in_link = _place(system, joints)
    armatures = [value for joint in joints if joint.screws for value in joint.armature]
    numbers = _numbers(system, links, bases, link_of_body, body_in_link, armatures)
    topology = _topology(links, sum(value != 0.0 for value in armatures))
    constants = numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
    _require_mass(joints, links.owners, [row[0] for row in links.rows], constants, following)
    return Tree(
        topology,
        numbers,
        tuple(joints),
        links.coordinates,
        links.velocities,
        tuple(links.owners),
        link_of_body,
        body_in_link,
        topology,
    )


def lock(topology: np.ndarray, numbers: np.ndarray, columns: Iterable[int]) -> None:
    """Lock velocities of joints that may stick: with rotors of infinite inertia they do not accelerate, exactly."""
    constants, links = numbers[GRAVITY.size :].reshape(-1, CONSTANT.size), link_table(topology)
    constants[np.isin(links[:, LINK.velocity], list(columns)), CONSTANT.armature] = np.inf


def _place(system: System, joints: list[Joint]) -> tuple[_Links, np.ndarray, np.ndarray, np.ndarray]:
    """The links, their poses in their parents' frames at q = 0, and where the bodies are on them."""
    index = {body.name: k for k, body in enumerate(system.bodies)}
    parent_frames = np.array([j.parent_frame for j in joints]).reshape(-1, 7)
    child_back = pose_group.inverse(np.array([j.child_frame for j in joints]).reshape(-1, 7))
    parts = [list(elements(joint)) for joint in joints]
    axis_frames = np.array([frame for part in parts for _, frame, _ in part]).reshape(-1, 7)
    axis_back = pose_group.inverse(axis_frames)
    links, iq, iv = _Links(), 0, 0
    link_of_body = np.full(len(index) + 1, -1)  # the last one is the ground
    body_in_link = np.tile(ORIGIN, (len(index) + 1, 1))
    heads: list[tuple[int, int, int]] = []  # the first link of each joint, the joint, and the body that carries it
    for k, (joint, part) in enumerate(zip(joints, parts, strict=True)):
        body, parent = index[joint.child], index.get(joint.parent, len(index))
        links.coordinates[joint.name] = slice(iq, iq + joint.nq)
        links.velocities[joint.name] = slice(iv, iv + joint.nv)
        at = link_of_body[parent]
        if not part:  # a weld: the body is part of its parent's link
            placed = pose_group.compose(body_in_link[parent], parent_frames[k])
            link_of_body[body], body_in_link[body] = at, pose_group.compose(placed, child_back[k])
            continue
        heads.append((len(links.rows), k, parent))
        for kind, _, pitch in part:
            links.rows.append((int(at), kind, iq, iv))
            links.pitches.append(pitch)
            links.owners.append(joint.name)
            iq, iv, at = iq + COORDINATES[kind], iv + VELOCITIES[kind], len(links.rows) - 1
        turned_back = np.any(child_back[k] != ORIGIN)
        link_of_body[body] = at
        body_in_link[body] = pose_group.compose(axis_back[at], child_back[k]) if turned_back else axis_back[at]
    # within a joint the next axis is seen from the one before; the first from the body that carries the joint
    bases = np.empty_like(axis_frames)
    if heads:
        bases[1:] = pose_group.compose(axis_back[:-1], axis_frames[1:])
        first, joint_of, carrier = (list(column) for column in zip(*heads, strict=True))
        placed = pose_group.compose(body_in_link[carrier], parent_frames[joint_of])
        bases[first] = pose_group.compose(placed, axis_frames[first])
    return links, bases, link_of_body[:-1], body_in_link[:-1]


def _numbers(
    system: System,
    links: _Links,
    bases: np.ndarray,
    link_of_body: np.ndarray,
    body_in_link: np.ndarray,
    armatures: list[float],
) -> np.ndarray:
    """Gravity and the constants of all links."""
    count = len(links.rows)
    numbers = np.zeros(GRAVITY.size + count * CONSTANT.size)
    numbers[:3] = system.gravity
    constants = numbers[GRAVITY.size :].reshape(count, CONSTANT.size)
    if not count:
        return numbers
    constants[:, CONSTANT.rotation : CONSTANT.position] = quaternion_to_matrix(bases[:, :4]).reshape(count, 9)
    constants[:, CONSTANT.position : CONSTANT.mass] = bases[:, 4:]
    constants[:, CONSTANT.pitch] = links.pitches
    one_freedom = [k for k, row in enumerate(links.rows) if row[1] not in (SPHERICAL, FREE)]
    constants[one_freedom, CONSTANT.armature] = armatures
    add_inertias(constants, link_of_body, *inertias_on_links(system, body_in_link))
    return numbers


def add_inertias(constants: np.ndarray, link_of_body: np.ndarray, ten: np.ndarray, canceled: np.ndarray) -> None:
    """Add the inertias of bodies to the constants of their links, (..., links, constants)."""
    moving, size = link_of_body >= 0, np.zeros(constants.shape[:-1])
    links = link_of_body[moving]
    np.add.at(
        np.moveaxis(constants[..., CONSTANT.mass : CONSTANT.pitch], -2, 0),
        links,
        np.moveaxis(ten[..., moving, :], -2, 0),
    )
    np.add.at(np.moveaxis(size, -1, 0), links, np.moveaxis(canceled[..., moving], -1, 0))
    # what is left where moments cancel (a point mass on its axis) is zero, so that a singular inertia shows itself
    moments = constants[..., CONSTANT.inertia : CONSTANT.inertia + 6]
    moments[np.abs(moments) <= ROUNDING * size[..., None]] = 0.0


def inertias_on_links(system: System, body_in_link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ten inertial parameters of the bodies in their links' frames, (bodies, 10), and the sum of the moments that
    each was added up from."""
    inertias = np.array([body.spatial for body in system.bodies]).reshape(-1, 6, 6)
    com = np.array([body.com for body in system.bodies]).reshape(-1, 3)
    central = np.array([body.inertia for body in system.bodies]).reshape(-1, 3, 3)
    return moved_inertias(inertias, com, central, body_in_link)


def moved_inertias(
    inertias: np.ndarray, com: np.ndarray, central: np.ndarray, body_in_link: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same of bodies with these inertias (..., bodies, 6, 6), centers of mass, and inertias about them.

    Frames of bodies may be far from them, as in assemblies of CAD programs. About such a frame the inertia is all m d²,
    so it is moved from the center of mass: what is lost then is what the places themselves lack.
    """
    ten = spatial.to_parameters(spatial.transform(inertias, body_in_link))
    mass = ten[..., 0]
    sums = np.trace(inertias[..., :3, :3], axis1=-2, axis2=-1) + mass * (body_in_link[:, 4:] ** 2).sum(axis=1)
    on_link = pose_group.act(body_in_link, com)
    about = np.trace(central, axis1=-2, axis2=-1) + mass * (on_link**2).sum(axis=-1)
    far = mass * (com**2).sum(axis=-1) > FAR**2 * about
    if far.any():
        turn = np.broadcast_to(body_in_link[:, :4], (*far.shape, 4))[far]
        place = np.concatenate([turn, on_link[far]], axis=1)
        own = np.concatenate([mass[far, None], np.zeros((far.sum(), 3)), central[far][:, *UPPER]], axis=1)
        ten[far] = spatial.to_parameters(spatial.transform(spatial.from_parameters(own), place))
        sums[far] = about[far]
    return ten, sums


def _topology(links: _Links, armatures: int) -> np.ndarray:
    """Head, links and ways to the ground."""
    table = np.zeros((len(links.rows), LINK.size), dtype=np.int64)
    if links.rows:
        table[:, :4] = links.rows
    parents = table[:, LINK.parent]
    table[:, LINK.tip] = 1
    table[parents[parents >= 0], LINK.tip] = 0
    last = {parent: k for k, parent in enumerate(parents.tolist())}
    table[list(last.values()), LINK.last] = 1
    kinds = table[:, LINK.kind].tolist()
    counts = (sum(COORDINATES[kind] for kind in kinds), sum(VELOCITIES[kind] for kind in kinds))
    head = np.zeros(HEAD.size, dtype=np.int64)
    head[:] = len(links.rows), *counts, armatures
    return np.concatenate([head, table.ravel(), *_ways(table)])


def _ways(table: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each velocity: the one before it on the way to the ground, its link, the begin of its run (see `tables`)."""
    before: list[int] = []
    owner: list[int] = []
    last: list[int] = []
    for i, (parent, kind, _, first) in enumerate(table[:, :4].tolist()):
        count = VELOCITIES[kind]
        before += [last[parent] if parent >= 0 else -1, *range(first, first + count - 1)]
        owner += [i] * count
        last.append(-2 - first if kind == FREE and parent < 0 else first + count - 1)
    return tuple(np.array(part, dtype=np.int64) for part in (before, owner, runs(before)))


def runs(before: list[int]) -> list[int]:
    """For each velocity the first of its run (`run_of_velocity`), from those before them on the way to the ground."""
    found: list[int] = []
    for k, previous in enumerate(before):
        found.append(found[k - 1] if previous == k - 1 and k else k)
    return found


def _require_mass(
    joints: list[Joint],
    owners: list[str],
    parents: list[int],
    constants: np.ndarray,
    following: Mapping[str, Following],
) -> None:
    """ValueError for a joint that moves nothing that has mass, nor what follows it: no equation would determine its
    acceleration."""
    carried, armature = constants[:, CONSTANT.mass].tolist(), constants[:, CONSTANT.armature].tolist()
    for k in range(len(parents) - 1, -1, -1):
        if parents[k] >= 0:
            carried[parents[k]] += carried[k]
    felt = {rule.leader: 0.0 for rule in following.values()}
    for k, owner in enumerate(owners):
        rule = following.get(owner, Following(owner, 1.0, 0.0))
        if rule.leader in felt and rule.ratio != 0.0:
            felt[rule.leader] += carried[k] + armature[k]
    for k, (mass, rotor) in enumerate(zip(carried, armature, strict=True)):
        if mass == 0.0 and rotor == 0.0 and owners[k] not in following and not felt.get(owners[k]):
            moved_by = next(joint for joint in joints if joint.name == owners[k])
            child = moved_by.child
            if isinstance(moved_by, OfRod):
                raise ValueError(
                    f"node {child!r} of a rod has no mass, and nothing on it has: a motion needs one; give the "
                    "material a density, or the section a mass and moments"
                )
            raise ValueError(
                f"joint {owners[k]!r} carries no mass: body {child!r} and all that hangs on it are massless, so "
                "nothing determines how the joint moves; give it a mass, or the joint an armature, or weld the body"
            )
