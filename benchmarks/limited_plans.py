"""Plans with limits on functions of the inputs, and with obstacles: `python -m benchmarks.limited_plans`.

Beside each cost is that of the same collocation (two Gauss points in each interval) with equations of motion written by
hand, solved by CasADi and Ipopt with exact derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from benchmarks.gallery_plans import POINT, GalleryPlan, solve_all
from chasles import plan


def quadrotor(quick: bool = False) -> Any:
    """Four rotors, of which each pushes with 0 to 6 N and turns the body by 0.02 N m for each N."""
    names = (("roll", 0), ("pitch", 1), ("yaw", 2), ("lift", 5))
    system = ch.System(
        [ch.Body("drone", 1.0, (0, 0, 0), (0.01, 0.01, 0.018))],
        [ch.free("flight", "ground", "drone")],
        actuators=[ch.Actuator(name, "flight", coordinate) for name, coordinate in names],
    )
    x, y, turn = (
        0.2 / np.sqrt(2) * np.array([1, -1, 1, -1]),
        0.2 / np.sqrt(2) * np.array([1, -1, -1, 1]),
        [1, 1, -1, -1],
    )
    effect = np.array([y, -x, 0.02 * np.array(turn), np.ones(4)])
    rotors = plan.inputs(np.linalg.inv(effect), "thrusts")
    limits = [
        plan.reach(plan.state([1, 0, 0, 0, 4.0, 0, 1.0], np.zeros(6))),
        plan.reach(plan.frame("drone", [2.0, 1.0, 2.0]), when=0.5),
        plan.keep(rotors, 0.0, 6.0),
    ]
    costs = [plan.duration(), plan.tracking(rotors, 1e-4)] if quick else plan.tracking(rotors)
    free: dict[str, Any] = {"duration": (0.5, 5.0)} if quick else {}
    return plan.collocate(system, (0, 2), 40, costs, limits=limits, **free)


def quick_quadrotor() -> Any:
    return quadrotor(quick=True)


def excavator() -> Any:
    """Boom, stick and bucket, whose tip stays within 2 cm of a level line; a pump gives 20 kW to all three."""
    lengths, masses, limits = np.array([4.0, 2.5, 1.2]), (800.0, 400.0, 250.0), (150e3, 80e3, 40e3)
    names = ("boom", "stick", "bucket")
    bodies = [
        ch.Body(name, m, (x / 2, 0, 0), (1.0, m * x**2 / 12, m * x**2 / 12))
        for name, m, x in zip(names, masses, lengths.tolist(), strict=True)
    ]
    joints = [
        ch.revolute(name, parent, name, axis=(0, -1, 0), at=(at, 0, 0))
        for name, parent, at in zip(names, ("ground", *names), (0.0, 4.0, 2.5), strict=False)
    ]
    motors = [ch.Actuator(name, name, lower=-most, upper=most) for name, most in zip(names, limits, strict=True)]

    def bent(x: float, angle: float) -> np.ndarray:
        """Angles with the tip at x, 1 m below the hinge of the boom."""
        a, b, c = lengths
        x, z = x - c * np.cos(angle), -1.0 - c * np.sin(angle)
        far = np.hypot(x, z)
        first = np.arctan2(z, x) + np.arccos((a**2 + far**2 - b**2) / (2 * a * far))
        second = np.arctan2(z - a * np.sin(first), x - a * np.cos(first))
        return np.array([first, second - first, angle - second])

    height = plan.quantity(lambda t, q, v: np.sin(np.cumsum(q, axis=1)) @ lengths, "height")
    power = plan.quantity(lambda t, q, v, u: (u * v).sum(axis=1) / 1e3, "power [kW]")
    keep = [plan.keep(height, -1.02, -0.98), plan.keep(power, high=20.0)]
    return plan.collocate(
        ch.System(bodies, joints, actuators=motors), (0, 3), 30, [plan.duration(), plan.effort(1e-12)],
        bent(6.0, -1.9), limits=[plan.reach(plan.state(bent(3.2, -2.3), np.zeros(3))), *keep], duration=(0.5, 6.0),
    )  # fmt: skip


def hoist() -> Any:
    """A trolley and a winch lift 50 kg over a wall; the rope pulls with at most 900 N, and the winch has 600 W."""
    system = ch.System(
        [ch.Body("trolley", 20.0, (0, 0, 0), POINT), ch.Body("rope", 1e-6, (0, 0, 0), POINT),
         ch.Body("load", 50.0, (0, 0, 0), POINT)],
        [
            ch.prismatic("rail", "ground", "trolley", axis=(1, 0, 0)),
            ch.revolute("swing", "trolley", "rope", axis=(0, -1, 0)),
            ch.prismatic("hoist", "rope", "load", axis=(0, 0, -1)),
        ],
        actuators=[ch.Actuator("drive", "rail", lower=-300, upper=300), ch.Actuator("winch", "hoist")],
    )  # fmt: skip

    def wall(t: Any, q: Any, v: Any) -> Any:
        x, z = q[:, 0] + q[:, 2] * np.sin(q[:, 1]), -q[:, 2] * np.cos(q[:, 1])
        return np.sqrt(((x - 3) / 0.7) ** 2 + ((z + 6) / 3) ** 2)

    limits = [
        plan.reach(plan.state([6.0, 0.0, 5.0], np.zeros(3))),
        plan.keep(plan.quantity(wall, "wall"), low=1.0),
        plan.keep(plan.inputs({"winch": -1.0}, "tension"), 0.0, 900.0),
        plan.keep(plan.quantity(lambda t, q, v, u: -u[:, 1] * v[:, 2], "power of the winch"), -600.0, 600.0),
        plan.keep(plan.joint("hoist"), 1.0, 5.5),
    ]
    costs = [plan.duration(), plan.effort(1e-9)]
    return plan.collocate(system, (0, 6), 50, costs, [0.0, 0.0, 5.0], limits=limits, duration=(1.0, 15.0))


PROBLEMS = {
    one.solve.__name__: one
    for one in (
        GalleryPlan("quadrotor", "∫ Σ F² dt", 78.4583, quadrotor),
        GalleryPlan("quadrotor in the shortest time", "duration", 1.434568, quick_quadrotor),
        GalleryPlan("excavator", "duration", 0.731793, excavator),
        GalleryPlan("crane with a hoist", "duration", 2.824280, hoist),
    )
}

if __name__ == "__main__":
    import sys

    solve_all(PROBLEMS, *sys.argv[1:])
