"""A tumbling body of MuJoCo: its own integrators and ours at the same step, for the page on models of one's own.

python -m benchmarks.mujoco_tumbling
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.lie import rotation

STEP = 0.01
TUMBLING = """<mujoco><option gravity="0 0 0"/><worldbody><body pos="1 2 3"><freejoint/>
<inertial pos="0 0 0" mass="2" diaginertia="1 2 2.9"/></body></worldbody></mujoco>"""
MOMENTS = np.array([1.0, 2.0, 2.9])


def momentum(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    """Angular momentum in space of the tumbling body."""
    return np.einsum("...ij,...j->...i", rotation.quaternion_to_matrix(qpos[..., 3:7]), MOMENTS * qvel[..., 3:])


def tumble(integrator: Any, h: float, end: float = 1.0) -> tuple[float, float]:
    """Largest errors of energy and momentum on the way, relative, of MuJoCo's own integrator or of ours."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(TUMBLING)
    qpos, qvel = model.qpos0.copy(), np.array([1.0, 0.0, 0.5, 3.0, -2.0, 4.0])
    if isinstance(integrator, str):
        case = ch.transition.MujocoProblem(model)
        q, v, _ = case.split(
            ch.integrate.solve(case, ch.integrate.RKMK(integrator), (0.0, end), case.state(qpos, qvel), step=h).y
        )
    else:
        model.opt.integrator, model.opt.timestep = integrator, h
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = qpos, qvel
        states = []
        for _ in range(round(end / h)):
            mujoco.mj_step(model, data)
            states.append((data.qpos.copy(), data.qvel.copy()))
        q, v = (np.array(part) for part in zip(*states, strict=True))
    before, energy = momentum(qpos, qvel), MOMENTS @ qvel[3:] ** 2
    drift = np.linalg.norm(momentum(q, v) - before, axis=1).max() / np.linalg.norm(before)
    return abs(v[:, 3:] ** 2 @ MOMENTS / energy - 1).max(), drift


def measured() -> str:
    """The table of docs/transition.md."""
    import mujoco

    kinds = mujoco.mjtIntegrator
    integrators: dict[str, Any] = {
        "MuJoCo, Euler": kinds.mjINT_EULER,
        "MuJoCo, implicit": kinds.mjINT_IMPLICIT,
        "MuJoCo, implicitfast": kinds.mjINT_IMPLICITFAST,
        "MuJoCo, RK4": kinds.mjINT_RK4,
        **{f'`RKMK("{name}")`': name for name in ("kutta3", "rk4", "dopri5", "dop853")},
    }
    rows = ["| | energy | angular momentum |", "|---|---:|---:|"]
    for name, integrator in integrators.items():
        energy, momentum = tumble(integrator, STEP)
        rows.append(f"| {name} | {energy:.1e} | {momentum:.1e} |")
    return "\n".join(rows)


def main() -> None:
    print(measured())


if __name__ == "__main__":
    main()
