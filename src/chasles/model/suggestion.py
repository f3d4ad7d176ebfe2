"""Names that are looked up and not found: what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

LONGEST, MOST = 80, 2000  # characters and names that are compared


def meant(name: object, known: Iterable[str]) -> str:
    """ "did you mean 'elbow'? " if one of the known names is much like this one, else nothing."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    names = {each.casefold(): each for each in islice(known, MOST) if isinstance(each, str) and len(each) <= LONGEST}
    found = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.65)
    return f"did you mean {names[found[0]]!r}? " if found else ""
