"""What is large in each member of a batch: tolerances and first steps of a run follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from chasles.model.scale import energy_of, joint_lengths, velocity_sizes
from chasles.relative.mechanism import Mechanism
from chasles.simulation.batch.variants import BodiesOfMembers, Variants
from chasles.simulation.run_task import Task

# what changes no length of a model
WITHOUT_LENGTH = frozenset({"stiffness", "damping", "friction", "parameters", "gravity", "armature"})


@dataclass(frozen=True)
class Scales:
    """Units of each number of the algebra (members, numbers), and the mass of all bodies (members,)."""

    units: np.ndarray
    mass: np.ndarray

    @classmethod
    def of_tasks(cls, tasks: Sequence[Task]) -> Scales:
        """Those of runs that are planned."""
        masses = [task.dynamics.mechanism.system.mass for task in tasks]
        return cls(np.array([task.dynamics.units for task in tasks]), np.array(masses))

    @classmethod
    def of_variants(cls, variants: Variants, lead: Task, count: int) -> Scales | None:
        """Those of the members of a batch; None if each has to be made to know."""
        base: Mechanism = lead.dynamics.mechanism
        of_bodies, others = variants.parted()
        if (variants.values and not variants.places) or any(p.field not in WITHOUT_LENGTH for p in others.values()):
            return None
        if not of_bodies:
            return cls(np.tile(lead.dynamics.units, (count, 1)), np.full(count, base.system.mass))
        bodies = BodiesOfMembers.by_place(variants, base, count)
        if not bodies.fits:
            return None
        sure, units = bodies.sure(), np.tile(lead.dynamics.units, (count, 1))
        masses = np.full(count, base.system.mass)
        for i in np.flatnonzero(sure):
            seen = _with_bodies(base, bodies, int(i))
            sizes = velocity_sizes(base.tree.joints, joint_lengths(seen, base.tree.joints))
            units[i] = np.concatenate([sizes, sizes, [energy_of(seen)]])
            masses[i] = sum(body.mass for body in seen.bodies)
        return cls(units, masses) if sure.all() else None


def _with_bodies(base: Mechanism, members: BodiesOfMembers, i: int) -> Any:
    """The system of a member, for a look at its sizes: it is not checked again."""
    system = base.system
    bodies = []
    for k, body in enumerate(system.bodies):
        other = object.__new__(type(body))
        other.__dict__.update({item.name: getattr(body, item.name) for item in fields(body)})
        own = {"mass": float(members.mass[i, k]), "com": members.com[i, k].tolist(), "inertia": members.central[i, k]}
        other.__dict__.update(own)
        bodies.append(other)
    parts = {item.name: getattr(system, item.name) for item in fields(system)}
    return SimpleNamespace(**parts | {"bodies": bodies})
