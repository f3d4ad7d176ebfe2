"""Models that people have: parts of the equations of motion, quaternion rates, MuJoCo, Pinocchio."""

import numpy as np
import pytest

import chasles as ch
from benchmarks.mujoco_tumbling import tumble
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.gallery.boxes import heavy_top
from chasles.lie import s3, transition
from chasles.reproduce.user_model import mechanism_problem, start
from tests.transition.models import initial, matrices, plain_model, problem

# ---------------------------------------------------------------- M, A, Q


def descriptor_top():
    """The heavy top of mueller2013 by hand: M, Q, A and -A' V in body twists."""
    body = heavy_top().system.bodies[0]
    inertia, mass, arm = np.array(body.inertia), body.mass, np.array([-0.5, 0.0, 0.0])  # from the center to the pivot
    matrix = np.zeros((6, 6))
    matrix[:3, :3], matrix[3:, 3:] = inertia, mass * np.eye(3)

    def forces(q, twists, t):
        w, v = twists[0, :3], twists[0, 3:]
        return np.concatenate([np.cross(inertia @ w, w), mass * np.cross(v, w)])

    def jacobian(q):  # velocity of the pivot in the body: v + ω x arm
        tilde = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
        return np.concatenate([-tilde, np.eye(3)], axis=1)

    def bias(q, twists):
        return np.zeros(3)  # A is constant in the body

    return ch.transition.descriptor(matrix, forces, jacobian, bias)


def test_equations_of_motion_in_parts():
    example = heavy_top()
    mechanism = AbsoluteMechanism(example.system, "SE3", stabilized=False)
    ours = mechanism_problem(mechanism, "quaternion", "screw")
    y0 = start(ours, mechanism, example.poses, example.twists)
    # the central frame of the box is the user's up to a permutation of axes; this example has none
    assert np.abs(mechanism.central[0, 1:4]).max() < 1e-15
    case = ch.transition.LGTProblem(descriptor_top())
    ends = [ch.integrate.solve(p, ch.integrate.RKMK("rk4"), (0.0, 0.05), y0, step=1e-3).y[-1] for p in (case, ours)]
    assert np.abs(ends[0] - ends[1]).max() < 1e-11


def test_dependent_constraints_and_wrong_parts_are_named():
    both = (lambda q: np.ones((2, 6)), lambda q, v: np.zeros(2))
    y0 = np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    for model, message in (
        (ch.transition.descriptor(np.eye(6), lambda q, v, t: np.zeros(6), *both), "2 constraints have rank 1 at t = 0"),
        (ch.transition.descriptor(np.zeros((6, 6)), lambda q, v, t: np.zeros(6)), "mass matrix is singular at t = 0"),
        (
            ch.transition.descriptor(np.eye(6), lambda q, v, t: np.zeros(5)),
            "forces gave 5 numbers at t = 0; expected 6",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            ch.integrate.solve(ch.transition.LGTProblem(model), ch.integrate.RKMK("rk4"), (0, 1), y0, step=0.1)
    with pytest.raises(ValueError, match="belong together"):
        ch.transition.descriptor(np.eye(6), lambda q, v, t: np.zeros(6), jacobian=lambda q: np.ones((2, 6)))


# ---------------------------------------------------------------- (q, q') in quaternions


def test_quaternion_rates():
    """A right-hand side in (q, q') as one would write it for solve_ivp gives the motion of the same body."""
    model = plain_model(representation="mixed")

    def rhs(t, z):
        q, rates = z.reshape(2, 1, 7)
        twists = transition.velocity(q, rates)
        change = model(q, twists, t)
        second = np.zeros((1, 7))
        spin = np.concatenate([[0.0], twists[0, :3]])
        turn = np.concatenate([[0.0], change[0, :3]])
        second[0, :4] = 0.5 * _product(rates[0, :4], spin) + 0.5 * _product(q[0, :4], turn)
        second[0, 4:] = change[0, 3:]
        return np.concatenate([rates, second], axis=None)

    case, to_point, to_state = ch.transition.second_order(rhs, local="rotation_vector")
    mixed = initial(ch.transition.LGTProblem(model, representation="mixed"), "mixed")
    z0 = np.concatenate([mixed[:7], transition.rate(mixed[:7], mixed[7:])])
    sol = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 0.4), to_point(z0), step=0.02)
    direct = ch.transition.LGTProblem(model, local="rotation_vector", representation="mixed")
    truth = ch.integrate.solve(direct, ch.integrate.RKMK("rk4"), (0.0, 0.4), mixed, step=0.02)
    assert np.abs(sol.y - truth.y).max() < 1e-13
    assert np.abs(to_state(sol.y)[0] - z0).max() < 1e-15
    assert to_state(sol.y).shape == (21, 14)
    with pytest.raises(ValueError, match="expected 14: q' and q''"):
        ch.integrate.solve(
            ch.transition.second_order(lambda t, z: z[:7])[0], ch.integrate.RKMK("rk4"), (0, 1), mixed, step=0.1
        )
    with pytest.raises(ValueError, match="14 numbers"):
        to_point(z0[:7])


