"""Nonlinear programs with sparse Jacobians: by Ipopt (the package `ipyopt`) where it is installed, else by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

DENSE_MOST = 400  # variables up to which SciPy's dense method is quicker than its sparse one
MEMORY = 30  # corrections of the Hessian that Ipopt remembers


@dataclass
class Program:
    """f(z) -> min with low <= z <= high and least <= g(z) <= most; `slopes` gives the entries of the Jacobian."""

    cost: Callable[[np.ndarray], tuple[float, np.ndarray]]
    rows: Callable[[np.ndarray], np.ndarray]
    slopes: Callable[[np.ndarray], np.ndarray]
    places: tuple[np.ndarray, np.ndarray]  # rows and columns of these entries
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray


def solved(program: Program, z: np.ndarray, tolerance: float, iterations: int, solver: str) -> np.ndarray:
    """The minimum, from z on; what it violates is for the caller to look at."""
    there = find_spec("ipyopt") is not None
    if solver == "ipopt" and not there:
        raise ImportError("plan: solver=\"ipopt\" needs the package ipyopt: pip install 'chasles[ipopt]'")
    if there and solver != "scipy":
        return _by_ipopt(program, z, tolerance, iterations)
    return _by_scipy(program, z, tolerance, iterations)


def _by_ipopt(program: Program, z: np.ndarray, tolerance: float, iterations: int) -> np.ndarray:
    import ipyopt

    def put(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], None]:
        def into(x: np.ndarray, out: np.ndarray) -> None:
            out[:] = function(x)

        return into

    far = 2e19  # what counts as infinite there
    bounds = [np.clip(x, -far, far) for x in (program.low, program.high, program.least, program.most)]
    options: dict[str, Any] = {"print_level": 0, "sb": "yes", "tol": tolerance, "constr_viol_tol": tolerance}
    options |= {"max_iter": iterations, "hessian_approximation": "limited-memory"}
    options |= {"limited_memory_max_history": MEMORY, "acceptable_tol": tolerance, "acceptable_iter": 3}
    empty = np.zeros(0, dtype=np.int64)
    make: Any = ipyopt.Problem
    problem = make(
        *(len(z), bounds[0], bounds[1], len(program.least), bounds[2], bounds[3]),
        *(tuple(program.places), (empty, empty), lambda x: program.cost(x)[0]),
        *(put(lambda x: program.cost(x)[1]), put(program.rows), put(program.slopes)),
        ipopt_options=options,
    )
    found: np.ndarray = problem.solve(z.copy())[0]
    return found


def _by_scipy(program: Program, z: np.ndarray, tolerance: float, iterations: int) -> np.ndarray:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize
    from scipy.sparse import coo_matrix

    shape = len(program.least), len(z)
    small = len(z) <= DENSE_MOST

    def jacobian(x: np.ndarray) -> Any:
        matrix = coo_matrix((program.slopes(x), program.places), shape=shape).tocsr()
        return matrix.toarray() if small else matrix

    limits = NonlinearConstraint(program.rows, program.least, program.most, jac=jacobian)
    options: dict[str, Any] = {"maxiter": iterations}
    options |= {"ftol": 1e-3 * tolerance} if small else {"gtol": tolerance, "xtol": 1e-3 * tolerance}
    result = minimize(
        *(lambda x: program.cost(x)[0], z),
        jac=lambda x: program.cost(x)[1],
        bounds=Bounds(program.low, program.high),
        constraints=[limits],
        method="SLSQP" if small else "trust-constr",
        options=options,
    )
    found: np.ndarray = result.x
    return found
