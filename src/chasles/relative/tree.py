"""From a `System` to the tables of its tree: links in depth-first order, with axes along z, welded bodies as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND
from chasles.model.joint import Joint
from chasles.model.placement import ORIGIN, frame_with_z
from chasles.model.system import System
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
)
from chasles.screw import inertia as spatial

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
    last_link: dict[str, int]  # of each joint that is not a weld: the link that it carries
    child_in_link: dict[str, np.ndarray]  # and the pose of its joint frame on the child, in that link's frame


def inbound(system: System) -> dict[str, Joint]:
    """The joint that carries each body; a body without one gets a free joint to the ground."""
    carried: dict[str, Joint] = {}
    if system.constraints:
        names = [repr(constraint.name) for constraint in system.constraints]
        raise ValueError(
            f"the constraints {', '.join(names[:8])} are not part of joint coordinates; use absolute coordinates"
        )
    for joint in system.joints:
        if joint.child in carried:
            raise ValueError(
                f"body {joint.child!r} is the child of two joints, {carried[joint.child].name!r} and {joint.name!r}: "
                "in joint coordinates the mechanism must be a tree; if there is a loop, use absolute coordinates"
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
            "in joint coordinates the mechanism must be a tree"
        )
    return order


def elements(joint: Joint) -> Iterator[tuple[int, tuple[float, ...], float]]:
    """The elementary joints of a joint: kind, pose of the frame with the axis along z in the joint's frame, pitch."""
    if joint.kind == "spherical":
        yield SPHERICAL, ORIGIN, 0.0
    elif joint.kind == "free":
        yield FREE, ORIGIN, 0.0
    for screw, armature in zip(joint.screws, joint.armature if joint.screws else (), strict=True):
        w, v = np.array(screw[:3]), np.array(screw[3:])
        if not w.any():
            yield PRISMATIC, (*frame_with_z(v), 0.0, 0.0, 0.0), 0.0
            continue
        pitch = float(w @ v)
        turning = REVOLUTE if pitch == 0.0 and armature == 0.0 else HELICAL
        yield turning, (*frame_with_z(w), *np.cross(w, v)), pitch


