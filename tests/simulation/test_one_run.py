"""One `Run`: every name in every kind of run, with the same values whatever the coordinates."""

import gc
import pickle
import signal
import weakref
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.certificate import budget
from tests.relative import closed

STEP, END, GEAR, LIMIT = 1e-3, 0.03, 2.0, 1.5
REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")
ARRAYS = ("q", "v", "a", "poses", "twists", "accelerations", "inputs", "forces")


def everything() -> ch.System:
    """All kinds of joints, a body that floats, frames on a body and on the ground, motors with gear and limits."""
    bodies = [
        ch.Body(name, 1.0 + k, (0.1, 0.05 * k, 0.0), (0.2 + 0.02 * k, 0.2 + 0.01 * k, 0.25))
        for k, name in enumerate("abcdefghij")
    ]
    joints = [
        ch.revolute("hinge", "ground", "a", axis=(0, 0, 1), at=(0.1, 0, 0), damping=0.1, armature=0.05),
        ch.spherical("ball", "a", "b", at=(0.3, 0, 0)),
        ch.universal("cross", "b", "c", at=(0.2, 0, 0)),
        ch.cylindrical("tube", "a", "d", axis=(1, 0, 0), at=(0, 0.2, 0)),
        ch.planar("table", "d", "e", normal=(0, 1, 0), at=(0, 0.2, 0)),
        ch.helical("screw", "e", "f", axis=(0, 1, 0), pitch=0.1, at=(0.1, 0.1, 0)),
        ch.weld("glue", "f", "g", at=(0.1, 0.2, 0)),
        ch.prismatic("slide", "g", "h", axis=(1, 1, 0), at=(0.1, 0, 0)),
        ch.general("screws", "h", "i", screws=[(0, 0, 1, 0, 0, 0), (0, 1, 0, 0.1, 0, 0)], at=(0.1, 0, 0)),
    ]
    frames = [ch.Frame("tip", "i", (0.1, 0.2, 0.3)), ch.Frame("base", "ground", (0.6, 0.8, 0, 0, 1, 2, 3))]
    motors = [ch.Actuator("turn", "hinge", gear=GEAR, upper=LIMIT), ch.Actuator("push", "tube", 1)]
    spring = ch.Spring("spring", ("a", "c"), ((0.1, 0, 0), (0, 0.1, 0)), stiffness=20.0, length=0.2)
    return ch.System(bodies, joints, frames, [spring], motors, name="everything")


def start(system):
    rng = np.random.default_rng(1)
    mechanism = system.compile()
    q, v = mechanism.random(rng), 0.5 * rng.normal(size=mechanism.nv)
    q[mechanism.tree.coordinates["screws"]] *= 0.2
    return q, v


def of_everything(**options):
    q, v = start(everything())
    return ch.simulate(everything(), (0.0, END), q, v, step=STEP, method="rk4", control=(3.0, 0.4), **options)


def of_loop(drive=False, **options):
    system = closed.four_bar()
    q, v = closed.four_bar_state(system.compile(), 1.1, 3.0)
    if drive:
        system = system.with_constraint(ch.Drive("motor", "A", turn, parameters=(q[0], v[0])))
    return ch.simulate(system, (0.0, END), q, v, step=STEP, method="rk4", **options)


@ch.law
def turn(t, q, v, p, out):
    out[0], out[1], out[2] = p[0] + p[1] * t + 2.0 * t * t, p[1] + 4.0 * t, 4.0


def held_back(t, q, v):
    return [10.0 * np.sin(40.0 * t) - v[0], 0.3 * q[0]]


def sampled(**options):
    q, v = start(everything())
    how = {"step": STEP, "method": "rk4", "controller": held_back, "period": 5e-3, **options}
    return ch.simulate(everything(), (0.0, END), q, v, **how)


def from_file(folder, **options):
    of_everything(file=folder / "run.h5", **options)
    return ch.open(folder / "run.h5")


