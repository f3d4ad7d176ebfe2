"""The bibliography: what the keys stand for that code, documentation and the command line cite, such as mueller2018.

The entries are in `references.bib`, which BibTeX can read too.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("references.bib")
KEY = re.compile(r"\b[a-z]{3,}(?:19|20)\d\d\b")  # of an entry: the first author and the year
_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Publication:
    """An entry of the bibliography."""

    key: str
    kind: str
    fields: dict[str, str]

    def __str__(self) -> str:
        """Authors, title, where and when, as in a list of references."""
        field = self.fields.get
        authors = self.fields["author"].replace(" and ", ", ")
        title = self.fields["title"]
        number = f"({field('number')})" if field("volume") and field("number") else field("number")
        printed = next(filter(None, map(field, ("journal", "booktitle", "publisher", "institution"))), None)
        where = " ".join(filter(None, (printed, f"{field('volume', '')}{number or ''}")))
        place = ", ".join(filter(None, (where, field("pages"), self.fields["year"])))
        also = "; ".join(filter(None, (place, field("note"), f"doi:{field('doi')}" if field("doi") else "")))
        return f"{authors}, {title}{'' if title.endswith('?') else '.'} {also}."


@functools.cache
def bibliography() -> dict[str, Publication]:
    """All entries by key."""
    found = [
        Publication(key, kind, dict(_FIELD.findall(text)))
        for kind, key, text in _ENTRY.findall(FILE.read_text("utf-8"))
    ]
    return {entry.key: entry for entry in found}


def reference(key: str) -> str:
    """The entry of a key as a line of text."""
    return str(bibliography()[key])
