"""Move the tool of a five-bar parallel robot over a corner: two motors, a closed loop, a waypoint, least effort."""

import argparse

import numpy as np

import chasles as ch


def five_bar() -> ch.System:
    def bar(name: str, length: float) -> ch.Body:
        return ch.Body(name, 1.0, (length / 2, 0, 0), (0.001, 0.01, 0.01))

    turn = {"axis": (0, 0, 1)}
    return ch.System(
        [bar("left crank", 0.25), bar("left rod", 0.4), bar("right crank", 0.25), bar("right rod", 0.4)],
        [
            ch.revolute("left motor", "ground", "left crank", at=(-0.1, 0, 0), **turn),
            ch.revolute("left elbow", "left crank", "left rod", at=(0.25, 0, 0), **turn),
            ch.revolute("right motor", "ground", "right crank", at=(0.1, 0, 0), **turn),
            ch.revolute("right elbow", "right crank", "right rod", at=(0.25, 0, 0), **turn),
            ch.revolute("hand", "left rod", "right rod", at=(0.4, 0, 0), child_at=(0.4, 0, 0), **turn),
        ],
        [ch.Frame("tool", "left rod", (0.4, 0, 0))],
        actuators=[ch.Actuator("left", "left motor"), ch.Actuator("right", "right motor")],
        gravity=(0, 0, 0),
        name="five-bar robot",
    )


def main(steps: int, picture: str | None) -> None:
    robot = five_bar().compile()
    motors = {"left motor": 2.2, "right motor": np.pi - 2.2}
    start = ch.simulate(robot, (0.0, 0.01), motors, step=0.01, method="rk4").q[0]
    tool = robot.spanning.poses(start, "tool")[4:]
    goal, way = tool + np.array([[0.1, 0.05, 0.0], [0.0, 0.08, 0.0]])
    plan = ch.plan.optimize(
        robot,
        (0.0, 0.6),
        steps,
        ch.plan.effort(),
        start,
        limits=[
            ch.plan.reach(ch.plan.frame("tool", way), when=0.5),
            ch.plan.reach(ch.plan.frame("tool", goal)),
            ch.plan.reach(ch.plan.state(v={"left motor": 0.0, "right motor": 0.0})),
        ],
    )
    print(plan)
    left = np.linalg.norm(plan.run["tool"].position[-1] - goal)
    print(f"simulated again, the tool is {left:.1e} m from its goal")
    if picture:
        plan.run.plot("joints", "bodies.tool.position", "inputs", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30, help="in which the inputs are held; an even number")
    parser.add_argument("--picture", help="where to save a picture, for example five_bar.png")
    given = parser.parse_args()
    main(given.steps, given.picture)
