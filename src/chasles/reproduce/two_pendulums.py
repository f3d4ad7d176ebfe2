"""Figures 5 to 7 of celledoni2022: orders, and what stays on (TS²)², for two pendulums.

The paper prints neither the initial state nor the step of these figures. The state it prints for figure 8 moves in a
plane, where q·ω vanishes whatever the method; so here the pendulums start with velocities out of the plane.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import chasles as ch
from chasles.display.style import COLORS, on_log_scale, order_plot
from chasles.gallery.pendulum import Pendulum
from chasles.reproduce import runs
from chasles.reproduce.figure import Claim, Figure

SPATIAL = (0.5, 1.0, -0.5)  # ω of both rods at the start [rad/s]
METHODS = {
    "Lie-Euler": (ch.integrate.CommutatorFree("lie_euler"), 1),
    "Lie-Euler-Heun": (ch.integrate.RKMK("heun", dexpinv=0), 2),
    "RKMK3": (ch.integrate.RKMK("kutta3"), 3),
    "RKMK4": (ch.integrate.RKMK("rk4"), 4),
    "RKMK4, dexpinv to ad²": (ch.integrate.RKMK("rk4", dexpinv=2), 4),
    "RKMK4, 2 commutators": (ch.integrate.RKMK("rk4", "minimal"), 4),
}
COUNTS = tuple(2**k for k in range(5, 12))
END, STEPS = 5.0, 500
ON_SPACE = {
    "RKMK4": ch.integrate.RKMK("rk4"),
    "RKMK5": ch.integrate.RKMK("dopri5"),
    "CF4": ch.integrate.CommutatorFree("cf4"),
}
RK4, ODE45 = "Runge-Kutta 4", "ODE45"
ODE45_TOLERANCES = (1e-3, 1e-6)  # MATLAB's default


def figure_5() -> Figure:
    """Convergence of the Lie group methods."""
    chain, end = Pendulum(velocities=SPATIAL), 1.0
    problem, start = chain.problem(), chain.initial()
    truth = runs.reference(problem, end, start, save="final").y[-1]
    steps = end / np.array(COUNTS)
    errors = {
        name: runs.errors_at_end(problem, method, end, start, truth, COUNTS) for name, (method, _) in METHODS.items()
    }
    claims = []
    for name, (_, order) in METHODS.items():
        found = runs.observed_order(steps[:-1], errors[name][:-1])  # the last errors of order 4 are next to rounding
        says = f"{name} shows the right convergence rate, {order}"
        claims.append(Claim(says, f"order, at h = {steps[-2]:.1e} s", found, order - 0.1, order + 0.1))

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        order_plot(axes, steps, errors, {1: "Lie-Euler", 2: "Lie-Euler-Heun", 3: "RKMK3", 4: "RKMK4"})
        axes.set(ylabel="error at $t$ = 1 s, in $\\mathbb{R}^{12}$")
        axes.set_title(f"Two pendulums, $q_i(0)=(\\sqrt{{1/2}},0,\\sqrt{{1/2}})$, $\\omega_i(0)={SPATIAL}$ rad/s")

    return Figure(5, "Two pendulums: orders", {"errors": {"h [s]": steps} | errors}, claims, draw, (6.5, 5.0))


@cache
def _defects() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Times, 1 - q_i·q_i and q_i·ω_i of both pendulums, for each method."""
    chain = Pendulum(velocities=SPATIAL)
    start, flat = chain.initial(), chain.problem_in_coordinates()
    found = {name: runs.fixed(chain.problem(), method, END, start, STEPS) for name, method in ON_SPACE.items()}
    found[RK4] = runs.fixed(flat, ch.integrate.RKMK("rk4"), END, start, STEPS)
    found[ODE45] = runs.ode45(flat, END, start, *ODE45_TOLERANCES)
    result = {}
    for name, run in found.items():
        q, w = np.moveaxis(run.y.reshape(-1, 2, 2, 3), 2, 0)
        result[name] = run.t, 1 - (q * q).sum(axis=-1), (q * w).sum(axis=-1)
    return result


def _largest(which: int, names: tuple[str, ...]) -> float:
    return max(float(abs(_defects()[name][which]).max()) for name in names)


def _defect_figure(number: int, which: int, symbol: str, column: str, title: str, claims: list[Claim]) -> Figure:
    runs_ = _defects()
    tables = {
        name.lower().replace(" ", "_"): {
            "t [s]": run[0],
            **{f"{column}, i = {i + 1}": run[which][:, i] for i in (0, 1)},
        }
        for name, run in runs_.items()
    }

    def draw(canvas: Any) -> None:
        for i, axes in enumerate(canvas.subplots(1, 2, sharey=True)):
            for (name, run), color in zip(runs_.items(), COLORS, strict=False):
                axes.semilogy(run[0], on_log_scale(run[which][:, i]), color=color, label=name, linewidth=0.9)
            axes.set(xlabel="$t$ [s]", xlim=(0, END))
            axes.set_title(symbol.replace("i", str(i + 1)))
        axes.legend(loc="center right")

    return Figure(number, title, tables, claims, draw, (9.0, 4.0))


SETTING = f"Own initial state, h = {END / STEPS:g} s; ODE45 stands for its pair in coordinates at MATLAB's defaults."


def figure_6() -> Figure:
    """Whether |q_i| stays 1."""
    lie, rk4, ode45 = _largest(1, tuple(ON_SPACE)), _largest(1, (RK4,)), _largest(1, (ODE45,))
    quantity = "largest |1 - q·q|"
    claims = [
        Claim("Lie group methods preserve the norm of q_1 and q_2", quantity, lie, high=1e-13, note=SETTING),
        Claim("Runge-Kutta 4 does not", quantity, rk4, low=100 * lie, note=SETTING),
        Claim("ODE45 does not", quantity, ode45, low=100 * lie, note=SETTING),
    ]
    return _defect_figure(6, 1, "$|1-q_i^Tq_i|$", "1 - q.q", "Two pendulums: lengths", claims)


def figure_7() -> Figure:
    """Whether ω_i stays tangent."""
    lie, rk4, ode45 = _largest(2, tuple(ON_SPACE)), _largest(2, (RK4,)), _largest(2, (ODE45,))
    quantity = "largest |q·ω| [rad/s]"
    planar = Pendulum()
    flat = runs.fixed(planar.problem_in_coordinates(), ch.integrate.RKMK("rk4"), END, planar.initial(), STEPS)
    q, w = np.moveaxis(flat.y.reshape(-1, 2, 2, 3), 2, 0)
    claims = [
        Claim("Inner products of Lie group methods are of the order of 1e-14 and 1e-15", quantity, lie, 1e-15, 5e-14),
        Claim("Those of Runge-Kutta 4 are not that small", quantity, rk4, low=100 * lie, note=SETTING),
        Claim("Those of ODE45 are not that small", quantity, ode45, low=100 * lie, note=SETTING),
        Claim(
            "Those of Runge-Kutta 4, if it starts as printed for figure 8",
            quantity,
            float(abs((q * w).sum(axis=-1)).max()),
            low=100 * lie,
            note="That motion is planar: q in a plane and ω across it are orthogonal whatever the method, so figure 7 "
            "must have started otherwise.",
        ),
    ]
    return _defect_figure(7, 2, "$|q_i^T\\omega_i|$ [rad/s]", "q.w [rad/s]", "Two pendulums: tangency", claims)
