"""Equilibria of closed mechanisms: against own reductions to one coordinate, closed forms, and runs that stay."""

import mpmath as mp
import numpy as np
import pytest

import chasles as ch
from tests.relative import closed
from tests.simulation import reduced
from tests.simulation.test_linearize_closed import (
    DAMPING,
    LENGTHS,
    STIFFNESS,
    four_bar_reduced,
    off,
    shafts,
    suspension,
    suspension_reduced,
)


@pytest.mark.parametrize("compiled", [{}, {"cut": ["B"]}, {"coordinates": "absolute"}], ids=str)
def test_four_bar(compiled):
    """With springs and dampers in all joints; three of its equations are redundant."""
    at, _, _, k = four_bar_reduced()
    system = closed.four_bar(stiffness=STIFFNESS, damping=DAMPING)
    found = ch.equilibrium(system.compile(**compiled), {"A": 0.5})
    tree = system.compile(cut=compiled.get("cut", ()))
    wanted, _ = closed.four_bar_state(tree, float(at), 0.0)
    assert np.abs(tree.difference(found.q, wanted)).max() < 1e-14
    assert found.stability == "stable"
    assert found.independent.tolist() == [0]
    assert off(found.stiffness, [[float(k)]]) < 1e-11
    rates = closed.four_bar_state(tree, float(at), 1.0)[1]
    assert np.abs(found.basis[:, 0] - rates).max() < 1e-13
    run = ch.simulate(tree, (0.0, 0.2), q=found.q, progress=False)
    # one large step makes up to 6e-13 of roundings of 1e-15 in the start
    assert np.abs(run.q - found.q).max() < 1e-12
    assert ch.linearize(tree, found.q).at_equilibrium


def test_hanging_and_upright():
    """Without springs: the center of mass is lowest or highest, as the reduction says."""
    pieces = reduced.four_bar_pieces(LENGTHS, (1.0, 2.0, 1.5))
    for start, kind in ((2.0, "unstable"), (-1.0, "stable")):
        found = ch.equilibrium(closed.four_bar(), {"A": start})
        at, sign = found.q[0], 1.0
        if kind == "stable":  # the reduction has the coupler above: mirrored, and gravity upward
            at, sign = -at, -1.0

        def potential(x, sign=sign):
            return sign * sum(p.mass * mp.mpf("9.81") * p.place(x)[1][1] for p in pieces)

        wanted, _, _, k = reduced.swing(pieces, potential, [], float(at))
        assert abs(at - float(wanted)) < 1e-14
        assert off(found.stiffness, [[float(k)]]) < 1e-11
        assert found.stability == kind


@pytest.mark.study
def test_suspension():
    at, _, _, k = suspension_reduced()
    found = ch.equilibrium(suspension())
    assert abs(found.q[0] - float(at)) < 1e-14
    assert off(found.stiffness, [[float(k)]]) < 1e-11
    assert "stable equilibrium" in str(found)
    assert "lower arm: 0.0219106669" in str(found)


def test_geared_shafts_under_a_torque():
    ratio, torque = 2.5, 3.0
    found = ch.equilibrium(shafts(ratio), control=[torque, 0.5, 0.2])
    one = (torque - ratio * 0.5) / (40.0 + ratio**2 * 5.0)
    assert np.abs(found.q - [one, -ratio * one, 0.2 / 12.0]).max() < 1e-15
    assert off(found.stiffness, np.diag([40.0 + ratio**2 * 5.0, 12.0])) < 1e-14


def test_drives_hold_their_coordinates_at_the_time():
    drive = ch.Drive("motor", "one", "0.2 + 0.1 * t")
    found = ch.equilibrium(shafts(2.5, drive), t=1.5, control=[0.0, 0.0, 0.6])
    assert np.abs(found.q - [0.35, -0.875, 0.05]).max() < 1e-15
    assert found.stiffness.shape == (1, 1)
    everything = ch.equilibrium(shafts(2.5, drive, ch.Drive("other", "three", 0.3)), t=1.5)
    assert np.abs(everything.q - [0.35, -0.875, 0.3]).max() < 1e-15
    assert everything.stiffness.size == 0


