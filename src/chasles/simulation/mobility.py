"""`mobility`: the freedoms of a system and its redundant constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.mobility import mobility_at
from chasles.constraint.results import Mobility
from chasles.lie.arrays import real_array
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism


def mobility(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    q: ArrayLike | None = None,
    *,
    poses: ArrayLike | None = None,
    t: float = 0.0,
    seed: int = 0,
) -> Mobility:
    """Degrees of freedom, redundant constraint equations with their joints, and whether a configuration is singular.

    At joint coordinates q of `system.compile()` (default: neutral) or at `poses` (bodies, 7), which are assembled
    first, and at configurations nearby, where what holds only at single configurations does not: printed, or as
    numbers. seed: of the directions in which they are looked for.
    """
    if not isinstance(system, System):
        system = system.system
    if q is not None and poses is not None:
        raise ValueError("mobility: give q or poses, not both")
    mechanism = compiled(system)
    place = mechanism.neutral() if q is None else mechanism.tables.check_q("mobility", q)
    if isinstance(mechanism, Mechanism):
        if poses is not None:
            given = real_array("mobility", "poses", poses, (len(system.bodies), 7))
            if not given[..., :4].any(axis=-1).all():
                raise ValueError(
                    "mobility: a quaternion of the poses has no length; expected unit quaternions (w, x, y, z)"
                )
        # of a tree each joint holds one more body, wherever it is: no equation depends on another
        count = sum(6 - (joint.nv if joint.mimic is None else 0) for joint in system.joints)
        return Mobility(count, count, mechanism.nv, ())
    if poses is None:
        found = mechanism.poses(mechanism.assemble(place, t))
    else:
        found = AbsoluteMechanism(_with_masses(system), "SO3xR3").assemble(poses, t)
    return mobility_at(_with_masses(system), np.asarray(found), t, seed)


def _with_masses(system: System) -> System:
    """The system with a mass and inertia for each body that has none, in the middle of those of the others: freedoms do
    not depend on them, but on a scale rounding does."""
    smallest = [np.linalg.eigvalsh(np.array(body.inertia)).min() for body in system.bodies]
    solid = [body.mass > 0 and least > 0 for body, least in zip(system.bodies, smallest, strict=True)]
    if all(solid):
        return system
    known = [(body.mass, least) for body, least, good in zip(system.bodies, smallest, solid, strict=True) if good]
    mass, inertia = np.exp(np.mean(np.log(known), axis=0)).tolist() if known else (1.0, 1.0)
    bodies = [
        body
        if good
        else replace(body, mass=mass, com=(0.0, 0.0, 0.0), inertia=(inertia, inertia, inertia), density=None)
        for body, good in zip(system.bodies, solid, strict=True)
    ]
    return system.rearranged(bodies=bodies)
