"""Linear systems about a state: against formulas, and against differences of the 60-digit oracle and of the flow."""

import numpy as np
import pytest
import scipy.linalg

import chasles as ch
from tests.relative import models
from tests.simulation.test_sensitivities import extrapolated, machine, off, start

GRAVITY = 9.81


def pendulum(**more) -> ch.System:
    body = ch.Body("bob", 2.0, (0.0, 0.0, -0.7))
    return ch.System([body], [ch.revolute("hinge", "ground", "bob", axis=(0.0, 1.0, 0.0), **more)])


def test_pendulum():
    """θ'' = -(g/l) sin θ - d/(m l²) θ' + u/(m l²), about both equilibria and in between."""
    inertia, damping = 2.0 * 0.7**2, 0.5
    for angle in (0.0, np.pi, 0.4):
        found = ch.linearize(pendulum(damping=damping), [angle], control=[0.0])
        expected = [[0.0, 1.0], [-GRAVITY / 0.7 * np.cos(angle), -damping / inertia]]
        assert np.abs(found.A - expected).max() < 1e-14 * 15
        assert np.abs(found.B - [[0.0], [1.0 / inertia]]).max() < 1e-15
        assert abs(found.acceleration[0] + GRAVITY / 0.7 * np.sin(angle)) < 1e-14
        assert found.at_equilibrium == (angle != 0.4)
    natural = np.sqrt(GRAVITY / 0.7)
    (swing,) = ch.linearize(pendulum(damping=damping)).modes
    assert abs(swing.frequency - natural / (2 * np.pi)) < 1e-14
    assert abs(swing.damping - damping / inertia / (2 * natural)) < 1e-15


def test_stability():
    assert ch.linearize(pendulum(damping=0.5)).stability == "asymptotically stable"
    assert ch.linearize(pendulum(damping=0.5), [np.pi]).stability == "unstable"
    assert ch.linearize(pendulum()).stability == "undecided"
    assert ch.linearize(pendulum(), [0.3]).stability == "not an equilibrium"
    assert ch.linearize(pendulum(), v=[0.3]).stability == "not an equilibrium"
    floating = ch.linearize(ch.System([ch.Body("block", 1.0, inertia=(1.0, 2.0, 3.0))], gravity=(0.0, 0.0, 0.0)))
    assert floating.stability == "undecided"
    assert all(mode.frequency == mode.damping == 0.0 for mode in floating.modes)
    assert "unstable" in str(ch.linearize(pendulum(damping=0.5), [np.pi]))


def test_double_pendulum():
    """Two point masses on rods of length l1, l2 in relative angles: K x = λ M x."""
    (m1, l1), (m2, l2) = (1.5, 0.8), (0.6, 0.5)
    bodies = [ch.Body("upper", m1, (0, 0, -l1)), ch.Body("lower", m2, (0, 0, -l2))]
    axis = (0.0, 1.0, 0.0)
    joints = [
        ch.revolute("one", "ground", "upper", axis=axis),
        ch.revolute("two", "upper", "lower", axis=axis, at=(0, 0, -l1)),
    ]
    found = ch.linearize(ch.System(bodies, joints))
    turn = np.array([[1.0, 0.0], [1.0, 1.0]])  # absolute angles from relative ones
    mass = turn.T @ np.array([[(m1 + m2) * l1**2, m2 * l1 * l2], [m2 * l1 * l2, m2 * l2**2]]) @ turn
    stiffness = turn.T @ np.diag([(m1 + m2) * GRAVITY * l1, m2 * GRAVITY * l2]) @ turn
    squares, shapes = scipy.linalg.eigh(stiffness, mass)
    assert np.abs([m.frequency for m in found.modes] - np.sqrt(squares) / (2 * np.pi)).max() < 1e-13
    for mode, shape in zip(found.modes, shapes.T, strict=True):
        assert np.abs(mode.shape - shape / shape[np.argmax(np.abs(shape))]).max() < 1e-12
        assert abs(mode.damping) < 1e-13


def test_masses_on_springs():
    """Two carts: wall, spring, cart, spring with damper, cart."""
    bodies = [ch.Body(name, mass, inertia=(0.1, 0.1, 0.1)) for name, mass in (("a", 2.0), ("b", 3.0))]
    joints = [ch.prismatic(f"rail {name}", "ground", name, axis=(1, 0, 0)) for name in "ab"]
    springs = [
        ch.Spring("first", ("ground", "a"), ((-1.0, 0, 0), (0, 0, 0)), stiffness=50.0, length=1.0),
        ch.Spring("second", ("a", "b"), ((0, 0, 0), (1.5, 0, 0)), stiffness=20.0, damping=0.8, length=1.5),
    ]
    motor = ch.Actuator("push", "rail b", gear=4.0, upper=1.0)
    system = ch.System(bodies, joints, forces=springs, actuators=[motor])
    found = ch.linearize(system, control=[0.5])
    mass, K = np.diag([2.0, 3.0]), np.array([[70.0, -20.0], [-20.0, 20.0]])
    D = 0.8 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    expected = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(mass, K), -np.linalg.solve(mass, D)]])
    assert np.abs(found.A - expected).max() < 1e-13
    assert np.allclose(found.B, [[0.0], [0.0], [0.0], [4.0 / 3.0]], atol=1e-15)
    assert np.allclose(found.acceleration, [0.0, 2.0 / 3.0], atol=1e-14)
    assert not ch.linearize(system, control=[1.5]).B.any()  # beyond the limit an input does nothing
    assert np.allclose(np.sort_complex(found.eigenvalues), np.sort_complex(np.linalg.eigvals(expected)), atol=1e-12)


