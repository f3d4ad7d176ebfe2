"""The command line in this process: a process of its own would load everything again, for two seconds each."""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest import mock

from chasles import registry
from chasles.cli import main


def chasles(*arguments: str, columns: int = 160) -> CompletedProcess[str]:
    """What `chasles` says to these arguments, and its exit status."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    status: int | str | None = None
    with (
        mock.patch.object(sys, "argv", ["chasles", *arguments]),
        mock.patch.dict(os.environ, COLUMNS=str(columns)),
        mock.patch.dict(registry._PLACES),
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.resetwarnings()  # a user sees them; those of tests are errors
        try:
            main()
        except SystemExit as end:
            status = end.code
    said, complained = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return CompletedProcess(arguments, int(status or 0), said, complained)
