"""`chasles warm`: compile everything in advance."""

from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

if TYPE_CHECKING:
    import chasles as ch

Task = tuple[str, Callable[[], object]]


def warm(
    *,
    clean: Annotated[bool, Parameter(negative=(), help="First remove the compiled code of other versions.")] = False,
    jobs: Annotated[int, Parameter(help="Number of processes; 0 for one per core.")] = 0,
) -> None:
    """Compile all functions in advance, so that no later call waits for the compiler."""
    from chasles.display.progress import Progress, duration
    from chasles.kernel import cache

    console = Console()
    if clean:
        outdated = cache.files()[1]
        for path in outdated:
            path.unlink(missing_ok=True)
        console.print(f"removed {len(outdated)} compiled functions of other versions")
    tasks = all_tasks()
    began = time.perf_counter()
    with Progress(0, len(tasks), what="compiled", unit="", steady=True) as line:
        for count, label in enumerate(_compiled(tasks, jobs or os.cpu_count() or 1)):
            line.show(count, label)
    where = cache.folder() or "memory only"
    console.print(f"{len(tasks)} tasks, {duration(time.perf_counter() - began)}; compiled code is in {where}")


def _compiled(tasks: list[Task], jobs: int) -> Iterator[str]:
    """Do the tasks, in so many processes; yields the name of each before it is done, or after in other processes."""
    if jobs == 1:
        for label, compile_it in tasks:
            yield label
            compile_it()
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    from chasles.ensembles.executor import end_with_parent

    with ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool:
        # long ones last in the list: begin with them, so that no process is left alone with one at the end
        running = {pool.submit(_do, number): label for number, (label, _) in reversed(list(enumerate(tasks)))}
        try:
            for done in as_completed(running):
                done.result()
                yield running[done]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():  # the compiler would not hear of Ctrl-C before it is done
                worker.terminate()
            raise


def _do(number: int) -> None:
    """One task, in a process of its own kind: tasks are made there, they cannot be sent."""
    _tasks()[number][1]()


@functools.cache
def _tasks() -> list[Task]:
    return all_tasks()


def all_tasks() -> list[Task]:
    """What is to be compiled, with a name for each."""
    from chasles.gallery import boxes
    from chasles.kernel import notice
    from chasles.kernel.face import faces
    from chasles.lie import analytic, pose, rotation, s3, s3xr3, se2, se3, so2, so3, so3xr3

    notice.LISTENER.silent = True  # the line of the command says more
    modules = (so2, so3, s3, se2, se3, pose, so3xr3, s3xr3, rotation, analytic)
    tasks: list[Task] = [(face.label, face.compile) for face in faces(*modules)]
    top = boxes.heavy_top()
    for space in ("SE3", "SO3xR3"):
        tasks.append((f"heavy_top on {space}", partial(top.simulate, 2e-3, space=space, progress=False)))
    return [*tasks, *_integrator_tasks(), *_mechanism_tasks()]


def _integrator_tasks() -> list[Task]:
    """The stepping loops, by short runs of a body that does not move (plain Python fields need no compiler), the
    operations on spaces, and the fields of the gallery."""
    import numpy as np

    import chasles as ch
    from chasles.gallery import pendulum, quadrotors, rigid_body, spinning_top
    from chasles.integrate import blocks
    from chasles.integrate.vector_field import Field
    from chasles.transition.motion import motion

    at_rest = ch.integrate.LieODE(ch.integrate.Space("t*so3"), lambda t, y, p: np.zeros(6))
    body = ch.integrate.RigidBodyOnSO3((1.0, 1.0, 1.0), lambda t, q, p: np.zeros(3))
    free = ch.integrate.LiePoisson(ch.integrate.Space("so3*"), lambda t, y, p: y.copy())
    start, spin = [1.0, 0, 0, 0, 0, 0, 0], [0.0, 0.0, 1.0]
    never = ch.Event(lambda t, y, p: t - 0.15)
    options: dict[str, Any] = {"span": (0.0, 0.2), "progress": False}
    fixed: dict[str, Any] = options | {"step": 0.1}
    tasks: list[Task] = [
        (
            f"operations on {name}",
            partial(ch.integrate.Space(name).operations, blocks.MOVE, blocks.PULLBACK, blocks.COMBINE),
        )
        for name in ("so3", "pose", "se2", "se3:rotation_vector", "so3xr3:rotation_vector")
    ]
    tasks.append(("field motion", lambda: motion.address))
    tasks += [
        ("solve, fixed steps", lambda: ch.integrate.solve(at_rest, ch.integrate.RKMK("rk4"), y0=start, **fixed)(0.1)),
        ("solve, products", lambda: ch.integrate.solve(at_rest, ch.integrate.CommutatorFree("cf4"), y0=start, **fixed)),
        (
            "solve, events",
            lambda: ch.integrate.solve(at_rest, ch.integrate.RKMK("dopri5"), y0=start, events=[never], **options),
        ),
        ("solve, implicit", lambda: ch.integrate.solve(at_rest, ch.integrate.Gauss(), y0=start, **fixed)),
        ("solve, Lie-Poisson", lambda: ch.integrate.solve(free, ch.integrate.LiePoissonMidpoint(), y0=spin, **fixed)),
        ("solve, symplectic", lambda: ch.integrate.solve(body, ch.integrate.MoserVeselov(), y0=start, **fixed)),
    ]
    for module in (spinning_top, pendulum, quadrotors, rigid_body):
        found = [value for value in vars(module).values() if isinstance(value, Field)]
        tasks += [(f"field {value.__name__}", partial(getattr, value, "address")) for value in found]
    return tasks


