"""What a transition map costs: a chain of 10 as a user's model in absolute coordinates, over the same equations on the
group itself, on one thread.

    python -m benchmarks.transition_speed [--page]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.constrained_speed import best_time, chain
from benchmarks.page import machine, show, table, versions
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.lie.transition.coordinates import LOCAL
from chasles.reproduce.user_model import mechanism_problem, start
from chasles.simulation.bodies.dynamics import BodyDynamics

BODIES, STEP, STEPS, ROUNDS = 10, 1e-3, 400, 7
ABSOLUTE = ("quaternion", "rotation_vector", "euler:ZYX", "screw")


def measure() -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Seconds a step: on the group by space, and by coordinates. Rounds take turns, so that all see one machine."""
    system = chain(BODIES)
    tree = ch.Mechanism(system)
    speeds = 0.1 * np.random.default_rng(0).normal(size=tree.nv)
    poses, twists = tree.poses(tree.neutral()), tree.twists(tree.neutral(), speeds)
    runs: dict[tuple[str, str], tuple[Any, np.ndarray]] = {}
    for space in ("SE3", "SO3xR3"):
        mechanism = AbsoluteMechanism(system, space, stabilized=False)
        direct = BodyDynamics(mechanism, space, projected=False)
        central, velocities = mechanism.state(poses, twists)
        y0 = direct.state(central, velocities, np.empty(0))
        runs[space, ""] = (direct.problem(), y0)
        for absolute in ABSOLUTE:
            for local in (name for name, chosen in LOCAL.items() if chosen.group == space):
                case = mechanism_problem(mechanism, absolute, local)
                runs[absolute, local] = (case, start(case, mechanism, poses, twists))
    best = dict.fromkeys(runs, np.inf)
    for _ in range(ROUNDS):
        for key, (problem, y0) in runs.items():

            def run(problem=problem, y0=y0):
                ch.integrate.solve(
                    problem, ch.integrate.RKMK("rk4"), (0.0, STEPS * STEP), y0, step=STEP, save="final", progress=False
                )

            best[key] = min(best[key], best_time(run, 2) / STEPS)
    groups = {space: best.pop((space, "")) for space in ("SE3", "SO3xR3")}
    return groups, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="print all of it as a page")
    options = parser.parse_args()
    groups, found = measure()
    rows = []
    for absolute in ABSOLUTE:
        times = [(found[absolute, name], groups[local.group]) for name, local in LOCAL.items()]
        rows.append((absolute, *(f"{1e6 * ours:.1f} ({ours / group:.2f})" for ours, group in times)))
    print("on the group [us a step]:", {space: round(1e6 * seconds, 2) for space, seconds in groups.items()})
    for row in rows:
        print(*row)
    if options.page:
        show(
            "transition.md",
            machine=machine(),
            versions=versions("chasles", "numpy", "numba"),
            bodies=BODIES,
            se3=f"{1e6 * groups['SE3']:.1f}",
            product=f"{1e6 * groups['SO3xR3']:.1f}",
            growth=table(["absolute coordinates", *(name.replace("_", " ") for name in LOCAL)], rows),
        )


if __name__ == "__main__":
    main()
