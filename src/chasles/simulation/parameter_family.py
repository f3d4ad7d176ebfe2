"""Systems that depend on parameters, and the derivatives of what is computed from them.

The tables of a mechanism are smooth, closed functions of masses, lengths, axes and stiffnesses. Their derivatives with
respect to a parameter are taken by central differences of eighth order over one hundredth of it: truncation and
rounding both stay near 1e-13 of the numbers, far below what a trajectory resolves. A dependence that is not smooth is
found out: a formula of lower order on the same points must agree, or else the same formula over half of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from chasles.force.table import FORCE, FORCES
from chasles.model.law import Law
from chasles.model.same_function import same_function
from chasles.model.system import System
from chasles.model.user_function import constants_of
from chasles.relative.force import PASSIVE
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism

STEP = 1e-2  # relative to the parameter, or absolute where it is zero
CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # weights of f(p + k h) - f(p - k h), k = 1 ... 4
FORWARD = (-761 / 280, 8.0, -14.0, 56 / 3, -35 / 2, 56 / 5, -14 / 3, 8 / 7, -1 / 8)  # of f(p + k h), k = 0 ... 8
LOWER_CENTRAL = (3 / 4, -3 / 20, 1 / 60, 0.0)  # the same points, order six
LOWER_FORWARD = (-363 / 140, 7.0, -21 / 2, 35 / 3, -35 / 4, 21 / 5, -7 / 6, 1 / 7, 0.0)  # and order seven
ROUNDING, ALIKE = 2e-15, 1e-13  # of numbers and of their slopes: derivatives that differ by no more are the same
MANY = 4  # numbers from which on they are compared together
AGREEMENT = 1e-7  # of two results, relative to the largest derivative


class NoDerivativeError(ValueError):
    """A parameter changes what the tables of a system mean."""


class Family:
    """A system as a function of parameters: `system(**parameters)`. Parameters are numbers or arrays of numbers."""

    def __init__(
        self,
        system: Callable[..., System | Mechanism | ClosedMechanism],
        parameters: Mapping[str, Any],
        sprung: bool = True,
    ):
        """sprung: whether joints have a place for springs and dampers even if none has any: one may come from zero."""
        self.build, self.values, self.sprung = system, {}, sprung
        for name, given in parameters.items():
            value = np.asarray(given, dtype=float)
            if not np.isfinite(value).all():
                raise ValueError(f"sensitivities: parameter {name!r} is {given!r}; expected finite numbers")
            self.values[name] = value
        self.base = self.mechanism({})

    def made(self, changed: Mapping[str, np.ndarray]) -> System | Mechanism | ClosedMechanism:
        """What the function returns with some parameters changed."""
        arguments = {name: value if value.ndim else float(value) for name, value in {**self.values, **changed}.items()}
        made = self.build(**arguments)
        if not isinstance(made, System | Mechanism | ClosedMechanism):
            raise TypeError(f"sensitivities: the function of the parameters returned {made!r}; expected a System")
        return made

    def mechanism(self, changed: Mapping[str, np.ndarray]) -> Any:
        """The mechanism with some parameters changed."""
        made = self.made(changed)
        found = compiled(made) if isinstance(made, System) else made
        if found.tables.sprung == self.sprung:
            return found
        if isinstance(found, ClosedMechanism):
            return ClosedMechanism(found.system, found.cut, sprung=self.sprung)
        return Mechanism(found.system, sprung=self.sprung)

    def member(self, changed: Mapping[str, np.ndarray], name: str) -> Any:
        """The same, for differences: of the form of the base. name: of a parameter that changes."""
        mechanism = self.mechanism(changed)
        require_same(self.base, mechanism, name)
        return mechanism

    def columns(self, names: Iterable[str], function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Derivatives (count, numbers) of a function of the mechanism by all numbers of some parameters.

        Most are linear, so that one point each is enough, or two if they are of second order: a formula of eighth order
        along all numbers together tells. What disagrees with it is found by itself (`derivative`)."""
        every = [(name, k) for name in names for k in range(self.values[name].size)]
        lines = [self.along(name, k, function) for name, k in every]
        sizes = [self.size(name, k) for name, k in every]
        found: list[np.ndarray | None] = [None] * len(every)
        if len(every) >= MANY:
            for k, column in self._simple(every, lines, sizes, function).items():
                found[k] = column
        for k, (name, index) in enumerate(every):
            if found[k] is None:
                found[k] = self._derivative(name, index, lines[k])
        return np.array(found).reshape(len(every), -1).T

    def _simple(
        self,
        every: list[tuple[str, int]],
        lines: list[Callable[[float], np.ndarray]],
        sizes: list[float],
        function: Callable[[Any], np.ndarray],
    ) -> dict[int, np.ndarray]:
        """The columns that differences over one or two points give, as those along all of them confirm."""
        first = {k: _of_step(line, h) for k, (line, h) in enumerate(zip(lines, sizes, strict=True))}
        columns = {k: column for k, column in first.items() if column is not None}
        chosen = list(columns)
        if not chosen:
            return {}
        way = np.array([sizes[k] for k in chosen]) * np.random.default_rng(0).uniform(0.5, 1.0, len(chosen))
        before: list[Any] = []

        def at(offset: float) -> np.ndarray:
            changed = {name: value.copy() for name, value in self.values.items()}
            for k, step in zip(chosen, way, strict=True):
                changed[every[k][0]].flat[every[k][1]] += offset * step
            mechanism = self.member(changed, every[chosen[0]][0])
            if before and _other_function(before[0], mechanism) is not None:
                raise ValueError("some parameter is in a function")  # which one is found one by one
            before[:] = [mechanism]
            return function(mechanism)

        try:
            wanted = np.tensordot(CENTRAL, [_minus(at(k), at(-k)) for k in range(1, 5)], 1)
        except NoDerivativeError:
            raise
        except ValueError:
            return {}
        base = np.abs(function(self.base))
        rounding = ROUNDING * np.where(np.isfinite(base), base, 0.0)
        for further in (_of_pair, None):
            parts = np.array([columns[k] * step for k, step in zip(chosen, way, strict=True)])
            sums, most = parts.sum(axis=0), rounding + ALIKE * np.abs(parts).sum(axis=0)
            moved = parts[:, np.abs(wanted - sums) > 4 * most] != 0.0
            doubtful = moved.any(axis=1) | (not moved.any(axis=0).all())
            for k in (k for k, doubt in zip(chosen, doubtful, strict=True) if doubt):
                column = None if further is None else further(lines[k], sizes[k])
                if column is None:
                    return {k: columns[k] for k, doubt in zip(chosen, doubtful, strict=True) if not doubt}
                columns[k] = column
        return columns

    def derivative(self, name: str, index: int, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Derivative of a function of the mechanism with respect to number `index` of a parameter."""
        return self._derivative(name, index, self.along(name, index, function))

    def _derivative(self, name: str, index: int, found: Callable[[float], np.ndarray]) -> np.ndarray:
        value, size = self.values[name], self.size(name, index)
        if (simple := _of_quadratic(found, size)) is not None:
            return simple
        (coarse, lower), base = _differences(found, size, name), found(0.0)
        rounding = 1e-13 * np.abs(np.where(np.isfinite(base), base, 0.0)).max(initial=0.0) / size
        enough = AGREEMENT * np.abs(coarse).max(initial=0.0) + rounding
        if np.abs(coarse - lower).max(initial=0.0) <= enough:
            return coarse
        fine, _ = _differences(found, size / 2, name)  # strongly curved, or not smooth
        off = np.abs(coarse - fine).max(initial=0.0)
        if not off <= enough:
            raise ValueError(
                f"sensitivities: the system does not depend smoothly on parameter {name!r} near {value.flat[index]:g}: "
                f"derivatives over steps of {size:g} and {size / 2:g} differ by {off:.3g}"
            )
        return coarse

    def differenced(self, name: str, index: int, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """The same, not compared with anything: for functions that were."""
        return _differences(self.along(name, index, function), self.size(name, index), name)[0]

    def size(self, name: str, index: int) -> float:
        """Of the differences by a number of a parameter."""
        return STEP * (abs(float(self.values[name].flat[index])) or 1.0)

    def along(self, name: str, index: int, function: Callable[[Any], np.ndarray]) -> Callable[[float], np.ndarray]:
        """A function of the mechanism by how far number `index` of a parameter is off; each value is found once."""
        value, base, before = self.values[name], function(self.base), list[Any]()

        @cache
        def at(offset: float) -> np.ndarray:
            if offset == 0.0:
                return base
            shifted = value.copy()
            shifted.flat[index] += offset
            mechanism = self.member({name: shifted}, name)
            for one in before:  # the base may have run, and its functions may keep a memory
                if (law := _other_function(one, mechanism)) is not None:
                    raise _constant_in_a_law(name, law)
            before[:] = [mechanism]
            return function(mechanism)

        return at

    def table_derivative(
        self, name: str, index: int, numbers: Callable[[Any], np.ndarray], control: Callable[[Any], np.ndarray]
    ) -> np.ndarray:
        """Derivative of the numbers of the mechanism, which end with those of its forces, and of the generalized forces
        of `control`."""
        change = self.derivative(name, index, lambda made: np.concatenate([numbers(made), control(made)]))
        self._require_switched_on(name, change, numbers)
        return change

    def table_columns(
        self,
        names: Iterable[str],
        numbers: Callable[[Any], np.ndarray],
        control: Callable[[Any], np.ndarray] = lambda mechanism: np.empty(0),
    ) -> np.ndarray:
        """The same by all numbers of some parameters, (count, numbers)."""
        every = [name for name in names for _ in range(self.values[name].size)]
        found = self.columns(names, lambda made: np.concatenate([numbers(made), control(made)]))
        for name, change in zip(every, found.T, strict=True):
            self._require_switched_on(name, change, numbers)
        return found

    def _require_switched_on(self, name: str, change: np.ndarray, numbers: Callable[[Any], np.ndarray]) -> None:
        """ValueError if a parameter brings in something that the force laws leave out where it is zero."""
        base = self.base
        if not base.tables.acting.table[FORCES.passive]:  # no joint has a spring, damper, friction or stop
            return
        found = numbers(base)
        first = len(found) - len(base.tables.acting.values)
        own = slice(first, first + base.tables.sizes["nv"] * PASSIVE.size)
        now, then = (x[own].reshape(-1, PASSIVE.size) for x in (found, change))
        for what in ("friction", "stop_stiffness"):
            column = getattr(PASSIVE, what)
            lost = (now[:, column] == 0.0) & (then[:, column] != 0.0)
            if lost.any():
                joint = base.tables.joint_of_any(int(np.argmax(lost)))
                raise ValueError(
                    f"sensitivities: parameter {name!r} brings in the {what} of joint {joint!r} from zero, where it is "
                    "switched off; start from a small positive value"
                )


def _of_step(at: Callable[[float], np.ndarray], h: float) -> np.ndarray | None:
    """Difference to one point; None where the system does not exist there."""
    try:
        return _minus(at(h), at(0.0)) / h
    except NoDerivativeError:
        raise
    except ValueError:
        return None


def _of_pair(at: Callable[[float], np.ndarray], h: float) -> np.ndarray | None:
    """Central difference over two points; None where the system does not exist on both sides."""
    try:
        return _minus(at(h), at(-h)) / (2 * h)
    except NoDerivativeError:
        raise
    except ValueError:
        return None


def _of_quadratic(at: Callable[[float], np.ndarray], h: float) -> np.ndarray | None:
    """The derivative of numbers that are polynomials of second order in a parameter, as most are in masses, moments
    and stiffnesses: two sizes of differences agree to rounding. None for others."""
    far, near = _of_pair(at, h), _of_pair(at, 0.5 * h)
    if far is None or near is None:
        return None
    size = np.abs(np.where(np.isfinite(at(h)), at(h), 0.0))
    return far if (np.abs(far - near) <= ROUNDING * size / h + ALIKE * np.abs(far)).all() else None


def _differences(at: Callable[[float], np.ndarray], h: float, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Central difference, or one-sided where the system does not exist on the other side (a damping below zero). Then
    the same of lower order."""
    try:
        pairs = [_minus(at(k * h), at(-k * h)) for k in range(1, 5)]
        return np.tensordot(CENTRAL, pairs, 1) / h, np.tensordot(LOWER_CENTRAL, pairs, 1) / h
    except NoDerivativeError:
        raise
    except ValueError as error:
        refused = error
    for side in (h, -h):
        try:
            points = [_minus(at(k * side), at(0.0)) for k in range(1, 9)]
            return np.tensordot(FORWARD[1:], points, 1) / side, np.tensordot(LOWER_FORWARD[1:], points, 1) / side
        except ValueError:
            continue
    raise ValueError(f"sensitivities: parameter {name!r} cannot be varied by {h:g}: {refused}") from refused


def _minus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b; limits at infinity do not move."""
    return np.subtract(a, b, out=np.zeros_like(a), where=a != b)


def _laws(mechanism: Any) -> tuple[Law, ...]:
    own: tuple[Law, ...] = getattr(mechanism, "laws", ())
    return (*mechanism.tables.acting.laws, *own) if hasattr(mechanism, "tables") else own


def _constant_in_a_law(name: str, law: Law) -> NoDerivativeError:
    return NoDerivativeError(
        f"sensitivities: parameter {name!r} is a constant in the code of law {law.__name__!r}, which is not "
        "differentiated; give it to the law as one of its `parameters`"
    )


def _other_function(one: Any, other: Any) -> Law | None:
    """A law whose Python function holds something else in one of two mechanisms: in arrays, objects or
    `functools.partial`."""
    pairs = zip(_laws(one), _laws(other), strict=False)
    return next((a for a, b in pairs if a.in_python and not same_function(a.function, b.function)), None)


def require_same_constants(base: Any, other: Any, name: str) -> None:
    """ValueError if a parameter is a constant in the code of a law."""
    for one, another in zip(_laws(base), _laws(other), strict=False):
        if constants_of(one) != constants_of(another):
            raise _constant_in_a_law(name, one)


def changes_structure(name: str) -> NoDerivativeError:
    return NoDerivativeError(
        f"sensitivities: parameter {name!r} changes the structure of the system (its joints, the kinds of their "
        "axes, or which forces there are), so there is no derivative; keep away from values where something "
        "appears, such as an armature or a pitch of zero"
    )


def require_same(base: Any, other: Any, name: str) -> None:
    """ValueError if a parameter changes what the tables mean, not only their numbers."""
    require_same_constants(base, other, name)
    forces = [m.tables.acting.table[FORCES.size :].reshape(-1, FORCE.size).copy() for m in (base, other)]
    for rows in forces:
        rows[:, FORCE.law] = rows[:, FORCE.law] != 0  # a law may be made anew, at another address
    same = np.array_equal(base.tree.topology, other.tree.topology) and base.joints == other.joints
    own, others = base.tables.lifted, other.tables.lifted
    if own is not None or others is not None:  # a ratio of zero has another plan
        plans = [lifted.elimination.table if lifted else np.empty(0) for lifted in (own, others)]
        same = same and np.array_equal(plans[0], plans[1])
    if isinstance(base, ClosedMechanism):
        first, second = ([(tile.joint, *tile.integers) for tile in m.closing.tiles] for m in (base, other))
        same = same and first == second
    if not (
        same
        and np.array_equal(forces[0], forces[1])
        and len(base.tables.acting.values) == len(other.tables.acting.values)
    ):
        raise changes_structure(name)
