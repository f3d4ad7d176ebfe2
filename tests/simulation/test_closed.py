"""Closed mechanisms simulated in joint coordinates: the same motions as in absolute ones, and what a run says."""

import numpy as np
import pytest
from scipy.integrate import quad

import chasles as ch
from chasles.gallery import andrews
from chasles.gallery.boxes import three_bar
from chasles.lie import pose as pose_group
from tests.absolute import loops, test_constraints
from tests.gallery.test_andrews import RATES, REFERENCE
from tests.relative import closed

TIGHT = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12}
START, SPEED = 0.7, 9.0  # of the crank [rad, rad/s]


def same_motion(system, span, q, v, tolerance=1e-9, **options):
    """Both runs, from the same start, with the same poses and twists at the end."""
    run = ch.simulate(system, span, q, v, save="final", **TIGHT, **options)
    other = ch.simulate(
        system, span, poses=run.mechanism.poses(run.q[0]), twists=run.mechanism.twists(run.q[0], run.v[0]),
        coordinates="absolute", save="final", **TIGHT,
    )  # fmt: skip
    end = run.mechanism.poses(run.q[-1])
    apart = pose_group.log(pose_group.compose(pose_group.inverse(end), other.poses[-1]))
    assert np.abs(apart).max() < tolerance
    twists = run.mechanism.twists(run.q[-1], run.v[-1])
    assert np.abs(twists - other.twists[-1]).max() < tolerance * (1.0 + np.abs(twists).max())
    position, speed = run.violations
    assert position.max() < 5e-15
    assert speed.max() < 1e-14 * (1.0 + np.abs(twists).max())
    return run, other


# ---------------------------------------------------------------- the motions


@pytest.mark.parametrize("stabilization", ["projection", None, "baumgarte"])
def test_a_planar_four_bar_moves_as_its_one_coordinate_says(stabilization):
    """Three of its five rows depend on the others. Time by a quadrature: t = ∫ dα / α'(α), with α' from the energy."""
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, START, SPEED)
    run = ch.simulate(mechanism, (0.0, 0.6), q, v, stabilization=stabilization, **TIGHT)
    kinetic, potential = loops.four_bar_energy(START)
    total, end = kinetic * SPEED**2 + potential, run.q[-1, 0]

    def slowness(crank):
        kinetic, potential = loops.four_bar_energy(crank)
        return np.sqrt(kinetic / (total - potential))

    assert end - START > 3.0
    assert quad(slowness, START, end, epsabs=1e-13, epsrel=1e-13, limit=200)[0] == pytest.approx(0.6, abs=1e-10)
    expected = closed.four_bar_state(mechanism, end, run.v[-1, 0])
    assert np.abs(run.q[-1] - expected[0]).max() < 1e-9
    assert np.abs(run.v[-1] - expected[1]).max() < 1e-8
    assert run.violations[0].max() < (1e-15 if stabilization == "projection" else 1e-10)
    assert np.ptp(run.energies.balance) < 1e-9


