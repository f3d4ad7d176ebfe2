"""Maps and kinematics of absolute coordinates on arrays: batches, differentials, singularities, bad input."""

import numpy as np
import pytest
from mpmath import mp

from chasles.lie import pose, transition
from chasles.lie.transition.coordinates import ABSOLUTE, LOCAL
from chasles.lie.transition.maps import differential
from tests.oracle.test_transition import exact_motion, exact_pose, exact_product

CHARTS = ("quaternion", "rotation_vector", "rotation_vector:2pi", "screw", "euler:ZYX", "euler:zxz", "euler:xyz")
STEP = mp.mpf("1e-25")


def exact_numbers(q):
    return np.array([mp.mpf(float(k)) for k in q], dtype=object)


def exact_velocity(q, rates, absolute):
    """(ω_b, r') by differences of the exact pose, 25 digits."""
    with mp.workdps(60):
        ends = []
        for sign in (1, -1):
            numbers = exact_numbers(q) + sign * STEP * exact_numbers(rates)
            if absolute == "quaternion":
                numbers[:4] /= mp.sqrt(sum(k * k for k in numbers[:4]))
            g = _pose(numbers, absolute)
            ends.append(g)
        slope = (ends[0] - ends[1]) / (2 * STEP)
        turn = _pose(exact_numbers(q), absolute)[:3, :3].T * slope[:3, :3]
        return np.array([float(k) for k in (turn[2, 1], turn[0, 2], turn[1, 0], *slope[:3, 3])])


def _pose(numbers, absolute):
    result = exact_pose(numbers, absolute)
    if absolute not in ("quaternion", "screw"):
        for k in range(3):
            result[k, 3] = numbers[3 + k]
    return result


@pytest.mark.parametrize("absolute", CHARTS)
def test_velocities_and_rates(absolute):
    """V = H(q) q' against differences of the exact pose, and q' = H⁻¹ V back."""
    rng = np.random.default_rng(3)
    q = transition.from_pose(pose.random(rng, (3,)), absolute)
    rates = rng.normal(size=q.shape)
    if absolute == "quaternion":
        rates[:, :4] -= (q[:, :4] * rates[:, :4]).sum(axis=1, keepdims=True) * q[:, :4]
    found = transition.velocity(q, rates, absolute)
    for k in range(3):
        assert np.abs(found[k] - exact_velocity(q[k], rates[k], absolute)).max() < 2e-14
    assert np.abs(transition.rate(q, found, absolute) - rates).max() < 1e-13


@pytest.mark.sample(1)
@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("absolute", ["quaternion", "rotation_vector", "screw", "euler:ZYX"])
def test_differential_of_the_map(absolute, local):
    """dτ by the velocity of the moved pose, which differences of the exact product give."""
    rng = np.random.default_rng(5)
    q, x = transition.from_pose(pose.random(rng), absolute), 0.4 * rng.normal(size=6)
    slopes = transition.dtau(q, x, absolute, local)
    assert slopes.shape == (ABSOLUTE[absolute].size, 6)
    after = transition.tau(q, x, absolute, local)
    for column in range(6):
        with mp.workdps(60):
            ends = []
            for sign in (1, -1):
                moved = exact_numbers(x)
                moved[column] += sign * STEP
                step = exact_motion(moved, local)
                if LOCAL[local].group != "SE3":
                    for k in range(3):
                        step[k, 3] = moved[3 + k]
                ends.append(exact_product(exact_pose(q, absolute), step, local))
            slope = (ends[0] - ends[1]) / (2 * STEP)
            middle = (ends[0] + ends[1]) / 2
            turn = middle[:3, :3].T * slope[:3, :3]
            truth = np.array([float(k) for k in (turn[2, 1], turn[0, 2], turn[1, 0], *slope[:3, 3])])
        assert np.abs(transition.velocity(after, slopes[:, column], absolute) - truth).max() < 3e-14


@pytest.mark.parametrize("local", LOCAL)
def test_local_rate_inverts_the_differential(local):
    rng = np.random.default_rng(1)
    x, v = 0.5 * rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    rate = transition.local_rate(x, v, local)
    assert np.abs((differential(-x, local) @ rate[..., None])[..., 0] - v).max() < 1e-14
    other = transition.local_rate(x, v, local, side="left")
    assert np.abs((differential(x, local) @ other[..., None])[..., 0] - v).max() < 1e-14


