"""`LGTProblem`: a model in absolute coordinates that Munthe-Kaas methods integrate on the group (mueller2022
section 6.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.integrate.problem import LieODE
from chasles.integrate.space import Space
from chasles.integrate.stepper import Stepper
from chasles.integrate.vector_field import Field
from chasles.lie.arrays import real_array
from chasles.lie.transition.coordinates import QUATERNION, SE3, Absolute, Local, absolute_of, local_of
from chasles.lie.transition.maps import to_pose
from chasles.screw.representation import check_representation, convert_twist
from chasles.transition.motion import (
    BODY_TO_MIXED,
    HEAD,
    HYBRID_TO_SPATIAL,
    MIXED_TO_BODY,
    SAME,
    SPATIAL_TO_HYBRID,
    motion,
)

# representations of velocities in which the groups move poses, by group, and the side on which they act
ON_GROUP = {
    "body": ("body", "mixed", "right"),
    "mixed": ("body", "mixed", "right"),
    "spatial": ("spatial", "hybrid", "left"),
    "hybrid": ("spatial", "hybrid", "left"),
}
CHANGES = {
    ("body", "mixed"): BODY_TO_MIXED,
    ("mixed", "body"): MIXED_TO_BODY,
    ("spatial", "hybrid"): SPATIAL_TO_HYBRID,
    ("hybrid", "spatial"): HYBRID_TO_SPATIAL,
}


@dataclass(frozen=True)
class LGTField(LieODE):
    """The problem on the space of coordinates and twists; keeps the user's function, whose address it calls, alive, and
    is pickled as the `problem` it is of."""

    problem: Any = None

    def __reduce__(self) -> Any:
        return getattr, (self.problem, "ode")


@dataclass(frozen=True)
class LGTProblem:
    """V' = f(q, V, t) in absolute coordinates q of rigid bodies, to be integrated with local coordinates on a group.

    `acceleration` is the model as it is. In Python, f(q, V, t) gets q (bodies, 7 or 6) and V (bodies, 6) and returns V'
    (bodies, 6). Compiled with `@field`, f(t, y, p, out) finds in y the coordinates of all bodies and then their twists,
    in p the `parameters`, and writes V' to out. `absolute` are the coordinates of the model, `local` those of the
    steps (names of `lie.transition`). `representation` of the twists V is that of the model: "body", "mixed", or,
    with the group acting from the left (mueller2022 remark 1), "spatial" or "hybrid".

        problem = LGTProblem(model, absolute="quaternion", local="screw", bodies=2)
        sol = solve(problem, RKMK("rk4"), (0.0, 1.0), problem.state(q, V), step=1e-3)
        q, V = problem.split(sol.y)

    The norm of quaternions is kept by the group, to rounding; no coordinates have a singularity here, because only
    τ(q, X) is evaluated and never the rate of q. A step of fixed size that turns a body beyond the chart of the local
    coordinates raises `ChartError`; adaptive steps are shortened.
    """

    acceleration: Field | Callable
    absolute: str = "quaternion"
    local: str = "screw"
    bodies: int = 1
    representation: str = "body"
    parameters: Sequence[float] | np.ndarray = ()

    def __post_init__(self):
        self.chart, self.motion  # noqa: B018 (raises for an unknown name)
        check_representation("LGTProblem", self.representation)
        if not (isinstance(self.bodies, int | np.integer) and self.bodies > 0):
            raise ValueError(f"LGTProblem: bodies is {self.bodies!r}; expected a positive number of them")
        if not callable(self.acceleration):
            raise TypeError(f"LGTProblem: the model is {self.acceleration!r}; expected a function f(q, V, t)")

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # `ode` holds addresses of this process

    @cached_property
    def chart(self) -> Absolute:
        return absolute_of("LGTProblem", self.absolute)

    @cached_property
    def motion(self) -> Local:
        return local_of("LGTProblem", self.local)

    @property
    def side(self) -> str:
        """The side on which the group acts."""
        return ON_GROUP[self.representation][2]

    @property
    def group_representation(self) -> str:
        """The representation of velocities in which the group moves a pose."""
        return ON_GROUP[self.representation][0 if self.motion.group == SE3 else 1]

    @cached_property
    def space(self) -> Space:
        """Absolute coordinates of all bodies and their twists."""
        if self.chart.code == QUATERNION:
            blocks: tuple[str, ...] = ("pose",) if self.motion.group == SE3 else ("s3", "r3")
        else:
            blocks = (f"{self.motion.group.lower()}:{self.chart.name}",)
        return Space(*(blocks * self.bodies), f"r{6 * self.bodies}", side=self.side)

    # ------------------------------------------------------------ states

    def state(self, q: ArrayLike, twists: ArrayLike) -> np.ndarray:
        """The point y of coordinates (bodies, 7 or 6) and twists (bodies, 6); one body may come without its axis."""
        parts = []
        for name, value, size in (("q", q, self.chart.size), ("twists", twists, 6)):
            array = real_array("LGTProblem.state", name, np.asarray(value, dtype=float), (size,))
            if array.size != self.bodies * size:
                raise ValueError(
                    f"LGTProblem.state: {name} has shape {array.shape}; expected ({self.bodies}, {size}) for "
                    f"{self.absolute!r} coordinates of {self.bodies} bodies"
                )
            parts.append(array.reshape(-1))
        return self.space.check(np.concatenate(parts))

    def split(self, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (..., bodies, 7 or 6) and twists (..., bodies, 6) of points."""
        points = real_array("LGTProblem.split", "y", y, (self.space.size,))
        at, shape = self.bodies * self.chart.size, (*points.shape[:-1], self.bodies)
        return points[..., :at].reshape(*shape, self.chart.size), points[..., at:].reshape(*shape, 6)

    def poses(self, y: ArrayLike) -> np.ndarray:
        """Poses (..., bodies, 7) of points, whatever the coordinates."""
        return to_pose(self.split(y)[0], self.chart)

    # ------------------------------------------------------------ for the integrators

    @property
    def field(self) -> Field | Callable:
        return self.ode.field

    @property
    def ode(self) -> LieODE:
        """The same as a `LieODE`: what `solve` integrates."""
        address = self.acceleration.address if isinstance(self.acceleration, Field) else 0
        if (kept := vars(self).get("_kept")) is None or kept[0] != address:  # compiled anew, with other constants
            vars(self)["_kept"] = kept = address, self._ode(address)
        return kept[1]

    def _ode(self, address: int) -> LieODE:
        if not isinstance(self.acceleration, Field):
            return LGTField(self.space, self._python_field(), self.parameters, None, self.motion.map, self)
        head = np.zeros(HEAD.size, dtype=np.int64)
        change = CHANGES.get((self.representation, self.group_representation), SAME)
        head[[HEAD.bodies, HEAD.chart, HEAD.change]] = self.bodies, self.chart.code, change
        head[HEAD.address] = address
        p = np.concatenate([head.view(float), np.asarray(self.parameters, dtype=float).reshape(-1)])
        return LGTField(self.space, motion, p, None, self.motion.map, self)

    @property
    def steppers(self) -> tuple[type[Stepper], ...]:
        """Steppers of the methods that need the model itself, and not a vector field only."""
        from chasles.transition.implicit.stepper import STEPPERS

        return STEPPERS

    def group_velocity(self, q: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """Twists (bodies, 6) of the model in the representation of the group."""
        if self.representation == self.group_representation:
            return twists
        return convert_twist(twists, to_pose(q, self.chart), self.representation, self.group_representation)

    def accelerations(self, t: float, q: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """V' (bodies, 6) of the model at one state."""
        if isinstance(self.acceleration, Field):
            result = np.empty(6 * self.bodies)
            y = np.concatenate([q.reshape(-1), twists.reshape(-1)])
            self.acceleration(t, y, np.asarray(self.parameters, dtype=float).reshape(-1), result)
            return result.reshape(self.bodies, 6)
        found = np.asarray(self.acceleration(q, twists, t), dtype=float)
        if found.size != 6 * self.bodies:
            name = getattr(self.acceleration, "__name__", "the model")
            raise ValueError(
                f"{name} returned shape {found.shape} at t = {t:.6g}; expected ({self.bodies}, 6), the derivatives of "
                "the twists"
            )
        return found.reshape(self.bodies, 6)

    def _python_field(self) -> Callable:
        at, shape = self.bodies * self.chart.size, (self.bodies, self.chart.size)

        def evaluate(t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
            q, twists = y[:at].reshape(shape), y[at:].reshape(-1, 6)
            return np.concatenate([self.group_velocity(q, twists), self.accelerations(t, q, twists)], axis=None)

        evaluate.__name__ = getattr(self.acceleration, "__name__", "the model")  # for messages
        return evaluate
