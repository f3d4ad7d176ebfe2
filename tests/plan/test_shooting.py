"""Multiple shooting against closed forms and other methods; designs against closed forms."""

from unittest.mock import patch

import numpy as np
import pytest
from scipy.sparse import coo_matrix

import chasles as ch
from chasles.lie import s3
from tests.plan.programs import program_of, require_slopes
from tests.plan.test_plan import GOAL, STILL, ball, block, four_bar


def test_a_block_is_moved_with_least_effort():
    """As by `optimize`, with inputs that are held: 12 N²/(N² - 1)."""
    plan = ch.plan.shoot(block(), (0, 1), 10, ch.plan.effort(), limits=GOAL, solver="scipy", tolerance=1e-12)
    assert abs(plan.cost - 12 * 100 / 99) < 1e-9
    assert np.abs(plan.inputs[:, 0] - 100 / 99 * (6 - 12 * (np.arange(10) + 0.5) / 10)).max() < 1e-7
    assert np.abs(plan.run.q - plan.q).max() < 1e-14
    assert plan.settled
    with pytest.raises(ValueError, match="there is feedback with `optimize` only"):
        plan.feedback  # noqa: B018


def test_the_shortest_time():
    plan = ch.plan.shoot(
        *(block(), (0, 3), 6, ch.plan.duration()),
        limits=GOAL, low=-1, high=1, duration=(0.5, 5), solver="scipy", inputs=[0.1],
    )  # fmt: skip
    assert abs(plan.duration - 2.0) < 1e-7
    assert np.abs(plan.inputs[:, 0] - np.repeat([1.0, -1.0], 3)).max() < 1e-6


def test_a_turn_is_the_geodesic():
    axis, angle = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0), 2.9
    goal = ch.plan.reach(ch.plan.state(s3.exp(angle * axis), STILL))
    guess = s3.exp(np.linspace(0, angle, 9)[:, None] * axis)
    plan = ch.plan.shoot(ball(), (0, 1), 8, ch.plan.effort(), limits=goal, guess=guess, solver="scipy", tolerance=1e-11)
    turns = s3.log(plan.run.q)
    assert np.abs(turns - np.outer(turns @ axis, axis)).max() < 1e-8
    assert abs(plan.cost - 12 * 0.4**2 * angle**2 * 64 / 63) < 1e-8


def heavy(mass):
    return ch.System(
        [ch.Body("block", mass, STILL, (1, 1, 1))],
        [ch.prismatic("slide", "ground", "block", axis=(1, 0, 0))],
        gravity=STILL,
    )


def test_a_design_is_found_with_its_motion():
    """∫ u² dt = 12 m² N²/(N² - 1) and w (1/m)² for a light block: m⁴ = w/12 (N² - 1)/N²."""
    light = ch.plan.final(ch.plan.quantity(lambda t, q, v, mass: 1.0 / mass + 0.0 * t, "price"), 10.0)
    plan = ch.plan.shoot(
        *(heavy, (0, 1), 5, [ch.plan.effort(), light]),
        limits=GOAL, parameters={"mass": 2.0}, bounds={"mass": (0.5, 3.0)}, solver="scipy", tolerance=1e-11,
    )  # fmt: skip
    best = (10.0 / 12 * 24 / 25) ** 0.25
    assert abs(plan.parameters["mass"] - best) < 1e-6
    assert abs(plan.cost - 2 * 10.0 / best**2) < 1e-9
    assert plan.system.bodies[0].mass == plan.parameters["mass"]
    assert np.abs(plan.run.q - plan.q).max() < 1e-14


def arm(length, mass, gear, stiffness):
    """A revolute and a spherical joint, which all of these parameters change in other ways."""
    return ch.System(
        [
            ch.Body("a", 1.0, (length / 2, 0, 0), (0.01, 0.02, 0.02)),
            ch.Body("b", mass, (0.1, 0.2, 0.3), (0.3, 0.2, 0.2)),
        ],
        [
            ch.revolute("j", "ground", "a", axis=(0, 1, 0), stiffness=stiffness),
            ch.spherical("k", "a", "b", at=(length, 0, 0)),
        ],
        actuators=[ch.Actuator("m", "j", gear=gear), *(ch.Actuator(f"s{i}", "k", i) for i in range(3))],
    )


DESIGN = {"length": 0.5, "mass": 2.0, "gear": 3.0, "stiffness": 1.0}


@pytest.mark.study
@pytest.mark.parametrize("way", [ch.plan.shoot, ch.plan.collocate])
def test_jacobian_by_a_design(way):
    start = np.array([0.1, 1.0, 0, 0, 0]), np.array([1.0, 0.2, 0.3, 0.4])
    program, z = program_of(way, arm, start, parameters=DESIGN)
    require_slopes(program, z, 1e-4)


