"""A user's model V' = f(q, V, t) as a vector field on the space of absolute coordinates and twists.

y = (absolute coordinates of all bodies, twists of all bodies); the field is (velocity of each body on its group, V').
The user's function is called through its address, so this field is compiled once for all models.
"""

from __future__ import annotations

from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.algebra import add, cross, sub
from chasles.kernel.lanes import load
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, store6
from chasles.lie.transition.charts import body_to_mixed, mixed_to_body, pose_of
from chasles.lie.transition.coordinates import QUATERNION

HEAD = layout("HEAD", bodies=1, chart=1, change=1, address=1)  # integers, in the bits of the first parameters
SAME, BODY_TO_MIXED, MIXED_TO_BODY, SPATIAL_TO_HYBRID, HYBRID_TO_SPATIAL = range(5)  # from the model to the group


@kernel
def pose_at(chart, y, at):
    """Pose of the body whose absolute coordinates begin at a place."""
    if chart == QUATERNION:
        return (load(y, at, 0.0), load(y, at + 1, 0.0), load(y, at + 2, 0.0), load(y, at + 3, 0.0)), load3(
            y, at + 4, 0.0
        )
    return pose_of(chart, load6(y, at, 0.0))


@kernel
def velocity_on_group(change, g, v):
    """The velocity with which the group moves a pose, of a twist in the representation of the model."""
    if change == BODY_TO_MIXED:
        return body_to_mixed(g[0], v)
    if change == MIXED_TO_BODY:
        return mixed_to_body(g[0], v)
    if change == SPATIAL_TO_HYBRID:
        return v[0], sub(v[1], cross(g[1], v[0]))
    return v[0], add(v[1], cross(g[1], v[0]))


@field
def motion(t, y, p, out):
    """Velocities on the groups, then the accelerations of the model."""
    whole = as_integer_array(p)
    n, chart, change = whole[HEAD.bodies], whole[HEAD.chart], whole[HEAD.change]
    size = 7 if chart == QUATERNION else 6
    if change == SAME:
        for k in range(6 * n):
            out[k] = y[size * n + k]
    else:
        for i in range(n):
            v = load6(y, size * n + 6 * i, 0.0)
            store6(out, 6 * i, velocity_on_group(change, pose_at(chart, y, size * i), v))
    parameters, result = p[HEAD.size :], out[6 * n :]
    invoke(whole[HEAD.address], t, y, parameters, result, y.shape[0], parameters.shape[0], 6 * n)
