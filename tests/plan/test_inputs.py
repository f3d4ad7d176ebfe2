"""Limits and costs of functions of the inputs, in all three ways: against closed forms and SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

import chasles as ch
from tests.plan.test_plan import GOAL, STILL, block, four_bar

WAYS = ["optimize", "shoot", "collocate"]


def solved(way, system, count, costs, limits, span=(0.0, 1.0), **more):
    how = {} if way == "optimize" else {"solver": "scipy"}
    return getattr(ch.plan, way)(system, span, count, costs, limits=limits, **how, **more)


def two_motors():
    block_alone = block()
    motors = [ch.Actuator(name, "slide") for name in ("left", "right")]
    return ch.System(block_alone.bodies, block_alone.joints, actuators=motors, gravity=STILL)


def share_of(way, N):
    """Of the least effort, what inputs that are held cost more."""
    return 1.0 if way == "collocate" else N**2 / (N**2 - 1)


@pytest.mark.parametrize("way", WAYS)
def test_a_difference_of_inputs(way):
    """With left - right >= 2, both give half of the force, and 1 more or less: a² + b² = F²/2 + 2."""
    apart = ch.plan.keep(ch.plan.inputs({"left": 1.0, "right": -1.0}, "difference"), low=2.0)
    plan = solved(way, two_motors(), 10, ch.plan.effort(), [GOAL, apart])
    assert abs(plan.cost - 6 * share_of(way, 10) - 2) < 1e-5
    assert np.abs(plan.inputs[..., 0] - plan.inputs[..., 1] - 2).max() < 1e-6
    assert plan.violations["difference (always)"] < 1e-6


@pytest.mark.parametrize("way", WAYS)
def test_costs_of_inputs(way):
    """∫ (2 u)² dt as a cost of a sum, and of a function; left = right = F/2 is the cheapest."""
    for one in (ch.plan.inputs([[2.0, 0.0], [0.0, 2.0]]), ch.plan.quantity(lambda t, q, v, u: 2 * u)):
        plan = solved(way, two_motors(), 8, ch.plan.tracking(one), GOAL)
        assert abs(plan.cost - 24 * share_of(way, 8)) < 1e-5


@pytest.mark.parametrize("way", WAYS)
def test_inputs_at_given_times(way):
    """No push in the first step, and 3 in the last one."""
    ends = [ch.plan.reach(ch.plan.inputs(), when=0.0), ch.plan.reach(ch.plan.quantity(lambda t, q, v, u: u + 3.0))]
    plan = solved(way, block(), 10, ch.plan.effort(), [GOAL, *ends])
    assert np.abs(plan.inputs[0]).max() < 1e-7
    assert np.abs(plan.inputs[-1] + 3.0).max() < 1e-6


@pytest.mark.parametrize("way", WAYS)
def test_the_power_of_a_motor(way):
    """|u v| <= 3, at both sides of a step. Steps of a block are q + h v + h² u/2 and v + h u: SciPy solves these for
    themselves."""
    N, most = 20, 3.0
    power = ch.plan.keep(ch.plan.quantity(lambda t, q, v, u: u[:, 0] * v[:, 0], "power"), -most, most)
    plan = solved(way, block(), N, ch.plan.effort(), [GOAL, power])
    if way == "collocate":  # the limit holds at Gauss points, where the speed of a block is known
        a = np.array([[0.25, 0.25 - np.sqrt(3) / 6], [0.25 + np.sqrt(3) / 6, 0.25]])
        v = plan.v[:-1] + plan.inputs[..., 0] @ a.T / N
        assert abs(np.abs(plan.inputs[..., 0] * v).max() - most) < 1e-6
        assert abs(plan.cost - 12.0725) < 1e-3  # in 160 intervals
        assert 0 < plan.between["power (always)"] < 0.6
        assert not plan.beyond.any()
        return
    h = 1 / N

    def speeds(u):
        return h * np.concatenate([[0.0], np.cumsum(u)])

    def ends(u):
        v = speeds(u)
        return [v[-1], h * np.sum(0.5 * (v[1:] + v[:-1])) - 1.0]

    limits = [
        {"type": "eq", "fun": ends},
        {"type": "ineq", "fun": lambda u: most - u * speeds(u)[1:]},
        {"type": "ineq", "fun": lambda u: most + u * speeds(u)[:-1]},
    ]
    start = 6 - 12 * (np.arange(N) + 0.5) / N
    how = {"constraints": limits, "method": "SLSQP", "options": {"ftol": 1e-12, "maxiter": 500}}
    wanted = minimize(lambda u: h * (u**2).sum(), start, **how)
    assert wanted.success
    assert abs(plan.cost - wanted.fun) < 1e-5
    for v in (plan.v[:-1], plan.v[1:]):
        assert np.abs(plan.inputs * v).max() < most + 1e-5


def test_the_shortest_time_with_a_sum_of_inputs_that_is_limited():
    """Two motors that give at most 1 together: as one motor with this limit, 2 s."""
    total = ch.plan.keep(ch.plan.inputs([1.0, 1.0]), -1.0, 1.0)
    how = {"duration": (0.5, 5.0), "low": -2.0, "high": 2.0}
    costs = [ch.plan.duration(), ch.plan.effort(1e-6)]
    plan = solved("collocate", two_motors(), 2, costs, [GOAL, total], (0, 3), **how)
    assert abs(plan.duration - 2.0) < 1e-5
    plan = solved("optimize", two_motors(), 10, costs, [GOAL, total], (0, 3), guess=[0.05, 0.05], **how)
    assert abs(plan.duration - 2.0) < 1e-5


def test_inputs_of_a_loop_with_a_design():
    """The torque of a four-bar is limited by a function of its rod."""
    system = four_bar(actuators=[ch.Actuator("motor", "a")])
    ends = ch.plan.reach(ch.plan.state({"a": 1.6}, {"a": 0.0}))
    free = ch.plan.optimize(system, (0, 0.5), 10, ch.plan.effort(), {"a": 1.0}, limits=ends)
    most = 0.95 * np.abs(free.inputs).max()
    limit = ch.plan.keep(ch.plan.quantity(lambda t, q, v, u, size: u / size), -most, most)
    found = ch.plan.shoot(
        lambda size: system, (0, 0.5), 10, ch.plan.effort(), {"a": 1.0}, limits=[ends, limit], solver="scipy",
        parameters={"size": 0.9}, bounds={"size": (0.5, 1.0)},
    )  # fmt: skip
    assert abs(np.abs(found.inputs).max() - most * found.parameters["size"]) < 1e-6
    assert found.parameters["size"] > 1 - 1e-6
    held = ch.plan.keep(ch.plan.inputs(), -most, most)
    again = ch.plan.optimize(system, (0, 0.5), 10, ch.plan.effort(), {"a": 1.0}, limits=[ends, held])
    assert abs(again.cost - found.cost) < 1e-6 * found.cost


def test_what_is_wrong_with_inputs():
    for weights, said in (
        ({"middle": 1.0}, "the weights of inputs; .* 'middle', and there is no such actuator"),
        ([1.0, 2.0, 3.0], "the weights of inputs; expected a number for each input, rows of them, or weights by name"),
    ):
        with pytest.raises(ValueError, match=said):
            solved("optimize", two_motors(), 4, ch.plan.effort(), [GOAL, ch.plan.keep(ch.plan.inputs(weights), 0)])
    taken = ch.plan.keep(ch.plan.quantity(lambda t, q, v, u: u, "push"), 0)
    with pytest.raises(ValueError, match="push takes 'u', which is a parameter of the design"):
        solved("shoot", lambda u: block(), 4, ch.plan.effort(), taken, parameters={"u": 1.0})
    for hessian, said in (("bfgs", "hessian is 'bfgs'; expected auto"), ("exact", "is not for parameters")):
        with pytest.raises(ValueError, match=said):
            solved("shoot", lambda x: block(), 4, ch.plan.effort(), GOAL, parameters={"x": 1.0}, hessian=hessian)
