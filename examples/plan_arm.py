"""A 7-joint arm through waypoints to a pose in the shortest time that its motors allow."""

import argparse

import numpy as np

import chasles as ch

JOINTS = 7


def arm() -> ch.System:
    bodies = [ch.Body(f"link {k}", 2.0, (0, 0.02, 0.1), (0.02, 0.025, 0.01)) for k in range(JOINTS)]
    names = ["ground", *(body.name for body in bodies)]
    joints = [
        ch.revolute(
            *(f"joint {k}", names[k], names[k + 1]),
            axis=(0, k % 2, 1 - k % 2),
            at=(0, 0, 0.2 if k else 0.0),
            armature=0.3,  # of the rotors, behind their gears
        )
        for k in range(JOINTS)
    ]
    motors = [ch.Actuator(f"motor {k}", f"joint {k}", lower=-60.0, upper=60.0) for k in range(JOINTS)]
    return ch.System(bodies, joints, [ch.Frame("tip", "link 6", (0, 0, 0.2))], actuators=motors, name="arm")


def main(steps: int, picture: str | None) -> None:
    robot, still = arm().compile(), np.zeros(JOINTS)
    first = np.array([0.0, 0.5, 0.0, 0.8, 0.0, 0.5, 0.0])
    inputs = np.tile(robot.inverse_dynamics(first, still, still), (steps, 1))
    place = robot.poses(first, "tip")[4:]
    waypoint, goal = place + np.array([[-0.1, 0.3, 0.15], [-0.3, 0.5, 0.0]])
    plan = ch.plan.optimize(
        robot,
        (0.0, 1.0),
        steps,
        [ch.plan.duration(10.0), ch.plan.effort(1e-4), ch.plan.tracking(ch.plan.state(v=still), 1e-3)],
        first,
        limits=[
            ch.plan.reach(ch.plan.frame("tip", waypoint), when=0.5),
            ch.plan.reach(ch.plan.frame("tip", goal)),
            ch.plan.reach(ch.plan.state(v=still)),
        ],
        guess=inputs,
        duration=(0.2, 2.0),
        tolerance=1e-6,
    )
    print(plan)
    print(f"it takes {plan.duration:.4f} s")
    left = np.linalg.norm(plan.run["tip"].position[-1] - goal)
    print(f"simulated again, the tip is {left:.1e} m from its goal")
    if picture:
        plan.run.plot("joints", "inputs", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50, help="in which the inputs are held; an even number")
    parser.add_argument("--picture", help="where to save a picture, for example arm.png")
    given = parser.parse_args()
    main(given.steps, given.picture)
