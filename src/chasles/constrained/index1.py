"""The motion of bodies with constraints as a vector field: the index-1 form mueller2013 eq. (2) on SE(3)^n or
(SO(3)xR3)^n.

y = (central poses, velocities, angles counted over full turns, work); f = (velocities, accelerations, rates of the
angles, power). The mechanism is in the parameters, so the field is compiled once for every mechanism. With the
correction, each step ends with a projection onto the constraints.

If rows depend on others, the stages of a step, which are off the constraints, would contradict each other a little, and
the regularized solution makes much of it: the field is then that of the nearest state on the constraints.

The velocities are those of the bodies' spaces, with angular velocities in the bodies: poses move by exp on the right
(left-trivialized). `spatial_motion` has spatial ones, and poses move by exp on the left (right-trivialized).
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.entry import power_of_drives, set_clock
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import BODY, FIELD, FORCE_WORK, HEAD, MECHANISM, SE3, WORK, bodies_of
from chasles.force.table import ACTED, FORCES
from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.algebra import add, cross, mul, mul_t
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.memory import Regions
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store6
from chasles.lie import quaternion

# workspace at the end of the parameters
SPACE = Regions(
    "Space",
    work=WORK.count,
    forces=FORCE_WORK.count,
    wrenches=6 * MECHANISM.sizes.n_bodies,
    acted=ACTED.size,  # of the forces
    projected_q=POSE * MECHANISM.sizes.n_bodies,  # if constraints are redundant
    projected_v=TWIST * MECHANISM.sizes.n_bodies,
    velocity=6 * MECHANISM.sizes.n_bodies,  # if velocities are spatial
)
space_of = SPACE.views


@kernel(allocates=True)
def put_on_constraints(t, y, q, v, p):
    """Project poses and velocities, these as the bodies' spaces have them, onto the constraints."""
    integers = as_integer_array(p)
    if integers[HEAD.n_tiles] > 0:
        space = space_of(p[integers[HEAD.end] :], integers)
        before = flush_denormals()
        set_clock(integers, space.work, t, y, (POSE + TWIST) * integers[HEAD.n_bodies])
        # the last stage left the factor of its state
        invoke(integers[HEAD.project], p, p.shape[0], q, v, space.work, 1)
        restore_denormals(before)


@kernel(allocates=True)
def move(t, y, v, p, out):
    """Accelerations, rates of the angles and power at the poses of y; velocities v as the bodies' spaces have them."""
    integers = as_integer_array(p)
    n = integers[HEAD.n_bodies]
    q, space = y[: POSE * n], space_of(p[integers[HEAD.end] :], integers)
    at = integers[HEAD.gravity]
    if p[at + FIELD.regularization] > 0.0 and p[at + FIELD.alpha] == 0.0 and p[at + FIELD.beta] == 0.0:
        for k in range(POSE * n):
            space.projected_q[k] = q[k]
        for k in range(TWIST * n):
            space.projected_v[k] = v[k]
        q, v = space.projected_q, space.projected_v
        put_on_constraints(t, y, q, v, p)
    work, wrenches, acted = space.work, space.wrenches, space.acted
    power = 0.0
    for k in range(integers[HEAD.n_angles]):
        p[integers[HEAD.counted] + k] = y[(POSE + TWIST) * n + k]
    if integers[integers[HEAD.table] + FORCES.count] != 0:
        invoke(integers[HEAD.act], t, p, p.shape[0], q, v, wrenches, space.forces, acted)
        power = acted[ACTED.power]
    else:
        for k in range(6 * n):
            wrenches[k] = 0.0
    before = flush_denormals()
    set_clock(integers, work, t, y, (POSE + TWIST) * n)
    invoke(integers[HEAD.accelerations], p, p.shape[0], q, v, wrenches, work, out[6 * n :])
    if integers[HEAD.n_moving] != 0:
        power += power_of_drives(integers, p, work)
    restore_denormals(before)
    out[12 * n + integers[HEAD.n_angles]] = power


@field
def body_motion(t, y, p, out):
    """Velocities, accelerations and power of bodies under their constraints and forces."""
    n = as_integer_array(p)[HEAD.n_bodies]
    v = y[POSE * n : (POSE + TWIST) * n]
    for k in range(6 * n):
        out[k] = v[k]
    move(t, y, v, p, out)


@field
def onto_constraints(t, y, p, out):
    """The state projected onto the constraints."""
    n = as_integer_array(p)[HEAD.n_bodies]
    for k in range(y.shape[0]):
        out[k] = y[k]
    put_on_constraints(t, y, out[: POSE * n], out[POSE * n : (POSE + TWIST) * n], p)


@kernel(allocates=True)
def from_spatial(y, p, v):
    """Velocities as the bodies' spaces have them, from the spatial ones in y."""
    bodies, n = bodies_of(p)
    for i in range(n):
        at = POSE * i
        R = quaternion.to_matrix((y[at], y[at + 1], y[at + 2], y[at + 3]))
        spin, linear = load3(y, POSE * n + 6 * i, 0.0), load3(y, POSE * n + 6 * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] == SE3:
            linear = mul_t(R, add(linear, cross(spin, load3(y, at + 4, 0.0))))
        store6(v, 6 * i, (mul_t(R, spin), linear))


@kernel(allocates=True)
def to_spatial(q, p, a):
    """Velocities or accelerations (of a velocity's components the derivative) of the bodies' spaces to spatial ones."""
    bodies, n = bodies_of(p)
    for i in range(n):
        at = POSE * i
        R = quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
        spin, linear = mul(R, load3(a, 6 * i, 0.0)), load3(a, 6 * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] == SE3:
            linear = add(mul(R, linear), cross(load3(q, at + 4, 0.0), spin))
        store6(a, 6 * i, (spin, linear))


@field
def spatial_motion(t, y, p, out):
    """The same in spatial velocities: V' = Ad V_b' of the body's, as ad of a twist on itself is zero."""
    integers = as_integer_array(p)
    n, v = integers[HEAD.n_bodies], space_of(p[integers[HEAD.end] :], integers).velocity
    from_spatial(y, p, v)
    for k in range(6 * n):
        out[k] = y[POSE * n + k]
    move(t, y, v, p, out)
    to_spatial(y, p, out[6 * n :])


@field
def spatial_onto_constraints(t, y, p, out):
    """The projection of a state with spatial velocities."""
    integers = as_integer_array(p)
    n, v = integers[HEAD.n_bodies], space_of(p[integers[HEAD.end] :], integers).velocity
    from_spatial(y, p, v)
    for k in range(y.shape[0]):
        out[k] = y[k]
    put_on_constraints(t, y, out[: POSE * n], v, p)
    to_spatial(out, p, v)
    for k in range(6 * n):
        out[POSE * n + k] = v[k]


def with_workspace(mechanism: AbsoluteMechanism) -> np.ndarray:
    """The parameters of these fields: the packed mechanism and, at its end, workspace. A run has its own copy."""
    p = mechanism.packed_for_run(explicit=True)
    return np.concatenate([p, np.zeros(SPACE.size(p.view(np.int64)))])


def multipliers_of(p: np.ndarray) -> np.ndarray:
    """The multipliers that the field left behind in its parameters, in elimination order."""
    integers = p.view(np.int64)
    work = SPACE.split(p[integers[HEAD.end] :], integers).work
    return WORK.split(work, integers).x
