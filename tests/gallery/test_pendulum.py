"""The N-fold spherical pendulum: the O(N) fields against the paper's dense formulas, and the paper's experiments."""

import time

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery.pendulum import Pendulum
    from chasles.integrate.engine import evaluate
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)

UP = np.array([0.0, 0.0, 1.0])


def hat(a):
    return np.array([[0 * a[0], -a[2], a[1]], [a[2], 0 * a[0], -a[0]], [-a[1], a[0], 0 * a[0]]])


def random_chain(number, seed=0, **others):
    rng = np.random.default_rng(seed + number)
    q = rng.normal(size=(number, 3))
    q /= np.linalg.norm(q, axis=1)[:, None]
    w = np.cross(q, rng.normal(size=(number, 3)))
    masses, lengths = rng.uniform(0.5, 3, number), rng.uniform(0.5, 2, number)
    return Pendulum(masses.tolist(), lengths.tolist(), 9.81, q, w, **others)


def inertia(chain, i, j):
    """M_ij: all masses from max(i, j) on, times L_i L_j."""
    return sum(chain.masses[max(i, j) :]) * chain.lengths[i] * chain.lengths[j]


def dense_matrix(chain, q):
    """R(q) of celledoni2022 section 5.2; q may be complex, for derivatives."""
    n = chain.number
    blocks = [
        [inertia(chain, i, j) * (np.eye(3) if i == j else hat(q[i]).T @ hat(q[j])) for j in range(n)] for i in range(n)
    ]
    return np.block(blocks)


def dense_acceleration(chain, q, w):
    """h = ω' from R(q) ω' = [Σ_{j≠i} M_ij |ω_j|² q_i x q_j - Σ_{k≥i} m_k g L_i q_i x e3]."""
    n = chain.number
    right = np.zeros((n, 3))
    for i in range(n):
        right[i] = -sum(chain.masses[i:]) * chain.gravity * chain.lengths[i] * np.cross(q[i], UP)
        for j in range(n):
            if j != i:
                right[i] += inertia(chain, i, j) * (w[j] @ w[j]) * np.cross(q[i], q[j])
    return np.linalg.solve(dense_matrix(chain, q), right.ravel()).reshape(n, 3)


def dense_hamiltonian(chain, q, momenta):
    potential = sum(sum(chain.masses[i:]) * chain.gravity * chain.lengths[i] * q[i, 2] for i in range(chain.number))
    return 0.5 * momenta.ravel() @ np.linalg.solve(dense_matrix(chain, q), momenta.ravel()) + potential


def field_of(chain, y=None):
    problem = chain.problem()
    out = np.empty(problem.space.dimension)
    evaluate(problem.field.address, 0.0, chain.initial() if y is None else y, np.array(problem.parameters), out)
    return out.reshape(-1, 2, 3)


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, abs(expected).max()))


# ---------------------------------------------------------------- the fields


@pytest.mark.parametrize("seed", range(0, 40, 10))
@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_field_is_that_of_the_dense_formula(number, seed):
    chain = random_chain(number, seed)
    found = field_of(chain)
    np.testing.assert_array_equal(found[:, 0], chain.velocities)
    expected = np.cross(chain.directions, dense_acceleration(chain, chain.directions, chain.velocities))
    close(found[:, 1], expected, 1e-13)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(0, 40, 10))
@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_hamiltonian_field_is_the_derivative_of_the_dense_hamiltonian(number, seed):
    """∂H/∂π is ω; ∂H/∂q, of which only the part across the rod acts, by complex steps."""
    chain = random_chain(number, seed, momenta=True)
    q, w = np.array(chain.directions), np.array(chain.velocities)
    momenta = chain.initial().reshape(-1, 2, 3)[:, 1]
    close(momenta, (dense_matrix(chain, q) @ w.ravel()).reshape(-1, 3), 1e-14)
    found = field_of(chain)
    close(found[:, 0], w, 1e-13)
    slope = np.empty_like(q)
    for index in np.ndindex(*q.shape):
        shifted = q.astype(complex)
        shifted[index] += 1e-50j
        slope[index] = dense_hamiltonian(chain, shifted, momenta).imag / 1e-50
    close(np.cross(found[:, 1], q), np.cross(slope, q), 1e-12)


