"""Integrators on the heavy top of Geradin and Cardona, against Exudyn and SciPy, in one run.

Run: python -m benchmarks.integrator_speed (needs the `test` and `peers` extras). Writes docs/benchmarks/integrators.md.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import page
from chasles import lie

INERTIA = (15.234375, 0.46875, 15.234375)  # about the pivot [kg m^2]
WEIGHT = 15 * 9.81  # mass times gravity times distance of the centre of mass [N m]
SPIN = (0.0, 150.0, -4.61538)  # body angular velocity at the start [rad/s]
CENTRE = np.array([0.1733439641, 0.6400885921, -0.7484907911])  # position at t = 1 s, from DOP853 at 2e-14 [m]
REPEATS = 7
GOAL = 1e-6


@ch.field
def top(t, y, p, out):
    """Quaternion and body angular velocity; the centre of mass is at (0, 1, 0) in the body."""
    w, x, yy, z = y[0], y[1], y[2], y[3]
    a, b, c = y[4], y[5], y[6]
    down_x, down_z = -2.0 * (x * z - w * yy), -(1.0 - 2.0 * (x * x + yy * yy))
    out[0], out[1], out[2] = a, b, c
    out[3] = (p[3] * down_z + (p[1] - p[2]) * b * c) / p[0]
    out[4] = (p[2] - p[0]) * c * a / p[1]
    out[5] = (-p[3] * down_x + (p[0] - p[1]) * a * b) / p[2]


PROBLEM = ch.LieODE(ch.Space("s3", "r3", side="right"), top, (*INERTIA, WEIGHT))
START = np.array([1.0, 0, 0, 0, *SPIN])


def chasles_run(method, **options) -> tuple[float, float, int]:
    """Error of the position at t = 1 s, seconds, steps."""
    begin = time.process_time()
    run = ch.solve(PROBLEM, method, (0.0, 1.0), START, save="final", progress=False, **options)
    seconds = time.process_time() - begin
    position = lie.s3.act(lie.s3.project(run.y[-1, :4]), [0.0, 1.0, 0.0])
    return float(abs(position - CENTRE).max()), seconds, run.steps


def exudyn_run(solver: str, steps: int) -> tuple[float, float, int]:
    """The same top in Exudyn's explicit Lie group integrators: a body so heavy at its pivot that it stays there."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    import warnings

    import exudyn
    from exudyn import itemInterface as ITEMS  # noqa: N814

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = exudyn.SystemContainer().AddSystem()
        node = system.AddNode(
            ITEMS.NodeRigidBodyRotVecLG(referenceCoordinates=[0] * 6, initialVelocities=[0, 0, 0, *SPIN])
        )
        body = ITEMS.ObjectRigidBody(physicsMass=1e12, physicsInertia=[*INERTIA, 0, 0, 0], nodeNumber=node)
        number = system.AddObject(body)
        marker = system.AddMarker(ITEMS.MarkerBodyRigid(bodyNumber=number, localPosition=[0, 1, 0]))
        system.AddLoad(ITEMS.LoadForceVector(markerNumber=marker, loadVector=[0, 0, -WEIGHT]))
        system.Assemble()
        settings: Any = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, 1.0
        settings.timeIntegration.automaticStepSize = False
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        begin = time.process_time()
        system.SolveDynamic(settings, solverType=getattr(exudyn.DynamicSolverType, solver))
        seconds = time.process_time() - begin
        position = system.GetObjectOutputBody(number, exudyn.OutputVariableType.Position, localPosition=[0, 1, 0])
    return float(abs(np.array(position) - CENTRE).max()), seconds, steps


def scipy_run(tolerance: float) -> tuple[float, float, int]:
    """SciPy's DOP853 on quaternions with a NumPy right-hand side."""
    from scipy.integrate import solve_ivp

    inertia = np.array(INERTIA)

    def right(t, y):
        q, omega = y[:4], y[4:]
        w, x, yy, z = q
        down = np.array([-2 * (x * z - w * yy), -2 * (yy * z + w * x), -(1 - 2 * (x * x + yy * yy))])
        torque = WEIGHT * np.cross([0.0, 1.0, 0.0], down)
        rate = 0.5 * np.concatenate([[-q[1:] @ omega], w * omega + np.cross(q[1:], omega)])
        return np.concatenate([rate, (torque - np.cross(omega, inertia * omega)) / inertia])

    begin = time.process_time()
    run = solve_ivp(right, (0, 1), START, method="DOP853", rtol=tolerance, atol=tolerance)
    seconds = time.process_time() - begin
    position = lie.s3.act(lie.s3.project(run.y[:4, -1]), [0.0, 1.0, 0.0])
    return float(abs(position - CENTRE).max()), seconds, len(run.t) - 1


def median(runs: Callable[[], tuple[float, float, int]]) -> tuple[float, float, int]:
    """Error and steps of a run, and the median of its times; the first run, which may compile, does not count."""
    runs()
    outcomes = [runs() for _ in range(REPEATS)]
    return outcomes[0][0], float(np.median([seconds for _, seconds, _ in outcomes])), outcomes[0][2]


def best(candidates: list[tuple[str, tuple[float, float, int]]]) -> tuple[str, tuple[float, float, int]]:
    """The fastest candidate that reaches the goal."""
    return min((c for c in candidates if c[1][0] <= GOAL), key=lambda c: c[1][1])


def main() -> None:
    ours = median(partial(chasles_run, ch.RKMK("rk4"), step=1e-4))
    fast = [
        (f'`RKMK("dop853")`, step 1/{n}', median(partial(chasles_run, ch.RKMK("dop853"), step=1 / n)))
        for n in (140, 160, 180, 200)
    ] + [
        (f'`RKMK("butcher6")`, step 1/{n}', median(partial(chasles_run, ch.RKMK("butcher6"), step=1 / n)))
        for n in (600, 750, 900)
    ]
    rows = [('chasles `RKMK("rk4")`, step 1e-4', ours), (f"chasles {best(fast)[0]}", best(fast)[1])]
    lines = []
    if importlib.util.find_spec("exudyn"):
        peer = median(partial(exudyn_run, "RK44", 10_000))
        sixth = [(f"RK67, step 1/{n}", median(partial(exudyn_run, "RK67", n))) for n in (600, 700, 800, 1000)]
        rows += [("Exudyn RK44, step 1e-4", peer), (f"Exudyn {best(sixth)[0]}", best(sixth)[1])]
        lines.append(f"- Steps a second, order 4: {peer[1] / ours[1]:.1f} times those of Exudyn (bar: 2).")
        lines.append(
            f"- Time to an error of {GOAL:g}: 1/{best(sixth)[1][1] / best(fast)[1][1]:.1f} of Exudyn's (bar: 1/3)."
        )
    scipy = [(f"DOP853, tolerance {tol:g}", median(partial(scipy_run, tol))) for tol in (1e-7, 1e-8, 1e-9)]
    rows.append((f"SciPy {best(scipy)[0]}", best(scipy)[1]))
    lines.append(
        f"- Time to an error of {GOAL:g}: 1/{best(scipy)[1][1] / best(fast)[1][1]:.0f} of SciPy's (bar: 1/50)."
    )
    table = page.table(
        ("", "position error at 1 s", "steps", "time [ms]", "time a step [µs]"),
        [(name, f"{e:.1e}", str(n), f"{1e3 * s:.2f}", f"{1e6 * s / n:.2f}") for name, (e, s, n) in rows],
    )
    page.write(page.DOCS / "benchmarks" / "integrators.md", table=table, verdict="\n".join(lines), repeats=REPEATS)


if __name__ == "__main__":
    main()