def _mechanism_tasks() -> list[Task]:
    """The algorithms on trees, for one state and on lanes, and what simulations need, by short runs of a system."""
    import importlib
    import pkgutil

    from chasles import relative
    from chasles.constrained import index1 as body_motion
    from chasles.integrate.vector_field import Field
    from chasles.relative.algorithm import Algorithm
    from chasles.simulation.closed import motion as closed_motion
    from chasles.simulation.tree import dependent_motion
    from chasles.simulation.tree import motion as tree_motion

    names = [module.name for module in pkgutil.walk_packages(relative.__path__, "chasles.relative.")]
    modules = [importlib.import_module(name) for name in names]
    found = {value.__name__: value for module in modules for value in vars(module).values() if type(value) is Algorithm}
    tasks: list[Task] = [
        (f"{name}{', lanes' if lanes else ''}", partial(algorithm.compile, lanes))
        for name, algorithm in found.items()
        for lanes in (False, True)
        if algorithm.fours or not lanes
    ]
    for module in (tree_motion, dependent_motion, body_motion, closed_motion):
        fields = [value for value in vars(module).values() if isinstance(value, Field)]
        tasks += [(f"field {value.__name__}", partial(getattr, value, "address")) for value in fields]
    return [*tasks, *_simulation_tasks(), *_gallery_tasks()]


def _gallery_tasks() -> list[Task]:
    """What systems of the gallery need beyond that: laws as expressions, friction, rods, loops with gears and springs;
    their linear equations and sensitivities."""
    import chasles as ch

    def asked(function: Callable, name: str, *options: Any, **more: Any) -> object:
        return function(ch.load(name).system, *options, **more)

    short = {"span": (0.0, 0.02), "step": 0.01}
    tasks: list[Task] = [
        (f"gallery, {name}", partial(_run_to_file, name))
        for name in ("cantilever_bend", "flying_spaghetti", "gripper", "slider_crank", "suspension", "tendon_finger")
    ]
    tasks += [(f"linearize, {name}", partial(asked, ch.linearize, name)) for name in ("slider_crank", "suspension")]
    return [*tasks, ("sensitivities, loop", partial(asked, ch.sensitivities, "slider_crank", **short))]


def _run_to_file(name: str) -> None:
    """A short run of a system of the gallery, as `chasles run -o` makes it."""
    import tempfile
    from pathlib import Path

    import chasles as ch

    with tempfile.TemporaryDirectory() as folder:
        run = ch.load(name).run(span=(0.0, 0.05), progress=False, file=Path(folder, "run.h5"))
        _ = run.certificate, run.energies


