"""A real scheduler of dask with two workers on this machine; one of them is killed on the way."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from chasles.ensembles.ensemble import ensemble
from tests.ensembles.test_ensemble import same


def waits(x):
    time.sleep(0.05)
    return {"x": x, "square": x * x}


@pytest.mark.filterwarnings("ignore")  # of dask
def test_a_scheduler_by_its_address():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        found = ensemble(waits, set={"x": [1.0, 2.0]}, executor=cluster.scheduler_address)
    assert len(found.failed) == 0
    assert found["square"].tolist() == [1.0, 4.0]


@pytest.mark.filterwarnings("ignore")  # of dask
def test_a_scheduler_without_workers_is_refused(monkeypatch, tmp_path):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("chasles.ensembles.executor.ANSWER", 1.0)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp://") as cluster:
        at = cluster.scheduler_address
        with pytest.raises(ValueError, match=f"the dask scheduler at {at} has no workers; start some"):
            ensemble(waits, set={"x": [1.0, 2.0]}, executor=at, file=tmp_path / "s.h5")
    assert not list(tmp_path.iterdir())


@pytest.mark.study  # two more processes that load everything
@pytest.mark.filterwarnings("ignore")  # of dask, about the worker that is gone
def test_a_worker_that_is_killed_loses_nothing():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found = ensemble(waits, set={"x": np.linspace(0, 1, 40)}, executor=client)
        killer.join()
        by_address = ensemble(waits, set={"x": [1.0, 2.0]}, executor=cluster.scheduler_address)
    assert len(found.failed) == 0
    same(found, ensemble(waits, set={"x": np.linspace(0, 1, 40)}))
    assert by_address["square"].tolist() == [1.0, 4.0]
