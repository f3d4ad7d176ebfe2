"""Which joints of a mechanism with loops form its tree, and which are cut and become constraint rows.

The rule: joints are taken in the order of the system, first those on which something acts, then the others, free ones
last. What acts are springs, dampers, friction, stops, rotors, joint forces, actuators, couplings, drives. A joint
carries its child, unless the child is carried already, or carries the joint's parent itself: then the joint is cut. A
body that is left without a joint moves freely.

A cut joint on which something acts, or for which there are no rows, stays in the tree with a part of its child: the
child is split, each part has its share of the mass, and a weld holds them together. So every coordinate along which
something acts is a coordinate of the tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from chasles.force.build import seen_joints
from chasles.model.body import Body
from chasles.model.constraint import Coupling, Drive
from chasles.model.force import JointForce
from chasles.model.joint import Joint, weld
from chasles.model.system import System
from chasles.relative.acting import is_passive


@dataclass(frozen=True)
class Spanning:
    """A tree, `system`, and the joints that close its loops: cut ones, and welds of split bodies.

    parts: of each split body the parts beyond the first, which keeps the body's name. A weld has the name of the joint
    for which its body was split.
    """

    system: System
    cut: tuple[Joint, ...]
    welds: tuple[Joint, ...]
    parts: dict[str, tuple[str, ...]]


def acted_on(system: System) -> set[str]:
    """The joints along whose coordinates something acts."""
    found = {
        joint.name
        for joint in system.joints
        if is_passive(joint) or joint.may_lock or joint.is_loaded or any(joint.armature)
    }
    found |= {force.joint for force in system.forces if isinstance(force, JointForce)}
    found |= {actuator.joint for actuator in system.actuators} | set(seen_joints(system))
    for constraint in system.constraints:
        if isinstance(constraint, Coupling):
            found |= set(constraint.joints)
        elif isinstance(constraint, Drive):
            found.add(constraint.joint)
    return found


def closing_joints(system: System, cut: Iterable[str] = ()) -> tuple[Joint, ...]:
    """The joints that are cut, in the order of the system: those that the user names, and those that close a loop."""
    named = (cut,) if isinstance(cut, str) else tuple(cut)
    chosen = {system.joint(name, "cut").name for name in named}
    acted = acted_on(system)
    above: dict[str, str] = {}  # of each body that is carried, one nearer to the ground
    # stable: else as they were given
    for joint in sorted(system.joints, key=lambda joint: (joint.name not in acted, joint.traits.holds_nothing)):
        if joint.name in chosen:
            continue
        if joint.child in above or _end_of_way(above, joint.parent) == joint.child:
            chosen.add(joint.name)
        else:
            above[joint.child] = joint.parent
    return tuple(joint for joint in system.joints if joint.name in chosen)


def _end_of_way(above: dict[str, str], body: str) -> str:
    """The body in which the way from a body toward the ground ends so far; the way is made short for the next time."""
    way = []
    while body in above:
        way.append(body)
        body = above[body]
    for passed in way:
        above[passed] = body
    return body


def span(system: System, cut: Iterable[str] = ()) -> Spanning:
    """The spanning tree of a system."""
    closing, acted = closing_joints(system, cut), acted_on(system)
    split = {joint.name: joint for joint in closing if joint.name in acted or joint.traits.any_screws}
    names = {body.name for body in system.bodies} | {frame.name for frame in system.frames}
    part_of: dict[str, str] = {}
    for joint in split.values():
        if system.body(joint.child).massless:
            why = "something acts on it" if joint.name in acted else f"a {joint.kind} joint has no constraint rows"
            raise ValueError(
                f"joint {joint.name!r} closes a loop and {why}, so its child {joint.child!r} is split in two, but it "
                "has no mass; give it one, or write the joint with the other body as child, or cut another joint "
                "(cut=[...])"
            )
        part = f"{joint.child} at {joint.name}"
        while part in names:
            part += "'"
        names.add(part)
        part_of[joint.name] = part
    shares = Counter(joint.child for joint in split.values())
    bodies = [share(body, body.name, shares[body.name] + 1) for body in system.bodies]
    bodies += [share(system.body(j.child), part_of[j.name], shares[j.child] + 1) for j in split.values()]
    gone = {joint.name for joint in closing} - set(split)
    joints = [
        replace(joint, child=part_of[joint.name]) if joint.name in split else joint
        for joint in system.joints
        if joint.name not in gone
    ]
    welds = [
        weld(joint.name, joint.child, part_of[joint.name], at=joint.child_frame, child_at=joint.child_frame)
        for joint in split.values()
    ]
    parts = {name: tuple(part_of[j.name] for j in split.values() if j.child == name) for name in shares}
    tree = system.rearranged(bodies=bodies, joints=joints, constraints=())
    return Spanning(tree, tuple(joint for joint in closing if joint.name in gone), tuple(welds), parts)


def share(body: Body, name: str, parts: int) -> Body:
    """One of so many equal parts of a body, all at its place."""
    if parts == 1:
        return body
    inertia = np.array(body.inertia) / parts
    shapes = body.shapes if name == body.name else ()
    return Body(name, body.mass / parts, body.com, inertia, shapes, physical=body.physical)
