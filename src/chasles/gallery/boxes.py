"""The four examples of mueller2013, section 5: what SE(3)^n and (SO(3)xR3)^n do to the constraints of a mechanism.

All bodies are aluminum boxes, 2700 kg/m³, with their frames at their centers of mass; the
time is in seconds and the step of the paper is 1 ms. Each builder gives an `Example`, a `System` with its start.

    example = three_bar()
    run = example.simulate(10.0, space="SE3", stabilization=None)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.method import RKMK
from chasles.lie import so3
from chasles.lie.rotation import matrix_to_quaternion, quaternion_to_matrix
from chasles.model.body import GROUND, Body
from chasles.model.joint import Joint, spherical
from chasles.model.system import EARTH, System
from chasles.screw.shape import Box
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate

DENSITY = 2700.0  # aluminum [kg/m³]
FIGURE_STEP = 1e-3  # of all figures [s]
TOP = (0.1, 0.2, 0.4)  # box of section 5.1 [m]
LINK = (0.2, 0.1, 0.05)  # boxes of sections 5.2 and 5.3 [m]
NO_GRAVITY = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Example:
    """A system with its start: `poses` (bodies, 7) of the central frames and body `twists` (bodies, 6).

    `kept` names what the exact motion keeps besides the constraints: "energy", and "momentum" if nothing outside acts.
    """

    system: System
    poses: np.ndarray
    twists: np.ndarray
    kept: tuple[str, ...] = ("energy",)

    def simulate(
        self, end: float, *, space: Any = "SE3", method: Any = None, step: float | None = FIGURE_STEP, **options: Any
    ) -> Run:
        """Simulate to `end` [s] in absolute coordinates; by default as the paper does, with RKMK4 (36) and 1 ms, but
        with the stabilization of `chasles.simulate` unless stabilization=None."""
        how = {"method": RKMK("rk4") if method is None else method, "step": step, "space": space} | options
        return simulate(self.system, (0.0, end), coordinates="absolute", poses=self.poses, twists=self.twists, **how)

    def gaps(self, run: Run, joint: str) -> np.ndarray:
        """Violation of a spherical joint in space (times, 3) [m]: its point on the parent minus that on the child."""
        found = self.system.joint(joint)
        ends = []
        for body, frame in ((found.parent, found.parent_frame), (found.child, found.child_frame)):
            point = np.array(frame)[4:]
            if body == GROUND:
                ends.append(point)
                continue
            pose = run[body].pose
            ends.append(np.einsum("tij,j->ti", quaternion_to_matrix(pose[:, :4]), point) + pose[:, 4:])
        return ends[0] - ends[1]

    def momentum(self, run: Run) -> np.ndarray:
        """Total momentum in space, (angular about the origin, linear), (times, 6) [kg m²/s, kg m/s]."""
        total = np.zeros((len(run), 6))
        for body in self.system.bodies:
            motion = run.frame(body.name, "mixed")
            rotation, twist = quaternion_to_matrix(motion.orientation), motion.twist
            spin = np.einsum("tij,jk,tk->ti", rotation, np.array(body.inertia), twist[:, :3])
            linear = body.mass * twist[:, 3:]
            total += np.concatenate([spin + np.cross(motion.position, linear), linear], axis=1)
        return total


def _example(system: System, rotations: ArrayLike, positions: ArrayLike, spins: ArrayLike, speeds: ArrayLike, *kept):
    """From rotation matrices, positions, angular velocities in the bodies and velocities in space."""
    matrices, speeds = np.asarray(rotations, dtype=float), np.asarray(speeds, dtype=float)
    poses = np.concatenate([matrix_to_quaternion(matrices), np.asarray(positions, dtype=float)], axis=1)
    body = np.einsum("bji,bj->bi", matrices, speeds)
    return Example(system, poses, np.concatenate([np.asarray(spins, dtype=float), body], axis=1), ("energy", *kept))


def _point(name: str, parent: str, child: str, at: ArrayLike, child_at: ArrayLike) -> Joint:
    return spherical(name, parent, child, at=tuple(np.asarray(at)), child_at=tuple(np.asarray(child_at)))


def heavy_top(angular_velocity: ArrayLike = (0.0, 20 * np.pi, 10 * np.pi), gravity: ArrayLike = NO_GRAVITY) -> Example:
    """Section 5.1: a box of 0.1 x 0.2 x 0.4 m, pivoted at half a meter from its center of mass.

    m = 21.6 kg, Θ = diag(0.36, 0.306, 0.09) kg m², r0 = (0.5, 0, 0) m from the pivot, which is the origin. The title
    says "in gravity field", the text "no gravity": without it the kinetic energy of 13.97 kJ is kept, as is the
    angular momentum about the pivot. angular_velocity [rad/s] in the body at the start, where R = I.
    """
    center, spin = np.array([0.5, 0.0, 0.0]), np.asarray(angular_velocity, dtype=float)
    body = Body("top", shapes=[Box(TOP)], density=DENSITY)
    system = System([body], [_point("pivot", GROUND, "top", (0, 0, 0), -center)], gravity=gravity, name="heavy_top")
    return _example(system, [np.eye(3)], [center], [spin], [np.cross(spin, center)])


def _two_links() -> list[Body]:
    return [Body(f"link {k}", shapes=[Box(LINK)], density=DENSITY) for k in (1, 2)]


def double_pendulum(
    first: ArrayLike = (10.0, 0.0, 0.0), second: ArrayLike = (10 * np.pi, 10 * np.pi, 20 * np.pi)
) -> Example:
    """Section 5.2: two boxes of 0.2 x 0.1 x 0.05 m in a row, held by spherical joints, under gravity.

    m = 2.7 kg each; they start along the x axis with the angular velocities `first` and `second` [rad/s]. The total
    energy is kept. The motion is chaotic: errors grow like exp(7 t), so that two solutions in double precision are
    alike for some 2 s only. The paper prints gravity forces without the mass ((45) and (47)); here they have it.
    """
    half = np.array([LINK[0] / 2, 0.0, 0.0])
    joints = [
        _point("joint 1", GROUND, "link 1", (0, 0, 0), -half),
        _point("joint 2", "link 1", "link 2", half, -half),
    ]
    system = System(_two_links(), joints, gravity=EARTH, name="double_pendulum")
    spins = np.array([first, second], dtype=float)
    middle = np.cross(spins[0], half)
    speeds = [middle, 2 * middle + np.cross(spins[1], half)]
    return _example(system, [np.eye(3)] * 2, [half, 3 * half], spins, speeds)


def floating_bodies(
    first: ArrayLike = (0.0, 0.0, -10.0),
    second: ArrayLike = (1.0, -1.0, 2 * np.pi),
    velocity: ArrayLike = (0.0, 0.0, 0.0),
) -> Example:
    """Section 5.3: the two links of the double pendulum, joined to each other but not to the ground; no gravity.

    Energy and all six components of the momentum are kept. The paper gives the angular velocities `first` and `second`
    [rad/s] but no linear ones: here the center of mass of both moves with `velocity` [m/s], by default not at all. On
    SO(3)xR3 it has no influence on the violation of the joint.
    """
    half = np.array([LINK[0] / 2, 0.0, 0.0])
    system = System(
        _two_links(), [_point("joint 1", "link 1", "link 2", half, -half)], gravity=NO_GRAVITY, name="floating_bodies"
    )
    spins = np.array([first, second], dtype=float)
    relative = np.cross(spins[0] + spins[1], half)  # of the second center of mass to the first
    speeds = np.asarray(velocity, dtype=float) + np.array([-0.5, 0.5])[:, None] * relative
    return _example(system, [np.eye(3)] * 2, [half, 3 * half], spins, speeds, "momentum")


def three_bar(rate: float = 20 * np.pi, base: float = 0.3, gravity: ArrayLike = EARTH) -> Example:
    """Section 5.4: a closed loop of two links and the ground with three spherical joints, under gravity.

    The paper gives no data. Here the links are those of the double pendulum, 0.2 m long; the ground joints, "joint 1"
    at the origin and "joint 3", are `base` [m] apart along the x axis. The links and that line are a triangle, which
    stands in the plane of x and z, upwards, and turns about the x axis at `rate` [rad/s]; the default is the fast case.
    It has three freedoms: turning about the ground line, and each link about its own axis. The energy is kept.
    """
    length = LINK[0]
    if not 0 < base < 2 * length:
        raise ValueError(f"three_bar: base is {base} m; expected a number between 0 and {2 * length} m, two links")
    half, corner = np.array([length / 2, 0.0, 0.0]), np.array([base, 0.0, 0.0])
    rise = float(np.arccos(base / (2 * length)))
    rotations = np.array([so3.exp((0.0, sign * rise, 0.0)) for sign in (-1.0, 1.0)])  # x axis up, then down
    joints = [
        _point("joint 1", GROUND, "link 1", (0, 0, 0), -half),
        _point("joint 2", "link 1", "link 2", half, -half),
        _point("joint 3", GROUND, "link 2", corner, half),
    ]
    system = System(_two_links(), joints, gravity=gravity, name="three_bar")
    positions = np.array([rotations[0] @ half, corner - rotations[1] @ half])
    turning = np.array([rate, 0.0, 0.0])
    return _example(system, rotations, positions, rotations.transpose(0, 2, 1) @ turning, np.cross(turning, positions))


EXAMPLES: dict[str, Callable[[], Example]] = {
    "heavy_top": heavy_top,
    "double_pendulum": double_pendulum,
    "floating_bodies": floating_bodies,
    "three_bar": three_bar,
}


def example(name: str) -> Example:
    """An example by its name; ValueError names those there are."""
    if name not in EXAMPLES:
        raise ValueError(f"boxes: there is no example {name!r}; there is {', '.join(EXAMPLES)}")
    return EXAMPLES[name]()
