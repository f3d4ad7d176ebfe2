"""Sentences of Markdown pages, docstrings and messages, to count their words."""

from __future__ import annotations

import re

CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
LITERAL = re.compile(r"``[^`]+``|`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*:|>#]|\d+\.)\s)|\n(?=\s*[|#])")
END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<![A-Z])[.!?:;][\"')*]*(?=\s|$)")
MOST = 30  # words


def sentences(text: str) -> list[str]:
    """The sentences of a Markdown text, without code. A formula or a literal is one word; `:` and `;` end a clause."""
    text = re.sub(r"\\$", "", CODE.sub("\n\n", text), flags=re.MULTILINE)  # hard line breaks
    text = re.sub(r"<[^>]+>", " ", text)
    text = MATH.sub("x", text)
    text = LITERAL.sub("x", LINK.sub(r"\1", text))
    found = []
    for block in BLOCK.split(text):
        for cell in block.split("|") if block.lstrip().startswith("|") else [block]:
            found += [" ".join(part.split()) for part in END.split(cell)]
    return [part for part in found if part]


def words(sentence: str) -> int:
    """Numbers and signs between spaces do not count."""
    return sum(bool(re.search("[A-Za-z]", part)) for part in sentence.split())


def too_long(text: str, most: int = MOST) -> list[str]:
    return [f"{words(one)} words: {one}" for one in sentences(text) if words(one) > most]