def test_a_four_bar_with_spatial_joints():
    system = loops.four_bar()
    mechanism = system.compile()
    q = mechanism.neutral()
    a, b, c = loops.four_bar_angles(START)
    q[0], q[5], q[1:5] = a, c - b, [np.cos((b - a) / 2), 0.0, 0.0, np.sin((b - a) / 2)]
    v = mechanism.consistent_velocities(q, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run, other = same_motion(system, (0.0, 0.6), q, v * SPEED / v[0])
    forces = run.reactions("D") - other.reactions("D")
    assert np.abs(forces).max() < 1e-8 * np.abs(run.reactions("D")).max()


def test_a_spatial_linkage():
    system = closed.rssr()
    mechanism = system.compile()
    q = mechanism.assemble(mechanism.retract(mechanism.neutral(), [0.5, 0.0, 0.3, 0.2, 0.1]))
    v = mechanism.consistent_velocities(q, [8.0, 5.0, 1.0, 1.0, 0.0])
    run, _ = same_motion(system, (0.0, 0.5), q, v)
    assert abs(run.q[-1, 0] - run.q[0, 0]) > 1.0


def test_the_three_bar_of_boxes():
    example = three_bar()
    mechanism = example.system.compile()
    q = mechanism.neutral()
    first, second = example.poses[:, :4]
    q[:4], q[4:] = (
        first,
        pose_group.compose(pose_group.inverse(np.array([*first, 0.0, 0.0, 0.0])), np.array([*second, 0.0, 0.0, 0.0]))[
            :4
        ],
    )
    v = mechanism.spanning.twist_form.velocities(q, example.twists)
    run, _ = same_motion(example.system, (0.0, 0.5), q, v)
    assert run.certificate.passed


def test_andrews_squeezer():
    system = andrews.system()
    mechanism = system.compile()
    where = [mechanism.tree.coordinates[f"to K{k}"].start for k in range(1, 8)]
    q = np.zeros(7)
    q[where] = andrews.START
    assert mechanism.rows == 6
    run, _ = same_motion(system, (0.0, andrews.DURATION), q, np.zeros(7), tolerance=1e-8)
    assert np.abs(run.q[-1, where] - REFERENCE).max() < 1e-8  # angles count their turns
    assert np.abs(run.v[-1, where] - RATES).max() < 1e-8 * np.abs(RATES).max()


def test_an_overconstrained_linkage_moves():
    """Bennett's linkage: rank 2 on the constraints, 3 beside them; the rank of the start is kept."""
    mechanism = closed.bennett().compile()
    q = mechanism.assemble([0.8, -1.2, 0.9])
    v = mechanism.consistent_velocities(q, [3.0, 0.0, 0.0])
    run = ch.simulate(mechanism, (0.0, 1.0), q, v, **TIGHT)
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.5
    assert run.violations[0].max() < 1e-12
    assert np.ptp(run.energies.balance) < 1e-9
    # opposite angles of the linkage stay equal, for adjacent ones tan(θ/2) tan(φ/2) is constant
    product = np.tan(run.q[:, 1] / 2) * np.tan(run.q[:, 2] / 2)
    assert np.ptp(product) < 1e-10 * np.abs(product).max()


def test_all_hinges_damped():
    """A body in two parts; the work of the dampers balances the energy."""
    mechanism = closed.four_bar(damping=0.05).compile()
    q, v = closed.four_bar_state(mechanism, START, SPEED)
    run = ch.simulate(mechanism, (0.0, 1.0), q, v, **TIGHT)
    assert run.energies.work[-1] < -1.0
    assert np.ptp(run.energies.balance) < 1e-9
    assert run.certificate.passed
    assert np.abs(run.joint("D").q[-1] - closed.four_bar_state(mechanism, run.q[-1, 0], 0.0)[0][-1]).max() < 1e-9


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize("ratios", [(1.0, 3.0), (1.0, -np.sqrt(2.0))])
def test_gears_over_many_turns(ratios):
    """c_1 q_1 + c_2 q_2 = offset; (I_1 + (c_1/c_2)² I_2) q_1'' = torque: 40 rad in 4 s; an irrational ratio too."""
    c, d = ratios
    run = ch.simulate(test_constraints.gears(ratios), (0.0, 4.0), [0.1, (0.4 - c * 0.1) / d], save="final", **TIGHT)
    inertia = test_constraints.INERTIA
    expected = 0.1 + 0.5 * 2.0 / (inertia["one"] + (c / d) ** 2 * inertia["two"]) * 16.0
    assert run.q[-1, 0] == pytest.approx(expected, abs=1e-9)
    assert c * run.q[-1, 0] + d * run.q[-1, 1] == pytest.approx(0.4, abs=1e-13)


def test_a_driven_crank():
    """The four-bar with its crank driven at a steady rate: the rest follows, and the drive's torque is its reaction."""
    drive = ch.Drive("motor", "A", test_constraints.swing, parameters=(0.0, 0.0, 4.0))
    mechanism = closed.four_bar().with_constraint(drive).compile()
    q, v = closed.four_bar_state(mechanism, 1.0, 4.0)
    run = ch.simulate(mechanism, (0.25, 1.25), q, v, **TIGHT)
    expected = closed.four_bar_state(mechanism, 4.0 * run.t[-1], 4.0)
    assert np.abs(run.q[-1] - expected[0]).max() < 1e-9
    assert np.abs(run.v[-1] - expected[1]).max() < 1e-9
    torque = run.reactions("motor")[:, 2]
    power = 4.0 * torque  # the work of the drive is part of the balance
    assert run.energies.work[-1] == pytest.approx(np.trapezoid(power, run.t), rel=1e-2)
    assert run.certificate["energy balance"].value < 1e-8
    assert run.certificate.passed, run.certificate
    wanted = [closed.four_bar_torque(4.0 * t, 4.0, 0.0) for t in run.t]
    assert np.abs(torque - wanted).max() < 1e-8 * np.abs(wanted).max()


@pytest.mark.parametrize("kind", [test_constraints.a_distance, test_constraints.a_line, test_constraints.disc_on_plate])
@pytest.mark.filterwarnings("ignore::chasles.errors.StartChangedWarning")
def test_other_constraints(kind):
    system, poses, twists = test_constraints.held(kind)
    mechanism = system.compile()
    q = np.concatenate([poses[mechanism.bodies.index(joint.removeprefix("free "))] for joint in mechanism.joints])
    run, _ = same_motion(system, (0.0, 0.5), q, twists.ravel(), assemble=True)
    assert run.certificate.passed


# ---------------------------------------------------------------- inputs, steps, starts


def test_inputs_and_single_steps():
    system = closed.four_bar().with_actuator(ch.Actuator("motor", "A", gear=2.0))
    mechanism = system.compile()
    q, v = closed.four_bar_state(mechanism, START, 2.0)
    how = {"method": ch.integrate.RKMK("rk4"), "step": 1e-3}
    run = ch.simulate(mechanism, (0.0, 0.05), q, v, control=[1.5], **how)
    assert run.energies.work[-1] == pytest.approx(3.0 * (run.q[-1, 0] - run.q[0, 0]), rel=1e-9)
    sampled = ch.simulate(mechanism, (0.0, 0.05), q, v, controller=lambda t, q, v: [1.5], period=0.01, **how)
    assert np.abs(sampled.q[-1] - run.q[-1]).max() < 1e-13
    sim = ch.Simulation(mechanism, 1e-3, q, v)
    sim.step([1.5], steps=50)
    assert np.array_equal(sim.q, run.q[-1])
    assert np.array_equal(sim.v, run.v[-1])
    found = mechanism.inverse_dynamics(run.q[-1], run.v[-1], run.a[-1])
    assert found == pytest.approx([3.0, 0.0, 0.0], abs=1e-9)


def test_fixed_steps_keep_the_order_with_projection():
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, START, SPEED)
    exact = ch.simulate(mechanism, (0.0, 0.2), q, v, save="final", **TIGHT).q[-1]
    errors = []
    for steps in (20, 40, 80):
        run = ch.simulate(mechanism, (0.0, 0.2), q, v, method=ch.integrate.RKMK("rk4"), step=0.2 / steps, save="final")
        errors.append(np.abs(run.q[-1] - exact).max())
    assert np.log2(errors[0] / errors[1]) > 3.8
    assert np.log2(errors[1] / errors[2]) > 3.8


