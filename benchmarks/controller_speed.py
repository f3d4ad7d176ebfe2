"""Loops through Python: sampled controllers and `Simulation.step` of a 7-joint arm, beside MuJoCo's mj_step.

Run: python -m benchmarks.controller_speed. Prints a table.

All in one process, in turn, on the same model with one step a period. Figures are processor time a period or step, the
least of several repetitions. "Beyond" is what is left of it without the steps themselves, as a run without a controller
takes them, and without the user's function, called as often on arrays.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import page
from benchmarks.batch_speed import AXES, STEP, arm
from chasles.io.load import load

PERIODS, REPETITIONS = 4000, 9
GAINS = 20.0, 4.0  # such that MuJoCo's Euler is stable too
BARS = {"simulate(controller=), rk4": 12.0, "Simulation.step(u)": 3.0, "Simulation.step()": 3.0}


def controller(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The user's function: a damper and a spring on each joint."""
    u: np.ndarray = -GAINS[0] * q - GAINS[1] * v
    return u


def each(function: Callable[[], Any]) -> float:
    """Processor time [µs] a period, the least of several."""
    found = []
    for _ in range(REPETITIONS):
        begin = time.process_time()
        function()
        found.append(time.process_time() - begin)
    return 1e6 * min(found) / PERIODS


def peer(integrator: str, controlled: bool) -> Callable[[], Any]:
    """A loop over MuJoCo's mj_step."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(arm())
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    data = mujoco.MjData(model)

    def loop() -> None:
        mujoco.mj_resetData(model, data)
        for _ in range(PERIODS):
            if controlled:
                data.qfrc_applied[:] = controller(data.time, data.qpos, data.qvel)
            mujoco.mj_step(model, data)

    return loop


def measured() -> tuple[dict[str, tuple[float, float]], float]:
    """Each loop: time of a period or step [µs], and what of it the steps and the user's function take; the latter."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.xml"
        file.write_text(arm(), encoding="utf-8")
        mechanism = load(file).system.compile()
    start, span = np.full(len(AXES), 0.3), (0.0, PERIODS * STEP)
    sim, u, v = ch.Simulation(mechanism, STEP, start), np.zeros(len(AXES)), np.zeros(len(AXES))

    def plain(**how: Any) -> Any:
        return ch.simulate(mechanism, span, start, certificate=False, **how)

    def asked(**how: Any) -> Any:
        return plain(controller=controller, period=STEP, **how)

    def loop(*given: Any) -> None:
        sim.reset(start)
        for _ in range(PERIODS):
            sim.step(*given)

    fixed, adaptive = dict[str, Any](method="rk4", step=STEP), dict[str, Any](max_step=STEP)
    setup = each(lambda: ch.simulate(mechanism, (0.0, STEP), start, certificate=False, **fixed))
    user = each(lambda: [controller(0.0, u, v) for _ in range(PERIODS)])
    step = each(lambda: sim.reset(start).step(u, PERIODS))
    steps = {"rk4": each(lambda: plain(**fixed)) - setup, "dopri5": each(lambda: plain(**adaptive)) - setup}
    found = {
        "simulate(controller=), rk4": (each(lambda: asked(**fixed)) - setup, steps["rk4"] + user),
        "simulate(controller=), dopri5": (each(lambda: asked(**adaptive)) - setup, steps["dopri5"] + user),
        "Simulation.step(u)": (each(lambda: loop(u)), step),
        "Simulation.step()": (each(loop), step),
        "mj_step, Euler, controller": (each(peer("EULER", True)), user),
        "mj_step, RK4, controller": (each(peer("RK4", True)), user),
        "mj_step, Euler": (each(peer("EULER", False)), 0.0),
        "mj_step, RK4": (each(peer("RK4", False)), 0.0),
    }
    return found, user


def main() -> None:
    found, user = measured()
    whole = found["mj_step, RK4, controller"][0]
    rows = []
    for name, (total, own) in found.items():
        beyond = "" if "mj" in name else f"{total - own:.1f}"
        rows.append([name, f"{total:.1f}", beyond, f"{total / whole:.2f}", f"{BARS[name]:g}" if name in BARS else ""])
    print(f"7-joint arm, one step a period, the user's function {user:.1f} µs; {page.machine()}\n")
    print(page.table(["µs a period or step", "in all", "beyond", "over mj_step, RK4, controller", "bar: beyond"], rows))


if __name__ == "__main__":
    main()
