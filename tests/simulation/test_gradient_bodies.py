"""The gradient of runs in absolute coordinates, by generalized alpha and explicit methods: against differences of whole
runs, which are of eighth order."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.relative.parameter.inertial import parameters_of
from chasles.relative.parameter.inertial import system_with as system_with_numbers
from chasles.simulation.adjoint.factors import BalancedFactors
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.slopes import CENTRAL
from tests.absolute.implicit.checked import held, rods
from tests.absolute.implicit.test_fours import tops
from tests.absolute.test_joint_forces import MOVING, start_of, system_with
from tests.simulation.test_sensitivities import CONTROL, machine
from tests.simulation.test_sensitivities import PARAMETERS as OF_MACHINE
from tests.simulation.test_sensitivities import start as machine_start

Z = (0.0, 0.0, 1.0)
STEP = 0.01


def alpha(index: int = 2, local: bool = True, **more: Any) -> ch.integrate.GeneralizedAlpha:
    return ch.integrate.GeneralizedAlpha(index=index, local=local, tolerance=1e-13, **more)


class Case:
    """A system as a function of parameters, simulated from a start; what is asked of its runs."""

    def __init__(self, build, q=None, v=None, parameters=None, span=0.1, step=STEP, bar=1e-9, size=1e-2, **options):
        self.build, self.parameters, self.bar, self.size = build, parameters or {}, bar, size
        self.span, self.options = (0.0, span), {"coordinates": "absolute", "step": step, "certificate": False} | options
        self.tree = build(**self.parameters).compile()
        self.q = self.tree.neutral() if q is None else np.asarray(q, dtype=float)
        self.v = np.zeros(self.tree.nv) if v is None else np.asarray(v, dtype=float)
        rng = np.random.default_rng(0)
        self.on_q, self.on_v = rng.normal(size=len(self.q)), rng.normal(size=len(self.v))
        self.total = ch.objective.integral(self.measured) + ch.objective.end(self.measured)

    def measured(self, t, q, v):
        return np.sin(q @ self.on_q) + 0.1 * (v @ self.on_v) ** 2 + t

    def run(self, q=None, v=None, control=None, **changed) -> ch.Run:
        options = self.options if control is None else self.options | {"control": control}
        system = self.build(**{**self.parameters, **changed})
        return ch.simulate(system, self.span, self.q if q is None else q, self.v if v is None else v, **options)

    def value(self, **changed) -> float:
        run = self.run(**changed)
        return sum(term.cotangents(run.t, run.q, run.v)[0] for term in self.total.terms)

    def there(self, amount: float, along: dict[str, np.ndarray]) -> dict[str, Any]:
        """Arguments so far along directions of some of them: of parameters in parts of their size."""
        found: dict[str, Any] = {}
        for name, way in along.items():
            if name == "q":
                found[name] = self.tree.retract(self.q, amount * way)
            elif name == "v":
                found[name] = self.v + amount * way
            else:
                base = np.asarray(self.options["control"] if name == "control" else self.parameters[name], dtype=float)
                found[name] = base + amount * way
        return found

    def wanted(self, along: dict[str, np.ndarray]) -> float:
        """The derivative along directions of arguments, from differences of runs."""
        ahead = [self.value(**self.there(k * self.size, along)) for k in range(1, 5)]
        behind = [self.value(**self.there(-k * self.size, along)) for k in range(1, 5)]
        return float(np.dot(CENTRAL, np.subtract(ahead, behind))) / self.size

    def sizes(self, name: str) -> float:
        """How far a parameter is changed where others change by one."""
        return float(np.abs(self.parameters[name]).max()) or 1.0 if name in self.parameters else 1.0

    def agree(self, names: tuple[str, ...], apart: bool = False) -> ch.results.Gradient:
        """Along one direction of all arguments, or one after the other, which takes as many times as long."""
        more: dict[str, Any] = {"system": self.build, "parameters": self.parameters} if self.parameters else {}
        found = ch.gradient(self.run(), self.total, by=names, **more)
        rng = np.random.default_rng(1)
        along = {name: self.sizes(name) * rng.normal(size=found[name].shape) for name in names}
        for part in [{name: along[name]} for name in names] if apart else [along]:
            got = sum(float(np.sum(found[name] * way)) for name, way in part.items())
            wanted, size = self.wanted(part), max(self.sizes(name) * np.abs(found[name]).max() for name in part)
            assert abs(got - wanted) < self.bar * (abs(wanted) + size), (tuple(part), got, wanted)
        return found


class Loop(Case):
    """A mechanism with loops: independent numbers of its start vary, or parameters, and the others follow."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.allowed = Allowed(self.tree, self.q, 0.0)
        self.states, self.basis = self.allowed.states(self.v)

    def run(self, q=None, v=None, control=None, **changed) -> ch.Run:
        """q, v: changes of independent numbers."""
        nv, chosen = self.tree.nv, len(self.allowed.places.chosen)
        change = np.zeros(self.basis.shape[1])
        change[:chosen], change[chosen:] = 0.0 if q is None else q, 0.0 if v is None else v
        there = self.basis @ change
        mechanism = self.build(**{**self.parameters, **changed}).compile()
        at, speed = self.tree.retract(self.q, there[:nv]), self.v + there[nv:]
        follow, left = (
            np.delete(np.arange(nv), self.allowed.places.chosen),
            np.delete(np.arange(nv), self.allowed.velocities.chosen),
        )
        for _ in range(8):
            rows, step = mechanism.constraint_rows(at), np.zeros(nv)
            step[follow] = -np.linalg.lstsq(rows.jacobian[:, follow], rows.residual, rcond=1e-9)[0]
            at = mechanism.retract(at, step)
        for _ in range(2):
            rows = mechanism.constraint_rows(at, speed)
            speed[left] -= np.linalg.lstsq(rows.jacobian[:, left], rows.speed, rcond=1e-9)[0]
        return super().run(at, speed, control, **changed)

    def there(self, amount: float, along: dict[str, np.ndarray]) -> dict[str, Any]:
        numbers = {name: amount * way for name, way in along.items() if name in ("q", "v")}
        return super().there(amount, {name: way for name, way in along.items() if name not in numbers}) | numbers


