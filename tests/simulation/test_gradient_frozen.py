"""Gradients of runs whose steps follow the error, and of generalized alpha where it projects velocities or equations
depend on others: against differences of whole runs, of eighth order, that take the same steps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.adjoint.factors import SURPLUS, BalancedFactors
from chasles.simulation.adjoint.gradient import _kinks
from chasles.simulation.slopes import CENTRAL
from tests.absolute.test_joint_forces import MOVING, start_of, system_with
from tests.simulation.frozen_steps import FrozenSteps
from tests.simulation.test_gradient_bodies import ARM, ARM_START, Case, Loop, alpha, arm, flat, geared, linkage

KICK = 0.047  # [s]


@ch.law
def kick(t, q, v, parameters, out):
    """Jumps in the midst of the run, and follows the state."""
    out[0] = parameters[0] * (1.0 + 0.3 * q[0] - 0.1 * v[0] if t > KICK else 0.2)


class Frozen:
    """A case whose runs have the steps of the first one."""

    steps: FrozenSteps | None = None

    def value(self, **changed) -> float:
        run = self.run(**changed)
        return sum(term.cotangents(run.t, run.q, run.v, _kinks(run))[0] for term in self.total.terms)

    def run(self, *given, **changed) -> ch.Run:
        if self.steps is None:
            self.steps = FrozenSteps()
            with self.steps.recorded():
                return super().run(*given, **changed)
        with self.steps.repeated():
            return super().run(*given, **changed)

    def agree(self, names: tuple[str, ...], apart: bool = False) -> ch.results.Gradient:
        found = super().agree(names, apart)
        assert found.notes[0] == "the steps of the adaptive method are held constant"
        return found


class FrozenCase(Frozen, Case):
    """Of a tree."""


class FrozenLoop(Frozen, Loop):
    """Of loops."""


def kicked(joint: str, build: Any):
    """The same system with a motor that is switched on."""

    def made(**values):
        system = build(**values)
        motor = ch.JointForce("kick", joint, kick, parameters=(1.5,))
        return replace(system, forces=(*system.forces, motor))

    return made


def flat_start():
    mechanism = flat().compile()
    q = mechanism.assemble([0.8, 0, 0], held=["A"])
    return q, mechanism.consistent_velocities(q, np.array([3.0, 0, 0]))


def linkage_start():
    mechanism = linkage().compile()
    q = mechanism.assemble(None)
    return q, mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))


FOLLOWED: dict[str, Any] = {"step": None, "rtol": 1e-4}


@pytest.mark.sample(1)
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_steps_that_follow_the_error(space, local, index):
    """With stops, and with a motor that jumps; with index 3 velocities are off the constraints by what follows the
    step."""
    more = {"space": space, "method": alpha(index, local), "control": [0.4], "span": 0.13, "stops": [0.033, 0.071]}
    bar = 1e-9 if index == 2 else 1e-7  # tolerances of positions over steps of 1e-7 s next to the jump
    names = "q", "v", "control", "length", "com"
    FrozenCase(kicked("elbow", arm), *ARM_START, ARM, bar=bar, **FOLLOWED, **more).agree(names)


@pytest.mark.sample(1)
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_steps_that_follow_the_error_of_loops(space, index):
    """Velocities that follow the step are projected onto the constraints of the loop."""
    more = {"space": space, "method": alpha(index), "bar": 1e-8 if index == 2 else 1e-7, "size": 8e-3}
    FrozenLoop(linkage, *linkage_start(), {"length": 0.9}, **FOLLOWED, **more).agree(("q", "v", "length"))


@pytest.mark.first(1)
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_equations_that_depend_on_others(space, local, index):
    """Three of a plane four-bar do. With index 2 velocities are projected after each step."""
    more = {"space": space, "method": alpha(index, local), "size": 2e-3}
    case = Loop(kicked("A", flat), *flat_start(), {"coupler": 0.8}, span=0.1, **more)
    case.agree(("q", "v", "coupler"), apart=True)


@pytest.mark.study
@pytest.mark.parametrize("index", [2, 3])
def test_equations_that_depend_on_others_with_steps_that_follow_the_error(index):
    more = {"method": alpha(index), "size": 8e-3, "bar": 1e-8 if index == 2 else 1e-7}
    FrozenLoop(flat, *flat_start(), {"coupler": 0.8}, **FOLLOWED, **more).agree(("q", "v", "coupler"))


def doubled(ratio: float = 2.5, length: float = 0.3, speed: float = 0.7) -> ch.System:
    """Gears, a drive, and the first hinge a second time; an arm has a rotor, which holds nothing."""
    system = geared(ratio, length, speed)
    again = ch.revolute("a again", "ground", "one", axis=(0.0, 0.0, 1.0))
    joints = [replace(joint, armature=0.05) if joint.name == "b" else joint for joint in system.joints]
    return replace(system, joints=(*joints, again))


@pytest.mark.parametrize("index", [2, 3])
def test_equations_twice_with_gears_drives_and_rotors(index):
    values = {"ratio": 2.5, "length": 0.3, "speed": 0.7}
    mechanism = doubled(**values).compile()
    q = mechanism.assemble([0.4, -1.0, 0.0])
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    case = Loop(doubled, q, v, values, method=alpha(index), span=0.05)
    assert case.run().dynamics.mechanism.redundant
    case.agree(("q", "v", *values), apart=True)


@pytest.mark.parametrize("metric", ["mass", "unit"])
def test_velocities_that_are_projected(metric):
    """They are on the constraints but for the tolerance, and so are their derivatives."""
    names = "q", "v", "control", "length", "g"
    method = alpha(project_velocity=True, metric=metric)
    Case(arm, *ARM_START, ARM, span=0.13, step=0.012, control=[0.4], method=method).agree(names)


@pytest.mark.parametrize("options", [{"step": 0.01}, FOLLOWED | {"stops": [0.025, 0.06]}], ids=["fixed", "followed"])
@pytest.mark.parametrize("name", ["arm", "equations that depend on others"])
def test_a_sampled_controller_that_answers(name, options):
    """Generalized alpha begins anew at each sample, and at stops between them."""
    system, (q, v) = (arm(), ARM_START) if name == "arm" else (flat(), flat_start())
    steps, followed = FrozenSteps(), "rtol" in options
    inputs = 1 if system.actuators else len(v)
    rng = np.random.default_rng(0)
    by_q, by_v = 0.3 * rng.normal(size=(inputs, len(q))), 0.1 * rng.normal(size=(inputs, len(v)))

    def run_of(gain=1.0):
        given = {"method": alpha(), "coordinates": "absolute", "period": 0.03, "certificate": False} | options
        return ch.simulate(system, (0, 0.1), q, v, controller=lambda t, q, v: gain * (by_q @ q + by_v @ v), **given)

    with steps.recorded():
        run = run_of()
    total = ch.objective.end(lambda t, q, v: q[:, 0] * v[:, 1] + v[:, 0]) + ch.objective.integral(
        lambda t, q, v: v[:, 0] ** 2
    )

    def value(gain):
        if not followed:
            run = run_of(gain)
        else:
            with steps.repeated():
                run = run_of(gain)
        return sum(term.cotangents(run.t, run.q, run.v, _kinks(run))[0] for term in total.terms)

    found = ch.gradient(run, total, by=("control", "v"), slopes=lambda t, q, v: (by_q, by_v))
    wanted = np.dot(CENTRAL, [value(1 + 0.01 * k) - value(1 - 0.01 * k) for k in range(1, 5)]) / 0.01
    samples = [int(np.argmin(np.abs(run.t - t))) for t in run.task.edges()[:-1]]
    inputs_there = run.q[samples] @ by_q.T + run.v[samples] @ by_v.T
    assert np.sum(found["control"] * inputs_there) == pytest.approx(wanted, rel=1e-8)


class SameSteps:
    """A case of an explicit method whose runs all stop where the first one has its points, and nowhere between."""

    times: np.ndarray | None = None

    def run(self, *given, **changed) -> ch.Run:
        run = super().run(*given, **changed)
        if self.times is None:
            self.times = run.t
            self.options = self.options | {"rtol": 1e6, "atol": 1e6, "stops": run.t[1:-1]}
        assert len(run.t) == len(self.times)
        return run


class CaseOfSameSteps(SameSteps, Case):
    """Of a tree."""


class LoopOfSameSteps(SameSteps, Loop):
    """Of loops."""


@pytest.mark.parametrize("where", [{"coordinates": "relative"}, {"space": "SE3"}, {"space": "SO3xR3"}], ids=str)
@pytest.mark.parametrize("name", ["arm", "linkage"])
def test_explicit_steps_that_follow_the_error(name, where):
    more = {"step": None, "rtol": 1e-5, "span": 0.3, "size": 2e-3, "bar": 1e-11, **where}
    if name == "arm":
        case: Case = CaseOfSameSteps(arm, *ARM_START, {"length": 0.5}, **more)
    else:
        case = LoopOfSameSteps(linkage, *linkage_start(), {"length": 0.9}, **more)
    case.agree(("q", "v", "length"), apart=True)


def test_factors_of_singular_matrices():
    """The part of a solution that is unique, of rows that are given twice."""
    rng = np.random.default_rng(0)
    rows, metric = rng.normal(size=(5, 8)), np.diag(rng.uniform(0.1, 10.0, 8))
    rows = np.concatenate([rows, rows[:2], rows[:1] + rows[1:2]])
    matrix, right = np.zeros((16, 16)), np.zeros(16)
    matrix[:8, :8], matrix[:8, 8:], matrix[8:, :8] = metric, rows.T, rows
    right[:8] = rng.normal(size=8)
    surplus = np.concatenate([np.zeros(8), -SURPLUS * np.diag(rows @ np.linalg.inv(metric) @ rows.T)])
    found = BalancedFactors.of(matrix[None], surplus[None]).solve(0, right)
    wanted = np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
    assert np.abs(found[:8] - wanted[:8]).max() < 1e-12
    assert np.abs(matrix @ found - right).max() < 1e-12


PLAIN: dict[str, Any] = {"damping": 0.0, "stiffness": 0.0, "rest": 0.0, "friction": 0.0, "friction_speed": 0.0}
PLAIN |= {"lower": -np.inf, "upper": np.inf, "stop_stiffness": 0.0, "armature": 0.0}


@pytest.mark.study
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("rotor", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in MOVING if kind not in ("free", "general")])
def test_every_joint_twice(kind, rotor, index):
    """With all that acts along it, and a second time without."""
    if rotor and kind == "spherical":
        pytest.skip("has no armature in absolute coordinates")
    system = system_with(kind, rotor)
    q, v = start_of(system)
    system = replace(system, joints=(*system.joints, replace(system.joints[1], name="again", **PLAIN)))
    more = {"span": 0.06, "size": 3e-3, "space": ("SE3", "SO3xR3")[(len(kind) + index) % 2], "method": alpha(index)}
    case = Loop(lambda: system, q, v, **more)
    assert case.run().dynamics.mechanism.redundant
    case.agree(("q", "v"), apart=True)


def parallelogram(along=1.1):
    """A bar on three posts, which are all parallel: where along it its mass is does not matter."""
    post = {"mass": 1.0, "com": (0.0, 0.5, 0.0), "inertia": (0.1, 0.01, 0.1)}
    bodies = [ch.Body(f"post {k}", **post) for k in range(3)]
    bodies.append(ch.Body("bar", 2.0, (along, 0.0, 0.0), (0.01, 0.5, 0.5)))
    z = (0.0, 0.0, 1.0)
    joints = [ch.revolute(f"foot {k}", "ground", f"post {k}", axis=z, at=(k, 0.0, 0.0)) for k in range(3)]
    heads = [{"at": (0.0, 1.0, 0.0), "child_at": (k, 0.0, 0.0)} for k in range(3)]
    joints += [ch.revolute(f"head {k}", f"post {k}", "bar", axis=z, **heads[k]) for k in range(3)]
    pull = ch.Spring("pull", ("ground", "bar"), ((0.3, 2.0, 0.1), (0.5, 0.0, 0.0)), stiffness=3.0, length=0.3)
    return ch.System(bodies, joints, forces=[pull], gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("along", [1.1, 1.2, 0.7])
def test_a_parameter_that_changes_nothing_in_a_loop(along):
    """Its gradient is rounding, which must not be taken for a jump."""
    method = ch.integrate.GeneralizedAlpha(index=2, tolerance=1e-13)
    how = {"coordinates": "absolute", "method": method, "step": 0.01, "certificate": False}
    run = ch.simulate(parallelogram(along), (0.0, 0.05), **how)
    objective = ch.objective.end(lambda t, q, v: np.sin(q @ np.arange(1.0, 5.0)))
    found = ch.gradient(run, objective, by="along", system=parallelogram, parameters={"along": along})
    assert abs(float(found["along"])) < 1e-11


@pytest.mark.parametrize("scale", [1e-6, 1e3])
def test_units_of_length_do_not_matter(scale):
    """A flat four-bar, whose equations depend on others: gradients of angles are those of the linkage in meters."""

    def found(unit):
        turn = {"axis": (0, 1, 0)}
        bars = {"crank": 0.3, "rod": 0.8, "lever": 0.5}
        linkage = ch.System(
            [
                ch.Body(name, 1.0, (x * unit / 2, 0, 0), np.array([0.01, 0.03, 0.03]) * unit**2)
                for name, x in bars.items()
            ],
            [
                ch.revolute("a", "ground", "crank", **turn),
                ch.revolute("b", "crank", "rod", at=(0.3 * unit, 0, 0), **turn),
                ch.revolute("d", "ground", "lever", at=(0.7 * unit, 0, 0), **turn),
                ch.revolute("e", "rod", "lever", at=(0.8 * unit, 0, 0), child_at=(0.5 * unit, 0, 0), **turn),
            ],
            gravity=(0, 0, -9.81 * unit),
        )
        how = {"coordinates": "absolute", "method": "generalized_alpha", "step": 0.01, "certificate": False}
        run = ch.simulate(linkage, (0.0, 0.1), {"a": 1.0}, {"a": 2.0}, **how)
        measured = ch.objective.end(lambda t, q, v: q[:, 0] ** 2 + 0.1 * v[:, 0])
        slopes = ch.gradient(run, measured, by=("q", "v"))
        return np.concatenate([slopes["q"], slopes["v"]])

    wanted = found(1.0)
    assert np.abs(found(scale) - wanted).max() < 1e-9 * np.abs(wanted).max()
