"""Errors of meshes, against what they are."""

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.certificate.verdict import Certificate, Finding
from tests.rods.test_statics import BEND, bend, tip


def end(system: ch.System) -> np.ndarray:
    rod = system.rods[0]
    return ch.equilibrium(system).pose(rod.nodes[-1])[4:]


@pytest.mark.parametrize(("element", "order"), [("magnus", 4.0), ("helix", 2.0)])
def test_the_estimate_is_the_error(element, order):
    system = bend(16, element)
    found = rods.mesh_error(system)
    true = np.abs(tip(ch.equilibrium(system), 16) - BEND).max()
    assert found.error == pytest.approx(true, rel=0.1)
    assert found.order == pytest.approx(order, abs=0.1)
    assert found.elements == {"b": 16}
    assert rods.mesh_error(system, end).error == pytest.approx(found.error)
    assert "observed order" in str(found)


def test_a_mesh_for_an_accuracy():
    fine = rods.refined(bend(3), 1e-3)
    assert fine.rods[0].elements == 12
    assert np.abs(tip(ch.equilibrium(fine), 12) - BEND).max() < 1e-3
    (load,) = [force for force in fine.forces if force.name == "P"]
    assert load.body == "b[12]"


def test_what_is_at_nodes_stays_at_its_place():
    line, metal = rods.Line((0, 0, 0), (1, 0, 0)), rods.Material(1e9, density=1000.0)
    one = ch.Rod("one", line, rods.Circle(0.01), metal, ("ground", "free"), 8)
    two = ch.Rod("two", line, rods.Circle(0.01), metal, ("one[4]", "free"), 4)
    pin = ch.revolute("pin", "one[8]", "two[2]", axis=(0, 0, 1))
    system = ch.System(joints=[pin], frames=[ch.Frame("eye", "one[2]")], rods=[one, two])
    coarse = rods.with_elements(system, {"one": 4, "two": 2})
    assert coarse.rod("two").ends == ("one[2]", "free")
    assert (coarse.joint("pin").parent, coarse.joint("pin").child) == ("one[4]", "two[1]")
    assert coarse.frame("eye").body == "one[1]"
    assert rods.with_elements(coarse, {"one": 8, "two": 4}) == system
    with pytest.raises(ValueError, match=r"frame 'eye' is at 'one\[2\]', where the new mesh has no node"):
        rods.with_elements(system, {"one": 2})
    with pytest.raises(ValueError, match="there is no rod 'tow'"):
        rods.with_elements(system, {"tow": 2})
    with pytest.raises(ValueError, match="rod 'b' has 6 elements; expected multiples of four"):
        rods.mesh_error(bend(6))
    with pytest.raises(ValueError, match=r"accuracy is 0\.0"):
        rods.refined(system, 0.0)


def test_lines_of_the_certificate():
    run = ch.load("tendon_finger").run(span=(0, 0.6), progress=False)
    turn, strain = (run.certificate[name] for name in ("turn in an element", "strain of a fiber"))
    nodes = run.rod("finger").nodes[..., :4].swapaxes(0, 1)
    angle = 2 * np.arccos(np.abs(np.sum(nodes[1:] * nodes[:-1], axis=-1))).max()
    assert turn.value == pytest.approx(angle, rel=1e-2)  # checkpoints are not the points of the run
    moment = np.abs(run.rod("finger").sections[..., 1]).max()  # at the clamp, of what is beyond its intrinsic curvature
    assert strain.value == pytest.approx(moment / (1e6 * np.pi * 8e-3**4 / 4) * 8e-3, rel=1e-2)
    assert run.certificate.passed
    judged = ch.certify(run, {"fiber": 0.05})
    assert judged.status == "failed"
    assert "strain of a fiber" in judged.reason


def soft(n: int, element: str = "magnus", **more) -> ch.System:
    """A rubber rod that falls from horizontal and hangs after 0.3 s."""
    rubber = rods.Material(1e6, 0.3, 1000.0, **more)
    line, ends = rods.Line((0, 0, 0), (1, 0, 0)), ("ground", "free")
    return ch.System(rods=[ch.Rod("b", line, rods.Circle(0.02), rubber, ends, n, damping=1e-3, element=element)])


