"""What assembly changes of the start is said: in a warning if it was given, in the run, and in its file."""

import warnings

import numpy as np
import pytest

import chasles as ch
from tests.relative import closed


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_speeds_that_were_given(coordinates):
    """10 rad/s of the crank alone do not fit the loop: nearest in kinetic energy is M-orthogonal to the motion n."""
    system = closed.four_bar()
    mechanism = system.compile()
    q, n = closed.four_bar_state(mechanism, 1.1, 1.0)
    given = np.array([10.0, 0.0, 0.0])
    M = mechanism.mass_matrix(q)
    wanted = n * (n @ M @ given) / (n @ M @ n)
    named = dict(zip(mechanism.joints, q, strict=True))
    with pytest.warns(
        ch.errors.StartChangedWarning, match=rf"velocity of 'A': 10 -> {wanted[0]:.6g} rad/s\. All"
    ) as told:
        run = ch.simulate(system, (0.0, 0.01), named, {"A": 10.0}, assemble=True, coordinates=coordinates)
    assert len(told) == 1
    assert [(c.name, c.quantity, c.given) for c in run.start_changes] == [
        ("A", "velocities", True), ("B", "velocities", False), ("C", "velocities", False)
    ]  # fmt: skip
    for change, before, after in zip(run.start_changes, given, wanted, strict=True):
        assert change.before == (before,)
        assert change.after == pytest.approx((after,))
        assert str(change) in str(run)
    assert "velocity of 'B' (not given): 0 -> " in str(run)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_nothing_is_said_of_a_start_that_stays(coordinates):
    system = closed.four_bar()
    q, v = closed.four_bar_state(system.compile(), 1.1, 3.0)
    turned = q + 2 * np.pi * np.array([3, -1, 0])
    for start in (q, turned):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = ch.simulate(system, (0.0, 0.01), start, v, assemble=True, coordinates=coordinates)
        assert run.start_changes == ()


def test_poses_files_and_steps(tmp_path):
    system = closed.four_bar()
    mechanism = system.compile()
    q, v = closed.four_bar_state(mechanism, 1.1, 3.0)
    poses = mechanism.poses(q)
    poses[:, :4] *= -1.0  # the same rotations
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        how = {"twists": mechanism.twists(q, v), "coordinates": "absolute", "assemble": True}
        assert ch.simulate(system, (0.0, 0.01), poses=poses, **how).start_changes == ()
    poses[0, 4] += 0.02
    file = tmp_path / "run.h5"
    with pytest.warns(ch.errors.StartChangedWarning, match="pose of 'crank'"):
        run = ch.simulate(system, (0.0, 0.01), poses=poses, **how, file=file)
    moved = {change.name: change for change in run.start_changes if change.quantity == "pose"}
    assert moved["crank"].before == pytest.approx(tuple(poses[0]))
    assert moved["crank"].after == pytest.approx(tuple(run["crank"].pose[0]))
    assert ch.open(file).start_changes == run.start_changes
    with pytest.warns(ch.errors.StartChangedWarning, match="Simulation: .* coordinate of 'A'"):
        stepped = ch.Simulation(system, 1e-3, q + 0.1, assemble=True)
    assert [change.name for change in stepped.start_changes] == ["A", "B", "C"]


def test_a_start_by_name():
    system = closed.four_bar()
    mechanism = system.compile()
    q, v = closed.four_bar_state(mechanism, 1.1, 3.0)
    by_name = [dict(zip(mechanism.joints, values, strict=True)) for values in (q, v)]
    one, other = (ch.simulate(system, (0.0, 0.01), *start) for start in ((q, v), by_name))
    assert np.array_equal(one.q, other.q)
    with pytest.raises(ValueError, match=r"simulate: q\.Z: there is no joint 'Z' in the tree, whose joints are 'A'"):
        ch.simulate(system, (0.0, 0.01), {"Z": 1.0})
    with pytest.raises(ValueError, match=r"simulate: v\.A: has 2 numbers; expected 1"):
        ch.simulate(system, (0.0, 0.01), q, {"A": (1.0, 2.0)})
