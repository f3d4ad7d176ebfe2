"""One battery over every group: axioms, coordinate maps, adjoint actions, differentials, interpolation.

Tolerances are counted in roundings of the largest entry (`close`). Each is about twice what was measured and below the
number of operations in the formulas compared: room for other processors, none for an error of method.
"""

import numpy as np
import pytest
from scipy.linalg import expm

from chasles import lie
from chasles.lie.product import Product
from tests.lie.cases import BY_NAME, EPS, GROUPS, PRODUCT, close, having
from tests.oracle.definitions import ORACLE, ulp_error


def over(*names):
    """Run the test for every group that has these functions."""
    return pytest.mark.parametrize("group", having(*names), ids=str)


def transpose_times(m, f):
    return np.einsum("...ij,...i->...j", m, f)


def times(m, x):
    return np.einsum("...ij,...j->...i", m, x)


# ---------------------------------------------------------------- the group


def test_every_group_is_in_the_battery():
    assert [case.name for case in GROUPS] == [*lie.product.GROUPS, "rn", "product"]
    for case in GROUPS:
        assert case.identity((2, 3)).shape == (2, 3, *case.shape)
        assert case.f.exp(np.zeros(case.dim)).shape == case.shape


@over("compose", "identity")
def test_identity_changes_nothing(group):
    g, e = group.elements(0), group.identity()
    np.testing.assert_array_equal(group.f.compose(g, e), g)
    np.testing.assert_array_equal(group.f.compose(e, g), g)
    np.testing.assert_array_equal(group.f.exp(np.zeros(group.dim)), e)
    np.testing.assert_array_equal(group.f.log(e), np.zeros(group.dim))


@over("compose", "inverse")
def test_inverse(group):
    """Errors are those of positions of size 4, against an identity of size 1."""
    g = group.elements(1)
    e = group.identity((len(g),))
    close(group.f.compose(g, group.f.inverse(g)), e, 20)
    close(group.f.compose(group.f.inverse(g), g), e, 20)
    close(group.f.inverse(group.f.inverse(g)), g, 8)


@over("compose")
def test_associativity(group):
    f = group.f
    a, b, c = (group.elements(seed) for seed in (2, 3, 4))
    close(f.compose(f.compose(a, b), c), f.compose(a, f.compose(b, c)), 4)


@over("compose", "inverse")
def test_inverse_of_a_product(group):
    f = group.f
    a, b = group.elements(5), group.elements(6)
    close(f.inverse(f.compose(a, b)), f.compose(f.inverse(b), f.inverse(a)), 8)


@over("act")
def test_action_is_compatible_with_composition(group):
    f, size = group.f, {"so2": 2, "se2": 2, "so3xr3": 6, "s3xr3": 6, "rn": 4}.get(group.name, 3)
    a, b = group.elements(7), group.elements(8)
    p = np.random.default_rng(9).normal(size=(len(a), size))
    close(f.act(f.compose(a, b), p), f.act(a, f.act(b, p)), 4)
    np.testing.assert_array_equal(f.act(group.identity(), p), p)
    assert np.max(np.abs(f.act(a, p) - p)) > 0.1


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_random_elements_are_on_the_group_and_reproducible(group):
    g = group.random(np.random.default_rng(10), (3, 2))
    assert g.shape == (3, 2, *group.shape)
    np.testing.assert_array_equal(g, group.random(np.random.default_rng(10), (3, 2)))
    assert np.max(np.abs(g - group.random(np.random.default_rng(11), (3, 2)))) > 0.1
    if hasattr(group.f, "project"):
        close(group.f.project(g), g, 6)


@pytest.mark.parametrize("name", ["so2", "so3", "s3", "se3", "pose"])
def test_random_rotations_are_uniform(name):
    """Under the Haar measure the entries of R have mean 0 and mean square 1/d; six standard deviations are allowed."""
    count = 4000
    g = BY_NAME[name].elements(12, (count,))
    angular = BY_NAME[name].f.Ad(g)[:, :3, :3] if name != "so2" else g
    size = angular.shape[-1]
    assert np.max(np.abs(np.mean(angular, axis=0))) < 6 / np.sqrt(size * count)
    assert np.max(np.abs(np.mean(angular**2, axis=0) - 1 / size)) < 6 / np.sqrt(count)


