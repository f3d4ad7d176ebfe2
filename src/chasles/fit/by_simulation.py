"""`to_data`: unknown numbers of a model from measured data, by simulation and least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chasles.fit.data_fit import DataFit
from chasles.fit.patience import SECONDS, Patience
from chasles.fit.problem import Experiment, problem_of
from chasles.fit.sensor import Sensor
from chasles.fit.solve import solved
from chasles.fit.trial import STEPPING
from chasles.io.model_file import Study
from chasles.model.suggestion import meant
from chasles.model.system import System

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")


def to_data(
    model: str | Path | Study | System | Callable[..., System | Study],
    data: Any,
    unknown: Mapping[str, Any] | Sequence[str],
    *,
    sensors: Mapping[str, Sensor] | Sequence[Sensor] = (),
    loss: str = "linear",
    laws: Mapping[str, Any] | None = None,
    max_iterations: int = 50,
    starts: int = 4,
    max_seconds: float = SECONDS,
    progress: bool | None = None,
    **options: Any,
) -> DataFit:
    """Estimate unknown parameters of a model so that its simulations fit measured data.

    model: a model file, what `load` returns, a System, or a function of parameters that returns a System (or a Study,
    with its start). data: a CSV file, arrays by name with a "t", an `Experiment`, or a list of these. Columns are
    called as what they measure, "joints.elbow [deg]", "bodies.hand.position.x [mm]", or `sensors` says what they are,
    by name or in a list.

    unknown: names, or names with what is known of them: a range "0.1:2", a prior "normal(1, 0.1)", both, or None. A
    name is a parameter of the model file or function, a path such as "joints.elbow.damping", "bodies.arm" for the whole
    inertia of a body (which stays physical), or "initial.q.elbow", "initial.v", ... for the start.

    starts: how many further ways are tried while the residual is far above the scatter of the data, which is a sign of
    a local minimum: on each more and more of the data is fitted, first from the given values, then from others within
    the ranges. 1: none.

    max_seconds: after this time, and at Ctrl-C, the best values so far are returned, with success=False and a message.
    progress: whether a line tells how far the fit is; by default only on a terminal.

    loss: "linear" (least squares), or one that bears outliers: "soft_l1", "huber", "cauchy", "arctan". options: of
    `simulate`, in place of those of the model; the method must be explicit.
    """
    if loss not in LOSSES:
        raise ValueError(f"fit: loss is {loss!r}; {meant(loss, LOSSES)}expected one of {', '.join(LOSSES)}")
    for name in options:
        if name not in (*STEPPING, "span", "control"):
            known = (*STEPPING, "span", "control")
            raise ValueError(f"fit: there is no option {name!r}; {meant(name, known)}expected {', '.join(known)}")
    for name, count in (("starts", starts), ("max_iterations", max_iterations)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"fit: {name} is {count!r}; expected a whole number, 1 or more")
    span = options.get("span", (0.0, 1.0))
    if not isinstance(span, list | tuple) or len(span) != 2 or not span[0] < span[1]:
        raise ValueError(f"fit: span is {span!r}; expected (start, end)")
    names = (
        unknown if isinstance(unknown, Mapping) else dict.fromkeys([unknown] if isinstance(unknown, str) else unknown)
    )
    many = list(data) if isinstance(data, list | tuple) else [data]
    given = [one if isinstance(one, Experiment) else Experiment(one) for one in many]
    if not given:
        raise ValueError("fit: there is no data")
    if isinstance(max_seconds, bool) or not isinstance(max_seconds, int | float) or not max_seconds > 0:
        raise ValueError(f"fit: max_seconds is {max_seconds!r}; expected a positive number of seconds")
    problem = problem_of(model, given, names, _by_name(sensors), laws, options)
    problem = replace(problem, patience=Patience(max_seconds, progress))
    with problem.patience:
        return solved(problem, loss, max_iterations, model, starts)


def _by_name(sensors: Any) -> dict[str, Sensor]:
    """Sensors by name; those of a list by what they measure."""
    pairs = (
        list(sensors.items()) if isinstance(sensors, Mapping) else [(getattr(one, "of", one), one) for one in sensors]
    )
    for name, one in pairs:
        if not isinstance(one, Sensor) or not name:
            raise TypeError(
                f'fit: sensors has {one!r}; expected {{"name": Sensor(...)}}, or a list of sensors that say what they '
                'measure: [Sensor("joints.elbow", delay="0:50 ms")]'
            )
    return dict(pairs)
