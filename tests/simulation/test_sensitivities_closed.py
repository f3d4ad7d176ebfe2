"""Sensitivities of closed mechanisms: against the method applied to linear systems, an own model of a four-bar, and
extrapolated differences of simulations."""

import numpy as np
import pytest
import scipy.integrate

import chasles as ch
from chasles.simulation.closed.allowed import Allowed
from tests.absolute import loops
from tests.relative import closed
from tests.simulation.test_sensitivities import extrapolated, states_from

RK4 = ch.integrate.RKMK("rk4")
Z = (0.0, 0.0, 1.0)
BAR = 1e-10  # relative, of differences of runs; found: below 5e-11


def gears(stiffness: float, inertia: float) -> ch.System:
    bodies = [ch.Body(f"shaft {k}", 1.0, inertia=(1.0, 1.0, i)) for k, i in enumerate((inertia, 0.05))]
    joints = [
        ch.revolute("one", "ground", "shaft 0", axis=Z, stiffness=stiffness, damping=0.3),
        ch.revolute("two", "ground", "shaft 1", axis=Z),
    ]
    return ch.System(bodies, joints, constraints=[ch.Coupling("gear", ("one", "two"), (2.5, 1.0))], name="gears")


def stepped(stiffness, inertia, torque, start, h: float, steps: int) -> np.ndarray:
    """Angle and speed of the first shaft after steps of RK4, which for a linear system is a polynomial of it."""
    mass = inertia + 2.5**2 * 0.05
    A = np.array([[0.0, 1.0, 0.0], [-stiffness / mass, -0.3 / mass, torque / mass], [0.0, 0.0, 0.0]])
    one = np.eye(3) + h * A @ (np.eye(3) + h / 2 * A @ (np.eye(3) + h / 3 * A @ (np.eye(3) + h / 4 * A)))
    return (np.linalg.matrix_power(one, steps) @ np.array([*start, 1.0]))[:2]


def test_gears():
    """Derivatives with respect to start, input and parameters, by complex steps of the same steps of RK4."""
    values, small = {"stiffness": 40.0, "inertia": 0.3}, 1e-30
    found = ch.sensitivities(
        *(gears, (0.0, 0.5), [0.1, -0.25], [0.4, -1.0]),
        parameters=values,
        wrt=("q", "v", "control", "stiffness", "inertia"),
        control=[0.7, 0.0],
        method=RK4,
        step=0.01,
        save=25,
    )
    assert found.t.tolist() == pytest.approx([0.0, 0.25, 0.5])
    assert found["q"].shape == (3, 4, 1)
    given = np.array([0.1, 0.4, 0.7, 40.0, 0.3], dtype=complex)
    for k, column in enumerate((found["q"][..., 0], found["v"][..., 0], found["control"][..., 0])):
        for row, steps in enumerate((0, 25, 50)):
            x = given.copy()
            x[k] += 1j * small
            wanted = stepped(x[3], x[4], x[2], x[:2], 0.01, steps).imag / small
            assert np.abs(column[row, [0, 2]] - wanted).max() < 1e-12 * max(np.abs(wanted).max(), 0.1)
            assert np.abs(column[row, [1, 3]] + 2.5 * wanted).max() < 1e-12 * max(np.abs(wanted).max(), 0.1)
    for k, name in ((3, "stiffness"), (4, "inertia")):
        x = given.copy()
        x[k] += 1j * small
        wanted = stepped(x[3], x[4], x[2], x[:2], 0.01, 50).imag / small
        assert np.abs(found[name][-1, [0, 2]] - wanted).max() < 1e-12 * np.abs(wanted).max()
    assert found.notes == ()


def test_four_bar():
    """Lagrange's equation in the crank's angle, by SciPy; three of the equations are redundant."""
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, 0.8, 1.0)
    found = ch.sensitivities(mechanism, (0.0, 0.1), q, v, method=ch.integrate.RKMK("dopri5"), step=0.002, save="final")

    def flow(x):
        def rates(t, y):
            return [y[1], -closed.four_bar_torque(y[0], y[1], 0.0) / (2 * loops.four_bar_energy(y[0])[0])]

        return scipy.integrate.solve_ivp(rates, (0.0, 0.1), x, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]

    h, both = 1e-3, np.array([1.0, 0.7])  # along one direction of angle and speed
    near, far = (flow([0.8, 1.0] + s * h * both) - flow([0.8, 1.0] - s * h * both) for s in (1, 2))
    wanted, got = (8 * near - far) / (12 * h), (found["q"] + 0.7 * found["v"])[-1, [0, 3], 0]
    assert np.abs(got - wanted).max() < 1e-7 * np.abs(wanted).max()
    along = ch.sensitivities(
        *(mechanism, (0.0, 0.1), q, v), directions=[2, 0, 0, 1, 0, 0], method=RK4, step=0.002, save="final"
    )
    both = 2 * found["q"][-1] + found["v"][-1]
    assert np.abs(along["directions"][-1] - both).max() < 1e-6 * np.abs(both).max()