def arm(length=0.5, mass=2.0, damping=0.05, com=(0.0, 0.01, -0.25), stiffness=3.0, g=9.81, tilt=0.1, gear=2.0):
    """A ball joint and a hinge with a rotor; the second body has equal moments, so that its principal axes jump."""
    bodies = [
        ch.Body("upper", 1.0, (0.02, 0, -length / 2), (0.02, 0.025, 0.01)),
        ch.Body("lower", mass, com, (0.02, 0.02, 0.02)),
    ]
    hinge = {"at": (0, 0, -length), "damping": damping, "stiffness": stiffness, "armature": 0.02}
    joints = [
        ch.spherical("pivot", "ground", "upper", damping=damping),
        ch.revolute("elbow", "upper", "lower", axis=(0.1, 1, tilt), **hinge),
    ]
    return ch.System(bodies, joints, actuators=[ch.Actuator("motor", "elbow", gear=gear)], gravity=(0, 0, -g))


ARM = {"length": 0.5, "mass": 2.0, "damping": 0.05, "com": (0.0, 0.01, -0.25), "stiffness": 3.0, "g": 9.81}
ARM |= {"tilt": 0.1, "gear": 2.0}
ARM_START = (0.8, 0.2, 0.4, 0.4, 0.3), (3.0, 1.0, 2.0, -1.0)


def of_arm(**options: Any) -> Case:
    return Case(arm, *ARM_START, ARM, span=0.13, step=0.012, control=[0.4], **options)


@pytest.mark.sample(1)
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_everything_by_the_numbers_of_an_arm(space, local, index):
    """The last step is shorter than the others."""
    case = of_arm(space=space, method=alpha(index, local))
    found = case.agree(("q", "v", "control", "com", "g") if index == 2 else ("q", "v", "control", "length", "g"))
    run = case.run()
    more = ch.gradient(run, case.total, by=("inputs", "gravity"))
    assert more["inputs"].shape == (len(run.t) - 1, 1)
    assert more["inputs"].sum() == pytest.approx(found["control"][0], rel=1e-12)
    assert -more["gravity"][2] == pytest.approx(found["g"], rel=1e-10)


@pytest.mark.study
@pytest.mark.parametrize("index", [2, 3])
def test_every_parameter_of_an_arm(index):
    of_arm(space="SE3", method=alpha(index, metric="unit")).agree(tuple(ARM), apart=True)


