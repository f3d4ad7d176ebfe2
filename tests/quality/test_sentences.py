"""Sentences are short: no page, no docstring of the reference and no help text has one above 30 words."""

import ast
import re
from pathlib import Path

import pytest

from tests.quality.prose import sentences, too_long, words
from tests.quality.sources import PACKAGE, tree

ROOT = Path(__file__).parents[2]
GENERATED = {"_build", "api"}


def pages():
    for path in [*ROOT.glob("*.md"), ROOT / "llms.txt", *(ROOT / "docs").rglob("*.md")]:
        if not GENERATED & set(path.parts) and path.name != "CHANGELOG.md":
            yield path


def reference_modules():
    """The modules of the reference, and the commands."""
    text = (ROOT / "docs" / "_ext" / "api_pages.py").read_text()
    source = next(ast.unparse(node) for node in ast.parse(text).body if ast.unparse(node).startswith("MODULES ="))
    scope: dict = {}
    exec(source, scope)
    for package, names in scope["MODULES"].items():
        yield from (PACKAGE / Path(*package.split(".")[1:]) / f"{name}.py" for name in names)
    yield from (PACKAGE / "cli").glob("*.py")


def documented(path):
    """Docstrings that the reference or a help text shows."""
    found = [tree(path), *(node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef | ast.FunctionDef))]
    for node in found:
        name = getattr(node, "name", path.stem)
        if not name.startswith("_") and (text := ast.get_docstring(node)):
            yield name, text


def test_pages_have_short_sentences():
    assert [f"{path.relative_to(ROOT)}: {one}" for path in pages() for one in too_long(path.read_text())] == []


def test_the_reference_and_help_texts_have_short_sentences():
    found = []
    for path in reference_modules():
        for name, text in documented(path):
            plain = re.sub(r"^ {4,}.*$|^\s*chasles .*$", "", text, flags=re.MULTILINE)  # formulas, commands
            found += [f"{path.relative_to(PACKAGE)}, {name}: {one}" for one in too_long(plain)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One two three. Four five!", [3, 2]),
        ("- one `a b c` two\n- three $x + y$\n\n```python\ncode = 1\n```\n", [3, 2]),
        ("| a b | c |\n|---|---|\n| [d e](f.md) | g. h |", [2, 1, 2, 1, 1]),
    ],
)
def test_words_are_counted(text, count):
    assert [words(one) for one in sentences(text) if words(one)] == count
    assert too_long("word " * 31)
    assert not too_long("word " * 30)
