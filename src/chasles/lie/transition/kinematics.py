"""Rates of absolute coordinates and velocities of bodies, V = H(q) q' (mueller2022 eq. (2)), and how far a singularity
is.

Velocities here are mixed: angular velocity in the body, rate of the position. H is regular everywhere but at the
singularities of the coordinates, where its inverse does not exist; the transition maps do not need the inverse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose, s3, se3, so3
from chasles.lie.arrays import real_array
from chasles.lie.transition.coordinates import EULER, QUATERNION, SCREW, Absolute, absolute_of

NEAR = 1e-8  # how near a singularity is refused


def velocity(q: ArrayLike, q_rate: ArrayLike, absolute: str | Absolute = "quaternion") -> np.ndarray:
    """Mixed twist (ω_b, r') of rates of absolute coordinates, (..., 6)."""
    chart, numbers, rates = _arguments("velocity", q, absolute, q_rate=q_rate)
    if chart.code == QUATERNION:
        turn, spin = numbers[..., :4], rates[..., :4]
        w, v = turn[..., :1], turn[..., 1:]
        angular = 2.0 * (w * spin[..., 1:] - spin[..., :1] * v - np.cross(v, spin[..., 1:]))  # vector of q* q'
        return _joined(angular, rates[..., 4:])
    if chart.code == SCREW:
        body = se3.dexp_apply(-numbers, rates)
        return _joined(body[..., :3], s3.act(pose.exp(numbers)[..., :4], body[..., 3:]))
    if chart.code >= EULER:
        angular = (_euler_matrix(numbers[..., :3], chart.sequence) @ rates[..., :3, None])[..., 0]
    else:
        angular = so3.dexp_apply(-numbers[..., :3], rates[..., :3])
    return _joined(angular, rates[..., 3:])


def rate(q: ArrayLike, twist: ArrayLike, absolute: str | Absolute = "quaternion") -> np.ndarray:
    """Rates q' of absolute coordinates of a mixed twist (ω_b, r'): H⁻¹(q) V; ValueError at a singularity."""
    chart, numbers, twists = _arguments("rate", q, absolute, twist=twist)
    angular, linear = twists[..., :3], twists[..., 3:]
    if (near := clearance(numbers, chart)).min(initial=np.inf) <= NEAR:
        where = [int(k) for k in np.unravel_index(np.argmin(near), near.shape)] or ""
        raise ValueError(
            f"transition.rate: q{where} is {near.min():.3g} rad from a singularity of {chart.name!r} coordinates, "
            "where rates do not exist; take quaternions, or integrate twists with a transition map, which needs none"
        )
    if chart.code == QUATERNION:
        w, v = numbers[..., :1], numbers[..., 1:4]
        turn = 0.5 * np.concatenate(
            [-(v * angular).sum(axis=-1, keepdims=True), w * angular + np.cross(v, angular)], axis=-1
        )
        return _joined(turn, linear)
    if chart.code == SCREW:
        back = s3.act(s3.inverse(pose.exp(numbers)[..., :4]), linear)
        return se3.dexpinv_apply(-numbers, _joined(angular, back))
    if chart.code >= EULER:
        matrix = _euler_matrix(numbers[..., :3], chart.sequence)
        return _joined(np.linalg.solve(matrix, angular[..., None])[..., 0], linear)
    return _joined(so3.dexpinv_apply(-numbers[..., :3], angular), linear)


def clearance(q: ArrayLike, absolute: str | Absolute = "quaternion") -> np.ndarray:
    """Angle [rad] to the nearest singularity of the coordinates, (...): gimbal lock, or |ρ| a multiple of 2π.

    Infinite for quaternions, which have none.
    """
    chart = absolute_of("transition.clearance", absolute)
    numbers = real_array("transition.clearance", "q", q, (chart.size,))
    if chart.code == QUATERNION:
        return np.full(numbers.shape[:-1], np.inf)
    if chart.code >= EULER:
        letters = chart.sequence.upper()
        middle = numbers[..., 1] + (0.0 if letters[0] == letters[2] else np.pi / 2)
        return abs(middle - np.pi * np.rint(middle / np.pi))
    angle = np.linalg.norm(numbers[..., :3], axis=-1)
    return abs(angle - 2 * np.pi * np.maximum(np.rint(angle / (2 * np.pi)), 1.0))


def _euler_matrix(angles: np.ndarray, sequence: str) -> np.ndarray:
    """ω_b of the rates of three angles, (..., 3, 3): each axis as the turns after it leave it, seen from the body."""
    moving = sequence.upper() if sequence.isupper() else sequence[::-1].upper()
    order = (0, 1, 2) if sequence.isupper() else (2, 1, 0)
    result = np.empty((*angles.shape[:-1], 3, 3))
    for place, letter in enumerate(moving):
        column = np.broadcast_to(np.eye(3)["XYZ".index(letter)], (*angles.shape[:-1], 3))
        for later in range(place + 1, 3):
            back = -np.eye(3)["XYZ".index(moving[later])] * angles[..., order[later], None]
            column = s3.act(s3.exp(back), column)
        result[..., order[place]] = column
    return result


def _arguments(function: str, q: ArrayLike, absolute: str | Absolute, **others: ArrayLike):
    chart = absolute_of(f"transition.{function}", absolute)
    label = f"transition.{function}"
    numbers = real_array(label, "q", q, (chart.size,))
    ((name, value),) = others.items()
    given = real_array(label, name, value, (chart.size if name == "q_rate" else 6,))
    if chart.code == QUATERNION:
        pose.inverse(numbers)  # checks the norm
    try:
        batch = np.broadcast_shapes(numbers.shape[:-1], given.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{label}: leading axes do not broadcast: q {numbers.shape[:-1]}, {name} {given.shape[:-1]}"
        ) from None
    return (
        chart,
        np.broadcast_to(numbers, (*batch, numbers.shape[-1])),
        np.broadcast_to(given, (*batch, given.shape[-1])),
    )


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate([first, second], axis=-1)