@pytest.mark.study
@pytest.mark.parametrize(("space", "index"), [("SE3", 2), ("SO3xR3", 3)])
def test_every_force(space, index):
    """Springs, bushings, wrenches, stops, friction, laws on a floating base with limbs."""
    options = {"method": alpha(index), "space": space, "control": CONTROL}
    values = OF_MACHINE | {"damping": 0.2}  # of which differences are taken to both sides
    Case(machine, *machine_start(), values, **options).agree(("q", "v", "control", *values), apart=True)


@pytest.mark.study
@pytest.mark.parametrize("rotor", [False, True])
@pytest.mark.parametrize("kind", MOVING)
def test_every_joint(kind, rotor):
    """With all that acts along it."""
    if rotor and kind in ("general", "spherical", "free"):
        pytest.skip("has no armature in absolute coordinates")
    system = system_with(kind, rotor)
    space = ("SE3", "SO3xR3")[len(kind) % 2]
    options = {"method": alpha(2 + rotor), "space": space, "span": 0.06, "size": 3e-3}
    Case(lambda: system, *start_of(system), **options).agree(("q", "v"), apart=True)


@pytest.mark.study
@pytest.mark.parametrize(
    ("kind", "build", "more"),
    [
        (Case, lambda: tops(3), {"v": [1.0, 20.0, -2.0] * 3}),
        (Case, rods, {"size": 1e-8, "bar": 1e-7}),  # farther off, the method would start by another formula
        (Loop, held, {}),
    ],
)
def test_bushings_rods_and_distances(kind, build, more):
    kind(build, method=alpha(), step=0.002, span=0.02, **more).agree(("q", "v"), apart=True)


def chain(count: int, stiffness: float = 30.0) -> ch.System:
    """Bodies on hinges, with a spring and a gear between its ends, and some rotors."""
    length, axes = 0.2, np.random.default_rng(count).normal(size=(count, 3))
    bodies = [ch.Body(f"b{k}", 0.5, (0.01, 0.01, -length / 2), (0.004, 0.005, 0.003)) for k in range(count)]
    joints = [
        ch.revolute(
            *(f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}"),
            axis=axes[k],
            at=(0, 0, -length if k else 0.0),
            armature=0.01 * (k % 4 == 1),
        )
        for k in range(count)
    ]
    ends: Any = (f"b{count - 2}", "b1"), ((0, 0, 0), (0.1, 0, 0))
    spring = ch.Spring("spring", *ends, stiffness=stiffness, damping=0.3, length=0.5)
    gear = ch.Coupling("gear", ("j1", f"j{count - 2}"), (2.0, -1.0))
    return ch.System(bodies, joints, forces=[spring], constraints=[gear])


@pytest.mark.study
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("count", [6, 17])
def test_chains(count, index):
    """Equations of long ones are factored as a band, which goes around."""
    mechanism, rng = chain(count).compile(), np.random.default_rng(1)
    q = mechanism.assemble(0.3 * rng.normal(size=mechanism.nv))
    v = mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv))
    more = {"method": alpha(index), "space": ("SE3", "SO3xR3")[index - 2], "span": 0.04, "size": 2e-3}
    Loop(partial(chain, count), q, v, {"stiffness": 30.0}, **more).agree(("q", "v", "stiffness"))


def geared(ratio: float = 2.5, length: float = 0.3, speed: float = 0.7) -> ch.System:
    """Two arms with a gear between them, and a third one that a motion law drives."""
    bodies = [ch.Body(name, 1.0, (length, 0, 0), (0.1, 0.1, 0.1)) for name in ("one", "two", "three")]
    joints = [
        ch.revolute("a", "ground", "one", axis=Z),
        ch.revolute("b", "ground", "two", axis=Z, at=(1.0, 0, 0), stiffness=2.0),
        ch.revolute("c", "two", "three", axis=(0, 1, 0), at=(length, 0, 0)),
    ]
    drive = ch.Drive("motor", "c", "w * t", parameters={"w": speed})
    gear = ch.Coupling("gear", ("a", "b"), (ratio, 1.0))
    return ch.System(bodies, joints, constraints=[gear, drive], gravity=(0, -9.81, 0))


