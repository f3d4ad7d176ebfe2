"""The 3D page of one run or of several: one HTML file that needs nothing else, no network and no server."""

from __future__ import annotations

import html
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from chasles.display import style
from chasles.simulation.run import Run
from chasles.view.page_data import run_data
from chasles.view.page_html import page_data, page_text


class Page:
    """The page of runs. `html` is its text, `save` writes it; in a notebook it appears inline."""

    def __init__(self, *runs: Any, labels: tuple[str, ...] = (), study: dict[str, Any] | None = None):
        """study: that whose members the runs are, for its plot; then one of them is shown, and the others as ghosts."""
        if not runs:
            raise ValueError("show: no run is given; expected one, or two to compare")
        for run in runs:
            if not isinstance(run, Run):
                raise ValueError(f"show: {run!r} is not a run; expected what `simulate` or `open` gives")
        if labels and len(labels) != len(runs):
            raise ValueError(f"show: {len(labels)} labels for {len(runs)} runs")
        named = labels or ("",) * len(runs)
        self.data = page_data([run_data(run, label) for run, label in zip(runs, named, strict=True)])
        if study is not None:
            self.data["study"] = study

    @property
    def html(self) -> str:
        return page_text(self.data)

    def save(self, file: str | Path) -> None:
        """Write the page; the name of the file ends in .html."""
        style.put(self.html.encode(), style.with_ending(file, *style.PAGES))

    def open(self) -> Path:
        """Write the page to a temporary file, open it in the browser, and say where it is."""
        with tempfile.NamedTemporaryFile(
            "w", suffix=".html", prefix="chasles-", delete=False, encoding="utf-8"
        ) as file:
            file.write(self.html)
        path = Path(file.name)
        opened = webbrowser.open(path.as_uri())
        print(f"opened {path} in the browser" if opened else f"no browser could be opened; the page is {path}")
        return path

    def _repr_html_(self) -> str:
        text = html.escape(self.html, quote=True)
        style = "width:100%;height:640px;border:1px solid #8884;border-radius:8px"
        return f'<iframe title="3D page of a run" style="{style}" sandbox="allow-scripts" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"<3D page of {', '.join(run['name'] for run in self.data['runs'])}>"


def show(*runs: Any, labels: tuple[str, ...] = ()) -> None:
    """Show runs in 3D: one, or two side by side. In a notebook the page appears inline, else in the browser.

    `labels` are the headings of the runs; without them the space, the method and the step.
    """
    page = Page(*runs, labels=labels)
    if in_notebook():
        sys.modules["IPython"].display.display(page)
        return
    page.open()


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def save_page(run: Any, file: str | Path) -> None:
    """Write the page of a run."""
    Page(run).save(file)
