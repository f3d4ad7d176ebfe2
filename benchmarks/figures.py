"""Measured numbers in the texts of the documentation, written in their places.

    python -m benchmarks.figures [NAME ...] [--write]

Without names, all but those that take minutes (`day`, `steps`, `files`, `pages`). `--write` puts the sentences and
tables between the comments `<!-- measured: NAME -->` and `<!-- end -->` of the pages. Processor time of one thread, the
least of several.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait count as processor time

import numpy as np

import chasles as ch
from benchmarks import page

# name: the page, what measures and writes, whether it takes minutes
FIGURES: dict[str, tuple[str, Callable[[], str], bool]] = {}


def figure(document: str, long: bool = False) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Register a part of a page by the name of the function that makes it."""

    def add(function: Callable[[], str]) -> Callable[[], str]:
        FIGURES[function.__name__] = document, function, long
        return function

    return add


def least(call: Callable[[], object], times: int = 7) -> float:
    """Processor time [s] of a call that was made before."""
    call()
    found = []
    for _ in range(times):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def short(seconds: float) -> str:
    """Two digits with a unit."""
    scale, unit = next((one for one in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")) if seconds * one[0] >= 1), (1e6, "µs"))
    return f"{float(f'{seconds * scale:.2g}'):g} {unit}"


@figure("simulation.md")
def loops() -> str:
    from benchmarks import controller_speed

    found, _ = controller_speed.measured()
    beyond = {name: total - needed for name, (total, needed) in found.items()}
    return (
        f"The overhead on a 7-joint arm is {beyond['Simulation.step()']:.1f} µs per step, "
        f"{beyond['Simulation.step(u)']:.1f} µs with an input, and {beyond['simulate(controller=), rk4']:.0f} µs per "
        "period with `simulate(controller=...)`, without your function (`python -m benchmarks.controller_speed`)."
    )


@figure("plan.md")
def iteration() -> str:
    from benchmarks import plan_speed

    times, _ = plan_speed.ours()
    return (
        f"An iteration on a 7-joint arm with 100 steps takes {short(min(times))} "
        "(`python -m benchmarks.plan_speed`, also beside crocoddyl)."
    )


@figure("fit.md")
def identification() -> str:
    from benchmarks import fit_coverage

    found = fit_coverage.measured(1000)
    part = found.coverage
    return (
        f"Ten thousand samples of an arm with seven joints take {short(found.seconds)} of processor time. "
        f"The 95 % intervals of its {found.rank} base parameters contain the true values "
        f"in {100 * part.mean():.1f} % of 1000 repetitions, "
        f"each of them in {100 * part.min():.1f} to {100 * part.max():.1f} % "
        "(`python -m benchmarks.fit_coverage`)."
    )


@figure("ensembles.md")
def members() -> str:
    from benchmarks import batch_speed

    found = batch_speed.preparations()
    arm, arms, loop, loops, bodies = (short(one) for one in found.values())
    return (
        f"In a batch of {batch_speed.LINKAGES}, an arm with seven joints takes {arm} per member if masses vary, "
        f"{arms} if lengths vary. "
        f"A linkage with {batch_speed.LOOPS} loops takes {loop} and {loops}. "
        f"A chain of {batch_speed.CHAIN} bodies in absolute coordinates takes {bodies} "
        "(`python -m benchmarks.figures members`)."
    )


@figure("pictures.md")
def frames() -> str:
    from benchmarks import pictures

    small, large = (seconds for _, seconds in pictures.frames().values())
    return (
        f"A frame of 800 × 600 pixels with 30 bodies takes {short(small)} of processor time, one of 1920 × 1080 "
        f"{short(large)} (`python -m benchmarks.pictures`)."
    )


@figure("parameters.md")
def regressors() -> str:
    from benchmarks import parameter_speed

    return f"{page.machine()}; {page.versions('chasles', 'numba', 'pin')}.\n\n{parameter_speed.measured()}"


@figure("sensitivities.md")
def sensitivities() -> str:
    from benchmarks import sensitivity_cost

    return sensitivity_cost.measured()


@figure("sensitivities.md")
def gradients() -> str:
    from benchmarks import gradient_cost

    run, gradient, count = gradient_cost.measured()
    (own, back, numbers), (row, row_back, many) = (gradient_cost.of_loops(k)[1] for k in (1, 10))
    return (
        f"The gradient of {gradient_cost.STEPS} steps of an arm with seven joints, by {count} numbers, takes "
        f"{gradient / run:.1f} times as long as the run (`python -m benchmarks.gradient_cost`). That of a four-bar, by "
        f"{numbers} numbers, takes {back / own:.1f} times as long; that of a row of ten, by {many} numbers, "
        f"{row_back / row:.1f} times."
    )


@figure("sensitivities.md")
def gradients_by_parameters() -> str:
    from benchmarks import gradient_cost

    few, many = gradient_cost.count_of(("mass", "armature")), gradient_cost.count_of()
    rows = [
        "| gradient of 1000 steps of an arm with seven joints, in times of the run | RK4 | generalized alpha |",
        "| --- | --: | --: |",
    ]
    found = [gradient_cost.by_parameters(method) for method in gradient_cost.METHODS]
    for name, what in (
        ("state", "by the initial state and all inputs"),
        ("few", f"by {few} parameters"),
        ("many", f"by {many} parameters"),
    ):
        rows.append(f"| {what} | " + " | ".join(f"{each[name] / each['run']:.0f}" for each in found) + " |")
    return "\n".join(rows)


@figure("representations.md")
def kinematics() -> str:
    from benchmarks.plan_speed import FIRST, LAST, arm

    mechanism = ch.System(arm().bodies, arm().joints, [ch.Frame("tool", "link 6", (0, 0, 0.3))]).compile()
    targets = [mechanism.poses(FIRST + share * (LAST - FIRST), "tool") for share in np.linspace(0.1, 1.0, 50)]
    found = least(lambda: [mechanism.inverse_kinematics("tool", target, q0=FIRST) for target in targets])
    return f"A 7-joint arm takes {short(found / len(targets))} on average of 50 targets."


@figure("transition.md")
def tumbling() -> str:
    from benchmarks import mujoco_tumbling

    return mujoco_tumbling.measured()


@figure("kernels.md")
def commands() -> str:
    from benchmarks import start_time

    return start_time.command_table()


@figure("kernels.md", long=True)
def day() -> str:
    from benchmarks import start_time

    return start_time.day_table()


@figure("implicit.md", long=True)
def steps() -> str:
    from benchmarks import step_control

    return step_control.measured()


@figure("results.md", long=True)
def files() -> str:
    from benchmarks import result_files

    result_files.measure(1000)
    shares = [100 * writing / whole for _, whole, writing in (result_files.measure(1_000_000) for _ in range(3))]
    return (
        f"- Writing takes {min(shares):.0f} to {max(shares):.0f} % of the processor time of a heavy top with "
        "10⁶ steps of RK4, every step saved, 216 MB (`python -m benchmarks.result_files`)."
    )


@figure("view.md", long=True)
def pages() -> str:
    from benchmarks import view_speed

    with tempfile.TemporaryDirectory() as folder:
        return view_speed.measured(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--write", action="store_true", help="write them into the documentation")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.names or [name for name, (_, _, long) in FIGURES.items() if not long]:
        document, measure, _ = FIGURES[name]
        text = measure()
        print(f"docs/{document}, {name}:\n{text}\n", flush=True)
        if options.write:
            page.fill(document, name, text)


if __name__ == "__main__":
    main()
