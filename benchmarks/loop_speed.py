"""Closed mechanisms in joint coordinates, measured beside absolute ones: time of a step of RKMK4 with projection.

python -m benchmarks.loop_speed [--page]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.page import machine, show, table, versions
from chasles.gallery import andrews
from chasles.gallery.boxes import three_bar
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.closed.dynamics import dynamics_of

Z = (0.0, 0.0, 1.0)


def ladder(loops: int) -> ch.System:
    """Squares of rods in a row, each with one more freedom, closed by points on lines so that no row is redundant."""
    rod: dict[str, Any] = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
    bodies, joints, closed = [], [], []
    for k in range(loops):
        rail = f"rail {k - 1}" if k else "ground"
        end = (1.0, 0.0, 0.0) if k else (0.0, 0.0, 0.0)
        bodies += [ch.Body(f"{what} {k}", **rod) for what in ("post", "rail", "brace")]
        joints += [
            ch.revolute(f"post {k}", rail, f"post {k}", axis=Z, at=end),
            ch.revolute(f"rail {k}", f"post {k}", f"rail {k}", axis=Z, at=(1.0, 0.0, 0.0)),
            ch.revolute(f"brace {k}", rail, f"brace {k}", axis=Z, at=(0.3, 0.2, 0.0)),
        ]
        points = ((0.5, 0.1, 0.0), (1.0, 0.0, 0.0))
        closed.append(ch.PointOnLine(f"end {k}", (f"rail {k}", f"brace {k}"), points, Z))
    return ch.System(bodies, joints, constraints=closed, gravity=(0.0, -9.81, 0.0), name=f"ladder of {loops}")


def step_time(dynamics, state: np.ndarray, step: float, steps: int = 200, repeats: int = 5) -> float:
    """Least processor time of a step [s]."""
    run = ExplicitStepper(
        dynamics.problem(), ch.integrate.RKMK("rk4"), (0.0, 1e3), state, Options(step=step, save="final")
    )
    times = []
    for _ in range(repeats + 1):
        began = time.process_time()
        ending = run.advance(steps)
        times.append(time.process_time() - began)
        assert ending is None, ending
    return min(times[1:]) / steps


def measured(system: ch.System, q: np.ndarray, v: np.ndarray, step: float) -> list[str]:
    """A line of the table."""
    dynamics = dynamics_of(system)
    start = dynamics.start(0.0, q, v, True)
    q, v, _ = dynamics.split(start)
    mechanism = dynamics.mechanism
    assert isinstance(mechanism, ch.ClosedMechanism)
    bodies = BodyDynamics(system, "auto", projected=True)
    other = bodies.start(0.0, None, None, mechanism.poses(q), mechanism.twists(q, v), True)
    joint, absolute = step_time(dynamics, start, step), step_time(bodies, other, step)
    sizes = [len(mechanism.bodies), mechanism.nv, mechanism.rows, sum(tile.rows for tile in bodies.mechanism.tiles)]
    return [*map(str, sizes), f"{1e6 * joint:.1f}", f"{1e6 * absolute:.1f}", f"{absolute / joint:.1f}"]


def lines() -> list[list[str]]:
    """The mechanisms, each with a start."""
    found = []
    system = andrews.system()
    tree = system.compile()
    q = np.zeros(7)
    q[[tree.tree.coordinates[f"to K{k}"].start for k in range(1, 8)]] = andrews.START
    found.append(["Andrews' squeezer", *measured(system, q, np.zeros(7), 1e-6)])
    example = three_bar(rate=1.0)
    tree = ch.ClosedMechanism(example.system)
    q = tree.assemble(tree.retract(tree.neutral(), [0.0, -0.7, 0.0, 0.0, 1.4, 0.0]))
    found.append(["three-bar of mueller2013", *measured(example.system, q, np.zeros(6), 1e-4)])
    for loops in (1, 3, 10, 30):
        system = ladder(loops)
        tree = system.compile()
        start = np.zeros(tree.nq)
        for k in range(loops):
            for what, angle in (("post", 1.3), ("rail", -1.4), ("brace", 1.0)):
                start[tree.tree.coordinates[f"{what} {k}"]] = angle
        found.append([system.name, *measured(system, start, np.zeros(tree.nv), 1e-4)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="print all of it as a page")
    options = parser.parse_args()
    head = ["", "bodies", "velocities", "rows", "rows, absolute", "joint [µs]", "absolute [µs]", "ratio"]
    text = table(head, lines())
    print(text)
    if options.page:
        show(
            "loops.md",
            table=text,
            machine=machine(),
            versions=versions("chasles", "numpy", "numba"),
        )


if __name__ == "__main__":
    main()