def test_rotation_vectors_stay_within_half_a_turn_or_go_on_to_a_full_one():
    step = np.array([0.0, 0.0, 0.5, 0, 0, 0])
    for absolute, largest in (("rotation_vector", np.pi), ("rotation_vector:2pi", 2 * np.pi)):
        q, angles = np.zeros(6), []
        for _ in range(30):
            q = transition.tau(q, step, absolute, "rotation_vector")
            angles.append(np.linalg.norm(q[:3]))
        assert 0.9 * largest < max(angles) <= largest
        assert np.abs(transition.to_pose(q, absolute)[3] ** 2 - np.sin(7.5) ** 2) < 1e-14


def test_arrays_broadcast_over_leading_axes():
    rng = np.random.default_rng(0)
    q, x = pose.random(rng, (3, 1)), rng.normal(size=(4, 6))
    found = transition.tau(q, x)
    assert found.shape == (3, 4, 7)
    assert np.array_equal(found[1, 2], transition.tau(q[1, 0], x[2]))
    for absolute in CHARTS:
        size = ABSOLUTE[absolute].size
        assert transition.tau(np.empty((0, size)), np.empty((0, 6)), absolute, "rodrigues").shape == (0, size)
    assert transition.dtau(q, x).shape == (3, 4, 7, 6)
    assert transition.clearance(np.empty((0, 6)), "screw").shape == (0,)


def test_clearance_tells_singularities():
    quarter = np.pi / 2
    assert transition.clearance([1.0, 0, 0, 0, 0, 0, 0]) == np.inf
    assert transition.clearance([0.3, quarter - 0.1, 0.2, 0, 0, 0], "euler:ZYX") == pytest.approx(0.1)
    assert transition.clearance([0.3, -quarter, 0.2, 0, 0, 0], "euler:xyz") == pytest.approx(0.0, abs=1e-15)
    assert transition.clearance([0.3, 0.2, 0.2, 0, 0, 0], "euler:ZXZ") == pytest.approx(0.2)
    assert transition.clearance([0.0, 6.0, 0, 0, 0, 0], "rotation_vector:2pi") == pytest.approx(2 * np.pi - 6)
    assert transition.clearance([0.0, 0, 0, 0, 0, 0], "screw") == pytest.approx(2 * np.pi)


def test_rates_do_not_exist_at_singularities():
    spin = [0.1, 0.2, 0.3, 0, 0, 0]
    with pytest.raises(ValueError, match=r"q\[1\] is .* rad from a singularity of 'euler:ZYX'"):
        transition.rate([[0, 1.0, 0, 0, 0, 0], [0, np.pi / 2, 0, 0, 0, 0]], spin, "euler:ZYX")
    with pytest.raises(ValueError, match="singularity of 'rotation_vector:2pi'"):
        transition.rate([2 * np.pi, 0, 0, 0, 0, 0], spin, "rotation_vector:2pi")
    with pytest.raises(ValueError, match="singularity"):
        transition.dtau([0, np.pi / 2, 0, 0, 0, 0], np.zeros(6), "euler:ZYX")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: transition.tau(np.zeros(6), np.zeros(6)), r"q has shape \(6,\)"),
        (lambda: transition.tau([2.0, 0, 0, 0, 0, 0, 0], np.zeros(6)), "norm 1"),
        (lambda: transition.tau([1.0, 0, 0, 0, 0, 0, 0], np.zeros(5)), r"x has shape \(5,\)"),
        (lambda: transition.tau(np.zeros(6), np.zeros(6), "euler:ZZX"), "expected one of quaternion"),
        (lambda: transition.tau(np.zeros(6), np.zeros(6), "screw", "cay"), "expected one of screw, rotation_vector"),
        (lambda: transition.tau(np.zeros(6), np.zeros(6), "screw", side="up"), "side 'up'"),
        (lambda: transition.tau(np.full(6, np.nan), np.zeros(6), "screw"), "not finite"),
        (lambda: transition.velocity(np.zeros((2, 6)), np.zeros((3, 6)), "screw"), "do not broadcast"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_all_sequences_of_euler_angles():
    """All twenty-four, against the functions on rotations, which SciPy tests."""
    rng = np.random.default_rng(2)
    from chasles.integrate.space import Space

    g, x = pose.random(rng, (4,)), rng.normal(size=6)
    for absolute in (name for name in ABSOLUTE if name.startswith("euler")):
        space = Space(f"se3:{absolute}", side="right")
        for q in transition.from_pose(g, absolute):
            moved = transition.to_pose(space.move(q, x), absolute)
            truth = pose.compose(transition.to_pose(q, absolute), pose.exp(x))
            assert np.abs(pose.to_matrix(moved) - pose.to_matrix(truth)).max() < 4e-15
