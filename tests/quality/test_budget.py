"""The compile budget of `chasles run heavy_top`: signatures and seconds from an empty cache.

A change that compiles more shows here. Seconds are processor time, measured on an AMD EPYC (family 25); the limit
leaves a factor of three for slower machines. The number of signatures is exact.
"""

import json
import os
import subprocess
import sys

import pytest

from chasles.kernel.policy import COMPILED

ENTRY_SIGNATURES = 2  # one loop for each group
MEASURED_SECONDS = 5.0
LIMIT_SECONDS = 15.0

CODE = """
import json, time
start = time.process_time()
from chasles.gallery import heavy_top
imported = time.process_time()
for space in heavy_top.SPACES:
    heavy_top.simulate(space, end=1e-3)
done = time.process_time()
from chasles.kernel.policy import ENTRIES
signatures = sum(len(e.signatures) for e in ENTRIES)
print(json.dumps({"import": imported - start, "first": done - imported, "signatures": signatures}))
"""


def measure(cache) -> dict[str, float]:
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"CHASLES_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return json.loads(result.stdout)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_cold_start_keeps_its_budget(tmp_path):
    cold, warm = measure(tmp_path), measure(tmp_path)
    assert cold["signatures"] == ENTRY_SIGNATURES
    assert warm["signatures"] == ENTRY_SIGNATURES
    assert cold["first"] < LIMIT_SECONDS
    assert warm["first"] < 0.5 * cold["first"]
