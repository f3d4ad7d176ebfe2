"""Newton-Euler equations of one rigid body: the wrench that its motion needs, in every representation and frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import se3
from chasles.lie.arrays import real_array
from chasles.screw import inertia as spatial
from chasles.screw.frames import check_batches, halves, join, rotate, rotate_back, rotation_and_position
from chasles.screw.representation import check_representation


def wrench_of_motion(
    inertia: ArrayLike,
    twist: ArrayLike,
    acceleration: ArrayLike,
    representation: str = "body",
    pose: ArrayLike | None = None,
) -> np.ndarray:
    """Wrench (..., 6) that gives a body its acceleration; twist, its derivative and wrench in one representation.

    With the inertia (m, h = m d, Θ) about the reference point, and the acceleration a of that point,

        t = Θ ω' + ω × Θ ω + h × a,   f = m a + ω' × h + ω × (ω × h)

    in body axes (body: a = v' + ω × v), in world axes (hybrid: a = r''; spatial: at the world's origin, where
    a = v' + ω × v again) or t in body and f in world axes (mixed).
    Source: mueller2018 eqs. (41)-(43), (38), (53)-(55), (56), (57); (42) corrected.

    inertia: always that in the body frame, (..., 6, 6). pose: of the body, needed except for "body".
    """
    name = "wrench_of_motion"
    check_representation(name, representation)
    w, v = halves(name, "twist", twist)
    dw, dv = halves(name, "acceleration", acceleration)
    matrix = real_array(name, "inertia", inertia, (6, 6))
    check_batches(name, inertia=matrix[..., 0], twist=w, acceleration=dw)
    if representation == "body":
        return join(*_torque_and_force(matrix, w, dw, dv + np.cross(w, v)))
    if pose is None:
        raise ValueError(f"{name}: representation {representation!r} needs the pose of the body")
    r, p = rotation_and_position(name, pose)
    check_batches(name, inertia=matrix[..., 0], twist=w, acceleration=dw, pose=p)
    if representation == "mixed":
        t, f = _torque_and_force(matrix, w, dw, rotate_back(r, dv))
        return join(t, rotate(r, f))
    a = dv + np.cross(w, v) if representation == "spatial" else dv
    matrix = spatial.transform(matrix, se3.from_parts(r, p if representation == "spatial" else np.zeros(3)))
    return join(*_torque_and_force(matrix, w, dw, a))


def _torque_and_force(matrix, w, dw, a):
    parameters = spatial.to_parameters(matrix)
    m, h = parameters[..., :1], parameters[..., 1:4]
    theta = matrix[..., :3, :3]
    t = rotate(theta, dw) + np.cross(w, rotate(theta, w)) + np.cross(h, a)
    return t, m * a + np.cross(dw, h) + np.cross(w, np.cross(w, h))


def wrench_in_frame(
    inertia: ArrayLike,
    twist: ArrayLike,
    acceleration: ArrayLike,
    frame_twist: ArrayLike,
    axes_angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
) -> np.ndarray:
    """Wrench (..., 6) on a body, with all quantities in an arbitrary moving frame F_j.

        W = M (V' + ad_{V_j} V) - ad_Vᵀ M V

    inertia, twist, acceleration: of the body, in F_j (`inertia.transform`, `lie.se3.Ad_apply`); the acceleration is the
    derivative of the six numbers of V. frame_twist: body twist V_j of F_j. Source: mueller2018 eq. (60).

    The numbers may be resolved in the axes of a frame F_k that turns relative to F_j. Then `axes_angular_velocity` is
    the angular velocity of F_k relative to F_j. All numbers are in the axes of F_k.
    Source: mueller2018 eq. (63), with the angular velocity read as the relative one.
    """
    name = "wrench_in_frame"
    matrix = real_array(name, "inertia", inertia, (6, 6))
    v, dv = real_array(name, "twist", twist, (6,)), real_array(name, "acceleration", acceleration, (6,))
    frame = real_array(name, "frame_twist", frame_twist, (6,))
    turning = real_array(name, "axes_angular_velocity", axes_angular_velocity, (3,))
    check_batches(
        name, inertia=matrix[..., 0], twist=v, acceleration=dv, frame_twist=frame, axes_angular_velocity=turning
    )
    moving = frame + join(turning, np.zeros(3))
    rate = dv + se3.bracket(moving, v)
    return np.einsum("...ij,...j->...i", matrix, rate) - se3.adT_apply(v, np.einsum("...ij,...j->...i", matrix, v))
