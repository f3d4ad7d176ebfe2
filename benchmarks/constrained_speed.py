"""Constrained systems in absolute coordinates: time per body and step, growth with size, time to an error; the peer is
Exudyn (its fast module), measured in the same run on one thread.

    python -m benchmarks.constrained_speed [--page]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.page import machine, show, table, versions
from chasles.absolute import entry
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics

STEP = 1e-3


def chain(n: int) -> ch.System:
    """Rods of 1 m and 1 kg on spherical joints, stretched out horizontally, which fall."""
    bodies = [ch.Body(f"rod {i}", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.1, 0.1)) for i in range(n)]
    joints = [
        ch.spherical(f"ball {i}", f"rod {i - 1}" if i else "ground", f"rod {i}", at=(1.0 if i else 0.0, 0.0, 0.0))
        for i in range(n)
    ]
    return ch.System(bodies, joints, name=f"chain of {n}")


def star(n: int) -> ch.System:
    """A hub that floats with n rods on spherical joints around it."""
    hub = ch.Body("hub", mass=10.0, inertia=(2.0, 2.0, 2.0))
    bodies = [ch.Body(f"rod {i}", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.1, 0.1)) for i in range(n)]
    joints = []
    for i in range(n):
        angle = 2 * np.pi * i / n
        pose = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2), np.cos(angle), np.sin(angle), 0.0)
        joints.append(ch.spherical(f"ball {i}", "hub", f"rod {i}", at=pose))
    return ch.System([hub, *bodies], joints, name=f"star of {n}")


def best_time(run: Any, repeats: int = 5) -> float:
    """Least processor time of several runs [s]."""
    run()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def per_body_and_step(system: ch.System, steps: int, repeats: int = 3) -> float:
    """Time of RKMK4 with projection, per body and step [s]."""
    dynamics = BodyDynamics(system, "SO3xR3", projected=True)
    tree = ch.Mechanism(system)
    poses, velocities = dynamics.mechanism.state(tree.poses(tree.neutral()))
    state = dynamics.state(poses, velocities, dynamics.mechanism.angles(poses))
    run = ExplicitStepper(
        dynamics.problem(), ch.integrate.RKMK("rk4"), (0.0, 1e3), state, Options(step=STEP, save="final")
    )
    run.advance(steps)  # warm, and in motion
    times = []
    for _ in range(repeats):
        began = time.process_time()
        ending = run.advance(steps)
        times.append(time.process_time() - began)
        assert ending is None, ending
    return min(times) / steps / len(system.bodies)


def one_body_equations() -> float:
    """Time of the full index-1 equations of one body on a spherical joint, in a compiled loop [s]."""
    mechanism = chain(1).compile("absolute", space="SO3xR3")
    q, v = mechanism.state(np.array([[1.0, 0, 0, 0, 0, 0, 0]]), np.array([[0.1, 2.0, 1.0, 0, 0, 0]]))
    count = 100_000
    rows = [np.tile(array.ravel(), (count, 1)) for array in (q, v, np.zeros(6))]
    work, a, multipliers = np.empty(mechanism.work), np.empty((count, 6)), np.empty((count, 0))
    packed, times, angles = mechanism.packed, np.zeros(count), np.zeros((count, 0))
    address = entry.addresses()[0]
    arguments = (address, packed.view(np.int64), packed, times, angles, *rows, work, a, multipliers)
    return best_time(lambda: entry.accelerations_of_states(*arguments), 7) / count


# ---------------------------------------------------------------- the heavy top of Geradin and Cardona

TOP: dict[str, Any] = {"mass": 15.0, "inertia": (0.234375, 0.46875, 0.234375), "spin": (0.0, 150.0, -4.61538)}
# center of mass at t = 1 s: quaternion equations with DOP853 at 1e-13
TOP_END = np.array([0.1733439641, 0.6400885921, -0.7484907911])
ACCURACY = 1e-5  # [m]


def top_of_ours(step: float) -> tuple[float, float]:
    """Error at t = 1 s and processor time [s] of RKMK4 with projection."""
    body = ch.Body("top", mass=TOP["mass"], com=(0.0, 1.0, 0.0), inertia=TOP["inertia"])
    dynamics = BodyDynamics(ch.System([body], [ch.spherical("pivot", "ground", "top")]), "SO3xR3", projected=True)
    start = dynamics.start(0.0, None, TOP["spin"], None, None, False)
    options = Options(step=step, save="final")

    def run():
        return ExplicitStepper(dynamics.problem(), ch.integrate.RKMK("rk4"), (0.0, 1.0), start, options).finish(
            progress=False
        )

    return float(np.abs(run().y[-1][4:7] - TOP_END).max()), best_time(run)


def to_accuracy(run: Any, steps: list[float]) -> tuple[float, float, float]:
    """The largest of the steps that reaches the accuracy, its error and its time."""
    for step in steps:
        error, seconds = run(step)
        if error <= ACCURACY:
            return step, error, seconds
    raise RuntimeError(f"none of the steps {steps} reaches {ACCURACY}")


# ---------------------------------------------------------------- Exudyn


def exudyn_settings(steps: int, end: float, radius: float) -> Any:
    """Settings of Exudyn's generalized alpha, with nothing written."""
    import exudyn as exu

    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = end
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = radius
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = 1e9
    return settings


