"""The transition map τ and its differential, on arrays: (..., 7) or (..., 6) absolute, (..., 6) local coordinates.

The compiled form, for integrators, is the move of blocks of coordinates in `integrate.chart_blocks`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose, rotation, s3, s3xr3, se3, so3
from chasles.lie.arrays import real_array
from chasles.lie.transition.coordinates import (
    EULER,
    QUATERNION,
    ROTATION_VECTOR,
    ROTATION_VECTOR_2PI,
    SCREW,
    SE3,
    Absolute,
    Local,
    absolute_of,
    local_of,
)
from chasles.lie.transition.kinematics import rate

_ROTATION: dict[int, tuple[Callable, Callable]] = {
    ROTATION_VECTOR: (s3.exp, rotation.quaternion_to_rotation_vector),
    ROTATION_VECTOR_2PI: (s3.exp, s3.log),
}
_MOTION: dict[tuple[str, str], Callable] = {
    (SE3, "exp"): pose.exp,
    (SE3, "cay"): pose.cay,
    (SE3, "cay2"): pose.cay2,
}
_TURN: dict[str, Callable] = {"exp": s3.exp, "cay": s3.cay, "cay2": s3.cay2}
_BACK: dict[str, tuple[Callable, Callable]] = {
    "exp": (s3.log, pose.log),
    "cay": (s3.cayinv, pose.cayinv),
    "cay2": (s3.cay2inv, pose.cay2inv),
}
_DIFFERENTIAL: dict[str, tuple[Callable, Callable]] = {
    "exp": (so3.dexp, se3.dexp),
    "cay": (so3.dcay, se3.dcay),
    "cay2": (so3.dcay2, se3.dcay2),
}
_INVERSE: dict[str, tuple[Callable, Callable]] = {
    "exp": (so3.dexpinv, se3.dexpinv),
    "cay": (so3.dcayinv, se3.dcayinv),
    "cay2": (so3.dcay2inv, se3.dcay2inv),
}


def to_pose(q: ArrayLike, absolute: str | Absolute = "quaternion") -> np.ndarray:
    """Poses (..., 7) of absolute coordinates. Source: mueller2022 eq. (9)."""
    chart = absolute_of("transition.to_pose", absolute)
    numbers = real_array("transition.to_pose", "q", q, (chart.size,))
    if chart.code == QUATERNION:
        pose.inverse(numbers)  # checks the norm
        return numbers.copy()
    if chart.code == SCREW:
        return pose.exp(numbers)
    if chart.code >= EULER:
        turned = rotation.euler_to_quaternion(numbers[..., :3], chart.sequence)
    else:
        turned = _ROTATION[chart.code][0](numbers[..., :3])
    return np.concatenate([turned, numbers[..., 3:]], axis=-1)


def from_pose(g: ArrayLike, absolute: str | Absolute = "quaternion") -> np.ndarray:
    """Absolute coordinates of poses (..., 7).

    At gimbal lock the last angle (about the moving axes) is zero; at |ρ| = π, where both signs are right, one is given.
    """
    chart = absolute_of("transition.from_pose", absolute)
    numbers = real_array("transition.from_pose", "g", g, (7,))
    if chart.code == QUATERNION:
        pose.inverse(numbers)  # checks the norm
        return numbers.copy()
    if chart.code == SCREW:
        return pose.log(numbers)
    if chart.code >= EULER:
        angles = rotation.quaternion_to_euler(numbers[..., :4], chart.sequence)
    else:
        angles = _ROTATION[chart.code][1](numbers[..., :4])
    return np.concatenate([angles, numbers[..., 4:]], axis=-1)


def motion(x: ArrayLike, local: str | Local = "screw") -> np.ndarray:
    """The motion ψ(x), as a pose: quaternion and displacement."""
    chosen = local_of("transition.motion", local)
    numbers = real_array("transition.motion", "x", x, (6,))
    if chosen.group == SE3:
        return _MOTION[SE3, chosen.map](numbers)
    return np.concatenate([_TURN[chosen.map](numbers[..., :3]), numbers[..., 3:]], axis=-1)


def from_motion(g: ArrayLike, local: str | Local = "screw") -> np.ndarray:
    """Local coordinates x (..., 6) of motions ψ(x) that turn by at most π (less for Rodrigues vectors), as poses."""
    chosen = local_of("transition.from_motion", local)
    numbers = real_array("transition.from_motion", "g", g, (7,))
    rotations, motions = _BACK[chosen.map]
    if chosen.group == SE3:
        return motions(numbers)
    turn = numbers[..., :4]
    return np.concatenate([rotations(np.where(turn[..., :1] < 0, -turn, turn)), numbers[..., 4:]], axis=-1)


def tau(
    q: ArrayLike,
    x: ArrayLike,
    absolute: str | Absolute = "quaternion",
    local: str | Local = "screw",
    side: str = "right",
) -> np.ndarray:
    """Local-global transition map: absolute coordinates q' with α(q') = α(q) ψ(x), or ψ(x) α(q) with side="left".

    Arrays broadcast over leading axes. "right" goes with velocities in the body (body and mixed twists), "left" with
    those in space (spatial and hybrid ones, mueller2022 remark 1).
    Source: mueller2022 eqs. (50), (59)-(71); (62), (66), (70) and the map of Rodrigues vectors corrected.
    """
    chosen, chart = local_of("transition.tau", local), absolute_of("transition.tau", absolute)
    if side not in ("right", "left"):
        raise ValueError(f'transition.tau: side {side!r}; expected "right" or "left"')
    quaternion = chart.code == QUATERNION  # poses already; the product checks the norm
    before = real_array("transition.tau", "q", q, (7,)) if quaternion else to_pose(q, chart)
    compose, step = pose.compose if chosen.group == SE3 else s3xr3.compose, motion(x, chosen)
    after = compose(before, step) if side == "right" else compose(step, before)
    if not quaternion:
        return from_pose(after, chart)
    turned = after[..., :4]
    turned *= 1.5 - 0.5 * (turned * turned).sum(axis=-1, keepdims=True)  # else rounding adds up over many steps
    return after


def dtau(
    q: ArrayLike,
    x: ArrayLike,
    absolute: str | Absolute = "quaternion",
    local: str | Local = "screw",
    side: str = "right",
) -> np.ndarray:
    """Derivative of τ with respect to x, (..., 7 or 6, 6): H⁻¹(q') dψ_{-x}, or dψ_x on the left, for implicit methods.

    ValueError where the absolute coordinates are singular: at gimbal lock, at |ρ| = 2π.
    """
    chosen, chart = local_of("transition.dtau", local), absolute_of("transition.dtau", absolute)
    after = tau(q, x, chart, chosen, side)
    numbers = np.asarray(x, dtype=float)
    twist = differential(-numbers if side == "right" else numbers, chosen)
    columns = np.broadcast_to(np.swapaxes(twist, -1, -2), (*after.shape[:-1], 6, 6))
    angular, linear = columns[..., :3], columns[..., 3:]
    matrix = pose.to_matrix(to_pose(after, chart))
    turned = matrix[..., :3, :3]
    if chosen.group == SE3 and side == "right":  # body twists: to (ω_b, r')
        linear = linear @ np.swapaxes(turned, -1, -2)
    elif chosen.group == SE3:  # spatial ones
        linear = linear + np.cross(angular, matrix[..., None, :3, 3])
    if side == "left":
        angular = angular @ turned
    return np.swapaxes(rate(after[..., None, :], np.concatenate([angular, linear], axis=-1), chart), -1, -2)


def differential(x: ArrayLike, local: str | Local = "screw") -> np.ndarray:
    """Right-trivialized differential dψ_x, (..., 6, 6): the velocity in the body is dψ_{-x} x'.

    Source: mueller2022 (19).
    """
    return _matrix("differential", _DIFFERENTIAL, x, local)


def local_rate(x: ArrayLike, velocity: ArrayLike, local: str | Local = "screw", side: str = "right") -> np.ndarray:
    """x' = dψ⁻¹_{-x} V, or dψ⁻¹_x V with side="left": the local kinematics. Source: mueller2022 eq. (53).

    V is the velocity of the group: on SE(3) a body (left: spatial) twist, on SO(3)xR3 a mixed (left: hybrid) one.
    """
    numbers = np.asarray(x, dtype=float)
    inverse = _matrix("local_rate", _INVERSE, -numbers if side == "right" else numbers, local)
    return (inverse @ real_array("transition.local_rate", "velocity", velocity, (6,))[..., None])[..., 0]


def _matrix(function: str, table: dict[str, tuple[Callable, Callable]], x: ArrayLike, local: str | Local) -> np.ndarray:
    chosen = local_of(f"transition.{function}", local)
    numbers = real_array(f"transition.{function}", "x", x, (6,))
    rotations, motions = table[chosen.map]
    if chosen.group == SE3:
        return motions(numbers)
    result = np.zeros((*numbers.shape[:-1], 6, 6))
    result[..., :3, :3], result[..., 3:, 3:] = rotations(numbers[..., :3]), np.eye(3)
    return result
