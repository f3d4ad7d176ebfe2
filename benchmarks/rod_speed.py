"""Rods against Exudyn's `ObjectBeamGeometricallyExact` (its fast module) and PyElastica, measured in the same run, in
turns, on one thread: time per element and step of a free rod in motion, growth with the number of elements, the 45
degree bend to equal accuracy, and a slender cantilever that falls. A peer that is not installed is left out.

    python -m benchmarks.rod_speed
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.constrained_speed import exudyn_settings
from chasles.simulation.bodies.equilibrium import Solver
from chasles.simulation.simulate import plan

K = np.array([500.0, 500.0, 500.0, 1e4, 1e4, 1e4])
PAIRS = 11
END, STEP, RADIUS = 3.5, 0.05, 0.9
FALL, TIP = 0.5, np.array([0.45860, 0.0, -0.80660])  # of the fall, to 2e-5
BEND = np.array([15.684800534039, 47.150438573629, 53.474858791825])  # by shooting


def spaghetti(n: int) -> ch.System:
    """Simo and Vu-Quoc 1988: a free rod, pushed and turned at one end."""
    section = ch.rods.Stiffness(K, 1.0, (10.0, 10.0, 10.0))
    rod = ch.Rod("rod", ch.rods.Line((6, 0, 0), (0, 8, 0)), section, elements=n)
    s = "200 * max(0, 1 - abs(t - 2.5) / 2.5)"
    load = ch.Wrench("load", "rod[0]", ("0", f"-0.5 * {s}", f"-{s}", f"0.1 * {s}", "0", "0"), "hybrid")
    return ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def own_steps(n: int) -> tuple[float, np.ndarray]:
    """Time per element and step [s], and where both ends are."""
    system, method = spaghetti(n), ch.integrate.GeneralizedAlpha(rho=RADIUS)
    options: dict[str, Any] = {"coordinates": "absolute", "method": method, "step": STEP, "save": "final"}
    task = plan(system, (0.0, END), certificate=False, **options)
    began = time.process_time()
    run = task.carry_out()
    spent = time.process_time() - began
    return spent / n / round(END / STEP), run.poses[-1][[0, -1], 4:].ravel()


def exudyn_rod(
    n: int, start: Any, end: Any, stiffness: np.ndarray, mass: float, moment: float
) -> tuple[Any, list[Any]]:
    """A straight rod of Exudyn, and its nodes."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    system = exu.SystemContainer().AddSystem()
    a, b = np.array(start, float), np.array(end, float)
    x = (b - a) / np.linalg.norm(b - a)
    angle = np.arctan2(x[1], x[0])
    section = exu.BeamSection()
    section.stiffnessMatrix = np.diag([*stiffness[3:], *stiffness[:3]])
    section.massPerLength, section.inertia = mass, moment * np.eye(3)
    nodes = [
        system.AddNode(
            items.NodeRigidBodyRotVecLG(referenceCoordinates=[*(a + (b - a) * k / n), 0.0, 0.0, float(angle)])
        )
        for k in range(n + 1)
    ]
    for k in range(n):
        system.AddObject(
            items.ObjectBeamGeometricallyExact(
                nodeNumbers=nodes[k : k + 2], length=float(np.linalg.norm(b - a)) / n, sectionData=section
            )
        )
    return system, nodes


def exudyn_steps(n: int) -> tuple[float, np.ndarray]:
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    system, nodes = exudyn_rod(n, (6, 0, 0), (0, 8, 0), K, 1.0, 10.0)
    marker = system.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0]))

    def size(t: float) -> float:
        return 200.0 * max(0.0, 1.0 - abs(t - 2.5) / 2.5)

    force: Any = items.LoadForceVector
    torque: Any = items.LoadTorqueVector
    push = force(
        markerNumber=marker, loadVector=[1, 0, 0], loadVectorUserFunction=lambda m, t, f: [0.1 * size(t), 0, 0]
    )
    turn = torque(
        markerNumber=marker,
        loadVector=[0, 0, 1],
        loadVectorUserFunction=lambda m, t, f: [0, -0.5 * size(t), -size(t)],
    )
    system.AddLoad(push)
    system.AddLoad(turn)
    system.Assemble()
    steps = round(END / STEP)
    settings = exudyn_settings(steps, END, RADIUS)
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.timeIntegration.newton.useModifiedNewton = True
    began = time.process_time()
    if not system.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    spent = time.process_time() - began
    ends = [system.GetNodeOutput(node, exu.OutputVariableType.Position) for node in (nodes[0], nodes[-1])]
    return spent / n / steps, np.concatenate(ends)


def bend(n: int) -> ch.System:
    curve = ch.rods.Arc((0, 0, 0), (100, 0, 0), (0, 0, -1), np.pi / 4)
    section, metal = ch.rods.Constants(1, 1 / 12, 1 / 12, 1 / 6, 1.0), ch.rods.Material(1e7, 0.0)
    rod = ch.Rod("b", curve, section, metal, ("ground", "free"), n)
    load = ch.Wrench("P", f"b[{n}]", (0, 0, 0, 0, 0, 600), "hybrid")
    return ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def own_bend(n: int) -> tuple[float, float]:
    """Time of Newton's method [s], and the error of the tip."""
    solver = Solver(bend(n), 0.0, 40)
    start = solver.start(None)
    began = time.process_time()
    found, _, _ = solver.solve(start, 1.0)
    spent = time.process_time() - began
    return spent, float(np.linalg.norm(solver.statics.mechanism.poses(found.q)[-1, 4:] - BEND))


