"""Settings for all tests, and their marks."""

import gc
import os
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Twelve thousand items stay to the end: nobody looks through them for garbage again and again. Nor does anybody
    so often as usual through what tests make: to parse all sources takes twice as long then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(5_000, 20, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs. A test that is in no list is quick: new ones are."""
    read_few_sources_for_constants()
    marks = {item: {mark.name for mark in item.iter_markers()} for item in items}
    for mark, leave in (("sample", products_for_the_study), ("first", later_cases_for_the_study)):
        for item in leave([item for item in items if mark in marks[item] and "study" not in marks[item]]):
            item.add_marker("study")
            marks[item].add("study")
    files = {path: path.relative_to(TESTS) for path in {item.path for item in items}}
    names = {path: file.as_posix() for path, file in files.items()}
    for item in items:
        folder, more = files[item.path].parts[0], []
        if "browser" in getattr(item, "fixturenames", ()):
            more.append("browser")
        if folder == "quality":
            more.append("quality")
        if folder in SLOW_FOLDERS or f"{names[item.path]}::{item.name.partition('[')[0]}" in SLOW:
            more.append("slow")
        if "study" in marks[item]:
            more.append(pytest.mark.timeout(0))  # however long it takes
        elif not more and marks[item].isdisjoint(APART):
            more.append("quick")
        for mark in more:
            item.add_marker(mark)


def read_few_sources_for_constants() -> None:
    """Hypothesis looks for values worth a try in the sources of all modules that are loaded: five seconds of each
    worker. Those of the files that a user writes are what its tests are about."""
    if "hypothesis" in sys.modules:
        from hypothesis.internal.conjecture import providers

        is_local = providers.is_local_module_file
        providers.is_local_module_file = lambda path: "/chasles/io/" in path and is_local(path)


def products_for_the_study(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of a test with the mark `sample(strength)` the ordinary run takes as many cases as it needs to have each value of
    each parameter once (strength 1), or each pair of values of two parameters (2). All others are a study."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.path, item.originalname].append(item)
    for group in cases.values():
        strength = group[0].get_closest_marker("sample").args[0]
        values = {item: parts_of(item, 1) for item in group}
        shown = {item: parts_of(item, strength) for item in group} if strength > 1 else dict(values)
        missing, often = set().union(*shown.values()), Counter()
        while missing:  # the case that shows most, and of several the one with the values that were shown least
            counts = {item: len(parts & missing) for item, parts in shown.items()}
            most = max(counts.values())
            best = min((i for i in shown if counts[i] == most), key=lambda item: sum(often[x] for x in values[item]))
            often.update(values[best])
            missing -= shown.pop(best)
        yield from shown


def later_cases_for_the_study(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of a test with the mark `first(count)` the ordinary run takes so many cases. All others are a study."""
    taken: Counter[tuple[Path, str]] = Counter()
    for item in items:
        taken[item.path, item.originalname] += 1
        if taken[item.path, item.originalname] > item.get_closest_marker("first").args[0]:
            yield item


def parts_of(item: pytest.Item, strength: int) -> set[tuple[tuple[str, int], ...]]:
    """The values of a case, or pairs of them: the objects that the parameters were given."""
    return set(combinations(sorted((name, id(value)) for name, value in item.callspec.params.items()), strength))


@pytest.fixture(scope="session", autouse=True)
def silent_compiler() -> None:
    """What tests capture does not depend on what the cache has."""
    from chasles.kernel import notice

    notice.LISTENER.silent = True


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Tests interrupt runs. A shell starts what is in its background with this signal ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def quick_look_at_laws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates call each law a million times to see where it changes: seconds, in hundreds of tests of other
    things. The tests of the certificate and of that search look as closely."""
    if not request.node.path.relative_to(TESTS).as_posix().startswith(("certificate", "simulation/test_scan.py")):
        from tests.simulation.work import look_quickly

        look_quickly(monkeypatch.setattr)


@pytest.fixture
def few_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assembly that is impossible is given up after some guesses: forty take ten seconds, and say the same."""
    monkeypatch.setattr("chasles.assembly.search.RESTARTS", 3)
