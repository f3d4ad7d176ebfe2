"""The report of a whole study: one HTML file that opens without a network."""

from __future__ import annotations

import base64
import html
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chasles.display import style
from chasles.display.html import visible
from chasles.ensembles.plot import default_names, plot
from chasles.ensembles.result import QUANTILES, Ensemble
from chasles.view.page_html import digest, read

LISTED = 60  # rows of a table; longer ones are cut, and say so
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
        "To do it again": f"<pre>{_text(json.dumps(dict(study.title), indent=1, default=str))}</pre>",
    }
    text = page(f"Study of {name}", parts)
    if path is not None:
        style.put(text.encode(), path)
    return text


def page(title: str, parts: Mapping[str, str]) -> str:
    """A page with a title and sections by their heads, in HTML; empty ones are left out."""
    body = f"<h1>{_text(title)}</h1>"
    body += "".join(f"<section><h2>{head}</h2>{part}</section>" for head, part in parts.items() if part)
    sheet = read("report.css")
    policy = f"default-src 'none'; style-src '{digest(sheet)}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{sheet}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _members(study: Ensemble) -> str:
    counts = Counter(study.status.tolist())
    rows = [(status, str(count), f"{100 * count / len(study):.3g} %") for status, count in counts.most_common()]
    design = study.title.get("design", f"{len(study)} members")
    return f"<p>{_text(design)}</p>{table(('status', 'members', ''), rows, (1, 2))}"


def _parameters(study: Ensemble) -> str:
    rows = []
    for name, given in study.parameters.items():
        values = np.asarray(given)
        span = ("a rotation", "") if values.ndim > 1 else (_number(values.min()), _number(values.max()))
        rows.append((name, str(len(np.unique(values, axis=0))), *span))
    return table(("parameter", "different values", "from", "to"), rows, (1, 2, 3))


def _quantities(study: Ensemble) -> str:
    rows = []
    for name in default_names(study, None):
        values = study[name]
        if name.startswith("series(") or not np.isfinite(values).any():
            continue
        found = study.statistics(name)
        for k in range(found.mean.size):
            label = name if found.mean.size == 1 else f"{name} {(study.labels.get(name) or range(1, 10**6))[k]}"
            columns = (found.mean, found.standard_error, found.deviation, found.least, found.quantiles[MEDIAN])
            numbers = (_number(np.ravel(one)[k]) for one in (*columns, found.largest))
            rows.append((label, str(found.members), *numbers))
    head = ("quantity", "members", "mean", "standard error", "deviation", "least", "median", "largest")
    return table(head, rows, tuple(range(1, 8)))


def _sensitivity(study: Ensemble) -> str:
    if study.title.get("kind") != "saltelli":
        return ""
    names = [name for name in default_names(study, None) if study[name].ndim == 1 and np.isfinite(study[name]).all()]
    return "".join(f"<h3>{_text(name)}</h3><pre>{_text(study.sobol(name))}</pre>" for name in names)


def _figures(study: Ensemble) -> str:
    names = [name for name in default_names(study, FIGURES) if np.isfinite(study[name]).any()]
    found = []
    for name in names:
        buffer = io.BytesIO()
        plot(study, name).savefig(buffer, format="png", dpi=110)
        data = base64.b64encode(buffer.getvalue()).decode()
        found.append(f'<figure><img alt="{_text(name)}" src="data:image/png;base64,{data}"></figure>')
    return "".join(found)


def _failures(study: Ensemble) -> str:
    rows = [
        (str(i), study.status[i], ", ".join(f"{key} = {value}" for key, value in study.values(int(i)).items()), said)
        for i in study.failed.tolist()
        for said in [study.messages[i]]
    ]
    return table(("member", "status", "parameters", "message"), rows, (0,))


def _text(given: Any) -> str:
    return html.escape(visible(str(given)), quote=True)


def _number(value: float) -> str:
    return f"{value:.6g}"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[int]) -> str:
    """A table in HTML; columns of `numbers` are aligned to the right. Long ones are cut."""
    if not rows:
        return ""
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    lines = [
        "".join(f"<td{' class=number' if k in numbers else ''}>{_text(x)}</td>" for k, x in enumerate(row))
        for row in rows[:LISTED]
    ]
    rest = f'<p class="soft">and {len(rows) - LISTED} more</p>' if len(rows) > LISTED else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>{rest}'
