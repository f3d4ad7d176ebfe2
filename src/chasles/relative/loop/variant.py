"""A mechanism made from another one of the same form: what bodies weigh, springs, gains and gravity are other numbers
in the same tables. So the variants of an ensemble, and runs one after the other, need no analysis of their own.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.model.body import Body
from chasles.model.joint import Joint
from chasles.model.mimic import as_couplings
from chasles.model.system import System
from chasles.relative.loop.spanning import acted_on, closing_joints, share
from chasles.relative.mechanism import Mechanism
from chasles.relative.variants import tree_like

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism

# fields of joints that stand in the tables of forces alone
IN_FORCES = ("damping", "stiffness", "rest", "friction", "friction_speed", "stop_stiffness", "stop_damping")
LEAST = 1e-13  # of a body's largest moment of inertia: with smaller ones it may be a thin rod
# the mechanism that was analyzed last, and the addresses of its laws then
_recent: list[tuple[weakref.ref[Any], tuple[int, ...]]] = []


def remember(mechanism: Mechanism | ClosedMechanism) -> None:
    """Take this mechanism as the one that the next are compared with."""
    _recent[:] = [(weakref.ref(mechanism), _addresses(mechanism))]


def _addresses(mechanism: Mechanism | ClosedMechanism) -> tuple[int, ...]:
    """Of all laws: if numbers change that a law takes from outside, it has another one."""
    laws = (*mechanism.tables.acting.laws, *getattr(mechanism, "laws", ()))
    return tuple(law.compiled.address for law in laws)


def like_recent(system: System, cut: tuple[str, ...], options: dict[str, Any]) -> Mechanism | ClosedMechanism | None:
    """The mechanism of a system, if the one that was analyzed last has its form."""
    known = _recent[:1]
    base = known[0][0]() if known else None
    if base is None or getattr(base, "cut", ()) != cut or _addresses(base) != known[0][1]:
        return None
    tables, own = base.tables, {"threads": 1, "sprung": False} | options
    return variant(base, system) if own == {"threads": tables.threads, "sprung": tables.sprung} else None


def variant(base: Mechanism | ClosedMechanism, system: System) -> Mechanism | ClosedMechanism | None:
    """The mechanism of a system of the same form; None if it has to be analyzed by itself."""
    old = base.system
    if any(joint.mimic is not None for joint in system.joints):
        if isinstance(base, Mechanism) or not (system.constraints or closing_joints(system, base.cut)):
            return None  # joints that follow others are couplings beside other constraints only
        system = as_couplings(system)
    same = ("frames", "actuators", "constraints", "rods", "reduced", "name")
    if any(getattr(system, name) != getattr(old, name) for name in same) or old.rods or old.reduced:
        return None
    joints = _joints(base, system.joints)
    if joints is None or not _bodies_fit(old.bodies, system.bodies):
        return None
    if isinstance(base, Mechanism):
        return tree_like(base, system, joints)
    if (system.joints != old.joints or system.forces != old.forces) and acted_on(system) != acted_on(old):
        return None
    spanning = tree_like(base.spanning, _spanned(base, system, joints), joints)
    return None if spanning is None else base.on(spanning, system, replace(base.split, system=spanning.system))


def _joints(base: Mechanism | ClosedMechanism, given: Sequence[Joint]) -> dict[str, Joint] | None:
    """Joints that differ from those of a mechanism in what forces they exert, by name; None if any differs more."""
    old, found = base.system.joints, dict[str, Joint]()
    if given is old or given == old:
        return found
    if len(given) != len(old):
        return None
    cut = set() if isinstance(base, Mechanism) else {joint.name for joint in base.split.cut}
    for one, other in zip(given, old, strict=True):
        if one is other or one == other:
            continue
        rest = (item.name for item in fields(Joint) if item.compare and item.name not in IN_FORCES)
        if one.name in cut or any(getattr(one, name) != getattr(other, name) for name in rest):
            return None
        if one.may_lock or other.may_lock or one.is_loaded or other.is_loaded:
            return None
        found[one.name] = one
    return found


def _bodies_fit(old: Sequence[Body], given: Sequence[Body]) -> bool:
    """Whether bodies have the names and shapes of others, and what depends on them being rods or points stays."""
    if len(given) != len(old):
        return False
    changed = [(one, other) for one, other in zip(given, old, strict=True) if one is not other]
    if any(one.name != other.name or one.massless != other.massless for one, other in changed):
        return False
    turned = [one for one, other in changed if not np.array_equal(one.inertia, other.inertia) or one.com != other.com]
    low, _, high = np.linalg.eigvalsh(np.array([one.inertia for one in turned]).reshape(-1, 3, 3)).T
    return bool((low > LEAST * high).all())


def _spanned(base: ClosedMechanism, system: System, joints: dict[str, Joint]) -> System:
    """The tree of a system with the form of one whose tree is known."""
    tree = base.split.system
    bodies = {body.name: body for body in system.bodies}
    parts = {part: name for name, some in base.split.parts.items() for part in some}
    shares = {name: len(some) + 1 for name, some in base.split.parts.items()}
    own = []
    for body in tree.bodies:
        name = parts.get(body.name, body.name)
        own.append(share(bodies[name], body.name, shares.get(name, 1)))
    mine = [replace(joints[j.name], child=j.child) if j.name in joints else j for j in tree.joints]
    return tree.with_numbers(own, mine if joints else None, system.forces, system.gravity)
