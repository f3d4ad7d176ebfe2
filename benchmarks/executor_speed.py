"""What it costs to compute members of an ensemble in processes and on a cluster of dask, beyond the members themselves.

Run: python -m benchmarks.executor_speed. Prints a table; takes a minute.

Members sleep for a time that is known, so that the machine has nothing else to do than what is measured: sending work
and collecting results. Time of the wall, from the moment at which all workers have delivered something to the last
result: their start is a column of its own. "Beyond" is that time beyond what the members take that came since, divided
evenly among the workers.
"""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks import page
from chasles.ensembles.executor import computed
from chasles.ensembles.work import Work

WORKERS = 2
STUDIES = {1.0: (16, 5.0), 0.05: (512, 15.0)}  # seconds of a member: how many of them, and the bar [%]


def second(x: float) -> dict[str, float]:
    """A member of 1 s."""
    time.sleep(1.0)
    return {"value": x, "worker": float(os.getpid())}


def moment(x: float) -> dict[str, float]:
    """A member of 50 ms."""
    time.sleep(0.05)
    return {"value": x, "worker": float(os.getpid())}


MEMBERS = {1.0: second, 0.05: moment}


def study(seconds: float, members: int, executor: Any) -> tuple[float, float, float]:
    """Seconds until all workers delivered, from then on, and those of members a worker since then."""
    begin, since, seen = time.perf_counter(), 0, set[float]()
    first = last = begin
    for _, outcome in computed(Work(MEMBERS[seconds]), [(k, {"x": float(k)}) for k in range(members)], executor):
        last = time.perf_counter()
        if len(seen) == WORKERS:
            since += 1
        else:
            seen.add(float(outcome.numbers["worker"]))
            first = last
    return first - begin, last - first, since * seconds / WORKERS


def main() -> None:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    rows = []
    with cluster, Client(cluster) as client:
        for name, executor in (("processes", WORKERS), ("dask", client)):
            for seconds, (members, bar) in STUDIES.items():
                start, took, own = study(seconds, members, executor)
                beyond = f"{100 * (took / own - 1):.1f} %"
                row = [name, f"{members} of {seconds:g} s", f"{start:.1f}", f"{own:.2f}", f"{took:.2f}", beyond]
                rows.append([*row, f"{bar:g} %"])
    columns = ["executor", "members", "s until all deliver", "s of members since", "s since", "beyond", "bar"]
    print(f"{WORKERS} workers; {page.machine()}\n")
    print(page.table(columns, rows))


if __name__ == "__main__":
    main()