# ---------------------------------------------------------------- exponential and logarithm


@over("exp", "log")
def test_log_inverts_exp(group):
    """For every angle from 1e-12 to π: the angular part keeps its relative accuracy, the rest that of the twist."""
    x = group.vectors(20, (400,))
    back = group.f.log(group.f.exp(x))
    close(back, x, 4)
    for part in group.angular:
        size = np.linalg.norm(x[:, part], axis=-1)
        assert np.max(np.linalg.norm(back[:, part] - x[:, part], axis=-1) / size) < 8 * EPS


@over("exp", "log")
def test_exp_inverts_log(group):
    g = group.elements(21, (400,))
    close(group.aligned(group.f.exp(group.f.log(g)), g), g, 8)


@over("exp", "inverse")
def test_exp_of_the_negative_is_the_inverse(group):
    x = group.vectors(22)
    close(group.f.exp(-x), group.f.inverse(group.f.exp(x)), 4)


@over("exp", "compose")
def test_exp_is_a_one_parameter_group(group):
    x = group.vectors(23)
    close(group.f.compose(group.f.exp(0.25 * x), group.f.exp(0.75 * x)), group.f.exp(x), 8)


@pytest.mark.parametrize("name", ["so2", "so3", "se2", "se3", "pose"])
def test_exp_is_the_matrix_exponential_of_hat(name):
    group = BY_NAME[name]
    x = group.vectors(24)
    g = group.f.exp(x)
    close(group.f.to_matrix(g) if name == "pose" else g, expm(group.f.hat(x)), 32)


def test_s3_covers_so3_twice():
    f, rng = lie.s3, np.random.default_rng(25)
    q, p = f.random(rng, (40,)), rng.normal(size=(40, 3))
    np.testing.assert_array_equal(f.act(q, p), f.act(-q, p))
    np.testing.assert_array_equal(f.Ad(q), f.Ad(-q))
    x, other = f.log(q), f.log(-q)
    angle = np.linalg.norm(x, axis=-1, keepdims=True)
    close(other, x * (1 - 2 * np.pi / angle), 8)  # the same axis, the rest of the full turn, the other way round
    close(f.exp(other), -q, 8)


def test_s3_log_inverts_exp_up_to_a_full_turn():
    rng = np.random.default_rng(26)
    axis = lie.s3.random(rng, (200,))[:, 1:]
    x = axis / np.linalg.norm(axis, axis=-1, keepdims=True) * rng.uniform(np.pi, 2 * np.pi - 1e-6, (200, 1))
    error = np.linalg.norm(lie.s3.log(lie.s3.exp(x)) - x, axis=-1)
    # near the full turn the axis is known as well as the small vector part: its error grows like 1/sin(θ/2)
    assert np.all(error <= 8 * EPS * 2 * np.pi / np.sin(0.5 * np.linalg.norm(x, axis=-1)))


def test_poses_with_opposite_quaternions_are_one_pose():
    g = lie.pose.random(np.random.default_rng(27), (40,))
    h = g * [-1, -1, -1, -1, 1, 1, 1]
    for name in ("log", "Ad", "to_matrix", "cayinv", "cay2inv", "ccskinv"):
        np.testing.assert_array_equal(getattr(lie.pose, name)(g), getattr(lie.pose, name)(h))


def test_pose_and_se3_are_one_group():
    f, rng = lie.pose, np.random.default_rng(28)
    g, h, x = f.random(rng, (40,)), f.random(rng, (40,)), rng.normal(size=(40, 6))
    m, n = f.to_matrix(g), f.to_matrix(h)
    close(f.to_matrix(f.compose(g, h)), m @ n, 16)
    close(f.to_matrix(f.inverse(g)), np.linalg.inv(m), 16)
    close(f.log(g), lie.se3.log(m), 16)
    close(f.Ad(g), lie.se3.Ad(m), 4)
    close(f.from_matrix(m), f.from_matrix(f.to_matrix(f.from_matrix(m))), 4)
    assert np.all(f.from_matrix(m)[:, 0] >= 0)
    for name in ("exp", "cay", "cay2", "ccsk"):
        close(f.to_matrix(getattr(f, name)(x)), getattr(lie.se3, name)(x), 16)