def cable(n: int, element: str = "magnus") -> ch.System:
    """A rod on a hinge."""
    rubber, line = rods.Material(1e6, 0.3, 1000.0), rods.Line((0, 0, 0), (1, 0, 0))
    rod = ch.Rod("b", line, rods.Circle(0.02), rubber, elements=n, damping=1e-2, element=element)
    return ch.System(joints=[ch.revolute("pin", "ground", "b[0]", axis=(0, 1, 0))], rods=[rod])


def shaft(n: int, element: str = "magnus") -> ch.System:
    """A rod that a torque twists to and fro: nodes turn in their places."""
    steel, line = rods.Material(1e7, 0.3, 1000.0), rods.Line((0, 0, 0), (1, 0, 0))
    rod = ch.Rod("b", line, rods.Circle(0.02), steel, ("ground", "free"), n, element=element, damping=1e-4)
    torque = ch.Wrench("T", f"b[{n}]", ("0.05 * sin(40 * t)", 0, 0, 0, 0, 0), "body")
    return ch.System(rods=[rod], forces=[torque], gravity=(0, 0, 0))


def elbow(n: int, element: str = "magnus") -> ch.System:
    """Two rods, one welded to the middle of the other."""
    rubber = rods.Material(2e6, 0.3, 1000.0)
    how = {"section": rods.Circle(0.02), "material": rubber, "elements": n, "damping": 1e-3, "element": element}
    one = ch.Rod("b", rods.Line((0, 0, 0), (1, 0, 0)), ends=("ground", "free"), **how)
    two = ch.Rod("c", rods.Line((0, 0, 0), (0, 0.5, 0)), ends=(f"b[{n // 2}]", "free"), **how)
    return ch.System(rods=[one, two])


def moved(system: ch.System, end: float, step: float = 2e-3) -> ch.Run:
    how = {"coordinates": "absolute", "method": "generalized_alpha", "step": step, "certificate": False}
    return ch.simulate(system, (0, end), **how)


