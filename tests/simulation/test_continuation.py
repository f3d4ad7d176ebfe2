"""Branches of equilibria: snap-through and buckling against closed forms, of trees and loops, in other units too."""

import numpy as np
import pytest

import chasles as ch

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BASE, HEIGHT, STIFFNESS = 1.0, 0.4, 100.0
FREE = np.hypot(BASE, HEIGHT)


def truss(load: float, scale: float = 1.0) -> ch.System:
    """Von Mises' truss: two springs to a knee that slides up and down, pushed down; lengths in other units."""
    a = scale * BASE
    springs = [
        ch.Spring(f"bar {k}", ("ground", "knee"), ((k * a, 0.0, 0.0), (0.0, 0.0, 0.0)), STIFFNESS, 0.0, scale * FREE)
        for k in (1, -1)
    ]
    push = ch.JointForce("load", "height", (-load * scale,))
    joint = ch.prismatic("height", "ground", "knee", axis=Y)
    return ch.System([ch.Body("knee", 1.0)], [joint], forces=[*springs, push], gravity=(0, 0, 0), name="truss")


@pytest.mark.parametrize("scale", [1e3, pytest.param(1.0, marks=pytest.mark.study)])
def test_truss(scale):
    """P(h) = 2 k h (l0/l - 1) is largest where l³ = l0 a²; the branch goes through both folds to the other side."""
    span = (-3.0, 3.0)
    branch = ch.continuation(
        lambda x: truss(x, scale), span, {"height": scale * HEIGHT}, start=0.0, name="load", max_step=0.2
    )
    length = np.cbrt(FREE * BASE**2)
    height = np.sqrt(length**2 - BASE**2)
    largest = 2 * STIFFNESS * height * (FREE / length - 1)
    one, other = branch.folds
    assert abs(one.parameter / largest - 1) < 1e-12
    assert abs(other.parameter / largest + 1) < 1e-12
    assert abs(one.q[0] / scale / height - 1) < 1e-7
    h = branch.q[:, 0] / scale
    load = 2 * STIFFNESS * h * (FREE / np.hypot(BASE, h) - 1)
    assert np.abs(branch.parameter - load).max() < 1e-9 * largest
    assert branch.parameter[-1] == pytest.approx(3.0, abs=1e-11)
    assert h[-1] < -HEIGHT
    words = {"stable": np.abs(h) > 1.01 * height, "unstable": np.abs(h) < 0.99 * height}
    for word, where in words.items():
        assert all(branch.stability[k] == word for k in np.flatnonzero(where))
    assert branch.unstable.max() == 1
    assert not branch.bifurcations
    assert "fold at load = 2.28" in str(branch)


ROD, OPEN, SPRING = 0.5, 0.5, 200.0


def toggle(load: float) -> ch.System:
    """Two rods and a slider on a spring: a loop. The knee is pushed down."""
    bodies = [ch.Body(name, 1.0, (ROD / 2, 0, 0), (0.01, 0.1, 0.1)) for name in ("one", "two")]
    joints = [
        ch.revolute("A", "ground", "one", axis=Z),
        ch.revolute("B", "one", "two", axis=Z, at=(ROD, 0, 0)),
        ch.revolute("C", "two", "slider", axis=Z, at=(ROD, 0, 0)),
        ch.prismatic("S", "ground", "slider", axis=X, stiffness=SPRING, rest=2 * ROD * np.cos(OPEN)),
    ]
    push = ch.Wrench("load", "two", (0, 0, 0, 0, -load, 0), "hybrid")
    return ch.System(
        [*bodies, ch.Body("slider", 1.0, inertia=(1, 1, 1))], joints, forces=[push], gravity=(0, 0, 0), name="toggle"
    )


@pytest.mark.parametrize("coordinates", ["absolute", pytest.param("relative", marks=pytest.mark.study)])
def test_toggle(coordinates):
    """P = 2 k (2 l sin θ - x0 tan θ), largest where cos³ θ = x0/(2 l)."""
    build = lambda x: toggle(x).compile(coordinates)  # noqa: E731
    start = {"A": OPEN, "S": 2 * ROD * np.cos(OPEN)}
    branch = ch.continuation(build, (8.0, 40.0), start, max_step=0.5)
    (fold,) = branch.folds
    angle = np.arccos(np.cbrt(np.cos(OPEN)))
    largest = 4 * SPRING * ROD * (np.sin(angle) - np.cos(OPEN) * np.tan(angle))
    assert abs(fold.parameter / largest - 1) < 1e-9
    assert abs(branch.q[fold.place][branch.joints["A"]][0] / angle - 1) < 1e-6
    assert branch.stability[0] == "stable"
    assert branch.stability[-1] == "unstable"
    assert branch.linearize(0).at_equilibrium
    assert branch.linearize(0).modes[0].frequency > 0.0


MASSES, LENGTHS, HINGES = (1.0, 2.0), (0.5, 0.4), (30.0, 20.0)


def chain(gravity: float) -> ch.System:
    """Two rods upright on hinges with springs."""
    bodies = [ch.Body(f"rod {k}", m, (0, 0, length)) for k, (m, length) in enumerate(zip(MASSES, LENGTHS, strict=True))]
    joints = [
        ch.revolute("lower", "ground", "rod 0", axis=Y, stiffness=HINGES[0], armature=0.1),
        ch.revolute("upper", "rod 0", "rod 1", axis=Y, at=(0, 0, LENGTHS[0]), stiffness=HINGES[1], armature=0.1),
    ]
    return ch.System(bodies, joints, gravity=(0.0, 0.0, -gravity), name="chain")


def test_buckling():
    """Upright it buckles at the eigenvalues of springs against weights, and the branch goes straight on."""
    branch = ch.continuation(chain, (0.0, 60.0), max_step=0.1, name="gravity")
    angles = np.array([[1.0, 0.0], [1.0, 1.0]])  # of the rods by those of the joints
    weights = np.diag([(MASSES[0] + MASSES[1]) * LENGTHS[0], MASSES[1] * LENGTHS[1]])
    critical = np.sort(np.linalg.eigvals(np.linalg.solve(angles.T @ weights @ angles, np.diag(HINGES))).real)
    critical = critical[critical < 60.0]
    found = [point.parameter for point in branch.bifurcations]
    assert len(found) == len(critical) >= 1
    assert np.abs(np.array(found) / critical - 1).max() < 1e-9
    assert not branch.folds
    assert np.abs(branch.q).max() < 1e-12
    assert branch.stability[0] == "stable"
    assert branch.unstable[-1] == len(critical)


def test_picture_and_refusals(tmp_path):
    branch = ch.continuation(truss, (0.0, 1.0), {"height": HEIGHT}, max_step=0.2)
    assert branch.message == "ended where it leaves the span, at 1"
    branch.plot("height", file=tmp_path / "branch.svg")
    assert (tmp_path / "branch.svg").read_text().count("<path") > 5
    with pytest.raises(ValueError, match="no joint 'widht'"):
        branch.plot("widht")
    with pytest.raises(TypeError, match="a function of the parameter"):
        ch.continuation(truss(0.0), (0.0, 1.0))
    with pytest.raises(ValueError, match="two numbers that differ"):
        ch.continuation(truss, (1.0, 1.0))
    with pytest.raises(ValueError, match="within the span"):
        ch.continuation(truss, (0.0, 1.0), start=2.0)
    short = ch.continuation(truss, (0.0, 1.0), {"height": HEIGHT}, points=3)
    assert short.message == "ended after 3 points"
