"""What acts along joint coordinates, in absolute coordinates: the same motion as in joint coordinates, to 1e-9."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.model import joint as make
from tests.absolute.systems import JOINTS, SPACES, bodies, frame

# short steps: the stops have kinks, which the estimate of a long step can miss
TIGHT = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12, "max_step": 2e-3}
MOVING = {
    **{kind: build for kind, build in JOINTS.items() if kind != "weld"},
    "oblique": lambda *names, **at: make.universal(*names, axes=((0.6, 0.0, 0.8), (0.3, 0.9, 0.1)), **at),
    "general": lambda *names, **at: make.general(*names, screws=SCREWS, **at),
}
SCREWS = ((0.0, 0.6, 0.8, 0.1, 0.4, -0.3), (1.0, 0.0, 0.0, 0.3, -0.1, 0.2), (0.0, 0.0, 0.0, 0.6, 0.0, -0.8))


@ch.law
def odd(t, q, v, p, out):
    """Depends on time, on all coordinates and on all velocities."""
    for k in range(len(out)):
        out[k] = p[0] * np.sin(t + k) - p[1] * q[len(q) - 1] - 0.1 * v[k] * v[k] * v[k]


def system_with(kind: str, rotor: bool = False, between: bool = True) -> ch.System:
    """A joint of a kind with all that can act along it, to a body that hangs on a spherical joint with a spring."""
    rng = np.random.default_rng([len(kind), ord(kind[0]), 5])
    more = {"at": frame(rng), "child_at": frame(rng), "damping": 0.2, "stiffness": 1.5, "friction": 0.1}
    more["friction_speed"] = 0.5
    if kind not in ("spherical", "free"):
        more |= {"rest": 0.2, "lower": -0.1, "upper": 0.3, "stop_stiffness": 4.0}
        if rotor:
            more["armature"] = 0.3
    held = MOVING[kind]("joint", "one" if between else "ground", "two", **more)
    base = make.spherical("base", "ground", "one", at=frame(rng), child_at=frame(rng), stiffness=2.0, damping=0.1)
    forces = [
        ch.JointForce("law", "joint", odd, parameters=(0.7, 0.4)),
        ch.JointForce("push", "joint", (0.3,) * held.nv),
    ]
    return ch.System(bodies(rng, "one", "two"), [base, held], forces=forces, gravity=(0.3, -1.0, -9.7))


def start_of(system: ch.System, seed: int = 1):
    mechanism = system.compile()
    rng = np.random.default_rng(seed)
    q = mechanism.retract(mechanism.neutral(), 0.4 * rng.standard_normal(mechanism.nv))
    return q, rng.standard_normal(mechanism.nv)


def compare(system: ch.System, span: float, tolerance: float = 1e-9, space: str = "SE3", **options):
    """Both kinds of coordinates: poses, twists, energies and joint states at the end."""
    q, v = start_of(system)
    one = ch.simulate(system, (0.0, span), q, v, save="final", **TIGHT, **options)
    two = ch.simulate(system, (0.0, span), q, v, coordinates="absolute", space=space, **TIGHT, **options)
    assert one.success
    assert two.success
    poses = one.mechanism.poses(one.q[-1])
    assert np.abs(pose_group.log(pose_group.compose(pose_group.inverse(poses), two.poses[-1]))).max() < tolerance
    assert np.abs(one.mechanism.twists(one.q[-1], one.v[-1]) - two.twists[-1]).max() < tolerance
    assert abs(one.energies.work[-1] - two.energies.work[-1]) < tolerance
    assert abs(one.energies.springs[-1] - two.energies.springs[-1]) < tolerance
    assert abs(one.energies.kinetic[-1] - two.energies.kinetic[-1]) < tolerance
    assert two.certificate.passed, two.certificate
    found, speeds = two.dynamics.coordinates(two.solution.y[-1])
    assert np.abs(one.mechanism.difference(found, one.q[-1])).max() < tolerance
    assert np.abs(speeds - one.v[-1]).max() < tolerance
    return one, two


@pytest.mark.first(3)
@pytest.mark.parametrize("kind", MOVING)
def test_joints_with_all_that_acts_move_as_in_joint_coordinates(kind):
    compare(system_with(kind), 0.5, space=SPACES[len(kind) % 2])


@pytest.mark.parametrize("kind", MOVING)
def test_accelerations_are_those_of_joint_coordinates(kind):
    """At states beyond the stops and within, with dampers in the stops, whose force jumps and would blur a motion."""
    system = system_with(kind, rotor=kind != "general")
    if kind not in ("spherical", "free"):
        held = replace(system.joints[1], stop_damping=0.1)
        system = ch.System(system.bodies, [system.joints[0], held], forces=system.forces, gravity=system.gravity)
    tree, mechanism = system.compile(), system.compile("absolute", space="SE3")
    for seed in range(6):
        q, v = start_of(system, seed)
        central, velocity = mechanism.state(tree.poses(q), tree.twists(q, v))
        angles = [q[tree.tree.coordinates[joint]][k] for joint, k in mechanism.counted]
        found = mechanism.accelerations_under(central, velocity, t=0.3, angles=angles)
        a = tree.accelerations_under(q, v, 0.0, 0.3)
        exact = np.array([tree.accelerations(q, v, a, body) for body in tree.bodies])  # of the users' frames
        exact = pose_group.Ad_apply(pose_group.inverse(mechanism.central), exact)
        assert np.abs(found - exact).max() < 1e-11 * (1.0 + np.abs(exact).max())


@pytest.mark.first(4)
@pytest.mark.parametrize("kind", ["universal", "planar", "helical", "prismatic", "revolute", "cylindrical", "oblique"])
def test_an_armature_is_inertia_along_its_coordinate(kind):
    one, two = compare(system_with(kind, rotor=True), 0.5, space=SPACES[len(kind) % 2])
    without = ch.simulate(system_with(kind), (0.0, 0.5), *start_of(system_with(kind)), save="final", **TIGHT)
    assert np.abs(without.v[-1] - one.v[-1]).max() > 1e-3  # it is felt
    assert two.violations[1].max() < 1e-9


def chain(n: int) -> ch.System:
    links = [ch.Body(f"link {i}", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.1, 0.1)) for i in range(n)]
    joints = [
        ch.revolute(
            *(f"hinge {i}", f"link {i - 1}" if i else "ground", f"link {i}"),
            axis=(0.0, 1.0, 0.2 * i),
            at=(float(i > 0), 0.0, 0.0),
            armature=0.1,
            damping=0.3,
        )
        for i in range(n)
    ]
    return ch.System(links, joints)


def test_a_chain_with_rotors_keeps_its_elimination_sparse():
    """Rotors add no fill: their pivots are definite by themselves, so none has to wait for the bodies."""
    mechanism, longer = chain(20).compile("absolute"), chain(40).compile("absolute")
    assert len(longer.elimination.row) < 2.1 * len(mechanism.elimination.row)
    system = chain(20)
    q, v = start_of(system)
    tree = system.compile()
    central, velocity = mechanism.state(tree.poses(q), tree.twists(q, v))
    a = mechanism.accelerations_under(central, velocity)
    found = tree.accelerations_under(q, v, 0.0, 0.0)
    spin = np.array([tree.accelerations(q, v, found, body) for body in tree.bodies])[..., :3]
    assert np.abs(a[:, :3] - spin).max() < 1e-9 * np.abs(spin).max()  # angular accelerations are the same in all spaces


@ch.law
def slow_wave(t, q, v, p, out):
    """Sees the turns: its period is five turns."""
    out[0] = p[0] * np.sin(0.2 * q[0])


def test_an_angle_is_counted_over_many_turns():
    """A torsion spring wound up by four turns, a stop at eleven and a law that sees the angle; then it spins back."""
    body = ch.Body("wheel", mass=1.0, com=(0.05, 0.0, 0.0), inertia=(0.02, 0.02, 0.03))
    more = {"stiffness": 0.002, "upper": 69.0, "stop_stiffness": 5.0}
    hinge = ch.revolute("shaft", "ground", "wheel", axis=(0.0, 0.6, 0.8), **more)
    system = ch.System([body], [hinge], forces=[ch.JointForce("law", "shaft", slow_wave, parameters=(0.02,))])
    one = ch.simulate(system, (0.0, 12.0), [25.0], [20.0], **TIGHT)
    two = ch.simulate(system, (0.0, 12.0), [25.0], [20.0], coordinates="absolute", **TIGHT)
    assert one.q.max() > 69.1  # it reaches the stop
    assert one.q[-1, 0] < 0.0  # and has come back through zero
    assert abs(two.joint("shaft").q[-1, 0] - one.q[-1, 0]) < 1e-8
    assert abs(two.joint("shaft").v[-1, 0] - one.v[-1, 0]) < 1e-8
    assert two.certificate["energy balance"].passed, two.certificate


def test_angles_that_nothing_counts_go_on_in_a_run():
    body = ch.Body("wheel", mass=1.0, inertia=(0.02, 0.02, 0.03))
    system = ch.System([body], [ch.revolute("shaft", "ground", "wheel", axis=(0.0, 0.0, 1.0))])
    run = ch.simulate(
        system, (0.0, 1.0), [0.0], [50.0], coordinates="absolute", step=0.05, method=ch.integrate.RKMK("rk4")
    )
    np.testing.assert_allclose(run.joint("shaft").q[:, 0], 50.0 * run.t, rtol=1e-12)


def motorized() -> ch.System:
    """An arm on a free base with two motors."""
    rng = np.random.default_rng(4)
    joints = [
        ch.revolute("shoulder", "base", "one", axis=(0.0, 1.0, 0.0), at=frame(rng), armature=0.1),
        ch.cylindrical("wrist", "one", "two", axis=(0.0, 0.6, 0.8), at=frame(rng)),
    ]
    motors = [ch.Actuator("turn", "shoulder", gear=3.0, upper=0.5), ch.Actuator("push", "wrist", 1, gear=-2.0)]
    return ch.System(bodies(rng, "base", "one", "two"), joints, actuators=motors, gravity=(0.0, 0.0, 0.0))


def held_back(t, q, v):
    """A controller of joint coordinates: of the base's pose (7), the shoulder and the wrist (2)."""
    return [np.sin(5 * t) - 0.4 * q[7] - 0.3 * v[6], -0.5 * q[9] - 0.2 * v[8]]


