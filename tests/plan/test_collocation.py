"""Collocation on the group: against closed forms; Jacobians against differences."""

from unittest.mock import patch

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

import chasles as ch
from chasles.lie import s3
from chasles.plan.design import DesignedSystem
from chasles.plan.nonlinear import solved
from tests.plan.programs import program_of, require_slopes
from tests.plan.test_plan import GOAL, ball, block, chain

GOAL_BACK = ch.plan.reach(ch.plan.state([0.0], [0.0]))
STILL = (0.0, 0.0, 0.0)


def test_a_block_is_moved_along_a_cubic():
    """J = 12 and u = 6 - 12 t, which are within the polynomials."""
    plan = ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), limits=GOAL, solver="scipy", tolerance=1e-12)
    assert abs(plan.cost - 12) < 1e-9
    assert np.abs(plan.inputs[..., 0] - (6 - 12 * plan.input_times)).max() < 1e-6
    assert np.abs(plan.q[:, 0] - (3 * plan.t**2 - 2 * plan.t**3)).max() < 1e-8
    assert abs(plan.run.q[-1, 0] - 1.0) < 1e-3  # held for a twentieth of an interval


def test_motions_between_nodes_are_looked_at():
    """A block is the same everywhere; a pendulum that turns over in two intervals with one Gauss point each is not."""
    plan = ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), limits=GOAL, solver="scipy")
    assert plan.defects.shape == (3,)
    assert plan.defects.max() < 1e-3
    bob = ch.Body("bob", 1.0, (0, 0, -0.5), (0.01, 0.01, 0.01))
    pendulum = ch.System([bob], [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0))])
    turned = ch.plan.reach(ch.plan.state([3.0], [0.0]))
    with pytest.warns(RuntimeWarning, match="between nodes the motion is not one of the system"):
        rough = ch.plan.collocate(
            pendulum,
            (0, 1.5),
            2,
            ch.plan.effort(),
            limits=turned,
            stages=1,
            solver="scipy",
            guess=[[0.0], [1.5], [3.0]],
        )
    assert rough.defects.max() > 1e-2


def test_limits_are_looked_at_between_nodes():
    """A block that flies off, comes back and must not pass 0.05: within the first interval it passes 0.1."""
    back = [GOAL_BACK, ch.plan.keep(ch.plan.joint("slide"), -1.0, 0.05)]
    how = {"limits": back, "solver": "scipy", "v": [1.0]}
    with pytest.warns(RuntimeWarning, match="between them coordinate of joint 'slide' .always. is violated by 0.0534"):
        rough = ch.plan.collocate(block(), (0, 1), 2, ch.plan.effort(), **how)
    (off,) = rough.between.values()
    assert rough.violations["coordinate of joint 'slide' (always)"] < 1e-9
    t = np.linspace(0, 0.5, 10001)  # the motion of the first interval is a cubic
    (q0, q1), (v0, v1), s = rough.q[:2, 0], 0.5 * rough.v[:2, 0], 2 * t
    cubic = q0 + v0 * s + (3 * (q1 - q0) - 2 * v0 - v1) * s**2 + (v0 + v1 - 2 * (q1 - q0)) * s**3
    assert abs(off - (cubic.max() - 0.05)) < 2e-3
    assert "between nodes" in str(rough)
    fine = ch.plan.collocate(block(), (0, 1), 2, ch.plan.effort(), refine=1e-2, **how)
    assert fine.beyond.max() <= 1e-2
    assert fine.between["coordinate of joint 'slide' (always)"] < 1e-2
    assert 2 < len(fine.inputs) < 64
    assert fine.run.q.max() < 0.05 + 1e-2


def test_the_shortest_time():
    plan = ch.plan.collocate(
        *(block(), (0, 3), 2, ch.plan.duration()),
        limits=GOAL, low=-1, high=1, duration=(0.5, 5), solver="scipy", guess=[[0.0], [0.5], [1.0]],
    )  # fmt: skip
    assert abs(plan.duration - 2.0) < 1e-7
    assert np.abs(plan.inputs[..., 0] - [[1.0], [-1.0]]).max() < 1e-6


@pytest.mark.parametrize("package", ["ipyopt", "cyipopt"])
def test_ipopt_by_either_package(package):
    pytest.importorskip(package)
    how = {"limits": GOAL, "low": -1, "high": 1, "duration": (0.5, 5), "solver": "ipopt"}
    with patch("chasles.plan.nonlinear.ipopt_package", lambda: package):
        plan = ch.plan.collocate(block(), (0, 3), 2, ch.plan.duration(), guess=[[0.0], [0.5], [1.0]], **how)
        held = ch.plan.shoot(block(), (0, 3), 6, ch.plan.duration(), inputs=[0.1], **how)
        broken = ch.plan.keep(ch.plan.quantity(failing, "broken"), -1, 1)
        with pytest.raises(ZeroDivisionError, match="at the second time"):
            ch.plan.shoot(block(), (0, 3), 6, ch.plan.effort(), limits=[GOAL, broken], solver="ipopt")
    assert abs(plan.duration - 2.0) < 1e-7
    assert abs(held.duration - 2.0) < 1e-6
    assert 0 < held.iterations < 100


