"""The four examples of mueller2013 against independent references and what their exact motions keep."""

import json
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery import boxes
    from chasles.lie.rotation import quaternion_to_matrix
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "box_top.json").read_text())
SPACES = ("SE3", "SO3xR3")
LITERAL = {"stabilization": None, "progress": False}  # as in the paper
TIGHT = {"method": ch.integrate.RKMK("dop853"), "step": None, "rtol": 1e-12, "atol": 1e-12, "progress": False}

# made with quaternions and positions eliminated, DOP853 at 2e-14: positions of the centers, angular velocities in the
# bodies; good to the ten digits printed
DOUBLE_PENDULUM = {
    0.1: (
        ((-0.0981631730, 0.0188671585, -0.0028322772), (-0.2223812244, 0.1034372539, -0.0764054011)),
        ((-19.5176137738, 10.3923612311, 25.1775414388), (0.2795808533, 31.4516809005, 7.8044239862)),
    ),
    0.5: (
        ((0.0738116892, 0.0644998250, -0.0197890652), (0.2357768468, 0.0836736411, -0.0527886923)),
        ((22.5321774833, -16.0913038442, 23.0760785862), (7.6339242020, -30.4128028399, -1.6564799312)),
    ),
}


def literal(name: str, space: str, end: float, **options):
    return boxes.example(name).simulate(end, space=space, **LITERAL, **options)


def flat(run) -> np.ndarray:
    """Rotation, position and body angular velocity of a single body at the end."""
    pose = run.poses[-1, 0]
    return np.concatenate([quaternion_to_matrix(pose[:4]).ravel(), pose[4:], run.twists[-1, 0, :3]])


def top_reference(time: str) -> np.ndarray:
    body = REFERENCE["states"][time]["bodies"][0]
    return np.concatenate([np.array(body[k], dtype=float).ravel() for k in ("R", "r", "omega_body")])


# ---------------------------------------------------------------- heavy top


def test_mass_and_inertia_follow_from_the_density():
    (top,) = boxes.heavy_top().system.bodies
    assert top.mass == pytest.approx(21.6)
    np.testing.assert_allclose(top.inertia, np.diag([0.36, 0.306, 0.09]), rtol=1e-14, atol=1e-16)
    for body in boxes.double_pendulum().system.bodies:
        assert body.mass == pytest.approx(2.7)


@pytest.mark.parametrize("space", SPACES)
def test_the_discrete_solution_is_that_of_quadruple_precision(space):
    run = literal("heavy_top", space, 0.1)
    (truth,) = REFERENCE["discrete_h1e-3"][f"{space}|t=0.1"]["per_body_R9_r3_w3_v3"]
    got = np.concatenate([flat(run), run.frame("top", "body" if space == "SE3" else "mixed").twist[-1, 3:]])
    # 100 steps, numbers up to 70: rounding of about 1 ulp a step gives 1e-12 at the very most
    np.testing.assert_allclose(got, truth, rtol=0, atol=3e-13)


@pytest.mark.parametrize("space", SPACES)
def test_order_four_in_all_of_the_state(space):
    truth = top_reference("0.1")
    scale = np.maximum(abs(truth), 1)
    errors = [
        (abs(flat(literal("heavy_top", space, 0.1, step=h)) - truth) / scale).max() for h in (2e-3, 1e-3, 5e-4, 2.5e-4)
    ]
    slopes = np.diff(np.log(errors)) / np.log(0.5)
    assert (slopes > 3.8).all(), slopes
    assert (slopes < 4.3).all(), slopes


@pytest.mark.parametrize(("time", "tolerance"), [("1", 1e-9), ("10", 1e-8)])
@pytest.mark.parametrize("space", SPACES)
def test_end_state_after_many_turns(space, time, tolerance):
    run = boxes.heavy_top().simulate(float(time), space=space, **TIGHT)
    assert abs(flat(run) - top_reference(time))[:12].max() < tolerance


