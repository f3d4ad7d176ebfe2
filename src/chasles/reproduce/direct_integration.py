"""What people do without transition maps: the rates of quaternions or Euler angles integrated like numbers.

Four ways, all with mixed twists (ω_b, r') and the same accelerations:

    quaternion        q' = q ω / 2 as it is
    renormalized      the same, divided by its norm after each step
    constrained       states (q, q') with |q| = 1 as a constraint, its multiplier eliminated: q'' = q ω'/2 - |q'|² q
    euler             three angles (ZYX), with the inverse of their rates, which is singular at gimbal lock
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD
from chasles.integrate.problem import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array
from chasles.kernel.functions import sincos
from chasles.lie import quaternion, transition
from chasles.lie.transition.coordinates import ABSOLUTE
from chasles.reproduce.user_model import accelerations_at, model_parameters, poses_at, room_at

WAYS = ("quaternion", "renormalized", "constrained", "euler")
ZYX = ABSOLUTE["euler:ZYX"].code


@field
def quaternion_rates(t, y, p, out):
    """y = (quaternions and positions, mixed twists)."""
    packed = p[1:]
    n = as_integer_array(packed)[HEAD.n_bodies]
    v = y[POSE * n :]
    for i in range(n):
        a = POSE * i
        spin = (0.0, 0.5 * v[TWIST * i], 0.5 * v[TWIST * i + 1], 0.5 * v[TWIST * i + 2])
        out[a], out[a + 1], out[a + 2], out[a + 3] = quaternion.product((y[a], y[a + 1], y[a + 2], y[a + 3]), spin)
        for k in range(3):
            out[a + 4 + k] = v[TWIST * i + 3 + k]
    accelerations_at(t, packed, y[: POSE * n], v, out[POSE * n :])


@field
def to_unit_norm(t, y, p, out):
    """Quaternions divided by their norms."""
    n = as_integer_array(p[1:])[HEAD.n_bodies]
    for k in range(y.shape[0]):
        out[k] = y[k]
    for i in range(n):
        a = POSE * i
        out[a], out[a + 1], out[a + 2], out[a + 3] = quaternion.normalize((y[a], y[a + 1], y[a + 2], y[a + 3]))


@field
def quaternions_with_multiplier(t, y, p, out):
    """y = (quaternions and positions, their rates)."""
    packed = p[1:]
    n = as_integer_array(packed)[HEAD.n_bodies]
    v, change = packed[room_at(packed) :], packed[room_at(packed) + TWIST * n :]
    for i in range(n):
        a, b = POSE * i, POSE * n + POSE * i
        q, rate = (y[a], y[a + 1], y[a + 2], y[a + 3]), (y[b], y[b + 1], y[b + 2], y[b + 3])
        _, x, u, w = quaternion.product(quaternion.conjugate(q), rate)
        v[TWIST * i], v[TWIST * i + 1], v[TWIST * i + 2] = 2.0 * x, 2.0 * u, 2.0 * w
        for k in range(3):
            v[TWIST * i + 3 + k] = y[b + 4 + k]
    accelerations_at(t, packed, y[: POSE * n], v, change)
    for i in range(n):
        a, b, c = POSE * i, POSE * n + POSE * i, TWIST * i
        spin = (0.0, 0.5 * change[c], 0.5 * change[c + 1], 0.5 * change[c + 2])
        second = quaternion.product((y[a], y[a + 1], y[a + 2], y[a + 3]), spin)
        size = y[b] * y[b] + y[b + 1] * y[b + 1] + y[b + 2] * y[b + 2] + y[b + 3] * y[b + 3]
        for k in range(4):
            out[b + k] = second[k] - size * y[a + k]
        for k in range(3):
            out[b + 4 + k] = change[c + 3 + k]
        for k in range(POSE):
            out[a + k] = y[b + k]


@field
def euler_rates(t, y, p, out):
    """y = (three angles Z, Y, X and positions, mixed twists)."""
    packed = p[1:]
    n = as_integer_array(packed)[HEAD.n_bodies]
    v, poses = y[TWIST * n :], packed[room_at(packed) :]
    poses_at(ZYX, n, y, poses)
    for i in range(n):
        a = TWIST * i
        (sb, cb), (sc, cc) = sincos(y[a + 1]), sincos(y[a + 2])
        w1, w2, w3 = v[a], v[a + 1], v[a + 2]
        yaw = (sc * w2 + cc * w3) / cb
        out[a], out[a + 1], out[a + 2] = yaw, cc * w2 - sc * w3, w1 + sb * yaw
        for k in range(3):
            out[a + 3 + k] = v[a + 3 + k]
    accelerations_at(t, packed, poses, v, out[TWIST * n :])


class Direct:
    """A mechanism (compiled for SO(3)xR3) in coordinates that are integrated like numbers."""

    def __init__(self, mechanism: AbsoluteMechanism, way: str):
        self.way, self.n = way, mechanism.n
        fields = (quaternion_rates, quaternion_rates, quaternions_with_multiplier, euler_rates)
        correction = to_unit_norm if way == "renormalized" else None
        size = {"constrained": 14, "euler": 12}.get(way, 13) * self.n
        p = model_parameters(mechanism, 0)
        self.problem = LieODE(Space(f"r{size}"), fields[WAYS.index(way)], p, correction)

    def state(self, poses: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """The point of central poses (n, 7) and mixed twists (n, 6)."""
        if self.way == "euler":
            return np.concatenate([transition.from_pose(poses, "euler:ZYX"), twists], axis=None)
        rates = transition.rate(poses, twists) if self.way == "constrained" else twists
        return np.concatenate([poses, rates], axis=None)

    def poses(self, y: np.ndarray) -> np.ndarray:
        """Poses (..., n, 7) of points; quaternions as they are, off the unit sphere or not."""
        if self.way == "euler":
            return transition.to_pose(y[..., : 6 * self.n].reshape(*y.shape[:-1], self.n, 6), "euler:ZYX")
        return y[..., : 7 * self.n].reshape(*y.shape[:-1], self.n, 7)
