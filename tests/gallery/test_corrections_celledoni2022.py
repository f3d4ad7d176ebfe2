"""Corrections to celledoni2022 in its mechanics (docs/corrections.md): the printed form fails, the corrected one
holds.
"""

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery.pendulum import Pendulum
    from chasles.gallery.quadrotors import Quadrotors
    from chasles.gallery.rigid_body import RigidBody
    from chasles.gallery.spinning_top import SpinningTop
    from chasles.lie import s3, so3
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)


def value(problem, y):
    out = np.empty(problem.space.dimension)
    problem.field(0.0, y, np.array(problem.parameters), out)
    return out


def test_example_1_signs_of_the_free_rigid_body():
    """Truth: R μ is constant while the body turns by Ω = I⁻¹ μ, so μ(h) = exp(-h Ω) μ(0) up to h²."""
    rng = np.random.default_rng(0)
    inertia, mu, h = rng.uniform(0.5, 2, 3), rng.normal(size=3), 1e-6
    rates = mu / inertia
    truth = (so3.exp(-h * rates) @ mu - so3.exp(h * rates) @ mu) / (2 * h)

    def coadjoint(xi):  # <ad*_ξ μ, η> = <μ, ξ × η>
        return np.array([mu @ np.cross(xi, eta) for eta in np.eye(3)])

    first, last = -coadjoint(rates), -np.cross(rates, mu)
    assert np.linalg.norm(first - last) > 0.1  # the two sides of the printed equation
    assert np.linalg.norm(first - truth) > 0.1  # -ad*, and f = +I⁻¹ μ whose generator it is
    np.testing.assert_allclose(coadjoint(rates), truth, atol=1e-9)
    body = RigidBody(tuple(inertia), tuple(mu))
    found = value(body.problem(), body.initial())
    np.testing.assert_allclose(found, -rates, rtol=1e-15)
    np.testing.assert_allclose(np.cross(found, mu), truth, atol=1e-9)


def test_3_4_3_the_quadratic_hamiltonian_is_invariant_about_the_vertical_only():
    top = SpinningTop.of("physical", "quadratic")
    rng = np.random.default_rng(1)
    y = np.concatenate([s3.random(rng), rng.normal(size=9)])

    def turned(rotation):
        return np.concatenate([s3.compose(rotation, y[:4]), s3.act(rotation, y[4:7]), y[7:]])

    generic, about_vertical = s3.exp(np.array([0.4, -0.9, 0.3])), s3.exp(1.3 * np.array(top.gravity) / 9.81)
    assert abs(top.energy(turned(generic)) - top.energy(y)) > 1
    assert abs(top.energy(turned(about_vertical)) - top.energy(y)) < 1e-12


def test_3_4_4_only_the_corrected_data_are_those_of_the_benchmark():
    """ω_y at t = 2 s from Exudyn's TestModels/explicitLieGroupIntegratorTest.py."""
    found = {}
    for data in ("physical", "as_printed"):
        top = SpinningTop.of(data)
        y = ch.integrate.solve(
            top.problem(), ch.integrate.RKMK("dop853"), (0, 2), top.initial(), rtol=1e-13, atol=1e-13
        ).y[-1]
        found[data] = s3.act(y[:4], top.body_angular_velocity(y))[1]
    assert found["physical"] == pytest.approx(-106.1638041430917, abs=5e-9)
    assert abs(found["as_printed"] + 106.1638041430917) > 1


def some_chain(**others):
    rng = np.random.default_rng(2)
    q = rng.normal(size=(3, 3))
    q /= np.linalg.norm(q, axis=1)[:, None]
    w = np.cross(q, rng.normal(size=(3, 3)))
    return Pendulum(rng.uniform(0.5, 3, 3).tolist(), rng.uniform(0.5, 2, 3).tolist(), 9.81, q, w, **others), q, w


def test_footnote_6_kinetic_energy():
    """Truth: half of mass times speed squared, summed over the masses."""
    chain, q, w = some_chain()
    m, length, dq = np.array(chain.masses), np.array(chain.lengths), np.cross(w, q)
    truth = 0.5 * (m[:, None] * np.cumsum(length[:, None] * dq, axis=0) ** 2).sum()
    pairs = length[:, None] * length * (dq @ dq.T)
    printed = 0.5 * sum(m[j] * pairs[i, j] for i in range(3) for j in range(i, 3))
    corrected = 0.5 * sum(m[max(i, j) :].sum() * pairs[i, j] for i in range(3) for j in range(3))
    assert abs(printed - truth) > 0.05 * truth
    assert corrected == pytest.approx(truth, rel=1e-14)


def test_5_2_slots_of_the_hamiltonian_field():
    """Truth: q_i' = ω_i × q_i. The first slot of f acts on q_i: it must be ∂H/∂π_i, not ∂H/∂q_i."""
    chain, q, w = some_chain(momenta=True)
    slots = value(chain.problem(), chain.initial()).reshape(3, 2, 3)
    truth = np.cross(w, q)
    np.testing.assert_allclose(np.cross(slots[:, 0], q), truth, atol=1e-12)
    printed = slots[:, ::-1]
    assert abs(np.cross(printed[:, 0], q) - truth).max() > 1


def test_6_the_third_axis_points_down():
    """Truth: without thrust everything falls, and what falls loses potential energy."""
    system = Quadrotors(controlled=False)
    y = system.initial()
    acceleration = value(system.problem(), y)[3:6]
    np.testing.assert_allclose(acceleration, (0, 0, 9.81), atol=1e-14)
    lower = y.copy()
    lower[:3] += acceleration
    assert system.energy(lower) < system.energy(y)
