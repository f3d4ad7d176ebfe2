"""What assembly changes of the start is said: in a warning if it was given, in the run, and in its file."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.io.model_file import Study
from tests.assembly.test_held import CRANK, ROD, place, slider_crank
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
    with pytest.warns(ch.errors.StartChangedWarning, match=rf"velocity of 'A': 10 -> {wanted[0]:.6g} rad/s; ") as told:
        run = ch.simulate(system, (0.0, 0.01), q, given, assemble=True, coordinates=coordinates)
    assert len(told) == 1
    assert [(c.name, c.quantity, c.given) for c in run.start_changes] == [
        ("A", "velocities", True), ("B", "velocities", True), ("C", "velocities", True)
    ]  # fmt: skip
    for change, before, after in zip(run.start_changes, given, wanted, strict=True):
        assert change.before == (before,)
        assert change.after == pytest.approx((after,))
        assert str(change) in str(run)


@pytest.mark.parametrize("given", [{"q": {"A": 1.0}, "v": {"A": 2.0}}, {}])
def test_rods_go_with_what_carries_them_when_a_loop_is_closed(given):
    """Their nodes stayed in space, and their elements were stretched to where the slider went."""
    line, metal = ch.rods.Line((0, 0, 0), (0, 0, 1)), ch.rods.Material(1e9, density=1000.0)
    blade = ch.Rod("blade", line, ch.rods.Circle(0.01), metal, ("slider", "free"), 2)
    system = replace(slider_crank(), rods=[blade])
    begin = Study(system, given, {"span": (0.0, 1.0)}).plan().begin
    coordinates, velocities = begin.mechanism.tree.coordinates, begin.mechanism.tree.velocities
    assert np.abs(begin.q[coordinates["D"]]).max() > 0.1
    for node in blade.bodies:
        assert begin.q[coordinates[node]].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert not begin.v[velocities[node]].any()


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_what_is_given_by_name_is_held_and_the_rest_is_found(coordinates):
    """Of a slider-crank, by the triangle; 10 rad/s stay 10 rad/s."""
    system = slider_crank()
    run = ch.simulate(system, (0.0, 0.002), {"A": np.pi / 2}, {"A": 10.0}, coordinates=coordinates)
    exact = 0.0 if coordinates == "relative" else 3e-16  # an angle from a pose is rounded
    assert abs(run.joint("A").q[0, 0] - np.pi / 2) <= exact
    assert run.joint("A").v[0, 0] == pytest.approx(10.0, abs=10 * exact)
    expected, rate, _ = place(np.pi / 2, np.sign(run.joint("D").q[0, 0]))
    assert run.joint("D").q[0, 0] == pytest.approx(expected, abs=1e-13)
    assert run.joint("D").v[0, 0] == pytest.approx(10.0 * rate, abs=1e-12)
    assert not any(change.given for change in run.start_changes)
    assert "velocity of 'B' (not given): 0 -> -10 rad/s" in str(run)
    begin = run.task.start_values[0]
    assert (begin.joint, begin.q, begin.v, begin.q_from, begin.v_from) == (
        "A", "1.5708 rad", "10 rad/s", "given", "given"
    )  # fmt: skip
    assert [value.q_from for value in run.task.start_values if value.joint != "A"][:2] == ["found", "found"]


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_joint_that_closes_the_loop_can_be_given_too(coordinates):
    """The rod against the slide, which is cut: the slope of the rod by the triangle."""
    run = ch.simulate(slider_crank(), (0.0, 0.002), {"C": 0.2}, {"D": 1.0}, coordinates=coordinates)
    crank, lift = run.joint("A").q[0, 0], ROD * np.sin(0.2)
    assert abs(CRANK * np.sin(crank)) == pytest.approx(lift, abs=1e-12)
    slope = run.joint("A").q[0, 0] + run.joint("B").q[0, 0]
    assert np.angle(np.exp(1j * (slope + 0.2))) == pytest.approx(0.0, abs=1e-12)
    assert run.joint("D").v[0, 0] == pytest.approx(1.0, abs=1e-14)


def test_held_names_what_stays_and_the_rest_are_guesses():
    system, given = slider_crank(), {"A": 1.0, "B": 1.9, "D": -0.5}  # near the other assembly, left of the crank
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ch.simulate(system, (0.0, 0.002), given, {"A": 2.0}, held=["A"])
    expected, rate, _ = place(1.0, -1.0)
    assert run.q[0, 0] == 1.0
    assert run.v[0, 0] == 2.0
    assert run.q[0, 2] == pytest.approx(expected, abs=1e-13)
    assert run.v[0, 2] == pytest.approx(2.0 * rate, abs=1e-12)
    other = ch.simulate(system, (0.0, 0.002), [1.0, 1.9, -0.5], [2.0, 0.0, 0.0], held={"q": ["A"], "v": ["A"]})
    assert np.array_equal(run.q, other.q)
    poses = run.poses[0].copy()
    poses[1:, 4] += 0.02
    held = ch.simulate(
        system, (0.0, 0.002), poses=poses, held=["crank"], assemble=True, coordinates="absolute", step=1e-3
    )
    assert np.abs(held.poses[0] - run.poses[0]).max() < 1e-12


@pytest.mark.usefixtures("few_restarts")
def test_a_start_that_contradicts_itself_is_named():
    system, span = slider_crank(), (0.0, 0.002)
    for coordinates in ("relative", "absolute"):
        with pytest.raises(
            ch.errors.AssemblyError,
            match=r"'A' = 0 rad, 'D' = 5 m\. With 'A' as given, 'D' would be 1\.3 m, 3\.7 off\. Give fewer values",
        ):
            ch.simulate(system, span, {"A": 0.0, "D": 5.0}, coordinates=coordinates)
    _, rate, _ = place(1.0, 1.0)
    with pytest.raises(
        ch.errors.AssemblyError, match=rf"velocities .* 'D' = 5 m/s\. With 'A' as given, 'D' would be {rate:.6g} m/s"
    ):
        ch.simulate(system, span, {"A": 1.0}, {"A": 1.0, "D": 5.0})
    with pytest.raises(ch.errors.AssemblyError, match=r"With 'A' as given, 'B' would be .* off; 'D' would be"):
        ch.simulate(system, span, {"A": 0.0, "B": 0.3, "D": 1.0})
    rod = ch.System([ch.Body("a", 1.0, inertia=(1, 1, 1))], [ch.revolute("A", "ground", "a", axis=(0, 0, 1))])
    with pytest.raises(ValueError, match="held names 'B', of which nothing is given"):
        ch.simulate(rod, span, {"A": 1.0}, held=["B"])
    with pytest.raises(ValueError, match="held names 'B', of which nothing is given"):
        ch.simulate(system, span, {"A": 1.0}, held=["B"])
    with pytest.raises(ValueError, match="held has 'a'; expected names, or q and v"):
        ch.simulate(system, span, {"A": 1.0}, held={"a": ["A"]})
    with pytest.raises(ValueError, match="assemble is False"):
        ch.simulate(system, span, {"A": 1.0}, held=["A"], assemble=False)
    with pytest.raises(ValueError, match=r"the start violates .* 'C' by"):
        ch.simulate(system, span, {"A": 1.0}, assemble=False)


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


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_nothing_given_is_found_near_the_neutral_configuration(coordinates):
    linkage = slider_crank()
    neutral = linkage.compile().neutral()
    with pytest.raises(ValueError, match="the start violates"):
        ch.simulate(linkage, (0.0, 0.002), neutral, coordinates=coordinates)  # an array is what it is
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing that was given changed
        run = ch.simulate(linkage, (0.0, 0.002), coordinates=coordinates)
    same = ch.simulate(linkage, (0.0, 0.002), {}, coordinates=coordinates)
    assert np.array_equal(run.q, same.q)
    crank = run.q[0, 0]
    assert run.q[0, 2] == pytest.approx(place(crank, np.sign(run.q[0, 2]))[0], abs=1e-12)
    # a drive asks for a velocity, which is found, whether coordinates are given or not
    driven = ch.System(linkage.bodies[:1], linkage.joints[:1], constraints=[ch.Drive("turn", "A", "0.3 + 2*t")])
    for given in (None, [0.3], {"A": 0.3}):
        run = ch.simulate(driven, (0.0, 0.002), given, coordinates=coordinates)
        assert (run.q[0, 0], run.v[0, 0]) == pytest.approx((0.3, 2.0), abs=1e-12)
    with pytest.raises(ValueError, match=r"the start violates .* 'turn' by 0 in position and 2 in velocity"):
        ch.simulate(driven, (0.0, 0.002), [0.3], [0.0], coordinates=coordinates)
    with pytest.raises(ValueError, match=r"the start violates .* 'turn' by 0\.3 in position"):
        ch.simulate(driven, (0.0, 0.002), [0.0], coordinates=coordinates)


def test_a_loop_that_floats_by_name():
    """A square of four equal rods without a joint to the ground, sheared: the second angle follows."""
    rods = [ch.Body(f"b{k}", 1.0, (0.5, 0, 0), (0.001, 0.08, 0.08)) for k in range(4)]
    joints = [ch.revolute(f"j{k}", f"b{k - 1}", f"b{k % 4}", axis=(0, 0, 1), at=(1, 0, 0)) for k in range(1, 5)]
    ring = ch.System(rods, joints, gravity=(0, 0, 0))
    for coordinates in ("relative", "absolute"):
        run = ch.simulate(ring, (0.0, 0.002), {"j1": 1.2}, {"j1": 1.0}, coordinates=coordinates, step=1e-3)
        assert run.joint("j1").q[0, 0] == pytest.approx(1.2, abs=1e-14)
        assert np.cos(run.joint("j2").q[0, 0]) == pytest.approx(-np.cos(1.2), abs=1e-12)  # opposite rods are parallel
        assert abs(run.joint("j2").v[0, 0]) == pytest.approx(1.0, abs=1e-12)