@pytest.mark.parametrize("options", [{"control": (0.7, 0.3)}, {"controller": held_back, "period": 0.05}])
def test_inputs_act_as_in_joint_coordinates(options):
    one, two = compare(motorized(), 0.4, **options)
    np.testing.assert_allclose(one.forces[-1], two.forces[-1], atol=1e-9)
    unbalanced = two.reactions("shoulder")  # with the input; the motor's own torque is not a reaction
    assert np.isfinite(unbalanced).all()


def test_inputs_without_actuators_are_forces_along_all_velocities():
    system = ch.System(motorized().bodies, motorized().joints)
    compare(system, 0.3, control=np.linspace(-1.0, 1.0, 9))


def test_stepping_in_absolute_coordinates():
    q, v = start_of(motorized())
    one = ch.Simulation(motorized(), 1e-3, q, v)
    two = ch.Simulation(motorized(), 1e-3, q, v, coordinates="absolute")
    for k in range(50):
        u = (0.3 * np.sin(0.1 * k), 0.2)
        one.step(u)
        two.step(u)
    assert np.abs(one.mechanism.difference(one.q, two.q)).max() < 1e-9
    assert np.abs(one.v - two.v).max() < 1e-9
    assert abs(one.work - two.work) < 1e-10
    assert np.abs(one.poses - two.poses).max() < 1e-9
    assert np.abs(one.twists - two.twists).max() < 1e-9


