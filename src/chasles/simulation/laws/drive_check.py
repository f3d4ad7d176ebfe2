"""Whether a mechanism can follow its drives: expressions that jump and drives of joints with rigid limits are refused,
and laws whose rates are not their derivatives are named before anything is computed."""

from __future__ import annotations

import numpy as np

from chasles import caution
from chasles.model.constraint import Drive
from chasles.model.expression_law import Expression
from chasles.model.law import Law
from chasles.model.system import System

SAMPLES = 40  # times at which rates are compared with differences
NEAR = 1e-6  # of the span: half the distance of the values that are compared
GAP_SAMPLES = 401  # times at which drives are looked at for numbers that are not finite
OFF = 1e-3  # of the largest rate: more than differences are off where a law is smooth
EPS = float(np.finfo(float).eps)


class DriveWarning(UserWarning):
    """A drive whose rates are not the derivatives of what it writes."""


def check_drives(system: System, start: float, end: float) -> None:
    """Look at the drives of a system between two times."""
    for item in system.constraints:
        if isinstance(item, Drive):
            _refuse_rigid_limits(item, system)
        if isinstance(item, Drive) and isinstance(item.value, Expression):
            _refuse_gaps(item, item.value, min(start, end), max(start, end))
            _refuse_jumps(item, item.value, min(start, end), max(start, end))
        elif isinstance(item, Drive) and isinstance(item.value, Law):
            off, time = off_differences(item, start, end)
            if off > OFF:
                caution.warn(
                    f"drive {item.name!r}: at t = {time:g} s the rates that its law writes to out[1] and out[2] are "
                    f"off by {off:.2g} from the derivatives of out[0] and out[1]; no motion can follow. "
                    'Give an expression of time instead, such as "0.3 * sin(2 * t)", whose rates are taken from it',
                    DriveWarning,
                )


def _refuse_rigid_limits(item: Drive, system: System) -> None:
    joint = system.joint(item.joint, "simulate")
    if joint.restitution is None or not np.isfinite([joint.lower[item.coordinate], joint.upper[item.coordinate]]).any():
        return
    raise ValueError(
        f"drive {item.name!r}: joint {joint.name!r} has rigid limits (restitution), which cannot stop what is driven; "
        "leave out restitution, or move the joint by a force"
    )


def _refuse_gaps(item: Drive, law: Expression, start: float, end: float) -> None:
    """ValueError if the value of a drive, or one of its rates, is no number at some time."""
    times = np.unique(np.concatenate([np.linspace(start, end, GAP_SAMPLES), law.declared(np.array(law.program))]))
    times = times[(start <= times) & (times <= end)]
    bad = [not np.isfinite(law.at(t)).all() for t in times]
    if not any(bad):
        return
    first = int(np.argmax(bad))
    time = float(times[first])
    low = float(times[first - 1]) if first else time
    for _ in range(60 if first else 0):  # where it begins
        middle = 0.5 * (low + time)
        low, time = (middle, time) if np.isfinite(law.at(middle)).all() else (low, middle)
    value = law.at(time)
    what = "is no finite number" if not np.isfinite(value[0]) else "has no finite rate"
    raise ValueError(
        f"drive {item.name!r}: value {law.value!r} {what} at t = {time:.6g} s; "
        "look for a division by zero, or a root or logarithm of a negative number there"
    )


def _refuse_jumps(item: Drive, law: Expression, start: float, end: float) -> None:
    for time, change, rate in law.jumps(start, end):
        what = f"by {change:.3g}" if change else f"in its speed by {rate:.3g} a second"
        raise ValueError(
            f"drive {item.name!r}: value {law.value!r} jumps {what} at t = {time:g} s, and no mechanism can follow; "
            "take smooth, smooth7 or cycloid in place of step or ramp, and clamped in place of table"
        )


def off_differences(item: Drive, start: float, end: float) -> tuple[float, float]:
    """How far rates and accelerations of a law are off differences of what it writes, relative to the largest, and at
    which time; zero where the law is not smooth between the times that are compared."""
    law, p, nothing = item.value.function, np.array(item.parameters, dtype=float), np.zeros(14)

    def at(times: np.ndarray) -> np.ndarray:
        out = np.zeros((len(times), 3))
        for row, t in zip(out, times, strict=True):
            law(t, nothing, nothing, p, row)
        return out

    h = NEAR * (end - start)
    t = start + h + (end - start - 2 * h) * (np.arange(SAMPLES) + np.random.default_rng(0).random(SAMPLES)) / SAMPLES
    low, here, high = at(t - h), at(t), at(t + h)
    rate = (high[:, :2] - low[:, :2]) / (2 * h)
    bend = np.abs(high[:, :2] + low[:, :2] - 2 * here[:, :2])
    smooth = bend < 1e-3 * np.abs(high[:, :2] - low[:, :2]) + 1e-9 * np.abs(here[:, :2])
    size = np.maximum(np.abs(rate), np.abs(here[:, 1:])).max(axis=0)
    rounding = 1e2 * EPS * np.abs(here[:, :2]).max(axis=0) / abs(h)
    off = np.abs(rate - here[:, 1:]) * smooth
    off = np.where(off > rounding, off / np.maximum(size, np.finfo(float).tiny), 0.0).max(axis=1)
    return float(off.max()), float(t[np.argmax(off)])
