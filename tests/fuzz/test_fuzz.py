"""Whatever is in a file: an error that says so, or a result; no crash, no hang, no traceback, no flood of memory."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.fuzz import results

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and counts memory as Linux does")
HANG = 60.0  # seconds for one file; a run is interrupted long before
BATCH = 500  # files for one process


def fuzz(kind: str, first: int, last: int, folder: Path) -> tuple[dict[int, str], int]:
    """What came of files by number, and the most memory of a process [MB]."""
    found: dict[int, str] = {}
    memory, at = 0, first
    warming = [sys.executable, "-m", "tests.fuzz.worker", kind, "0", "0", str(folder)]
    subprocess.run(warming, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=300)
    while at < last:
        arguments = [kind, str(at), str(min(at + BATCH, last)), str(folder)]
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        seen = [time.monotonic()]
        over = threading.Event()

        def watch(worker=worker, seen=seen, over=over):
            while not over.wait(0.2):
                if time.monotonic() - seen[-1] > (HANG if len(seen) > 1 else 5 * HANG):  # it starts
                    worker.kill()

        threading.Thread(target=watch, daemon=True).start()
        assert worker.stdout is not None
        for line in worker.stdout:
            seen.append(time.monotonic())
            number, _, outcome = line.strip().partition(" ")
            if number == "memory":
                memory = max(memory, int(outcome))
            else:
                at = int(number)
                found[at] = outcome or "FAILED without a word"
        over.set()
        worker.stdout.close()
        if worker.wait(60) != 0:
            found[at] = f"FAILED: the process ended with {worker.returncode}"
        at += 1
    return found, memory


def judge(found: dict[int, str], memory: int, count: int) -> None:
    bad = {number: outcome for number, outcome in found.items() if outcome.startswith("FAILED")}
    kinds = [outcome.split()[0] for outcome in found.values()]
    print({kind: kinds.count(kind) for kind in set(kinds)}, f"{memory} MB")
    assert not bad, "\n".join(f"{number}: {outcome}" for number, outcome in bad.items())
    assert len(found) == count
    assert memory < 1000


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "sound").mkdir()
    results.make(folder / "sound")
    return folder


@pytest.mark.study
def test_some_spoiled_models(tmp_path):
    judge(*fuzz("models", 0, 4, tmp_path), 4)


@pytest.mark.study
def test_some_spoiled_results(sound):
    found, memory = fuzz("results", 0, 8, sound)
    judge(found, memory, 8)
    assert not any("refused" in outcome for outcome in found.values())  # all that is wrong is a ResultFileError


@pytest.mark.study
def test_ten_thousand_spoiled_models(tmp_path):
    judge(*fuzz("models", 0, 10_000, tmp_path), 10_000)


@pytest.mark.study
def test_two_thousand_spoiled_results(sound):
    found, memory = fuzz("results", 0, 2000, sound)
    judge(found, memory, 2000)
    assert not any("refused" in outcome for outcome in found.values())
