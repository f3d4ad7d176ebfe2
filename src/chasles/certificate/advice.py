"""What to write when a run did not pass: the option, with a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.certificate import voices
from chasles.certificate.stiff import FIRST_STEP
from chasles.certificate.verdict import ERROR, NOT_JUDGED, PASSED, Certificate
from chasles.model.law import PythonLaw
from chasles.simulation.law_samples import items_with_laws

if TYPE_CHECKING:
    from chasles.certificate.judge import Judge

NOT_A_FUNCTION = "the same steps give other numbers: a law is not a function of its arguments"
GROWTH = 1e3  # of the error from a quarter of the run to its end, if it forgets its start


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
        lines.append(
            "a fast part is damped away by the method: if so intended, certify(run, without=[...]) leaves it out"
        )
    if ERROR not in failed and voices.EVENTS in failed:
        lines.append("events lie closer than steps: give max_step=... below the time between them")
    if voices.POSITION in failed or voices.VELOCITY in failed:
        lines.append('take stabilization="projection", or smaller steps')
    if found.status == NOT_JUDGED and judge.features is not None and judge.features.in_time:
        lines.append("take tolerances in place of a step, or an explicit method over a shorter span, to compare")
    return lines


def _accuracy(run: Any, judge: Judge, error: float) -> list[str]:
    """What would bring the error below the tolerance."""
    found = judge.features
    in_time = () if found is None else found.in_time
    if judge.forgets or (not in_time and _grows(judge)):
        return [
            f"the motion depends on rounding after t = {judge.horizon:.4g} s: there the states are one sample of many; "
            "end the run before, or use statistics. Tighter tolerances move the horizon a little"
        ]
    lines, task = list[str](), judge.task
    if found is not None:
        lines = [_in_time(run, name, *found.steepest[name], found.jumps.get(name)) for name in in_time[:2]]
    step = task.more["step"]
    if step is None:
        rtol = max(task.more["rtol"] * judge.tolerance / (10 * error), 1e-13)
        atol = task.more["atol"] * min(1.0, judge.tolerance / (10 * error))
        line = f"rtol={rtol:.0e}, atol={atol:.0e}" if np.isfinite(error) else "smaller rtol and atol"
    else:
        order = max(float(getattr(task.method, "order", 1)), 1.0)
        better = step * min((judge.tolerance / error) ** (1 / order), 0.5) if np.isfinite(error) else step / 10
        line = f"step={better:.1e} or smaller (the error falls with h^{order:g}), or rtol and atol in place of a step"
    return [*lines, line]


def _grows(judge: Judge) -> bool:
    """Whether the error grows as it does where a motion forgets its start, and little of it is of the first quarter."""
    if judge.errors is None or judge.task.more["step"] is not None:
        return False
    each = judge.errors.max(axis=(0, 2), initial=0.0)
    quarter = each[: max(len(each) // 4, 1)].max()
    return bool(0 < quarter * GROWTH < each.max())


def _in_time(run: Any, name: str, when: float, within: float, jumps: tuple[float, ...] | None) -> str:
    """How a law changes in time against the steps there, if these are too long."""
    if jumps:
        shown = ", ".join(f"{x:.6g}" for x in jumps[:4])
        return f"{name!r} jumps at t = {shown}{', ...' if len(jumps) > 4 else ''} s: give stops=[{shown}]"
    if isinstance(run.task.more["save"], str) and len(run.t) > 2:
        k = int(np.clip(np.searchsorted(np.asarray(run.t), when), 1, len(run.t) - 1))
        steps = f"; steps there are {abs(run.t[k] - run.t[k - 1]):.2g} s"
    else:
        steps = ""
    return f"{name!r} changes at t = {when:.4g} s within {within:.2g} s{steps}: give max_step={within / 4:.1g}"
