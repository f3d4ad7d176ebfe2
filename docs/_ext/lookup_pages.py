"""Write reference pages from the program itself: the keys of model files and the help of every command."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
from pathlib import Path

from chasles.cli import COMMANDS, MODULES, make_app, summary
from chasles.io import spec

TOP = {
    "name": spec.Entry("text", "name of the model"),
    "description": spec.Entry("text", "one line about the model"),
    "gravity": spec.Entry("vector", "[m/s²]; by default [0, 0, -9.81]"),
    "include": spec.Entry("names", "other model files whose parts are added, in the same folder or below"),
    "parameters": spec.Entry("table", "numbers by name, for use in expressions"),
    "tables": spec.Entry("table", "functions by name, given by points: see below"),
}
POSE = {
    "position": spec.Entry("vector", "[m]"),
    "quaternion": spec.Entry("4 numbers", "(w, x, y, z)"),
    "rotation_vector": spec.Entry("vector", "axis times angle [rad]"),
    "rpy": spec.Entry("vector", "angles about the fixed axes x, y, z, as in URDF [rad]"),
}
TABLE = {
    "x": spec.Entry("numbers or name", "the points, or the column of a CSV file", required=True),
    "y": spec.Entry("numbers or name", "the values, or the column of a CSV file", required=True),
    "file": spec.Entry("path", "the CSV file, in the folder of the model or below"),
    "kind": spec.Entry("name", "table (linear), spline (the default), clamped or periodic"),
}
NESTED = {"shapes": spec.SHAPE_SPECS, "curve": spec.CURVE_SPECS, "section": spec.SECTION_SPECS}  # tables with a kind
OWNERS = {"shapes": "a body", "curve": "a rod", "section": "a rod"}
PARTS = {"material": spec.MATERIAL, "loads": spec.LOADS, "intrinsic": spec.INTRINSIC}  # of rods
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
        "Every key of a model file. A star marks required keys.",
        "A number may be an expression of parameters or a value with a unit, in quotes.",
        "[Model files](../model_files.md) explains them with examples.",
        "`chasles init --schema` writes the same as a JSON Schema for editors.",
        "",
    ]
    lines += ["## Top of the file", "", *_table(TOP)]
    lines += ["### A pose", "", "A position `[x, y, z]`, seven numbers (quaternion, position), or a table with:", ""]
    lines += [*_table(POSE), "### `[tables]`", "", *_table(TABLE)]
    for section, kinds in spec.SECTIONS.items():
        lines += [f"## `[[{section}]]`", ""]
        if isinstance(kinds, spec.KindSpec):
            lines += [f"{kinds.what[0].upper()}{kinds.what[1:]}.", "", *_table(kinds.fields)]
            continue
        for name, kind in kinds.items():
            lines += [f'### `kind = "{name}"` in `{section}`', "", f"{kind.what[0].upper()}{kind.what[1:]}.", ""]
            lines += _table(kind.fields)
    for part, kinds in NESTED.items():
        lines += [f"## `{part}` of {OWNERS[part]}", ""]
        for name, kind in kinds.items():
            lines += [f'### `kind = "{name}"` in `{part}`', "", f"{kind.what[0].upper()}{kind.what[1:]}.", ""]
            lines += _table(kind.fields)
    for part, fields in PARTS.items():
        lines += [f"## `{part}` of a rod", "", *_table(fields)]
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


def commands_page(outline: bool = False) -> str:
    """Every command with its help; in an outline without it."""
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
        lines += ["```text", name if outline else _help(name), "```", ""]
    return "\n".join(lines)


def write_pages(app) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in (("keys", keys_page()), ("commands", commands_page(app.tags.has("outline")))):
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def setup(app):
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
