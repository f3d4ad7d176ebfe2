"""What is given is held, the rest is found: assembly and velocities with held joints or bodies, and other guesses."""

import numpy as np
import pytest

import chasles as ch
from chasles.assembly import search
from tests.absolute import loops

CRANK, ROD = 0.3, 1.0
Z = (0.0, 0.0, 1.0)


def slider_crank() -> ch.System:
    bodies = [loops.rod("crank", CRANK, 1.0), loops.rod("rod", ROD, 2.0), loops.rod("slider", 0.2, 0.5)]
    joints = [
        ch.revolute("A", "ground", "crank", axis=Z, armature=0.2),  # a rotor has a row that holds nothing
        ch.revolute("B", "crank", "rod", axis=Z, at=(CRANK, 0.0, 0.0)),
        ch.prismatic("D", "ground", "slider", axis=(1.0, 0.0, 0.0)),
        ch.revolute("C", "rod", "slider", axis=Z, at=(ROD, 0.0, 0.0)),
    ]
    return ch.System(bodies, joints, name="slider-crank")


def place(crank: float, side: float) -> tuple[float, float, float]:
    """Position and rate of the slider, and the slope of the rod, by the triangle; side: of the crank's bearing."""
    lift = CRANK * np.sin(crank)
    reach = side * np.sqrt(ROD**2 - lift**2)
    rate = -lift - lift * CRANK * np.cos(crank) / reach
    return CRANK * np.cos(crank) + reach, rate, np.arctan2(-lift, reach)


@pytest.mark.parametrize("crank", [np.pi / 2, 2.0, -1.2, 3.0])
@pytest.mark.parametrize("rest", [0.0, 1.5, 3.0])
def test_a_slider_crank_from_its_crank_alone(crank, rest):
    """From rods that point anywhere; held is held to the last bit, velocities too."""
    mechanism = slider_crank().compile()
    at = {name: part.start for name, part in mechanism.tree.coordinates.items()}
    given = np.full(mechanism.nv, rest)
    given[at["A"]] = crank
    q = mechanism.assemble(given, held="A")
    assert q[at["A"]] == crank
    assert mechanism.constraint_violation(q).position.max() < 1e-13
    pose = mechanism.poses(q, "slider")
    expected, rate, slope = place(crank, np.sign(pose[4] - CRANK * np.cos(crank)))
    assert pose[4] == pytest.approx(expected, abs=1e-13)
    turned = mechanism.poses(q, "rod")
    assert np.angle(np.exp(1j * (2 * np.arctan2(turned[3], turned[0]) - slope))) == pytest.approx(0.0, abs=1e-12)
    speeds = np.zeros(mechanism.nv)
    speeds[at["A"]] = 2.0
    v = mechanism.consistent_velocities(q, speeds, held=["A"])
    assert v[at["A"]] == 2.0
    assert mechanism.twists(q, v, "slider", representation="hybrid")[3] == pytest.approx(2.0 * rate, abs=1e-12)


@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_the_same_from_the_pose_of_the_crank_alone(space):
    mechanism = slider_crank().compile("absolute", space=space)
    crank = np.pi / 2
    rough = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], (3, 1))
    rough[0, :4] = np.cos(crank / 2), 0.0, 0.0, np.sin(crank / 2)
    poses = mechanism.assemble(rough, held=["crank"])
    assert np.abs(poses[0] - rough[0]).max() < 1e-15
    assert mechanism.mobility(poses).freedoms == 1
    central = mechanism.state(poses)
    assert mechanism.constraint_violation(*central).position.max() < 1e-12
    expected, rate, _ = place(crank, np.sign(poses[2, 4]))
    assert poses[2, 4] == pytest.approx(expected, abs=1e-12)
    twists = np.zeros((3, 6))
    twists[0, 2] = 2.0
    found = mechanism.consistent_velocities(poses, twists, held="crank")
    assert np.abs(found[0] - twists[0]).max() < 1e-15
    assert found[2, 3] == pytest.approx(2.0 * rate, abs=1e-12)


def test_from_a_rod_that_stands_upright_other_guesses_are_needed(monkeypatch):
    """No small motion of the rod brings its end nearer to the slide: the first guess fails, and near it is no other."""
    mechanism, upright = slider_crank().compile(), [np.pi / 2, 0.0, 0.0]
    assert mechanism.assemble(upright, held="A")[0] == np.pi / 2
    monkeypatch.setattr(search, "RESTARTS", 0)
    with pytest.raises(ch.errors.AssemblyError, match="with 'A' held"):
        mechanism.assemble(upright, held="A")


@pytest.mark.usefixtures("few_restarts")
def test_held_values_that_contradict_each_other_are_named():
    mechanism = slider_crank().compile()
    assert mechanism.joints == ("A", "B", "D")
    with pytest.raises(ch.errors.AssemblyError, match=r"with 'A', 'D' held, satisfy all .* violate 'C' by 3\.7 "):
        mechanism.assemble([0.0, 0.0, 5.0], held=["A", "D"])  # the rod ends 3.7 m before the slider
    with pytest.raises(
        ch.errors.AssemblyError,
        match=r"no velocities with 'A', 'D' as given satisfy .* violate 'C' by",
    ):
        mechanism.consistent_velocities(mechanism.assemble([1.0, 0, 0], held="A"), [1.0, 0.0, 5.0], held=["A", "D"])
    with pytest.raises(ValueError, match="held: there is no joint 'E'"):
        mechanism.assemble([0.0, 0.0, 0.0], held="E")
    with pytest.raises(ValueError, match=r"held: joint 'C' is cut"):
        mechanism.assemble([0.0, 0.0, 0.0], held="C")
    bodies = mechanism.system.compile("absolute")
    with pytest.raises(ValueError, match="there is no body 'piston'"):
        bodies.assemble(mechanism.poses([0.0, 0.0, 0.0]), held=["piston"])
    with pytest.raises(ValueError, match="held: there is no body 'ground' that moves"):
        bodies.assemble(mechanism.poses([0.0, 0.0, 0.0]), held=["ground"])


def test_the_steps_are_the_shortest_of_those_that_keep_what_is_held():
    """In the metric of the masses, near the constraints: M step is in the span of the rows and of what is held."""
    mechanism = slider_crank().compile()
    q = mechanism.assemble([1.0, -1.3, 1.1], held="A")
    near = q + np.array([0.0, 1e-5, -2e-5])
    step = mechanism.assemble(near, held="A") - near
    allowed = np.concatenate([mechanism.constraint_jacobian(q), np.eye(3)[:1]])
    push = mechanism.mass_matrix(q) @ step
    left = push - allowed.T @ np.linalg.lstsq(allowed.T, push, rcond=None)[0]
    assert np.linalg.norm(left) < 1e-3 * np.linalg.norm(push)
