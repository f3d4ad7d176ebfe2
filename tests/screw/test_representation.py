"""Conversions among representations against poses differentiated with 60 digits, and their properties."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chasles import lie, screw
from tests.screw.motion import PATHS, REPRESENTATIONS, acceleration_of, pose_of, twist_of

EPS = 2.0**-52
PAIRS = list(itertools.product(REPRESENTATIONS, repeat=2))
every_pair = pytest.mark.parametrize(("source", "target"), PAIRS)
check = settings(derandomize=True, deadline=None, max_examples=30, database=None)
POSES = np.array([pose_of(path) for path in PATHS])
TWISTS = {name: np.array([twist_of(path, name) for path in PATHS]) for name in REPRESENTATIONS}
RATES = {name: np.array([acceleration_of(path, name) for path in PATHS]) for name in REPRESENTATIONS}


def near(found, expected, ulps=8, size=None):
    size = max(1.0, np.max(np.abs(expected), initial=0.0)) if size is None else size
    np.testing.assert_allclose(found, expected, rtol=0, atol=ulps * EPS * size)


@every_pair
def test_twists_are_those_of_the_differentiated_pose(source, target):
    near(screw.convert_twist(TWISTS[source], POSES, source, target), TWISTS[target])


@every_pair
def test_accelerations_are_those_of_the_differentiated_twist(source, target):
    found = screw.convert_acceleration(RATES[source], TWISTS[source], POSES, source, target)
    near(found, RATES[target], size=np.max(np.abs(list(RATES.values()))))


@st.composite
def bodies(draw):
    """Pose, two 6-vectors and one more, with angles near 0, near π and generic, and sizes over twelve decades."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    angle = draw(st.sampled_from([0.0, 1e-12, 1e-4, 1.0, np.pi - 1e-9, np.pi]))
    axis = rng.normal(size=3)
    x = np.concatenate([angle * axis / np.linalg.norm(axis), rng.normal(size=3) * 10.0 ** draw(st.floats(-6, 6))])
    vectors = rng.normal(size=(3, 6)) * 10.0 ** rng.uniform(-3, 3, size=(3, 1))
    return lie.pose.exp(x), *vectors


@check
@given(case=bodies(), source=st.sampled_from(REPRESENTATIONS), target=st.sampled_from(REPRESENTATIONS))
def test_power_and_round_trips(case, source, target):
    g, v, w, a = case
    reach = 1 + np.linalg.norm(g[4:])
    there, force = screw.convert_twist(v, g, source, target), screw.convert_wrench(w, g, source, target)
    near(screw.convert_twist(there, g, target, source), v, 32, reach * np.max(np.abs(v)))
    near(screw.convert_wrench(force, g, target, source), w, 32, reach * np.max(np.abs(w)))
    near(screw.power(force, there), screw.power(w, v), 64, reach * np.linalg.norm(v) * np.linalg.norm(w))
    rate = screw.convert_acceleration(a, v, g, source, target)
    size = reach * (np.linalg.norm(a) + reach * np.linalg.norm(v) ** 2)
    near(screw.convert_acceleration(rate, there, g, target, source), a, 64, size)


@every_pair
def test_conversions_compose(source, target):
    for middle in REPRESENTATIONS:
        v = screw.convert_twist(TWISTS[source], POSES, source, middle)
        near(screw.convert_twist(v, POSES, middle, target), screw.convert_twist(TWISTS[source], POSES, source, target))


def test_adjoint_forms_of_the_source():
    """mueller2018 eqs. (98)-(100) and (120) as matrices."""
    g = POSES
    v, w = TWISTS["body"], np.random.default_rng(0).normal(size=(3, 6))
    near(screw.convert_twist(v, g, "body", "spatial"), lie.se3.Ad_apply(g, v))
    near(screw.convert_wrench(w, g, "spatial", "body"), lie.se3.AdT_apply(g, w))
    r = np.zeros((3, 6, 6))
    r[:, :3, :3], r[:, 3:, 3:] = np.swapaxes(g[:, :3, :3], 1, 2), np.eye(3)
    r[:, 3:, :3] = -lie.so3.hat(g[:, :3, 3])
    near(screw.convert_twist(TWISTS["spatial"], g, "spatial", "mixed"), np.einsum("nij,nj->ni", r, TWISTS["spatial"]))


