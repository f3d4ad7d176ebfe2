"""A kind of joint is known everywhere or nowhere: what is missing for a new one is listed here."""

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.io import spec
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text
from chasles.model.joint import KINDS

ARGUMENTS = {
    "universal": {"axes": [(1, 0, 0), (0, 1, 0)]},
    "planar": {"normal": (0, 0, 1)},
    "helical": {"axis": (0, 0, 1), "pitch": 0.1},
    "general": {"screws": [(0, 0, 1, 0, 0, 0.2), (1, 0, 0, 0, 0.3, 0)]},
    **{kind: {"axis": (0, 0, 1)} for kind in ("revolute", "prismatic", "cylindrical")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_known_to_all_layers(kind):
    joint = getattr(ch, kind)("j", "ground", "b", **ARGUMENTS.get(kind, {}))
    body = ch.Body("b", 1.0, (0.1, 0.2, 0.3), (0.3, 0.2, 0.25))
    system = ch.System([body], [joint])
    assert kind in spec.JOINTS, "io/spec.py: model files do not know it"
    again = study_of_text(model_text(system), Path()).system.joint("j")
    assert (again.kind, again.nq, again.nv) == (kind, joint.nq, joint.nv), "io/model_writer.py does not write it"
    tree = system.compile()
    assert (tree.nq, tree.nv) == (joint.nq, joint.nv), "relative/tree.py: no recursion"
    rows = sum(tile.rows for tile in system.compile("absolute").tiles)
    assert rows == 6 - joint.nv, "constraint/joints.py: no equations"
    at, speed = tree.neutral(), np.zeros(tree.nv)
    bodies = system.compile("absolute")
    found = bodies.accelerations(*(state := bodies.state(tree.poses(at))), bodies.accelerations_under(*state))
    expected = tree.accelerations(at, speed, tree.accelerations_under(at, speed))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
