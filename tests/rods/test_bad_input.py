"""What is wrong with a rod is said before anything is computed, with its name and what was expected."""

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.simulation.simulate import plan
from chasles.simulation.start.doubts import doubts

LINE, METAL = rods.Line((0, 0, 0), (1, 0, 0)), rods.Material(7e10, density=2700.0)
ROUND = rods.Circle(0.01)


def rod(**changes) -> ch.Rod:
    given = {"curve": LINE, "section": ROUND, "material": METAL, "elements": 4}
    return ch.Rod("r", **{**given, **changes})


def system(*, joints=(), forces=(), **changes) -> ch.System:
    return ch.System([ch.Body("hub", 1.0, inertia=(1, 1, 1))], joints, forces=forces, rods=[rod(**changes)])


CASES = {
    "zero length": (lambda: rod(curve=rods.Line((1, 0, 0), (1, 0, 0))), "length 0; expected a positive"),
    "turns": (
        lambda: system(curve=rods.Arc((1, 0, 0), (0, 0, 0), (0, 0, 1), 20.0)),
        r"element 0 turns by 5 rad .* expected at most 3, better 1: 20 elements",
    ),
    "many turns": (lambda: system(curve=rods.Helix((1, 0, 0), (0, 0, 0), (0, 0, 1), 0.1, 8)), "turns by .* rad"),
    "no elements": (lambda: rod(elements=0), "elements is 0; expected 1 or more"),
    "many elements": (lambda: rod(elements=10**9), "elements is 1000000000; expected 1 or more, at most 100000"),
    "six and matrix": (
        lambda: rod(section=(rods.Stiffness((1, 1, 1, 1, 1, np.inf)), rods.Stiffness(np.eye(6) + 0.1))),
        r"rod 'r': matrix has shapes \(6,\) and \(6, 6\) at its ends; expected the same",
    ),
    "stiff at one end": (
        lambda: rod(section=(rods.Stiffness((1, 1, 1, 1, np.inf, np.inf)), rods.Stiffness((1,) * 6))),
        "rod 'r': shear stiffness is infinite at one end only",
    ),
    "factor at one end": (
        lambda: rod(section=(rods.Rectangle(1, 1), rods.Rectangle(1, 1, 0.8))),
        r"rod 'r': shear is None and \(0\.8, 0\.8\) at its ends|rod 'r': shear is None and 0\.8 at its ends",
    ),
    "half an element": (lambda: rod(elements=2.5), r"elements is 2\.5"),
    "one end": (lambda: rod(ends="hub"), "ends is 'hub'; expected two"),
    "unknown end": (lambda: system(ends=("hbu", "free")), "'hbu', which is not a body; did you mean 'hub'"),
    "itself": (lambda: rod(ends=("r[4]", "free")), "cannot be welded to itself"),
    "nothing between": (lambda: rod(ends=("ground", "ground"), elements=1), "no node between"),
    "one body": (lambda: system(ends=("hub", "hub"), elements=1), "both ends of element 0 are on 'hub'"),
    "no material": (lambda: rod(material=None), r"material is None; expected chasles\.rods\.Material"),
    "section": (lambda: rod(section="circle"), "section is 'circle'; expected one such as"),
    "two kinds": (lambda: rod(section=(ROUND, rods.Rectangle(1, 1))), "two of a kind"),
    "indefinite": (
        lambda: rods.Stiffness(np.eye(6) - 1.0),
        r"section stiffness: matrix has a negative eigenvalue|matrix .* positive definite",
    ),
    "singular": (lambda: rods.Stiffness((1, 1, 1, 1, 1, 0)), "positive definite"),
    "stiff bending": (lambda: rods.Stiffness((1, np.inf, 1, 1, 1, 1)), "only the last two, of shear"),
    "stiff helix": (
        lambda: rod(section=rods.Stiffness((1, 1, 1, 1, np.inf, 1)), element="helix"),
        "shear stiffness is infinite",
    ),
    "radius": (lambda: rods.Circle(-1.0), r"radius is -1\.0; expected positive"),
    "tube": (lambda: rods.Tube(0.1, 0.2), "inner is 0.2; expected less than the radius"),
    "poisson": (lambda: rods.Material(1.0, 0.7), r"nu is 0\.7"),
    "up": (lambda: system(up=(1, 0, 0)), "along the rod at its start"),
    "spline": (lambda: rods.Spline([(0, 0, 0)]), "1 points; expected two or more"),
    "same points": (lambda: rods.Spline([(0, 0, 0), (0, 0, 0), (1, 0, 0)]), "are the same"),
    "arc on its axis": (lambda: rods.Arc((0, 0, 1), (0, 0, 0), (0, 0, 1), 1.0), "is on the axis"),
    "no such node": (
        lambda: system(forces=[ch.Wrench("w", "r[5]", (0,) * 6)]),
        r"there is no body 'r\[5\]'",
    ),
    "welded end": (
        lambda: system(ends=("hub", "free"), forces=[ch.Wrench("w", "r[0]", (0,) * 6)]),
        r"'r\[0\]' is an end that is welded to 'hub'; name that body",
    ),
    "arc length": (lambda: rod().at(0.3), r"no node at 0\.3 m; the nearest are 'r\[1\]' at 0\.25 m"),
    "no arc length": (lambda: rod().at(np.nan), "rod 'r': the arc length is not finite"),
    "twice": (lambda: ch.System(rods=[rod(), rod()]), "rods and reduced bodies: the name 'r' is used 2 times"),
    "name taken": (lambda: ch.System([ch.Body("r[2]", 1.0)], rods=[rod()]), r"'r\[2\]'"),
    "no mass": (
        lambda: ch.simulate(system(material=rods.Material(1e9)), (0, 1), coordinates="absolute"),
        r"node 'r\[0\]' of a rod has mass 0 .* give the material a density",
    ),
    "no mass in a tree": (
        lambda: ch.simulate(system(material=rods.Material(1e9), ends=("ground", "free")), (0, 1)),
        r"node 'r\[1\]' of a rod has no mass.* give the material a density",
    ),
    "a later rod": (
        lambda: ch.System(rods=[rod(ends=("s[2]", "free")), ch.Rod("s", LINE, ROUND, METAL)]),
        r"'s\[2\]', of rod 's', which comes later; list that first",
    ),
    "loads": (lambda: rod(loads=3), r"loads is \(3,\); expected a list of chasles.rods.Load"),
    "law of a load": (lambda: rods.Load((0, 0, 0, 0, 0, "sin(x)")), r"load: 'sin\(x\)': 'x' is unknown here"),
    "steps": (lambda: ch.equilibrium(ch.System([ch.Body("b", 1.0)]), steps=3), "steps are for systems with rods"),
    "no number at rest": (
        lambda: ch.equilibrium(system(ends=("ground", "free"), intrinsic={"bend_z": "log(s - 2)"})),
        "forces are not finite at t = 0 s; a law has no value there",
    ),
    "no number at the start": (
        lambda: ch.simulate(
            ch.System(rods=[rod(ends=("ground", "free"), intrinsic={"bend_z": "sqrt(t - 1)"})]),
            (0, 1),
            coordinates="absolute",
            method="generalized_alpha",
            step=1e-3,
        ),
        r"the law '0\.0, 0\.0, sqrt\(t - 1\), .* of 'r\[0\]' is not finite at t = 0 s, at the start",
    ),
    "no load": (
        lambda: rods.load_path(ch.System(rods=[rod(ends=("ground", "free"))], gravity=(0, 0, 0))),
        "neither gravity nor a constant wrench",
    ),
    "continuation": (lambda: ch.continuation(lambda x: system(ends=("ground", "hub")), (0, 1)), "load_path"),
}


