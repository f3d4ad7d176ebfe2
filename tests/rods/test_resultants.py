"""Moments and forces along rods against free bodies and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.cli.check import _counted
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.rod_parts import shape_equations, shown_name
from chasles.simulation.mobility import mobility
from chasles.simulation.rod_motion import largest_fiber_strain
from chasles.view.plot_quantities import names as plot_names
from chasles.view.series import series_of

SOFT = rods.Material(E=1e7, nu=0.3, density=1000.0)
LINE = rods.Line((0, 0, 0), (1, 0, 0))
PUSH = 1e-4  # [N], at the tip: too small to turn it


def cantilever(**more: Any) -> ch.Rod:
    return ch.Rod("arm", LINE, rods.Circle(0.02), SOFT, ("ground", "free"), 4, **more)


def at_rest(rod: ch.Rod) -> Any:
    load = ch.Wrench("tip", rod.nodes[-1], (0, 0, 0, 0, 0, -PUSH), "hybrid")
    return ch.equilibrium(ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0)))


@pytest.mark.parametrize(
    "more", [{}, {"strains": ["bend_y"]}, {"strains": ["bend_y"], "modes": 2}], ids=["all", "strains", "modes"]
)
def test_moment_of_a_cantilever_falls_from_its_clamp_to_its_tip(more: dict[str, Any]) -> None:
    rod = cantilever(**more)
    found = at_rest(rod).rod("arm")
    moment = PUSH * (rod.length - rod.mesh.s)
    assert np.allclose(found.sections[:, 1], moment, atol=1e-6 * PUSH)
    assert np.allclose(found.ends[:, 1], moment[[0, -1]], atol=1e-6 * PUSH)
    assert np.allclose(found.stresses[:, 1], 0.5 * (moment[1:] + moment[:-1]), atol=1e-6 * PUSH)


def test_sections_of_a_bent_arc_balance_what_acts_beyond_them() -> None:
    curve = rods.Arc((0, 0, 0), (1, 0, 0), (0, 0, -1), 1.0)
    rod = ch.Rod("arm", curve, rods.Circle(0.02), SOFT, ("ground", "free"), 4)
    torque, force = np.array([0.02, 0.1, -0.05]), np.array([0.3, 0.5, -0.8])
    load = ch.Wrench("tip", "arm[4]", (*torque, *force), "hybrid")
    found = ch.equilibrium(ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))).rod("arm")
    turned = quaternion_to_matrix(found.nodes[:, :4])
    moments = torque + np.cross(found.nodes[-1, 4:] - found.nodes[:, 4:], force)
    expected = np.concatenate([np.einsum("kij,ki->kj", turned, moments), np.einsum("kij,i->kj", turned, force)], axis=1)
    assert np.abs(np.linalg.norm(moments[0])) > 0.3
    assert np.allclose(found.sections, expected, atol=1e-9)


def test_strain_of_a_fiber_is_largest_at_the_clamp() -> None:
    rod = cantilever()
    found = at_rest(rod).rod("arm")
    inertia = np.pi * 0.02**4 / 4
    assert largest_fiber_strain(rod, found.strains) == pytest.approx(PUSH * 0.02 / (1e7 * inertia), rel=1e-5)


def test_strain_of_a_fiber_of_modes_is_that_of_the_polynomial_at_the_clamp() -> None:
    """A beam under its weight: EI κ = w (L - s)²/2. A line through means of elements is 2 % below it."""
    rod = ch.Rod("arm", LINE, rods.Circle(0.02), SOFT, ("ground", "free"), 6, strains=["bend_y"], modes=3)
    weight, inertia = 1000.0 * np.pi * 0.02**2 * 1e-3, np.pi * 0.02**4 / 4
    found = ch.equilibrium(ch.System(rods=[rod], gravity=(0, 0, -1e-3))).rod("arm")
    assert found.largest_fiber_strain() == pytest.approx(0.5 * weight * 0.02 / (1e7 * inertia), rel=3e-4)


def test_parts_inside_of_a_rod_are_told_by_its_modes() -> None:
    system = ch.System(rods=[cantilever(strains=["bend_y"], modes=2)])
    followers = [joint for joint in system.joints if joint.mimic is not None]
    assert {shown_name(system.joints, joint.name) for joint in followers} == {"arm bend_y 0", "arm bend_y 1"}
    assert shown_name(system.joints, "arm bend_y 1") == "arm bend_y 1"
    found = mobility(system)
    assert shape_equations(system.joints) == found.equations > 100
    line = f"2 degrees of freedom, 0 constraint equations; {found.equations} more hold the nodes of rods and "
    assert _counted(found, found.equations) == [f"{line}reduced bodies on their shapes"]


def test_equilibrium_with_strains_has_poses() -> None:
    rest = at_rest(cantilever(strains=["bend_y"], modes=2))
    assert np.array_equal(rest.pose("arm[4]"), rest.rod("arm").nodes[-1])
    bending = PUSH / (3 * 1e7 * np.pi * 0.02**4 / 4)
    assert rest.pose("arm[4]")[6] == pytest.approx(-bending, rel=1e-3)


def test_run_with_modes_shows_its_modes_alone() -> None:
    system = ch.System(rods=[cantilever(strains=["bend_y"], modes=2)])
    run = ch.simulate(system, (0, 0.01), rtol=1e-6, certificate=False)
    stiffness = system.joint("arm bend_y 1").stiffness[0]
    assert np.allclose(run.force("arm bend_y 1")[:, 0], -stiffness * run.joint("arm bend_y 1").q[:, 0], atol=1e-12)
    shown = [name for name in plot_names(run) if name.startswith("phase.")]
    assert shown == ["phase.arm bend_y 0", "phase.arm bend_y 1"]
    notes: list[str] = []
    curves = series_of(run, notes)
    assert {curve.joint for curve in curves if curve.chart == "position"} == {"arm bend_y 0", "arm bend_y 1"}
    assert notes == []


@pytest.mark.parametrize("elements", [4, 8])
def test_forces_in_end_sections_are_those_of_free_bodies(elements: int) -> None:
    """Half of an end's element is lumped at it: its weight and load are not in the section there."""
    curve, load = rods.Arc((0, 0, 0), (0, 1, 0), (0, 0, 1), 1.2), np.array([2.0, 1.0, 3.0])
    rod = ch.Rod(
        "arm", curve, rods.Circle(0.02), SOFT, ("ground", "free"), elements, loads=[rods.Load((0, 0, 0, *load))]
    )
    found = ch.equilibrium(ch.System(rods=[rod])).rod("arm")
    weight = np.array([0.0, 0.0, -9.81 * SOFT.density * np.pi * 0.02**2])
    force = quaternion_to_matrix(found.nodes[0, :4]) @ found.ends[0, 3:]
    assert np.allclose(force, rod.length * (load + weight), atol=1e-9)
    assert np.abs(found.ends[1]).max() < 1e-6


