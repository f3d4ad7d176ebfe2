"""Strain without stress that changes with time: shapes against integrated curves, motion and energy against SciPy."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text
from chasles.lie import pose as pose_group
from chasles.lie import se3

RUBBER = ch.rods.Material(E=1e6, nu=0.3, density=1000.0)
LAWS = {"twist": "0.8 * s", "bend_y": "cos(3 * s) - 1", "bend_z": "2 * t * s", "stretch": "0.1 * t"}


def rod(n, intrinsic, curve=None, **more):
    curve = ch.rods.Line((0, 0, 0), (1, 0, 0)) if curve is None else curve
    more = {"ends": ("ground", "free"), "intrinsic": intrinsic} | more
    return ch.Rod("r", curve, ch.rods.Circle(0.02), RUBBER, elements=n, **more)


def still(one):
    return ch.System(rods=[one], gravity=(0, 0, 0))


def grown(one, t):
    """The tip of a clamped rod whose strain is that of its curve and the intrinsic one: g' = g ξ, integrated."""
    laws = {name: str(law) for name, law in one.intrinsic}
    names = ch.rods.STRAINS
    d = 1e-4 * one.length

    def strain(s):
        near = np.clip([s - d, s + d], 0.0, one.length)
        ends = one.poses(near)
        own = pose_group.log(pose_group.compose(pose_group.inverse(ends[0]), ends[1])) / np.diff(near)
        scope = {"s": s, "t": t, "cos": np.cos, "sin": np.sin}
        return own + np.array([eval(laws.get(name, "0"), scope) for name in names])

    def rate(s, g):
        return (g.reshape(4, 4) @ se3.hat(strain(s))).ravel()

    begin = pose_group.to_matrix(one.poses(np.array([0.0])))[0]
    found = solve_ivp(rate, (0.0, one.length), begin.ravel(), "DOP853", rtol=1e-8, atol=1e-10)
    return found.y[:, -1].reshape(4, 4)[:3, 3]


def test_a_constant_curvature_makes_an_arc_without_stress():
    system = still(rod(4, {"bend_z": "pi * t"}))
    rest = ch.equilibrium(system, t=0.5)
    assert np.allclose(rest.pose("r[4]")[4:], (2 / np.pi, 2 / np.pi, 0), atol=1e-14)
    assert rest.energy < 1e-20
    assert np.abs(rest.rod("r").strains).max() < 1e-12


CURVES = {
    "spline": ch.rods.Spline([(0, 0, 0), (0.4, 0.1, 0), (0.7, 0.3, 0.2), (0.9, 0.3, 0.6)]),
    "line": ch.rods.Line((0, 0, 0), (1, 0, 0)),
    "arc": ch.rods.Arc((1, 0, 0), (0, 0, 0), (0, 0, 1), 1.2),
}


@pytest.mark.first(1)
@pytest.mark.parametrize("curve", CURVES)
def test_a_free_end_goes_where_the_strain_leads_with_order_four(curve):
    known = grown(rod(4, LAWS, CURVES[curve]), 1.5)
    errors = []
    for n in (4, 8):
        rest = ch.equilibrium(still(rod(n, LAWS, CURVES[curve])), t=1.5)
        errors.append(np.linalg.norm(rest.pose(f"r[{n}]")[4:] - known))
    assert errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) > 3.6


def swelling():
    """One element that grows and shrinks: a mass on a spring whose length is a law."""
    return rod(1, {"stretch": "0.05 * sin(20 * t)"}, damping=2e-3, masses="trapezoid")


def known_swelling(times):
    one = swelling()
    mass, k = one.mesh.mass[1], 1e6 * np.pi * 0.02**2
    c = 2e-3 * k

    def rate(t, y):
        apart, speed = y[0] - 0.05 * np.sin(20 * t), y[1] - np.cos(20 * t)
        power = -c * speed * y[1] - k * apart * np.cos(20 * t)
        return [y[1], -(k * apart + c * speed) / mass, power]

    y = solve_ivp(rate, (0, times[-1]), [0, 0, 0], "DOP853", t_eval=times, rtol=1e-11, atol=1e-13).y
    energy = 0.5 * mass * y[1] ** 2 + 0.5 * k * (y[0] - 0.05 * np.sin(20 * times)) ** 2
    return y[0], energy, y[2]


@pytest.mark.parametrize(
    ("method", "bound"),
    [("generalized_alpha", 1e-4)]
    + [pytest.param(name, 1e-4, marks=pytest.mark.study) for name in ("radau5", "bliedf3", "rattle", "half_explicit")],
)
def test_motion_energy_and_work_are_those_of_a_mass_on_a_spring(method, bound):
    run = ch.simulate(still(swelling()), (0, 0.3), coordinates="absolute", method=method, step=1e-3, certificate=False)
    place, energy, work = known_swelling(run.t)
    assert np.allclose(energy, work, atol=1e-9 * energy.max())  # of the oracle itself
    assert np.abs(run["r[1]"].position[:, 0] - 1.0 - place).max() < bound * np.abs(place).max() * 5
    assert np.abs(run.energies.total - energy).max() < 2e-3 * energy.max()
    assert np.abs(run.rod("r").energy - run.energies.springs).max() < 1e-12
    assert np.abs(run.energies.total - run.energies.total[0] - run.energies.work).max() < 2e-3 * energy.max()


