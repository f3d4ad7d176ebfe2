"""Limit and buckling loads of rods, and what a run says of its rods."""

import numpy as np
import pytest
import scipy
from scipy.special import ellipe, ellipk

import chasles as ch
from chasles import rods
from chasles.lie import pose
from tests.rods.test_statics import SLENDER, cantilever


def lee(n: int) -> ch.System:
    """Lee's frame: two legs of 120 with pinned ends, loaded at a fifth of the second; E = 720, A = 6, I = 2."""
    section, metal = rods.Constants(6.0, 2.0, 2.0, 4.0, 1.0), rods.Material(720.0, 0.3)
    one = ch.Rod("one", rods.Line((0, 0, 0), (0, 120, 0)), section, metal, elements=n)
    two = ch.Rod("two", rods.Line((0, 0, 0), (0, -120, 0)), section, metal, (f"one[{n}]", "free"), n)
    corner = pose.compose(one.poses(120.0), two.poses(120.0))
    pins = [
        ch.revolute("left", "ground", "one[0]", axis=(0, 0, 1), at=one.poses(0.0)),
        ch.revolute("right", "ground", f"two[{n}]", axis=(0, 0, 1), at=corner),
    ]
    load = ch.Wrench("P", f"two[{n // 5}]", (0, 0, 0, 0, -1, 0), "hybrid")
    return ch.System(joints=pins, rods=[one, two], forces=[load], gravity=(0, 0, 0))


@pytest.mark.study
def test_lees_frame_turns_round():
    path = rods.load_path(lee(10), (0, 3), points=40, max_step=0.25)
    (limit,) = path.limits
    assert path.load[limit] == pytest.approx(1.854656, rel=1e-4)
    assert path.place("two[2]")[limit, 1] - 120 == pytest.approx(-48.7517, rel=1e-4)


def sideways_by_shooting(torsion: float, strong: float, weak: float, axial: float, shear: float, length: float):
    """The load at the tip of a clamped strip at which it can bend sideways too, from the Cosserat equations: where the
    moment at the tip, by that at the clamp, becomes singular beside the plane. Derivatives by complex steps."""
    stiffness, small = np.array([torsion, strong, weak, axial, shear, shear]), 1e-20

    def moment_at_tip(clamp, load):
        force = np.array([0, 0, -load])

        def slopes(s, y):
            R, place = y[:9].reshape(3, 3), y[9:]
            bent = R.T @ (clamp - np.cross(place, force)) / stiffness[:3]
            stretched = R.T @ force / stiffness[3:] + np.array([1, 0, 0])
            return np.concatenate([np.cross(R, bent).ravel(), R @ stretched])

        start = np.concatenate([np.eye(3).ravel(), np.zeros(3)]).astype(complex)
        equal = {"rtol": 1e-3, "atol": 1e-3, "max_step": length / 25}  # so derivatives are those of the same steps
        end = scipy.integrate.solve_ivp(slopes, (0, length), start, "DOP853", **equal).y[:, -1]
        return clamp - np.cross(end[9:], force)

    def beside_the_plane(load):
        clamp = np.array([0, length * load, 0], complex)
        for _ in range(4):  # Newton's method for the bent strip
            found = moment_at_tip(clamp + small * 1j * np.eye(3)[1], load)[1]
            clamp[1] -= found.real / (found.imag / small)
        columns = [moment_at_tip(clamp + small * 1j * e, load).imag / small for e in np.eye(3)[[0, 2]]]
        return columns[0][0] * columns[1][2] - columns[0][2] * columns[1][0]

    classical = 4.012599 * np.sqrt(weak * torsion) / length**2
    return scipy.optimize.brentq(lambda x: beside_the_plane(x * classical), 0.99, 1.01, xtol=1e-10)


