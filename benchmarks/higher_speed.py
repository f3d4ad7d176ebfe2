"""Higher derivatives: the cost of rates of inverse dynamics, of derivatives of twists and Jacobians.

Run: python -m benchmarks.higher_speed. It prints a page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import page
from benchmarks.representations import system
from chasles.relative import inverse, inverse_hybrid, jacobian, kinematics
from chasles.relative.algorithm import Algorithm, evaluate
from chasles.relative.higher import christoffel, inverse_rates, inverse_series, jacobian_partials, series
from chasles.relative.higher import jacobian_series as jacobians
from chasles.relative.mechanism import Mechanism

COMMAND = "python -m benchmarks.higher_speed"
REPETITIONS, STATES = 21, 400
KINDS = ("chain 7", "floating 30", "chain 100")
EMPTY = np.empty(0)


def prepared(tree: Mechanism, algorithm: Algorithm, lanes: bool, arrays: dict, sizes: dict) -> Callable[[], None]:
    """A call of a compiled loop over all states."""
    every = {**tree.tables.sizes, **sizes}
    rows = [
        arrays[name] if name in arrays else np.zeros(STATES * evaluate(argument.size, every))
        for name, argument in algorithm.arguments.items()
    ]
    loop = algorithm.lanes if lanes else algorithm.scalar
    return partial(loop, tree.tree.topology, tree.tree.numbers, STATES, *rows, algorithm.space(every, lanes))


def times(calls: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Nanoseconds a state of each."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(REPETITIONS):
        for name, call in calls.items():
            call()  # not timed: caches as the loop itself leaves them
            start = time.process_time()
            call()
            best[name] = min(best[name], (time.process_time() - start) / STATES * 1e9)
    return best


def row(kind: str, lanes: bool, measured: dict[str, float], base: str) -> list[str]:
    cells = (f"{value:.0f} ({value / measured[base]:.2f})" for value in measured.values())
    return [f"{kind}, {'lanes' if lanes else 'one state'}", *cells]


def state(kind: str) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """A mechanism, coordinates, and five derivatives of them (5, states, nv)."""
    tree, rng = Mechanism(system(kind)), np.random.default_rng(3)
    return tree, tree.random(rng, (STATES,)).ravel(), rng.normal(size=(5, STATES, tree.nv))


def in_row(rates: np.ndarray) -> np.ndarray:
    return np.concatenate(list(rates), axis=1).ravel()


def forces(kind: str, lanes: bool) -> dict[str, float]:
    tree, q, rates = state(kind)
    plain = {"q": q, "v": rates[0].ravel(), "a": rates[1].ravel(), "wrenches": EMPTY}
    calls = {
        "inverse dynamics": prepared(tree, inverse.inverse_dynamics, lanes, plain, {}),
        "the same, hybrid": prepared(tree, inverse_hybrid.inverse_dynamics_hybrid, lanes, plain, {}),
    }
    for name, algorithm in (("body", inverse_rates.inverse_rates), ("hybrid", inverse_series.inverse_series)):
        for results, what in ((2, "first"), (3, "first and second")):
            arrays = {"q": q, "rates": in_row(rates[: results + 1]), "wrenches": EMPTY}
            arrays["counts"] = np.array([results, 0])
            sizes = {"results": results, "orders": results + 1, "loads": 0}
            calls[f"{what}, {name}"] = prepared(tree, algorithm, lanes, arrays, sizes)
    return times(calls)


def twists(kind: str, lanes: bool) -> dict[str, float]:
    tree, q, rates = state(kind)
    links, offset = tree.tables.places("benchmark", None)
    where = np.concatenate([[0], links])
    plain = {"q": q, "v": rates[0].ravel(), "a": EMPTY, "where": where, "offset": offset}
    calls = {"twists": prepared(tree, kinematics.motion_of_frames, lanes, plain, {"places": len(links)})}
    for orders, name in ((2, "acceleration"), (3, "jerk"), (4, "snap"), (5, "crackle")):
        arrays = {"q": q, "rates": in_row(rates[:orders]), "offset": offset}
        arrays["where"] = np.concatenate([[0, orders], links])
        sizes = {"orders": orders, "places": len(links)}
        calls[f"up to {name}"] = prepared(tree, series.twist_series, lanes, arrays, sizes)
    return times(calls)


def columns(kind: str, lanes: bool) -> dict[str, float]:
    tree, q, rates = state(kind)
    (link,), offset = tree.tables.places("benchmark", [tree.bodies[-1]])
    where, nv = np.array([0, link]), tree.nv
    plain = {"q": q, "v": EMPTY, "where": where, "offset": offset}
    calls = {"J": prepared(tree, jacobian.jacobians, lanes, plain, {"columns": nv, "rates": 0})}
    for given, name in ((1, "J'"), (2, "J', J''"), (3, "J', J'', J'''")):
        arrays = {"q": q, "rates": in_row(rates[:given]), "where": np.array([0, given + 1, link]), "offset": offset}
        sizes = {"orders": given + 1, "given": given, "columns": nv}
        calls[name] = prepared(tree, jacobians.jacobian_series, lanes, arrays, sizes)
    way = tree.derivatives._way(link)
    arrays = {"q": q, "where": np.array([0, 1, link]), "way": np.array([len(way), *way, 0]), "offset": offset}
    calls["∂J/∂q"] = prepared(tree, jacobian_partials.jacobian_partials, lanes, arrays, {"size": 6 * nv**2})
    if len(tree.tables.quaternions) == 0:
        calls["Christoffel symbols"] = prepared(tree, christoffel.christoffel, lanes, {"q": q}, {})
    return times(calls)


def main() -> None:
    rows: dict[str, list[list[str]]] = {"forces": [], "twists": [], "jacobians": []}
    header: dict[str, list[str]] = {}
    own: dict[str, list[float]] = {"first": [], "second": []}
    for kind in KINDS:
        for lanes in (False, True):
            measured = forces(kind, lanes)
            header["forces"] = list(measured)
            rows["forces"].append(row(kind, lanes, measured, "inverse dynamics"))
            own["first"].append(measured["first, hybrid"] / measured["the same, hybrid"])
            own["second"].append(measured["first and second, hybrid"] / measured["the same, hybrid"])
            measured = twists(kind, lanes)
            header["twists"] = list(measured)
            rows["twists"].append(row(kind, lanes, measured, "twists"))
            if kind == "chain 7":
                measured = columns(kind, lanes)
                header["jacobians"] = list(measured)
                rows["jacobians"].append(row(kind, lanes, measured, "J"))
    page.show(
        "higher.md",
        command=COMMAND,
        machine=page.machine(),
        load=page.load(),
        tools=page.versions("chasles", "numba", "numpy"),
        states=STATES,
        repetitions=REPETITIONS,
        hybrid_first=f"{min(own['first']):.1f} to {max(own['first']):.1f} times",
        hybrid_second=f"{min(own['second']):.1f} to {max(own['second']):.1f} times",
        **{name: page.table(["", *header[name]], table) for name, table in rows.items()},
    )


if __name__ == "__main__":
    main()
