"""Forces: each against its potential or its power, found by differences, and in simulations."""

import numpy as np
import pytest
import scipy.optimize

import chasles as ch
from chasles.lie import pose
from tests.simulation.systems import arm, pendulum, satellite


@ch.law
def drag(t, pose, twist, p, out):
    """Linear in the twist, growing with time."""
    for k in range(6):
        out[k] = -p[0] * (1.0 + t) * twist[k]


@ch.law
def torsion(t, q, v, p, out):
    """A cubic spring."""
    out[0] = -p[0] * q[0] ** 3


def stored_force(mechanism, q):
    """Minus the gradient of the energy in springs along q exp(δ), by differences with extrapolation."""
    still, force = np.zeros(mechanism.nv), np.empty(mechanism.nv)
    for k in range(mechanism.nv):
        slopes = []
        for h in (1e-3, 5e-4):
            step = h * np.eye(mechanism.nv)[k]
            ends = [mechanism.applied_forces(mechanism.retract(q, s), still).stored for s in (step, -step)]
            slopes.append((ends[0] - ends[1]) / (2 * h))
        force[k] = -(4 * slopes[1] - slopes[0]) / 3
    return force


def generalized(mechanism, forces):
    """Forces and wrenches on links as generalized forces."""
    still = np.zeros(mechanism.nv)
    holding = mechanism.terms.static_forces(mechanism.neutral() * 0 + forces["q"], forces["f"].wrenches)
    without = mechanism.terms.static_forces(forces["q"])
    return forces["f"].tau + without - holding + still


def total_at_rest(mechanism, q):
    return generalized(mechanism, {"q": q, "f": mechanism.applied_forces(q, np.zeros(mechanism.nv))})


def springs() -> ch.System:
    """Springs of all kinds: in joints of each type, and between points."""
    bodies = [ch.Body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1)) for name in "abcde"]
    joints = [
        ch.free("float", "ground", "a", stiffness=(3.0, 4.0, 5.0, 2.0, 2.0, 2.0)),
        ch.spherical("ball", "a", "b", at=(0.3, 0.0, 0.0), stiffness=(1.0, 2.0, 3.0)),
        ch.revolute("hinge", "b", "c", axis=(1.0, 1.0, 0.0), at=(0.2, 0.1, 0.0), stiffness=2.0, rest=0.3),
        ch.prismatic("slide", "c", "d", axis=(0.0, 1.0, 1.0), stiffness=5.0, rest=-0.2),
        ch.cylindrical(
            "pipe", "a", "e", axis=(0.0, 0.0, 1.0), stiffness=(1.0, 4.0), upper=(0.1, 0.2), stop_stiffness=9
        ),
    ]
    forces = [
        ch.Spring("long", ("b", "ground"), ((0.1, 0.2, 0.3), (1.0, 0.0, 0.0)), stiffness=7.0, length=0.4),
        ch.Spring("between", ("d", "e"), ((0.1, 0.0, 0.0), (0.0, 0.3, 0.0)), stiffness=3.0, length=0.2),
    ]
    return ch.System(bodies, joints, forces=forces, name="springs")


def test_every_spring_pulls_down_its_potential():
    mechanism = springs().compile()
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = mechanism.random(rng)
        wanted = stored_force(mechanism, q)
        assert np.abs(total_at_rest(mechanism, q) - wanted).max() < 1e-8 * np.abs(wanted).max()


@pytest.mark.parametrize("representation", ["body", "spatial", "hybrid", "mixed"])
def test_a_constant_wrench_in_each_representation(representation):
    """Its power is that of the representation's own twist."""
    value = np.array([0.3, -1.0, 2.0, 1.5, 0.2, -0.7])
    system = satellite().with_force(ch.Wrench("push", "right", value, representation))
    mechanism = system.compile()
    rng = np.random.default_rng(5)
    q, v = mechanism.random(rng), rng.standard_normal(mechanism.nv)
    found = mechanism.applied_forces(q, v)
    twist = mechanism.twists(q, v, "right", representation=representation)
    assert found.power == pytest.approx(value @ twist, rel=1e-12)
    generalized_force = generalized(mechanism, {"q": q, "f": found})
    assert generalized_force @ v == pytest.approx(value @ twist, rel=1e-10)


def test_laws_compiled_and_in_python_are_the_same():
    def slow(t, pose, twist, p, out):
        out[:] = -p[0] * (1.0 + t) * twist

    q, v = satellite().compile().neutral(), np.arange(1.0, 10.0) / 10
    runs = [
        ch.simulate(
            satellite().with_force(ch.Wrench("drag", "left", function, parameters=[0.5])), (0.0, 1.0), q, v, step=0.01
        )
        for function in (drag, slow)
    ]
    assert np.abs(runs[0].v - runs[1].v).max() < 1e-13
    assert np.ptp(runs[0].energies.balance) < 1e-6 * runs[0].energies.kinetic[0]
    assert runs[0].energies.work[-1] < 0


