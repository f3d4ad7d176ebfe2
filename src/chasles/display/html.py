"""Models and results as people see them: aligned text, and HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

CELL = "text-align:left;padding:1px 10px 1px 0"
MOST = 40  # rows of a table in a notebook
# characters that change the direction of the text around them, or end a line
DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0x2028, 0x2029])


def visible(text: str) -> str:
    """A text in which nothing turns what stands around it: such characters are written as [U+202E]."""
    return text.translate({code: f"[U+{code:04X}]" for code in DIRECTIONS}) if not text.isascii() else text


def number(value: float) -> str:
    return f"{value:.4g}"


def numbers(values: Iterable[float]) -> str:
    return "(" + ", ".join(number(value) for value in values) + ")"


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Lines with aligned columns."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    return [
        indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def page(title: str, *parts: str) -> str:
    """A title with what is below it, for a notebook."""
    return f"<div><b>{html.escape(title)}</b>{''.join(parts)}</div>"


def lines(texts: Iterable[str]) -> str:
    """Lines of text for a notebook."""
    return "".join(f"<div>{html.escape(text)}</div>" for text in texts)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], colors: Sequence[str] | None = None) -> str:
    """A table for a notebook; `colors` are those of the text of its rows."""
    if not rows:
        return ""
    top = "".join(f'<th style="{CELL}">{html.escape(cell)}</th>' for cell in head)
    body = []
    for k, row in enumerate(rows[:MOST]):
        color = f";color:{colors[k]}" if colors and colors[k] else ""
        body.append("".join(f'<td style="{CELL}{color}">{html.escape(str(cell))}</td>' for cell in row))
    if len(rows) > MOST:
        body.append(f'<td style="{CELL}" colspan="{len(head)}">... and {len(rows) - MOST} more</td>')
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{row}</tr>' for row in body)}</table>"
