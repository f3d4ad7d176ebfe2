"""Papers reproduced: every numerical figure computed again, and what the paper says of it compared with what comes out.

`paper("004")` gives the figures of a paper: functions that compute one `Figure` each, by the numbers they have there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles.reproduce.figure import Figure

PAPERS = ("000", "003", "004")


def paper(number: str) -> dict[int, Callable[[], Figure]]:
    """The figures of a paper; ValueError names the papers there are."""
    if number not in PAPERS:
        raise ValueError(f"reproduce: no paper {number!r}; there is {', '.join(PAPERS)}")
    return importlib.import_module(f"chasles.reproduce.paper_{number}").FIGURES
