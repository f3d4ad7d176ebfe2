"""`chasles warm`: compile everything in advance."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console


def warm(
    *,
    clean: Annotated[bool, Parameter(negative=(), help="First remove the compiled code of other versions.")] = False,
) -> None:
    """Compile all functions into the cache, so that nothing waits for the compiler later."""
    from chasles.gallery import source_000
    from chasles.integrate.progress import Progress, duration
    from chasles.kernel import cache
    from chasles.kernel.face import faces
    from chasles.lie import analytic, pose, rotation, s3, s3xr3, se2, se3, so2, so3, so3xr3

    console = Console()
    if clean:
        for folder in cache.outdated():
            shutil.rmtree(folder)
            console.print(f"removed {folder}")
    modules = (so2, so3, s3, se2, se3, pose, so3xr3, s3xr3, rotation, analytic)
    tasks: list[tuple[str, Callable[[], object]]] = [(face.label, face.compile) for face in faces(*modules)]
    top = source_000.heavy_top()
    for space in ("SE3", "SO3xR3"):
        tasks.append((f"heavy_top on {space}", partial(top.simulate, 2e-3, space=space, progress=False)))
    tasks += [*_integrator_tasks(), *_mechanism_tasks()]
    began = time.perf_counter()
    with Progress(0, len(tasks), what="compiled", unit="", steady=True) as line:
        for count, (label, compile_it) in enumerate(tasks):
            line.show(count, label)
            compile_it()
    console.print(f"{len(tasks)} tasks, {duration(time.perf_counter() - began)}; compiled code is in {cache.root()}")


def _integrator_tasks() -> list[tuple[str, Callable[[], object]]]:
    """The stepping loops, by short runs of a body that does not move (plain Python fields need no compiler), the
    operations on spaces, and the fields of the gallery."""
    import numpy as np

    import chasles as ch
    from chasles.gallery import heavy_top_004, pendulum, quadrotors, rigid_body
    from chasles.integrate import blocks
    from chasles.integrate.field import Field
    from chasles.transition.motion import motion

    at_rest = ch.LieODE(ch.Space("t*so3"), lambda t, y, p: np.zeros(6))
    body = ch.RigidBodyOnSO3((1.0, 1.0, 1.0), lambda t, q, p: np.zeros(3))
    free = ch.LiePoisson(ch.Space("so3*"), lambda t, y, p: y.copy())
    start, spin = [1.0, 0, 0, 0, 0, 0, 0], [0.0, 0.0, 1.0]
    never = ch.Event(lambda t, y, p: t - 0.15)
    options: dict[str, Any] = {"span": (0.0, 0.2), "progress": False}
    fixed: dict[str, Any] = options | {"step": 0.1}
    tasks: list[tuple[str, Callable[[], object]]] = [
        (f"operations on {name}", partial(ch.Space(name).operations, blocks.MOVE, blocks.PULLBACK, blocks.COMBINE))
        for name in ("so3", "pose", "se2", "se3:rotation_vector", "so3xr3:rotation_vector")
    ]
    tasks.append(("field motion", lambda: motion.address))
    tasks += [
        ("solve, fixed steps", lambda: ch.solve(at_rest, ch.RKMK("rk4"), y0=start, **fixed)(0.1)),
        ("solve, products", lambda: ch.solve(at_rest, ch.CommutatorFree("cf4"), y0=start, **fixed)),
        ("solve, events", lambda: ch.solve(at_rest, ch.RKMK("dopri5"), y0=start, events=[never], **options)),
        ("solve, implicit", lambda: ch.solve(at_rest, ch.Gauss(), y0=start, **fixed)),
        ("solve, Lie-Poisson", lambda: ch.solve(free, ch.LiePoissonMidpoint(), y0=spin, **fixed)),
        ("solve, symplectic", lambda: ch.solve(body, ch.MoserVeselov(), y0=start, **fixed)),
    ]
    for module in (heavy_top_004, pendulum, quadrotors, rigid_body):
        found = [value for value in vars(module).values() if isinstance(value, Field)]
        tasks += [(f"field {value.__name__}", partial(getattr, value, "address")) for value in found]
    return tasks


def _mechanism_tasks() -> list[tuple[str, Callable[[], object]]]:
    """The algorithms on trees, for one state and on lanes, and what simulations need, by short runs of a system."""
    import importlib
    import pkgutil

    import chasles as ch
    from chasles import relative
    from chasles.integrate.field import Field
    from chasles.relative.algorithm import Algorithm
    from chasles.simulation import body_motion, tree_motion
    from chasles.simulation.closed import motion as closed_motion

    names = [module.name for module in pkgutil.walk_packages(relative.__path__, "chasles.relative.")]
    modules = [importlib.import_module(name) for name in names]
    found = {value.__name__: value for module in modules for value in vars(module).values() if type(value) is Algorithm}
    tasks: list[tuple[str, Callable[[], object]]] = [
        (f"{name}{', lanes' if lanes else ''}", partial(algorithm.compile, lanes))
        for name, algorithm in found.items()
        for lanes in (False, True)
    ]
    for module in (tree_motion, body_motion, closed_motion):
        fields = [value for value in vars(module).values() if isinstance(value, Field)]
        tasks += [(f"field {value.__name__}", partial(getattr, value, "address")) for value in fields]
    solid: dict[str, Any] = {"mass": 1.0, "com": (0.0, 0.0, -0.1), "inertia": (0.1, 0.1, 0.1)}
    pair = ch.System(
        [ch.Body("one", **solid), ch.Body("two", **solid)],
        [ch.spherical("first", "ground", "one"), ch.revolute("second", "one", "two", axis=(0.0, 1.0, 0.0))],
        forces=[ch.Spring("spring", ("ground", "two"), stiffness=1.0)],
    )

    held = pair.with_constraint(ch.PointOnPlane("plane", ("ground", "two"), ((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))))

    def simulated(system: ch.System, coordinates: str) -> object:
        run = ch.simulate(system, (0.0, 0.02), coordinates=coordinates, progress=False)
        return run.certificate

    tasks += [
        ("simulate, joint coordinates", partial(simulated, pair, "relative")),
        ("simulate, absolute coordinates", partial(simulated, pair, "absolute")),
        ("simulate, closed mechanism", partial(simulated, held, "relative")),
        ("inverse kinematics", lambda: pair.compile().inverse_kinematics("two", (0.0, 0.0, 0.0), weights=(0.0, 1.0))),
        ("equilibrium", lambda: ch.equilibrium(pair)),
        ("sensitivities", lambda: ch.sensitivities(pair, (0.0, 0.02), step=0.01)),
    ]
    return tasks
