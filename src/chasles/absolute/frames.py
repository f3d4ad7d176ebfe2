"""Central frames of bodies, at their centers of mass along principal axes, and states in them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.space import SE3_NAME
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import matrix_to_quaternion, quaternion_to_matrix
from chasles.model.body import GROUND
from chasles.model.mimic import refuse_modes
from chasles.model.rod_parts import RodLink, RodNode
from chasles.model.system import System
from chasles.screw.representation import check_representation, convert_twist


class CentralFrames:
    """The bodies of a system, each with its space; conversions between the users' frames and central ones."""

    def __init__(self, system: System, spaces: Mapping[str, str], central: np.ndarray | None = None):
        """central: frames (bodies, 7) to take instead of those at the centers of mass along principal axes."""
        self.system, self.spaces = system, dict(spaces)
        self.bodies = tuple(body.name for body in system.bodies)
        self._index = {name: i for i, name in enumerate(self.bodies)}
        positive = np.linalg.eigvalsh(np.array([body.inertia for body in system.bodies]).reshape(-1, 3, 3))[:, 0] > 0
        for body, solid in zip(system.bodies, positive, strict=True):
            if isinstance(body, RodLink) and not body.mass > 0:
                refuse_modes(system)
            if isinstance(body, RodNode) and not (body.mass > 0 and min(np.diag(body.inertia)) > 0):
                raise ValueError(
                    f"node {body.name!r} of a rod has mass {body.mass:g} and moments {np.diag(body.inertia).tolist()}: "
                    "a motion needs both positive; give the material a density, or the section a mass and moments"
                )
            if not (body.mass > 0 and solid):
                raise ValueError(
                    f"body {body.name!r} has mass {body.mass:g} and inertia {body.inertia}: in absolute coordinates "
                    "every body needs a mass and a positive inertia; a point mass can be a small ball, "
                    "inertia=(1e-6, 1e-6, 1e-6); else weld it to another body, or use joint coordinates"
                )
        if central is None:
            self.moments, self.central = _central_frames(system)
        else:
            self.central = central

    @property
    def n(self) -> int:
        return len(self.bodies)

    def _central(self, body: str, frame: ArrayLike) -> np.ndarray:
        """A pose on a body's frame as seen from its central frame."""
        pose = np.array(frame, dtype=float)
        return pose if body == GROUND else pose_group.compose(pose_group.inverse(self.central[self._index[body]]), pose)

    def _places(self) -> dict[str, tuple[int, np.ndarray]]:
        places = dict(zip(self.bodies, enumerate(pose_group.inverse(self.central)), strict=True))
        return {**places, GROUND: (-1, pose_group.identity())}

    def state(self, poses: ArrayLike, twists: ArrayLike | None = None, representation: str = "body"):
        """Central poses (..., bodies, 7) and velocities (..., bodies, 6) from poses and twists of the users' frames."""
        check_representation("state", representation)
        given = real_array("state", "poses", poses, (self.n, 7))
        twist = (
            np.zeros((*given.shape[:-1], 6)) if twists is None else real_array("state", "twists", twists, (self.n, 6))
        )
        body = convert_twist(twist, given, representation, "body")
        central = pose_group.compose(given, self.central)
        velocity = pose_group.Ad_apply(pose_group.inverse(self.central), body)
        rotation = quaternion_to_matrix(central[..., :4])
        mixed = self._mixed
        velocity[..., mixed, 3:] = np.einsum("...ij,...j->...i", rotation, velocity[..., 3:])[..., mixed, :]
        return central, velocity

    @property
    def _mixed(self) -> np.ndarray:
        return np.array([self.spaces[name] != SE3_NAME for name in self.bodies], dtype=bool)

    def poses(self, central: ArrayLike) -> np.ndarray:
        """Poses of the users' body frames, (..., bodies, 7)."""
        return pose_group.compose(np.asarray(central, dtype=float), pose_group.inverse(self.central))

    def twists(self, central: ArrayLike, velocity: ArrayLike, representation: str = "body") -> np.ndarray:
        """Twists of the users' body frames, (..., bodies, 6)."""
        check_representation("twists", representation)
        q, body = np.asarray(central, dtype=float), np.array(velocity, dtype=float)
        rotation = quaternion_to_matrix(q[..., :4])
        back = np.einsum("...ji,...j->...i", rotation, body[..., 3:])
        body[..., self._mixed, 3:] = back[..., self._mixed, :]
        return convert_twist(pose_group.Ad_apply(self.central, body), self.poses(q), "body", representation)

    def accelerations(self, central: ArrayLike, velocity: ArrayLike, rate: ArrayLike) -> np.ndarray:
        """Time derivatives of the body twists of the users' body frames, (..., bodies, 6), from those of velocities."""
        q, v, body = (np.array(x, dtype=float) for x in (central, velocity, rate))
        rotation, mixed = quaternion_to_matrix(q[..., :4]), self._mixed
        speed, back = (np.einsum("...ji,...j->...i", rotation, x[..., 3:]) for x in (v, body))
        body[..., mixed, 3:] = (back - np.cross(v[..., :3], speed))[..., mixed, :]
        return pose_group.Ad_apply(self.central, body)

    def central_wrenches(self, central: ArrayLike, wrenches: ArrayLike) -> np.ndarray:
        """Wrenches on bodies in their frames as (torque in the body, force in space) at the centers."""
        there = pose_group.AdT_apply(self.central, np.asarray(wrenches, dtype=float))
        R = quaternion_to_matrix(np.asarray(central, dtype=float)[..., :4])
        return np.concatenate([there[..., :3], np.einsum("...ij,...j->...i", R, there[..., 3:])], axis=-1)

    def body_wrenches(self, central: ArrayLike, wrenches: ArrayLike) -> np.ndarray:
        """The inverse of `central_wrenches`."""
        given, R = np.asarray(wrenches, dtype=float), quaternion_to_matrix(np.asarray(central, dtype=float)[..., :4])
        force = np.einsum("...ji,...j->...i", R, given[..., 3:])
        return pose_group.AdT_apply(pose_group.inverse(self.central), np.concatenate([given[..., :3], force], axis=-1))


def _central_frames(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments (bodies, 3) and poses (bodies, 7) of the central frames on the bodies' own."""
    moments, frames = np.empty((len(system.bodies), 3)), np.empty((len(system.bodies), 7))
    for i, body in enumerate(system.bodies):
        inertia, frames[i] = np.array(body.inertia), np.array([1.0, 0.0, 0.0, 0.0, *np.asarray(body.com)])
        if np.count_nonzero(inertia - np.diag(np.diagonal(inertia))):
            moments[i], axes = np.linalg.eigh(inertia)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            frames[i, :4] = matrix_to_quaternion(axes)
        else:  # the axes that the user gave are principal ones
            moments[i] = np.diagonal(inertia)
    return moments, frames
