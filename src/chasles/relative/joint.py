"""The elementary joints: where a joint puts its link, how it moves it, and which part of a wrench it feels.

A joint's screws are constant in the frame of its link: (e3; 0) revolute, (0; e3) prismatic, (e3; h e3) helical with
pitch h [m/rad], (I; 0) spherical, I free.
"""

from __future__ import annotations

from chasles.kernel.algebra import mat_mul
from chasles.kernel.functions import sincos
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, store3, store6
from chasles.lie import quaternion
from chasles.relative.tables import CONSTANT, FREE, HELICAL, PRISMATIC, REVOLUTE, SPHERICAL


@kernel
def constant_rotation(numbers, c, z):
    return (
        *(like(numbers[c], z), like(numbers[c + 1], z), like(numbers[c + 2], z)),
        *(like(numbers[c + 3], z), like(numbers[c + 4], z), like(numbers[c + 5], z)),
        *(like(numbers[c + 6], z), like(numbers[c + 7], z), like(numbers[c + 8], z)),
    )


@kernel
def constant_position(numbers, c, z):
    at = c + CONSTANT.position
    return (like(numbers[at], z), like(numbers[at + 1], z), like(numbers[at + 2], z))


@kernel
def turned(numbers, c, angle, z):
    """The rotation of the link's frame in its parent's: the constant one, then `angle` about z."""
    s, k = sincos(angle)
    return (
        *(k * numbers[c] + s * numbers[c + 1], k * numbers[c + 1] - s * numbers[c], like(numbers[c + 2], z)),
        *(k * numbers[c + 3] + s * numbers[c + 4], k * numbers[c + 4] - s * numbers[c + 3], like(numbers[c + 5], z)),
        *(k * numbers[c + 6] + s * numbers[c + 7], k * numbers[c + 7] - s * numbers[c + 6], like(numbers[c + 8], z)),
    )


@kernel
def slid(numbers, c, distance, z):
    """The origin of the link's frame in its parent's: the constant one, then `distance` along z."""
    p = constant_position(numbers, c, z)
    return (
        p[0] + distance * numbers[c + 2],
        p[1] + distance * numbers[c + 5],
        p[2] + distance * numbers[c + 8],
    )


@kernel
def load_quaternion(q, at, z):
    return (load(q, at, z), load(q, at + 1, z), load(q, at + 2, z), load(q, at + 3, z))


@kernel
def placement(numbers, c, kind, q, iq, z):
    """Pose (R, p) of the link in its parent's frame."""
    if kind == REVOLUTE:
        return turned(numbers, c, load(q, iq, z), z), constant_position(numbers, c, z)
    if kind == PRISMATIC:
        return constant_rotation(numbers, c, z), slid(numbers, c, load(q, iq, z), z)
    if kind == HELICAL:
        angle = load(q, iq, z)
        return turned(numbers, c, angle, z), slid(numbers, c, angle * numbers[c + CONSTANT.pitch], z)
    base = constant_rotation(numbers, c, z)
    rotation = mat_mul(base, quaternion.to_matrix(load_quaternion(q, iq, z)))
    position = constant_position(numbers, c, z)
    if kind == FREE:
        x = load3(q, iq + 4, z)
        position = (
            position[0] + base[0] * x[0] + base[1] * x[1] + base[2] * x[2],
            position[1] + base[3] * x[0] + base[4] * x[1] + base[5] * x[2],
            position[2] + base[6] * x[0] + base[7] * x[1] + base[8] * x[2],
        )
    return rotation, position


@kernel
def along_screws(numbers, c, kind, v, iv, z):
    """S v: twist of the link relative to its parent, in the link's frame, for velocities v (or S a for a)."""
    zero = like(0.0, z)
    if kind == SPHERICAL:
        return load3(v, iv, z), (zero, zero, zero)
    if kind == FREE:
        return load6(v, iv, z)
    speed = load(v, iv, z)
    turning, sliding = screw_weights(numbers, c, kind)
    return (zero, zero, turning * speed), (zero, zero, sliding * speed)


@kernel
def screw_weights(numbers, c, kind):
    """(s, t) with the screw (s e3; t e3) of a joint with one freedom."""
    turning = 0.0 if kind == PRISMATIC else 1.0
    sliding = 1.0 if kind == PRISMATIC else numbers[c + CONSTANT.pitch]  # the pitch of a revolute joint is 0
    return turning, sliding


@kernel
def store_felt(numbers, c, kind, wrench, out, iv, z):
    """Sᵀ W: the generalized forces of a wrench on the link."""
    if kind == REVOLUTE:
        store(out, iv, wrench[0][2])
    elif kind == SPHERICAL:
        store3(out, iv, wrench[0])
    elif kind == FREE:
        store6(out, iv, wrench)
    else:
        turning, sliding = screw_weights(numbers, c, kind)
        store(out, iv, turning * wrench[0][2] + sliding * wrench[1][2])
