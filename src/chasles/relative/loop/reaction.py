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

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism


def reactions(mechanism: ClosedMechanism, joint: str, q: ArrayLike, v: ArrayLike, u: ArrayLike | None, t: ArrayLike):
    """Wrenches of a cut joint or constraint on its child: `ClosedMechanism.reactions`."""
    _closing(mechanism, joint)
    return wrenches_of(mechanism, joint, q, v, t, mechanism.constrained_motion(q, v, u, t).multipliers)


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
    item = known[name]
    single = isinstance(item, Drive)
    pairs = [(item.joint, item.coordinate)] if single else zip(item.joints, item.coordinates, strict=True)
    columns = [mechanism.tree.velocities[joint].start + k for joint, k in pairs]
    rows = mechanism.constraint_of_row == mechanism.constraint_names.index(name)
    multipliers = mechanism.constrained_motion(q, v, u, t).multipliers[..., rows]
    J = mechanism.constraint_rows(q, v, t).jacobian[..., rows, :][..., columns]
    return -np.einsum("...rk,...r->...k", J, multipliers)


def _second_body(mechanism: ClosedMechanism, constraint) -> str:
    if hasattr(constraint, "bodies"):
        return constraint.bodies[1]
    return mechanism.split.system.joint(constraint.joint).child  # a drive


def _closing(mechanism: ClosedMechanism, name: str):
    """The cut joint or constraint of a name."""
    found = {item.name: item for item in (*mechanism.split.cut, *mechanism.system.constraints)}
    if name in found:
        return found[name]
    if name in mechanism.constraint_names:
        raise ValueError(
            f"reactions: something acts along joint {name!r}, so it is a joint of the tree and its body is split; "
            "reactions are those of joints that are cut"
        )
    if name in mechanism.tree.coordinates:
        raise ValueError(
            f"reactions: {name!r} is a joint of the tree; cut it, compile(cut=[{name!r}]), or use absolute coordinates"
        )
    known = ", ".join([*found][:12])
    near = meant(name, found)
    raise ValueError(f"reactions: there is no cut joint or constraint {name!r}; {near}there are {known or 'none'}")
