"""Models of Pinocchio on Lie group integrators: its accelerations (`aba`), our steps. Needs the package `pin`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.transition.articulated import ArticulatedProblem, JointBlock


class PinocchioProblem(ArticulatedProblem):
    """A `pinocchio.Model` as a problem for `solve`, with free flyers, spherical joints and joints of plain coordinates.

    Pinocchio has the position before the quaternion (x, y, z, w) and the body twist as (linear, angular); both are
    converted. `torque` is a function of t, q and v that gives the joint forces (nv,), in Pinocchio's order; without it
    there are none. `local` are the coordinates of the steps, as in `LGTProblem`.

        problem = PinocchioProblem(model)
        sol = solve(problem, RKMK("rk4"), (0.0, 1.0), problem.state(q, v), step=1e-3)
        q, v, _ = problem.split(sol.y)
    """

    linear = "body"

    def __init__(
        self,
        model: Any,
        local: str = "screw",
        torque: Callable[[float, np.ndarray, np.ndarray], ArrayLike] | None = None,
    ):
        import pinocchio

        self.model, self.torque = model, torque
        self.data = model.createData()
        self._aba = pinocchio.aba
        joints = []
        for joint, name in zip(list(model.joints)[1:], list(model.names)[1:], strict=True):
            q, v = joint.idx_q, joint.idx_v
            kind = joint.shortname()
            if kind == "JointModelFreeFlyer":
                order = (q + 6, q + 3, q + 4, q + 5, q, q + 1, q + 2)
                joints.append(JointBlock("free", order, (*range(v + 3, v + 6), *range(v, v + 3))))
            elif kind == "JointModelSpherical":
                joints.append(JointBlock("ball", (q + 3, q, q + 1, q + 2), tuple(range(v, v + 3))))
            elif joint.nq == joint.nv:
                joints.append(JointBlock("vector", tuple(range(q, q + joint.nq)), tuple(range(v, v + joint.nv))))
            else:
                raise ValueError(
                    f"PinocchioProblem: {name!r} is a {kind} with {joint.nq} coordinates and {joint.nv} velocities; "
                    "expected free flyers, spherical joints, or joints with as many coordinates as velocities"
                )
        super().__init__(joints, model.nq, model.nv, 0, local)

    def accelerate(self, t, q, v, others):
        force = np.zeros(self.nv) if self.torque is None else np.asarray(self.torque(t, q, v), dtype=float)
        return np.array(self._aba(self.model, self.data, q, v, force)), ()
