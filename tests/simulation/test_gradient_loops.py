"""Gradients of runs with loops: their pulls against those by dual numbers, one place after the other, and whole runs
against sensitivities, which go forward on dual numbers."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import chasles as ch
from chasles.relative.parameter.inertial import parameters_of, system_with
from chasles.relative.tables import CONSTANT, GRAVITY, HELICAL, LINK, PRISMATIC, link_table
from chasles.simulation.adjoint.by_duals import memory_of, pull_address
from chasles.simulation.adjoint.loops import LoopAdjoint
from chasles.simulation.adjoint.steps import OF_CORRECTION, OF_FIELD
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses
from tests.absolute import test_constraints
from tests.relative import closed
from tests.relative.test_loop_derivatives import state
from tests.relative.test_loops import KINDS
from tests.simulation.test_gradient import BAR, Measured, agree
from tests.simulation.test_mimic import gripper

POINTER = ctypes.POINTER(ctypes.c_double)
FIELD = ctypes.CFUNCTYPE(None, ctypes.c_double, *(POINTER,) * 3, *(ctypes.c_int64,) * 3)
PULL = ctypes.CFUNCTYPE(None, ctypes.c_double, *(POINTER,) * 7, ctypes.POINTER(ctypes.c_int64))
TURNS = np.array(
    [[[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]]
)


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
        found, g = pulled(
            address, self.t, self.y, self.y, bar, np.zeros(8), self.through.correction, self.nv + self.adjoint.count
        )
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
        return (
            np.concatenate([lift @ found[:nq], found[nq:]]),
            g[: self.adjoint.count],
            g[self.adjoint.count :],
            by_input,
        )


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


PLACES: dict[str, Callable[[], tuple[ch.ClosedMechanism, np.ndarray]]] = {
    kind: partial(random, kind) for kind in closed.CUT
}
PLACES |= {f"constraint {k}": partial(constrained, kind) for k, kind in enumerate(KINDS)}
PLACES |= {name: partial(known, name) for name in ("gears, drive", "bicycle", "law", "four-bar", "parallelogram")}
PLACES |= {
    "driven": partial(found_of, driven),
    "gears": partial(found_of, partial(test_constraints.gears, carried=True)),
}
MORE = {"suspension": partial(known, "suspension"), "Bennett": partial(found_of, closed.bennett)}
make = cache(lambda name: (PLACES | MORE)[name]())


@pytest.mark.parametrize("name", PLACES)
def test_fields(name):
    """At a place that is off the constraints a little, with feedback: all channels of all rows count. Where rows depend
    on others, which ones are solved is another matter off the constraints."""
    mechanism, q = make(name)
    rng, redundant = np.random.default_rng(5), name in ("four-bar", "parallelogram")
    at = mechanism.retract(q, (0.0 if redundant else 1e-3) * rng.normal(size=mechanism.nv))
    alike(
        *Both(mechanism, at, rng.normal(size=mechanism.nv), feedback=(0.0, 0.0) if redundant else (2.0, 3.0)).of_field()
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("far", [0.0, 1e-6, 3e-3])
@pytest.mark.parametrize("name", PLACES)
def test_projections(name, far):
    """From places that are off by this: with no sweep, one, and so many that some have factors of their own."""
    mechanism, q = make(name)
    rng = np.random.default_rng(5)
    v = mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv), 0.3)
    at, speed = mechanism.retract(q, far * rng.normal(size=mechanism.nv)), v + far * rng.normal(size=mechanism.nv)
    alike(*Both(mechanism, at, speed).of_projection(), bar=10 * BAR)


@pytest.mark.sample(2)
@pytest.mark.parametrize("step", [0.002, 0.05])
@pytest.mark.parametrize("name", [*PLACES, *MORE])
def test_runs(name, step):
    """By the start and the input; among them free joints, and rows that depend on others."""
    mechanism, q = make(name)
    v = mechanism.consistent_velocities(q, 0.5 * np.random.default_rng(1).normal(size=mechanism.nv), 0.3)
    options = {"method": "rk4", "step": step, "control": np.linspace(-1.0, 1.0, mechanism.nv)}
    found = ch.sensitivities(mechanism, (0.3, 0.3 + 4 * step), q, v, wrt=("q", "v", "control"), **options)
    measured = Measured(mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    by = [name for name, part in found.columns.items() if part.stop > part.start]  # what is driven has no freedom
    agree(ch.gradient(found.run, total, by=by), found, measured, 10 * BAR)


def agrees_with_runs(mechanism: ch.ClosedMechanism, q, end: float, h: float, bar: float, **how) -> None:
    """The derivative by the input along one direction, against differences of whole runs."""
    nv, measured = mechanism.nv, Measured(mechanism)
    v = mechanism.consistent_velocities(q, np.random.default_rng(1).normal(size=nv))
    given, along = np.linspace(-1.0, 1.0, nv), np.random.default_rng(2).normal(size=nv)

    def run(amount: float) -> ch.Run:
        return ch.simulate(mechanism, (0.0, end), q, v, method="rk4", control=given + amount * along, **how)

    def value(amount: float) -> float:
        moved = run(amount)
        return float(measured(moved.t[-1:], moved.q[-1:], moved.v[-1:])[0])

    slopes = [(value(k * h) - value(-k * h)) / (2 * k * h) for k in (1, 2)]
    found = ch.gradient(run(0.0), ch.objective.end(measured), by="control")["control"] @ along
    assert found == pytest.approx((4 * slopes[0] - slopes[1]) / 3, rel=bar)


def test_steps_so_long_that_sweeps_need_factors_of_their_own():
    """A sweep that does not help, by a factor of poses that were far away, is no reason to end: residuals of 1e-3 were
    left. Now `sensitivities`, which sweep until nothing is left, see the same motion."""
    mechanism, q = random("planar", ())
    agrees_with_runs(mechanism, q, 0.25, 1e-4, 1e-6, step=0.05)
    v = mechanism.consistent_velocities(q, np.random.default_rng(1).normal(size=mechanism.nv))
    options = {"method": "rk4", "step": 0.05, "control": np.linspace(-1.0, 1.0, mechanism.nv)}
    found = ch.sensitivities(mechanism, (0.0, 0.25), q, v, wrt=("q", "v", "control"), **options)
    measured = Measured(mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    agree(ch.gradient(found.run, total, by=("q", "v", "control")), found, measured, 10 * BAR)
    rows = mechanism.constraint_rows(found.run.q, found.run.v)
    assert np.abs(rows.residual).max() < 1e-13


@pytest.mark.parametrize("stabilization", ["baumgarte", None])
def test_feedback_in_place_of_projections(stabilization):
    """Rows are violated then."""
    how = {"stabilization": stabilization, "baumgarte": (5.0, 6.0)}
    agrees_with_runs(*make("cylindrical"), 0.1, 1e-3, 1e-9, step=0.01, **how)


def linkage(pitch=0.3, ratio=2.0, offset=0.1, height=0.7, swing=(0.4, 3.0), length=0.9, pull=30.0) -> ch.System:
    """A driven crank that turns a screw by gears, whose nut is held by a rod; a ball in a bowl beside it."""

    @ch.law
    def bowl(t, poses, twists, p, out):
        x, y, z, u, w = poses[11], poses[12], poses[13], twists[9], twists[10]
        out[0] = z - p[0] * (x * x + y * y)
        out[24], out[25], out[26] = -2 * p[0] * x, -2 * p[0] * y, 1.0
        out[39] = 2 * p[0] * (u * u + w * w)

    spread = (0.1, 0.2, 0.3)
    bodies = [ch.Body(name, 1.0, (0.1, 0.05, 0.2), spread) for name in ("crank", "screw", "nut", "arm", "ball")]
    bodies += [ch.Body(f"slide {axis}", 0.2, inertia=spread) for axis in "xy"]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("B", "ground", "screw", axis=(0, 0, 1), at=(0.4, 0.0, 0.0)),
        ch.helical("thread", "screw", "nut", pitch=pitch, axis=(0, 0, 1)),
        ch.prismatic("guide", "ground", "nut", axis=(0, 0, 1), at=(0.4, 0.0, 0.0), damping=0.3),
        ch.spherical("ball joint", "nut", "arm", at=(0.1, 0.0, 0.0)),
        ch.prismatic("x", "ground", "slide x", axis=(1, 0, 0)),
        ch.prismatic("y", "slide x", "slide y", axis=(0, 1, 0)),
        ch.prismatic("z", "slide y", "ball", axis=(0, 0, 1)),
    ]
    constraints = [
        ch.Coupling("gear", ("A", "B"), (ratio, 1.0), offset=offset),
        ch.Drive("motor", "A", "a * sin(b * t) + 0.2 * t", parameters=dict(zip("ab", swing, strict=True))),
        ch.Distance("rod", ("ground", "arm"), ((0.3, 0.2, 0.9), (0.2, 0.1, 0.0)), length),
        ch.CustomConstraint("bowl", ("ground", "ball"), bowl, 1, (height,)),
    ]
    spring = ch.Spring("pull", ("nut", "arm"), ((0.0, 0.1, 0.0), (0.3, 0.0, 0.0)), stiffness=pull, damping=1.0)
    return ch.System(bodies, joints, forces=[spring], constraints=constraints, gravity=(0.3, 0.2, -9.81))


def test_parameters():
    """Of couplings, drives, laws, rods, threads and forces; several of them move the start."""
    values = {
        "pitch": 0.3,
        "ratio": 2.0,
        "offset": 0.1,
        "height": 0.7,
        "swing": (0.4, 3.0),
        "length": 0.9,
        "pull": 30.0,
    }
    mechanism = linkage(**values).compile()
    q = mechanism.assemble(None)
    v = mechanism.consistent_velocities(q, 0.3 * np.ones(mechanism.nv))
    found = ch.sensitivities(
        linkage, (0.0, 0.1), q, v, parameters=values, wrt=("q", "v", *values), method="rk4", step=0.02
    )
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    got = ch.gradient(found.run, total, by=tuple(found.columns), system=linkage, parameters=values)
    agree(got, found, measured, 10 * BAR)


@pytest.mark.parametrize("springs", [0.0, 3.0])
def test_bodies_and_gravity_along_one_direction(springs):
    """Ten numbers of each body, and gravity; with springs in all joints a body is split in two."""
    system = closed.four_bar(**({"stiffness": springs, "damping": 0.1} if springs else {}))
    system = replace(system, bodies=[ch.Body(b.name, b.mass, b.com, (0.1, 0.2, 0.25)) for b in system.bodies])
    mechanism, rng = system.compile(), np.random.default_rng(7)
    assert bool(mechanism.split.parts) == bool(springs)
    numbers = parameters_of(system, mechanism.tree, ())
    along, turn = 0.1 * np.abs(numbers).max() * rng.normal(size=numbers.shape), rng.normal(size=3)

    def build(amount):
        changed = system_with(system, mechanism.tree, numbers + amount * along, ())
        return replace(changed, gravity=np.array(system.gravity) + amount * turn)

    near = mechanism.neutral()
    near[mechanism.tree.coordinates["A"]] = 0.8
    q = mechanism.assemble(near)
    v = mechanism.consistent_velocities(q, np.ones(mechanism.nv))
    options = {"parameters": {"amount": 0.0}, "wrt": ("amount",), "method": "rk4", "step": 0.02}
    found = ch.sensitivities(build, (0.0, 0.1), q, v, **options)
    measured = Measured(found.run.mechanism)
    got = ch.gradient(found.run, ch.objective.end(measured), by=("bodies", "gravity"))
    wanted = measured.along(found)[-1]
    assert got["bodies"].ravel() @ along + got["gravity"] @ turn == pytest.approx(wanted[0], rel=10 * BAR)


def test_checkpoints():
    """A run that kept few points."""
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, 0.8, 1.0)
    end, by = ch.objective.end(Measured(mechanism)), ("q", "v", "bodies", "gravity")
    kept, all_of_them = (
        ch.gradient(ch.simulate(mechanism, (0.0, 0.2), q, v, method="rk4", step=0.01, save=save), end, by)
        for save in (7, "all")
    )
    for name in by:
        assert np.abs(kept[name] - all_of_them[name]).max() <= BAR * np.abs(all_of_them[name]).max()


def test_a_run_over_no_time():
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, 0.8, 1.0)
    run = ch.simulate(mechanism, (0.0, 0.0), q, v, method="rk4", step=0.01)
    found = ch.gradient(run, ch.objective.end(Measured(mechanism)), by=("q", "bodies", "gravity"))
    assert found["q"].any()
    assert found["bodies"].tolist() == [[0.0] * 10] * 3
    assert found["gravity"].tolist() == [0.0] * 3


def test_many_parameters_cost_as_few():
    """Nothing that is computed in a step knows how many there are."""
    mechanism = closed.four_bar().compile()
    dynamics = ClosedDynamics(mechanism)
    tables = ClosedTangentTables(mechanism, dynamics.parameters, False)
    shifts = np.random.default_rng(0).normal(size=(len(tables.constants), 500))
    few, many = (LoopAdjoint(dynamics, tables, shifts[:, :k]).through() for k in (1, 500))
    assert few.numbers == many.numbers
    assert len(few.field) == len(many.field)
    assert len(few.correction) == len(many.correction)


def test_many_parameters_of_joints_that_follow_others():
    """There are no more directions than numbers that change: here parameters share two masses."""
    weights = np.random.default_rng(3).normal(size=(2, 6))

    def build(shares):
        system = gripper()
        masses = 1.0 + 0.01 * weights @ shares
        bodies = [replace(b, mass=b.mass * m) for b, m in zip(system.bodies[:2], masses, strict=True)]
        return replace(system, bodies=[*bodies, *system.bodies[2:]])

    values = {"shares": np.zeros(6)}
    start = [0.2, -0.1, 0.3], [1.0, 0.5, -2.0]
    found = ch.sensitivities(build, (0.0, 0.1), *start, parameters=values, wrt=("shares",), step=0.02, method="rk4")
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    agree(ch.gradient(found.run, total, "shares", system=build, parameters=values), found, measured, 10 * BAR)
