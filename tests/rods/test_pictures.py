"""Rods in pictures and on the page: their surfaces, and what colors them."""

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.view.page_data import run_data
from chasles.view.rod_tubes import EDGES, RodTubes, swept
from chasles.view.solids import rod_colors


def loaded(section=None, **more) -> ch.System:
    """A cantilever of 1 m with a force across at its end, heavily damped."""
    section = rods.Circle(0.02) if section is None else section
    material = rods.Material(1e7, 0.3, 1000.0)
    rod = ch.Rod("r", rods.Line((0, 0, 0), (1, 0, 0)), section, material, ("ground", "free"), 4, damping=1.0, **more)
    force = ch.Wrench("P", "r[4]", (0, 0, 0, 0, 0, 0.1), "hybrid")
    return ch.System(rods=[rod], forces=[force], gravity=(0, 0, 0))


@pytest.fixture(scope="module")
def run():
    options = {"coordinates": "absolute", "method": "generalized_alpha", "step": 0.05, "certificate": False}
    return ch.simulate(loaded(), (0, 10.0), **options)


def volume(surface) -> float:
    """By the flux of x / 3 through all triangles: right only if it is closed and seen from outside."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize("section", [rods.Circle(0.02), rods.Rectangle(0.03, 0.05)], ids=["round", "box"])
def test_the_surface_is_closed_and_has_the_volume_of_the_rod(section):
    rod = loaded(section).rods[0]
    s = np.linspace(0.0, 1.0, 5)
    surface, ring = swept(rod, rod.poses(s), s)
    area = EDGES / 2 * np.sin(2 * np.pi / EDGES) * 0.02**2 if isinstance(section, rods.Circle) else 0.03 * 0.05
    assert volume(surface) == pytest.approx(area, rel=1e-12)
    assert ring.max() == len(s)
    corners = surface.vertices[surface.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ti,ti->t", across, surface.normals[surface.triangles[:, 0]]) > 0.0).all()


def test_colors_are_those_of_the_moment(run):
    """At rest the moment falls from P L at the clamp to nothing at the end."""
    tubes = RodTubes(run, rod_colors(run.mechanism.system), "moment")
    assert 0.099 < tubes.largest < 0.12  # more on the way
    ((_, colors),) = tubes.surfaces(run.poses[-1], run.t[-1])
    least, most = tubes.shade(np.array([0.0, 0.1]))
    assert np.abs(colors[0] - most).max() < 0.1  # of the first ring
    assert np.abs(colors[-1] - least).max() < 0.02  # of the last end


def test_a_picture_is_colored_and_has_a_scale(run):
    plain, colored = (np.asarray(run.picture(10.0, size=(160, 120), color=color)) for color in (None, "moment"))
    differs = np.abs(plain.astype(int) - colored).max(axis=2) > 20
    assert differs.any()
    assert differs[100:, :80].any()


def test_the_page_has_its_rods(run):
    data = run_data(run)["rods"]
    assert [one["name"] for one in data["colorings"]] == ["moment", "torque", "axial", "shear", "strain"]
    assert data["rods"][0]["nodes"][0][0] == -1
    assert len(data["rods"][0]["nodes"]) == 5
    assert data["colorings"][0]["range"][0] == 0.0


@pytest.mark.parametrize(
    ("system", "color", "message"),
    [
        (loaded(strains=["bend_z"]), "torque", "no rod has the strains twist"),
        (loaded(), "momment", "did you mean 'moment'"),
        (ch.System([ch.Body("b", 1.0)]), "moment", "there are none"),
    ],
    ids=["held", "unknown", "no rods"],
)
def test_colors_that_cannot_be(system, color, message):
    from chasles.view.rod_tubes import check_coloring

    with pytest.raises(ValueError, match="picture: color") as error:
        check_coloring("picture", color, system.rods)
    assert message in str(error.value)