def test_a_spring_in_a_joint_that_closes_a_loop():
    """A four-bar linkage: its energy is kept by a torsion spring in the last joint, and lost to a damper there."""
    bars = [ch.Body(name, mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.1, 0.1)) for name in "abc"]
    turn = {"axis": (0.0, 0.0, 1.0)}
    joints = [
        ch.revolute("one", "ground", "a", **turn),
        ch.spherical("two", "a", "b", at=(1.0, 0.0, 0.0)),
        ch.universal("three", "b", "c", at=(1.0, 0.0, 0.0), child_at=(1.0, 0.0, 0.0), axes=((0, 0, 1), (1, 0, 0))),
        ch.revolute("four", "ground", "c", at=(1.0, 0.0, 0.0), stiffness=30.0, rest=1.0, **turn),
    ]
    half = np.sqrt(0.5)
    poses = [(half, 0, 0, half, 0, 0, 0), (1, 0, 0, 0, 0, 1, 0), (half, 0, 0, half, 1, 0, 0)]
    system = ch.System(bars, joints, gravity=(0.0, -9.81, 0.0))
    run = ch.simulate(system, (0.0, 0.4), coordinates="absolute", poses=poses, **TIGHT)
    assert run.certificate.passed, run.certificate
    assert np.ptp(run.energies.springs) > 1.0
    damped = ch.System(bars, [*joints[:3], replace(joints[3], damping=0.5)], gravity=(0.0, -9.81, 0.0))
    run = ch.simulate(damped, (0.0, 0.4), coordinates="absolute", poses=poses, **TIGHT)
    assert run.certificate.passed, run.certificate
    assert run.energies.work[-1] < -0.5
    assert run.mechanism.joints == ("one", "two", "three", "four")


def test_what_is_refused():
    with pytest.raises(ValueError, match="'joint': an armature of a joint given by screws"):
        system_with("general", rotor=True).compile("absolute")
    rng = np.random.default_rng(0)
    twice = make.general("joint", "ground", "one", screws=((0, 0, 1, 0, 0, 0), (0, 0, 1, 0, 0, 0)))
    with pytest.raises(ValueError, match="'joint': its 2 screws depend on each other"):
        ch.System(bodies(rng, "one"), [twice]).compile("absolute")
    wrist = make.general("joint", "ground", "one", screws=((0, 0, 1, 0, 0, 0), (1, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0)))
    system = ch.System(bodies(rng, "one"), [wrist])
    with pytest.raises(ch.errors.SingularJointError, match="'joint' depend on each other at the start"):
        ch.simulate(system, (0.0, 0.1), coordinates="absolute")
    assert ch.simulate(system, (0.0, 0.1), [0.1, 0.9, 0.2], coordinates="absolute").certificate.passed
    mechanism = motorized().compile("absolute")
    central, velocity = mechanism.state(np.tile(pose_group.identity(), (3, 1)))
    with pytest.raises(ValueError, match="inputs=True"):
        mechanism.accelerations_under(central, velocity, np.zeros(9))