@pytest.mark.parametrize(("direct", "rotation"), [("so3xr3", "so3"), ("s3xr3", "s3")])
def test_direct_products_with_r3_are_componentwise(direct, rotation):
    f, r, rng = getattr(lie, direct), getattr(lie, rotation), np.random.default_rng(29)
    x, y = rng.normal(size=(2, 40, 6))

    def split(g):
        return (g[:, :3, :3], g[:, :3, 3]) if direct == "so3xr3" else (g[:, :4], g[:, 4:])

    g, h = f.exp(x), f.exp(y)
    np.testing.assert_array_equal(split(g)[0], r.exp(x[:, :3]))
    np.testing.assert_array_equal(split(g)[1], x[:, 3:])
    np.testing.assert_array_equal(split(f.compose(g, h))[0], r.compose(split(g)[0], split(h)[0]))
    np.testing.assert_array_equal(split(f.compose(g, h))[1], x[:, 3:] + y[:, 3:])
    zero = np.zeros((40, 3, 3))
    blocks = np.block([[r.dexp(x[:, :3]), zero], [zero, zero + np.eye(3)]])
    np.testing.assert_array_equal(f.dexp(x), blocks)


# ---------------------------------------------------------------- adjoint actions and the algebra


@over("Ad", "compose")
def test_Ad_is_a_homomorphism(group):
    a, b = group.elements(30), group.elements(31)
    close(group.f.Ad(group.f.compose(a, b)), group.f.Ad(a) @ group.f.Ad(b), 8)
    np.testing.assert_array_equal(group.f.Ad(group.identity()), np.eye(group.dim))


@over("Ad", "ad", "exp")
def test_Ad_of_exp_is_the_exponential_of_ad(group):
    """SciPy scales and squares, which costs it up to 67 ulp here; chasles is within 2 of the oracle."""
    x = group.vectors(32)
    close(group.f.Ad(group.f.exp(x)), expm(group.f.ad(x)), 128)


@over("Ad", "exp", "compose", "inverse")
def test_Ad_is_conjugation(group):
    """g exp(x) g⁻¹ = exp(Ad_g x); angles stay below π, so the sign of a quaternion is kept."""
    g, x = group.elements(33), group.vectors(34)
    f = group.f
    close(f.compose(f.compose(g, f.exp(x)), f.inverse(g)), f.exp(times(f.Ad(g), x)), 8)


@over("Ad_apply", "AdT_apply", "adT_apply")
def test_applied_forms_equal_the_matrices(group):
    f, g, x = group.f, group.elements(35), group.vectors(36)
    y = np.random.default_rng(37).normal(size=x.shape)
    close(f.Ad_apply(g, y), times(f.Ad(g), y), 4)
    close(f.AdT_apply(g, y), transpose_times(f.Ad(g), y), 4)
    close(f.adT_apply(x, y), transpose_times(f.ad(x), y), 2)


@over("bracket", "ad")
def test_bracket_is_ad(group):
    x, y = group.vectors(38), group.vectors(39)
    close(group.f.bracket(x, y), times(group.f.ad(x), y), 2)
    close(group.f.bracket(x, y), -group.f.bracket(y, x), 2)  # not exactly: a fused product is rounded once


@over("bracket")
def test_jacobi_identity(group):
    bracket = group.f.bracket
    x, y, z = (group.vectors(seed, largest=1.0) for seed in (40, 41, 42))
    close(bracket(x, bracket(y, z)) + bracket(y, bracket(z, x)) + bracket(z, bracket(x, y)), np.zeros_like(x), 4)


@over("hat", "vee")
def test_hat_and_vee_are_inverse(group):
    x = group.vectors(43)
    np.testing.assert_array_equal(group.f.vee(group.f.hat(x)), x)


@pytest.mark.parametrize("name", ["so2", "so3", "se2", "se3", "pose"])
def test_bracket_is_the_commutator_of_hats(name):
    f, x, y = BY_NAME[name].f, BY_NAME[name].vectors(44), BY_NAME[name].vectors(45)
    a, b = f.hat(x), f.hat(y)
    close(f.hat(f.bracket(x, y)), a @ b - b @ a, 2)


