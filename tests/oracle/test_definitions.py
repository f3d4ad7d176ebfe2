"""Self-checks of the oracle against independent identities, to 40 digits and more."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from tests.oracle.definitions import (
    ORACLE,
    THETAS,
    V_NORMS,
    antipodal_ulp_error,
    directions,
    nearest_rotation,
    twists,
    ulp_error,
)

GROUPS = list(ORACLE)
MATRIX_GROUPS = ["so2", "so3", "se2", "se3"]
FINE = 100  # digits of the finite differences
STEP = mpf(10) ** -28  # so that a central difference is good to 50 digits


def flat(x: Any) -> list[mpf]:
    return [mp.convert(v) for v in (x if isinstance(x, (list, mp.matrix)) else np.ravel(x).tolist())]


def agree(a: Any, b: Any, digits: int = 45) -> bool:
    """Whether all entries agree to the given digits of the largest one, or of 1."""
    with mp.workdps(FINE):
        a, b = flat(a), flat(b)
        scale = max([mpf(1), *(abs(v) for v in b)])
        return max(abs(u - v) for u, v in zip(a, b, strict=True)) < scale / mpf(10) ** digits


def coordinates(group: str, theta: float = 1.0, v_norm: float = 1.0, seed: int = 0) -> np.ndarray:
    x = twists(theta, np.random.default_rng(seed), v_norm)[-1]
    if group == "se2":
        return np.array([theta, x[3], x[4]])
    return np.array([theta]) if group == "so2" else x[: ORACLE[group].dim]


def samples(group: str) -> list[np.ndarray]:
    pairs = ((0.0, 1.0), (1e-12, 1.0), (1e-3, 1e3), (0.7, 1.0), (3.1, 1e3), (10.0, 1e3))
    return [coordinates(group, theta, v_norm) for theta, v_norm in pairs]


def double(element: Any) -> np.ndarray:
    """The element rounded to doubles."""
    rows = element.tolist() if isinstance(element, mp.matrix) else element
    return np.array(rows, dtype=float)


def matrix(group: str, element: Any) -> mp.matrix:
    """The element as a matrix under which the group multiplies (not for so3xr3)."""
    if group == "s3":
        return ORACLE["s3"].Ad(element)
    if group == "pose":
        m = mp.eye(4)
        m[:3, :3], m[:3, 3] = ORACLE["s3"].Ad(element[:4]), mp.matrix(element[4:])
        return m
    return element


def shifted(x: np.ndarray, y: Any, t: Any) -> list[mpf]:
    return [mp.convert(a) + t * b for a, b in zip(x.tolist(), flat(y), strict=True)]


def right_difference(group: str, name: str, x: np.ndarray) -> mp.matrix:
    """Columns vee(dg g^-1) with dg the central difference of g = name(x)."""
    oracle = ORACLE[group]
    f = getattr(oracle, name)
    out = mp.matrix(oracle.dim, oracle.dim)
    inverse = mp.inverse(matrix(group, f(x)))
    for k, e in enumerate(np.eye(oracle.dim)):
        change = matrix(group, f(shifted(x, e, STEP))) - matrix(group, f(shifted(x, e, -STEP)))
        tangent = change / (2 * STEP) * inverse
        out[:, k] = mp.matrix(oracle.vee(tangent))
        assert agree(tangent, oracle.hat(list(out[:, k])))
    return out


def blocks(a: mp.matrix, b: mp.matrix) -> mp.matrix:
    m = mp.zeros(a.rows + b.rows)
    m[: a.rows, : a.rows], m[a.rows :, a.rows :] = a, b
    return m


@pytest.mark.parametrize("group", MATRIX_GROUPS)
def test_exp_is_the_matrix_exponential(group: str) -> None:
    oracle = ORACLE[group]
    for x in samples(group):
        with mp.workdps(80):
            expected = mp.expm(oracle.hat(x))
        assert agree(oracle.exp(x), expected, 50)


@pytest.mark.parametrize("group", GROUPS)
def test_hat_and_vee_are_inverse(group: str) -> None:
    x = coordinates(group)
    assert agree(ORACLE[group].vee(ORACLE[group].hat(x)), x, 55)


@pytest.mark.parametrize("theta", [0.0, 1e-12, 0.7, 3.1, 5.0, 10.0])
def test_exp_of_the_other_storages(theta: float) -> None:
    x = coordinates("pose", theta, 1e3)
    with mp.workdps(80):
        n = mp.sqrt(mp.fsum(flat(x[:3]), squared=True))
        sinc = mp.sin(n / 2) / n if n else mpf(0)
        q = [mp.cos(n / 2), *(sinc * v for v in flat(x[:3]))]
    assert agree(ORACLE["s3"].exp(x[:3]), q, 55)
    pose, product = ORACLE["pose"].exp(x), ORACLE["so3xr3"].exp(x)
    assert agree(pose[:4], q, 55)
    assert agree(matrix("pose", pose), ORACLE["se3"].exp(x), 52)
    assert agree(product[:3, :3], ORACLE["so3"].exp(x[:3]), 55)
    assert agree(product[:3, 3], x[3:], 55)


def test_ad_and_hat_have_the_stated_signs() -> None:
    w, v, u = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([7.0, 8.0, -9.0])
    x = np.concatenate([w, v])
    assert agree(ORACLE["so3"].hat(w) * mp.matrix(u), np.cross(w, u))
    assert agree(ORACLE["so3"].ad(w) * mp.matrix(u), np.cross(w, u))
    assert agree(ORACLE["s3"].ad(w) * mp.matrix(u), np.cross(w, u))
    assert agree(ORACLE["se3"].hat(x) * mp.matrix([*u, 1.0]), [*np.cross(w, u) + v, 0.0])
    expected = np.concatenate([np.cross(w, u), np.cross(v, u) + np.cross(w, v)])
    assert agree(ORACLE["se3"].ad(x) * mp.matrix([*u, *v]), expected)
    assert agree(ORACLE["so3xr3"].ad(x) * mp.matrix([*u, *v]), [*np.cross(w, u), 0.0, 0.0, 0.0])
    assert agree(ORACLE["se2"].hat([1.0, 2.0, 3.0]), [0, -1, 2, 1, 0, 3, 0, 0, 0])


@pytest.mark.parametrize("group", GROUPS)
def test_ad_is_a_homomorphism(group: str) -> None:
    oracle, x, y = ORACLE[group], coordinates(group), coordinates(group, seed=1)
    with mp.workdps(60):
        ax, ay = oracle.ad(x), oracle.ad(y)
        assert agree(oracle.ad(list(ax * mp.matrix(y))), ax * ay - ay * ax, 50)


@pytest.mark.parametrize("group", GROUPS)
def test_Ad_is_a_homomorphism_and_the_exponential_of_ad(group: str) -> None:
    oracle, x, y = ORACLE[group], coordinates(group), coordinates(group, seed=1)
    with mp.workdps(60):
        gx, gy = oracle.exp(x), oracle.exp(y)
        assert agree(oracle.Ad(gx) * oracle.Ad(gy), oracle.Ad(oracle.exp(oracle.bch(x, y))), 50)
        assert agree(oracle.Ad(gx), mp.expm(oracle.ad(x)), 50)
        if group in MATRIX_GROUPS:
            conjugate = gx * oracle.hat(y) * mp.inverse(gx)
            assert agree(oracle.hat(list(oracle.Ad(gx) * mp.matrix(y))), conjugate, 50)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("theta", [0.0, 1e-12, 1e-4, 1.0, 3.0, np.pi - 1e-8])
def test_log_inverts_exp(group: str, theta: float) -> None:
    oracle, x = ORACLE[group], coordinates(group, theta, 1e3)
    assert agree(oracle.log(oracle.exp(x)), x, 48)
    assert agree(oracle.bch(x / 2, x / 2), x, 48)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("theta", [0.0, 1e-12, 1.0, np.pi, 5.0])
def test_exp_of_log_is_the_nearest_element(group: str, theta: float) -> None:
    oracle = ORACLE[group]
    g = double(oracle.exp(coordinates(group, theta, 1e3)))
    x = oracle.log(g)
    with mp.workdps(60):
        back = oracle.exp(x)
        n = mp.sqrt(mp.fsum(x[: oracle.angular], squared=True))
        assert n <= oracle.half_turn * mp.pi + mpf(10) ** -55
        if group == "pose" and g[0] < 0:
            back[:4] = [-v for v in back[:4]]
        assert agree(back, g, 15)
        if group in ("s3", "pose"):
            q = mp.matrix(g[:4])
            assert agree(back, [*(q / mp.norm(q)), *g[4:]], 50)
        else:
            m = 2 if group in ("so2", "se2") else 3
            expected = mp.matrix(g)
            expected[:m, :m] = nearest_rotation(g[:m, :m])
            assert agree(back, expected, 50)


def test_logs_of_known_elements() -> None:
    for group in ("so2", "so3", "se2", "se3", "so3xr3"):
        oracle = ORACLE[group]
        assert oracle.log(double(oracle.exp(np.zeros(oracle.dim)))) == [0] * oracle.dim
    half = np.diag([-1.0, -1.0, 1.0])
    with mp.workdps(60):
        assert agree([abs(v) for v in ORACLE["so3"].log(half)], [0, 0, mp.pi], 55)
        assert agree(ORACLE["so2"].log(-np.eye(2)), [+mp.pi], 55)
        quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        assert agree(ORACLE["so3"].log(quarter), [0, 0, mp.pi / 2], 55)
        screw = np.block([[half, np.array([[0.0], [0.0], [2.0]])], [np.zeros((1, 3)), np.ones((1, 1))]])
        assert agree([abs(v) for v in ORACLE["se3"].log(screw)], [0, 0, mp.pi, 0, 0, 2], 55)
        assert agree(ORACLE["s3"].log([0.0, 0.0, 3.0, 0.0]), [0, mp.pi, 0], 55)
        assert agree(ORACLE["s3"].log([-1.0, 0.0, 0.0, 1.0]), [0, 0, 3 * mp.pi / 2], 55)
        assert mp.almosteq(mp.norm(mp.matrix(ORACLE["s3"].log([-1.0, 0.0, 0.0, 0.0]))), 2 * mp.pi)
        flipped = [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0]
        assert agree(ORACLE["pose"].log(flipped), [0, 0, -mp.pi / 2, 0, 0, 2], 55)
        assert agree(ORACLE["pose"].log([-1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]), [0, 0, 0, 1, 2, 3], 55)


def test_projection_is_orthogonal_and_nearest() -> None:
    rng = np.random.default_rng(0)
    for size in (1e-16, 1e-8, 1e-3):
        r = double(ORACLE["so3"].exp(rng.normal(size=3))) + size * rng.normal(size=(3, 3))
        q = nearest_rotation(r)
        with mp.workdps(60):
            assert agree(q.T * q, mp.eye(3), 55)
            assert agree([mp.det(q)], [1], 55)
            s = q.T * mp.matrix(r)  # the polar factor is symmetric
            assert agree(s, s.T, 55)


@pytest.mark.sample(1)
@pytest.mark.parametrize("group", [g for g in GROUPS if g != "so3xr3"])
@pytest.mark.parametrize("name", ["exp", "cay", "cay2", "ccsk"])
def test_differentials_against_central_differences(group: str, name: str) -> None:
    oracle = ORACLE[group]
    for x in (coordinates(group), coordinates(group, 1e-6, 1e3), coordinates(group, 4.0)):
        d = getattr(oracle, f"d{name}")(x)
        with mp.workdps(FINE):
            assert agree(d, right_difference(group, name, x))


@pytest.mark.parametrize(("name", "rate"), [("exp", 1), ("cay", 2), ("cay2", 4), ("ccsk", 1)])
def test_direct_product_is_componentwise(name: str, rate: int) -> None:
    x = coordinates("so3xr3", 1.3, 10.0)
    product, so3 = ORACLE["so3xr3"], ORACLE["so3"]
    g = getattr(product, name)(x)
    with mp.workdps(60):
        assert agree(g[:3, :3], getattr(so3, name)(x[:3]), 55)
        assert agree(g[:3, 3], [rate * v for v in flat(x[3:])], 55)
        expected = blocks(getattr(so3, f"d{name}")(x[:3]), rate * mp.eye(3))
        assert agree(getattr(product, f"d{name}")(x), expected, 55)
        assert agree(product.Ad(product.exp(x)), blocks(so3.Ad(so3.exp(x[:3])), mp.eye(3)), 55)


@pytest.mark.parametrize("group", GROUPS)
def test_derivatives_of_dexp_against_central_differences(group: str) -> None:
    oracle, y = ORACLE[group], coordinates(group, 0.8, seed=2)
    for x in (coordinates(group, 0.0), coordinates(group, 1.0), coordinates(group, 5.0, 1e3)):
        for name in ("dexp", "dexpinv"):
            f = getattr(oracle, name)
            with mp.workdps(FINE):
                change = f(shifted(x, y, STEP)) - f(shifted(x, y, -STEP))
                assert agree(getattr(oracle, f"d{name}")(x, y), change / (2 * STEP))


@pytest.mark.sample(1)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", ["dexp", "dcay", "dcay2", "dccsk"])
def test_inverse_differentials(group: str, name: str) -> None:
    oracle = ORACLE[group]
    for x in (coordinates(group, 0.0), coordinates(group, 1.0), coordinates(group, 5.0, 10.0)):
        with mp.workdps(60):
            product = getattr(oracle, name)(x) * getattr(oracle, f"{name}inv")(x)
            assert agree(product, mp.eye(oracle.dim), 50)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("theta", [0.0, 1e-12, 0.4, 0.9])
def test_inverse_cayley_maps(group: str, theta: float) -> None:
    oracle, x = ORACLE[group], coordinates(group, theta, 1e3)
    assert agree(oracle.cayinv(oracle.cay(x)), x, 50)
    assert agree(oracle.cay2inv(oracle.cay2(x)), x, 50)


def test_angle_of_the_cayley_map() -> None:
    with mp.workdps(60):
        for rate, name in ((2, "cay"), (4, "cay2")):
            angle = rate * mp.atan(mpf(0.5))
            for group in ("so3", "s3"):
                x = ORACLE[group].log(getattr(ORACLE[group], name)([0.0, 0.0, 0.5]))
                assert agree(x, [0, 0, angle], 55)
        assert agree(ORACLE["s3"].cay2inv(ORACLE["s3"].cay2([0.0, 0.0, 3.0])), [0, 0, 3], 55)


@pytest.mark.parametrize("group", GROUPS)
def test_phi_ad(group: str) -> None:
    oracle, x = ORACLE[group], coordinates(group, 1.2, 10.0)
    coefficients = [Fraction(1, factorial(k + 1)) for k in range(80)]
    assert agree(oracle.phi_ad(x, coefficients), oracle.dexp(x), 55)
    small = 0.05 * x
    with mp.workdps(70):
        bernoulli = [mp.bernoulli(k) / mp.factorial(k) for k in range(60)]
        bernoulli[1] = -mpf(1) / 2
    assert agree(oracle.phi_ad(small, bernoulli), oracle.dexpinv(small), 50)


@pytest.mark.first(1)
@pytest.mark.parametrize("group", GROUPS)
def test_results_do_not_depend_on_the_working_precision(group: str) -> None:
    oracle = ORACLE[group]
    names = ["exp", "dexpinv", "cay", "dcayinv", "cay2", "dcay2inv", "ccsk", "dccskinv"]
    for x in samples(group):
        y = coordinates(group, 0.3, 1.0, seed=3)
        g = double(oracle.exp(x))
        calls: list[tuple[str, tuple]] = [(name, (x,)) for name in names]
        calls += [("log", (g,)), ("cayinv", (g,)), ("cay2inv", (g,)), ("Ad", (g,))]
        calls += [("bch", (x, y)), ("ddexp", (x, y)), ("ddexpinv", (x, y))]
        for name, args in calls:
            coarse = getattr(oracle, name)(*args)
            with mp.workdps(FINE):
                assert agree(coarse, getattr(oracle, name)(*args), 48), name


@pytest.mark.parametrize("tiny", [1e-30, 1e-100, 1e-300])
def test_tiny_arguments_keep_their_relative_accuracy(tiny: float) -> None:
    x = tiny * np.array([1.0, -2.0, 3.0, 4.0, 5.0, -6.0])
    for group in ("se3", "pose"):
        back = ORACLE[group].log(ORACLE[group].exp(x))
        assert agree([v / mpf(tiny) for v in back], [mpf(v) / mpf(tiny) for v in x.tolist()], 50)


def test_ulp_error() -> None:
    one = np.array([1.0, 0.0])
    assert ulp_error(one, [mpf(1), mpf(0)]) == 0
    assert ulp_error(one * (1 + np.spacing(1.0)), [mpf(1), mpf(0)]) == 1
    assert ulp_error(one, [mpf(1), mpf(np.spacing(1.0)) / 4]) == 0.25
    assert ulp_error(np.zeros((2, 2)), mp.zeros(2)) == 0
    assert ulp_error(np.full(2, 5e-324), mp.zeros(2, 1)) == np.inf
    assert ulp_error(np.array([np.nan, 0.0]), one) == np.inf
    with pytest.raises(ValueError, match="expected"):
        ulp_error(one, [mpf(1)])


@pytest.mark.parametrize("group", GROUPS)
def test_antipodal_ulp_error(group: str) -> None:
    oracle = ORACLE[group]
    x = coordinates(group, np.pi * oracle.half_turn - 1e-8)
    other = oracle.other_log(x)
    found, expected = oracle.exp(other), oracle.exp(x)
    if group == "pose":  # the two quaternions have opposite signs
        found, expected = matrix(group, found), matrix(group, expected)
    assert agree(found, expected)
    assert antipodal_ulp_error(x, flat(x), group) == 0
    assert ulp_error(double(other), flat(x)) > 1e12
    assert antipodal_ulp_error(double(other), flat(x), group) <= 0.5
    near = x / 1e3
    assert antipodal_ulp_error(near, flat(near), group) == 0


def test_samples() -> None:
    assert len(THETAS) == 2 + 37 + 6
    assert sorted(THETAS) == THETAS
    assert THETAS[2] == pytest.approx(1e-10)
    assert THETAS[38] == pytest.approx(1e-1)
    units = directions(0, 10)
    assert units.shape == (10, 3)
    assert np.array_equal(units[:3], np.eye(3))
    assert np.allclose(np.linalg.norm(units, axis=1), 1)
    for v_norm in V_NORMS:
        found = twists(0.5, np.random.default_rng(0), v_norm)
        assert len(found) == (3 if v_norm else 1)
        assert np.allclose([np.linalg.norm(x[3:]) for x in found], v_norm)
        assert np.allclose([np.linalg.norm(x[:3]) for x in found], 0.5)
    parallel, perpendicular, _ = twists(0.5, np.random.default_rng(0), 1.0)
    assert np.allclose(np.cross(parallel[:3], parallel[3:]), 0)
    assert abs(perpendicular[:3] @ perpendicular[3:]) < 1e-15
