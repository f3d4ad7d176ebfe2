"""Write reference pages from the program itself: the keys of model files and the help of every command."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
from pathlib import Path

from chasles.cli import COMMANDS, MODULES, make_app, summary
from chasles.io import spec

SINGLE = {"initial": spec.INITIAL, "simulation": spec.SIMULATION, "ensemble": spec.ENSEMBLE}
WIDTH = 100  # of the help texts


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _table(fields: dict[str, spec.Entry]) -> list[str]:
    rows = [
        f"| `{name}`{' *' if field.required else ''} | {field.type} | {_cell(field.what)} |"
        for name, field in fields.items()
    ]
    return ["| key | type | meaning |", "|---|---|---|", *rows, ""]


def keys_page() -> str:
    """Every key of a model file, from the table that reads it."""
    lines = [
        "# Keys of model files",
        "",
        "Every key that a model file may hold. A star marks keys that must be given.",
        "A number may be an expression of parameters or a value with a unit, in quotes.",
        "[Model files](../model_files.md) explains them with examples.",
        "`chasles init --schema` writes the same as a JSON Schema for editors.",
        "",
    ]
    for section, kinds in spec.SECTIONS.items():
        lines += [f"## `[[{section}]]`", ""]
        if isinstance(kinds, spec.KindSpec):
            lines += [f"{kinds.what[0].upper()}{kinds.what[1:]}.", "", *_table(kinds.fields)]
            continue
        for name, kind in kinds.items():
            lines += [f'### `kind = "{name}"` in `{section}`', "", f"{kind.what[0].upper()}{kind.what[1:]}.", ""]
            lines += _table(kind.fields)
    lines += ["## `shapes` of a body", ""]
    for name, kind in spec.SHAPE_SPECS.items():
        lines += [f'### `kind = "{name}"` in `shapes`', "", f"{kind.what[0].upper()}{kind.what[1:]}.", ""]
        lines += _table(kind.fields)
    for section, fields in SINGLE.items():
        lines += [f"## `[{section}]`", "", *_table(fields)]
    return "\n".join(lines)


def _help(command: str) -> str:
    """What `chasles COMMAND --help` prints."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, force_terminal=False)
    with contextlib.suppress(SystemExit):
        make_app(command)([command, "--help"], console=console)
    return out.getvalue().rstrip()


def commands_page() -> str:
    """Every command with its help."""
    lines = [
        "# Commands",
        "",
        "The help of every command, as `chasles COMMAND --help` prints it.",
        "A model is a file, a folder of meshes with its URDF or MJCF file, or a name of the gallery (`chasles list`).",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`{name}`](#chasles-{name}) | {_cell(summary(name))} |" for name in COMMANDS),
        "",
    ]
    for name in COMMANDS:
        lines += [f"(chasles-{name})=", f"## chasles {name}", ""]
        module = MODULES.get(name, name)
        function = getattr(importlib.import_module(f"chasles.cli.{module}"), module)
        assert inspect.getdoc(function), name
        lines += ["```text", _help(name), "```", ""]
    return "\n".join(lines)


def write_pages(app) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in (("keys", keys_page()), ("commands", commands_page())):
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def setup(app):
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
