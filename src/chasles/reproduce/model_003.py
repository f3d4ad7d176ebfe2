"""Models as a user of 003 has them: accelerations of a mechanism in absolute coordinates of any kind.

The equations are those of `absolute`; the coordinates are converted to poses first. So the same model is there in
quaternions, rotation vectors, Euler angles and screws, and what differs between runs is the integration alone.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.entry import set_clock, work_size
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD
from chasles.integrate.field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.workspace import store3
from chasles.lie.transition.coordinates import LOCAL, QUATERNION, absolute_of
from chasles.lie.transition.maps import from_pose
from chasles.transition.motion import pose_at
from chasles.transition.problem import LGTProblem


@field
def mechanism_acceleration(t, y, p, out):
    """V' of all bodies under gravity and constraints. p: the chart, the packed mechanism, workspace, poses."""
    chart, packed = int(p[0]), p[1:]
    whole = as_integer_array(packed)
    n = whole[HEAD.n_bodies]
    size = work_size(whole)
    work = packed[whole[HEAD.end] : whole[HEAD.end] + size]
    wrenches = packed[whole[HEAD.end] + size : whole[HEAD.end] + size + 6 * n]
    if chart == QUATERNION:
        q, v = y[: POSE * n], y[POSE * n :]
    else:
        q, v = packed[whole[HEAD.end] + size + 6 * n :], y[TWIST * n :]
        for i in range(n):
            turn, position = pose_at(chart, y, 6 * i)
            q[7 * i], q[7 * i + 1], q[7 * i + 2], q[7 * i + 3] = turn
            store3(q, 7 * i + 4, position)
    before = flush_denormals()
    set_clock(whole, work, t, y, 0)
    invoke(whole[HEAD.accelerations], packed, packed.shape[0], q, v, wrenches, work, out)
    restore_denormals(before)


def representation_of(local: str) -> str:
    """The twists with which the group of the local coordinates moves bodies."""
    return "body" if LOCAL[local].group == "SE3" else "mixed"


def mechanism_problem(mechanism: AbsoluteMechanism, absolute: str, local: str) -> LGTProblem:
    """A mechanism, compiled for the group of the local coordinates, as a user's model in absolute coordinates."""
    n = mechanism.n
    if mechanism.forces.laws or mechanism.laws or mechanism.angles_counted:
        raise ValueError("mechanism_problem: gravity and joints only; this mechanism has forces or driven constraints")
    chart = absolute_of("mechanism_problem", absolute)
    p = np.concatenate([[float(chart.code)], mechanism.parameters, np.zeros(mechanism.work + 13 * n)])
    return LGTProblem(mechanism_acceleration, absolute, local, n, representation_of(local), p)


def start(problem: LGTProblem, mechanism: AbsoluteMechanism, poses: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """The point of a start given by poses and body twists of the users' frames."""
    central, velocity = mechanism.state(poses, twists)
    return problem.state(from_pose(central, problem.chart), velocity)
