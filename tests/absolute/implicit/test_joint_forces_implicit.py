"""What acts along joint coordinates, with the implicit methods: the motion and the work of the explicit method."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.systems import run
from tests.absolute.implicit.test_systems import METHODS, difference
from tests.absolute.systems import bodies, frame
from tests.absolute.test_constraints import swing
from tests.absolute.test_joint_forces import MOVING, TIGHT, start_of, system_with

END = 0.2
APART = {"one": "SE3", "two": "SO3xR3"}


def smooth(kind: str, rotor: bool) -> ch.System:
    """All that can act along a joint but stops, whose kinks would spoil the order of any method."""
    system = system_with(kind, rotor)
    joints = [replace(joint, stop_stiffness=0.0) for joint in system.joints]
    return replace(system, joints=joints)


def orders(method, steps, system, end, space, **start):
    """Observed orders of the motion and of the work, and the finer run."""
    exact = ch.simulate(system, (0.0, end), coordinates="absolute", space=space, save="final", **TIGHT, **start)
    runs = [run(system, end, space, method, end / n, **start) for n in (steps, 2 * steps)]
    off = [difference(found, exact) for found in runs]
    work = [abs(found.energies.work[-1] - exact.energies.work[-1]) for found in runs]
    assert off[1] < 1e-3 * (1.0 + np.abs(exact.twists[-1]).max())
    return np.log2(off[0] / off[1]), np.log2(work[0] / work[1]), work[1] / np.abs(exact.energies.work[-1]), runs[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", MOVING)
@pytest.mark.parametrize("name", METHODS)
def test_springs_dampers_friction_laws_inputs_and_rotors(name, kind):
    method, steps = METHODS[name]
    system = smooth(kind, rotor=name != "RATTLE" and kind != "general")
    q, v = start_of(system)
    u = 0.3 * np.ones(system.compile().nv)
    order, _, off, fine = orders(method, 2 * steps, system, END, APART, q=q, v=v, control=u)
    assert order > method.order - 0.2
    assert off < 1e-3
    assert fine.violations[0].max() < 1e-13


@pytest.mark.parametrize("name", METHODS)
def test_the_work_of_drives_is_counted(name):
    rng = np.random.default_rng(11)
    axis = (0.0, 0.6, 0.8)
    system = ch.System(
        bodies(rng, "one", "two"),
        [
            ch.revolute("hinge", "ground", "one", axis=axis, at=frame(rng), child_at=frame(rng), damping=0.3),
            ch.cylindrical("slide", "one", "two", axis=(0.3, 0.1, 0.9), at=frame(rng), child_at=frame(rng)),
        ],
        constraints=[ch.Drive("crank", "hinge", swing, parameters=[0.4, 5.0, 8.0])],
    )
    method, steps = METHODS[name]
    start = {"v": [0.4 * 5.0 + 8.0, 0.7, 0.3]}
    order, _, off, fine = orders(method, 4 * steps, system, 0.3, "SO3xR3", **start)
    assert order > method.order - 0.2
    assert off < 1e-4
    assert np.abs(fine.energies.work[-1]) > 1.0
    assert fine.certificate["energy balance"].tolerance is not None


@pytest.mark.parametrize("name", METHODS)
def test_angles_are_counted_over_many_turns(name):
    """A spring that is wound up: the motor turns its shaft ten times, then the spring holds it."""
    body = ch.Body("shaft", 1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.2))
    joint = ch.revolute("axle", "ground", "shaft", axis=(0.0, 0.0, 1.0), stiffness=0.5, damping=0.1)
    found = run(ch.System([body], [joint]), 4.0, "SO3xR3", METHODS[name][0], 0.01, control=[15.0], save="all")
    w, decay = np.sqrt(0.5 / 0.2 - 0.0625), 0.25
    t = found.t
    exact = 30.0 * (1 - np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t)))
    assert exact.max() > 14 * np.pi
    assert np.abs(found.joint("axle").q[:, 0] - exact).max() < 0.02
    assert found.certificate["energy balance"].value < 1e-3


def test_stiff_joints_take_few_iterations():
    """A chain whose joints are stiff springs, with a step far longer than their periods: differences couple bodies."""
    rods = [ch.Body(f"rod {k}", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1)) for k in range(4)]
    joints = [
        ch.revolute(
            *(f"hinge {k}", f"rod {k - 1}" if k else "ground", f"rod {k}"),
            axis=(0.0, 1.0, 0.0),
            at=(1.0 if k else 0.0, 0.0, 0.0),
            stiffness=1e7,
            damping=1e2,
        )
        for k in range(4)
    ]
    found = run(ch.System(rods, joints), 0.5, "SO3xR3", ch.integrate.GeneralizedAlpha(0.5), 5e-3, save="all")
    assert found.solution.evaluations < 5 * found.solution.steps
    assert np.abs(found.joint("hinge 0").q).max() < 1e-4


def test_a_sampled_controller():
    system = smooth("revolute", True)
    q, v = start_of(system)
    options = {"controller": lambda t, q, v: -0.4 * v, "period": 0.05}
    exact = ch.simulate(system, (0.0, END), q, v, coordinates="absolute", save="final", **TIGHT, **options)
    for method, step in (
        (ch.integrate.GeneralizedAlpha(), 1e-3),
        (ch.integrate.BLieDF(3), 1e-3),
        (ch.integrate.HalfExplicit(5), 1e-2),
    ):
        found = ch.simulate(system, (0.0, END), q, v, coordinates="absolute", method=method, step=step, **options)
        assert difference(found, exact) < 3e-5


@pytest.mark.parametrize("method", [ch.integrate.Rattle(), ch.integrate.EnergyMomentum()], ids=str)
def test_armatures_are_refused(method):
    system = smooth("revolute", True)
    with pytest.raises(ValueError, match="'joint' has an armature"):
        run(system, END, "SO3xR3", method, 0.01)
