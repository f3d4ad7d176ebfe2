"""Run the tutorials of `docs/learn`: write what they print under their code, their pictures, and a notebook of each.

python -m tools.tutorials [NAME ...]

A page is executed in an empty folder. The pictures that it writes there go to `docs/_static/learn`; what a block prints
stands in a `text` block behind it. The notebooks (`docs/learn/notebooks`) have the same cells, with the output.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "learn"
PICTURES = ROOT / "docs" / "_static" / "learn"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
PICTURE = re.compile(r"^!\[(.*?)\]\(\.\./_static/learn/(.*?)\)\n*", re.MULTILINE)


def execute(page: str, folder: Path) -> list[str]:
    """What each block of a page prints, executed in a folder."""
    scope: dict[str, Any] = {}
    printed: list[str] = []
    before = Path.cwd()
    os.chdir(folder)
    try:
        for code, _ in BLOCK.findall(page):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, "<tutorial>", "exec"), scope)
            printed.append(out.getvalue())
    finally:
        os.chdir(before)
    return printed


def with_output(page: str, printed: list[str]) -> str:
    """The page with what its blocks print behind them."""
    outputs = iter(printed)

    def written(found: re.Match[str]) -> str:
        text = next(outputs)
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{text.rstrip()}\n```\n" if text else "")

    return BLOCK.sub(written, page)


def notebook(page: str, printed: list[str]) -> dict[str, Any]:
    """The page as a Jupyter notebook, executed."""
    cells: list[dict[str, Any]] = []

    def text(source: str) -> None:
        source = PICTURE.sub("", source).strip()  # a notebook shows its own pictures
        if source:
            cells.append(_cell("markdown", source))

    at = 0
    for number, (found, out) in enumerate(zip(BLOCK.finditer(page), printed, strict=True)):
        text(page[at : found.start()])
        output = [{"output_type": "stream", "name": "stdout", "text": out.splitlines(keepends=True)}] if out else []
        cells.append(_cell("code", found[1].rstrip(), execution_count=number + 1, outputs=output))
        at = found.end()
    text(page[at:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, source: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), **more}


def main(names: list[str]) -> None:
    PICTURES.mkdir(exist_ok=True)
    (PAGES / "notebooks").mkdir(exist_ok=True)
    for file in sorted(PAGES.glob("*.md")):
        if file.stem == "index" or (names and file.stem not in names):
            continue
        page = file.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            printed = execute(page, Path(folder))
            for picture in (*Path(folder).glob("*.png"), *Path(folder).glob("*.gif")):
                shutil.copy(picture, PICTURES / picture.name)
        page = with_output(page, printed)
        file.write_text(page, encoding="utf-8")
        made = json.dumps(notebook(page, printed), indent=1, ensure_ascii=False) + "\n"
        (PAGES / "notebooks" / f"{file.stem}.ipynb").write_text(made, encoding="utf-8")
        print(file.stem)


if __name__ == "__main__":
    main(sys.argv[1:])
