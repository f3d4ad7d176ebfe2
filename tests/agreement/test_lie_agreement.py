"""The groups against Pinocchio, MuJoCo and SciPy, with the translations of docs/conventions.md.

Arguments are of size one and angles around 1 rad, where all of them are good to some units of 2⁻⁵²: 1e-14 is forty.
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation, Slerp

from chasles import lie

TOLERANCE = 1e-14
SWAP = np.roll(np.eye(6), 3, axis=0)  # (angular, linear) and (linear, angular)
RNG = np.random.default_rng(0)
AXES = RNG.normal(size=(20, 3))
VECTORS = AXES / np.linalg.norm(AXES, axis=1, keepdims=True) * RNG.uniform(0.6, 1.6, (20, 1))
TWISTS = np.hstack([VECTORS, RNG.normal(size=(20, 3))])
QUATERNIONS, OTHERS = lie.s3.random(RNG, (20,)), lie.s3.random(RNG, (20,))
POINTS = RNG.normal(size=(20, 3))


def agree(found, expected):
    np.testing.assert_allclose(found, np.array(expected), rtol=0, atol=TOLERANCE)


def pairs(*arrays):
    return zip(*arrays, strict=True)


# ---------------------------------------------------------------- Pinocchio: (linear, angular), perturbs on the right


def placement(x):
    return pin.exp6(SWAP @ x)


def test_pinocchio_rotations():
    r = lie.so3.exp(VECTORS)
    agree(r, [pin.exp3(x) for x in VECTORS])
    agree(lie.so3.log(r), [pin.log3(m) for m in r])
    agree(lie.so3.dexp(-VECTORS), [pin.Jexp3(x) for x in VECTORS])
    agree(lie.so3.dexpinv(-VECTORS), [pin.Jlog3(m) for m in r])
    agree(lie.so3.hat(VECTORS), [pin.skew(x) for x in VECTORS])


def test_pinocchio_quaternions():
    """Pinocchio stores xyzw and takes wxyz."""
    stored = [pin.Quaternion(*q) for q in QUATERNIONS]
    agree(lie.rotation.quaternion_to_matrix(QUATERNIONS), [q.matrix() for q in stored])
    product = [(a * pin.Quaternion(*b)).coeffs() for a, b in pairs(stored, OTHERS)]
    agree(lie.s3.compose(QUATERNIONS, OTHERS), np.roll(product, 1, axis=1))


def test_pinocchio_poses():
    g = lie.se3.exp(TWISTS)
    agree(g, [placement(x).homogeneous for x in TWISTS])
    agree(lie.se3.log(g), [SWAP @ pin.log6(pin.SE3(m)).vector for m in g])
    agree(lie.se3.inverse(g), [placement(x).inverse().homogeneous for x in TWISTS])
    agree(lie.se3.compose(g[:-1], g[1:]), [(pin.SE3(a) * pin.SE3(b)).homogeneous for a, b in pairs(g[:-1], g[1:])])
    agree(lie.se3.act(g, POINTS), [pin.SE3(m).act(p) for m, p in pairs(g, POINTS)])
    agree(lie.pose.to_matrix(lie.pose.exp(TWISTS)), g)
    agree(lie.pose.log(lie.pose.exp(TWISTS)), [SWAP @ pin.log6(pin.SE3(m)).vector for m in g])


def test_pinocchio_differentials_of_poses():
    agree(lie.se3.dexp(-TWISTS), [SWAP @ pin.Jexp6(pin.Motion(SWAP @ x)) @ SWAP for x in TWISTS])
    agree(lie.se3.dexpinv(-TWISTS), [SWAP @ pin.Jlog6(placement(x)) @ SWAP for x in TWISTS])


def test_pinocchio_actions_on_twists_and_wrenches():
    g, others, wrenches = lie.se3.exp(TWISTS), TWISTS[::-1], TWISTS @ SWAP
    agree(lie.se3.Ad(g), [SWAP @ placement(x).action @ SWAP for x in TWISTS])
    motions = [pin.Motion(SWAP @ x) for x in TWISTS]
    agree(
        lie.se3.bracket(TWISTS, others),
        [SWAP @ m.cross(pin.Motion(SWAP @ y)).vector for m, y in pairs(motions, others)],
    )
    forces = [pin.Force(SWAP @ f) for f in wrenches]
    agree(-lie.se3.adT_apply(TWISTS, wrenches), [SWAP @ m.cross(f).vector for m, f in pairs(motions, forces)])
    agree(lie.se3.AdT_apply(g, wrenches), [SWAP @ placement(x).actInv(f).vector for x, f in pairs(TWISTS, forces)])


# ---------------------------------------------------------------- MuJoCo: wxyz, results in the first argument


def mujoco_call(function, size, *args):
    result = np.zeros(size)
    function(result, *args)
    return result


def test_mujoco_quaternions():
    m = mujoco
    matrices = [mujoco_call(m.mju_quat2Mat, 9, q).reshape(3, 3) for q in QUATERNIONS]
    agree(lie.rotation.quaternion_to_matrix(QUATERNIONS), matrices)
    agree(lie.s3.Ad(QUATERNIONS), matrices)
    products = [mujoco_call(m.mju_mulQuat, 4, a, b) for a, b in pairs(QUATERNIONS, OTHERS)]
    agree(lie.s3.compose(QUATERNIONS, OTHERS), products)
    agree(lie.s3.inverse(QUATERNIONS), [mujoco_call(m.mju_negQuat, 4, q) for q in QUATERNIONS])
    turned = [mujoco_call(m.mju_rotVecQuat, 3, p, q) for p, q in pairs(POINTS, QUATERNIONS)]
    agree(lie.s3.act(QUATERNIONS, POINTS), turned)
    found = [mujoco_call(m.mju_mat2Quat, 4, np.ravel(r)) for r in matrices]
    signs = np.sign(np.sum(np.array(found) * QUATERNIONS, axis=1, keepdims=True))
    agree(QUATERNIONS, signs * found)


def test_mujoco_axis_and_angle():
    angles = np.linalg.norm(VECTORS, axis=1)
    axes = VECTORS / angles[:, None]
    expected = [mujoco_call(mujoco.mju_axisAngle2Quat, 4, n, angle) for n, angle in pairs(axes, angles)]
    agree(lie.rotation.axis_angle_to_quaternion(axes, angles), expected)
    agree(lie.s3.exp(VECTORS), expected)
    agree(lie.s3.log(expected), [mujoco_call(mujoco.mju_quat2Vel, 3, q, 1.0) for q in expected])


def test_mujoco_steps_and_differences_are_on_the_body_side():
    """q exp(v dt), and log(a⁻¹ b) of the shorter rotation."""
    for q, v in pairs(QUATERNIONS, VECTORS):
        moved = q.copy()
        mujoco.mju_quatIntegrate(moved, v, 0.7)
        agree(lie.s3.compose(q, lie.s3.exp(0.7 * v)), moved)
        difference = lie.rotation.quaternion_to_rotation_vector(lie.s3.compose(lie.s3.inverse(q), moved))
        agree(difference, mujoco_call(mujoco.mju_subQuat, 3, moved, q))


def test_mujoco_poses():
    for g, h in pairs(lie.pose.exp(TWISTS), lie.pose.exp(TWISTS[::-1])):
        position, quaternion = np.zeros(3), np.zeros(4)
        mujoco.mju_mulPose(position, quaternion, g[4:], g[:4], h[4:], h[:4])
        agree(lie.pose.compose(g, h), [*quaternion, *position])
        mujoco.mju_negPose(position, quaternion, g[4:], g[:4])
        agree(lie.pose.inverse(g), [*quaternion, *position])
        agree(lie.pose.act(g, h[4:]), mujoco_call(mujoco.mju_trnVecPose, 3, g[4:], g[:4], h[4:]))


# ---------------------------------------------------------------- SciPy


def test_scipy_rotations():
    first, second = (Rotation.from_quat(q, scalar_first=True) for q in (QUATERNIONS, OTHERS))
    agree(lie.rotation.quaternion_to_matrix(lie.s3.compose(QUATERNIONS, OTHERS)), (first * second).as_matrix())
    agree(lie.s3.act(QUATERNIONS, POINTS), first.apply(POINTS))
    agree(lie.so3.exp(VECTORS), Rotation.from_rotvec(VECTORS).as_matrix())
    agree(lie.so3.log(first.as_matrix()), first.as_rotvec())
    agree(lie.so3.cay2inv(first.as_matrix()), first.as_mrp())


def test_scipy_interpolation():
    times = np.linspace(0, 1, 7)
    for r, s in pairs(lie.so3.exp(VECTORS), lie.so3.exp(-VECTORS[::-1])):
        expected = Slerp([0, 1], Rotation.from_matrix([r, s]))(times).as_matrix()
        agree(lie.so3.interpolate(r, s, times), expected)


@pytest.mark.parametrize("name", ["so3", "se3"])
def test_scipy_matrix_functions(name):
    f, x = getattr(lie, name), TWISTS[:, : 3 if name == "so3" else 6]
    g = f.exp(x)
    agree(g, expm(f.hat(x)))
    agree(f.hat(f.log(g)), [logm(m).real for m in g])