def failing(t, q, v):
    """A limit that fails where the motion has moved."""
    if np.abs(q).max() > 1e-3:
        raise ZeroDivisionError("at the second time")
    return q[:, 0]


def test_a_package_for_ipopt_is_needed():
    with patch("chasles.plan.nonlinear.find_spec", lambda name: None):
        with pytest.raises(ImportError, match='solver="ipopt" needs the package ipyopt, or cyipopt'):
            ch.plan.collocate(block(), (0, 1), 2, ch.plan.effort(), limits=GOAL, solver="ipopt")
        plan = ch.plan.collocate(block(), (0, 1), 2, ch.plan.effort(), limits=GOAL)
    assert abs(plan.cost - 12) < 1e-6


def test_intervals_are_cut_where_the_input_jumps():
    """The switch at half time is in the middle of the second of three intervals: cuts put a node there. Derivatives on
    intervals that differ are those of differences."""
    programs, path = [], np.linspace(0.0, 1.0, 4)[:, None]

    def kept(program, z, *more):
        programs.append(program)
        return solved(program, z, *more)

    way = ch.plan.tracking(ch.plan.state(q=[1.0]), 1e-3)
    costs, box = [ch.plan.duration(), ch.plan.effort(1e-6), way], {"low": -1, "high": 1, "duration": (0.5, 5)}
    with patch("chasles.plan.collocation.solved", kept):
        plan = ch.plan.collocate(
            block(), (0, 3), 3, costs, limits=GOAL, **box, solver="scipy", guess=path, refine=1e-6
        )  # fmt: skip
    lengths = np.diff(plan.t)
    assert len(programs) > 1
    assert lengths.max() > 1.5 * lengths.min()
    assert plan.defects.max() < 1e-6
    assert abs(plan.duration - 2.0) < 1e-5
    assert np.abs(plan.run.q[-1, 0] - 1.0) < 1e-5
    assert "intervals of" in str(plan)
    z = np.concatenate([0.3 * np.random.default_rng(0).normal(size=len(programs[-1].low) - 1), [2.0]])
    require_slopes(programs[-1], z)


@pytest.mark.parametrize(
    ("refine", "more", "said"), [(True, {}, "largest defect"), (1e-3, {"low": [[0.0]] * 4}, "adds")]
)
def test_what_cannot_be_refined(refine, more, said):
    limits = [GOAL, ch.plan.keep(ch.plan.joint("slide"), **({"low": -1.0} | more))]
    with pytest.raises(ValueError, match=said):
        ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), limits=limits, solver="scipy", refine=refine)


def test_differences_by_a_number_near_zero_keep_their_size():
    """A design that comes near a bound of zero is not differenced over steps of its own size, which are rounding."""

    def sliding(mass, offset):
        return block().rearranged(bodies=[ch.Body("block", mass + offset, STILL, (1, 1, 1))])

    found = DesignedSystem(sliding, {"mass": 1.0, "offset": 0.5}, None)
    found.choose(np.array([1.0, 1e-12]))
    tables, _ = found.derivatives(lambda mechanism, values: np.zeros(0))
    assert np.abs(tables[:, 0]).max() > 0.5
    assert np.abs(tables[:, 0] - tables[:, 1]).max() < 1e-12


def test_a_turn_is_the_geodesic_with_a_cubic_angle():
    axis, angle, count = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0), 2.5, 4
    guess = s3.exp(np.linspace(0, angle, count + 1)[:, None] * axis)
    goal = ch.plan.reach(ch.plan.state(guess[-1], STILL))
    plan = ch.plan.collocate(
        ball(), (0, 1), count, ch.plan.effort(), limits=goal, guess=guess, solver="scipy", tolerance=1e-11
    )
    turns, s = s3.log(plan.q), plan.t
    assert np.abs(turns - np.outer(angle * (3 * s**2 - 2 * s**3), axis)).max() < 1e-8
    assert abs(plan.cost - 12 * 0.4**2 * angle**2) < 1e-10


def test_jacobian_of_all_kinds_of_joints():
    """Springs and dampers are in the other test; here forces are those of inverse dynamics."""
    system = chain(stiffness=0.0, damping=0.0)
    assert system.compile().tables.acting.empty
    start = system.compile().random(np.random.default_rng(0)), np.ones(10)
    require_slopes(*program_of(ch.plan.collocate, system, start))


