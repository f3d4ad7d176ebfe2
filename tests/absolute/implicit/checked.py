"""Methods for constrained systems with every access to memory checked: joints of all kinds with all that acts along
them, rotors, constraints of all kinds, redundant ones, springs, bushings, rods, both groups, fixed steps and steps that
follow the error.

    CHASLES_CHECK=1 NUMBA_OPT=1 python -m tests.absolute.implicit.checked [METHOD ...]

Without a method all of them, in one process: nothing is kept on disk in this mode, so what they share is compiled once.
An access outside of an array is an error that Python prints (`sys.unraisablehook`), as nobody can catch it where it
happens.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np

import chasles as ch
from chasles.constrained.run import ConstrainedStepper
from chasles.model import joint as make
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.motion import motion_stepper
from tests.absolute.implicit.test_fours import tops
from tests.absolute.loops import four_bar, four_bar_poses, four_bar_twists
from tests.absolute.systems import SPACES, bodies, frame
from tests.absolute.test_constraints import KINDS, POINTS, free_bodies, swing
from tests.absolute.test_joint_forces import MOVING, odd

STEP, STEPS = 1e-3, 6
METHODS = {
    "alpha": ch.integrate.GeneralizedAlpha(),
    "alpha3": ch.integrate.GeneralizedAlpha(index=3, local=False),
    "bliedf": ch.integrate.BLieDF(3),
    "rattle": ch.integrate.Rattle(),
    "half_explicit": ch.integrate.HalfExplicit(),
    "energy_momentum": ch.integrate.EnergyMomentum(),
    "radau": ch.integrate.RadauIIA(),
}
BILINEAR = ("revolute", "prismatic", "cylindrical", "planar", "universal", "spherical", "free")
ROLLING = {"ball_on_plate", "disc_on_plate"}  # they hold velocities alone
REFUSED = {
    "alpha3": ROLLING,
    "rattle": ROLLING | {"rotors"},
    "energy_momentum": ROLLING | {"rotors", "joints", "driven", "a_custom_link"},
}
Case = tuple[str, ch.System, np.ndarray | None, np.ndarray | None]  # name, system, poses and twists


def joints(kinds: tuple[str, ...], rotors: bool = False) -> ch.System:
    """Joints of some kinds with all that can act along them, to the ground and to a body."""
    rng = np.random.default_rng(4)
    made, links, forces = bodies(rng, "base"), [make.spherical("pivot", "ground", "base", stiffness=2.0)], []
    for name in kinds:
        more = {"at": frame(rng), "child_at": frame(rng), "damping": 0.2, "stiffness": 1.5, "friction": 0.1}
        more["friction_speed"] = 0.5
        if name not in ("spherical", "free"):
            more |= {"rest": 0.2, "lower": -0.1, "upper": 0.3, "stop_stiffness": 4.0, "armature": 0.3 * rotors}
        held = MOVING[name](f"joint {name}", "base" if len(made) % 2 else "ground", name, **more)
        made, links = [*made, *bodies(rng, name)], [*links, held]
        forces += [ch.JointForce(f"law {name}", held.name, odd, parameters=(0.7, 0.4))]
        forces += [ch.JointForce(f"push {name}", held.name, (0.3,) * held.nv)]
    return ch.System(made, links, forces=forces)


def driven() -> ch.System:
    """A joint that follows a law of time, one coupled to it, and forces between bodies by laws."""
    rng = np.random.default_rng(8)
    links = [
        make.revolute("first", "ground", "one", axis=(0.0, 0.6, 0.8)),
        make.revolute("second", "ground", "two", axis=(0.0, 0.0, 1.0), at=(2.0, 0.0, 0.0)),
        make.spherical("third", "two", "three", at=(0.3, 0.0, 0.0)),
        make.weld("fourth", "three", "four", at=(0.0, 0.4, 0.0)),
    ]
    constraints = [
        ch.Drive("drive", "first", swing, parameters=(0.4, 3.0, -1.2)),
        ch.Coupling("gears", ("first", "second"), (1.0, -2.0)),
    ]
    forces = [
        ch.TwoPointForce("pull", ("one", "three"), "3 * (distance - 1) + 0.1 * speed", points=POINTS),
        ch.Spring("spring", ("ground", "four"), ((0.0, 0.0, 2.0), (0.1, 0.0, 0.0)), 7.0, 0.3, 0.4),
    ]
    return ch.System(bodies(rng, "one", "two", "three", "four"), links, forces=forces, constraints=constraints)


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


def cases() -> Iterator[Case]:
    yield "a distance", held(), None, None
    yield "joints", joints(tuple(MOVING)), None, None
    yield "bilinear", joints(BILINEAR), None, None
    yield (
        "rotors",
        joints(tuple(kind for kind in MOVING if kind not in ("general", "spherical", "free")), True),
        None,
        None,
    )
    yield "driven", driven(), None, None
    yield "bushings", tops(5), None, None
    yield "rods", rods(), None, None
    # one equation of this loop depends on the others
    yield "redundant", four_bar("revolute"), four_bar_poses(0.4), four_bar_twists(0.4, 1.0)
    system, poses, _ = free_bodies()
    for kind in KINDS:
        yield kind.__name__, system.with_constraint(*kind(poses)), poses, None


def runs_of(method, system, poses, twists, space) -> Iterator[ConstrainedStepper]:
    """A run with fixed steps and one whose steps follow the error."""
    dynamics = BodyDynamics(system, space, projected=True)
    state = dynamics.start(0.0, None, None, poses, twists, False)
    for steps in ({"step": STEP}, {"rtol": 1e-3, "max_step": STEP}):
        yield motion_stepper(dynamics, method, (0.0, STEP * STEPS), state, save="final", **steps)


def refused_by(name: str, method, wrong: list[object]) -> set[str]:
    """Run all cases with a method; those that it does not take."""
    refused = set()
    for case, system, poses, twists in cases():
        for space in SPACES if name != "energy_momentum" else ("SO3xR3",):
            began, said = time.process_time(), []
            try:
                for run in runs_of(method, system, poses, twists, space):
                    found = run.finish(progress=False)
                    assert found.success, found.message
                    assert np.isfinite(found.y).all()
                    said.append(f"{run.steps} steps")
            except ValueError as error:
                refused.add(case)
                said.append(f"refused: {error}"[:100])
            if wrong:
                return refused
            print(f"{name:16} {case:16} {space:7} {time.process_time() - began:6.1f} s  {', '.join(said)}", flush=True)
    return refused


def caught(method, wrong: list[object]) -> bool:
    """Whether a workspace that is shorter than was declared is noticed."""
    run = next(runs_of(method, held(), None, None, "SO3xR3"))
    run.work = run.work[: len(run.work) // 2].copy()
    try:
        run.advance(STEPS)
    except (IndexError, ArithmeticError, RuntimeError) as error:
        wrong.append(error)
    return any(isinstance(error, IndexError) for error in wrong)


def main(names: list[str]) -> int:
    """Run these methods; 1 if one went wrong."""
    wrong: list[object] = []
    sys.unraisablehook = lambda error: wrong.append(error.exc_value)
    warnings.simplefilter("ignore")
    for name in names or METHODS:
        refused = refused_by(name, METHODS[name], wrong)
        if wrong or refused != REFUSED.get(name, set()) or not caught(METHODS[name], wrong):
            print(f"{name}: WRONG {wrong}, refused: {refused}, or a short workspace was not noticed")
            return 1
        wrong.clear()
        print(f"{name}: checked, and a short workspace is caught", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
