"""Where members are computed: one after the other, in processes of this machine, or on a cluster of dask.

What a member gives does not depend on where, beside whom or when it is computed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from chasles.ensembles.work import ERROR, MemberOutcome, Work

Member = tuple[int, Mapping[str, Any]]
Finished = tuple[int, MemberOutcome]
TRIES = 3  # of a member whose worker dies
CHUNKS_PER_WORKER = 8  # so that workers end at about the same time
MAX_CHUNK = 64
ANSWER = 10.0  # [s] that a scheduler has
WHERE = 'None (one after the other), a number of processes, "tcp://..." or a dask Client'

_work: Work | None = None  # of a worker process


def in_chunks(members: Sequence[Member], workers: int) -> list[Sequence[Member]]:
    size = max(1, min(MAX_CHUNK, len(members) // (CHUNKS_PER_WORKER * workers)))
    return [members[k : k + size] for k in range(0, len(members), size)]


def computed(work: Work, members: Sequence[Member], executor: Any = None) -> Iterator[Finished]:
    """The members as they are finished, in any order."""
    if executor is None:
        for index, values in members:
            yield index, work.member(index, values)
    elif isinstance(executor, int) and not isinstance(executor, bool):
        if executor < 1:
            raise ValueError(f"ensemble: executor is {executor}; expected {WHERE}")
        yield from in_processes(work, members, executor)
    else:
        yield from on_cluster(work, members, executor)


def _prepare(work: Work) -> None:
    global _work
    _work = work


def _chunk(members: Sequence[Member]) -> list[Finished]:
    assert _work is not None
    return [(index, _work.member(index, values)) for index, values in members]


def chunk_of(work: Work, members: Sequence[Member]) -> list[Finished]:
    """What a worker of a cluster does."""
    return [(index, work.member(index, values)) for index, values in members]


def in_processes(work: Work, members: Sequence[Member], workers: int) -> Iterator[Finished]:
    """In worker processes. If one dies, those that were on the way are computed again one by one, to find out which
    member it is; that one is an error after some tries."""
    left = dict(members)
    chunks = in_chunks(members, workers)
    tries: dict[int, int] = {}
    while left:
        context = get_context("spawn")
        with ProcessPoolExecutor(workers, context, _prepare, (work,)) as pool:
            futures: set[Future[list[Finished]]] = {pool.submit(_chunk, chunk) for chunk in chunks}
            try:
                while futures:
                    done, futures = wait(futures, return_when="FIRST_COMPLETED")
                    for one in done:
                        for index, outcome in one.result():
                            left.pop(index, None)
                            yield index, outcome
            except BrokenProcessPool:
                pass
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if not left:
            return
        first = next(iter(left))  # alone: it, or another one, was in the worker that died
        tries[first] = tries.get(first, 0) + 1
        if tries[first] > TRIES:
            left.pop(first)
            yield first, MemberOutcome(ERROR, "the process that computed it ended; it may have run out of memory")
        chunks = [[member] for member in left.items()]


def on_cluster(work: Work, members: Sequence[Member], where: Any) -> Iterator[Finished]:
    """On the workers of a dask scheduler: a Client, or its address."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ImportError("ensemble: a cluster needs dask: pip install 'chasles[cluster]'") from None
    client, ours = where, False
    if isinstance(where, str):
        try:
            client, ours = Client(where, timeout=ANSWER), True
        except (OSError, TimeoutError) as error:
            raise ValueError(f"ensemble: no dask scheduler answers at {where}: {error}") from None
    elif not isinstance(where, Client):
        raise ValueError(f"ensemble: executor is {where!r}; expected {WHERE}")
    try:
        _same_versions(client)
        sent = client.scatter(work, broadcast=True)
        workers = max(1, sum(client.nthreads().values()))
        futures = [
            client.submit(chunk_of, sent, list(c), pure=False, retries=TRIES) for c in in_chunks(members, workers)
        ]
        for one in as_completed(futures):
            yield from one.result()
            one.release()
    finally:
        if ours:
            client.close()


def _version() -> str:
    from chasles import __version__

    return __version__


def _same_versions(client: Any) -> None:
    """A ValueError if a worker has another chasles: its numbers may be others."""
    mine = _version()
    for worker, found in client.run(_version, on_error="return").items():
        if isinstance(found, str) and found != mine:  # an error: a worker that is gone, and no longer asked
            raise ValueError(
                f"ensemble: the worker {worker} has chasles {found}, and here it is {mine}; install the same"
            )


def default_processes() -> int:
    """Processes that this one may use at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
