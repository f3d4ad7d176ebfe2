"""Errors of meshes, against what they are."""

import numpy as np
import pytest

import chasles as ch
from chasles import rods
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
    nodes = np.array([run[f"finger[{k}]"].pose[:, :4] for k in range(13)])
    angle = 2 * np.arccos(np.abs(np.sum(nodes[1:] * nodes[:-1], axis=-1))).max()
    assert turn.value == pytest.approx(angle, rel=1e-2)  # checkpoints are not the points of the run
    bent = np.abs(run.rod("finger").strains[..., 1]).max()  # beyond its intrinsic curvature
    assert strain.value == pytest.approx(bent * 8e-3, rel=1e-2)
    assert run.certificate.passed
    judged = ch.certify(run, {"fiber": 0.05})
    assert judged.status == "failed"
    assert "strain of a fiber" in judged.reason
