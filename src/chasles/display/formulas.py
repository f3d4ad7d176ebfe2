"""Short formulas in letters of Unicode: matplotlib needs longer to read them as mathematics than to draw a figure.

The fonts of the figures have slanted letters, and raised and lowered figures, so that both ways look the same.
"""

from __future__ import annotations

import re

FORMULA = re.compile(r"(?<!\\)\$(.*?)(?<!\\)\$")
PART = re.compile(r"([_^])(?:\{([^{}]*)\}|(\w))|(\\[a-zA-Z]+) ?|(.)")
UPRIGHT = re.compile(r"\\mathdefault\{((?:[^{}]|\{[^{}]*\})*)\}")  # as matplotlib writes numbers
NAMED = {r"\omega": "\N{MATHEMATICAL ITALIC SMALL OMEGA}", r"\times": "×"}
PLAIN = {**{sign: sign for sign in "0123456789 =+()|.,−"}, "-": "−"}
RAISED = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")  # of letters Unicode has only some


def written(text: str) -> str:
    """A text with its formulas ($...$) in letters of Unicode; as it was, if Unicode lacks one of them."""
    try:
        return FORMULA.sub(lambda found: _letters(found[1]), text)
    except KeyError:
        return text


def _letters(formula: str) -> str:
    return "".join(_part(*found.groups()) for found in PART.finditer(UPRIGHT.sub(r"\1", formula)))


def _part(place: str | None, group: str | None, single: str | None, name: str | None, sign: str | None) -> str:
    if place:
        small = RAISED if place == "^" else LOWERED
        return "".join(chr(small[ord(one)]) for one in group or single or "")
    return NAMED[name] if name else _slanted(sign or "")


def _slanted(sign: str) -> str:
    if sign == "h":
        return "\N{PLANCK CONSTANT}"  # Unicode has it there
    for first, start in (("A", 0x1D434), ("a", 0x1D44E)):
        if 0 <= ord(sign) - ord(first) < 26:
            return chr(start + ord(sign) - ord(first))
    return PLAIN[sign]
