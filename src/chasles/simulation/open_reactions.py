"""Which components of reactions rigid bodies do not tell: those of states of stress that need no load.

Where constraint equations depend on each other, there are multipliers λ with Jᵀ λ = 0: any of them can be added to
those of a motion. The joints that they load, and along what, are the same in all coordinates. What a joint can get so
is a space of wrenches. A reaction with a part in this space carries a load that rigid bodies do not share out; if no
joint has one, zero is the natural answer: nothing loads a planar linkage across its plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles import caution
from chasles.assembly.rank import decomposed
from chasles.lie import pose as pose_group
from chasles.model.constraint import Coupling, Drive
from chasles.model.scale import length_of
from chasles.model.system import System
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.reaction import along_coordinates, closing_wrenches, wrenches_of
from chasles.relative.reaction import applied_through, carried_by, with_hinges, without_freedoms
from chasles.simulation.named_forces import columns_of, named_holds

STRESSED = 1e-6  # of the largest load of a state of stress, lengths in those of the model
LOADED = 1e-7  # of the largest reaction: what is smaller is rounding
NOTHING = 1e-12  # of the weight of all bodies: reactions that are smaller are rounding, too
MOST = 40  # bodies of a mechanism of which components are told
CONFIGURATIONS, TIMES = 5, 32  # at which states of stress and loads are looked at, evenly among those of a run
COMPONENTS = ("torque x", "torque y", "torque z", "force x", "force y", "force z")


@dataclass(frozen=True)
class OpenReactions:
    """What states of stress do to joints and constraints. spaces: of each that has some, the loads that it can get so,
    orthonormal in (rows, 6), or (rows, n) of a drive or coupling, with torques divided by a length of the model."""

    system: System
    spaces: dict[str, np.ndarray]

    def lengths(self, name: str) -> np.ndarray:
        """What the components are divided by, so that all are forces."""
        length = length_of(self.system)
        if name in _along(self.system):
            return np.array([length if column.unit == "N m" else 1.0 for column in columns_of(self.system, name)])
        return np.repeat([length, 1.0], 3)

    def sizes(self, name: str, found: np.ndarray) -> tuple[float, float]:
        """Of reactions (times, 6), the largest part that is not unique, and the largest of all."""
        forces = (found / self.lengths(name)).reshape(-1, found.shape[-1])
        of_space = forces @ self.spaces.get(name, np.zeros((0, found.shape[-1]))).T
        return float(np.abs(of_space).max(initial=0.0)), float(np.abs(forces).max(initial=0.0))

    @property
    def components(self) -> dict[str, tuple[str, ...]]:
        """Those that are not unique."""
        found = {}
        for name, space in self.spaces.items():
            words = ("force",) * space.shape[1] if name in _along(self.system) else COMPONENTS
            open_ones = np.flatnonzero(np.abs(space).max(axis=0) > STRESSED)
            found[name] = tuple(dict.fromkeys(words[k] for k in open_ones))
        return found

    def __str__(self) -> str:
        """Joints with the components that are not unique, those alike together."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for name, which in self.components.items():
            alike.setdefault(which, []).append(name)
        return "; ".join(f"{', '.join(map(repr, names))} in {', '.join(which)}" for which, names in alike.items())

    def warn_if_loaded(self, states: Any, name: str, found: np.ndarray) -> None:
        """Warn, in the same words for all, so that Python shows them once, if a load of states is shared; found: the
        reactions or coordinate forces that were asked for."""
        if name not in self.spaces or not found.size:
            return
        few = states.part(slice(None, None, -(-len(found) // TIMES))) if np.ndim(states.t) else states
        known = [(name, found), *((other, smallest(few, other)) for other in self.spaces if other != name)]
        shared, largest = np.max([self.sizes(*one) for one in known], axis=0)
        weight = 9.81 * sum(body.mass for body in self.system.bodies)
        if shared > max(LOADED * largest, NOTHING * weight):
            caution.warn(
                f"reactions are not unique: {self}. Rigid bodies do not determine how they share the load; this is "
                "one possible distribution. Fewer constraints make them unique, for example spherical and cylindrical "
                "joints instead of hinges",
                UserWarning,
            )


def smallest(states: Any, name: str) -> np.ndarray:
    """Reactions or coordinate forces of a joint or constraint, without a warning."""
    is_force = name in _along(states.system)
    found: np.ndarray = (states.smallest_coordinate_forces if is_force else states.smallest_reactions)(name)
    return found


def _along(system: System) -> list[str]:
    """Names of what acts along coordinates."""
    return [item.name for item in system.constraints if isinstance(item, Coupling | Drive)]


def open_reactions(mechanism: ClosedMechanism, q: np.ndarray, t: np.ndarray) -> OpenReactions | None:
    """What is not unique at configurations (n, nq) at times (n,). Those where more equations depend on each other than
    at others are singular, and do not count. None: there are none, or too many bodies."""
    if not len(q) or len(mechanism.bodies) > MOST:
        return None
    few = slice(None, None, max(1, -(-len(q) // CONFIGURATIONS)))
    found = [_stressed(mechanism, one, float(when)) for one, when in zip(q[few], t[few], strict=True)]
    states = [len(next(iter(loads.values()), ())) for loads in found]
    every = [loads for loads, count in zip(found, states, strict=True) if count == min(states)]
    names = [name for name in (*named_holds(mechanism.system), *_along(mechanism.system)) if name in every[0]]
    shell, spaces = OpenReactions(mechanism.system, {}), {}
    for name in names:
        loads = np.concatenate([one[name] for one in every]) / shell.lengths(name)
        _, sizes, right = np.linalg.svd(loads, full_matrices=False)
        if (kept := sizes > STRESSED).any():
            spaces[name] = right[kept]
    return OpenReactions(mechanism.system, spaces)


def _stressed(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> dict[str, np.ndarray]:
    """What each joint and constraint gets by states of stress of a configuration, (states, 6 or n); the largest load
    of a state is 1."""
    rows, reach, _ = LoopEquations(mechanism, t).linear(q)
    left, _, rank = decomposed(rows, reach)
    stresses = (left[:, rank:] / reach[:, None]).T  # (states of stress, rows)
    if not (count := len(stresses)):
        return {}
    found: dict[str, np.ndarray] = {}
    places, speeds, times = np.tile(q, (count, 1)), np.zeros((count, mechanism.nv)), np.full(count, t)
    for name in _along(mechanism.system):
        found[name] = along_coordinates(mechanism, name, places, speeds, times, stresses)
    others = [item.name for item in mechanism.system.constraints if item.name not in found]
    for name in (*(joint.name for joint in mechanism.split.cut), *others):
        found[name] = wrenches_of(mechanism, name, places, speeds, times, stresses)
    (places, speeds), tree = with_hinges(mechanism, places, speeds), mechanism._apart.spanning
    closing, poses = closing_wrenches(mechanism._apart, places, speeds, times, stresses), tree.poses(places)
    own = {joint.name: joint for joint in mechanism.spanning.tree.all_joints}
    for joint in tree.tree.all_joints:
        carried = carried_by(tree.tree.all_joints, joint.child)
        bodies = [k for k, body in enumerate(tree.system.bodies) if body.name in carried]
        frame = pose_group.compose(poses[..., tree.bodies.index(joint.child), :], np.array(joint.child_frame))
        through = -applied_through(tree, closing, bodies, poses, frame)
        found[joint.name] = without_freedoms(tree, own.get(joint.name, joint), places, through)
    shell = OpenReactions(mechanism.system, {})
    largest = np.max([np.abs(x / shell.lengths(name)).max(axis=-1) for name, x in found.items()], axis=0)
    return {name: x / largest[:, None] for name, x in found.items()}
