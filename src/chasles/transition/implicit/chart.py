"""The chart of a step, q = τ(q_n, x), with coordinates x of all bodies as velocities measure them.

The local coordinates of cay and cay2 begin as a half and a quarter of a twist (of the rotation only, on SO(3) x R3);
here x is the multiple that begins as a twist, so that the methods need not know. Brackets have the sign of the side on
which the group acts, so that one formula serves both. Arrays are (..., bodies, 6).
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from chasles.lie import pose, s3xr3, se3
from chasles.lie.transition.coordinates import SE3
from chasles.lie.transition.maps import differential, from_motion, motion, tau, to_pose
from chasles.screw.representation import convert_acceleration, convert_twist
from chasles.transition.problem import LGTProblem

SCALE = {"exp": 1.0, "cay": 2.0, "cay2": 4.0}  # x over the local coordinates
CUBE = {"exp": 0.0, "cay": 1 / 12, "cay2": 1 / 48}  # log ψ(x) = x + CUBE x̂³ + ...: of 2 artanh(x/2), 4 artanh(x/4)
_GROUPS: dict[bool, Any] = {True: pose, False: s3xr3}


class Chart:
    """Moves, brackets and velocities on the group of a problem's local coordinates."""

    def __init__(self, problem: LGTProblem):
        self.problem, self.local = problem, problem.motion
        self.on_se3 = self.local.group == SE3
        self.sign = 1.0 if problem.side == "right" else -1.0
        self.cubic, self.scale = CUBE[self.local.map], np.full(6, SCALE[self.local.map])
        if not self.on_se3:
            self.scale[3:] = 1.0
        self._brackets, self._cubes = _products(self.on_se3, self.sign)
        self.of_model, self.of_group = problem.representation, problem.group_representation

    # ------------------------------------------------------------ positions

    def move(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        return tau(q, x / self.scale, self.problem.chart, self.local, self.problem.side)

    def onward(self, x: np.ndarray) -> np.ndarray:
        """dψ_{-x}, (..., 6, 6): the displacement on the group that a change of x makes."""
        return differential(-self.sign * x / self.scale, self.local) / self.scale

    def returns(self, increments: np.ndarray) -> np.ndarray:
        """Motions from a point to those before it, (k, n, 7), of the steps (k, n, 6) that led to it, newest first.

        Products of small motions, not of poses, so that small coordinates stay accurate.
        """
        motions = list(motion(-increments / self.scale, self.local))
        for k in range(1, len(motions)):
            motions[k] = self._product(motions[k - 1], motions[k])
        return np.array(motions)

    def back(self, x: np.ndarray, returns: np.ndarray) -> np.ndarray:
        """Coordinates (k, ..., n, 6), seen from the point that a step x leads to, of the points before its start."""
        spread = returns.reshape(len(returns), *(1,) * (x.ndim - 2), *returns.shape[1:])
        return self.scale * from_motion(self._product(motion(-x / self.scale, self.local), spread), self.local)

    def between(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """x of the move from absolute coordinates q to others."""
        p, r = to_pose(start, self.problem.chart), to_pose(end, self.problem.chart)
        inverse = _GROUPS[self.on_se3].inverse(p)
        return self.scale * from_motion(self._product(inverse, r), self.local)

    def _product(self, g: np.ndarray, h: np.ndarray) -> np.ndarray:
        """g h, or h g if the group acts from the left."""
        return _GROUPS[self.on_se3].compose(*((g, h) if self.sign > 0 else (h, g)))

    # ------------------------------------------------------------ the algebra

    def bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _outer(x, y) @ self._brackets

    def cube(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """The sum of the products â b̂ ĉ in all orders, which is in the algebra; x̂³ is a sixth of cube(x, x, x)."""
        return _outer(_outer(a, b), c) @ self._cubes

    def lift(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """dψ_{-x} dx to the order that methods of order 2 need: dx - [x, dx]/2 + [x, [x, dx]]/6, and for cay and cay2
        what their cubes add."""
        one = self.bracket(x, dx)
        lifted = dx - 0.5 * one + self.bracket(x, one) / 6
        return lifted + 0.5 * self.cubic * self.cube(x, x, dx) if self.cubic else lifted

    def lift_rate(self, x: np.ndarray, dx: np.ndarray, ddx: np.ndarray) -> np.ndarray:
        """The derivative of `lift` in time."""
        rate = self.lift(x, ddx) + self.bracket(dx, self.bracket(x, dx)) / 6
        return rate + self.cubic * self.cube(x, dx, dx) if self.cubic else rate

    # ------------------------------------------------------------ velocities

    def to_group(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Twists of the model as velocities on the group."""
        return v if self.of_model == self.of_group else convert_twist(v, self._poses(q), self.of_model, self.of_group)

    def from_group(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        return w if self.of_model == self.of_group else convert_twist(w, self._poses(q), self.of_group, self.of_model)

    def both_from_group(self, q: np.ndarray, w: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Twists of the model and their derivatives."""
        if self.of_model == self.of_group:
            return w, rate
        g = self._poses(q)
        return convert_twist(w, g, self.of_group, self.of_model), convert_acceleration(
            rate, w, g, self.of_group, self.of_model
        )

    def rate_to_group(self, q: np.ndarray, v: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Derivatives of the twists of the model as those of velocities on the group."""
        return (
            rate
            if self.of_model == self.of_group
            else convert_acceleration(rate, v, self._poses(q), self.of_model, self.of_group)
        )

    def _poses(self, q: np.ndarray) -> np.ndarray:
        return to_pose(q, self.problem.chart)


def _outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    product = x[..., :, None] * y[..., None, :]
    return product.reshape(*product.shape[:-2], -1)


@cache
def _products(on_se3: bool, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Brackets (36, 6) and cubes (216, 6) of the algebra, as linear maps of products of components."""
    basis = se3.hat(np.eye(6))
    if not on_se3:
        basis[3:] = 0.0  # displacements commute with all
    two = np.einsum("iab,jbc->ijac", basis, basis)
    three = np.einsum("ijab,kbc->ijkac", two, basis)
    orders = sum((three.transpose(*order, 3, 4) for order in permutations(range(3))), np.zeros_like(three))
    return sign * se3.vee(two - two.swapaxes(0, 1)).reshape(36, 6), se3.vee(orders).reshape(216, 6)
