"""Reactions of what closes a mechanism, from the multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.constraint.rows import POINT, ROWS
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.constraint import Coupling, Drive
from chasles.model.suggestion import meant
from chasles.relative import reaction

if TYPE_CHECKING:
    from chasles.model.joint import Joint
    from chasles.relative.loop.closed import ClosedMechanism

ON_FIRST, ON_SECOND = (ROWS.first_angular, ROWS.first_linear), (ROWS.second_angular, ROWS.second_linear)


def reactions(mechanism: ClosedMechanism, joint: str, q: ArrayLike, v: ArrayLike, u: ArrayLike | None, t: ArrayLike):
    """Wrenches of a joint or constraint on its child: `ClosedMechanism.reactions`."""
    own = next((item for item in mechanism.spanning.tree.all_joints if item.name == joint), None)
    if own is not None:
        q, v = mechanism.tables.check_q("reactions", q), mechanism.tables.check_v("reactions", "v", v)
        return tree_reactions(mechanism, own, q, v, u, np.broadcast_to(np.asarray(t, dtype=float), q.shape[:-1]))
    _closing(mechanism, joint)
    return wrenches_of(mechanism, joint, q, v, t, mechanism.constrained_motion(q, v, u, t).multipliers)


def tree_reactions(mechanism: ClosedMechanism, joint: Joint, q: np.ndarray, v: np.ndarray, u: Any, t: np.ndarray):
    """Wrenches of a joint of the spanning tree on its child, (..., 6): those of the tree and of what closes it."""
    motion = mechanism.constrained_motion(q, v, u, t)
    a = motion.accelerations
    if not joint.nv:
        q, v, a = reaction.with_hinges(mechanism, q, v, a)
        mechanism = mechanism._apart
    closing = closing_wrenches(mechanism, q, v, t, motion.multipliers)
    return reaction.through(mechanism.spanning, joint, q, v, a, t, closing)


def closing_wrenches(
    mechanism: ClosedMechanism, q: np.ndarray, v: np.ndarray, t: np.ndarray, multipliers: np.ndarray
) -> np.ndarray:
    """What closes a tree exerts on its links by its multipliers, (times, links, 6) in their frames. Couplings and
    drives act along coordinates, as motors do, and are not among it."""
    closing, tree = mechanism.closing, mechanism.tree
    poses, rows = mechanism.spanning.poses(q), mechanism.constraint_rows(q, v, t).tiles
    along = {item.name for item in mechanism.system.constraints if isinstance(item, Coupling | Drive)}
    total = np.zeros((*np.shape(t), mechanism.tables.links, 6))
    for r, (group, k) in enumerate(closing.rows):
        (number, *_), tile = closing.groups[group], closing.tiles[closing.groups[group][0]]
        if tile.joint in along:
            continue
        for link, (angular, linear), sign in ((tile.first, ON_FIRST, -1.0), (tile.second, ON_SECOND, 1.0)):
            if link >= 0:  # else the ground
                force = sign * np.eye(3)[k] if tile.kind == POINT else rows[..., number, linear + 3 * k :][..., :3]
                total[..., link, :3] -= multipliers[..., r, None] * rows[..., number, angular + 3 * k :][..., :3]
                total[..., link, 3:] -= multipliers[..., r, None] * force
    for link in {tree.link_of_body[k] for k in range(len(tree.link_of_body))} - {-1}:
        member = int(np.flatnonzero(tree.link_of_body == link)[0])
        place = pose_group.compose(poses[..., member, :], pose_group.inverse(tree.body_in_link[member]))
        turn = quaternion_to_matrix(place[..., :4])
        total[..., link, 3:] = np.einsum("...ji,...j->...i", turn, total[..., link, 3:])
    return total


def wrenches_of(
    mechanism: ClosedMechanism, joint: str, q: ArrayLike, v: ArrayLike | None, t: ArrayLike, multipliers: np.ndarray
) -> np.ndarray:
    """Wrenches of a cut joint or constraint on its child, (..., 6), by multipliers (..., rows)."""
    item, closing = _closing(mechanism, joint), mechanism.closing
    groups = [g for g, group in enumerate(closing.groups) if closing.tiles[group[0]].joint == joint]
    if any(len(closing.groups[g]) > 1 for g in groups):
        raise ValueError(f"reactions: {joint!r} couples joints, its wrenches are not on one body: coordinate_forces")
    rows = mechanism.constraint_rows(q, v, t).tiles
    torque, force = np.zeros((*multipliers.shape[:-1], 3)), np.zeros((*multipliers.shape[:-1], 3))
    for r, (g, k) in enumerate(closing.rows):
        if g in groups:
            tile = closing.groups[g][0]
            angular, linear = (
                rows[..., tile, at + 3 * k : at + 3 * k + 3] for at in (ROWS.second_angular, ROWS.second_linear)
            )
            if closing.tiles[tile].kind == POINT:  # not stored
                linear = np.eye(3)[k]
            torque = torque - multipliers[..., r, None] * angular
            force = force - multipliers[..., r, None] * linear
    if hasattr(item, "child"):
        child, frame = item.child, np.array(item.child_frame)
    else:
        child, frame = _second_body(mechanism, item), pose_group.identity()
    turn = np.broadcast_to(np.eye(3), (*force.shape[:-1], 3, 3))  # of the link in space
    link, on_link = closing.places[child]
    if link >= 0:
        body = quaternion_to_matrix(mechanism.poses(q, child)[..., :4])
        turn = body @ quaternion_to_matrix(on_link[:4]).T
    place = pose_group.compose(on_link, frame)
    force = np.einsum("...ji,...j->...i", turn, force)
    torque = torque - np.cross(place[4:], force)
    axes = quaternion_to_matrix(place[:4])
    return np.concatenate([torque @ axes, force @ axes], axis=-1)


def coordinate_forces(
    mechanism: ClosedMechanism, name: str, q: ArrayLike, v: ArrayLike, u: ArrayLike | None, t: ArrayLike
) -> np.ndarray:
    """Forces of a coupling or drive along its coordinates: `ClosedMechanism.coordinate_forces`."""
    driven: Any = [item for item in mechanism.system.constraints if isinstance(item, Coupling | Drive)]
    known = {item.name: item for item in driven}
    if name not in known:
        listed = ", ".join(sorted(known)[:12]) or "none"
        raise ValueError(
            f"coordinate_forces: there is no coupling or drive {name!r}; {meant(name, known)}there are {listed}"
        )
    return along_coordinates(mechanism, name, q, v, t, mechanism.constrained_motion(q, v, u, t).multipliers)


def along_coordinates(
    mechanism: ClosedMechanism, name: str, q: ArrayLike, v: ArrayLike, t: ArrayLike, multipliers: np.ndarray
) -> np.ndarray:
    """Forces of a coupling or drive along its coordinates, (..., n), by multipliers (..., rows)."""
    item: Any = next(item for item in mechanism.system.constraints if item.name == name)
    single = isinstance(item, Drive)
    pairs = [(item.joint, item.coordinate)] if single else zip(item.joints, item.coordinates, strict=True)
    columns = [mechanism.tree.velocities[joint].start + k for joint, k in pairs]
    rows = mechanism.constraint_of_row == mechanism.constraint_names.index(name)
    J = mechanism.constraint_rows(q, v, t).jacobian[..., rows, :][..., columns]
    return -np.einsum("...rk,...r->...k", J, multipliers[..., rows])


def _second_body(mechanism: ClosedMechanism, constraint) -> str:
    if hasattr(constraint, "bodies"):
        return constraint.bodies[1]
    return mechanism.split.system.joint(constraint.joint).child  # a drive


def _closing(mechanism: ClosedMechanism, name: str):
    """The cut joint or constraint of a name."""
    found = {item.name: item for item in (*mechanism.split.cut, *mechanism.system.constraints)}
    if name in found:
        return found[name]
    names = [joint.name for joint in mechanism.system.joints] + [item.name for item in mechanism.system.constraints]
    known, near = ", ".join(names[:12]), meant(name, names)
    raise ValueError(f"reactions: there is no joint or constraint {name!r}; {near}there are {known or 'none'}")