def line_and_truth(make, n: int, finest: int, end: float, effort: float = 1.0, **more) -> tuple[float, float]:
    """The line of the certificate, and how far all nodes are from those of a much finer mesh, of how far they move."""
    run, fine = moved(make(n, **more), end), moved(make(finest), end)
    true = 0.0
    for rod in run.mechanism.system.rods:
        nodes, others = run.rod(rod.name).nodes, fine.rod(rod.name).nodes[:, :: finest // n]
        turns = [
            2 * np.arccos(np.minimum(np.abs(np.sum(a[..., :4] * b[..., :4], axis=-1)), 1.0))
            for a, b in ((nodes, others), (nodes, nodes[:1]))
        ]
        away = [np.linalg.norm(a[..., 4:] - b[..., 4:], axis=-1) for a, b in ((nodes, others), (nodes, nodes[:1]))]
        true = max(true, turns[0].max() / turns[1].max(), away[0].max() / max(away[1].max(), 1e-9))
    return ch.certify(run, effort=effort)["mesh"].value, true


def test_the_certificate_sees_a_coarse_mesh():
    coarse, fine = (ch.certify(moved(soft(n), 0.3)) for n in (4, 16))
    assert not coarse["mesh"].passed
    assert "mesh of rods" in coarse.reason
    assert any("16 in 'b'" in line for line in coarse.advice)
    assert fine["mesh"].passed
    assert ch.certify(moved(soft(16), 0.3), {"mesh": 1e-5})["mesh"].mark == "FAILED"


@pytest.mark.study
@pytest.mark.parametrize("effort", [0.01, 1.0])  # too little for twice as many elements, and enough
@pytest.mark.parametrize("element", ["magnus", "helix"])
@pytest.mark.parametrize("n", [4, 8, 16])
@pytest.mark.parametrize(("make", "end"), [(soft, 0.6), (cable, 0.6), (shaft, 0.5), (elbow, 0.5)])
def test_the_line_has_the_size_of_the_error(make, end, n, element, effort):
    """Never less than a third of the truth. At most what half of the elements are off by: 16 times it, of order 4."""
    line, true = line_and_truth(make, n, 64, end, effort, element=element)
    assert true / 3 < line < 16 * true


def test_a_mesh_that_cannot_be_halved_is_not_judged():
    """An odd number of elements, and no time for twice as many."""
    found = ch.certify(moved(soft(5), 0.1), effort=1e-3)
    assert found["mesh"].mark == "not judged"
    assert "multiples of four" in found["mesh"].note


@pytest.mark.parametrize("modes", [None, 2])
def test_the_estimate_is_told_in_joint_coordinates(modes):
    """Of a rod with some strains, in motion at the start: elements of other meshes have together the strains and rates
    that they had."""
    line, rubber = rods.Line((0, 0, 0), (1, 0, 0)), rods.Material(1e6, density=1e3)
    how = {"ends": ("ground", "free"), "strains": ("bend_y", "bend_z"), "modes": modes, "damping": 1e-2}

    def run(n):
        system = ch.System(rods=[ch.Rod("b", line, rods.Circle(0.02), rubber, elements=n, **how)])
        mechanism, v = system.compile(), np.zeros(2 * (modes or n))
        if modes is None:
            v[0 :: 2 * 2], v[3 :: 2 * 2] = 8.0 / n, 8.0 / n  # bend_y, whose place in its joint changes
        else:
            v[0] = 8.0 / n
        return ch.simulate(mechanism, (0, 0.05), v=v, certificate=False, save=np.linspace(0, 0.05, 6))

    coarse, fine = run(8), run(32)
    off = np.linalg.norm((coarse.rod("b").nodes - fine.rod("b").nodes[:, ::4])[..., 4:], axis=-1).max()
    far = np.linalg.norm((coarse.rod("b").nodes - coarse.rod("b").nodes[:1])[..., 4:], axis=-1).max()
    found = ch.certify(coarse)["mesh"]
    assert off / far / 3 < found.value < 16 * off / far
    assert (found.tolerance is None) == (modes is None)  # polynomials are judged; strains of each element are a choice
    assert ("not judged, because the rod has selected strains only" in found.note) == (modes is None)


def test_meshes_that_are_not_compared_say_why():
    line, rubber = rods.Line((0, 0, 0), (1, 0, 0)), rods.Material(1e6, density=1e3)
    arm = ch.Rod("b", line, rods.Circle(0.02), rubber, ("ground", "free"), 4, strains="bend_y")
    how = {"coordinates": "absolute", "method": "generalized_alpha", "step": 1e-3, "certificate": False}
    run = ch.simulate(ch.System(rods=[arm]), (0, 0.01), **how)
    assert "not judged: rod 'b' has some strains only" in ch.certify(run)["mesh"].note


def test_the_strain_that_a_material_takes_is_judged():
    free, limited = (ch.certify(moved(soft(8, **more), 0.1)) for more in ({}, {"strain_limit": 1e-3}))
    assert free["fiber"].tolerance is None
    assert limited["fiber"].tolerance == 1e-3
    assert not limited["fiber"].passed
    assert ch.certify(moved(soft(8, strain_limit=10.0), 0.1), {"fiber": 1e-3})["fiber"].tolerance == 1e-3
    with pytest.raises(ValueError, match=r"material: strain_limit is -1; expected a positive number"):
        rods.Material(1e6, strain_limit=-1)


def test_the_verdict_counts_the_error_of_the_mesh():
    def reason(*findings: tuple[str, float, float | None]) -> str:
        return Certificate("", tuple(Finding(*one) for one in findings), "", success=True).reason

    step = ("error estimate", 2e-7, 1e-3)
    said = "correct to about {} digits of the motion of each joint"
    assert reason(step) == said.format(6)
    assert reason(step, ("mesh of rods", 1.2e-3, 1e-2)) == said.format(2) + " and rod"
    assert reason(step, ("mesh of rods", 1e-9, 1e-2)) == said.format(6) + " and rod"
    assert reason(step, ("mesh of rods", 2e-2, None)).endswith(
        "each joint; its mesh, which is not judged, is off by 2.00e-02"
    )
    assert reason(step, ("mesh of rods", np.nan, None)) == reason(step)
