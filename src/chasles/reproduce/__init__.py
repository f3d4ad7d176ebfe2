"""Papers reproduced: every numerical figure computed again, and what the paper says of it compared with what comes out.

`paper("celledoni2022")` gives the figures of a paper: functions that compute one `Figure` each, by the numbers they
have there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from chasles.reproduce.figure import Figure

PAPERS = ("mueller2013", "mueller2022", "celledoni2022")
# names that a paper had, or could be thought to have: mueller2013 has the journal version of its results in 2014
ALIASES = {"000": "mueller2013", "mueller2014": "mueller2013", "003": "mueller2022", "004": "celledoni2022"}


def key_of(name: str) -> str:
    """The key of a paper in the bibliography; ValueError names the papers there are."""
    key = ALIASES.get(name, name)
    if key not in PAPERS:
        raise ValueError(f"reproduce: no paper {name!r}; {meant(name, PAPERS)}there is {', '.join(PAPERS)}")
    return key


def paper(name: str) -> dict[int, Callable[[], Figure]]:
    """The figures of a paper by their numbers."""
    return importlib.import_module(f"chasles.reproduce.{key_of(name)}").FIGURES
