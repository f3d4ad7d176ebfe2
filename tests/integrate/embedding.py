"""Every space in its embedding: what a field does to the numbers of a point, written without the code under test, and
the true motion by SciPy."""

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from chasles.integrate.space import CHARTS, KINDS
from tests.integrate.problems import PARAMETERS, start, tangle

PRODUCT = ("se2", "pose", "so3xr3:euler:ZYX", "r2", "s3", "so2")
SPACES = {**{name: (name,) for name in (*KINDS, "r3", *CHARTS)}, "product": PRODUCT}


def hat(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def matrix_of(x):
    """Algebra element of so2, se2 or se3 as a matrix."""
    if x.size == 1:
        return np.array([[0, -x[0]], [x[0], 0]])
    if x.size == 6:
        return np.block([[hat(x[:3]), x[3:, None]], [np.zeros((1, 4))]])
    return np.array([[0, -x[0], x[1]], [x[0], 0, x[2]], [0, 0, 0]])


def product(p, q):
    """Product of quaternions."""
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])


def of_quaternion(q):
    return Rotation.from_quat(q, scalar_first=True)


def rate(name, side, y, x):
    """y' for the algebra element x."""
    left = side == "left"
    if name in ("so2", "se2", "se3", "so3"):
        n = round(np.sqrt(y.size))
        a, g = (hat(x) if name == "so3" else matrix_of(x)), y.reshape(n, n)
        return (a @ g if left else g @ a).reshape(-1)
    if name in ("s3", "pose", "t*so3"):
        w = np.array([0, *x[:3]])
        turn = 0.5 * (product(w, y[:4]) if left else product(y[:4], w))
        if name == "s3":
            return turn
        p = np.cross(x[:3], y[4:]) + x[3:] if left else of_quaternion(y[:4]).apply(x[3:])
        return np.concatenate([turn, p])
    if name in ("s2", "so3*"):
        return np.cross(x, y)
    if name in ("ts2", "t*s2"):
        return np.concatenate([np.cross(x[:3], y[:3]), np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])])
    if name == "se3*":
        return np.concatenate([np.cross(x[:3], y[:3]) + np.cross(x[3:], y[3:]), np.cross(x[:3], y[3:])])
    return x  # vectors


def to_chart(name, y):
    """Coordinates of a body from quaternion and position."""
    kind, turn, p = name.partition(":")[2], of_quaternion(y[:4]), y[4:]
    if kind.startswith("euler:"):
        return np.concatenate([turn.as_euler(kind[6:]), p])
    x = turn.as_rotvec()
    if kind == "screw":  # p = V v; V^-1 = I - x~/2 + (1 - (|x|/2) cot(|x|/2)) x~^2/|x|^2
        angle, skew = np.linalg.norm(x), hat(x)
        p = p - 0.5 * skew @ p + (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2 * skew @ skew @ p
    return np.concatenate([x, p])


def point_of(name):
    """A starting point in the embedding: bodies in charts as quaternion and position, away from all poles."""
    if name in CHARTS:
        sequence, turn = name.partition("euler:")[2], Rotation.from_rotvec([0.5, 0.6, -0.4])
        if sequence and sequence[0] == sequence[2]:
            turn = Rotation.from_euler(sequence, [0.3, 1.6, -0.4])  # 0 and pi of the second angle are poles
        return np.concatenate([turn.as_quat(scalar_first=True), [0.3, -0.2, 0.5]])
    return start(name)


def shown(name, y):
    """The numbers of the space from those of the embedding."""
    return to_chart(name, y) if name in CHARTS else y


def chart_rate(name, side, y, x):
    if name.startswith("se3:"):
        return rate("pose", side, y, x)
    return np.concatenate([rate("s3", side, y[:4], x[:3]), x[3:]])


@cache
def truth(label, side, times=(1.0,), p=tuple(PARAMETERS)):
    """The starting point, and the points at the times, of the field `tangle` with parameters p on a space."""
    names = SPACES[label]
    first = [point_of(name) for name in names]
    cuts = np.cumsum([y.size for y in first])[:-1]
    sizes = [KINDS[n].algebra if n in KINDS else CHARTS[n].algebra if n in CHARTS else int(n[1:]) for n in names]
    parts = np.cumsum(sizes)[:-1]

    def numbers(y):
        return np.concatenate([shown(name, part) for name, part in zip(names, np.split(y, cuts), strict=True)])

    def field(t, y):
        x = np.empty(sum(sizes))
        tangle(t, numbers(y), np.array(p), x)
        rows = zip(names, np.split(y, cuts), np.split(x, parts), strict=True)
        return np.concatenate(
            [(chart_rate if n in CHARTS else rate)(n, side, part, part_x) for n, part, part_x in rows]
        )

    y0 = np.concatenate(first)
    found = solve_ivp(field, (0, max(times)), y0, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=times).y.T
    return numbers(y0), np.array([numbers(y) for y in found])