def interrupted(folder, **options):
    """Ctrl-C in the second period, then continued from the file."""

    def once(t, q, v):
        if t > 0.003:
            signal.raise_signal(signal.SIGINT)
        return held_back(t, q, v)

    with pytest.raises(ch.errors.Interrupted) as stop:
        sampled(controller=once, **options)
    assert 0 < stop.value.result.t[-1] < END
    return stop.value.result


ABSOLUTE = {"coordinates": "absolute", "space": "SO3xR3"}
KINDS = {
    "tree": lambda folder: of_everything(),
    "bodies on SO(3)xR3": lambda folder: of_everything(**ABSOLUTE),
    "bodies on SE(3)": lambda folder: of_everything(coordinates="absolute", space="SE3"),
    "spatial velocities": lambda folder: of_everything(coordinates="absolute", trivialization="right"),
    "loop": lambda folder: of_loop(),
    "bodies in a loop": lambda folder: of_loop(**ABSOLUTE),
    "driven loop": lambda folder: of_loop(drive=True),
    "driven bodies": lambda folder: of_loop(drive=True, **ABSOLUTE),
    "sampled": lambda folder: sampled(),
    "sampled bodies": lambda folder: sampled(**ABSOLUTE),
    "from a file": from_file,
    "bodies from a file": lambda folder: from_file(folder, **ABSOLUTE),
    "interrupted": interrupted,
    "interrupted bodies": lambda folder: interrupted(folder, **ABSOLUTE),
    "unpickled": lambda folder: pickle.loads(pickle.dumps(of_everything())),
    "unpickled bodies": lambda folder: pickle.loads(pickle.dumps(of_everything(**ABSOLUTE))),
}
_MADE = {}


@pytest.fixture(params=KINDS)
def run(request, tmp_path_factory):
    if request.param not in _MADE:
        _MADE[request.param] = KINDS[request.param](tmp_path_factory.mktemp("runs"))
    return _MADE[request.param]


def check_names(states, shape):
    """All names at times of a shape: arrays of the sizes that the docs say, finite; parts belong to a whole."""
    system = states.mechanism.system
    tree = system.compile()
    n, nv = len(system.bodies), tree.nv
    inputs = len(system.actuators) or nv
    sizes = {"q": (tree.nq,), "v": (nv,), "a": (nv,), "poses": (n, 7), "twists": (n, 6), "accelerations": (n, 6)}
    sizes |= {"inputs": (inputs,), "forces": (nv,)}
    for name, size in sizes.items():
        values = getattr(states, name)
        assert values.shape == (*shape, *size), name
        assert np.isfinite(values).all(), name
    assert np.shape(states.t) == shape
    assert states.joints == tuple(joint.name for joint in tree.tree.joints if joint.nv)
    assert states.bodies == tuple(body.name for body in system.bodies)
    assert states.frames == tuple(frame.name for frame in system.frames)
    for name in ("kinetic", "gravity", "springs", "work", "total", "balance"):
        assert getattr(states.energies, name).shape == shape
    for violation in states.violations:
        assert violation.shape == (*shape, len(states.constraints))
        assert (np.abs(violation) < 1e-7).all()
    for letter in "qva":
        parts = [getattr(states.joint(name), letter) for name in states.joints]
        np.testing.assert_array_equal(np.concatenate(parts, axis=-1), getattr(states, letter))
    np.testing.assert_array_equal(
        np.concatenate([states.joint(name).forces for name in states.joints], axis=-1), states.forces
    )
    for k, name in enumerate(states.bodies):
        np.testing.assert_allclose(states[name].pose, states.poses[..., k, :], rtol=0, atol=1e-15)
        np.testing.assert_allclose(states[name].twist, states.twists[..., k, :], rtol=0, atol=1e-14)
        np.testing.assert_allclose(states[name].acceleration, states.accelerations[..., k, :], rtol=0, atol=1e-12)
    for name in (*states.frames, "ground"):
        for representation in REPRESENTATIONS:
            motion = states.frame(name, representation)
            assert motion.pose.shape == (*shape, 7)
            assert motion.position.shape == (*shape, 3)
            assert motion.orientation.shape == (*shape, 4)
            assert motion.twist.shape == motion.acceleration.shape == (*shape, 6)
            if system.frame(name).body == "ground":
                assert not motion.twist.any()
                assert not motion.acceleration.any()
                np.testing.assert_allclose(motion.pose - np.array(system.frame(name).pose), 0, atol=1e-15)


