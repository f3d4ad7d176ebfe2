"""`chasles list`: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table


def listing(
    what: Annotated[
        Literal["gallery", "python", "methods", "spaces", "all"], Parameter(help="One of these lists.")
    ] = "all",
    /,
    *,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """List the systems of the gallery, the integrators and the configuration spaces."""
    found = {name: make() for name, make in LISTS.items() if what in (name, "all")}
    if json_output:
        print(json.dumps(found, indent=2))
        return
    console = Console()
    for name, entries in found.items():
        table = Table(title=TITLES.get(name, name), title_justify="left", show_header=False, box=None)
        table.add_column(no_wrap=True)
        table.add_column()
        for entry, description in entries.items():
            table.add_row(entry, description)
        console.print(table)


def _gallery() -> dict[str, str]:
    from chasles.gallery import model_files
    from chasles.io.source import Source

    return {name: Source(path).data.get("description", "") for name, path in model_files().items()}


def _python() -> dict[str, str]:
    from chasles.gallery import IN_PYTHON_ONLY

    return {f"chasles.gallery.{name}": why for name, why in IN_PYTHON_ONLY.items()}


def _methods() -> dict[str, str]:
    from chasles.integrate.method_name import LONG, PRESET, SHORT, method_from

    result = {}
    for name in SHORT:
        method = method_from(name)
        embedded = f", error estimate of order {method.embedded_order}" if method.embedded_order else ""
        result[name] = f"order {method.order}{embedded}; {SHORT[name].__name__}"
    for name, method in PRESET.items():
        result[name] = f"order {method.order}; {method}"
    for name, make in LONG.items():
        result[name] = (make.__doc__ or "").split("\n", 1)[0].rstrip(".")
    return result


def _spaces() -> dict[str, str]:
    return {
        "SE3": "poses as one group: joints to ground hold to rounding without stabilization",
        "SO3xR3": "rotation and position apart; which has the smaller error depends on the motion",
        "auto": "one of them for each body, by its joints and the stabilization",
    }


TITLES = {"gallery": "gallery: chasles run NAME, chasles init NAME", "python": "gallery, in Python only"}
LISTS = {"gallery": _gallery, "python": _python, "methods": _methods, "spaces": _spaces}
