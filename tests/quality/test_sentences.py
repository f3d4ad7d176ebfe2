"""Sentences are short: no page has one above 30 words."""

from pathlib import Path

import pytest

from tests.quality.prose import sentences, too_long, words

ROOT = Path(__file__).parents[2]
GENERATED = {"_build", "api"}


def pages():
    for path in [*ROOT.glob("*.md"), ROOT / "llms.txt", *(ROOT / "docs").rglob("*.md")]:
        if not GENERATED & set(path.parts) and path.name != "CHANGELOG.md":
            yield path


def test_pages_have_short_sentences():
    assert [f"{path.relative_to(ROOT)}: {one}" for path in pages() for one in too_long(path.read_text())] == []


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
