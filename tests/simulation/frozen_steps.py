"""Runs with the adaptive steps of another run: gradients that hold step sizes constant are derivatives of these."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from chasles.constrained.step_control import CLOCK, AdaptiveStepper
from chasles.integrate.engine import short_of


class FrozenSteps:
    """The ends of all steps of generalized alpha, and the steps that it begins with, recorded and repeated."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.first: list[float] = []

    @contextmanager
    def recorded(self) -> Iterator[None]:
        ends, first, take, begin = self.ends, self.first, AdaptiveStepper.take, AdaptiveStepper._first_step

        def and_note(stepper, limit):
            take(stepper, limit)
            ends.append(stepper.time)

        def note(stepper, t, y):
            first.append(begin(stepper, t, y))
            return first[-1]

        with patch.object(AdaptiveStepper, "take", and_note), patch.object(AdaptiveStepper, "_first_step", note):
            yield

    @contextmanager
    def repeated(self) -> Iterator[None]:
        ends, first = iter(self.ends), iter(self.first)

        def again(stepper, limit):
            t, end = stepper.time, next(ends)
            size = float(short_of.py_func(t, end)) if end in stepper.stops else end - t
            stepper._step(stepper._begin_of(t), size)
            stepper.clock[[CLOCK.time, CLOCK.taken]] = end, stepper.steps + 1
            stepper._save()

        def given(stepper, t, y):
            return next(first)

        with patch.object(AdaptiveStepper, "take", again), patch.object(AdaptiveStepper, "_first_step", given):
            yield
        assert np.isnan(next(ends, np.nan)), "the run took fewer steps"
