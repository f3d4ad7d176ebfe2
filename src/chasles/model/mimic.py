"""Joints that follow others: q = ratio q_leader + offset, as the mimic joints of robots and coupled fingers do.

A follower has no coordinate of its own. Chains of followers are resolved: each follows a leader that follows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.model.constraint import Coupling, Drive
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from chasles.model.joint import Joint
    from chasles.model.system import System


class Following(NamedTuple):
    """How a joint moves: with the coordinate of its leader, q = ratio q_leader + offset."""

    leader: str
    ratio: float
    offset: float


def followers(joints: Iterable[Joint]) -> dict[str, Following]:
    """What each joint that follows another one does, by its name; ValueError if there is no such leader."""
    every = {joint.name: joint for joint in joints}
    return {name: _resolved(joint, every) for name, joint in every.items() if joint.mimic is not None}


def _resolved(joint: Joint, every: Mapping[str, Joint]) -> Following:
    ratio, offset, way = 1.0, 0.0, [joint.name]
    while (leader := joint.mimic) is not None:
        where = f"joint {joint.name!r}: mimic"
        if leader not in every:
            raise ValueError(f"{where} is {leader!r}; {meant(leader, every)}there is no such joint")
        way.append(leader)
        if leader in way[:-1]:
            raise ValueError(f"joint {way[0]!r}: mimic goes round in a circle: {' follows '.join(map(repr, way))}")
        offset += ratio * joint.mimic_offset
        ratio *= joint.mimic_ratio
        joint = every[leader]
        if not joint.has_one_axis:
            raise ValueError(f"{where}: joint {leader!r} is {joint.kind}; expected one with one axis to follow")
    return Following(joint.name, ratio, offset)


def as_couplings(system: System) -> System:
    """The system with a constraint in place of each `mimic`: all joints have coordinates of their own, for loops and
    for absolute coordinates."""
    if not any(joint.mimic is not None for joint in system.joints):
        return system
    taken = {item.name for item in (*system.joints, *system.constraints)}
    added: list[Coupling | Drive] = []
    for joint in system.joints:
        if joint.mimic is None:
            continue
        name = f"{joint.name} mimics {joint.mimic}"
        while name in taken:
            name += "'"
        taken.add(name)
        if joint.mimic_ratio == 0.0:
            added.append(Drive(name, joint.name, joint.mimic_offset))
        else:
            added.append(Coupling(name, (joint.name, joint.mimic), (1.0, -joint.mimic_ratio), joint.mimic_offset))
    joints = [_independent(joint) for joint in system.joints]
    return system.rearranged(joints=joints, constraints=[*system.constraints, *added])


def refuse_modes(system: System) -> None:
    """ValueError for rods whose strains are modes, and for reduced bodies: their links have no mass, which only trees
    can do without."""
    if system.reduced:
        raise ValueError(
            f"reduced body {system.reduced[0].name!r} moves by shapes, which are for trees in joint coordinates: not "
            "for loops, constraints and absolute coordinates; open the loop by a stiff bushing"
        )
    if modal := [repr(rod.name) for rod in system.rods if rod.modes is not None]:
        raise ValueError(
            f"the strains of rod {', '.join(modal)} are modes, which are for trees in joint coordinates: not for "
            "loops, constraints and absolute coordinates; leave `modes` out"
        )


def _independent(joint: Joint) -> Joint:
    return replace(joint, mimic=None, mimic_ratio=1.0, mimic_offset=0.0) if joint.mimic is not None else joint


def without_mimics(system: System) -> System:
    """The system whose joints all have coordinates of their own, and nothing that holds them together."""
    return system.rearranged(joints=[_independent(joint) for joint in system.joints])


def with_followers(leader: Joint, following: Iterable[tuple[Joint, Following]]) -> Joint:
    """A leader with what its followers bring to its coordinate: their limits, and the friction of theirs that sticks.

    Springs, dampers and smooth friction are forces, which act on the followers' own coordinates.
    """
    changes: dict[str, Any] = {"lower": leader.lower[0], "upper": leader.upper[0]}
    changes["velocity_limit"], restitution = leader.velocity_limit[0], leader.restitution
    rubbing, holding = (leader.friction[0], leader.holding_friction[0]) if leader.sticks else (0.0, 0.0)
    for joint, (_, ratio, offset) in following:
        if ratio == 0.0:
            continue
        low, high = sorted(((joint.lower[0] - offset) / ratio, (joint.upper[0] - offset) / ratio))
        if joint.has_rigid_limits or leader.has_rigid_limits:
            _require_alike(leader, joint, (low, high))
            restitution = joint.restitution if restitution is None else restitution
        changes["lower"], changes["upper"] = max(changes["lower"], low), min(changes["upper"], high)
        changes["velocity_limit"] = min(changes["velocity_limit"], joint.velocity_limit[0] / abs(ratio))
        if joint.sticks:
            rubbing += abs(ratio) * joint.friction[0]
            holding += abs(ratio) * joint.holding_friction[0]
    if changes["lower"] > changes["upper"]:
        raise ValueError(
            f"joint {leader.name!r}: its limits and those of the joints that follow it leave nothing: "
            f"from {changes['lower']:g} to {changes['upper']:g}"
        )
    if rubbing or holding:
        if not leader.sticks and leader.friction[0]:
            raise ValueError(
                f"joint {leader.name!r} has smooth friction, and a joint that follows it stick-slip friction; "
                "set friction_speed = 0 in both"
            )
        changes |= {"friction_speed": 0.0, "friction": rubbing, "static_friction": holding}
    if restitution is not None and np.isfinite([changes["lower"], changes["upper"]]).any():
        changes["restitution"] = restitution
    return replace(leader, **changes)


def _require_alike(leader: Joint, joint: Joint, reach: tuple[float, float]) -> None:
    """ValueError for rigid limits beside such that are data or compliant: one coordinate has one kind of them."""
    bounded = [leader.has_rigid_limits or not np.isfinite([*leader.lower, *leader.upper]).any()]
    bounded.append(joint.has_rigid_limits or not np.isfinite(reach).any())
    if all(bounded) and (leader.restitution is None or joint.restitution in (None, leader.restitution)):
        return
    raise ValueError(
        f"joint {joint.name!r} follows {leader.name!r}: give both the same restitution, or only one of them limits"
    )
