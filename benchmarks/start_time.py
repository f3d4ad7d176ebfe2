"""Processor time to import chasles, to make first calls and to run commands, measured in new processes.

Run: python -m benchmarks.start_time. It prints the table of the commands, with compiled code in the cache. With `day`
it prints what is waited for on a first day: uses one after the other, from an empty cache.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import page

IMPORTS = ("numpy", "numba", "chasles", "chasles.lie", "chasles.lie.se3")
FIRST_CALLS = ("so3.exp", "se3.exp", "se3.log", "se3.dexpinv")
COMMANDS = {  # most seconds of processor time, with bytecode files
    "--help": 0.2,
    "run heavy_top": 1.2,
    "plot run.h5": 1.5,
    "report run.h5": 1.5,
}
REPETITIONS = 5
DAY = {  # uses in `tests.kernel.first_use`, in this order
    "readme": "the README's example",
    "report": "`chasles run heavy_top -o top.h5`, `chasles report top.h5`",
    "check": "`chasles check slider_crank`, a loop",
    "loop": "`simulate` of a four-bar linkage in joint coordinates",
    "absolute": "`chasles run heavy_top --coordinates absolute`",
    "linearize_one": "`linearize` of one freedom",
    "generalized_alpha": "`chasles run heavy_top --method generalized_alpha`",
}

IMPORT = """
import time
start = time.process_time()
import {module}
print(time.process_time() - start)
"""

TIMED = """
import time
import numpy
print(time.process_time())
"""

FIRST_CALL = """
import time
import numpy as np
from chasles.lie import {group}
x = np.full({dimension}, 0.1)
argument = {group}.identity() if "{function}" == "log" else x
start = time.process_time()
{group}.{function}(argument)
print(time.process_time() - start)
"""

# a new process that reads an arm (MJCF) and computes one state: the module it needs, and what it does
FIRST_STATE = {
    "chasles": (
        "chasles",
        """
import numpy as np
import chasles as ch
arm = ch.load(FILE).system.compile()
print(arm.forward_dynamics(np.full(7, 0.3), np.zeros(7), np.zeros(7)).sum())
""",
    ),
    "Pinocchio": (
        "pinocchio",
        """
import numpy as np
import pinocchio as pin
model = pin.buildModelFromMJCF(FILE)
print(pin.aba(model, model.createData(), np.full(7, 0.3), np.zeros(7), np.zeros(7)).sum())
""",
    ),
    "MuJoCo": (
        "mujoco",
        """
import numpy as np
import mujoco
model = mujoco.MjModel.from_xml_path(FILE)
data = mujoco.MjData(model)
data.qpos[:] = 0.3
mujoco.mj_forward(model, data)
print(data.qacc.sum())
""",
    ),
}

BYTECODE = tempfile.TemporaryDirectory()  # of the processes below: from the second call on sources are not read


def first_state(program: str) -> tuple[float, float]:
    """Processor time [s] of a process with this program, and the number that it prints."""
    import resource  # of Unix

    from benchmarks.batch_speed import arm

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = BYTECODE.name
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "arm.xml"
        file.write_text(arm(), encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = f"FILE = {str(file)!r}\n{program}"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, float(done.stdout)


def run(program: str, cache: str | None = None) -> float:
    """The number that a program prints, run in a new process with its own cache of compiled code."""
    environment = os.environ | ({"CHASLES_CACHE_DIR": cache} if cache else {})
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def import_table() -> str:
    """Median time of `import` in a new process, with all that it imports."""
    rows = []
    for module in IMPORTS:
        times = [run(IMPORT.format(module=module)) for _ in range(REPETITIONS)]
        rows.append([f"`{module}`", f"{statistics.median(times) * 1e3:.1f}"])
    return page.table(["Import", "ms"], rows)


def first_call(name: str) -> tuple[float, float]:
    """Time of the first call in a process: with an empty cache, and the median with a filled one."""
    group, function = name.split(".")
    program = FIRST_CALL.format(group=group, function=function, dimension=3 if group == "so3" else 6)
    with tempfile.TemporaryDirectory() as cache:
        cold = run(program, cache)
        return cold, statistics.median(run(program, cache) for _ in range(REPETITIONS))


def first_call_table() -> str:
    """First calls of some functions."""
    rows = []
    for name in FIRST_CALLS:
        cold, warm = first_call(name)
        rows.append([f"`{name}`", f"{cold:.2f} s", f"{warm * 1e3:.1f} ms"])
    return page.table(["Function", "compiled", "from the cache"], rows)


def command_time(arguments: list[str], folder: Path) -> float:
    """Processor time of a command in a folder; bytecode files are written there, and used from the second call on."""
    import resource  # of Unix

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "chasles", *arguments]
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_table() -> str:
    """Commands that are given again: compiled code and bytecode are there."""
    rows = [["`import numpy`, to judge the load", f"{min(run(TIMED) for _ in range(REPETITIONS)):.2f}", "", ""]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command_time(["run", "heavy_top", "-o", "run.h5"], folder)
        for command, bar in COMMANDS.items():
            command_time(command.split(), folder)
            least = min(command_time(command.split(), folder) for _ in range(REPETITIONS))
            rows.append(
                [f"`chasles {command}`", f"{least:.2f}", f"{bar:.1f}", "met" if least <= bar else "**not met**"]
            )
    return page.table(["Command", "Processor time [s]", "Limit [s]", "Result"], rows)


def first_use(name: str, folder: Path) -> tuple[int, float]:
    """How many functions were compiled, and the processor time [s], of a use with the cache in a folder."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"CHASLES_CACHE_DIR": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    command = [sys.executable, "-m", "tests.kernel.first_use", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"compiled (\d+) functions in ([\d.]+) s", done.stdout)
    assert found, done.stdout
    return int(found[1]), float(found[2])


def day_table() -> str:
    """Uses of a first day, one after the other, from an empty cache: what one has compiled the next ones find."""
    rows, whole = [], 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first_use("rotation", folder)  # Python writes its bytecode files
        for use, what in DAY.items():
            count, first = first_use(use, folder)
            _, again = first_use(use, folder)
            whole += first - again
            rows.append([what, str(count), f"{first:.1f}", f"{again:.1f}"])
    table = page.table(["Use", "functions compiled", "s, first", "s, again"], rows)
    return f"{table}\nWaited for the compiler: {whole:.0f} s of processor time in all."


if __name__ == "__main__":
    print(day_table() if sys.argv[1:] == ["day"] else command_table())
