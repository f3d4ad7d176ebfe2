"""Figures 13 to 18 of celledoni2022: two quadrotors carry a load along a parabola.

The paper prints neither data nor control law; both are those of its reference [50] and of the authors' public code.
Heights are -y·e3: the formulas are for e3 pointing down, though the text says up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import chasles as ch
from chasles.display.style import BLUE, INK, ORANGE, RED, on_log_scale, order_plot
from chasles.gallery.quadrotors import Quadrotors
from chasles.reproduce import runs
from chasles.reproduce.figure import Claim, Figure

METHODS = {f"RKMK{k + 1}": ch.integrate.RKMK(name) for k, name in enumerate(("euler", "heun", "kutta3", "rk4"))}
COUNTS = tuple(2**k for k in range(5, 12))
END, STEPS = 5.0, 1999
SNAPSHOTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)  # [s]
LABELED = (0.0, 1.0, 2.5, 4.0, 5.0)
ANGLES = np.linspace(0, 2 * np.pi, 25)
RING = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0 * ANGLES], axis=1)  # a quadrotor, drawn
SOURCE = "Data and control of the paper's reference [50], without moments of the rotors."


def figure_13() -> Figure:
    """Convergence of four Munthe-Kaas methods."""
    system, end = Quadrotors(), 1.0
    problem, start = system.problem(), system.initial()
    truth = runs.reference(problem, end, start, save="final").y[-1]
    steps = end / np.array(COUNTS)
    errors = {name: runs.errors_at_end(problem, method, end, start, truth, COUNTS) for name, method in METHODS.items()}
    note = "The paper names neither the four methods nor the time; here orders 1 to 4 at t = 1 s."
    claims = []
    for name, method in METHODS.items():
        found, order = runs.observed_order(steps, errors[name]), method.order
        quantity = f"order, at h = {steps[-1]:.1e} s"
        claims.append(Claim(f"{name} converges at its rate, {order}", quantity, found, order - 0.1, order + 0.1, note))

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        order_plot(axes, steps, errors, {k + 1: name for k, name in enumerate(METHODS)})
        axes.set(ylabel="error at $t$ = 1 s, in $\\mathbb{R}^{32}$")

    return Figure(13, "Quadrotors: orders", {"errors": {"h [s]": steps} | errors}, claims, draw, (6.5, 4.6))


@cache
def _flight() -> tuple[Quadrotors, np.ndarray, np.ndarray]:
    """The system, times and points of a run with RKMK4."""
    system = Quadrotors()
    found = runs.fixed(system.problem(), ch.integrate.RKMK("rk4"), END, system.initial(), STEPS)
    return system, found.t, found.y


def figure_14() -> Figure:
    """Snapshots of the flight."""
    system, t, y = _flight()
    load, rotors, links = y[:, :3], system.rotor_positions(y), system.links(y)
    shown = [int(abs(t - when).argmin()) for when in SNAPSHOTS]
    angle = np.degrees(np.arccos((links[:, 0] * links[:, 1]).sum(axis=-1)))
    table = {
        "t [s]": t[shown],
        **{f"load_{k} [m]": load[shown, i] for i, k in enumerate("xyz")},
        **{f"rotor{r + 1}_{k} [m]": rotors[shown, r, i] for r in (0, 1) for i, k in enumerate("xyz")},
        "angle between the links [deg]": angle[shown],
    }
    says = "The quadrotors maintain a prescribed formation"
    note = f"Wanted: 60 degrees; at the start {angle[0]:.0f}. {SOURCE}"
    claims = [Claim(says, "angle between the links at t = 5 s [deg]", float(angle[-1]), 59.9, 60.1, note)]

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot(projection="3d")
        path, up = system.desired(t), np.array([1, 1, -1])
        axes.plot(*(path * up).T, "--", color=RED, linewidth=1, label="desired path of the load")
        axes.plot(*(load * up).T, color=BLUE, linewidth=1, label="path of the load")
        for k in shown:
            axes.plot(*(np.stack([rotors[k, 0], load[k], rotors[k, 1]]) * up).T, color=INK, linewidth=1)
            axes.plot(*(load[k] * up), "o", color=BLUE, markersize=4)
            for rotor in rotors[k]:
                around = rotor * up + 0.15 * RING
                axes.plot(*around.T, color=ORANGE, linewidth=1.5)
            if round(t[k], 1) in LABELED:
                aside = np.interp(load[k, 0], (-1, 1), (0.2, -0.55))  # inside of the arch
                axes.text(*(load[k] * up + [aside, 0, -0.4]), f"{t[k]:.2g} s", fontsize=8)
        axes.set(xlabel="$x$ [m]", ylabel="$y$ [m]", zlabel="height [m]", ylim=(-1, 1), yticks=(-1, 0, 1))
        axes.set_box_aspect(np.ptp([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()], axis=1), zoom=1.1)
        axes.view_init(elev=18, azim=-65)
        axes.legend(loc="upper left")

    return Figure(14, "Quadrotors: snapshots", {"snapshots": table}, claims, draw, (6.0, 7.5))


def figure_15() -> Figure:
    """Load and desired position."""
    system, t, y = _flight()
    path = system.desired(t)
    names = {"load": y[:, :3], "desired": path}
    table = {"t [s]": t} | {f"{n}_{k} [m]": v[:, i] for n, v in names.items() for i, k in enumerate("xyz")}
    late = float(abs(y[:, :3] - path)[t >= 3].max())
    falling = Quadrotors(controlled=False)
    fall = np.empty(falling.problem().space.dimension)
    falling.problem().field(0.0, falling.initial(), np.array(falling.problem().parameters), fall)
    claims = [
        Claim(
            "The load follows the desired trajectory", "largest deviation for t ≥ 3 s [m]", late, high=0.01, note=SOURCE
        ),
        Claim(
            "The third axis is opposite to gravity",
            "acceleration along it without thrust [m/s²]",
            float(fall[5]),
            -9.82,
            -9.8,
            note="(37) as printed, and the potential energy, are for a third axis along gravity, downwards.",
        ),
    ]

    def draw(canvas: Any) -> None:
        rows = canvas.subplots(3, 1, sharex=True)
        for i, axes in enumerate(rows):
            axes.plot(t, y[:, i], color=BLUE, label="load")
            axes.plot(t, path[:, i], "--", color=RED, label="desired")
            axes.set(ylabel=f"$y^{{({i + 1})}}$ [m]", xlim=(0, END))
        rows[1].set_ylim(-1, 1)
        rows[2].invert_yaxis()
        rows[2].set_ylabel("$y^{(3)}$ [m], down")
        rows[0].legend()
        rows[2].set_xlabel("$t$ [s]")
        canvas.align_ylabels()

    return Figure(15, "Quadrotors: position of the load", {"positions": table}, claims, draw, (6.5, 6.0))


def figure_16() -> Figure:
    """Deviation of the load."""
    system, t, y = _flight()
    error = system.load_error(t, y)
    says = "The load asymptotically follows the desired trajectory"
    rate = -float(np.polyfit(t[t >= 2], np.log(error[t >= 2]), 1)[0])
    claims = [
        Claim(
            says, "deviation at t = 5 s [m]", float(error[-1]), high=1e-3, note=f"{error.max():.2f} m at its largest."
        ),
        Claim(says, "rate of exponential decay for t ≥ 2 s [1/s]", rate, low=1.0),
    ]

    def draw(canvas: Any) -> None:
        for axes, draw_on in zip(canvas.subplots(1, 2), ("plot", "semilogy"), strict=True):
            getattr(axes, draw_on)(t, error, color=BLUE)
            axes.set(xlabel="$t$ [s]", ylabel=r"$|y-y_d|$ [m]", xlim=(0, END))

    return Figure(
        16,
        "Quadrotors: deviation of the load",
        {"deviation": {"t [s]": t, "|y - y_d| [m]": error}},
        claims,
        draw,
        (8.5, 3.6),
    )


def figure_17() -> Figure:
    """Direction errors of the links."""
    system, t, y = _flight()
    error = np.linalg.norm(np.cross(system.desired_directions(t, y), system.links(y)), axis=-1)
    claims = [
        Claim(f"q_{i + 1} converges to its desired direction", "|q_d × q| at t = 5 s", float(error[-1, i]), high=1e-4)
        for i in (0, 1)
    ]

    def draw(canvas: Any) -> None:
        for axes, draw_on in zip(canvas.subplots(1, 2), ("plot", "semilogy"), strict=True):
            for i, color in enumerate((BLUE, ORANGE)):
                getattr(axes, draw_on)(t, error[:, i], color=color, label=f"link {i + 1}")
            axes.set(xlabel="$t$ [s]", ylabel=r"$|q_{id}\times q_i|$", xlim=(0, END))
            axes.legend()

    table = {"t [s]": t, "|q_1d x q_1|": error[:, 0], "|q_2d x q_2|": error[:, 1]}
    return Figure(17, "Quadrotors: direction errors of the links", {"errors": table}, claims, draw, (8.5, 3.6))


def figure_18() -> Figure:
    """Norms of the links' directions."""
    system, t, y = _flight()
    defect = 1 - np.linalg.norm(system.links(y), axis=-1)
    claims = [
        Claim(f"The norm of q_{i + 1} is preserved", "largest |1 - |q||", float(abs(defect[:, i]).max()), high=1e-13)
        for i in (0, 1)
    ]

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for i, color in enumerate((BLUE, ORANGE)):
            axes.semilogy(t, on_log_scale(defect[:, i]), color=color, label=f"$q_{i + 1}$", linewidth=0.9)
        axes.set(xlabel="$t$ [s]", ylabel=r"$|1-|q_i||$", xlim=(0, END), ylim=(5e-17, 1e-12))
        axes.legend()

    table = {"t [s]": t, "1 - |q_1|": defect[:, 0], "1 - |q_2|": defect[:, 1]}
    return Figure(18, "Quadrotors: norms of the links' directions", {"defects": table}, claims, draw)
