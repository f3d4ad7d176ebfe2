"""The dynamics of a system in either kind of coordinates, with a state to start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SO3XR3_NAME, SPACE_NAMES
from chasles.model.placement import as_numbers
from chasles.model.system import System
from chasles.relative.free_velocity import FreeVelocities
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.bodies.light import warn_of_light_bodies
from chasles.simulation.closed.dynamics import dynamics_of
from chasles.simulation.start.held import Holding
from chasles.simulation.start.values import Values, warn_of, with_followers

DEFAULT_BAUMGARTE = (20.0, 20.0)  # [1/s]


def prepare(
    where: str,
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    start: float,
    q: Values | None,
    v: Values | None,
    coordinates: str,
    *,
    inputs: bool,
    space: str | Mapping[str, str] = "auto",
    stabilization: str | None = "projection",
    baumgarte: tuple[float, float] = DEFAULT_BAUMGARTE,
    poses: ArrayLike | None = None,
    twists: ArrayLike | None = None,
    assemble: bool | None = None,
    held: Holding | None = None,
    mode: int | None = None,
    trivialization: str = "left",
) -> tuple[Any, np.ndarray]:
    """Dynamics and state at the start. Arguments as in `simulate`."""
    if not isinstance(system, System | Mechanism | ClosedMechanism | AbsoluteMechanism):
        raise TypeError(
            f"{where}: a {type(system).__name__} is not a system; expected a System or a compiled mechanism. The "
            "result of load() has its system in .system, and .run() simulates as its file says"
        )
    if stabilization not in ("projection", "baumgarte", None):
        raise ValueError(f'{where}: stabilization {stabilization!r}; expected "projection", "baumgarte" or None')
    feedback = (0.0, 0.0)
    if stabilization == "baumgarte":
        feedback = tuple(as_numbers(where, "baumgarte", baumgarte, (2,)).tolist())
        if min(feedback) < 0 or not any(feedback):
            raise ValueError(f"{where}: baumgarte is {baumgarte!r}; expected two rates [1/s], not negative")
    if coordinates == "absolute" or isinstance(system, AbsoluteMechanism):
        if isinstance(system, Mechanism | ClosedMechanism):
            system = system.system
        if poses is None and isinstance(system, System) and any(joint.mimic is not None for joint in system.joints):
            own = compiled(system)
            if isinstance(own, Mechanism):  # q and v are its own
                q, v = (with_followers(f"simulate: {key}", own, key, x) for key, x in (("q", q), ("v", v)))
        bodies = BodyDynamics(system, space, stabilization == "projection", feedback, inputs, trivialization)
        warn_of_light_bodies(where, bodies.mechanism)
        state = bodies.start(start, q, v, poses, twists, assemble, held, mode)
        if held is None:  # else what is not held was a guess
            warn_of(where, bodies.start_changes)
        return bodies, state
    if coordinates != "relative":
        raise ValueError(f'{where}: coordinates {coordinates!r}; expected "relative" or "absolute"')
    if poses is not None or twists is not None:
        raise ValueError(f'{where}: poses and twists are for coordinates="absolute"; give q and v')
    if trivialization != "left":
        raise ValueError(f'{where}: trivialization is for coordinates="absolute"')
    if space not in ("auto", *SPACE_NAMES):
        raise ValueError(f'{where}: space {space!r}; in joint coordinates that of free joints, "SO3xR3" or "SE3"')
    tree = dynamics_of(system, stabilization == "projection", feedback, SO3XR3_NAME if space == "auto" else space)
    if space != "auto" and not FreeVelocities(tree.mechanism.tree.independent).count:
        raise ValueError(
            f"{where}: space {space!r} is that of free joints in joint coordinates, and there is none; of all bodies "
            'it is for coordinates="absolute"'
        )
    state = tree.start(start, q, v, assemble, held, mode)
    if held is None:
        warn_of(where, tree.start_changes)
    return tree, state
