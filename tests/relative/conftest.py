"""Settings for the tests of trees."""

import pytest

from chasles.relative import algorithm, sharing


@pytest.fixture(autouse=True)
def small_batches_on_lanes(monkeypatch):
    """Batches of tests are small; the loops that work on four states at once are what they are meant to test."""
    monkeypatch.setattr(algorithm, "FEW", 0)


@pytest.fixture(autouse=True)
def small_batches_on_threads(monkeypatch):
    """So are those of mechanisms with several threads."""
    monkeypatch.setattr(sharing, "SHARE", 1e-12)
