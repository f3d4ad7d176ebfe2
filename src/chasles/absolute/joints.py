"""The joints of a system as rows for `joint_force`: in which order, with which numbers, and what must be counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chasles.absolute.joint_force import (
    ABOUT_Z,
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    AXES,
    BALL,
    CROSSED,
    FRAMES,
    JOINT,
    LOOSE,
    SCREWS,
)
from chasles.constraint.joints import Tile, axis_frame
from chasles.constraint.rows import NUMBERS, TURN
from chasles.constraint.special import EXTRA, EXTRA_AT
from chasles.force.build import Acting, body_force_row, finish, is_passive, passive_rows, seen_joints, seen_row
from chasles.force.table import FORCE, FORCES
from chasles.force.table import JOINT as ON_JOINT
from chasles.lie import pose as pose_group
from chasles.lie.rotation import matrix_to_quaternion, quaternion_to_matrix
from chasles.model.body import GROUND
from chasles.model.constraint import Coupling
from chasles.model.force import JointForce
from chasles.model.joint import Joint
from chasles.model.system import System

Places = Mapping[str, tuple[int, np.ndarray]]  # of each body its index (-1: ground) and its frame's pose in the central
Counted = tuple[str, int]  # a joint and one of its coordinates
ALONG = {"x": ALONG_X, "y": ALONG_Y, "z": ALONG_Z}


def _form(joint: Joint) -> int:
    """How the coordinates of a joint follow from its frames."""
    traits = joint.traits
    if traits.quaternion:
        return LOOSE if traits.holds_nothing else BALL
    if traits.any_screws:
        return SCREWS
    return CROSSED if traits.crossed else AXES


def _elements(joint: Joint) -> tuple[int, ...]:
    """What each coordinate is, of a joint whose freedoms are about and along its own axes."""
    if _form(joint) != AXES:
        return (0,) * joint.nv
    return tuple(ABOUT_Z if freedom.turns else ALONG[freedom.axis] for freedom in joint.traits.freedoms or ())


def joint_order(system: System) -> list[Joint]:
    """All joints with coordinates, in the order of joint coordinates: depth first, bodies without a joint with a free
    one of their own. Joints that close loops come last, as they were given."""
    carried: dict[str, Joint] = {}
    closing: list[Joint] = []
    for joint in system.joints:
        if joint.child in carried:
            closing.append(joint)
        else:
            carried[joint.child] = joint
    taken = {joint.name for joint in system.joints}
    children: dict[str, list[Joint]] = {}
    for body in system.bodies:
        if body.name not in carried:
            name = f"free {body.name}"
            while name in taken:
                name += "'"
            carried[body.name] = Joint(name, GROUND, body.name, "free")
        children.setdefault(carried[body.name].parent, []).append(carried[body.name])
    order: list[Joint] = []
    stack = children.get(GROUND, [])[::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(children.get(joint.child, ())))
    reached = {joint.name for joint in order}
    apart = [joint for joint in carried.values() if joint.name not in reached]  # loops that do not reach the ground
    return [joint for joint in (*order, *apart, *closing) if joint.nv]


def angles_of(joint: Joint) -> tuple[int, ...]:
    """Coordinates that poses give only within full turns; of a joint given by screws all, which need a guess."""
    if joint.traits.quaternion:
        return ()
    return tuple(k for k, unit in enumerate(joint.velocity_units) if unit == "rad" or joint.traits.any_screws)


@dataclass(frozen=True)
class Joints:
    """The tables of all joints with coordinates."""

    order: tuple[Joint, ...]
    coordinates: dict[str, slice]  # of each joint, in the coordinates of all
    velocities: dict[str, slice]
    rows: np.ndarray  # (joints, JOINT.size)
    numbers: np.ndarray
    acting: tuple[int, ...]  # those that must be looked at in each evaluation

    @property
    def nq(self) -> int:
        return sum(joint.nq for joint in self.order)

    @property
    def nv(self) -> int:
        return sum(joint.nv for joint in self.order)


def joint_tables(
    system: System,
    places: Places,
    counted: list[Counted],
    inputs: bool,
    laws: Collection[str],
    every_angle: bool,
    sprung: bool = False,
) -> Joints:
    """The tables of a system's joints. Angles that are counted are added to `counted`.

    inputs: whether inputs act on joints, and all coordinates are asked for. laws: the joints with joint forces.
    every_angle: whether angles are counted even if nothing needs them. sprung: whether joints have a place for springs
    and dampers even if they have none.
    """
    order = joint_order(system)
    place_of = {item: k for k, item in enumerate(counted)}
    coordinates, velocities, acting = {}, {}, []
    rows, numbers = np.zeros((len(order), JOINT.size), dtype=np.int64), []
    frames = _frames(order, places)
    iq = iv = size = 0
    for j, joint in enumerate(order):
        coordinates[joint.name], velocities[joint.name] = slice(iq, iq + joint.nq), slice(iv, iv + joint.nv)
        passive = sprung or is_passive(joint)
        asked = inputs or joint.name in laws or joint.traits.any_screws
        if passive or asked:
            acting.append(j)
        elif every_angle and angles_of(joint):
            rows[j, JOINT.silent] = 1
        if every_angle or asked or any(joint.stiffness) or (passive and joint.stop_stiffness > 0):
            for k in angles_of(joint):
                if (joint.name, k) not in place_of:
                    place_of[(joint.name, k)] = len(counted)
                    counted.append((joint.name, k))
        first, second = places[joint.parent][0], places[joint.child][0]
        more = _numbers(joint, place_of)
        row = rows[j]
        row[[JOINT.form, JOINT.first, JOINT.second]] = _form(joint), first, second
        row[[JOINT.coordinates, JOINT.velocities, JOINT.control]] = joint.nq, joint.nv, iv
        row[JOINT.numbers] = size
        numbers += [frames[j], more]
        iq, iv, size = iq + joint.nq, iv + joint.nv, size + FRAMES.size + len(more)
        if passive:
            numbers.append(passive_rows(joint).ravel())
            row[JOINT.passive], size = size, size + len(numbers[-1])
    every = np.concatenate(numbers) if numbers else np.zeros(0)
    return Joints(tuple(order), coordinates, velocities, rows, every, tuple(acting))


def _frames(order: Sequence[Joint], places: Places) -> np.ndarray:
    """Frames of joints on the central frames of both bodies, (joints, FRAMES.size)."""
    axes, parts = np.array([_axes(joint) for joint in order]).reshape(-1, 7), []
    for bodies, on_bodies in (
        ([joint.parent for joint in order], [joint.parent_frame for joint in order]),
        ([joint.child for joint in order], [joint.child_frame for joint in order]),
    ):
        on_body = np.array([places[body][1] for body in bodies]).reshape(-1, 7)
        pose = pose_group.compose(pose_group.compose(on_body, np.array(on_bodies).reshape(-1, 7)), axes)
        parts += [quaternion_to_matrix(pose[:, :4]).reshape(-1, 9), pose[:, 4:]]
    return np.concatenate(parts, axis=1)


def _numbers(joint: Joint, place_of: Mapping[Counted, int]) -> np.ndarray:
    """What the coordinates are, and axes or screws."""
    what = [(element, place_of.get((joint.name, k), -1)) for k, element in enumerate(_elements(joint))]
    more = np.array([screw[:3] for screw in joint.screws]) if joint.traits.crossed else np.zeros(0)
    if joint.traits.any_screws:
        more = np.array(joint.screws)
    return np.concatenate([np.array(what, dtype=float).ravel(), more.ravel()])


def _axes(joint: Joint) -> np.ndarray:
    """Pose, in the joint's frame, of the frame whose axes its coordinates are about and along."""
    if not joint.traits.plane:
        return axis_frame(joint)
    x, y, z = joint.screws[0][3:], joint.screws[1][3:], joint.screws[2][:3]
    return np.array([*matrix_to_quaternion(np.array([x, y, z]).T), 0.0, 0.0, 0.0])


