"""What all steppers have in common: how they are chosen, driven to the end, stored and resumed.

A stepper is a problem and a method turned into the arrays that a loop works on. Each class of steppers says which
problems and methods it is for; `solve` takes the first one that fits.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol

import numpy as np

from chasles.display.progress import Progress
from chasles.integrate.event import Occurrence
from chasles.integrate.options import Options, check_span
from chasles.integrate.solution import Cause, Solution
from chasles.integrate.vector_field import Field, PythonField
from chasles.kernel.pickled import PickledWhole
from chasles.kernel.undisturbed import Undisturbed

LOG = logging.getLogger("chasles")
PIECE = 0.1  # seconds that a piece of a run is to take, after which it looks up: Ctrl-C, progress, files
PATIENCE = 1.0  # seconds after which a plain Python field is worth a hint


class Ending(NamedTuple):
    """How a run came to its end."""

    success: bool
    message: str
    cause: Cause = Cause.OTHER


class Sink(Protocol):
    """Takes saved points out of a run while it goes on, to a file say; the run then keeps none of them.

    A row of points is (time, point, field value, move since the point before).
    """

    def begin(self, stepper: Stepper) -> None:
        """Called once, before the first step."""

    def rows(self, rows: np.ndarray) -> None:
        """Take rows; the array is used again afterwards."""

    def passed(self, stepper: Stepper, last: bool) -> None:
        """Called after the rows of a piece, when the run can be continued from its checkpoint."""


class Attention:
    """Ctrl-C, noticed and acted on when it suits: `called` says whether it came. A second one interrupts at once.

    Inside a compiled loop that calls Python functions it would break off one of these, with the state in between.
    Handlers of the user's own stay as they are.
    """

    def __init__(self) -> None:
        self.called = False
        self._own = False

    def _note(self, number: int, frame: Any) -> None:
        if self.called:
            raise KeyboardInterrupt
        self.called = True

    def __enter__(self) -> Attention:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            outer = getattr(before, "__self__", None)
            if before is signal.default_int_handler or isinstance(outer, Attention | Undisturbed):
                self._before, self._own = before, True
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._own:
            signal.signal(signal.SIGINT, self._before)
            outer = getattr(self._before, "__self__", None)
            if self.called and isinstance(outer, Attention):
                outer.called = True
            elif self.called and exception[0] is None and isinstance(outer, Undisturbed):
                outer.note()
            elif self.called and exception[0] is None:  # it came when nobody looked any more
                raise KeyboardInterrupt


AS_IT_ENDED = "interrupted as it ended"
KEPT_SO_FAR = "what there is so far is kept (Ctrl-C again to quit at once)"


class NotFiniteError(ValueError):
    """The field is not finite at the start."""


class Interrupted(PickledWhole, KeyboardInterrupt):
    """Ctrl-C ended a computation. `result` is what there is so far: the `Solution` of `solve`, the run of `simulate`
    or `resume`, the `Comparison` of `compare`."""

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result


@contextmanager
def whole_or_nothing() -> Iterator[None]:
    """What Ctrl-C leaves of runs inside the block is of no use to the caller: it goes on without."""
    try:
        yield
    except Interrupted:
        raise KeyboardInterrupt from None


class _Told(threading.local):
    """Whether runs of this thread warn of how they ended. Filters of warnings are those of all threads."""

    warn = True


TOLD = _Told()


@contextmanager
def helping() -> Iterator[None]:
    """For runs that are made to judge another: they do not warn of how they ended, and are of no use in part."""
    before, TOLD.warn = TOLD.warn, False
    try:
        with whole_or_nothing():
            yield
    finally:
        TOLD.warn = before


MOST_STEPS = 10**9  # in a piece; a full buffer ends a piece early, so a count of steps alone knows no bound


class Stepper(ABC):
    """Takes the steps of `solve`. Its state is plain arrays: it can be stored and continued to the same bits.

    `memory_names` are the arrays that are all it remembers from step to step.
    """

    problems: ClassVar[tuple[Any, ...]]
    methods: ClassVar[tuple[Any, ...]]
    takes: ClassVar[frozenset[str]] = frozenset({"step", "save", "events"})
    memory_names: ClassVar[tuple[str, ...]] = ()

    problem: Any
    method: Any
    start: float
    end: float
    resumed = False
    row_sizes: tuple[int, int]  # numbers in a point and in a field value or move, for a sink
    sink: Sink | None = None

    def __init__(self, problem: Any, method: Any, span: tuple[float, float], options: Options):
        self.problem, self.method = problem, method
        self.start, self.end = check_span(span)
        self.began = time.perf_counter()
        self.occurrences: list[Occurrence] = []
        for option in fields(options):
            given = getattr(options, option.name)
            if option.name not in self.takes and given is not None:
                if option.name in ("stops", "max_evaluations"):
                    raise ValueError(
                        f"solve: {option.name} are for explicit methods and for steps that follow the error; the equal "
                        f"steps of {method} know nothing of them"
                    )
                raise ValueError(
                    f"solve: {method} takes fixed steps, so {option.name}={given!r} means nothing to it; give step=... "
                    'alone, or take a pair such as RKMK("dopri5") if the problem is a LieODE'
                )

    @classmethod
    def fits(cls, problem: Any, method: Any) -> bool:
        return isinstance(problem, cls.problems) and isinstance(method, cls.methods)

    # ------------------------------------------------------------ what derived classes do

    @property
    @abstractmethod
    def time(self) -> float:
        """Simulated time reached."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps taken."""

    @abstractmethod
    def advance(self, limit: int) -> Ending | None:
        """Take up to `limit` steps; how the run ended, if it did."""

    @abstractmethod
    def solution(self, success: bool, message: str) -> Solution:
        """What there is so far; without the points that a sink took."""

    @abstractmethod
    def no_curve(self) -> str:
        """Why the saved points cannot be interpolated, if so."""

    def hand_over(self) -> None:
        """Give saved points to the sink that it does not have."""
        raise TypeError(f"solve: points of {self.method} cannot be taken out while it runs")

    # ------------------------------------------------------------ going

    def finish(self, max_steps: int | None = None, progress: bool | None = None, sink: Sink | None = None) -> Solution:
        """Go to the end, or until `max_steps` steps are taken in all. Ctrl-C raises `Interrupted` with what there is.

        The loop advances in pieces of about a tenth of a second, so that Ctrl-C and progress are attended to, and the
        sink gets the points.
        """
        self.sink = sink
        if sink is not None:
            sink.begin(self)
        if self.start == self.end:
            return self._ended(True, "the span is empty")
        if self.resumed and self.time == self.end:
            return self._ended(True, "reached the end")
        limit = 1  # a step may take long
        with Attention() as attention, Progress(self.start, self.end, progress, at=self.time) as line:
            while True:
                if max_steps is not None and (limit := min(limit, max_steps - self.steps)) <= 0:
                    return self._ended(False, f"stopped after {self.steps} steps")
                began = time.perf_counter()
                try:
                    ending = self.advance(limit)
                    self._pass_on(last=False)
                    line.show(self.time)
                except KeyboardInterrupt:
                    self._interrupt(line)
                except Exception:
                    self._pass_on(last=True)
                    raise
                if attention.called and ending:
                    raise Interrupted(AS_IT_ENDED, self._ended(*ending))
                if ending:
                    return self._ended(*ending)
                if attention.called:
                    self._interrupt(line)
                spent = time.perf_counter() - began
                limit = int(np.clip(limit * PIECE / max(spent, 1e-6), 1, min(16 * limit, MOST_STEPS)))

    def _interrupt(self, line: Progress) -> NoReturn:
        message = f"interrupted at t = {self.time:.8g}, after {self.steps} steps"
        line.say(f"{message}; {KEPT_SO_FAR}")
        raise Interrupted(message, self._ended(False, message, Cause.INTERRUPTED)) from None

    def _pass_on(self, last: bool) -> None:
        if self.sink is not None:
            with Undisturbed():  # else Ctrl-C could come between giving points away and forgetting them
                self.hand_over()
                self.sink.passed(self, last)

    def _ended(self, success: bool, message: str, cause: Cause = Cause.OTHER) -> Solution:
        self._pass_on(last=True)
        return replace(self.solution(success, message), cause=cause)

    def hints(self) -> tuple[str, ...]:
        """How a run that took long could be faster; also logged."""
        function = getattr(self, "field", None)
        if not isinstance(function, PythonField) or time.perf_counter() - self.began < PATIENCE:
            return ()
        if str(getattr(function.function, "__module__", "")).startswith("chasles."):  # not the user's
            return ()
        hint = (
            f"the field {function.name!r} is a plain Python function; compiled with @chasles.integrate.field, as "
            f"{function.name}(t, y, p, out), which writes to out instead of returning, the run would be some twenty "
            "times faster"
        )
        LOG.warning("solve: %s", hint)
        return (hint,)

    # ------------------------------------------------------------ storing

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} that is under way is not pickled: it holds addresses of this process; keep its "
            "checkpoint(), and restore it in one that is made there"
        )

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Copies of all that the run remembers."""
        return {name: np.array(getattr(self, name)) for name in self.memory_names}

    def restore(self, checkpoint: dict[str, np.ndarray]) -> None:
        """Continue from a checkpoint of the same problem, method and options; the points before are not kept."""
        for name in self.memory_names:
            own, given = getattr(self, name), np.asarray(checkpoint.get(name))
            if given.shape != own.shape or given.dtype.kind != own.dtype.kind:
                raise ValueError(f"solve: the checkpoint does not fit this problem and method ({name!r})")
            own[...] = given
        self.resumed = True
        low, high = min(self.start, self.end), max(self.start, self.end)
        places = {name: getattr(self, name) for name in self.memory_names}
        wrong = [name for name, found in places.items() if found.dtype.kind == "i" and (found < 0).any()]
        wrong += [name for name, (found, end) in self.indices().items() if not ((found >= 0) & (found < end)).all()]
        if wrong or not low <= self.time <= high:
            what = f"{wrong[0]!r}" if wrong else f"its time is {self.time}, and the span is {low} to {high}"
            raise ValueError(f"solve: the checkpoint is damaged ({what})")

    def indices(self) -> dict[str, tuple[np.ndarray, int]]:
        """What a loop takes from a checkpoint as places in arrays, each with its bound."""
        return {}


def as_field(given: Any, size: int) -> Field | PythonField:
    """A field that the compiled loops can call."""
    return given if isinstance(given, Field) else PythonField(given, size)


def raise_errors_of(*functions: Any) -> None:
    """Raise what a Python field or event raised inside a compiled loop."""
    for function in functions:
        if isinstance(function, PythonField) and function.error is not None:
            raise function.error
