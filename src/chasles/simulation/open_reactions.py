"""Which components of reactions rigid bodies do not tell: those of states of stress that need no load.

Where constraint equations depend on each other, there are multipliers λ with Jᵀ λ = 0: any of them can be added to
those of a motion. The joints that they load, and along what, are the same in all coordinates.
"""

from __future__ import annotations

import numpy as np

from chasles.assembly.rank import decomposed
from chasles.lie import pose as pose_group
from chasles.model.scale import length_of
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.reaction import closing_wrenches, wrenches_of
from chasles.relative.reaction import applied_through, carried_by, with_hinges

LOADED = 1e-6  # of the largest load of a state of stress, lengths in those of the model
MOST = 40  # bodies of a mechanism of which components are told
COMPONENTS = ("torque x", "torque y", "torque z", "force x", "force y", "force z")


def open_components(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> dict[str, tuple[str, ...]]:
    """Of each joint whose reactions are not unique at a configuration, which components in its frame on the child."""
    rows, reach, _ = LoopEquations(mechanism, t).linear(q)
    left, _, rank = decomposed(rows, reach)
    stresses = (left[:, rank:] / reach[:, None]).T  # (states of stress, rows)
    if not len(stresses):
        return {}
    length = length_of(mechanism.system)
    found: dict[str, np.ndarray] = {}
    count = len(stresses)
    places, speeds, times = np.tile(q, (count, 1)), np.zeros((count, mechanism.nv)), np.full(count, t)
    for joint in mechanism.split.cut:
        found[joint.name] = wrenches_of(mechanism, joint.name, places, speeds, times, stresses)
    (places, speeds), tree = with_hinges(mechanism, places, speeds), mechanism._apart.spanning
    closing, poses = closing_wrenches(mechanism._apart, places, speeds, times, stresses), tree.poses(places)
    for joint in tree.tree.all_joints:
        carried = carried_by(tree.tree.all_joints, joint.child)
        bodies = [k for k, body in enumerate(tree.system.bodies) if body.name in carried]
        frame = pose_group.compose(poses[..., tree.bodies.index(joint.child), :], np.array(joint.child_frame))
        found[joint.name] = -applied_through(tree, closing, bodies, poses, frame)
    sizes = {name: np.abs(x) / np.repeat([length, 1.0], 3) for name, x in found.items()}
    largest = np.max([x.max(axis=-1) for x in sizes.values()], axis=0)
    result = {}
    for name, x in sizes.items():
        loaded = (x > LOADED * largest[:, None]).any(axis=0)
        if loaded.any():
            result[name] = tuple(word for word, is_loaded in zip(COMPONENTS, loaded, strict=True) if is_loaded)
    return result


def described(found: dict[str, tuple[str, ...]]) -> str:
    """Joints with the components that are not unique, those alike together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, components in found.items():
        alike.setdefault(components, []).append(name)
    return "; ".join(f"{', '.join(map(repr, names))} in {', '.join(which)}" for which, names in alike.items())