@pytest.mark.study
def test_a_design_by_two_methods():
    pytest.importorskip("ipyopt")
    goal = ch.plan.reach(ch.plan.state({"j": 1.0}, np.zeros(4)))
    more = {"limits": goal, "parameters": DESIGN, "tolerance": 1e-7}
    more["bounds"] = {"length": (0.1, 1), "mass": (1, 3), "gear": (1, 5), "stiffness": (0, 10)}
    start = [0.1, 1.0, 0, 0, 0]
    plan = ch.plan.shoot(arm, (0, 0.5), 10, ch.plan.effort(), start, **more)
    assert plan.parameters["gear"] == pytest.approx(5.0, abs=1e-6)
    assert plan.parameters["mass"] == pytest.approx(1.0, abs=1e-6)
    fixed = arm(**plan.parameters)
    same = ch.plan.optimize(fixed, (0, 0.5), 10, ch.plan.effort(), start, limits=goal)
    assert abs(same.cost - plan.cost) < 1e-5 * plan.cost
    for shift in (-0.02, 0.02):  # no other length is better
        other = arm(**plan.parameters | {"length": plan.parameters["length"] + shift})
        assert ch.plan.optimize(other, (0, 0.5), 10, ch.plan.effort(), start, limits=goal).cost > plan.cost


@pytest.mark.study
def test_jacobian_of_a_loop():
    program, z = program_of(ch.plan.shoot, four_bar(), ({"a": 1.0}, {"a": 2.0}), end=0.1, off=0.02)
    require_slopes(program, z, 1e-4)


def linkage(rod, mass=1.0, gear=1.0):
    """A four-bar whose parameters change its closure, its masses and its input."""
    bodies = [("rod", mass, rod / 2), ("crank", 1.0, 0.1), ("lever", 1.0, 0.0)]
    turn = {"axis": (0, 1, 0)}
    return ch.System(
        [ch.Body(name, weight, (x, 0, 0), (0.01, 0.02, 0.02)) for name, weight, x in bodies],
        [
            ch.revolute("a", "ground", "crank", **turn),
            ch.revolute("b", "crank", "rod", at=(0.2, 0, 0), **turn),
            ch.revolute("d", "ground", "lever", at=(0.5, 0, 0), child_at=(-0.2, 0, 0), **turn),
            ch.revolute("c", "rod", "lever", at=(rod, 0, 0), child_at=(0.2, 0, 0), **turn),
        ],
        actuators=[ch.Actuator("m", "a", gear=gear)],
    )


@pytest.mark.parametrize(
    "design", [{"rod": 0.6}, pytest.param({"rod": 0.6, "mass": 1.5, "gear": 2.0}, marks=pytest.mark.study)]
)
def test_jacobian_of_a_loop_by_its_design(design):
    """Nodes follow the design: limits, costs and steps of the mechanism that is assembled anew."""
    program, z = program_of(ch.plan.shoot, linkage, ({"a": 1.0}, {"a": 2.0}), end=0.1, off=0.02, parameters=design)
    require_slopes(program, z, 1e-4)


