"""An arm that a sampled controller brings to a place: inverse kinematics, then control by inverse dynamics."""

import argparse

import numpy as np

import chasles as ch

AXES = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
STIFFNESS, DAMPING = 36.0, 12.0  # of the error: critically damped, 6 rad/s


def system() -> ch.System:
    """Six revolute joints with motors that can give 150 N m."""
    rod = [ch.shapes.Cylinder(0.04, 0.25, pose=(1, 0, 0, 0, 0, 0, 0.125))]
    names = ["ground", *(f"link {k}" for k in range(6))]
    return ch.System(
        [ch.Body(name, shapes=rod, density=1500.0) for name in names[1:]],
        [
            ch.revolute(f"joint {k}", names[k], names[k + 1], axis=axis, at=(0, 0, 0.25 if k else 0.0), armature=0.01)
            for k, axis in enumerate(AXES)
        ],
        [ch.Frame("tool", "link 5", (0, 0, 0.25))],
        actuators=[ch.Actuator(f"motor {k}", f"joint {k}", lower=-150.0, upper=150.0) for k in range(6)],
        name="arm",
    )


def main(time: float) -> None:
    arm = system().compile()
    start = np.array([0.0, 0.3, 0.6, 0.0, 0.5, 0.0])
    goal = arm.inverse_kinematics("tool", (0.5, 0.4, 0.6), start, weights=(0, 1))
    assert goal, goal.message

    def controller(t, q, v):
        return arm.inverse_dynamics(q, v, STIFFNESS * arm.difference(goal.q, q) - DAMPING * v)

    run = ch.simulate(arm, (0.0, time), start, controller=controller, period=0.005)
    left = np.linalg.norm(run["tool"].position - (0.5, 0.4, 0.6), axis=1)
    print(run)
    print(f"distance of the tool from its goal: {left[0]:.3f} m at the start, {left[-1]:.1e} m at t = {time:g} s")
    gained = run.energies.total[-1] - run.energies.total[0]
    print(f"work of the motors: {run.energies.work[-1]:.3f} J; energy gained: {gained:.3f} J")
    print(run.certificate)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=3.0, help="end of the simulation [s]")
    main(parser.parse_args().time)
