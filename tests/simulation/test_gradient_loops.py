"""Gradients of runs with loops: their pulls against those by dual numbers, one place after the other, and whole runs
against sensitivities, which go forward on dual numbers."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.lanes import WIDTH
from chasles.relative.parameter.inertial import parameters_of, system_with
from chasles.relative.tables import CONSTANT, FREE, GRAVITY, HELICAL, LINK, PRISMATIC, link_table
from chasles.simulation.adjoint.by_duals import memory_of, pull_address
from chasles.simulation.adjoint.loops import LoopAdjoint
from chasles.simulation.adjoint.steps import OF_CORRECTION, OF_FIELD
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses
from tests.absolute import test_constraints
from tests.relative import closed
from tests.relative.test_loop_derivatives import SYSTEMS, state
from tests.relative.test_loops import KINDS
from tests.simulation.test_gradient import BAR, Measured, agree
from tests.simulation.test_mimic import gripper

POINTER = ctypes.POINTER(ctypes.c_double)
FIELD = ctypes.CFUNCTYPE(None, ctypes.c_double, *(POINTER,) * 3, *(ctypes.c_int64,) * 3)
PULL = ctypes.CFUNCTYPE(None, ctypes.c_double, *(POINTER,) * 7, ctypes.POINTER(ctypes.c_int64))
TURNS = np.array([[[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]])


def pointers(*arrays: np.ndarray):
    return [array.ctypes.data_as(POINTER) for array in arrays]


def pulled(address: int, t: float, y, f, bar, p, memory, numbers: int) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of the point and of the numbers."""
    found, g = np.zeros(len(y)), np.zeros(numbers)
    sizes = np.array([len(y), len(bar), numbers, len(p), len(memory)], dtype=np.int64)
    given = pointers(y, f, bar, found, g, p, memory)
    PULL(address)(t, *given, sizes.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)))
    return found, g


class Both:
    """The pulls of a closed mechanism, and those by dual numbers, at a state."""

    def __init__(self, mechanism: ch.ClosedMechanism, q, v, t: float = 0.3, feedback=(0.0, 0.0)):
        self.mechanism, self.t, self.rng = mechanism, t, np.random.default_rng(0)
        self.dynamics = dynamics = ClosedDynamics(mechanism, baumgarte=feedback)
        self.y, self.q, self.nv = dynamics.state(q, v), q, mechanism.nv
        self.tables = ClosedTangentTables(mechanism, dynamics.parameters, dynamics.free is not None)
        self.count = len(self.tables.constants)
        self.adjoint = LoopAdjoint(dynamics, self.tables, np.eye(self.count))
        self.through = self.adjoint.through()

    def by_duals(self, address: int, used: int, size: int, u, bar) -> tuple[np.ndarray, np.ndarray]:
        p = self.tables.packed(u, np.zeros((self.count + self.nv, 3)))
        memory = memory_of(address, (used, len(self.y), size), p, self.tables.places, np.eye(self.count + self.nv))
        found, g = pulled(pull_address(), self.t, self.y, self.y, bar, p, memory, self.count + self.nv)
        return self.lowered(found, g[: self.count], g[self.count :])

    def of_field(self) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """Cotangents of the state, the numbers and the input."""
        size, u = self.dynamics.space.dimension, self.rng.normal(size=self.nv)
        bar, f, problem = self.rng.normal(size=size), np.zeros(size), self.dynamics.problem(u)
        p, bar[-1] = problem.parameters.copy(), 0.0
        FIELD(problem.field.address)(self.t, *pointers(self.y, p, f), len(self.y), len(p), size)
        address, numbers = int(self.through.pulls[OF_FIELD]), self.nv + self.through.numbers
        found, g = pulled(address, self.t, self.y, f, bar, p, self.through.field, numbers)
        own, rest = np.zeros(self.count), g[self.nv :]
        own[: self.adjoint.count] = rest[: self.adjoint.count]
        if self.adjoint.of_forces is not None:
            forces = self.adjoint.of_forces.by_parameters(rest[self.adjoint.count :])
            own += forces
        wanted = self.by_duals(tangent_addresses()[0], len(self.y) - 1, size, u, bar)
        return self.lowered(found, own, g[: self.nv]), wanted

    def of_projection(self) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        size = len(self.y)
        bar, address = self.rng.normal(size=size), int(self.through.pulls[OF_CORRECTION])
        found, g = pulled(address, self.t, self.y, self.y, bar, np.zeros(8), self.through.correction, self.nv + self.adjoint.count)
        own = np.concatenate([g[self.nv :], np.zeros(self.count - self.adjoint.count)])
        wanted = self.by_duals(tangent_addresses()[1], size, size, np.zeros(self.nv), bar)
        return self.lowered(found, own, g[: self.nv]), wanted

    def lowered(self, found, g, by_input) -> tuple[np.ndarray, ...]:
        """Cotangents along changes that there are: of states, of places that are turned, of numbers that mean
        something."""
        nq, tree = self.mechanism.nq, self.mechanism.tree
        lift = self.mechanism.tables.configuration.lift(self.q, np.eye(self.nv))
        g, links = g.copy(), g[GRAVITY.size : len(tree.numbers)].reshape(-1, CONSTANT.size).copy()
        rotations = tree.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)[:, :9].reshape(-1, 3, 3)
        turned = np.einsum("lij,kjm,lim->lk", rotations, TURNS, links[:, :9].reshape(-1, 3, 3))
        links[:, :9] = 0.0
        links[:, :3] = turned
        kinds = link_table(tree.topology)[:, LINK.kind]
        links[kinds != HELICAL, CONSTANT.pitch] = 0.0
        links[(kinds != HELICAL) & (kinds != PRISMATIC), CONSTANT.armature] = 0.0
        g[GRAVITY.size : len(tree.numbers)] = links.ravel()
        return np.concatenate([lift @ found[:nq], found[nq:]]), g[: self.adjoint.count], g[self.adjoint.count :], by_input


