"""A model with other values of parameters in each member of a batch.

A parameter is an argument of a function that makes the model, or a place in a system: "bodies.arm.mass", "gravity".
What varies is data: the tables of all members are made at once where masses, centers of mass and inertias of bodies
differ, and what stands in the tables as it is (`copied_numbers`); and one after the other else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.model.body import UPPER, Body
from chasles.model.suggestion import meant
from chasles.model.system import System
from chasles.relative.determined import require_determined
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism
from chasles.relative.variants import numbers_with
from chasles.screw import inertia as spatial
from chasles.simulation.batch.table_parameters import Copies, are_copied
from chasles.simulation.compiled_system import take_over
from chasles.simulation.parameter_family import require_same
from chasles.simulation.places import PlaceOfNumbers, changed, place_of
from chasles.simulation.slopes import NoDerivativeError

Made = System | Mechanism | ClosedMechanism | AbsoluteMechanism
OF_BODIES = ("mass", "com", "inertia")
WHERE = "simulate_batch"
LEAST = 1e-13  # of a body's largest moment of inertia: with smaller ones it may be a thin rod


class Variants:
    """A model and values of parameters, (members, ...) each."""

    def __init__(self, model: Made | Callable[..., Any], parameters: Mapping[str, np.ndarray]):
        self.given, self.values = model, parameters
        self._last: System | None = None  # the variant that was made last
        self.places: dict[str, PlaceOfNumbers] = {}
        if isinstance(model, Made):
            if parameters and isinstance(model, AbsoluteMechanism):
                raise ValueError(f'{WHERE}: with parameters give the System, and coordinates="absolute"')
            for name in parameters:
                self.places[name] = place_of(model if isinstance(model, System) else model.system, name, WHERE)
        elif callable(model):
            _check_arguments(model, parameters)
        else:
            raise TypeError(
                f"{WHERE}: a {type(model).__name__} is not a system; expected a System, a compiled mechanism, or a "
                "function of the parameters that returns a System. For the result of load() use study.run_batch()"
            )

    def model(self, i: int) -> Made:
        """The model of a member; ValueError for values that it cannot have."""
        values = {name: value[i] if value.ndim > 1 else float(value[i]) for name, value in self.values.items()}
        if isinstance(self.given, Made):
            return self._changed(self.given, values) if values else self.given
        made = self.given(**values)
        if not isinstance(made, Made):
            raise TypeError(f"{WHERE}: the function of the parameters returned {made!r}; expected a System")
        return made

    def _changed(self, given: Made, values: Mapping[str, Any]) -> Made:
        system = self._system
        if self._masses_alone and min(map(float, values.values())) > 0.0:
            return self._with_masses(given, system, values)
        found = changed(system, {self.places[name]: value for name, value in values.items()})
        if isinstance(given, ClosedMechanism):
            return compiled(found, given.cut)
        return Mechanism(found) if isinstance(given, Mechanism) else found

    def _with_masses(self, given: Made, system: System, values: Mapping[str, float]) -> Made:
        """A variant that takes over what is known of the one before it."""
        bodies, indices = list(system.bodies), [self.places[name].index for name in values]
        heavy = heavier([bodies[k] for k in indices], np.array(list(values.values()), dtype=float))
        for k, body in zip(indices, heavy, strict=True):
            bodies[k] = body
        found = system.with_numbers(bodies)
        if self._last is not None:
            take_over(found, self._last)
        self._last = found
        return Mechanism(found) if isinstance(given, Mechanism) else found

    @property
    def _masses_alone(self) -> bool:
        """Whether masses of bodies are all that varies, and the model is a tree or a system."""
        bodies = [] if not isinstance(self.given, Made) else self._system.bodies
        return not isinstance(self.given, ClosedMechanism) and all(
            place.section == "bodies"
            and place.field == "mass"
            and self.values[name].ndim == 1
            and bodies[place.index].density is None
            and bodies[place.index].mass > 0
            for name, place in self.places.items()
        )

    @property
    def _system(self) -> System:
        assert isinstance(self.given, Made)
        return self.given if isinstance(self.given, System) else self.given.system

    def parted(self) -> tuple[dict[str, PlaceOfNumbers], dict[str, PlaceOfNumbers]]:
        """The places that are masses, centers of mass and inertias of bodies, and all others."""
        bodies = {
            name: place for name, place in self.places.items() if place.section == "bodies" and place.field in OF_BODIES
        }
        return bodies, {name: place for name, place in self.places.items() if name not in bodies}


def _check_arguments(function: Callable[..., Any], parameters: Mapping[str, Any]) -> None:
    """ValueError for parameters that a function does not have."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of some functions nothing is known
        return
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return
    for name in parameters:
        if name not in known:
            expected = ", ".join(known) or "none"
            raise ValueError(f"{WHERE}: the model has no parameter {name!r}; {meant(name, known)}it has {expected}")


