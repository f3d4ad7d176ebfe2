"""Bad input raises a ValueError that names the function, the argument, its place in the batch and what was expected."""

import re

import numpy as np
import pytest

from chasles import lie
from chasles.lie.product import Product
from tests.lie.cases import BY_NAME, FACES, PRODUCT, arguments, close
from tests.oracle.definitions import nearest_rotation

every_function = pytest.mark.parametrize("face", FACES, ids=lambda face: face.label)


def refused(*parts):
    """A ValueError whose message has these parts, in this order."""
    return pytest.raises(ValueError, match="(?s)" + ".*".join(re.escape(part) for part in parts))


def shape(kind):
    return f"shape ({', '.join(['...', *map(str, kind.shape)])})"


def numbered(face):
    return list(enumerate(face.kinds))


def replaced(args, k, value):
    return [value if i == k else a for i, a in enumerate(args)]


# ---------------------------------------------------------------- every argument of every function


def wrong_shapes(face):
    args = arguments(face, (2,))
    for k, (name, kind) in numbered(face):
        if not kind.shape:
            continue  # a number broadcasts from any shape
        longer = np.zeros((2, *kind.shape[:-1], kind.shape[-1] + 1))
        for value in (longer, longer[..., : kind.shape[-1] - 1], np.zeros(kind.shape[:-1]), 1.0, []):
            with refused(f"{face.label}: {name} has shape {np.shape(value)}", f"expected a {kind.name}", shape(kind)):
                face(*replaced(args, k, value))


def what_is_not_real_numbers(face):
    args = arguments(face, ())
    for k, (name, kind) in numbered(face):
        with refused(f"{face.label}: {name} is complex", kind.name):
            face(*replaced(args, k, args[k] + 0j))
        ragged = [[1.0], [1.0, 2.0]]
        for value in (None, "text", ragged, {}, args[k].astype(object), args[k].astype(str), args[k] > 0):
            with refused(f"{face.label}: {name} is not an array of numbers", f"expected a {kind.name}", shape(kind)):
                face(*replaced(args, k, value))


@every_function
@pytest.mark.sample(1)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(face, bad):
    args = arguments(face, (3, 4))
    for k, (name, kind) in numbered(face):
        for component in {0, kind.size - 1}:
            value = args[k].copy()
            value.reshape(12, -1)[[5, 9], component] = bad
            expected = (f"expected a {kind.name}", shape(kind))
            with refused(f"{face.label}: {name}[1, 1] is not finite", str(bad), *expected):
                face(*replaced(args, k, value))
            with refused(f"{face.label}: {name} is not finite", *expected):
                face(*(a[1, 1] for a in replaced(args, k, value)))


@pytest.mark.parametrize("face", [face for face in FACES if len(face.kinds) > 1], ids=lambda face: face.label)
def test_leading_axes_that_do_not_broadcast(face):
    names = [name for name, _ in face.kinds]
    with refused(f"{face.label}: leading axes do not broadcast", f"{names[0]} (2,)", f"{names[1]} (3,)"):
        face(*arguments(face, (2,), (3,)))


# ---------------------------------------------------------------- off the group

# How far an element is off the group, for a small relative error e of its rotation:
# |q|² - 1 = 2 e; |RᵀR - I| and |det R - 1|/2 give (12 + 9/4)^½ e; |c² + s² - 1| and c₂ - c, s₂ + s give 2 e.
SLOPE = {
    "unit quaternion (w, x, y, z)": 2.0,
    "pose (w, x, y, z, position)": 2.0,
    "rotation matrix": np.sqrt(14.25),
    "pose matrix": np.sqrt(14.25),
    "2x2 rotation matrix": 2.0,
    "planar pose matrix": 2.0,
}
ROTATION_PART = {
    "pose (w, x, y, z, position)": np.s_[:4],
    "pose matrix": np.s_[:3, :3],
    "planar pose matrix": np.s_[:2, :2],
}
ON_A_GROUP = [face for face in FACES if any(kind.defect for _, kind in face.kinds)]


