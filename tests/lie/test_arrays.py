"""How every function treats arrays: leading axes, batch sizes, number types, memory layout, `out=` and keywords."""

import numpy as np
import pytest

from chasles import lie
from tests.lie.cases import BY_NAME, FACES, GROUPS, arguments, results

every_function = pytest.mark.parametrize("face", FACES, ids=lambda face: face.label)


def equal(first, second):
    """The same bits in every result."""
    for a, b in zip(results(first), results(second), strict=True):
        assert a.shape == b.shape
        np.testing.assert_array_equal(a, b)


def at(value, index):
    return tuple(part[index] for part in results(value))


def full(face, batch, args):
    """Arguments with their leading axes written out."""
    return [np.broadcast_to(a, batch + kind.shape) for a, (_, kind) in zip(args, face.kinds, strict=True)]


# ---------------------------------------------------------------- batches


def a_batch_is_its_elements(face):
    """For every size from 1 to 9, so that the last block of four rows overlaps the one before it in all ways."""
    args = arguments(face, (9,))
    whole = face(*args)
    for n in range(1, 10):
        equal(face(*(a[:n] for a in args)), at(whole, slice(n)))
    for k in range(9):
        equal(face(*(a[k] for a in args)), at(whole, k))
    assert all(np.ptp(a, axis=0).max() > 0 for a in results(whole)) or face.label in CONSTANT


CONSTANT = {f"so2.{name}" for name in ("Ad", "ad", "bracket", "dexp", "dexpinv", "ddexp", "ddexpinv")}
SHAPES = [
    [()],
    [(1,)],
    [(2, 3)],
    [(3,), ()],
    [(), (3,)],
    [(1,), (3,)],
    [(3,), (1,)],
    [(2, 1, 5), (4, 5)],
    [(4, 1), (2, 1, 1), (3,)],
    [(0,)],
    [(0,), ()],
    [(2, 0), (1,)],
    [(3, 1), (0,)],
]


def leading_axes_broadcast(face):
    for shapes in SHAPES:
        args = arguments(face, *shapes)
        used = [shapes[min(k, len(shapes) - 1)] for k in range(len(args))]
        batch = np.broadcast_shapes(*used)
        result = face(*args)
        for value, kind in zip(results(result), face.out, strict=True):
            assert value.shape == batch + kind.shape
            assert value.dtype == np.float64
        equal(result, face(*(np.array(a) for a in full(face, batch, args))))


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("shapes", [((), (3,)), ((1,), (3,)), ((2, 1, 5), (4, 5)), ((1,), (1,))], ids=str)
def test_groups_broadcast(group, shapes):
    first, second = shapes
    batch = np.broadcast_shapes(first, second)
    g, h = group.elements(1, first), group.elements(2, second)
    x, y = group.vectors(3, first), group.vectors(4, second)
    composed, bracket = group.f.compose(g, h), group.f.bracket(x, y)
    assert composed.shape == batch + group.shape
    assert bracket.shape == (*batch, group.dim)
    assert group.f.interpolate(g, h, np.full(second, 0.5)).shape == batch + group.shape
    one = (0,) * len(batch)
    a, b = np.broadcast_to(g, batch + group.shape)[one], np.broadcast_to(h, batch + group.shape)[one]
    np.testing.assert_array_equal(composed[one], group.f.compose(a, b))
    u, v = np.broadcast_to(x, bracket.shape)[one], np.broadcast_to(y, bracket.shape)[one]
    np.testing.assert_array_equal(bracket[one], group.f.bracket(u, v))


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("name", ["ddexp", "ddexpinv"])
@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((2, 1), (3,))], ids=str)
def test_derivatives_broadcast(group, name, shapes):
    x, y = group.vectors(5, shapes[0]), group.vectors(6, shapes[1])
    batch = np.broadcast_shapes(*shapes)
    result = getattr(group.f, name)(x, y)
    assert result.shape == (*batch, group.dim, group.dim)
    full = (np.array(np.broadcast_to(v, (*batch, group.dim))) for v in (x, y))
    np.testing.assert_array_equal(result, getattr(group.f, name)(*full))


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("shape", [(0,), (2, 0)], ids=str)
def test_empty_batches(group, shape):
    f, g, x = group.f, group.identity(shape), np.zeros((*shape, group.dim))
    assert g.shape == shape + group.shape
    assert group.random(np.random.default_rng(0), shape).shape == shape + group.shape
    for result in (f.compose(g, g), f.inverse(g), f.exp(x), f.interpolate(g, g, 0.5)):
        assert result.shape == shape + group.shape
    assert f.log(g).shape == f.bracket(x, x).shape == (*shape, group.dim)
    for result in (f.Ad(g), f.ad(x), f.dexp(x), f.dexpinv(x), f.ddexp(x, x)):
        assert result.shape == (*shape, group.dim, group.dim)


# ---------------------------------------------------------------- numbers and memory


