"""Systems that depend on parameters, and the derivatives of what is computed from them.

The tables of a mechanism are smooth, closed functions of masses, lengths, axes and stiffnesses. Their derivatives with
respect to a parameter are differences over about one hundredth of it (`slopes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from chasles.simulation.slopes import CannotVaryError, NoDerivativeError, NotSmoothError, NumberSlopes, spread

STEP = 1e-2  # relative to the parameter, or absolute where all of it is zero

Function = Callable[[Any], np.ndarray]  # of a mechanism


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

    def built(self, changed: Mapping[str, np.ndarray]) -> System | Mechanism | ClosedMechanism:
        """What the function returns with some parameters changed."""
        arguments = {name: value if value.ndim else float(value) for name, value in {**self.values, **changed}.items()}
        made = self.build(**arguments)
        if not isinstance(made, System | Mechanism | ClosedMechanism):
            raise TypeError(f"sensitivities: the function of the parameters returned {made!r}; expected a System")
        return made

    def mechanism(self, changed: Mapping[str, np.ndarray]) -> Any:
        """The mechanism with some parameters changed."""
        made = self.built(changed)
        if isinstance(made, System):
            return compiled(made, sprung=self.sprung)
        return made if made.tables.sprung == self.sprung else compiled(made.system, cut_of(made), sprung=self.sprung)

    def member(self, changed: Mapping[str, np.ndarray], name: str) -> Any:
        """The same, of the form of the base. name: of a parameter that changes."""
        mechanism = self.mechanism(changed)
        require_same(self.base, mechanism, name)
        return mechanism

    # ------------------------------------------------------------ derivatives

    def columns(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """All numbers of some parameters."""
        return [(name, k) for name in names for k in range(self.values[name].size)]

    def slices(self, names: Sequence[str]) -> dict[str, slice]:
        """Of each of some parameters, its columns."""
        edges = np.cumsum([0, *(self.values[name].size for name in names)]).tolist()
        return {name: slice(first, last) for name, first, last in zip(names, edges, edges[1:], strict=False)}

    def size(self, name: str, index: int) -> float:
        """The step of the differences by a number of a parameter; one that is zero has that of the largest one in its
        array."""
        value = np.abs(self.values[name])
        return STEP * (float(value.flat[index]) or float(value.max()) or 1.0)

    def derivative(self, name: str, index: int, function: Function) -> np.ndarray:
        """Derivative of a function of the mechanism with respect to number `index` of a parameter."""
        shape = function(self.base).shape
        return self._slopes([(name, index)], lambda mechanism: function(mechanism).ravel())[:, 0].reshape(shape)

    def derivatives(self, names: Sequence[str], function: Function) -> np.ndarray:
        """Derivatives of numbers (count,) with respect to all numbers of some parameters, (count, columns)."""
        return self._slopes(self.columns(names), function)

    def of_base(self, function: Function) -> np.ndarray:
        """A function of the mechanism with the values that were given."""
        return function(self.base)

    def _slopes(self, columns: Sequence[tuple[str, int]], function: Function) -> np.ndarray:
        base, before = self.of_base(function), list[Any]()
        # what depends on the difference of two equal parameters changes when both are varied
        sizes = np.array([self.size(*column) for column in columns]) * spread(len(columns), 3)

        def at(offsets: np.ndarray) -> np.ndarray:
            varied = np.flatnonzero(offsets).tolist()
            shifted = {columns[k][0]: self.values[columns[k][0]].copy() for k in varied}
            for k in varied:
                name, index = columns[k]
                shifted[name].flat[index] += offsets[k] * sizes[k]
            name = columns[varied[0]][0]
            mechanism = self.member(shifted, name)
            for one in before:  # the base may have run, and its functions may keep a memory
                _require_same_functions(one, mechanism, name)
            before[:] = [mechanism]
            return function(mechanism)

        at_zero = np.array([self.values[name].flat[index] == 0.0 for name, index in columns], dtype=bool)
        try:
            return NumberSlopes(at, base, len(columns), self.known_smooth).found(at_zero) / sizes
        except CannotVaryError as error:
            name, size = columns[error.parameter][0], sizes[error.parameter]
            raise ValueError(
                f"sensitivities: parameter {name!r} cannot be varied by {size:g}: {error.reason}"
            ) from error.reason
        except NotSmoothError as error:
            (name, index), size = columns[error.parameter], sizes[error.parameter]
            raise ValueError(
                f"sensitivities: the system does not depend smoothly on parameter {name!r} near "
                f"{self.values[name].flat[index]:g}: derivatives over steps of {size:g} and {size / 2:g} differ by "
                f"{error.off / size:.3g}"
            ) from None

    def table_derivatives(self, names: Sequence[str], numbers: Function, control: Function) -> np.ndarray:
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


def cut_of(mechanism: Mechanism | ClosedMechanism) -> tuple[str, ...]:
    """Joints at which loops were asked to be cut."""
    return mechanism.cut if isinstance(mechanism, ClosedMechanism) else ()


def _laws(mechanism: Any) -> tuple[Law, ...]:
    own: tuple[Law, ...] = getattr(mechanism, "laws", ())
    return (*mechanism.tables.acting.laws, *own) if hasattr(mechanism, "tables") else own


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
