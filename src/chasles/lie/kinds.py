"""What group functions take and give: the array shape, the form in kernels, and the test of membership."""

from __future__ import annotations

from chasles.kernel.face import Kind
from chasles.kernel.policy import kernel


@kernel
def _pair(flat):
    return ((flat[0], flat[1], flat[2]), (flat[3], flat[4], flat[5]))


@kernel
def _flat_pair(pair):
    return (*pair[0], *pair[1])


@kernel
def _planar_pair(flat):
    return (flat[0], (flat[1], flat[2]))


@kernel
def _flat_planar_pair(pair):
    return (pair[0], *pair[1])


@kernel
def _quaternion_position(flat):
    return ((flat[0], flat[1], flat[2], flat[3]), (flat[4], flat[5], flat[6]))


@kernel
def _homogeneous(m):
    return ((m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]), (m[3], m[7], m[11]), (m[12], m[13], m[14], m[15]))


@kernel
def _flat_homogeneous(g):
    r, p = g[0], g[1]
    zero = 0.0 * p[0]
    return (r[0], r[1], r[2], p[0], r[3], r[4], r[5], p[1], r[6], r[7], r[8], p[2], zero, zero, zero, zero + 1.0)


@kernel
def _planar_homogeneous(m):
    return ((m[0], m[3]), (m[2], m[5]), (m[1], m[4], m[6], m[7], m[8]))


@kernel
def _flat_planar_homogeneous(g):
    (c, s), (x, y) = g[0], g[1]
    zero = 0.0 * x
    return (c, -s, x, s, c, y, zero, zero, zero + 1.0)


@kernel
def _first_column(m):
    return ((m[0], m[2]), (m[1], m[3]))


@kernel
def _flat_planar_rotation(g):
    c, s = g[0]
    return (c, -s, s, c)


@kernel
def _block_lower(blocks):
    """[[A, 0], [B, D]] from (A, B, D)."""
    a, b, d = blocks
    z = 0.0 * a[0]
    return (
        *(a[0], a[1], a[2], z, z, z, a[3], a[4], a[5], z, z, z, a[6], a[7], a[8], z, z, z),
        *(b[0], b[1], b[2], d[0], d[1], d[2], b[3], b[4], b[5], d[3], d[4], d[5], b[6], b[7], b[8], d[6], d[7], d[8]),
    )


@kernel
def _orthogonality(r):
    """Squared Frobenius distance of R^T R from I, plus that of det R from 1 (which tells reflections)."""
    a = r[0] * r[0] + r[3] * r[3] + r[6] * r[6] - 1.0
    b = r[1] * r[1] + r[4] * r[4] + r[7] * r[7] - 1.0
    c = r[2] * r[2] + r[5] * r[5] + r[8] * r[8] - 1.0
    d = r[0] * r[1] + r[3] * r[4] + r[6] * r[7]
    e = r[0] * r[2] + r[3] * r[5] + r[6] * r[8]
    f = r[1] * r[2] + r[4] * r[5] + r[7] * r[8]
    det = r[0] * (r[4] * r[8] - r[5] * r[7]) + r[1] * (r[5] * r[6] - r[3] * r[8]) + r[2] * (r[3] * r[7] - r[4] * r[6])
    return a * a + b * b + c * c + 2.0 * (d * d + e * e + f * f) + 0.25 * (det - 1.0) * (det - 1.0)


@kernel
def _pose_matrix_defect(g):
    r, _, bottom = g
    last = bottom[3] - 1.0
    row = bottom[0] * bottom[0] + bottom[1] * bottom[1] + bottom[2] * bottom[2] + last * last
    return _orthogonality(r) + row


@kernel
def _planar_rotation_defect(g):
    (c, s), (ms, c2) = g
    n = c * c + s * s - 1.0
    return n * n + (ms + s) * (ms + s) + (c2 - c) * (c2 - c)


@kernel
def _planar_pose_defect(g):
    column, _, (ms, c2, u, v, w) = g
    return _planar_rotation_defect((column, (ms, c2))) + u * u + v * v + (w - 1.0) * (w - 1.0)


@kernel
def _quaternion_defect(q):
    n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0
    return n * n


@kernel
def _pose_defect(g):
    return _quaternion_defect(g[0])


_PROJECT = "; use `project` if you mean the nearest one"
SCALAR = Kind("number", ())
VECTOR = Kind("vector", (3,))
VECTOR2 = Kind("vector", (2,))
VECTOR1 = Kind("vector", (1,))
MATRIX = Kind("3x3 matrix", (3, 3))
MATRIX2 = Kind("2x2 matrix", (2, 2))
MATRIX1 = Kind("1x1 matrix", (1, 1))
ANY_QUATERNION = Kind("quaternion (w, x, y, z)", (4,))
ROTATION = Kind("rotation matrix", (3, 3), defect=_orthogonality, expected="R^T R = I and det R = 1" + _PROJECT)
PLANAR_ROTATION = Kind(
    "2x2 rotation matrix",
    (2, 2),
    _first_column,
    _flat_planar_rotation,
    _planar_rotation_defect,
    "[[c, -s], [s, c]] with c^2 + s^2 = 1" + _PROJECT,
)
UNIT_QUATERNION = Kind("unit quaternion (w, x, y, z)", (4,), defect=_quaternion_defect, expected="norm 1" + _PROJECT)
TWIST = Kind("twist (angular, linear)", (6,), _pair, _flat_pair)
WRENCH = Kind("wrench (torque, force)", (6,), _pair, _flat_pair)
PLANAR_TWIST = Kind("planar twist (angular, linear x, linear y)", (3,), _planar_pair, _flat_planar_pair)
BLOCK_LOWER = Kind("6x6 matrix", (6, 6), pack=_block_lower)
POSE_MATRIX = Kind(
    "pose matrix",
    (4, 4),
    _homogeneous,
    _flat_homogeneous,
    _pose_matrix_defect,
    "a rotation matrix, a position and the row (0, 0, 0, 1)" + _PROJECT,
)
PLANAR_POSE = Kind(
    "planar pose matrix",
    (3, 3),
    _planar_homogeneous,
    _flat_planar_homogeneous,
    _planar_pose_defect,
    "[[c, -s, x], [s, c, y], [0, 0, 1]]" + _PROJECT,
)
POSE = Kind(
    "pose (w, x, y, z, position)",
    (7,),
    _quaternion_position,
    _flat_pair,
    _pose_defect,
    "the quaternion of norm 1" + _PROJECT,
)
