"""Sections that are polygons: constants against closed forms, and rods with them."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import zeta

import chasles as ch
from chasles import rods
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text

ANGLE = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]


def turned(points, angle: float, shift=(0.0, 0.0)) -> list:
    c, s = np.cos(angle), np.sin(angle)
    return (np.array(points) @ [[c, s], [-s, c]] + shift).tolist()


@pytest.mark.parametrize("ratio", [1.0, 7.0])
def test_constants_of_a_rectangle(ratio):
    """Turned and moved, in either order; the series of torsion, summed to its end."""
    a, b = 0.02 * ratio, 0.02
    corners = [(0, 0), (a, 0), (a, b), (0, b)]
    m = np.arange(1, 999, 2)
    series = (1 - 2.0**-5) * zeta(5) - ((1 - np.tanh(m * np.pi * a / 2 / b)) / m**5).sum()
    torsion = a * b**3 * (1 / 3 - 64 / np.pi**5 * b / a * series)
    for points in (corners, corners[::-1]):
        found = rods.Polygon(turned(points, 0.3, (1.0, -2.0)))
        c, s = np.cos(0.3) ** 2, np.sin(0.3) ** 2
        Iy, Iz = a * b**3 / 12, b * a**3 / 12
        assert found.constants(0.3).area == pytest.approx(a * b, rel=1e-12)
        assert found.moments == pytest.approx(
            (Iy * c + Iz * s, Iz * c + Iy * s, (Iz - Iy) * np.sqrt(c * s)), rel=1e-9, abs=1e-16
        )
        assert found.torsion == pytest.approx(torsion, rel=1e-10)
    full = rods.Rectangle(b, a).constants(0.3).J
    assert full == pytest.approx(torsion, rel=1e-13)


def test_torsion_of_an_equilateral_triangle():
    found = rods.Polygon([(0, 0), (2, 0), (1, np.sqrt(3))])
    assert found.torsion == pytest.approx(np.sqrt(3) / 80 * 16, rel=1e-12)


def test_torsion_of_an_angle_agrees_with_differences():
    """Its corner inside is singular. Three meshes of finite differences, extrapolated with the order 4/3 of that."""
    from scipy.sparse import diags, eye, kron
    from scipy.sparse.linalg import spsolve

    sums = []
    for n in (16, 32, 64):  # for a unit of length
        line = diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(3 * n - 1,) * 2)
        every = kron(line, eye(3 * n - 1)) + kron(eye(3 * n - 1), line)
        i, j = np.divmod(np.arange((3 * n - 1) ** 2), 3 * n - 1)
        inside = (i < n - 1) | (j < n - 1)
        phi = spsolve((every.tocsr()[inside][:, inside]).tocsc(), np.full(inside.sum(), -2.0 / n**2))
        sums.append(2.0 * phi.sum() / n**2)
    slow = (np.array(sums[1:]) * 2 ** (4 / 3) - sums[:-1]) / (2 ** (4 / 3) - 1)
    known = (4 * slow[1] - slow[0]) / 3
    assert rods.Polygon(ANGLE).torsion == pytest.approx(known, rel=2e-4)


def test_an_angle_bends_about_its_principal_axes():
    """A force along z moves the tip along y as well; the same as constants in principal axes, turned by 45 degrees."""
    metal, size = rods.Material(2e11, 0.3, 7800.0), 0.01
    section = rods.Polygon(size * np.array(ANGLE, dtype=float))
    Iy, Iz, mixed = section.moments
    assert Iy == pytest.approx(Iz)
    own = rods.Constants(5 * size**2, Iy + mixed, Iy - mixed, section.torsion)
    line, tips = rods.Line((0, 0, 0), (1, 0, 0)), []
    for one, up in ((section, (0, 0, 1)), (own, (0, 1, 1))):
        rod = ch.Rod("r", line, one, metal, ("ground", "free"), 8, up=up)
        load = ch.Wrench("P", "r@1", (0, 0, 0, 0, 0, 300.0), "hybrid")
        system = ch.System(rods=[rod], forces=[load])
        tips.append(ch.equilibrium(system).pose("r@1")[4:])
        tips.append(np.sort(np.abs(ch.linearize(system.with_gravity((0, 0, 0))).eigenvalues.imag))[:12])
    assert tips[0] == pytest.approx(tips[2], rel=1e-9)
    assert abs(tips[0][1]) > 0.3 * tips[0][2]
    assert tips[1] == pytest.approx(tips[3], rel=1e-8)


def test_in_a_file():
    text = """
    [[rods]]
    name = "r"
    curve = { kind = "line", start = [0, 0, 0], end = [1, 0, 0] }
    section = { kind = "polygon", points = [[0, 0], ["20 mm", 0], [0, "10 mm"]], J = 5e-10 }
    material = { E = "70 GPa", density = 2700 }
    """
    system = study_of_text(text, Path()).system
    section = system.rods[0].section
    assert section == rods.Polygon([(0, 0), (0.02, 0), (0, 0.01)], 5e-10)
    assert system.mass == pytest.approx(2700 * 1e-4)
    assert study_of_text(model_text(system), Path()).system == system


@pytest.mark.parametrize(
    ("points", "more", "message"),
    [
        ([(0, 0), (1, 0)], {}, "has 2 points; expected three or more"),
        ([(0, 0), (1, 1), (2, 2)], {}, "or no area"),
        ([(0, 0), (0, 0), (1, 0), (0, 1)], {}, "two neighbors that are the same"),
        ([(0, 0), (1, 1), (1, 0), (0, 2)], {}, "its sides from points 0 and 2 cross"),
        ([(0, 0, 0)] * 3, {}, r"points has shape \(3, 3\); expected \(3, 2\)"),
        (ANGLE, {"J": -1.0}, "J is -1; expected a positive number"),
        (ANGLE, {"shear": 0.0}, r"shear is 0\.0; expected positive numbers"),
    ],
)
def test_mistakes_are_named(points, more, message):
    with pytest.raises(ValueError, match=f"section polygon: .*{message}"):
        rods.Polygon(points, **more)


def test_thin_walls_ask_for_their_torsion():
    channel = [(0, 0), (9, 0), (9, 9), (8, 9), (8, 1), (1, 1), (1, 9), (0, 9)]
    with pytest.raises(ValueError, match=r"constant of torsion is known to .* parts of it are thin; give J"):
        rods.Polygon(channel).constants(0.3)
    assert rods.Polygon(channel, J=8.3).constants(0.3).J == 8.3
