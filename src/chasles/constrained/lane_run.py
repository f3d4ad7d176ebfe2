"""Runs of generalized alpha with fixed steps, up to four of one structure at once on lanes (`alpha_lanes`).

Steps that lanes do not take together are taken by the single runs, which then go on on lanes: their states are the same
numbers in another order. So a run has the same bits whatever the others are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import Event
from typing import Any

import numpy as np

from chasles.absolute.joint_force import FRAMES, FREEDOM, JOINT
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD, MECHANISM
from chasles.constrained.alpha_lanes import addresses, run_lanes
from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.workspace import COUNTS, OPERATIONS, LaneCall
from chasles.constraint.rows import TILE, TURN
from chasles.force.table import FORCES
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.integrate.fixed_step import StepError
from chasles.integrate.status import NO_CONVERGENCE, RUNNING
from chasles.kernel.flat_call import flat_call
from chasles.kernel.lanes import WIDTH, buffer

PIECE = 256  # steps after which one looks whether all runs are to end
MOST_ALONE = 64  # steps that single runs take before lanes try again, at most


def refusal(mechanism: AbsoluteMechanism, method: object) -> str:
    """Why runs of a mechanism cannot be on lanes, if so."""
    head = mechanism.packed.view(np.int64)
    kinds = [max(tile.integers[TILE.kinds : TILE.kinds + 3]) for tile in mechanism.tiles]
    reasons = {
        "lanes in absolute coordinates are for GeneralizedAlpha": not isinstance(method, GeneralizedAlpha),
        "velocities are projected": getattr(method, "project_velocity", False),
        "forces act on bodies in absolute coordinates": head[head[HEAD.table] + FORCES.count] != 0,
        "constraints depend on each other": bool(mechanism.redundant),
        "joints are coupled, driven, rolling or of the user": max(kinds, default=0) >= TURN,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def structure(mechanism: AbsoluteMechanism) -> Hashable:
    """What mechanisms have in common that can be on lanes together: all integers, also those among the numbers."""
    packed = mechanism.packed
    integers = [MECHANISM.part(packed, name).tobytes() for name, kind in MECHANISM.elements.items() if kind is int]
    numbers, freedoms = MECHANISM.part(packed, "joint_numbers"), []
    for row in mechanism.joint_tables.rows:
        at = row[JOINT.numbers] + FRAMES.size
        freedoms.append(numbers[at : at + FREEDOM.size * row[JOINT.velocities]].tobytes())
    return (*integers, *freedoms, len(packed))


def interleaved(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """A buffer of lanes; lanes without an array repeat the last one."""
    lanes = buffer(max(arrays[0].size, 1))
    lanes[: WIDTH * arrays[0].size].reshape(-1, WIDTH)[:] = np.array(
        [arrays[min(k, len(arrays) - 1)].reshape(-1) for k in range(WIDTH)]
    ).T
    return lanes


class LaneRun:
    """Up to four runs of one structure, all at the same step."""

    def __init__(self, runs: Sequence[ConstrainedStepper]):
        self.runs, lead = list(runs), runs[0]
        self.lead = lead
        self.integers, self.operations = lead.p.view(np.int64).copy(), addresses().copy()
        self.p, self.row_work, self.work, self.vectors = (
            interleaved([getattr(run, name) for run in runs]) for name in ("p", "row_work", "work", "vectors")
        )

    def take(self, limit: int) -> bool:
        """Up to `limit` steps of full length; False if single runs must take the next one."""
        lead, rows = self.lead, 1 + (limit // self.lead.every + 1 if self.lead.every else 0)
        size, counts = lead.saved_y[0].size, np.zeros_like(lead.counts)
        counts[COUNTS.step] = lead.steps
        state, tally = interleaved([run.memory for run in self.runs]), buffer(2)
        saved_t, saved_y = np.empty(rows), buffer(rows * size)
        arrays: list[Any] = [self.integers, self.p, lead.packed, lead.parameters, state]
        arrays += [self.row_work, self.work, self.vectors, counts, lead.times, saved_t, saved_y, tally, self.operations]
        call = LaneCall._make([*arrays, limit, lead.plan.steps, lead.every])
        flat_call(run_lanes, int(self.operations[OPERATIONS.loop]), call)
        saved, taken = int(counts[COUNTS.rows]), int(counts[COUNTS.step]) - lead.steps
        points = saved_y.reshape(rows, size, WIDTH)[:saved]
        for k, run in enumerate(self.runs):
            run.memory[:] = state[: WIDTH * run.memory.size].reshape(-1, WIDTH)[:, k]
            row = int(run.counts[COUNTS.rows])
            run.make_room(row + saved - 1)
            run.saved_t[row : row + saved], run.saved_y[row : row + saved] = saved_t[:saved], points[:, :, k]
            run.counts[COUNTS.rows] += saved
            run.counts[COUNTS.step] += taken
            run.counts[COUNTS.iterations] += int(tally[k])
            if taken:
                run.counts[COUNTS.tried] = int(tally[WIDTH + k])
            going = counts[COUNTS.status] == NO_CONVERGENCE
            run.counts[COUNTS.status] = RUNNING if going else counts[COUNTS.status]
        return not going


def carried_far(runs: Sequence[ConstrainedStepper], stop: Event) -> list[ConstrainedStepper]:
    """Take steps of up to four runs of one structure together, to their end or to a last step that is shorter; those
    that got so far."""
    plan = runs[0].plan
    full_steps, alone, runs = plan.steps if plan.last == plan.step else plan.steps - 1, 1, list(runs)
    lanes = LaneRun(runs)
    while runs and runs[0].steps < full_steps and not stop.is_set():
        before = runs[0].steps
        if lanes.take(min(PIECE, full_steps - before)):
            continue
        alone = min(2 * alone, MOST_ALONE) if runs[0].steps - before < alone else 1
        limit = min(alone, full_steps - runs[0].steps)
        left = [run for run in runs if goes_on(run, limit)]
        if len(left) < len(runs) and left:
            lanes = LaneRun(left)
        runs = left
    return [run for run in runs if run.steps >= full_steps]


def goes_on(run: ConstrainedStepper, limit: int) -> bool:
    """Let a run take steps by itself; whether it could."""
    try:
        run.advance(limit)
    except StepError:
        return False
    return True