def heavier(bodies: Sequence[Body], masses: np.ndarray) -> list[Body]:
    """Bodies with other masses, positive as their own are: what else a body must satisfy does not depend on it."""
    com = np.array([body.com for body in bodies])
    about = (com**2).sum(axis=1)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    moments = np.array([body.inertia for body in bodies]) + masses[:, None, None] * about
    flat = np.concatenate([masses[:, None], masses[:, None] * com, moments[:, UPPER[0], UPPER[1]]], axis=1)
    matrices = spatial.from_parameters(flat)
    matrices.flags.writeable = False
    found = []
    for body, mass, matrix in zip(bodies, masses.tolist(), matrices, strict=True):
        other = object.__new__(Body)
        other.__dict__.update({**vars(body), "mass": mass, "spatial": matrix})
        found.append(other)
    return found


@dataclass
class MemberTables:
    """The tables of all members of a batch of trees: numbers of the links and of the forces, (members, ...); what is
    wrong with members that have none."""

    numbers: np.ndarray
    values: np.ndarray
    wrong: dict[int, Exception]


def tree_tables(variants: Variants, base: Mechanism, q: np.ndarray) -> MemberTables | None:
    """The tables of all members, which start at q (members, nq); None if their systems differ in structure."""
    count, values = len(q), base.tables.acting.values
    found = MemberTables(np.tile(base.tree.numbers, (count, 1)), np.tile(values, (count, 1)), {})
    if not variants.values:
        return found
    left = np.arange(count)
    of_bodies, others = variants.parted()
    if variants.places and are_copied(others):
        sure = np.ones(count, dtype=bool)
        if of_bodies:
            bodies = BodiesOfMembers.by_place(variants, base, count)
            found.numbers[:], sure = bodies.numbers(), bodies.sure()
        if not others or _copied(found, variants, base, q, sure):
            left = left[~sure]
    systems: dict[int, System] = {}
    for i in left.tolist():
        try:
            made = variants.model(i)
            system: System = made if isinstance(made, System) else made.system
            if _same_but_bodies(system, base.system):
                systems[i] = system
            elif not _by_itself(found, i, system, base, q[i]):
                return None
        except Exception as error:
            found.wrong[i] = error
    if systems:
        bodies = BodiesOfMembers.of(list(systems.values()), base)
        found.numbers[list(systems)] = bodies.numbers()
        for (i, system), sure in zip(systems.items(), bodies.sure(), strict=True):
            try:
                if not sure:
                    _by_itself(found, i, system, base, q[i])
            except Exception as error:
                found.wrong[i] = error
    return found


def _copied(found: MemberTables, variants: Variants, base: Mechanism, q: np.ndarray, sure: np.ndarray) -> bool:
    """Put what varies besides bodies into the tables of all members whose bodies are sure, if it stands there as it is;
    whether that was so."""
    _, others = variants.parted()
    copies, size = Copies({name: variants.values[name] for name in others}), found.numbers.shape[1]
    tables = np.concatenate([found.numbers, found.values], axis=1)

    def made(i: int) -> np.ndarray | None:
        own = MemberTables(found.numbers.copy(), found.values.copy(), {})
        model = variants.model(i)
        system = model if isinstance(model, System) else model.system
        same = _by_itself(own, i, system, base, q[i])
        return np.concatenate([own.numbers[i], own.values[i]]) if same else None

    try:
        if not sure[copies.examples].all() or not copies.find(tables, made):
            return False
    except Exception:  # each is made by itself then, and keeps what is wrong with it
        return False
    copies.put(tables)
    found.numbers[:], found.values[:] = tables[:, :size], tables[:, size:]
    return True


