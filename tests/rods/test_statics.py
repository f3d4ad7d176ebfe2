"""Equilibria of rods, against closed forms and solutions of the Cosserat equations by shooting (12 digits)."""

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.lie import pose as pose_group

SLENDER = (1, 1, 1, 1e6, 1e6 / 2.6, 1e6 / 2.6)
BEND = np.array([15.684800534039, 47.150438573629, 53.474858791825])  # tip of the 45 degree bend at 600, J = 1/6


def cantilever(
    n: int, stiffness, load=(0,) * 6, representation: str = "hybrid", gravity=(0, 0, 0), **more
) -> ch.System:
    section = rods.Stiffness(stiffness, 1.0, 1e-6 * np.array([2.0, 1.0, 1.0]))
    rod = ch.Rod("b", rods.Line((0, 0, 0), (1, 0, 0)), section, ends=("ground", "free"), elements=n, **more)
    return ch.System(rods=[rod], forces=[ch.Wrench("P", f"b[{n}]", load, representation)], gravity=gravity)


def bend(n: int, element: str = "magnus") -> ch.System:
    """Bathe and Bolourchi 1979: a quarter of a right angle of a circle, loaded out of its plane at the tip."""
    curve = rods.Arc((0, 0, 0), (100, 0, 0), (0, 0, -1), np.pi / 4)
    section, metal = rods.Constants(1, 1 / 12, 1 / 12, 1 / 6, 1.0), rods.Material(1e7, 0.0)
    rod = ch.Rod("b", curve, section, metal, ("ground", "free"), n, element=element)
    load = ch.Wrench("P", f"b[{n}]", (0, 0, 0, 0, 0, 600), "hybrid")
    return ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def tip(found, n: int) -> np.ndarray:
    return found.pose(f"b[{n}]")[4:]


@pytest.mark.parametrize("slender", [10, 1e2, 1e4])
def test_one_element_is_exact_for_small_loads(slender):
    stiff = slender**2
    system = cantilever(1, (1, 1, 1, stiff, stiff / 2.6, stiff / 2.6), (0, 0, 0, 0, 1e-6, 0))
    assert tip(ch.equilibrium(system), 1)[1] / 1e-6 == pytest.approx(1 / 3 + 2.6 / stiff, rel=1e-8)


@pytest.mark.parametrize("representation", ["body", "hybrid"])
def test_a_moment_rolls_it_up_to_a_circle(representation):
    system = cantilever(3, (1, 1, 1, 1e4, 5e3, 5e3), (0, 0, 2 * np.pi, 0, 0, 0), representation)
    assert np.linalg.norm(tip(ch.equilibrium(system), 3)) < 1e-12


@pytest.mark.parametrize(("n", "bound"), [(8, 1.3e-3), (16, 8e-5), (32, 6e-6)])
def test_the_bend_in_one_load_step(n, bound):
    found = ch.equilibrium(bend(n))
    assert np.linalg.norm(tip(found, n) - BEND) < bound
    assert len(found.iterations) == 1
    assert found.iterations[0] <= 8
    assert found.stable


def test_constant_strain_is_of_order_two():
    """The element of other codes: Exudyn 1.13 has the same ten digits, errors .1655 and .0413."""
    errors = [np.linalg.norm(tip(ch.equilibrium(bend(n, "helix")), n) - BEND) for n in (8, 16)]
    assert errors == pytest.approx([0.1655, 0.0413], rel=2e-3)


def test_the_path_does_not_matter():
    one, other = (ch.equilibrium(bend(8), steps=steps).poses for steps in (8, 10))
    assert np.abs(one - other)[:, 4:].max() < 1e-12 * 100


@pytest.mark.parametrize(("n", "bound"), [(8, 6e-5), (16, 4e-6)])
def test_elastica(n, bound):
    found = ch.equilibrium(cantilever(n, SLENDER, (0, 0, 0, 0, 10, 0)), steps=4)
    assert np.linalg.norm(tip(found, n)[:2] - [0.445002538816, 0.810622237791]) < bound
    assert max(found.iterations) <= 5


@pytest.mark.parametrize(("n", "bound"), [(8, 4e-5), (16, 3e-6)])
def test_a_load_along_it_is_as_weight(n, bound):
    load = rods.Load((0, 0, 0, 0, 0, -8))
    found = ch.equilibrium(cantilever(n, SLENDER, loads=[load]))
    assert abs(tip(found, n)[2] + 0.6406377) < bound


def test_pressure_stays_across():
    """A load that turns with the sections, on a clamped half circle that hardly stretches: tension is pressure times
    the radius."""
    section = rods.Stiffness((1, 1, 1, 1e6, 1e6, 1e6))
    curve = rods.Arc((1, 0, 0), (0, 0, 0), (0, 0, 1), np.pi)
    rod = ch.Rod("b", curve, section, ends=("ground", "ground"), loads=[rods.Load((0, 0, 0, 0, -1e-3, 0), "body")])
    found = ch.equilibrium(ch.System(rods=[rod], gravity=(0, 0, 0)))
    hoop = found.rod("b").sections[8]
    assert hoop[3] == pytest.approx(1e-3, rel=4e-3)  # loads at nodes that turn by θ: 1 - θ²/12
    assert np.abs(hoop[[0, 1, 4, 5]]).max() < 1e-9


