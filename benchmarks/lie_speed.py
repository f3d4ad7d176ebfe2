"""Measure the speed of the Lie group functions against other libraries and write docs/benchmarks/lie.md.

Run: python -m benchmarks.lie_speed

Everything is measured in one process on one processor core; chasles is timed anew before every timing of another
library, and the medians are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks import page

COMMAND = "python -m benchmarks.lie_speed"
PAGE = page.DOCS / "benchmarks" / "lie.md"

ELEMENTS = 1_000_000
LOOP_ELEMENTS = 50_000  # for libraries that take one element a call
REPETITIONS = 9
BAR = 3.0
BARRED = ("so3.exp", "so3.log", "se3.exp", "se3.log", "so3.dexpinv", "se3.dexpinv")
NAMES = ("so3.exp", "so3.log", "s3.exp", "s3.log", "se3.exp", "se3.log", "pose.exp", "pose.log", *BARRED[4:])

Call = Callable[[], Any]


def use_one_core() -> bool:
    """Bind the process to one core and keep XLA to one thread; whether the binding is possible here."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["OMP_NUM_THREADS"] = "1"
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return True


# ---------------------------------------------------------------- what is timed


@dataclass(frozen=True)
class Data:
    """The same random elements in every form: vectors of the algebra and elements of the groups."""

    inputs: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.inputs[name]


def make_data(count: int) -> Data:
    """Rotation vectors and twists with standard normal entries, and their exponentials."""
    from chasles import lie

    rng = np.random.default_rng(0)
    x, twist = rng.normal(size=(count, 3)), rng.normal(size=(count, 6))
    elements = {group: getattr(lie, group).exp(x if group in ("so3", "s3") else twist) for group in ("so3", "s3", "se3", "pose")}
    return Data({"x": x, "twist": twist, **elements})
