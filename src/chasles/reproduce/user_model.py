"""Models as a user of mueller2022 has them: accelerations of a mechanism in absolute coordinates of any kind.

The equations are those of `absolute`; the coordinates are converted to poses first. So the same model is there in
quaternions, rotation vectors, Euler angles and screws, and what differs between runs is the integration alone.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.entry import set_clock
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD, work_size
from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import store3
from chasles.lie.transition.coordinates import LOCAL, QUATERNION, absolute_of
from chasles.lie.transition.maps import from_pose
from chasles.transition.motion import pose_at
from chasles.transition.problem import LGTProblem


@kernel
def accelerations_at(t, packed, q, v, out):
    """V' of all bodies at poses q and twists v; `packed` has the mechanism, workspace and room for wrenches."""
    whole = as_integer_array(packed)
    size = work_size(whole)
    work = packed[whole[HEAD.end] : whole[HEAD.end] + size]
    wrenches = packed[whole[HEAD.end] + size :]
    before = flush_denormals()
    set_clock(whole, work, t, q, 0)
    invoke(whole[HEAD.accelerations], packed, packed.shape[0], q, v, wrenches, work, out)
    restore_denormals(before)


@kernel
def poses_at(chart, n, y, q):
    """Poses of the absolute coordinates with which y begins."""
    for i in range(n):
        turn, position = pose_at(chart, y, 6 * i)
        q[7 * i], q[7 * i + 1], q[7 * i + 2], q[7 * i + 3] = turn
        store3(q, 7 * i + 4, position)


@kernel
def room_at(packed):
    """Where the workspace of a field begins, behind that of the mechanism."""
    whole = as_integer_array(packed)
    return whole[HEAD.end] + work_size(whole) + 6 * whole[HEAD.n_bodies]


@field
def mechanism_acceleration(t, y, p, out):
    """V' of all bodies under gravity and constraints. p: the chart, the packed mechanism, workspace, poses."""
    chart, packed = int(p[0]), p[1:]
    n = as_integer_array(packed)[HEAD.n_bodies]
    if chart == QUATERNION:
        accelerations_at(t, packed, y[: POSE * n], y[POSE * n :], out)
    else:
        q = packed[room_at(packed) :]
        poses_at(chart, n, y, q)
        accelerations_at(t, packed, q, y[TWIST * n :], out)


def model_parameters(mechanism: AbsoluteMechanism, mode: int) -> np.ndarray:
    """Parameters of the fields: a number that tells the coordinates, the packed mechanism, workspace."""
    if mechanism.every_angle:  # the fields have no place for counted angles
        mechanism = AbsoluteMechanism(
            mechanism.system,
            mechanism.spaces,
            baumgarte=mechanism.baumgarte,
            inputs=mechanism.inputs,
            every_angle=False,
        )
    if mechanism.forces.laws or mechanism.laws or mechanism.angles_counted:
        raise ValueError("user_model: gravity and joints only; this mechanism has forces or driven constraints")
    return np.concatenate([[float(mode)], mechanism.packed, np.zeros(mechanism.work + 26 * mechanism.n)])


def representation_of(local: str) -> str:
    """The twists with which the group of the local coordinates moves bodies."""
    return "body" if LOCAL[local].group == "SE3" else "mixed"


def mechanism_problem(mechanism: AbsoluteMechanism, absolute: str, local: str) -> LGTProblem:
    """A mechanism, compiled for the group of the local coordinates, as a user's model in absolute coordinates."""
    p = model_parameters(mechanism, absolute_of("mechanism_problem", absolute).code)
    return LGTProblem(mechanism_acceleration, absolute, local, mechanism.n, representation_of(local), p)


def start(problem: LGTProblem, mechanism: AbsoluteMechanism, poses: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """The point of a start given by poses and body twists of the users' frames."""
    central, velocity = mechanism.state(poses, twists)
    return problem.state(from_pose(central, problem.chart), velocity)