def _same_but_bodies(system: System, base: System) -> bool:
    """Whether two systems differ in the numbers of their bodies alone."""
    return (
        system.joints == base.joints
        and system.forces == base.forces
        and system.gravity == base.gravity
        and not system.constraints
        and [body.name for body in system.bodies] == [body.name for body in base.bodies]
    )


def _by_itself(found: MemberTables, i: int, system: System, base: Mechanism, q: np.ndarray) -> bool:
    """Make the tables of one member; whether they have the structure of the others."""
    tree = Mechanism(system)
    try:
        require_same(base, tree, "")
    except NoDerivativeError:
        return False
    require_determined(tree, q)
    found.numbers[i], found.values[i] = tree.tree.numbers, tree.tables.acting.values
    return True


class BodiesOfMembers:
    """Masses (members, bodies), centers of mass and inertias about them, of all bodies of all members."""

    def __init__(self, base: Mechanism, mass: np.ndarray, com: np.ndarray, central: np.ndarray):
        self.base, self.mass, self.com, self.central = base, mass, com, central
        self.fits = True  # whether all values have shapes that bodies take

    @classmethod
    def of(cls, systems: Sequence[System], base: Mechanism) -> BodiesOfMembers:
        """Those of systems."""
        return cls(
            base,
            np.array([[body.mass for body in system.bodies] for system in systems]),
            np.array([[body.com for body in system.bodies] for system in systems]),
            np.array([[body.inertia for body in system.bodies] for system in systems]),
        )

    @classmethod
    def by_place(cls, variants: Variants, base: Mechanism, count: int) -> BodiesOfMembers:
        """Those of the base, with what varies in its place."""
        one = cls.of([base.system], base)
        found = cls(base, *(np.repeat(part, count, axis=0) for part in (one.mass, one.com, one.central)))
        for name, place in variants.parted()[0].items():
            given = variants.values[name]
            if place.field == "inertia" and given.shape[1:] == (3,):
                given = given[:, :, None] * np.eye(3)
            elif place.field == "inertia" and given.shape[1:] == (6,):
                given = given[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
            target = {"mass": found.mass, "com": found.com, "inertia": found.central}[place.field][:, place.index]
            if given.shape != target.shape or base.system.bodies[place.index].density is not None:
                found.fits = False
            else:
                target[...] = given
        return found

    def sure(self) -> np.ndarray:
        """Members whose bodies are physical beyond doubt, and all have moments of inertia about all axes if they differ
        from the base. Others are made one by one, which says what is wrong."""
        low, middle, high = np.moveaxis(np.linalg.eigvalsh(self.central), -1, 0)
        symmetric = (self.central == np.swapaxes(self.central, -1, -2)).all(axis=(-1, -2))
        fine = (self.mass > 0) & (low > LEAST * high) & (low + middle >= high * (1 - 1e-12)) & symmetric
        own = BodiesOfMembers.of([self.base.system], self.base)
        kept = (self.mass == own.mass) & (self.com == own.com).all(axis=-1)
        kept &= (self.central == own.central).all(axis=(-1, -2))
        return self.fits & (fine | kept).all(axis=1)

    def numbers(self) -> np.ndarray:
        """The numbers of the trees, (members, numbers)."""
        mass, com = self.mass[..., None], self.com
        about = (com**2).sum(axis=-1)[..., None, None] * np.eye(3) - com[..., :, None] * com[..., None, :]
        moments = (self.central + mass[..., None] * about)[..., UPPER[0], UPPER[1]]
        inertias = spatial.from_parameters(np.concatenate([mass, mass * com, moments], axis=-1))
        return numbers_with(self.base.tree, inertias, com, self.central)


def as_values(parameters: Mapping[str, ArrayLike] | None) -> dict[str, np.ndarray]:
    """Values of parameters as arrays; ValueError for what is no number, with the member it belongs to."""
    found: dict[str, np.ndarray] = {}
    for name, given in (parameters or {}).items():
        try:
            value = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{WHERE}: parameter {name!r} is {given!r}; expected an array of numbers") from None
        if not np.isfinite(value).all():
            bad = np.argwhere(~np.isfinite(value))[0]
            of = f"of member {bad[0]} " if value.ndim else ""
            raise ValueError(f"{WHERE}: parameter {name!r} {of}is not finite")
        found[name] = value
    return found