def test_every_name_at_the_saved_times(run, monkeypatch):
    monkeypatch.setattr(budget, "LEAST", 1e3)  # a verdict has a name here, and tests of its own
    assert isinstance(run, ch.Run)
    assert run.coordinates in ("relative", "absolute")
    check_names(run, (len(run),))
    assert run.events == []
    assert run.certificate.status


@pytest.mark.first(8)
def test_every_name_in_between(run):
    for times in (0.00123, np.array([0.0, 0.0077, 0.01]), np.array([[0.001, 0.002]])):
        check_names(run(times), np.shape(times))
        np.testing.assert_array_equal(run.at(times).q, run(times).q)


def agree(one, two, names, atol):
    for name in names:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=0, atol=atol, err_msg=name)
    for name in ("kinetic", "gravity", "springs", "work", "balance"):
        np.testing.assert_allclose(getattr(one.energies, name), getattr(two.energies, name), rtol=0, atol=100 * atol)


@pytest.mark.parametrize("other", ["bodies on SO(3)xR3", "bodies on SE(3)", "spatial velocities"])
def test_trees_have_the_same_values_in_all_coordinates(other, tmp_path):
    one, two = (_MADE.setdefault(kind, KINDS[kind](tmp_path)) for kind in ("tree", other))
    for tree, bodies in ((one, two), (one(0.0123), two(0.0123))):
        agree(tree, bodies, ARRAYS, 1e-8)
        assert tree.joints == bodies.joints
        for name in (*tree.joints, "glue"):
            np.testing.assert_allclose(tree.reactions(name), bodies.reactions(name), rtol=0, atol=1e-7, err_msg=name)
        for frame in ("tip", "base", "ground"):
            for representation in REPRESENTATIONS:
                agree_frames = [states.frame(frame, representation) for states in (tree, bodies)]
                for name in ("pose", "twist", "acceleration"):
                    values = [getattr(motion, name) for motion in agree_frames]
                    np.testing.assert_allclose(*values, rtol=0, atol=1e-7)


@pytest.mark.filterwarnings("ignore:.* are not unique")
@pytest.mark.parametrize("drive", [False, True])
def test_loops_have_the_same_values_in_all_coordinates(drive):
    """Also what a drive exerts, and the motion of the joint that closes the loop, against that of the other three."""
    one, two = of_loop(drive), of_loop(drive, **ABSOLUTE)
    agree(one, two, ARRAYS, 1e-8)
    assert one.joints == two.joints == ("A", "B", "C")
    assert one.constraints == (("D", "motor") if drive else ("D",))
    for name in "ABCD":  # forces in the plane and torques about its normal; the others are not unique
        in_plane = [run.reactions(name)[:, 2:5] for run in (one, two)]
        np.testing.assert_allclose(*in_plane, rtol=0, atol=1e-7, err_msg=name)
    if drive:
        np.testing.assert_allclose(one.coordinate_forces("motor"), two.coordinate_forces("motor"), rtol=0, atol=1e-7)
    for letter in "va":  # all axes are parallel, so the rocker turns by the angles of the three joints up to it
        total = sum(getattr(two.joint(name), letter) for name in "ABC")
        np.testing.assert_allclose(getattr(two.joint("D"), letter), total, rtol=0, atol=1e-8)
    for letter in "qva":  # which closes the loop
        of_both = [getattr(run.joint("D"), letter) for run in (one, two)]
        np.testing.assert_allclose(*of_both, rtol=0, atol=1e-7)


