"""Batches: on threads equal to one by one, on lanes equal to rounding."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate import batch as module
from chasles.integrate.batch import solve_batch
from chasles.integrate.method import RKMK, CommutatorFree, CrouchGrossman, LowStorage
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.vector_field import Field
from tests.integrate.problems import PARAMETERS, problem, tangle

wide = Field(tangle.function, lanes=True)
RNG = np.random.default_rng(5)
SPACES = [("so3",), ("s3", "r3"), ("se3",), ("pose",), ("se2", "so2"), ("ts2",), ("se3*", "so3*"), ("s2",)]


def parameter_sets(count):
    return PARAMETERS * RNG.uniform(0.5, 1.5, size=(count, 1))


def compare(equation, method, y0, parameters, tolerance=1e-13, **options):
    """All saved points of a batch on lanes against one by one."""
    together = solve_batch(equation, method, (0, 1), y0, parameters=parameters, **options)
    assert len(together) == len(parameters)
    for p, start, run in zip(
        parameters, np.broadcast_to(y0, (len(parameters), np.shape(y0)[-1])), together, strict=True
    ):
        alone = solve(LieODE(equation.space, tangle, p), method, (0, 1), start, **options)
        np.testing.assert_array_equal(run.t, alone.t)
        scale = max(1.0, abs(alone.y).max())
        np.testing.assert_allclose(run.y, alone.y, rtol=0, atol=tolerance * scale)
        assert (run.steps, run.evaluations, run.exponentials) == (alone.steps, alone.evaluations, alone.exponentials)
        assert run.message == alone.message
    return together


@pytest.fixture
def lanes_only(monkeypatch):
    """Fail if the batch is done one by one."""

    def refuse(*arguments, **options):
        raise AssertionError("not on lanes")

    monkeypatch.setattr(module, "solve", refuse)


@pytest.mark.usefixtures("lanes_only")
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("names", SPACES, ids=lambda names: " ".join(names))
def test_lanes_equal_one_by_one_on_every_space(names, side):
    equation, start = problem(*names, side=side)
    compare(LieODE(equation.space, wide), RKMK("rk4"), start, parameter_sets(4), step=1 / 40)


@pytest.mark.usefixtures("lanes_only")
@pytest.mark.parametrize(
    "method",
    [
        RKMK("dopri5"),
        RKMK("dop853"),
        RKMK("rk4", "minimal"),
        RKMK("rk4", 2),
        pytest.param(RKMK("rk4", coordinates="cay"), marks=pytest.mark.study),
        pytest.param(RKMK("rk4", coordinates="second_kind"), marks=pytest.mark.study),
        CommutatorFree("cf4"),
        CrouchGrossman("cg3"),
        LowStorage(),
    ],
    ids=lambda m: f"{m.tableau} {m.dexpinv} {m.coordinates}" if isinstance(m, RKMK) else m.name,
)
def test_lanes_equal_one_by_one_with_every_family(method):
    equation, start = problem("pose", "s2", "r2")
    compare(LieODE(equation.space, wide), method, start, parameter_sets(5), step=1 / 40, save=7)


@pytest.mark.usefixtures("lanes_only")
@pytest.mark.parametrize("size", [1, 3, 4, 5, 9])
def test_any_size_of_batch(size):
    equation, start = problem("ts2", "s3")
    together = compare(LieODE(equation.space, wide), RKMK("rk4"), start, parameter_sets(size), step=1 / 32)
    for run in together:  # a curve through the points, and a checkpoint, as ever
        np.testing.assert_allclose(run(run.t[5]), run.y[5], atol=1e-14)
        assert run.checkpoint["y"].shape == start.shape
    compare(LieODE(equation.space, wide), RKMK("rk4"), start, parameter_sets(size), step=1 / 32, save="final")


@pytest.mark.usefixtures("lanes_only")
def test_starting_points_and_more_points_than_a_buffer_holds():
    equation, start = problem("s2")
    points = np.array([ch.lie.so3.act(ch.lie.so3.exp([0.1 * k, 0.2, -0.05 * k]), start) for k in range(6)])
    together = solve_batch(LieODE(equation.space, wide, PARAMETERS), RKMK("euler"), (0, 3), points, step=0.001)
    for point, run in zip(points, together, strict=True):
        alone = solve(equation, RKMK("euler"), (0, 3), point, step=0.001)
        assert len(run.t) == 3001
        np.testing.assert_allclose(run.y, alone.y, rtol=0, atol=1e-13)


def test_a_stopped_run_on_one_state_continues_a_run_on_lanes():
    equation, start = problem("ts2")
    wide_equation = LieODE(equation.space, wide, PARAMETERS)
    (run,) = solve_batch(wide_equation, RKMK("rk4"), (0, 1), start, step=0.01)
    again = solve(wide_equation, RKMK("rk4"), (0, 1), start, step=0.01)
    for name, value in again.checkpoint.items():
        np.testing.assert_allclose(run.checkpoint[name], value, atol=1e-12)


def test_one_that_fails_spoils_no_other():
    @ch.integrate.field(lanes=True)
    def root(t, y, p, out):
        out[0] = np.sqrt(p[0] - t)

    line = LieODE(ch.integrate.Space("r1"), root)
    with pytest.warns(RuntimeWarning, match="not finite"):
        runs = solve_batch(line, RKMK("rk4"), (0, 1), [0.0], parameters=[[2.0], [0.5], [3.0]], step=0.1)
    assert [run.success for run in runs] == [True, False, True]
    assert "not finite" in runs[1].message
    assert runs[0].y[-1, 0] == pytest.approx((2**1.5 - 1) * 2 / 3, abs=1e-6)


def test_a_field_that_branches_is_refused_with_advice():
    @ch.integrate.field(lanes=True)
    def branches(t, y, p, out):
        out[0] = 1.0 if y[0] > 0.0 else -1.0

    with pytest.raises(TypeError, match="'branches' cannot be compiled for lanes"):
        solve_batch(LieODE(ch.integrate.Space("r1"), branches), RKMK("rk4"), (0, 1), [[1.0]] * 4, step=0.1)


@pytest.mark.parametrize("options", [{"rtol": 1e-8, "atol": 1e-9}, {"step": 0.1, "save": [0.5, 1.0]}], ids=str)
@pytest.mark.parametrize("function", [tangle, wide], ids=["scalar", "lanes"])
def test_what_lanes_do_not_do_runs_on_threads_to_the_same_bits(function, options):
    equation, start = problem("ts2")
    parameters = parameter_sets(7)
    batch = solve_batch(
        LieODE(equation.space, function), RKMK("dopri5"), (0, 1), start, parameters=parameters, **options
    )
    for p, run in zip(parameters, batch, strict=True):
        alone = solve(LieODE(equation.space, tangle, p), RKMK("dopri5"), (0, 1), start, **options)
        np.testing.assert_array_equal(run.y, alone.y)


def test_batches_of_other_problems():
    body = ch.integrate.RigidBodyOnSO3((1.0, 2.0, 3.0), lambda t, q, p: p * q[1:])
    start = np.array([1.0, 0, 0, 0, 0.2, 0.3, -0.1])
    runs = solve_batch(body, ch.integrate.LieVerlet(), (0, 1), start, parameters=np.eye(3), step=0.1)
    assert not np.allclose(runs[0].y[-1], runs[1].y[-1])


def test_sizes_that_do_not_fit():
    equation, start = problem("ts2")
    with pytest.raises(ValueError, match="2 starting points and 3 sets"):
        solve_batch(equation, RKMK("rk4"), (0, 1), np.tile(start, (2, 1)), parameters=parameter_sets(3), step=0.1)
