"""Settings for the tests of simulations."""

from collections.abc import Iterator

import pytest

from chasles.simulation.laws import scan

# tests of the scan itself; of bits that another process computes, which scans as closely as ever
CLOSELY = ("test_scan", "test_processes")


@pytest.fixture(scope="module", autouse=True)
def quick_scan(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each run looks a million times at laws of time before it begins: a tenth of a second, in hundreds of runs."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith(CLOSELY):
            patch.setattr(scan, "SAMPLES", 1 << 16)
            patch.setattr(scan, "LEAST_SAMPLES", 1 << 13)
        yield
