"""chasles as a solver of cosseratbench, which compares programs for ropes and rods on the same scenarios.

That package finds it by its entry point: `cosseratbench run pendulum --solver chasles`. Equilibria are found as such;
motions are steps of generalized alpha. There is no contact, so scenarios that need it are not run.
"""

from __future__ import annotations

import math
from typing import Any

import cosseratbench as bench
import numpy as np

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND

STEPS = 400  # in the slowest period
DAMPING = 0.02  # part of critical damping at the slowest frequency, where some may be added


class ChaslesSolver:
    """Runs scenarios of cosseratbench with rods of order four. time_step_scale: multiplies the steps of motions."""

    name = "chasles"
    backend_version = ch.__version__
    capabilities = frozenset({bench.Capability.STRETCH, bench.Capability.SHEAR})

    def __init__(self, time_step_scale: float = 1.0) -> None:
        self.time_step_scale = time_step_scale

    def settings(self, scenario: bench.Scenario, *, n_elements: int, n_frames: int) -> dict[str, Any]:
        """The numerical choices for a scenario, which are shown beside its results."""
        if _rests(scenario):
            return {"method": "Newton's method for the equilibrium"}
        return {
            "method": "generalized alpha (implicit)",
            "time_step": self._step(scenario, n_frames),
            "damping_time": _damping(scenario),
        }

    def run(self, scenario: bench.Scenario, *, n_elements: int, n_frames: int) -> bench.Trajectory:
        """Frames at even times. Of an equilibrium the first one is the start; all others are where it rests."""
        if scenario.obstacles:
            raise NotImplementedError("contact with obstacles")
        placed = [PlacedRod(f"rod {k}", rod, n_elements, _damping(scenario)) for k, rod in enumerate(scenario.rods)]
        system = ch.System(
            rods=[one.rod for one in placed],
            joints=[joint for one in placed for joint in one.joints],
            constraints=[drive for one in placed for drive in one.drives],
            forces=[load for one in placed for load in one.loads],
            gravity=scenario.gravity,
        )
        start = {name: value for one in placed for name, value in one.start.items()}
        times = np.linspace(0.0, scenario.duration, n_frames)
        if _rests(scenario):
            rest: Any = ch.equilibrium(system, q=start)
            nodes = [np.stack([one.poses, *[rest.rod(one.rod.name).nodes] * (n_frames - 1)]) for one in placed]
        else:
            step = self._step(scenario, n_frames)
            options: dict[str, Any] = {"coordinates": "absolute", "method": "generalized_alpha", "step": step}
            try:
                run = ch.simulate(system, (0.0, times[-1]), q=start, save=times, certificate=False, **options)
            except RuntimeError as error:
                raise bench.Diverged(str(error)) from error
            nodes = [run.rod(one.rod.name).nodes for one in placed]
        return bench.Trajectory(times, tuple(path[..., 4:] for path in nodes), tuple(map(_directors, nodes)))

    def _step(self, scenario: bench.Scenario, n_frames: int) -> float:
        """A whole part of the time between two frames."""
        frame = scenario.duration / (n_frames - 1)
        wanted = self.time_step_scale * 2.0 * math.pi / scenario.slowest_frequency() / STEPS
        return float(frame / math.ceil(frame / wanted))


class PlacedRod:
    """A rod of a scenario: straight without stress, with what holds and pulls its ends, and the poses it starts at.

    The straight rod begins where the start does and in its direction, so the coordinates of a node are how the start
    displaces it from there.
    """

    def __init__(self, name: str, given: bench.Rod, n: int, damping: float):
        self.given, self.poses = given, _start_poses(given, n)
        E, G = given.material.youngs_modulus, given.material.shear_modulus
        begin = self.poses[0, 4:]
        along = quaternion_to_matrix(self.poses[0, :4])[:, 0]
        self.rod = ch.Rod(
            name,
            ch.rods.Line(begin, begin + given.length * along),
            ch.rods.Circle(given.radius),
            ch.rods.Material(E, E / (2.0 * G) - 1.0, given.material.density),
            elements=n,
            damping=damping,
            up=given.normal,
        )
        self.joints: list[Any] = []
        self.drives: list[ch.Drive] = []
        for end, k in ((bench.End.START, 0), (bench.End.END, n)):
            self._hold(end, self.rod.nodes[k], self.poses[k])
        held = {joint.child for joint in self.joints}
        moved = pose_group.compose(pose_group.inverse(self.rod.mesh.poses), self.poses)
        self.start = {node: pose for node, pose in zip(self.rod.nodes, moved, strict=True) if node not in held}
        self.loads = [
            ch.Wrench(f"{name} load {k}", self.rod.nodes[-(load.at is bench.End.END)], (0, 0, 0, *load.force), "hybrid")
            for k, load in enumerate(given.loads)
        ]

    def _hold(self, end: bench.End, node: str, at: np.ndarray) -> None:
        """The joint to the ground at an end, and what drives it."""
        condition, motion = self.given.condition(end), self.given.motion(end)
        if condition is bench.EndCondition.FREE:
            return
        if condition is bench.EndCondition.PINNED:
            self.joints.append(ch.spherical(f"{node} pin", GROUND, node, at=at))
        elif motion is None:
            self.joints.append(ch.weld(f"{node} clamp", GROUND, node, at=at))
        else:
            if motion.slides_along is None or np.any(motion.displacement):
                raise NotImplementedError("driven ends other than those that slide along a line and turn about it")
            axis = quaternion_to_matrix(at[:4]).T @ motion.axis
            joint = ch.cylindrical(f"{node} clamp", GROUND, node, axis=axis, at=at)
            angles = (np.array(motion.rotation) @ motion.axis).tolist()
            law = f"clamped(t, {list(map(float, motion.times))}, {angles})"
            self.joints.append(joint)
            self.drives.append(ch.Drive(f"{node} turn", joint.name, law))


def _start_poses(given: bench.Rod, n: int) -> np.ndarray:
    """Frames of the nodes where a rod starts, x along it and z toward its normal at the first one."""
    curve, rest = ch.rods.Spline(given.centerline), given.rest_arc_length
    places = np.linspace(0.0, 1.0, n + 1)
    if rest is not None:  # stretched: where along the curve are nodes that are evenly spaced without stress
        distances = np.linalg.norm(np.diff(given.centerline, axis=0), axis=1)
        passed = np.concatenate([[0.0], np.cumsum(distances)])
        places = np.interp(places, np.array(rest) / rest[-1], passed / passed[-1])
    return curve.poses(curve.length * places, "rod", given.normal)


def _directors(nodes: np.ndarray) -> np.ndarray:
    """Directions across the elements that turn with their sections: z axes in their middles, (times, elements, 3)."""
    z = quaternion_to_matrix(nodes[..., :4])[..., 2]
    chord = np.diff(nodes[..., 4:], axis=-2)
    chord /= np.linalg.norm(chord, axis=-1, keepdims=True)
    middle = z[..., 1:, :] + z[..., :-1, :]
    across = middle - (middle * chord).sum(axis=-1, keepdims=True) * chord
    return np.asarray(across / np.linalg.norm(across, axis=-1, keepdims=True))


def _rests(scenario: bench.Scenario) -> bool:
    """Whether an equilibrium under constant loads is asked for."""
    driven = any(rod.motion(end) is not None for rod in scenario.rods for end in bench.End)
    return scenario.quasi_static and not driven


def _damping(scenario: bench.Scenario) -> float:
    """The time by which stresses follow rates of strain [s]; none where the motion is the result."""
    return 2.0 * DAMPING / scenario.slowest_frequency() if scenario.quasi_static else 0.0
