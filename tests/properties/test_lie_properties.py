"""Properties of the groups on inputs that Hypothesis chooses: angles over twelve decades, translations up to 1e6.

Tolerances are roundings of the largest number that takes part: `scale`, at least 1.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from chasles import lie
from tests.lie.cases import EPS, GROUPS

check = settings(derandomize=True, deadline=None, max_examples=12, database=None)
CASES = [case for case in GROUPS if case.name != "product"]
every_group = pytest.mark.parametrize("group", CASES, ids=str)


@st.composite
def vectors(draw, group, largest=3.14):
    """Coordinates with a log-uniform angle below `largest` and a log-uniform translation up to 1e6."""
    x = np.array(draw(st.tuples(*[st.floats(-1, 1)] * group.dim)))
    first = group.angular[0].stop if group.angular else 0
    for part, log_size in ((x[:first], st.floats(-12, np.log10(largest))), (x[first:], st.floats(-6, 6))):
        norm = np.linalg.norm(part)
        part *= 10.0 ** draw(log_size) / norm if norm > 1e-3 else 0.0
    return x


def scale(*values):
    return max(1.0, *(float(np.max(np.abs(v))) for v in values))


def near(a, b, ulps, size):
    np.testing.assert_allclose(a, b, rtol=0, atol=ulps * EPS * size)


@every_group
@check
@given(data=st.data())
def test_group_axioms(group, data):
    f = group.f
    a, b, c = (f.exp(data.draw(vectors(group))) for _ in range(3))
    size = scale(a, b, c)
    near(f.compose(f.compose(a, b), c), f.compose(a, f.compose(b, c)), 8, size)
    near(f.compose(a, f.inverse(a)), group.identity(), 8, size)
    near(f.inverse(f.compose(a, b)), f.compose(f.inverse(b), f.inverse(a)), 8, size)
    np.testing.assert_array_equal(f.compose(a, group.identity()), a)


@every_group
@check
@given(data=st.data())
def test_exp_and_log(group, data):
    f, x = group.f, data.draw(vectors(group))
    g = f.exp(x)
    near(f.log(g), x, 8, scale(x, g))
    near(group.aligned(f.exp(f.log(g)), g), g, 8, scale(x, g))
    near(f.exp(-x), f.inverse(g), 8, scale(x, g))
    for part in group.angular:  # the angle does not suffer from the translation
        assert np.linalg.norm(f.log(g)[part] - x[part]) <= 8 * EPS * np.linalg.norm(x[part])


@every_group
@check
@given(data=st.data())
def test_dexp_and_its_inverse(group, data):
    f, x = group.f, data.draw(vectors(group, 5.0))
    d, i = f.dexp(x), f.dexpinv(x)
    near(d @ i, np.eye(group.dim), 8, scale(d) * scale(i))
    near(f.dexp(x) @ x, x, 8, scale(d) * scale(x))  # ad_x x = 0
    g = f.Ad(f.exp(x))
    near(d, g @ f.dexp(-x), 8, scale(g) * scale(d))


@every_group
@check
@given(data=st.data())
def test_adjoint_action(group, data):
    f, x, y = group.f, data.draw(vectors(group)), data.draw(vectors(group))
    a, b = f.exp(x), f.exp(y)
    near(f.Ad(f.compose(a, b)), f.Ad(a) @ f.Ad(b), 8, scale(f.Ad(a)) * scale(f.Ad(b)))
    near(f.bracket(x, y), f.ad(x) @ y, 4, scale(x) * scale(y))
    near(f.bracket(x, y), -f.bracket(y, x), 4, scale(x) * scale(y))
    size = scale(f.Ad(a)) ** 2 * scale(x) * scale(y)
    near(f.Ad(a) @ f.bracket(x, y), f.bracket(f.Ad(a) @ x, f.Ad(a) @ y), 8, size)


@pytest.mark.parametrize("group", [case for case in CASES if hasattr(case.f, "cay")], ids=str)
@pytest.mark.parametrize("name", ["cay", "cay2"])
@check
@given(data=st.data())
def test_cayley_maps(group, name, data):
    f, inverse = getattr(group.f, name), getattr(group.f, f"{name}inv")
    x = data.draw(vectors(group, 0.99))
    near(inverse(f(x)), x, 8, scale(x))
    d, i = getattr(group.f, f"d{name}")(x), getattr(group.f, f"d{name}inv")(x)
    near(d @ i, np.eye(group.dim), 8, scale(d) * scale(i))


@every_group
@check
@given(data=st.data())
def test_interpolation(group, data):
    f, t = group.f, data.draw(st.floats(0, 1))
    a = f.exp(data.draw(vectors(group)))
    x = data.draw(vectors(group, 3.0))
    b = f.compose(a, f.exp(x))
    size = scale(a, b, x)
    near(f.interpolate(a, b, t), f.compose(a, f.exp(t * x)), 8, size)


@check
@given(angles=arrays(float, 3, elements=st.floats(-7, 7)), sequence=st.sampled_from(lie.rotation.SEQUENCES))
def test_euler_angles_come_back_as_the_same_rotation(angles, sequence):
    q = lie.rotation.euler_to_quaternion(angles, sequence)
    back = lie.rotation.euler_to_quaternion(lie.rotation.quaternion_to_euler(q, sequence), sequence)
    near(back * np.sign(back @ q), q, 8, 1.0)


@check
@given(q=arrays(float, 4, elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 1e-3))
def test_projected_quaternions_are_accepted_and_turn_as_their_matrix(q):
    unit = lie.s3.project(q)
    r = lie.rotation.quaternion_to_matrix(unit)
    near(r.T @ r, np.eye(3), 16, 1.0)
    back = lie.rotation.matrix_to_quaternion(r)
    near(back * np.sign(back @ unit), unit, 8, 1.0)
    near(lie.so3.exp(lie.so3.log(r)), r, 8, 1.0)
