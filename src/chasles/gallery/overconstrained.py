"""Linkages with more constraint equations than they need: all joints are revolute, so that rows depend on others.

Sources of the data. `four_bars` and `bricard`: IFToMM library of computational benchmark problems, A02 and A04
(gonzalez2006), points and axes of A04 as in Exudyn's bricardMechanism.py. `bennett`: bennett1903, with the condition
sin α / a = sin β / b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.body import Body
from chasles.model.joint import revolute
from chasles.model.system import System

G = 9.81  # [m/s²]
Z = (0.0, 0.0, 1.0)


class Linkage(NamedTuple):
    """A system with a start on its constraints: poses (bodies, 7) and body twists (bodies, 6)."""

    system: System
    poses: np.ndarray
    twists: np.ndarray


def rod(name: str, along: ArrayLike, mass: float = 1.0, width: float = 0.0) -> Body:
    """A uniform rod from its origin to the point `along` of its frame, of square section."""
    end = np.asarray(along, dtype=float)
    length2 = float(end @ end)
    axis = np.outer(end, end) / length2
    across = mass * (length2 + width**2) / 12
    inertia = across * (np.eye(3) - axis) + max(mass * width**2 / 6, 1e-3 * across) * axis  # a thin one turns alike
    return Body(name, mass, tuple(end / 2), inertia)


def four_bars(loops: int = 2, speed: float = 1.0) -> Linkage:
    """A02: `loops` squares of rods of 1 m and 1 kg side by side, cranks upright, B0 moving to the right by `speed`.

    Cranks "crank 0" ..., couplers "coupler 1" ...: one freedom, but `loops` + 1 where all rods lie on one line.
    With all cranks parallel, at θ from upright: ((N + 1)/3 + N) θ'' = ((N + 1)/2 + N) g sin θ.
    """
    cranks = [rod(f"crank {k}", (0.0, 1.0, 0.0)) for k in range(loops + 1)]
    couplers = [rod(f"coupler {k}", (1.0, 0.0, 0.0)) for k in range(1, loops + 1)]
    joints = [revolute(f"A{k}", "ground", f"crank {k}", axis=Z, at=(k, 0.0, 0.0)) for k in range(loops + 1)]
    for k in range(1, loops + 1):
        joints.append(revolute(f"B{k} left", f"crank {k - 1}", f"coupler {k}", axis=Z, at=(0.0, 1.0, 0.0)))
        right = revolute(
            f"B{k} right", f"coupler {k}", f"crank {k}", axis=Z, at=(1.0, 0.0, 0.0), child_at=(0.0, 1.0, 0.0)
        )
        joints.append(right)
    system = System(cranks + couplers, joints, gravity=(0.0, -G, 0.0), name=f"{loops} four-bars")
    poses, twists = np.zeros((2 * loops + 1, 7)), np.zeros((2 * loops + 1, 6))
    poses[:, 0] = 1.0
    poses[: loops + 1, 4] = np.arange(loops + 1)
    poses[loops + 1 :, 4], poses[loops + 1 :, 5] = np.arange(loops), 1.0
    twists[: loops + 1, 2], twists[loops + 1 :, 3] = -speed, speed
    return Linkage(system, poses, twists)


def parallelogram(crank: float = 1.0, base: float = 1.5, angle: float = 1.0, speed: float = 0.0) -> Linkage:
    """Two cranks of one length and a coupler as long as the base; gravity along -y. angle from x [rad]."""
    bodies = [rod("left", (crank, 0.0, 0.0)), rod("right", (crank, 0.0, 0.0)), rod("coupler", (base, 0.0, 0.0))]
    joints = [
        revolute("A", "ground", "left", axis=Z),
        revolute("D", "ground", "right", axis=Z, at=(base, 0.0, 0.0)),
        revolute("B", "left", "coupler", axis=Z, at=(crank, 0.0, 0.0)),
        revolute("C", "coupler", "right", axis=Z, at=(base, 0.0, 0.0), child_at=(crank, 0.0, 0.0)),
    ]
    turn = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
    top = crank * np.cos(angle), crank * np.sin(angle)
    poses = np.array([(*turn, 0.0, 0.0, 0.0), (*turn, base, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, *top, 0.0)])
    twists = np.zeros((3, 6))
    twists[:2, 2], twists[2, 3:5] = speed, (-speed * top[1], speed * top[0])
    return Linkage(System(bodies, joints, gravity=(0.0, -G, 0.0), name="parallelogram"), poses, twists)


# A04: ends of the rods, the last of which is the ground, and the axes of the joints there
BRICARD_POINTS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
BRICARD_AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))


def bricard() -> Linkage:
    """A04: five rods of 1 m, 1 kg and 0.1 m square section and six revolute joints along the edges of a cube, at rest.

    30 equations of rank 29: one freedom.
    """
    return loop(np.array(BRICARD_POINTS, dtype=float), np.array(BRICARD_AXES, dtype=float), 0.1, "Bricard")


def bennett(a: float = 1.0, b: float = 1.5, alpha: float = 0.5, angle: float = 1.0) -> Linkage:
    """Bennett's linkage: four bars with skew axes, of lengths a, b and twists alpha, beta in turn, at rest at an angle
    [rad] of its first joint. Three moving bars, 20 equations of rank 17."""
    beta = np.arcsin(np.sin(alpha) * b / a)
    ratio = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    other = 2.0 * np.arctan2(ratio, np.tan(0.5 * angle))  # tan(θ/2) tan(φ/2) = ratio
    frame, points, axes = np.eye(4), [], []
    for turn, length, twist in ((angle, a, alpha), (other, b, beta), (-angle, a, alpha), (-other, b, beta)):
        points.append(frame[:3, 3].copy())
        axes.append(frame[:3, 2].copy())
        frame = frame @ _denavit(turn, length, twist)
    if not np.allclose(frame, np.eye(4), atol=1e-12):
        raise ValueError(f"bennett: lengths {a}, {b} and alpha = {alpha} do not close at {angle} rad")
    # joint 0 is between the last bar, which is the ground, and the first
    return loop(np.array(points), np.array(axes), 0.05, "Bennett")


def _denavit(turn: float, length: float, twist: float) -> np.ndarray:
    """Rotation about z by turn, displacement along the new x, rotation about that by twist."""
    c, s, ct, st = np.cos(turn), np.sin(turn), np.cos(twist), np.sin(twist)
    return np.array([
        (c, -s * ct, s * st, length * c), (s, c * ct, -c * st, length * s), (0.0, st, ct, 0.0), (0.0, 0.0, 0.0, 1.0)
    ])  # fmt: skip


def loop(points: np.ndarray, axes: np.ndarray, width: float, name: str) -> Linkage:
    """Rods of 1 kg between points, the last pair on the ground, with revolute joints along these axes there.

    The frame of each rod is at its first point, its axes those of space at the start.
    """
    count = len(points)
    bodies = [rod(f"rod {k}", points[k + 1] - points[k], width=width) for k in range(count - 1)]
    joints = [revolute("J0", "ground", "rod 0", axis=tuple(axes[0]), at=tuple(points[0]))]
    for k in range(1, count - 1):
        there = tuple(points[k] - points[k - 1])
        joints.append(revolute(f"J{k}", f"rod {k - 1}", f"rod {k}", axis=tuple(axes[k]), at=there))
    last = count - 1
    joints.append(
        revolute(
            f"J{last}", "ground", f"rod {last - 1}", axis=tuple(axes[last]), at=tuple(points[last]),
            child_at=tuple(points[last] - points[last - 1]),
        )
    )  # fmt: skip
    poses = np.concatenate([np.tile((1.0, 0.0, 0.0, 0.0), (last, 1)), points[:last]], axis=1)
    return Linkage(System(bodies, joints, gravity=(0.0, -G, 0.0), name=name), poses, np.zeros((last, 6)))
