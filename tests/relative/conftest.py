"""Settings for the tests of trees."""

import pytest

from chasles.relative import algorithm, sharing

COMMON = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobians", "motion_of_frames", "inverse_derivatives")
COMMON += ("packed_mass_matrix",)  # `raw` has it on lanes in any case


@pytest.fixture(autouse=True)
def small_batches_on_lanes(request, monkeypatch):
    """Batches of tests are small; the loops that work on four states at once are what they are meant to test. In the
    ordinary run these are the common ones: the others have the source of their scalar forms, and take a minute to
    compile. `test_lanes.py` has them all, as a study."""
    monkeypatch.setattr(algorithm, "FEW", 0)
    if not request.node.get_closest_marker("study"):
        decide = algorithm.Algorithm._on_lanes

        def on_lanes(self, count, work):
            return self.__name__ in COMMON and decide(self, count, work)

        monkeypatch.setattr(algorithm.Algorithm, "_on_lanes", on_lanes)


@pytest.fixture(autouse=True)
def small_batches_on_threads(monkeypatch):
    """So are those of mechanisms with several threads."""
    monkeypatch.setattr(sharing, "SHARE", 1e-12)