def test_both_coordinates_have_the_same_equations():
    """Forces on the nodes and their power in joint coordinates, where elements are computed one by one."""
    system = still(rod(6, LAWS, CURVES["arc"], ends=("free", "free"), damping=1e-3))
    tree, bodies = system.compile(), system.compile("absolute")
    rng = np.random.default_rng(1)
    q, v = tree.retract(tree.neutral(), 0.05 * rng.normal(size=tree.nv)), 0.3 * rng.normal(size=tree.nv)
    acting = tree.applied_forces(q, v, t=0.7)
    a = tree.forward_dynamics(q, v, acting.tau, wrenches=acting.wrenches.reshape(-1, 6))
    expected = tree.accelerations(q, v, a)
    central, velocity = bodies.state(tree.poses(q), tree.twists(q, v))
    _, power, energy = bodies.applied_forces(central, velocity, t=0.7)
    found = bodies.accelerations(central, velocity, bodies.accelerations_under(central, velocity, t=0.7))
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.isclose(power, acting.power, rtol=1e-12)
    assert np.isclose(energy, acting.stored, rtol=1e-12)


def test_in_a_file():
    system = still(rod(3, {"bend_z": "2 * t * s", "twist": 0.3}))
    text = model_text(system)
    assert 'intrinsic = { twist = 0.3, bend_z = "2 * t * s" }' in text
    again = study_of_text(text, Path()).system
    assert again == system
    given = text.replace('"2 * t * s"', '"bend * t * s"') + "\n[parameters]\nbend = 2.0\n"
    assert dict(study_of_text(given, Path()).system.rods[0].intrinsic) == {"twist": 0.3, "bend_z": "2.0 * t * s"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bend_x": 1.0}, "has 'bend_x'"),
        ({"bend_z": "2 * u"}, "intrinsic bend_z"),
        ({"bend_z": "q('a')"}, "may use t and s"),
        ({"bend_z": lambda t: t}, "expected a number or an expression of t and s"),
        ({"bend_z": np.nan}, "intrinsic bend_z"),
        (3, "expected strains by name"),
    ],
)
def test_mistakes_are_named(given, message):
    with pytest.raises(ValueError, match=r"rod 'r': .*") as error:
        rod(3, given)
    assert message in str(error.value)


def test_strains_that_it_does_not_have():
    with pytest.raises(ValueError, match="not among its strains bend_z"):
        rod(3, {"twist": "t"}, strains=["bend_z"])


@pytest.mark.parametrize(
    ("ends", "modes"), [(("ground", "free"), None), (("free", "ground"), None), (("ground", "free"), 3)]
)
def test_in_joint_coordinates_it_is_a_force_on_the_joints(ends, modes):
    """Without a load the rod takes the shape of its intrinsic strain, of order 2, whichever end is held."""
    small = 0.2 if ends[0] == "free" else 1.0  # a loop, whose equilibrium is found only near
    laws, errors = {"bend_y": f"{1.5 * small} * t", "bend_z": f"{2 * small} * t * s"}, []
    more = {"strains": ("bend_y", "bend_z"), "ends": ends, "modes": modes}
    known = grown(rod(8, laws, **more), 0.8)
    for n in (8, 16):
        one = rod(n, laws, **more)
        rest, tree = ch.equilibrium(still(one), t=0.8), still(one).compile()
        first, last = (tree.poses(rest.q, frames=f"r[{k}]") for k in (0, n))
        tip = pose_group.compose(pose_group.inverse(first), last)[4:]
        errors.append(np.linalg.norm(tip - known))
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) > 1.9


def test_stress_and_energy_in_joint_coordinates_are_of_what_is_left():
    one = rod(4, {"bend_z": "3 * t"}, strains=["bend_z"])
    run = ch.simulate(still(one), (0, 0.1), rtol=1e-8, certificate=False)
    angles = np.array([run.joint(f"r[{k}]").q[:, 0] for k in range(1, 5)]).T
    left = angles - 0.25 * 3 * run.t[:, None]
    stiffness = 1e6 * np.pi * 0.02**4 / 4 / 0.25
    assert np.allclose(run.rod("r").stresses[..., 2], stiffness * left, atol=1e-9)
    assert np.allclose(run.rod("r").energy, 0.5 * stiffness * (left**2).sum(axis=1))
    assert np.ptp(run.energies.balance) < 1e-6 * run.energies.kinetic.max()
