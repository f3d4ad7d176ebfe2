"""`chasles fit`: unknown numbers of a model from measured data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from chasles.cli.model import Laws, Model, laws_in


def fit(
    model: Model,
    data: Annotated[list[Path], Parameter(help="CSV files, one for each experiment, with units in their headers.")],
    /,
    *,
    unknown: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help='Unknown to estimate: length, "length=0.1:2", or with a prior, "mass~normal(1, 0.1)"; repeatable.',
        ),
    ] = None,
    own: Annotated[
        list[str] | None,
        Parameter(negative=(), help="The same, but estimated for each experiment separately: initial.q.pivot."),
    ] = None,
    column: Annotated[
        list[str] | None,
        Parameter(negative=(), help="What a column measures: u=bodies.tip.position.x; repeatable."),
    ] = None,
    noise: Annotated[
        list[str] | None,
        Parameter(negative=(), help='Noise of a sensor: "bodies.tip.position=2 mm"; by default estimated.'),
    ] = None,
    delay: Annotated[
        list[str] | None,
        Parameter(negative=(), help='Delay of a sensor [s], or a range: "bodies.tip.position=0:50 ms".'),
    ] = None,
    bias: Annotated[
        list[str] | None, Parameter(negative=(), help="A sensor with an unknown constant error; repeatable.")
    ] = None,
    inputs: Annotated[
        str, Parameter(help='Columns "inputs.motor" are "held" from each row to the next, or "linear" between rows.')
    ] = "held",
    loss: Annotated[
        str, Parameter(help="linear; soft_l1, huber, cauchy and arctan are robust against outliers.")
    ] = "linear",
    span: Annotated[
        tuple[float, float] | None,
        Parameter(help="Start and end of the simulation [s]; by default from the model's start time to the last row."),
    ] = None,
    pieces: Annotated[
        float | None,
        Parameter(
            help="Cut each file into experiments of this length [s], each with its own unknown start: for unstable "
            'motions. Needs columns "joints.NAME".'
        ),
    ] = None,
    max_seconds: Annotated[
        float, Parameter(help="After this time, and at Ctrl-C, the best values so far are the result [s].")
    ] = 300.0,
    law: Laws = None,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Model file with the estimated values.")
    ] = None,
    picture: Annotated[Path | None, Parameter(help="Plot of measured and fitted data: .png, .pdf or .svg.")] = None,
    report: Annotated[Path | None, Parameter(help="Report (.html) of the fit.")] = None,
) -> None:
    """Estimate unknown parameters of a model from measured data, with confidence intervals.

    Name the columns of the data by what they measure: "joints.elbow [deg]", "bodies.hand.position.x [mm]". Examples:

        chasles fit pendulum.toml track.csv --unknown length=0.1:2 --unknown damping=0:1 -o fitted.toml
        chasles fit arm.toml one.csv two.csv --unknown bodies.link --own initial.q --picture fit.png
    """
    from chasles.fit.by_simulation import to_data
    from chasles.fit.cutting import pieces as cut
    from chasles.fit.problem import Experiment
    from chasles.gallery import find_model

    file = find_model(model)
    if output is not None and output.suffix.lower() != ".toml":
        raise ValueError(f"--output {output}: expected a name that ends in .toml")
    wanted, alone = _unknowns(unknown), _unknowns(own)
    if not wanted and not alone:
        raise ValueError("fit: there are no unknowns; name the parameters to estimate, --unknown length=0.1:2")
    sensors = _sensors(column, noise, delay, bias)
    if pieces is None:
        experiments = [Experiment(one, unknown=alone, inputs=inputs) for one in data]
    else:
        how: dict[str, Any] = {"unknown": alone, "inputs": inputs, "start": _start(file, span, laws_in(law))}
        experiments = [part for one in data for part in cut(one, pieces, **how)]
        span = None
    options: dict[str, Any] = {"max_seconds": max_seconds} | ({} if span is None else {"span": span})
    found = to_data(file, experiments, wanted, sensors=sensors, loss=loss, laws=laws_in(law) or None, **options)
    print(found)
    for path, write in ((output, found.save), (picture, lambda to: found.plot(file=to)), (report, found.report)):
        if path is not None:
            write(path)
            print(f"wrote {path}")


def _start(file: Path, span: tuple[float, float] | None, laws: Any) -> float:
    """When the model starts."""
    from chasles.io.load import load

    return float((span or load(file, laws=laws or None).options.get("span", (0.0,)))[0])


def _unknowns(given: list[str] | None) -> dict[str, Any]:
    """What is known of unknowns by name: "length", "length=0.1:2", "mass~normal(1, 0.1)", "m=0:2~normal(1, 0.1)"."""
    found: dict[str, Any] = {}
    for item in given or []:
        rest, _, prior = item.partition("~")
        name, _, bounds = rest.partition("=")
        if not name.strip():
            raise ValueError(f"--unknown {item}: expected a name, such as length or length=0.1:2")
        if name.strip() in found:
            raise ValueError(f"--unknown {item}: {name.strip()!r} is given twice; expected it once")
        found[name.strip()] = " ".join(part.strip() for part in (bounds, prior) if part.strip()) or None
    return found


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    found = {}
    for item in given or []:
        name, equals, value = item.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise ValueError(f"--{option} {item}: expected name=value")
        if name.strip() in found:
            raise ValueError(f"--{option} {item}: {name.strip()!r} is given twice; expected it once")
        found[name.strip()] = value.strip()
    return found


def _sensors(
    column: list[str] | None, noise: list[str] | None, delay: list[str] | None, bias: list[str] | None
) -> dict[str, Any]:
    """Sensors by what they measure."""
    from chasles.fit.sensor import MEASURED, Sensor, sensor_of

    columns: dict[str, dict[str, str]] = {}
    for name, what in _pairs("column", column).items():
        if name.partition(".")[0] in MEASURED and what.partition(".")[0] not in MEASURED:
            raise ValueError(f"--column {name}={what}: the column comes first; expected {what}={name}")
        quantity, component = sensor_of(what)
        columns.setdefault(quantity, {})[name] = component
    loud, late, biased = _pairs("noise", noise), _pairs("delay", delay), bias or []
    names = dict.fromkeys([*columns, *loud, *late, *biased])
    return {
        name: Sensor(
            columns=columns.get(name, {}),
            noise=_number(loud.get(name)),
            delay=_number(late.get(name)) or 0.0,
            bias=name in biased,
        )
        for name in names
    }


def _number(text: str | None) -> Any:
    """A number if it is one, or else the text, which may have a unit or be a range."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