def _simulation_tasks() -> list[Task]:
    """What simulations need, by short ones of a system with a spring, in both kinds of coordinates, by each family of
    methods; closed and overconstrained mechanisms, joints of all kinds, and what is asked of a system and its runs."""
    import chasles as ch
    from chasles.gallery.overconstrained import parallelogram
    from chasles.integrate.constrained_method import CONSTRAINED_METHODS
    from chasles.integrate.method_name import LONG, SHORT, method_from
    from chasles.simulation.simulate import simulate

    solid: dict[str, Any] = {"mass": 1.0, "com": (0.0, 0.0, -0.1), "inertia": (0.1, 0.1, 0.1)}
    screws = ((0.0, 0.0, 1.0, 0.0, 0.0, 0.1), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    pair = ch.System(
        [ch.Body("one", **solid), ch.Body("two", **solid)],
        [ch.spherical("first", "ground", "one"), ch.revolute("second", "one", "two", axis=(0.0, 1.0, 0.0))],
        forces=[ch.Spring("spring", ("ground", "two"), stiffness=1.0)],
    )
    held = pair.with_constraint(ch.PointOnPlane("plane", ("ground", "two"), ((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))))
    general = ch.System([ch.Body("one", **solid)], [ch.general("first", "ground", "one", screws=screws)])
    driven = ch.System(
        [ch.Body("one", **solid)], [ch.revolute("first", "ground", "one", axis=(0.0, 1.0, 0.0), damping=0.1)]
    )
    rods = [f"rod {k}" for k in range(8)]  # enough for their rotations to be done four at a time
    hung = [ch.spherical(f"ball {k}", rods[k - 1] if k else "ground", rods[k], at=(k, 0, 0)) for k in range(8)]
    many = ch.System([ch.Body(name, **solid) for name in rods], hung)
    linkage = parallelogram()
    families = {SHORT[name]: name for name in reversed(SHORT)}  # those of a family share their loops
    methods = {name: method_from(name) for name in (*families.values(), *LONG)}

    def simulated(system: ch.System, **options: Any) -> object:
        run = simulate(system, (0.0, 0.02), progress=False, **options)
        return run.certificate, run.energies, run[system.bodies[0].name].acceleration

    tasks: list[Task] = []
    for coordinates in ("relative", "absolute"):
        for what, system in (("", pair), (", plane", held), (", screws", general), (", damping", driven)):
            for how, options in (("adaptive", {}), ("fixed", {"step": 0.01})):
                given: dict[str, Any] = {"coordinates": coordinates, **options}
                if system is general:
                    given |= {"q": [0.1, 0.2]}
                tasks.append((f"{coordinates}{what}, {how}", partial(simulated, system, **given)))
    for name, method in methods.items():
        absolute: dict[str, Any] = {"coordinates": "absolute", "method": method, "step": 0.01, "space": "SO3xR3"}
        if isinstance(method, ch.integrate.Gauss | ch.integrate.LieMidpoint):
            absolute["stabilization"] = None  # they have none
        else:
            start = {"poses": linkage.poses, "twists": linkage.twists}
            tasks.append((f"{name}, redundant", partial(simulated, linkage.system, **absolute, **start)))
        tasks.append((f"{name}, absolute", partial(simulated, pair, **absolute)))
        if not isinstance(method, CONSTRAINED_METHODS):
            tasks.append((f"{name}, relative", partial(simulated, pair, method=method, step=0.01)))
    tasks += [
        ("many bodies", partial(simulated, many, coordinates="absolute", method="rk4", step=0.01)),
        ("start of a loop", partial(_assembled, solid)),
        ("plot and report", partial(_shown, pair)),
        ("pictures", lambda: simulate(pair, (0.0, 0.02), progress=False).picture(size=(32, 32))),
        ("reactions", lambda: simulate(pair, (0.0, 0.02), step=0.01, progress=False).reactions("second")),
        ("mobility", lambda: ch.mobility(linkage.system, poses=linkage.poses)),
        (
            "inverse kinematics",
            lambda: ch.Mechanism(pair).inverse_kinematics("two", (0.0, 0.0, 0.0), weights=(0.0, 1.0)),
        ),
        ("equilibrium", lambda: ch.equilibrium(pair)),
        ("linearize", lambda: ch.linearize(pair)),
        ("sensitivities", lambda: ch.sensitivities(pair, (0.0, 0.02), step=0.01)),
        ("sensitivities, adaptive", lambda: ch.sensitivities(pair, (0.0, 0.02))),
    ]
    return tasks


def _assembled(solid: dict[str, Any]) -> None:
    """A closed loop from a start that is put onto its constraints."""
    import chasles as ch

    places: dict[str, dict[str, Any]] = {"b": {"at": (1, 0, 0)}, "c": {"at": (1.3, 0, 0)}}
    places["d"] = {"at": (1, 0, 0), "child_at": (1, 0, 0)}
    ends = {"a": ("ground", "one"), "b": ("one", "two"), "c": ("ground", "three"), "d": ("two", "three")}
    joints = [ch.revolute(name, *pair, axis=(0, 1, 0), **places.get(name, {})) for name, pair in ends.items()]
    four_bar = ch.System([ch.Body(name, **solid) for name in ("one", "two", "three")], joints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ch.errors.StartChangedWarning)  # it is asked for
        ch.simulate(four_bar, (0.0, 0.02), q=[1.0, -0.9, 1.2], assemble=True, progress=False)


def _shown(system: ch.System) -> None:
    """What is drawn of a run: figures, and the page in 3D as part of a report."""
    import tempfile
    from pathlib import Path

    import matplotlib

    from chasles.simulation.simulate import simulate

    matplotlib.use("agg")
    simulate(system, (0.0, 0.02), progress=False).plot()
    with tempfile.TemporaryDirectory() as folder:
        for coordinates in ("relative", "absolute"):  # arrays of a file are read-only, which compiled code knows
            file = Path(folder, f"{coordinates}.h5")
            run = simulate(system, (0.0, 0.02), coordinates=coordinates, step=0.01, progress=False, file=file)
            run.report(Path(folder, "report.html"))
