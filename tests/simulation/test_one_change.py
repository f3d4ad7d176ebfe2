"""A system that is computed after one that differs from it in a single value gives what it gives alone, bit for bit."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.model.joint import Joint
from chasles.relative.loop import variant
from chasles.simulation import compiled_system
from chasles.simulation.laws import scan
from tests.simulation.one_change import MODELS, bars, variations

QUICK = ("axes", "followers", "laws", "redundant")
EVERY = 29  # of the changes one in so many is tried, unless all are
SPACES = {"manifolds": "SE3", "laws": "SO3xR3", "constrained": {"a": "SE3", "b": "SO3xR3"}}
ADAPTIVE, STIFF = ("sticking", "slipping"), ("rods", "strained", "elastic")
PARTS = (
    *(ch.Body, Joint, ch.Frame, ch.Spring, ch.TwoPointForce, ch.Bushing, ch.Wrench, ch.JointForce, ch.Actuator),
    *(ch.Distance, ch.PointOnLine, ch.PointOnPlane, ch.Coupling, ch.Drive, ch.CustomConstraint, ch.Rolling, ch.Cam),
    *(ch.Rod, ch.rods.ReducedBody),
)
NOT_ALONE = {("ReducedBody", "order")}  # its matrices would have to change with it
Results = dict[str, bytes]


def forget() -> None:
    """Nothing is known of any mechanism, as in a process that has just begun."""
    variant._recent.clear()
    compiled_system._recent.clear()
    scan._KNOWN.clear()


def of_mechanism(system: ch.System) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of a mechanism in joint coordinates: names, and functions that compute it."""
    mechanism, rng = system.compile(), np.random.default_rng(3)
    q = mechanism.retract(mechanism.neutral(), 0.1 * rng.normal(size=mechanism.nv))
    v = rng.normal(size=mechanism.nv)
    yield "mass matrix", lambda: mechanism.mass_matrix(q)
    yield "poses", lambda: mechanism.poses(q)
    yield "frames", lambda: mechanism.poses(q, [frame.name for frame in system.frames] or None)
    yield "forces", lambda: mechanism.applied_forces(q, v, 0.3).tau
    yield "accelerations", lambda: mechanism.forward_dynamics(q, v, np.zeros(mechanism.nv))
    yield "energy", lambda: np.array(mechanism.energy(q, v))
    yield "names", lambda: repr((mechanism.system, mechanism.joints, mechanism.bodies))


def of_runs(system: ch.System, kind: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """And of runs in joint and in absolute coordinates."""
    start = MODELS[kind][1]
    fixed = {} if kind in ADAPTIVE else {"method": "rk4", "step": 1e-3}
    yield from of_run("", lambda: ch.simulate(system, (0.0, 3e-3), **start, **fixed))
    own = {name: value for name, value in start.items() if name != "control"}
    implicit = {"method": "generalized_alpha", "step": 1e-3} if kind in STIFF else fixed
    space: Any = SPACES.get(kind, "auto")
    if isinstance(space, dict):
        space = {name: value for name, value in space.items() if name in {body.name for body in system.bodies}}
    options = {**own, **implicit, "coordinates": "absolute", "space": space}
    yield from of_run("absolute ", lambda: ch.simulate(system, (0.0, 2e-3), **options))


def of_run(name: str, simulated: Callable[[], ch.Run]) -> Iterator[tuple[str, Callable[[], Any]]]:
    try:
        run = simulated()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        yield f"{name}run", lambda: message
        return
    yield f"{name}q", lambda: run.q
    yield f"{name}v", lambda: run.v
    yield f"{name}a", lambda: run.a
    yield f"{name}poses", lambda: run.poses
    yield f"{name}energies", lambda: np.array([run.energies.total, run.energies.balance])
    for part in (*run.system.joints, *run.system.constraints):
        yield f"{name}reaction of {part.name}", lambda part=part: run.reactions(part.name)
    yield f"{name}names", lambda: repr((run.system.name, run.bodies, run.joints, run.frames, run.force_names))


def results(asked: Iterator[tuple[str, Callable[[], Any]]]) -> Results:
    """The bits of all results, or what was said instead."""
    found = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            for name, compute in asked:
                try:
                    value = compute()
                except Exception as error:
                    value = f"{type(error).__name__}: {error}"
                found[name] = value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes()
        except Exception as error:
            found["compiled"] = f"{type(error).__name__}: {error}".encode()
    return found


@pytest.mark.parametrize("kind", QUICK)
def test_a_mechanism_is_not_taken_for_another(kind):
    base, other_results = MODELS[kind][0](), 0
    alone = results(of_mechanism(replace(base)))
    for k, (what, other) in enumerate(variations(base, set())):
        if k % EVERY:
            continue
        forget()
        own = results(of_mechanism(other))
        forget()
        before = base.compile()
        assert results(of_mechanism(other)) == own, what
        assert before.system is not other
        other_results += own != alone
    assert other_results > 3


@pytest.mark.study
@pytest.mark.parametrize("kind", MODELS)
def test_a_run_is_not_that_of_another_system(kind):
    """Both ways round, of each system and each single change, in joint and in absolute coordinates."""

    def everything(system):
        return results(of_mechanism(system)) | results(of_runs(system, kind))

    base = MODELS[kind][0]()
    forget()
    alone = everything(replace(base))
    for what, other in variations(base, set()):
        forget()
        first = replace(other)  # alive as long as the next is computed: what is forgotten is not taken
        own = everything(first)
        second = replace(base)
        assert everything(second) == alone, f"after {what}"
        forget()
        first = replace(base)
        everything(first)
        assert everything(replace(other)) == own, what


@pytest.mark.study
def test_every_field_of_every_part_is_changed():
    seen: set[tuple[str, str]] = set()
    for make, _ in MODELS.values():
        for _ in variations(make(), seen):
            pass
    wanted = {(part.__name__, item.name) for part in PARTS for item in fields(part) if item.init}
    assert wanted - seen == NOT_ALONE


def test_a_drive_that_begins_anywhere_is_another_one():
    """It has no part in finding the start; the mechanism of a drive that has must not be taken for it."""
    first, second = ch.Drive("motor", "crank", "3 * t"), ch.Drive("motor", "crank", "3 * t")
    object.__setattr__(second, "begins_anywhere", True)
    assert first != second
    one, other = (ch.System(*bars(), constraints=[drive], gravity=(0, -9.8, 0)) for drive in (first, second))
    kept = compiled_system.in_joint_coordinates(one)
    assert compiled_system.in_joint_coordinates(other).system.constraints[0].begins_anywhere
    assert not kept.system.constraints[0].begins_anywhere
