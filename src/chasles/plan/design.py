"""Parameters of a design that are found together with the motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chasles.model.system import System
from chasles.plan.quantities import CALLER
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.motion import spoken_by
from chasles.simulation.parameter_family import Family
from chasles.simulation.sensitivities import numbers_of


class Variant(Family):
    """A system as a function of parameters that tells which ones a mechanism was made with last."""

    chosen: Mapping[str, np.ndarray]

    def __init__(self, system: Callable[..., Any], parameters: Mapping[str, Any], before: Variant | None = None):
        """before: the same with other values, whose derivatives were looked at: whether the system is smooth."""
        self.before = before
        super().__init__(system, parameters)

    def mechanism(self, changed: Mapping[str, np.ndarray]) -> Any:
        self.chosen = {**self.values, **changed}
        if self.before is None:
            return super().mechanism(changed)
        made = self.build(**{name: value if value.ndim else float(value) for name, value in self.chosen.items()})
        system, base = made if isinstance(made, System) else made.system, self.before.base
        if isinstance(base, ClosedMechanism):
            return ClosedMechanism(system, base.cut, sprung=self.sprung)
        return Mechanism(system, sprung=self.sprung)

    def size(self, name: str, index: int) -> float:
        """As in the first design: a number that comes near zero, as at a bound, keeps its size."""
        own = super().size(name, index)
        return own if self.before is None else max(own, self.before.size(name, index))

    @property
    def known_smooth(self) -> bool:  # type: ignore[override]
        """Whether the first design was looked at."""
        return self.before is not None

    def of_base(self, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        self.chosen = self.values
        return super().of_base(function)


class DesignedSystem:
    """Numbers of a design with bounds; none, if a system is given and no function of parameters.

    `mechanism` is that of the numbers chosen last, `values` are these by name.
    """

    def __init__(self, system: Any, parameters: Mapping[str, Any] | None, bounds: Mapping[str, Any] | None):
        self.build, self.given = system, dict(parameters or {})
        self.family: Variant | None = None
        self.names = tuple(self.given)
        if isinstance(system, System | Mechanism | ClosedMechanism) or not callable(system):
            if parameters or bounds:
                raise ValueError(
                    f"{CALLER}: with parameters, system must be a function of them that returns a System; it is a "
                    f"{type(system).__name__}"
                )
            self.system = system
        else:
            if not self.names:
                raise ValueError(f"{CALLER}: the system is a function; give its parameters, with values to begin with")
            with spoken_by(CALLER, "sensitivities"):
                self.family = Variant(system, self.given)
        shapes = {name: np.shape(value) for name, value in self.given.items()}
        self.sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
        self.shapes, self.size = shapes, sum(self.sizes.values())
        self.first = self._flat(self.given)
        self.low, self.high = self._bounds(bounds or {})
        self._chosen = self.first.copy()
        if self.family is not None:
            self._require_bounds()

    def _flat(self, values: Mapping[str, Any]) -> np.ndarray:
        parts = [np.ravel(np.asarray(values[name], dtype=float)) for name in self.names]
        return np.concatenate([np.zeros(0), *parts])

    def named(self, numbers: np.ndarray) -> dict[str, Any]:
        """Numbers by name."""
        found, at = dict[str, Any](), 0
        for name in self.names:
            part = numbers[at : at + self.sizes[name]].reshape(self.shapes[name])
            found[name], at = (part.copy() if part.ndim else float(part)), at + self.sizes[name]
        return found

    def _bounds(self, bounds: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        for name in bounds:
            if name not in self.names:
                raise ValueError(
                    f"{CALLER}: bounds of {name!r}, which is not a parameter; there are "
                    f"{', '.join(map(repr, self.names))}"
                )
        low, high = {}, {}
        for name in self.names:
            given = bounds.get(name, (-np.inf, np.inf))
            try:
                least, most = (np.broadcast_to(np.asarray(x, dtype=float), self.shapes[name]) for x in given)
            except (TypeError, ValueError):
                raise ValueError(f"{CALLER}: the bounds of {name!r} are {given!r}; expected (low, high)") from None
            value = np.asarray(self.given[name], dtype=float)
            if not ((least < most).all() and (least <= value).all() and (value <= most).all()):
                raise ValueError(
                    f"{CALLER}: {name!r} begins at {self.given[name]!r} and has bounds {given!r}; expected low < high, "
                    "and a value between them"
                )
            low[name], high[name] = least, most
        return self._flat(low), self._flat(high)

    def _require_bounds(self) -> None:
        """Refuse bounds where there is no system, and limits of actuators that depend on parameters."""
        assert self.family is not None
        own, names = Actuation.of_tree(self.family.base)._limits, np.repeat(self.names, list(self.sizes.values()))
        for k, name in enumerate(names.tolist()):
            for bound in (self.low[k], self.high[k]):
                numbers = self.first.copy()
                numbers[k] = bound if np.isfinite(bound) else 1.01 * numbers[k]
                value = self.named(numbers)[name]
                try:
                    found = self.family.mechanism({name: np.asarray(value)})
                except ValueError as error:
                    raise ValueError(
                        f"{CALLER}: there is no system with {name} = {value!r}, which is within its bounds: {error}"
                    ) from error
                if not np.array_equal(Actuation.of_tree(found)._limits, own):
                    raise ValueError(
                        f"{CALLER}: limits of actuators change with parameter {name!r}; a design keeps them. Limit the "
                        "input instead, by low and high"
                    )

    def choose(self, numbers: np.ndarray) -> None:
        """Take numbers from now on."""
        if self.family is not None and not np.array_equal(numbers, self._chosen):
            self._chosen = numbers.copy()
            self.family = Variant(self.build, self.named(numbers), self.family.before or self.family)

    @property
    def values(self) -> dict[str, Any]:
        return self.named(self._chosen)

    @property
    def mechanism(self) -> Any:
        return None if self.family is None else self.family.base

    def found(self) -> Any:
        """The system of the numbers chosen last."""
        return self.system if self.family is None else self.build(**self.values)

    def derivatives(self, more: Callable[[Any, Mapping[str, Any]], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """By the parameters: of the tables of the mechanism, and of further numbers f(mechanism, values); (numbers,
        parameters) each."""
        assert self.family is not None
        family = self.family
        with spoken_by(CALLER, "sensitivities"):
            found = family.table_derivatives(self.names, numbers_of, lambda m: more(m, family.chosen))
        count = len(numbers_of(family.base))
        return found[:count], found[count:]
