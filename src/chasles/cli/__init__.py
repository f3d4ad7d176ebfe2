"""The command line, `chasles`. One file a command."""

from __future__ import annotations

import sys

import cyclopts

from chasles import __version__
from chasles.cli.animate import animate
from chasles.cli.check import check
from chasles.cli.compare import compare
from chasles.cli.convert import convert
from chasles.cli.export import export
from chasles.cli.info import info
from chasles.cli.init import init
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
    suppress_keyboard_interrupt=False,  # `main` has an answer to it
)
app.command(run)
app.command(view)
app.command(check)
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


def main() -> None:
    """Entry point: errors a user can act on are printed without a traceback; Ctrl-C ends with the usual status."""
    try:
        app()
    except (ValueError, ArithmeticError) as error:
        print(f"chasles: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("chasles: interrupted", file=sys.stderr)
        sys.exit(130)
