"""Throw a double pendulum so that its tip passes a given point at a given time: Gauss-Newton with sensitivities."""

import argparse

import numpy as np

import chasles as ch


def system() -> ch.System:
    rod = [ch.shapes.Cylinder(0.02, 0.5, pose=(1, 0, 0, 0, 0, 0, -0.25))]
    return ch.System(
        [ch.Body("upper", shapes=rod, density=7800.0), ch.Body("lower", shapes=rod, density=7800.0)],
        [ch.spherical("pivot", "ground", "upper"), ch.spherical("elbow", "upper", "lower", at=(0, 0, -0.5))],
        [ch.Frame("tip", "lower", (0, 0, -0.5))],
        name="double pendulum",
    )


def shoot(pendulum: ch.Mechanism, goal: np.ndarray, time: float, tolerance: float = 1e-12) -> np.ndarray:
    """The smallest change of the initial velocities that makes the tip meet the goal, step by step."""
    speed = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    for iteration in range(50):
        found = ch.sensitivities(pendulum, (0.0, time), v=speed, wrt="v", step=0.005, save="final")
        miss = found.run["tip"].position[-1] - goal
        print(f"iteration {iteration}: the tip misses by {np.linalg.norm(miss):.3e} m")
        if np.linalg.norm(miss) < tolerance:
            return speed
        change = -np.linalg.lstsq(found.position("tip")[-1], miss, rcond=None)[0]
        speed = speed + change * min(
            1.0, 2.0 / np.linalg.norm(change)
        )  # far from the goal the linear system says little
    raise RuntimeError("the tip does not get there; try another start, or another time")


def main(time: float) -> None:
    pendulum = system().compile()
    goal = np.array([0.5, 0.3, -0.6])
    speed = shoot(pendulum, goal, time)
    run = ch.simulate(pendulum, (0.0, time), v=speed)
    print(f"throw with v = {np.round(speed, 6)} rad/s")
    left = np.linalg.norm(run["tip"].position[-1] - goal)
    print(f"simulated again with error control, the tip is {left:.1e} m from the goal")
    print(run.certificate)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=0.6, help="when the tip passes the point [s]")
    main(parser.parse_args().time)
