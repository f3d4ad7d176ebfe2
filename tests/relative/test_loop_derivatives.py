"""Derivatives of forward and inverse dynamics of closed mechanisms: against an own model on complex numbers, against
differences of eighth order, and along curves on the constraints."""

from functools import cache

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import bicycle
from chasles.gallery.overconstrained import parallelogram
from tests.absolute import loops
from tests.relative import closed
from tests.simulation.test_linearize_closed import shafts, suspension

WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def custom() -> ch.System:
    """A body that slides on a paraboloid, by a law of the user's, driven about an axis."""

    @ch.law
    def bowl(t, poses, twists, p, out):
        x, y, z = poses[11], poses[12], poses[13]
        u, w = twists[9], twists[10]
        out[0] = z - p[0] * (x * x + y * y)
        out[21 + 3], out[21 + 4], out[21 + 5] = -2 * p[0] * x, -2 * p[0] * y, 1.0
        out[39] = 2 * p[0] * (u * u + w * w)

    bodies = [ch.Body(f"b{k}", 0.1, inertia=(0.01, 0.01, 0.01)) for k in range(2)] + [ch.Body("ball", 1.0)]
    joints = [
        ch.prismatic("x", "ground", "b0", axis=(1, 0, 0)),
        ch.prismatic("y", "b0", "b1", axis=(0, 1, 0)),
        ch.prismatic("z", "b1", "ball", axis=(0, 0, 1)),
    ]
    return ch.System(bodies, joints, constraints=[ch.CustomConstraint("bowl", ("ground", "ball"), bowl, 1, (0.7,))])


SYSTEMS = {
    "RSSR": closed.rssr,
    "suspension": suspension,
    "random": lambda: closed.random_closed(3, ("revolute", "spherical"))[0],
    "gears, drive": lambda: shafts(2.5, ch.Drive("motor", "three", "sin(3 * t)")),
    "bicycle": bicycle.system,
    "law": custom,
    "four-bar": closed.four_bar,
    "parallelogram": lambda: parallelogram().system,
}
REDUNDANT = ("four-bar", "parallelogram")


@cache
def state(name: str):
    """A mechanism and a state of it that moves, with forces and wrenches."""
    mechanism, rng, t = SYSTEMS[name]().compile(), np.random.default_rng(1), 0.3
    near = {"A": 1.0, "B": -1.0, "C": 1.0, "D": 1.0}
    q = mechanism.assemble([near[j] for j in mechanism.joints] if name == "parallelogram" else None, t)
    v = mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv), t)
    return mechanism, q, v, rng.normal(size=mechanism.nv), rng.normal(size=(len(mechanism.bodies), 6)), t


def slope(function, h=2.0**-7):
    """Derivative at zero of a function of a number."""
    return sum(w * (function(k * h) - function(-k * h)) for k, w in enumerate(WEIGHTS, 1)) / h


def off(got, wanted, size) -> float:
    """Largest difference, relative to what is large."""
    difference = np.abs(got - wanted).max()
    return float(difference / np.abs(size).max()) if difference else 0.0


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in REDUNDANT])
def test_forward_dynamics(name):
    """In all directions, those that leave the constraints too."""
    m, q, v, tau, wrenches, t = state(name)
    found = m.derivatives.forward_dynamics(q, v, tau, wrenches, t)
    every = np.concatenate(found, axis=1)
    for column, move in zip(every.T, np.eye(3 * m.nv), strict=True):
        by_q, by_v, by_tau = np.split(move, 3)

        def values(s, by_q=by_q, by_v=by_v, by_tau=by_tau):
            return m.forward_dynamics(m.retract(q, s * by_q), v + s * by_v, tau + s * by_tau, wrenches, t)

        assert off(column, slope(values), every) < 1e-11


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("actuated", ["all", "one"])
def test_along_curves_on_the_constraints(name, actuated):
    """Accelerations and the forces of inverse dynamics, where rows depend on each other too."""
    m, q, v, tau, wrenches, t = state(name)
    linear = ch.linearize(m, q, v, t=t)
    if not len(linear.A):
        pytest.skip("nothing moves")
    move = linear.basis @ np.random.default_rng(2).normal(size=len(linear.A))
    move, nv = move / np.abs(move).max(), m.nv
    joints = list(m.joints)
    freedoms = m.mobility(q, t).freedoms
    if actuated == "one":
        if freedoms != 1:
            pytest.skip("more than one freedom")
        joints = joints[:1]

    def values(s):
        at = m.assemble(m.retract(q, s * move[:nv]), t)
        speed = m.consistent_velocities(at, v + s * move[nv:], t)
        a = m.forward_dynamics(at, speed, tau, wrenches, t)
        forces = m.inverse_dynamics(at, speed, a, wrenches, actuated=joints, applied=False, t=t)
        return np.concatenate([m.difference(at, q), speed - v, a, forces])

    change = slope(values)
    d, dv, da, forces = np.split(change, 4)
    a = m.forward_dynamics(q, v, tau, wrenches, t)
    of_forward = m.derivatives.forward_dynamics(q, v, tau, wrenches, t)
    of_inverse = m.derivatives.inverse_dynamics(q, v, a, wrenches, actuated=joints, t=t)
    # relative to the terms that the sums are made of
    assert off(of_forward.dq @ d + of_forward.dv @ dv, da, np.abs(of_forward.dq) @ np.abs(d)) < 1e-11
    found = of_inverse.dq @ d + of_inverse.dv @ dv + of_inverse.da @ da
    assert off(found, forces, np.abs(of_inverse.da) @ np.abs(da)) < 1e-11