def test_bracket_of_s3_is_the_commutator_of_pure_quaternions():
    f, rng = lie.s3, np.random.default_rng(46)
    x, y = rng.normal(size=(2, 40, 3))

    def product(a, b):
        v, w = a[:, 1:], b[:, 1:]
        scalar = a[:, :1] * b[:, :1] - np.sum(v * w, axis=1, keepdims=True)
        return np.hstack([scalar, a[:, :1] * w + b[:, :1] * v + np.cross(v, w)])

    a, b = f.hat(x), f.hat(y)
    close(f.hat(f.bracket(x, y)), product(a, b) - product(b, a), 2)


@pytest.mark.parametrize("name", ["so2", "so3", "se2", "se3"])
def test_Ad_is_conjugation_of_hats(name):
    f, g, x = BY_NAME[name].f, BY_NAME[name].elements(47), BY_NAME[name].vectors(48)
    close(f.hat(times(f.Ad(g), x)), g @ f.hat(x) @ f.inverse(g), 4)


# ---------------------------------------------------------------- differentials


@over("dexp", "dexpinv")
def test_dexpinv_inverts_dexp(group):
    x = group.vectors(50, (100,), largest=5.0)
    one = np.broadcast_to(np.eye(group.dim), (100, group.dim, group.dim))
    d, i = group.f.dexp(x), group.f.dexpinv(x)
    growth = np.linalg.norm(d, axis=(1, 2)).max() * np.linalg.norm(i, axis=(1, 2)).max()
    close(d @ i, one, growth)
    close(i @ d, one, growth)


@over("dexp_apply", "dexpinv_apply")
def test_applied_differentials_equal_the_matrices(group):
    f, x = group.f, group.vectors(51, largest=5.0)
    y = np.random.default_rng(52).normal(size=x.shape)
    close(f.dexp_apply(x, y), times(f.dexp(x), y), 2)
    close(f.dexpinv_apply(x, y), times(f.dexpinv(x), y), 2)


@over("dexp", "Ad", "exp")
def test_dexp_of_both_signs_differ_by_Ad(group):
    """dexp_x = Ad_exp(x) dexp_{-x}: the right- and the left-trivialized differential."""
    x = group.vectors(53)
    close(group.f.dexp(x), group.f.Ad(group.f.exp(x)) @ group.f.dexp(-x), 8)


@over("dexp", "exp", "log", "compose", "inverse")
def test_dexp_is_the_right_trivialized_differential(group):
    """log(exp(x + h y) exp(x - h y)⁻¹)/2h: the differences err by h² and by 1/h roundings, both about 1e-10."""
    f, x, h = group.f, group.vectors(54), 1e-5
    y = group.vectors(55, largest=1.0)
    change = f.log(f.compose(f.exp(x + h * y), f.inverse(f.exp(x - h * y)))) / (2 * h)
    np.testing.assert_allclose(change, times(f.dexp(x), y), rtol=0, atol=2e-9)


@pytest.mark.parametrize("name", ["dexp", "dexpinv"])
@over("ddexp", "ddexpinv")
def test_derivatives_of_differentials_against_central_differences(group, name):
    f, x, h = getattr(group.f, name), group.vectors(56), 1e-5
    y = np.random.default_rng(57).normal(size=x.shape)
    difference = (f(x + h * y) - f(x - h * y)) / (2 * h)
    np.testing.assert_allclose(getattr(group.f, f"d{name}")(x, y), difference, rtol=0, atol=2e-9)


@over("bch", "exp", "log", "compose")
def test_bch_is_the_logarithm_of_the_product(group):
    f, x, y = group.f, group.vectors(58, largest=1.5), group.vectors(59, largest=1.5)
    close(f.bch(x, y), f.log(f.compose(f.exp(x), f.exp(y))), 2)
    if group.dim > 1 and group.name != "rn":
        assert np.max(np.abs(f.bch(x, y) - x - y)) > 1e-3