def test_an_error_in_a_law_comes_out():
    def broken(t, q, v, p, out):
        raise RuntimeError("no such table")

    system = pendulum().with_force(ch.JointForce("law", "hinge", broken))
    with pytest.raises(RuntimeError, match="no such table"):
        ch.simulate(system, (0.0, 1.0))


def test_joint_laws_and_constants():
    system = pendulum().with_force(
        ch.JointForce("cubic", "hinge", torsion, parameters=[2.0]), ch.JointForce("constant", "hinge", 3.0)
    )
    found = system.compile().applied_forces([0.5], [0.2])
    assert found.tau[0] == pytest.approx(3.0 - 2.0 * 0.125)
    assert found.power == pytest.approx(0.2 * found.tau[0])


def test_friction_damping_and_stops():
    system = pendulum(damping=0.3, friction=0.5, friction_speed=0.1, upper=1.0, stop_stiffness=100.0, stop_damping=5.0)
    mechanism = system.compile()
    inside = mechanism.applied_forces([0.5], [0.4])
    assert inside.tau[0] == pytest.approx(-0.3 * 0.4 - 0.5 * np.tanh(4.0))
    assert inside.stored == 0.0
    outside = mechanism.applied_forces([1.1], [0.0])
    assert outside.tau[0] == pytest.approx(-10.0)
    assert outside.stored == pytest.approx(0.5)
    leaving = mechanism.applied_forces([1.01], [-10.0])
    assert leaving.tau[0] == pytest.approx(0.3 * 10 + 0.5)  # the damper of the stop does not pull
    run = ch.simulate(system, (0.0, 3.0), v=[6.0], rtol=1e-9, atol=1e-9)
    assert run.q.max() < 1.3
    assert np.ptp(run.energies.balance) < 1e-5 * run.energies.kinetic.max()


def test_equilibria():
    hanging = ch.equilibrium(arm(), q=[1.0, 0.0, 0.0, 0.0, 0.3])
    assert hanging.stable
    assert np.abs(hanging.q[4]) < 1e-8
    upright = ch.equilibrium(pendulum(), q=[3.0])
    assert upright.q[0] == pytest.approx(np.pi, abs=1e-8)
    assert not upright.stable
    level = ch.equilibrium(pendulum(), q=[np.pi / 2])  # where the force is largest, and no small step lowers it
    assert level.stable
    assert np.abs(level.q[0]) < 1e-8
    sprung = ch.equilibrium(pendulum(stiffness=20.0, rest=1.0), q=[0.5])
    angle = sprung.q[0]
    assert 20.0 * (1.0 - angle) == pytest.approx(9.81 * np.sin(angle), abs=1e-8)
    with pytest.raises(RuntimeError, match="is left at joint 'free hub'"):
        ch.equilibrium(satellite(gravity=(0.0, 0.0, -9.81)))


def test_an_equilibrium_is_found_to_rounding_and_is_readable():
    """The force that is left falls to rounding (the angle is that of SciPy's root of its own equation), so a run from
    there stays; a step that the stiffness does not determine is not taken."""
    sprung = ch.equilibrium(pendulum(stiffness=20.0, rest=1.0), q=[0.5])
    angle = scipy.optimize.brentq(lambda x: 20.0 * (1.0 - x) - 9.81 * np.sin(x), 0.0, 1.0, xtol=1e-16, rtol=1e-15)
    assert sprung.q[0] == pytest.approx(angle, abs=4e-16)
    assert sprung.residual < 1e-14
    run = ch.simulate(pendulum(stiffness=20.0, rest=1.0), (0.0, 1.0), q=sprung.q)
    assert np.abs(run.q - sprung.q).max() < 1e-14
    text = str(sprung)
    assert "stable equilibrium" in text
    assert f"{angle:.9g}" in text
    assert "array" not in repr(sprung)
    floating = ch.equilibrium(satellite(gravity=(0.0, 0.0, 0.0)))
    assert np.array_equal(floating.q, satellite(gravity=(0.0, 0.0, 0.0)).compile().neutral())


