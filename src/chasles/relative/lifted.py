"""Algorithms on a tree some of whose joints follow others: run on all joints, with results for the independent ones.

By the constant G of `relative.dependence`: coordinates and rates go in as G of those of v, forces on the leaders; what
comes out along velocities is a form on them, and is brought back by Gᵀ. Only where accelerations come out other
algorithms are needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.cached import cached_property
from chasles.relative import (
    coriolis,
    forward,
    inverse,
    inverse_hybrid,
    inverse_mixed,
    inverse_spatial,
    jacobian,
    kinematics,
    mass,
    momentum,
    momentum_form,
)
from chasles.relative.algorithm import Algorithm
from chasles.relative.derivative import dependent, inverse_second
from chasles.relative.derivative import forward as forward_derivative
from chasles.relative.derivative import inverse as inverse_derivative
from chasles.relative.derivative import mass as mass_derivative
from chasles.relative.elimination import planned
from chasles.relative.factoring import Factoring, factoring
from chasles.relative.forward_dependent import forward_dynamics_dependent
from chasles.relative.higher import (
    christoffel,
    inverse_rates,
    inverse_series,
    jacobian_partials,
    jacobian_series,
    series,
)
from chasles.relative.parameter import geometry, regressor
from chasles.relative.parameter import inverse as by_geometry

if TYPE_CHECKING:
    from chasles.relative.dependence import Dependence
    from chasles.relative.tree_tables import FollowingTables

V, REST, PLACES = (
    "velocities",
    "rest",
    "places",
)  # axes of a result: along all velocities, along screws at places, others
NONE: tuple[str, ...] = (REST,)
FORCES = (V,)
MATRIX = (V, V)
TENSOR = (V, V, V)
COLUMNS = (REST, V)
ROWS = (V, REST)
# axes of the results of each algorithm, from the first
AXES: dict[Algorithm, tuple[tuple[str, ...], ...]] = {
    inverse.inverse_dynamics: (FORCES,),
    inverse_spatial.inverse_dynamics_spatial: (FORCES,),
    inverse_hybrid.inverse_dynamics_hybrid: (FORCES,),
    inverse_mixed.inverse_dynamics_mixed: (FORCES,),
    coriolis.coriolis_matrix: (MATRIX,),
    jacobian.jacobians: (COLUMNS, COLUMNS),
    kinematics.motion_of_frames: (NONE, NONE, NONE),
    momentum.totals: (NONE, NONE, NONE),
    momentum.centroidal_matrix: (COLUMNS,),
    momentum_form.momenta: (FORCES,),
    inverse_second.inverse_second_derivatives: (TENSOR, TENSOR, TENSOR, TENSOR),
    mass_derivative.mass_matrix_derivative: (TENSOR,),
    christoffel.christoffel: (TENSOR,),
    inverse_rates.inverse_rates: (COLUMNS,),
    inverse_series.inverse_series: (COLUMNS,),
    jacobian_series.jacobian_series: (COLUMNS,),
    series.twist_series: (NONE,),
    regressor.regressor: (ROWS,),
    regressor.energy_regressor: (NONE,),
    by_geometry.inverse_dynamics_by_geometry: (ROWS,),
    geometry.geometry: (NONE, (REST, V, PLACES)),
}
# those that know of followers
OWN: dict[Algorithm, Algorithm] = {
    mass.mass_matrix: dependent.mass_matrix_dependent,
    mass_derivative.inverse_mass_matrix: dependent.inverse_mass_matrix_dependent,
    inverse_derivative.inverse_derivatives: dependent.inverse_derivatives_dependent,
    forward_derivative.forward_derivatives: dependent.forward_derivatives_dependent,
}
Results = tuple[list[np.ndarray], tuple[int, ...]]


class Lifted:
    """The algorithms of one tree with followers."""

    def __init__(self, tables: FollowingTables, dependence: Dependence):
        self.tables, self.dependence = tables, dependence
        self.elimination = planned(dependence)
        self.ratios = dependence.numbers

    def run(self, function: str, algorithm: Algorithm, arrays: dict[str, np.ndarray], sizes: dict[str, int]) -> Results:
        """As `TreeTables.run`, with arrays and results of the independent coordinates."""
        if algorithm is forward.forward_dynamics:
            return self._forward(function, arrays)
        if algorithm in OWN:
            return self._own(function, OWN[algorithm], arrays)
        every, known = self._sizes(sizes), AXES.get(algorithm)
        if algorithm is jacobian_partials.jacobian_partials:
            order, frames = int(arrays["where"][1]), len(arrays["where"]) - 2
            every["size"] = 6 * len(self.dependence.column) ** (order + 1) * frames
            known = ((REST, *(V,) * (order + 1)),)
        if known is None:
            raise ValueError(f"{function}: is not there for mechanisms with joints that mimic others")
        results, batch = self.tables.run_on_all(function, algorithm, self._inputs(arrays), every)
        inner = arrays["hanging"].size // max(1, len(arrays["where"]) - 1) if algorithm is geometry.geometry else 1
        return [self._back(x, axes, 6 * inner) for x, axes in zip(results, known, strict=True)], batch

    def _sizes(self, sizes: dict[str, int]) -> dict[str, int]:
        """Numbers of columns, for all joints."""
        every, own = len(self.dependence.column), len(self.dependence.own)
        return {
            name: size // own * every if name in ("columns", "rates", "entries") else size
            for name, size in sizes.items()
        }

    def _inputs(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arguments for all joints."""
        found, own = dict(arrays), len(self.dependence.own)
        for name, array in arrays.items():
            if name == "q":
                found[name] = self.dependence.coordinates(array)
            elif name in ("v", "a") and array.size:
                found[name] = self.dependence.velocities(array)
            elif name == "rates":  # several, one after the other
                apart = array.reshape(*array.shape[:-1], -1, own)
                found[name] = self.dependence.velocities(apart).reshape(*array.shape[:-1], -1)
            elif name == "tau" and array.size:
                found[name] = self.dependence.on_leaders(array)
        return found

    def _back(self, result: np.ndarray, axes: tuple[str, ...], places: int) -> np.ndarray:
        """A result (count, numbers) of all joints as one of the independent coordinates."""
        if V not in axes:
            return result
        (count, size), sizes = result.shape, {V: len(self.dependence.column), PLACES: places}
        sizes[REST] = size // math.prod(sizes[axis] for axis in axes if axis != REST)
        found = result.reshape(count, *(sizes[axis] for axis in axes))
        for k, axis in enumerate(axes):
            if axis == V:
                found = self.dependence.reduced(found, k + 1)
        return np.ascontiguousarray(found).reshape(count, -1)

    def _forward(self, function: str, arrays: dict[str, np.ndarray]) -> Results:
        """Accelerations by the algorithm that knows of followers."""
        given: dict[str, Any] = {**self._inputs(arrays), "plan": self.elimination.table, "ratios": self.ratios}
        (a,), batch = self.tables.run_on_all(function, forward_dynamics_dependent, given, self.elimination.sizes)
        return [np.ascontiguousarray(a[:, self.dependence.own])], batch

    @cached_property
    def factoring(self) -> Factoring:
        """The order in which the mass matrix is factored."""
        return factoring(self.dependence)

    @cached_property
    def _unordered(self) -> np.ndarray:
        """Where the entries of a matrix are in one whose rows and columns are in that order."""
        place = self.factoring.place
        return np.ravel(place[:, None] * len(place) + place)

    def _own(self, function: str, algorithm: Algorithm, arrays: dict[str, np.ndarray]) -> Results:
        """Matrices by algorithms that know of followers."""
        depends, solved = self.dependence, "tree" in algorithm.arguments
        given: dict[str, Any] = {**self._inputs(arrays), "plan": self.elimination.table, "ratios": depends.ratio}
        given["column"] = np.append(depends.column, len(depends.own))
        if solved:
            given |= {"column": self.factoring.column, "tree": self.factoring.tree, "ends": self.factoring.ends}
        given = {name: given[name] for name in algorithm.arguments if name in given}
        sizes = {**self.elimination.sizes, "own": len(depends.own)}
        results, batch = self.tables.run_on_all(function, algorithm, given, sizes)
        accelerations = [np.ascontiguousarray(results.pop(0)[:, depends.own])] if "tau" in algorithm.arguments else []
        return [*accelerations, *(matrix[:, self._unordered] if solved else matrix for matrix in results)], batch