def test_coordinates_move_as_the_dense_formula_says():
    chain = random_chain(3, 4)
    q, w = np.array(chain.directions), np.array(chain.velocities)
    problem, out = chain.problem_in_coordinates(), np.empty(18)
    assert problem.space.dimension == 18
    evaluate(problem.field.address, 0.0, chain.initial(), np.array(problem.parameters), out)
    close(out.reshape(3, 2, 3), np.stack([np.cross(w, q), dense_acceleration(chain, q, w)], axis=1), 1e-13)


def test_two_pendulums_by_the_paper_s_equation_35():
    chain = random_chain(2, 5)
    (q1, q2), (w1, w2) = chain.directions, chain.velocities
    (m1, m2), (l1, l2), g = chain.masses, chain.lengths, chain.gravity
    matrix = np.block(
        [
            [(m1 + m2) * l1**2 * np.eye(3), m2 * l1 * l2 * hat(q1).T @ hat(q2)],
            [m2 * l1 * l2 * hat(q2).T @ hat(q1), m2 * l2**2 * np.eye(3)],
        ]
    )
    right = np.concatenate(
        [
            (-m2 * l1 * l2 * (w2 @ w2) * hat(q2) + (m1 + m2) * g * l1 * hat(UP)) @ q1,
            (-m2 * l1 * l2 * (w1 @ w1) * hat(q1) + m2 * g * l2 * hat(UP)) @ q2,
        ]
    )
    expected = np.cross(chain.directions, np.linalg.solve(matrix, right).reshape(2, 3))
    close(field_of(chain)[:, 1], expected, 1e-13)


@pytest.mark.parametrize("momenta", [False, True])
def test_time_of_a_field_is_linear_in_the_number_of_rods(momenta):
    """Ten times the rods took 11 times as long when measured (14 and 26 ns a rod); a dense matrix would need 1000."""
    seconds = []
    for number in (1000, 10_000):
        chain = random_chain(number, momenta=momenta)
        problem = chain.problem()
        p, y, out = np.array(problem.parameters), chain.initial(), np.empty(6 * number)
        best = np.inf
        for _ in range(20):
            begin = time.process_time()
            evaluate(problem.field.address, 0.0, y, p, out)
            best = min(best, time.process_time() - begin)
        seconds.append(best)
    assert seconds[1] < 30 * seconds[0], seconds


# ---------------------------------------------------------------- energy, momentum


@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_energy_is_footnote_6_corrected(number):
    chain = random_chain(number)
    q, w = np.array(chain.directions), np.array(chain.velocities)
    dq = np.cross(w, q)
    kinetic = 0.5 * sum(inertia(chain, i, j) * dq[i] @ dq[j] for i in range(number) for j in range(number))
    potential = sum(chain.masses[i] * chain.gravity * chain.positions(chain.initial())[i, 2] for i in range(number))
    assert chain.energy(chain.initial()) == pytest.approx(kinetic + potential, rel=1e-13)
    other = random_chain(number, momenta=True)
    assert other.energy(other.initial()) == pytest.approx(kinetic + potential, rel=1e-13)
    np.testing.assert_allclose(other.angular_velocities(other.initial()), w, atol=1e-13)
    speeds = np.cumsum(np.array(chain.lengths)[:, None] * dq, axis=0)
    spin = (np.array(chain.masses)[:, None] * np.cross(chain.positions(chain.initial()), speeds)).sum(axis=0)
    assert chain.vertical_momentum(chain.initial()) == pytest.approx(spin[2], rel=1e-12, abs=1e-13)
    assert other.vertical_momentum(other.initial()) == pytest.approx(spin[2], rel=1e-12, abs=1e-13)