def planar_four_bar(q, v, tau):
    """Accelerations of the angles of crank, coupler and rocker (the cut one is at its tip), from own formulas."""
    lengths = (loops.CRANK, loops.COUPLER, loops.ROCKER)
    masses = tuple(loops.MASSES.values())
    J = np.array([[length * f(q[k]) for k, length in enumerate(lengths)] for f in (lambda x: -np.sin(x), np.cos)])
    J[:, 2] *= -1.0
    bend = np.array([[-length * f(q[k]) for k, length in enumerate(lengths)] for f in (np.cos, np.sin)])
    bend[:, 2] *= -1.0
    c = -bend @ v**2
    M, h = np.zeros((3, 3), dtype=complex), np.zeros(3, dtype=complex)
    g = -loops.FOUR_BAR_GRAVITY[1]
    for chain in ((0,), (0, 1), (2,)):
        last = chain[-1]
        arms = [lengths[k] / (2 if k == last else 1) for k in chain]
        P = np.zeros((2, 3), dtype=complex)
        b = np.zeros(2, dtype=complex)
        for k, arm in zip(chain, arms, strict=True):
            P[:, k] = arm * np.array([-np.sin(q[k]), np.cos(q[k])])
            b += -arm * np.array([np.cos(q[k]), np.sin(q[k])]) * v[k] ** 2
        M += masses[last] * P.T @ P
        M[last, last] += loops.rod("x", lengths[last], masses[last]).inertia[2][2]
        h += masses[last] * P.T @ (b + np.array([0.0, g]))
    K = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    return np.linalg.solve(K, np.concatenate([tau - h, c]))[:3]


def test_four_bar_on_complex_numbers():
    """Own equations in absolute angles, differentiated by an imaginary step: exact, as dual numbers are. The tree has
    relative angles of crank and coupler and the rocker's own; q in the plane alone, where no row is redundant."""
    system = closed.four_bar()
    joints = list(system.joints)
    joints[2] = ch.spherical("C", "coupler", "rocker", at=(loops.COUPLER, 0.0, 0.0), child_at=(loops.ROCKER, 0.0, 0.0))
    m = ch.System(system.bodies, joints, gravity=loops.FOUR_BAR_GRAVITY).compile(cut=["C"])
    a, b, c = loops.four_bar_angles(0.8)
    rates = 2.0 * loops.four_bar_rates(0.8)
    angles = np.array([a, b, c])
    T = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # absolute angles of those of joints
    assert m.joints == ("A", "B", "D")
    q, v = np.linalg.solve(T, angles), np.linalg.solve(T, rates)
    tau = np.array([0.3, -0.2, 0.5])

    def own(q, v, tau):
        return np.linalg.solve(T, planar_four_bar(T @ q, T @ v, np.linalg.solve(T.T, tau)))

    a = own(q, v, tau)
    assert off(m.forward_dynamics(q, v, tau), a.real, a) < 1e-13
    found = m.derivatives.forward_dynamics(q, v, tau)
    allowed = ch.linearize(m, q, v).basis
    by = np.concatenate([found.dq, found.dv], axis=1) @ allowed
    step = 1e-30
    wanted = np.array([own(q + 1j * step * x[:3], v + 1j * step * x[3:], tau).imag / step for x in allowed.T]).T
    assert off(by, wanted, wanted) < 1e-11
    wanted = np.array([own(q, v, tau + 1j * step * x).imag / step for x in np.eye(3)]).T
    assert off(found.dtau, wanted, wanted) < 1e-11


def test_batches_and_messages():
    m, q, v, tau, _, _ = state("RSSR")
    many = m.derivatives.forward_dynamics(np.stack([q, q]), v, tau)
    one = m.derivatives.forward_dynamics(q, v, tau)
    assert all(np.array_equal(x[1], y) for x, y in zip(many, one, strict=True))
    with pytest.raises(ValueError, match=r"derivatives\.forward_dynamics: v has shape"):
        m.derivatives.forward_dynamics(q, v[:-1], tau)
    with pytest.raises(AttributeError, match=r"spanning\.derivatives"):
        _ = m.derivatives.mass_matrix
