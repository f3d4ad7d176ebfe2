"""Work shared between threads, as many as it is worth: to start some takes longer than a small batch.

States are taken in pieces by whoever is free, this thread among them. So a thread that comes late, on a machine that
does other things, takes less, and does not keep the others waiting for its half.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

SHARE = 4e-3  # seconds of work that are worth a thread: to start some takes a fortieth of that
PACE = 1e-8  # seconds for a state and link at least, until it is measured
PIECES = 4  # for each thread
FEWEST = 64  # states in a piece
SLOWER = (
    1.2  # by how much the pace may fall from one time to the next: often it is the machine that does something else
)


def shared(
    part: Callable[[int, int], None], count: int, work: int, threads: int, pace: dict[bool, float], kind: bool
) -> None:
    """Do part(first, last) for all states. work: states times links; pace: seconds of this by kind, kept up to date."""
    if count < 2 * FEWEST:  # no two pieces
        if count:
            part(0, count)
        return
    known = pace.get(kind)
    threads = min(threads, count // FEWEST, int((PACE if known is None else known) * work / SHARE))
    if threads > 1:
        _in_pieces(part, count, threads)
    elif count:
        began = time.perf_counter()
        part(0, count)
        taken = (time.perf_counter() - began) / max(work, 1)
        # the first time it may have been compiled
        pace[kind] = PACE if known is None else min(taken, SLOWER * known)


def _in_pieces(part: Callable[[int, int], None], count: int, threads: int) -> None:
    pieces = min(PIECES * threads, count // FEWEST)
    left = deque((count * k // pieces, count * (k + 1) // pieces) for k in range(pieces))

    def take() -> None:
        while True:
            try:
                piece = left.popleft()
            except IndexError:
                return
            part(*piece)

    with ThreadPoolExecutor(threads - 1) as pool:
        jobs = [pool.submit(take) for _ in range(threads - 1)]
        try:
            take()
        finally:
            left.clear()  # of an error nothing is left to do
    for job in jobs:
        job.result()