ORACLE_GROUPS = ["so2", "so3", "s3", "se2", "se3", "so3xr3", "pose"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ORACLE_GROUPS)
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.6, 3.0])
def test_every_map_against_its_definition(name, angle):
    """Errors in ulp of the largest entry; test_accuracy has more angles and tighter bars for the common maps."""
    group, truth = BY_NAME[name], ORACLE[name]
    x, y = group.vectors(60, (), largest=1.0), group.vectors(61, (), largest=1.0)
    x[: truth.angular] *= angle / np.linalg.norm(x[: truth.angular])
    g = group.f.exp(x)
    for function in ("exp", "ad", "dexp", "dexpinv"):
        assert ulp_error(getattr(group.f, function)(x), getattr(truth, function)(x)) <= 8, function
    for function in ("log", "Ad"):
        assert ulp_error(getattr(group.f, function)(g), getattr(truth, function)(g)) <= 8, function
    for function in ("ddexp", "ddexpinv", "bch"):
        assert ulp_error(getattr(group.f, function)(x, y), getattr(truth, function)(x, y)) <= 16, function


ALGEBRA = "ad adT_apply bracket dexp dexpinv ddexp ddexpinv dexp_apply dexpinv_apply"
SHARED = [
    ("s3", "so3", f"{ALGEBRA} dcay dcayinv dcay2 dcay2inv"),
    ("pose", "se3", f"{ALGEBRA} dcay dcayinv dcay2 dcay2inv dccsk dccskinv bch hat vee"),
    ("s3xr3", "so3xr3", ALGEBRA),
]


@pytest.mark.parametrize(("group", "other", "names"), SHARED)
def test_groups_with_one_algebra_share_its_functions(group, other, names):
    for name in names.split():
        assert getattr(getattr(lie, group), name) is getattr(getattr(lie, other), name)


# ---------------------------------------------------------------- Cayley coordinates and those of the second kind

CAYLEY = ["so3", "s3", "se3", "pose"]


@pytest.mark.parametrize("name", CAYLEY)
@pytest.mark.parametrize("map_", ["cay", "cay2"])
def test_inverse_cayley_maps(name, map_):
    group = BY_NAME[name]
    f, inverse = getattr(group.f, map_), getattr(group.f, f"{map_}inv")
    x = group.vectors(62, largest=1.0)
    close(inverse(f(x)), x, 4)
    g = f(np.random.default_rng(63).normal(size=x.shape))
    back = f(inverse(g))
    close(group.aligned(back, g), g, 16)
    differential, inverted = getattr(group.f, f"d{map_}")(x), getattr(group.f, f"d{map_}inv")(x)
    close(differential @ inverted, np.broadcast_to(np.eye(group.dim), differential.shape), 16)


@pytest.mark.parametrize("name", CAYLEY)
def test_cay2_is_the_square_of_cay(name):
    group = BY_NAME[name]
    x = group.vectors(64, largest=2.0)
    g = group.f.cay(x)
    close(group.f.cay2(x), group.f.compose(g, g), 8)


@pytest.mark.parametrize("name", CAYLEY)
def test_cayley_maps_in_terms_of_exp(name):
    """cay(tan(θ/2) n) and cay2(tan(θ/4) n) are the rotation by θ about n."""
    group = BY_NAME[name]
    x = np.zeros((40, group.dim))
    x[:, :3] = group.vectors(65, largest=3.0)[:, :3]
    angle = np.linalg.norm(x, axis=1, keepdims=True)
    close(group.f.cay(x * np.tan(angle / 2) / angle), group.f.exp(x), 8)
    close(group.f.cay2(x * np.tan(angle / 4) / angle), group.f.exp(x), 8)


