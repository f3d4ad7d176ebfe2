"""Plans against closed forms, and the derivatives of their steps against differences."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.method_name import named_method
from chasles.lie import s3
from chasles.plan.account import Account
from chasles.plan.curvature import add_curvature
from chasles.plan.ddp import Ddp
from chasles.plan.held_steps import HeldSteps
from chasles.simulation.prepare import prepare
from tests.plan.programs import PUSHED

STILL = (0.0, 0.0, 0.0)


def block(**more):
    return ch.System(
        [ch.Body("block", 1.0, STILL, (1, 1, 1))],
        [ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), **more)],
        gravity=STILL,
    )


def ball():
    return ch.System(
        [ch.Body("ball", 1.0, STILL, (0.4, 0.4, 0.4))], [ch.spherical("pivot", "ground", "ball")], gravity=STILL
    )


def four_bar(**more):
    bodies = [ch.Body(name, 1.0, (x, 0, 0), (0.01, 0.02, 0.02)) for name, x in (("crank", 0.1), ("rod", 0.3))]
    return ch.System(
        [*bodies, ch.Body("lever", 1.0, (0.2, 0, 0), (0.01, 0.02, 0.02))],
        [
            ch.revolute("a", "ground", "crank", axis=(0, 1, 0)),
            ch.revolute("b", "crank", "rod", axis=(0, 1, 0), at=(0.2, 0, 0)),
            ch.revolute("d", "ground", "lever", axis=(0, 1, 0), at=(0.5, 0, 0)),
            ch.revolute("c", "rod", "lever", axis=(0, 1, 0), at=(0.6, 0, 0), child_at=(0.4, 0, 0)),
        ],
        **more,
    )


def test_a_block_is_moved_with_least_effort():
    """∫ u² dt of inputs held in N steps is 12 N²/(N² - 1), with u = 6 - 12 t of the midpoints times that."""
    N = 40
    plan = ch.plan.optimize(
        block(), (0, 1), N, ch.plan.effort(), limits=ch.plan.reach(ch.plan.state([1.0], [0.0])), tolerance=1e-11
    )
    share = N**2 / (N**2 - 1)
    assert abs(plan.cost - 12 * share) < 1e-9
    middle = (np.arange(N) + 0.5) / N
    assert np.abs(plan.inputs[:, 0] - share * (6 - 12 * middle)).max() < 1e-8
    assert np.abs(plan.run.q - plan.q).max() < 1e-14
    assert np.abs(plan.run.v - plan.v).max() < 1e-14


def test_the_first_inputs_hold_the_start_against_gravity():
    lift = ch.System([ch.Body("block", 2.0)], [ch.prismatic("slide", "ground", "block", axis=(0, 0, 1))])
    plan = ch.plan.optimize(lift, (0.0, 1.0), 5, ch.plan.tracking(ch.plan.state(q=[0.0], v=[0.0])))
    assert plan.iterations == 0
    assert np.allclose(plan.inputs, 2.0 * 9.81, rtol=1e-12)


def test_a_turn_with_least_effort_is_the_geodesic():
    axis, angle = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0), 2.9
    goal = ch.plan.state(s3.exp(angle * axis), STILL)
    plan = ch.plan.optimize(ball(), (0, 1), 20, ch.plan.effort(), limits=ch.plan.reach(goal), tolerance=1e-10)
    turns = s3.log(plan.run.q)
    assert np.abs(turns - np.outer(turns @ axis, axis)).max() < 1e-12
    assert np.abs(turns[-1] - angle * axis).max() < 1e-8
    assert abs(plan.cost - 12 * 0.4**2 * angle**2 * 400 / 399) < 1e-7


def test_inputs_within_bounds():
    """With |u| <= 5 the block is pushed at the bound first and last, and moves straight between."""
    plan = ch.plan.optimize(
        block(), (0, 1), 30, ch.plan.effort(), limits=ch.plan.reach(ch.plan.state([1.0], [0.0])), low=-5, high=5
    )
    u = plan.inputs[:, 0]
    assert np.abs(u).max() == 5.0
    inside = np.abs(u) < 5.0
    assert np.abs(np.diff(u[inside], 2)).max() < 1e-6
    assert np.abs(u + u[::-1]).max() < 1e-6
    assert abs(plan.run.q[-1, 0] - 1.0) < 1e-8


def test_the_shortest_time_is_bang_bang():
    """Rest to rest over 1 with |u| <= 1 takes 2, at full input until half of it and against it from there on."""
    plan = ch.plan.optimize(
        block(), (0, 3), 20, [ch.plan.duration()], limits=ch.plan.reach(ch.plan.state([1.0], [0.0])), low=-1, high=1,
        duration=(0.5, 5), guess=[0.1],
    )  # fmt: skip
    assert abs(plan.duration - 2.0) < 1e-6
    assert np.abs(plan.inputs[:, 0] - np.repeat([1.0, -1.0], 10)).max() < 1e-3


def test_a_rest_but_for_rounding_is_no_size():
    """The shortest time from rest to rest over 1, by way of one half, with 1 of force beside the weight, is 2.
    The guess holds the block but for rounding: its speed at the end, 1e-14, is not what other speeds are measured by.
    """
    lift = ch.System(
        [ch.Body("block", 1.0, STILL, (1, 1, 1))],
        [ch.prismatic("slide", "ground", "block", axis=(0, 0, 1))],
        [ch.Frame("top", "block")],
    )
    limits = [
        ch.plan.reach(ch.plan.frame("top", [0.0, 0.0, 0.5]), when=0.5),
        ch.plan.reach(ch.plan.frame("top", [0.0, 0.0, 1.0])),
        ch.plan.reach(ch.plan.state(v=[0.0])),
    ]
    plan = ch.plan.optimize(
        lift, (0, 3), 20, [ch.plan.duration()], limits=limits, low=9.81 - 1, high=9.81 + 1, duration=(0.5, 5),
        guess=[9.81 + 1e-14],
    )  # fmt: skip
    assert abs(plan.duration - 2.0) < 1e-6
    assert np.abs(plan.inputs[:, 0] - 9.81 - np.repeat([1.0, -1.0], 10)).max() < 1e-3
    only = ch.plan.optimize(  # nothing else has a size
        lift, (0, 1), 20, ch.plan.final(ch.plan.state(q=[1.0])), limits=limits[2], guess=[9.81 + 1e-14]
    )
    assert abs(only.q[-1, 0] - 1.0) < 1e-6
    assert abs(only.v[-1, 0]) < 1e-7


@pytest.mark.study
@pytest.mark.parametrize("joints", [2, 3])
def test_an_arm_through_a_waypoint_in_the_shortest_time(joints):
    """The first inputs hold it but for rounding. A motor is at its bound in nearly all steps, and from this plan none
    is found that is shorter by a tenth."""
    bodies = [ch.Body(f"link {k}", 1.0, (0, 0.02, 0.2), (0.02, 0.02, 0.01)) for k in range(joints)]
    names = ["ground", *(body.name for body in bodies)]
    axes = [(0, 1, 0), (0, 1, 0)] if joints == 2 else [(0, 0, 1), (0, 1, 0), (0, 1, 0)]
    robot = ch.System(
        bodies,
        [
            ch.revolute(f"joint {k}", names[k], names[k + 1], axis=axes[k], at=(0, 0, 0.4 if k else 0.0), armature=0.1)
            for k in range(joints)
        ],
        [ch.Frame("tip", names[-1], (0, 0, 0.4))],
    ).compile()
    first, still = np.array([0.0, 0.5, 0.8][-joints:]), np.zeros(joints)
    by = [[0.1, 0, -0.1], [0.1, 0, -0.3]] if joints == 2 else [[-0.1, 0.2, 0.1], [-0.2, 0.4, 0.0]]
    waypoint, goal = robot.poses(first, "tip")[4:] + np.array(by)
    limits = [
        ch.plan.reach(ch.plan.frame("tip", waypoint), when=0.5),
        ch.plan.reach(ch.plan.frame("tip", goal)),
        ch.plan.reach(ch.plan.state(v=still)),
    ]
    costs, bounds = [ch.plan.duration(10.0), ch.plan.effort(1e-4)], {"low": -30.0, "high": 30.0}
    plan = ch.plan.optimize(robot, (0, 1), 10, costs, first, limits=limits, duration=(0.1, 2), tolerance=1e-6, **bounds)
    assert np.abs(plan.run["tip"].position[[5, -1]] - [waypoint, goal]).max() < 1e-6
    assert np.abs(plan.run.v[-1]).max() < 1e-5
    assert (np.abs(plan.inputs) > 29.99).any(axis=1).sum() >= 8
    with pytest.raises(ch.errors.InfeasibleError):
        ch.plan.optimize(
            robot, (0, 0.9 * plan.duration), 10, costs[1], first, limits=limits, guess=plan.inputs, tolerance=1e-6,
            **bounds,
        )  # fmt: skip


@pytest.mark.study
def test_a_closed_loop_is_planned():
    system = four_bar(actuators=[ch.Actuator("motor", "a")])
    goal = ch.plan.state({"a": 1.6}, {"a": 0.0})
    plan = ch.plan.optimize(system, (0, 0.5), 10, ch.plan.effort(), {"a": 1.0}, limits=ch.plan.reach(goal))
    assert abs(plan.run.q[-1, 0] - 1.6) < 1e-7
    assert np.abs(plan.run.q - plan.q).max() < 1e-13
    # nothing near it costs less: the gradient of the cost along what keeps the end vanishes
    found = ch.gradient(plan.run, ch.objective.end(lambda t, q, v: q[:, 0]), "inputs")["inputs"][:, 0]
    rate = ch.gradient(plan.run, ch.objective.end(lambda t, q, v: v[:, 0]), "inputs")["inputs"][:, 0]
    both = np.stack([found, rate], axis=1)
    along = plan.inputs[:, 0] - both @ np.linalg.lstsq(both, plan.inputs[:, 0], rcond=None)[0]
    assert np.abs(along).max() < 1e-5 * np.abs(plan.inputs).max()


def chain(damping=0.1, stiffness=2.0):
    return ch.System(
        [ch.Body(f"b{k}", 1.0 + k, (0.1, 0, -0.2), (0.1, 0.2, 0.25)) for k in range(3)],
        [
            ch.free("f", "ground", "b0"),
            ch.spherical("s", "b0", "b1", at=(0, 0, -0.4)),
            ch.revolute("r", "b1", "b2", axis=(0, 1, 0), at=(0, 0, -0.4), damping=damping, stiffness=stiffness),
        ],
    )


@pytest.mark.parametrize("space", ["SO3xR3", "SE3", pytest.param("loop", marks=pytest.mark.study)])
def test_derivatives_of_steps(space):
    """Against central differences, along all changes that constraints allow."""
    rng = np.random.default_rng(1)
    if space == "loop":
        dynamics, first = prepare("test", four_bar(), 0.0, {"a": 1.0}, {"a": 2.0}, "relative", inputs=True)
    else:
        start = chain().compile().random(rng), rng.normal(size=10)
        dynamics, first = prepare("test", chain(), 0.0, *start, "relative", inputs=True, space=space)
    held = HeldSteps(dynamics, named_method("test", "rk4"), first, 0.0, 2)
    h, inputs = 0.03, rng.normal(size=(2, held.inputs))
    points = held.roll(inputs, h)
    A, B = held.derivatives(points[:-1], inputs, h)
    _, basis = held.states(points, h)
    tiny, along_u = 1e-5, rng.normal(size=held.inputs)
    d = rng.normal(size=2 * held.nv) if basis is None else basis[1] @ rng.normal(size=2)

    def after(s):
        q, v = held.split(points[1])
        q, v = held.mechanism.retract(q, s * d[: held.nv]), v + s * d[held.nv :]
        if basis is not None:
            q = held.mechanism.assemble(q, 0.0)
            v = held.mechanism.consistent_velocities(q, v)
        two = np.array([points[1], dynamics.state(q, v)])
        return held.change(held.results(two, inputs[[1, 1]] + s * along_u, h)[1], points[2])

    found = (after(tiny) - after(-tiny)) / (2 * tiny)
    assert np.abs(found - A[1] @ d - B[1] @ along_u).max() < 1e-8 * np.abs(found).max()
    ahead, behind = (held.results(points[:-1], inputs, h + s) for s in (tiny, -tiny))
    rate = held.change(ahead, behind) / (2 * tiny)
    assert np.abs(rate - held.by_size(points[:-1], inputs, h)).max() < 1e-6 * np.abs(rate).max()


def test_second_derivatives_are_those_of_the_cost():
    """Along a change of the inputs, against second differences of the cost; rotations and a frame included."""
    rng = np.random.default_rng(2)
    start = chain().compile().random(rng), rng.normal(size=10)
    dynamics, first = prepare("test", chain(), 0.0, *start, "relative", inputs=True, space="SO3xR3")
    held = HeldSteps(dynamics, named_method("test", "rk4"), first, 0.0, 2)
    near = ch.plan.tracking(ch.plan.state(start[0]), 2.0)
    wanted = ch.plan.final(ch.plan.frame("b2", [1.0, 0.3, 0.2]), 3.0), near, ch.plan.tracking(PUSHED, 0.1)
    account, h = Account(held.mechanism, 2, held.inputs, wanted, []), 0.1
    solver = Ddp(held, account, np.tile([[-np.inf], [np.inf]], held.inputs), (0.2, 0.2, 0.2), False)
    inputs, along = rng.normal(size=(2, 2, held.inputs))
    points = held.roll(inputs, h)
    A, B, cost, _ = solver.model(points, inputs)
    slopes = cost.x.copy()
    for k in (1, 0):
        slopes[k] += A[k].T @ slopes[k + 1]
    add_curvature(held, account, solver.course(points, inputs, 0.2), points, inputs, (A, B), slopes, cost)
    x, bend = np.zeros(2 * held.nv), 0.0
    for k in range(2):
        bend += x @ cost.xx[k] @ x + 2 * along[k] @ cost.ux[k] @ x + along[k] @ cost.uu[k] @ along[k]
        x = A[k] @ x + B[k] @ along[k]
    bend += x @ cost.xx[2] @ x
    tiny = 1e-2
    ahead, here, behind, far, back = (
        account.cost(solver.course(held.roll(u, h), u, 0.2))
        for u in (inputs + s * tiny * along for s in (1, 0, -1, 2, -2))
    )
    wanted_bend = (16 * (ahead + behind) - 30 * here - far - back) / (12 * tiny**2)
    assert abs(bend - wanted_bend) < 1e-5 * abs(bend)  # they are differences to one side, over 1e-6


def test_a_pole_on_a_cart_is_swung_up_in_few_iterations():
    """Without second derivatives of the steps it took 344."""
    cart = ch.System(
        [ch.Body("cart", 1.0, STILL, (1e-3,) * 3), ch.Body("pole", 0.3, (0, 0, -0.5), (1e-6,) * 3)],
        [ch.prismatic("rail", "ground", "cart", axis=(1, 0, 0)), ch.revolute("pin", "cart", "pole", axis=(0, -1, 0))],
        actuators=[ch.Actuator("push", "rail", lower=-20.0, upper=20.0)],
    )
    goal = ch.plan.reach(ch.plan.state(q=[1.0, np.pi], v=[0.0, 0.0]))
    limits = [goal, ch.plan.keep(ch.plan.joint("rail"), -2, 2)]
    plan = ch.plan.optimize(cart, (0, 2), 100, ch.plan.effort(), limits=limits)
    assert abs(plan.cost - 58.04474) < 1e-4  # as iLQR finds it
    assert plan.iterations < 60


GOAL = ch.plan.reach(ch.plan.state([1.0], [0.0]))
WRONG = {
    "steps": ({"steps": 0}, "steps is 0; expected a positive whole number"),
    "horizon": ({"span": (1.0, 1.0)}, r"span is \(1.0, 1.0\); expected an end after the begin"),
    "span": ({"span": 3.0}, "span is 3.0; expected"),
    "guess": ({"guess": np.full((5, 1), np.nan)}, "the guess is not finite in step 0"),
    "shape": ({"guess": np.zeros((4, 1))}, r"the guess has shape \(4, 1\); expected \(5, 1\)"),
    "bounds": ({"low": 2.0, "high": 1.0}, "input 0 has nothing between its bounds"),
    "low": ({"low": [1.0, 2.0]}, "low is .*; expected a number, or one for each of 1 inputs"),
    "cost": ({"costs": [3.0]}, "3.0 is not a cost"),
    "weights": ({"costs": ch.plan.effort([1.0, 2.0])}, "effort has 2 weights"),
    "joint": ({"limits": ch.plan.keep(ch.plan.joint("none"), 0, 1)}, "no joint 'none'"),
    "frame": ({"costs": ch.plan.final(ch.plan.frame("block", [1.0, 2.0]))}, "has 2 numbers; expected a position"),
    "start": ({"limits": ch.plan.keep(ch.plan.joint("slide"), 0.5, 2)}, "the start violates the limits of coordinate"),
    "node": (
        {"limits": ch.plan.reach(ch.plan.state([1.0]), when=[0.4, 0.5])},
        "when=0.5 of the duration lies between two of 5 steps; take a number of steps that is a multiple of 2",
    ),
    "numbers": (
        {"costs": [ch.plan.effort(), ch.plan.tracking(ch.plan.quantity(lambda t, q, v: np.nan * t))]},
        "function is not finite at its node 0 under the guess",
    ),
    "tolerance": ({"tolerance": -1e-8}, "tolerance is -1e-08; expected a number between 0 and 1"),
    "iterations": ({"iterations": 0}, "iterations is 0; expected a positive whole number"),
    "method": ({"method": "radau5"}, "is not an explicit method"),
    "duration": ({"duration": (2.0, 3.0)}, "with that of the span, 1, between them"),
    "durations": ({"duration": 2.0}, "duration is 2.0; expected the shortest and the longest one"),
    "text": ({"guess": "abc"}, "the guess is 'abc'; expected an array of numbers"),
    "no limit": ({"limits": [3.0]}, "3.0 is not a limit; expected keep or reach"),
    "cost as limit": ({"limits": ch.plan.effort()}, "is not a limit; expected keep or reach"),
    "moving": (
        {
            "costs": ch.plan.tracking(ch.plan.frame("block", lambda t: np.stack([t, 0 * t, 0 * t], axis=1))),
            "duration": (0.5, 3.0),
        },
        "frame 'block' depends on the time, and the duration is free; hold the duration",
    ),
    "held end": ({"costs": ch.plan.duration()}, r"a cost of the duration needs a free end; give duration=\(shortest"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case):
    change, message = WRONG[case]
    given = {"span": (0, 1), "steps": 5, "costs": ch.plan.effort(), "limits": GOAL} | change
    with pytest.raises((ValueError, TypeError), match=message):
        ch.plan.optimize(block(), **given)


def test_a_plan_that_has_not_settled_says_so():
    goal = ch.plan.final(ch.plan.state([1.0], [0.0]), 10.0)
    spring = block(stiffness=30.0)
    with pytest.warns(RuntimeWarning, match="no minimum was found in 1 iterations: the iterations were not enough"):
        plan = ch.plan.optimize(
            spring, (0, 1), 20, [ch.plan.effort(), goal, ch.plan.duration()], duration=(0.5, 5), iterations=1
        )
    assert not plan.settled
    assert "not settled" in str(plan)


@pytest.mark.parametrize("way", [ch.plan.optimize, ch.plan.shoot], ids=["optimize", "shoot"])
def test_steps_that_are_too_long_are_told(way):
    """Of a spring, whose motion is known: the warning counts what the steps are off, less the error of the halves."""
    goal, spring = ch.plan.reach(ch.plan.state([1.0], [0.0])), block(stiffness=30.0)
    with pytest.warns(RuntimeWarning, match=r"steps of 0.2 s are too long: .* in sum by (\S+) of the motion") as told:
        plan = way(spring, (0, 1), 5, ch.plan.effort(), limits=goal)
    w, h, off = np.sqrt(30.0), 0.2, 0.0
    c, s = np.cos(w * h), np.sin(w * h)
    for q, v, u, after, faster in zip(plan.q[:-1], plan.v[:-1], plan.inputs, plan.q[1:], plan.v[1:], strict=True):
        rest = u[0] / 30.0  # where the spring and the input balance
        x, speed = rest + (q[0] - rest) * c + v[0] / w * s, v[0] * c - (q[0] - rest) * w * s
        way_off, speed_off = abs(after[0] - x) / np.ptp(plan.q), abs(faster[0] - speed) / np.abs(plan.v).max()
        off += max(way_off, speed_off)
    said = float(str(told[0].message).split("in sum by ")[1].split()[0])
    assert abs(said - off) < 0.15 * off
    way(spring, (0, 1), 20, ch.plan.effort(), limits=goal)  # no warning


def test_limits_have_one_side_or_two():
    for low, high in ((None, 0.4), (-np.inf, 0.4)):
        plan = ch.plan.optimize(
            block(), (0, 1), 10, ch.plan.effort(), limits=[GOAL, ch.plan.keep(ch.plan.joint("slide"), low, high, 0.5)]
        )
        assert abs(plan.q[5, 0] - 0.4) < 1e-8


def test_what_cannot_be_reached_is_told():
    with pytest.raises(ch.errors.InfeasibleError, match=r"violated: state \(end\) by") as found:
        ch.plan.optimize(block(), (0, 1), 10, ch.plan.effort(), limits=GOAL, low=-1, high=1)
    # with full input for and against, or all the way, more than half of the way is left, or a speed
    assert 0.3 < found.value.violations["state (end)"] < 0.75


def test_closed_form_and_duals_have_the_same_derivatives():
    joints = [ch.revolute("a", "ground", "b0", axis=(0, 1, 0)), ch.prismatic("c", "b0", "b1", axis=(1, 0, 1))]
    system = ch.System([ch.Body(f"b{k}", 1.0 + k, (0.1, 0, -0.2), (0.1, 0.2, 0.25)) for k in range(2)], joints)
    dynamics, first = prepare("test", system, 0.0, [0.3, 0.1], [1.0, -2.0], "relative", inputs=True)
    held = HeldSteps(dynamics, named_method("test", "rk4"), first, 0.0, 5)
    inputs = np.random.default_rng(0).normal(size=(5, 2))
    points = held.roll(inputs, 0.05)
    quick = held.derivatives(points[:-1], inputs, 0.05)
    assert held.chain is not None
    held.chain = None
    for one, other in zip(quick, held.derivatives(points[:-1], inputs, 0.05), strict=True):
        assert np.abs(one - other).max() < 1e-13 * np.abs(other).max()


def test_limits_of_actuators_may_be_whole_numbers():
    """Their tables are read by machine code that takes them for floats."""
    system = block()
    system = ch.System(system.bodies, system.joints, actuators=[ch.Actuator("motor", "slide", lower=-2, upper=3)])
    run = ch.simulate(system, (0, 1), controller=lambda t, q, v: np.array([9.0]), period=0.5, step=0.5, method="rk4")
    assert abs(run.v[-1, 0] - 3.0) < 1e-12
