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
from chasles.integrate.solver import solve

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


# ---------------------------------------------------------------- complex groups

PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
SU2 = -0.5j * PAULI
SL2C = np.concatenate([SL2, 1j * SL2])
J = np.kron([[0, 1], [-1, 0]], np.eye(2))


def unitary(n):
    """A basis of u(n): skew-Hermitian matrices."""
    found = []
    for i in range(n):
        for j in range(i, n):
            e = np.zeros((n, n), dtype=complex)
            e[i, j] = 1
            found += [1j * (e + e.T)] if i == j else [e - e.T, 1j * (e + e.T)]
    return np.array(found)


def compact_symplectic():
    """A basis of sp(2): skew-Hermitian matrices with Xᵀ J + J X = 0, found as a null space."""
    basis = unitary(4)
    rows = np.array([(x.T @ J + J @ x).ravel() for x in basis]).T
    _, sizes, v = np.linalg.svd(np.concatenate([rows.real, rows.imag]))
    return np.tensordot(v[(sizes > 1e-12).sum() :], basis, axes=1)


COMPLEX = {"su2": SU2, "u3": unitary(3), "sp2": compact_symplectic(), "sl2c": SL2C}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("method", [RKMK("rk4"), RKMK("butcher6"), CommutatorFree("cf4"), CrouchGrossman("cg3")])
def test_complex_groups(name, method):
    """Against SciPy on the matrices; and the points stay on the group."""
    basis = COMPLEX[name]
    n, d = basis.shape[1], len(basis)
    weights = np.random.default_rng(4).normal(size=(d, n, n, 2)) * 0.5

    def turn(t, y, p=()):
        return np.einsum("aijk,ijk->a", weights, np.stack([np.sin(y.real + t), np.cos(y.imag)], axis=-1)) / n

    def right(t, flat):
        y = flat.reshape(n, n)
        return (np.tensordot(turn(t, y), basis, axes=1) @ y).ravel()

    start = np.eye(n, dtype=complex)
    true = solve_ivp(right, (0, 1), start.ravel(), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1].reshape(n, n)
    counts = (8, 16, 32) if method.order == 6 else (20, 40, 80)
    ends = [solve(LieODE(MatrixGroup(basis), turn), method, (0, 1), np.eye(n), step=1 / k).y[-1] for k in counts]
    found = np.array([abs(end - true).max() for end in ends])
    assert (np.log2(found[:-1] / found[1:]) > method.order - 0.3).all(), found
    end = ends[0]
    if name == "sl2c":
        assert abs(np.linalg.det(end) - 1) < 1e-13
    else:
        assert abs(end.conj().T @ end - np.eye(n)).max() < 1e-13
        assert name != "sp2" or abs(end.T @ J @ end - J).max() < 1e-13


def test_su2_is_the_unit_quaternions():
    """The same motion by the compiled loops: q = w - i (x, y, z) . sigma."""
    from chasles.integrate.space import Space

    def spin(t, y, p=()):
        return np.array([np.sin(t), 0.7, np.cos(3 * t)])

    matrix = solve(LieODE(MatrixGroup(SU2), spin), RKMK("rk4", 2), (0, 1), np.eye(2), step=0.1).y[-1]
    w, *v = solve(LieODE(Space("s3"), spin), RKMK("rk4", 2), (0, 1), [1, 0, 0, 0], step=0.1).y[-1]
    np.testing.assert_allclose(matrix, w * np.eye(2) - 1j * np.tensordot(v, PAULI, axes=1), rtol=0, atol=1e-14)


def test_a_complex_group_acts_on_vectors_and_knows_its_algebra():
    group = MatrixGroup(SL2C)
    x = np.random.default_rng(5).normal(size=6)
    np.testing.assert_allclose(group.vee(group.hat(x)), x, atol=1e-14)
    np.testing.assert_allclose(group.hat(group.bracket(x, x[::-1])), _commutator(group, x, x[::-1]), atol=1e-13)
    end = solve(LieODE(group, lambda t, y, p: x), RKMK("rk4"), (0, 1), [1.0, 0.0], step=0.5).y[-1]
    np.testing.assert_allclose(end, scipy_expm(group.hat(x))[:, 0], atol=1e-13)


def _commutator(group, x, y):
    a, b = group.hat(x), group.hat(y)
    return a @ b - b @ a


def test_imaginary_parts_are_never_dropped():
    from chasles.integrate.space import Space
    from chasles.integrate.vector_field import field

    @field
    def compiled(t, y, p, out):
        out[0] = 1.0

    group = MatrixGroup(SU2)
    with pytest.raises(ValueError, match="real coefficients"):
        MatrixGroup(PAULI)  # Hermitian: the commutators need the factor i
    with pytest.raises(ValueError, match="linearly dependent"):
        MatrixGroup(np.concatenate([SU2, SU2[:1]]))
    with pytest.raises(ValueError, match="complex numbers of shape"):
        solve(LieODE(group, lambda t, y, p: np.array([1j, 0, 0])), RKMK("rk4"), (0, 1), np.eye(2), step=0.1)
    with pytest.raises(ValueError, match="plain Python function"):
        solve(LieODE(group, compiled), RKMK("rk4"), (0, 1), np.eye(2), step=0.1)
    flow = FrameSpace(lambda x, y: y * np.exp(1j * x[0]), 1)
    with pytest.raises(ValueError, match="complex points"):
        solve(LieODE(flow, lambda t, y, p: np.ones(1)), CommutatorFree("cf4"), (0, 1), np.ones(1), step=0.1)
    with pytest.raises(ValueError, match="real numbers"):
        solve(LieODE(Space("r2"), lambda t, y, p: y), RKMK("rk4"), (0, 1), np.array([1j, 0]), step=0.1)
    with pytest.raises(ValueError, match="complex numbers"):
        solve(LieODE(Space("r2"), lambda t, y, p: 1j * y), RKMK("rk4"), (0, 1), np.array([1.0, 0]), step=0.1)
    problem = LieODE(group, lambda t, y, p: np.ones(3), correction=compiled)
    with pytest.raises(ValueError, match="correction"):
        solve(problem, RKMK("rk4"), (0, 1), np.eye(2), step=0.1)


def test_complex_points_of_a_flow():
    flow = FrameSpace(lambda x, y: y * np.exp(1j * x[0]), 1)
    end = solve(LieODE(flow, lambda t, y, p: np.array([t])), CommutatorFree("cf4"), (0, 1), [1 + 0j], step=0.1).y[-1]
    np.testing.assert_allclose(end, np.exp(0.5j), atol=1e-14)