def test_the_paper_s_comparison_of_the_two_groups():
    """Figures 2 and 3: on SE(3) the pivot stays to rounding, on SO(3) x R3 it drifts by some 1e-5 m."""
    top = boxes.heavy_top()
    drift = {}
    for space in SPACES:
        run = top.simulate(10.0, space=space, **LITERAL)
        drift[space] = np.linalg.norm(top.gaps(run, "pivot"), axis=1)
        assert len(run) == 10001
        assert run.energies.kinetic[0] == pytest.approx(13972.398950622205, rel=1e-15)  # T0 = 13.97 kJ
        energy = run.energies.balance - run.energies.balance[0]
        assert abs(energy).max() < 6e-3  # the order of magnitude of figure 3
        gram = abs(np.einsum("ti,ti->t", run.poses[:, 0, :4], run.poses[:, 0, :4]) - 1)
        assert gram.max() < 1e-13
    assert drift["SE3"].max() < 5e-14
    assert 1e-6 < drift["SO3xR3"].max() < 5e-5
    assert drift["SO3xR3"][-1] / drift["SO3xR3"][5000] == pytest.approx(2, rel=0.05)  # it grows linearly


def test_a_top_as_fast_as_asked():
    spin = (1.0, 2.0, 3.0)
    run = boxes.heavy_top(spin).simulate(0.01, **LITERAL)
    np.testing.assert_array_equal(run.twists[0, 0, :3], spin)


# ---------------------------------------------------------------- the other three


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("time", DOUBLE_PENDULUM)
def test_double_pendulum_against_minimal_coordinates(time, space):
    run = boxes.double_pendulum().simulate(time, space=space, **TIGHT)
    positions, spins = DOUBLE_PENDULUM[time]
    atol = 1e-9 * np.exp(7 * time)  # errors grow like that
    np.testing.assert_allclose(run.poses[-1, :, 4:], positions, rtol=0, atol=atol)
    np.testing.assert_allclose(run.twists[-1, :, :3], spins, rtol=0, atol=30 * atol)


@pytest.mark.parametrize("name", ["heavy_top", "double_pendulum", "floating_bodies", "three_bar"])
def test_the_start_is_on_the_constraints_and_the_energy_is_kept(name):
    example = boxes.example(name)
    run = example.simulate(0.5, space="auto", **TIGHT)
    position, velocity = run.violations
    assert position[0].max() < 1e-15
    assert velocity[0].max() < 1e-13
    energy = run.energies
    assert abs(energy.balance - energy.balance[0]).max() < 1e-9 * energy.kinetic.max()
    assert "energy" in example.kept
    for joint in example.system.joints:
        assert abs(example.gaps(run, joint.name)).max() < 1e-13


def test_floating_bodies_keep_their_momentum():
    example = boxes.floating_bodies(velocity=(0.3, -0.2, 0.1))
    run = example.simulate(2.0, space="SO3xR3", **TIGHT)
    momentum = example.momentum(run)
    assert "momentum" in example.kept
    np.testing.assert_allclose(momentum[0, 3:], 5.4 * np.array([0.3, -0.2, 0.1]), rtol=1e-14)
    assert abs(momentum - momentum[0]).max() < 1e-10


@pytest.mark.parametrize("name", ["double_pendulum", "three_bar"])
def test_rotations_and_angular_velocities_do_not_depend_on_the_group(name):
    """Index 1 under uniform gravity: the accelerations of R see neither r nor r', so only r and r' differ."""
    first, second = (literal(name, space, 0.2) for space in SPACES)
    np.testing.assert_allclose(first.poses[..., :4], second.poses[..., :4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(first.twists[..., :3], second.twists[..., :3], rtol=0, atol=1e-10)
    assert abs(first.poses - second.poses).max() > 1e-9


def test_joints_to_the_ground_are_exact_on_se3_only():
    example = boxes.three_bar()
    worst = {}
    for space in SPACES:
        run = example.simulate(2.0, space=space, **LITERAL)
        worst[space] = [abs(example.gaps(run, joint.name)).max() for joint in example.system.joints]
    assert max(worst["SE3"][0], worst["SE3"][2]) < 1e-13
    assert min(worst["SO3xR3"][0], worst["SO3xR3"][2]) > 1e-8
    assert worst["SE3"][1] > 1e-8  # the joint between the links is exact on neither


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"between 0 and 0\.4 m"):
        boxes.three_bar(base=0.5)
    with pytest.raises(ValueError, match="there is heavy_top, double_pendulum"):
        boxes.example("flying_top")
