"""Swing an acrobot up with least effort: a double pendulum with a motor at the elbow alone."""

import argparse

import numpy as np

import chasles as ch


def acrobot() -> ch.System:
    rod = [ch.shapes.Cylinder(0.02, 0.5, pose=(1, 0, 0, 0, 0, 0, -0.25))]
    return ch.System(
        [ch.Body("upper", shapes=rod, density=1600.0), ch.Body("lower", shapes=rod, density=1600.0)],
        [
            ch.revolute("shoulder", "ground", "upper", axis=(0, 1, 0)),
            ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.5)),
        ],
        [ch.Frame("tip", "lower", (0, 0, -0.5))],
        actuators=[ch.Actuator("motor", "elbow", lower=-10.0, upper=10.0)],
        name="acrobot",
    )


def main(steps: int, picture: str | None) -> None:
    time = 2.5
    swing = 0.5 * np.sin(2 * np.pi / 1.2 * time * np.arange(steps) / steps)
    plan = ch.plan.optimize(
        acrobot(),
        (0.0, time),
        steps,
        ch.plan.effort(),
        limits=ch.plan.reach(ch.plan.state(q=[np.pi, 0.0], v=[0.0, 0.0])),
        guess=swing[:, None],
    )
    print(plan)
    left = np.abs(plan.run.q[-1] - [np.pi, 0.0]).max()
    print(f"simulated again, the acrobot stands upright to {left:.1e} rad")
    if picture:
        plan.run.plot("joints", "joints.velocity", "inputs", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=125, help="in which the input is held")
    parser.add_argument("--picture", help="where to save a picture, for example acrobot.png")
    given = parser.parse_args()
    main(given.steps, given.picture)
