"""The free rigid body: the exact solution against integration, and integration against the exact solution."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery.rigid_body import FORMULATIONS, RigidBody, jacobi
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)

TIMES = np.linspace(0, 10, 41)


def integrated(inertia, momentum, times=TIMES):
    """Euler's equations by Newton's law, μ' = μ x I⁻¹ μ, with a method that knows nothing of groups."""
    inertia = np.array(inertia)
    return solve_ivp(
        lambda t, m: np.cross(m, m / inertia), times[[0, -1]], momentum, "DOP853", times, rtol=3e-14, atol=1e-15
    ).y.T


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "inertia", [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)], ids=lambda i: "".join(map(str, i))
)
@pytest.mark.parametrize("direction", [(1, 0.3, 0.2), (-0.2, 1, 0.3), (0.3, 0.2, -1), (0.5, -0.6, 0.7), (-1, -1, -1)])
def test_exact_solution_about_every_axis(inertia, direction):
    """All orders of the axes and all signs; about the largest, the smallest and next to the middle moment."""
    body = RigidBody(inertia, direction)
    np.testing.assert_allclose(body.reference(TIMES), integrated(inertia, direction), rtol=0, atol=2e-13)


@pytest.mark.parametrize(
    ("inertia", "momentum"),
    [
        ((1, 1, 2), (0.3, 0.4, 0.5)),
        ((2, 1, 1), (0.3, 0.4, 0.5)),
        ((1, 2, 1), (0.3, 0.4, 0.5)),
        ((1, 1, 1), (1, 2, 3)),
        ((1, 1, 2), (1, 2, 0)),
        ((1, 2, 3), (0, 1, 0)),
        ((1, 2, 3), (0, 0, 2)),
        ((1, 2, 3), (0, 0, 0)),
    ],
)
def test_exact_solution_of_symmetric_and_steady_bodies(inertia, momentum):
    exact = RigidBody(inertia, momentum).reference(TIMES)
    assert exact.shape == (41, 3)
    np.testing.assert_allclose(exact, integrated(inertia, momentum), rtol=0, atol=1e-13)


@pytest.mark.parametrize("off", [1e-3, 1e-9, 0.0, -1e-9, -1e-3])
def test_exact_solution_next_to_the_separatrix(off):
    """|μ|² = 2 E I_2 for μ_1 : μ_3 = 1 : sqrt(3) with the moments 1, 2, 3; errors grow as exp(t / sqrt(3))."""
    body = RigidBody((1, 2, 3), (0.1 * (1 + off), 1.0, 0.1 * np.sqrt(3)))
    times = np.linspace(0, 20, 41)
    exact = body.reference(times)
    np.testing.assert_allclose(exact, integrated(body.inertia, body.momentum, times), rtol=0, atol=2e-9)
    np.testing.assert_allclose(body.energy(exact), body.energy(exact[0]), rtol=1e-14)
    np.testing.assert_allclose(body.momentum_norm(exact), body.momentum_norm(exact[0]), rtol=1e-14)


@pytest.mark.parametrize("complement", [1.0, 0.7, 1e-3, 1e-12, 1e-30, 0.0])
def test_elliptic_functions(complement):
    """Against thirty digits, also where 1 - m1 rounds to 1."""
    u = np.linspace(-8, 8, 33)
    with mpmath.workdps(60):
        m = 1 - mpmath.mpf(complement)
        truth = [[float(mpmath.ellipfun(name, x, m=m)) for x in map(mpmath.mpf, u)] for name in ("sn", "cn", "dn")]
    np.testing.assert_allclose(jacobi(u, complement), truth, rtol=1e-14, atol=2e-15)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("momentum", [(0.4, 0.8, 0.2), (1.0, 0.2, -0.1), (-0.1, 0.1, 1.0)])
def test_integration_follows_the_exact_solution(formulation, momentum):
    body = RigidBody(momentum=momentum, formulation=formulation)
    found = ch.integrate.solve(
        body.problem(), ch.integrate.RKMK("dop853"), (0, 30), body.initial(), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(body.body_momentum(found.y), body.reference(found.t), rtol=0, atol=2e-11)
    for name, invariant in body.invariants().items():
        drift = abs(invariant(found.y) - invariant(found.y[0])).max()
        assert drift < (2e-12 if name == "energy" else 1e-14), name


def test_orders_on_the_coadjoint_orbit():
    body = RigidBody()
    for method, order in (
        (ch.integrate.RKMK("rk4"), 4),
        (ch.integrate.CommutatorFree("cf4"), 4),
        (ch.integrate.RKMK("dopri5"), 5),
    ):
        errors = [
            abs(
                ch.integrate.solve(body.problem(), method, (0, 4), body.initial(), step=h).y[-1] - body.reference(4.0)
            ).max()
            for h in (1 / 8, 1 / 16, 1 / 32)
        ]
        assert np.log2(errors[0] / errors[1]) > order - 0.3, method
        assert np.log2(errors[1] / errors[2]) > order - 0.3, method


def test_attitude_follows_the_quaternion_equation():
    body = RigidBody(momentum=(1.0, -0.4, 0.7), formulation="attitude")

    def equation(t, y):
        (w, *v), m = y[:4], y[4:]
        rates = m / np.array(body.inertia)
        turn = np.concatenate([[-np.dot(v, rates)], w * rates + np.cross(v, rates)]) / 2
        return np.concatenate([turn, np.cross(m, rates)])

    truth = solve_ivp(equation, (0, 10), body.initial(), "DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
    found = ch.integrate.solve(
        body.problem(), ch.integrate.RKMK("dop853"), (0, 10), body.initial(), rtol=1e-13, atol=1e-14
    ).y[-1]
    np.testing.assert_allclose(found, truth, rtol=0, atol=2e-12)


def test_quantities_keep_leading_axes():
    body = RigidBody(formulation="attitude")
    points = np.broadcast_to(body.initial(), (2, 5, 7))
    assert body.energy(points).shape == (2, 5)
    assert body.spatial_momentum(points).shape == (2, 5, 3)
    assert body.energy(points)[0, 0] == pytest.approx(0.5 * (0.4**2 / 2 + 0.8**2 + 0.2**2 * 1.5))
    assert body.reference(np.zeros((2, 5))).shape == (2, 5, 3)
    assert body.reference(0.0).shape == (3,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inertia": (1, 0, 1)}, "inertia.*positive"),
        ({"inertia": (1, 2)}, r"inertia: shape \(2,\)"),
        ({"momentum": (1, np.nan, 1)}, "momentum.*finite"),
        ({"formulation": "euler"}, "expected one of momentum, attitude"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RigidBody(**arguments)


def test_the_spatial_momentum_needs_the_attitude():
    with pytest.raises(ValueError, match="attitude"):
        RigidBody().spatial_momentum(np.ones(3))
