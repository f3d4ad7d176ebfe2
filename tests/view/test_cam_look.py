"""Cams are drawn where they are: on their curve, closed surfaces with their normals outside."""

import numpy as np
import pytest

import chasles as ch
from chasles.view.page_data import scene_data
from chasles.view.part import ON_GROUND
from chasles.view.raster.model import Solids
from chasles.view.scene import scene_of

ANGLES = np.linspace(0, 2 * np.pi, 24, endpoint=False)
CIRCLE = 0.05 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


def scene(profile, **more):
    bodies = [ch.Body(name, 1.0, (0, 0, 0), (1e-3, 1e-3, 1e-3)) for name in ("disk", "follower")]
    joints = [
        ch.revolute("axle", "ground", "disk", axis=(0, 0, 1)),
        ch.prismatic("stem", "ground", "follower", axis=(0, 1, 0)),
    ]
    cam = ch.Cam("cam", ("disk", "follower"), profile, point=(0, 0.01, 0), at=(0.1, 0, 0), **more)
    return scene_of(ch.System(bodies, joints, constraints=[cam]))


@pytest.mark.parametrize("profile", [CIRCLE, CIRCLE[::-1]], ids=["left", "right"])
def test_a_closed_cam_is_a_disk_with_its_outside_outside(profile):
    found = scene(profile, radius=0.02)
    (disk,) = found.bodies[0].parts
    points = disk.points()
    edge = np.linalg.norm(points[:, :2] - [0.1, 0.0], axis=1)
    assert np.abs(edge[:-2] - 0.05).max() < 1e-4
    corners = disk.vertices[disk.triangles]
    volume = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(np.pi * 0.05**2 * np.ptp(points[:, 2]), rel=0.01)
    roller = found.bodies[1].parts[-1]
    assert (roller.kind, roller.size, roller.pose[4:]) == ("sphere", (0.02,), (0.0, 0.01, 0.0))


def test_others_are_bands():
    for more in ({"radius": -0.01}, {"closed": False}):
        (band,) = scene(CIRCLE[:20], **more).bodies[0].parts
        assert len(np.unique(np.sort(band.triangles, axis=1), axis=0)) == len(band.triangles) / 2


def test_a_cam_on_the_ground_stands_there_and_is_in_the_picture():
    body = ch.Body("follower", 1.0, (0, 0, 0), (1e-3, 1e-3, 1e-3))
    cam = ch.Cam("track", ("ground", "follower"), CIRCLE, at=(0.1, 0, 0), radius=0.02)
    stem = ch.prismatic("stem", "ground", "follower", axis=(0, 1, 0))
    found = scene_of(ch.System([body], [stem], constraints=[cam]))
    (disk,) = found.standing
    assert np.abs(np.linalg.norm(disk.points()[:-2, :2] - [0.1, 0.0], axis=1) - 0.05).max() < 1e-4
    assert found.bodies[0].parts[-1].size == (0.02,)
    still = np.array([[[1.0, 0, 0, 0, 0, 0, 0]]])
    assert found.bounds(still)[1][0] == pytest.approx(0.15, abs=1e-4)
    drawn = Solids(found)
    body, start, stop = drawn.ranges[0]
    assert body == ON_GROUND
    assert np.abs(drawn.vertices[start:stop, 0]).max() == pytest.approx(0.15, abs=1e-4)
    assert len(scene_data(found, np.zeros((0, 3)))["standing"]) == 1


def test_a_roller_on_the_ground_stands_there():
    body = ch.Body("disk", 1.0, (0, 0, 0), (1e-3, 1e-3, 1e-3))
    cam = ch.Cam("cam", ("disk", "ground"), CIRCLE, point=(0, 0.07, 0), radius=0.02)
    slot = ch.planar("slot", "ground", "disk", normal=(0, 0, 1))
    (roller,) = scene_of(ch.System([body], [slot], constraints=[cam])).standing
    assert (roller.kind, roller.pose[4:]) == ("sphere", (0.0, 0.07, 0.0))