@pytest.mark.sample(1)
@pytest.mark.parametrize("momenta", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_invariants_and_agreement_with_the_dense_formula_in_three_dimensions(number, momenta):
    chain = random_chain(number, momenta=momenta)
    found = ch.integrate.solve(
        chain.problem(), ch.integrate.RKMK("dop853"), (0, 0.2), chain.initial(), rtol=1e-12, atol=1e-13
    )
    for name, invariant in chain.invariants().items():
        assert abs(invariant(found.y) - invariant(found.y[0])).max() < 1e-9, name

    def equation(t, y):
        q, w = y.reshape(2, -1, 3)
        return np.concatenate([np.cross(w, q).ravel(), dense_acceleration(chain, q, w).ravel()])

    start = np.concatenate([np.ravel(chain.directions), np.ravel(chain.velocities)])
    q, w = solve_ivp(equation, (0, 0.2), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1].reshape(2, -1, 3)
    end = found.y[-1]
    close(end.reshape(-1, 2, 3)[:, 0], q, 1e-8)
    close(chain.angular_velocities(end), w, 1e-8)


def test_a_long_chain():
    """100 rods in three dimensions, both forms."""
    ends = []
    for momenta in (False, True):
        chain = Pendulum.uniform(100, length=0.02, velocities=(0.3, 1.0, -0.3), momenta=momenta)
        found = ch.integrate.solve(
            chain.problem(), ch.integrate.RKMK("dopri5"), (0, 0.3), chain.initial(), rtol=1e-9, atol=1e-9
        )
        assert found.success
        energy = chain.energy(found.y)
        assert abs(energy - energy[0]).max() < 1e-5 * abs(energy[0])
        ends.append(chain.positions(found.y[-1]))
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-5)


# ---------------------------------------------------------------- known motions