def build(system: System) -> Tree:
    """The tables of a system whose joints form a tree."""
    joints = depth_first(system)
    index = {body.name: k for k, body in enumerate(system.bodies)}
    parent_frames = np.array([j.parent_frame for j in joints]).reshape(-1, 7)
    child_back = pose_group.inverse(np.array([j.child_frame for j in joints]).reshape(-1, 7))
    parts = [list(elements(joint)) for joint in joints]
    axis_frames = np.array([frame for part in parts for _, frame, _ in part]).reshape(-1, 7)
    axis_back = pose_group.inverse(axis_frames)

    link_of_body = np.full(len(index) + 1, -1)  # the last one is the ground
    body_in_link = np.tile(ORIGIN, (len(index) + 1, 1))
    links, rows, bases, owners = 0, [], np.empty((len(axis_frames), 7)), []
    coordinates, velocities, last_link, child_in_link = {}, {}, {}, {}
    iq = iv = 0
    joined: dict[str, list[int]] = {"first": [], "joint": [], "parent": []}
    for k, (joint, part) in enumerate(zip(joints, parts, strict=True)):
        body, parent = index[joint.child], index.get(joint.parent, len(index))
        coordinates[joint.name], velocities[joint.name] = slice(iq, iq + joint.nq), slice(iv, iv + joint.nv)
        if not part:
            link_of_body[body] = link_of_body[parent]
            placed = pose_group.compose(body_in_link[parent], parent_frames[k])
            body_in_link[body] = pose_group.compose(placed, child_back[k])
            continue
        at = link_of_body[parent]
        joined["first"].append(links)
        joined["joint"].append(k)
        joined["parent"].append(parent)
        for kind, _, pitch in part:
            rows.append((at, kind, iq, iv, pitch))
            owners.append(joint.name)
            iq, iv = iq + COORDINATES[kind], iv + VELOCITIES[kind]
            at, links = links, links + 1
        link_of_body[body] = at
        last_link[joint.name] = at
        child_in_link[joint.name] = axis_back[at]
        body_in_link[body] = (
            pose_group.compose(axis_back[at], child_back[k]) if np.any(child_back[k] != ORIGIN) else axis_back[at]
        )
    # within a joint the next axis is seen from the last one; the first from the body that carries the joint
    bases[1:] = pose_group.compose(axis_back[:-1], axis_frames[1:]) if links > 1 else bases[1:]
    first = joined["first"]
    if first:
        placed = pose_group.compose(body_in_link[joined["parent"]], parent_frames[joined["joint"]])
        bases[first] = pose_group.compose(placed, axis_frames[first])

    numbers = np.zeros(GRAVITY.size + links * CONSTANT.size)
    numbers[:3] = system.gravity
    constants = numbers[GRAVITY.size :].reshape(links, CONSTANT.size)
    if links:
        constants[:, CONSTANT.rotation : CONSTANT.position] = quaternion_to_matrix(bases[:, :4]).reshape(links, 9)
        constants[:, CONSTANT.position : CONSTANT.mass] = bases[:, 4:]
    if index:
        inertias = np.array([body.spatial for body in system.bodies])
        ten = spatial.to_parameters(spatial.transform(inertias, body_in_link[:-1]))
        moving = link_of_body[:-1] >= 0
        np.add.at(constants, (link_of_body[:-1][moving],), np.pad(ten[moving], ((0, 0), (CONSTANT.mass, 2))))
        # what is left where moments cancel (a point mass on its axis) is zero, so that a singular inertia shows itself
        cancelled = np.trace(inertias[:, :3, :3], axis1=1, axis2=2) + ten[:, 0] * (body_in_link[:-1, 4:] ** 2).sum(
            axis=1
        )
        size = np.bincount(link_of_body[:-1][moving], weights=cancelled[moving], minlength=links)
        moments = constants[:, CONSTANT.inertia : CONSTANT.inertia + 6]
        moments[np.abs(moments) <= ROUNDING * size[:, None]] = 0.0
    armatures = [value for joint in joints if joint.screws for value in joint.armature]
    one_freedom = [k for k, row in enumerate(rows) if row[1] not in (SPHERICAL, FREE)]
    for k, value in zip(one_freedom, armatures, strict=True):
        constants[k, CONSTANT.armature] = value
    for k, row in enumerate(rows):
        constants[k, CONSTANT.pitch] = row[4]

    table = np.zeros((links, LINK.size), dtype=np.int64)
    for k, row in enumerate(rows):
        table[k, :4] = row[:4]
    parents = table[:, LINK.parent]
    table[:, LINK.tip] = 1
    table[parents[parents >= 0], LINK.tip] = 0
    last = {parent: k for k, parent in enumerate(parents.tolist())}
    table[list(last.values()), LINK.last] = 1
    _require_mass(joints, owners, parents.tolist(), constants)
    head = np.zeros(HEAD.size, dtype=np.int64)
    head[:] = links, iq, iv, sum(value != 0.0 for value in armatures)
    return Tree(
        np.concatenate([head, table.ravel(), *_ways(table)]),
        numbers,
        tuple(joints),
        coordinates,
        velocities,
        tuple(owners),
        link_of_body[:-1],
        body_in_link[:-1],
        last_link,
        child_in_link,
    )


def _ways(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each velocity, the one before it on the way to the ground (see `tables.velocity_before`), and its link."""
    before: list[int] = []
    owner: list[int] = []
    last: list[int] = []
    for i, (parent, kind, _, first) in enumerate(table[:, :4].tolist()):
        count = VELOCITIES[kind]
        before += [last[parent] if parent >= 0 else -1, *range(first, first + count - 1)]
        owner += [i] * count
        last.append(-2 - first if kind == FREE and parent < 0 else first + count - 1)
    return np.array(before, dtype=np.int64), np.array(owner, dtype=np.int64)


def _require_mass(joints: list[Joint], owners: list[str], parents: list[int], constants: np.ndarray) -> None:
    """ValueError for a joint that moves nothing that has mass: no equation would determine its acceleration."""
    carried, armature = constants[:, CONSTANT.mass].tolist(), constants[:, CONSTANT.armature].tolist()
    for k in range(len(parents) - 1, -1, -1):
        if parents[k] >= 0:
            carried[parents[k]] += carried[k]
    for k, (mass, rotor) in enumerate(zip(carried, armature, strict=True)):
        if mass == 0.0 and rotor == 0.0:
            child = next(joint.child for joint in joints if joint.name == owners[k])
            raise ValueError(
                f"joint {owners[k]!r} carries no mass: body {child!r} and all that hangs on it are massless, so "
                "nothing determines how the joint moves; give it a mass, or the joint an armature, or weld the body"
            )
