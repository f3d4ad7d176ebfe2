"""Elements of rods: their energy and forces, against digits of another implementation, and what must hold of any."""

import numpy as np
import pytest

import chasles as ch
from chasles.absolute.tables import MECHANISM
from chasles.force.rod import RODS
from chasles.lie import pose

# one element, K diagonal: energy, and its gradient along body displacements of both nodes; by a program of its own on
# small arrays, which was checked against differences
K, L, X0 = np.array([3.0, 5.0, 7.0, 1000.0, 300.0, 400.0]), 0.7, (0.1, 0.2, -0.3, 0.7, 0.02, -0.01)
A = (0.609668853073202, 0.014807957167443424, 0.5888696631762498, 0.5303933764552717)
A = np.array([*A, -0.4067248083426375, -0.5896956204771713, -0.20638694546547187])
B = (0.5654637523102143, 0.026193666924375192, 0.7082391667853938, 0.42185532978432144)
B = np.array([*B, -0.7443609518210472, -0.26143527401331473, -0.006192717865055097])
KNOWN = {
    "helix": (
        267.2643499652557,
        (-15.7795238628708, -4.238827737263001, -211.82038715708507, 782.1155746274706),
        (-229.1193666985191, -84.53858207804281, 15.636964915794564, -28.329827304789116),
        (-205.2896827842703, -794.3815629749503, 164.52275682889777, -115.05400045999961),
    ),
    "magnus": (
        82.48251375687475,
        (-7.640293949874322, 1.3188991090245177, -76.09379565116562, 299.0532643786634),
        (-4.551484035749898, -32.571394493892804, 4.8961031565401525, -11.317748390009857),
        (-69.37751657856809, -299.6428839857417, -16.827362531659222, -21.105653950414574),
    ),
}


def element(kind: str) -> ch.AbsoluteMechanism:
    """Two bodies with an element between them whose X₀ is as above, which no curve has."""
    section = ch.rods.Stiffness(K, 1.0, (1e-3, 1e-3, 1e-3))
    rod = ch.Rod("rod", ch.rods.Line((0, 0, 0), (L, 0, 0)), section, elements=1, element=kind, masses="trapezoid")
    mechanism = ch.System(rods=[rod], gravity=(0, 0, 0)).compile("absolute")
    MECHANISM.part(mechanism.packed, "values")[RODS.rest : RODS.rest + 6] = X0
    return mechanism


def pushed(mechanism, first, second):
    """Energy, and wrenches on both nodes in their frames."""
    central, _ = mechanism.state(np.array([first, second]))
    wrenches, _, energy = mechanism.applied_forces(central, np.zeros((2, 6)))
    return float(energy), mechanism.body_wrenches(central, wrenches).ravel()


@pytest.mark.parametrize("kind", KNOWN)
def test_energy_and_forces_are_known(kind):
    energy, wrenches = pushed(element(kind), A, B)
    assert energy == pytest.approx(KNOWN[kind][0], rel=1e-12)
    known = np.concatenate(KNOWN[kind][1:])
    assert np.abs(wrenches + known).max() < 1e-12 * np.abs(known).max()


@pytest.mark.parametrize("kind", KNOWN)
def test_a_rigid_motion_changes_nothing(kind):
    mechanism, h = element(kind), pose.exp(np.array([1.1, -2.0, 0.7, 3.0, -4.0, 5.0]))
    energy, wrenches = pushed(mechanism, A, B)
    moved = pushed(mechanism, pose.compose(h, A), pose.compose(h, B))
    assert moved[0] == pytest.approx(energy, rel=1e-13)
    assert np.abs(moved[1] - wrenches).max() < 1e-13 * np.abs(wrenches).max()


@pytest.mark.parametrize("kind", KNOWN)
def test_wrenches_on_both_ends_balance(kind):
    _, wrenches = pushed(element(kind), A, B)
    in_space = [pose.AdT_apply(pose.inverse(g), w) for g, w in ((A, wrenches[:6]), (B, wrenches[6:]))]
    assert np.abs(sum(in_space)).max() < 1e-13 * np.abs(wrenches).max()


def test_both_coordinates_have_the_same_equations():
    """A bent rod of six elements (four lanes and two) with damping: accelerations of joint coordinates, where elements
    are computed one by one."""
    rng = np.random.default_rng(5)
    rod = ch.Rod(
        "rod",
        ch.rods.Helix((0.3, 0, 0), (0, 0, 0), (0, 0, 1), 0.2, 0.5),
        ch.rods.Rectangle(0.02, 0.01),
        ch.rods.Material(E=1e7, density=1000.0),
        elements=6,
        damping=0.01,
    )
    system = ch.System(rods=[rod], gravity=(0, 0, 0))
    tree, bodies = system.compile(), system.compile("absolute")
    q = tree.retract(tree.neutral(), 0.05 * rng.normal(size=tree.nv))
    v = 0.1 * rng.normal(size=tree.nv)
    acting = tree.applied_forces(q, v)
    a = tree.forward_dynamics(q, v, acting.tau, wrenches=acting.wrenches.reshape(-1, 6))
    expected = tree.accelerations(q, v, a)
    central, velocity = bodies.state(tree.poses(q), tree.twists(q, v))
    found = bodies.accelerations(central, velocity, bodies.accelerations_under(central, velocity))
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
