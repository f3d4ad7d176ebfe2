"""Search of sections: the search page lists the sections that match, with their text, also when opened from a file.

Sphinx finds pages, and reads their text over the network for excerpts, which a browser refuses for files. So the text
of all sections is written as a script beside the pages.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from docutils import nodes

LEFT_OUT = ("api/chasles.", "decisions/", "benchmarks/", "reproduce", "corrections", "validation")  # for experts
LEFT_OUT += ("questions/index",)  # lists what the other pages of the folder have
LONGEST = 1500  # characters of a section


def sections(docname: str, document: nodes.document) -> list[tuple[str, str, str, str]]:
    """Address, title of the page, heading and text of each section, without those below it."""
    found = []
    page = next((node.astext() for node in document.findall(nodes.title)), docname)
    for section in document.findall(nodes.section):
        heading = section[section.first_child_matching_class(nodes.title) or 0].astext()
        own = [child for child in section.children if not isinstance(child, nodes.section | nodes.title)]
        text = " ".join(" ".join(child.astext().split()) for child in own if not isinstance(child, nodes.raw))
        anchor = "" if heading == page else f"#{section['ids'][0]}"
        found.append((f"{docname}.html{anchor}", page, heading, text[:LONGEST]))
    return found


def terms(docname: str, document: nodes.document) -> list[tuple[str, str, str, str]]:
    """The same of each term of the glossary, which browsers find by its text."""
    found = []
    for item in document.findall(nodes.definition_list_item):
        term, meaning = (" ".join(child.astext().split()) for child in (item[0], item[-1]))
        found.append((f"{docname}.html#:~:text={quote(term, safe='')}", "Glossary", term, meaning))
    return found


def write(app, failure: Exception | None) -> None:
    if failure or app.builder.format != "html" or not app.builder.search:
        return
    names = sorted(name for name in app.env.found_docs if not name.startswith(LEFT_OUT))
    found = [section for name in names for section in sections(name, app.env.get_doctree(name))]
    found += terms("glossary", app.env.get_doctree("glossary"))
    text = f"const SECTIONS = {json.dumps(found, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / "sections.js").write_text(text, encoding="utf-8")


def add_scripts(app, pagename: str, *_) -> None:
    if pagename == "search":
        app.add_js_file("sections.js")
        app.add_js_file("section_search.js")


def setup(app) -> dict:
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