def test_a_strip_buckles_sideways():
    """Prandtl and Michell's load of a slender strip, with what prebuckling, shear and extension change of it."""
    h, t, L, E = 0.6, 0.01, 10.0, 2e11
    G = E / 2.6
    bending, torsion = E * h * t**3 / 12, G * h * t**3 / 3
    section = rods.Stiffness((torsion, E * t * h**3 / 12, bending, E * h * t, G * h * t, G * h * t))
    critical = 4.012599 * np.sqrt(bending * torsion) / L**2

    def strip(n):
        rod = ch.Rod("b", rods.Line((0, 0, 0), (L, 0, 0)), section, ends=("ground", "free"), elements=n)
        load = ch.Wrench("P", f"b[{n}]", (0, 0, 0, 0, 0, -critical), "hybrid")
        return ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))

    wanted = sideways_by_shooting(torsion, E * t * h**3 / 12, bending, E * h * t, G * h * t, L)
    assert wanted == pytest.approx(1.000413857, abs=1e-9)  # the digits of the validation board
    errors = [rods.buckling(strip(n), 1.5, steps=3) - wanted for n in (8, 16, 32)]
    assert abs(errors[2]) < 2.5e-7
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.1)
    with pytest.raises(RuntimeError, match=r"none up to 0\.5"):
        rods.buckling(strip(8), 0.5, steps=1)


def column(weak: float = 1.0, representation: str = "hybrid") -> ch.System:
    """Clamped below, with a load on its top; EI = L = 1 in the plane in which it buckles first."""
    stiffness = rods.Stiffness((1, 5, weak, 1e6, 1e6 / 2.6, 1e6 / 2.6))
    rod = ch.Rod("c", rods.Line((0, 0, 0), (1, 0, 0)), stiffness, ends=("ground", "free"), elements=16)
    load = ch.Wrench("P", "c@1", (0, 0, 0, -1, 0, 0), representation)
    return ch.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


@pytest.mark.parametrize("side", [1, -1])
def test_a_column_leaves_its_axis_where_it_buckles(side):
    """Euler's loads about both axes, and the elastica of the buckled column by elliptic integrals."""
    path = rods.load_path(column(), (0, 20), max_step=0.3)
    first, second = path.bifurcations
    assert path.load[[first, second]] == pytest.approx(np.pi**2 / 4 * np.array([1, 5]), rel=3e-5)  # it shortens, too
    assert path.limits == ()
    assert path.unstable[[first - 1, first + 1, second + 1]].tolist() == [0, 1, 2]
    branch = path.branch(first, side)
    turn = pose.log(branch.poses[1:, -1])[:, 2]
    m = np.sin(turn / 2) ** 2
    assert (side * turn * np.sign(path.branch(first).place("c@1")[1, 1]) > 0).all()
    assert branch.load[1:] == pytest.approx(ellipk(m) ** 2, rel=5e-5)
    bent = np.stack([2 * ellipe(m) / ellipk(m) - 1, 2 * np.sqrt(m) / ellipk(m)], axis=1)
    assert np.abs(branch.place("c@1")[1:, :2]) == pytest.approx(np.abs(bent), abs=5e-5)
    assert (branch.unstable[1:] == 0).all()
    assert branch.load.max() > 3 * np.pi**2 / 4


def test_branches_that_there_are_not():
    path = rods.load_path(column(5.0), (0, 15), max_step=0.3)
    (double,) = path.bifurcations
    with pytest.raises(ValueError, match=f"several paths leave point {double} at once"):
        path.branch(double)
    with pytest.raises(ValueError, match=rf"point is 0; .* a bifurcation of this path \({double}\)"):
        path.branch(0)
    with pytest.raises(ValueError, match="side is 0; expected 1 or -1"):
        path.branch(double, 0)
    assert rods.load_path(column(representation="body"), (0, 15), max_step=0.3).bifurcations == ()  # it flutters


def test_stresses_of_an_equilibrium():
    """Under an end load: the moment is the load times its lever, in all sections, though elements know it at their
    middle only."""
    found = ch.equilibrium(cantilever(8, SLENDER, (0, 0, 0, 0, 3, 0)))
    rod = found.rod("b")
    places = rod.nodes[:, 4:]
    assert rod.nodes.shape == (9, 7)
    assert rod.sections[:, 2] == pytest.approx(3 * (places[-1, 0] - places[:, 0]), abs=1e-9)
    assert rod.ends[0, 2] == pytest.approx(3 * places[-1, 0])
    along = rod.curve(5)
    assert np.linalg.norm(np.diff(along, axis=0), axis=1).sum() == pytest.approx(1.0, abs=1e-4)
    assert rod.energy == pytest.approx(found.energy)
    assert rod.strains[:, 2] == pytest.approx(rod.stresses[:, 2], rel=2e-2)
