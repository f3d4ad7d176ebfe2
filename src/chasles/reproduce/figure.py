"""A reproduced figure: its data, what the paper says of it, and how it is drawn and saved."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Columns = Mapping[str, np.ndarray]  # equally long, by name with unit


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and the number that tests it.

    `says` is the statement, `quantity` what is measured, `measured` its value. The statement holds if the value lies
    between `low` and `high`. `note` says why it differs, or on which choice the comparison rests.
    """

    says: str
    quantity: str
    measured: float
    low: float = -np.inf
    high: float = np.inf
    note: str = ""

    @property
    def agrees(self) -> bool:
        return bool(self.low <= self.measured <= self.high)

    @property
    def accepted(self) -> str:
        """The range in words."""
        low, high = np.isfinite(self.low), np.isfinite(self.high)
        if low and high:
            return f"{self.low:.4g} to {self.high:.4g}"
        return f"at least {self.low:.4g}" if low else f"at most {self.high:.4g}"


@dataclass(frozen=True)
class Figure:
    """A figure of a paper. `data` has one or more tables of numbers; `draw` draws them on an empty canvas."""

    number: int
    title: str
    data: Mapping[str, Columns]
    claims: Sequence[Claim]
    draw: Callable[[Canvas], None]
    size: tuple[float, float] = (7.0, 4.2)  # inches


def save(figure: Figure, folder: Path, paper: str) -> list[Path]:
    """Write the picture, a CSV file for each table and a JSON file with the claims; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"figure_{figure.number:02d}"
    files = {stem.with_name(f"{stem.name}_{name}.csv"): _csv(columns) for name, columns in figure.data.items()}
    files[stem.with_suffix(".json")] = _json(figure, paper)
    files = {stem.with_suffix(".png"): _png(figure)} | files
    for path, content in files.items():
        part = path.with_name(path.name + ".part")
        part.write_bytes(content)
        part.replace(path)  # a reader sees the old file or the new one, never half of it
    return list(files)


def _png(figure: Figure) -> bytes:
    from chasles.display.style import drawing

    buffer = io.BytesIO()
    with drawing():
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=figure.size, dpi=150, layout="constrained")
        figure.draw(canvas)
        canvas.savefig(buffer, format="png")
    return buffer.getvalue()


def _csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([x if isinstance(x, str) else f"{x:.17g}" for x in row])
    return text.getvalue().encode()


def _json(figure: Figure, paper: str) -> bytes:
    def number(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    claims = [
        {
            "paper says": c.says,
            "we measure": c.quantity,
            "measured": number(c.measured),
            "accepted": [number(c.low), number(c.high)],
            "agrees": c.agrees,
            "note": c.note,
        }
        for c in figure.claims
    ]
    content = {"paper": paper, "figure": figure.number, "title": figure.title, "claims": claims}
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()


def table(figures: Sequence[Figure]) -> Table:
    """Figure, what the paper says, what we measure, whether they agree. Notes have numbers; `notes` lists them."""
    result = Table()
    result.add_column("figure", justify="right")
    for title in ("paper says", "we measure", "accepted", "agrees?"):
        result.add_column(title, overflow="fold")
    numbers = notes(figures)
    for figure in figures:
        for k, claim in enumerate(figure.claims):
            last = k == len(figure.claims) - 1
            measured = f"{escape(claim.quantity)}: [bold]{claim.measured:.3g}[/bold]"
            verdict = "[green]yes[/green]" if claim.agrees else "[red]no[/red]"
            mark = f" ({numbers[claim.note]})" if claim.note else ""
            result.add_row(
                *(str(figure.number), escape(claim.says), measured, claim.accepted, verdict + mark), end_section=last
            )
    return result


def notes(figures: Sequence[Figure]) -> dict[str, int]:
    """The notes of the claims, each once, with its number."""
    texts = dict.fromkeys(claim.note for figure in figures for claim in figure.claims if claim.note)
    return {text: k for k, text in enumerate(texts, 1)}
