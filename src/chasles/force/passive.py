"""What a joint does by itself: springs, dampers, dry friction and stops on its coordinates.

The numbers are `PASSIVE` for each velocity; the same in joint and absolute coordinates.
"""

from __future__ import annotations

import numpy as np

from chasles.kernel.algebra import dot, mul_t, scale
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout
from chasles.lie import quaternion
from chasles.lie.so3 import dexpinv_apply

PASSIVE = layout(
    "PASSIVE",
    damping=1,
    stiffness=1,
    rest=1,
    friction=1,
    friction_speed=1,
    lower=1,
    upper=1,
    stop_stiffness=1,
    stop_damping=1,
)


@kernel
def passive_force(values, at, x, speed):
    """Force of one freedom displaced by x: (force of springs, force of the rest, stored energy)."""
    stiffness = values[at + PASSIVE.stiffness]
    spring, energy = -stiffness * x, 0.5 * stiffness * x * x
    rest = -values[at + PASSIVE.damping] * speed
    friction = values[at + PASSIVE.friction]
    if friction != 0.0:
        rest -= friction * np.tanh(speed / values[at + PASSIVE.friction_speed])
    return spring, rest, energy


@kernel
def stop_force(values, at, q, speed):
    """Force of a stop beyond a limit, which pushes but never pulls: (spring, rest, stored energy)."""
    beyond = max(q - values[at + PASSIVE.upper], 0.0) + min(q - values[at + PASSIVE.lower], 0.0)
    stiffness = values[at + PASSIVE.stop_stiffness]
    if beyond == 0.0 or stiffness == 0.0:
        return 0.0, 0.0, 0.0
    spring = -stiffness * beyond
    total = spring - values[at + PASSIVE.stop_damping] * speed
    if total * spring < 0.0:
        total = 0.0
    return spring, total - spring, 0.5 * stiffness * beyond * beyond


@kernel
def add_one_freedom(values, k, q, speed, tau):
    """Returns (power of what is not a spring, stored energy)."""
    at = k * PASSIVE.size
    spring, rest, energy = passive_force(values, at, q - values[at + PASSIVE.rest], speed)
    stop, damped, more = stop_force(values, at, q, speed)
    tau[k] += spring + rest + stop + damped
    return (rest + damped) * speed, energy + more


@kernel
def add_vector(values, iv, x, v, tau, turn):
    """Three freedoms at once: a rotation by the vector x (turn), or a displacement."""
    power, energy = 0.0, 0.0
    pull = (
        values[iv * PASSIVE.size + PASSIVE.stiffness] * x[0],
        values[(iv + 1) * PASSIVE.size + PASSIVE.stiffness] * x[1],
        values[(iv + 2) * PASSIVE.size + PASSIVE.stiffness] * x[2],
    )
    energy = 0.5 * dot(pull, x)
    if turn:  # the gradient along q exp(δ)
        pull = dexpinv_apply(x, pull)
    for k in range(3):
        _, rest, _ = passive_force(values, (iv + k) * PASSIVE.size, 0.0, v[iv + k])
        tau[iv + k] += rest
        power += rest * v[iv + k]
    tau[iv] -= pull[0]
    tau[iv + 1] -= pull[1]
    tau[iv + 2] -= pull[2]
    return power, energy


@kernel
def add_rotation(values, iv, unit, v, tau):
    """A rotation of three freedoms, of the unit quaternion with w >= 0; returns (power, stored energy)."""
    return add_vector(values, iv, quaternion.log(unit), v, tau, True)


@kernel
def add_displacement(values, iv, unit, x, v, tau):
    """A displacement x, in the axes that the rotation starts from; velocities and forces are in the turned axes."""
    stiffness = values[iv * PASSIVE.size + PASSIVE.stiffness]
    pull = mul_t(quaternion.to_matrix(unit), scale(stiffness, x))
    power = 0.0
    for k in range(3):
        _, rest, _ = passive_force(values, (iv + k) * PASSIVE.size, 0.0, v[iv + k])
        tau[iv + k] += rest - pull[k]
        power += rest * v[iv + k]
    return power, 0.5 * stiffness * dot(x, x)
