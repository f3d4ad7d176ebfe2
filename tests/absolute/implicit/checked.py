"""A method for constrained systems with every access to memory checked: joints of all kinds with all that acts along
them, redundant constraints, bushings, rods, constraints, both groups, fixed steps and steps that follow the error.

    CHASLES_CHECK=1 NUMBA_OPT=1 CHASLES_CACHE_DIR=... python -m tests.absolute.implicit.checked RadauIIA()

The folder is one of its own, since code for this mode is other code. An access outside of an array is an error that
Python prints (`sys.unraisablehook`), as nobody can catch it where it happens.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import chasles as ch
from chasles.integrate.constrained_method import EnergyMomentum
from tests.absolute.implicit.systems import stepper
from tests.absolute.implicit.test_fours import tops
from tests.absolute.loops import four_bar
from tests.absolute.test_joint_forces import MOVING, start_of, system_with

STEP, STEPS = 1e-3, 6


def rods() -> ch.System:
    shape, section = ch.rods.Line((0, 0, 0), (1.0, 0, 0)), ch.rods.Rectangle(0.02, 0.01)
    rod = ch.Rod("rod", shape, section, ch.rods.Material(E=1e7, density=1000.0), elements=6, damping=0.01)
    return ch.System(rods=[rod], gravity=(0, 0, -9.81))


def held() -> ch.System:
    """A body on a ball joint and a distance: as many kinds of constraints as energy-momentum takes."""
    rod = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
    tie = ch.Distance("tie", ("ground", "rod"), ((1.0, 0.0, 1.0), (1.0, 0.0, 0.0)), 1.0)
    spring = ch.Spring("spring", ("ground", "rod"), ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)), 20.0, 0.5)
    return ch.System([rod], [ch.spherical("pivot", "ground", "rod")], forces=[spring], constraints=[tie])


def cases(method) -> list[tuple[str, ch.System, np.ndarray | None, np.ndarray | None]]:
    listed = [("a distance", held(), None, None), ("bushings", tops(5), None, np.tile([1.0, 20.0, -2.0], 5))]
    listed += [("rods", rods(), None, None)]
    listed += [("redundant", four_bar("revolute"), None, None)]  # one equation of the loop depends on the others
    for kind in MOVING if not isinstance(method, EnergyMomentum) else ():
        for rotor in (False, True):
            try:
                system = system_with(kind, rotor)
            except ValueError:  # an armature of a joint given by screws
                continue
            listed.append((f"{kind}{' with a rotor' * rotor}", system, *start_of(system)))
    return listed


def main(text: str) -> int:
    """Run all cases; how many went wrong."""
    method = eval(f"ch.integrate.{text}")
    seen: list[object] = []
    sys.unraisablehook = lambda error: seen.append(error.exc_value)
    wrong = 0
    for name, system, q, v in cases(method):
        for k, space in enumerate(("SO3xR3", "SE3")):
            if isinstance(method, EnergyMomentum) and space == "SE3":
                continue
            given = {"rtol": 1e-3} if k == 1 else {"step": STEP}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    run = ch.simulate(
                        system, (0.0, STEPS * STEP), q, v, coordinates="absolute", space=space, method=method,
                        progress=False, **given,
                    )  # fmt: skip
                    ended = "ok" if run.success and np.isfinite(run.solution.y).all() else f"ended: {run.message}"
                except (ValueError, ArithmeticError) as error:
                    ended = f"refused: {error}"
            if seen:
                ended, wrong = f"WRONG {seen}", wrong + 1
                seen.clear()
            print(f"{name:24} {space:7} {ended[:150]}", flush=True)
    # the same with a workspace that is shorter than was declared
    short = stepper(held(), 1.0, "SO3xR3", method, STEP)
    short.work = short.work[: len(short.work) // 2].copy()
    try:
        short.advance(10)  # the first steps of some methods are explicit
    except (IndexError, ArithmeticError, RuntimeError) as error:
        seen.append(error)
    caught = any(isinstance(error, IndexError) for error in seen)
    print("caught" if caught else f"NOT caught {seen}")
    return wrong + (not caught)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
