"""Trees some of whose joints follow others: where the follower may be, and random ones."""

from __future__ import annotations

import numpy as np

import chasles as ch
from chasles.model import joint as made

ONE_AXIS = ("revolute", "prismatic", "helical")


def body(name: str, rng: np.random.Generator) -> ch.Body:
    spread = rng.normal(size=(3, 3))
    cloud = spread @ spread.T + 0.1 * np.eye(3)
    return ch.Body(name, rng.uniform(0.5, 2.0), 0.3 * rng.normal(size=3), 0.1 * (np.trace(cloud) * np.eye(3) - cloud))


def joint(name: str, kind: str, parent: str, child: str, rng: np.random.Generator, **more):
    turn = rng.normal(size=4)
    at = (*turn / np.linalg.norm(turn), *rng.normal(size=3))
    if kind in ONE_AXIS:
        more = {"axis": rng.normal(size=3), "armature": float(rng.choice([0.0, 0.4])), **more}
    if kind == "helical":
        more["pitch"] = rng.normal()
    return getattr(made, kind)(name, parent, child, at=at, damping=rng.uniform(0.1, 1.0), **more)


def system(seed: int, places: list[tuple[str, int]], rules: dict[int, tuple[int, float, float]]) -> ch.System:
    """Body k hangs by a joint of a kind on another body (-1: the ground); some joints follow others."""
    rng = np.random.default_rng(seed)
    bodies = [body(f"b{k}", rng) for k in range(len(places))]
    joints = []
    for k, (kind, on) in enumerate(places):
        more = {}
        if k in rules:
            other, ratio, offset = rules[k]
            more = {"mimic": f"j{other}", "mimic_ratio": ratio, "mimic_offset": offset}
        joints.append(joint(f"j{k}", kind, "ground" if on < 0 else f"b{on}", f"b{k}", rng, **more))
    return ch.System(bodies, joints, name=f"mimics {seed}")


R, P, H, S, F = "revolute", "prismatic", "helical", "spherical", "free"
# what is special: where followers are seen from their leaders
PLACES = {
    "descendant": ([(R, -1), (R, 0), (R, 1)], {2: (0, -0.7, 0.2)}),
    "child": ([(R, -1), (P, 0), (R, 1)], {1: (0, 0.3, 0.0)}),
    "ancestor": ([(R, -1), (R, 0), (R, 1)], {0: (2, 1.3, -0.4)}),
    "other branch of the ground": ([(R, -1), (R, -1), (R, 1)], {2: (0, 1.0, 0.0)}),
    "other branch of a body": ([(R, -1), (R, 0), (R, 0), (P, 2)], {3: (1, -2.0, 0.1)}),
    "gripper": ([(R, -1), (R, 0), (R, 0)], {2: (1, -1.0, 0.0)}),
    "several": ([(R, -1), (R, 0), (R, 1), (H, 0), (R, 3)], {2: (1, 0.5, 0.1), 3: (1, 0.2, 0.0), 4: (1, -1.0, 0.3)}),
    "chain of rules": ([(R, -1), (R, 0), (R, 1), (P, 2)], {1: (0, 0.5, 0.1), 2: (1, -2.0, 0.3), 3: (2, 0.3, 0.0)}),
    "crossing groups": ([(R, -1), (P, 0), (R, 1), (H, 2), (R, 1)], {2: (0, 0.5, 0.1), 3: (1, -2.0, 0.3)}),
    "groups in two branches": (
        [(R, -1), (R, 0), (R, 1), (R, 0), (R, 3), (P, 4)],
        {3: (1, 0.5, 0.0), 4: (2, -1.0, 0.0)},
    ),
    "held": ([(R, -1), (R, 0), (R, 1)], {1: (0, 0.0, 0.6)}),
    "through a ball": ([(R, -1), (S, 0), (R, 1), (P, 2)], {2: (0, 0.8, 0.1)}),
    "through a free body": ([(F, -1), (R, 0), (F, 0), (R, 2)], {3: (1, 0.8, 0.1)}),
    "between free bodies": ([(F, -1), (R, 0), (F, -1), (R, 2), (S, 3), (R, 4)], {3: (1, -1.5, 0.1), 5: (1, 0.4, 0.0)}),
    "on a free body": ([(F, -1), (R, 0), (R, 0), (P, 2)], {2: (1, -1.0, 0.0), 3: (1, 0.1, 0.2)}),
    "all but one": ([(R, -1), (P, 0), (H, 1), (R, -1)], {1: (0, 0.5, 0.0), 2: (0, 0.3, 0.1), 3: (0, -1.0, 0.0)}),
}


def special(name: str) -> ch.System:
    return system(list(PLACES).index(name), *PLACES[name])


def random_tree(seed: int) -> ch.System:
    """Some bodies on each other, half of the joints followers of any others."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 12))
    order, rules = rng.permutation(count).tolist(), {}
    for k, follower in enumerate(order[: count // 2]):
        rules[follower] = (int(rng.choice(order[k + 1 :])), float(rng.normal()), float(rng.normal()))
    moved = {*rules, *(other for other, _, _ in rules.values())}
    kinds = [str(rng.choice(ONE_AXIS if k in moved else (*ONE_AXIS, S, F, "universal"))) for k in range(count)]
    on = [-1 if k == 0 or rng.random() < 0.15 else int(rng.integers(max(0, k - 4), k)) for k in range(count)]
    return system(seed, list(zip(kinds, on, strict=True)), rules)
