"""A model that depends on all it can: an asymmetric body on a spring, under a torque of gravity, in any coordinates."""

import numpy as np

import chasles as ch
from chasles.integrate.vector_field import field
from chasles.kernel.algebra import cross
from chasles.kernel.workspace import load6
from chasles.lie import pose, quaternion, rotation, transition
from chasles.screw.representation import convert_acceleration, convert_twist
from chasles.transition.motion import pose_at

INERTIA = np.array([1.0, 2.0, 2.7])
LEVER = np.array([0.1, -0.2, 0.3])
PULL = np.array([0.3, -0.5, -2.0])
POSE = pose.project(np.array([0.9, 0.2, -0.3, 0.1, 1.0, 2.0, -0.5]))
TWIST = np.array([2.0, -1.5, 1.0, 0.5, 0.2, -0.1])


@field
def spring_body(t, y, p, out):
    """V' in body twists; p: the chart."""
    chart = int(p[0])
    g = pose_at(chart, y, 0)
    (a, b, c), v = load6(y, y.shape[0] - 6, 0.0)
    back = quaternion.conjugate(g[0])
    x, u, w = quaternion.rotate(back, (0.3, -0.5, -2.0 + 0.1 * np.sin(3.0 * t)))
    fx, fy, fz = quaternion.rotate(back, (-0.8 * g[1][0], -0.8 * g[1][1], -0.8 * g[1][2]))
    torque = cross((0.1, -0.2, 0.3), (x, u, w))
    out[0] = ((2.0 - 2.7) * b * c + torque[0]) / 1.0
    out[1] = ((2.7 - 1.0) * c * a + torque[1]) / 2.0
    out[2] = ((1.0 - 2.0) * a * b + torque[2]) / 2.7
    turning = cross((a, b, c), v)
    out[3], out[4], out[5] = fx + x - turning[0], fy + u - turning[1], fz + w - turning[2]


def plain_model(absolute="quaternion", representation="body"):
    """The same in plain Python, with twists in any representation."""

    def model(q, twists, t):
        g = transition.to_pose(q, absolute)
        body = convert_twist(twists, g, representation, "body")
        w, v = body[:, :3], body[:, 3:]
        turned = rotation.quaternion_to_matrix(g[:, :4])
        pull = np.array([0.3, -0.5, -2.0 + 0.1 * np.sin(3.0 * t)])
        local = np.einsum("bji,j->bi", turned, pull)
        spring = np.einsum("bji,bj->bi", turned, -0.8 * g[:, 4:])
        spin = (np.cross(INERTIA * w, w) + np.cross(LEVER, local)) / INERTIA
        found = np.concatenate([spin, spring + local - np.cross(w, v)], axis=1)
        return convert_acceleration(found, body, g, "body", representation)

    return model


def problem(absolute="quaternion", local="screw"):
    code = transition.coordinates.ABSOLUTE[absolute].code
    return ch.transition.LGTProblem(spring_body, absolute, local, parameters=[code])


def initial(problem, representation="body"):
    twist = convert_twist(TWIST, POSE, "body", representation)
    return problem.state(transition.from_pose(POSE, problem.chart), twist)


def matrices(problem, y):
    """Poses as matrices, for comparisons that know no sign of quaternions."""
    return pose.to_matrix(problem.poses(y))
