"""Data in other units than their columns say: seen where a fit does not explain them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chasles.fit.problem import FitProblem
from chasles.fit.sensor import Channel

# units that data may have by mistake, and how many of them are one of the model's
LENGTHS, ANGLES = {"mm": 1e3, "cm": 1e2, "in": 1 / 0.0254, "km": 1e-3}, {"deg": 180 / np.pi}
SHORT = {"us": 1e-6, "ms": 1e-3}  # units that times may have by mistake
PARTS = {"us": "millionth", "ms": "thousandth"}
ENDLESS, ENDLESS_TIME = 1e7, 1e5  # steps, and seconds with steps that adapt, that hardly any recording has
PART, LEAST = 1 / 3, 4  # of the data that is looked at, from its start, and values that this takes
CLEAR, NEAR, ALIKE = 8.0, 2.5, 0.7  # sizes that differ so much, or so little from a unit's, and correlations


def refuse_other_units(problem: FitProblem, *residuals: list[list[np.ndarray]]) -> None:
    """ValueError for a sensor whose values go with the model's, larger or smaller by the factor of a unit, for some of
    these residuals (of each trial and sensor)."""
    for found in residuals:
        for trial, parts in zip(problem.trials, found, strict=True):
            for channel, off in zip(trial.channels, parts, strict=True):
                told = _told(channel, off)
                if told is not None:
                    unit, ratio = told
                    raise ValueError(
                        f"fit: {trial.name}: {channel.name} looks like {unit}, and the model has {channel.unit}: the "
                        f"values go with the model's but are {ratio:.3g} times as large. Name the unit in the header, "
                        f"{channel.name} [{unit}], or convert the values"
                    )


def refuse_endless(problem: FitProblem, x: np.ndarray) -> None:
    """ValueError for data that would take so many steps that no simulation of it ends; it names the unit that its times
    seem to have."""
    for trial in problem.trials:
        step, lasts = trial.options.get("step"), trial.span[1] - trial.span[0]
        if (lasts / step if step else lasts) > (ENDLESS if step else ENDLESS_TIME):
            _refuse_sooner(problem, x, None)
            if step:
                raise ValueError(
                    f"fit: {trial.name} lasts {lasts:.3g} s, {lasts / step:.1g} steps of {step:g} s: are its times in "
                    "another unit? Name it, t [us], or give a longer step"
                )


def refuse_milliseconds(problem: FitProblem, x: np.ndarray, begun: list[list[np.ndarray]]) -> None:
    """ValueError for times in milliseconds: the data goes with a simulation that lasts a thousandth of its time, and
    not with that of the model, whose residuals are `begun`. Said before the fit, which would take a thousand times as
    long."""
    _refuse_sooner(problem, x, begun)


def _refuse_sooner(problem: FitProblem, x: np.ndarray, begun: list[list[np.ndarray]] | None) -> None:
    if any(trial.inputs or any(one.delay or one.delays for one in trial.channels) for trial in problem.trials):
        return
    for unit, share in SHORT.items():
        if begun is not None and unit != "ms":
            continue
        sooner = replace(problem, trials=[trial.sooner(share) for trial in problem.trials])
        try:
            found = sooner.residuals(x)
        except (ValueError, RuntimeError):  # there is nothing to compare with
            continue
        for trial, parts, others in zip(problem.trials, begun or found, found, strict=True):
            for channel, off, other in zip(trial.channels, parts, others, strict=True):
                now, then = _compared(channel, off), _compared(channel, other)
                if now is None or then is None or channel.measured.turns:
                    continue
                apart = begun is None or 2.0 * now[1] < ALIKE
                if then[1] > ALIKE and apart and abs(np.log(then[0])) < np.log(NEAR):
                    raise ValueError(
                        f"fit: {trial.name} lasts until {channel.t[-1]:g} s, but {channel.name} goes with a simulation "
                        f"of a {PARTS[unit]} of this time: are its times in {unit}? Name their column t [{unit}], or "
                        f"divide them by {1 / share:.0f}"
                    )


def _compared(channel: Channel, off: np.ndarray) -> tuple[float, float] | None:
    """How large the first values of a sensor are relative to the model's, and their correlation."""
    count = int(np.ceil(PART * len(off)))
    if count < LEAST:
        return None
    measured, shown = channel.values[:count], (off + channel.values)[:count]
    measured, shown = measured - measured.mean(axis=0), shown - shown.mean(axis=0)
    sizes = np.linalg.norm(measured), np.linalg.norm(shown)
    if not min(sizes) > 0.0 or not np.isfinite(max(sizes)):
        return None
    return float(sizes[0] / sizes[1]), float(np.sum(measured * shown) / (sizes[0] * sizes[1]))


def _told(channel: Channel, off: np.ndarray) -> tuple[str, float] | None:
    """The unit that the values of a sensor have, and how large they are relative to the model's."""
    base, _, rest = channel.unit.partition("/")
    known = LENGTHS if base == "m" else ANGLES if base == "rad" else {}
    compared = None if channel.measured.turns or not known else _compared(channel, off)
    if compared is None:
        return None
    ratio, alike = compared
    unit = min(known, key=lambda name: abs(np.log(ratio / known[name])))
    fits = abs(np.log(ratio / known[unit])) < np.log(NEAR) and abs(np.log(ratio)) > np.log(CLEAR) and alike > ALIKE
    return (unit + ("/" + rest if rest else ""), ratio) if fits else None
