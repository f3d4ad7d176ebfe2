"""`chasles run`: simulate a model."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from chasles.cli.model import Changes, Laws, Model, find_study, laws_in
from chasles.cli.streams import say

if TYPE_CHECKING:
    from rich.table import Table

ENDED_EARLY, NOT_PASSED, INTERRUPTED = 1, 3, 130  # exit status
LISTED = 12  # joints whose start is shown
CLOSE = 1e-9  # of a limit: what is beyond by less is at it


def run(
    model: Model,
    /,
    *,
    change: Changes = None,
    law: Laws = None,
    coordinates: Annotated[
        Literal["relative", "absolute"] | None, Parameter(help="Joints, or poses of bodies.")
    ] = None,
    space: Annotated[
        list[str] | None, Parameter(negative=(), help="SE3, SO3xR3 or auto; repeat the option to compare spaces.")
    ] = None,
    method: Annotated[str | None, Parameter(help="Integrator, such as rk4, dopri5, cf4: see `chasles list`.")] = None,
    step: Annotated[str | None, Parameter(help="Fixed step [s], or with a unit: 1ms.")] = None,
    rtol: Annotated[float | None, Parameter(help="Relative tolerance of adaptive steps.")] = None,
    atol: Annotated[float | None, Parameter(help="Absolute tolerance, by default from the model.")] = None,
    max_step: Annotated[str | None, Parameter(help="Longest of the adaptive steps [s], or with a unit.")] = None,
    end: Annotated[str | None, Parameter(help="End of the simulation [s], or with a unit.")] = None,
    every: Annotated[str | None, Parameter(help="Time between saved points [s], or with a unit: 10ms.")] = None,
    times: Annotated[
        list[str] | None, Parameter(negative=(), help="A time to save [s], or with a unit; repeatable.")
    ] = None,
    stabilization: Annotated[str | None, Parameter(help="projection, baumgarte or none.")] = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Result file (.h5) to write.")] = None,
    resume: Annotated[
        bool, Parameter(negative=(), help="Continue an interrupted run; MODEL is its result file.")
    ] = False,
    certificate: Annotated[bool, Parameter(help="Certify the run by a second one with another method.")] = True,
    effort: Annotated[float | None, Parameter(help="Allow the certificate this many times its usual effort.")] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="Results as JSON, for programs.")] = False,
) -> None:
    """Simulate a model and show the certificate of the run.

    Options that you omit are taken from the model file. Examples:

        chasles run heavy_top
        chasles run heavy_top --space SE3 --space SO3xR3 --end 2
        chasles run heavy_top --set parameters.arm=0.3 --method dopri5 --rtol 1e-10
        chasles run robot.urdf --end 2 --every 10ms -o run.h5
        chasles run car.toml --law tires.py
        chasles run --resume run.h5

    The exit status is 0 if the run reached its end and its certificate passed. Else: 1 it ended early; 2 wrong input;
    3 the certificate failed or reached no verdict; 4 the result could not be written (a full disk); 130 interrupted.
    """
    from chasles.integrate.method_name import named_method

    given: dict[str, Any] = {"coordinates": coordinates, "rtol": rtol, "atol": atol, "file": output}
    given |= {"step": seconds("--step", step), "max_step": seconds("--max-step", max_step)}
    given["every"] = seconds("--every", every)
    given["save"] = None if times is None else [seconds("--times", one) for one in times]
    given["certificate"] = effort if certificate else False
    given["method"] = None if method is None else named_method("--method", method)
    options = {key: value for key, value in given.items() if value is not None}
    progress = None if sys.stderr.isatty() else True  # else a plain line now and then, for logs
    if stabilization is not None:
        options["stabilization"] = None if stabilization == "none" else stabilization
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # how a run ended is said when it is shown
        mode = None
        if resume:
            if options or change or space or end is not None:
                raise ValueError("run: --resume continues with the options of the run; give no others")
            from chasles.io.result.reader import read
            from chasles.io.result.resume import resume as go_on

            functions = laws_in(law)
            if functions:  # a file may have more of them
                named = {one["name"] for one in read(Path(model).resolve()).header["laws"]}
                functions = {name: function for name, function in functions.items() if name in named}
            wanted = [lambda: go_on(model, laws=functions or None, progress=progress)]
            runs, interrupted = carried_out(wanted, Path(model))
            names = [model]
        else:
            study = find_study(model, change, law)
            mode = study.initial.get("mode")
            if end is not None:
                options["span"] = (study.options.get("span", (0.0, 0.0))[0], seconds("--end", end))
            if output is not None and len(space or ()) > 1:
                raise ValueError("run: --output is for one run; give one --space")
            chosen: list[dict[str, Any]] = [{"space": one} for one in space or ()] or [{}]
            wanted = [partial(study.run, **options, **one, progress=progress) for one in chosen]
            runs, interrupted = carried_out(wanted, output)
            names = (space or [options.get("coordinates", study.options.get("coordinates", "relative"))])[: len(runs)]
        kept = f", and in {output or model}" if output or resume else "; with -o FILE it could have been continued"
        certificates = judged(json_output, runs, interrupted and certificate, kept)
    if json_output:
        rows = [summary(name, found) for name, found in zip(names, runs, strict=True)]
        print(json.dumps({"model": runs[0].mechanism.system.name, "runs": rows}, indent=2))
    else:
        for found, verdict in zip(runs, certificates, strict=True):
            told = {f"changed by assembly, {change}" for change in found.start_changes if not change.given}
            for line in (
                *(line for line in str(found).split("\n") if line not in told),
                *start_lines(found.task, mode),
            ):
                say(line)
            for line in left_limits(found):
                say(line)
            if certificate or found.success:  # else there is nothing to say
                say(str(verdict) if found.success else str(verdict).replace(f": {found.message}", ""))  # said above
        if len(runs) > 1:
            from rich.console import Console

            Console().print(comparison(names, runs))
    if interrupted:
        print(f"interrupted; what was computed is above{kept}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    if not all(found.success for found in runs):
        sys.exit(ENDED_EARLY)
    if certificate and not all(verdict.passed for verdict in certificates):
        sys.exit(NOT_PASSED)


def seconds(option: str, text: str | None) -> float | None:
    """A time as it is given on the command line, [s] or with a unit."""
    from chasles.io.values import Reader

    if text is None:
        return None
    try:
        return Reader({}, {}).number(text, ("s",))
    except ValueError as error:
        raise ValueError(f"{option} {error}") from None


def start_lines(task: Any, mode: int | None = None) -> list[str]:
    """The start that was taken, in joint coordinates, and the assembly mode that was asked for. Of joints in rods only
    what was given."""
    from chasles.model.rod_parts import own_parts

    joints = task.dynamics.mechanism.system.joints
    inside = {joint.name for joint in joints} - {joint.name for joint in own_parts(joints)}
    values = [one for one in task.start_values if one.joint not in inside or "given" in (one.q_from, one.v_from)]
    lines = [] if mode is None else [f"start in assembly mode {mode}; chasles check lists all"]
    lines += [f"initial {value}" for value in values[:LISTED]]
    return [*lines, f"... and {len(values) - LISTED} more joints"] if len(values) > LISTED else lines


def left_limits(found: Any) -> list[str]:
    """Of each joint that went beyond limits which nothing enforces, when first and how far."""
    import numpy as np

    told = []
    for joint in found.moving_joints:
        limits = np.array([joint.lower, joint.upper])
        enforced = joint.stop_stiffness or joint.restitution is not None
        if joint.nq != joint.nv or enforced or not np.isfinite(limits).any():
            continue
        q = found.joint(joint.name).q
        beyond = np.maximum(q - limits[1], limits[0] - q)
        rounding = CLOSE * np.where(np.isfinite(limits), np.abs(limits), 0.0).max()
        if not (rows := np.flatnonzero((beyond > rounding).any(axis=1))).size:
            continue
        at, k = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
        low, high = limits[:, k]
        told.append(
            f"joint {joint.name!r} left its limits {low:.6g} to {high:.6g} {joint.coordinate_units[k]} at t = "
            f"{found.t[rows[0]]:.6g} s and came to {q[at, k]:.6g}; limits are data only: make them stops with "
            "stop_stiffness and stop_damping, or rigid with restitution"
        )
    return [*told[:LISTED], *([f"... and {len(told) - LISTED} more joints"] if len(told) > LISTED else [])]


def judged(json_output: bool, runs: list[Any], interrupted: bool, kept: str) -> list[Any]:
    """The certificates of runs; Ctrl-C goes without them: the runs are shown, and that is all."""
    try:
        if interrupted:
            points = sum(len(found) for found in runs)
            print(f"left to do: the certificate of {points} saved times; Ctrl-C skips it", file=sys.stderr)
        return [found.certificate for found in runs]
    except KeyboardInterrupt:
        for found in runs:
            say(str(found), error=json_output)
        print(f"interrupted, without a certificate; what was computed is above{kept}", file=sys.stderr)
        sys.exit(INTERRUPTED)


def summary(name: str, found: Any) -> dict[str, Any]:
    """A run in numbers."""
    solution, start, drift = found.solution, found.part(slice(0, 1)).energies, 0.0
    for part in found.parts():
        drift = max(drift, float(abs(part.energies.balance - start.balance[0]).max()))
    return {
        "name": name,
        "success": found.success,
        "message": found.message,
        "steps": solution.steps,
        "rejected": solution.rejections,
        "seconds": solution.seconds,
        "end": float(found.t[-1]),
        "kinetic_energy_at_start": float(start.kinetic[0]),
        "energy_drift": drift,
        "start": {value.joint: value._asdict() for value in found.task.start_values},
        "start_changes": [change._asdict() for change in found.start_changes],
        "violations": violations(found),
        "certificate": {
            "passed": found.certificate.passed,
            "status": found.certificate.status,
            "reason": found.certificate.reason,
            "horizon": found.certificate.horizon if found.certificate.horizon == found.certificate.horizon else None,
            "advice": list(found.certificate.advice),
            "findings": {f.name: f.value if f.value == f.value else None for f in found.certificate.findings},
            "tolerances": {f.name: f.tolerance for f in found.certificate.findings},
        },
    }


def violations(found: Any) -> dict[str, float]:
    """Largest violation of each joint and constraint in position, if the run has any."""
    import numpy as np

    largest = np.max([part.violations.position.max(axis=0) for part in found.parts()], axis=0)
    return dict(zip(found.constraints, map(float, largest), strict=True))


def comparison(names: list[str], runs: list[Any]) -> Table:
    """Runs side by side."""
    from rich.markup import escape
    from rich.table import Table

    rows = [summary(name, found) for name, found in zip(names, runs, strict=True)]
    joints = list(rows[0]["violations"])
    table = Table()
    table.add_column("space")
    for column in (*(f"drift of {joint}" for joint in joints[:6]), "energy drift [J]", "time a step"):
        table.add_column(escape(column), justify="right")
    for row in rows:
        table.add_row(
            row["name"],
            *(f"{row['violations'][joint]:.3e}" for joint in joints[:6]),
            f"{row['energy_drift']:.3e}",
            f"{row['seconds'] / max(row['steps'], 1) * 1e6:.2f} us",
        )
    return table


def carried_out(wanted: list[Callable[[], Any]], file: Path | None = None) -> tuple[list[Any], bool]:
    """Runs one after the other, and whether Ctrl-C ended one: then it is the last, as far as it came. file: where the
    run is kept, if Ctrl-C comes before or after the steps."""
    from chasles.integrate.stepper import LOG, Interrupted

    runs: list[Any] = []
    said = logging.StreamHandler()  # at once, while energies and certificate follow
    said.addFilter(lambda record: record.levelno == logging.INFO and not sys.stderr.isatty())
    said.addFilter(lambda record: "interrupted at t = " not in record.getMessage())  # which the progress line says
    before = LOG.level
    LOG.addHandler(said)
    LOG.setLevel(logging.INFO)
    try:
        for one in wanted:
            runs.append(one())
    except Interrupted as interrupted:
        return [*runs, interrupted.result], True
    except KeyboardInterrupt:
        if file is None or not file.exists():
            raise
        print(f"interrupted; what was computed so far is in {file}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        LOG.removeHandler(said)
        LOG.setLevel(before)
    return runs, False
