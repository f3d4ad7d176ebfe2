"""Model files, 3D pages and plots of the validation board, with links from its page: with `-D gallery_pages=1`."""

from __future__ import annotations

import re
from pathlib import Path

from chasles.validation.board import compute, problems
from chasles.validation.files import write_files

PAGE = "validation"
NAME = re.compile(r"^`(\w+)`, [\d.]+ s\. .*$", re.MULTILINE)
WORDS = {".toml": "model file", ".html": "3D page", ".png": "plot", ".py": "laws"}


def make_files(app) -> None:
    """Compute every problem once, and remember which files it has."""
    app.env_files = {}
    if app.config.gallery_pages:
        for result in compute(list(problems().values())):
            app.env_files[result.problem.name] = write_files(result.problem, Path(app.outdir) / PAGE)


def add_links(app, docname: str, source: list[str]) -> None:
    if docname == PAGE:
        source[0] = NAME.sub(lambda found: f"{found[0]}\n{_links(app.env_files.get(found[1], []))}", source[0])


def _links(files: list[Path]) -> str:
    return " · ".join(f'<a href="{PAGE}/{file.name}">{WORDS[file.suffix]}</a>' for file in files)


def setup(app):
    app.connect("builder-inited", make_files)
    app.connect("source-read", add_links)
    return {"parallel_read_safe": True}