def act_on(
    system: System, places: Places, counted: list[Counted], inputs: bool, every_angle: bool, sprung: bool = False
) -> tuple[Acting, Joints]:
    """The tables of all forces, and of the joints that some of them act on. sprung: whether these are all joints, with
    a place for springs and dampers.

    In the table are springs and wrenches, then the joints that are looked at, then the laws that these refer to.
    """
    rows: list[tuple[np.ndarray, list[float], object]] = [
        (*body_force_row(force, places), force) for force in system.forces if not isinstance(force, JointForce)
    ]
    by_joint: dict[str, list[JointForce]] = {}
    for force in system.forces:
        if isinstance(force, JointForce):
            by_joint.setdefault(force.joint, []).append(force)
    joints = joint_tables(system, places, counted, inputs, {*by_joint, *seen_joints(system)}, every_angle, sprung)
    number = {joint.name: j for j, joint in enumerate(joints.order)}
    for j in joints.acting:
        row = np.zeros(FORCE.size, dtype=np.int64)
        row[[FORCE.kind, FORCE.first]] = ON_JOINT, j
        rows.append((row, [], None))
    count = len(rows)
    for j, joint in enumerate(joints.order):
        laws = by_joint.get(joint.name, [])
        joints.rows[j, [JOINT.laws, JOINT.count]] = len(rows), len(laws)
        rows += [(np.zeros(FORCE.size, dtype=np.int64), [], force) for force in laws]

    def sight(joint: str, k: int) -> tuple[int, int]:
        return number[joint], k

    acting = finish(rows, [], False, bool(count), lambda seen: seen_row(seen, system, places, sight))
    acting.table[FORCES.count] = count
    return acting, joints


def settle_couplings(
    system: System, tiles: Sequence[Tile], joints: Joints, near: np.ndarray, counted: np.ndarray
) -> None:
    """Put the last angle of each coupling into the turn that satisfies it best; the others stay where they are.

    near: coordinates of all joints with angles within half a turn of zero; counted: those that are counted.
    """
    for coupling in (item for item in system.constraints if isinstance(item, Coupling)):
        turning = [tile for tile in tiles if tile.joint == coupling.name and tile.kind == TURN]
        if turning:
            values = [near[..., joints.coordinates[name].start + k] for name, k, _ in coupling.terms]
            off = sum(c * value for c, value in zip(coupling.ratios, values, strict=True)) - coupling.offset
            full = 2 * np.pi * turning[-1].numbers[NUMBERS.s]
            counted[..., int(turning[-1].numbers[EXTRA_AT + EXTRA.angle])] -= 2 * np.pi * np.round(off / full)


def armatures(joints: Iterable[Joint]) -> list[tuple[str, int, float]]:
    """Joint, coordinate and inertia of each rotor."""
    return [(joint.name, k, inertia) for joint in joints for k, inertia in enumerate(joint.armature) if inertia]
