"""Settings for the comparisons with other programs."""

from tests.relative.conftest import small_batches_on_lanes  # noqa: F401 (used by all tests here)
