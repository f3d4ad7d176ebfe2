"""Collocation on the group: against closed forms; Jacobians against differences."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix

import chasles as ch
from chasles.lie import s3
from chasles.plan.account import Account
from chasles.plan.collocation import Transcription
from chasles.simulation.prepare import prepare
from tests.plan.test_plan import GOAL, ball, block, four_bar

STILL = (0.0, 0.0, 0.0)


def test_a_block_is_moved_along_a_cubic():
    """J = 12 and u = 6 - 12 t, which are within the polynomials."""
    plan = ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), limits=GOAL, solver="scipy", tolerance=1e-12)
    assert abs(plan.cost - 12) < 1e-9
    assert np.abs(plan.inputs[..., 0] - (6 - 12 * plan.input_times)).max() < 1e-6
    assert np.abs(plan.q[:, 0] - (3 * plan.t**2 - 2 * plan.t**3)).max() < 1e-8
    assert abs(plan.run.q[-1, 0] - 1.0) < 1e-3  # held for a twentieth of an interval


def test_the_shortest_time():
    plan = ch.plan.collocate(
        *(block(), (0, 3), 2, ch.plan.duration()),
        limits=GOAL, low=-1, high=1, duration=(0.5, 5), solver="scipy", guess=[[0.0], [0.5], [1.0]],
    )  # fmt: skip
    assert abs(plan.duration - 2.0) < 1e-7
    assert np.abs(plan.inputs[..., 0] - [[1.0], [-1.0]]).max() < 1e-6


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
    system = ch.System(
        [ch.Body(f"b{k}", 1.0 + k, (0.1, 0, -0.2), (0.1, 0.2, 0.25)) for k in range(3)],
        [
            ch.free("f", "ground", "b0"),
            ch.spherical("s", "b0", "b1", at=(0, 0, -0.4)),
            ch.revolute("r", "b1", "b2", axis=(0, 1, 0), at=(0, 0, -0.4)),
        ],
    )
    rng = np.random.default_rng(0)
    start = system.compile().random(rng), np.ones(10)
    dynamics, state = prepare("test", system, 0.0, *start, "relative", inputs=True)
    task = Transcription(dynamics.mechanism, dynamics, state, (0.0, 0.3), 2, 2)
    of_tip = ch.plan.tracking(ch.plan.frame("b2", [1.0, 2.0, 3.0]))
    costs = [ch.plan.effort(), of_tip, ch.plan.final(ch.plan.state(v=np.zeros(10))), ch.plan.duration()]
    pose = ch.plan.keep(ch.plan.frame("b1", [1, 0, 0, 0, 0, 0, 1.0]), -1, 1, when=0.5)
    limits = [pose, ch.plan.reach(ch.plan.state(system.compile().neutral()))]
    task.account, task.bounds = Account(dynamics.mechanism, 2, 10, costs, limits), np.array([[-9.0] * 10, [9.0] * 10])
    program, z = task.program(task.guessed(None), (0.1, 0.3, 1.0))
    z[:-1] += 0.3 * rng.normal(size=len(z) - 1)
    shape, along, h = (len(program.least), len(z)), 0.1 * rng.normal(size=len(z)), 1e-6
    matrix = coo_matrix((program.slopes(z), program.places), shape=shape).tocsr()
    wanted = (program.rows(z + h * along) - program.rows(z - h * along)) / (2 * h)
    assert np.abs(matrix @ along - wanted).max() < 1e-8 * np.abs(wanted).max()
    slope = (program.cost(z + h * along)[0] - program.cost(z - h * along)[0]) / (2 * h)
    assert abs(program.cost(z)[1] @ along - slope) < 1e-7 * abs(slope)


def test_what_collocation_is_not_for():
    with pytest.raises(ValueError, match="for trees without springs"):
        ch.plan.collocate(four_bar(), (0, 1), 3, ch.plan.effort(), {"a": 1.0})
    with pytest.raises(ValueError, match="for trees without springs"):
        ch.plan.collocate(block(stiffness=3.0), (0, 1), 3, ch.plan.effort())
    with pytest.raises(ValueError, match="solver is 'snopt'"):
        ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), solver="snopt")
    with pytest.raises(ValueError, match=r"the guess has shape \(2, 1\)"):
        ch.plan.collocate(block(), (0, 1), 3, ch.plan.effort(), guess=np.zeros((2, 1)))
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
