"""Nonlinear programs with sparse Jacobians: by Ipopt (the package `ipyopt` or `cyipopt`) where it is installed, else by
SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from chasles.integrate.stepper import Attention

DENSE_MOST = 400  # variables up to which SciPy's dense method is quicker than its sparse one
NO_DESCENT = 8  # status of SLSQP if its line search finds nothing better
NEARLY, STATIONARY = 1e-6, 1e-4  # at a bound, and of the gradient: what is left of it at a minimum
NOWHERE = 1e12  # for SciPy: cost and rows where there is no motion, which ends a search if they are not a number
FAR = 2e19  # what counts as infinite for Ipopt
KEPT = 1e-8  # of rows: violations that make no difference between motions that are kept
ROUGH = 200  # iterations without second derivatives, where these take several times as long
STOPPED = "stopped by Ctrl-C"
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
    bends: Any = None  # the Hessian of the Lagrangian: its `entries` of z, λ and σ at its `places`
    rough: int = 0  # iterations before it is used

    def off(self, z: np.ndarray) -> float:
        """By how much rows are violated, relative to their size."""
        rows = self.rows(z)
        return float((np.abs(rows - np.clip(rows, self.least, self.most)) / (1.0 + np.abs(rows))).max(initial=0.0))


@dataclass(frozen=True)
class ProgramEnd:
    """Variables that a solver ended with, after so many iterations; why it ended, if not for a minimum."""

    z: np.ndarray
    iterations: int
    problem: str = ""


SOLVERS = ("auto", "ipopt", "scipy")
HESSIANS = ("auto", "exact", "approximate")
# status of Ipopt: 0 and 1 are a minimum, 3 one up to rounding
INFEASIBLE = 2
ENDINGS = {-1: "the iterations were not enough", -2: "Ipopt found no way to satisfy the equations"}
ENDINGS |= {INFEASIBLE: "infeasible"}


def require_solver(solver: str) -> None:
    """Refuse a solver that is none, or is not there, before anything is computed."""
    if solver not in SOLVERS:
        raise ValueError(f'plan: solver is {solver!r}; expected "auto", "ipopt" or "scipy"')
    if solver == "ipopt" and not ipopt_package():
        raise ImportError('plan: solver="ipopt" needs the package ipyopt, or cyipopt: pip install ipyopt')


def rough_iterations(hessian: str, designed: bool, usual: int) -> int | None:
    """How many iterations Ipopt is to make with a Hessian of gradients before it has the exact one; `usual`, unless it
    is said; None for all, as if parameters of a design are variables too."""
    if hessian not in HESSIANS:
        raise ValueError(f"plan: hessian is {hessian!r}; expected {', '.join(HESSIANS)}")
    if hessian == "exact" and designed:
        raise ValueError('plan: hessian="exact" is not for parameters of a design; leave it out')
    if designed or hessian == "approximate":
        return None
    return usual if hessian == "auto" else 0


def ipopt_package() -> str:
    """The package that Ipopt is called by; none, if there is none."""
    return next((name for name in ("ipyopt", "cyipopt") if find_spec(name) is not None), "")


def solved(program: Program, z: np.ndarray, tolerance: float, iterations: int, solver: str) -> ProgramEnd:
    """The minimum, from z on; what it violates is for the caller to look at."""
    package = "" if solver == "scipy" else ipopt_package()
    with Attention() as attention:
        call = Callbacks(program, attention)
        if package:
            found, count, ending = _by_ipopt(call, z, tolerance, iterations, package)
        else:
            found, count, ending = _by_scipy(call, z, tolerance, iterations)
        stopped, attention.called = attention.called, False
    if call.raised:
        raise call.raised[0]
    if ending and call.better(found):
        found = call.best[2]
    return ProgramEnd(found, count, STOPPED if stopped and ending else ending)


def _by_ipopt(
    call: Callbacks, z: np.ndarray, tolerance: float, iterations: int, package: str
) -> tuple[np.ndarray, int, str]:
    """The end of a search, its iterations, and why it ended, if not for a minimum."""
    rough, taken = iterations if call.program.bends is None else min(call.program.rough, iterations), 0
    for most, bent in ((rough, False), (iterations - rough, True)):
        if not most:
            continue
        options = _options_of_ipopt(tolerance, most, bent)
        z, status, count = (by_ipyopt if package == "ipyopt" else by_cyipopt)(call, z, options)
        taken += count
        ending = "" if status in (0, 1, 3) else ENDINGS.get(status, f"Ipopt stopped with status {status}")
        if not ending or status == INFEASIBLE or call.raised or call.attention.called:
            break
    return z, taken, ending


def _options_of_ipopt(tolerance: float, iterations: int, bent: bool) -> dict[str, Any]:
    """bent: with second derivatives."""
    options: dict[str, Any] = {"print_level": 0, "sb": "yes", "tol": tolerance, "constr_viol_tol": tolerance}
    options |= {"max_iter": iterations, "acceptable_tol": tolerance, "acceptable_iter": 3}
    if not bent:
        options |= {"hessian_approximation": "limited-memory", "limited_memory_max_history": MEMORY}
    return options | {"acceptable_constr_viol_tol": tolerance, "bound_relax_factor": 1e-3 * tolerance}


class Callbacks:
    """A program as Ipopt calls it. Of errors Ipopt makes others, so they wait in `raised` until it has stopped. The
    names of the methods are those of `cyipopt`."""

    def __init__(self, program: Program, attention: Attention):
        self.program, self.raised, self.count, self.attention = program, list[BaseException](), 0, attention
        self.best = np.inf, np.inf, np.zeros(0)  # the least violation and cost, and where
        edges = program.low, program.high, program.least, program.most
        self.bounds = [np.clip(x, -FAR, FAR) for x in edges]
        self.bend_places = None if program.bends is None else program.bends.places()

    def caught(self, function: Callable[[np.ndarray], Any], x: np.ndarray, size: tuple[int, ...] = ()) -> Any:
        """The value of a function; NaN of its size if there is none."""
        try:
            return np.full(size, np.nan) if self.raised else function(x)
        except BaseException as error:
            self.raised.append(error)
            return np.full(size, np.nan)

    def objective(self, x: np.ndarray) -> float:
        return float(self.caught(lambda x: self.program.cost(x)[0], x))

    def gradient(self, x: np.ndarray) -> Any:
        return self.caught(lambda x: self.program.cost(x)[1], x, x.shape)

    def constraints(self, x: np.ndarray) -> Any:
        return self.caught(self.program.rows, x, self.program.least.shape)

    def better(self, x: np.ndarray) -> bool:
        """Whether the best so far is better than this."""
        return not self.best[:2] >= self.rank(x)

    def rank(self, x: np.ndarray) -> tuple[float, float]:
        """Violation first, then cost."""
        off, cost = self.program.off(x), self.program.cost(x)[0]
        return (max(off, KEPT), cost) if np.isfinite(cost) and np.isfinite(off) else (np.inf, np.inf)

    def keep(self, x: np.ndarray) -> None:
        """Remember the best motion."""
        if (found := self.rank(x)) < self.best[:2]:
            self.best = *found, x.copy()

    def jacobian(self, x: np.ndarray) -> Any:
        self.caught(self.keep, x)
        return self.caught(self.program.slopes, x, self.program.places[0].shape)

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        return self.program.places

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        none = np.zeros(0, dtype=np.int64)
        return (none, none) if self.bend_places is None else self.bend_places

    def hessian(self, x: np.ndarray, lagrange: np.ndarray, factor: float) -> Any:
        assert self.bend_places is not None
        return self.caught(lambda x: self.program.bends.entries(x, lagrange, factor), x, self.bend_places[0].shape)

    def intermediate(self, mode: int, iteration: int, *_: float) -> bool:
        """Whether Ipopt goes on."""
        self.count = iteration
        return not (self.raised or self.attention.called)


def by_ipyopt(call: Callbacks, z: np.ndarray, options: dict[str, Any]) -> tuple[np.ndarray, int, int]:
    """The end of a search, its status and its iterations."""
    import ipyopt

    def put(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], None]:
        def into(x: np.ndarray, out: np.ndarray) -> None:
            out[:] = function(x)

        return into

    def bend_into(x: np.ndarray, lagrange: np.ndarray, factor: float, out: np.ndarray) -> None:
        out[:] = call.hessian(x, lagrange, factor)

    bounds = call.bounds
    make: Any = ipyopt.Problem
    problem = make(
        *(len(z), bounds[0], bounds[1], len(bounds[2]), bounds[2], bounds[3]),
        *(tuple(call.program.places), call.hessianstructure(), call.objective),
        *(put(call.gradient), put(call.constraints), put(call.jacobian)),
        *([bend_into] if call.bend_places else []),
        intermediate_callback=call.intermediate,
        ipopt_options=options,
    )
    found, _, status = problem.solve(z.copy())
    return found, int(status), int(problem.stats["n_iter"])


def by_cyipopt(call: Callbacks, z: np.ndarray, options: dict[str, Any]) -> tuple[np.ndarray, int, int]:
    """The same by the package `cyipopt`."""
    import cyipopt

    low, high, least, most = call.bounds
    problem = cyipopt.Problem(n=len(z), m=len(least), problem_obj=call, lb=low, ub=high, cl=least, cu=most)
    for name, value in options.items():
        problem.add_option(name, value)
    found, told = problem.solve(z.copy())
    return found, int(told["status"]), call.count


def _stationary(program: Program, z: np.ndarray) -> bool:
    """Whether the gradient is one of active rows and bounds, so that rounding was what stopped the search."""
    from scipy.sparse import coo_matrix

    rows, slope = program.rows(z), program.cost(z)[1]
    at = np.minimum(np.abs(rows - program.least), np.abs(program.most - rows)) <= NEARLY * (1.0 + np.abs(rows))
    edge = np.minimum(z - program.low, program.high - z) <= NEARLY * (1.0 + np.abs(z))
    matrix = coo_matrix((program.slopes(z), program.places), shape=(len(rows), len(z))).toarray()[at][:, ~edge].T
    left = slope[~edge] - matrix @ np.linalg.lstsq(matrix, slope[~edge], rcond=None)[0]
    return bool(np.abs(left).max(initial=0.0) <= STATIONARY * np.abs(slope).max(initial=0.0))


def _by_scipy(call: Callbacks, z: np.ndarray, tolerance: float, iterations: int) -> tuple[np.ndarray, int, str]:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize
    from scipy.sparse import coo_matrix

    program = call.program
    shape = len(program.least), len(z)
    small = len(z) <= DENSE_MOST

    def limit(own: np.ndarray) -> NonlinearConstraint:
        """Some of the rows: SLSQP asks for equations and limits apart."""

        def jacobian(x: np.ndarray) -> Any:
            call.keep(x)
            if call.attention.called:
                raise StopIteration
            matrix = coo_matrix((np.nan_to_num(program.slopes(x)), program.places), shape=shape).tocsr()[own]
            return matrix.toarray() if small else matrix

        def rows(x: np.ndarray) -> np.ndarray:
            return np.nan_to_num(program.rows(x)[own], nan=NOWHERE, posinf=NOWHERE, neginf=-NOWHERE)

        return NonlinearConstraint(rows, program.least[own], program.most[own], jac=jacobian)

    equations = program.least == program.most
    limits = [limit(np.flatnonzero(own)) for own in (equations, ~equations) if own.any()]
    options: dict[str, Any] = {"maxiter": iterations}
    options |= {"ftol": 1e-3 * tolerance} if small else {"gtol": tolerance, "xtol": 1e-3 * tolerance}
    try:
        result = minimize(
            *(lambda x: np.nan_to_num(program.cost(x)[0], nan=NOWHERE), z),
            jac=lambda x: np.nan_to_num(program.cost(x)[1]),
            bounds=Bounds(program.low, program.high),
            constraints=limits,
            method="SLSQP" if small else "trust-constr",
            options=options,
        )
    except StopIteration:
        return z, call.count, STOPPED
    settled = result.success or (small and result.status == NO_DESCENT and _stationary(program, result.x))
    return result.x, int(result.nit), "" if settled else str(result.message)
