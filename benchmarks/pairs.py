"""Two checkouts against each other, in turns: time per body and step of constrained systems in absolute coordinates.

    python -m benchmarks.pairs FOLDER [--cases rk4:100 top rattle:10 ...] [--turns 30]

FOLDER is another checkout with its own `.venv`, for example of an earlier release; this one is compared with it. Both
run at the same time, each in a process that waits while the other one works: a few milliseconds of each, in turns.
Least times count, and the median of the ratios of neighbors.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CASES = ("rk4:10", "rk4:100", "rk4:1000", "alpha:10", "alpha:100", "alpha:500", "top", "top3")
NUMBERS = 8000  # bodies times steps of one turn
# chains with other methods, say bliedf:10
METHODS = {
    "index3": ("GeneralizedAlpha", {"index": 3}),
    "bliedf": ("BLieDF", {}),
    "rattle": ("Rattle", {}),
    "hem": ("HalfExplicit", {}),
    "momentum": ("EnergyMomentum", {}),
    "radau": ("RadauIIA", {}),
}


def prepared(case: str) -> tuple[Any, int, int]:
    """A run, steps of a turn and bodies. It uses what all releases have, under the names that they give it."""
    import chasles as ch
    from benchmarks import constrained_speed, implicit_speed

    kind, _, size = case.partition(":")
    n = int(size or 1)
    if kind == "rk4":
        from chasles.integrate import explicit

        old: Any = (explicit, ch)
        make = getattr(explicit, "ExplicitStepper", None) or old[0].ExplicitRun
        method = getattr(ch.integrate, "RKMK", None) or old[1].RKMK
        dynamics = constrained_speed.BodyDynamics(constrained_speed.chain(n), "SO3xR3", projected=True)
        start = dynamics.start(0.0, None, None, None, None, False)
        options = constrained_speed.Options(step=constrained_speed.STEP, save="final")
        return make(dynamics.problem(), method("rk4"), (0.0, 1e3), start, options), max(5, NUMBERS // n), n
    if kind == "alpha":
        system, method, step, v = implicit_speed.chain(n), implicit_speed.DEFAULT, implicit_speed.STEP, None
    elif kind in METHODS:
        name, given = METHODS[kind]
        method = (getattr(ch.integrate, name, None) or getattr(ch, name))(**given)
        system, step, v = implicit_speed.chain(n), implicit_speed.STEP, None
    else:
        method = implicit_speed.INDEX_3 if kind == "top3" else implicit_speed.DEFAULT
        system, step, v = implicit_speed.top(), 1e-4, implicit_speed.TOP["spin"]
    return implicit_speed.prepared(system, method, step, v), max(5, NUMBERS // n), n


def serve() -> None:
    """Take a turn of the case in each line that comes in; answer with its time per body and step [s]."""
    answers, sys.stdout = sys.stdout, sys.stderr
    runs: dict[str, tuple[Any, int, int]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in runs:
            runs[case] = prepared(case)
        run, steps, n = runs[case]
        began = time.process_time()
        run.advance(steps)
        print((time.process_time() - began) / steps / n, file=answers, flush=True)


def started(folder: Path) -> subprocess.Popen:
    python = folder / ".venv" / "bin" / "python"
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); sys.argv = ['pairs', '--serve']; "
    code += f"exec(compile(open({str(Path(__file__).resolve())!r}).read(), 'pairs', 'exec'))"
    return subprocess.Popen([python, "-c", code], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen, case: str) -> float:
    print(case, file=process.stdin, flush=True)
    return float(process.stdout.readline())  # type: ignore[union-attr]  # it is a pipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="the other checkout, with its own .venv")
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    if options.folder is None:
        parser.error("which other checkout?")
    processes = [started(folder.resolve()) for folder in (options.folder, Path(__file__).parents[1])]
    for case in options.cases:
        for process in processes:
            ask(process, case)  # compiles, and sets it in motion
        pairs = [[ask(process, case) for process in processes] for _ in range(options.turns)]
        there, here = (min(times) for times in zip(*pairs, strict=True))
        middle = statistics.median(b / a for a, b in pairs)
        print(f"{case:10} {1e6 * there:8.3f} {1e6 * here:8.3f} us, ratio {here / there:.3f}, median {middle:.3f}")
    for process in processes:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait()
    return None


if __name__ == "__main__":
    main()
