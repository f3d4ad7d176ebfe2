"""Work and precision of runs against one that counts as exact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display import style
from chasles.study.compare import pose_error
from chasles.view.method_text import described
from chasles.view.plot import labeled_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGAINST = {"evaluations": "evaluations", "steps": "steps", "seconds": "time [s]"}
SAME = 1e-9  # ends of runs that count as equal, relative to the span


def work_precision(
    runs: Any,
    reference: Any = None,
    *,
    against: str = "evaluations",
    file: str | Path | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Error at the end (of a position [m] or rotation [rad] of a body, the largest) against the work of runs.

    Runs of the same method are joined by a line. reference: the run that counts as exact; by default the one with most
    evaluations, which is then not drawn. against: "evaluations", "steps" or "seconds". size [inches].
    """
    if against not in AGAINST:
        raise ValueError(f"work_precision: against {against!r}; expected {', '.join(AGAINST)}")
    labeled = labeled_runs(runs)
    exact = reference
    if exact is None:
        label = max(labeled, key=lambda one: labeled[one].solution.evaluations)
        exact = labeled.pop(label)
    groups: dict[str, list[tuple[float, float]]] = {}
    for label, run in labeled.items():
        groups.setdefault(method_of(run), []).append((getattr(run.solution, against), error_of(label, run, exact)))
    if not groups:
        raise ValueError("work_precision: one run alone has nothing to be compared with")
    with style.drawing():
        figure = style.picture(*style.inches(size, (5.2, 4.0)))
        axes = figure.add_subplot()
        for k, (name, points) in enumerate(groups.items()):
            work, error = np.array(sorted(points)).T
            style.work_line(axes, work, error, k, label=style.plain(name))
        axes.legend(title=f"against {style.plain(described(exact))}")
        axes.set(xlabel=AGAINST[against], ylabel="error at the end [m, rad]")
        system = style.plain(exact.mechanism.system.name or "run")
        axes.set_title(f"{system}, $t = {exact.t[-1]:.4g}$ s", loc="left")
    if file is not None:
        style.write(figure, file)
    return figure


def method_of(run: Any) -> str:
    """What runs of one line share: method and space, not the step."""
    return ", ".join(word for word in described(run).split(", ") if not word.startswith(("h =", "rtol =")))


def error_of(label: str, run: Any, exact: Any) -> float:
    """Largest error of a position or rotation at the end."""
    if list(run.mechanism.bodies) != list(exact.mechanism.bodies):
        raise ValueError(f"work_precision: {label!r} is another system than the reference")
    if not (len(run) and len(exact)):
        raise ValueError(f"work_precision: {label!r} or the reference has no point")
    span = abs(float(exact.t[-1] - exact.t[0])) or 1.0
    if abs(float(run.t[-1] - exact.t[-1])) > SAME * span:
        raise ValueError(
            f"work_precision: {label!r} ends at t = {run.t[-1]:g} s, not as the reference at {exact.t[-1]:g} s"
        )
    return pose_error(*(one.part(slice(len(one) - 1, len(one))).poses[0] for one in (run, exact)))