def spatial_loop(damping: float) -> ch.System:
    """A crank, a coupler on a ball and a universal joint, a rocker: six freedoms and five equations, so that all
    reactions are unique. With damping every joint is one of the tree, and the body of the last one is split."""
    first, second, third, last = closed.four_bar(damping=damping).joints
    axes = {"axes": ((0, 0, 1), (1, 0, 0)), "at": third.parent_frame, "child_at": third.child_frame}
    joints = [
        first,
        ch.spherical("B", "crank", "coupler", at=second.parent_frame, damping=damping),
        ch.universal("C", "coupler", "rocker", damping=damping, **axes),
        last,
    ]
    spring = ch.Spring("spring", ("ground", "coupler"), ((0.1, 0.2, 0.3), (0.1, 0.0, 0.1)), stiffness=30.0)
    return ch.System(closed.four_bar().bodies, joints, forces=[spring], gravity=(1.0, -9.0, 2.0))


@pytest.mark.parametrize("damping", [0.0, 0.2])
def test_all_joints_of_a_loop_have_reactions_in_all_coordinates(damping):
    system, planar = spatial_loop(damping), closed.four_bar().compile()
    mechanism = system.compile()
    a, b, c = closed.four_bar_state(planar, 1.1, 0.0)[0]
    at = {"A": [a], "B": [np.cos(b / 2), 0, 0, np.sin(b / 2)], "C": [c, 0], "D": [a + b + c]}
    q = np.concatenate([at[name] for name in mechanism.joints])
    v = mechanism.consistent_velocities(q, np.linspace(-1.0, 1.0, mechanism.nv))
    runs = [ch.simulate(system, (0.0, END), q, v, step=STEP, method="rk4", **options) for options in ({}, ABSOLUTE)]
    agree(*runs, ARRAYS, 1e-7)
    for name in "ABCD":
        one, two = (run.reactions(name) for run in runs)
        assert np.abs(one).max() > 1.0
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-6 * np.abs(two).max(), err_msg=name)
        np.testing.assert_allclose(runs[0](0.0123).reactions(name), runs[1](0.0123).reactions(name), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["tree", "bodies on SE(3)", "loop", "bodies in a loop"])
def test_accelerations_are_rates_of_velocities(kind, tmp_path):
    """Central differences over the saved times, of all joints and bodies."""
    run = _MADE.setdefault(kind, KINDS[kind](tmp_path))
    for rate, value in ((run.a, run.v), (run.accelerations, run.twists)):
        found = (value[2:] - value[:-2]) / (2 * STEP)
        bend = np.abs(value[2:] - 2 * value[1:-1] + value[:-2]).max() / STEP
        np.testing.assert_allclose(found, rate[1:-1], rtol=0, atol=max(bend, 1e-6) * 0.05)


@pytest.mark.parametrize("options", [{}, ABSOLUTE])
def test_inputs_are_what_was_given_and_forces_what_acted(options, tmp_path):
    """Gear and limits are between the two; both are in the file, for a controller and for a constant input."""
    asked = []

    def controller(t, q, v):
        asked.append(held_back(t, q, v))
        return asked[-1]

    run = sampled(controller=controller, file=tmp_path / "run.h5", **options)
    given = np.array(asked[: round(END / 5e-3)])  # the certificate asks again
    assert given[:, 0].max() > LIMIT
    for found in (run, ch.open(tmp_path / "run.h5")):
        np.testing.assert_array_equal(found.inputs[0], given[0])
        np.testing.assert_array_equal(found.inputs[5::5], given)
        expected = np.zeros_like(found.v)
        expected[:, 0] = GEAR * np.minimum(found.inputs[:, 0], LIMIT)
        tube = found.joint("tube").v.shape[1] - 1
        np.testing.assert_array_equal(found.joint("hinge").forces[:, 0], expected[:, 0])
        np.testing.assert_array_equal(found.joint("tube").forces[:, tube], found.inputs[:, 1])
        assert np.count_nonzero(found.forces[3]) == 2
    constant = of_everything(**options)
    np.testing.assert_array_equal(constant.inputs, np.tile([3.0, 0.4], (len(constant), 1)))
    np.testing.assert_array_equal(constant(0.0111).inputs, [3.0, 0.4])
    assert constant(0.0111).joint("hinge").forces == [GEAR * LIMIT]


