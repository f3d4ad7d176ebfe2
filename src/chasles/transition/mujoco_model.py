"""Models of MuJoCo on Lie group integrators: its accelerations, our steps. Needs the package `mujoco`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chasles.transition.articulated import ArticulatedProblem, JointBlock

FREE, BALL = 0, 1  # mujoco.mjtJoint


class MujocoProblem(ArticulatedProblem):
    """A `mujoco.MjModel` as a problem for `solve`: accelerations, contacts and constraints are MuJoCo's.

    Of a free joint MuJoCo has the position before the quaternion and (r', ω_b) as velocity; both are converted.
    `control` is a function of model and data that sets `data.ctrl`, or forces, before each evaluation. `local` are the
    coordinates of the steps, as in `LGTProblem`.

        problem = MujocoProblem(model)
        sol = solve(problem, RKMK("rk4"), (0.0, 1.0), problem.state(data.qpos, data.qvel), step=model.opt.timestep)
        qpos, qvel, act = problem.split(sol.y)
    """

    linear = "mixed"

    def __init__(self, model: Any, local: str = "rotation_vector", control: Callable[[Any, Any], None] | None = None):
        import mujoco

        self.model, self.control = model, control
        self.data = mujoco.MjData(model)
        self._forward = mujoco.mj_forward
        joints = []
        for kind, q, v in zip(model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True):
            if kind == FREE:
                joints.append(
                    JointBlock(
                        "free", (*range(q + 3, q + 7), *range(q, q + 3)), (*range(v + 3, v + 6), *range(v, v + 3))
                    )
                )
            elif kind == BALL:
                joints.append(JointBlock("ball", tuple(range(q, q + 4)), tuple(range(v, v + 3))))
            else:
                joints.append(JointBlock("vector", (q,), (v,)))
        super().__init__(joints, model.nq, model.nv, model.na, local)

    def accelerate(self, t, q, v, others):
        data = self.data
        data.time, data.qpos[:], data.qvel[:], data.act[:] = t, q, v, others
        if self.control is not None:
            self.control(self.model, data)
        self._forward(self.model, data)
        if data.warning.number.any():
            self._refuse(t)
        return data.qacc.copy(), data.act_dot.copy()

    def _refuse(self, t: float) -> None:
        """MuJoCo counts warnings (bad numbers, full buffers) and goes on; here they end the run."""
        import mujoco

        names = [mujoco.mju_warningText(k, int(w.lastinfo)) for k, w in enumerate(self.data.warning) if w.number]
        self.data.warning.number[:] = 0
        raise ArithmeticError(f"MujocoProblem: MuJoCo warns at t = {t:.6g}: {'; '.join(names)}")
