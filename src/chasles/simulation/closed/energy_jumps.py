"""Whether a motion came through the singular configurations of its loops: how it ended tells, and its energy does.

There a method that takes reactions from one configuration and constraints from the next can get any reaction, and steps
that follow the error become ever shorter. So the balance of the energy is looked at between saved points: an error that
is far larger than those around it is a jump. And where a run broke off, the rank of its equations is looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chasles.constraint.projection import TORN
from chasles.integrate.explicit_layout import STATE
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Solution
from chasles.model.constraint import Drive
from chasles.model.scale import length_of
from chasles.simulation.states import States

LARGEST = 1e-6  # change of the balance between saved points, of the largest kinetic energy, that is not looked into
LOOKS = 48  # saved points that tell whether there is anything to look for: what jumps does not come back
SUDDEN = 100.0  # times larger than around it
AROUND = 12  # saved points on each side
NEXT = (1e-3, 1e-2, 1e-1)  # of the time of a run: how far before its end a dead point is looked for
HALVINGS = 40  # of that time


def explained(dynamics: Any, solution: Solution) -> Solution:
    """The solution, with the singular configuration it ended at in its message; or one without success that says when
    the energy jumped and which joints were near singular."""
    if not solution.success:
        told = singular_at_end(dynamics, solution)
        return replace(solution, message=f"{solution.message}. {told[0].upper()}{told[1:]}") if told else solution
    return without_jumps(dynamics, _held_to_dead_point(dynamics, solution))


def _held_to_dead_point(dynamics: Any, solution: Solution) -> Solution:
    """The solution, or one without success if loops are torn at its end because a drive went beyond a dead point."""
    if not any(isinstance(item, Drive) for item in dynamics.mechanism.system.constraints) or len(solution.t) < 2:
        return solution

    def at(k: int) -> States:
        point = Solution(solution.space, solution.method, np.array(solution.t[k]), np.asarray(solution.y[k]), True, "")
        return States(dynamics, point)

    def torn(k: int) -> bool:
        return not at(k).violations.position.max(initial=0.0) <= TORN * length_of(dynamics.mechanism.system)

    held, off = 0, len(solution.t) - 1
    if not torn(off) or torn(held):
        return solution
    while off - held > 1:
        middle = (held + off) // 2
        held, off = (held, middle) if torn(middle) else (middle, off)
    until = Solution(solution.space, solution.method, solution.t[: off + 1], solution.y[: off + 1], False, "")
    if not (told := dead_point(dynamics, until)):  # a drive that has turned farther may have come to a place it can be
        amounts, names = at(off).violations.position, at(off).constraints
        told = (
            f"loops are torn at t = {float(solution.t[off]):.6g} s: {names[int(np.argmax(amounts))]!r} is "
            f"off by {amounts.max():.3g} m or rad; a drive went beyond what they let it do. Drive it less far, or save "
            "more points to see where"
        )
    return replace(solution, success=False, message=f"{told}; all from there on is void")


def singular_at_end(dynamics: Any, solution: Solution) -> str:
    """What to say of the last state of a run that broke off, if it is near a singular configuration; else nothing."""
    if not len(solution.t):
        return ""
    t, y = reached(solution)
    rank, wanted, names = _lost(dynamics, solution, t, y) if np.isfinite(y).all() else (0, 0, ())
    if not names:
        return ""
    return (
        f"at t = {t:.6g} s the mechanism is near a singular configuration: {rank} of its {wanted} independent "
        f"constraint equations are left (involved: {', '.join(map(repr, names[:8]))})"
    )


def dead_point(dynamics: Any, solution: Solution) -> str:
    """What to say of a run that broke off because loops do not let a drive go on; else nothing.

    That is so if next to its end there is no configuration in which the drive has its value."""
    drives = {item.name: item for item in dynamics.mechanism.system.constraints if isinstance(item, Drive)}
    t, y = _last_reachable(dynamics, solution) if drives and len(solution.t) else (0.0, None)
    if y is None:
        return ""
    names = dynamics.nearly_dependent(t, y)[1]
    drive = drives[next((name for name in names if name in drives), next(iter(drives)))]
    loops, place = [repr(name) for name in names if name not in drives], ""
    now = States(dynamics, Solution(solution.space, solution.method, np.array(t), y, True, ""))
    if joint := next((joint for joint in now.moving_joints if joint.name == drive.joint), None):
        value, unit = now.joint(joint.name).q[drive.coordinate], joint.coordinate_units[drive.coordinate]
        shown = f"{np.degrees(value):.5g} deg" if unit == "rad" else f"{value:.6g} {unit}"
        place = f" at {joint.name} = {shown}"
    return (
        f"the drive {drive.name!r} cannot go on: the linkage is at a dead point{place} (t = {t:.6g} s), where other "
        f"joints would have to move infinitely fast{'; involved: ' if loops else ''}{', '.join(loops[:8])}. Change a "
        "length, or drive it less far"
    )


def _last_reachable(dynamics: Any, solution: Solution) -> tuple[float, np.ndarray | None]:
    """The last time, next to the end of a run, at which its drives have their values in some configuration, and a
    state there; no state if there are such configurations beyond the end, too."""
    times, end = np.asarray(solution.t), reached(solution)[0]
    for share in NEXT:
        at = int(np.flatnonzero(np.abs(times - times[0]) <= (1.0 - share) * abs(end - times[0]))[-1])
        low, y = float(times[at]), np.array(solution.y[at])
        if np.isfinite(y).all() and dynamics.configured(low, y) is not None:
            break
    else:
        return end, None
    high = end if dynamics.configured(end, y) is None else end + (end - low)
    if high != end and dynamics.configured(high, y) is not None:
        return end, None
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if (found := dynamics.configured(t, y)) is None:
            high = t
        else:
            low, y = t, found
    return low, y


def reached(solution: Solution) -> tuple[float, np.ndarray]:
    """The last time and state of a run that broke off: its saved points may end long before."""
    at = solution.checkpoint
    if isinstance(solution.method, RKMK | Exponentials) and "y" in at and np.isfinite(at["y"]).all():
        return float(at["state"][STATE.t]), at["y"]
    return float(solution.t[-1]), np.asarray(solution.y[-1])


def without_jumps(dynamics: Any, solution: Solution) -> Solution:
    """The solution, or one without success that says when the energy jumped and which joints were near singular."""
    if len(solution.t) <= 2 * AROUND:
        return solution  # too few to compare
    change, kinetic = _changes(dynamics, solution, np.unique(np.linspace(0, len(solution.t) - 1, LOOKS).astype(int)))
    if (change <= LARGEST * kinetic).all():
        return solution
    change, kinetic = _changes(dynamics, solution, None)
    for k in np.flatnonzero(~(change <= LARGEST * kinetic)):
        near = np.concatenate([change[max(k - AROUND, 0) : max(k - 2, 0)], change[k + 3 : k + 1 + AROUND]])
        if not change[k] <= SUDDEN * np.median(near):
            for point in (int(k), int(k) + 1):
                if names := _lost(dynamics, solution, float(solution.t[point]), np.asarray(solution.y[point]))[2]:
                    return _jumped(solution, float(solution.t[k]), names, change[k] / kinetic)
    return solution


def _changes(dynamics: Any, solution: Solution, rows: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Changes of the balance of the energy between saved points, all or some, and the largest kinetic energy."""
    if rows is not None:
        t, y = (np.array([part[k] for k in rows]) for part in (solution.t, solution.y))
        solution = Solution(solution.space, solution.method, t, y, True, "")
    energy = States(dynamics, solution).energies
    return np.abs(np.diff(energy.balance)), float(energy.kinetic.max())


def _lost(dynamics: Any, solution: Solution, t: float, y: np.ndarray) -> tuple[int, int, tuple[str, ...]]:
    """How many equations are well independent at a state and how many at the start, and whose equations nearly depend
    on others, if more do than at the start."""
    wanted = dynamics.nearly_dependent(float(solution.t[0]), np.asarray(solution.y[0]))[0]
    rank, names = dynamics.nearly_dependent(t, y)
    return rank, wanted, names if rank < wanted else ()


def _jumped(solution: Solution, t: float, names: tuple[str, ...], size: float) -> Solution:
    return replace(
        solution,
        success=False,
        message=f"{solution.message}, but at t = {t:.6g} s the energy jumps by {size:.1e} of the largest kinetic one: "
        f"a singular configuration was not passed well (involved: {', '.join(map(repr, names[:8]))}). The motion from "
        "there on is not to be trusted; take equal steps (step=...), which often pass it, or other ones, and compare",
    )
