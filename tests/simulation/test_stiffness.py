"""Stiff systems with explicit methods: a warning with the line to write, and none where the motion needs its steps."""

import re
import warnings

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import model_files
from chasles.integrate.method import RKMK
from chasles.io.load import load
from chasles.simulation import stiffness
from chasles.simulation.stiffness import StiffnessWarning, Vicinity, stable_radius
from tests.absolute.implicit.test_joint_forces_implicit import smooth, start_of
from tests.absolute.loops import four_bar, four_bar_poses, four_bar_twists
from tests.simulation.systems import arm, pendulum, satellite, satellite_state
from tests.simulation.test_bushing import chain, pair

MASS, STIFFNESS, DAMPING = 2.0, 1e6, 4e4
FASTEST = (DAMPING + np.sqrt(DAMPING**2 - 4 * STIFFNESS * MASS)) / (2 * MASS)  # both parts die out


def slider() -> ch.System:
    """A mass on a stiff spring with damper, and a slow pendulum that hangs on it."""
    made = [ch.Body("mass", MASS, inertia=(0.1, 0.1, 0.1)), ch.Body("bob", 1e-3, (0, 0, -1.0), (1e-6, 1e-6, 1e-6))]
    rail = ch.prismatic("rail", "ground", "mass", axis=(0, 0, 1), stiffness=STIFFNESS, damping=DAMPING)
    return ch.System(made, [rail, ch.revolute("hinge", "mass", "bob", axis=(0, 1, 0))])


def test_a_stiff_spring_is_found_and_named():
    with pytest.warns(StiffnessWarning, match="'rail' dies out") as found:
        run = ch.simulate(slider(), (0, 2), v=[0.0, 3.0], progress=False, certificate=False)
    text = str(found[0].message)
    assert f"{FASTEST:.2g} 1/s" in text
    assert f"({run.solution.steps} steps)" in text
    assert found[0].filename == __file__


def test_a_stiff_tie_is_found_though_steps_vary():
    """Between 0.45 and 0.7 of the limit of stability: the tie is moved by the rods, and its damper dies out."""
    rods = [ch.Body(f"rod {k}", 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)) for k in range(2)]
    at = {"axis": (0, 1, 0)}
    hinges = [ch.revolute("a", "ground", "rod 0", **at), ch.revolute("b", "rod 0", "rod 1", at=(1, 0, 0), **at)]
    tie = ch.Spring("tie", ("ground", "rod 1"), ((2, 0, 1), (1, 0, 0)), 1e7, 1e5, 1.0)
    with pytest.warns(StiffnessWarning, match="dies out with 2.2e\\+05 1/s"):
        ch.simulate(ch.System(rods, hinges, forces=[tie]), (0, 1), progress=False, certificate=False)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_stiff_bushings_are_found_and_the_line_helps(coordinates):
    with pytest.warns(StiffnessWarning, match="rod|free") as found:
        slow = ch.simulate(chain(3, 1e7), (0, 0.5), coordinates=coordinates, progress=False, certificate=False)
    line = re.search(r"simulate\(\.\.\., (.*?)\)", str(found[0].message)).group(1)
    better = ch.simulate(chain(3, 1e7), (0, 0.5), progress=False, certificate=False, **eval(f"dict({line})"))
    assert 10 * better.solution.steps < slow.solution.steps
    assert np.abs(better["rod 2"].position[-1] - slow["rod 2"].position[-1]).max() < 1e-4


def test_who_is_not_warned():
    """Fixed steps are the user's; implicit methods are what is advised; what is soft may be run loosely."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", StiffnessWarning)
        ch.simulate(slider(), (0, 0.1), v=[0.0, 3.0], step=2e-5, method="rk4", progress=False)
        ch.simulate(chain(3, 1e6), (0, 0.5), coordinates="absolute", method="generalized_alpha", step=1e-4)
        ch.simulate(pendulum(stiffness=20.0, damping=0.1), (0, 900), v=[2.0], rtol=1e-3, progress=False)


def test_a_law_in_python_is_not_asked_about_other_states():
    """What it saw are the states of the run, and nothing after its end."""
    seen = []

    def law(t, q, v, p, out):
        seen.append(t)
        out[0] = 0.0

    system = slider().with_force(ch.JointForce("law", "hinge", law))
    with warnings.catch_warnings():
        warnings.simplefilter("error", StiffnessWarning)
        run = ch.simulate(system, (0, 0.6), v=[0.0, 3.0], progress=False, certificate=False)
    assert run.solution.steps > stiffness.MANY
    counted = len(seen)
    assert not stiffness._worth_a_look(run.task.dynamics)
    assert len(seen) == counted


ORDINARY = {
    "arm": lambda: (arm(damping=0.1), (0, 10), {"v": [1.0, -0.5, 0.3, 2.0]}),
    "pendulum with a spring": lambda: (pendulum(stiffness=20.0, damping=0.1), (0, 30), {"v": [3.0]}),
    "pendulum with friction": lambda: (pendulum(friction=0.5, friction_speed=0.01), (0, 10), {"v": [3.0]}),
    "pendulum with stops": lambda: (
        pendulum(lower=-1.0, upper=1.0, stop_stiffness=1e4, stop_damping=10.0),
        (0, 10),
        {"v": [5.0]},
    ),
    "satellite": lambda: (
        satellite(0.3),
        (0, 10),
        dict(zip("qv", satellite_state(satellite().compile()), strict=True)),
    ),
    "bushings": lambda: (pair(), (0, 5), {"v": np.linspace(-1, 1, 12)}),
    "loop": lambda: (
        four_bar(),
        (0, 3),
        {"coordinates": "absolute", "poses": four_bar_poses(1.0), "twists": four_bar_twists(1.0, 3.0)},
    ),
    **{
        f"forces on a {kind} joint": lambda kind=kind: (
            smooth(kind, True),
            (0, 2),
            dict(zip("qv", start_of(smooth(kind, True)), strict=True)),
        )
        for kind in ("revolute", "prismatic", "universal", "spherical")
    },
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_systems_are_not_stiff(name, monkeypatch):
    """Looked at from 50 steps on, where users are told from three thousand on."""
    monkeypatch.setattr(stiffness, "MANY", 50)
    system, span, start = ORDINARY[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", StiffnessWarning)
        run = ch.simulate(system, span, progress=False, certificate=False, **start)
    assert run.solution.steps > 50


@pytest.mark.study
@pytest.mark.parametrize("name", sorted(model_files()))
def test_the_gallery_is_not_stiff(name, monkeypatch):
    monkeypatch.setattr(stiffness, "MANY", 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StiffnessWarning)
        load(model_files()[name]).run(progress=False, certificate=False)


def test_limits_of_stability():
    """hairer1996, section IV.2."""
    assert stable_radius(RKMK("rk4"), -1 + 0j) == pytest.approx(2.785, abs=0.1)
    assert stable_radius(RKMK("rk4"), 1j) == pytest.approx(2.828, abs=0.1)
    assert stable_radius(RKMK("dopri5"), -5 + 0j) == pytest.approx(3.307, abs=0.1)


def test_the_largest_eigenvalue_is_that_of_the_linearization():
    system = satellite(0.3)
    q, v = satellite_state(system.compile())
    run = ch.simulate(system, (0, 0.1), q, v, progress=False, certificate=False)
    found, _ = Vicinity(run.task, 0.0, np.array(run.solution.y[0])).largest()
    expected = ch.linearize(system, q, v).eigenvalues
    assert abs(found) == pytest.approx(np.abs(expected).max(), rel=1e-4)
