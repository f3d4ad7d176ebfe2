"""The gradient of runs in absolute coordinates by generalized alpha: against differences of whole runs, which are of
eighth order."""

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.parameter_family import CENTRAL
from tests.absolute.implicit.checked import held, rods
from tests.absolute.implicit.test_fours import tops
from tests.absolute.loops import four_bar
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

    def wanted(self, name: str, along: np.ndarray) -> float:
        """The derivative along a direction of an argument, from differences of runs."""
        size = self.size
        if name in self.parameters:
            base = np.asarray(self.parameters[name], dtype=float)
            size *= float(np.abs(base).max()) or 1.0

        def there(amount: float) -> dict[str, Any]:
            if name == "q":
                return {"q": self.tree.retract(self.q, amount * along)}
            if name in ("v", "control"):
                return {name: (self.v if name == "v" else np.asarray(self.options["control"])) + amount * along}
            return {name: np.asarray(self.parameters[name]) + amount * along}

        pairs = [self.value(**there(k * size)) - self.value(**there(-k * size)) for k in range(1, 5)]
        return float(np.dot(CENTRAL, pairs)) / size

    def agree(self, names: tuple[str, ...]) -> ch.results.Gradient:
        more: dict[str, Any] = {"system": self.build, "parameters": self.parameters} if self.parameters else {}
        found = ch.gradient(self.run(), self.total, by=names, **more)
        rng = np.random.default_rng(1)
        for name in names:
            along = rng.normal(size=found[name].shape)
            got, wanted = float(np.sum(found[name] * along)), self.wanted(name, along)
            assert abs(got - wanted) < self.bar * (abs(wanted) + np.abs(found[name]).max()), (name, got, wanted)
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

    def wanted(self, name: str, along: np.ndarray) -> float:
        if name not in ("q", "v"):
            return super().wanted(name, along)
        pairs = [self.value(**{name: k * 0.01 * along}) - self.value(**{name: -k * 0.01 * along}) for k in range(1, 5)]
        return float(np.dot(CENTRAL, pairs)) / 0.01


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
    few = ("q", "v", "control", "length", "com", "g")
    found = case.agree(few)
    run = case.run()
    more = ch.gradient(run, case.total, by=("inputs", "gravity"))
    assert more["inputs"].shape == (len(run.t) - 1, 1)
    assert more["inputs"].sum() == pytest.approx(found["control"][0], rel=1e-12)
    assert -more["gravity"][2] == pytest.approx(found["g"], rel=1e-10)


@pytest.mark.study
@pytest.mark.parametrize("index", [2, 3])
def test_every_parameter_of_an_arm(index):
    of_arm(space="SE3", method=alpha(index, metric="unit")).agree(tuple(ARM))


@pytest.mark.study
@pytest.mark.parametrize(("space", "index"), [("SE3", 2), ("SO3xR3", 3)])
def test_every_force(space, index):
    """Springs, bushings, wrenches, stops, friction, laws on a floating base with limbs."""
    options = {"method": alpha(index), "space": space, "control": CONTROL}
    values = OF_MACHINE | {"damping": 0.2}  # of which differences are taken to both sides
    Case(machine, *machine_start(), values, **options).agree(("q", "v", "control", *values))


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
    Case(lambda: system, *start_of(system), **options).agree(("q", "v"))


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
    kind(build, method=alpha(), step=0.002, span=0.02, **more).agree(("q", "v"))


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
    Loop(geared, q, v, values, method=alpha(), span=0.05).agree(("q", "v", *values))


def test_nothing_is_undefined_at_rest():
    """Angles are zero, nothing moves, centers of mass and joints coincide."""
    bodies = [ch.Body(name, 1.0, inertia=(1, 1, 1)) for name in ("one", "two")]
    system = ch.System(
        bodies, [ch.spherical("a", "ground", "one"), ch.revolute("b", "one", "two", axis=Z)], gravity=(0, 0, 0)
    )
    case = Case(lambda: system, method=alpha(), span=0.03)
    found = ch.gradient(case.run(), case.total, by=("q", "v", "inputs", "gravity"))
    assert all(np.isfinite(part).all() for part in found.parts.values())
    assert (
        np.abs(found["q"] - case.on_q[[1, 2, 3, 4]] * [0.5, 0.5, 0.5, 1.0] * 1.03 * np.cos(case.on_q[0])).max() < 1e-9
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rk4"}, "in absolute coordinates it is for GeneralizedAlpha, not RKMK"),
        ({"method": ch.integrate.BLieDF()}, "in absolute coordinates it is for GeneralizedAlpha, not BLieDF"),
        ({"method": alpha(project_velocity=True)}, "projects velocities"),
        ({"method": alpha(), "save": "final"}, 'simulate with save="all"'),
        ({"method": alpha(), "controller": lambda t, q, v: [0.1], "period": 0.1}, "sampled controllers"),
    ],
)
def test_runs_without_gradient(options, message):
    case = of_arm(**options)
    if "controller" in options:
        del case.options["control"]
    run = case.run()
    with pytest.raises(ValueError, match=message):
        ch.gradient(run, case.total)


@pytest.mark.study
def test_equations_that_depend_on_others():
    flat = four_bar("revolute")  # one equation of the loop depends on the others
    run = ch.simulate(flat, (0, 0.02), coordinates="absolute", method=alpha(), step=0.01, certificate=False)
    with pytest.raises(ValueError, match="depend on others; in absolute coordinates leave out"):
        ch.gradient(run, ch.objective.end(lambda t, q, v: q[:, 0]))


def test_numbers_of_bodies():
    case = of_arm(method=alpha())
    with pytest.raises(ValueError, match="'bodies' is for joint coordinates"):
        ch.gradient(case.run(), case.total, by="bodies")
