"""How cams look: disks, or bands along the curve if the follower is inside of it or the curve is open; followers."""

from __future__ import annotations

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.cam import Cam
from chasles.model.system import System
from chasles.view.part import ON_GROUND, Color, Part

THICKNESS = 0.08  # of a typical body
STANDING: Color = (0.62, 0.64, 0.67, 1.0)  # what stands on the ground


def cam_parts(system: System, size: float, colors: list[Color]) -> dict[int, tuple[Part, ...]]:
    """Solids on bodies and ground, by the number of the body."""
    number = {GROUND: ON_GROUND} | {body.name: k for k, body in enumerate(system.bodies)}
    shades, found = dict(enumerate(colors)) | {ON_GROUND: STANDING}, dict[int, tuple[Part, ...]]()
    for cam in (item for item in system.constraints if isinstance(item, Cam)):
        k, follower = (number[body] for body in cam.bodies)
        found[k] = (*found.get(k, ()), _profile(cam, THICKNESS * size, shades[k]))
        if cam.radius:
            roller = Part("sphere", (abs(cam.radius),), (1.0, 0.0, 0.0, 0.0, *cam.point), shades[follower])
            found[follower] = (*found.get(follower, ()), roller)
        if cam.face is not None:
            found[follower] = (*found.get(follower, ()), _plate(cam, THICKNESS * size, shades[follower]))
    return found


def _profile(cam: Cam, thickness: float, color: Color) -> Part:
    """The curve, drawn out along z to both sides."""
    curve = np.asarray(cam.curve.fine)
    n, half = len(curve), 0.5 * thickness
    levels = [np.column_stack([curve, np.full(n, z)]) for z in (-half, half)]
    k = np.arange(n if cam.closed else n - 1)
    after = (k + 1) % n
    wall = np.concatenate([np.stack([k, after, after + n], axis=1), np.stack([k, after + n, k + n], axis=1)])
    if cam.closed and cam.radius >= 0.0:
        middle = np.column_stack([np.tile(curve.mean(axis=0), (2, 1)), (-half, half)])
        below = np.stack([after, k, np.full(n, 2 * n)], axis=1)
        above = np.stack([k + n, after + n, np.full(n, 2 * n + 1)], axis=1)
        vertices, triangles = np.concatenate([*levels, middle]), np.concatenate([wall, below, above])
        if _area(curve) < 0.0:  # it goes round clockwise
            triangles = triangles[:, ::-1]
    else:  # seen from both sides
        vertices, triangles = np.concatenate(levels), np.concatenate([wall, wall[:, ::-1]])
    return Part("mesh", (1.0, 1.0, 1.0), tuple(cam.at), color, vertices, np.ascontiguousarray(triangles))


def _plate(cam: Cam, thickness: float, color: Color) -> Part:
    """A flat face: a disk, as wide as the profile reaches."""
    frame, half = np.array(cam.frames[1]), 0.25 * thickness
    place = pose_group.act(frame, np.array([0.0, 0.0, half]))
    reach = float(np.linalg.norm(cam.curve.fine, axis=1).max())
    return Part("cylinder", (reach, 2.0 * half), (*frame[:4].tolist(), *place.tolist()), color)


def _area(curve: np.ndarray) -> float:
    x, y = curve.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
