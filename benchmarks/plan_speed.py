"""An iteration of a plan beside crocoddyl's: `python -m benchmarks.plan_speed` (needs `pip install crocoddyl`).

A 7-joint arm, 100 steps by the method of Runge and Kutta, the same costs: effort, velocities, the state at the end.
An iteration has the derivatives of all steps, the backward pass and one forward pass with its cost, from the same
motion; processor time of one thread, the least of some.
"""

from __future__ import annotations

import time

import numpy as np

import chasles as ch
from chasles.plan.account import Account
from chasles.plan.ddp import Ddp
from chasles.plan.held_steps import HeldSteps
from chasles.simulation.prepare import prepare

COUNT, STEPS, H, REPEATS = 7, 100, 0.01, 40
EFFORT, RATE, GOAL, SHARE = 1e-3, 1e-2, 1e2, 1 / 16
FIRST = np.array([0.1, 0.4, -0.2, 0.6, 0.1, 0.5, 0.0])
LAST = np.array([0.9, -0.2, 0.5, 1.0, -0.4, 0.2, 0.3])


def arm() -> ch.System:
    bodies = [ch.Body(f"link {k}", 2.0, (0, 0.02, 0.15), (0.02, 0.025, 0.01)) for k in range(COUNT)]
    joints = [
        ch.revolute(
            *(f"joint {k}", f"link {k - 1}" if k else "ground", f"link {k}"),
            axis=(0, k % 2, 1 - k % 2),
            at=(0, 0, 0.3 if k else 0.0),
        )
        for k in range(COUNT)
    ]
    return ch.System(bodies, joints, name="arm")


def holding() -> np.ndarray:
    """Inputs to begin with: they hold the arm where it is."""
    still = np.zeros(COUNT)
    return np.tile(arm().compile().inverse_dynamics(FIRST, still, still), (STEPS, 1))


def ours() -> tuple[list[float], float]:
    """Times of an iteration, and the cost before it."""
    dynamics, first = prepare("plan", arm(), 0.0, FIRST, None, "relative", inputs=True)
    held = HeldSteps(dynamics, ch.integrate.RKMK("rk4"), first, 0.0, STEPS)
    goal = ch.plan.final(ch.plan.state(LAST, np.zeros(COUNT)), GOAL)
    wanted = [ch.plan.effort(EFFORT), ch.plan.tracking(ch.plan.state(v=np.zeros(COUNT)), RATE), goal]
    account = Account(dynamics.mechanism, STEPS, COUNT, wanted, [])
    bounds = np.tile([[-np.inf], [np.inf]], COUNT)
    times = []
    solver, inputs = Ddp(held, account, bounds, (STEPS * H,) * 3, False), holding()
    points = held.roll(inputs, H)
    for _ in range(REPEATS):
        begin = time.process_time()
        policy = solver.improve_policy(points, inputs, solver.model(points, inputs))
        found = held.roll_with(policy, SHARE, policy.moved, H)
        solver.account.merit(solver.course(*found, STEPS * H))
        times.append(time.process_time() - begin)
    return times, account.cost(solver.course(points, inputs, STEPS * H))


def theirs() -> tuple[list[float], float]:
    """The same by crocoddyl."""
    import crocoddyl
    import pinocchio as pin

    model, parent = pin.Model(), 0
    for k in range(COUNT):
        place = pin.SE3(np.eye(3), np.array([0, 0, 0.3 if k else 0.0]))
        parent = model.addJoint(parent, pin.JointModelRY() if k % 2 else pin.JointModelRZ(), place, f"joint {k}")
        inertia = pin.Inertia(2.0, np.array([0, 0.02, 0.15]), np.diag([0.02, 0.025, 0.01]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)

    def squares(weights: np.ndarray, target: np.ndarray) -> object:
        residual = crocoddyl.ResidualModelState(state, target)
        return crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(weights), residual)

    def node(final: bool) -> object:
        costs, rates = crocoddyl.CostModelSum(state), np.repeat([0.0, 1.0], COUNT)
        if final:
            costs.addCost("goal", squares(np.ones(2 * COUNT), np.concatenate([LAST, np.zeros(COUNT)])), 2 * GOAL)
            costs.addCost("rate", squares(rates, np.zeros(2 * COUNT)), RATE * H)  # half of a step, as of a trapezoid
        else:
            control = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, COUNT))
            costs.addCost("effort", control, 2 * EFFORT)
            costs.addCost("rate", squares(rates, np.zeros(2 * COUNT)), 2 * RATE)
        own = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        if final:
            return crocoddyl.IntegratedActionModelEuler(own, 0.0)
        return crocoddyl.IntegratedActionModelRK(own, crocoddyl.RKType.four, H)

    start = np.concatenate([FIRST, np.zeros(COUNT)])
    problem = crocoddyl.ShootingProblem(start, [node(False) for _ in range(STEPS)], node(True))
    problem.nthreads = 1
    inputs = [*holding()]
    run = ch.simulate(arm(), (0.0, STEPS * H), FIRST, control=inputs[0], method="rk4", step=H)
    points, times = [*np.concatenate([run.q, run.v], axis=1)], []  # of `rollout` the memory is not kept
    solver = crocoddyl.SolverDDP(problem)
    solver.setCandidate(points, inputs, True)
    for _ in range(REPEATS):
        begin = time.process_time()
        solver.computeDirection(True)
        problem.calc(points, inputs)  # the work of a forward pass, which fails in this wheel
        times.append(time.process_time() - begin)
    return times, float(solver.cost)


def main() -> None:
    """Both, one after the other."""
    own, cost = ours()
    print(f"chasles:   {1e3 * min(own):.2f} ms an iteration, cost before {cost:.10g}")
    try:
        other, peer = theirs()
    except ImportError:
        print("crocoddyl is not installed")
        return
    print(f"crocoddyl: {1e3 * min(other):.2f} ms an iteration, cost before {peer:.10g}")
    print(f"chasles / crocoddyl: {min(own) / min(other):.2f}")


if __name__ == "__main__":
    main()