def _product(a, b):
    return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


# ---------------------------------------------------------------- MuJoCo

MIXED_JOINTS = """<mujoco><worldbody>
<body pos="1 2 3"><freejoint/><inertial pos="0.1 0 0.2" mass="2" diaginertia="1 2 2.9"/>
  <body pos="0.2 0 0"><joint type="ball"/><inertial pos="0.3 0 0" mass="1" diaginertia="0.1 0.2 0.25"/>
    <body pos="0.5 0 0"><joint type="hinge" axis="0 1 0" damping="0.1"/>
    <joint type="slide" axis="1 0 0" stiffness="20"/>
    <inertial pos="0.3 0.1 0" mass="1" diaginertia="0.1 0.2 0.25"/></body></body></body>
</worldbody></mujoco>"""


def test_a_body_of_mujoco_tumbles_with_the_order_of_the_method():
    pytest.importorskip("mujoco")
    for tableau, steps in (("kutta3", (25, 50, 100)), ("rk4", (50, 100, 200)), ("dopri5", (50, 100, 200))):
        errors = np.array([tumble(tableau, 1 / n) for n in steps])
        orders = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert (orders > ch.integrate.RKMK(tableau).order - 0.2).all(), (tableau, errors)


def test_against_the_integrators_of_mujoco():
    """At the same step: far better than Euler and the implicit ones, which are of order 1; like its RK4, which is a
    method of Munthe-Kaas too; and better than that with a method of higher order."""
    mujoco = pytest.importorskip("mujoco")
    kinds = mujoco.mjtIntegrator
    ours, fifth = tumble("rk4", 0.01), tumble("dopri5", 0.01)
    for kind in (kinds.mjINT_EULER, kinds.mjINT_IMPLICIT):
        theirs = tumble(kind, 0.01)
        assert min(theirs) > 1e4 * max(ours)
    theirs = tumble(kinds.mjINT_RK4, 0.01)
    assert np.allclose(theirs, ours, rtol=0.05)
    assert fifth[1] < 0.1 * ours[1]


@pytest.mark.parametrize("local", ["rotation_vector", "screw", "rodrigues", "extended_wiener_milenkovic"])
def test_all_joints_of_mujoco(local):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MIXED_JOINTS)
    rng = np.random.default_rng(0)
    qpos, qvel = model.qpos0.copy(), rng.normal(size=model.nv)
    qpos[3:7], qpos[7:11] = s3.random(rng), s3.random(rng)
    case = ch.transition.MujocoProblem(model, local)
    y0 = case.state(qpos, qvel)
    q, v, act = case.split(y0)
    assert np.array_equal(q, qpos)
    assert np.array_equal(v, qvel)
    assert act.size == 0
    found = case.split(
        ch.integrate.solve(case, ch.integrate.RKMK("dopri5"), (0.0, 0.3), y0, step=0.01, save="final").y[-1]
    )
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 0.002
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    for _ in range(150):
        mujoco.mj_step(model, data)
    assert np.abs(found[0] - data.qpos).max() < 1e-7
    assert np.abs(found[1] - data.qvel).max() < 1e-6
    with pytest.raises(ValueError, match="q has 3 numbers; expected"):
        case.state(qpos[:3], qvel)


