"""Sphinx configuration. Build with: sphinx-build -W -b html docs docs/_build/html"""

import gc
import sys
from importlib import metadata
from pathlib import Path

from sphinx.builders.html import StandaloneHTMLBuilder

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

gc.set_threshold(50_000, 20, 20)  # pages stay to the end: looking for garbage in them takes a part of the time

project = "chasles"
author = "the chasles developers"
try:
    release = metadata.version("chasles")
except metadata.PackageNotFoundError:
    release = "0"

extensions = ["myst_parser", "mathml", "api_pages", "lookup_pages", "bibliography_page"]
extensions += ["gallery_page", "validation_files", "section_search"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
myst_update_mathjax = False
html_math_renderer = "mathml"

exclude_patterns = ["_build"]
language = "en"

html_theme = "furo"
html_title = f"chasles {release}"
html_static_path = ["_static"]
html_css_files = ["chasles.css"]
html_search_scorer = str(Path(__file__).parent / "_ext" / "search_order.js")
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
if tags.has("outline"):  # noqa: F821  what can be wrong in the written pages, in half of the time
    StandaloneHTMLBuilder.search = False
    exclude_patterns.append("api/chasles.*")  # one page has the names of all modules, without what is said of them
    smartquotes = False


def setup(app):
    """Answers to questions have several forms: a label tells which block of code is which."""
    app.connect(
        "html-page-context", lambda app, page, *_: page.startswith("questions/") and app.add_css_file("forms.css")
    )