def test_joint_coordinates_are_a_start_in_absolute_ones():
    mechanism = loops.four_bar().compile()
    q = mechanism.assemble(mechanism.retract(mechanism.neutral(), [0.7, 0.0, 0.0, -0.2, 1.0, 0.1]))
    run = ch.simulate(loops.four_bar(), (0.0, 0.01), q, coordinates="absolute")
    assert np.abs(run.poses[0] - mechanism.poses(q)).max() < 1e-14


def test_starts_that_violate_the_loop():
    mechanism = closed.four_bar().compile()
    with pytest.raises(ValueError, match=r"the start violates 1 joints or constraints: 'D' by .* assemble=True"):
        ch.simulate(mechanism, (0.0, 1.0), mechanism.neutral())
    with pytest.warns(ch.errors.StartChangedWarning, match="coordinate of 'A': 0.7 -> "):
        run = ch.simulate(mechanism, (0.0, 0.1), [0.7, -0.2, 1.0], [1.0, 0.0, 0.0], assemble=True)
    assert run.violations[0][0].max() < 1e-15
    assert run.violations[1][0].max() < 1e-15
    q, v = closed.four_bar_state(mechanism, START, SPEED)
    with pytest.raises(ValueError, match=r"'D' by .* in position and 0\.\d+ in velocity"):
        ch.simulate(mechanism, (0.0, 1.0), q, v + np.array([0.0, 0.5, 0.0]))
    with pytest.raises(ValueError, match=r"stabilization 'none'; expected"):
        ch.simulate(mechanism, (0.0, 1.0), q, v, stabilization="none")


def kite() -> ch.System:
    """Two equal rods over a base of their length and a coupler of the same: it can fold flat, where it is singular."""
    rods = [loops.rod(name, 1.0, 1.0) for name in ("left", "top", "right")]
    joints = [
        ch.revolute("A", "ground", "left", axis=closed.Z),
        ch.revolute("B", "left", "top", axis=closed.Z, at=(1.0, 0.0, 0.0)),
        ch.revolute("C", "top", "right", axis=closed.Z, at=(1.0, 0.0, 0.0), child_at=(1.0, 0.0, 0.0)),
        ch.revolute("D", "ground", "right", axis=closed.Z, at=(1.0, 0.0, 0.0)),
    ]
    return ch.System(rods, joints, gravity=(0.0, 0.0, 0.0), name="kite")


