"""How a search begins and ends: the path that it begins with, Hessians, Ctrl-C, and obstacles."""

import os
import signal

import numpy as np
import pytest

import chasles as ch
from chasles.plan.account import Account
from chasles.plan.first_path import path_to_goals
from tests.plan.test_plan import GOAL, ball, block, four_bar

TIMES = np.linspace(0.0, 2.0, 5)


def first_path(system, limits, q):
    mechanism = system.compile()
    account = Account(mechanism, 4, mechanism.nv, [], limits)
    return path_to_goals(account, q, TIMES, np.ones(mechanism.nv))


def arm():
    bodies = [ch.Body(name, 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)) for name in ("upper", "lower")]
    joints = [
        ch.revolute("shoulder", "ground", "upper", axis=(0, 0, 1)),
        ch.revolute("elbow", "upper", "lower", axis=(0, 0, 1), at=(1.0, 0, 0)),
    ]
    return ch.System(bodies, joints, [ch.Frame("tip", "lower", (1.0, 0, 0))], gravity=(0, 0, 0))


def test_a_path_goes_straight_through_what_is_to_be_reached():
    between = ch.plan.keep(ch.plan.joint("slide"), 2.0, 3.0, when=0.5)
    path = first_path(block(), [GOAL, between, ch.plan.keep(ch.plan.joint("slide"), -5, 5)], np.zeros(1))
    assert np.abs(path[:, 0] - [0, 1, 2, 1.5, 1]).max() < 1e-12
    tip = ch.plan.reach(ch.plan.frame("tip", [0.5, 1.2, 0.0]))
    path = first_path(arm(), [tip], np.array([0.1, 0.4]))
    assert np.abs(arm().compile().poses(path[-1], "tip")[4:] - [0.5, 1.2, 0]).max() < 1e-9
    assert np.abs(np.diff(path, n=2, axis=0)).max() < 1e-12
    goal = ch.lie.s3.exp([1.0, 2.0, -1.0])
    path = first_path(ball(), [ch.plan.reach(ch.plan.state(goal))], np.array([1.0, 0, 0, 0]))
    assert np.abs(ch.lie.s3.log(path) - np.outer(TIMES / 2, [1.0, 2.0, -1.0])).max() < 1e-12


def test_a_path_bends_around_an_obstacle():
    """The tip of a crane must pass above a wall that is in its way; a bend shows the side where both are as good."""
    bodies = [ch.Body(name, 1.0, (0, 0, 0), (1e-9,) * 3) for name in ("trolley", "load")]
    joints = [
        ch.prismatic("x", "ground", "trolley", axis=(1, 0, 0)),
        ch.prismatic("z", "trolley", "load", axis=(0, 0, 1)),
    ]
    system = ch.System(bodies, joints, gravity=(0, 0, 0))
    wall = ch.plan.quantity(lambda t, q, v: np.sqrt((q[:, 0] - 3) ** 2 + (q[:, 1] / 2) ** 2), "wall")
    mechanism, times = system.compile(), np.linspace(0, 1, 41)
    limits = [ch.plan.reach(ch.plan.state([6.0, 0.0])), ch.plan.keep(wall, low=0.7)]
    path = path_to_goals(Account(mechanism, 40, 2, [], limits), np.zeros(2), times, np.full(2, 1e-6))
    assert wall.function(times, path, path).min() > 0.7 - 1e-2
    assert np.abs(path[[0, -1]] - [[0, 0], [6, 0]]).max() < 1e-12
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 2 * 6 / 40  # it does not leap


def test_a_path_of_a_loop_is_closed():
    loop = four_bar().compile()
    start = loop.assemble(loop.neutral() + 0.3, 0.0)
    account = Account(loop, 4, loop.nv, [], [ch.plan.reach(ch.plan.state({"a": start[0] + 0.5}))])
    path = path_to_goals(account, start, TIMES, np.ones(loop.nv))
    assert path[-1, 0] - start[0] > 0.1
    assert np.abs(loop.constraint_rows(path, None, 0.0).residual).max() < 1e-9
    lost = path_to_goals(
        Account(loop, 4, loop.nv, [], [ch.plan.reach(ch.plan.state({"a": start[0] + 50.0}))]), start, TIMES, np.ones(3)
    )
    assert np.isfinite(lost).all()


def around(**more):
    """The tip of an arm about a disc, to the other side, with the least effort."""

    def apart(t, q, v):
        a, b = q[:, 0], q[:, 0] + q[:, 1]
        return np.sqrt((np.cos(a) + np.cos(b) - 1.0) ** 2 + (np.sin(a) + np.sin(b) - 0.7) ** 2)

    limits = [
        ch.plan.reach(ch.plan.state([1.1, 0.6], [0.0, 0.0])),
        ch.plan.keep(ch.plan.quantity(apart, "distance to the disc"), low=0.4),
    ]
    return ch.plan.collocate(arm(), (0, 1), 30, ch.plan.effort(), [-0.3, 0.8], limits=limits, **more)


def test_second_derivatives_take_an_arm_around_a_disc():
    pytest.importorskip("ipyopt")
    exact, rough = (around(hessian=one) for one in ("exact", "approximate"))
    assert abs(exact.cost - rough.cost) < 1e-6 * rough.cost
    assert exact.iterations < 0.6 * rough.iterations
    assert exact.violations["distance to the disc (always)"] < 1e-8


@pytest.mark.parametrize("way", ["optimize", "shoot", "collocate", "scipy"])
def test_ctrl_c_keeps_the_best_motion(way):
    """It comes at the thirtieth time that a cost is looked at."""
    looked = []

    def slow(t, q, v):
        looked.append(0)
        if len(looked) == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return np.sin(3.0 * q[:, 0])

    how = {"solver": "scipy"} if way == "scipy" else {}
    plan = getattr(ch.plan, "shoot" if way == "scipy" else way)
    costs, before = [ch.plan.effort(), ch.plan.tracking(ch.plan.quantity(slow))], signal.getsignal(signal.SIGINT)
    with pytest.warns(RuntimeWarning, match="stopped by Ctrl-C after .* iterations; the best motion so far"):
        found = plan(block(), (0, 2), 20, costs, limits=GOAL, **how)
    assert not found.settled
    assert found.q.shape == (21, 1)
    assert signal.getsignal(signal.SIGINT) is before