def test_a_spring_without_length_or_distance():
    """Two points that coincide: no direction, no force, no NaN."""
    bodies = [ch.Body(n, mass=1.0, inertia=(1.0, 1.0, 1.0)) for n in "ab"]
    system = ch.System(bodies, forces=[ch.Spring("s", ("a", "b"), stiffness=5.0, damping=1.0)], gravity=(0, 0, 0))
    mechanism = system.compile()
    found = mechanism.applied_forces(mechanism.neutral(), np.ones(mechanism.nv))
    assert np.isfinite(found.wrenches).all()
    assert found.stored == 0.0


def test_derivatives_where_the_ends_of_a_spring_meet():
    """Without a free length a spring is linear in the way between its ends: it pulls back in all directions."""
    body = ch.Body("b", mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    spring = ch.Spring("s", ("ground", "b"), ((0, 0, 0), (0.1, 0, 0)), stiffness=800.0)
    system = ch.System([body], [ch.free("f", "ground", "b", at=(-0.1, 0, 0))], forces=[spring], gravity=(0, 0, 0))
    frequencies = sorted(mode.frequency for mode in ch.linearize(system).modes)
    assert np.allclose(frequencies[-3:], 20.0 / (2.0 * np.pi), rtol=1e-9)
    assert max(frequencies[:-3]) == 0.0
    v = [0.0, 0.0, 0.0, 0.3, 0.1, -0.2]
    ends = ch.sensitivities(system, (0.0, 0.05), v=v, wrt="v", step=0.005, method="rk4", save="final")
    total = ch.objective.end(lambda t, q, v: v[:, 3])
    way = ch.gradient(ch.simulate(system, (0.0, 0.05), v=v, step=0.005, method="rk4"), total, by="v")
    assert abs(way["v"][3] - np.cos(20.0 * 0.05)) < 1e-5
    assert np.abs(way["v"] - ends["v"][-1, 6 + 3]).max() < 1e-12


def test_places_of_springs_follow_the_bodies():
    system = satellite().with_force(
        ch.Spring("s", ("left", "ground"), ((0.5, 0.0, 0.0), (0.0, 0.0, 1.0)), stiffness=4.0)
    )
    mechanism = system.compile()
    q = mechanism.random(np.random.default_rng(0))
    end = pose.act(mechanism.poses(q, "left"), [0.5, 0.0, 0.0])
    stored = mechanism.applied_forces(q, np.zeros(mechanism.nv)).stored
    assert stored == pytest.approx(2.0 * np.sum((end - [0.0, 0.0, 1.0]) ** 2), rel=1e-12)


@ch.law
def partly_written(t, pose, twist, p, out):
    out[3] = p[0] * pose[4]


@ch.law
def fully_written(t, pose, twist, p, out):
    for k in range(6):
        out[k] = 0.0
    out[3] = p[0] * pose[4]


@ch.law
def late(t, q, v, p, out):
    if t > 0.1:
        out[0] = p[0]


@ch.law
def late_or_zero(t, q, v, p, out):
    out[0], out[1] = 0.0, 0.0
    if t > 0.1:
        out[0] = p[0]


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("kind", ["body", "joint"])
def test_what_a_law_does_not_write_is_zero(coordinates, kind):
    """Not what happens to be in memory: the spring of a joint leaves numbers where the law is to write."""
    body = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (1e-2, 1e-2, 1e-2)}
    joints = [ch.universal("u", "ground", "b"), ch.spherical("s", "b", "c", at=(0.3, 0, 0), stiffness=5.0)]

    def end(law):
        force = ch.Wrench("w", "c", law, representation="hybrid", parameters=[0.5])
        if kind == "joint":
            force = ch.JointForce("j", "u", law, parameters=[0.5])
        system = ch.System([ch.Body("b", **body), ch.Body("c", **body)], joints, forces=[force])
        run = ch.simulate(system, (0.0, 0.5), coordinates=coordinates, method="rk4", step=2e-3, progress=False)
        return [run["c"].position[-1], run.reactions("u")]

    short, long = (partly_written, fully_written) if kind == "body" else (late, late_or_zero)
    for found, expected in zip(end(short), end(long), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_forces_that_are_none_or_of_a_wrong_size():
    mechanism = ch.System(
        [ch.Body("b", 1.0, inertia=(1, 1, 1))], [ch.revolute("r", "ground", "b", axis=(0, 0, 1))]
    ).compile()
    assert mechanism.accelerations_under([0.0], [0.0], None) == mechanism.accelerations_under([0.0], [0.0])
    with pytest.raises(ValueError, match="accelerations_under: u"):
        mechanism.accelerations_under([0.0], [0.0], [np.nan])
    with pytest.raises(ValueError, match="accelerations_under: u"):
        mechanism.accelerations_under([0.0], [0.0], [1.0, 2.0])
