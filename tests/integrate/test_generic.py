"""Matrix groups and frame spaces in plain Python, against SciPy and against the compiled loops."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm as scipy_expm

from chasles import lie
from chasles.integrate.generic import FrameSpace, MatrixGroup
from chasles.integrate.matrix import expm
from chasles.integrate.method import RKMK, CommutatorFree, CrouchGrossman, LowStorage
from chasles.integrate.problem import LieODE
from chasles.integrate.solve import solve

SL2 = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]], [[1, 0], [0, -1.0]]])
SO3 = np.array([lie.so3.hat(e) for e in np.eye(3)])


def sl2_field(t, y, p=()):
    """Three smooth functions of time and of the point."""
    return np.array([np.sin(t + y[0, 0]), np.cos(2 * t) * y[1, 1], 0.5 + 0.3 * y[0, 1]])


def reference(t_end):
    def right(t, flat):
        y = flat.reshape(2, 2)
        return (np.tensordot(sl2_field(t, y), SL2, axes=1) @ y).ravel()

    return (
        solve_ivp(right, (0, t_end), np.eye(2).ravel(), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1].reshape(2, 2)
    )


@pytest.mark.parametrize(
    "method",
    [RKMK("kutta3"), RKMK("rk4"), RKMK("dopri5"), CommutatorFree("cf4"), CrouchGrossman("cg3"), LowStorage()],
    ids=lambda m: m.tableau if isinstance(m, RKMK) else m.name,
)
def test_orders_on_sl2(method):
    truth = reference(1.0)
    group = MatrixGroup(SL2)
    found = [
        abs(solve(LieODE(group, sl2_field), method, (0, 1), np.eye(2), step=1 / n).y[-1] - truth).max()
        for n in (10, 20, 40)
    ]
    assert (np.log2(found[:-1]) - np.log2(found[1:]) > method.order - 0.25).all(), found
    end = solve(LieODE(group, sl2_field), method, (0, 1), np.eye(2), step=0.1).y[-1]
    assert np.linalg.det(end) == pytest.approx(1, abs=1e-13)  # on the group


def test_the_same_as_the_compiled_loops_on_rotations():
    from chasles.integrate.space import Space

    def turn(t, y, p=None):
        return np.array([np.sin(t), y.reshape(3, 3)[0, 1], 0.4])

    generic = solve(LieODE(MatrixGroup(SO3), turn), RKMK("rk4", 2), (0, 1), np.eye(3), step=0.1)
    compiled = solve(LieODE(Space("so3"), turn), RKMK("rk4", 2), (0, 1), np.eye(3), step=0.1)
    np.testing.assert_allclose(generic.y[-1].ravel(), compiled.y[-1], rtol=0, atol=1e-14)


def test_structure_constants_of_rotations():
    group = MatrixGroup(SO3)
    x, y = np.array([0.1, -0.3, 0.2]), np.array([0.5, 0.7, -0.2])
    np.testing.assert_allclose(group.bracket(x, y), np.cross(x, y), atol=1e-15)
    np.testing.assert_allclose(group.vee(group.hat(x)), x, atol=1e-15)


def test_frame_fields_and_their_flows():
    """Stretching and sliding of the half line of positive numbers times the line: E1 = y1 d1, E2 = y1 d2."""

    def flow(x, y):
        a, b = x
        growth = np.expm1(a) / a if a else 1.0
        return np.array([y[0] * np.exp(a), y[1] + b * y[0] * growth])

    def field(t, y, p=()):
        return np.array([np.sin(y[1] + t), np.cos(y[0])])

    def right(t, y):
        a, b = field(t, y)
        return [a * y[0], b * y[0]]

    truth = solve_ivp(right, (0, 1), [1.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    space = FrameSpace(flow, 2)
    found = [
        abs(solve(LieODE(space, field), CommutatorFree("cf4"), (0, 1), [1.0, 0.0], step=1 / n).y[-1] - truth).max()
        for n in (10, 20, 40)
    ]
    assert (np.log2(found[:-1]) - np.log2(found[1:]) > 3.75).all(), found
    with pytest.raises(ValueError, match="no commutators"):
        solve(LieODE(space, field), RKMK("rk4"), (0, 1), [1.0, 0.0], step=0.1)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (np.eye(3), "expected"),
        ([SL2[0], SL2[0]], "dependent"),
        (SL2[:2], "not closed"),
    ],
)
def test_bad_bases_are_refused(basis, message):
    with pytest.raises(ValueError, match=message):
        MatrixGroup(basis)


@pytest.mark.parametrize("scale", [0, 1e-10, 1e-3, 1, 30, 200])
def test_matrix_exponential(scale):
    a = np.random.default_rng(0).normal(size=(5, 5))
    a = scale * (a - a.T)
    np.testing.assert_allclose(expm(a), scipy_expm(a), rtol=0, atol=1e-14 * max(1, scale))
