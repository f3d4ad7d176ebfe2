"""The command line, `chasles`. One file a command."""

from __future__ import annotations

import sys
from typing import Any

import cyclopts

from chasles import __version__, registry
from chasles.cli import streams
from chasles.cli.animate import animate
from chasles.cli.check import check
from chasles.cli.compare import compare
from chasles.cli.convert import convert
from chasles.cli.export import export
from chasles.cli.info import info
from chasles.cli.init import init
from chasles.cli.linearize import linearize
from chasles.cli.listing import listing
from chasles.cli.plot import plot
from chasles.cli.report import report
from chasles.cli.reproduce import reproduce
from chasles.cli.run import run
from chasles.cli.view import view
from chasles.cli.warm import warm

app = cyclopts.App(
    name="chasles",
    help="The dynamics of mechanisms on Lie groups.",
    version=__version__,
    version_flags=["--version"],
    help_format="plaintext",  # what reads Markdown takes as long to load as all the rest of the help
    suppress_keyboard_interrupt=False,  # `main` has an answer to it
)
app.command(run)
app.command(view)
app.command(check)
app.command(linearize)
app.command(init)
app.command(listing, name="list")
app.command(convert)
app.command(export)
app.command(plot)
app.command(animate)
app.command(report)
app.command(compare)
app.command(reproduce)
app.command(info)
app.command(warm)


BROKEN_PIPE, NOT_WRITTEN = 141, 4  # exit status


def main() -> None:
    """Entry point: errors a user can act on are printed without a traceback.

    The exit status is 2 for them, 4 if something could not be written (a full disk), 130 after Ctrl-C, and 141 if
    standard output was closed before all was said, as for other programs (`chasles list | head -1`).
    """
    streams.prepare()
    registry.provide({"display of progress": "chasles.cli.progress:RichDisplay"})
    status = _called()
    error = streams.failure()
    if isinstance(error, BrokenPipeError):
        status = status or BROKEN_PIPE
    elif error is not None:
        print(f"chasles: standard output: {error.strerror}", file=sys.stderr)
        status = status or NOT_WRITTEN
    sys.exit(status)


def _called() -> Any:
    """The exit status of the command."""
    try:
        app(sys.argv[1:])
    except SystemExit as end:
        return end.code
    except (ValueError, ArithmeticError) as error:
        print(f"chasles: {error}", file=sys.stderr)
        return NOT_WRITTEN if hasattr(error, "errno") else 2  # `NotWrittenError`, which is not loaded for its name
    except OSError as error:
        print(f"chasles: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return NOT_WRITTEN if error.errno in streams.FULL else 2
    except MemoryError as error:
        print(f"chasles: not enough memory: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("chasles: interrupted", file=sys.stderr)
        return 130
    return 0
