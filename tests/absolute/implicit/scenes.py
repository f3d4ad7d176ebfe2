"""Systems with every kind of joint, and the same systems told in other words: each must move as before."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie import se3
from tests.absolute.systems import JOINTS, bodies, frame

GENERAL = np.array([[0.0, 0.0, 1.0, 0.1, 0.0, 0.02], [1.0, 0.0, 0.0, 0.0, 0.0, 0.2]])
KINDS = {**JOINTS, "general": lambda *names, **at: ch.general(*names, screws=GENERAL, **at)}
SHAPES = ("tree", "hub", "chain", "loop", "floating")
ORIGIN = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Scene:
    """A system with its start. `units`: how many of its units of length are a meter; `turn`: pose of its world in the
    world; `drift`: velocity of its world; positions of a run are told in the world."""

    system: ch.System
    poses: np.ndarray
    twists: np.ndarray
    q: np.ndarray | None = None
    v: np.ndarray | None = None
    units: float = 1.0
    turn: np.ndarray | None = None
    drift: np.ndarray | None = None

    def run(self, end, method, step=None, space="SO3xR3", save=(), **more):
        times = [*save, end] if len(save) else "final"
        start = {"poses": self.poses, "twists": self.twists}
        return ch.simulate(
            self.system, (0.0, end), coordinates="absolute", space=space, method=method, step=step, save=times,
            **start, **more,
        )  # fmt: skip

    def exact(self, end, save=()):
        """In joint coordinates, or of loops in absolute ones, by an explicit method of order 8."""
        best = {"rtol": 1e-12, "atol": 1e-13}
        if self.q is None:
            return self.run(end, ch.integrate.RKMK("dop853"), save=save, **best)
        times = [*save, end] if len(save) else "final"
        return ch.simulate(
            self.system, (0.0, end), self.q, self.v, method=ch.integrate.RKMK("dop853"), save=times, **best
        )

    def told(self, found) -> np.ndarray:
        """Poses of the bodies at saved times, in alphabetical order, in meters and in the world: (times, bodies, 7)."""
        poses = np.stack([found[name].pose for name in sorted(body.name for body in self.system.bodies)], axis=1)
        poses[..., 4:] /= self.units
        if self.drift is not None:
            poses[..., 4:] -= np.asarray(found.t)[:, None, None] * self.drift
        if self.turn is not None:
            poses = pose_group.compose(pose_group.inverse(self.turn), poses)
        return poses


def distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Largest rotation [rad] and displacement [m] between poses, (times, 2)."""
    turn = pose_group.log(pose_group.compose(pose_group.inverse(one), other))[..., :3]
    angle, move = np.linalg.norm(turn, axis=-1), np.linalg.norm(one[..., 4:] - other[..., 4:], axis=-1)
    return np.stack([angle.max(axis=-1), move.max(axis=-1)], axis=-1)


def scene(kind: str, shape: str) -> Scene:
    """Bodies on joints of a kind, with springs that hold them together; they turn by some radians in 20 s.

    The start is also told in joint coordinates, but of loops.
    """
    rng = np.random.default_rng([sorted(KINDS).index(kind), SHAPES.index(shape)])
    names = ["one", "two", "three"] if shape in ("chain", "floating") else ["one", "two"]
    first = {"tree": "spherical", "hub": "revolute", "loop": "spherical", "floating": "free", "chain": kind}[shape]
    kinds = (first, kind, kind if shape == "chain" else "revolute")
    made, joints = bodies(rng, *names), []
    for k, (parent, child) in enumerate(zip(["ground", *names], names, strict=False)):
        joints.append(KINDS[kinds[k]](f"joint {k}", parent, child, at=frame(rng), child_at=frame(rng)))
    tree = ch.Mechanism(ch.System(made, joints))
    q, v = tree.neutral(), rng.normal(size=tree.nv) * (0.3 if shape == "chain" else 0.7)
    poses, twists = tree.poses(q), tree.twists(q, v)
    springs = []
    for k, pair in enumerate([*itertools.pairwise(names), ("ground", "one")][: 3 - (shape == "floating")]):
        points = rng.uniform(-0.3, 0.3, (2, 3))
        ends = [
            point if name == "ground" else pose_group.act(poses[names.index(name)], point)
            for name, point in zip(pair, points, strict=True)
        ]
        length = 0.95 * float(np.linalg.norm(ends[0] - ends[1]))
        springs.append(ch.Spring(f"spring {k}", pair, points, 15.0, 0.1 if "ground" in pair else 1.0, length))
    if shape == "loop":
        at, away = pose_group.act(poses[1], np.array([0.2, -0.3, 0.1])), (0.2, -0.3, 0.1)
        joints.append(ch.spherical("closing", "ground", "two", at=tuple(at.tolist()), child_at=away))
    system = ch.System(made, joints, gravity=(0.0, 0.1, -0.2), forces=springs)
    if shape == "loop":
        return Scene(system, poses, system.compile("absolute").consistent_velocities(poses, twists))
    return Scene(system, poses, twists, q, v)


# ------------------------------------------------------------ the same in other words


def _with(one: Scene, joints=None, **more) -> Scene:
    system = replace(one.system, joints=tuple(joints)) if joints is not None else one.system
    return replace(one, system=system, **more)


