"""What the figures of mueller2013 share: one method on two groups, the violation of a joint and the drift of the
energy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from chasles.display.style import BLUE, COLORS, GREEN, ORANGE
from chasles.gallery.boxes import FIGURE_STEP, Example, example
from chasles.reproduce.figure import Claim, Columns, Figure
from chasles.simulation.run import Run

SPACES = {"SE3": "SE(3)", "SO3xR3": "SO(3) × ℝ³"}
SCALE = 5.0  # a size read off a printed axis agrees within this factor
ROUNDING = 1e-13  # [m]: ten thousand steps of a mechanism of less than a meter
ALIKE = 3.0  # two sizes are similar within this factor
EVERY = 4  # steps between the points of a picture
Ends = Mapping[str, float]  # end of each picture [s], by space


@cache
def the(name: str) -> Example:
    return example(name)


@cache
def motion(name: str, space: str, end: float, step: float = FIGURE_STEP) -> Run:
    """As the paper integrates: (36) with the classical method, not stabilized."""
    return the(name).simulate(end, space=space, step=step, stabilization=None, progress=False)


def gaps(name: str, space: str, joint: str, end: float, step: float = FIGURE_STEP) -> np.ndarray:
    """Violation of a joint in space, (times, 3) [m]."""
    return the(name).gaps(motion(name, space, end, step), joint)


def energy_drift(name: str, space: str, end: float, step: float = FIGURE_STEP) -> np.ndarray:
    """Total energy less that at the start [J]."""
    balance = motion(name, space, end, step).energies.balance
    return balance - balance[0]


def largest(values: np.ndarray, until: float | None = None, step: float = FIGURE_STEP) -> float:
    """Largest size, over the whole run or up to a time."""
    return float(abs(values if until is None else values[: round(until / step) + 1]).max())


def printed(says: str, quantity: str, measured: float, size: float, note: str = "") -> Claim:
    """A size read off an axis of the paper."""
    return Claim(f"{says}: up to {size:.2g} in print", quantity, measured, size / SCALE, size * SCALE, note)


def similar(says: str, quantity: str, first: float, second: float, note: str = "") -> Claim:
    """Two sizes of about the same order."""
    return Claim(says, f"{quantity}, SO(3)×R³ over SE(3)", second / first, 1 / ALIKE, ALIKE, note)


def violation_figure(
    number: int, title: str, name: str, joint: str, ends: Ends, claims: Sequence[Claim], until: float | None = None
) -> Figure:
    """The components of a joint's violation on both groups; `until` marks where the motion is no longer known."""
    tables: dict[str, Columns] = {}
    for space, end in ends.items():
        run, found = motion(name, space, end), gaps(name, space, joint, end)
        tables[space] = {"t [s]": run.t[::EVERY]} | {
            f"violation_{k} [m]": found[::EVERY, i] for i, k in enumerate("xyz")
        }

    def draw(canvas: Any) -> None:
        for column, (space, table) in enumerate(tables.items()):
            axes = canvas.add_subplot(1, 2, column + 1)
            time, *components = table.values()
            for k, values, color in zip("xyz", components, (BLUE, ORANGE, GREEN), strict=True):
                axes.plot(time, values, color=color, linewidth=0.7, label=f"${k}$")
            _finish(axes, f"{'ab'[column]}) {SPACES[space]}", "violation [m]", float(time[-1]), until)
            axes.legend(ncols=3, loc="upper left")

    return Figure(number, title, tables, claims, draw, (10.0, 3.8))


def energy_figure(
    number: int, title: str, name: str, ends: Ends, claims: Sequence[Claim], until: float | None = None
) -> Figure:
    """The drift of the energy on both groups."""
    tables: dict[str, Columns] = {}
    for space, end in ends.items():
        run, found = motion(name, space, end), energy_drift(name, space, end)
        tables[space] = {"t [s]": run.t[::EVERY], "energy drift [J]": found[::EVERY]}

    def draw(canvas: Any) -> None:
        for column, (space, table) in enumerate(tables.items()):
            axes = canvas.add_subplot(1, 2, column + 1)
            time, drift = table.values()
            axes.plot(time, drift, color=COLORS[column], linewidth=0.7)
            _finish(axes, f"{'ab'[column]}) {SPACES[space]}", "energy drift [J]", float(time[-1]), until)

    return Figure(number, title, tables, claims, draw, (10.0, 3.8))


def _finish(axes: Any, title: str, label: str, end: float, until: float | None) -> None:
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.margins(y=0.16)
    axes.set(xlabel="$t$ [s]", ylabel=label, xlim=(0, end))
    axes.set_title(title)
    if until is not None:
        axes.axvspan(until, end, color="#e9ebef", zorder=0, linewidth=0)
        place: Any = {"xy": (until, 0.04), "xycoords": ("data", "axes fraction"), "xytext": (4, 0)}
        axes.annotate("chaotic: not comparable", textcoords="offset points", fontsize=7.5, color="#6b7078", **place)
