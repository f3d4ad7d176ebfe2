"""What reports of runs, studies and fits are written with: a page that opens without a network, tables and figures."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

from chasles.display.html import visible
from chasles.view.page_html import digest, read

LISTED = 60  # rows of a table; longer ones are cut, and say so


def report_page(title: str, body: str, *, motion: bool = False) -> str:
    """A whole page. Its policy lets nothing but its style run; with `motion` also what is in the 3D page, which
    inherits the policy."""
    sheet = read("report.css")
    styles, inside = f"'{digest(sheet)}'", ""
    if motion:
        styles += f" '{digest(read('page.css'))}'"
        inside = f"script-src '{digest(read('page.js'))}'; frame-src 'self'; "
    policy = f"default-src 'none'; {inside}style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{sheet}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def titled_page(title: str, parts: Mapping[str, str]) -> str:
    """A whole page with a title and sections by their heads; empty ones are left out."""
    return report_page(title, f"<h1>{escaped(title)}</h1>" + "".join(section(*part) for part in parts.items()))


def section(title: str, content: str) -> str:
    """A part of a report under its head; nothing if there is nothing to say."""
    return f"<section><h2>{title}</h2>{content}</section>" if content else ""


def escaped(given: Any) -> str:
    """Text that is text, whatever a model says."""
    return html.escape(visible(str(given)), quote=True)


def rounded(value: float) -> str:
    """A number with six digits."""
    return f"{value:.6g}"


def report_table(head: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    """A table; columns of `numbers` are aligned to the right. Without a head, rows begin with theirs. Long ones are
    cut."""
    if not rows:
        return ""
    named = [
        f'<th class="number">{escaped(x)}</th>' if k in numbers else f"<th>{escaped(x)}</th>"
        for k, x in enumerate(head)
    ]
    top = f"<thead><tr>{''.join(named)}</tr></thead>" if head else ""
    lines = []
    for row in rows[:LISTED]:
        cells = [
            f'<td class="number">{escaped(x)}</td>' if k in numbers else f"<td>{escaped(x)}</td>"
            for k, x in enumerate(row)
        ]
        if not head:
            cells[0] = f'<th scope="row">{escaped(row[0])}</th>'
        lines.append(f"<tr>{''.join(cells)}</tr>")
    rest = f'<p class="soft">and {len(rows) - LISTED} more</p>' if len(rows) > LISTED else ""
    return f'<div class="scroll"><table>{top}<tbody>{"".join(lines)}</tbody></table></div>{rest}'


def png_figure(figure: Any, description: str) -> str:
    """A figure of matplotlib as an image in the page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<figure><img alt="{escaped(description)}" src="data:image/png;base64,{data}"></figure>'
