"""`python -m chasles`, and the command `chasles`."""

import os
import signal
from typing import Any


def _end(number: int, frame: Any) -> None:
    os.write(2, b"chasles: interrupted\n")
    os._exit(130)  # nothing is under way yet, and what is half loaded would only complain


def main() -> None:
    """Load the commands, in which Ctrl-C ends the process without a word of Python, and run one."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else it is ignored, or somebody has an own answer
        signal.signal(signal.SIGINT, _end)
    from chasles.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
