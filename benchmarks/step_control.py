"""Steps that methods for constrained systems choose themselves: errors at the end relative to rtol, and steps.

python -m benchmarks.step_control            # all tolerances
python -m benchmarks.figures steps --write   # the table of docs/implicit.md
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.page import table
from chasles.gallery.overconstrained import four_bars, parallelogram
from chasles.lie import pose

TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
SHOWN = (1e-3, 1e-5)  # on the page
MOST = 100_000  # steps that are worth the time of a table
METHODS = {
    "GeneralizedAlpha(index=2)": ch.integrate.GeneralizedAlpha(),
    "GeneralizedAlpha(index=3)": ch.integrate.GeneralizedAlpha(index=3),
    **{f"BLieDF({k})": ch.integrate.BLieDF(k) for k in (2, 3, 4, 5)},
    "RadauIIA()": ch.integrate.RadauIIA(),
    "Rattle()": ch.integrate.Rattle(),
    "EnergyMomentum()": ch.integrate.EnergyMomentum(),
    "HalfExplicit(5)": ch.integrate.HalfExplicit(5),
}


def scenes() -> dict[str, tuple[ch.System, dict[str, Any], float]]:
    """Systems with their starts and ends: a top, loops, redundant constraints, stiff bushings, a law that jumps, a
    drive."""
    rods = [ch.Body(f"rod {k}", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1)) for k in range(2)]
    hinge = ch.revolute("hinge", "ground", "rod 0", axis=(0.0, 1.0, 0.0))
    elbow = ch.revolute("elbow", "rod 0", "rod 1", axis=(0.0, 1.0, 0.0), at=(1.0, 0.0, 0.0))
    law = ch.JointForce("push", "hinge", "3 * step(t, 0.2) - 3 * step(t, 0.5) - 0.5 * v")
    drive = ch.Drive("motor", "hinge", "0.8 * smooth(t, 0.1, 0.6)")
    mounts = [
        ch.Bushing("mount 0", ("ground", "rod 0"), stiffness=(1e5,) * 3 + (1e6,) * 3, damping=(1e2,) * 3 + (1e3,) * 3),
        ch.Bushing(
            *("mount 1", ("rod 0", "rod 1")),
            frames=((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
            stiffness=(1e5,) * 3 + (1e6,) * 3,
            damping=(1e2,) * 3 + (1e3,) * 3,
        ),
    ]
    top = ch.System([ch.Body("top", 2.0, (0.0, 0.0, 0.5), (0.2, 0.3, 0.1))], [ch.spherical("pivot", "ground", "top")])
    loops, linkage = four_bars(), parallelogram(speed=1.0)
    return {
        "top": (top, {"q": (np.cos(0.3), np.sin(0.3), 0.0, 0.0), "v": (1.0, -2.0, 8.0)}, 1.0),
        "two four-bars": (loops.system, {"poses": loops.poses, "twists": loops.twists}, 1.0),
        "parallelogram": (linkage.system, {"poses": linkage.poses, "twists": linkage.twists}, 1.0),
        "bushings": (ch.System(rods, forces=mounts), {"poses": [[1, 0, 0, 0, k, 0, 0] for k in range(2)]}, 0.3),
        "law that jumps": (ch.System(rods[:1], [hinge], forces=[law]), {}, 1.0),
        "drive": (ch.System(rods, [hinge, elbow], constraints=[drive]), {}, 1.0),
    }


def error(run: Any, best: Any) -> float:
    """Largest error at the end of poses [rad, m], and of velocities relative to the largest."""
    off = pose.log(pose.compose(pose.inverse(best.poses[-1]), run.poses[-1]))
    fast = np.abs(best.twists[-1]).max()
    return float(max(np.abs(off).max(), np.abs(run.twists[-1] - best.twists[-1]).max() / fast))


def row(
    method: Any, scene: tuple[ch.System, dict[str, Any], float], tolerances: tuple[float, ...] = TOLERANCES
) -> list[str]:
    """Of each tolerance the error relative to it, and the steps."""
    system, start, end = scene
    more: dict[str, Any] = {"coordinates": "absolute", "space": "SO3xR3", "save": "final", "progress": False, **start}
    best = ch.simulate(system, (0.0, end), method="dop853", rtol=1e-13, atol=1e-13, **more)
    cells: list[str] = []
    steps, growth = 0, 1.0
    for rtol in tolerances:
        if steps * growth > MOST:
            cells.append("")
            continue
        try:
            run = ch.simulate(system, (0.0, end), method=method, rtol=rtol, **more)
        except ValueError:  # a drive is nothing for the energy-momentum scheme
            return ["refused"] * len(tolerances)
        except ch.errors.StepError:  # a singular configuration, so close that no step goes through it
            cells.append("stopped")
            continue
        growth = run.solution.steps / steps if steps else 1.0
        steps = run.solution.steps
        off = float(f"{error(run, best) / rtol:.1g}")  # one digit, and no exponent of large ones
        cells.append(f"{off:g} ({steps})")
    return cells


def measured() -> str:
    """The table of docs/implicit.md: errors and steps of all methods and systems."""
    systems, rows = scenes(), []
    for name, method in METHODS.items():
        columns = [row(method, scene, SHOWN) for scene in systems.values()]
        for rtol, cells in zip(SHOWN, zip(*columns, strict=True), strict=True):
            rows.append([f"`{name}`, {rtol:.0e}", *cells])
    return table(["method, rtol", *systems], rows, align="---")


def main() -> None:
    warnings.simplefilter("ignore")
    print("| method | system |", " | ".join(f"{rtol:.0e}" for rtol in TOLERANCES), "|")
    print("|---" * (2 + len(TOLERANCES)) + "|")
    for name, method in METHODS.items():
        for system, scene in scenes().items():
            print(f"| `{name}` | {system} |", " | ".join(row(method, scene)), "|", flush=True)


if __name__ == "__main__":
    main()
