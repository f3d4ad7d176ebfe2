"""`chasles sweep`: many simulations of one model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chasles.cli.model import Laws, Model, changes, laws_in

FAILED_MEMBERS, INTERRUPTED_SWEEP = 1, 130  # exit status
MESSAGES_SHOWN = 5
MEMBERS_SHOWN = 30  # of a grid; of larger ones statistics are shown
LEAST_WIDTH = 16  # of a column with a long name


def sweep(
    model: Model,
    /,
    *,
    change: Annotated[
        list[str] | None,
        Parameter(
            name="--set",
            negative=(),
            help='A range, length=0.4:0.6:21 or gain=1:100:5:log, a list, "length=[40 mm, 60 mm]", or one value; '
            "repeatable.",
        ),
    ] = None,
    sample: Annotated[
        list[str] | None,
        Parameter(negative=(), help='A distribution, "mass~normal(1, 0.1)"; repeatable.'),
    ] = None,
    points: Annotated[
        list[Path] | None, Parameter(negative=(), help="A CSV file with a column for each parameter.")
    ] = None,
    n: Annotated[int | None, Parameter(name=["--n", "-n"], help="Number of samples.")] = None,
    seed: Annotated[int | None, Parameter(help="Seed of the random samples.")] = None,
    design: Annotated[str | None, Parameter(help="random, latin, sobol, halton, or saltelli for indices.")] = None,
    quantity: Annotated[
        list[str] | None,
        Parameter(negative=(), help='Quantity to keep of each run, "max(joints.elbow)"; repeatable.'),
    ] = None,
    law: Laws = None,
    end: Annotated[str | None, Parameter(help="End of the simulations [s], or with a unit.")] = None,
    every: Annotated[str | None, Parameter(help="Time between saved points [s], or with a unit: 10ms.")] = None,
    jobs: Annotated[
        int | None, Parameter(help="Number of processes; by default one per processor. 1: this process, with threads.")
    ] = None,
    cluster: Annotated[str | None, Parameter(help="Address of a dask scheduler, tcp://...")] = None,
    keep: Annotated[Path | None, Parameter(help="Folder in which to keep the complete runs.")] = None,
    certificate: Annotated[bool, Parameter(help="Certify every run.")] = True,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Study file (.h5) or table (.csv).")] = None,
    resume: Annotated[bool, Parameter(negative=(), help="Continue an interrupted study.")] = False,
) -> None:
    """Simulate a model many times with different parameters, and show statistics of the results.

    The members are the product of all ranges, tables of points and samples. Options that you omit are taken
    from the section [ensemble] of the model file. Examples:

        chasles sweep arm.toml --set length=0.4:0.6:21 --quantity "max(joints.elbow)" -o study.h5
        chasles sweep arm.toml --sample "mass~normal(1, 0.1)" -n 1000 --seed 7 -o study.h5
        chasles sweep arm.toml --sample "mass~uniform(1, 2)" -n 256 --design saltelli
        chasles plot study.h5

    The exit status is 0 if all members have a result, 1 if some failed, 2 for wrong input, 130 if it was interrupted.
    """
    from chasles.cli.run import seconds
    from chasles.ensembles.ensemble import ensemble
    from chasles.ensembles.executor import default_processes
    from chasles.gallery import find_model
    from chasles.io.load import load

    file, functions = find_model(model), laws_in(law) or None
    base = load(file, laws=functions)
    given = _replaced(base.ensemble, changes(change), _distributions(sample), points or [])
    given["points"] = points or [file.parent / name for name in given.get("points", ())]
    chosen = {"n": n, "seed": seed, "design": design, "quantities": quantity}
    given |= {key: value for key, value in chosen.items() if value is not None}
    options: dict[str, Any] = (
        {} if end is None else {"span": (base.options.get("span", (0.0,))[0], seconds("--end", end))}
    )
    if every is not None:
        options["every"] = seconds("--every", every)
    if not certificate:
        options["certificate"] = False
    if output is not None and output.suffix not in (".h5", ".csv"):
        raise ValueError(f"--output {output}: expected a name that ends in .h5 or .csv")
    study = output if output is not None and output.suffix == ".h5" else None
    if resume and study is None:
        raise ValueError("sweep: --resume continues a study file; give it with -o study.h5")
    processes = default_processes() if jobs is None else jobs
    where: Any = cluster or (None if processes == 1 else processes)
    try:
        found = ensemble(file, **given, executor=where, file=study, resume=resume, keep=keep, laws=functions, **options)
    except KeyboardInterrupt:
        kept = f"; --resume continues {study}" if study else "; with -o study.h5 it could have been continued"
        print(f"interrupted{kept}", file=sys.stderr)
        sys.exit(INTERRUPTED_SWEEP)
    if output is not None and study is None:
        found.export(output)
    show(Console(), found)
    if output is not None:
        print(f"wrote {output}")
    if len(found.failed):
        sys.exit(FAILED_MEMBERS)


def _replaced(base: Mapping[str, Any], ranges: dict[str, Any], drawn: dict[str, str], points: list[Path]) -> Any:
    """The study of a model file, with other ranges, distributions and points: what is given of a parameter replaces all
    that the file says of it."""
    from chasles.ensembles.design import read_points

    mine = {*ranges, *drawn, *(name for table in points for name in read_points(table).names)}
    kept = {key: {k: v for k, v in base.get(key, {}).items() if k not in mine} for key in ("set", "sample")}
    found = {**base, "set": kept["set"] | ranges, "sample": kept["sample"] | drawn}
    if not found["sample"]:
        found.pop("n", None)
    return found


def _distributions(given: list[str] | None) -> dict[str, str]:
    found = {}
    for item in given or []:
        name, tilde, text = item.partition("~")
        if not tilde or not name.strip():
            raise ValueError(f'--sample {item}: expected name~distribution, such as "mass~normal(1, 0.1)"')
        found[name.strip()] = text.strip()
    return found


def show(console: Console, found: Any) -> None:
    """Counts and statistics of an ensemble."""
    from chasles.ensembles.plot import default_names

    console.print(repr(found)[1:-1], markup=False, highlight=False, soft_wrap=True)
    for k in found.failed[:MESSAGES_SHOWN].tolist():
        values = ", ".join(f"{name} = {value}" for name, value in found.values(k).items())
        console.print(f"member {k} ({values}): {found.messages[k]}", markup=False, highlight=False, soft_wrap=True)
    if len(found.failed) > MESSAGES_SHOWN:
        console.print(f"... and {len(found.failed) - MESSAGES_SHOWN} more without a result")
    if len(found.failed) == len(found):
        return
    names = [name for name in default_names(found) if not name.startswith("series(")]
    if names and found.title.get("kind") == "grid" and len(found) <= MEMBERS_SHOWN:
        _print(console, *_members(found, names))
    elif names:
        _print(console, *_statistics(found, names))


def _members(found: Any, names: list[str]) -> tuple[list[str], list[list[str]]]:
    """What varies and the quantities: a row for each member of a grid, which has no mean that says anything."""
    units = {name: found.work.unit(name) if found.work else "" for name in found.parameters}
    head = [f"{name} [{unit}]" if unit else name for name, unit in units.items()]
    columns = [[f"{x:.6g}" for x in values] for values in found.parameters.values()]
    for name in names:
        numbers = found[name].reshape(len(found), -1)
        head += _labels(found, name, numbers.shape[1])
        columns += [[f"{x:.5g}" for x in column] for column in numbers.T]
    return head, [list(row) for row in zip(*columns, strict=True)]


def _statistics(found: Any, names: list[str]) -> tuple[list[str], list[list[str]]]:
    """Statistics: a row for each number of the quantities."""
    rows = []
    for name in names:
        s = found.statistics(name)
        columns = [column.reshape(-1) for column in (s.mean, s.deviation, s.least, s.quantiles[2], s.largest)]
        for k, label in enumerate(_labels(found, name, len(columns[0]))):
            rows.append([label, str(s.members), *(f"{column[k]:.5g}" for column in columns)])
    return ["quantity", "members", "mean", "deviation", "least", "median", "largest"], rows


def _labels(found: Any, name: str, count: int) -> list[str]:
    """A quantity, what each of its numbers is, and their unit."""
    labels, unit = found.labels.get(name, ()), found.units.get(name, "")
    each = [f"{name} {labels[k]}" if labels else name for k in range(count)]
    return [f"{one} [{unit}]" if unit and not one.endswith("]") else one for one in each]


def _print(console: Console, head: list[str], rows: list[list[str]]) -> None:
    """A table in which long names are folded, and never numbers: of a number in two parts the first looks like one."""
    table = Table()
    for k, name in enumerate(head):
        words = name == "quantity"
        width = max(max(len(row[k]) for row in rows), min(len(name), LEAST_WIDTH))
        table.add_column(
            escape(name), justify="left" if words else "right", overflow="fold", min_width=22 if words else width
        )
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table, soft_wrap=True)
