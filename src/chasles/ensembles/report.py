"""The report of a whole study: one HTML file that opens without a network."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np

from chasles.display import style
from chasles.ensembles.plot import default_names, plot
from chasles.ensembles.result import QUANTILES, Ensemble, plain
from chasles.view.report_html import escaped, png_figure, report_table, rounded, titled_page

FIGURES = 12  # quantities that are drawn
MEDIAN = QUANTILES.index(0.5)


def report(study: Ensemble, file: str | Path | None = None) -> str:
    """The report of a study as HTML, written to a `file` if one is given."""
    path = None if file is None else style.with_ending(file, *style.PAGES)
    name = Path(str(study.title.get("model", "study"))).name
    parts = {
        "Members": _members(study),
        "Parameters": _parameters(study),
        "Quantities": _quantities(study),
        "Sensitivity": _sensitivity(study),
        "Figures": _figures(study),
        "Members without a result": _failures(study),
        "Reproduce this study": f"<pre>{escaped(json.dumps(dict(study.title), indent=1, default=str))}</pre>",
    }
    text = titled_page(f"Study of {name}", parts)
    if path is not None:
        style.put(text.encode(), path)
    return text


def _members(study: Ensemble) -> str:
    counts = Counter(study.status.tolist())
    rows = [(status, str(count), f"{100 * count / len(study):.3g} %") for status, count in counts.most_common()]
    design = study.title.get("design", f"{len(study)} members")
    return f"<p>{escaped(design)}</p>{report_table(('status', 'members', ''), rows, (1, 2))}"


def _parameters(study: Ensemble) -> str:
    rows = []
    for name, given in study.parameters.items():
        values = np.asarray(given)
        span = ("a rotation", "") if values.ndim > 1 else (rounded(values.min()), rounded(values.max()))
        rows.append((name, str(len(np.unique(values, axis=0))), *span))
    return report_table(("parameter", "different values", "from", "to"), rows, (1, 2, 3))


def _quantities(study: Ensemble) -> str:
    rows = []
    for name in default_names(study, None):
        values = study[name]
        if name.startswith("series(") or not np.isfinite(values).any():
            continue
        found = study.statistics(name)
        for k in range(found.mean.size):
            label = name if found.mean.size == 1 else f"{name} {(study.labels.get(name) or range(1, 10**6))[k]}"
            label += f" [{unit}]" if (unit := study.units.get(name)) else ""
            columns = (found.mean, found.standard_error, found.deviation, found.least, found.quantiles[MEDIAN])
            numbers = (rounded(np.ravel(one)[k]) for one in (*columns, found.largest))
            rows.append((label, str(found.members), *numbers))
    head = ("quantity", "members", "mean", "standard error", "deviation", "least", "median", "largest")
    return report_table(head, rows, tuple(range(1, 8)))


def _sensitivity(study: Ensemble) -> str:
    if study.title.get("kind") != "saltelli":
        return ""
    names = [name for name in default_names(study, None) if study[name].ndim == 1]
    return "".join(f"<h3>{escaped(name)}</h3><pre>{escaped(_indices(study, name))}</pre>" for name in names)


def _indices(study: Ensemble, name: str) -> str:
    """The indices of a quantity, or why it has none."""
    try:
        return str(study.sobol(name))
    except ValueError as error:
        return str(error)


def _figures(study: Ensemble) -> str:
    names = [name for name in default_names(study, FIGURES) if np.isfinite(study[name]).any()]
    return "".join(png_figure(plot(study, name), name) for name in names)


def _failures(study: Ensemble) -> str:
    columns = {name: np.asarray(values) for name, values in study.parameters.items()}  # read once
    rows = [
        (str(i), study.status[i], ", ".join(f"{key} = {plain(x[i])}" for key, x in columns.items()), study.messages[i])
        for i in study.failed.tolist()
    ]
    return report_table(("member", "status", "parameters", "message"), rows, (0,))
