"""`chasles validate`: benchmark problems with known answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from chasles.validation.board import Result


def validate(
    *names: Annotated[str, Parameter(help="Problems; by default all of them.")],
    output: Annotated[
        Path | None, Parameter(name=("--output", "-o"), help="Write the board as a Markdown page (.md).")
    ] = None,
    files: Annotated[
        Path | None, Parameter(help="Write the model file, 3D page and plot of each problem into a folder.")
    ] = None,
    badge: Annotated[Path | None, Parameter(help="Write a badge (.svg) with the number of values that agree.")] = None,
    peers: Annotated[bool, Parameter(help="Compute by Pinocchio and MuJoCo too, where they are installed.")] = True,
    as_json: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """Recompute benchmark problems with published values or closed forms, and compare.

    For example:

        chasles validate
        chasles validate heavy_top bicycle
        chasles validate tippe_top --files tippe_top

    The exit status is 3 if a value is off by more than its tolerance.
    """
    from chasles.display.progress import Progress
    from chasles.model.suggestion import meant
    from chasles.validation.board import badge as picture
    from chasles.validation.board import compute, markdown, problems
    from chasles.validation.files import write_files
    from chasles.validation.peers import installed

    known = problems()
    for name in names:
        if name not in known:
            near = meant(name, known)
            raise ValueError(f"validate: there is no problem {name!r}; {near}there are {', '.join(known)}")
    if output is not None and output.suffix.lower() != ".md":
        raise ValueError(f"validate: {output} must end in .md")
    console = Console(highlight=False)
    wanted = [known[name] for name in names or known]
    results = []
    with Progress(0, len(wanted), what="problems:", unit="", steady=True) as line:
        for count, result in enumerate(compute(wanted, installed() if peers else None)):
            results.append(result)
            if files is not None:
                write_files(result.problem, files)
            line.show(count + 1, result.problem.name)
            if not as_json:
                with line.aside():
                    _print(console, result)
    rows = [row for result in results for row in result.rows]
    agreed = sum(row.passed for row in rows)
    if as_json:
        print(json.dumps([_plain(result) for result in results], indent=1))
    else:
        seconds = sum(result.seconds for result in results)
        if len(results) > 1:
            console.print(_table(results))
        console.print(f"{agreed} of {len(rows)} quantities of {len(results)} problems agree; {seconds:.1f} s")
    if output is not None:
        output.write_text(markdown(results), encoding="utf-8")
    if badge is not None:
        badge.write_text(picture(results), encoding="utf-8")
    if not all(result.passed for result in results):
        sys.exit(3)


def _print(console: Console, result: Result) -> None:
    from chasles.validation.board import shown

    title = f"{result.problem.title}  ({result.problem.name}; {result.problem.source}; {result.seconds:.1f} s)"
    console.print(title, markup=False, soft_wrap=True)
    for k, row in enumerate(result.rows):
        values = f"known {shown(row.known)} {row.unit}; chasles {shown(row.ours)}; "
        values += f"difference {row.difference:.1e} {'<=' if row.passed else '>'} {row.tolerance:.1e}"
        values += "".join(f"; {name} {rows[k].difference:.1e}" for name, rows in result.peers.items())
        console.print(f"  {'ok ' if row.passed else 'OFF'} {row.quantity}: {values}", markup=False, soft_wrap=True)
    if result.error:
        console.print(f"  OFF {result.error}", markup=False, soft_wrap=True)


def _table(results: list[Result]) -> Table:
    """One line for each problem."""
    from chasles.validation.board import HEADS, overview

    table = Table(box=None)
    for head in HEADS:
        table.add_column(head, justify="right" if head in ("agree", "difference", "s") else "left")
    for line, result in zip(overview(results), results, strict=True):
        table.add_row(*(escape(cell.replace("*", "")) for cell in line), style="" if result.passed else "red")
    return table


def _plain(result: Result) -> dict[str, object]:
    return {
        "problem": result.problem.name,
        "title": result.problem.title,
        "source": result.problem.source,
        "seconds": result.seconds,
        "error": result.error,
        "rows": [
            {
                "quantity": row.quantity,
                "unit": row.unit,
                "known": row.known.tolist(),
                "chasles": row.ours.tolist(),
                "difference": row.difference,
                "tolerance": row.tolerance,
                "passed": row.passed,
                "peers": {name: rows[k].ours.tolist() for name, rows in result.peers.items()},
            }
            for k, row in enumerate(result.rows)
        ],
    }
