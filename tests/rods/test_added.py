"""Masses that are fixed to sections of rods, and loads that change along them."""

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text

LINE = rods.Line((0, 0, 0), (1, 0, 0))
WEIGHTLESS = rods.Stiffness((1, 2, 3, 1e6, 1e6, 1e6))
STEEL = rods.Material(2e11, density=7800.0)


def test_weights_bend_and_twist_a_rod_without_mass():
    """Closed forms: deflections by weights at two places, the twist by the lever of one of them."""
    m, EI, GJ, a = 1e-6, 2.0, 1.0, 0.5
    added = [rods.Mass(a, m, (0, 0.1, 0)), rods.Mass(1.0, m)]
    rod = ch.Rod("r", LINE, WEIGHTLESS, ends=("ground", "free"), elements=4, added=added)
    system = ch.System(rods=[rod], gravity=(0, 0, -1))
    rest = ch.equilibrium(system)
    assert system.mass == pytest.approx(2 * m)
    assert rest.pose("r@0.5")[6] == pytest.approx(-m * (a**3 / 3 + a**2 * (3 - a) / 6) / EI, rel=2e-5)
    assert rest.pose("r@1")[6] == pytest.approx(-m * (1 / 3 + a**2 * (3 - a) / 6) / EI, rel=2e-5)
    assert rest.rod("r").nodes[:, 1] == pytest.approx(-0.025 * m / GJ * np.array([0, 0.5, 1, 1, 1]), rel=1e-6)


def test_what_a_weightless_rod_is_welded_to_keeps_its_center_of_mass():
    """The weight of the hub makes no torque on its mount."""
    hub, rod = ch.Body("hub", 1.0, inertia=(1,) * 3), ch.Rod("r", LINE, WEIGHTLESS, ends=("hub", "free"), elements=4)
    mount = ch.Bushing("mount", ("ground", "hub"), ((0, 0, 0), (0, 0, 0)), (1e4,) * 6)
    rest = ch.equilibrium(ch.System([hub], [ch.free("j", "ground", "hub")], forces=[mount], rods=[rod]))
    assert rest.pose("hub")[:4] == pytest.approx([1, 0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("more", [{}, {"strains": ("bend_y", "bend_z")}], ids=["all strains", "bends"])
def test_a_mass_moves_as_a_body_that_is_welded_there(more):
    """Also on an end that is welded to a body, in the axes of the section there."""
    inertia, com = (2e-5, 1e-5, 1.5e-5), (0.01, -0.02, 0.005)
    hub = ch.Body("hub", 1.0, inertia=(0.01,) * 3)
    turn = [ch.revolute("turn", "ground", "hub", axis=(0, 1, 0), stiffness=50.0)]
    places = (0.0, 0.5, 1.0)
    bare = ch.Rod("r", LINE, rods.Circle(0.003), STEEL, ("hub", "free"), 4, twist=0.5, **more)
    added = [rods.Mass(s, 0.02, com, inertia) for s in places]
    one = ch.System([hub], turn, rods=[ch.Rod(**{**vars_of(bare), "added": added})])
    bodies = [ch.Body(f"m{k}", 0.02, com, inertia) for k in range(3)]
    holders = ("hub", "r@0.5", "r@1")
    welds = [ch.weld(f"w{k}", holder, f"m{k}", at=bare.poses(0.0) if k == 0 else (0, 0, 0))
             for k, holder in enumerate(holders)]  # fmt: skip
    other = ch.System([hub, *bodies], [*turn, *welds], rods=[bare])
    values, known = (np.sort(np.abs(ch.linearize(each).eigenvalues.imag)) for each in (one, other))
    assert one.mass == pytest.approx(other.mass)
    assert values == pytest.approx(known, rel=1e-9, abs=1e-6)


def vars_of(rod: ch.Rod) -> dict:
    return {name: getattr(rod, name) for name in rod.__dataclass_fields__}


def test_a_load_that_changes_along_a_rod():
    """A triangular load q s/L on a cantilever: 11 q L⁴/(120 EI) at its tip; with time, by half of it."""
    for law, t, part in (("-1e-6 * s", 0.0, 1.0), ("-1e-6 * s * t", 0.5, 0.5)):
        rod = ch.Rod("r", LINE, WEIGHTLESS, ends=("ground", "free"), loads=[rods.Load((0, 0, 0, 0, 0, law))])
        rest = ch.equilibrium(ch.System(rods=[rod], gravity=(0, 0, 0)), t=t)
        assert rest.pose("r@1")[6] == pytest.approx(-part * 1e-6 * 11 / 120 / 2.0, rel=1e-4)
        assert rest.rod("r").ends[0, [1, 5]] == pytest.approx(part * 1e-6 * np.array([1 / 3, -0.5]), rel=1e-4)


TEXT = """
[parameters]
q = "-2 N/m"
[[rods]]
name = "r"
curve = { kind = "line", start = [0, 0, 0], end = [1, 0, 0] }
section = { kind = "circle", radius = "2 mm" }
material = { E = "70 GPa", density = 2700 }
ends = ["ground", "free"]
elements = { accuracy = "1 mm" }
loads = [{ value = [0, 0, 0, 0, 0, "q * s"] }]
added = [{ at = "300 mm", mass = "20 g", com = [0, 0, "5 mm"], inertia = [1e-6, 1e-6, 1e-6] }]
"""


def test_in_a_file(tmp_path):
    file = tmp_path / "beam.toml"
    file.write_text(TEXT)
    system = ch.load(file).system
    (rod,) = system.rods
    assert rod.added == (rods.Mass(0.3, 0.02, (0, 0, 0.005), (1e-6,) * 3),)
    assert rod.elements % 10 == 0  # a node is at 0.3 of it
    assert rod.loads[0].value[5] == "-2.0 * s"
    assert study_of_text(model_text(system), Path()).system == system
    assert rods.mesh_error(system.change("rods.r", elements=40)).error < 1e-3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('at = "300 mm"', "at = 1.3", r"rod 'r': added mass: there is no place at 1.3 m; rod 'r' goes from 0 to 1 m"),
        ('at = "300 mm", ', "", r"rods\[0\]\.added\[0\]: has no at: arc length"),
        ('"20 g"', "-1", r"added mass at 0.3 m: inertia has negative mass"),
        ('"20 g"', '"20 N"', r"rods\[0\]\.added\[0\]\.mass.*a force; expected a mass"),
        ("q * s", "q * z", r"rods\[0\]\.loads\[0\]\.value.*'z'"),
        ("q * s", "q / (s - s)", r"load: .*division by zero"),
        ('q = "-2 N/m"', 'q = 1\ns = 2', "uses 's', which is a parameter and the arc length; rename the parameter"),
        ("{ accuracy = \"1 mm\" }", "8", r"added mass: there is no node at 0.3 m; .* elements = 10 puts one there"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, old, new, message):
    file = tmp_path / "beam.toml"
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=message):
        ch.load(file)