def test_control_and_activations_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" type="hinge" axis="0 0 1"/>
        <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
        <actuator><general joint="j" dyntype="filter" dynprm="0.5" gainprm="2"/></actuator></mujoco>"""
    )

    def control(model, data):
        data.ctrl[0] = 3.0

    case = ch.transition.MujocoProblem(model, control=control)
    sol = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 1.0), case.state([0.0], [0.0], [0.0]), step=0.01)
    _, v, act = case.split(sol.y[-1])
    assert act[0] == pytest.approx(3 * (1 - np.exp(-2.0)), rel=1e-8)
    assert v[0] == pytest.approx(6 * (1 - 0.5 * (1 - np.exp(-2.0))), rel=1e-8)


# ---------------------------------------------------------------- Pinocchio


def pinocchio_model(pin):
    model = pin.Model()
    place = pin.SE3(np.eye(3), np.array([0.0, 0.1, 1.0]))
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    ball = model.addJoint(root, pin.JointModelSpherical(), place, "ball")
    hinge = model.addJoint(ball, pin.JointModelRX(), place, "hinge")
    for joint in (root, ball, hinge):
        inertia = pin.Inertia(1.0, np.array([0.1, 0.0, 0.4]), np.diag([0.3, 0.4, 0.5]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model


@pytest.mark.parametrize("local", ["screw", "rotation_vector", "rodrigues"])
def test_free_flyers_of_pinocchio(local):
    """Energy is kept with the order of the method, and positions follow Pinocchio's own integration."""
    pin = pytest.importorskip("pinocchio")
    model = pinocchio_model(pin)
    data = model.createData()
    rng = np.random.default_rng(4)
    q, v = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv)), rng.normal(size=model.nv)
    case = ch.transition.PinocchioProblem(model, local)
    y0 = case.state(q, v)
    assert np.array_equal(case.split(y0)[0], q)
    before, errors = pin.computeMechanicalEnergy(model, data, q, v), []
    for n in (40, 80, 160):
        found, speed, _ = case.split(
            ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 0.4), y0, step=0.4 / n, save="final").y[-1]
        )
        errors.append(abs(pin.computeMechanicalEnergy(model, data, found, speed) - before))
    assert np.log2(errors[0] / errors[2]) / 2 > 3.8, errors
    steps = 4000  # explicit midpoint with Pinocchio's own integration of positions
    truth, h = (q, v), 0.4 / steps
    for _ in range(steps):
        half = pin.integrate(model, truth[0], 0.5 * h * truth[1])
        middle = truth[1] + 0.5 * h * pin.aba(model, data, *truth, np.zeros(model.nv))
        change = pin.aba(model, data, half, middle, np.zeros(model.nv))
        truth = pin.integrate(model, truth[0], h * middle), truth[1] + h * change
    assert np.abs(found - truth[0]).max() < 1e-6
    assert np.abs(speed - truth[1]).max() < 1e-6


def test_torques_and_joints_of_pinocchio_that_are_not_known():
    pin = pytest.importorskip("pinocchio")
    model = pinocchio_model(pin)
    lifted = np.zeros(model.nv)
    lifted[2] = 3 * 9.81
    case = ch.transition.PinocchioProblem(model, torque=lambda t, q, v: lifted)
    q = pin.neutral(model)
    final = ch.integrate.solve(
        case, ch.integrate.RKMK("rk4"), (0.0, 0.01), case.state(q, np.zeros(model.nv)), step=0.001
    ).y[-1]
    total = pin.centerOfMass(model, model.createData(), case.split(final)[0])
    assert total[2] == pytest.approx(pin.centerOfMass(model, model.createData(), q)[2], abs=1e-7)
    unknown = pin.Model()
    unknown.addJoint(0, pin.JointModelRUBX(), pin.SE3.Identity(), "wheel")
    with pytest.raises(ValueError, match="'wheel' is a JointModelRUBX with 2 coordinates and 1 velocities"):
        ch.transition.PinocchioProblem(unknown)


def test_the_model_is_not_touched():
    """All coordinates get the same numbers from one model: the motion is the same to rounding."""
    ends = []
    for absolute in ("quaternion", "rotation_vector", "screw", "euler:ZYX"):
        case = problem(absolute)
        ends.append(
            matrices(
                case, ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 0.5), initial(case), step=0.01).y[-1]
            )
        )
    assert max(np.abs(end - ends[0]).max() for end in ends) < 1e-14
