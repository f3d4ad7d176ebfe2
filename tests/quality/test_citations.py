"""Every citation leads somewhere: keys of the bibliography in code, comments, docstrings, documentation and tests."""

import functools
import re
from pathlib import Path

import pytest

from chasles.bibliography import FILE, KEY, bibliography, reference
from chasles.reproduce import ALIASES

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "docs", "tests", "tools", "benchmarks", "examples")
# a number that stood for a paper: "000 eq. (3)", "source 004", test_003_31, gallery.source_000; Markdown has \_ too
MARK = re.compile(r"00[0-4]\b")  # looked for first: it is found in few files
NUMBER = re.compile(
    r"(?:\b[Ss]ource |\b[Pp]aper |test_|[a-z]\\?_)00[0-4]\b|(?<![\d.,_ ])\b00[0-4] (?:eqs?\.|\(|section|appendix|table)"
)
# "Arnold 2015", "Bennett (1903)"
PLAIN = re.compile(r"[A-Z][a-zé]+(?: and [A-Z][a-zü]+| et al\.)?,? \(?(?:19|20)\d\d\b")
# where old names are still understood
OLD_NAMES = ("src/chasles/reproduce/__init__.py", "src/chasles/gallery/__init__.py")
NO_CITATION = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October"}


@functools.cache
def texts() -> list[tuple[str, str]]:
    return list(read())


def read():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files = [path for path in files if path.suffix in {".py", ".md", ".toml"} and path != Path(__file__)]
    for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        if not {"_build", "api", "node_modules"} & set(path.parts):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_every_key_is_in_the_bibliography_and_every_entry_is_cited():
    cited = set()
    for name, text in texts():
        for key in set(KEY.findall(text)) - set(ALIASES):
            assert key in bibliography(), f"{name} cites {key}"
            cited.add(key)
    assert cited == set(bibliography())


def test_papers_have_no_numbers():
    for name, text in texts():
        if name not in OLD_NAMES and MARK.search(text):
            found = NUMBER.search(text)
            assert not found, f"{name}: {found}"


def test_papers_are_cited_by_key_in_the_code():
    for name, text in texts():
        if name.startswith("src/") and name.endswith(".py"):
            found = [one for one in PLAIN.findall(text) if one.split()[0].rstrip(",") not in NO_CITATION]
            assert not found, f"{name}: {found}"


def test_all_entries_are_read():
    assert len(bibliography()) == len(re.findall(r"^@", FILE.read_text(), re.MULTILINE))
    for key, entry in bibliography().items():
        assert {"author", "title", "year"} <= set(entry.fields), key
        assert key.endswith(entry.fields["year"])
        assert len(entry.fields) == sum(" = {" in line for line in block(key).splitlines()), key


def block(key):
    return FILE.read_text().partition(f"{{{key},")[2].partition("\n}")[0]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            "mueller2013",
            "A. Müller, Z. Terze, Is there an optimal choice of configuration space for Lie group integration schemes "
            "applied to constrained MBS? ASME International Design Engineering Technical Conferences, 2013.",
        ),
        (
            "bruels2010",
            "O. Brüls, A. Cardona, On the use of Lie group time integrators in multibody dynamics. Journal of "
            "Computational and Nonlinear Dynamics 5(3), 031002, 2010; doi:10.1115/1.4001370.",
        ),
        ("hairer2006", "E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration. Springer, 2006."),
    ],
)
def test_an_entry_as_text(key, text):
    assert reference(key) == text


def test_old_names_of_papers_and_models_are_understood():
    from chasles import gallery
    from chasles.gallery import find_model
    from chasles.reproduce import PAPERS, key_of, paper

    assert {key_of(name) for name in ALIASES} == set(PAPERS)
    assert paper("004") is paper("celledoni2022")
    assert find_model("heavy_top_004") == find_model("spinning_top")
    with pytest.raises(AttributeError, match="it is called 'boxes' now"):
        gallery.source_000  # noqa: B018
