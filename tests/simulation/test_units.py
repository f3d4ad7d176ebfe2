"""The same model in other units of length, mass and time gives the same answers."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

import chasles as ch

# lengths, masses and times of one and the same thing
UNITS = [(1.0, 1.0, 1.0), (1e-9, 1e-18, 1e-6), (1e-3, 1e-6, 1.0), (1e3, 1e3, 1e-3), (1e6, 1e9, 1e4)]


def machine(length, mass, time):
    """An arm on a slider on springs in gravity, with a ball at its end: all kinds of coordinates."""
    L, M, force = length, mass, mass * length / time**2
    torque, inertia = force * L, M * L * L
    bodies = [
        ch.Body("slide", 2.0 * M, (0.1 * L, 0.0, 0.0), inertia * np.array([0.1, 0.2, 0.2])),
        ch.Body("arm", 1.0 * M, (0.4 * L, 0.0, 0.05 * L), inertia * np.array([0.02, 0.1, 0.1])),
        ch.Body("hand", 0.5 * M, (0.2 * L, 0.1 * L, 0.0), inertia * np.array([0.01, 0.02, 0.02])),
    ]
    damping = {"damping": 0.3 * torque * time}
    joints = [
        ch.prismatic("rail", "ground", "slide", axis=(0, 0.6, 0.8), stiffness=60 * force / L, damping=force * time / L),
        ch.revolute("hinge", "slide", "arm", axis=(0, 1, 0), at=(0.2 * L, 0, 0), stiffness=8 * torque, **damping),
        ch.spherical("ball", "arm", "hand", at=(0.8 * L, 0.0, 0.0), stiffness=5 * torque, **damping),
    ]
    frames = [ch.Frame("tip", "hand", (0.3 * L, 0.0, 0.1 * L))]
    pull = ch.Spring(
        "pull", ("ground", "hand"), ((1.0 * L, 1.0 * L, 0.0), (0.1 * L, 0.0, 0.0)), 9.0 * force / L, 0.0, L
    )
    return ch.System(bodies, joints, frames, forces=[pull], gravity=(0.0, 0.0, -9.81 * L / time**2))


def in_units(length, q):
    """Coordinates of the machine in SI."""
    return np.concatenate([q[:1] / length, q[1:]])


@pytest.mark.parametrize("units", UNITS[1:], ids=str)
def test_equilibrium_modes_and_inverse_kinematics_do_not_depend_on_units(units):
    length, mass, time = units
    first, other = (ch.equilibrium(machine(*scale)) for scale in (UNITS[0], units))
    assert first.stability == other.stability == "stable"
    assert np.abs(in_units(length, other.q) - first.q).max() < 1e-12
    assert other.iterations == first.iterations
    size = np.array([length, 1.0, 1.0, 1.0, 1.0])
    force = mass * length**2 / time**2 / size
    assert (
        np.abs(other.stiffness / force[:, None] * size - first.stiffness).max() < 1e-8 * np.abs(first.stiffness).max()
    )
    about, again = (ch.linearize(machine(*scale), at.q) for scale, at in ((UNITS[0], first), (units, other)))
    assert about.stability == again.stability == "asymptotically stable"
    assert np.abs(again.eigenvalues * time - about.eigenvalues).max() < 1e-9 * np.abs(about.eigenvalues).max()
    assert [mode.frequency > 0 for mode in again.modes] == [mode.frequency > 0 for mode in about.modes]
    moving = ch.linearize(machine(*units), in_units(1 / length, np.array([0.3, 0.2, 1.0, 0.0, 0.0, 0.0])))
    assert not moving.at_equilibrium
    q = np.array([0.1, 0.4, *(np.array([0.9, 0.1, -0.2, 0.3]) / np.sqrt(0.95))])
    reached = []
    for scale in (UNITS[0], units):
        mechanism = machine(*scale).compile()
        target = mechanism.poses(in_units(1 / scale[0], q), "tip")
        found = mechanism.inverse_kinematics("tip", target, weights=(0.0, 1.0))
        assert found
        assert np.abs(mechanism.poses(found.q, "tip")[4:] - target[4:]).max() < 1e-9 * scale[0]
        reached.append(in_units(scale[0], found.q))
    assert np.abs(reached[1] - reached[0]).max() < 1e-6


@pytest.mark.parametrize("arm", [0.1, 3e-4, 1e-9])
def test_equilibrium_of_a_small_arm(arm):
    """A beam on a spring that its weight bends: k q = -m g l cos q."""
    mass = 1e3 * arm**3
    stiffness = 2 * mass * 9.81 * arm
    body = ch.Body("beam", mass, (arm, 0, 0), (0.1 * mass * arm**2,) * 3)
    found = ch.equilibrium(
        ch.System([body], [ch.revolute("r", "ground", "beam", axis=(0, -1, 0), stiffness=stiffness)])
    )
    exact = brentq(lambda q: -stiffness * q / (mass * 9.81 * arm) - np.cos(q), -1.5, 1.5, xtol=1e-15)
    assert abs(found.q[0] - exact) < 1e-9
    assert found.stability == "stable"


def test_a_soft_spring_may_give_way_by_more_than_the_size_of_what_hangs_on_it():
    for size in (1e-6, 1.0):
        body = ch.Body("weight", 1.0, inertia=(1e-4 * size**2,) * 3)
        rail = ch.prismatic("rail", "ground", "weight", axis=(0, 0, 1), stiffness=9.81 / (5e3 * size))
        assert abs(ch.equilibrium(ch.System([body], [rail])).q[0] + 5e3 * size) < 1e-6 * size


@pytest.mark.parametrize("stiffness", [1e3, 1e8, 1e13])
def test_stability_beside_a_stiff_spring(stiffness):
    """An inverted pendulum is unstable and a hanging one stable, whatever holds something else."""
    for height, expected in ((0.5, "unstable"), (-0.5, "stable")):
        bodies = [
            ch.Body("block", 1000.0, inertia=(10.0,) * 3),
            ch.Body("bob", 1.0, (0, 0, height), (0.01, 0.01, 0.001)),
        ]
        for carrier in ("ground", "block"):
            joints = [
                ch.prismatic(
                    "base", "ground", "block", axis=(0.6, 0, 0.8), stiffness=stiffness, damping=1e-3 * stiffness
                ),
                ch.revolute("hinge", carrier, "bob", axis=(0, 1, 0), damping=0.1),
            ]
            system = ch.System(bodies, joints)
            found = ch.equilibrium(system)
            assert found.stability == expected
            assert found.stable == (expected == "stable")
            if stiffness < 1e13:
                assert ("unstable" if height > 0 else "asymptotically stable") == ch.linearize(
                    system, found.q
                ).stability


def test_what_nothing_holds_is_undecided():
    block = ch.Body("block", 1.0, inertia=(1.0, 2.0, 3.0))
    found = ch.equilibrium(ch.System([block], gravity=(0.0, 0.0, 0.0)))
    assert found.stability == "undecided"
    assert found.stable


def test_inverse_kinematics_of_small_and_large_arms():
    """Two links in a plane: the law of cosines says where the elbow is."""
    for length, weights in itertools.product((1e-9, 1.0, 1e6), ((0.0, 1.0), (1e-3, 1.0))):
        bodies = [ch.Body(name, 1.0, (0.5 * length, 0, 0), (length**2,) * 3) for name in ("upper", "lower")]
        joints = [
            ch.revolute("shoulder", "ground", "upper", axis=(0, 0, 1)),
            ch.revolute("elbow", "upper", "lower", axis=(0, 0, 1), at=(length, 0, 0)),
        ]
        arm = ch.System(bodies, joints, [ch.Frame("tip", "lower", (length, 0, 0))]).compile()
        target = arm.poses([0.4, 1.1], "tip")
        found = arm.inverse_kinematics("tip", target, [0.2, 0.7], weights=weights)
        assert found
        assert np.abs(found.q - [0.4, 1.1]).max() < 1e-8
        assert found.residual < 1e-9 * length + (1e-3 * 1e-8 if weights[0] else 0.0)


def test_directions_may_be_short():
    axis = ch.revolute("r", "ground", "b", axis=(0.0, 3e-200, 4e-200)).screws[0][:3]
    assert np.allclose(axis, (0.0, 0.6, 0.8), atol=1e-15)
    with pytest.raises(ValueError, match="has no length"):
        ch.revolute("r", "ground", "b", axis=(0.0, 0.0, 0.0))


def four_bar(length, mass):
    """A planar four-bar of rods whose last joint is cut."""
    rod = {"mass": mass, "com": (0.5 * length, 0, 0), "inertia": mass * length**2 * np.array([0.001, 0.1, 0.1])}
    z = (0.0, 0.0, 1.0)
    joints = [
        ch.revolute("A", "ground", "crank", axis=z),
        ch.revolute("B", "crank", "coupler", axis=z, at=(length, 0, 0)),
        ch.revolute("C", "coupler", "rocker", axis=z, at=(length, 0, 0), child_at=(length, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=z, at=(1.3 * length, 0, 0)),
    ]
    return ch.System([ch.Body(name, **rod) for name in ("crank", "coupler", "rocker")], joints)


def test_assembly_and_mobility_do_not_depend_on_units():
    """A four-bar of 10 nm is closed as well as one of 1 m, and an open one is refused."""
    rough, found = np.array([1.4, -1.3, 1.2]), []
    for length, mass in ((1.0, 1.0), (1e-8, 1e-21), (1e5, 1e12)):
        system = four_bar(length, mass)
        loop, bodies = system.compile(), system.compile("absolute")
        q = loop.assemble(rough)
        tip = loop.poses(q)[2, 4:]  # the rocker's frame is at D
        assert np.abs(tip - [1.3 * length, 0, 0]).max() < 1e-12 * length
        poses = bodies.assemble(loop.spanning.poses(rough))
        assert np.abs(poses[2, 4:] - [1.3 * length, 0, 0]).max() < 1e-9 * length
        found.append((q, poses / ([1.0] * 4 + [length] * 3)))
        for off in (1e-3, 1e-6):
            with pytest.raises(ValueError, match="the start violates"):
                ch.simulate(system, (0.0, 1e-3), q=q + off, progress=False)
            apart = loop.poses(q) + np.array([0, 0, 0, 0, 0, 0, off * length]) * np.arange(3)[:, None]
            with pytest.raises(ValueError, match="the start violates"):
                ch.simulate(system, (0.0, 1e-3), poses=apart, coordinates="absolute", progress=False)
        freedoms = ch.mobility(system, q)
        assert (freedoms.generic.freedoms, freedoms.redundant, freedoms.singular) == (1, 3, False)
    for q, poses in found[1:]:
        assert np.abs(q - found[0][0]).max() < 1e-10
        assert np.abs(poses - found[0][1]).max() < 1e-7
