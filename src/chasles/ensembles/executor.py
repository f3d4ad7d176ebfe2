"""Where members are computed: in this process, on lanes and threads; in several processes; on a cluster of dask.

What a member gives does not depend on where, beside whom or when it is computed.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from typing import Any

from chasles.ensembles.work import ERROR, MemberOutcome, Work
from chasles.kernel.lanes import WIDTH

Member = tuple[int, Mapping[str, Any]]
Finished = tuple[int, MemberOutcome]
TRIES = 3  # of a member whose worker dies
CHUNKS_PER_WORKER = 8  # so that workers end at about the same time
LEAST_CHUNK, MAX_CHUNK = 4, 64
SOON = 0.3  # seconds: parts of a study that take less may be larger
WHERE = 'None (this process), a number of processes, "tcp://..." or a dask Client'
ANSWER = 10.0  # [s] that a scheduler has

NO_WORKER = (
    "ensemble: no worker process started. Each worker imports the script that started it: in a script, put the call "
    "under: if __name__ == '__main__'. Or compute in this process (executor=None)"
)

_work: Work | None = None  # of a worker process


def in_chunks(members: Sequence[Member], workers: int) -> list[Sequence[Member]]:
    size = max(1, min(MAX_CHUNK, len(members) // (CHUNKS_PER_WORKER * workers)))
    size -= size % WIDTH if size > WIDTH else 0  # so that lanes are full
    return [members[k : k + size] for k in range(0, len(members), size)]


def computed(work: Work, members: Sequence[Member], executor: Any = None) -> Iterator[Finished]:
    """The members as they are finished, in any order."""
    if executor is None:
        yield from in_this_process(work, members)
    elif isinstance(executor, int) and not isinstance(executor, bool):
        yield from in_processes(work, members, executor)
    else:
        yield from on_cluster(work, members, executor)


def check_executor(executor: Any) -> None:
    """ValueError for an executor that cannot compute: said before the first member is computed."""
    if executor is None:
        return
    if isinstance(executor, int) and not isinstance(executor, bool):
        if executor < 1:
            raise ValueError(f"ensemble: executor is {executor}; expected {WHERE}")
        return
    with _client(executor) as client:
        try:
            client.wait_for_workers(1, timeout=ANSWER)
        except TimeoutError:
            at = client.scheduler.address
            raise ValueError(
                f"ensemble: the dask scheduler at {at} has no workers; start some, such as: dask worker {at}"
            ) from None
        same_versions(client)


def in_this_process(work: Work, members: Sequence[Member]) -> Iterator[Finished]:
    """On lanes and threads, in parts that take less than a second: they are lost if the process ends."""
    first, size, threads = 0, LEAST_CHUNK, default_processes()
    while first < len(members):
        begin = time.perf_counter()
        yield from work.members(members[first : first + size], threads)
        first += size
        quick = time.perf_counter() - begin < SOON
        size = min(2 * size, MAX_CHUNK) if quick else max(size // 2, 1)


def _prepare(work: Work, started: Event) -> None:
    global _work
    _work = work
    started.set()
    end_with_parent()


def end_with_parent() -> None:
    """Let this worker end when the process that started it is gone: killed, it cannot tell its workers."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _chunk(members: Sequence[Member]) -> list[Finished]:
    assert _work is not None
    return _work.members(members)


def chunk_of(work: Work, members: Sequence[Member]) -> list[Finished]:
    """What a worker of a cluster does."""
    return work.members(members)


def in_processes(work: Work, members: Sequence[Member], workers: int) -> Iterator[Finished]:
    """In worker processes. If one dies, those that were on the way are computed again one by one, to find out which
    member it is; that one is an error after some tries."""
    require_importable(work)
    left = {member[0]: k for k, member in enumerate(members)}  # where they are among all
    chunks = in_chunks(members, workers)
    tries: dict[int, int] = {}
    context = get_context("spawn")
    started = context.Event()  # by the first worker that has imported the main module
    while left:
        with ProcessPoolExecutor(workers, context, _prepare, (work, started)) as pool:
            futures: set[Future[list[Finished]]] = {pool.submit(_chunk, list(chunk)) for chunk in chunks}
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
        if not started.is_set():
            raise RuntimeError(NO_WORKER)
        first = next(iter(left))  # alone: it, or another one, was in the worker that died
        tries[first] = tries.get(first, 0) + 1
        if tries[first] > TRIES:
            left.pop(first)
            yield first, MemberOutcome(ERROR, "the process that computed it ended; it may have run out of memory")
        chunks = [members[k : k + 1] for k in left.values()]


def require_importable(work: Work) -> None:
    """ValueError for a model or laws that other processes cannot have."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"ensemble: the model and its laws must be importable in other processes: {error}. Write functions in a "
            "module, or compute in this process (executor=None)"
        ) from None


def on_cluster(work: Work, members: Sequence[Member], where: Any) -> Iterator[Finished]:
    """On the workers of a dask scheduler: a Client, or its address."""
    with _client(where) as client:
        from distributed import as_completed

        same_versions(client)
        sent = client.scatter(work, broadcast=True)
        workers = max(1, sum(client.nthreads().values()))
        futures = [
            client.submit(chunk_of, sent, list(c), pure=False, retries=TRIES) for c in in_chunks(members, workers)
        ]
        for one in as_completed(futures):
            yield from one.result()
            one.release()


@contextmanager
def _client(where: Any) -> Iterator[Any]:
    """A Client, or one that is made for an address and closed at the end."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("ensemble: a cluster needs dask: pip install distributed") from None
    if isinstance(where, Client):
        yield where
        return
    if not isinstance(where, str):
        raise ValueError(f"ensemble: executor is {where!r}; expected {WHERE}")
    try:
        client = Client(where, timeout=ANSWER)
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise ValueError(f"ensemble: no dask scheduler answers at {where}: {error}") from None
    try:
        yield client
    finally:
        client.close()


def _version() -> str:
    from chasles import __version__

    return __version__


def same_versions(client: Any) -> None:
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
