"""Settings for all tests, and their marks."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
# workers share the cores: threads of BLAS that wait for a core make a small product a hundred times slower
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# workers and commands keep the bytecode of the package: without it each start reads 300 sources, for a second
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.compile_times"]

TESTS = Path(__file__).parent
APART = ("slow", "browser", "quality", "study")  # the marks of what is not quick
SLOW_FOLDERS = {"cli", "examples", "fuzz"}  # they start other processes
SLOW = {line for line in (TESTS / "slow.txt").read_text().splitlines() if not line.startswith("#")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs. A test that is in no list is quick: new ones are."""
    for item in items:
        file = item.path.relative_to(TESTS)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if item.get_closest_marker("study"):
            item.add_marker(pytest.mark.timeout(0))  # however long it takes
        if file.parts[0] == "quality":
            item.add_marker("quality")
        if file.parts[0] in SLOW_FOLDERS or f"{file.as_posix()}::{item.name.partition('[')[0]}" in SLOW:
            item.add_marker("slow")
        if not any(item.get_closest_marker(mark) for mark in APART):
            item.add_marker("quick")


@pytest.fixture(scope="session", autouse=True)
def silent_compiler() -> None:
    """What tests capture does not depend on what the cache has."""
    from chasles.kernel import notice

    notice.LISTENER.silent = True
