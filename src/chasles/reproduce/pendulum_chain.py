"""Figures 8 to 11 of celledoni2022: constant and variable steps for chains of N pendulums, T = 3, tolerance 1e-6."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import chasles as ch
from chasles.display.style import BLUE, GREEN, INK, ORANGE
from chasles.gallery.pendulum import Pendulum
from chasles.reproduce import runs
from chasles.reproduce.figure import Claim, Figure

END, TOLERANCE, LONGEST = 3.0, 1e-6, 20
NUMBERS = tuple(range(2, LONGEST + 1, 2))
ODE45_TOLERANCES = (
    1e-6,
    1e-9,
)  # RelTol of the authors' public code; AbsTol is our choice, smaller than MATLAB's default
CONSTANT, VARIABLE, ODE45 = "RKMK5, constant steps", "RKMK(5,4), variable steps", "ODE45"
LOOKS = ((ORANGE, "-"), (BLUE, "--"), (INK, ":"))
PEAK = (2.1, 2.3)  # accepted for "t ≈ 2.2"


@dataclass(frozen=True)
class ChainRuns:
    """The two runs the paper compares, with the same number of steps, and two references."""

    chain: Pendulum
    variable: ch.results.Solution
    constant: ch.results.Solution
    truth: ch.results.Solution
    ode45: ch.results.Solution

    def error(self, solution: ch.results.Solution) -> float:
        """In the Euclidean norm of R^6N, at the end."""
        return float(np.linalg.norm(solution.y[-1] - self.truth.y[-1]))


@cache
def pair(number: int, length: float) -> ChainRuns:
    """The runs for N rods of a length [m]."""
    chain = Pendulum.uniform(number, length=length)
    problem, start = chain.problem(), chain.initial()
    options: dict[str, Any] = {"rtol": 0.0, "atol": TOLERANCE, "step_control": "paper", "progress": False}
    variable = ch.integrate.solve(problem, ch.integrate.RKMK("dopri5"), (0.0, END), start, **options)
    constant = runs.fixed(problem, ch.integrate.RKMK("dopri5"), END, start, variable.steps)
    truth = runs.reference(problem, END, start)
    return ChainRuns(
        chain, variable, constant, truth, runs.ode45(chain.problem_in_coordinates(), END, start, *ODE45_TOLERANCES)
    )


def _comparison(number: int, title: str, total: float | None, claims: Any) -> Figure:
    """Errors at the end for all N, and the steps for the longest chain; rods of 1 m, or of a total length."""
    pairs = [pair(n, 1.0 if total is None else total / n) for n in NUMBERS]
    table = {
        "N": np.array(NUMBERS),
        "steps": np.array([p.variable.steps for p in pairs]),
        "rejected": np.array([p.variable.rejections for p in pairs]),
        "error, variable steps": np.array([p.error(p.variable) for p in pairs]),
        "error, constant steps": np.array([p.error(p.constant) for p in pairs]),
        "error, ODE45 at RelTol 1e-6": np.array([p.error(p.ode45) for p in pairs]),
    }
    last = pairs[-1]
    steps = {"t [s]": last.variable.t[:-1], "h [s]": np.diff(last.variable.t)}

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        left.semilogy(NUMBERS, table["error, constant steps"], "s-", color=ORANGE, label=CONSTANT)
        left.semilogy(NUMBERS, table["error, variable steps"], "o-", color=BLUE, label=VARIABLE)
        left.semilogy(NUMBERS, table["error, ODE45 at RelTol 1e-6"], ":", color=GREEN, label="ODE45, RelTol $10^{-6}$")
        left.set(xlabel="number of pendulums $N$", ylabel=f"error at $t$ = {END:g} s", xticks=NUMBERS)
        left.legend()
        right.plot(*(x[:-1] for x in steps.values()), color=BLUE, label=VARIABLE)
        right.axhline(END / last.variable.steps, color=ORANGE, label=CONSTANT)
        right.set(xlabel="$t$ [s]", ylabel="step size $h$ [s]", xlim=(0, END), ylim=(0, None))
        right.set_title(f"$N$ = {LONGEST}")
        right.legend()

    return Figure(number, title, {"errors": table, "steps": steps}, claims(table), draw, (9.5, 4.0))


def figure_8() -> Figure:
    """Constant against variable steps, rods of 1 m."""

    def claims(table: dict[str, np.ndarray]) -> list[Claim]:
        variable, constant = table["error, variable steps"], table["error, constant steps"]
        gain = constant / variable
        counts = (
            f"{table['steps'][0]} steps, {table['rejected'][0]} rejected; errors {variable[0]:.1e}, {constant[0]:.1e}"
        )
        return [
            Claim("N = 2: variable steps beat constant ones", "ratio of errors", gain[0], low=2, note=f"{counts}."),
            Claim(
                "RKMK5 improves in accuracy as N increases",
                "error at N = 2 over error at N = 20",
                constant[0] / constant[-1],
                low=2,
                note=f"From N = 6 on it stays at {constant[2:].min():.1e} to {constant[2:].max():.1e}.",
            ),
            Claim(
                "More steps are needed as N increases",
                "steps for N = 20 over steps for N = 2",
                table["steps"][-1] / table["steps"][0],
                low=1.5,
            ),
            Claim("N = 20: adaptivity brings no relevant improvement", "ratio of errors", gain[-1], high=3),
            _reference_claim(table),
        ]

    return _comparison(8, "Chains of pendulums of 1 m: constant and variable steps", None, claims)


def _reference_claim(table: dict[str, np.ndarray]) -> Claim:
    ratio = (table["error, ODE45 at RelTol 1e-6"] / table["error, variable steps"]).max()
    note = (
        "The paper does not print the tolerance; the authors' public code has RelTol 1e-6. Errors are measured here "
        "against order 8 at 1e-13 instead."
    )
    return Claim(
        "Reference: ODE45 with strict tolerance",
        "error at RelTol 1e-6 over that of RKMK(5,4), worst N",
        ratio,
        high=0.1,
        note=note,
    )


def figure_10() -> Figure:
    """Constant against variable steps, chains of 5 m."""

    def claims(table: dict[str, np.ndarray]) -> list[Claim]:
        gain = table["error, constant steps"] / table["error, variable steps"]
        worse = [n for n, ratio in zip(NUMBERS, gain, strict=True) if ratio < 1]
        note = f"Constant steps are better for N = {', '.join(map(str, worse))} only." if worse else ""
        return [
            Claim("Adaptivity improves the results: N = 20", "ratio of errors", gain[-1], low=2),
            Claim("Adaptivity improves the results: all N", "ratio of errors, worst N", gain.min(), low=1, note=note),
        ]

    return _comparison(10, "Chains of 5 m: constant and variable steps", 5.0, claims)


def _dense(solution: ch.results.Solution, count: int = 1201) -> tuple[np.ndarray, np.ndarray]:
    times = np.linspace(0, END, count)
    return times, solution(times)


def _peak(times: np.ndarray, values: np.ndarray) -> float:
    return float(times[abs(values).argmax()])


def figure_9() -> Figure:
    """Components of the solution for N = 2."""
    two = pair(2, 1.0)
    solutions = {CONSTANT: two.constant, VARIABLE: two.variable, ODE45: two.ode45}
    names = [f"{s}{i}_{k}{u}" for i in (1, 2) for s, u in (("q", ""), ("w", " [rad/s]")) for k in "xyz"]
    tables = {
        key: {"t [s]": run.t, **dict(zip(names, run.y.T, strict=True))}
        for key, run in zip(("constant", "variable", "ode45"), solutions.values(), strict=True)
    }
    times, y = _dense(two.truth)
    note = "Measured on the reference, order 8 at 1e-13; rounded it is 2.3, not 2.2."
    claims = [
        Claim(f"Peak of the second component of ω_{i} at t ≈ 2.2", "t [s]", _peak(times, y[:, at]), *PEAK, note)
        for i, at in ((1, 4), (2, 10))
    ]

    def draw(canvas: Any) -> None:
        grid = canvas.subplots(6, 2, sharex=True)
        for column in range(12):
            axes = grid[column % 6, column // 6]
            for (name, run), (color, line) in zip(solutions.items(), LOOKS, strict=True):
                axes.plot(run.t, run.y[:, column], line, color=color, label=name, linewidth=1.1)
            kind, k = ("q", "\\omega")[column % 6 // 3], column % 3 + 1
            axes.set_ylabel(f"${kind}_{column // 6 + 1}^{{({k})}}$" + (" [rad/s]" if column % 6 > 2 else ""))
            low, high = axes.get_ylim()
            axes.set(xlim=(0, END), ylim=(min(low, -1.1), max(high, 1.1)))  # components that are zero look it
        for axes in grid[-1]:
            axes.set_xlabel("$t$ [s]")
        canvas.align_ylabels()
        canvas.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)

    return Figure(9, "Two pendulums: all components", tables, claims, draw, (9.0, 9.5))


def _middle(times: np.ndarray, values: np.ndarray) -> float:
    """Midway between the times of the largest and of the smallest value."""
    return float(times[values.argmax()] + times[values.argmin()]) / 2


def figure_11() -> Figure:
    """Steps, end and accelerations for N = 2."""
    two = pair(2, 1.0)
    solutions = {CONSTANT: two.constant, VARIABLE: two.variable, ODE45: two.ode45}
    lengths = {
        name: (run.t[:-2], np.diff(run.t)[:-1]) for name, run in solutions.items()
    }  # the last is cut to end at T
    times, truth = _dense(two.truth)
    turning = np.array([_accelerations(two.chain, y) for y in truth])
    late = times >= 2.1
    zoom, columns = times[late], [4, 10]
    ends = {name: run(zoom)[:, columns] for name, run in solutions.items()}
    errors = {name: abs(values - truth[late][:, columns]).max(axis=1) for name, values in ends.items()}
    tables = {
        "steps_variable": dict(zip(("t [s]", "h [s]"), lengths[VARIABLE], strict=True)),
        "steps_ode45": dict(zip(("t [s]", "h [s]"), lengths[ODE45], strict=True)),
        "end": {"t [s]": zoom}
        | {f"w{i + 1}_y [rad/s], {name}": values[:, i] for name, values in ends.items() for i in (0, 1)},
        "accelerations": {"t [s]": times} | {f"w{i + 1}_y' [rad/s^2]": turning[:, i] for i in (0, 1)},
    }
    at, h = lengths[VARIABLE]
    ratio = errors[CONSTANT].max() / errors[VARIABLE].max()
    small = f"Errors up to {errors[CONSTANT].max():.1e} rad/s against {errors[VARIABLE].max():.1e}: not seen by eye."
    claims = [
        Claim("The step is restricted at t ≈ 2.2", "t of the shortest step [s]", float(at[h.argmin()]), *PEAK),
        Claim("It is considerably restricted there", "median step over the shortest", np.median(h) / h.min(), low=2),
        Claim(
            "On [2.1, 3] variable steps reproduce the reference better",
            "largest error of ω^(2), constant over variable",
            ratio,
            low=2,
            note=small,
        ),
        *(
            Claim(
                f"ω_{i + 1}' changes abruptly at t ≈ 2.2",
                f"t midway between the extremes of ω_{i + 1}'^(2) [s]",
                _middle(times, turning[:, i]),
                *PEAK,
            )
            for i in (0, 1)
        ),
    ]

    def draw(canvas: Any) -> None:
        (first, second), (third, fourth) = canvas.subplots(2, 2)
        for (name, (when, step)), (color, line) in zip(lengths.items(), LOOKS, strict=True):
            first.semilogy(when, step, line, color=color, label=name)
        for (name, values), (color, line) in zip(ends.items(), LOOKS, strict=True):
            second.plot(zoom, values, line, color=color, label=[name, None])
            fourth.semilogy(zoom, errors[name], color=color, linewidth=0.9)
        for i, color in enumerate((BLUE, ORANGE)):
            third.plot(times, turning[:, i], color=color, label=rf"$\dot\omega_{i + 1}^{{(2)}}$")
        first.set(ylabel="step size $h$ [s]", xlim=(0, END), ylim=(2e-3, 1e-1))
        second.set(ylabel=r"$\omega_1^{(2)}$, $\omega_2^{(2)}$ [rad/s]", xlim=(2.1, END))
        third.set(ylabel="angular acceleration [rad/s²]", xlim=(0, END))
        fourth.set(ylabel=r"error of $\omega_i^{(2)}$ [rad/s]", xlim=(2.1, END))
        for axes in (first, second, third, fourth):
            axes.set(xlabel="$t$ [s]")
        for axes in (first, second, third):
            axes.legend()

    return Figure(11, "Two pendulums: steps, end and accelerations", tables, claims, draw, (10.0, 7.0))


def _accelerations(chain: Pendulum, y: np.ndarray) -> tuple[float, float]:
    """Second components of ω_1' and ω_2' [rad/s²]."""
    problem, out = chain.problem_in_coordinates(), np.empty(12)
    problem.field(0.0, y, np.array(problem.parameters), out)
    return out[4], out[10]
