"""Design and motion together: the counterweight of a crank that keeps the largest force on its bearing small.

For each place of the counterweight the motion with least effort is planned; the place is chosen by the force on the
bearing in that motion.
"""

import argparse

import numpy as np
from scipy.optimize import minimize_scalar

import chasles as ch


def crank(place: float) -> ch.System:
    """A rod of 1 kg with a load at its tip, and 3 kg at `place` [m] on the other side of the bearing."""
    rod = ch.Body("rod", 1.0, (0.25, 0, 0), (0.001, 0.02, 0.02))
    load, weight = ch.Body("load", 0.5, inertia=(1e-3,) * 3), ch.Body("weight", 3.0, inertia=(2e-3,) * 3)
    return ch.System(
        [rod, load, weight],
        [
            ch.revolute("bearing", "ground", "rod", axis=(0, 0, 1)),
            ch.weld("tip", "rod", "load", at=(0.5, 0, 0)),
            ch.weld("seat", "rod", "weight", at=(-place, 0, 0)),
        ],
        gravity=(0, 0, 0),
        name="crank",
    )


def planned(place: float, steps: int) -> tuple[float, ch.plan.PlannedMotion]:
    """The largest force on the bearing in the best motion, and that motion: half a turn in half a second."""
    goal = ch.plan.reach(ch.plan.state(q=[np.pi], v=[0.0]))
    plan = ch.plan.optimize(crank(place), (0.0, 0.5), steps, ch.plan.effort(), limits=goal)
    return float(np.linalg.norm(plan.run.reactions("bearing")[:, 3:], axis=1).max()), plan


def main(steps: int, picture: str | None) -> None:
    found = minimize_scalar(lambda place: planned(place, steps)[0], bounds=(0.0, 0.4), method="bounded")
    (before, _), (after, plan) = planned(0.0, steps), planned(found.x, steps)
    print(f"the counterweight belongs {1e3 * found.x:.2f} mm from the bearing: balanced at {1e3 * 0.5 / 3:.2f} mm")
    print(f"largest force on the bearing: {before:.2f} N with it at the bearing, {after:.2e} N now")
    if picture:
        plan.run.plot("joints", "inputs", "reactions.bearing", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40, help="in which the input is held")
    parser.add_argument("--picture", help="where to save a picture, for example design.png")
    given = parser.parse_args()
    main(given.steps, given.picture)
