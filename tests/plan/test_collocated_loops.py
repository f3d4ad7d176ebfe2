"""Collocation in closed loops: order, the same motions as by `optimize` and `shoot`, derivatives, designs, drives."""

from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import root
from scipy.sparse import coo_matrix

import chasles as ch
from tests.plan.programs import program_of, require_slopes
from tests.plan.test_plan import four_bar
from tests.plan.test_shooting import linkage

MOTOR = {"actuators": [ch.Actuator("motor", "a")]}
ENDS = ch.plan.reach(ch.plan.state({"a": 1.6}, {"a": 0.0}))


def planned(intervals, stages=2, system=None, **more):
    how = {"limits": ENDS, "solver": "scipy", "tolerance": 1e-12} | more
    return ch.plan.collocate(
        system or four_bar(**MOTOR), (0, 0.5), intervals, ch.plan.effort(), {"a": 1.0}, stages=stages, **how
    )


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_order_in_a_loop(stages):
    """Under a torque that is given, nodes are those of a simulation up to an error of order 2 s. The four-bar has five
    rows, of which two are independent."""
    system, ends = four_bar(**MOTOR), []
    exact = ch.simulate(system, (0, 0.5), {"a": 1.0}, control=[1.0], rtol=1e-12, atol=1e-12, save=np.arange(9) / 16)
    for count in (4, 8):
        found = followed(system, count, stages, 1.0, exact.q[:: 8 // count])
        ends.append(max(np.abs(found.q[-1] - exact.q[-1]).max(), np.abs(found.v[-1] - exact.v[-1]).max()))
    assert abs(np.log2(ends[0] / ends[1]) - 2 * stages) < 0.7


def followed(system, count, stages, torque, path):
    """The motion under a torque: equations of the program solved for nodes and accelerations."""
    programs = []

    def caught(program, z, *_):
        programs.append((program, z))
        raise StopIteration

    how = {"low": torque, "high": torque, "stages": stages, "guess": path}
    with patch("chasles.plan.collocation.solved", caught), pytest.raises(StopIteration):
        ch.plan.collocate(system, (0, 0.5), count, ch.plan.effort(), {"a": 1.0}, **how)
    program, z = programs[0]
    free = program.low < program.high
    z[~free] = program.low[~free]
    for _ in range(8):
        matrix = coo_matrix((program.slopes(z), program.places), shape=(len(program.least), len(z))).toarray()
        z[free] -= np.linalg.solve(matrix[:, free], program.rows(z))
    assert np.abs(program.rows(z)).max() < 1e-9
    return program.rows.__self__


def test_a_loop_as_by_optimize_and_as_simulated():
    """Inputs held in N steps cost 1/N² more; the extrapolated cost is that of polynomials. Nodes satisfy the loop."""
    plan, system = planned(8), four_bar(**MOTOR)
    held = [
        ch.plan.optimize(system, (0, 0.5), n, ch.plan.effort(), {"a": 1.0}, limits=ENDS, tolerance=1e-11).cost
        for n in (20, 40)
    ]
    assert abs(plan.cost / (held[1] + (held[1] - held[0]) / 3) - 1) < 1e-4
    assert plan.defects.max() < 1e-4
    mechanism = system.compile()
    assert np.abs(mechanism.constraint_rows(plan.q, plan.v).residual).max() < 1e-12
    assert np.abs(mechanism.constraint_rows(plan.q, plan.v).speed).max() < 1e-11
    assert abs(plan.run["crank"].pose[-1, 0] - np.cos(0.8)) < 1e-4


@pytest.mark.study
def test_the_shortest_time_of_a_loop_with_finer_intervals():
    """Full torque, then full torque back, whose times are found by simulations. Intervals are cut about the jump."""
    pytest.importorskip("ipyopt")
    more = {"low": -2.0, "high": 2.0, "duration": (0.2, 2.0), "limits": ENDS}
    costs, system = [ch.plan.duration(), ch.plan.effort(1e-6)], four_bar(**MOTOR)
    plan = ch.plan.collocate(system, (0, 0.4), 4, costs, {"a": 1.0}, refine=1e-4, **more)
    how = {"rtol": 1e-10, "atol": 1e-10, "progress": False}

    def off(times):
        there = ch.simulate(system, (0, times[0]), {"a": 1.0}, control=[2.0], **how)
        run = ch.simulate(system, (times[0], times[1]), there.q[-1], there.v[-1], control=[-2.0], **how)
        return run.q[-1, 0] - 1.6, run.v[-1, 0]

    best = root(off, [0.6 * plan.duration, plan.duration], tol=1e-9)
    assert best.success
    assert len(plan.t) > 5
    assert plan.defects.max() < 1e-4
    assert abs(plan.duration / best.x[1] - 1) < 2e-3


def test_jacobian_of_a_loop():
    require_slopes(*program_of(ch.plan.collocate, four_bar(), ({"a": 1.0}, {"a": 2.0}), end=0.1, off=0.02))


@pytest.mark.parametrize(
    "design", [{"rod": 0.6}, pytest.param({"rod": 0.6, "mass": 1.5, "gear": 2.0}, marks=pytest.mark.study)]
)
def test_jacobian_of_a_loop_by_its_design(design):
    start = {"a": 1.0}, {"a": 2.0}
    program, z = program_of(ch.plan.collocate, linkage, start, end=0.1, off=0.02, parameters=design)
    require_slopes(program, z, 1e-4)


def test_a_length_of_a_loop_is_found_with_its_motion():
    """Two angles at the end fix the rod between them."""
    crank, lever = (np.array([np.cos(x), -np.sin(x)]) for x in (1.6, 1.35))
    rod = np.linalg.norm(0.2 * crank - 0.4 * lever - [0.5, 0])
    goal = ch.plan.reach(ch.plan.state({"a": 1.6, "d": 1.35}, {"a": 0.0}))
    more = {"parameters": {"rod": 0.6}, "bounds": {"rod": (0.5, 0.7)}, "solver": "scipy"}
    plan = ch.plan.collocate(linkage, (0, 0.5), 4, ch.plan.effort(), {"a": 1.0}, limits=goal, **more)
    assert abs(plan.parameters["rod"] - rod) < 1e-8
    same = planned(4, system=linkage(rod), tolerance=1e-9)
    assert abs(plan.cost / same.cost - 1) < 1e-6


def test_a_drive_in_a_loop():
    """A crank that turns as told, and a motor on a slide against gravity that lifts it meanwhile."""

    def lift():
        return ch.System(
            [ch.Body("slide", 1.0, inertia=(0.1, 0.1, 0.1)), ch.Body("arm", 0.5, (0.2, 0, 0), (0.01, 0.01, 0.01))],
            [
                ch.prismatic("rail", "ground", "slide", axis=(0, 0, 1)),
                ch.revolute("crank", "slide", "arm", axis=(0, 1, 0)),
            ],
            constraints=[ch.Drive("turn", "crank", "3 * t")],
            actuators=[ch.Actuator("motor", "rail")],
        )

    goal = ch.plan.reach(ch.plan.state({"rail": 0.3}, {"rail": 0.0}))
    plan = ch.plan.collocate(
        lift(), (0, 1), 6, ch.plan.effort(), v={"crank": 3.0}, limits=goal, solver="scipy", tolerance=1e-11
    )
    assert np.abs(plan.q[:, 1] - 3.0 * plan.t).max() < 1e-10
    exact = exact_lift(0.3, 1.0)
    assert abs(plan.cost / exact - 1) < 1e-5
    with pytest.raises(ValueError, match="a constraint of the system moves in time, and the duration is free"):
        ch.plan.collocate(
            lift(), (0, 1), 6, ch.plan.effort(), v={"crank": 3.0}, limits=goal, duration=(0.5, 2.0), solver="scipy"
        )


def exact_lift(height, time, n=4000):
    """∫ u² dt least with (M) z'' = u - M g + m c θ'² sin θ..., of which only the double integral is given."""
    t = (np.arange(n) + 0.5) * time / n
    mass, arm, reach, rate = 1.5, 0.5, 0.2, 3.0
    # the arm's center is at z - reach sin θ: its acceleration adds arm * reach * rate² sin θ to the force on the rail
    extra = mass * 9.81 - (-arm * reach * rate**2 * np.sin(rate * t))
    # u = mass z'' + extra; ∫z'' = 0, ∫(T - t) z'' = height: least ∫u² has u linear in t
    rows = np.stack([np.ones(n), time - t]) / mass * (time / n)
    need = np.array([0.0, height]) + rows @ extra
    basis = np.stack([np.ones(n), t])
    u = np.linalg.solve(rows @ basis.T, need) @ basis
    return float(u @ u * time / n)


def test_a_loop_that_cannot_be_closed_is_told():
    goal = ch.plan.reach(ch.plan.state({"a": 1.6}, {"a": 0.0}))
    with pytest.raises(ValueError, match=r"the guess has shape \(2, 1\)"):
        planned(3, guess=np.zeros((2, 1)), limits=goal)