def linkage(length: float = 0.9, at: float = 0.2) -> ch.System:
    """A rod between a crank and a rocker, on spherical joints: its spin is free."""
    bodies = [
        ch.Body("crank", 1.0, (at / 2, 0, 0), (0.01, 0.01, 0.01)),
        ch.Body("rod", 0.8, (length / 2, 0, 0), (0.01, 0.05, 0.06)),
        ch.Body("rocker", 1.2, (0.25, 0, 0), (0.01, 0.02, 0.03)),
    ]
    joints = [
        ch.revolute("A", "ground", "crank", axis=Z, damping=0.1),
        ch.spherical("B", "crank", "rod", at=(at, 0, 0)),
        ch.spherical("C", "rod", "rocker", at=(length, 0, 0), child_at=(0.5, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 1, 0), at=(0.8, 0.1, 0.0)),
    ]
    return ch.System(bodies, joints, gravity=(0.3, -9.81, 1.0))


@pytest.mark.parametrize("index", [2, pytest.param(3, marks=pytest.mark.study)])
def test_a_loop(index):
    values = {"length": 0.9, "at": 0.2}
    mechanism = linkage(**values).compile()
    q = mechanism.assemble(None)
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    Loop(linkage, q, v, values, method=alpha(index), span=0.05).agree(("q", "v", *values))


@pytest.mark.study
def test_gears_and_drives():
    values = {"ratio": 2.5, "length": 0.3, "speed": 0.7}
    mechanism = geared(**values).compile()
    q = mechanism.assemble([0.4, -1.0, 0.0])
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    Loop(geared, q, v, values, method=alpha(), span=0.05).agree(("q", "v", *values), apart=True)


FOUR = ch.integrate.CommutatorFree("cf4")


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", ["rk4", FOUR])
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
@pytest.mark.parametrize("stabilization", ["projection", "baumgarte", None])
def test_explicit_steps_of_an_arm(stabilization, space, method):
    """With a rotor, whose share of the projection follows its factor. The last step is shorter."""
    case = of_arm(space=space, method=method, stabilization=stabilization, bar=3e-12)
    found = case.agree(("q", "v", "control", "length", "g"))
    run = case.run()
    more = ch.gradient(run, case.total, by=("inputs", "gravity"))
    assert more["inputs"].shape == (len(run.t) - 1, 1)
    assert more["inputs"].sum() == pytest.approx(found["control"][0], rel=1e-12)
    assert -more["gravity"][2] == pytest.approx(found["g"], rel=1e-10)


@pytest.mark.sample(1)
@pytest.mark.parametrize("step", [0.1, 0.02])
@pytest.mark.parametrize("stabilization", ["projection", "baumgarte", None])
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_explicit_steps_of_a_loop(space, stabilization, step):
    """Steps so long that each sweep of the projection has to count. Differences of 3e-3 are the most accurate: larger
    ones have errors of order 8, smaller ones rounding."""
    values = {"length": 0.9}
    mechanism = linkage(**values).compile()
    q = mechanism.assemble(None)
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    more = {"stabilization": stabilization, "space": space, "size": 3e-3, "bar": 3e-12}
    Loop(linkage, q, v, values, method="rk4", span=0.2, step=step, **more).agree(("q", "v", *values))


