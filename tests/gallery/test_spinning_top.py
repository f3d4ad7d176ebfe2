"""The heavy top of celledoni2022: three formulations, Newton's law, and digits published by others."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery.spinning_top import DATA, FORMULATIONS, SpinningTop
    from chasles.lie import s3
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)


def run(data, formulation, end):
    top = SpinningTop.of(data, formulation)
    found = ch.integrate.solve(
        top.problem(), ch.integrate.RKMK("dop853"), (0, end), top.initial(), rtol=1e-13, atol=1e-13
    )
    assert found.success
    return top, found


@cache
def by_newton(data, end):
    """(quaternion, Ω): the moments about the fixed point in body axes, I Ω' = I Ω x Ω + s x (-Γ), in coordinates."""
    inertia, moment, gravity = (np.array(DATA[data][k]) for k in ("inertia", "moment", "gravity"))

    def equation(t, y):
        (w, *v), rates = y[:4], y[4:]
        r = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
        vertical = (np.eye(3) + 2 * w * r + 2 * r @ r).T @ gravity
        turn = np.concatenate([[-np.dot(v, rates)], w * rates + np.cross(v, rates)]) / 2
        torque = np.cross(inertia * rates, rates) - np.cross(moment, vertical)
        return np.concatenate([turn, torque / inertia])

    start = np.array([1.0, 0, 0, 0, 0, 150, -4.61538])
    return solve_ivp(equation, (0, end), start, "DOP853", rtol=3e-14, atol=1e-14).y[:, -1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_each_formulation_follows_newton_s_law(data, formulation):
    top, found = run(data, formulation, 0.1)
    truth = by_newton(data, 0.1)
    end = found.y[-1]
    # 15 rad in the span: 1e-13 relative becomes some 1e-11 rad
    np.testing.assert_allclose(top.body_angular_velocity(end), truth[4:], rtol=0, atol=5e-9)
    np.testing.assert_allclose(
        top.vertical(end), s3.act(s3.inverse(truth[:4] / np.linalg.norm(truth[:4])), top.gravity), rtol=0, atol=1e-9
    )
    if formulation != "lie_poisson":
        np.testing.assert_allclose(end[:4], truth[:4], rtol=0, atol=1e-10)


@pytest.mark.parametrize("data", DATA)
def test_formulations_agree_all_the_way(data):
    times = np.linspace(0, 0.5, 11)
    rows = []
    for formulation in FORMULATIONS:
        top = SpinningTop.of(data, formulation)
        y = [top.initial()]
        for a, b in pairwise(times):
            y.append(
                ch.integrate.solve(
                    top.problem(), ch.integrate.RKMK("dop853"), (a, b), y[-1], step=1e-3, save="final"
                ).y[-1]
            )
        rows.append(np.concatenate([top.body_momentum(y), top.vertical(y)], axis=1))
    np.testing.assert_allclose(rows[1], rows[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(rows[2], rows[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("data", DATA)
def test_invariants(data, formulation):
    top, found = run(data, formulation, 2.0)
    for name, invariant in top.invariants().items():
        start = invariant(found.y[0])
        # the vertical momentum starts as a sum of products of the size of |Π| |Γ|
        size = max(abs(start), np.linalg.norm(top.initial()[-3:]))
        assert abs(invariant(found.y) - start).max() < 2e-11 * size, name


def test_the_lie_poisson_form_keeps_its_casimirs_at_any_step():
    """The method stays on coadjoint orbits (celledoni2022 section 3.3): no accuracy is needed for that."""
    top = SpinningTop.of("physical", "lie_poisson")
    found = ch.integrate.solve(top.problem(), ch.integrate.RKMK("rk4"), (0, 2), top.initial(), step=0.01)
    for name in ("vertical momentum", "vertical norm"):
        value = top.invariants()[name](found.y)
        np.testing.assert_allclose(value, value[0], rtol=2e-14, err_msg=name)
    assert abs(top.energy(found.y) / top.energy(found.y[0]) - 1).max() > 1e-6


def test_the_data_belong_together():
    """The inertia about the pivot by Steiner's theorem, and the initial precession of [4], for l = 1 m only."""
    top = SpinningTop()
    assert top == SpinningTop.of("physical")
    about_center = np.array(DATA["as_printed"]["inertia"])
    np.testing.assert_allclose(top.inertia, about_center + 15 * np.array([1, 0, 1]), rtol=1e-15)
    inertia, spin = top.inertia[1], top.angular_velocity[1]
    assert inertia * spin / top.inertia[2] == pytest.approx(4.61538, abs=5e-6)
    np.testing.assert_allclose(top.initial()[4:], (0, 70.3125, -70.3125), atol=1e-4)
    assert DATA["as_printed"]["moment"] == (0.0, 30.0, 0.0)


@pytest.mark.parametrize("formulation", ["cotangent", "quadratic"])
@pytest.mark.parametrize(
    ("time", "expected", "tolerance"),
    [
        (0.01, 149.8473939540758, 1e-11),
        # at t = 2: order 6, h = 2e-5; order 6, h = 1e-4; Dormand-Prince at 1e-14. They differ by 5e-11.
        (2.0, -106.16380414311477, 5e-9),
        (2.0, -106.1638041430917, 5e-9),
        (2.0, -106.16380414306643, 5e-9),
    ],
)
def test_spatial_angular_velocity_of_exudyn(formulation, time, expected, tolerance):
    """ω_y from Exudyn's TestModels/explicitLieGroupIntegratorTest.py."""
    top, found = run("physical", formulation, time)
    rate = s3.act(found.y[-1, :4], top.body_angular_velocity(found.y[-1]))
    assert rate[1] == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(
    ("time", "quaternion", "rate"),
    [
        # Exudyn docs/verification/HeavyTopSolution, five digits
        (0.01, (0.73149, 0.015154, 0.68146, -0.017402), (4.5748, 150, -0.6347)),
        (0.02, (0.070614, 0.045708, 0.99644, -0.0063419), (1.2594, 150, 4.4536)),
        (0.03, (-0.62679, 0.057939, 0.77611, 0.037845), (-4.2537, 150, 1.8644)),
        (0.05, None, (3.6303, 150, -2.9772)),
        (0.06, None, (3.4673, 150, 3.216)),
        # Exudyn TestModels/heavyTop.py
        (0.2, (-0.70828, 0.43878, 0.54573, 0.0894), None),
        # computed with DOP853 at 1e-13
        (1.0, (0.73294398, -0.27828572, 0.53182461, -0.32017614), (-0.8220781, 150, -5.92329135)),
    ],
)
def test_published_attitudes_and_rates(time, quaternion, rate):
    top, found = run("physical", "cotangent", time)
    digits = 1e-8 if time == 1.0 else 6e-6
    if quaternion:
        np.testing.assert_allclose(found.y[-1, :4], quaternion, rtol=0, atol=digits)
    if rate:
        np.testing.assert_allclose(top.body_angular_velocity(found.y[-1]), rate, rtol=0, atol=10 * digits)
    if time == 1.0:
        center = s3.act(found.y[-1, :4], (0.0, 1.0, 0.0))
        np.testing.assert_allclose(center, (0.17334396, 0.64008859, -0.74849079), rtol=0, atol=1e-8)


def test_the_quadratic_form_moves_its_extra_position_and_keeps_its_momentum():
    """(31)-(32): p is constant, q is the integral of p - Γ."""
    top, found = run("physical", "quadratic", 0.1)
    np.testing.assert_array_equal(found.y[:, 10:], np.broadcast_to(-np.array(top.moment), (len(found.t), 3)))
    h = np.diff(found.t)[:, None]
    slope = found.y[:, 10:] - top.vertical(found.y)
    trapezoid = (h * (slope[:-1] + slope[1:]) / 2).sum(axis=0)
    np.testing.assert_allclose(found.y[-1, 7:10], trapezoid, atol=1e-3)


def test_quantities_keep_leading_axes():
    for formulation in FORMULATIONS:
        top = SpinningTop.of("physical", formulation)
        points = np.broadcast_to(top.initial(), (2, 3, top.initial().size))
        for invariant in top.invariants().values():
            assert invariant(points).shape == (2, 3)
        assert top.energy(points)[0, 0] == pytest.approx(0.5 * (0.46875 * 150**2 + 15.234375 * 4.61538**2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SpinningTop.of("printed"), "expected one of physical, as_printed"),
        (lambda: SpinningTop("se3"), "expected one of cotangent, lie_poisson, quadratic"),
        (lambda: SpinningTop(inertia=(1, -1, 1)), "inertia.*positive"),
        (lambda: SpinningTop(gravity=9.81), r"gravity: shape \(\)"),
        (lambda: SpinningTop(moment=(np.inf, 0, 0)), "moment.*finite"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
