"""Nonlinear programs with sparse Jacobians: by Ipopt (the package `ipyopt`) where it is installed, else by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

DENSE_MOST = 400  # variables up to which SciPy's dense method is quicker than its sparse one
NO_DESCENT = 8  # status of SLSQP if its line search finds nothing better
NEARLY, STATIONARY = 1e-6, 1e-4  # at a bound, and of the gradient: what is left of it at a minimum
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


@dataclass(frozen=True)
class ProgramEnd:
    """Variables that a solver ended with, after so many iterations; why it ended, if not for a minimum."""

    z: np.ndarray
    iterations: int
    problem: str = ""


SOLVERS = ("auto", "ipopt", "scipy")
# status of Ipopt: 0 and 1 are a minimum, 3 one up to rounding
ENDINGS = {-1: "the iterations were not enough", -2: "Ipopt found no way to satisfy the equations", 2: "infeasible"}


def require_solver(solver: str) -> None:
    """Refuse a solver that is none, or is not there, before anything is computed."""
    if solver not in SOLVERS:
        raise ValueError(f'plan: solver is {solver!r}; expected "auto", "ipopt" or "scipy"')
    if solver == "ipopt" and find_spec("ipyopt") is None:
        raise ImportError('plan: solver="ipopt" needs the package ipyopt: pip install ipyopt')


def solved(program: Program, z: np.ndarray, tolerance: float, iterations: int, solver: str) -> ProgramEnd:
    """The minimum, from z on; what it violates is for the caller to look at."""
    if solver != "scipy" and find_spec("ipyopt") is not None:
        return _by_ipopt(program, z, tolerance, iterations)
    return _by_scipy(program, z, tolerance, iterations)


def _by_ipopt(program: Program, z: np.ndarray, tolerance: float, iterations: int) -> ProgramEnd:
    import ipyopt

    raised: list[BaseException] = []

    def caught(function: Callable[[np.ndarray], Any], x: np.ndarray) -> Any:
        """Of errors Ipopt makes others, so they wait until it has stopped."""
        try:
            return np.nan if raised else function(x)
        except BaseException as error:
            raised.append(error)
            return np.nan

    def put(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], None]:
        def into(x: np.ndarray, out: np.ndarray) -> None:
            out[:] = caught(function, x)

        return into

    far = 2e19  # what counts as infinite there
    bounds = [np.clip(x, -far, far) for x in (program.low, program.high, program.least, program.most)]
    options: dict[str, Any] = {"print_level": 0, "sb": "yes", "tol": tolerance, "constr_viol_tol": tolerance}
    options |= {"max_iter": iterations, "hessian_approximation": "limited-memory"}
    options |= {"limited_memory_max_history": MEMORY, "acceptable_tol": tolerance, "acceptable_iter": 3}
    options |= {"acceptable_constr_viol_tol": tolerance, "bound_relax_factor": 1e-3 * tolerance}
    empty = np.zeros(0, dtype=np.int64)
    make: Any = ipyopt.Problem
    problem = make(
        *(len(z), bounds[0], bounds[1], len(program.least), bounds[2], bounds[3]),
        *(tuple(program.places), (empty, empty), lambda x: caught(lambda x: program.cost(x)[0], x)),
        *(put(lambda x: program.cost(x)[1]), put(program.rows), put(program.slopes)),
        intermediate_callback=lambda *_: not raised,
        ipopt_options=options,
    )
    found, _, status = problem.solve(z.copy())
    if raised:
        raise raised[0]
    ending = "" if status in (0, 1, 3) else ENDINGS.get(status, f"Ipopt stopped with status {status}")
    return ProgramEnd(found, int(problem.stats["n_iter"]), ending)


def _stationary(program: Program, z: np.ndarray) -> bool:
    """Whether the gradient is one of active rows and bounds, so that rounding was what stopped the search."""
    from scipy.sparse import coo_matrix

    rows, slope = program.rows(z), program.cost(z)[1]
    at = np.minimum(np.abs(rows - program.least), np.abs(program.most - rows)) <= NEARLY * (1.0 + np.abs(rows))
    edge = np.minimum(z - program.low, program.high - z) <= NEARLY * (1.0 + np.abs(z))
    matrix = coo_matrix((program.slopes(z), program.places), shape=(len(rows), len(z))).toarray()[at][:, ~edge].T
    left = slope[~edge] - matrix @ np.linalg.lstsq(matrix, slope[~edge], rcond=None)[0]
    return bool(np.abs(left).max(initial=0.0) <= STATIONARY * np.abs(slope).max(initial=0.0))


def _by_scipy(program: Program, z: np.ndarray, tolerance: float, iterations: int) -> ProgramEnd:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize
    from scipy.sparse import coo_matrix

    shape = len(program.least), len(z)
    small = len(z) <= DENSE_MOST

    def limit(own: np.ndarray) -> NonlinearConstraint:
        """Some of the rows: SLSQP asks for equations and limits apart."""

        def jacobian(x: np.ndarray) -> Any:
            matrix = coo_matrix((program.slopes(x), program.places), shape=shape).tocsr()[own]
            return matrix.toarray() if small else matrix

        return NonlinearConstraint(lambda x: program.rows(x)[own], program.least[own], program.most[own], jac=jacobian)

    equations = program.least == program.most
    limits = [limit(np.flatnonzero(own)) for own in (equations, ~equations) if own.any()]
    options: dict[str, Any] = {"maxiter": iterations}
    options |= {"ftol": 1e-3 * tolerance} if small else {"gtol": tolerance, "xtol": 1e-3 * tolerance}
    result = minimize(
        *(lambda x: program.cost(x)[0], z),
        jac=lambda x: program.cost(x)[1],
        bounds=Bounds(program.low, program.high),
        constraints=limits,
        method="SLSQP" if small else "trust-constr",
        options=options,
    )
    settled = result.success or (small and result.status == NO_DESCENT and _stationary(program, result.x))
    return ProgramEnd(result.x, int(result.nit), "" if settled else str(result.message))
