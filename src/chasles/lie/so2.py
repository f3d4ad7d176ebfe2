"""SO(2), 2x2 rotation matrices; algebra: angles x [rad], arrays of shape (..., 1). The group is commutative."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.face import face
from chasles.kernel.functions import atan2, sincos
from chasles.kernel.policy import kernel
from chasles.lie.arrays import real_array
from chasles.lie.kinds import MATRIX1, MATRIX2, PLANAR_ROTATION, SCALAR, VECTOR1, VECTOR2


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity elements in an array with the given leading shape."""
    return np.broadcast_to(np.eye(2), (*shape, 2, 2)).copy()


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Rotations distributed uniformly."""
    return exp(rng.uniform(-np.pi, np.pi, (*shape, 1)))


def project(m: ArrayLike) -> np.ndarray:
    """Nearest 2x2 rotation matrix. Raises ValueError where there is no nearest one."""
    m = real_array("so2.project", "m", m, (2, 2))
    c, s = m[..., 0, 0] + m[..., 1, 1], m[..., 1, 0] - m[..., 0, 1]
    norm = np.hypot(c, s)
    if not np.all(norm > 0):
        raise ValueError("so2.project: this matrix is equally far from all rotations")
    c, s = c / norm, s / norm
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


@kernel
def turn(g, p):
    """Rotate p by the column (c, s) = g."""
    return (g[0] * p[0] - g[1] * p[1], g[1] * p[0] + g[0] * p[1])


@kernel
def turn_back(g, p):
    return (g[0] * p[0] + g[1] * p[1], g[0] * p[1] - g[1] * p[0])


@face(g=PLANAR_ROTATION, h=PLANAR_ROTATION, out=PLANAR_ROTATION)
def compose(g, h):
    """Product g h."""
    return (turn(g[0], h[0]),)


@face(g=PLANAR_ROTATION, out=PLANAR_ROTATION)
def inverse(g):
    """Inverse, the transpose."""
    return ((g[0][0], -g[0][1]),)


@face(g=PLANAR_ROTATION, p=VECTOR2, out=VECTOR2)
def act(g, p):
    """Rotate a point of the plane."""
    return turn(g[0], p)


@face(g=PLANAR_ROTATION, h=PLANAR_ROTATION, t=SCALAR, out=PLANAR_ROTATION)
def interpolate(g, h, t):
    """Shorter arc from g (t = 0) to h (t = 1)."""
    return compose(g, exp((t * log(compose(inverse(g), h))[0],)))


@face(x=VECTOR1, out=MATRIX2)
def hat(x):
    """[[0, -x], [x, 0]]."""
    zero = 0.0 * x[0]
    return (zero, -x[0], x[0], zero)


@face(m=MATRIX2, out=VECTOR1)
def vee(m):
    """The inverse of `hat` on skew matrices."""
    return (0.5 * (m[2] - m[1]),)


@face(g=PLANAR_ROTATION, out=MATRIX1)
def Ad(g):
    """The identity, 1x1."""
    return (0.0 * g[0][0] + 1.0,)


@face(x=VECTOR1, out=MATRIX1)
def ad(x):
    """Zero, 1x1."""
    return (0.0 * x[0],)


@face(x=VECTOR1, y=VECTOR1, out=VECTOR1)
def bracket(x, y):
    """Zero."""
    return (0.0 * x[0] * y[0],)


@face(x=VECTOR1, out=PLANAR_ROTATION)
def exp(x):
    """[[cos x, -sin x], [sin x, cos x]]."""
    s, c = sincos(x[0])
    return ((c, s),)


@face(g=PLANAR_ROTATION, out=VECTOR1)
def log(g):
    """Angle in [-π, π]."""
    return (atan2(g[0][1], g[0][0]),)


@face(x=VECTOR1, out=MATRIX1)
def dexp(x):
    """The identity, 1x1."""
    return (0.0 * x[0] + 1.0,)


@face(x=VECTOR1, out=MATRIX1)
def dexpinv(x):
    """The identity, 1x1."""
    return (0.0 * x[0] + 1.0,)


@face(x=VECTOR1, y=VECTOR1, out=MATRIX1)
def ddexp(x, y):
    """Zero, 1x1."""
    return (0.0 * x[0] * y[0],)


@face(x=VECTOR1, y=VECTOR1, out=MATRIX1)
def ddexpinv(x, y):
    """Zero, 1x1."""
    return (0.0 * x[0] * y[0],)


@face(x=VECTOR1, y=VECTOR1, out=VECTOR1)
def bch(x, y):
    """Sum of the angles, in [-π, π]."""
    return log(compose(exp(x), exp(y)))