@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_a_row_that_does_not_move_the_first_joint_at_the_start(angle):
    """A level rod does not move its end sideways, but will when it turns: the row's first number is zero, and its
    derivative is not. Against differences of order six along the constraints."""
    names, axes = ("x", "y", "z"), np.eye(3)
    bodies = [ch.Body(name, 1.0, (0.3, 0.1, 0.2), (0.2, 0.3, 0.25)) for name in ("rod", *names)]
    joints = [ch.revolute("A", "ground", "rod", axis=(0, 1, 0))]
    for name, parent, axis in zip(names, ("ground", "x", "y"), axes, strict=True):
        joints.append(ch.prismatic(f"along {name}", parent, name, axis=axis))
    joints.append(ch.spherical("end", "rod", "z", at=(1, 0, 0)))
    system, how = ch.System(bodies, joints, gravity=(1, 2, -9.8)), {"method": RK4, "step": 0.01, "save": "final"}

    def start(a):
        return np.array([a, np.cos(a), 0, -np.sin(a)]), 0.7 * np.array([1, -np.sin(a), 0, -np.cos(a)])

    def end(a):
        run = ch.simulate(system, (0.0, 0.02), *start(a), **how)
        return np.concatenate([run.q[-1], run.v[-1]])

    c, s = np.cos(angle), np.sin(angle)
    found = ch.sensitivities(
        *(system, (0.0, 0.02), *start(angle)), directions=[1, -s, 0, -c, 0, -0.7 * c, 0, 0.7 * s], **how
    )
    h = 4e-3
    near, middle, far = ((end(angle + k * h) - end(angle - k * h)) / (2 * k * h) for k in (1, 2, 3))
    wanted = (15 * near - 6 * middle + far) / 10
    assert np.abs(found["directions"][-1].ravel() - wanted).max() < 1e-12


def rolling(radius: float = 0.2, slope: float = 0.3) -> ch.System:
    """A disc with a pendulum on its axle, which rolls on an inclined plane."""
    bodies = [
        ch.Body("disc", 2.0, inertia=(0.02, 0.04, 0.02)),
        ch.Body("bob", 0.5, (0.0, 0.1, -0.3), (0.01, 0.01, 0.01)),
    ]
    axle = ch.revolute("axle", "disc", "bob", axis=(0, 1, 0), damping=0.02)
    plane = ch.Rolling(
        "contact", ("ground", "disc"), radius, axis=(0, 1, 0), normal=(np.sin(slope), 0.0, np.cos(slope))
    )
    return ch.System(bodies, [axle], constraints=[plane], name="rolling disc")


def geared(ratio: float = 2.5, arm: float = 0.3, mass: float = 1.5) -> ch.System:
    """Two arms with a gear between them, one of them driven by a spring between its tip and the ground."""
    bodies = [ch.Body("one", mass, (arm, 0, 0), (0.1, 0.1, 0.1)), ch.Body("two", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.2))]
    joints = [ch.revolute("a", "ground", "one", axis=Z), ch.revolute("b", "ground", "two", axis=Z, at=(1.0, 0, 0))]
    spring = ch.Spring("spring", ("ground", "one"), ((0.0, 1.0, 0.0), (arm, 0.0, 0.0)), stiffness=30.0, length=0.4)
    gear = ch.Coupling("gear", ("a", "b"), (ratio, 1.0))
    return ch.System(bodies, joints, forces=[spring], constraints=[gear], gravity=(0, -9.81, 0), name="geared arms")


