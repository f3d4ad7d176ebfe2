"""Design and motion together: the counterweight of a crank whose bearing must not be pulled with more than 10 N, and
the one with which the bearing is pulled least.

The place of the counterweight is a parameter that is found together with the motion of least effort. Near the bearing
it is light to turn; far from it the crank is balanced, and the bearing carries nothing.
"""

import argparse
from importlib.util import find_spec

import numpy as np

import chasles as ch

LENGTH, ROD, LOAD, WEIGHT = 0.5, 1.0, 0.5, 3.0  # [m], [kg]
MOMENT = ROD * LENGTH / 2 + LOAD * LENGTH  # of the masses about the bearing, without the counterweight [kg m]


def crank(place: float) -> ch.System:
    """A rod of 1 kg with a load at its tip, and 3 kg at `place` [m] on the other side of the bearing."""
    rod = ch.Body("rod", ROD, (LENGTH / 2, 0, 0), (0.001, 0.02, 0.02))
    load, weight = ch.Body("load", LOAD, inertia=(1e-3,) * 3), ch.Body("weight", WEIGHT, inertia=(2e-3,) * 3)
    return ch.System(
        [rod, load, weight],
        [
            ch.revolute("bearing", "ground", "rod", axis=(0, 0, 1)),
            ch.weld("tip", "rod", "load", at=(LENGTH, 0, 0)),
            ch.weld("seat", "rod", "weight", at=(-place, 0, 0)),
        ],
        gravity=(0, 0, 0),
        name="crank",
    )


def pull(t: np.ndarray, q: np.ndarray, v: np.ndarray, place: float) -> np.ndarray:
    """The force along the rod that keeps the center of mass on its circle [N]."""
    return (MOMENT - WEIGHT * place) * v[:, 0] ** 2


def planned(limit: float, steps: int, least: bool = False) -> ch.plan.PlannedMotion:
    """Half a turn in half a second with least effort, and the best place of the counterweight. least: what is to be
    small is the squared pull on the bearing, and the effort counts a thousandth."""
    goal = ch.plan.reach(ch.plan.state(q=[np.pi], v=[0.0]))
    force = ch.plan.quantity(pull, "pull on the bearing")
    light, costs = ch.plan.keep(force, -limit, limit), [ch.plan.effort()]
    if least:
        costs = [ch.plan.tracking(force), ch.plan.effort(1e-3)]
    path = np.pi * np.linspace(0.0, 1.0, steps + 1)[:, None]
    return ch.plan.shoot(
        crank, (0.0, 0.5), steps, costs, limits=[goal, light], guess=path,
        parameters={"place": 0.1}, bounds={"place": (0.0, 0.4)},
    )  # fmt: skip


def largest_force(plan: ch.plan.PlannedMotion) -> float:
    """On the bearing along the rod [N]: reactions are in the axes of the rod."""
    return float(np.abs(plan.run.reactions("bearing")[:, 3]).max())


def effort_of(plan: ch.plan.PlannedMotion) -> float:
    """∫ u² dt."""
    return plan.step * float((plan.inputs**2).sum())


def main(steps: int, picture: str | None) -> None:
    if find_spec("ipyopt") is None:
        steps = min(steps, 20)  # SciPy's dense method is for small problems
    anything, plan, least = planned(1e3, steps), planned(10.0, steps), planned(1e3, steps, least=True)
    for what, one in (("any force", anything), ("10 N", plan), ("least force", least)):
        print(
            f"{what}: counterweight {1e3 * one.parameters['place']:.2f} mm from the bearing, "
            f"effort {effort_of(one):.2f}, largest pull {largest_force(one):.2f} N"
        )
    print(f"balanced at {1e3 * MOMENT / WEIGHT:.2f} mm")
    if picture:
        plan.run.plot("joints", "inputs", "reactions.bearing", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40, help="in which the input is held")
    parser.add_argument("--picture", help="where to save a picture, for example design.png")
    given = parser.parse_args()
    main(given.steps, given.picture)
