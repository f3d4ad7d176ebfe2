"""What people do first, each in a process of its own: `python -m tests.kernel.first_use NAME`.

Prints how many functions were compiled and how much processor time it took.
"""

import platform
import re
import sys
import tempfile
import time
from pathlib import Path

import matplotlib
import numpy as np

from chasles.kernel import machine_code, policy


def count_compiled() -> list[str]:
    """The functions that are compiled from now on."""
    names, make = [], machine_code.Compiled._make

    def counted(self, *arguments):
        names.append(self.__name__)
        return make(self, *arguments)

    machine_code.Compiled._make = counted
    return names


def example() -> str:
    """The README's example."""
    text = (Path(__file__).parents[2] / "README.md").read_text()
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]


def shortest() -> str:
    """The README's example up to its path, without certificate and picture."""
    return example().partition("print(")[0]


def readme():
    exec(example(), {})


def simulated():
    exec(shortest(), {})


def command(*words, judged=True):
    """A command that ends well; with judged=False its certificate may refuse the run (status 3)."""
    from chasles.cli import main

    try:
        sys.argv = ["chasles", *words]
        main()
    except SystemExit as end:
        if end.code and (judged or end.code != 3):
            raise


def heavy_top():
    command("run", "heavy_top")


def loop():
    import chasles as ch

    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
    bodies = [ch.Body(name, **bar) for name in ("crank", "coupler", "rocker")]
    joints = [
        ch.revolute("a", "ground", "crank", axis=(0, 1, 0)),
        ch.revolute("b", "crank", "coupler", axis=(0, 1, 0), at=(1, 0, 0)),
        ch.revolute("c", "ground", "rocker", axis=(0, 1, 0), at=(1.3, 0, 0)),
        ch.revolute("d", "coupler", "rocker", axis=(0, 1, 0), at=(1, 0, 0), child_at=(1, 0, 0)),
    ]
    run = ch.simulate(ch.System(bodies, joints), (0.0, 0.5), q=[1.0, -0.9, 1.2], assemble=True)
    print(run.certificate)


def check():
    command("check", "slider_crank")


def absolute():
    command("run", "heavy_top", "--coordinates", "absolute")


def gallery():
    """Friction, rods, laws as expressions; springs and gears in a loop."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gripper", "cantilever_bend", "flying_spaghetti"):
            file = str(Path(folder, f"{name}.h5"))
            command("run", name, "--end", "0.05", "-o", file, judged=False)
    command("linearize", "suspension")


def generalized_alpha():
    command("run", "heavy_top", "--method", "generalized_alpha", "--end", "0.5", judged=False)


def linearize():
    import chasles as ch

    print(ch.linearize(ch.load(ch.gallery.model_files()["double_pendulum"]).system).eigenvalues)


def linearize_one():
    import chasles as ch

    rod = ch.Body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    pendulum = ch.System([rod], [ch.revolute("pivot", "ground", "rod", axis=(0, 1, 0))])
    print(ch.linearize(pendulum).eigenvalues)


def report():
    with tempfile.TemporaryDirectory() as folder:
        command("run", "heavy_top", "-o", f"{folder}/top.h5")
        command("report", f"{folder}/top.h5", "-o", f"{folder}/top.html")


def rotation():
    from chasles.lie import so3

    assert abs(so3.exp([0.0, 0.0, 0.1])[1, 0] - 0.09983341664682815) < 1e-15


RUNS = readme, simulated, heavy_top, loop, absolute, generalized_alpha
USES = {use.__name__: use for use in (*RUNS, check, gallery, linearize, linearize_one, report, rotation)}


if __name__ == "__main__":
    matplotlib.use("agg")
    names = count_compiled()
    USES[sys.argv[1]]()
    assert names or not policy.loaded(), "what compiles was loaded for nothing"
    print(f"compiled {len(names)} functions in {time.process_time():.2f} s, numpy {np.__version__}")
    print(f"python {platform.python_version()}")
