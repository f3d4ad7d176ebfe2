"""Models with states (q, q') in unit quaternions, as solvers of ordinary differential equations take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie.transition.kinematics import rate, velocity
from chasles.transition.problem import LGTProblem


class _Acceleration:
    """The model f(q, V, t) of a right-hand side; a class, so that a problem can be pickled."""

    def __init__(self, rhs: Callable[[float, np.ndarray], ArrayLike], bodies: int):
        self.rhs, self.bodies, self.__name__ = rhs, bodies, getattr(rhs, "__name__", "rhs")

    def __call__(self, q: np.ndarray, twists: np.ndarray, t: float) -> np.ndarray:
        rates, bodies = rate(q, twists), self.bodies
        found: Any = np.asarray(self.rhs(t, np.concatenate([q, rates], axis=None)), dtype=float).reshape(-1)
        if found.size != 14 * bodies:
            raise ValueError(
                f"{self.__name__} gave {found.size} numbers at t = {t:.6g}; expected {14 * bodies}: q' and q''"
            )
        # ω = 2 q* q', so ω' = 2 q* q'' + 2 q'* q', and the last term has no vector part
        return velocity(q, found[7 * bodies :].reshape(bodies, 7))


def second_order(
    rhs: Callable[[float, np.ndarray], ArrayLike], bodies: int = 1, local: str = "screw"
) -> tuple[LGTProblem, Callable[[ArrayLike], np.ndarray], Callable[[ArrayLike], np.ndarray]]:
    """A right-hand side z' = rhs(t, z) with z = (q, q') in quaternions as a problem with twists, and two conversions.

    q is (w, x, y, z, position) of all bodies, 7 n numbers, and so is q'. V = H(q) q' is derived, as mixed twists; the
    function itself is not changed, and gets quaternions of norm 1 whose rates are tangent to the sphere. Returns the
    problem, the point y of a state z, and the states z of points y.

        problem, to_point, to_state = second_order(rhs)
        sol = solve(problem, RKMK("rk4"), (0.0, 1.0), to_point(z0), step=1e-3)
        z = to_state(sol.y)
    """
    problem = LGTProblem(_Acceleration(rhs, bodies), "quaternion", local, bodies, "mixed")

    def to_point(z: ArrayLike) -> np.ndarray:
        state = np.asarray(z, dtype=float)
        if state.shape != (14 * bodies,):
            raise ValueError(f"second_order: a state has {14 * bodies} numbers, q and q' of {bodies} bodies")
        q, rates = state.reshape(2, bodies, 7)
        return problem.state(q, velocity(q, rates))

    def to_state(y: ArrayLike) -> np.ndarray:
        q, twists = problem.split(y)
        flat = (*q.shape[:-2], 7 * bodies)
        return np.concatenate([q.reshape(flat), rate(q, twists).reshape(flat)], axis=-1)

    return problem, to_point, to_state