def by_whole_runs(inputs, start):
    """Change of the end with the rod, by differences of whole simulations. Their steps are short: after long ones the
    projection of a run ends before its derivatives have settled."""
    held = ch.plan.outcome.InputSequence(inputs, 0.0, 0.02)
    more = {"controller": held, "period": 0.02, "step": 0.02, "method": "rk4", "progress": False}
    ends = [ch.simulate(linkage(0.6 + s), (0.0, 0.04), start, **more).q[-1] for s in (1e-4, -1e-4, 2e-4, -2e-4)]
    return (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / 12e-4


@pytest.mark.study
@pytest.mark.parametrize("held", ["a", "d"])
def test_slopes_of_a_designed_loop_give_those_of_runs(held):
    """The equations of the program, solved for the nodes, tell how a simulation from the same start changes."""
    inputs, start = np.array([[0.3], [-0.2]]), {held: 1.0 if held == "a" else 1.3}
    programs = []

    def caught(program, z, *_):
        programs.append((program, z))
        raise StopIteration

    with patch("chasles.plan.shooting.solved", caught), pytest.raises(StopIteration):
        ch.plan.shoot(linkage, (0, 0.04), 2, ch.plan.effort(), start, parameters={"rod": 0.6}, inputs=inputs)
    program, z = programs[0]
    assert np.abs(program.rows(z)).max() < 1e-12  # nodes of the run under these inputs
    matrix = coo_matrix((program.slopes(z), program.places), shape=(len(program.least), len(z))).toarray()
    nodes = np.array([3, 4, 6, 7])  # of two numbers each, an input behind the first two
    by_rod = np.zeros(len(z))
    by_rod[-1], by_rod[nodes] = 1.0, -np.linalg.solve(matrix[:, nodes], matrix[:, -1])
    ends = []
    for size in (1e-5, -1e-5):
        program.rows(z + size * by_rod)
        ends.append(program.rows.__self__.q[-1])
    assert np.abs((ends[0] - ends[1]) / 2e-5 - by_whole_runs(inputs, start)).max() < 1e-8


@pytest.mark.study
def test_a_length_of_a_loop_is_found_with_its_motion():
    """Two angles at the end fix the rod between them; its motion is that of `optimize`."""
    crank, lever = (np.array([np.cos(x), -np.sin(x)]) for x in (1.6, 1.35))
    rod = np.linalg.norm(0.2 * crank - 0.4 * lever - [0.5, 0])
    goal = ch.plan.reach(ch.plan.state({"a": 1.6, "d": 1.35}, {"a": 0.0}))
    more = {"parameters": {"rod": 0.6}, "bounds": {"rod": (0.5, 0.7)}, "solver": "scipy"}
    plan = ch.plan.shoot(linkage, (0, 0.5), 5, ch.plan.effort(), {"a": 1.0}, limits=goal, **more)
    assert abs(plan.parameters["rod"] - rod) < 1e-9
    assert np.abs(plan.run.q - plan.q).max() < 1e-12
    assert plan.q[0, 0] == 1.0
    alone = ch.plan.reach(ch.plan.state({"a": 1.6}, {"a": 0.0}))
    other = ch.plan.optimize(linkage(rod), (0, 0.5), 5, ch.plan.effort(), {"a": 1.0}, limits=alone)
    assert abs(plan.cost - other.cost) < 1e-6 * plan.cost


@pytest.mark.study
@pytest.mark.parametrize("free", [False, True])
def test_a_closed_loop_as_by_optimize(free):
    pytest.importorskip("ipyopt")
    system = four_bar(actuators=[ch.Actuator("motor", "a", lower=-2, upper=2)])
    goal = ch.plan.reach(ch.plan.state({"a": 1.6}, {"a": 0.0}))
    costs = [ch.plan.effort(), ch.plan.duration(2.0)] if free else ch.plan.effort()
    more = {"limits": goal} | ({"duration": (0.2, 2.0)} if free else {})
    plan = ch.plan.shoot(system, (0, 0.5), 10, costs, {"a": 1.0}, **more)
    other = ch.plan.optimize(system, (0, 0.5), 10, costs, {"a": 1.0}, **more)
    assert abs(plan.cost - other.cost) < 1e-6 * plan.cost
    assert np.abs(plan.run.q - plan.q).max() < 1e-12


WRONG = {
    "solver": ({"solver": "snopt"}, "solver is 'snopt'"),
    "guess": ({"guess": np.zeros((2, 1))}, r"the guess has shape \(2, 1\); expected finite coordinates of all nodes"),
    "inputs": ({"inputs": np.zeros((2, 1))}, r"the guess has shape \(2, 1\); expected \(5, 1\)"),
    "system": ({"parameters": {"mass": 1.0}}, "system must be a function of them"),
    "start": ({"limits": ch.plan.keep(ch.plan.joint("slide"), 0.5, 2)}, "the start violates the limits"),
    "tolerance": ({"tolerance": np.nan}, "tolerance is nan"),
}
WRONG_DESIGN = {
    "none": ({}, "the system is a function; give its parameters"),
    "bounds": ({"parameters": {"mass": 1.0}, "bounds": {"mass": (2, 3)}}, "'mass' begins at 1.0 and has bounds"),
    "name": ({"parameters": {"mass": 1.0}, "bounds": {"weight": (2, 3)}}, "bounds of 'weight', which is not a"),
    "low": ({"parameters": {"mass": 1.0}, "bounds": {"mass": (2, 1)}}, "expected low < high"),
    "pair": ({"parameters": {"mass": 1.0}, "bounds": {"mass": 2}}, r"the bounds of 'mass' are 2; expected \(low, high"),
    "no system": ({"parameters": {"mass": 1.0}, "bounds": {"mass": (-1, 2)}}, "there is no system with mass = -1"),
    "nan": ({"parameters": {"mass": np.nan}}, "plan: parameter 'mass' is nan; expected finite"),
}


@pytest.mark.parametrize("case", [*WRONG, *(f"design: {name}" for name in WRONG_DESIGN)])
def test_bad_input(case):
    name = case.removeprefix("design: ")
    change, message = WRONG[case] if case in WRONG else WRONG_DESIGN[name]
    given = {"span": (0, 1), "steps": 5, "costs": ch.plan.effort(), "limits": GOAL} | change
    with pytest.raises(ValueError, match=message):
        ch.plan.shoot(block() if case in WRONG else heavy, **given)


def test_limits_of_actuators_are_not_designed():
    def motor(force):
        system = block()
        return ch.System(system.bodies, system.joints, actuators=[ch.Actuator("m", "slide", lower=-force, upper=force)])

    with pytest.raises(ValueError, match="limits of actuators change with parameter 'force'"):
        ch.plan.shoot(motor, (0, 1), 5, ch.plan.effort(), parameters={"force": 1.0}, bounds={"force": (0.5, 2)})


def test_what_cannot_be_reached_is_told():
    with pytest.raises(ch.errors.InfeasibleError, match=r"violated: state \(end\) by") as found:
        ch.plan.shoot(block(), (0, 1), 4, ch.plan.effort(), limits=GOAL, low=-1, high=1, solver="scipy")
    assert found.value.violations["state (end)"] > 0.1