def test_one_controller_of_a_loop_for_all_coordinates():
    """Without actuators an input is a force along each velocity of the tree; q and v are those of `run`."""

    def controller(t, q, v):
        return 0.3 * q - 0.2 * v

    runs = [of_loop(controller=controller, period=5e-3, **options) for options in ({}, ABSOLUTE)]
    agree(*runs, ARRAYS, 1e-8)
    np.testing.assert_array_equal(runs[0].inputs[3], 0.3 * runs[0].q[0] - 0.2 * runs[0].v[0])


def test_a_loop_that_floats_has_the_coordinates_of_its_tree():
    """In absolute coordinates no joint leads to the ground; the free joint of the tree is the pose of its body."""
    system = closed.four_bar()
    rng = np.random.default_rng(3)
    first, second, third, last = system.joints
    joints = [replace(first, parent="frame"), second, third]
    joints.append(
        replace(last, parent="rocker", child="frame", parent_frame=last.child_frame, child_frame=last.parent_frame)
    )
    frame = ch.Body("frame", 2.0, inertia=(0.3, 0.2, 0.25))
    floating = ch.System([*system.bodies, frame], joints, gravity=(0.1, 0.0, 0.0))
    mechanism = floating.compile()
    q = np.concatenate([mechanism.neutral()[:7], closed.four_bar_state(system.compile(), 1.1, 0.0)[0]])
    v = np.concatenate([rng.normal(size=6), np.zeros(3)])
    runs = [ch.simulate(floating, (0.0, END), q, v, step=STEP, method="rk4", **options) for options in ({}, ABSOLUTE)]
    assert runs[0].joints == runs[1].joints == ("free frame", "A", "B", "C")
    agree(*runs, ARRAYS, 1e-8)


def test_a_frame_or_joint_that_is_not_there_is_named(run):
    with pytest.raises(ValueError, match="no body or frame 'nothing'"):
        run["nothing"]
    with pytest.raises(ValueError, match="no joint 'nothing'"):
        run.joint("nothing")
    with pytest.raises(ValueError, match="'sideways' is not a representation"):
        run.frame(run.bodies[0], "sideways")


def test_ctrl_c_ends_a_loop_over_simulate(tmp_path):
    """It is a KeyboardInterrupt, so nothing goes on by itself; what there is so far is on it, and in the file."""
    begun = []

    def controller(t, q, v):
        if t > 0.012:
            signal.raise_signal(signal.SIGINT)
        return [0.1, 0.2]

    def sweep():
        for k in range(3):
            begun.append(k)
            sampled(controller=controller, file=tmp_path / f"{k}.h5")

    with pytest.raises(KeyboardInterrupt) as stop:
        sweep()
    assert begun == [0]
    result = stop.value.result
    assert not result.success
    assert result.t[-1] == pytest.approx(0.02)
    np.testing.assert_array_equal(ch.open(tmp_path / "0.h5").q, result.q)


@pytest.mark.filterwarnings("ignore:.* are not unique")
def test_a_part_goes_when_it_is_done_with(run):
    """Without waiting for the garbage collector: a run may be larger than memory."""
    gc.disable()
    try:
        part = run.part(slice(0, 3))
        assert part.energies.kinetic.shape == part.q[:, 0].shape
        assert len(part.a) == len(part.poses) == len(part.reactions(run.joints[-1]))
        gone = weakref.ref(part)
        del part
        assert gone() is None
    finally:
        gc.enable()
