"""The command line, `chasles`. One file a command."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasles import __version__, registry
from chasles.cli import streams

if TYPE_CHECKING:
    import cyclopts

HELP = "Simulate mechanisms on Lie groups."
COMMANDS = (
    *(
        "animate",
        "bench",
        "check",
        "compare",
        "convert",
        "equilibrium",
        "export",
        "fit",
        "info",
        "init",
        "linearize",
        "list",
    ),
    *("plan", "plot", "report", "reproduce", "run", "sweep", "validate", "view", "warm"),
)
MODULES = {"list": "listing"}  # of commands that are not in a module of their name


def make_app(*commands: str) -> cyclopts.App:
    """The application with some commands, whose modules are loaded."""
    import cyclopts

    app = cyclopts.App(
        name="chasles",
        help=HELP,
        version=__version__,
        version_flags=["--version"],
        help_format="plaintext",  # what reads Markdown takes as long to load as all the rest of the help
        suppress_keyboard_interrupt=False,  # `main` has an answer to it
    )
    for name in commands:
        module = MODULES.get(name, name)
        app.command(getattr(importlib.import_module(f"chasles.cli.{module}"), module), name=name)
    return app


def overview() -> str:
    """What `chasles --help` shows. Loading all commands would take ten times as long as reading what they say."""
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    lines = ["Usage: chasles COMMAND", "", HELP, "", "Commands (details: `chasles COMMAND --help`):"]
    for name in COMMANDS:
        lines += textwrap.wrap(
            summary(name), max(width, 40), initial_indent=f"  {name:<12}", subsequent_indent=14 * " "
        )
    return "\n".join([*lines, "", "--version shows the version."])


def summary(command: str) -> str:
    """The first sentences of a command's docstring, from its source."""
    module = MODULES.get(command, command)
    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    found = re.search(rf'^def {module}\(.*?"""(.*?)(?:\n\n|""")', source, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


BROKEN_PIPE, NOT_WRITTEN = 141, 4  # exit status


def main() -> None:
    """Entry point: errors a user can act on are printed without a traceback.

    The exit status is 2 for them, 4 if something could not be written (a full disk), 130 after an interrupt; 141 if
    standard output was closed too early, as for other programs (`chasles list | head -1`).
    """
    streams.prepare()
    registry.provide({"display of progress": "chasles.cli.progress:RichDisplay"})
    usual, warnings.formatwarning = warnings.formatwarning, _warning
    try:
        status = _called()
    finally:
        warnings.formatwarning = usual
    error = streams.failure()
    if isinstance(error, BrokenPipeError):
        status = status or BROKEN_PIPE
    elif error is not None:
        print(f"chasles: standard output: {error.strerror}", file=sys.stderr)
        status = status or NOT_WRITTEN
    sys.exit(status)


def _warning(message: Any, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
    """A warning as it is printed: of a law, with its file and line; of what the command did, without ours."""
    where = "" if "cyclopts" in Path(filename).parts else f"{filename}:{lineno}: "
    return f"chasles: {where}warning: {message}\n"


def _called() -> Any:
    """The exit status of the command."""
    arguments = sys.argv[1:]
    try:
        if arguments in ([], ["--help"], ["-h"]):
            print(overview())
        else:
            make_app(*(arguments[:1] if arguments[0] in COMMANDS else COMMANDS))(arguments)
    except SystemExit as end:
        return end.code
    except (ValueError, ArithmeticError) as error:
        print(f"chasles: {error}", file=sys.stderr)
        return NOT_WRITTEN if hasattr(error, "errno") else 2  # `NotWrittenError`, which is not loaded for its name
    except ImportError as error:
        if error.name is not None:  # not one of ours, which say what to install
            raise
        print(f"chasles: {error}", file=sys.stderr)
        return 2
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