@pytest.mark.parametrize("name", ["so3", "se3", "pose"])
def test_coordinates_of_the_second_kind(name):
    group = BY_NAME[name]
    f, rng = group.f, np.random.default_rng(66)
    x = rng.uniform(-1.4, 1.4, size=(40, group.dim))
    g = group.identity()
    for k in range(group.dim):
        g = f.compose(g, f.exp(x[:, k : k + 1] * np.eye(group.dim)[k]))
    close(group.aligned(f.ccsk(x), g), g, 4)
    close(f.ccskinv(f.ccsk(x)), x, 8)  # a factor 1/cos(1.4) = 6 in the condition
    close(f.dccsk(x) @ f.dccskinv(x), np.broadcast_to(np.eye(group.dim), (40, group.dim, group.dim)), 8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_second_kind_at_the_right_angle(sign):
    """Only x1 ± x3 is determined there: the element is recovered, with x3 = 0."""
    x = np.array([0.7, sign * np.pi / 2, -0.4])
    g = lie.so3.ccsk(x)
    found = lie.so3.ccskinv(g)
    close(lie.so3.ccsk(found), g, 2)
    close(found, [x[0] + sign * x[2], x[1], 0.0], 2)


# ---------------------------------------------------------------- interpolation


@over("interpolate")
def test_interpolation_ends_at_both_elements(group):
    g, h = group.elements(70), group.elements(71)
    close(group.f.interpolate(g, h, 0.0), g, 2)
    close(group.aligned(group.f.interpolate(g, h, 1.0), h), h, 8)


@over("interpolate")
def test_interpolation_has_constant_velocity(group):
    f, g, h = group.f, group.elements(72), group.elements(73)
    path = f.interpolate(g[:, None], h[:, None], np.linspace(0, 1, 5))
    step = f.compose(f.inverse(path[:, :-1]), path[:, 1:])
    quarter = f.exp(0.25 * f.log(f.compose(f.inverse(g), h)))
    close(step, np.broadcast_to(quarter[:, None], step.shape), 16)


# ---------------------------------------------------------------- products


def test_product_is_componentwise():
    g, h = PRODUCT.random(np.random.default_rng(80), (3,)), PRODUCT.random(np.random.default_rng(81), (3,))
    x, y = np.random.default_rng(82).normal(size=(2, 3, 19))
    parts = [  # group, where it lies in an element, its shape, where it lies in an algebra vector
        (lie.s3, slice(0, 4), (4,), slice(0, 3)),
        (lie.pose, slice(4, 11), (7,), slice(3, 9)),
        (lie.pose, slice(11, 18), (7,), slice(9, 15)),
        (lie.rn, slice(18, 21), (3,), slice(15, 18)),
        (lie.so2, slice(21, 25), (2, 2), slice(18, 19)),
    ]
    diagonal = np.zeros((19, 19), dtype=bool)
    for f, at, shape, algebra in parts:
        a, b = g[:, at].reshape(3, *shape), h[:, at].reshape(3, *shape)
        u, v = x[:, algebra], y[:, algebra]
        np.testing.assert_array_equal(PRODUCT.compose(g, h)[:, at], f.compose(a, b).reshape(3, -1))
        np.testing.assert_array_equal(PRODUCT.inverse(g)[:, at], f.inverse(a).reshape(3, -1))
        np.testing.assert_array_equal(PRODUCT.interpolate(g, h, 0.3)[:, at], f.interpolate(a, b, 0.3).reshape(3, -1))
        np.testing.assert_array_equal(PRODUCT.exp(x)[:, at], f.exp(u).reshape(3, -1))
        np.testing.assert_array_equal(PRODUCT.log(g)[:, algebra], f.log(a))
        np.testing.assert_array_equal(PRODUCT.bracket(x, y)[:, algebra], f.bracket(u, v))
        np.testing.assert_array_equal(PRODUCT.Ad(g)[:, algebra, algebra], f.Ad(a))
        for name in ("ad", "dexp", "dexpinv"):
            np.testing.assert_array_equal(getattr(PRODUCT, name)(x)[:, algebra, algebra], getattr(f, name)(u))
        for name in ("ddexp", "ddexpinv"):
            np.testing.assert_array_equal(getattr(PRODUCT, name)(x, y)[:, algebra, algebra], getattr(f, name)(u, v))
        diagonal[algebra, algebra] = True
    for matrix in (PRODUCT.Ad(g), PRODUCT.ad(x), PRODUCT.dexp(x), PRODUCT.ddexp(x, y)):
        assert not np.any(matrix[:, ~diagonal])


def test_descriptions_of_products():
    assert repr(PRODUCT) == "Product('s3', 'pose', 2, 'r3', 'so2')"
    assert (PRODUCT.size, PRODUCT.dimension) == (25, 19)
    same = Product("s3", "pose", 2, "r3", "so2")
    assert same == PRODUCT
    assert hash(same) == hash(PRODUCT)
    for other in (Product("s3", "pose", 3, "r3", "so2"), Product("s3", "pose", 2, "r4", "so2"), "pose"):
        assert other != PRODUCT
