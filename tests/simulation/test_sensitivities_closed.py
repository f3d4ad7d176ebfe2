"""Sensitivities of closed mechanisms: against the method applied to linear systems, and an own model of a four-bar."""

import numpy as np
import pytest
import scipy.integrate

import chasles as ch
from tests.absolute import loops
from tests.relative import closed

RK4 = ch.integrate.RKMK("rk4")
Z = (0.0, 0.0, 1.0)


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
            assert np.abs(column[row, [0, 2]] - wanted).max() < 1e-10 * max(np.abs(wanted).max(), 0.1)
            assert np.abs(column[row, [1, 3]] + 2.5 * wanted).max() < 1e-10 * max(np.abs(wanted).max(), 0.1)
    for k, name in ((3, "stiffness"), (4, "inertia")):
        x = given.copy()
        x[k] += 1j * small
        wanted = stepped(x[3], x[4], x[2], x[:2], 0.01, 50).imag / small
        assert np.abs(found[name][-1, [0, 2]] - wanted).max() < 1e-10 * np.abs(wanted).max()
    assert "same steps" in found.notes[0]


def test_four_bar():
    """Lagrange's equation in the crank's angle, by SciPy; three of the equations are redundant."""
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, 0.8, 1.0)
    found = ch.sensitivities(mechanism, (0.0, 0.3), q, v, method=ch.integrate.RKMK("dopri5"), step=0.002, save="final")

    def flow(x):
        def rates(t, y):
            return [y[1], -closed.four_bar_torque(y[0], y[1], 0.0) / (2 * loops.four_bar_energy(y[0])[0])]

        return scipy.integrate.solve_ivp(rates, (0.0, 0.3), x, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]

    h = 1e-3
    for k, name in enumerate("qv"):
        e = np.eye(2)[k]
        near, far = (flow([0.8, 1.0] + s * h * e) - flow([0.8, 1.0] - s * h * e) for s in (1, 2))
        wanted = (8 * near - far) / (12 * h)
        assert np.abs(found[name][-1, [0, 3], 0] - wanted).max() < 1e-7 * np.abs(wanted).max()
    along = ch.sensitivities(
        *(mechanism, (0.0, 0.3), q, v), directions=[2, 0, 0, 1, 0, 0], method=RK4, step=0.002, save="final"
    )
    both = 2 * found["q"][-1] + found["v"][-1]
    assert np.abs(along["directions"][-1] - both).max() < 1e-6 * np.abs(both).max()


def test_what_is_refused():
    system = gears(40.0, 0.3)
    with pytest.raises(ValueError, match="are differences of runs with equal steps; give step"):
        ch.sensitivities(system, (0.0, 0.1))
    with pytest.raises(ValueError, match="wrt 'mass' is unknown; expected some of 'q', 'v', 'control'"):
        ch.sensitivities(system, (0.0, 0.1), wrt="mass", step=0.01)
    with pytest.raises(ValueError, match="nothing to differentiate"):
        ch.sensitivities(system, (0.0, 0.1), wrt=(), step=0.01)
    dry = closed.four_bar(friction=0.4, friction_speed=0.0)
    with pytest.raises(ValueError, match="sensitivities: joint 'A' has friction that sticks"):
        ch.sensitivities(dry, (0.0, 0.1), step=0.01)