@pytest.mark.parametrize("stiffness", [1e-60, 1e-30, 1.0, 1e30])
def test_springs_of_any_stiffness_have_their_frequency(stiffness):
    """ω² = k/m: balanced by powers of two that no integer holds, as rounding beside large entries may be, too."""
    bodies, joints = (
        [ch.Body("mass", 4.0)],
        [ch.prismatic("rail", "ground", "mass", axis=(1, 0, 0), stiffness=stiffness)],
    )
    found = ch.linearize(ch.System(bodies, joints, gravity=(0, 0, 0))).eigenvalues
    np.testing.assert_allclose(found, [0.5j * stiffness**0.5, -0.5j * stiffness**0.5], rtol=1e-12)


@pytest.mark.parametrize("model", ["all kinds", pytest.param("chain", marks=pytest.mark.study)])
def test_derivatives_of_the_accelerations_against_the_oracle(model):
    parts = models.MODELS[model]()
    mechanism, tree = models.system_of(parts).compile(), models.oracle_of(parts)
    rng = np.random.default_rng(3)
    q, v, u = models.coordinates(mechanism, rng), rng.normal(size=mechanism.nv), rng.normal(size=mechanism.nv)
    nv, along = mechanism.nv, rng.normal(size=3 * mechanism.nv)
    order = models.joined(mechanism, parts)

    def accelerations(s: float) -> np.ndarray:
        at = mechanism.retract(q, s * along[:nv])
        speed, force = v + s * along[nv : 2 * nv], u + s * along[2 * nv :]
        lists = [models.split(mechanism, parts, at, "coordinates")]
        lists += [models.split(mechanism, parts, x) for x in (speed, force)]
        result = np.empty(nv)
        result[order] = tree.forward_dynamics(*lists).astype(float)
        return result

    found = ch.linearize(mechanism, q, v, u)
    got = np.concatenate([found.A[nv:], found.B[nv:]], axis=1) @ along
    assert off(got, extrapolated(accelerations, 0.002, 2)) < 1e-9
    assert off(found.acceleration, accelerations(0.0)) < 1e-12


def test_the_flow_follows_the_linear_system():
    """d/dt of the sensitivities at the start is A, with all forces, on quaternions and poses in motion."""
    mechanism, (q, v) = machine(damping=0.2).compile(), start()
    found = ch.linearize(mechanism, q, v, control=[0.5, 0.1], t=0.3)

    def flow(s: float) -> np.ndarray:
        run = ch.sensitivities(
            mechanism,
            (0.3, 0.3 + s),
            q,
            v,
            control=[0.5, 0.1],
            method=ch.integrate.RKMK("dopri5"),
            step=abs(s) / 2,
            save="final",
        )
        return run.state[-1]

    assert off(found.A, extrapolated(flow, 0.001, 4)) < 1e-9
    assert np.abs(found.A[:11, :11]).max() > 0.5  # the brackets count


@ch.law
def soft(t, q, v, parameters, out):
    out[0] = -parameters[0] * np.arcsin(0.5 * np.sin(q[0])) - v[0] ** 3


def test_a_law_that_does_not_compile_for_duals_is_differenced():
    hinge = ch.revolute("hinge", "ground", "wheel", axis=(0, 0, 1))
    wheel = ch.Body("wheel", 1.0, inertia=(0.5, 0.5, 0.5))
    found = ch.linearize(
        ch.System([wheel], [hinge], forces=[ch.JointForce("soft", "hinge", soft, (3.0,))]), [0.4], [0.7]
    )
    slope = -3.0 * 0.5 * np.cos(0.4) / np.sqrt(1 - (0.5 * np.sin(0.4)) ** 2)
    assert np.abs(found.A - [[0.0, 1.0], [2 * slope, -2 * 3 * 0.7**2]]).max() < 1e-11
    assert found.notes == (
        "law 'soft' does not compile for dual numbers: its derivatives are central differences of fourth order",
    )


def test_about_an_equilibrium():
    held = ch.System(
        [ch.Body("beam", 5.0, (0.5, 0, 0), (0.01, 0.4, 0.4))],
        [ch.revolute("hinge", "ground", "beam", axis=(0, -1, 0), stiffness=40.0, damping=2.0)],
    )
    rest = ch.equilibrium(held)
    found = ch.linearize(held, rest.q)
    assert found.stability == "asymptotically stable"
    assert off(-found.A[1:, :1] * (0.4 + 5.0 * 0.25), rest.stiffness) < 1e-8


def test_forces_that_share_a_law():
    """Of three forces two call one function: the same as springs and a damper of the joints."""

    def pull(t, q, v, p, out):
        out[0] = -p[0] * q[0]

    def drag(t, q, v, p, out):
        out[0] = -p[0] * v[0]

    def arm(forces=(), upper=0.0, lower=0.0, damping=0.0):
        bodies = [ch.Body(name, 1.0, (0, 0, -0.3), (0.1, 0.1, 0.1)) for name in ("upper", "lower")]
        hip = ch.revolute("hip", "ground", "upper", axis=(0, 1, 0), stiffness=upper)
        knee = ch.revolute("knee", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.5), stiffness=lower, damping=damping)
        return ch.System(bodies, [hip, knee], forces=forces)

    shared = ch.law(pull)
    forces = [
        ch.JointForce("first", "hip", shared, parameters=[2.0]),
        ch.JointForce("second", "knee", shared, parameters=[3.0]),
        ch.JointForce("third", "knee", ch.law(drag), parameters=[0.2]),
    ]
    found, expected = ch.linearize(arm(forces)), ch.linearize(arm((), 2.0, 3.0, 0.2))
    np.testing.assert_allclose(found.A, expected.A, rtol=0, atol=1e-9)
