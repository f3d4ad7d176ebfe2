"""Implicit methods for constrained systems: time per body and step, growth with size, memory, the heavy top; the peer
is Exudyn (its fast module), measured in the same run, in turns, on one thread.

    python -m benchmarks.implicit_speed [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.constrained_speed import (
    TOP,
    TOP_END,
    chain,
    exudyn_chain,
    exudyn_settings,
    star,
    top_of_exudyn,
)
from benchmarks.page import DOCS, machine, table, versions, write
from chasles.constrained.run import ConstrainedStepper
from chasles.integrate.options import Options
from chasles.simulation.bodies import BodyDynamics

STEP = 1e-3
PAIRS = 5
# of the bushings: torsion and bending [N m/rad], stretching and shearing [N/m]; damping is a thousandth of it
MOUNT = np.array([1e4, 1e4, 1e4, 1e5, 1e5, 1e5])
DEFAULT, INDEX_3 = ch.integrate.GeneralizedAlpha(), ch.integrate.GeneralizedAlpha(index=3)


def prepared(system: ch.System, method: Any, step: float, v: Any = None, end: float = 1e3) -> ConstrainedStepper:
    dynamics = BodyDynamics(system, "SO3xR3", projected=True)
    state = dynamics.start(0.0, None, v, None, None, False)
    return ConstrainedStepper(dynamics, method, (0.0, end), state, Options(step=step, save="final"))


def time_of_steps(run: ConstrainedStepper, steps: int, repeats: int = 3) -> float:
    """Least processor time of a step [s], in motion."""
    run.advance(steps)
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run.advance(steps)
        times.append(time.process_time() - began)
    return min(times) / steps


def numbers_held(run: ConstrainedStepper) -> int:
    """Bytes of all arrays of a run that grow with the number of bodies, and of the packed mechanism."""
    arrays = (run.p, run.packed, run.work, run.memory, run.saved_y)
    return sum(array.nbytes for array in arrays)


def top() -> ch.System:
    body = ch.Body("top", mass=TOP["mass"], com=(0.0, 1.0, 0.0), inertia=TOP["inertia"])
    return ch.System([body], [ch.spherical("pivot", "ground", "top")])


def top_error(method: Any, step: float) -> float:
    found = prepared(top(), method, step, TOP["spin"], end=1.0).finish(progress=False)
    return float(np.abs(found.y[-1][4:7] - TOP_END).max())


def chains(sizes: list[int]) -> list[tuple[str, ...]]:
    """Rows: bodies, Exudyn, ours of index 2 and 3, ratios of the least times."""
    rows = []
    for n in sizes:
        steps, found = max(20, 8000 // n), []
        runs = [prepared(chain(n), method, STEP) for method in (DEFAULT, INDEX_3)]
        for _ in range(PAIRS):
            theirs = exudyn_chain(n, max(40, 4000 // n))
            found.append((theirs, *(time_of_steps(run, steps) / n for run in runs)))
        best = np.min(found, axis=0)
        middle = np.median([row[0] / row[1] for row in found])
        rows.append((str(n), *(f"{1e6 * t:.2f}" for t in best), f"{best[0] / best[1]:.1f}", f"{middle:.1f}"))
        print("chain", *rows[-1], flush=True)
    return rows


def mounted(n: int) -> ch.System:
    """The rods of `chain`, each on a bushing at the end of the one before."""
    rods = [ch.Body(f"rod {k}", 1.0, (0.0, 0.0, 0.0), (0.01, 0.1, 0.1)) for k in range(n)]
    ends = [((0.5 if k else 0.0, 0.0, 0.0), (-0.5, 0.0, 0.0)) for k in range(n)]
    mounts = [
        ch.Bushing(f"mount {k}", (f"rod {k - 1}" if k else "ground", f"rod {k}"), ends[k], MOUNT, 1e-3 * MOUNT)
        for k in range(n)
    ]
    places = [ch.free(f"free {k}", "ground", f"rod {k}", at=(k + 0.5, 0.0, 0.0)) for k in range(n)]
    return ch.System(rods, places, forces=mounts)


def exudyn_mounted(n: int, steps: int) -> tuple[float, float]:
    """Time of Exudyn per body and step [s], and where the last rod is [m]."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
    last = system.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    K = np.diag([*MOUNT[3:], *MOUNT[:3]])
    for k in range(n):
        node = system.AddNode(items.NodeRigidBodyRotVecLG(referenceCoordinates=[k + 0.5, 0, 0, 0, 0, 0]))
        body = system.AddObject(
            items.ObjectRigidBody(nodeNumber=node, mass=1.0, inertia=[0.01, 0.1, 0.1, 0, 0, 0], centerOfMass=[0, 0, 0])
        )
        marker = system.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, 0, -9.81]))
        near = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[-0.5, 0, 0]))
        system.AddObject(
            items.ObjectConnectorRigidBodySpringDamper(markerNumbers=[last, near], stiffness=K, damping=1e-3 * K)
        )
        last = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.5, 0, 0]))
    system.Assemble()
    settings = exudyn_settings(steps, steps * STEP, 0.8)
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    began = time.process_time()
    if not system.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    spent = (time.process_time() - began) / steps / n
    return spent, system.GetNodeOutput(node, exu.OutputVariableType.Position)[2]


