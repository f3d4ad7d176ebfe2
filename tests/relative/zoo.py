"""Mechanisms for the tests: every kind of joint, branching trees, a chain, nothing that moves; and random states."""

from __future__ import annotations

import numpy as np

from chasles.lie import pose
from chasles.model import joint as joints
from chasles.model.body import Body, Frame
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism

KINDS = (
    *("revolute", "prismatic", "helical", "cylindrical", "universal"),
    *("planar", "spherical", "free", "weld", "general"),
)
GRAVITY = (0.7, -1.1, -9.3)


def body(rng: np.random.Generator, name: str) -> Body:
    """A body whose inertia is that of a random cloud of points."""
    points = rng.normal(size=(6, 3)) * 0.3
    mass = rng.uniform(0.5, 3.0)
    rotational = mass * np.mean([(x @ x) * np.eye(3) - np.outer(x, x) for x in points], axis=0)
    return Body(name, mass, rng.normal(size=3) * 0.4, rotational)


def joint(rng: np.random.Generator, kind: str, name: str, parent: str, child: str, **more) -> Joint:
    """A joint of a kind between random frames."""
    places = {"at": pose.random(rng), "child_at": pose.random(rng)}
    axis = rng.normal(size=3)
    if kind in ("revolute", "prismatic", "cylindrical"):
        more |= {"axis": axis}
    elif kind == "helical":
        more |= {"axis": axis, "pitch": rng.normal() * 0.5}
    elif kind == "universal":
        more |= {"axes": (axis, rng.normal(size=3))}
    elif kind == "planar":
        more |= {"normal": axis}
    elif kind == "general":
        screws = rng.normal(size=(3, 6))
        screws[:, :3] /= np.linalg.norm(screws[:, :3], axis=1, keepdims=True)
        screws[1] = [0.0, 0.0, 0.0, *(screws[1, 3:] / np.linalg.norm(screws[1, 3:]))]
        more |= {"screws": screws}
    return getattr(joints, kind)(name, parent, child, **places, **more)


def tree(seed: int, kinds: tuple[str, ...], *, chain: bool = False, gravity=GRAVITY, armature: bool = False) -> System:
    """A random tree with these joints; a chain hangs each body on the one before."""
    rng = np.random.default_rng(seed)
    bodies, made = [], []
    for k, kind in enumerate(kinds):
        parent = "ground" if k == 0 else f"b{k - 1 if chain else rng.integers(max(0, k - 4), k)}"
        bodies.append(body(rng, f"b{k}"))
        more = {"armature": rng.uniform(0.1, 0.4)} if armature and kind in ("revolute", "prismatic") else {}
        made.append(joint(rng, kind, f"j{k}", parent, f"b{k}", **more))
    frames = [Frame("tool", f"b{len(kinds) - 1}", pose.random(rng)), Frame("side", "b0", pose.random(rng))]
    return System(bodies, made, frames if kinds else [], gravity=gravity)


def zoo() -> dict[str, Mechanism]:
    """Mechanisms by name."""
    rng = np.random.default_rng(7)
    return {
        "arm": Mechanism(tree(1, ("revolute",) * 7, chain=True)),
        "geared": Mechanism(tree(2, ("revolute", "prismatic", "helical", "revolute", "revolute"), armature=True)),
        "kinds": Mechanism(tree(3, KINDS)),
        "again": Mechanism(tree(4, tuple(rng.permutation(KINDS)))),
        "floating": Mechanism(tree(5, ("free", *("revolute",) * 6, "spherical", "prismatic", "universal"))),
        "rooted": Mechanism(tree(6, ("spherical", "revolute", "free", "cylindrical", "revolute"))),
        "fixed": Mechanism(tree(8, ("weld", "weld"))),
    }


ZOO = zoo()
MOVING = {name: mechanism for name, mechanism in ZOO.items() if mechanism.nv}


def state(mechanism: Mechanism, seed: int = 0, shape: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """Random q, v, a."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(*shape, mechanism.nq))
    for at in mechanism.tables.quaternions:
        q[..., at : at + 4] /= np.linalg.norm(q[..., at : at + 4], axis=-1, keepdims=True)
    return q, rng.normal(size=(*shape, mechanism.nv)), rng.normal(size=(*shape, mechanism.nv))


def moved(mechanism: Mechanism, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q exp(step)."""
    result = q.copy()
    for item in mechanism.tree.joints:
        here, along = mechanism.tree.coordinates[item.name], mechanism.tree.velocities[item.name]
        if item.kind == "free":
            result[here] = pose.compose(q[here], pose.exp(step[along]))
        elif item.kind == "spherical":
            turn = np.concatenate([step[along], np.zeros(3)])
            result[here] = pose.compose(np.concatenate([q[here], np.zeros(3)]), pose.exp(turn))[:4]
        else:
            result[here] = q[here] + step[along]
    return result


def rate_of(function, mechanism: Mechanism, q: np.ndarray, v: np.ndarray, h: float = 2e-3) -> np.ndarray:
    """d/dt of function(q exp(t v)) at 0 by central differences of order 8."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(
        w * (function(moved(mechanism, q, k * h * v)) - function(moved(mechanism, q, -k * h * v))) / h
        for k, w in enumerate(weights, start=1)
    )


def deviation(x: np.ndarray, y: np.ndarray) -> float:
    """Largest difference, relative to the largest number."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape, (x.shape, y.shape)
    return float(np.max(np.abs(x - y), initial=0.0) / max(1.0, float(np.max(np.abs(y), initial=0.0))))
