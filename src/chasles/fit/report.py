"""The report of a fit: one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chasles.display import style
from chasles.view.report_html import escaped, png_figure, report_table, titled_page


def report(fit: Any, file: str | Path | None = None) -> str:
    """The report of a fit as HTML, written to a `file` if one is given."""
    path = None if file is None else style.with_ending(file, *style.PAGES)
    parts = {
        "Values": _values(fit),
        "Unidentified parameters": _lines(fit.unidentified.splitlines()) or "<p>None: the data determines all.</p>",
        "Sensors": _sensors(fit),
        "Notes": _lines(fit.notes),
        "Correlation of the errors": _correlation(fit),
        "Measured and fitted": png_figure(fit.plot(), "measured and fitted"),
    }
    text = titled_page(f"Fit of {fit.study(0).system.name}", parts)
    if path is not None:
        style.put(text.encode(), path)
    return text


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"<p>{escaped(line)}</p>" for line in lines)


def _values(fit: Any) -> str:
    rows = []
    for k, name in enumerate(fit.names):
        low, high = fit.found.intervals()[k]
        known = np.isfinite(high)
        interval = f"{low:.6g} to {high:.6g}" if known else "not determined"
        deviation = f"{fit.found.deviations[k]:.3g}" if known else ""
        rows.append(
            (name, f"{fit.found.values[k]:.8g}", deviation, interval, "at its bound" * bool(fit.found.at_bound[k]))
        )
    return report_table(("unknown", "value", "standard deviation", "95 % interval", ""), rows, (1, 2, 3))


def _sensors(fit: Any) -> str:
    rows = []
    for i, trial in enumerate(fit.problem.trials):
        for channel, sigma, r in zip(trial.channels, fit.noise[i], fit.residuals[i], strict=True):
            given = "given" if channel.noise is not None else "estimated"
            rms = f"{np.sqrt(np.mean(r * r)):.4g}"
            rows.append((trial.name, channel.name, str(len(r)), rms, f"{sigma:.4g}", given, channel.unit))
    return report_table(("data", "sensor", "times", "residual, rms", "noise", "", "unit"), rows, (2, 3, 4))


def _correlation(fit: Any) -> str:
    known = [k for k in range(len(fit.names)) if np.isfinite(fit.found.deviations[k])]
    if not 1 < len(known) <= 40:
        return ""
    found = fit.correlation
    rows = [(fit.names[k], *(f"{found[k, j]:.2f}" for j in known)) for k in known]
    return report_table(("", *(fit.names[k] for k in known)), rows, tuple(range(1, len(known) + 1)))
