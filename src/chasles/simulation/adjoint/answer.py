"""How a sampled controller answers to the state, for derivatives through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.simulation.adjoint.objective import AGREEMENT, PROBE
from chasles.simulation.run import Run

ControllerSlopes = Callable[[float, np.ndarray, np.ndarray], tuple[Any, Any]]


class Answer:
    """How a sampled controller answers to states, by its slopes, which are compared with differences."""

    def __init__(self, run: Run, slopes: ControllerSlopes, where: str = "gradient"):
        """where: who speaks in messages."""
        self.run, self.slopes, self.where = run, slopes, where

    def at(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the input by q and v at a point."""
        run = self.run
        assert run.given is not None
        inputs = run.given.shape[1]
        t, q, v = float(run.t[k]), run.q[k], run.v[k]
        by_q, by_v = (np.asarray(part, dtype=float) for part in self.slopes(t, q.copy(), v.copy()))
        if by_q.shape != (inputs, len(q)) or by_v.shape != (inputs, len(v)):
            raise ValueError(
                f"{self.where}: slopes returned shapes {by_q.shape} and {by_v.shape}; expected ({inputs}, {len(q)}) "
                f"and ({inputs}, {len(v)})"
            )
        self._compare(t, q, v, by_q, by_v)
        return by_q, by_v

    def _compare(self, t: float, q: np.ndarray, v: np.ndarray, by_q: np.ndarray, by_v: np.ndarray) -> None:
        """ValueError if differences at a sample say something else, over a short way and over a shorter one: a kink,
        such as that of a limit, may be as near as that."""
        along_q, along_v = np.sin(1.0 + np.arange(len(q))), np.cos(1.0 + np.arange(len(v)))
        found = by_q @ along_q + by_v @ along_v
        for probe in (PROBE, PROBE / 64):
            ahead, behind = (
                np.atleast_1d(self.run.task.controller(t, q + s * probe * along_q, v + s * probe * along_v))
                for s in (1, -1)
            )
            wanted = (ahead - behind) / (2 * probe)
            size = np.abs(wanted).max(initial=0.0) + np.abs(found).max(initial=0.0)
            rounding = 1e-14 * np.abs(ahead).max(initial=0.0) / probe
            if np.abs(found - wanted).max(initial=0.0) <= AGREEMENT * size + rounding:
                return
        raise ValueError(
            f"{self.where}: slopes are not the derivatives of the controller: at t = {t:.6g} s they give {found}, and "
            f"differences {wanted}"
        )