def test_angular_part_in_the_same_axes_is_not_touched():
    v = TWISTS["body"]
    assert np.array_equal(screw.convert_twist(v, POSES, "body", "mixed")[:, :3], v[:, :3])
    assert np.array_equal(screw.convert_twist(v, POSES, "hybrid", "spatial")[:, :3], v[:, :3])


def test_seven_numbers_and_matrices_are_the_same_pose():
    seven = lie.pose.from_matrix(POSES)
    for source, target in PAIRS:
        near(
            screw.convert_twist(TWISTS[source], seven, source, target),
            screw.convert_twist(TWISTS[source], POSES, source, target),
        )


@every_pair
def test_batches_broadcast(source, target):
    v = np.random.default_rng(1).normal(size=(4, 1, 6))
    found = screw.convert_twist(v, POSES, source, target)
    assert found.shape == (4, 3, 6)
    assert screw.convert_wrench(v[:, 0], POSES[0], source, target).shape == (4, 6)
    assert screw.convert_acceleration(v, TWISTS[source], POSES, source, target).shape == (4, 3, 6)
    near(found[2, 1], screw.convert_twist(v[2, 0], POSES[1], source, target))
    assert screw.convert_twist(np.empty((0, 6)), POSES[0], source, target).shape == (0, 6)
    assert screw.convert_wrench(np.empty((0, 6)), np.empty((0, 7)), source, target).shape == (0, 6)
    assert screw.convert_acceleration(np.empty((0, 6)), np.empty((0, 6)), POSES[0], source, target).shape == (0, 6)


def test_results_do_not_share_memory_with_arguments():
    v = TWISTS["body"].copy()
    screw.convert_twist(v, POSES, "body", "body")[:] = 0
    assert np.array_equal(v, TWISTS["body"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(6), lie.pose.identity(), "local", "body"), "'local' is not a representation; it is one of body, sp"),
        ((np.zeros(6), lie.pose.identity(), "body", "Hybrid"), "'Hybrid' is not a representation; it is one of body, "),
        ((np.zeros(5), lie.pose.identity(), "body", "mixed"), r"convert_twist: twist has shape \(5,\); expected"),
        ((np.zeros(6), np.zeros(6), "body", "mixed"), r"convert_twist: pose has shape \(6,\); expected a pose"),
        ((np.zeros(6), np.zeros(7), "body", "mixed"), r"convert_twist: pose is off the group by 1 .* norm 1"),
        ((np.zeros(6), 2 * np.eye(4), "body", "mixed"), "convert_twist: pose is off the group by"),
        ((np.zeros((3, 6)), lie.pose.identity((2,)), "body", "mixed"), r"do not broadcast: twist \(3,\), pose \(2,\)"),
        (([0, 0, np.nan, 0, 0, 0], lie.pose.identity(), "body", "mixed"), r"twist\[2\] is not finite"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        screw.convert_twist(*arguments)


def test_bad_input_of_the_others_is_named():
    g, six = lie.pose.identity(), np.zeros(6)
    with pytest.raises(ValueError, match="convert_wrench: 'x' is not a representation"):
        screw.convert_wrench(six, g, "x", "body")
    with pytest.raises(ValueError, match=r"convert_acceleration: twist has shape \(3,\)"):
        screw.convert_acceleration(six, np.zeros(3), g, "body", "mixed")
    with pytest.raises(ValueError, match=r"do not broadcast: acceleration \(2,\), twist \(3,\), pose \(\)"):
        screw.convert_acceleration(np.zeros((2, 6)), np.zeros((3, 6)), g, "body", "mixed")
