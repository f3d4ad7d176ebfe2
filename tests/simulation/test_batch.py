"""Batches: members on lanes are the runs of `simulate`, wherever they are in the batch; errors name the member."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.batch.variants import Variants, tree_tables
from tests.simulation.systems import pendulum

KW = {"method": "rk4", "step": 0.01}
SPAN = (0.0, 0.2)


@ch.law
def drag(t, pose, twist, parameters, out):
    for k in range(6):
        out[k] = -parameters[0] * twist[k] + np.sin(3 * t)


def zoo() -> ch.System:
    """A tree with joints of all kinds, springs, dampers, friction, stops, a bushing and laws."""
    rng = np.random.default_rng(3)

    def body(name):
        return ch.Body(name, rng.uniform(1, 2), rng.normal(size=3) * 0.1, rng.uniform(0.08, 0.1, 3))

    bodies = [body(name) for name in "abcdefg"]
    joints = [
        ch.revolute("a", "ground", "a", axis=(0, 1, 0.2), damping=0.3, stiffness=2.0),
        ch.prismatic("b", "a", "b", axis=(1, 0.3, 0), at=(0.2, 0, 0.1), friction=0.4, friction_speed=0.1),
        ch.helical(
            "c", "b", "c", axis=(0, 0, 1), pitch=0.05, at=(0, 0.2, 0), lower=-0.1, upper=0.1, stop_stiffness=50.0
        ),
        ch.spherical("d", "a", "d", at=(0, 0, 0.3), stiffness=1.5),
        ch.universal("e", "d", "e", at=(0.1, 0.1, 0), armature=0.02),
        ch.free("f", "ground", "f"),
        ch.revolute("g", "f", "g", axis=(1, 1, 0), at=(0.1, 0, 0)),
    ]
    forces = [
        ch.Spring("spring", ("e", "g"), ((0.1, 0, 0), (0, 0, 0.1)), stiffness=20.0, damping=0.5, length=0.4),
        ch.Bushing("mount", ("ground", "f"), stiffness=(5.0, 5.0, 5.0, 30.0, 30.0, 30.0), damping=(0.1,) * 6),
        ch.Wrench("drag", "g", drag, parameters=(0.3,)),
        ch.JointForce("motor", "a", "2 * sin(4 * t) - 0.2 * v"),
    ]
    return ch.System(bodies, joints, forces=forces, name="zoo")


def starts(system, count, seed=1):
    mechanism, rng = system.compile("relative"), np.random.default_rng(seed)
    q = np.array([mechanism.random(rng) for _ in range(count)])
    return q, rng.normal(size=(count, mechanism.nv))


def alone(system, q, v, span=SPAN, **more):
    return ch.simulate(system, span, q, v, progress=False, **{**KW, **more})


def masses(system, count, seed=2):
    rng = np.random.default_rng(seed)
    return {f"bodies.{body.name}.mass": body.mass * rng.uniform(0.5, 2, count) for body in system.bodies}


def changed(system, parameters, i):
    bodies = [replace(body, mass=parameters[f"bodies.{body.name}.mass"][i]) for body in system.bodies]
    return replace(system, bodies=bodies)


def test_members_of_all_kinds_of_joints_and_forces_are_the_runs_of_simulate():
    system, count = zoo(), 6
    (q, v), parameters = starts(system, count), masses(system, count)
    parameters["forces.spring.stiffness"] = np.linspace(10, 30, count)
    parameters["joints.a.damping"] = np.linspace(0.1, 0.5, count)
    batch = ch.simulate_batch(system, SPAN, q, v, parameters=parameters, save="all", **KW)
    assert batch.reason == ""
    assert batch.success.all()
    assert batch.q.shape == (count, 21, 7 + 1 + 1 + 1 + 1 + 4 + 2)
    for i in (0, 3, 5):
        one = changed(system, parameters, i)
        spring = replace(one.forces[0], stiffness=parameters["forces.spring.stiffness"][i])
        joint = replace(one.joints[0], damping=parameters["joints.a.damping"][i])
        one = replace(one, forces=[spring, *one.forces[1:]], joints=[joint, *one.joints[1:]])
        run = alone(one, q[i], v[i])
        np.testing.assert_allclose(batch.q[i], run.q, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(batch.v[i], run.v, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(batch[i].energies.work, run.energies.work, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(batch[i](0.123).q, run(0.123).q, rtol=1e-10, atol=1e-11)


def test_a_member_has_the_same_bits_wherever_it_is_and_on_any_number_of_threads():
    system, count = zoo(), 7
    (q, v), parameters = starts(system, count), masses(system, count)

    def run(chosen, threads):
        some = {name: value[chosen] for name, value in parameters.items()}
        return ch.simulate_batch(system, SPAN, q[chosen], v[chosen], parameters=some, threads=threads, **KW)

    whole = run(np.arange(count), 1)
    for chosen, threads in (
        (np.arange(count), 3),
        (np.arange(count)[::-1], 2),
        (np.array([5]), 1),
        (np.array([6, 2]), 1),
    ):
        part = run(chosen, threads)
        assert np.array_equal(part.q, whole.q[chosen])
        assert np.array_equal(part.v, whole.v[chosen])


def test_oscillators_with_their_own_mass_and_stiffness_follow_the_closed_form():
    body = ch.Body("block", 1.0, (0, 0, 0), (1, 1, 1))
    system = ch.System([body], [ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), stiffness=1.0)])
    m, k = np.array([0.5, 1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 5.0, 1.0, 40.0])
    parameters = {"bodies.block.mass": m, "joints.slide.stiffness": k}
    batch = ch.simulate_batch(
        system, (0, 1), {"slide": np.full(5, 0.1)}, parameters=parameters, method="rk4", step=1e-3, every=0.25
    )
    assert batch.reason == ""
    expected = 0.1 * np.cos(np.sqrt(k / m)[:, None] * batch.t)
    np.testing.assert_allclose(batch.t, [0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(batch.q[..., 0], expected, atol=1e-11)
    np.testing.assert_array_equal(batch.ends.q, batch.q[:, -1])
    assert (batch.steps == 1000).all()
    assert batch[1].certificate.status == "passed"


def test_parameters_of_a_function_and_places_of_the_system_are_the_same():
    def build(mass, length):
        body = ch.Body("bob", mass, (0, 0, -length), (0.01 * mass, 0.01 * mass, 0.01 * mass))
        return ch.System([body], [ch.revolute("hinge", "ground", "bob", axis=(0, -1, 0))])

    mass, length = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 1.5])
    by_function = ch.simulate_batch(build, SPAN, [0.5], parameters={"mass": mass, "length": length}, **KW)
    places = {
        "bodies.bob.mass": mass,
        "bodies.bob.com": np.stack([0 * mass, 0 * mass, -length], axis=1),
        "bodies.bob.inertia": 0.01 * mass[:, None] * np.ones(3),
    }
    by_place = ch.simulate_batch(build(1.0, 1.0), SPAN, [0.5], parameters=places, **KW)
    assert by_function.reason == by_place.reason == ""
    np.testing.assert_allclose(by_function.q, by_place.q, rtol=1e-14)
    np.testing.assert_allclose(by_function.q[1], alone(build(2.0, 1.0), [0.5], None, save="final").q, rtol=1e-13)


def test_lengths_of_joints_vary():
    def build(length):
        bodies = [ch.Body(name, 1.0, (0, 0, -0.1), (0.01, 0.01, 0.01)) for name in ("one", "two")]
        joints = [
            ch.revolute("hip", "ground", "one", axis=(0, 1, 0)),
            ch.revolute("knee", "one", "two", axis=(0, 1, 0), at=(0, 0, -length)),
        ]
        return ch.System(bodies, joints)

    length = np.array([0.2, 0.3, 0.4])
    batch = ch.simulate_batch(build, SPAN, [0.5, 0.1], parameters={"length": length}, **KW)
    assert batch.reason == ""
    for i in range(3):
        np.testing.assert_allclose(batch.q[i], alone(build(length[i]), [0.5, 0.1], None, save="final").q, rtol=1e-13)


def test_constant_inputs_and_sequences_of_inputs():
    system = zoo()
    system = replace(system, actuators=[ch.Actuator("m", "a", gear=2.0), ch.Actuator("n", "g", lower=-1.0, upper=1.0)])
    (q, v), rng = starts(system, 5), np.random.default_rng(4)
    u = rng.normal(size=(5, 2)) * 2
    batch = ch.simulate_batch(system, SPAN, q, v, control=u, **KW)
    assert batch.reason == ""
    np.testing.assert_allclose(batch.q[3], alone(system, q[3], v[3], control=u[3], save="final").q, rtol=1e-11)
    np.testing.assert_array_equal(batch[3].inputs, [u[3], u[3]])
    named = ch.simulate_batch(system, SPAN, q, v, control={"n": u[:, 1]}, **KW)
    np.testing.assert_allclose(
        named.q[2], alone(system, q[2], v[2], control={"n": u[2, 1]}, save="final").q, rtol=1e-11
    )

    sequence = rng.normal(size=(5, 3, 2))  # the last period is shorter
    batch = ch.simulate_batch(system, SPAN, q, v, control=sequence, period=0.08, save="all", **KW)
    assert batch.reason == ""
    run = alone(system, q[4], v[4], controller=lambda t, q, v: sequence[4][round(t / 0.08)], period=0.08)
    np.testing.assert_allclose(batch[4].t, run.t)
    np.testing.assert_allclose(batch[4].q, run.q, rtol=1e-10, atol=1e-11)
    np.testing.assert_array_equal(batch[4].inputs, run.inputs)


def test_a_member_that_fails_keeps_its_message_and_the_others_their_bits():
    system = pendulum(damping=0.1)
    damping = np.array([0.1, 0.2, 1e6, 0.3, 0.4])  # too stiff for the step
    batch = ch.simulate_batch(system, (0, 1), [0.5], [1.0], parameters={"joints.hinge.damping": damping}, **KW)
    good = [0, 1, 3, 4]
    assert batch.success.tolist() == [True, True, False, True, True]
    assert "runs away" in batch.messages[2]
    assert batch.messages[0] == "reached the end"
    assert np.isnan(batch.q[2, -1]).all()
    assert not batch[2].success
    assert batch.ends.t[2] < 1.0
    few = ch.simulate_batch(system, (0, 1), [0.5], [1.0], parameters={"joints.hinge.damping": damping[good]}, **KW)
    assert np.array_equal(few.q, batch.q[good])

    mass = np.array([1.0, -1.0, 2.0])
    batch = ch.simulate_batch(system, SPAN, [0.5], parameters={"bodies.bob.mass": mass}, **KW)
    assert batch.success.tolist() == [True, False, True]
    assert "negative mass" in batch.messages[1]
    with pytest.raises(ValueError, match="negative mass"):
        batch[1]
    assert np.isnan(batch.ends.q[1]).all()
    assert np.isfinite(batch.ends.q[[0, 2]]).all()
    assert "2 reached the end" in repr(batch)


def four_bar():
    def rod(name, length):
        return ch.Body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))

    joints = [
        ch.revolute("crank", "ground", "one", axis=(0, 0, 1), damping=0.1),
        ch.revolute("knee", "one", "two", axis=(0, 0, 1), at=(0.3, 0, 0)),
        ch.revolute("rocker", "ground", "three", axis=(0, 0, 1), at=(0.6, 0, 0)),
        ch.spherical("tip", "two", "three", at=(0.6, 0, 0), child_at=(0.5, 0, 0)),
    ]
    return ch.System([rod("one", 0.3), rod("two", 0.6), rod("three", 0.5)], joints)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"method": "rk4", "step": 0.01, "coordinates": "absolute"}, "are for GeneralizedAlpha"),
        ({"method": "generalized_alpha", "step": 0.01, "coordinates": "absolute"}, "between steps"),
    ],
)
def test_what_lanes_cannot_do_runs_one_by_one(more, reason):
    system, mass = four_bar(), np.array([1.0, 2.0, 3.0])
    batch = ch.simulate_batch(
        system, SPAN, {"crank": [0.8, 0.9, 1.0]}, parameters={"bodies.two.mass": mass}, every=0.05, threads=2, **more
    )
    assert reason in batch.reason
    assert batch.success.all()
    one = replace(system, bodies=[system.bodies[0], replace(system.bodies[1], mass=2.0), system.bodies[2]])
    run = ch.simulate(one, SPAN, {"crank": 0.9}, every=0.05, **more)
    assert np.array_equal(batch.q[1], run.q)


def test_adaptive_members_have_their_own_steps():
    batch = ch.simulate_batch(pendulum(), (0, 1), {"hinge": [0.1, 3.0]}, rtol=1e-6, save="all")
    assert batch.reason == ""
    assert batch.steps[0] != batch.steps[1]
    with pytest.raises(ValueError, match="its own times"):
        batch.t  # noqa: B018
    np.testing.assert_array_equal(batch.ends.t, [1.0, 1.0])
    assert np.array_equal(batch.ends.q[1], ch.simulate(pendulum(), (0, 1), {"hinge": 3.0}, rtol=1e-6).q[-1])


def same_bits(batch, i, run):
    """Whether a member is a run, with its points, its curve and its work."""
    mine, own = batch[i].solution, run.solution
    assert np.array_equal(mine.t, own.t)
    assert np.array_equal(mine.y, own.y)
    for name in ("steps", "rejections", "evaluations", "exponentials", "no_curve"):
        assert getattr(mine, name) == getattr(own, name)
    if own.slopes is not None:
        assert np.array_equal(mine.slopes, own.slopes)
        assert np.array_equal(mine.moves, own.moves)


ADAPTIVE = [
    {"rtol": 1e-6, "save": "final"},
    {"rtol": 1e-6, "save": "all"},
    {"save": 3, "max_step": 0.01},
    {"rtol": 1e-4, "every": 0.013},
    {"rtol": 1e-7, "atol": 1e-10, "save": (0.0, 0.01, 0.19)},
]
PAIRS = [{"method": name, **more} for name in ("bs32", "dop853", "cf43") for more in ADAPTIVE[1:4]]


@pytest.mark.first(2)
@pytest.mark.parametrize("more", [*ADAPTIVE, *(pytest.param(one, marks=pytest.mark.study) for one in PAIRS)], ids=str)
def test_steps_that_follow_the_error_have_the_bits_of_simulate(more):
    """On lanes too, each member its own steps, in any company and on any number of threads."""
    system, count = zoo(), 7
    system = replace(system, forces=system.forces[:2])  # laws of time come next
    (q, v), parameters = starts(system, count), masses(system, count)
    parameters["forces.spring.stiffness"] = np.linspace(10, 30, count)

    def run(chosen, threads):
        some = {name: value[chosen] for name, value in parameters.items()}
        return ch.simulate_batch(system, SPAN, q[chosen], v[chosen], parameters=some, threads=threads, **more)

    batch, other = run(np.arange(count), 1), run(np.arange(count)[::-1], 2)
    assert batch.reason == other.reason == ""
    assert len(set(batch.steps.tolist())) > 1
    assert np.array_equal(batch.ends.q, other.ends.q[::-1])
    for i in (1, 6):
        one = changed(system, parameters, i)
        spring = replace(one.forces[0], stiffness=parameters["forces.spring.stiffness"][i])
        one = replace(one, forces=[spring, *one.forces[1:]])
        single = ch.simulate(one, SPAN, q[i], v[i], progress=False, **more)
        same_bits(batch, i, single)
        same_bits(other, count - 1 - i, single)
        same_bits(run(np.array([i]), 1), 0, single)


def test_adaptive_members_with_laws_lengths_and_sequences_of_inputs():
    system = replace(pendulum(), forces=[ch.JointForce("motor", "hinge", "-0.2 * v - 0.3 * q")])
    q = np.linspace(0.1, 2.0, 6)
    batch = ch.simulate_batch(system, (0, 1), q, rtol=1e-5, save="all")
    same_bits(batch, 4, ch.simulate(system, (0, 1), [q[4]], rtol=1e-5))

    def build(length):
        return ch.System(
            [ch.Body("bob", 1.0, (0, 0, -length), (0.01,) * 3)],
            [ch.revolute("hinge", "ground", "bob", axis=(0, -1, 0))],
        )

    length = np.linspace(0.3, 1.0, 6)
    batch = ch.simulate_batch(build, (0, 1), [0.5], parameters={"length": length}, rtol=1e-5)
    same_bits(batch, 2, ch.simulate(build(length[2]), (0, 1), [0.5], rtol=1e-5, save="final"))

    u = np.random.default_rng(1).normal(size=(6, 3, 1))
    batch = ch.simulate_batch(pendulum(), (0, 0.9), q, control=u, period=0.35, save="all", rtol=1e-5)
    assert batch.reason == ""
    run = ch.simulate(
        pendulum(), (0, 0.9), [q[3]], controller=lambda t, q, v: u[3, round(t / 0.35)], period=0.35, rtol=1e-5
    )
    same_bits(batch, 3, run)
    assert np.array_equal(batch[3].inputs, run.inputs)


def never(self, *given, **named):
    raise AssertionError("a member ran by itself")


@pytest.mark.parametrize("saved", [{"save": "all"}, {"every": 0.13, "stops": [0.25, 1.0]}], ids=["all", "every"])
def test_adaptive_members_whose_laws_change_at_times_of_their_own(saved, monkeypatch):
    def build(at):
        motor = ch.JointForce("motor", "hinge", "4 * step(t, at) * sin(9 * t)", parameters={"at": float(at)})
        return replace(pendulum(), forces=[motor])

    at, more = np.linspace(0.1, 0.9, 6), {"rtol": 1e-6, **saved}
    singles = {i: ch.simulate(build(at[i]), (0, 1), [0.5], progress=False, **more) for i in (0, 3, 5)}
    with monkeypatch.context() as changed:
        changed.setattr("chasles.simulation.run_task.Task.carry_out", never)
        batch = ch.simulate_batch(build, (0, 1), [0.5], parameters={"at": at}, threads=1, **more)
        turned = ch.simulate_batch(build, (0, 1), [0.5], parameters={"at": at[[5, 2, 0]]}, threads=2, **more)
    assert batch.reason == ""
    for i, single in singles.items():
        same_bits(batch, i, single)
        mine, own = batch[i].solution, single.solution
        assert (mine.steps, mine.rejections, mine.evaluations) == (own.steps, own.rejections, own.evaluations)
        assert saved.get("every") or np.array_equal(mine.slopes, own.slopes)
    assert np.array_equal(turned.ends.q, batch.ends.q[[5, 2, 0]])


def test_a_batch_says_truly_why_it_is_not_on_lanes():
    """Inputs that change, together with laws of time: each member has steps of its own from period to period."""
    system = replace(pendulum(), forces=[ch.JointForce("motor", "hinge", "sin(9 * t)")])
    u = np.random.default_rng(1).normal(size=(3, 2, 1))
    batch = ch.simulate_batch(system, (0, 0.6), [0.5], control=u, period=0.3, rtol=1e-5)
    assert "inputs change" in batch.reason
    run = ch.simulate(
        system, (0, 0.6), [0.5], controller=lambda t, q, v: u[1, round(t / 0.3)], period=0.3, rtol=1e-5, save="final"
    )
    assert np.array_equal(batch.ends.q[1], run.q[-1])
    fixed = ch.simulate_batch(pendulum(), SPAN, [0.4, 0.5], stops=[0.05], **KW)
    assert "stops" in fixed.reason


def test_adaptive_members_that_fail_leave_the_others_their_bits():
    """A pendulum that a torque throws beyond all numbers, among others."""
    torque = np.array([0.0, 1e200, 0.1, 0.2, 0.3])
    batch = ch.simulate_batch(pendulum(), (0, 1), [0.5], control=torque[:, None], rtol=1e-6)
    assert batch.success.tolist() == [True, False, True, True, True]
    assert "t = " in batch.messages[1]
    good = ch.simulate_batch(pendulum(), (0, 1), [0.5], control=torque[[0, 2, 3, 4], None], rtol=1e-6)
    assert np.array_equal(good.ends.q, batch.ends.q[[0, 2, 3, 4]])


def test_members_that_differ_in_structure_and_controllers():
    damping = np.array([0.0, 0.1, 0.2])  # without any there is no damper in the tables
    batch = ch.simulate_batch(pendulum(), SPAN, [0.5], [1.0], parameters={"joints.hinge.damping": damping}, **KW)
    assert "structure" in batch.reason
    for i in range(3):
        assert np.array_equal(batch.q[i], alone(pendulum(damping=damping[i]), [0.5], [1.0], save="final").q)

    links = [ch.Body(name, 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)) for name in "ab"]
    joints = [
        ch.revolute("one", "ground", "a", axis=(0, 1, 0)),
        ch.revolute("two", "a", "b", axis=(0, 1, 0), at=(0.3, 0, 0), mimic="one", mimic_ratio=3.0),
    ]
    batch = ch.simulate_batch(ch.System(links, joints), SPAN, [0.1, 0.2], **KW)
    assert "follow" in batch.reason
    assert np.array_equal(batch.q[1], alone(ch.System(links, joints), [0.2], None, save="final").q)

    def push(t, q, v):
        return [-q[0]]

    batch = ch.simulate_batch(pendulum(), SPAN, [0.4, 0.5], controller=push, period=0.1, **KW)
    assert "controller" in batch.reason
    run = alone(pendulum(), [0.5], None, controller=push, period=0.1, save="final")
    assert np.array_equal(batch[-1].q, run.q)
    with pytest.raises(IndexError, match="2 members"):
        batch[2]
    with pytest.raises(TypeError, match="expected the number"):
        batch["a"]


def wrong(match, error=ValueError, system=None, **given):
    with pytest.raises(error, match=match):
        ch.simulate_batch(pendulum() if system is None else system, SPAN, **{**KW, **given})


def test_errors_say_what_is_wrong_and_where():
    good = np.zeros((3, 1))
    wrong("nothing is given for each member")
    wrong(r"q has shape \(3, 2\); expected a number, \(members,\) or \(members, 1\)", q=np.zeros((3, 2)))
    wrong("q of member 1 has a number that is not finite", q=[[0.0], [np.nan], [0.0]])
    wrong("q has 3 members, and v 2", q=good, v=np.zeros((2, 1)))
    wrong("q has no members", q=np.zeros((0, 1)))
    wrong("there is no 'hing'; did you mean 'hinge'", q={"hing": [0.1, 0.2]})
    wrong("no number 'bodies.bob.mas'; did you mean 'bodies.bob.mass'", parameters={"bodies.bob.mas": [1.0]})
    wrong("parameter 'bodies.bob.mass' of member 2 is not finite", parameters={"bodies.bob.mass": [1, 2, np.inf]})
    rod = ch.Rod("rod", ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Circle(0.01), ch.rods.Material(7e10, 0.3, 2700.0))
    wrong("no number", system=ch.System(rods=[rod]), parameters={"bodies.rod[1].mass": [1.0]})
    wrong("parameter 'bodies.bob.mass' is 'x'", parameters={"bodies.bob.mass": "x"})
    wrong("no option 'stp'; did you mean 'step'", TypeError, q=good, stp=0.1)
    wrong("threads is 0", q=good, threads=0)
    wrong("no parameter 'mas'; did you mean 'mass'", system=lambda mass: pendulum(), parameters={"mas": [1.0]})
    wrong("a int is not a system", TypeError, system=3, q=good)
    wrong(r"control has shape \(3, 2\)", q=good, control=np.zeros((3, 2)))
    wrong("control is an array", q=good, control=np.zeros((3, 1)), period=0.1)
    wrong("control has 3 periods of 0.1 s; the span has 2", q=good, control=np.zeros((3, 3, 1)), period=0.1)
    wrong("simulate_batch: step 1.0 is longer than the span", q=good, step=1.0)
    wrong("every or save, not both", q=good, every=0.1, save=2)


def test_starts_off_their_group_are_named():
    q, _ = starts(zoo(), 3)
    q[1, 3:7] = 0.0  # the quaternion of a spherical joint comes in the order of the tree
    places = zoo().compile("relative").tree.coordinates["d"]
    q[1, places] = 2.0
    wrong(r"q\[1\]: the quaternion of joint 'd'", system=zoo(), q=q)


def test_numbers_that_stand_in_tables_as_they_are_need_no_system_of_each_member(monkeypatch):
    """Masses, dampings, springs, gains and gravity of all members at once: the tables are those of members that are
    made one by one, to the bit."""
    system, count, rng = zoo(), 60, np.random.default_rng(4)
    q, _ = starts(system, count)
    parameters = masses(system, count) | {
        "joints.a.damping": rng.uniform(0.1, 0.5, count),
        "joints.a.stiffness": np.linspace(1.0, 2.0, count),
        "joints.b.friction": np.linspace(1.0, 2.0, count),  # as the one before: either will do
        "joints.d.stiffness": rng.uniform(1, 2, (count, 3)),
        "forces.spring.stiffness": np.linspace(1.0, 2.0, count) ** 2,
        "forces.spring.length": rng.uniform(0.3, 0.4, count),
        "forces.drag.parameters": rng.uniform(0.3, 0.4, (count, 1)),
        "gravity": rng.normal(size=(count, 3)),
    }
    made, base, model = [], system.compile(), Variants.model
    monkeypatch.setattr(Variants, "model", lambda self, i: made.append(i) or model(self, i))
    tables = tree_tables(Variants(system, parameters), base, q)
    assert len(made) < 30
    for i in (7, 31, 50):
        mechanism = model(Variants(system, parameters), i).compile()
        assert np.array_equal(mechanism.tree.numbers, tables.numbers[i])
        assert np.array_equal(mechanism.tables.acting.values, tables.values[i])
    parameters["joints.a.damping"][9] = -1.0
    tables = tree_tables(Variants(system, parameters), base, q)
    assert list(tables.wrong) == [9]
    assert "damping" in str(tables.wrong[9])


def test_what_is_wrong_with_a_member_names_it():
    masses = [1.0, 2.0, -3.0, 4.0]
    for more in (KW, {"rtol": 1e-6}):
        batch = ch.simulate_batch(pendulum(), SPAN, parameters={"bodies.bob.mass": masses}, **more)
        assert batch.success.tolist() == [True, True, False, True]
        assert batch.messages[2].startswith(
            "ValueError: simulate_batch: member 2: body 'bob': inertia has negative mass: -3"
        )
        with pytest.raises(ValueError, match="member 2: body 'bob'"):
            batch[2]
    wrong("member 0: body 'bob': inertia has negative mass: -1", parameters={"bodies.bob.mass": [-1.0, -2.0]})