def bushings(sizes: list[int]) -> list[tuple[str, ...]]:
    """Rows: bodies, Exudyn, ours, ratio of the least times; where the last rod is after the same steps, theirs and
    ours."""
    rows = []
    for n in sizes:
        steps = max(20, 4000 // n)
        run = prepared(mounted(n), DEFAULT, STEP)
        run.advance(steps)
        ours, pairs = run.problem.split(run.point())[0][-1, 6], []
        for _ in range(PAIRS):
            spent, theirs = exudyn_mounted(n, steps)
            pairs.append((spent, time_of_steps(run, steps) / n))
        best = np.min(pairs, axis=0)
        times = (*(f"{1e6 * t:.2f}" for t in best), f"{best[0] / best[1]:.1f}")
        rows.append((str(n), *times, f"{1e3 * theirs:.4f}", f"{1e3 * ours:.4f}"))
        print("bushings", *rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    options = parser.parse_args()
    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    compared = chains([2, 10, 100, 500])
    mounts = bushings([10, 100, 1000])
    pairs = []
    for _ in range(3):
        their_error, their_time = top_of_exudyn(1e-4)
        ours = [time_of_steps(prepared(top(), m, 1e-4, TOP["spin"]), 5000) for m in (DEFAULT, INDEX_3)]
        pairs.append((1e-4 * their_time, *ours))
    theirs, *ours = np.min(pairs, axis=0)
    tops = [("Exudyn, rho = 0.6", f"{1e6 * theirs:.2f}", f"{their_error:.1e}", "")]
    for name, method, spent in zip(("index 2 (default)", "index 3"), (DEFAULT, INDEX_3), ours, strict=True):
        tops.append((name, f"{1e6 * spent:.2f}", f"{top_error(method, 1e-4):.1e}", f"{theirs / spent:.1f}"))
    print(*tops, sep="\n", flush=True)
    growth = []
    for make in (chain, star):
        for n in (100, 1000, 10_000):
            run = prepared(make(n), DEFAULT, STEP)
            spent = time_of_steps(run, max(5, 20_000 // n)) / n
            growth.append((f"{make.__name__} of {n}", f"{1e6 * spent:.2f}", f"{numbers_held(run) / n / 1e3:.1f}"))
            print(*growth[-1], flush=True)
    if options.write:
        write(
            DOCS / "benchmarks" / "implicit.md",
            machine=machine(),
            versions=versions("chasles", "exudyn", "numpy", "numba"),
            chains=table(["bodies", "Exudyn", "index 2", "index 3", "ratio", "median of ratios"], compared),
            tops=table(["", "µs per step", "error [m]", "ratio"], tops),
            mounts=table(
                ["bodies", "Exudyn", "chasles", "ratio", "height, Exudyn [mm]", "height, chasles [mm]"], mounts
            ),
            growth=table(["", "µs per body and step", "kB per body"], growth),
        )


if __name__ == "__main__":
    main()
