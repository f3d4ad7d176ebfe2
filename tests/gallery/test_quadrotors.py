"""Two quadrotors with a load: equation (37) against a multiplier form, the control against its own aim."""

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery import quadrotors
    from chasles.gallery.quadrotors import P, Quadrotors, X, Y
    from chasles.gallery.rigid_body import RigidBody
    from chasles.integrate.engine import evaluate
    from chasles.integrate.vector_field import field
    from chasles.kernel.workspace import load3
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)

DOWN = np.array([0.0, 0.0, 1.0])


@field
def pushed(t, y, p, out):
    """The motion of the package under given thrusts, which follow the parameters."""
    u1, u2 = load3(p, P.size, 0.0), load3(p, P.size + 3, 0.0)
    dv = quadrotors.load_acceleration(y, p, u1, u2)
    for k in range(3):
        out[k], out[3 + k] = y[3 + k], dv[k]
    quadrotors.move_rotor(y, p, out, Y.turn1, Y.rates1, X.turn1, P.first)
    quadrotors.move_rotor(y, p, out, Y.turn2, Y.rates2, X.turn2, P.second)
    quadrotors.move_link(y, p, out, Y.link1, X.link1, P.first, dv, u1)
    quadrotors.move_link(y, p, out, Y.link2, X.link2, P.second, dv, u2)


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def some_state(seed=0):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(2, 3))
    q /= np.linalg.norm(q, axis=1)[:, None]
    w = np.cross(q, rng.normal(size=(2, 3)))
    turns = rng.normal(size=(2, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    rates = rng.normal(size=(2, 3))
    y = np.concatenate(
        [rng.normal(size=6), *(np.concatenate(z) for z in zip(turns, rates, strict=True)), *np.hstack([q, w])]
    )
    return y, q, w, turns, rates, rng.normal(size=(2, 3))


def value(function, system, y, t=0.0, extra=()):
    out = np.empty(30)
    evaluate(function.address, t, y, np.array([*system.problem().parameters, *np.ravel(extra)]), out)
    return out


def accelerations(out, q):
    """v', ω_1', ω_2' of an algebra element: the slots hold q_i x ω_i', and ω_i'·q_i = 0."""
    return np.concatenate(
        [out[3:6], np.cross(out[X.link1 + 3 : X.link1 + 6], q[0]), np.cross(out[X.link2 + 3 :], q[1])]
    )


def by_the_paper(system, q, w, rates, u):
    """(37): A(z) z' = h(z) with z = [y, v, Ω_1, Ω_2, ω_1, ω_2], without moments."""
    m, (m1, m2), (l1, l2), g = system.load_mass, system.masses, system.lengths, system.gravity
    matrix, right = np.eye(18), np.zeros(18)
    mq = m * np.eye(3) + m1 * np.outer(q[0], q[0]) + m2 * np.outer(q[1], q[1])
    matrix[3:6, 3:6] = mq
    right[3:6] = mq @ (g * DOWN)
    for i, (mass, length) in enumerate(((m1, l1), (m2, l2))):
        inertia = np.diag(system.inertias[i])
        rotor, link = slice(6 + 3 * i, 9 + 3 * i), slice(12 + 3 * i, 15 + 3 * i)
        along = np.outer(q[i], q[i]) @ u[i]
        matrix[rotor, rotor] = inertia
        matrix[link, 3:6] = -hat(q[i]) / length
        right[3:6] += along - mass * length * (w[i] @ w[i]) * q[i]
        right[rotor] = -np.cross(rates[i], inertia @ rates[i])
        right[link] = -g / length * np.cross(q[i], DOWN) - np.cross(q[i], u[i] - along) / (mass * length)
    z = np.linalg.solve(matrix, right)
    return np.concatenate([z[3:6], z[12:]]), z[6:12]


def by_multipliers(system, q, w, u):
    """Newton for three point masses with the forces of the links as unknowns."""
    masses = (system.load_mass, *system.masses)
    matrix, right = np.zeros((11, 11)), np.zeros(11)
    for i, mass in enumerate(masses):
        body = slice(3 * i, 3 * i + 3)
        matrix[body, body] = mass * np.eye(3)
        right[body] = mass * system.gravity * DOWN + (u[i - 1] if i else 0)
    for i in range(2):  # q_i·(y'' - y_i'') = -L_i |ω_i|²
        body = slice(3 + 3 * i, 6 + 3 * i)
        matrix[:3, 9 + i], matrix[body, 9 + i] = q[i], -q[i]
        matrix[9 + i, :3], matrix[9 + i, body] = q[i], -q[i]
        right[9 + i] = -system.lengths[i] * (w[i] @ w[i])
    a = np.linalg.solve(matrix, right)
    turns = [np.cross(q[i], a[:3] - a[3 + 3 * i : 6 + 3 * i]) / system.lengths[i] for i in range(2)]
    return np.concatenate([a[:3], *turns])


@pytest.mark.parametrize("seed", range(5))
def test_equation_37(seed):
    y, q, w, _, rates, u = some_state(seed)
    system = Quadrotors(masses=(0.7, 1.3), inertias=((0.08, 0.09, 0.14), (0.1, 0.2, 0.15)))
    out = value(pushed, system, y, extra=u)
    expected, spins = by_the_paper(system, q, w, rates, u)
    np.testing.assert_allclose(expected, by_multipliers(system, q, w, u), rtol=0, atol=2e-13)
    np.testing.assert_allclose(accelerations(out, q), expected, rtol=0, atol=2e-13)
    np.testing.assert_allclose([*out[X.rates1 : X.turn2], *out[X.rates2 : X.link1]], spins, rtol=0, atol=1e-14)


def test_the_field_acts_as_the_equations_of_motion():
    """Derivative of exp(h f)·P: y, v, R_i, Ω_i, q_i, ω_i change as (36) and (38) say."""
    y, q, w, turns, rates, _ = some_state(7)
    system = Quadrotors()
    out, h = value(quadrotors.transport, system, y, 0.3), 1e-5
    space = system.problem().space
    change = (space.move(y, h * out) - space.move(y, -h * out)) / (2 * h)
    np.testing.assert_allclose(change[:3], y[3:6], atol=1e-9)
    for i, at in enumerate((Y.turn1, Y.turn2)):
        (s, *v), o = turns[i], rates[i]
        np.testing.assert_allclose(
            change[at : at + 4], np.concatenate([[-np.dot(v, o)], s * o + np.cross(v, o)]) / 2, atol=1e-8
        )
    a = accelerations(out, q)
    for i, at in enumerate((Y.link1, Y.link2)):
        np.testing.assert_allclose(change[at : at + 3], np.cross(w[i], q[i]), atol=1e-8)
        np.testing.assert_allclose(change[at + 3 : at + 6], a[3 + 3 * i : 6 + 3 * i], rtol=1e-7, atol=1e-7)


# ---------------------------------------------------------------- control

CURVED = {
    "path": ((-2.0, 0.5, 0.2, -0.03, 0.01, -0.001), (0.1, 0.4, -0.1, 0.02), (-1.0, -2.0, 0.3, 0.05, -0.01, 0.002))
}
START = {"angular_velocities": ((0.0, 0.4, 0.0), (0.0, -0.3, 0.0)), "velocity": (0.3, -0.2, 0.1)}


def wanted_force(system, t, y):
    """F and μ_i, straight from their definition."""
    path = [np.polynomial.Polynomial(c) for c in system.path]
    yd, yd1, yd2 = (np.array([c.deriv(k)(t) for c in path]) for k in range(3))
    ky, kv = system.gains[:2]
    force = system.load_mass * (-ky * (y[:3] - yd) - kv * (y[3:6] - yd1) + yd2 - system.gravity * DOWN)
    r = np.array(system.formation)
    shares = [
        (force @ q) * q / (r[i, 2] * np.linalg.norm(r.sum(axis=0)))
        for i, q in enumerate((y[Y.link1 : Y.link1 + 3], y[Y.link2 : Y.link2 + 3]))
    ]
    return force, shares


def goals(system, t, y):
    """q_d of both links: the formation turned so that its third axis is -F."""
    force, _ = wanted_force(system, t, y)
    columns = -np.cross(force, np.cross(force, system.normal)), -np.cross(force, system.normal), -force
    frame = np.stack([c / np.linalg.norm(c) for c in columns], axis=-1)
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-14)
    return [frame @ r for r in system.formation]


@pytest.mark.parametrize("when", [0.05, 0.4, 1.0, 2.0])
def test_the_control_gives_load_and_links_the_accelerations_it_is_made_for(when):
    """v' = g e3 + (μ_1 + μ_2)/m_y exactly, and ω_i' = -k_q e_q - k_w e_w - (q_i·ω_d) q_i' - q_i x (q_i x ω_d'),
    with the derivatives of q_d taken numerically along the motion."""
    system = Quadrotors(**CURVED, **START)
    problem, h = system.problem(), 2e-3
    start = ch.integrate.solve(
        problem, ch.integrate.RKMK("dop853"), (0, when), system.initial(), rtol=1e-12, atol=1e-13
    ).y[-1]
    points = {0: start}
    for k in (-3, -2, -1, 1, 2, 3):
        points[k] = ch.integrate.solve(
            problem, ch.integrate.RKMK("dop853"), (when, when + k * h), start, step=h / 4, save="final"
        ).y[-1]
    track = {k: np.array(goals(system, when + k * h, y)) for k, y in points.items()}
    first = sum(c * (track[k] - track[-k]) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)
    second = sum(c * (track[k] + track[-k]) for k, c in ((1, 270), (2, -27), (3, 2))) - 490 * track[0]
    second /= 180 * h * h
    links = start[Y.link1 :].reshape(2, 2, 3)
    found = accelerations(value(quadrotors.transport, system, start, when), links[:, 0])
    _, shares = wanted_force(system, when, start)
    np.testing.assert_allclose(found[:3], system.gravity * DOWN + sum(shares) / system.load_mass, rtol=0, atol=1e-12)
    for i, (q, w) in enumerate(links):
        goal, turn, turn1 = track[0][i], np.cross(track[0][i], first[i]), np.cross(track[0][i], second[i])
        expected = -system.gains[2] * np.cross(goal, q) - system.gains[3] * (w + np.cross(q, np.cross(q, turn)))
        expected += -(q @ turn) * np.cross(w, q) - np.cross(q, np.cross(q, turn1))
        expected -= q * (q @ expected)
        np.testing.assert_allclose(found[3 + 3 * i : 6 + 3 * i], expected, rtol=0, atol=1e-6)


def test_the_experiment_of_the_paper():
    """Figures 14-18: the load comes to its path, the links keep their length."""
    system = Quadrotors()
    found = ch.integrate.solve(system.problem(), ch.integrate.RKMK("rk4"), (0, 5), system.initial(), step=5 / 1999)
    error = system.load_error(found.t, found.y)
    assert error[0] == pytest.approx(np.hypot(0.5, 0.75))
    assert np.interp(1.0, found.t, error) == pytest.approx(1.2, abs=0.05)
    assert error[-1] == pytest.approx(5.1e-5, rel=0.02)
    q, w = np.moveaxis(found.y[:, Y.link1 :].reshape(-1, 2, 2, 3), 2, 0)
    assert abs(np.linalg.norm(q, axis=-1) - 1).max() < 1e-14
    assert abs((q * w).sum(axis=-1)).max() < 1e-14
    for i in range(2):  # figure 17: the links are in formation
        np.testing.assert_allclose(q[-1, i], goals(system, 5.0, found.y[-1])[i], atol=1e-3)
    np.testing.assert_array_equal(found.y[-1, Y.turn1 : Y.link1], system.initial()[Y.turn1 : Y.link1])


def test_quantities_of_the_control_and_of_the_shape():
    """Forces, goals, links and positions, for many points and for one."""
    system = Quadrotors(**CURVED, **START)
    times = np.array([[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]])
    points = np.stack([some_state(seed)[0] for seed in range(6)]).reshape(2, 3, 32)
    force, wanted = system.load_force(times, points), system.desired_directions(times, points)
    links, rotors = system.links(points), system.rotor_positions(points)
    for at in np.ndindex(2, 3):
        np.testing.assert_allclose(force[at], wanted_force(system, times[at], points[at])[0], rtol=1e-13)
        np.testing.assert_allclose(wanted[at], goals(system, times[at], points[at]), atol=1e-14)
        np.testing.assert_allclose(system.desired_directions(times[at], points[at]), wanted[at], atol=1e-15)
        np.testing.assert_array_equal(links[at][1], points[at][Y.link2 : Y.link2 + 3])
        np.testing.assert_allclose(points[at][:3] - rotors[at], np.array([[0.6], [0.8]]) * links[at], atol=1e-15)


def test_orders():
    system = Quadrotors()
    truth = ch.integrate.solve(
        system.problem(), ch.integrate.RKMK("dop853"), (0, 1), system.initial(), rtol=1e-13, atol=1e-14
    ).y[-1]
    for method, order in ((ch.integrate.RKMK("rk4"), 4), (ch.integrate.CommutatorFree("cf4"), 4)):
        errors = [
            abs(ch.integrate.solve(system.problem(), method, (0, 1), system.initial(), step=h).y[-1] - truth).max()
            for h in (1 / 80, 1 / 160, 1 / 320)
        ]
        slopes = -np.diff(np.log2(errors))
        assert (abs(slopes - order) < 0.35).all(), (method, errors)


def test_another_path():
    """A curved path of degree five in space; a load that starts on it stays near it."""
    system = Quadrotors(**CURVED)
    found = ch.integrate.solve(
        system.problem(), ch.integrate.RKMK("dopri5"), (0, 6), system.initial(), rtol=1e-8, atol=1e-10
    )
    assert system.load_error(found.t[-1], found.y[-1]) < 1e-4
    np.testing.assert_allclose(system.desired(0.0), (-2, 0.1, -1))
    np.testing.assert_allclose(system.desired([1.0, 2.0])[0], [sum(c) for c in CURVED["path"]])


def test_rotors_turn_as_free_rigid_bodies():
    rates = ((1.0, 2.0, 3.0), (0.5, -1.0, 0.2))
    system = Quadrotors(rates=rates)
    found = ch.integrate.solve(
        system.problem(), ch.integrate.RKMK("dop853"), (0, 5), system.initial(), rtol=1e-11, atol=1e-12
    )
    for i, at in enumerate((Y.rates1, Y.rates2)):
        inertia = np.array(system.inertias[i])
        body = RigidBody(system.inertias[i], tuple(inertia * rates[i]))
        np.testing.assert_allclose(found.y[:, at : at + 3], body.reference(found.t) / inertia, rtol=0, atol=1e-8)
    for name, invariant in system.invariants().items():
        assert abs(invariant(found.y) - invariant(found.y[0])).max() < 1e-9, name


def test_without_thrust_energy_and_horizontal_momentum_are_constant():
    system = Quadrotors(controlled=False, **START)
    found = ch.integrate.solve(
        system.problem(), ch.integrate.RKMK("dop853"), (0, 3), system.initial(), rtol=1e-12, atol=1e-13
    )
    assert set(system.invariants()) == {"rotor energies", "rotor momenta", "energy", "horizontal momentum"}
    for name, invariant in system.invariants().items():
        assert abs(invariant(found.y) - invariant(found.y[0])).max() < 1e-8, name
    # the center of mass falls freely, from the velocity it has at the start
    masses, total = np.array(system.masses), sum(system.masses) + system.load_mass
    first, last = ((system.load_mass * y[3:6] + masses @ system.rotor_velocities(y)) / total for y in found.y[[0, -1]])
    np.testing.assert_allclose(last - first, 3 * system.gravity * DOWN, atol=1e-9)


def test_energy_by_hand():
    system = Quadrotors(velocity=(1.0, 2.0, 3.0), rates=((1.0, 0, 0), (0, 0, 2.0)))
    kinetic = 0.5 * (0.4 + 2 * 0.755) * 14 + 0.5 * (0.0820 + 0.1377 * 4)
    depth = 0.755 * (0.6 + 0.8) * np.cos(np.radians(80))  # quadrotors are above the load, e3 points down
    assert system.energy(system.initial()) == pytest.approx(kinetic + 9.81 * depth)
    points = np.broadcast_to(system.initial(), (2, 3, 32))
    assert system.energy(points).shape == (2, 3)
    assert system.rotor_momenta(points).shape == (2, 3, 2, 3)
    assert system.horizontal_momentum(points).shape == (2, 3, 2)
    assert system.load_error(np.zeros((2, 3)), points).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"load_mass": 0.0}, "load_mass.*positive"),
        ({"lengths": (1.0, -1.0)}, "lengths.*positive"),
        ({"inertias": (1.0, 1.0, 1.0)}, r"inertias: shape \(3,\)"),
        ({"path": ((1.0,), (2.0,))}, "path has 2 coordinates"),
        ({"path": ((1.0,) * 7, (0.0,), (0.0,))}, "7 coefficients; expected 1 to 6"),
        ({"path": ((np.inf,), (0.0,), (0.0,))}, "path.*finite"),
        ({"directions": ((0, 0, 1), (0, 0, 2))}, "directions of lengths.*unit"),
        ({"angular_velocities": ((0, 0, 1), (0, 0, 0))}, "along their links"),
        ({"formation": ((0, 0.6, 0.8), (0, 0.6, 0.8))}, "vertical"),
        ({"formation": ((0.6, 0, -0.8), (-0.6, 0, -0.8))}, "hang down"),
        ({"normal": (0.0, 0.0, 0.0)}, "normal is zero"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Quadrotors(**arguments)
