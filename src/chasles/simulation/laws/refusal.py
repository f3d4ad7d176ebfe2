"""Which law gave no number on the way, and when: what is said of a run that broke off there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.cam import LAW as CAM
from chasles.simulation.laws.samples import CalledLaw, called_laws

NEAREST, POINTS = 1e-14, 80  # how near to the last point one looks first, of the stretch ahead, and how often
HALVINGS = 60  # of the time between a number and none
POLE = 1e9  # a law that is so many times larger than a little later has no bound here


def law_without_number(task: Any, t: float, y: np.ndarray) -> str:
    """What to say if a law is not finite at a state, or just after it, or has a pole there: its name, that of its
    force, and the time; else nothing. Ahead, its arguments go on as they change at the state."""
    start, end = task.span
    ahead = task.more["step"] or 0.01 * abs(end - start)
    ways = np.copysign(ahead, end - start) * np.concatenate([[0.0], np.geomspace(NEAREST, 1.0, POINTS)])
    for called in called_laws(task.dynamics, np.array([t]), np.asarray(y)[None]):
        values = _values(called, t, ways)
        bad = ~np.isfinite(values).all(axis=1)
        if called.failed():
            continue
        if not bad.any():
            sizes = np.abs(values).max(axis=1)
            if sizes[0] > POLE * sizes[-1] > 0:
                return f"the law {called.law.__name__!r} of {called.name!r} grows without bound at t = {t:.8g} s"
            continue
        k = int(np.argmax(bad))
        before, after = (ways[max(k - 1, 0)], ways[k])
        for _ in range(HALVINGS if k else 0):
            middle = 0.5 * (before + after)
            before, after = (
                (middle, after) if np.isfinite(_values(called, t, np.array([middle]))).all() else (before, middle)
            )
        if called.law is CAM:
            return f"the follower of cam {called.name!r} comes to an end of its open profile at t = {t + after:.8g} s"
        return f"the law {called.law.__name__!r} of {called.name!r} is not finite at t = {t + after:.8g} s"
    return ""


def _values(called: CalledLaw, t: float, ways: np.ndarray) -> np.ndarray:
    """What the law gives so long after t, (times, numbers)."""
    times = t + ways
    x, y = (np.repeat(one, len(ways), axis=0) for one in (called.x, called.y))
    if x.shape == y.shape:  # coordinates and their rates
        x = x + ways[:, None] * y
    elif 7 * y.shape[1] == 6 * x.shape[1]:  # poses and their twists
        for k in range(x.shape[1] // 7):
            step = pose_group.exp(ways[:, None] * y[:, 6 * k : 6 * k + 6])
            x[:, 7 * k : 7 * k + 7] = pose_group.compose(x[:, 7 * k : 7 * k + 7], step)
    return replace(called, path=times, x=x, y=y).values(times, np.arange(len(ways)))
