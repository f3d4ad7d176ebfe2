"""Formulas of the sources as printed, against the oracle: what docs/corrections.md says of them is so.

A wrong formula must be wrong by about the stated amount, a right one right to 45 digits, and the function of chasles
that stands for the corrected form right to rounding. "About" is a factor of 3 for a formula that is wrong, whose error
depends on the generic point, and of 10 for digits lost by cancellation, which are noise. Vectors are mpmath columns.
"""

import functools

import numpy as np
import pytest
from mpmath import mp, mpf

from chasles import lie
from tests.oracle.definitions import ORACLE, directions, ulp_error

DIGITS = mpf(10) ** -45
OMEGA, V = [0.31, -0.52, 0.66], [0.7, 0.2, -0.4]  # |ω| = 0.896
TWIST = np.array([*OMEGA, *V])
C, D = [0.12, -0.2, 0.23], [0.7, 0.2, -0.4]  # |c| = 0.328
SE3, SO3, S3 = ORACLE["se3"], ORACLE["so3"], ORACLE["s3"]


def precise(test):
    """Run a test with 60 digits."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        with mp.workdps(60):
            return test(*args, **kwargs)

    return run


def col(x):
    return mp.matrix([mpf(float(v)) for v in x])


def tilde(x):
    x, y, z = x
    return mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def one(n=3):
    return mp.eye(n)


def lower_blocks(a, b, d):
    """[[a, 0], [b, d]]."""
    m = mp.zeros(6)
    m[:3, :3], m[3:, :3], m[3:, 3:] = a, b, d
    return m


def off(a, b):
    """Largest absolute difference."""
    return max(abs(v) for v in mp.matrix(a) - mp.matrix(b))


def about(value, stated, factor=3):
    return stated / factor < value < stated * factor


def small_twists(angle):
    """Twists with angles around the given one and a linear part of length 1."""
    return np.hstack([np.linspace(0.9, 1.1, 12)[:, None] * angle * directions(0, 12), directions(1, 12)[::-1]])


def worst_ulp(found, exact):
    return max(ulp_error(a, b) for a, b in zip(found, exact, strict=True))


# ---------------------------------------------------------------- mueller2013 (8), mueller2022 (31): exp on SO(3)


def rodrigues(x, power):
    phi = mp.norm(x)
    return one() + mp.sin(phi) / phi * tilde(x) + (1 - mp.cos(phi)) / phi**power * tilde(x) ** 2


@precise
def test_mueller2013_8_lacks_a_square():
    x = col(OMEGA)
    assert about(off(rodrigues(x, 1), SO3.exp(OMEGA)), 4.2e-2)
    assert off(rodrigues(x, 2), SO3.exp(OMEGA)) < DIGITS
    unit = x / mp.norm(x)
    assert off(rodrigues(unit, 1), SO3.exp(list(unit))) < DIGITS  # the error vanishes at |ω| = 1 only
    assert ulp_error(lie.so3.exp(OMEGA), SO3.exp(OMEGA)) <= 8


@precise
def test_mueller2022_31_has_a_half_for_a_two():
    x = col(OMEGA)
    phi, n = mp.norm(x), x / mp.norm(x)

    def printed(factor):
        return one() + mp.sin(phi) * tilde(n) + factor * mp.sin(phi / 2) ** 2 * tilde(n) ** 2

    assert about(off(printed(mpf(0.5)), SO3.exp(OMEGA)), 0.35)
    assert off(printed(2), SO3.exp(OMEGA)) < DIGITS
    assert ulp_error(lie.so3.exp(OMEGA), SO3.exp(OMEGA)) <= 8


# ---------------------------------------------------------------- mueller2013 (7): translation of exp on SE(3)


@precise
def test_mueller2013_7_is_right_away_from_zero():
    x, v = col(OMEGA), col(V)
    square = mp.fdot(x, x)
    translation = (one() - SO3.exp(OMEGA)) * (tilde(x) * v) / square + mp.fdot(x, v) / square * x
    assert off(translation, SE3.exp(TWIST)[:3, 3]) < DIGITS


def literal_translation(x):
    """mueller2013 (7) in double precision."""
    omega, v = x[:3], x[3:]
    square = omega @ omega
    return (np.eye(3) - lie.so3.exp(omega)) @ np.cross(omega, v) / square + (omega @ v) / square * omega


@pytest.mark.parametrize(("angle", "stated"), [(1e-3, 1e-14), (1e-8, 4e-9)])
def test_mueller2013_7_loses_digits_at_small_angles(angle, stated):
    twists = small_twists(angle)
    exact = [SE3.exp(x) for x in twists]
    assert about(max(off(literal_translation(x), g[:3, 3]) for x, g in zip(twists, exact, strict=True)), stated, 10)
    assert worst_ulp(lie.se3.exp(twists), exact) <= 8


def test_mueller2013_7_has_no_value_at_zero():
    x = np.array([0.0, 0.0, 0.0, *V])
    with np.errstate(invalid="ignore"):
        assert np.all(np.isnan(literal_translation(x)))
    np.testing.assert_array_equal(lie.se3.exp(x)[:3, 3], V)


# ---------------------------------------------------------------- mueller2013 (9): dexpinv on SE(3) by powers of ad


def powers_of_ad(x, ad, m, cube=True, versine=None):
    """mueller2013 (9) with the functions of m, mpmath or NumPy; `cube=False` is extraction B."""
    phi = m.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    versine = m.cos(phi) - 1 if versine is None else versine(phi)
    second = 2 / phi**2 + (phi + 3 * m.sin(phi)) / (4 * phi * versine)
    fourth = 1 / phi**4 + (phi + m.sin(phi)) / (4 * (phi**3 if cube else phi) * versine)
    square = ad @ ad if m is np else ad * ad
    eye = np.eye(6) if m is np else one(6)
    return eye - ad / 2 + second * square + fourth * (square @ square if m is np else square * square)


@precise
def test_mueller2013_9_is_right_and_extraction_b_loses_the_cube():
    ad, exact = SE3.ad(TWIST), SE3.dexpinv(TWIST)
    assert off(powers_of_ad(col(TWIST), ad, mp), exact) < DIGITS
    assert off(powers_of_ad(col(TWIST), ad, mp, cube=False), exact) > 1e-2
    assert ulp_error(lie.se3.dexpinv(TWIST), exact) <= 8


@pytest.mark.parametrize(
    ("angle", "literal", "better"), [(1e-2, 1e-10, 1e-13), (1e-3, 1e-7, 1e-12), (1e-4, 1e-4, 1e-11)]
)
def test_mueller2013_9_is_unusable_at_small_angles(angle, literal, better):
    """The stated losses are the largest that were found."""
    twists = small_twists(angle)
    exact = [SE3.dexpinv(x) for x in twists]

    def loss(**options):
        found = [powers_of_ad(x, lie.se3.ad(x), np, **options) for x in twists]
        return max(off(a, b) for a, b in zip(found, exact, strict=True))

    assert about(loss(), literal, 10)
    assert about(loss(versine=lambda phi: -2 * np.sin(phi / 2) ** 2), better, 10)
    assert worst_ulp(lie.se3.dexpinv(twists), exact) <= 8


def test_mueller2013_9_has_no_digit_left_below_1e_6():
    x = np.array([1e-7 * w for w in OMEGA] + V)
    assert off(powers_of_ad(x, lie.se3.ad(x), np), SE3.dexpinv(x)) > 0.1
    assert ulp_error(lie.se3.dexpinv(x), SE3.dexpinv(x)) <= 8


# ---------------------------------------------------------------- mueller2022 (46), (47): dexpinv on SE(3) by blocks


@precise
def test_mueller2022_46_and_47_are_right():
    x, y = col(OMEGA), col(V)
    phi = mp.norm(x)
    alpha, beta = mp.sin(phi) / phi, (mp.sin(phi / 2) / (phi / 2)) ** 2
    gamma = alpha / beta
    diagonal = one() - tilde(x) / 2 + (1 - gamma) / phi**2 * tilde(x) ** 2
    mixed = tilde(x) * tilde(y) + tilde(y) * tilde(x)
    b = -tilde(y) / 2 + (1 - gamma) / phi**2 * mixed
    b += mp.fdot(x, y) / phi**4 * (1 / beta + gamma - 2) * tilde(x) ** 2
    assert off(lower_blocks(diagonal, b, diagonal), SE3.dexpinv(TWIST)) < DIGITS


# ---------------------------------------------------------------- mueller2022 (35)-(37), (41), (48), (49): Cayley maps


def sigma(c):
    return 2 / (1 + mp.fdot(c, c))


@precise
def test_mueller2022_35_to_37_are_right():
    c = col(C)
    s, t = sigma(c), tilde(c)
    assert off(one() + s * (t + t**2), SO3.cay(C)) < DIGITS
    assert off(s * (one() + t), SO3.dcay(C)) < DIGITS
    assert off((one() + SO3.cay([-v for v in C])) / (2 * s), SO3.dcayinv(C)) < DIGITS
    assert off(one() / s + (t**2 - t) / 2, SO3.dcayinv(C)) < DIGITS
    assert off(SO3.dcay(C).T, SO3.dcay([-v for v in C])) < DIGITS  # ω = dcay_cᵀ c' is V = dcay_{-c} c'
    for name in ("cay", "dcay", "dcayinv"):
        assert ulp_error(getattr(lie.so3, name)(C), getattr(SO3, name)(C)) <= 8


@precise
def test_mueller2022_41_has_the_wrong_root():
    c = col(C)
    s, exact = sigma(c), S3.cay(C)
    printed = [mp.sqrt(s / 2), *(mp.sqrt(1 - s / 2) * v for v in c)]
    assert about(abs(mp.fdot(printed, printed) - 1), 0.080)
    p = mp.matrix(printed[1:])
    rotation = one() + 2 * printed[0] * tilde(p) + 2 * tilde(p) ** 2
    assert about(off(rotation, SO3.cay(C)), 0.31)
    corrected = [mp.sqrt(s / 2), *(mp.sqrt(s / 2) * v for v in c)]
    assert off(corrected, exact) < DIGITS
    also = [mp.sqrt(s / 2), *(mp.sqrt(1 - s / 2) * v / mp.norm(c) for v in c)]
    assert off(also, exact) < DIGITS
    assert ulp_error(lie.s3.cay(C), exact) <= 8


@precise
def test_mueller2022_48_is_right():
    x = np.array([*C, *D])
    rotation = SO3.cay(C)
    exact = SE3.cay(x)
    assert off(rotation, exact[:3, :3]) < DIGITS
    assert off((one() + rotation) * col(D), exact[:3, 3]) < DIGITS
    assert ulp_error(lie.se3.cay(x), exact) <= 8
    assert ulp_error(lie.pose.cay(x), ORACLE["pose"].cay(x)) <= 8


@precise
def test_mueller2022_49_needs_the_tilde_on_d():
    x = np.array([*C, *D])
    c, d, first = tilde(col(C)), col(D), SO3.dcayinv(C)
    exact, corner = SE3.dcayinv(x), (one() - tilde(col(C))) / 2
    assert off(lower_blocks(first, (c - one()) * tilde(d) / 2, corner), exact) < DIGITS
    assert about(off(lower_blocks(first, tilde((c - one()) * d / 2), corner), exact), 9e-2)
    y = col([0.3, 0.1, -0.5, 0.9, -0.2, 0.4])
    hats = (one(4) - SE3.hat(x)) * SE3.hat(list(y)) * (one(4) + SE3.hat(x)) / 2
    assert off(SE3.hat(list(exact * y)), hats) < DIGITS
    assert ulp_error(lie.se3.dcayinv(x), exact) <= 8


@precise
def test_mueller2022_after_49_inverts_the_differential():
    """Body twist of C = C0 cay(X): vee(C⁻¹ C') from central differences; 1e-18 leaves 36 digits of 60."""
    x, rate, step = col([*C, *D]), col([0.3, 0.1, -0.5, 0.9, -0.2, 0.4]), mpf(10) ** -18
    change = (SE3.cay(list(x + step * rate)) - SE3.cay(list(x - step * rate))) / (2 * step)
    twist = mp.matrix(SE3.vee(mp.inverse(SE3.cay(list(x))) * change))
    assert about(off(SE3.dcayinv(list(x)) * rate, twist), 1.32)
    assert off(SE3.dcay(list(-x)) * rate, twist) < mpf(10) ** -33
    assert off(SE3.dcayinv(list(-x)) * twist, rate) < mpf(10) ** -33
    found = lie.se3.dcay(-np.array([*C, *D])) @ np.array([float(v) for v in rate])
    assert off(found, twist) < 1e-15


# ---------------------------------------------------------------- celledoni2022, section 2.3: functions of ad on se(3)


def general_formula(x, y, phi, m):
    """phi(ad_(A,a)) (B, b) as printed; phi is (phi(0), g1, g2, g~1, g~2) at |A|."""
    (a1, a2), (b1, b2) = (x[:3], x[3:]), (y[:3], y[3:])
    zero, g1, g2, t1, t2 = phi
    cross = np.cross if m is np else lambda p, q: tilde(p) * q
    rho = a1 @ a2 if m is np else mp.fdot(a1, a2)
    ab = cross(a1, b1)
    first = zero * b1 + g1 * ab + g2 * cross(a1, ab)
    second = zero * b2 + g1 * (cross(a2, b1) + cross(a1, b2)) + rho * t1 * ab + rho * t2 * cross(a1, ab)
    second += g2 * (cross(a2, ab) + cross(a1, cross(a2, b1)) + cross(a1, cross(a1, b2)))
    return np.concatenate([first, second]) if m is np else mp.matrix([*first, *second])


FUNCTIONS = {
    "exp": mp.exp,
    "dexp": lambda z: (mp.exp(z) - 1) / z if z else mpf(1),
    "dexpinv": lambda z: z / (mp.exp(z) - 1) if z else mpf(1),
}


def coefficients(phi, alpha):
    """g1, g2 from their definition, g~1, g~2 by numerical differentiation with 60 digits."""

    def g1(z):
        return mp.im(phi(1j * z)) / z

    def g2(z):
        return (phi(mpf(0)) - mp.re(phi(1j * z))) / z**2

    return phi(mpf(0)), g1(alpha), g2(alpha), mp.diff(g1, alpha) / alpha, mp.diff(g2, alpha) / alpha


@pytest.mark.parametrize("name", FUNCTIONS)
@precise
def test_celledoni2022_general_formula_is_right(name):
    x, y = col(TWIST), col([0.3, 0.1, -0.5, 0.9, -0.2, 0.4])
    matrix = mp.expm(SE3.ad(TWIST)) if name == "exp" else getattr(SE3, name)(TWIST)
    found = general_formula(x, y, coefficients(FUNCTIONS[name], mp.norm(x[:3])), mp)
    assert off(found, matrix * y) < mpf(10) ** -25  # of the numerical derivatives


@precise
def test_celledoni2022_coefficients_of_dexpinv_are_right():
    z = mpf("0.9")
    value = coefficients(FUNCTIONS["dexpinv"], z)
    expected = (1, -mpf(1) / 2, (1 - z / 2 * mp.cot(z / 2)) / z**2, 0, closed_form(z, mp))
    assert off(value, expected) < mpf(10) ** -25


def closed_form(z, m):
    """g~2 as written out on the page of corrections."""
    cot, csc = m.cos(z / 2) / m.sin(z / 2), 1 / m.sin(z / 2)
    return ((-cot / 2 + z / 4 * csc**2) / z**2 - 2 * (1 - z / 2 * cot) / z**3) / z


def bernoulli(k):
    return abs(mp.bernoulli(2 * k)) / mp.factorial(2 * k)


def series(z, last):
    """g2 and g~2 up to b_last."""
    g2 = mp.fsum(bernoulli(k) * z ** (2 * k - 2) for k in range(1, last + 1))
    return g2, mp.fsum((2 * k - 2) * bernoulli(k) * z ** (2 * k - 4) for k in range(2, last + 1))


@pytest.mark.parametrize(("z", "stated"), [(0.1, 3e-10), (1e-2, 4e-6), (1e-3, 1e-2)])
@precise
def test_celledoni2022_closed_form_loses_digits(z, stated):
    around = np.linspace(0.9 * z, 1.1 * z, 21)
    exact = [series(mpf(float(v)), 12)[1] for v in around]
    errors = [float(abs(a / b - 1)) for a, b in zip(closed_form(around, np), exact, strict=True)]
    assert about(np.median(errors), stated, 10)


@precise
def test_celledoni2022_closed_form_is_useless_at_1e_4():
    around = np.linspace(0.9e-4, 1.1e-4, 21)
    assert max(abs(v / (mpf(1) / 360) - 1) for v in closed_form(around, np)) > 1


@pytest.mark.parametrize(
    ("angle", "stated"), [(1e-2, 1e-14), (1e-4, 7e-13), (1e-6, 1e-10), (1e-8, 1.5e-8), (1e-10, 1.2e-6)]
)
def test_celledoni2022_loss_of_dexpinv_at_small_angles(angle, stated):
    """With g~2 in closed form: error about ε/α, for |a| = 1. chasles sums series."""
    y = np.array([0.3, 0.1, -0.5, 0.9, -0.2, 0.4])
    twists = small_twists(angle)
    worst = 0.0
    for x in twists:
        z = np.linalg.norm(x[:3])
        g2 = float(series(mpf(float(z)), 12)[0])
        found = general_formula(x, y, (1.0, -0.5, g2, 0.0, closed_form(z, np)), np)
        worst = max(worst, float(off(found, SE3.dexpinv(x) * col(y))))
    assert about(worst, stated, 10)
    assert worst_ulp(lie.se3.dexpinv(twists), [SE3.dexpinv(x) for x in twists]) <= 8


@pytest.mark.parametrize(
    ("last", "stated"), [(6, (4e-13, None)), (5, (None, 3e-8)), (8, (3e-17, 4e-14)), (10, (2e-21, 4e-18))]
)
@precise
def test_celledoni2022_series_converge_as_stated(last, stated):
    z = mpf("0.6")
    exact = ((1 - z / 2 * mp.cot(z / 2)) / z**2, closed_form(z, mp))
    for found, truth, error in zip(series(z, last), exact, stated, strict=True):
        assert error is None or about(abs(found / truth - 1), error)


@precise
def test_celledoni2022_first_terms_of_the_series():
    shown = [12, 720, 30240, 1209600, 47900160, mpf(1307674368000) / 691]
    assert all(abs(bernoulli(k + 1) * n - 1) < DIGITS for k, n in enumerate(shown))
    derived = [360, 7560, 201600, 5987520]
    assert all(abs((2 * k + 2) * bernoulli(k + 2) * n - 1) < DIGITS for k, n in enumerate(derived))


@pytest.mark.parametrize("angle", [1e-8, 1e-3, 0.5, 2.0, 4.0])
def test_celledoni2022_formula_in_double_precision_with_good_coefficients(angle):
    """Stated: at most 1.3e-15, for arguments of size one; the error grows with the largest entry."""
    for x, y in zip(directions(0, 12), directions(2, 12), strict=True):
        twist, argument = np.array([*(angle * x), *y]), np.array([*y, *x])
        with mp.workdps(60):
            z = mpf(float(np.linalg.norm(twist[:3])))
            good = (1 - z / 2 * mp.cot(z / 2)) / z**2, closed_form(z, mp)
        found = general_formula(twist, argument, (1.0, -0.5, float(good[0]), 0.0, float(good[1])), np)
        assert off(found, SE3.dexpinv(twist) * col(argument)) < 1.3e-15
