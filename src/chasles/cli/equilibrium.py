"""`chasles equilibrium`: where a model stays at rest, and how that changes with a parameter."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from chasles.cli.drawing import load_matplotlib
from chasles.cli.model import Changes, Laws, Model, find_study

QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")


def equilibrium(
    model: Model,
    /,
    *,
    over: Annotated[
        str | None,
        Parameter(help="Follow the equilibria over a value of the file: parameters.load=0:80, or with units 0 N:80 N."),
    ] = None,
    begin: Annotated[
        float | None, Parameter(help="Value in this range at which the branch begins; by default its first value.")
    ] = None,
    points: Annotated[int, Parameter(help="Points of the branch, at most.")] = 400,
    joint: Annotated[
        list[str] | None, Parameter(negative=(), help="A joint to draw; repeatable. By default all.")
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="File to write, with --over: .png, .svg, .pdf (coordinates, folds)."),
    ] = None,
    change: Changes = None,
    law: Laws = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """Find the equilibrium near the initial state of a model, or follow it over a parameter, past folds.

    Stable parts of the branch are drawn solid, others dashed; folds (snap-through) and bifurcations are marked.

    For example:

        chasles equilibrium gate
        chasles equilibrium toggle.toml --over "parameters.load=0 N:80 N" -o snap.png
    """
    from chasles.display.progress import Progress

    if over is None:
        if output is not None or joint or begin is not None:
            raise ValueError("equilibrium: -o, --joint and --begin are for a branch, --over path=from:to")
        with Progress(0, 0, what="balancing ...", steady=True):
            found = _at_rest(find_study(model, change, law))
        told = {"q": _by_joint(found, found.q), "stability": found.stability, "residual": found.residual}
        told |= {name: getattr(found, name) for name in ("running", "weakest") if hasattr(found, name)}
        _say(json_output, told, found)
        return
    path, span, unit = _range(over)
    with Progress(0, 0, what="following equilibria ...", steady=True):
        changes = lambda x: [*(change or ()), f"{path}={_written(x, unit)}"]  # noqa: E731
        name = path.removeprefix("parameters.") + (f" [{unit}]" if unit else "")
        branch = _followed(changes, model, law, name, span, begin, points)
    special = [{"kind": x.kind, "parameter": x.parameter, "q": _by_joint(branch, x.q)} for x in branch.special]
    told = {"parameter": branch.parameter.tolist(), "unit": unit, "q": _by_joint(branch, branch.q.T)}
    _say(json_output, told | {"stability": branch.stability, "special": special, "message": branch.message}, branch)
    if output is not None:
        load_matplotlib()
        branch.plot(*(joint or ()), file=output)
        Console(stderr=json_output).print(f"wrote {output}", markup=False, highlight=False)


def _say(as_json: bool, found: dict[str, Any], text: Any) -> None:
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        Console().print(str(text), markup=False, highlight=False)


def _by_joint(found: Any, q: Any) -> dict[str, Any]:
    return {name: q[at].tolist() for name, at in found.joints.items()}


def _at_rest(study: Any) -> Any:
    import chasles as ch
    from chasles.relative.loop.closed import in_joint_coordinates

    try:
        if not all(rod.mesh.mass.any() for rod in study.system.rods):  # they can rest, but not move
            return ch.equilibrium(study.system, study.start().get("q") or None)
        begin = study.plan().begin
        mechanism = in_joint_coordinates("equilibrium", begin.mechanism)
        return ch.equilibrium(mechanism, begin.q, study.options.get("control"))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _followed(
    changes: Callable[[float], list[str]],
    model: str,
    laws: list[Path] | None,
    name: str,
    span: tuple[float, float],
    begin: float | None,
    points: int,
) -> Any:
    """The branch of a model; its start, with the value at which it begins, is the guess for the first point."""
    import chasles as ch

    first = find_study(model, changes(span[0] if begin is None else begin), laws)
    if first.options.get("control") is not None:
        raise ValueError("equilibrium: --over is for models without control; write its forces as forces of the model")
    q = first.plan().begin.q
    build = lambda x: find_study(model, changes(x), laws).system  # noqa: E731
    try:
        return ch.continuation(build, span, q, start=begin, points=points, name=name)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _written(value: float, unit: str) -> str:
    return f'"{float(value)!r} {unit}"' if unit else repr(float(value))


def _range(over: str) -> tuple[str, tuple[float, float], str]:
    """Path, ends and unit of "path=from:to"."""
    path, equals, text = over.partition("=")
    ends = [QUANTITY.fullmatch(end) for end in text.split(":")]
    if not equals or not path.strip() or len(ends) != 2 or None in ends:
        raise ValueError(
            f'equilibrium: --over {over}: expected a value of the file and its ends, such as "parameters.load=0 N:80 N"'
        )
    (low, unit), (high, other) = (end.groups() for end in ends if end is not None)
    if unit and other and unit != other:
        raise ValueError(f"equilibrium: --over {over}: its ends have units {unit!r} and {other!r}; expected one unit")
    return path.strip(), (float(low), float(high)), unit or other
