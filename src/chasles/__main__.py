"""`python -m chasles`, and the command `chasles`."""

import gc
import os
import signal
import sys
from typing import Any


def _end(number: int, frame: Any) -> None:
    os.write(2, b"chasles: interrupted\n")
    os._exit(130)  # nothing is under way yet, and what is half loaded would only complain


def main() -> None:
    """Load the commands, in which Ctrl-C ends the process without a word of Python, and run one."""
    # Hundreds of modules are loaded now, and nothing in them is garbage: to look for it took an eighth of a command
    gc.set_threshold(100_000, 50, 100)
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]  # Numba loads it if it is there, for its tests
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, or somebody answers it
    if usual:
        signal.signal(signal.SIGINT, _end)
    from chasles.cli import main as run

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
