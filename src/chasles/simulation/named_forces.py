"""Forces by the names of what exerts them: springs, laws, bushings, wrenches, drives, couplings, and what joints do by
themselves.

Each is found by the kernels of the run: of a tree on which nothing else acts. So there is one formula for each force,
and laws that see other joints and frames are as they were in the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from chasles.force.build import is_passive
from chasles.lie import pose as pose_group
from chasles.model.body import GROUND, Body
from chasles.model.constraint import Coupling, Drive
from chasles.model.force import BetweenBodies, Bushing, Force, JointForce
from chasles.model.joint import Joint
from chasles.model.rod_parts import OfRod, own_parts
from chasles.model.suggestion import meant
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.spanning import span
from chasles.relative.mechanism import Mechanism
from chasles.screw.representation import convert_wrench

FORCE_UNITS = {"rad": "N m", "m": "N"}  # along a velocity
WRENCH_PARTS = ("tx", "ty", "tz", "fx", "fy", "fz")
LISTED = 20  # names in a message
# what a joint does by itself, and the fields that are zero for all but one of these
OWN = {
    "spring": ("stiffness",),
    "damper": ("damping",),
    "friction": ("friction", "static_friction"),
    "stop": ("stop_stiffness", "stop_damping"),
}
HELD = {"restitution": None, "friction_coefficient": 0.0, "static_friction_coefficient": 0.0, "bearing_radius": 0.0}
HELD |= {"guide_length": 0.0, "thread_radius": 0.0}


class ForceColumn(NamedTuple):
    """One number of a force, and its unit."""

    part: str
    unit: str


def named_forces(system: System) -> dict[str, Any]:
    """What exerts forces, by name: a force of the system, a drive or coupling, or a joint with springs, dampers,
    friction or limits. A joint or constraint with the name of a force has its kind behind it, "motor (joint)"."""
    found: dict[str, Any] = {force.name: force for force in own_parts(system.forces)}
    others = [item for item in system.constraints if isinstance(item, Coupling | Drive)]
    acting = [joint for joint in system.joints if is_passive(joint) or joint.may_lock or joint.is_loaded]
    for kind, items in (("constraint", others), ("joint", acting)):
        for item in items:
            found[f"{item.name} ({kind})" if item.name in found else item.name] = item
    return found


def named_holds(system: System) -> list[str]:
    """Names of what exerts reactions: joints that hold something, and constraints but for drives and couplings, which
    act along coordinates, by forces."""
    joints = [joint.name for joint in system.joints if not joint.traits.holds_nothing]
    others = [item.name for item in system.constraints if not isinstance(item, Coupling | Drive)]
    return joints + [name for name in others if name not in joints]


def _item(system: System, name: str) -> Any:
    every = named_forces(system)
    if name not in every:
        listed = ", ".join(map(repr, list(every)[:LISTED])) or "none"
        raise ValueError(f"run.force: there is no force {name!r}; {meant(name, every)}there are {listed}")
    return every[name]


def columns_of(system: System, name: str) -> tuple[ForceColumn, ...]:
    """The numbers of a force: the pull of a spring or two-point force, the six of a bushing or wrench, one for each
    coordinate of a joint force, drive or coupling, and those of a joint by what it is."""
    item = _item(system, name)
    if isinstance(item, Joint):
        return tuple(
            ForceColumn(f"{part}{k if item.nv > 1 else ''}", FORCE_UNITS[unit])
            for part in _own_parts(item)
            for k, unit in enumerate(item.velocity_units)
        )
    if isinstance(item, JointForce | Drive | Coupling):
        along = _along(system, item)
        return tuple(ForceColumn(f"force{k}", FORCE_UNITS[unit]) for k, unit in enumerate(along))
    if isinstance(item, BetweenBodies) and not isinstance(item, Bushing):
        return (ForceColumn("pull", "N"),)
    return tuple(ForceColumn(part, "N m" if part.startswith("t") else "N") for part in WRENCH_PARTS)


def _along(system: System, item: JointForce | Drive | Coupling) -> list[str]:
    """Units of the velocities along which it acts."""
    if isinstance(item, JointForce):
        return list(system.joint(item.joint, "run.force").velocity_units)
    pairs = (
        [(item.joint, item.coordinate)] if isinstance(item, Drive) else zip(item.joints, item.coordinates, strict=True)
    )
    return [system.joint(joint, "run.force").velocity_units[k] for joint, k in pairs]


def _own_parts(joint: Joint) -> list[str]:
    """What a joint does by itself; friction that sticks and rigid limits are one if it has both."""
    found = [
        part for part, fields in OWN.items() if part not in ("friction", "stop") and any(getattr(joint, fields[0]))
    ]
    friction = any(joint.friction) or joint.sticks or joint.is_loaded
    if joint.has_rigid_limits:
        return [*found, "friction and limit" if friction else "limit"]
    stops = joint.stop_stiffness > 0 and np.isfinite([*joint.lower, *joint.upper]).any()
    return found + ["friction"] * friction + ["stop"] * bool(stops)


def values_of(states: Any, name: str) -> np.ndarray:
    """A force at the times of states, (times, columns)."""
    system = states.system
    item = _item(system, name)
    if isinstance(item, Drive | Coupling):
        found: np.ndarray = states.coordinate_forces(item.name)
        return found
    if isinstance(item, Joint):
        return _of_joint(states, item)
    tree = _alone(states, force=item)
    q, v = _coordinates(states)
    acting = tree.applied_forces(q, v, states.t)
    if isinstance(item, JointForce):
        return acting.tau[..., tree.tree.velocities[item.joint]]
    wrenches = acting.wrenches.reshape(*np.shape(states.t), -1, 6)
    if not isinstance(item, BetweenBodies):
        k = tree.bodies.index(item.body)
        own = _on_body(tree, wrenches, item.body)
        return convert_wrench(own, tree.poses(q)[..., k, :], "body", item.representation)
    return _between(states, tree, wrenches, item)


def _on_body(tree: Mechanism, wrenches: np.ndarray, body: str) -> np.ndarray:
    """The wrench on the link of a body, in the frame of the body."""
    k = tree.bodies.index(body)
    link = tree.tree.link_of_body[k]
    return pose_group.AdT_apply(tree.tree.body_in_link[k], wrenches[..., link, :])


def _between(states: Any, tree: Mechanism, wrenches: np.ndarray, item: Any) -> np.ndarray:
    """The pull of a spring, or the wrench of a bushing on its second body, in its frame there."""
    links = [-1 if body == GROUND else int(tree.tree.link_of_body[tree.bodies.index(body)]) for body in item.bodies]
    if links[0] == links[1]:
        raise ValueError(
            f"run.force: {item.name!r} acts between {item.bodies[0]!r} and {item.bodies[1]!r}, which are rigidly "
            "connected: its force moves nothing, and is not computed"
        )
    side = 1 if links[1] >= 0 else 0
    still = np.broadcast_to(pose_group.identity(), (*np.shape(states.t), 7))
    every = tree.poses(_coordinates(states)[0])
    poses = [still if body == GROUND else every[..., tree.bodies.index(body), :] for body in item.bodies]
    on_body = _on_body(tree, wrenches, item.bodies[side])
    if isinstance(item, Bushing):
        frame = pose_group.compose(poses[1], np.array(item.frames[1]))
        to_frame = pose_group.compose(pose_group.inverse(poses[side]), frame)
        return (1.0 if side else -1.0) * pose_group.AdT_apply(to_frame, on_body)
    places = [pose_group.act(pose, np.array(point)) for pose, point in zip(poses, item.points, strict=True)]
    line = places[1 - side] - places[side]
    distance = np.linalg.norm(line, axis=-1, keepdims=True)
    force = convert_wrench(on_body, poses[side], "body", "hybrid")[..., 3:]
    along = line / np.where(distance > 0.0, distance, 1.0)
    return np.einsum("...i,...i->...", force, along)[..., None]


def _of_joint(states: Any, joint: Joint) -> np.ndarray:
    """What a joint does by itself, part by part."""
    found = []
    for part in _own_parts(joint):
        smooth = part in OWN and not (part == "friction" and (joint.sticks or joint.is_loaded))
        if smooth:
            tree = _alone(states, joint=joint, fields=OWN[part])
            every = tree.applied_forces(*_coordinates(states), states.t).tau
            found.append(every[..., tree.tree.velocities[joint.name]])
        else:
            found.append(states._kind.held_force(joint))
    return np.concatenate(found, axis=-1)


def _alone(states: Any, force: Force | None = None, joint: Joint | None = None, fields: tuple[str, ...] = ()) -> Any:
    """The tree of states with one force alone, or one joint with some of what it does by itself."""
    system = _tree(states)
    joints = [_bare(one, fields if joint is not None and one.name == joint.name else ()) for one in system.joints]
    acting = () if force is None else (force,)
    # joints that follow others have coordinates of their own here, and a link of a rod no mass: none of it matters
    bodies = [_heavy(body) if isinstance(body, OfRod) and not body.mass else body for body in system.bodies]
    return Mechanism(system.rearranged(bodies=bodies, joints=joints, forces=acting, actuators=()))


def _heavy(body: Body) -> Body:
    return replace(body, mass=1.0, inertia=(1.0, 1.0, 1.0))


def _bare(joint: Joint, kept: tuple[str, ...]) -> Joint:
    """A joint without what it does by itself, but for some fields, and with coordinates of its own."""
    none: dict[str, Any] = {name: 0.0 for fields in OWN.values() for name in fields if name not in kept}
    return replace(joint, **none | HELD | {"mimic": None, "mimic_ratio": 1.0, "mimic_offset": 0.0})


def _coordinates(states: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of all joints of the tree, also of those that follow others."""
    mechanism = states.mechanism
    depends = mechanism.tree.dependence if isinstance(mechanism, Mechanism) else None
    if depends is None:
        return states.q, states.v
    return depends.coordinates(states.q), depends.velocities(states.v)


def _tree(states: Any) -> System:
    """The tree whose coordinates states have."""
    mechanism = states.mechanism
    if isinstance(mechanism, ClosedMechanism):
        return mechanism.split.system
    return mechanism.system if isinstance(mechanism, Mechanism) else span(mechanism.system).system
