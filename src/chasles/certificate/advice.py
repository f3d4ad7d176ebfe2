"""What to write when a run did not pass: the option, with a number."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.certificate import mesh, voices
from chasles.certificate.companion import FINEST
from chasles.certificate.stiff import FIRST_STEP
from chasles.certificate.verdict import ERROR, MESH, NOT_JUDGED, PASSED, Certificate
from chasles.integrate.method import RKMK, Exponentials
from chasles.model.law import PythonLaw
from chasles.simulation.laws.samples import items_with_laws

if TYPE_CHECKING:
    from chasles.certificate.judge import Judge

LARGE = 0.1  # an error that grows no more as it did, since nothing moves farther
GROWTH = 1e3  # times, from an error to that one: how long this takes tells how long it would take again
RESOLVED, SLOWER = 3, 3.0  # checkpoints of that time at least; times longer for the second half of the growth at most
NOWHERE = (np.nan, np.nan)  # when and within how long a law changes of which only jumps are known
ENOUGH = 4.0  # steps in the time in which a law changes


def python_laws(system: Any) -> list[PythonLaw]:
    """Laws in Python."""
    return [law for _, law in items_with_laws(system) if isinstance(law, PythonLaw)]


def lost_laws(system: Any) -> list[str]:
    """Names of laws that are not in the file that the run was read from."""
    return [law.__name__ for law in python_laws(system) if hasattr(law.function, "not_in_file")]


def advice(run: Any, found: Certificate, judge: Judge) -> list[str]:
    """Lines that say what to do, the most likely cause first."""
    if found.status == PASSED or not found.findings:
        return []
    failed = {finding.name: finding for finding in found.findings if finding.judged and not finding.passed}
    lines = []
    if voices.REPETITION in failed:
        lines.append("make each law a function of its arguments: noise seeded by t, or a sampled controller")
    if voices.DRIVES in failed:
        lines.append("correct out[1] and out[2] of the drive's law: the first and second derivative of out[0]")
    if ERROR in failed and run.success:
        lines += _accuracy(run, judge, failed[ERROR].value)
    if ERROR not in failed and FIRST_STEP in failed:
        lines.append("the method damps a fast part: if you want that, certify(run, without=[...]) leaves it out")
    if ERROR not in failed and voices.EVENTS in failed:
        lines.append("events are closer together than steps: set max_step=... below the time between them")
    if MESH in failed:
        lines.append(mesh.elements_for(judge, failed[MESH].value, judge.limits[MESH]))
    if voices.POSITION in failed or voices.VELOCITY in failed:
        lines.append('use stabilization="projection", or smaller steps')
    if judge.lost:
        lines.append(
            f'compare with a run in {_other(run)} coordinates (coordinates="{_other(run)}"), or by equal steps'
        )
    explicit = judge.task.more["step"] is None and isinstance(judge.task.method, RKMK | Exponentials)
    if found.status == NOT_JUDGED and judge.features is not None and judge.features.in_time and not explicit:
        lines.append("to compare, use tolerances instead of a step, or an explicit method over a shorter span")
    return lines


def _other(run: Any) -> str:
    return "relative" if run.coordinates == "absolute" else "absolute"


def _accuracy(run: Any, judge: Judge, error: float) -> list[str]:
    """What would bring the error below the tolerance."""
    found = judge.features
    in_time = () if found is None else found.in_time
    if (best := _farthest(judge, in_time)) is not None:
        return [
            f"the motion amplifies small errors (chaos): this run is correct until t = {judge.horizon:.4g} s; with "
            f"rtol={FINEST:.0e} it would be until about t = {best:.3g} s. After that the states are one sample of "
            "many: end the run before, or use statistics"
        ]
    lines, task = list[str](), judge.task
    if found is not None:
        named = [name for name in in_time if name in found.steepest or name in found.jumps][:2]
        laws = (_in_time(run, name, *found.steepest.get(name, NOWHERE), found.jumps.get(name)) for name in named)
        lines = [line for line in laws if line]
    step = task.more["step"]
    if step is None:
        rtol = max(task.more["rtol"] * judge.tolerance / (10 * error), 1e-13)
        smaller, given = min(1.0, judge.tolerance / (10 * error)), task.more["atol"]
        line = "smaller rtol and atol"
        if np.isfinite(error):
            line = f"rtol={rtol:.0e}" if given is None else f"rtol={rtol:.0e}, atol={given * smaller:.0e}"
    else:
        order = max(float(getattr(task.method, "order", 1)), 1.0)
        better = step * min((judge.tolerance / error) ** (1 / order), 0.5) if np.isfinite(error) else step / 10
        line = f"step={better:.1e} or smaller (the error falls with h^{order:g}), or rtol and atol instead of a step"
    return [*lines, line]


def _farthest(judge: Judge, in_time: Collection[str]) -> float | None:
    """Until when a run with the tightest tolerances would be right, if that is before the end: then the motion forgets
    its start. None if tighter tolerances, or smaller steps, are all that is missing.

    Two motions at different tolerances tell, whose difference falls with the tolerance and grows with time: the two
    companions or, if no law depends on time, the run and the companion.
    """
    rtol, apart = judge.task.more["rtol"], judge.errors
    if judge.parted is not None:
        rtol, apart = judge.parted
    elif in_time or rtol is None or apart is None:
        return None
    assert judge.motion is not None
    t, most = np.abs(judge.motion.t - judge.motion.t[0]), np.maximum.accumulate(apart.max(axis=(0, 2), initial=0.0))
    if not np.isfinite(most[-1]) or most[-1] < LARGE:  # not grown so large that it could not fall with the tolerance
        return None
    early, middle, late = (int(np.argmax(most >= LARGE / factor)) for factor in (GROWTH, GROWTH**0.5, 1.0))
    if late - early < RESOLVED or t[late] - t[middle] > SLOWER * (t[middle] - t[early]):
        return None  # it jumps, or grows more and more slowly
    again = np.log(judge.tolerance * rtol / FINEST / LARGE) / np.log(GROWTH)  # so often it would have to grow as much
    best = t[late] + again * (t[late] - t[early])
    return None if best >= t[-1] else float(judge.motion.t[0] + np.copysign(best, judge.motion.t[-1]))


def _in_time(run: Any, name: str, when: float, within: float, jumps: tuple[float, ...] | None) -> str:
    """How a law changes in time against the steps there; empty if these are short enough."""
    if jumps:
        shown = ", ".join(f"{x:.12g}" for x in jumps[:4])
        return f"{name!r} jumps at t = {shown}{', ...' if len(jumps) > 4 else ''} s: give stops=[{shown}]"
    if isinstance(run.task.more["save"], str) and len(run.t) > 2:
        k = int(np.clip(np.searchsorted(np.asarray(run.t), when), 1, len(run.t) - 1))
        step = float(abs(run.t[k] - run.t[k - 1]))
        if step <= within / ENOUGH:
            return ""
        steps = f"; steps there are {step:.2g} s"
    else:
        steps = ""
    return f"{name!r} changes at t = {when:.4g} s within {within:.2g} s{steps}: give max_step={within / ENOUGH:.1g}"