def stretched(kind, element, defect):
    """The element with its rotation made too large, to be off the group by `defect`."""
    element = element.copy()
    element[ROTATION_PART.get(kind.name, ...)] *= 1 + defect / SLOPE[kind.name]
    return element


@pytest.mark.parametrize("face", ON_A_GROUP, ids=lambda face: face.label)
def test_elements_off_the_group(face):
    """Refused beyond 1e-8; accepted at 0.9e-8."""
    args = arguments(face, (7,))
    for k, (name, kind) in numbered(face):
        if not kind.defect:
            continue
        value = args[k].copy()
        value[5] = stretched(kind, value[5], 0.9e-8)
        face(*replaced(args, k, value))
        value[5] = stretched(kind, args[k][5], 1.1e-8)
        found = f"{face.label}: {name}[5] is off the group by 1.1e-08 (more than 1e-08)"
        with refused(found, f"expected a {kind.name}", shape(kind), kind.expected):
            face(*replaced(args, k, value))


@pytest.mark.parametrize("name", ["so3", "se3", "so3xr3", "so2", "se2"])
def test_reflections(name):
    """The determinant tells them: a reflection has RᵀR = I."""
    group = BY_NAME[name]
    g = group.elements(0, (3,))
    size = 2 if name in ("so2", "se2") else 3
    g[1, :size, 0] *= -1
    with refused(f"{name}.inverse: g[1] is off the group by", "expected"):
        group.f.inverse(g)


@pytest.mark.parametrize("name", ["se3", "so3xr3", "se2"])
def test_bottom_row(name):
    group = BY_NAME[name]
    for column in range(group.shape[0]):
        g = group.elements(1, (3,))
        g[2, -1, column] += 0.9e-8
        group.f.inverse(g)
        g[2, -1, column] += 0.2e-8
        with refused(f"{name}.inverse: g[2] is off the group by 1.1e-08", "expected"):
            group.f.inverse(g)


# ---------------------------------------------------------------- which one is reported


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 9, 33])
def test_the_first_bad_element_is_reported(n):
    for first in range(n):
        x = np.zeros((n, 3))
        x[first:, 1] = np.nan
        with refused(f"so3.exp: x[{first}] is not finite: [ 0. nan  0.]"):
            lie.so3.exp(x)


def test_the_first_bad_element_is_reported_whatever_is_wrong_with_it():
    q, x = lie.s3.identity((6,)), np.zeros((6, 3))
    q[4] *= 2
    x[5, 0] = np.inf
    with refused("s3.act: g[4] is off the group by 3"):
        lie.s3.act(q, x)
    x[3, 0] = np.inf
    with refused("s3.act: p[3] is not finite"):
        lie.s3.act(q, x)
    with refused("s3.act: g[4, 0] is off the group"):
        lie.s3.act(q[:, None], np.zeros((2, 3)))
    with refused("s3.act: g[0, 0] is off the group by 3"):
        lie.s3.act(q[4], np.zeros((2, 2, 3)))


# ---------------------------------------------------------------- singularities

POLE = "has an angle at a multiple of 2 pi"
INVERSES = [
    f"{group}.{name}" for group in ("so3", "se3", "so3xr3") for name in ("dexpinv", "dexpinv_apply", "ddexpinv")
]


@pytest.mark.parametrize("label", [*INVERSES, "se2.dexpinv", "se2.ddexpinv"])
@pytest.mark.parametrize("turns", [1, 2, 7])
def test_poles_of_dexpinv(label, turns):
    """Refused within 1e-8 of 2π, 4π, ...; at 1e-7 and at zero there is a value."""
    face = next(face for face in FACES if face.label == label)
    args = [np.zeros((4, *kind.shape)) for _, kind in face.kinds]
    for axis in range(1 if label.startswith("se2") else 3):
        for sign in (1, -1):
            for off in (-1e-7, 1e-7):
                args[0][2, axis] = sign * (2 * np.pi * turns + off)
                assert np.all(np.isfinite(face(*args)))
            for off in (0.0, 0.5e-8, -0.5e-8):
                args[0][2, axis] = sign * (2 * np.pi * turns + off)
                with refused(f"{label}: x[2] {POLE}", "use"):
                    face(*args)
        args[0][2, axis] = 0.0


