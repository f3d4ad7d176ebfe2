"""The chart of a step, q = τ(q_n, x), with coordinates x of all bodies as velocities measure them.

The local coordinates of cay and cay2 begin as a half and a quarter of a twist; here x is the multiple that begins as a
twist, so that the methods need not know. Brackets have the sign of the side on which the group acts, so that one
formula serves both. Arrays are (..., bodies, 6).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.lie import pose, s3xr3, se3, so3
from chasles.lie.transition.coordinates import SE3
from chasles.lie.transition.maps import differential, from_motion, motion, tau, to_pose
from chasles.screw.representation import convert_acceleration, convert_twist
from chasles.transition.problem import LGTProblem

SCALE = {"exp": 1.0, "cay": 2.0, "cay2": 4.0}
CUBE = {"exp": 0.0, "cay": 1 / 12, "cay2": 1 / 48}  # log ψ(x) = x + CUBE x̂³ + ...: of 2 artanh(x/2), 4 artanh(x/4)
_GROUPS: dict[bool, Any] = {True: pose, False: s3xr3}


class Chart:
    """Moves, brackets and velocities on the group of a problem's local coordinates."""

    def __init__(self, problem: LGTProblem):
        self.problem, self.local = problem, problem.motion
        self.on_se3 = self.local.group == SE3
        self.sign = 1.0 if problem.side == "right" else -1.0
        self.scale, self.cubic = SCALE[self.local.map], CUBE[self.local.map]
        self.own, self.group = problem.representation, problem.group_representation

    # ------------------------------------------------------------ positions

    def move(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return tau(q, x / self.scale, self.problem.chart, self.local, self.problem.side)

    def onward(self, x: np.ndarray) -> np.ndarray:
        """dψ_{-x}, (..., 6, 6): the displacement on the group that a change of x makes."""
        return differential(-self.sign / self.scale * x, self.local) / self.scale

    def back(self, increments: list[np.ndarray]) -> list[np.ndarray]:
        """Coordinates, seen from the newest point, of the points before it; increments newest first.

        As products of small motions, not of poses, so that small coordinates stay accurate.
        """
        found, total = [-increments[0]], motion(-increments[0] / self.scale, self.local)
        for x in increments[1:]:
            older = motion(-x / self.scale, self.local)
            total = self._product(total, older) if self.sign > 0 else self._product(older, total)
            found.append(self.scale * from_motion(total, self.local))
        return found

    def between(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """x of the move from absolute coordinates q to others."""
        p, r = to_pose(start, self.problem.chart), to_pose(end, self.problem.chart)
        inverse = _GROUPS[self.on_se3].inverse(p)
        moved = self._product(inverse, r) if self.sign > 0 else self._product(r, inverse)
        return self.scale * from_motion(moved, self.local)

    def _product(self, g: np.ndarray, h: np.ndarray) -> np.ndarray:
        return _GROUPS[self.on_se3].compose(g, h)

    # ------------------------------------------------------------ the algebra

    def bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.on_se3:
            return self.sign * se3.bracket(x, y)
        result = np.zeros(np.broadcast_shapes(x.shape, y.shape))
        result[..., :3] = self.sign * so3.bracket(x[..., :3], y[..., :3])
        return result

    def cube(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """The sum of the products â b̂ ĉ in all orders, an element of the algebra; x̂³ is a sixth of cube(x, x, x)."""
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape))
        for u, v, w in ((a, b, c), (b, c, a), (c, a, b)):
            # x̂³ = (-|x|² x, x × (x × y)) of x̂ = (x, y), polarised
            inner = (u[..., :3] * v[..., :3]).sum(axis=-1, keepdims=True)
            result[..., :3] -= 2 * inner * w[..., :3]
            if self.on_se3:
                result[..., 3:] += so3.bracket(u[..., :3], so3.bracket(v[..., :3], w[..., 3:]))
                result[..., 3:] += so3.bracket(v[..., :3], so3.bracket(u[..., :3], w[..., 3:]))
        return result

    def lift(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """dψ_{-x} dx to the order that methods of order 2 need: dx - [x, dx]/2 + [x, [x, dx]]/6, and for cay and cay2
        what their cubes add."""
        one = self.bracket(x, dx)
        found = dx - 0.5 * one + self.bracket(x, one) / 6
        return found + 0.5 * self.cubic * self.cube(x, x, dx) if self.cubic else found

    def lift_rate(self, x: np.ndarray, dx: np.ndarray, ddx: np.ndarray) -> np.ndarray:
        """The derivative of `lift` in time."""
        found = self.lift(x, ddx) + self.bracket(dx, self.bracket(x, dx)) / 6
        return found + self.cubic * self.cube(x, dx, dx) if self.cubic else found

    # ------------------------------------------------------------ velocities

    def to_group(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Twists of the model as velocities on the group."""
        return v if self.own == self.group else convert_twist(v, self._poses(q), self.own, self.group)

    def from_group(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        return w if self.own == self.group else convert_twist(w, self._poses(q), self.group, self.own)

    def rate_to_group(self, q: np.ndarray, v: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Derivatives of the twists of the model as those of velocities on the group."""
        return rate if self.own == self.group else convert_acceleration(rate, v, self._poses(q), self.own, self.group)

    def rate_from_group(self, q: np.ndarray, w: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return rate if self.own == self.group else convert_acceleration(rate, w, self._poses(q), self.group, self.own)

    def _poses(self, q: np.ndarray) -> np.ndarray:
        return to_pose(q, self.problem.chart)
