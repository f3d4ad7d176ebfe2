"""One spelling, American, in names, prose, messages and tests: a list of words, by their stems."""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "docs", "tests", "tools", "benchmarks", "examples", "viewer/src")
SUFFIXES = {".py", ".md", ".toml", ".txt", ".js", ".css", ".html"}
ISE = (  # what ends in -ise or -isation, without it
    "central characte?r critic crystall custom diagonal digit discret emphas equal factor final formal general harmon "
    "ideal initial linear local material maxim memor minim mobil modern motor neutral normal optim organ orthogonal "
    "orthonormal parameter parametr penal polar prioriti quanti raster rational real recogn regular serial special "
    "stabil standard summar symbol symmetr synchron synthes trivial triangular util vector visual"
)
WORDS = (
    rf"(?:{'|'.join(ISE.split())})is(?:e|ed|er|ers|es|ing|ation|ations)(?![a-z])",
    r"(?:ana|para|cata)lys(?:e|ed|er|ing)(?![a-z])",
    "(?:beha|fla|sa)viour|(?:col|neighb|fav|hon|lab|harb|rum|arm|end[e]av)our(?!e)",
    "centr(?:e|ed|es|ing)(?![a-z])|(?<![a-z])(?:milli|centi|kilo|micro|nano|deci)?metres?(?![a-z])|litre|fibre|calibre",
    "(?:label|travel|model|cancel|level|signal|fuel|tunnel|channel)l(?:ed|ing|er)(?![a-z])",
    "(?<![a-z])(?:grey|towards|whilst|amongst|aluminium|licence|defence|offence|artefact|judgement|catalogue|tyre|learnt)",
)
BRITISH = re.compile("|".join(WORDS), re.IGNORECASE)


class Letters(dict):
    """For `str.translate`: everything but the letters a to z becomes a space."""

    def __missing__(self, code: int) -> int:
        self[code] = code if ord("a") <= code <= ord("z") else ord(" ")
        return self[code]


LETTERS = Letters()


@functools.cache
def texts() -> list[tuple[Path, str]]:
    return list(read())


def read():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CITATION.cff"]:
        parts = set(path.parts)
        if not {"_build", "api", "node_modules"} & parts and path.name != "page.js" and path != Path(__file__):
            yield path, path.read_text()


def test_spelling_is_american():
    """Each word is looked at once, however often it stands somewhere: there are a million."""
    places = {}
    for path, text in texts():
        for word in set(re.sub(r"https?://\S+", "", text).lower().translate(LETTERS).split()):
            places.setdefault(word, path.relative_to(ROOT))
    found = {word: str(path) for word, path in places.items() if BRITISH.search(word)}
    assert not found


def test_names_of_files_are_american():
    for path, _ in texts():
        assert not BRITISH.search(path.relative_to(ROOT).as_posix()), path


@pytest.mark.parametrize(
    "word",
    ["centre_of_mass", "linearise", "Generalised", "stabilisation", "COLOURS", "analysed", "labelled", "half a metre"],
)
def test_british_words_are_seen(word):
    assert BRITISH.search(word)


@pytest.mark.parametrize(
    "word", ["center", "analysis", "precise", "promise", "noise", "raise", "otherwise", "parameters", "rise", "color"]
)
def test_other_words_are_left_alone(word):
    assert not BRITISH.search(word)