def test_a_body_in_motion_feels_the_force_in_the_end_section() -> None:
    rod = ch.Rod("arm", rods.Line((0.1, 0, 0), (1.1, 0, 0)), rods.Circle(0.02), SOFT, ("hub", "free"), 8)
    push, hub = np.array([0.0, 5.0, 50.0]), ch.Body("hub", 2.0, inertia=(0.05,) * 3)
    system = ch.System([hub], rods=[rod], forces=[ch.Wrench("push", "hub", (0, 0, 0, *push), "hybrid")])
    options = {"coordinates": "absolute", "method": "generalized_alpha", "step": 1e-3, "certificate": False}
    run = ch.simulate(system, (0, 0.05), **options)
    acceleration = run.frame("hub", "hybrid").acceleration[-1, 3:]
    force = quaternion_to_matrix(run.rod("arm").nodes[-1, 0, :4]) @ run.rod("arm").ends[-1, 0, 3:]
    assert np.allclose(force, 2.0 * (acceleration - system.gravity) - push, atol=1e-8)
    assert np.abs(run.rod("arm").ends[:, 1]).max() < 1e-8  # nothing at the free end


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_weld_to_the_ground_feels_the_load_on_the_end_behind_it(coordinates: str) -> None:
    """At the start the rod has no stress, so that the weld holds the post and what is lumped at the welded end."""
    load = np.array([1.0, 2.0, -7.0])
    rod = ch.Rod("arm", LINE, rods.Circle(0.02), SOFT, ("post", "free"), 8, loads=[rods.Load((0, 0, 0, *load))])
    system = ch.System([ch.Body("post", 2.0)], [ch.weld("foot", "ground", "post")], rods=[rod])
    run = ch.simulate(system, (0, 1e-6), coordinates=coordinates, step=1e-6, certificate=False)
    force = -np.array(system.gravity) * (2.0 + rod.mesh.mass[0]) - load * rod.weights[0] / 8
    assert np.allclose(run.reactions("foot")[0, 3:], force, atol=1e-9)