def exudyn_bend(n: int, load_steps: int) -> tuple[float, float]:
    """The bend of Exudyn, whose curved reference is given by nodes along the arc."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    system = exu.SystemContainer().AddSystem()
    section = exu.BeamSection()
    section.stiffnessMatrix = np.diag([1e7, 5e6, 5e6, 5e6 / 6, 1e7 / 12, 1e7 / 12])
    angles = np.linspace(0, np.pi / 4, n + 1)
    nodes = [
        system.AddNode(
            items.NodeRigidBodyRxyz(
                referenceCoordinates=[100 - 100 * np.cos(a), 100 * np.sin(a), 0, 0, 0, np.pi / 2 - a]
            )
        )
        for a in angles
    ]
    for k in range(n):
        system.AddObject(
            items.ObjectBeamGeometricallyExact(
                nodeNumbers=nodes[k : k + 2], length=100 * np.pi / 4 / n, sectionData=section
            )
        )
    still = system.AddNode(items.NodePointGround())
    ground = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=still, coordinate=0))
    for k in range(6):
        held = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        system.AddObject(items.CoordinateConstraint(markerNumbers=[ground, held]))
    tip = system.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[-1]))
    system.AddLoad(items.LoadForceVector(markerNumber=tip, loadVector=[0, 0, 600]))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.staticSolver.numberOfLoadSteps = load_steps
    settings.staticSolver.verboseMode = 0
    settings.solution.file.write = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    began = time.process_time()
    if not system.SolveStatic(settings):
        raise RuntimeError("Exudyn did not finish")
    spent = time.process_time() - began
    place = np.array(system.GetNodeOutput(nodes[-1], exu.OutputVariableType.Position))
    return spent, float(np.linalg.norm(place - BEND))


def nylon(n: int) -> ch.System:
    """A rod of 1 m and 2 mm radius, clamped, horizontal at first."""
    line, section = ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Circle(0.002)
    return ch.System(rods=[ch.Rod("r", line, section, ch.rods.Material(2e9, 0.3, 1100.0), ("ground", "free"), n)])


def own_fall(n: int, step: float) -> tuple[float, float]:
    """Processor time [s] of half a second, and the error of the tip [m]."""
    task = plan(
        nylon(n),
        (0.0, FALL),
        certificate=False,
        coordinates="absolute",
        method="generalized_alpha",
        step=step,
        save="final",
    )
    began = time.process_time()
    run = task.carry_out()
    spent = time.process_time() - began
    return spent, float(np.linalg.norm(run[f"r[{n}]"].position[-1] - TIP))


def elastica_fall(n: int, step: float = 2e-6) -> tuple[float, float]:
    """The same by PyElastica, whose step is limited by thickness shear, whatever the number of elements."""
    import elastica as ea

    class Simulator(ea.BaseSystemCollection, ea.Constraints, ea.Forcing):
        pass

    system = Simulator()
    x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    rod = ea.CosseratRod.straight_rod(
        n, np.zeros(3), x, y, 1.0, 0.002, 1100.0, youngs_modulus=2e9, shear_modulus=2e9 / 2.6
    )
    system.append(rod)
    system.constrain(rod).using(ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    system.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -9.81]))
    system.finalize()
    stepper: Any = ea.PositionVerlet()
    t = stepper.step(system, 0.0, step)  # compiles
    count = round(FALL / step) - 1
    began = time.process_time()
    for _ in range(count):
        t = stepper.step(system, t, step)
    spent = time.process_time() - began
    return spent, float(np.linalg.norm(rod.position_collection[:, -1] - TIP))


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def compare_falls() -> None:
    print("slender cantilever falls for 0.5 s: error of the tip [m], and processor time [s]")
    own = []
    for n, step in ((8, 5e-3), (16, 5e-3), (16, 2.5e-3)):
        spent, error = min(own_fall(n, step) for _ in range(3))
        own += [spent] if error < 1e-3 else []
        print(f"  own,        n = {n:3d}, h = {step:g}: {error:.2e}, {spent:7.4f}")
    for n in (8, 16) if installed("elastica") else ():
        spent, error = elastica_fall(n)
        print(
            f"  PyElastica, n = {n:3d}, h = 2e-06: {error:.2e}, {spent:7.3f}: {spent / min(own):5.0f} times our least"
        )


def main() -> None:
    compare_falls()
    if not installed("exudyn"):
        return
    print("free rod in motion, h = 0.05, us per element and step (processor time, least of three in turns)")
    for n in (16, 100):
        times = [(own_steps(n)[0], exudyn_steps(n)[0]) for _ in range(3)]
        own, other = np.min(times, axis=0) * 1e6
        print(f"  n = {n:4d}: {own:6.2f}, Exudyn {other:6.1f}: {other / own:5.1f} times")
    print(f"  n = 1000: {1e6 * min(own_steps(1000)[0] for _ in range(2)):6.2f}")
    print("45 degree bend at 600: error of the tip, and time of the solution [ms]")
    for n in (8, 16, 32):
        spent, error = min(own_bend(n) for _ in range(5))
        print(f"  own,    n = {n:3d}: {error:.2e}, {1e3 * spent:7.2f}")
    for n, load_steps in ((32, 1), (95, 1), (95, 20)):
        spent, error = min(exudyn_bend(n, load_steps) for _ in range(2))
        print(f"  Exudyn, n = {n:3d}, {load_steps:2d} load steps: {error:.2e}, {1e3 * spent:7.2f}")
    # in one load step, its quickest: the least of five and of two, in turns
    ratios = sorted(
        min(exudyn_bend(95, 1)[0] for _ in range(2)) / min(own_bend(8)[0] for _ in range(5)) for _ in range(PAIRS)
    )
    print(f"  to equal accuracy: {ratios[PAIRS // 2]:.0f} times in the median of {PAIRS} pairs", end=", ")
    print(f"{ratios[0]:.0f} to {ratios[-1]:.0f}")


if __name__ == "__main__":
    main()
