"""Operations of `chart` on arrays: all bodies of a mechanism at once, each in its space."""

from __future__ import annotations

import numpy as np

from chasles.absolute.assembly import moved as moved_in_space
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SE3_NAME
from chasles.lie import pose as pose_group
from chasles.lie import se3, so3


def on_se3(mechanism: AbsoluteMechanism) -> np.ndarray:
    """Which bodies are on SE(3)."""
    return np.array([mechanism.spaces[name] == SE3_NAME for name in mechanism.bodies], dtype=bool)


def bracket(mechanism: AbsoluteMechanism, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[x, y] in the algebra of each body's space, (bodies, 6)."""
    turning = on_se3(mechanism)
    out = np.zeros_like(x)
    out[:, :3] = so3.bracket(x[:, :3], y[:, :3])
    if turning.any():
        out[turning] = se3.bracket(x[turning], y[turning])
    return out


def moved(mechanism: AbsoluteMechanism, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """q exp(x) of each body in its space, (bodies, 7)."""
    out = moved_in_space(q, x)
    turning = on_se3(mechanism)
    if turning.any():
        out[turning] = pose_group.compose(q[turning], pose_group.exp(x[turning]))
    return out


def increment(mechanism: AbsoluteMechanism, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """x with start exp(x) = end of each body in its space, (..., bodies, 6)."""
    between = pose_group.log(pose_group.compose(pose_group.inverse(start), end))
    direct = ~on_se3(mechanism)
    between[..., direct, 3:] = end[..., direct, 4:] - start[direct, 4:]
    return between
