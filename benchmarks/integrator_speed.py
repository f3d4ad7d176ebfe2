"""Integrators on the heavy top of Geradin and Cardona, against Exudyn and SciPy, in one run; then how the time of a
step grows with the length of a pendulum, what lanes gain on batches, and how long the first call takes.

Run: python -m benchmarks.integrator_speed (needs the `test` and `peers` extras). It prints a page.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import page
from chasles import lie
from chasles.gallery.pendulum import Pendulum
from chasles.gallery.spinning_top import SpinningTop
from chasles.integrate.vector_field import Field

INERTIA = (15.234375, 0.46875, 15.234375)  # about the pivot [kg m^2]
WEIGHT = 15 * 9.81  # mass times gravity times distance of the center of mass [N m]
SPIN = (0.0, 150.0, -4.61538)  # body angular velocity at the start [rad/s]
CENTER = np.array([0.1733439641, 0.6400885921, -0.7484907911])  # position at t = 1 s, from DOP853 at 2e-14 [m]
REPEATS = 7
GOAL = 1e-6


@ch.integrate.field
def top(t, y, p, out):
    """Quaternion and body angular velocity; the center of mass is at (0, 1, 0) in the body."""
    w, x, yy, z = y[0], y[1], y[2], y[3]
    a, b, c = y[4], y[5], y[6]
    down_x, down_z = -2.0 * (x * z - w * yy), -(1.0 - 2.0 * (x * x + yy * yy))
    out[0], out[1], out[2] = a, b, c
    out[3] = (p[3] * down_z + (p[1] - p[2]) * b * c) / p[0]
    out[4] = (p[2] - p[0]) * c * a / p[1]
    out[5] = (-p[3] * down_x + (p[0] - p[1]) * a * b) / p[2]


PROBLEM = ch.integrate.LieODE(ch.integrate.Space("s3", "r3", side="right"), top, (*INERTIA, WEIGHT))
START = np.array([1.0, 0, 0, 0, *SPIN])


def chasles_run(method, **options) -> tuple[float, float, int]:
    """Error of the position at t = 1 s, seconds, steps."""
    begin = time.process_time()
    run = ch.integrate.solve(PROBLEM, method, (0.0, 1.0), START, save="final", progress=False, **options)
    seconds = time.process_time() - begin
    position = lie.s3.act(lie.s3.project(run.y[-1, :4]), [0.0, 1.0, 0.0])
    return float(abs(position - CENTER).max()), seconds, run.steps


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
    return float(abs(np.array(position) - CENTER).max()), seconds, steps


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
    return float(abs(position - CENTER).max()), seconds, len(run.t) - 1


def median(runs: Callable[[], tuple[float, float, int]]) -> tuple[float, float, int]:
    """Error and steps of a run, and the median of its times; the first run, which may compile, does not count."""
    runs()
    outcomes = [runs() for _ in range(REPEATS)]
    return outcomes[0][0], float(np.median([seconds for _, seconds, _ in outcomes])), outcomes[0][2]


def best(candidates: list[tuple[str, tuple[float, float, int]]]) -> tuple[str, tuple[float, float, int]]:
    """The fastest candidate that reaches the goal."""
    return min((c for c in candidates if c[1][0] <= GOAL), key=lambda c: c[1][1])


# ---------------------------------------------------------------- chains


def pendulum_row(number: int) -> tuple[str, ...]:
    """Time of a step of a chain, from the difference of a long and a short run, so that the start does not count."""
    chain = Pendulum.uniform(number)
    problem, start, steps = chain.problem(), chain.initial(), max(10, 200_000 // number)
    step = 1e-3 / steps

    def seconds(count: int) -> float:
        begin = time.process_time()
        ch.integrate.solve(
            problem, ch.integrate.RKMK("rk4"), (0.0, count * step), start, step=step, save="final", progress=False
        )
        return time.process_time() - begin

    seconds(steps)
    each = float(np.median([(seconds(3 * steps) - seconds(steps)) / (2 * steps) for _ in range(REPEATS)]))
    return f"{number:,}".replace(",", " "), f"{1e6 * each:.4g}", f"{1e9 * each / number:.0f}"


# ---------------------------------------------------------------- batches


def batch_row(name: str, problem: ch.integrate.LieODE, start: np.ndarray, threads: int) -> tuple[str, ...]:
    """Time a step and problem of a batch of 64 with other parameters, without and with lanes."""
    rng = np.random.default_rng(0)
    parameters = np.array(problem.parameters) * rng.uniform(0.9, 1.1, size=(64, 1))
    scalar: Any = problem.field
    steps = 4000

    def seconds(lanes: bool) -> float:
        equation = ch.integrate.LieODE(problem.space, Field(scalar.function, lanes) if lanes else scalar)
        options: dict[str, Any] = {"parameters": parameters, "threads": threads, "step": 1e-4, "save": "final"}
        ch.integrate.solve_batch(equation, ch.integrate.RKMK("rk4"), (0.0, 1e-3), start, **options)
        times = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            ch.integrate.solve_batch(equation, ch.integrate.RKMK("rk4"), (0.0, steps * 1e-4), start, **options)
            times.append(time.perf_counter() - begin)
        return min(times) / steps / len(parameters)

    one, four = seconds(False), seconds(True)
    return name, str(threads), f"{1e9 * one:.0f}", f"{1e9 * four:.0f}", f"{one / four:.1f}"


# ---------------------------------------------------------------- the first call

FIRST = """
import time
begin = time.process_time()
import chasles as ch
from chasles.gallery.{module} import {name}
system = {name}()
imported = time.process_time()
method = ch.integrate.RKMK("rk4")
ch.integrate.solve(system.problem(), method, (0.0, 1e-2), system.initial(), step=1e-3, save="final", progress=False)
print(imported - begin, time.process_time() - imported)
"""


def first_row(module: str, name: str) -> tuple[str, ...]:
    """Processor time of the first solve in a process, with an empty cache and with a full one."""
    code = FIRST.format(module=module, name=name)
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"CHASLES_CACHE_DIR": cache}
        runs = [
            subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    (imported, cold), (_, warm) = (map(float, run.stdout.split()) for run in runs)
    return f"`gallery.{module}.{name}`", f"{imported:.2f}", f"{cold:.1f}", f"{warm:.2f}"


def main() -> None:
    ours = median(partial(chasles_run, ch.integrate.RKMK("rk4"), step=1e-4))
    fast = [
        (f'`RKMK("dop853")`, step 1/{n}', median(partial(chasles_run, ch.integrate.RKMK("dop853"), step=1 / n)))
        for n in (140, 160, 180, 200)
    ] + [
        (f'`RKMK("butcher6")`, step 1/{n}', median(partial(chasles_run, ch.integrate.RKMK("butcher6"), step=1 / n)))
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
    chains = page.table(
        ("bodies", "time a step [µs]", "time a step and body [ns]"), [pendulum_row(n) for n in (10, 100, 1000, 10_000)]
    )
    top_, chain = SpinningTop(), Pendulum.uniform(5)
    batches = page.table(
        ("system", "threads", "one by one [ns]", "on lanes [ns]", "ratio"),
        [
            batch_row(name, problem, start, threads)
            for name, problem, start in (
                ("heavy top, `SpinningTop`", top_.problem(), top_.initial()),
                ("pendulum of 5 bodies", chain.problem(), chain.initial()),
            )
            for threads in (1, os.cpu_count() or 1)
        ],
    )
    first = page.table(
        ("system", "imports [s]", "empty cache [s]", "full cache [s]"),
        [first_row("spinning_top", "SpinningTop"), first_row("pendulum", "Pendulum")],
    )
    page.show(
        "integrators.md",
        table=table,
        verdict="\n".join(lines),
        repeats=REPEATS,
        chains=chains,
        batches=batches,
        first=first,
        machine=page.machine(),
        versions=page.versions("numba", "numpy"),
        load=page.load(),
    )


if __name__ == "__main__":
    main()
