"""Chains and meshes of bodies on bushings, implicit: time per body and step against Exudyn's `RigidBodySpringDamper`
(its fast module), measured in the same run, in turns, on one thread; growth with size; where the time goes.

    python -m benchmarks.bushing_speed [--page]
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import chasles as ch
from benchmarks.constrained_speed import exudyn_settings
from benchmarks.implicit_speed import DEFAULT, PAIRS, STEP, prepared, time_of_steps
from benchmarks.page import load, machine, show, table, versions
from chasles.constrained.bushing_tangent import bushing_tangent_address
from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.tables import STRUCTURE
from chasles.constrained.workspace import COUNTS, NO_ROW, WORKSPACE, ForceCall, run_loop

# of the bushings: torsion and bending [N m/rad], stretching and shearing [N/m]; damping is a thousandth of it
MOUNT = np.array([1e4, 1e4, 1e4, 1e5, 1e5, 1e5])


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


def mesh(m: int) -> ch.System:
    """m times m blocks, 1 m apart, each on bushings to its neighbors, one row on the ground."""
    names = [[f"block {r} {c}" for c in range(m)] for r in range(m)]
    blocks = [ch.Body(name, 1.0, (0.0, 0.0, 0.0), (0.05, 0.05, 0.05)) for row in names for name in row]
    right, up = ((0.5, 0.0, 0.0), (-0.5, 0.0, 0.0)), ((0.0, 0.5, 0.0), (0.0, -0.5, 0.0))
    pairs = [((names[r][c], names[r][c + 1]), right) for r in range(m) for c in range(m - 1)]
    pairs += [((names[r][c], names[r + 1][c]), up) for r in range(m - 1) for c in range(m)]
    pairs += [(("ground", names[0][c]), ((float(c), -0.5, 0.0), up[1])) for c in range(m)]
    mounts = [ch.Bushing(f"mount {k}", both, ends, MOUNT, 1e-3 * MOUNT) for k, (both, ends) in enumerate(pairs)]
    places = [
        ch.free(f"free {names[r][c]}", "ground", names[r][c], at=(float(c), float(r), 0.0))
        for r in range(m)
        for c in range(m)
    ]
    return ch.System(blocks, places, forces=mounts)


def compared(sizes: list[int]) -> list[tuple[str, ...]]:
    """Rows: bodies, Exudyn, ours, ratios of the least times and of pairs; where the last rod is after the same steps,
    theirs and ours."""
    rows = []
    for n in sizes:
        steps = max(20, 4000 // n)
        run = prepared(mounted(n), DEFAULT, STEP)
        run.advance(steps)
        ours, pairs = run.problem.split(run.point())[0][-1, 6], []
        for _ in range(PAIRS):
            spent, theirs = exudyn_mounted(n, steps)
            pairs.append((spent, time_of_steps(run, steps) / n))
        best, middle = np.min(pairs, axis=0), np.median([a / b for a, b in pairs])
        times = (*(f"{1e6 * t:.2f}" for t in best), f"{best[0] / best[1]:.1f}", f"{middle:.1f}")
        rows.append((str(n), *times, f"{1e3 * theirs:.4f}", f"{1e3 * ours:.4f}"))
        print("bushings", *rows[-1], flush=True)
    return rows


def least(work, repeats: int = 7) -> float:
    """Least processor time of a call [s]."""
    work()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def time_of_forces(run: ConstrainedStepper, count: int) -> float:
    """Of one evaluation of all forces [s]."""
    q, v, _ = run.problem.split(run.point())
    states = np.tile(q, (count, 1, 1)), np.tile(v, (count, 1, 1))
    return least(lambda: run.mechanism.applied_forces(*states)) / count


def time_of_tangents(run: ConstrainedStepper, count: int) -> float:
    """Of one evaluation of the derivatives of all forces [s]."""
    q, v, _ = run.problem.split(run.point())
    work, address = WORKSPACE.split(run.work, run.packed), bushing_tangent_address()
    call = ForceCall(
        *(0.0, 1e-6, 1e3, run.p, run.packed, q.ravel(), v.ravel(), work.blocks, work.matrix, work.law_wrenches),
        *(work.element_tiles, work.force_work, work.wrenches, work.acted, NO_ROW),
    )
    return least(lambda: [run_loop(address, call) for _ in range(count)]) / count


def parts(n: int) -> list[tuple[str, str]]:
    """Where the time of a step goes; iterations a step."""
    run, steps = prepared(mounted(n), DEFAULT, STEP), max(20, 20_000 // n)
    whole = time_of_steps(run, steps, 7) / n
    before = run.counts[COUNTS.iterations]
    run.advance(steps)
    iterations = (run.counts[COUNTS.iterations] - before) / steps
    forces, tangents = iterations * time_of_forces(run, steps) / n, time_of_tangents(run, steps) / n
    rows = [
        (f"forces, {iterations:.2f} times a step", forces),
        ("their tangents, once", tangents),
        ("factors, solution, steps on the group, Newton's method", whole - forces - tangents),
        ("all", whole),
    ]
    return [(name, f"{1e6 * spent:.2f}") for name, spent in rows]


def growth() -> list[tuple[str, ...]]:
    """Rows: model, time, lower 3x3 tiles and products of the factorization, per body."""
    rows: list[tuple[str, ...]] = []
    for name, make, size in (
        *((f"chain of {n}", mounted, n) for n in (100, 1000, 10_000)),
        ("mesh of 30x30", mesh, 30),
    ):
        began = time.process_time()
        run = prepared(make(size), DEFAULT, STEP)
        began = time.process_time() - began
        n = run.mechanism.n
        spent = time_of_steps(run, max(3, 20_000 // n) if make is mounted else 3) / n
        tiles = int(run.packed[STRUCTURE.head.n_lower])
        products = len(STRUCTURE.part(run.packed, "operations")) // 3
        rows.append((name, f"{1e6 * spent:.2f}", f"{tiles / n:.1f}", f"{products / n:.0f}", f"{began:.1f}"))
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="print all of it as a page")
    options = parser.parse_args()
    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    rows, shares = compared([10, 100, 1000]), parts(100)
    print(*shares, sep="\n", flush=True)
    sizes = growth()
    if options.page:
        heights = ("height, Exudyn [mm]", "height, chasles [mm]")
        show(
            "bushings.md",
            machine=machine(),
            versions=versions("chasles", "exudyn", "numpy", "numba"),
            load=load(),
            compared=table(["bodies", "Exudyn", "chasles", "ratio", "median of ratios", *heights], rows),
            parts=table(["", "µs per body and step"], shares),
            growth=table(["", "µs per body and step", "tiles", "products", "to prepare [s]"], sizes),
        )


if __name__ == "__main__":
    main()
