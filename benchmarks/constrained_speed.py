"""Constrained systems in absolute coordinates: time per body and step, growth with size, time to an error; the peer is
Exudyn (its fast module), measured in the same run on one thread.

    python -m benchmarks.constrained_speed [--write]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import chasles as ch
from chasles.absolute import entry
from chasles.integrate.explicit import ExplicitRun
from chasles.integrate.run import Options
from chasles.simulation.bodies import BodyDynamics

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
    state = dynamics.state(*dynamics.mechanism.state(tree.poses(tree.neutral())))
    run = ExplicitRun(dynamics.problem(), ch.RKMK("rk4"), (0.0, 1e3), state, Options(step=STEP, save="final"))
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
    arguments = (entry.addresses()[0], mechanism.parameters, *rows, work, a, multipliers, 0)
    return best_time(lambda: entry.accelerations_of_states(*arguments), 7) / count


# ---------------------------------------------------------------- Exudyn


def exudyn_chain(n: int, steps: int) -> float:
    """Time of Exudyn's implicit solver (generalized alpha, sparse, Lie group nodes), per body and step [s]."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813
    from exudyn.utilities import RigidBodyInertia

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
    last = system.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    inertia = RigidBodyInertia(mass=1.0, inertiaTensor=np.diag([0.01, 0.1, 0.1]))
    for i in range(n):
        node = system.AddNode(
            items.NodeRigidBodyRotVecLG(referenceCoordinates=[i + 0.5, 0, 0, 0, 0, 0], initialVelocities=[0] * 6)
        )
        body = system.AddObject(
            items.ObjectRigidBody(
                nodeNumber=node,
                physicsMass=inertia.mass,
                physicsInertia=inertia.GetInertia6D(),
                physicsCenterOfMass=[0, 0, 0],
            )
        )
        mass_marker = system.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(items.LoadMassProportional(markerNumber=mass_marker, loadVector=[0, 0, -9.81]))
        near = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[-0.5, 0, 0]))
        system.AddObject(items.ObjectJointSpherical(markerNumbers=[last, near], constrainedAxes=[1, 1, 1]))
        last = system.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.5, 0, 0]))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * STEP
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = 1e9
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    began = time.process_time()
    if not system.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    return (time.process_time() - began) / steps / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    options = parser.parse_args()
    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    rows = []
    print(f"one body, full equations: {1e9 * one_body_equations():.0f} ns")
    for n in options.sizes:
        ours = per_body_and_step(chain(n), max(5, 20_000 // n))
        rows.append((f"chain of {n}", ours))
        print(f"chain of {n}: {1e6 * ours:.2f} us per body and step", flush=True)
    spokes = per_body_and_step(star(options.sizes[-1]), 5)
    print(f"star of {options.sizes[-1]}: {1e6 * spokes:.2f} us per body and step")
    theirs = min(exudyn_chain(100, 200) for _ in range(3))
    ours = per_body_and_step(chain(100), 200, 7)
    print(f"chain of 100: Exudyn {1e6 * theirs:.2f} us, ours {1e6 * ours:.2f} us, ratio {theirs / ours:.1f}")


if __name__ == "__main__":
    main()