def flat(coupler: float = 0.8) -> ch.System:
    """A plane four-bar: three of its equations depend on the others."""
    rods = {"crank": 0.3, "coupler": coupler, "rocker": 0.6}
    turning = [
        ch.revolute("A", "ground", "crank", axis=Z, stiffness=5.0),
        ch.revolute("B", "crank", "coupler", axis=Z, at=(0.3, 0, 0)),
        ch.revolute("C", "coupler", "rocker", axis=Z, at=(coupler, 0, 0), child_at=(0.6, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=Z, at=(0.7, 0, 0)),
    ]
    bodies = [ch.Body(name, 1.0, (x / 2, 0, 0), (1e-3, x**2 / 12, x**2 / 12)) for name, x in rods.items()]
    return ch.System(bodies, turning, gravity=(0, -9.81, 0))


@pytest.mark.first(1)
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
@pytest.mark.parametrize("stabilization", ["projection", "baumgarte"])
@pytest.mark.parametrize("step", [0.05, 0.02])
def test_explicit_steps_with_equations_that_depend_on_others(step, stabilization, space):
    """The field is that of the nearest state on the constraints."""
    mechanism = flat().compile()
    q = mechanism.assemble([0.8, 0, 0], held=["A"])
    v = mechanism.consistent_velocities(q, np.array([3.0, 0, 0]))
    more = {"stabilization": stabilization, "space": space, "size": 2e-3, "bar": 1e-10}
    Loop(flat, q, v, {"coupler": 0.8}, method="rk4", span=0.1, step=step, **more).agree(("q", "v", "coupler"))


@pytest.mark.study
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_explicit_steps_with_every_force(space):
    values = OF_MACHINE | {"damping": 0.2}
    case = Case(machine, *machine_start(), values, method="rk4", space=space, control=CONTROL)
    case.agree(("q", "v", "control", *values), apart=True)


@pytest.mark.parametrize("method", ["rk4", alpha(2), alpha(3)])
def test_joints_given_by_screws_whose_rows_change(method):
    """Which vectors their rows have was chosen where a step was predicted to end, and is another matter there."""
    screws = [(1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 1, 0), (0, 0, 1, 0, 0, 0)]
    body = ch.Body("body", 1.0, (0.1, 0.05, -0.2), (0.1, 0.12, 0.15))
    system = ch.System([body], [ch.general("joint", "ground", "body", screws=screws)], gravity=(0, 0, 0))
    start = [-0.27, -0.06, -0.25], [1.2, 1.7, 1.5]
    Case(lambda: system, *start, method=method, span=0.06, step=0.01, bar=1e-7).agree(("q", "v"))


@pytest.mark.parametrize("method", ["rk4", alpha()])
def test_free_joints_between_bodies(method):
    """Nothing but their coordinates depends on both bodies."""
    bodies = [ch.Body(name, 1.0, (0.1, 0.2, -0.2), (0.1, 0.12, 0.15)) for name in ("arm", "leg", "kite")]
    joints = [ch.revolute("hip", "ground", "arm", axis=(0, 1, 0)), ch.spherical("knee", "arm", "leg")]
    system = ch.System(bodies, [*joints, ch.free("string", "arm", "kite")])
    rng = np.random.default_rng(4)
    start = system.compile().random(rng), rng.normal(size=10)
    Case(lambda: system, *start, method=method, span=0.05).agree(("q", "v"))


@pytest.mark.parametrize("method", ["rk4", alpha()])
def test_laws_on_joints_that_see_frames_elsewhere(method):
    """They depend on where all bodies are, though all joints turn about one point; and on bodies that no joint holds to
    those of its own."""

    def build(pull: float = 3.0) -> ch.System:
        bodies = [ch.Body(name, 1.0, (0.1, 0.2, -0.2), (0.1, 0.12, 0.15)) for name in ("arm", "leg", "kite")]
        joints = [ch.revolute("hip", "ground", "arm", axis=(0, 1, 0)), ch.spherical("knee", "arm", "leg")]
        frames = [ch.Frame("hook", "kite", (0.1, 0.2, 0.3)), ch.Frame("post", "ground", (1.0, 0.5, 0.2))]
        text = "k * (distance('hook', 'post') + 0.5 * speed('hook', 'post'))"
        return ch.System(bodies, joints, frames, forces=[ch.JointForce("pull", "hip", text, {"k": pull})])

    mechanism, rng = build().compile(), np.random.default_rng(4)
    start = mechanism.random(rng), rng.normal(size=mechanism.nv)
    case = Case(build, *start, {"pull": 3.0}, method=method, span=0.05, control=np.zeros(mechanism.nv))
    case.agree(("q", "v", "control", "pull"))


@pytest.mark.study
@pytest.mark.parametrize("rotor", [False, True])
@pytest.mark.parametrize("kind", MOVING)
def test_explicit_steps_of_every_joint(kind, rotor):
    if rotor and kind in ("general", "spherical", "free"):
        pytest.skip("has no armature in absolute coordinates")
    system = system_with(kind, rotor)
    space = ("SE3", "SO3xR3")[len(kind) % 2]
    Case(lambda: system, *start_of(system), method="rk4", space=space, span=0.06, size=3e-3).agree(
        ("q", "v"), apart=True
    )


@pytest.mark.study
def test_explicit_steps_of_gears_and_drives():
    values = {"ratio": 2.5, "length": 0.3, "speed": 0.7}
    mechanism = geared(**values).compile()
    q = mechanism.assemble([0.4, -1.0, 0.0])
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    Loop(geared, q, v, values, method="rk4", span=0.05).agree(("q", "v", *values), apart=True)


@pytest.mark.study
def test_explicit_steps_that_follow_the_error():
    """Against the gradient in joint coordinates: both are that of the exact motion, to their tolerances."""
    start = {"q": ARM_START[0], "v": ARM_START[1], "rtol": 1e-11, "atol": 1e-12, "control": [0.4], "certificate": False}
    runs = [ch.simulate(arm(), (0, 0.13), coordinates=which, **start) for which in ("absolute", "relative")]
    total = ch.objective.end(lambda t, q, v: q[:, 0] * v[:, 3] + q[:, 4])
    names = "q", "v", "control", "length", "com"
    one, two = (ch.gradient(run, total, by=names, system=arm, parameters=ARM) for run in runs)
    assert one.notes[0] == "the steps of the adaptive method are held constant"
    for name in names:
        assert np.abs(one[name] - two[name]).max() < 1e-8 * np.abs(two[name]).max(), name


@pytest.mark.parametrize(
    ("method", "bar"),
    [("rk4", 1e-10), (alpha(), 1e-10), pytest.param(alpha(3, False), 1e-8, marks=pytest.mark.study)],
)
def test_a_sampled_controller_that_answers(method, bar):
    """Against differences of runs by the start, by a gain and by a length that moves what the controller sees; with
    stops between the samples, where the method takes them. Generalized alpha begins anew at each sample; with index 3,
    tolerances of positions are divided by the step in velocities."""
    explicit = method == "rk4"
    more = {"stops": [0.025, 0.06]} if explicit else {}
    seen = [0.025, 0.06] if explicit else [0.02, 0.06]

    def build(length=0.5, gain=4.0):
        return arm(length=length)

    def run_of(length=0.5, gain=4.0, v=ARM_START[1]):
        def controller(t, q, v):
            return [-gain * q[4] - 0.3 * v[3] + 0.1 * q[1]]

        return ch.simulate(
            build(length), (0, 0.12), ARM_START[0], v, coordinates="absolute", method=method, step=0.01, period=0.03,
            controller=controller, certificate=False, **more,
        )  # fmt: skip

    def slopes(t, q, v):
        return [[0.0, 0.1, 0.0, 0.0, -4.0]], [[0.0, 0.0, 0.0, -0.3]]

    total = ch.objective.end(lambda t, q, v: q[:, 4] * v[:, 0] + q[:, 1]) + ch.objective.samples(
        seen, lambda t, q, v: v[:, 3] ** 2
    )

    def value(**changed):
        run = run_of(**changed)
        return sum(term.cotangents(run.t, run.q, run.v)[0] for term in total.terms)

    run = run_of()
    found = ch.gradient(
        run, total, ("v", "control", "inputs", "length"), slopes=slopes, system=build, parameters={"length": 0.5}
    )
    by_v, by_gain, by_length = (
        np.dot(CENTRAL, [ahead - behind for ahead, behind in pairs]) / size
        for size, pairs in (
            (0.01, [[value(v=np.add(ARM_START[1], [0, s * k * 0.01, 0, 0])) for s in (1, -1)] for k in range(1, 5)]),
            (0.01, [[value(gain=4.0 + s * k * 0.01) for s in (1, -1)] for k in range(1, 5)]),
            (0.003, [[value(length=0.5 + s * k * 0.003) for s in (1, -1)] for k in range(1, 5)]),
        )
    )
    samples = np.isin(np.round(run.t, 9), [0.0, 0.03, 0.06, 0.09])
    assert found["v"][1] == pytest.approx(by_v, rel=bar)
    assert -found["control"][:, 0] @ run.q[samples, 4] == pytest.approx(by_gain, rel=bar)
    assert found["length"] == pytest.approx(by_length, rel=10 * bar)
    periods = np.searchsorted([0.03, 0.06, 0.09], run.t[1:] - 1e-9)
    assert np.bincount(periods, found["inputs"][:, 0]) == pytest.approx(found["control"][:, 0], rel=1e-12)


@pytest.mark.parametrize("method", [alpha(), "rk4"])
def test_nothing_is_undefined_at_rest(method):
    """Angles are zero, nothing moves, centers of mass and joints coincide."""
    bodies = [ch.Body(name, 1.0, inertia=(1, 1, 1)) for name in ("one", "two")]
    system = ch.System(
        bodies, [ch.spherical("a", "ground", "one"), ch.revolute("b", "one", "two", axis=Z)], gravity=(0, 0, 0)
    )
    case = Case(lambda: system, method=method, span=0.03)
    found = ch.gradient(case.run(), case.total, by=("q", "v", "inputs", "gravity"))
    assert all(np.isfinite(part).all() for part in found.parts.values())
    assert (
        np.abs(found["q"] - case.on_q[[1, 2, 3, 4]] * [0.5, 0.5, 0.5, 1.0] * 1.03 * np.cos(case.on_q[0])).max() < 1e-9
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rk4", "trivialization": "right"}, "spatial velocities are not differentiated"),
        ({"method": ch.integrate.BLieDF()}, "it is for explicit methods and GeneralizedAlpha, not BLieDF"),
        ({"method": alpha(), "save": "final"}, 'simulate with save="all"'),
    ],
)
def test_runs_without_gradient(options, message):
    case = of_arm(**options)
    run = case.run()
    with pytest.raises(ValueError, match=message):
        ch.gradient(run, case.total)