@pytest.mark.parametrize("name", CASES)
def test_mistakes_are_named(name):
    make, message = CASES[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_masses_are_those_of_the_rod():
    """Whatever the ends are welded to, all of it is there but what the ground holds; and again after a change."""
    mass, weight = 2700 * np.pi * 0.01**2, 3 / 8 / 16
    for ends, held in ((("free", "free"), 0.0), (("hub", "free"), 0.0), (("ground", "free"), weight)):
        one = system(ends=ends, elements=16)
        assert one.mass == pytest.approx(1.0 + mass * (1 - held))
        again = one.with_gravity((0, 0, 0)).with_body(ch.Body("more", 1.0))
        assert again.mass == pytest.approx(one.mass + 1.0)
        assert len(again.bodies) == len(one.bodies) + 1


def test_a_joint_at_a_node_takes_the_place_of_its_own():
    pin = ch.revolute("pin", "hub", "r[0]", axis=(0, 0, 1), at=(0.5, 0, 0))
    one = system(joints=[pin])
    assert [joint.name for joint in one.joints] == ["pin", "r[1]", "r[2]", "r[3]", "r[4]"]
    assert rod().at(0.75) == "r[3]"
    attached = ch.System([ch.Body("base", 1.0)]).attach(one, ch.weld("w", "base", "hub"), "a.")
    assert attached.rod("a.r").ends == ("free", "free")
    assert "a.r[4]" in [body.name for body in attached.bodies]


def test_ends_that_are_held_elsewhere_are_doubted():
    """A rod of 1 m between the ground and a pin at 1.5 m starts with a stretched element; `chasles check` says so, too,
    and doubts units."""
    pin = ch.revolute("pin", "ground", "r[4]", axis=(0, 1, 0), at=(1.5, 0, 0))
    soft = rods.Material(70.0, density=2.7)
    one = ch.System(joints=[pin], rods=[rod(ends=("ground", "free"), material=soft, section=rods.Circle(20.0))])
    task_lines = doubts(one, {}, plan(one, (0, 1), coordinates="absolute"))
    with pytest.warns(RuntimeWarning, match="at the start element 3 of rod 'r' is stretched or sheared by 200 %"):
        ch.simulate(one, (0, 1e-6), coordinates="absolute", method="generalized_alpha", step=1e-6, certificate=False)
    for part in ('for GPa write "70 GPa"', 'for g/cm³ write "2.7 g/cm^3"', "40 m thick and 1 m long", "by 200 %"):
        assert any(part in line for line in task_lines)


def test_a_run_that_breaks_off_names_the_element():
    """Two elements of rubber cannot hang: each would turn by half a turn."""
    rubber = rods.Material(1e6, 0.3, 1000.0)
    one = ch.System(rods=[rod(ends=("ground", "free"), material=rubber, section=rods.Circle(0.02), elements=2)])
    how = {"coordinates": "absolute", "method": "generalized_alpha", "step": 2e-3, "certificate": False}
    with pytest.raises(ch.errors.StepError, match=r"element 0 of rod 'r' turns by 3\.\d rad; expected at most 1: more"):
        ch.simulate(one, (0, 3), **how)


def test_an_equilibrium_of_a_rod_that_is_held_elsewhere_says_so():
    """The slider is at the origin, and the rod's end, which is hinged to it, at 1 m."""
    joints = [ch.revolute("a", "ground", "r[0]", axis=(0, 1, 0)), ch.prismatic("b", "ground", "hub", axis=(1, 0, 0))]
    with pytest.raises(
        RuntimeError, match=r"element 3 of rod 'r' is stretched .* is the rod held where its curve ends"
    ):
        ch.equilibrium(system(joints=[*joints, ch.revolute("c", "hub", "r[4]", axis=(0, 1, 0))]))


def test_a_taper_without_shear_has_none_at_its_end():
    """Between two sections of infinite stiffness, at both ends too; the tip deflects as by ∫ (1-s)²/EI ds."""
    ends = [rods.Stiffness((1, EI, EI, 1e6, np.inf, np.inf)) for EI in (2.0, 1.0)]
    one = ch.Rod("r", LINE, ends, ends=("ground", "free"), elements=8)
    load = ch.Wrench("P", "r@1", (0, 0, 0, 0, 0, 1e-6), "hybrid")
    found = ch.equilibrium(ch.System(rods=[one], forces=[load], gravity=(0, 0, 0)))
    assert found.pose("r@1")[6] == pytest.approx(1e-6 * (np.log(2) - 0.5), rel=1e-6)
