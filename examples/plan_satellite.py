"""Turn a satellite about an axis on which it has no wheel: two wheels, a loop of their speeds, least effort.

The angular momentum is zero all the time, so the hull turns against the wheels, and stands still when they do. About
the third axis it turns because rotations do not commute. Only the group sees that: no input turns it there at first.
"""

import argparse

import numpy as np

import chasles as ch


def satellite() -> ch.System:
    return ch.System(
        [
            ch.Body("hull", 10.0, inertia=(1.0, 1.2, 0.8)),
            ch.Body("wheel x", 1.0, inertia=(0.05, 0.03, 0.03)),
            ch.Body("wheel y", 1.0, inertia=(0.03, 0.05, 0.03)),
        ],
        [
            ch.spherical("attitude", "ground", "hull"),
            ch.revolute("x", "hull", "wheel x", axis=(1, 0, 0)),
            ch.revolute("y", "hull", "wheel y", axis=(0, 1, 0)),
        ],
        actuators=[ch.Actuator("motor x", "x"), ch.Actuator("motor y", "y")],
        gravity=(0, 0, 0),
        name="satellite with two wheels",
    )


def main(steps: int, picture: str | None) -> None:
    time, angle = 20.0, 0.6
    phase = 2 * np.pi * np.arange(steps) / steps
    still = {"attitude": [0.0, 0.0, 0.0], "x": 0.0, "y": 0.0}
    plan = ch.plan.optimize(
        satellite(),
        (0.0, time),
        steps,
        ch.plan.effort(),
        limits=ch.plan.reach(ch.plan.state({"attitude": ch.lie.s3.exp([0.0, 0.0, angle])}, still)),
        guess=0.1 * np.stack([np.sin(phase), np.cos(phase)], axis=1),
    )
    print(plan)
    hull = plan.run.q[-1, :4]
    turned = ch.lie.s3.log(hull * np.sign(hull[0]))  # two quaternions are one rotation
    print(f"turned by {np.round(turned, 8)} rad, with at most {np.abs(plan.inputs).max():.4f} N m")
    if picture:
        plan.run.plot("bodies.hull.orientation", "joints.velocity", "inputs", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=80, help="in which the inputs are held")
    parser.add_argument("--picture", help="where to save a picture, for example satellite.png")
    given = parser.parse_args()
    main(given.steps, given.picture)