def floating(length: float = 0.9, at: float = 0.2) -> ch.System:
    """A rod between a crank and a rocker, on spherical joints: its spin is free."""
    rods = [
        ch.Body("crank", 1.0, (at / 2, 0, 0), (0.01, 0.01, 0.01)),
        ch.Body("rod", 0.8, (length / 2, 0, 0), (0.01, 0.05, 0.06)),
    ]
    rods.append(ch.Body("rocker", 1.2, (0.25, 0, 0), (0.01, 0.02, 0.03)))
    joints = [
        ch.revolute("A", "ground", "crank", axis=Z),
        ch.spherical("B", "crank", "rod", at=(at, 0, 0)),
        ch.spherical("C", "rod", "rocker", at=(length, 0, 0), child_at=(0.5, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 1, 0), at=(0.8, 0.1, 0.0)),
    ]
    return ch.System(rods, joints, gravity=(0.3, -9.81, 1.0), name="spatial linkage")


LOOPS = {
    "rolling": (rolling, {"radius": 0.2, "slope": 0.3}),
    "geared": (geared, {"ratio": 2.5, "arm": 0.3, "mass": 1.5}),
}
LOOPS |= {"floating": (floating, {"length": 0.9, "at": 0.2})}


def start_of(mechanism: ch.ClosedMechanism, name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    q = mechanism.retract(mechanism.neutral(), 0.2 * rng.normal(size=mechanism.nv))
    if name == "floating":
        q = mechanism.assemble(None)
    q = mechanism.assemble(q)
    return q, mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv))


@pytest.mark.first(1)
@pytest.mark.parametrize("name", LOOPS)
def test_differences_of_runs(name):
    """Start and parameters, with steps so long that the projection has much to do."""
    build, values = LOOPS[name]
    base = build(**values).compile()
    q, v = start_of(base, name)
    found = ch.sensitivities(build, (0.0, 0.2), q, v, parameters=values, method=RK4, step=0.02)
    allowed, nv = Allowed(base, q, 0.0), base.nv
    along = np.random.default_rng(1).normal(size=found["q"].shape[-1] + found["v"].shape[-1])
    change = found.state[0, :, : len(along)] @ along

    def motion(mechanism, change) -> np.ndarray:
        """The run from a state with the independent numbers of the start and a change, on the constraints to rounding:
        what differences are taken of."""
        at, speed = base.retract(q, change[:nv]), v + change[nv:]
        follow, left = (
            np.delete(np.arange(nv), allowed.places.chosen),
            np.delete(np.arange(nv), allowed.velocities.chosen),
        )
        for _ in range(8):
            rows, step = mechanism.constraint_rows(at), np.zeros(nv)
            off = rows.residual != 0.0  # rows of velocities alone have none
            step[follow] = -np.linalg.lstsq(rows.jacobian[off][:, follow], rows.residual[off], rcond=1e-9)[0]
            at = mechanism.retract(at, step)
        for _ in range(2):
            rows = mechanism.constraint_rows(at, speed)
            speed[left] -= np.linalg.lstsq(rows.jacobian[:, left], rows.speed, rcond=1e-9)[0]
        return states_from(ch.simulate(mechanism, (0.0, 0.2), at, speed, method=RK4, step=0.02), found.run)

    wanted = extrapolated(lambda s: motion(base, s * change), 0.05)
    got = found.state[..., : len(along)] @ along
    assert found.notes == ()
    assert np.abs(got - wanted).max() < BAR * np.abs(wanted).max()
    for parameter, value in values.items():
        wanted = extrapolated(
            lambda s, p=parameter, x=value: motion(build(**{**values, p: x * (1 + s)}).compile(), np.zeros(2 * nv)),
            0.05,
        )
        got = value * found[parameter]
        assert np.abs(got - wanted).max() < BAR * np.abs(wanted).max()


def test_what_is_refused():
    system = gears(40.0, 0.3)
    with pytest.raises(ValueError, match="wrt 'mass' is unknown; expected some of 'q', 'v', 'control'"):
        ch.sensitivities(system, (0.0, 0.1), wrt="mass", step=0.01)
    with pytest.raises(ValueError, match="nothing to differentiate"):
        ch.sensitivities(system, (0.0, 0.1), wrt=(), step=0.01)
    dry = closed.four_bar(friction=0.4, friction_speed=0.0)
    with pytest.raises(ValueError, match="sensitivities: joint 'A' has stick-slip friction"):
        ch.sensitivities(dry, (0.0, 0.1), step=0.01)
