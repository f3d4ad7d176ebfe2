"""`chasles bench`: the speed board."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def bench(
    *works: Annotated[str, Parameter(help="Groups of benchmarks, such as trees or ensembles; by default all.")],
    rounds: Annotated[int, Parameter(help="Number of timings of each.")] = 3,
    write: Annotated[bool, Parameter(negative=(), help="Write the page of the documentation.")] = False,
) -> None:
    """Time chasles and the installed peer libraries on the same tasks, alternately, and show the ratios.

    For example:

        chasles bench
        chasles bench trees --rounds 5

    The benchmarks are in a clone of chasles, not in the installed package: run it there. The exit status is 3 if a
    ratio fell by more than a fifth below the recorded one.
    """
    if rounds < 1:
        raise ValueError(f"bench: rounds is {rounds}; expected one at least")
    folder = Path.cwd()
    if not (folder / "benchmarks" / "board.py").is_file():
        raise ValueError(f"bench: {folder} has no benchmarks; go to a clone of chasles, and run it there")
    sys.path.insert(0, str(folder))
    board = importlib.import_module("benchmarks.board")
    status = board.run(list(works), rounds, write)
    if status:
        raise SystemExit(status)
