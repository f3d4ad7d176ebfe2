"""Data in other units than their columns say: seen where a fit does not explain them."""

from __future__ import annotations

import numpy as np

from chasles.fit.problem import FitProblem
from chasles.fit.sensor import Channel

# units that data may have by mistake, and how many of them are one of the model's
LENGTHS, ANGLES = {"mm": 1e3, "cm": 1e2, "in": 1 / 0.0254, "km": 1e-3}, {"deg": 180 / np.pi}
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


def _told(channel: Channel, off: np.ndarray) -> tuple[str, float] | None:
    """The unit that the values of a sensor have, and how large they are relative to the model's."""
    base, _, rest = channel.unit.partition("/")
    known = LENGTHS if base == "m" else ANGLES if base == "rad" else {}
    count = int(np.ceil(PART * len(off)))
    if channel.measured.turns or not known or count < LEAST:
        return None
    measured, shown = channel.values[:count], (off + channel.values)[:count]
    measured, shown = measured - measured.mean(axis=0), shown - shown.mean(axis=0)
    sizes = np.linalg.norm(measured), np.linalg.norm(shown)
    if not min(sizes) > 0.0 or not np.isfinite(max(sizes)):
        return None
    ratio, alike = float(sizes[0] / sizes[1]), float(np.sum(measured * shown) / (sizes[0] * sizes[1]))
    unit = min(known, key=lambda name: abs(np.log(ratio / known[name])))
    fits = abs(np.log(ratio / known[unit])) < np.log(NEAR) and abs(np.log(ratio)) > np.log(CLEAR) and alike > ALIKE
    return (unit + ("/" + rest if rest else ""), ratio) if fits else None