def alike(found: tuple[np.ndarray, ...], wanted: tuple[np.ndarray, ...], bar: float = BAR) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert np.abs(one - other).max(initial=0.0) <= bar * np.abs(other).max(initial=0.0)


def driven() -> ch.System:
    system = test_constraints.gears(carried=True)
    swing = ch.Drive("motor", "to one", "a * sin(b * t) + c * t", parameters={"a": 0.4, "b": 3.0, "c": 0.2})
    return ch.System(system.bodies, system.joints, constraints=[swing], gravity=(1.0, 2.0, 3.0))


def random(kind: str, more: tuple[str, ...] = ("spherical", "revolute")) -> tuple[ch.ClosedMechanism, np.ndarray]:
    system, q = closed.random_closed(5, (kind, *more))
    return system.compile(), q


def constrained(kind: Callable) -> tuple[ch.ClosedMechanism, np.ndarray]:
    system, poses, _ = test_constraints.held(kind)
    mechanism = system.compile()
    return mechanism, np.concatenate(
        [poses[mechanism.bodies.index(joint.removeprefix("free "))] for joint in mechanism.joints]
    )


def found_of(system: Callable[[], ch.System]) -> tuple[ch.ClosedMechanism, np.ndarray]:
    mechanism = system().compile()
    return mechanism, mechanism.assemble(mechanism.random(np.random.default_rng(2)), 0.3)


def known(name: str) -> tuple[ch.ClosedMechanism, np.ndarray]:
    mechanism, q, *_ = state(name)
    return mechanism, q


PLACES: dict[str, Callable[[], tuple[ch.ClosedMechanism, np.ndarray]]] = {kind: partial(random, kind) for kind in closed.CUT}
PLACES |= {f"constraint {k}": partial(constrained, kind) for k, kind in enumerate(KINDS)}
PLACES |= {name: partial(known, name) for name in ("gears, drive", "bicycle", "law", "four-bar", "parallelogram")}
PLACES |= {"driven": partial(found_of, driven), "gears": partial(found_of, partial(test_constraints.gears, carried=True))}
make = cache(lambda name: PLACES[name]())


@pytest.mark.parametrize("name", PLACES)
def test_fields(name):
    """At a place that is off the constraints a little, with feedback: all channels of all rows count. Where rows depend
    on others, which ones are solved is another matter off the constraints."""
    mechanism, q = make(name)
    rng, redundant = np.random.default_rng(5), name in ("four-bar", "parallelogram")
    at = mechanism.retract(q, (0.0 if redundant else 1e-3) * rng.normal(size=mechanism.nv))
    alike(*Both(mechanism, at, rng.normal(size=mechanism.nv), feedback=(0.0, 0.0) if redundant else (2.0, 3.0)).of_field())


@pytest.mark.sample(2)
@pytest.mark.parametrize("far", [0.0, 1e-9, 1e-6, 1e-4, 3e-3])
@pytest.mark.parametrize("name", PLACES)
def test_projections(name, far):
    """From places that are off by this: with no sweep, with one, and with so many that some have factors of their own."""
    mechanism, q = make(name)
    rng = np.random.default_rng(5)
    v = mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv), 0.3)
    at, speed = mechanism.retract(q, far * rng.normal(size=mechanism.nv)), v + far * rng.normal(size=mechanism.nv)
    alike(*Both(mechanism, at, speed).of_projection(), bar=10 * BAR)
