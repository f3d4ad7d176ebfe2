"""The time that a fit may take: a line of progress, and an end when the time is over or Ctrl-C comes."""

from __future__ import annotations

import time
from typing import Any

from chasles.display.progress import Progress

SECONDS = 300.0  # that a fit may take, if nothing else is said


class Over(Exception):  # noqa: N818 - not an error: it ends a search, and no model with bad values raises it
    """The time is over."""


class Patience:
    """How long a fit goes on, inside of `with`. `ended` says why it ended early, if it did; then nothing more is
    searched."""

    def __init__(self, seconds: float = SECONDS, wanted: bool | None = None):
        self.seconds, self.wanted, self.ended = seconds, wanted, ""
        self.began: float | None = None
        self.progress: Progress | None = None
        self.part, self.simulations = "all data", 0

    def __enter__(self) -> Patience:
        self.began, self.progress = time.monotonic(), Progress(0.0, 0.0, self.wanted, what="fit:")
        self.progress.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.progress is not None:
            self.progress.__exit__(*exception)
        self.began, self.progress = None, None

    def look(self) -> None:
        """Show how far the fit is."""
        if self.progress is not None:
            self.simulations += 1
            self.progress.what = f"fit: {self.part}, {self.simulations} simulations,"
            self.progress.show(0.0)

    def require(self) -> None:
        """`Over` if the time has passed."""
        if self.began is not None and not self.ended and time.monotonic() - self.began > self.seconds:
            raise Over(f"{self.seconds:g} s were over (max_seconds)")

    def end(self, why: BaseException) -> str:
        """Search no more, because of `Over` or Ctrl-C; what is to be said."""
        self.ended = str(why) if isinstance(why, Over) else "it was interrupted"
        return self.ended
