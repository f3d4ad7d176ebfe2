"""Write the gallery page: a card for each model file, with its moving picture, the file and its 3D page.

The 3D pages take a second each; they are made with `-D gallery_pages=1`, and else the card has the command instead.
"""

from __future__ import annotations

import html
import shutil
import tomllib
import warnings
from pathlib import Path

from chasles.gallery import IN_PYTHON_ONLY, model_files

FOLDER = "gallery"  # of model files and 3D pages, beside the page


def _card(name: str, file: Path, pages: bool) -> list[str]:
    told = tomllib.loads(file.read_text(encoding="utf-8")).get("description", "")
    text = html.escape(str(told))
    link = f'<a href="{FOLDER}/{name}.html">3D page</a>' if pages else f"<code>chasles view {name}</code>"
    return [
        f'<div class="card" id="{name}">',
        f'<img src="_static/gallery/{name}.gif" alt="{text}" width="256" height="180" loading="lazy">',
        f"<h3>{name}</h3><p>{text}</p>",
        f'<p><a href="{FOLDER}/{name}.toml">model file</a> · {link}</p></div>',
    ]


def page(pages: bool) -> str:
    lines = [
        "---",
        "hide-toc: true",
        "---",
        "# Gallery",
        "",
        "Every system is a model file that comes with chasles.",
        "`chasles run NAME` simulates it, `chasles view NAME` opens its 3D page, `chasles init NAME` copies the file.",
        'In Python: `ch.load("excavator").run()`.',
        "",
        '<div class="cards">',
        *(line for name, file in model_files().items() for line in _card(name, file, pages)),
        "</div>",
        "",
        "## In Python only",
        "",
        *(f"- `chasles.gallery.{name}`: {html.escape(what)}." for name, what in IN_PYTHON_ONLY.items()),
        "",
    ]
    return "\n".join(lines)


def write_page(app) -> None:
    file, text = Path(app.srcdir) / "gallery.md", page(app.config.gallery_pages)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def add_files(app, failure: Exception | None) -> None:
    """Put the model files, and the 3D pages if they are asked for, beside the page."""
    if failure is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name, file in model_files().items():
        shutil.copyfile(file, folder / file.name)
        if app.config.gallery_pages:
            from chasles.io.load import load

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load(file).run(progress=False).save(folder / f"{name}.html")


def setup(app):
    app.add_config_value("gallery_pages", False, "html", [bool])
    app.connect("builder-inited", write_page)
    app.connect("build-finished", add_files)
    return {"parallel_read_safe": True}