def test_a_singular_start_is_refused():
    flat = [0.0, 0.0, 0.0]
    mechanism = kite().compile()
    assert mechanism.constraint_violation(flat).position.max() < 1e-15
    assert mechanism.mobility(flat).freedoms == 2  # of a mechanism with mobility 1
    with pytest.raises(
        ch.errors.RedundantConstraintsError, match=r"'kite' is in a singular configuration: 1 of 5 .* 2"
    ):
        ch.simulate(mechanism, (0.0, 1.0), flat)


def test_two_drives_that_contradict_each_other():
    drives = [
        ch.Drive(name, "A", test_constraints.swing, parameters=parameters)
        for name, parameters in (("one", (0.5, 2.0, 0.0)), ("two", (0.25, 4.0, 0.0)))  # alike in value and rate
    ]
    mechanism = closed.four_bar().with_constraint(*drives).compile()
    q, v = closed.four_bar_state(mechanism, 0.0, 1.0)
    ch.simulate(mechanism, (0.0, 1e-3), q, v)  # at the start they agree in acceleration too, and part later
    with pytest.warns(RuntimeWarning, match="not finite"):  # it ends where they are too far apart for any position
        run = ch.simulate(mechanism, (0.0, 1.0), q, v, **TIGHT)
    assert not run.success
    assert not run.certificate.passed
    assert not run.certificate["joints, position"].passed


def test_a_cut_joint_says_so():
    """A ball that closes a loop: its quaternion is not found from the others."""
    bodies = [ch.Body(name, 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)) for name in ("crank", "arm")]
    joints = [
        ch.revolute("pin", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("knee", "crank", "arm", axis=(0, 0, 1), at=(0.1, 0, 0)),
        ch.spherical("ball", "ground", "arm", child_at=(-0.1, 0, 0)),
    ]
    mechanism = ch.System(bodies, joints, gravity=(0, 0, 0)).compile("relative", cut=["ball"])
    run = ch.simulate(mechanism, (0, 0.01), v={"pin": 1.0}, certificate=False)
    with pytest.raises(ValueError, match=r"'ball' is cut to open a loop.*cut another one"):
        _ = run.joint("ball").q
    with pytest.raises(ValueError, match=r"'ball' is cut to open a loop.*under .simulation."):
        run.plot("joints.ball.velocity")


def test_methods_for_constrained_systems_are_for_absolute_coordinates():
    mechanism = closed.four_bar().compile()
    state = closed.four_bar_state(mechanism, START, SPEED)
    for options in ({}, {"controller": lambda t, q, v: np.zeros_like(v), "period": 0.01}):
        with pytest.raises(ValueError, match=r'GeneralizedAlpha\(.*\) is for coordinates="absolute"'):
            ch.simulate(mechanism, (0, 0.1), *state, method=ch.integrate.GeneralizedAlpha(), step=0.01, **options)
    with pytest.raises(ValueError, match=r"Simulation: Gauss\(.*cannot be stepped from outside; expected one of RKMK"):
        ch.Simulation(mechanism, 0.01, *state, method=ch.integrate.Gauss())


@pytest.mark.parametrize("how", [{"method": "rk4", "step": 3e-3}, {"rtol": 1e-6}], ids=["fixed", "adaptive"])
def test_periods_of_a_loop_under_a_controller_are_runs_of_their_own_to_the_bit(how):
    mechanism, period, asked = closed.four_bar().compile(), 0.01, []
    q, v = closed.four_bar_state(mechanism, START, SPEED)

    def controller(t, q, v):
        asked.append((q, v))
        return np.eye(mechanism.nv)[0] * -0.5 * v[0]

    how = {**how, "certificate": False}
    run = ch.simulate(mechanism, (0.0, 11 * period), q, v, controller=controller, period=period, **how)
    for k in (0, 1, 5, 10):
        span = (period * k, period * (k + 1))
        control = run.inputs[np.searchsorted(run.t, span[1])]
        alone = ch.simulate(mechanism, span, *asked[k], control=control, **how)
        inside = (run.t >= span[0]) & (run.t <= span[1])
        assert np.array_equal(run.t[inside], alone.t)
        assert np.array_equal(run.q[inside], alone.q)
        assert np.array_equal(run.v[inside], alone.v)