def test_without_shear():
    found = ch.equilibrium(cantilever(8, (1, 1, 1, 1e6, np.inf, np.inf), (0, 0, 0, 0, 10, 0)), steps=4)
    assert tip(found, 8)[:2] == pytest.approx([0.44502083, 0.81056623], abs=1e-8)


@pytest.mark.parametrize(("n", "bound"), [(8, 4e-5), (16, 3e-6)])
def test_weight(n, bound):
    found = ch.equilibrium(cantilever(n, SLENDER, gravity=(0, 0, -8)))
    assert abs(tip(found, n)[2] + 0.6406377) < bound


COMPOSITE = np.diag([16.96e3, 59.12e3, 141.47e3, 1368.17e3, 88.56e3, 38.78e3])
COMPOSITE[0, 1:3] = COMPOSITE[1:3, 0] = 17.61e3, -351.0
COMPOSITE[1, 2] = COMPOSITE[2, 1] = -370.0
TWISTED = (1.41872656e8, 5.20833e8, 1.30208333e8, 2.5e10, 8.2604167e9, 8.2604167e9)


@pytest.mark.parametrize(
    ("stiffness", "twist", "load", "n", "known"),
    [
        (COMPOSITE, 0.0, 150.0, 32, (-0.0902726627566, -0.0647488486259, 1.2297364829237)),
        (TWISTED, np.pi / 2, -4e6, 128, (-1.1415259995405, -1.718053346465, -3.593213240272)),
    ],
    ids=["composite", "twisted"],
)
def test_blades(stiffness, twist, load, n, known):
    """Wang et al., Wind Energy 20 (2017) 1439, a blade whose bending and twist are coupled and one that is twisted by a
    right angle. The digits of the latter are in the documentation of Kynema, of a spectral element with 18 nodes; those
    of the former were given for this project."""
    line, section = rods.Line((0, 0, 0), (10, 0, 0)), rods.Stiffness(stiffness)
    rod = ch.Rod("b", line, section, ends=("ground", "free"), elements=n, twist=twist)
    force = ch.Wrench("P", f"b[{n}]", (0, 0, 0, 0, 0, load), "hybrid")
    found = ch.equilibrium(ch.System(rods=[rod], forces=[force], gravity=(0, 0, 0)))
    assert tip(found, n) - [10, 0, 0] == pytest.approx(np.array(known), abs=1e-8)


@pytest.mark.parametrize("section", [rods.Circle(0.01), rods.Rectangle(0.02, 0.02)], ids=["round", "square"])
def test_between_ball_joints_its_spin_is_left_alone(section):
    """Nothing holds the turn about its axis: any is as good. The sag is that of a beam, by bending and shear."""
    E, nu, density = 1e11, 0.3, 1000.0
    rod = ch.Rod("c", rods.Line((0, 0, 0), (1, 0, 0)), section, rods.Material(E, nu, density), elements=16)
    pins = [ch.spherical("a", "ground", "c[0]"), ch.spherical("b", "ground", "c[16]", at=(1, 0, 0))]
    found = ch.equilibrium(ch.System(rods=[rod], joints=pins))
    weight = rod.mesh.mass.sum() * 9.81
    K = np.linalg.inv(section.compliance(rod.material))
    assert found.stable
    assert found.pose("c[8]")[6] == pytest.approx(-weight * (5 / 384 / K[1, 1] + 1 / 8 / K[5, 5]), rel=5e-5)
    twisted = ch.Wrench("torque", "c[8]", (1.0, 0, 0, 0, 0, 0), "hybrid")
    with pytest.raises(RuntimeError, match=r"hold every degree of freedom|leads astray|not found"):
        ch.equilibrium(ch.System(rods=[rod], joints=pins, forces=[twisted]))


@pytest.mark.parametrize("representation", ["hybrid", "body"])
def test_what_carries_a_rod_carries_all_of_its_load(representation):
    """A hub on a stiff mount, turned, with a rod welded to it off its origin: the mount has to bear q L at its middle,
    and what is on the welded end too."""
    turn = np.array([np.cos(0.3), 0.0, 0.0, np.sin(0.3), 0.2, -0.1, 0.3])
    metal, q = rods.Material(1e12, density=1000.0), 10.0
    line = rods.Line((0.1, 0.2, 0.0), (1.1, 0.2, 0.0))
    rod = ch.Rod(
        "wing",
        line,
        rods.Circle(0.05),
        metal,
        ("hub", "free"),
        8,
        loads=[rods.Load((0, 0, 0, 0, 0, q), representation)],
    )
    mount = ch.Bushing("mount", ("ground", "hub"), (turn, (0, 0, 0)), (1e7,) * 6)
    hub = ch.Body("hub", 1.0, inertia=(0.01,) * 3)
    joint = ch.free("hub joint", "ground", "hub", at=turn)
    system = ch.System([hub], [joint], forces=[mount], rods=[rod], gravity=(0, 0, 0))
    rest = ch.equilibrium(system)
    twist = pose_group.log(pose_group.compose(pose_group.inverse(turn), rest.pose("hub")))
    # force q L along z at (0.6, 0.2, 0): moments 0.2 q L about x, -0.6 q L about y, in the hub's frame
    assert np.allclose(1e7 * twist, (0.2 * q, -0.6 * q, 0, 0, 0, q), atol=1e-4)
