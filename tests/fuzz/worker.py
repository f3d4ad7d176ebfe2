"""Uses spoiled files one after the other, and tells of each what came of it: `python -m tests.fuzz.worker models 0 100
FOLDER`. A process of its own, because a crash, a hang or a flood of memory is what is looked for."""

import contextlib
import io
import resource
import signal
import sys
import traceback
from pathlib import Path

PATIENCE = 3.0  # seconds after which a run is interrupted, as by Ctrl-C
MEMORY = 1 << 30  # bytes


def interrupt(number, frame):
    signal.raise_signal(signal.SIGINT)


def most_memory() -> int:
    """The most memory of this process [MB]; `getrusage` would count what its parent had when it started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def warm(kind: str, folder: Path) -> None:
    """Use sound files once, without limits: the compiler needs time and memory of its own."""
    from tests.fuzz import models, results

    if kind == "models":
        for ending, text in models.sources()[:-8]:
            (folder / f"sound{ending}").write_text(text, encoding="utf-8")
            with contextlib.suppress(ValueError, ArithmeticError):
                models.use(folder / f"sound{ending}")
    else:
        for number, file in enumerate(sorted((folder / "sound").iterdir())):
            (folder / "run.h5").write_bytes(file.read_bytes())
            results.use(folder / "run.h5", 1 + 2 * number)


def main() -> None:
    kind, first, last, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    from tests.fuzz import models, results

    if first == last:
        warm(kind, folder)
        return
    import matplotlib.pyplot  # noqa: F401  (an interrupted import would be a failure of its own)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, interrupt)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(first, last):
        if kind == "models":
            ending, data = models.spoiled(number)
            file = folder / f"model{ending}"
            file.write_bytes(data)
        else:
            file = folder / "run.h5"
            for old in folder.glob("*run*"):
                old.unlink()
            results.spoil(number, folder / "sound", file)
        print(number, end=" ", flush=True)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        outcome = "ok"
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                models.use(file) if kind == "models" else results.use(file, number)
        except (ValueError, ArithmeticError) as error:
            outcome = f"refused {type(error).__name__}"
        except KeyboardInterrupt:
            outcome = "interrupted"
        except BaseException as error:
            where = traceback.format_exc().strip().splitlines()
            outcome = f"FAILED {type(error).__name__}: {str(error)[:200]!r} {' | '.join(where[-5:-1])}"
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(outcome.replace("\n", " "), flush=True)
    print("memory", most_memory(), flush=True)


if __name__ == "__main__":
    main()
