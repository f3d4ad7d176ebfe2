"""Directions and poses of the model layer."""

import numpy as np
import pytest

from chasles import lie
from chasles.model import joint as make
from chasles.model.placement import as_pose, frame_with_z
from chasles.model.system import neutral, placement


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-170, 1e-12, 1e-9, 1e-6, 1e-3, 0.3, 1.5])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_frame_with_z_along_an_axis_is_exact_near_the_poles(angle, side):
    """1 + z cancels when the axis points almost straight back: an axis 1e-6 away from -z would lose ten digits."""
    for turn in (0.0, 1.0, 4.0):
        axis = np.array([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), side * np.cos(angle)])
        matrix = lie.rotation.quaternion_to_matrix(frame_with_z(axis))
        np.testing.assert_allclose(matrix[:, 2], axis, rtol=0, atol=9e-16)  # four roundings
        if angle > 1e-150:  # also relative to the small components
            np.testing.assert_allclose(matrix[:2, 2], axis[:2], rtol=1e-14, atol=1e-16 * angle)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), rtol=0, atol=2e-15)


def test_poses_are_written_in_three_ways():
    g = lie.pose.exp([0.3, -0.8, 0.5, 0.2, -0.4, 0.6])
    np.testing.assert_allclose(as_pose("x", "pose", lie.pose.to_matrix(g)), g, rtol=0, atol=1e-15)
    assert as_pose("x", "pose", (1, 2, 3)) == (1, 0, 0, 0, 1, 2, 3)
    np.testing.assert_allclose(as_pose("x", "pose", [1 + 1e-7, 0, 0, 0, 1, 2, 3]), [1, 0, 0, 0, 1, 2, 3], rtol=1e-15)


def test_coordinates_of_a_joint_place_its_child():
    planar = make.planar("p", "a", "b", normal=(0, 0, 2))
    np.testing.assert_allclose(
        placement(planar, [1, 2, np.pi / 2]), [np.sqrt(0.5), 0, 0, np.sqrt(0.5), 1, 2, 0], atol=1e-15
    )
    helical = make.helical("h", "a", "b", axis=(0, 2, 0), pitch=0.5)
    np.testing.assert_allclose(placement(helical, np.pi), [0, 0, 1, 0, 0, np.pi / 2, 0], atol=1e-15)
    for joint in (planar, helical, make.free("f", "a", "b"), make.spherical("s", "a", "b"), make.weld("w", "a", "b")):
        np.testing.assert_array_equal(placement(joint, neutral(joint)), [1, 0, 0, 0, 0, 0, 0])


def test_screws_given_with_few_digits_are_made_unit():
    """A direction off unit length by less than the check allows must not leave a stretched axis behind."""
    e = np.array([0.6, 0.0, 0.8]) * (1 + 5e-10)
    joint = make.general("g", "a", "b", screws=[[*e, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, *e]])
    screws = np.array(joint.screws)
    np.testing.assert_allclose([np.linalg.norm(screws[0, :3]), np.linalg.norm(screws[1, 3:])], 1.0, rtol=0, atol=1e-15)
    assert make.general("g", "a", "b", screws=screws).screws == joint.screws
