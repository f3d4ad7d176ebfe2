"""Measured numbers in the documentation come from a command that writes them."""

import re

import pytest

from benchmarks import figures, page

PAGES = sorted(path for path in page.DOCS.rglob("*.md") if "_build" not in path.parts)
MEASURED = re.compile(r"<!-- measured: (\w+) -->\n(.+?)\n<!-- end -->", re.DOTALL)
TIME = re.compile(r"\d (µs|ns)\b|\d (s|ms) of processor time")


def test_every_measured_part_is_written_by_a_function():
    """And each function has its place, once, on its own page."""
    places = {name: [] for name in figures.FIGURES}
    for path in PAGES:
        for name, _ in MEASURED.findall(path.read_text(encoding="utf-8")):
            places[name].append(path.relative_to(page.DOCS).as_posix())
    assert places == {name: [document] for name, (document, _, _) in figures.FIGURES.items()}


@pytest.mark.parametrize("folder", [".", "learn"])
def test_no_time_is_written_by_hand(folder):
    for path in sorted((page.DOCS / folder).glob("*.md")):
        text = MEASURED.sub("", path.read_text(encoding="utf-8"))
        assert not [line for line in text.splitlines() if TIME.search(line)], path.name


def test_a_part_is_replaced_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "DOCS", tmp_path)
    file = tmp_path / "x.md"
    file.write_text("a\n<!-- measured: one -->\nold\n<!-- end -->\nb\n<!-- measured: two -->\nold\n<!-- end -->\n")
    page.fill("x.md", "one", "new\nlines")
    assert file.read_text() == (
        "a\n<!-- measured: one -->\nnew\nlines\n<!-- end -->\nb\n<!-- measured: two -->\nold\n<!-- end -->\n"
    )


@pytest.mark.parametrize(("seconds", "text"), [(3.04, "3 s"), (0.0231, "23 ms"), (2.2e-4, "220 µs"), (8e-7, "0.8 µs")])
def test_times_have_two_digits(seconds, text):
    assert figures.short(seconds) == text
