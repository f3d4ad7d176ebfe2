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


# ------------------------------------------------------------ simulations

LENGTHS_AND_MASSES = [(1e3, 1e-3), (1e-9, 1e-18), (1e-3, 1e3)]  # [mm, t], nanometers, [km, g]
AT = np.array([1.0, 1.0, 1.0, 1.0])


def poses_of(run, length, names):
    """Poses at the saved times, in meters."""
    return np.stack([run[name].pose for name in names], axis=1) / np.concatenate([AT, np.full(3, length)])


def same_steps(make, names, tolerance, q, v, **options):
    """Runs in several units: as many steps, and the same motion. q and v are functions of the unit of length."""
    found = []
    for length, mass in ((1.0, 1.0), *LENGTHS_AND_MASSES):
        run = ch.simulate(make(length, mass), (0.0, 2.0), q(length), v(length), save=[1.0, 2.0], **options)
        assert run.success
        found.append((poses_of(run, length, names), run.solution.steps, run.solution.rejections, run))
    for poses, *steps, _ in found[1:]:
        assert steps == list(found[0][1:3])
        assert np.abs(poses - found[0][0]).max() < tolerance
    return [run for *_, run in found]


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": ch.integrate.CommutatorFree("cf43")},
        {"coordinates": "absolute"},
        {"coordinates": "absolute", "method": ch.integrate.GeneralizedAlpha(), "rtol": 1e-5},
        {"coordinates": "absolute", "method": ch.integrate.HalfExplicit(5), "rtol": 1e-6},
    ],
    ids=["dopri5", "cf43", "absolute", "generalized alpha", "half-explicit"],
)
def test_steps_that_follow_the_error_do_not_depend_on_units(options):
    """An arm on a slider with a ball. Rounding of one unit is not that of another, and grows with the motion."""
    same_steps(
        lambda length, mass: machine(length, mass, 1.0),
        ("slide", "arm", "hand"),
        1e-11,
        lambda length: [0.1 * length, 0.3, 1.0, 0.0, 0.0, 0.0],
        lambda length: [0.2 * length, 0.5, 1.0, -0.5, 0.3],
        **options,
    )


@pytest.mark.parametrize("options", [{}, {"method": ch.integrate.RKMK("rk4"), "step": 0.01}], ids=["dopri5", "rk4"])
def test_loops_in_other_units(options):
    """Four bars in joint coordinates: the joint that is cut stays closed to rounding, however small the bars are."""
    loop = four_bar(1.0, 1.0).compile()
    q = loop.assemble(np.array([1.4, -1.3, 1.2]))
    v = loop.consistent_velocities(q, [2.0, 0.0, 0.0], held=["A"])
    runs = same_steps(four_bar, ("crank", "coupler", "rocker"), 1e-11, lambda _: q, lambda _: v, **options)
    for run in runs:
        assert run.mechanism.constraint_violation(run.q[-1], scaled=True).position.max() < 4e-15


@pytest.mark.parametrize("units", UNITS[1:], ids=str)
def test_fixed_steps_in_other_units_of_time_too(units):
    length, _, time = units
    found = []
    for scale in (UNITS[0], units):
        v = np.array([0.2 * scale[0], 0.5, 1.0, -0.5, 0.3]) / scale[2]
        options = {"method": ch.integrate.RKMK("rk4"), "step": 0.01 * scale[2], "save": "final"}
        found.append(ch.simulate(machine(*scale), (0.0, 2.0 * scale[2]), v=v, **options))
    assert np.abs(in_units(length, found[1].q[-1]) - found[0].q[-1]).max() < 1e-11
    assert np.abs(found[1].v[-1, 1:] * time - found[0].v[-1, 1:]).max() < 1e-10


def test_a_given_atol_is_taken_as_it_is():
    """1e-6 m is nothing to a slide of meters, and all there is to one of a micrometer."""

    def one(length):
        block = ch.Body("block", 1.0, inertia=(length**2,) * 3)
        rail = ch.prismatic("rail", "ground", "block", axis=(1, 0, 0), stiffness=100.0)
        return ch.System([block], [rail], gravity=(0.0, 0.0, 0.0))

    steps = {}
    for length, atol in itertools.product((1.0, 1e-6), (None, 1e-6)):
        run = ch.simulate(one(length), (0.0, 2.0), [length], atol=atol, rtol=1e-8)
        steps[length, atol] = run.solution.steps
        off = abs(run.q[-1, 0] / length - np.cos(20.0))
        assert off < 1e-6 if atol is None else off < 1e-4 or length < 1.0
    assert steps[1.0, None] == steps[1e-6, None]
    assert steps[1e-6, 1e-6] < 0.5 * steps[1.0, 1e-6] < 0.5 * steps[1.0, None]


def slider_crank(length):
    """Crank and rod in a plane, and a slider that closes the loop."""
    rod = {"mass": 1.0, "com": (0.5 * length, 0, 0), "inertia": np.array([0.001, 0.1, 0.1]) * length**2}
    z = (0.0, 0.0, 1.0)
    joints = [
        ch.revolute("A", "ground", "crank", axis=z),
        ch.revolute("B", "crank", "rod", axis=z, at=(length, 0, 0)),
        ch.prismatic("rail", "ground", "slider", axis=(1, 0, 0)),
        ch.revolute("C", "slider", "rod", axis=z, child_at=(2 * length, 0, 0)),
    ]
    slider = ch.Body("slider", 1.0, inertia=(0.1 * length**2,) * 3)
    return ch.System([ch.Body("crank", **rod), ch.Body("rod", **rod), slider], joints)


def test_velocities_and_accelerations_of_small_loops_are_judged_by_their_size():
    for length in (1.0, 1e-9, 1e6):
        loop = slider_crank(length).compile(cut=["C"])
        q = loop.assemble(np.array([0.7, -0.9, 2.5 * length]))
        v = loop.consistent_velocities(q, [1.0, 0.0, 0.0], held=["A"])
        a = loop.forward_dynamics(q, v, np.zeros(3))
        forces = loop.inverse_dynamics(q, v, a, actuated=["A"])
        assert np.abs(forces).max() < 1e-11 * (10.0 * length + length**2)  # of the weights and inertial forces
        for k, size in enumerate((1.0, 1.0, length)):
            wrong = a + 1e-3 * size * np.eye(3)[k]
            with pytest.raises(ValueError, match="the accelerations violate"):
                loop.inverse_dynamics(q, v, wrong, actuated=["A"])
            with pytest.raises(ValueError, match="the start violates"):
                ch.simulate(loop, (0.0, 0.1), q, v + 1e-3 * size * np.eye(3)[k])
