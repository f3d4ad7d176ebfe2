"""Rods in pictures: pieces along their elements, on the bodies that carry them."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.view.picture import traced
from chasles.view.scene import scene_of

STEEL = ch.rods.Material(E=2.1e11, nu=0.3, density=7800.0)
COIL = ch.rods.Helix((0.05, 0, 0), (0, 0, 0), (0, 0, 1), 0.02, 2)


def rod(curve, section, ends=("ground", "free"), elements=12):
    return ch.Rod("rod", curve, section, STEEL, ends=ends, elements=elements)


def ends_of_pieces(rod, scene):
    """Where the round pieces begin and end in the reference, (pieces, 2, 3)."""
    places = dict(zip(rod.nodes, rod.mesh.poses, strict=True))
    found = []
    for body in scene.bodies:
        for part in body.parts:
            half = np.array([[0, 0, -part.size[1] / 2], [0, 0, part.size[1] / 2]])
            on_body = pose_group.act(np.array(part.pose), half)
            found.append(pose_group.act(places[body.name], on_body))
    return np.array(found)


def test_a_coil_is_drawn_along_its_curve():
    spring = rod(COIL, ch.rods.Circle(0.003), elements=24)
    pieces = ends_of_pieces(spring, scene_of(ch.System([], [], rods=[spring])))
    radius = np.linalg.norm(pieces[..., :2], axis=-1)
    assert np.abs(radius - 0.05).max() < 1e-12  # their ends are on the curve
    length = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1).sum()
    assert 0.99 * spring.length < length < spring.length  # chords of all of it, also of what the ground holds


@pytest.mark.parametrize("ends", [("ground", "free"), ("free", "free"), ("ground", "ground"), ("hub", "free")])
def test_all_of_it_is_drawn_whatever_holds_it(ends):
    strip = rod(ch.rods.Line((0.1, 0, 0), (1.1, 0, 0)), ch.rods.Rectangle(width=0.03, height=0.005), ends)
    hub = [ch.Body("hub", 1.0, inertia=(0.1, 0.1, 0.1), shapes=[ch.shapes.Sphere(0.05)])] if "hub" in ends else []
    scene = scene_of(ch.System(hub, [], rods=[strip]))
    boxes = [part for body in scene.bodies for part in body.parts if part.kind == "box"]
    assert sum(part.size[0] for part in boxes) == pytest.approx(1.02)
    assert all(part.size[1:] == pytest.approx((0.03, 0.005)) for part in boxes)
    assert len({part.color for part in boxes}) == 1


def test_only_ends_leave_trails():
    scene = scene_of(ch.System([], [], rods=[rod(COIL, ch.rods.Circle(0.003), ("free", "free"))]))
    assert [scene.bodies[body].name for body, *_ in traced(scene)] == ["rod[0]", "rod[12]"]
