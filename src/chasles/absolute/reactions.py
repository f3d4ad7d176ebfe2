"""What joints and constraints exert, from the multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.constraint.rows import NUMBERS
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.constraint import Coupling, Drive
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism


def on_constraints(mechanism: AbsoluteMechanism, central: np.ndarray, velocity: np.ndarray, t, angles):
    """The states at which the equations are solved: as given or, if equations depend on each other, the nearest ones on
    the constraints.

    Off them these equations contradict each other a little, and the multipliers have 1/ε of it: with velocities that
    are 1e-4 off, as those of methods with the constraints of positions alone, nothing else is left of them.
    """
    if not mechanism.redundant:
        return central, velocity
    batch = np.broadcast_shapes(central.shape[:-2], velocity.shape[:-2])
    q = np.array(np.broadcast_to(central, (*batch, *central.shape[-2:])), order="C")
    v = np.array(np.broadcast_to(velocity, (*batch, *velocity.shape[-2:])), order="C")
    times = np.broadcast_to(t, batch)
    for k in np.ndindex(batch):
        counted = None if angles is None else np.broadcast_to(angles, (*batch, mechanism.angles_counted))[k].copy()
        at, speed = mechanism.project(q[k], v[k], float(times[k]), counted)
        if np.isfinite(at).all() and np.isfinite(speed).all():
            q[k], v[k] = at, speed
    return q, v


def reactions(mechanism: AbsoluteMechanism, joint: str, central: np.ndarray, velocity: np.ndarray, u, t, angles):
    """Wrenches of a joint or constraint on its child: `AbsoluteMechanism.reactions`."""
    tiles = [k for k, tile in enumerate(mechanism.tiles) if tile.joint == joint]
    if joint not in mechanism.constraint_names:
        near = meant(joint, mechanism.constraint_names)
        known = ", ".join(mechanism.constraint_names[:12])
        raise ValueError(f"reactions: there is no joint or constraint {joint!r}; {near}there are {known}")
    if len({(mechanism.tiles[k].first, mechanism.tiles[k].second) for k in tiles}) > 1:
        raise ValueError(
            f"reactions: {joint!r} couples joints; its wrenches are not on one body: see coordinate_forces"
        )
    batch = np.broadcast_shapes(central.shape[:-2], velocity.shape[:-2])
    if not tiles:  # a free joint
        return np.zeros((*batch, 6))
    child = mechanism.tiles[tiles[0]].second
    central, velocity = on_constraints(mechanism, central, velocity, t, angles)
    wrenches = mechanism.applied_forces(central, velocity, u, t, angles)[0]
    multipliers = mechanism._solved(central, velocity, t, angles, wrenches)[0].multipliers[..., tiles, :]
    J = mechanism.jacobians(central, velocity, t, angles)[..., tiles, 1, :, :]
    wrench = -np.einsum("...tki,...tk->...i", J, multipliers)
    if child < 0:
        frame, R = pose_group.identity(), np.broadcast_to(np.eye(3), (*batch, 3, 3))
    else:
        names = {item.name: item for item in mechanism.system.joints}
        on_body = names[joint].child_frame if joint in names else pose_group.identity()
        frame = mechanism._central(mechanism.bodies[child], on_body)
        R = quaternion_to_matrix(central[..., child, :4])
    force = np.einsum("...ji,...j->...i", R, wrench[..., 3:])
    torque = wrench[..., :3] - np.cross(frame[4:], force)
    turn = quaternion_to_matrix(frame[:4])
    return np.concatenate([torque @ turn, force @ turn], axis=-1)


def coordinate_forces(
    mechanism: AbsoluteMechanism, constraint: str, central: np.ndarray, velocity: np.ndarray, u, t, angles
) -> np.ndarray:
    """Forces of a coupling or drive along coordinates: `AbsoluteMechanism.coordinate_forces`."""
    known = {item.name for item in mechanism.system.constraints if isinstance(item, Coupling | Drive)}
    if constraint not in known:
        listed = ", ".join(sorted(known)[:12]) or "none"
        near = meant(constraint, known)
        raise ValueError(f"coordinate_forces: there is no coupling or drive {constraint!r}; {near}there are {listed}")
    tiles = [k for k, tile in enumerate(mechanism.tiles) if tile.joint == constraint]
    ratios = np.array([mechanism.tiles[k].numbers[NUMBERS.s] for k in tiles])
    multipliers = mechanism.constrained_motion(central, velocity, u, t, angles).multipliers
    return -ratios * multipliers[..., tiles, 0]