@pytest.mark.parametrize("way", [ch.plan.shoot, ch.plan.collocate])
def test_jacobian_with_springs_and_dampers(way):
    start = chain().compile().random(np.random.default_rng(0)), np.ones(10)
    require_slopes(*program_of(way, chain(), start))


def test_designs_are_not_for_optimize():
    def heavy(mass):
        return block()

    for given in ({"parameters": {"mass": 1.0}}, {}):
        with pytest.raises(ValueError, match="optimize finds inputs alone"):
            ch.plan.optimize(heavy, (0, 1), 3, ch.plan.effort(), limits=GOAL, **given)


def test_what_collocation_is_not_for():
    with pytest.raises(ValueError, match="solver is 'snopt'"):
        ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), solver="snopt")
    with pytest.raises(ValueError, match=r"the guess has shape \(2, 1\)"):
        ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), guess=np.zeros((2, 1)))
    path = ch.plan.tracking(ch.plan.frame("block", np.zeros((4, 3))))
    with pytest.raises(ValueError, match="frame 'block' has a target for each node, and collocate tracks between"):
        ch.plan.collocate(block(), (0, 1), 3, [ch.plan.effort(), path])
    with pytest.raises(ch.errors.InfeasibleError, match="violated"):
        ch.plan.collocate(block(), (0, 1), 2, ch.plan.effort(), limits=GOAL, low=-1, high=1, solver="scipy")


@pytest.mark.study
def test_a_cart_pole_by_two_methods():
    """The swing-up in 2 s over 1 m: collocation and inputs that are held agree; 58.81 is our own value."""
    pytest.importorskip("ipyopt")
    system = ch.System(
        [ch.Body("cart", 1.0, STILL, (1, 1, 1)), ch.Body("pole", 0.3, (0, 0, -0.5), (1e-9, 1e-9, 1e-9))],
        [
            ch.prismatic("rail", "ground", "cart", axis=(1, 0, 0)),
            ch.revolute("pin", "cart", "pole", axis=(0, 1, 0)),
        ],
        actuators=[ch.Actuator("motor", "rail", lower=-20, upper=20)],
    )
    end = np.array([1.0, -np.pi])
    limits = [ch.plan.reach(ch.plan.state(end, [0, 0])), ch.plan.keep(ch.plan.joint("rail"), -2, 2)]
    guess = np.linspace(0, 1, 51)[:, None] * end
    plan = ch.plan.collocate(system, (0, 2), 50, ch.plan.effort(), limits=limits, guess=guess)
    assert abs(plan.cost - 58.81) < 0.01
    held = ch.plan.optimize(
        *(system, (0, 2), 100, ch.plan.effort()), limits=limits, guess=plan.held(2).inputs, iterations=5000
    )
    assert abs(held.cost - plan.cost) < 2e-3 * plan.cost


@pytest.mark.study
@pytest.mark.parametrize("way", [ch.plan.shoot, ch.plan.collocate])
def test_a_spring_a_damper_and_a_law_of_time(way):
    """x'' = u - 4 x - x'/2 + sin(3 t): the least effort is of the Gramian of the linear system, without steps."""
    pytest.importorskip("ipyopt")
    A, B, begin = np.array([[0.0, 1.0], [-4.0, -0.5]]), np.array([0.0, 1.0]), 0.5

    def least(T):
        s, weights = np.polynomial.legendre.leggauss(30)
        carried = np.array([expm(A * (T - x)) @ B for x in T * (s + 1) / 2])
        W = np.einsum("ki,kj,k->ij", carried, carried, weights) * T / 2
        off = np.array([1.0, 0.0]) - carried.T @ (weights * np.sin(3.0 * (begin + T * (s + 1) / 2))) * T / 2
        return off @ np.linalg.solve(W, off) + 3.0 * T

    @ch.law
    def push(t, pose, twist, parameters, out):
        out[3] = np.sin(3.0 * t)

    system = block(stiffness=4.0, damping=0.5)
    system = ch.System(system.bodies, system.joints, forces=[ch.Wrench("push", "block", push)], gravity=STILL)
    plan = way(system, (begin, 1.5), 40, [ch.plan.effort(), ch.plan.duration(3.0)], limits=GOAL, duration=(0.5, 4.0))
    wanted = minimize_scalar(least, bounds=(0.5, 1.8), method="bounded", options={"xatol": 1e-8})
    exact = way is ch.plan.collocate  # else inputs are held
    assert abs(plan.cost - wanted.fun) < (5e-7 if exact else 2e-3)  # of order four, and of two
    assert abs(plan.duration - wanted.x) < (1e-4 if exact else 1e-3)
    assert abs(plan.run.q[-1, 0] - 1.0) < 1e-4