HALF_TURNS = {
    "so3": np.diag([1.0, -1.0, -1.0]),
    "s3": [0.0, 0.6, 0.0, 0.8],
    "se3": np.diag([-1.0, -1.0, 1.0, 1.0]),
    "pose": [0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("name", HALF_TURNS)
def test_half_turns_have_no_rodrigues_vector(name):
    group = BY_NAME[name]
    g = group.identity((3,))
    g[1] = HALF_TURNS[name]
    with refused(f"{name}.cayinv: g[1] is a rotation by half a turn", "use log or cay2inv"):
        group.f.cayinv(g)
    assert np.all(np.isfinite(group.f.cay2inv(g)))
    assert np.all(np.isfinite(group.f.log(g)))


def test_the_full_turn_of_s3_has_no_cay2inv():
    with refused("s3.cay2inv: g[1] is -1, a full turn", "use log, or the element -g"):
        lie.s3.cay2inv([[1, 0, 0, 0], [-1, 0, 0, 0]])


@pytest.mark.parametrize("name", ["so3", "se3"])
@pytest.mark.parametrize("angle", [np.pi / 2, -np.pi / 2])
def test_singularity_of_the_second_kind(name, angle):
    x = np.zeros((3, BY_NAME[name].dim))
    x[2, 1] = angle
    with refused(f"{name}.dccskinv: x[2] has its second angle at a right angle", "restart"):
        BY_NAME[name].f.dccskinv(x)


# ---------------------------------------------------------------- rotation


def test_axes_must_have_length_one():
    axis = np.array([[1.0, 0, 0], [0, 1 + 0.4e-8, 0], [0, 0, 1 + 0.6e-8]])
    lie.rotation.axis_angle_to_quaternion(axis[:2], 1.0)
    with refused("rotation.axis_angle_to_quaternion: axis[2] is not a unit vector", "divide it by its length"):
        lie.rotation.axis_angle_to_quaternion(axis, 1.0)


@pytest.mark.parametrize("sequence", ["", "XY", "XXY", "XYY", "ZYx", "ABC", "XYZX", " XYZ", 3, None])
def test_names_of_euler_sequences(sequence):
    parts = ("rotation", repr(sequence), "is not a sequence of Euler angles; expected one of XYZ", "ZYZ", "lower case")
    with refused(*parts):
        lie.rotation.euler_to_quaternion([0.1, 0.2, 0.3], sequence)
    with refused(*parts):
        lie.rotation.quaternion_to_euler([1.0, 0.0, 0.0, 0.0], sequence)


@pytest.mark.parametrize("name", ["", "quat", "Matrix", "euler"])
def test_names_of_descriptions(name):
    expected = f"rotation.convert: {name!r} is not a description of rotations; expected one of quaternion"
    for source, target in ((name, "matrix"), ("quaternion", name)):
        with refused(expected, "euler:<sequence>"):
            lie.rotation.convert([1.0, 0.0, 0.0, 0.0], source, target)


def test_convert_passes_on_what_is_wrong_with_the_rotation():
    with refused("rotation.matrix_to_quaternion: r[1] is off the group"):
        lie.rotation.convert([np.eye(3), 2 * np.eye(3)], "matrix", "quaternion")
    with refused("rotation: 'ABC' is not a sequence of Euler angles"):
        lie.rotation.convert(np.eye(3), "matrix", "euler:ABC")


# ---------------------------------------------------------------- R^n and products


NOT_NUMBERS = [None, "text", [1j, 2], [True], {}, [[1.0], [1.0, 2.0]]]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=str)
def test_rn_wants_real_vectors(value):
    with refused("rn.exp: x is not an array of real numbers", "expected shape (..., n)"):
        lie.rn.exp(value)
    with refused("rn.compose: h is not an array of real numbers"):
        lie.rn.compose([1.0], value)


def test_rn_names_what_is_not_finite_and_what_does_not_fit():
    with refused("rn.log: g has shape ()", "expected (..., n)"):
        lie.rn.log(1.0)
    with refused("rn.log: g[1, 0] is not finite: nan"):
        lie.rn.log([[1.0, 2.0], [np.nan, np.inf]])
    with refused("rn.compose: g has 2 components and h has 3"):
        lie.rn.compose([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("description", "parts"),
    [
        ((), ("product: expected names, each optionally followed by a number of copies",)),
        ((2, "s3"), ("product: expected names", "number of copies", "not 2")),
        (("s4",), ("product: 's4' is not a group; expected one of so2", "r1, r2")),
        (("s3", "SE3"), ("product: 'SE3' is not a group",)),
        (("r0",), ("product: 'r0' is not a group",)),
        (("rn",), ("product: 'rn' is not a group",)),
        (("r-1",), ("product: 'r-1' is not a group",)),
        (("s3", 0), ("product: 's3' is to be taken 0 times; expected at least once",)),
        (("s3", 2, 3), ("product: expected names", "number of copies", "not 3")),
        (("s3", 2.5), ("product: expected names", "number of copies", "not 2.5")),
        (("s3", None), ("product: expected names", "number of copies", "not None")),
        (("s3", True), ("product: expected names", "number of copies", "not True")),
        (("s3", "pose", -1), ("product: 'pose' is to be taken -1 times; expected at least once",)),
    ],
    ids=str,
)
def test_descriptions_of_products(description, parts):
    with refused(*parts):
        Product(*description)


def test_products_name_the_block_too():
    g = PRODUCT.identity((3,))
    g[2, 11] = 2.0
    with refused(f"{PRODUCT!r}, block 1: pose.log: g[2, 1] is off the group by 3", "expected a pose"):
        PRODUCT.log(g)
    with refused(f"{PRODUCT!r}, block 1: pose.compose: h[2, 1] is off the group by 3"):
        PRODUCT.compose(PRODUCT.identity(), g)
    x = np.zeros((2, 19))
    x[1, 16] = np.nan
    with refused("product.exp: argument 1[1, 16] is not finite: nan"):
        PRODUCT.exp(x)


def test_products_name_the_shape_they_want():
    with refused("product.log: argument 1 has shape (24,); expected an element of", repr(PRODUCT), "shape (..., 25)"):
        PRODUCT.log(np.zeros(24))
    with refused("product.bracket: argument 2 has shape (25,); expected an algebra vector of", "shape (..., 19)"):
        PRODUCT.bracket(np.zeros(19), np.zeros(25))


# ---------------------------------------------------------------- projection

PROJECTABLE = ["so2", "so3", "s3", "se2", "se3", "pose", "so3xr3", "s3xr3"]
NO_NEAREST = {
    "so2": ([np.zeros((2, 2)), np.diag([1.0, -1.0])], "equally far from all rotations"),
    "so3": ([np.zeros((3, 3)), np.diag([1.0, 1.0, -1.0]), np.diag([1.0, 1.0, 0.0])], "determinant <= 0"),
    "s3": ([np.zeros(4)], "the zero quaternion has no direction"),
    "se2": ([np.diag([1.0, -1.0, 1.0])], "equally far from all rotations"),
    "se3": ([np.diag([1.0, 1.0, -1.0, 1.0])], "determinant <= 0"),
    "pose": ([np.array([0.0, 0, 0, 0, 1, 2, 3])], "the zero quaternion has no direction"),
}


@pytest.mark.parametrize("name", PROJECTABLE)
def test_project_repairs_what_was_refused(name):
    group = BY_NAME[name]
    g = group.elements(2, (5,))
    noise = 1e-3 * np.random.default_rng(3).normal(size=g.shape)
    if name in ("se2", "se3", "so3xr3"):
        noise[..., :-1, -1] = 0
    elif name in ("pose", "s3xr3"):
        noise[..., 4:] = 0
    with refused(f"{name}.inverse: g[0] is off the group"):
        group.f.inverse(g + noise)
    repaired = group.f.project(g + noise)
    group.f.inverse(repaired)
    assert 1e-4 < np.max(np.abs(repaired - g)) < 1e-2
    close(group.f.project(repaired), repaired, 8)


def test_projections_of_matrices_are_the_nearest():
    m = lie.so3.random(np.random.default_rng(4)) + 0.2 * np.random.default_rng(5).normal(size=(3, 3))
    close(lie.so3.project(m), np.array(nearest_rotation(m).tolist(), dtype=float), 8)
    for m in np.random.default_rng(6).normal(size=(20, 2, 2)):  # of either sign of the determinant
        nearest = lie.so2.project(m)
        others = lie.so2.exp(lie.so2.log(nearest) + np.linspace(-np.pi, np.pi, 101)[:, None])
        distances = np.linalg.norm(others - m, axis=(1, 2))
        assert np.argmin(distances) == 50
        assert np.linalg.norm(nearest - m) <= distances.min() * (1 + 1e-15)


@pytest.mark.parametrize("name", NO_NEAREST)
def test_project_refuses_what_has_no_nearest_element(name):
    elements, reason = NO_NEAREST[name]
    function = {"se2": "so2", "se3": "so3", "pose": "s3"}.get(name, name)
    for element in elements:
        batch = np.stack([BY_NAME[name].identity(), element])
        with refused(f"{function}.project: ", reason):
            BY_NAME[name].f.project(batch)


@pytest.mark.parametrize("name", ["so2", "so3", "s3", "se2", "se3", "pose"])
def test_project_names_the_shape_it_wants(name):
    group = BY_NAME[name]
    with refused(f"{name}.project: ", "has shape (5,); expected (..., " + ", ".join(map(str, group.shape))):
        group.f.project(np.zeros(5))


@pytest.mark.parametrize("name", ["so2", "so3", "s3", "se2", "se3", "pose"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_project_wants_finite_real_numbers(name, bad):
    group = BY_NAME[name]
    g = group.identity((2,))
    g[1].flat[0] = bad
    with refused(f"{name}.project: ", "[1, 0", f"is not finite: {bad}"):
        group.f.project(g)
    for value in NOT_NUMBERS:
        with refused(f"{name}.project: ", "is not an array of real numbers", "expected shape (..., "):
            group.f.project(value)


# ---------------------------------------------------------------- errors name the function that was called

SOME = [np.zeros(3) + 0j, "text", [[1.0], [1.0, 2.0]]]
CALLS = [
    ("product.log", PRODUCT.log, SOME),
    ("lie.phi_ad", lambda x: lie.phi_ad(x, np.exp), [*SOME, [np.inf, 0.0, 0.0]]),
    ("rotation.euler_to_quaternion", lambda x: lie.rotation.euler_to_quaternion(x, "ZYX"), [*SOME, [1.0, 2.0]]),
    ("rotation.quaternion_to_euler", lambda q: lie.rotation.quaternion_to_euler(q, "ZYX"), [[2.0, 0.0, 0.0, 0.0]]),
    ("rotation.convert", lambda name: lie.rotation.convert([1.0, 0, 0, 0], name, "matrix"), [None]),
    ("product", Product, ["r²"]),
    ("rn.dexpinv", lie.rn.dexpinv, [[np.nan]]),
    ("rn.compose", lambda g: lie.rn.compose(g, np.zeros((3, 2))), [np.zeros((2, 2))]),
    ("rn.interpolate", lambda t: lie.rn.interpolate([0.0], [1.0], t), ["text", np.nan]),
]


@pytest.mark.parametrize(
    ("name", "call", "value"), [(name, call, value) for name, call, values in CALLS for value in values]
)
def test_errors_name_the_function_that_was_called(name, call, value):
    with refused(f"{name}: "):
        call(value)


def test_numbers_too_large_to_be_squared_are_refused():
    with refused("so3.exp: x[1] is too large to be squared: "):
        lie.so3.exp([[0.0, 0.0, 1.0], [0.0, 1e155, 0.0]])
    assert np.isfinite(lie.so3.exp([0.0, 1e150, 0.0])).all()


@every_function
def test_what_is_not_an_array_of_numbers(face):
    for check in (wrong_shapes, what_is_not_real_numbers):
        check(face)