def exudyn_bodies(bodies: list[tuple[Any, Any, Any, Any, Any]]) -> Any:
    """A chain of bodies on spherical joints: (mass, inertia, center, velocities, arm to the joint before)."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
    last = system.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    for mass, inertia, center, velocities, arm in bodies:
        node = system.AddNode(
            items.NodeRigidBodyRotVecLG(referenceCoordinates=[*center, 0, 0, 0], initialVelocities=velocities)
        )
        body = system.AddObject(
            items.ObjectRigidBody(nodeNumber=node, mass=mass, inertia=[*inertia, 0, 0, 0], centerOfMass=[0, 0, 0])
        )
        marker = system.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, 0, -9.81]))
        near = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=arm))
        system.AddObject(items.ObjectJointSpherical(markerNumbers=[last, near], constrainedAxes=[1, 1, 1]))
        last = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[-x for x in arm]))
    system.Assemble()
    return container, system, node


def exudyn_chain(n: int, steps: int) -> float:
    """Time of Exudyn's implicit solver (generalized alpha, sparse, Lie group nodes), per body and step [s]."""
    import exudyn as exu

    rods = [(1.0, (0.01, 0.1, 0.1), (i + 0.5, 0.0, 0.0), [0.0] * 6, [-0.5, 0.0, 0.0]) for i in range(n)]
    _, system, _ = exudyn_bodies(rods)
    settings = exudyn_settings(steps, steps * STEP, 0.8)
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    began = time.process_time()
    if not system.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    return (time.process_time() - began) / steps / n


def top_of_exudyn(step: float) -> tuple[float, float]:
    """Error at t = 1 s and processor time [s] of Exudyn's generalized alpha."""
    import exudyn as exu

    spin = np.array(TOP["spin"])
    velocities = [*np.cross(spin, [0.0, 1.0, 0.0]), *spin]
    times, error = [], np.inf
    for _ in range(3):
        _, system, node = exudyn_bodies([(TOP["mass"], TOP["inertia"], (0.0, 1.0, 0.0), velocities, [0.0, -1.0, 0.0])])
        settings = exudyn_settings(round(1 / step), 1.0, 0.6)
        began = time.process_time()
        system.SolveDynamic(settings)
        times.append(time.process_time() - began)
        error = np.abs(system.GetNodeOutput(node, exu.OutputVariableType.Position) - TOP_END).max()
    return float(error), min(times)


# ---------------------------------------------------------------- the page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="print all of it as a page")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    options = parser.parse_args()
    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    alone = one_body_equations()
    print(f"one body, full equations: {1e9 * alone:.0f} ns", flush=True)
    rows = []
    for make, sizes in ((chain, options.sizes), (star, options.sizes[-1:])):
        for n in sizes:
            system = make(n)
            rows.append((system.name, per_body_and_step(system, max(5, 20_000 // n), 5)))
            print(f"{system.name}: {1e6 * rows[-1][1]:.2f} us per body and step", flush=True)
    pairs = [(exudyn_chain(100, 200), per_body_and_step(chain(100), 200, 7)) for _ in range(3)]
    theirs, ours = (min(times) for times in zip(*pairs, strict=True))
    print(
        f"chain of 100: Exudyn {1e6 * theirs:.2f} us, ours {1e6 * ours:.2f} us, ratio {theirs / ours:.1f}", flush=True
    )
    our_top = to_accuracy(top_of_ours, [2e-3, 1e-3, 5e-4])
    their_top = to_accuracy(top_of_exudyn, [1e-3, 5e-4, 2.5e-4, 1e-4, 5e-5])
    print(f"heavy top to {ACCURACY:g} m: ours {our_top}, Exudyn {their_top}, ratio {their_top[2] / our_top[2]:.0f}")
    if options.page:
        show(
            "constrained.md",
            machine=machine(),
            versions=versions("chasles", "exudyn", "numpy", "numba"),
            alone=f"{1e9 * alone:.0f}",
            growth=table(["", "µs per body and step"], [(name, f"{1e6 * time:.2f}") for name, time in rows]),
            theirs=f"{1e6 * theirs:.1f}",
            ours=f"{1e6 * ours:.2f}",
            ratio=f"{theirs / ours:.1f}",
            tops=table(
                ["", "step [s]", "error [m]", "time [ms]"],
                [
                    (name, f"{step:g}", f"{error:.1e}", f"{1e3 * seconds:.2f}")
                    for name, (step, error, seconds) in (("RKMK4 with projection", our_top), ("Exudyn", their_top))
                ],
            ),
            top_ratio=f"{their_top[2] / our_top[2]:.0f}",
        )


if __name__ == "__main__":
    main()