def test_conical_pendulum():
    """A circle at the angle θ below the horizontal plane's normal: φ' = sqrt(g / (L cos θ))."""
    angle, length = 0.6, 1.7
    rate = np.sqrt(9.81 / (length * np.cos(angle)))
    q = np.array([np.sin(angle), 0, -np.cos(angle)])
    w = rate * (UP - q[2] * q)
    chain = Pendulum((2.3,), (length,), 9.81, q, w)
    found = ch.integrate.solve(
        chain.problem(), ch.integrate.RKMK("dop853"), (0, 5), chain.initial(), rtol=1e-12, atol=1e-13
    )
    circle = np.sin(angle) * np.cos(rate * found.t), np.sin(angle) * np.sin(rate * found.t)
    expected = np.stack([*circle, np.full_like(found.t, q[2])], axis=-1)
    np.testing.assert_allclose(found.y[:, :3], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("momenta", [False, True])
def test_simple_pendulum_of_the_iftomm_library(momenta):
    """A01: 1 kg at 1 m, released from the horizontal; positions from the elliptic solution."""
    chain = Pendulum((1.0,), (1.0,), 9.81, (-1.0, 0, 0), (0.0, 0, 0), momenta)
    exact = {1: (0.986291751132, -0.165010853126), 5: (-0.942305435044, -0.334754338414)}
    exact[10] = (-0.275087462577, -0.961419205099)
    for end, (x, z) in exact.items():
        found = ch.integrate.solve(
            chain.problem(), ch.integrate.RKMK("dop853"), (0, end), chain.initial(), rtol=1e-12, atol=1e-13
        )
        np.testing.assert_allclose(found.y[-1, :3], (x, 0, z), rtol=0, atol=1e-10)


# ---------------------------------------------------------------- experiments of celledoni2022 section 5.3


def reference(chain, end):
    """The paper's initial value problem with the dense formula, far more accurate than what it is compared with."""

    def equation(t, y):
        q, w = y.reshape(-1, 2, 3)[:, 0], y.reshape(-1, 2, 3)[:, 1]
        return np.stack([np.cross(w, q), dense_acceleration(chain, q, w)], axis=1).ravel()

    return solve_ivp(equation, (0, end), chain.initial(), "DOP853", rtol=1e-10, atol=1e-11).y[:, -1]


def test_variable_steps_of_figure_8():
    """N = 2, T = 3, tolerance 1e-6: 119 steps, 10 rejections, error 1.0e-5; with 119 equal steps 8.2e-3."""
    chain = Pendulum()
    truth = reference(chain, 3.0)
    varied = ch.integrate.solve(
        chain.problem(), ch.integrate.RKMK("dopri5"), (0, 3), chain.initial(), rtol=0, atol=1e-6, step_control="paper"
    )
    assert (varied.steps, varied.rejections) == (119, 10)
    assert np.linalg.norm(varied.y[-1] - truth) == pytest.approx(1.0e-5, rel=0.05)
    equal = ch.integrate.solve(chain.problem(), ch.integrate.RKMK("dopri5"), (0, 3), chain.initial(), step=3 / 119)
    assert equal.steps == 119
    assert np.linalg.norm(equal.y[-1] - truth) == pytest.approx(8.2e-3, rel=0.05)


@pytest.mark.parametrize(
    "method",
    [ch.integrate.RKMK("rk4"), ch.integrate.RKMK("dopri5"), ch.integrate.CommutatorFree("cf4")],
    ids=["rk4", "dopri5", "cf4"],
)
@pytest.mark.parametrize("velocities", [(0.0, 1.0, 0.0), (0.5, 1.0, -0.5)], ids=["planar", "spatial"])
def test_lengths_and_tangency_of_figures_6_and_7(method, velocities):
    chain = Pendulum(velocities=velocities)
    found = ch.integrate.solve(chain.problem(), method, (0, 5), chain.initial(), step=0.01)
    q, w = np.moveaxis(found.y.reshape(-1, 2, 2, 3), 2, 0)
    assert abs(np.linalg.norm(q, axis=-1) - 1).max() < 1e-14
    fastest = np.linalg.norm(w, axis=-1).max() if velocities[0] else 1.0  # roundings are relative to |ω|
    assert abs((q * w).sum(axis=-1)).max() < 1e-14 * fastest


# ---------------------------------------------------------------- use


def test_quantities_keep_leading_axes():
    for momenta in (False, True):
        chain = Pendulum.uniform(3, momenta=momenta)
        points = np.broadcast_to(chain.initial(), (2, 5, 18))
        assert chain.energy(points).shape == (2, 5)
        assert chain.vertical_momentum(points).shape == (2, 5)
        assert chain.angular_velocities(points).shape == (2, 5, 3, 3)
        assert chain.positions(points).shape == (2, 5, 3, 3)


def chain_of(**arguments):
    return Pendulum(**({"masses": (1.0, 1.0), "lengths": (1.0, 1.0)} | arguments))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: chain_of(masses=()), "at least one"),
        (lambda: chain_of(masses=(1.0, 0.0)), "masses.*positive"),
        (lambda: chain_of(lengths=(1.0,)), r"lengths: shape \(1,\); expected \(2,\)"),
        (lambda: chain_of(gravity=np.nan), "gravity.*finite"),
        (lambda: chain_of(directions=(0, 0, -1.1)), "direction 0 has length 1.1"),
        (lambda: chain_of(directions=np.zeros((3, 3))), r"directions: shape \(3, 3\); expected \(2, 3\)"),
        (lambda: chain_of(velocities=(1.0, 0, 1.0)), "velocity 0 has the part 1.41 along"),
        (lambda: Pendulum.uniform(0), "at least one"),
        (lambda: chain_of(momenta=True).problem_in_coordinates(), "expected momenta=False"),
        (lambda: chain_of().energy(np.zeros(6)), r"expected \(..., 12\)"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
