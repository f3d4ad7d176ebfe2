"""Modes as motions to be looked at: trees, loops, any coordinates."""

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import model_files
from chasles.io.load import load
from chasles.view.page import Page

ROD = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (1e-3, 0.1, 0.1)}


def two_masses():
    """Two equal carts between three equal springs: modes side by side and against each other."""
    box = ch.Body("left", 2.0, inertia=(0.1, 0.1, 0.1)), ch.Body("right", 2.0, inertia=(0.1, 0.1, 0.1))
    slides = [
        ch.prismatic(one.name, "ground", one.name, axis=(1, 0, 0), at=(k, 0, 0), stiffness=50.0)
        for k, one in enumerate(box)
    ]
    between = ch.Spring("between", ("left", "right"), stiffness=50.0, length=1.0)
    return ch.System(box, slides, forces=[between], gravity=(0, 0, 0))


def four_bar():
    rods = {"crank": 0.3, "coupler": 0.8, "rocker": 0.6}
    return ch.System(
        [ch.Body(name, 1.0, (x / 2, 0, 0), (1e-3, x**2 / 12, x**2 / 12)) for name, x in rods.items()],
        [
            ch.revolute("A", "ground", "crank", axis=(0, 0, 1), stiffness=20.0, damping=0.3),
            ch.revolute("B", "crank", "coupler", axis=(0, 0, 1), at=(0.3, 0, 0)),
            ch.revolute("C", "coupler", "rocker", axis=(0, 0, 1), at=(0.8, 0, 0), child_at=(0.6, 0, 0)),
            ch.revolute("D", "ground", "rocker", axis=(0, 0, 1), at=(0.7, 0, 0)),
        ],
        gravity=(0, -9.81, 0),
    )


def test_shares_of_the_kinetic_energy():
    together, against = ch.linearize(two_masses()).modes
    for mode, ratio in ((together, 1.0), (against, -1.0)):
        assert mode.shape[0] / mode.shape[1] == pytest.approx(ratio, abs=1e-12)
        assert mode.joints == pytest.approx({"left": 0.5, "right": 0.5})
        assert mode.bodies == pytest.approx({"left": 0.5, "right": 0.5})


def test_a_mode_is_a_harmonic_about_the_state():
    linear = ch.linearize(two_masses())
    run = linear.motion(2, amplitude=0.3)
    turn = np.pi * run.t
    np.testing.assert_allclose(np.abs(run.q), np.abs(0.3 * np.cos(turn))[:, None] * [1, 1], atol=1e-12)
    np.testing.assert_allclose(run.q[:, 0], -run.q[:, 1], atol=1e-12)
    assert run.t[-1] == 4.0
    assert "mode 2: " in run.illustration


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_places_of_a_loop_are_on_its_constraints(coordinates):
    mechanism = four_bar().compile(coordinates)
    rest = ch.equilibrium(mechanism, {"A": 0.5})
    linear = ch.linearize(mechanism, rest.q)
    run = linear.motion(1)
    assert run.violations.position.max() < 1e-9
    moved = np.abs(run["coupler"].position - run["coupler"].position.mean(axis=0)).max()
    assert 0.01 < moved < 0.2  # seen, and not far
    (mode,) = linear.modes
    assert sum(mode.bodies.values()) == pytest.approx(1.0)
    assert sum(mode.joints.values()) == pytest.approx(1.0)


def test_energy_of_bodies_is_that_of_their_velocities():
    system = four_bar()
    rest = ch.equilibrium(system, {"A": 0.5})
    (mode,) = ch.linearize(system, rest.q).modes
    run = ch.simulate(system, (0.0, 1e-6), rest.q, mode.shape.real, certificate=False)
    energy = {}
    for body in system.bodies:
        twist = run[body.name].twist[0]
        energy[body.name] = 0.5 * twist @ body.spatial @ twist
    total = run.energies.kinetic[0]
    assert mode.bodies == pytest.approx({name: value / total for name, value in energy.items()}, rel=1e-6)


def test_modes_without_swinging_decay_or_grow():
    damped = ch.System(
        [ch.Body("rod", **ROD)],
        [ch.revolute("hinge", "ground", "rod", axis=(0, 0, 1), stiffness=1.0, damping=50.0)],
        gravity=(0, 0, 0),
    )
    q = ch.linearize(damped).motion(1).q[:, 0]
    assert abs(q[0]) > abs(q[-1])
    upright = ch.System([ch.Body("rod", **ROD)], [ch.revolute("hinge", "ground", "rod", axis=(0, 0, 1))])
    linear = ch.linearize(ch.System(upright.bodies, upright.joints, gravity=(9.81, 0, 0)), [np.pi])
    grows = next(k for k, mode in enumerate(linear.modes, 1) if mode.eigenvalue.real > 0)
    q = linear.motion(grows).q[:, 0] - np.pi
    assert abs(q[0]) < abs(q[-1])


def test_pictures_of_modes(tmp_path):
    linear = ch.linearize(two_masses())
    page = Page(linear.motion(1), linear.motion(2))
    first = page.data["runs"][0]
    assert first["method"].startswith("mode 1: ")
    assert first["certificate"] is None
    assert not first["series"]
    assert linear.animate(tmp_path / "mode.gif", 1, size=(60, 40), fps=10).stat().st_size > 100
    figure = linear.plot(tmp_path / "modes.png")
    assert [text.get_text()[:2] for text in figure.axes[0].get_yticklabels()] == ["1:", "2:"]
    with pytest.raises(ValueError, match="there is no mode 3; expected 1 to 2"):
        linear.motion(3)


def test_drives_need_no_differences():
    study = load(model_files()["suspension"])
    rest = ch.equilibrium(study.system)
    assert not ch.linearize(study.system, rest.q).notes
