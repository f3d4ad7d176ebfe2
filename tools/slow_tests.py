"""Write `tests/slow.txt`, the tests that are not for daily work, from the durations of a run.

python -m pytest --junitxml=/tmp/durations.xml     # on a machine that does nothing else
python -m tools.slow_tests /tmp/durations.xml
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
LIMIT = 0.1  # seconds of a test with all its parameters
HEAD = f"# Tests that take more than {LIMIT} s, all parameters together; written by tools/slow_tests.py\n"


def durations(report: Path) -> dict[str, float]:
    """Seconds of each test function, by "folder/test_file.py::test_name", without what waits for the compiler
    (`tests/compile_times.py`)."""
    found: dict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):
        notes = [note.get("value", "") for note in case.iter("property") if note.get("name") == "compiled"]
        compiling = sum(float(note.rpartition("=")[2]) for note in notes)
        file = case.get("classname", "").removeprefix("tests.").replace(".", "/") + ".py"
        found[f"{file}::{case.get('name', '').partition('[')[0]}"] += float(case.get("time", 0.0)) - compiling
    return found


def main() -> None:
    found = durations(Path(sys.argv[1]))
    slow = sorted(name for name, seconds in found.items() if seconds > LIMIT)
    (TESTS / "slow.txt").write_text(HEAD + "".join(f"{name}\n" for name in slow))
    print(f"{len(slow)} slow tests, {sum(found[name] for name in slow):.0f} of {sum(found.values()):.0f} s")


if __name__ == "__main__":
    main()