@pytest.mark.parametrize("method", [alpha(), "rk4"])
def test_a_run_over_no_time(method):
    """What varies is what is measured."""
    run = ch.simulate(arm(), (0.0, 0.0), *ARM_START, coordinates="absolute", method=method, step=0.01)
    found = ch.gradient(run, ch.objective.end(lambda t, q, v: q[:, 4] + v[:, 0]), by=("q", "v", "inputs"))
    assert found["q"] == pytest.approx([0, 0, 0, 1], abs=1e-12)
    assert found["v"] == pytest.approx([1, 0, 0, 0], abs=1e-12)
    assert not found["inputs"].any()


OF_BODY = np.array([0.5, *[0.1] * 3, *[0.01] * 6])  # what is much of each number


def with_numbers(system: ch.System, change: np.ndarray, gravity: np.ndarray) -> ch.System:
    """With other masses, centers and inertias."""
    tree = system.compile().tree
    numbers = parameters_of(system, tree, ()) + (OF_BODY * change).ravel()
    return replace(system_with_numbers(system, tree, numbers, ()), gravity=gravity)


@pytest.mark.parametrize(
    ("method", "space", "build", "start"),
    [
        (alpha(), "SE3", arm, ARM_START),
        ("rk4", "SO3xR3", arm, ARM_START),
        pytest.param(alpha(3), "SO3xR3", arm, ARM_START, marks=pytest.mark.study),
        pytest.param("rk4", "SE3", machine, machine_start(), marks=pytest.mark.study),
        pytest.param(alpha(), "SO3xR3", machine, machine_start(), marks=pytest.mark.study),
    ],
)
def test_numbers_of_bodies(method, space, build, start):
    """Ten of each body, and gravity: their axes turn, and what is fixed in them moves against the center of mass."""
    system = build()
    values = {"change": np.zeros((len(system.bodies), 10)), "gravity_of": np.array(system.gravity)}

    def built(change, gravity_of):
        return with_numbers(system, change, gravity_of)

    more = {"control": np.full(len(system.actuators), 0.3)} if system.actuators else {}
    case = Case(built, *start, values, method=method, space=space, span=0.06, **more)
    found = case.agree(("change", "gravity_of"))
    by = ch.gradient(case.run(), case.total, by=("bodies", "gravity"))
    size = np.abs(found["change"]).max()
    assert np.abs(OF_BODY * by["bodies"] - found["change"]).max() < 1e-11 * size
    assert np.abs(by["gravity"] - found["gravity_of"]).max() < 1e-11 * np.abs(by["gravity"]).max()


@pytest.mark.parametrize("shuffled", [False, True], ids=["dense", "band in another order"])
def test_factors_solve_as_numpy(shuffled):
    """Matrices with numbers of all sizes; those near the diagonal alone, in an order that hides it, are a band."""
    rng, size = np.random.default_rng(0), 150
    matrices = rng.normal(size=(2, size, size)) * 10.0 ** rng.integers(-6, 6, (2, size, 1))
    if shuffled:
        order, far = rng.permutation(size), np.abs(np.subtract.outer(np.arange(size), np.arange(size))) > 4
        matrices[:, far] = 0.0
        matrices = matrices[:, order][:, :, order]
    factors, right = BalancedFactors.of(matrices), rng.normal(size=(2, size))
    assert (factors.form.band is not None) == shuffled
    for k, matrix in enumerate(matrices):
        wanted = np.linalg.solve(matrix, right[k])
        assert np.abs(factors.solve(k, right[k]) - wanted).max() < 1e-9 * np.abs(wanted).max()
