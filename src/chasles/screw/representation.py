"""Twists, accelerations and wrenches among the four representations: body, spatial, hybrid, mixed.

With the pose (R, r) of a body:

    body     (ω_b, v_b)         both in body axes
    spatial  (ω_s, r' + r × ω_s) world axes, velocity of the body's point at the origin of the world
    hybrid   (ω_s, r')          world axes, velocity of the body's origin
    mixed    (ω_b, r')          angular in body axes, linear in world axes

Wrenches are dual: torque about the origin of the body, or of the world for "spatial", and the power is the same in
all four. Accelerations are the time derivatives of the six numbers of a twist, so hybrid and mixed have r''.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.screw.frames import check_batches, halves, join, rotate, rotate_back, rotation_and_position

REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")
_ANGULAR_IN_BODY_AXES = ("body", "mixed")


def check_representation(function: str, name: str) -> None:
    """ValueError that lists the four names unless the name is one of them."""
    if name not in REPRESENTATIONS:
        raise ValueError(f"{function}: {name!r} is not a representation; it is one of {', '.join(REPRESENTATIONS)}")


def convert_twist(twist: ArrayLike, pose: ArrayLike, source: str, target: str) -> np.ndarray:
    """Twists (..., 6) of a body from one representation to another. Source: mueller2018 eqs. (98)-(100).

    pose: of the body in the world, (..., 7) or (..., 4, 4).
    """
    w, v, r, p = _arguments("convert_twist", "twist", twist, pose, source, target)
    if source == target:
        return join(*_broadcast(w, v, p))
    world = _turn(w, r, source, "hybrid")
    velocity = _velocity(v, world, r, p, source)
    angular = _turn(w, r, source, target)
    if target == "body":
        return join(angular, rotate_back(r, velocity))
    if target == "spatial":
        return join(angular, velocity + np.cross(p, world))
    return join(angular, velocity)


def convert_wrench(wrench: ArrayLike, pose: ArrayLike, source: str, target: str) -> np.ndarray:
    """Wrenches (..., 6) on a body from one representation to another, of the same power.

    Source: mueller2018 eq. (120).
    """
    t, f, r, p = _arguments("convert_wrench", "wrench", wrench, pose, source, target)
    if source == target:
        return join(*_broadcast(t, f, p))
    force = rotate(r, f) if source == "body" else f
    if source == "spatial":
        t = t - np.cross(p, force)
    torque = _turn(t, r, source, target)
    if target == "spatial":
        torque = torque + np.cross(p, force)
    return join(torque, rotate_back(r, force) if target == "body" else force)


def convert_acceleration(
    acceleration: ArrayLike, twist: ArrayLike, pose: ArrayLike, source: str, target: str
) -> np.ndarray:
    """Derivatives (..., 6) of twists from one representation to another: the six numbers of V' in the target.

    acceleration, twist: V' and V, both in the source representation. With ω, ω' in world axes, the linear part is
    R (v_b' + ω_b × v_b) = r'' in hybrid and mixed, and v_s' = r'' + r' × ω + r × ω' in spatial. Obtained by
    differentiating mueller2018 eqs. (98)-(100); the angular part of mixed is Rᵀ ω' (mueller2018 eq. (33), V'ᵐ).
    """
    dw, dv, r, p = _arguments("convert_acceleration", "acceleration", acceleration, pose, source, target)
    w, v = halves("convert_acceleration", "twist", twist)
    check_batches("convert_acceleration", acceleration=dw, twist=w, pose=p)
    if source == target:
        return join(*_broadcast(dw, dv, p, w))
    w, dw_world = _turn(w, r, source, "hybrid"), _turn(dw, r, source, "hybrid")
    velocity = _velocity(v, w, r, p, source)
    if source == "body":
        second = rotate(r, dv) + np.cross(w, velocity)
    elif source == "spatial":
        second = dv + np.cross(w, velocity) + np.cross(dw_world, p)
    else:
        second = dv
    angular = _turn(dw, r, source, target)
    if target == "body":
        return join(angular, rotate_back(r, second - np.cross(w, velocity)))
    if target == "spatial":
        return join(angular, second - np.cross(w, velocity) - np.cross(dw_world, p))
    return join(angular, second)


def _arguments(function, name, value, pose, source, target):
    check_representation(function, source)
    check_representation(function, target)
    a, b = halves(function, name, value)
    r, p = rotation_and_position(function, pose)
    check_batches(function, **{name: a, "pose": p})
    return a, b, r, p


def _broadcast(a, b, *others):
    """The halves in the shape of the whole batch."""
    shape = np.broadcast_shapes(a.shape, *(other.shape for other in others))
    return np.broadcast_to(a, shape), np.broadcast_to(b, shape)


def _turn(a, r, source, target):
    """An angular velocity, its rate or a torque from the axes of one representation to those of another."""
    was_body, is_body = source in _ANGULAR_IN_BODY_AXES, target in _ANGULAR_IN_BODY_AXES
    if was_body == is_body:
        return a  # not turned forth and back: no digit is lost
    return rotate(r, a) if was_body else rotate_back(r, a)


def _velocity(v, w, r, p, source):
    """r' of the linear part, with ω in world axes."""
    if source == "body":
        return rotate(r, v)
    return v + np.cross(w, p) if source == "spatial" else v
