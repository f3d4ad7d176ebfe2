"""Descriptions of rotations against SciPy, whose rounding is part of the tolerances, and every pair of `convert`."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from chasles import lie
from chasles.lie import rotation
from tests.lie.cases import EPS, close, results

EXTRINSIC = [sequence.lower() for sequence in rotation.SEQUENCES]
ALL_SEQUENCES = [*rotation.SEQUENCES, *EXTRINSIC]
PROPER = {sequence for sequence in ALL_SEQUENCES if sequence[0] == sequence[2]}


def quaternions(count=200, seed=0):
    return lie.s3.random(np.random.default_rng(seed), (count,))


def scipy(q):
    return Rotation.from_quat(q, scalar_first=True)


def positive(q):
    return q * np.where(q[..., :1] < 0, -1.0, 1.0)


# ---------------------------------------------------------------- against SciPy


def test_matrices():
    q = quaternions()
    r = rotation.quaternion_to_matrix(q)
    close(r, scipy(q).as_matrix(), 8)
    close(rotation.matrix_to_quaternion(r), positive(q), 4)
    close(rotation.matrix_to_quaternion(r), Rotation.from_matrix(r).as_quat(canonical=True, scalar_first=True), 4)
    assert np.all(rotation.matrix_to_quaternion(r)[:, 0] >= 0)


def test_rotation_vectors():
    q = quaternions()
    x = rotation.quaternion_to_rotation_vector(q)
    close(x, scipy(q).as_rotvec(), 4)
    assert np.all(np.linalg.norm(x, axis=1) <= np.pi * (1 + EPS))
    close(rotation.rotation_vector_to_quaternion(x), positive(q), 4)


def test_modified_rodrigues_vectors():
    q = quaternions()
    c = rotation.quaternion_to_modified_rodrigues(q)
    close(c, scipy(q).as_mrp(), 4)
    assert np.all(np.linalg.norm(c, axis=1) <= 1)
    close(rotation.modified_rodrigues_to_quaternion(c), positive(q), 4)


def test_rodrigues_vectors():
    q = quaternions()
    x = scipy(q).as_rotvec()
    angle = np.linalg.norm(x, axis=1, keepdims=True)
    c = rotation.quaternion_to_rodrigues(q)
    relative = np.linalg.norm(c - np.tan(angle / 2) * x / angle, axis=1) / np.linalg.norm(c, axis=1)
    # the angle errs by some ε π, and tan(θ/2) amplifies that by θ/sin θ
    assert np.all(relative[:, None] <= 8 * EPS * angle / np.sin(angle))
    close(rotation.rodrigues_to_quaternion(c), positive(q), 4)


def test_axis_and_angle():
    q = quaternions()
    axis, angle = rotation.quaternion_to_axis_angle(q)
    assert axis.shape == (200, 3)
    assert angle.shape == (200,)
    close(np.linalg.norm(axis, axis=1), np.ones(200), 4)
    assert np.all((angle >= 0) & (angle <= np.pi * (1 + EPS)))
    close(axis * angle[:, None], scipy(q).as_rotvec(), 8)
    close(rotation.axis_angle_to_quaternion(axis, angle), positive(q), 8)


def test_axis_and_angle_of_special_rotations():
    q = [[1, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0], [np.cos(0.5e-20), 0, 0, np.sin(0.5e-20)]]
    axis, angle = rotation.quaternion_to_axis_angle(q)
    np.testing.assert_array_equal(axis, [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(angle, [0, 0, np.pi, 1e-20])


def test_axis_and_angle_broadcast():
    axis, angle = np.eye(3), np.linspace(-7, 7, 4)[:, None]
    q = rotation.axis_angle_to_quaternion(axis, angle)
    assert q.shape == (4, 3, 4)
    close(q, lie.s3.exp(axis * angle[..., None]), 4)


# ---------------------------------------------------------------- Euler angles


@pytest.mark.parametrize("sequence", ALL_SEQUENCES)
def test_quaternion_of_euler_angles(sequence):
    angles = np.random.default_rng(1).uniform(-2 * np.pi, 2 * np.pi, (200, 3))
    q = rotation.euler_to_quaternion(angles, sequence)
    close(rotation.quaternion_to_matrix(q), Rotation.from_euler(sequence, angles).as_matrix(), 12)


@pytest.mark.parametrize("sequence", ALL_SEQUENCES)
def test_euler_angles_of_quaternions(sequence):
    q = quaternions(seed=2)
    angles = rotation.quaternion_to_euler(q, sequence)
    middle = angles[:, 1]
    assert np.all(np.abs(angles) <= np.pi)
    assert np.all((middle >= 0) if sequence in PROPER else (np.abs(middle) <= np.pi / 2))
    back = rotation.euler_to_quaternion(angles, sequence)
    close(back * np.sign(np.sum(back * q, axis=1, keepdims=True)), q, 8)
    # the outer angles err like 1/sin β or 1/cos β of the middle angle; a full turn is no difference
    lever = np.abs(np.sin(middle) if sequence in PROPER else np.cos(middle))
    difference = np.angle(np.exp(1j * (angles - scipy(q).as_euler(sequence))))
    assert np.all(np.abs(difference) <= 8 * EPS * np.pi / lever[:, None])


@pytest.mark.parametrize("sequence", ALL_SEQUENCES)
@pytest.mark.parametrize("offset", [0.0, 1e-16, 1e-12, 1e-7])
def test_gimbal_lock(sequence, offset):
    """The rotation comes back where its outer angles are not determined; at the lock the last moving angle is 0."""
    locks = [0.0, np.pi] if sequence in PROPER else [np.pi / 2, -np.pi / 2]
    inward = [offset, -offset] if sequence in PROPER else [-offset, offset]
    for lock, step in zip(locks, inward, strict=True):
        q = rotation.euler_to_quaternion([0.7, lock + step, -0.4], sequence)
        angles = rotation.quaternion_to_euler(q, sequence)
        back = rotation.euler_to_quaternion(angles, sequence)
        close(back * np.sign(back @ q), q, 4)
        if offset == 0:
            assert angles[0 if sequence.islower() else 2] == 0
            # the middle angle is where its sine or cosine is flat: the rounding of q shows as 2 roundings of its angle
            close(angles[1], lock, 4)


@pytest.mark.parametrize("sequence", ["XYZ", "ZXZ", "zyx", "xyx"])
def test_identity_has_zero_euler_angles(sequence):
    np.testing.assert_allclose(rotation.quaternion_to_euler([1, 0, 0, 0], sequence), 0, atol=EPS)
    np.testing.assert_array_equal(rotation.euler_to_quaternion([0, 0, 0], sequence), [1, 0, 0, 0])


@pytest.mark.parametrize("sequence", rotation.SEQUENCES)
def test_extrinsic_is_intrinsic_backwards(sequence):
    angles = np.random.default_rng(3).uniform(-1, 1, (5, 3))
    fixed = sequence[::-1].lower()
    np.testing.assert_array_equal(
        rotation.euler_to_quaternion(angles, sequence), rotation.euler_to_quaternion(angles[:, ::-1], fixed)
    )
    q = quaternions(5)
    np.testing.assert_array_equal(
        rotation.quaternion_to_euler(q, sequence), rotation.quaternion_to_euler(q, fixed)[:, ::-1]
    )


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)], ids=str)
def test_leading_axes_of_euler_angles(shape):
    angles = np.random.default_rng(4).uniform(-1, 1, (*shape, 3))
    q = rotation.euler_to_quaternion(angles, "ZYX")
    assert q.shape == (*shape, 4)
    back = rotation.quaternion_to_euler(q, "ZYX")
    assert back.shape == (*shape, 3)
    close(back, angles, 4)


# ---------------------------------------------------------------- convert

DESCRIPTIONS = [name for name in rotation.DESCRIPTIONS if "<" not in name] + ["euler:ZYX", "euler:zxz"]


@pytest.mark.parametrize(("source", "target"), list(itertools.product(DESCRIPTIONS, repeat=2)))
def test_convert_between_all_descriptions(source, target):
    q = positive(quaternions(20, seed=5))
    value = rotation.convert(rotation.convert(q, "quaternion", source), source, target)
    back = rotation.convert(value, target, "quaternion")
    close(back * np.sign(np.sum(back * q, axis=1, keepdims=True)), q, 8)
    if target != "quaternion":  # whose sign is free
        for a, b in zip(results(value), results(rotation.convert(q, "quaternion", target)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)  # Rodrigues vectors of up to 30 here


def test_descriptions_are_what_their_names_say():
    q = quaternions(20, seed=6)
    known = {
        "quaternion": q,
        "matrix": scipy(q).as_matrix(),
        "rotation_vector": scipy(q).as_rotvec(),
        "rodrigues": q[:, 1:] / q[:, :1],
        "modified_rodrigues": scipy(q).as_mrp(),
        "euler:ZYX": scipy(q).as_euler("ZYX"),
        "euler:zxz": scipy(q).as_euler("zxz"),
    }
    assert {*known, "axis_angle"} == set(DESCRIPTIONS)
    for name, value in known.items():
        np.testing.assert_allclose(rotation.convert(q, "quaternion", name), value, rtol=1e-13, atol=1e-13)
    axis, angle = rotation.convert(q, "quaternion", "axis_angle")
    np.testing.assert_allclose(axis * angle[:, None], known["rotation_vector"], atol=1e-13)
