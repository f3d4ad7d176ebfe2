"""Problems of the gallery of opty (https://opty.readthedocs.io), planned: `python -m benchmarks.gallery_plans`.

Beside each cost is one that was found by another program for the same task: direct collocation by the midpoint rule,
with equations of motion written by hand, solved by CasADi and Ipopt in 300 to 1000 intervals. The last five are beside
the value of the book, opty itself in 2000 intervals, the solution that opty publishes (251 nodes), opty itself in 500
intervals, and the known value.
Inputs are held in steps here, so costs agree to the order of a step squared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import chasles as ch
from chasles import plan

POINT = (1e-9, 1e-9, 1e-9)  # moments of inertia of what turns not, or has its mass in a point


@dataclass(frozen=True)
class GalleryPlan:
    """A problem: what the cost is, the cost that the other program found, and how it is planned."""

    name: str
    cost: str
    reference: float
    solve: Callable[[], Any]


def particle(*axes: str, mass: float = 1.0, limit: float = np.inf) -> ch.System:
    """A point that slides along axes of space, pushed along each."""
    units, bodies, joints = dict(zip("xyz", np.eye(3).tolist(), strict=True)), [], []
    for k, axis in enumerate(axes):
        last = k + 1 == len(axes)
        bodies.append(ch.Body(f"along {axis}", mass if last else 1e-9, (0, 0, 0), POINT))
        joints.append(ch.prismatic(axis, bodies[-2].name if k else "ground", bodies[-1].name, axis=units[axis]))
    motors = [ch.Actuator(f"push {axis}", axis, lower=-limit, upper=limit) for axis in axes]
    return ch.System(bodies, joints, actuators=motors, gravity=(0, 0, 0))


def bob() -> ch.System:
    """A point of 1 kg on a rod of 1 m."""
    return ch.System([ch.Body("bob", 1.0, (0, 0, -1.0), POINT)], [ch.revolute("pin", "ground", "bob", axis=(0, 1, 0))])


def pendulum() -> Any:
    t = np.linspace(0, 10, 500, endpoint=False)
    return plan.optimize(
        bob(), (0, 10), 500, plan.effort(), limits=plan.reach(plan.state([np.pi], [0.0])), low=-2, high=2,
        guess=0.5 * np.sin(2.7 * t)[:, None],
    )  # fmt: skip


def crane() -> Any:
    system = ch.System(
        [ch.Body("mover", 1.0, (0, 0, 0), POINT), ch.Body("load", 10.0, (0, 0, -5.0), POINT)],
        [ch.prismatic("jib", "ground", "mover", axis=(1, 0, 0)), ch.revolute("rod", "mover", "load", axis=(0, -1, 0))],
        actuators=[ch.Actuator("push", "jib", lower=-20, upper=20)],
    )
    place = plan.quantity(lambda t, q, v: q[:, 0] + 5.0 * np.sin(q[:, 1]), "place of the load")
    limits = [
        plan.reach(plan.state([15.0, 0.0], [0.0, 0.0])),
        plan.keep(plan.joint("jib"), 0.0, 15.0),
        plan.keep(place, 0.0, 15.0),
    ]
    way = np.stack([np.linspace(0, 15, 76), np.zeros(76)], axis=1)
    return plan.collocate(
        system, (0, 8), 75, [plan.duration(), plan.effort(1e-9)], limits=limits, duration=(3, 20), guess=way
    )


EDGE = np.arctanh(0.9) / 5.0  # from a post of a gate: there opty's smooth function of a gate is 0.95, as it asks for


def gates() -> Any:
    limits = [
        plan.reach(plan.state([2.0, 0.0], [0.0, 0.0])),
        plan.keep(plan.joint("x"), 0, 15),
        plan.keep(plan.joint("y"), 0, 15),
    ]
    for share, across, place, low, high in ((0.25, 1, 2.0, 0, 2), (0.5, 0, 5.0, 6, 8), (0.75, 1, 1.0, 7, 9)):
        along = 1 - across
        on = plan.keep(plan.joint("xy"[across]), place, place, when=share)
        within = plan.keep(plan.joint("xy"[along]), low + EDGE, high - EDGE, when=share)
        limits += [on, within]
    way = np.array([[2, 0], [1, 2], [5, 7], [8, 1], [2, 0]], dtype=float)
    at = np.linspace(0, 4, 101)
    path = np.stack([np.interp(at, range(5), way[:, k]) for k in range(2)], axis=1)
    return plan.collocate(
        particle("x", "y", limit=10.0), (0, 6), 100, [plan.duration(), plan.effort(1e-9)], [2.0, 0.0], limits=limits,
        duration=(2, 20), guess=path,
    )  # fmt: skip


@ch.law
def drag_law(t: Any, pose: Any, twist: Any, parameters: Any, out: Any) -> None:
    for k in range(3, 6):
        out[k] = -parameters[0] * twist[k]


def drone() -> Any:
    """Four thrusts at the corners make a force along z and two torques; Σ F² of the least thrusts for them is that of
    these three, with weights."""
    mass, long, wide, deep, drag = 2.0, 1.0, 0.5, 0.1, 0.06
    moments = np.array([wide**2 + deep**2, long**2 + deep**2, long**2 + wide**2]) * mass / 12
    motors = [ch.Actuator(name, "flight", coordinate) for name, coordinate in (("roll", 0), ("pitch", 1), ("lift", 5))]
    air = ch.Wrench("air", "drone", drag_law, parameters=(drag,))
    body = ch.Body("drone", mass, (0, 0, 0), tuple(moments))
    system = ch.System([body], [ch.free("flight", "ground", "drone")], forces=[air], actuators=motors)
    level, quarter = [1.0, 0, 0, 0], [np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    turned = plan.quantity(lambda t, q, v: q[:, :4] - quarter, "turn at half time")
    limits = [
        plan.reach(plan.state([*level, 10.0, 10.0, 10.0], np.zeros(6))),
        plan.reach(turned, when=0.5),
    ]
    return plan.optimize(
        system, (0, 10), 150, plan.effort([1 / wide**2, 1 / long**2, 0.25]), limits=limits, tolerance=1e-6
    )


def double_pendulum() -> Any:
    bodies = [
        ch.Body("cart", 1.0, (0, 0, 0), POINT),
        *(ch.Body(name, 1.0, (0, 0, -2.0), (2.0, 2.0, 1e-9)) for name in ("upper", "lower")),
    ]
    joints = [
        ch.prismatic("rail", "ground", "cart", axis=(1, 0, 0)),
        ch.revolute("hip", "cart", "upper", axis=(0, 1, 0)),
        ch.revolute("knee", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -2.0)),
    ]
    system = ch.System(bodies, joints, actuators=[ch.Actuator("push", "rail", lower=-50, upper=50)])
    limits = [
        plan.reach(plan.state({"hip": np.pi, "knee": 0.0}, [0.0, 0.0, 0.0])),
        plan.keep(plan.joint("rail"), -5.0, 5.0),
    ]
    way = np.zeros((76, 3))
    way[:, 1] = np.linspace(0, np.pi, 76)
    return plan.collocate(
        system, (0, 3), 75, [plan.duration(), plan.effort(1e-9)], limits=limits, duration=(1, 10), guess=way
    )


def hanging() -> Any:
    """Example 10.103 of Betts: a pendulum, let go level, is to hang still after 3 s."""
    way = np.linspace(np.pi / 2, 0, 61)[:, None]
    return plan.collocate(
        bob(), (0, 3), 60, plan.effort(), [np.pi / 2], limits=plan.reach(plan.state([0.0], [0.0])), guess=way
    )


def cylinder() -> Any:
    """Along a cylinder of radius 1, on which the force itself holds the particle: it has a part toward the axis."""
    bodies = [ch.Body("arm", 1e-9, (0, 0, 0), POINT), ch.Body("particle", 1.0, (1.0, 0, 0), POINT)]
    joints = [
        ch.revolute("angle", "ground", "arm", axis=(0, 0, 1)),
        ch.prismatic("height", "arm", "particle", axis=(0, 0, 1)),
    ]
    inward = plan.quantity(lambda t, q, v: v[:, 0] ** 2, "force toward the axis")
    end = np.array([np.pi, 4.0])
    return plan.collocate(
        *(ch.System(bodies, joints, gravity=(0, 0, 0)), (0, 10), 50, [plan.effort(), plan.tracking(inward)]),
        limits=plan.reach(plan.state(end, [0.0, 0.0])), guess=np.linspace(0, 1, 51)[:, None] * end,
    )  # fmt: skip


@ch.law
def hull_law(t: Any, pose: Any, twist: Any, parameters: Any, out: Any) -> None:
    """Drag of a boat of length 5 and width 1, with 0.75 kg/m²."""
    turn, ahead, across = twist[2], twist[3], twist[4]
    out[2] = -0.75 * turn**2 * (5.0**4 + 1.0) / 32 * np.tanh(20 * turn)
    out[3] = -0.75 * 5.0 * ahead**2 * np.tanh(20 * ahead)
    out[4] = -0.75 * across**2 * np.tanh(20 * across)


@ch.law
def paddle_law(t: Any, pose: Any, twist: Any, parameters: Any, out: Any) -> None:
    """Drag at the lowest point of a wheel of radius 1, across its axis; up: the vertical in the axes of the wheel."""
    up_y = 2 * (pose[2] * pose[3] + pose[0] * pose[1])
    up_z = pose[0] ** 2 - pose[1] ** 2 - pose[2] ** 2 + pose[3] ** 2
    speed = twist[4] * up_z - twist[5] * up_y + twist[0]
    force = -0.75 * speed**2 * np.tanh(20 * speed)
    out[0], out[4], out[5] = force, force * up_z, -force * up_y


def steamboat() -> Any:
    inertia = 10.0 * (5.0**2 + 1.0) / 12
    bodies = [
        *(ch.Body(name, 1e-9, (0, 0, 0), POINT) for name in ("along x", "along y")),
        ch.Body("boat", 10.0, (0, 0, 0), (inertia,) * 3),
        *(ch.Body(name, 1.0, (0, 0, 0), (0.5, 0.25, 0.25)) for name in ("left", "right")),
    ]
    joints = [
        ch.prismatic("x", "ground", "along x", axis=(1, 0, 0)),
        ch.prismatic("y", "along x", "along y", axis=(0, 1, 0)),
        ch.revolute("yaw", "along y", "boat", axis=(0, 0, 1)),
        ch.revolute("left wheel", "boat", "left", axis=(1, 0, 0), at=(-1.1, 0, 0)),
        ch.revolute("right wheel", "boat", "right", axis=(1, 0, 0), at=(1.1, 0, 0)),
    ]
    forces = [
        ch.Wrench("water", "boat", hull_law),
        *(ch.Wrench(f"paddle of {side}", side, paddle_law) for side in ("left", "right")),
    ]
    motors = [ch.Actuator(side, f"{side} wheel", lower=-25, upper=25) for side in ("left", "right")]
    first, last = np.array([0, 0, -np.pi / 2, 0, 0]), {"x": 10.0, "y": 10.0, "yaw": -np.pi / 2}
    way = np.tile(first, (126, 1))
    way[:, :2] = np.linspace(0, 10, 126)[:, None]
    return plan.shoot(
        ch.System(bodies, joints, forces=forces, actuators=motors, gravity=(0, 0, 0)), (0, 7), 125,
        [plan.effort(1 / 4e4), plan.duration()], first, guess=way, duration=(4, 10), tolerance=1e-7,
        limits=plan.reach(plan.state(last, dict.fromkeys(last, 0.0))),
    )  # fmt: skip


@ch.law
def edge_law(t: Any, poses: Any, twists: Any, parameters: Any, out: Any) -> None:
    """A point of the second body, on its x axis, does not move along its y axis."""
    out[23], out[25] = parameters[0], 1.0


def parking(smooth: bool = False) -> Any:
    """A car whose wheels do not slip sideways; the free joint stays in the plane by itself."""
    inertia = 1200 * (2.0**2 + 3.0**2) / 12
    bodies = [
        ch.Body("car", 1200.0, (0, 0, 0), (inertia,) * 3),
        ch.Body("wheels", 200.0, (0, 0, 0), (inertia / 32,) * 3),
    ]
    joints = [
        ch.free("drive", "ground", "car"),
        ch.revolute("steer", "car", "wheels", axis=(0, 0, 1), at=(1.5, 0, 0)),
    ]
    constraints = [
        ch.CustomConstraint("rear", ("ground", "car"), edge_law, parameters=(-1.5,)),
        ch.CustomConstraint("front", ("ground", "wheels"), edge_law, parameters=(0.0,)),
    ]
    motors = [
        ch.Actuator("force", "drive", 3, lower=-300, upper=300),
        ch.Actuator("torque", "steer", lower=-50, upper=50),
    ]
    system = ch.System(bodies, joints, constraints=constraints, actuators=motors, gravity=(0, 0, 0))
    parked = plan.quantity(
        lambda t, q, v: np.stack([q[:, 4], q[:, 5] - 2.0, q[:, 3], q[:, 7], v[:, 3], v[:, 6]], axis=1), "parked"
    )
    limits = [plan.reach(parked), plan.keep(plan.joint("steer"), -np.pi / 4, np.pi / 4)]
    t = 30.0 * (np.arange(100) + 0.5) / 100
    inputs = np.stack([np.where(np.abs(t - 15) > 7.5, 6.0, -6.0), 0.2 * np.sin(2 * np.pi * t / 30)], axis=1)
    found = plan.shoot(system, (0, 30), 100, plan.effort(), limits=limits, inputs=inputs, tolerance=1e-6)
    if not smooth:
        return found
    return plan.collocate(system, (0, 30), 50, plan.effort(), limits=limits, guess=found.q[::2], tolerance=1e-6)


def parking_by_collocation() -> Any:
    """The same, from the motion that was found."""
    return parking(smooth=True)


@ch.law
def unstable_law(t: Any, pose: Any, twist: Any, parameters: Any, out: Any) -> None:
    out[3] = 3600.0 * pose[4] - (3600.0 + parameters[0] ** 2) * np.sin(parameters[0] * t)


def identification() -> Any:
    """y'' = 60² y - (60² + p²) sin(p t), which grows as exp(60 t) unless p is π; y is measured with noise."""

    def made(p: float) -> ch.System:
        block = particle("x")
        return ch.System(
            block.bodies, block.joints, forces=[ch.Wrench("f", "along x", unstable_law, parameters=(p,))],
            gravity=(0, 0, 0),
        )  # fmt: skip

    count = 100
    t = np.arange(1, count + 1) / count
    measured = np.sin(np.pi * t) + np.random.default_rng(0).normal(scale=0.05, size=count)
    off = plan.quantity(lambda at, q, v: q[:, 0] - np.interp(at, t, measured), "measured")
    return plan.collocate(
        made, (0, 1), count, plan.tracking(off, 1 / count, when=t), [0.0], [np.pi], low=0, high=0, tolerance=1e-8,
        parameters={"p": 2.0}, bounds={"p": (1.0, 5.0)}, guess=np.concatenate([[0.0], measured])[:, None],
    )  # fmt: skip


PROBLEMS = {
    one.solve.__name__: one
    for one in (
        GalleryPlan("pendulum, fixed duration", "∫ T² dt", 9.315886, pendulum),
        GalleryPlan("crane moving a load", "duration", 5.792145, crane),
        GalleryPlan("particle through gates", "duration", 4.670605, gates),
        GalleryPlan("drone", "∫ Σ F² dt", 1014.699, drone),
        GalleryPlan("double pendulum on a cart", "duration", 2.889975, double_pendulum),
        GalleryPlan("pendulum that comes to rest (Betts 10.103)", "∫ T² dt", 12.873885, hanging),
        GalleryPlan("particle on a cylinder", "∫ F² dt", 0.479250, cylinder),
        GalleryPlan("Mississippi steamboat", "∫ Σ T² dt / 40000 s + duration", 269241.9357 / 4e4, steamboat),
        GalleryPlan("parallel parking", "∫ (F² + T²) dt", 320226.9, parking),
        GalleryPlan("parallel parking, by collocation", "∫ (F² + T²) dt", 320226.9, parking_by_collocation),
        GalleryPlan("identification (Betts 2003)", "p", np.pi, identification),
    )
}


def solve_all(problems: dict[str, GalleryPlan], *names: str) -> None:
    """Solve problems, or those that are named, and print costs beside those of the reference."""
    for name in names or problems:
        one, begin = problems[name], time.process_time()
        try:
            found = one.solve()
        except (ch.errors.InfeasibleError, RuntimeError) as error:
            print(f"{one.name}: {error}")
            continue
        cost = {"duration": found.duration, "p": found.parameters.get("p")}.get(one.cost, found.cost)
        spent = time.process_time() - begin
        print(f"{one.name}: {one.cost} {cost:.6g}, reference {one.reference:.6g}; {spent:.1f} s")


if __name__ == "__main__":
    import sys

    solve_all(PROBLEMS, *sys.argv[1:])
