"""Standard output and error of a command, whoever reads them: a pager that was left, nobody, a terminal of 1970."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path

# what a disk says that takes no more
FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EROFS, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else []))


CONTROL = dict.fromkeys((7, 8, 11, 12, 13, 27))  # bell, backspace, tabs, returns, escapes: not for names to send


def say(text: str, error: bool = False) -> None:
    """Text as it is, of any width, on standard output or error. To load `rich` for it takes longer than to say it."""
    print(text.translate(CONTROL), file=sys.stderr if error else sys.stdout)


class Forgiving(io.FileIO):
    """What nobody takes is dropped, so that a run goes on to its end; `error` tells of it."""

    error: OSError | None = None

    def write(self, data: object) -> int:
        try:
            return super().write(data) if self.error is None else memoryview(data).nbytes  # type: ignore[arg-type]
        except OSError as error:
            self.error = error
            return memoryview(data).nbytes  # type: ignore[arg-type]


def prepare() -> None:
    """Make standard output and error take everything: also if they are closed, or know nothing but ASCII."""
    for number in range(3):  # else the next file that is opened would become standard output
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (it stays open)
        elif stream is getattr(sys, f"__{name}__"):
            stream.flush()
            raw = io.BufferedWriter(Forgiving(number, "w", closefd=False))
            encoding, interactive = stream.encoding, stream.isatty()
            new = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=interactive or name == "stderr")
            setattr(sys, name, new)


def failure() -> OSError | None:
    """Why standard output was not taken to its end, if so."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    sys.stdout.flush()
    return raw.error if isinstance(raw, Forgiving) else None