def points_moved(one: Scene) -> Scene:
    """The point of each joint elsewhere on its axis, in its plane, or anywhere, where that is the same joint."""
    rng, moved = np.random.default_rng(3), []
    for joint in one.system.joints:
        screws, shift = np.asarray(joint.screws), ORIGIN.copy()
        if joint.kind in ("revolute", "helical", "cylindrical"):
            shift[4:] = 0.7 * screws[0, :3]
        elif joint.kind in ("prismatic", "weld", "free"):
            shift[4:] = rng.uniform(-0.7, 0.7, 3)
        elif joint.kind == "planar":
            shift[4:] = 0.4 * screws[0, 3:] - 0.5 * screws[1, 3:]
        if joint.kind in ("weld", "spherical", "general", "free"):
            shift[:4] = pose_group.exp([*rng.normal(size=3), 0.0, 0.0, 0.0])[:4]
        if joint.kind == "general":
            screws = screws @ se3.Ad(pose_group.to_matrix(pose_group.inverse(shift))).T
        frames = (pose_group.compose(np.asarray(f), shift) for f in (joint.parent_frame, joint.child_frame))
        parent, child = (tuple(f.tolist()) for f in frames)
        moved.append(replace(joint, screws=tuple(map(tuple, screws)), parent_frame=parent, child_frame=child))
    return _with(one, moved)


def joints_reversed(one: Scene) -> Scene:
    """Parents become children, where the ground is not one of them."""
    turned = []
    for joint in one.system.joints:
        if joint.parent != "ground":
            screws = joint.screws[::-1] if joint.kind in ("universal", "general") else joint.screws
            joint = replace(
                joint, parent=joint.child, child=joint.parent, parent_frame=joint.child_frame,
                child_frame=joint.parent_frame, screws=screws,
            )  # fmt: skip
        turned.append(joint)
    return _with(one, turned)


def bodies_reordered(one: Scene) -> Scene:
    system = replace(one.system, bodies=one.system.bodies[::-1], joints=one.system.joints[::-1])
    names, order = [body.name for body in one.system.bodies], system.compile("absolute").bodies
    pick = [names.index(name) for name in order]
    return replace(one, system=system, poses=one.poses[pick], twists=one.twists[pick])


def world_turned(one: Scene) -> Scene:
    """Another frame of the world."""
    turn = pose_group.exp([0.7, -1.1, 0.4, 1.0, -2.0, 0.5])
    joints = [
        replace(joint, parent_frame=tuple(pose_group.compose(turn, np.asarray(joint.parent_frame)).tolist()))
        if joint.parent == "ground"
        else joint
        for joint in one.system.joints
    ]
    forces = []
    for spring in one.system.forces:
        points = [
            pose_group.act(turn, np.array(point)) if name == "ground" else np.array(point)
            for name, point in zip(spring.bodies, spring.points, strict=True)
        ]
        forces.append(replace(spring, points=points))
    gravity = pose_group.act([*turn[:4], 0.0, 0.0, 0.0], np.array(one.system.gravity))
    system = replace(one.system, joints=tuple(joints), forces=tuple(forces), gravity=tuple(gravity.tolist()))
    return replace(one, system=system, poses=pose_group.compose(turn, one.poses), turn=turn)


def _tree(system: ch.System):
    closing = [joint.name for joint in system.joints if joint.name == "closing"]
    return system.compile(cut=closing).tree if closing else ch.Mechanism(system).tree


def lengths_of(joint: ch.model.Joint) -> tuple[list[bool], list[bool]]:
    """Which coordinates of a joint are lengths, and which velocities."""
    if joint.kind in ("spherical", "free"):
        more = [True] * 3 if joint.kind == "free" else []
        return [False] * 4 + more, [False] * 3 + more
    slides = [not any(screw[:3]) for screw in joint.screws]
    return slides, slides


def in_units(length: float, mass: float):
    """Other units, `length` of them a meter and `mass` of them a kilogram; or another size, if they stay SI."""

    def told(one: Scene) -> Scene:
        system, scale = one.system, np.array([1.0, 1.0, 1.0, 1.0, length, length, length])
        made = [
            ch.Body(b.name, mass * b.mass, length * np.asarray(b.com), mass * length**2 * np.asarray(b.inertia))
            for b in system.bodies
        ]
        joints = []
        for joint in system.joints:
            screws = [[*s[:3], *(np.array(s[3:]) * (length if any(s[:3]) else 1.0))] for s in joint.screws]
            frames = [tuple((np.asarray(f) * scale).tolist()) for f in (joint.parent_frame, joint.child_frame)]
            joints.append(replace(joint, screws=screws, parent_frame=frames[0], child_frame=frames[1]))
        forces = [
            ch.Spring(s.name, s.bodies, length * np.array(s.points), mass * s.stiffness, mass * s.damping,
                      length * s.length)
            for s in system.forces
        ]  # fmt: skip
        gravity = tuple(length * x for x in system.gravity)
        told, q, v = ch.System(made, joints, gravity=gravity, forces=forces), one.q, one.v
        if q is not None and v is not None:
            kinds = [lengths_of(joint) for joint in _tree(system).joints]
            q, v = (
                x * np.where([mark for kind in kinds for mark in kind[k]], length, 1.0) for k, x in enumerate((q, v))
            )
        return replace(one, system=told, poses=one.poses * scale, twists=one.twists * scale[1:], q=q, v=v, units=length)

    return told


def in_motion(one: Scene, velocity=(0.0, 7600.0, -300.0)) -> Scene:
    """All bodies with a velocity more; of systems that nothing holds to the ground."""
    drift = np.array(velocity)
    turned = pose_group.inverse(np.concatenate([one.poses[:, :4], 0 * one.poses[:, 4:]], axis=1))
    twists = one.twists.copy()
    twists[:, 3:] += np.stack([pose_group.act(g, drift) for g in turned])
    return replace(one, twists=twists, drift=drift)


WORDS = {
    "joint points": points_moved,
    "joint directions": joints_reversed,
    "order": bodies_reordered,
    "world": world_turned,
    "millimeters and grams": in_units(1e3, 1e3),
    "micrometers": in_units(1e-6, 1e-18),
    "kilometers": in_units(1e3, 1e9),
    "uniform velocity": in_motion,
}
