"""Derivatives of the dynamics of trees: speed compared with Pinocchio.

Run: python -m benchmarks.derivative_speed. It prints a page.

Both libraries run in one process and one thread, in turn, on the same states of the same mechanism; the results are
compared first. Figures are processor time, the best of several repetitions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.tree_speed import MECHANISMS, REPETITIONS, Call, best, cell, chain, inner_calls
from chasles.model.system import System
from chasles.relative.algorithm import Algorithm
from chasles.relative.derivative import forward, inverse
from chasles.relative.mechanism import Mechanism
from chasles.validation.pinocchio_tree import PinocchioTree

COMMAND = "python -m benchmarks.derivative_speed"
NAMES = ("inverse dynamics", "forward dynamics")
BARS = {"loop": 1.5, "batch": 4.0}
BARRED = tuple(MECHANISMS)[:2]
AGREEMENT = 1e-9
LOOP_NUMBERS = 30_000  # in the results of the loop: Pinocchio fills the same matrices again and again
BATCH_NUMBERS = 12_000_000
BATCH = 10_000
SECOND = 256


class Pair:
    """A mechanism in both libraries, with states of it and room for results."""

    def __init__(self, mechanism: Mechanism, numbers: int):
        self.mechanism, self.peer = mechanism, PinocchioTree(mechanism)
        rng, n = np.random.default_rng(2), mechanism.nv
        self.count = max(4, min(BATCH, numbers // (3 * n * n)))
        self.q = mechanism.random(rng, (self.count,))
        self.v, self.x = rng.normal(size=(self.count, n)), rng.normal(size=(self.count, n))
        self.a = np.zeros((self.count, n))
        self.matrices = [np.zeros((self.count, n, n)) for _ in range(3)]

    def loop(self) -> dict[str, Call]:
        """The compiled loop in scalar arithmetic."""
        m = self.mechanism
        calls: dict[str, Call] = {}
        algorithms: tuple[tuple[Algorithm, tuple[np.ndarray, ...]], ...] = (
            (inverse.inverse_derivatives, tuple(self.matrices)),
            (forward.forward_derivatives, (m.tables.subtree_ends, self.a, *self.matrices)),
        )
        for name, (algorithm, more) in zip(NAMES, algorithms, strict=True):
            flat = [array.reshape(-1) for array in (self.q, self.v, self.x, np.empty(0), *more)]
            calls[name] = partial(
                algorithm.scalar, m.tree.topology, m.tree.numbers, self.count, *flat, algorithm.space(m.tables.sizes)
            )
        return calls

    def raw(self, one: bool = False) -> dict[str, Call]:
        """The unchecked tier, on all states or on one."""
        raw, k = self.mechanism.raw, 0 if one else slice(None)
        out = [matrix[k] for matrix in self.matrices]
        return {
            NAMES[0]: partial(raw.inverse_dynamics_derivatives, self.q[k], self.v[k], self.x[k], *out),
            NAMES[1]: partial(raw.forward_dynamics_derivatives, self.q[k], self.v[k], self.x[k], self.a[k], *out),
        }

    def checked(self, one: bool = False) -> dict[str, Call]:
        """The public functions, which check their arguments and return new arrays."""
        m, k = self.mechanism, 0 if one else slice(None)
        state = self.q[k], self.v[k], self.x[k]
        return {
            NAMES[0]: partial(m.derivatives.inverse_dynamics, *state),
            NAMES[1]: partial(m.derivatives.forward_dynamics, *state),
        }

    def theirs(self, k: int = 0) -> dict[str, Call]:
        """Pinocchio's functions of one state."""
        pin, peer = self.peer.pin, self.peer
        state = (peer.model, peer.data, peer.q(self.q[k]), peer.v(self.v[k]), peer.v(self.x[k]))
        return {
            NAMES[0]: partial(pin.computeRNEADerivatives, *state),
            NAMES[1]: partial(pin.computeABADerivatives, *state),
        }

    def deviations(self) -> dict[str, float]:
        """Largest deviation of the results of all ways of chasles, relative to the largest number of each matrix."""
        worst = dict.fromkeys(NAMES, 0.0)
        for name in NAMES:
            ways = [list(self.checked()[name]())]
            for call in (self.loop()[name], self.raw()[name]):
                call()
                ways.append([matrix.copy() for matrix in self.matrices])
            for k in range(0, self.count, max(1, self.count // 20)):
                for part, matrix in enumerate(self.theirs(k)[name]()):
                    expected = self.peer.back(self.peer.back(np.array(matrix)).T).T
                    for way in ways:
                        off = np.abs(way[part][k] - expected).max() / np.abs(expected).max()
                        worst[name] = max(worst[name], float(off))
            if not worst[name] <= AGREEMENT:
                raise RuntimeError(
                    f"{name}: derivatives of chasles and Pinocchio differ by {worst[name]:.1e}, relative"
                )
        return worst


def versus(pair: Pair, ours: dict[str, Call]) -> dict[str, tuple[float, float]]:
    """Time a state [s] of chasles, and of a call of Pinocchio."""
    result, theirs = {}, pair.theirs()
    for name in NAMES:
        calls = {"ours": ours[name], "theirs": theirs[name]}
        times = best(calls, {key: inner_calls(call) for key, call in calls.items()})
        result[name] = times["ours"] / pair.count, times["theirs"]
    return result


def second_derivatives(mechanism: Mechanism) -> list[float]:
    """Time [s] of the second derivatives and of ∂M/∂q: one state, and a state of a batch."""
    rng, n = np.random.default_rng(3), mechanism.nv
    q, (v, a) = mechanism.random(rng, (SECOND,)), rng.normal(size=(2, SECOND, n))
    calls: dict[str, Call] = {
        "one": partial(mechanism.derivatives.inverse_dynamics_second, q[0], v[0], a[0]),
        "batch": partial(mechanism.derivatives.inverse_dynamics_second, q, v, a),
        "mass, one": partial(mechanism.derivatives.mass_matrix, q[0]),
        "mass, batch": partial(mechanism.derivatives.mass_matrix, q),
    }
    times = best(calls, {key: inner_calls(call) for key, call in calls.items()}, repetitions=5)
    return [time / (SECOND if "batch" in key else 1) for key, time in times.items()]


def measure(makers: dict[str, Callable[[], System]]) -> tuple[dict[str, str], dict[str, Any]]:
    """Tables and ratios."""
    rows: dict[str, list[list[str]]] = {key: [] for key in ("loop", "batch", "calls", "agreement", "second")}
    ratios: dict[str, dict[str, list[float]]] = {}
    for title, maker in makers.items():
        mechanism = Mechanism(maker())
        small, large = Pair(mechanism, LOOP_NUMBERS), Pair(mechanism, BATCH_NUMBERS)
        off = small.deviations()
        rows["agreement"].append([title, *(f"{off[name]:.0e}" for name in NAMES)])
        loop, lanes = versus(small, small.loop()), versus(large, large.raw())
        rows["loop"].append([title, *(cell(*loop[name]) for name in NAMES)])
        rows["batch"].append([title, *(cell(*lanes[name]) for name in NAMES)])
        raw, checked, theirs = small.raw(one=True), small.checked(one=True), small.theirs()
        for name in NAMES:
            times = best({"raw": raw[name], "checked": checked[name], "theirs": theirs[name]}, inner_calls(raw[name]))
            numbers = [f"{time * 1e6:.2f}" for time in times.values()]
            rows["calls"].append([f"{title}: {name}", *numbers, f"**{times['theirs'] / times['raw']:.2f}**"])
        if mechanism.nv <= 36:
            rows["second"].append([title, *(f"{time * 1e6:.1f}" for time in second_derivatives(mechanism))])
        found = {"loop": loop, "batch": lanes}
        ratios[title] = {key: [value[name][1] / value[name][0] for name in NAMES] for key, value in found.items()}
        print(title, {key: [f"{x:.2f}" for x in value] for key, value in ratios[title].items()}, file=sys.stderr)
    header = ["ns a state, chasles / Pinocchio = ratio", *NAMES]
    tables = {key: page.table(header, rows[key]) for key in ("loop", "batch")}
    tables["calls"] = page.table(
        ["µs a call", "chasles, raw", "chasles, checked", "Pinocchio", "ratio, raw"], rows["calls"]
    )
    tables["agreement"] = page.table(["largest deviation, relative", *NAMES], rows["agreement"])
    tables["second"] = page.table(
        ["µs a state", "second derivatives, one", "in a batch", "∂M/∂q, one", "in a batch"], rows["second"]
    )
    return tables, ratios


def verdict(ratios: dict[str, Any]) -> str:
    """Each bar, and the least that was measured."""
    texts = {"loop": "In a compiled loop, one state at a time", "batch": "Batches on SIMD lanes"}
    lines = []
    for what, text in texts.items():
        parts = []
        for k, name in enumerate(NAMES):
            least = min(ratios[title][what][k] for title in BARRED)
            met = "met" if least >= BARS[what] else "**not met**"
            parts.append(f"{name} at least {least:.1f} (bar {BARS[what]:g}, {met})")
        lines.append(f"- {text}: {'; '.join(parts)}.")
    return "\n".join(lines)


def call_overhead() -> str:
    """Times [µs] of Pinocchio's calls with one joint: mostly the way from Python and back."""
    theirs = Pair(Mechanism(chain(1)), LOOP_NUMBERS).theirs()
    return " and ".join(f"{time * 1e6:.2f}" for time in best(theirs, 2000).values())


def main() -> None:
    tables, ratios = measure(MECHANISMS)
    page.show(
        "derivatives.md",
        command=COMMAND,
        machine=page.machine(),
        tools=page.versions("chasles", "numba", "numpy", "pin"),
        verdict=verdict(ratios),
        **tables,
        overhead=call_overhead(),
        limit=f"{AGREEMENT:.0e}",
        loop_numbers=LOOP_NUMBERS,
        batch_states=BATCH,
        batch_numbers=BATCH_NUMBERS,
        second_states=SECOND,
        repetitions=REPETITIONS,
        load=page.load(),
    )


if __name__ == "__main__":
    main()
