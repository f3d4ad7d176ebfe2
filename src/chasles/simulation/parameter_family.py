"""Systems that depend on parameters, and the derivatives of what is computed from them.

The tables of a mechanism are smooth, closed functions of masses, lengths, axes and stiffnesses. Their derivatives with
respect to a parameter are taken by central differences of eighth order over one hundredth of it: truncation and
rounding both stay near 1e-13 of the numbers, far below what a trajectory resolves. A dependence that is not smooth is
found out: a formula of lower order on the same points must agree, or else the same formula over half of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
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
AGREEMENT = 1e-7  # of two results, relative to the largest derivative

Column = tuple[str, int]  # a parameter, and which of its numbers
Values = Callable[[float], np.ndarray]  # numbers by how far parameters are off


class NoDerivativeError(ValueError):
    """A parameter changes what the tables of a system mean."""


class Family:
    """A system as a function of parameters: `system(**parameters)`. Parameters are numbers or arrays of numbers."""

    known_smooth = False  # whether results of two orders need not be compared

    def __init__(
        self,
        system: Callable[..., System | Mechanism | ClosedMechanism],
        parameters: Mapping[str, Any],
        sprung: bool = True,
    ):
        """sprung: whether joints have a place for springs and dampers even if none has any: one may come from zero."""
        self.build, self.values, self.sprung = system, dict[str, np.ndarray](), sprung
        for name, given in parameters.items():
            value = np.asarray(given, dtype=float)
            if not np.isfinite(value).all():
                raise ValueError(f"sensitivities: parameter {name!r} is {given!r}; expected finite numbers")
            self.values[name] = value
        self.base = self.mechanism({})

    def mechanism(self, changed: Mapping[str, np.ndarray]) -> Any:
        """The mechanism with some parameters changed."""
        arguments = {name: value if value.ndim else float(value) for name, value in {**self.values, **changed}.items()}
        made = self.build(**arguments)
        if not isinstance(made, System | Mechanism | ClosedMechanism):
            raise TypeError(f"sensitivities: the function of the parameters returned {made!r}; expected a System")
        if isinstance(made, System):
            return compiled(made, sprung=self.sprung)
        return made if made.tables.sprung == self.sprung else compiled(made.system, cut_of(made), sprung=self.sprung)

    # ------------------------------------------------------------ derivatives

    def size(self, name: str, index: int) -> float:
        """Of the differences by a number of a parameter."""
        return STEP * (abs(float(self.values[name].flat[index])) or 1.0)

    def columns(self, names: Sequence[str]) -> list[Column]:
        """All numbers of some parameters."""
        return [(name, k) for name in names for k in range(self.values[name].size)]

    def slices(self, names: Sequence[str]) -> dict[str, slice]:
        """Of each of some parameters, its columns."""
        edges = np.cumsum([0, *(self.values[name].size for name in names)]).tolist()
        return {name: slice(first, last) for name, first, last in zip(names, edges, edges[1:], strict=False)}

    def derivative(self, name: str, index: int, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Derivative of a function of the mechanism with respect to number `index` of a parameter."""
        at = self.along([(name, index)], function, self.of_base(function))
        return self._alone(at, name, index) / self.size(name, index)

    def derivatives(self, names: Sequence[str], function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Derivatives of numbers (count,) with respect to all numbers of some parameters, (count, columns).

        Parameters that change different numbers are varied at once: what a number becomes tells which one did it.
        """
        columns, base = self.columns(names), self.of_base(function)
        found, probes = np.zeros((len(base), len(columns))), list[np.ndarray]()
        alone = [self.along([column], function, base) for column in columns]
        for at in alone:
            try:
                probes.append(_minus(at(1.0), base) != 0.0)
            except NoDerivativeError:
                raise
            except ValueError:  # there is no system on this side
                probes.append(np.ones(len(base), dtype=bool))
        for group in _apart(probes):
            both = self.along([columns[j] for j in group], function, base)
            together = _together(both, [probes[j] for j in group])
            for j in group:
                if (slope := together(probes[j])) is None:
                    found[:, j] = self._alone(alone[j], *columns[j])
                else:
                    found[probes[j], j] = slope
        return found / np.array([self.size(*column) for column in columns])

    def of_base(self, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """A function of the mechanism with the values that were given."""
        return function(self.base)

    def along(self, columns: Sequence[Column], function: Callable[[Any], np.ndarray], base: np.ndarray) -> Values:
        """A function of the mechanism by how far numbers of parameters are off, in sizes of their differences; each
        value is found once. base: that of no change."""
        before = list[Any]()

        @cache
        def at(offset: float) -> np.ndarray:
            if offset == 0.0:
                return base
            shifted = {name: self.values[name].copy() for name, _ in columns}
            for name, index in columns:
                shifted[name].flat[index] += offset * self.size(name, index)
            mechanism, name = self.mechanism(shifted), columns[0][0]
            require_same(self.base, mechanism, name)
            for one in before:  # the base may have run, and its functions may keep a memory
                _require_same_functions(one, mechanism, name)
            before[:] = [mechanism]
            return function(mechanism)

        return at

    def _alone(self, at: Values, name: str, index: int) -> np.ndarray:
        """The derivative along one number of a parameter, per size of its differences."""
        for formula in (_of_line, _of_quadratic):
            found = formula(at)
            if found is not None and found[1].all():
                return found[0]
        coarse, lower = _differences(at, name, self.size(name, index))
        if self.known_smooth:
            return coarse
        enough = _enough(coarse, at(0.0))
        if np.abs(coarse - lower).max(initial=0.0) > enough:  # strongly curved, or not smooth
            fine, _ = _differences(lambda offset: at(0.5 * offset), name, 0.5 * self.size(name, index))
            off = np.abs(coarse - 2.0 * fine).max(initial=0.0)
            if not off <= enough:
                size = self.size(name, index)
                raise ValueError(
                    f"sensitivities: the system does not depend smoothly on parameter {name!r} near "
                    f"{self.values[name].flat[index]:g}: derivatives over steps of {size:g} and {size / 2:g} differ by "
                    f"{off / size:.3g}"
                )
        return coarse

    def table_derivatives(
        self, names: Sequence[str], numbers: Callable[[Any], np.ndarray], control: Callable[[Any], np.ndarray]
    ) -> np.ndarray:
        """Derivatives of the numbers of the mechanism, which end with those of its forces, and of those of `control`,
        (count, columns)."""

        def tables(mechanism: Any) -> np.ndarray:
            return np.concatenate([numbers(mechanism), control(mechanism)])

        change, base = self.derivatives(names, tables), self.base
        if not change.size or not base.tables.acting.table[FORCES.passive]:
            return change  # no joint has a spring, damper, friction or stop
        first = len(numbers(base)) - len(base.tables.acting.values)
        own = slice(first, first + base.tables.sizes["nv"] * PASSIVE.size)
        now, then = tables(base)[own].reshape(-1, PASSIVE.size), change[own].reshape(-1, PASSIVE.size, change.shape[1])
        for what in ("friction", "stop_stiffness"):  # the force laws leave these out where they are zero
            place = getattr(PASSIVE, what)
            lost = (now[:, place, None] == 0.0) & (then[:, place] != 0.0)
            if lost.any():
                k, column = np.argwhere(lost)[0]
                raise ValueError(
                    f"sensitivities: parameter {self.columns(names)[column][0]!r} brings in the {what} of joint "
                    f"{base.tables.joint_of_any(int(k))!r} from zero, where it is switched off; start from a small "
                    "positive value"
                )
        return change


def _together(at: Values, own: list[np.ndarray]) -> Callable[[np.ndarray], np.ndarray | None]:
    """Of numbers of parameters that are varied at once, and change their `own` numbers each: the slopes of the numbers
    that one of them changes, or None if it has to be varied alone."""
    others = ~np.any(own, axis=0)

    def checked(offset: float) -> np.ndarray:
        if (_minus(at(offset), at(0.0)) != 0.0)[others].any():
            raise _TogetherError
        return at(offset)

    formulas = [cache(partial(formula, checked)) for formula in (_of_line, _of_quadratic, _of_many)]

    def slopes(mine: np.ndarray) -> np.ndarray | None:
        try:
            for formula in formulas:
                if (found := formula()) is not None and found[1][mine].all():
                    return np.asarray(found[0][mine])
        except ValueError:  # there is no such system
            pass
        return None

    return slopes if len(own) > 1 else lambda mine: None


class _TogetherError(ValueError):
    """Numbers change that none of some parameters changes by itself."""


def _apart(changed: list[np.ndarray]) -> list[list[int]]:
    """Groups of columns that change different numbers, (numbers,) each."""
    groups = list[tuple[list[int], np.ndarray]]()
    for j, own in enumerate(changed):
        for group, taken in groups:
            if not (taken & own).any():
                group.append(j)
                taken |= own
                break
        else:
            groups.append(([j], own.copy()))
    return [group for group, _ in groups]


def _enough(slopes: np.ndarray, base: np.ndarray) -> float:
    """By how much two results may differ."""
    rounding = 1e-13 * np.abs(np.where(np.isfinite(base), base, 0.0)).max(initial=0.0)
    return float(AGREEMENT * np.abs(slopes).max(initial=0.0) + rounding)


def _alike(one: np.ndarray, other: np.ndarray, at: Values) -> np.ndarray:
    """Which slopes agree to rounding."""
    size = np.abs(np.where(np.isfinite(at(1.0)), at(1.0), 0.0))
    return np.asarray(np.abs(one - other) <= ROUNDING * size + ALIKE * np.abs(one))


def _of_line(at: Values) -> tuple[np.ndarray, np.ndarray] | None:
    """Slopes of numbers that are straight in a parameter, as in masses and stiffnesses, and which ones are: slopes to
    both sides, over different lengths, agree to rounding. None where the system does not exist on both sides."""
    try:
        ahead, behind = _minus(at(1.0), at(0.0)), 2.0 * _minus(at(0.0), at(-0.5))
    except NoDerivativeError:
        raise
    except ValueError:
        return None
    return _minus(at(1.0), at(-0.5)) / 1.5, _alike(ahead, behind, at)


def _of_quadratic(at: Values) -> tuple[np.ndarray, np.ndarray] | None:
    """The same of polynomials of second order, as in moments: two lengths of central differences agree."""
    try:
        far, near = 0.5 * _minus(at(1.0), at(-1.0)), _minus(at(0.5), at(-0.5))
    except NoDerivativeError:
        raise
    except ValueError:
        return None
    return far, _alike(far, near, at)


def _of_many(at: Values) -> tuple[np.ndarray, np.ndarray]:
    """Slopes by central differences of eighth order, and which ones agree with those of order six."""
    pairs = [_minus(at(k), at(-k)) for k in (1.0, 2.0, 3.0, 4.0)]
    found, lower = np.tensordot(CENTRAL, pairs, 1), np.tensordot(LOWER_CENTRAL, pairs, 1)
    return found, np.abs(found - lower) <= AGREEMENT * np.abs(found) + 1e-13 * np.abs(at(0.0))


def _differences(at: Values, name: str, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Central difference, or one-sided where the system does not exist on the other side (a damping below zero). Then
    the same of lower order."""
    try:
        pairs = [_minus(at(k), at(-k)) for k in (1.0, 2.0, 3.0, 4.0)]
        return np.tensordot(CENTRAL, pairs, 1), np.tensordot(LOWER_CENTRAL, pairs, 1)
    except NoDerivativeError:
        raise
    except ValueError as error:
        refused = error
    for side in (1.0, -1.0):
        try:
            points = [_minus(at(k * side), at(0.0)) for k in range(1, 9)]
            return np.tensordot(FORWARD[1:], points, 1) * side, np.tensordot(LOWER_FORWARD[1:], points, 1) * side
        except ValueError:
            continue
    raise ValueError(f"sensitivities: parameter {name!r} cannot be varied by {size:g}: {refused}") from refused


def _minus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b; limits at infinity do not move."""
    return np.subtract(a, b, out=np.zeros_like(a), where=a != b)


def cut_of(mechanism: Mechanism | ClosedMechanism) -> tuple[str, ...]:
    """Joints at which loops were asked to be cut."""
    return mechanism.cut if isinstance(mechanism, ClosedMechanism) else ()


def _laws(mechanism: Any) -> tuple[Law, ...]:
    return (*mechanism.tables.acting.laws, *getattr(mechanism, "laws", ()))


def _constant_in_a_law(name: str, law: Law) -> NoDerivativeError:
    return NoDerivativeError(
        f"sensitivities: parameter {name!r} is a constant in the code of law {law.__name__!r}, which is not "
        "differentiated; give it to the law as one of its `parameters`"
    )


def _require_same_functions(one: Any, other: Any, name: str) -> None:
    """ValueError if a parameter is in what Python functions hold: in arrays, objects or `functools.partial`."""
    for law, another in zip(_laws(one), _laws(other), strict=False):
        if law.in_python and not same_function(law.function, another.function):
            raise _constant_in_a_law(name, law)


def require_same(base: Any, other: Any, name: str) -> None:
    """ValueError if a parameter changes what the tables mean, not only their numbers."""
    for one, another in zip(_laws(base), _laws(other), strict=False):
        if constants_of(one) != constants_of(another):
            raise _constant_in_a_law(name, one)
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
        raise NoDerivativeError(
            f"sensitivities: parameter {name!r} changes the structure of the system (its joints, the kinds of their "
            "axes, or which forces there are), so there is no derivative; keep away from values where something "
            "appears, such as an armature or a pitch of zero"
        )