def test_a_freedom_that_nothing_holds_is_undecided():
    """The rod of the RSSR linkage turns about itself."""
    found = ch.equilibrium(closed.rssr())
    assert found.stability == "undecided"
    assert found.residual < 1e-14


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_units_do_not_matter(size):
    """A slider-crank on a spring, its lengths in any unit: angles are the same."""

    def slider_crank(unit: float) -> ch.System:
        rods = [
            ch.Body(name, mass, (x * unit, 0, 0), np.array([0.01, 0.02, 0.02]) * unit**2)
            for name, mass, x in (("crank", 1.0, 0.1), ("rod", 0.7, 0.3), ("piston", 0.5, 0.0))
        ]
        z, x = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
        joints = [
            ch.revolute("A", "ground", "crank", axis=z),
            ch.revolute("B", "crank", "rod", axis=z, at=(0.2 * unit, 0, 0)),
            ch.revolute("C", "rod", "piston", axis=z, at=(0.6 * unit, 0, 0)),
            ch.prismatic("slide", "ground", "piston", axis=x, stiffness=30.0, rest=0.75 * unit),
        ]
        return ch.System(rods, joints, gravity=(0.0, -9.81 * unit, 0.0))

    start = {"A": -0.7}
    found, wanted = (ch.equilibrium(slider_crank(unit), start) for unit in (size, 1.0))
    angles = found.joints["A"]
    assert np.abs(found.q[angles] - wanted.q[angles]) < 1e-13
    assert found.iterations == wanted.iterations
    assert found.stability == wanted.stability == "stable"


def arm() -> ch.System:
    bodies = [ch.Body(name, 1.5, (0.2, 0, 0), (0.01, 0.03, 0.03)) for name in ("upper", "lower")]
    joints = [
        ch.revolute("shoulder", "ground", "upper", axis=(0, 1, 0), stiffness=30.0, damping=0.3),
        ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0.4, 0, 0), stiffness=20.0),
    ]
    return ch.System(bodies, joints, name="arm")


KINDS = {
    "tree": (arm, {}),
    "loop": (suspension, {"lower arm": 0.05}),
    "coupling": (lambda: shafts(2.5), {"one": 0.1}),
    "redundant": (lambda: closed.four_bar(stiffness=STIFFNESS, damping=DAMPING), {"A": 0.5}),
    "driven": (lambda: shafts(2.5, ch.Drive("motor", "one", 0.2)), {"one": 0.2}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_do_not_depend_on_coordinates(kind):
    """Of a system, and of its mechanisms in both kinds of coordinates: equilibrium, frequencies, sensitivities."""
    make, start = KINDS[kind]
    system = make()
    every = [system, system.compile(), system.compile("absolute")]
    rests = [ch.equilibrium(given, start) for given in every]
    found = [ch.linearize(given, rest.q).eigenvalues for given, rest in zip(every, rests, strict=True)]
    slopes = [ch.sensitivities(given, (0.0, 0.02), rests[0].q, step=0.01).state for given in every]
    for rest, values, slope in zip(rests[1:], found[1:], slopes[1:], strict=True):
        assert np.array_equal(rest.q, rests[0].q)
        assert np.array_equal(values, found[0])
        assert np.array_equal(slope, slopes[0])
    # and the equilibrium is one of absolute coordinates too
    bodies, tree = every[2], every[1]
    poses = tree.poses(rests[0].q)
    moved = bodies.accelerations_under(*bodies.state(poses, np.zeros((len(poses), 6))))
    assert np.abs(moved).max() < 1e-9


def test_what_cannot_be_found_is_said():
    gears = shafts(2.5)
    joints = [ch.revolute(j.name, j.parent, j.child, axis=(0, 0, 1)) for j in gears.joints]
    loose = ch.System(gears.bodies, joints, constraints=gears.constraints, name="loose")
    with pytest.raises(RuntimeError, match=r"1 N m is left at joint 'one'\. Is there an equilibrium at all"):
        ch.equilibrium(loose, control=[1.0, 0.0, 0.0])
    with pytest.raises(ch.errors.AssemblyError, match="no coordinates near the given ones, with 'A' held,"):
        ch.equilibrium(closed.four_bar().with_constraint(ch.Drive("fixed", "A", 0.3)), {"A": 1.5})
