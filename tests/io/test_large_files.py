"""Result files larger than the memory that a process may have."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="limits of memory are those of Unix")

CODE = """
import resource, sys
from pathlib import Path
import numpy as np
import chasles as ch
from tests.io.result_models import CASES

file = Path(sys.argv[1])
def go(end, file):
    return CASES["fixed"](end, file=file)
def used(file):
    run = ch.open(file)
    highest = max(part["top"].position[:, 2].max() for part in run.parts())
    assert run(run.t[-1] / 3).q.shape == (4,)
    ch.export(run, file.with_suffix(".npz"))
    ch.export(run, file.with_suffix(".csv"), stride=1000)
    assert ch.certify(run).findings[0].value < 1.0
    return run
go(5.0, file)  # all that is compiled or loaded is there before the limit, loops for many states too
used(file)
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
allowed = int(status["VmData"].split()[0]) * 1024 + (100 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
try:
    np.ones(16 << 20)
    raise SystemExit("no limit")
except MemoryError:
    pass
go(700.0, file)
assert file.stat().st_size > 140e6, file.stat().st_size
run = used(file)
with np.load(file.with_suffix(".npz"), mmap_mode="r") as arrays:
    assert arrays["t"].shape == (700001,)
lines = file.with_suffix(".csv").read_text().splitlines()
assert len(lines) == 702
assert float(lines[-1].split(",")[0]) == run.t[-1]
"""


@pytest.mark.study
@pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux counts")
def test_a_file_larger_than_what_a_process_may_have(tmp_path):
    """Written, opened, gone through, certified and exported with 100 MB for more than 140 MB."""
    command = [sys.executable, "-c", CODE, str(tmp_path / "run.h5")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