def memory_layout_and_ownership(face):
    """Strided, reversed, Fortran-ordered, byte-swapped, read-only and misaligned arguments: the same bits, nothing is
    modified."""
    args = arguments(face, (6,))
    expected = face(*args)

    def spaced(a):
        wide = np.full((12, *a.shape[1:], 2), np.nan)
        wide[::2, ..., 0] = a
        return wide[::2, ..., 0]

    def read_only(a):
        a = a.copy()
        a.flags.writeable = False
        return a

    def misaligned(a):
        bytes_of = np.zeros(a.nbytes + 1, dtype=np.uint8)
        moved = bytes_of[1:].view(a.dtype).reshape(a.shape)
        moved[...] = a
        assert not moved.flags.aligned
        return moved

    for layout in (np.array, spaced, lambda a: a[::-1].copy()[::-1], np.asfortranarray, read_only, misaligned):
        given = [layout(a) for a in args]
        equal(face(*given), expected)
        for a, b in zip(given, args, strict=True):
            np.testing.assert_array_equal(a, b)
    equal(face(*(a.astype(">f8") for a in args)), expected)
    equal(face(*(a.tolist() for a in args)), expected)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.longdouble, np.int64, np.int8, np.uint16])
def test_other_numbers_are_converted_exactly(group, kind):
    x = np.array(3 * np.random.default_rng(7).uniform(size=(5, group.dim)), dtype=kind)
    e = group.identity((5,))
    for name in ("exp", "dexp", "ad", "dexpinv"):
        result = getattr(group.f, name)(x)
        assert result.dtype == np.float64
        np.testing.assert_array_equal(result, getattr(group.f, name)(x.astype(float)))
    np.testing.assert_array_equal(group.f.compose(e.astype(kind), group.elements(8, (5,))), group.elements(8, (5,)))


def test_the_result_is_new_memory():
    """Also where a function returns its argument."""
    for group in GROUPS:
        g, x = group.elements(9, (5,)), group.vectors(9, (5,))
        for result in (group.f.compose(g, group.identity()), group.f.inverse(g), group.f.exp(x), group.f.log(g)):
            assert not np.shares_memory(result, g)
            assert not np.shares_memory(result, x)
    r = BY_NAME["so3"].elements(9)
    assert not np.shares_memory(lie.so3.Ad(r), r)


# ---------------------------------------------------------------- out= and keywords


@every_function
@pytest.mark.sample(1)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
def test_out(face, batch):
    args = arguments(face, batch)
    expected = face(*args)
    given = tuple(np.full(batch + kind.shape, np.nan) for kind in face.out)
    returned = face(*args, out=given if len(given) > 1 else given[0])
    equal(given, expected)
    for a, b in zip(results(returned), given, strict=True):
        assert a is b


@pytest.mark.parametrize(
    "out",
    [
        np.empty((2, 3, 4)),
        np.empty((3, 3)),
        np.empty((1, 2, 3, 3)),
        np.empty((2, 3, 3), dtype=np.float32),
        np.empty((3, 3, 2)).T,
        np.empty((2, 3, 6))[:, :, ::2],
        np.zeros(145, dtype=np.uint8)[1:].view(float).reshape(2, 3, 3),
        [[[0.0] * 3] * 3] * 2,
        "out",
    ],
    ids=["shape", "rank", "more axes", "type", "Fortran", "strided", "odd", "list", "text"],
)
def test_wrong_out_is_refused(out):
    with pytest.raises(ValueError, match=r"so3\.exp: out must be a writeable .* array of shape \(2, 3, 3\)"):
        lie.so3.exp(np.zeros((2, 3)), out=out)


def test_out_that_cannot_be_written_is_refused():
    out = np.empty((3, 3))
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"so3\.exp: out must be a writeable"):
        lie.so3.exp(np.zeros(3), out=out)


@pytest.mark.parametrize("n", range(1, 10))
def test_out_may_be_an_argument(n):
    g, h = (lie.so3.random(np.random.default_rng(seed), (n + 1,)) for seed in (11, 12))
    expected = lie.so3.compose(g, h)
    shifted = np.concatenate([h, h[:1]])
    lie.so3.compose(g, shifted[:-1], out=shifted[1:])  # memory in common with an argument
    np.testing.assert_array_equal(shifted[1:], expected)
    lie.so3.compose(g, h, out=h)
    np.testing.assert_array_equal(h, expected)


def keyword_arguments(face):
    args = arguments(face, (2,))
    named = {name: a for (name, _), a in zip(face.kinds, args, strict=True)}
    equal(face(**named), face(*args))
    equal(face(args[0], **dict(list(named.items())[1:])), face(*args))
    with pytest.raises(TypeError, match=face.label):
        face(*args, 1.0)
    with pytest.raises(TypeError, match=face.label):
        face(*args, unknown=1.0)
    with pytest.raises(TypeError, match=face.label):
        face(*args[1:])


def test_functions_introduce_themselves():
    assert repr(lie.se3.compose) == "<chasles function se3.compose(g, h)>"
    assert lie.se3.compose.__doc__.startswith("Product g h")
    assert lie.se3.compose.__name__ == "compose"
    assert lie.se3.compose.__module__ == "chasles.lie.se3"


@every_function
def test_a_function_of_arrays(face):
    for check in (a_batch_is_its_elements, leading_axes_broadcast, memory_layout_and_ownership, keyword_arguments):
        check(face)
