"""The rasterizer against geometry that does not use it."""

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.policy import COMPILED
from chasles.view.raster.camera import MARGIN, fitting
from chasles.view.raster.fill import fill
from chasles.view.raster.render import Stage, round_number
from chasles.view.scene import scene_of
from chasles.view.solids import Part
from chasles.view.tessellate import Surface, mesh, surface, tube

pytestmark = pytest.mark.skipif(not COMPILED, reason="a loop over pixels")
IDENTITY = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def filled(points, triangles, size=(40, 30)):
    depth, seen = np.full(size[::-1], -np.inf, np.float32), np.full(size[::-1], -1, np.int32)
    numbers = np.arange(len(triangles))
    fill(np.asarray(points, float), np.asarray(triangles, np.int32), numbers, 0, size[1], depth, seen)
    return depth, seen


def inside(corners, size):
    """Samples whose centers lie in a triangle, one by one, and how near the center is to an edge."""
    x, y = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    a, b, c = (np.array(corner[:2]) for corner in corners)
    turn = np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    sides = [
        turn * ((q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])) / np.linalg.norm(q - p)
        for p, q in ((a, b), (b, c), (c, a))
    ]
    return np.min(sides, axis=0) >= 0, np.abs(sides).min(axis=0)


def test_a_triangle_covers_the_samples_in_it():
    rng = np.random.default_rng(5)
    for _ in range(200):
        corners = np.column_stack([rng.uniform(-10, 50, 3), rng.uniform(-10, 40, 3), rng.uniform(0.5, 2, 3)])
        depth, seen = filled(corners, [[0, 1, 2]])
        expected, edge = inside(corners, (40, 30))
        clear = edge > 1e-6
        np.testing.assert_array_equal((seen == 0)[clear], expected[clear])
        plane = np.linalg.solve(np.column_stack([corners[:, :2], np.ones(3)]), corners[:, 2])
        rows, columns = np.nonzero(seen == 0)
        wanted = plane[0] * (columns + 0.5) + plane[1] * (rows + 0.5) + plane[2]
        np.testing.assert_allclose(depth[rows, columns], wanted, rtol=1e-5)


def test_triangles_with_a_common_edge_leave_no_gap():
    rng = np.random.default_rng(6)
    for _ in range(50):
        square = np.column_stack([rng.uniform(0, 40, 4), rng.uniform(0, 30, 4), np.ones(4)])
        middle = square.mean(axis=0)
        order = np.argsort(np.arctan2(square[:, 1] - middle[1], square[:, 0] - middle[0]))
        points = np.concatenate([square[order], [middle]])
        fan = [[4, k, (k + 1) % 4] for k in range(4)]
        together = filled(points, fan)[1] >= 0
        each = np.any([inside(points[t], (40, 30))[0] for t in fan], axis=0)
        assert (together | ~each).all()


def test_the_nearest_is_seen_in_whatever_order():
    far = [(0, 0, 1.0), (40, 0, 1.0), (0, 60, 1.0)]
    tilted = [(0, 0, 0.5), (40, 0, 1.5), (0, 60, 0.5)]  # in front for x > 20
    seen = []
    for triangles in ([[0, 1, 2], [3, 4, 5]], [[3, 4, 5], [0, 1, 2]]):
        found = filled(far + tilted, triangles)[1]
        seen.append(np.where(found < 0, -1, np.array([t[0] for t in triangles])[found]))
    np.testing.assert_array_equal(*seen)
    assert (seen[0][5, :19] == 0).all()
    assert (seen[0][5, 21:30] == 3).all()


def test_what_is_behind_the_eye_or_no_surface_is_not_drawn():
    for corners in ([(0, 0, np.nan), (40, 0, 1), (0, 30, 1)], [(1, 1, 1), (5, 5, 1), (9, 9, 1)]):
        assert (filled(corners, [[0, 1, 2]])[1] == -1).all()


# ------------------------------------------------------------ solids


SOLIDS = {
    "box": (ch.shapes.Box((0.3, 0.5, 0.7)), (0.3, 0.5, 0.7)),
    "sphere": (ch.shapes.Sphere(0.4), (0.4,)),
    "cylinder": (ch.shapes.Cylinder(0.2, 0.9), (0.2, 0.9)),
    "capsule": (ch.shapes.Capsule(0.2, 0.9), (0.2, 0.9)),
    "ellipsoid": (ch.shapes.Ellipsoid((0.2, 0.3, 0.4)), (0.2, 0.3, 0.4)),
}


def volume(piece: Surface) -> float:
    a, b, c = (piece.vertices[piece.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("kind", SOLIDS)
def test_surfaces_are_closed_and_face_outwards(kind):
    shape, size = SOLIDS[kind]
    piece = surface(Part(kind, size, IDENTITY, (1, 0, 0, 1)))
    assert volume(piece) == pytest.approx(shape.volume, rel=0.012)  # a circle of 40 edges has 0.996 of its area
    corners = piece.vertices[piece.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ti,tki->tk", across, piece.normals[piece.triangles]) > 0).all()
    np.testing.assert_allclose(np.linalg.norm(piece.normals, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        piece.vertices.max(axis=0), Part(kind, size, IDENTITY, ()).points().max(axis=0), rtol=1e-3
    )


def test_meshes_are_smooth_within_faces_and_sharp_between():
    ball = surface(Part("sphere", (1.0,), IDENTITY, (1, 0, 0, 1)))
    smooth = mesh(ball.vertices, ball.triangles)
    exact = smooth.vertices / np.linalg.norm(smooth.vertices, axis=1, keepdims=True)
    along = np.abs(smooth.vertices[:, 2]) < 0.9
    assert (np.einsum("ij,ij->i", smooth.normals, exact)[along] > 0.98).all()
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
    ]
    cube = mesh(corners, np.array([*faces, [1, 5, 7], [1, 7, 3]], dtype=np.int32))
    assert volume(cube) == pytest.approx(1.0)
    assert (np.abs(cube.normals).max(axis=1) == 1.0).all()
    flat = mesh(np.zeros((3, 3)), np.array([[0, 1, 2]], dtype=np.int32))  # no area
    assert np.isfinite(flat.normals).all()


def test_a_tube_around_a_circle():
    angle = np.linspace(0, 2 * np.pi, 200)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    piece = tube(ring, 0.1, 32)
    assert volume(piece) == pytest.approx(2 * np.pi**2 * 0.1**2, rel=0.01)


# ------------------------------------------------------------ the eye


def test_a_ball_covers_its_projected_ellipse():
    """The area of the picture of a ball in perspective is π f² r² √(d² - r²) / (z² - r²)^(3/2)."""
    body = ch.Body("ball", 1.0, inertia=(1, 1, 1), shapes=[ch.shapes.Sphere(0.5, color=(1, 0, 0))])
    scene = scene_of(ch.System([body], [], gravity=(0, 0, 0)))
    camera = fitting(np.array([[-2.0, -2, -2], [2, 2, 2]]), np.zeros((1, 3)), np.array([0, 0, 1.0]), 4 / 3)
    stage = Stage(scene, None, np.zeros(3), 2.0)
    for place in ((0.0, 0, 0), (1.2, 0.7, 0.4), (-1.0, 0.2, -0.9)):
        image = stage.image(np.array([[1, 0, 0, 0, *place]]), camera, (400, 300), samples=1)
        red = image[..., 1] < 200
        seen = (np.array(place) - camera.eye) @ np.stack([camera.right, camera.down, camera.ahead], axis=1)
        f, r, d = camera.focus(300), 0.5, np.linalg.norm(seen)
        area = np.pi * f**2 * r**2 * np.sqrt(d**2 - r**2) / (seen[2] ** 2 - r**2) ** 1.5
        assert red.sum() == pytest.approx(area, rel=0.01)
        x, y = np.meshgrid((np.arange(400) + 0.5 - 200) / f, (np.arange(300) + 0.5 - 150) / f)
        ray = np.stack([x, y, np.ones_like(x)], axis=-1)
        ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
        hit = d**2 - (ray @ seen) ** 2 < r**2
        assert (hit != red).sum() < 0.02 * area


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_the_camera_has_all_in_the_picture_and_fills_it(aspect):
    rng = np.random.default_rng(8)
    for up in ((0, 0, 1.0), (0, 1.0, 0), (0.6, 0, -0.8)):
        points = rng.uniform(-1, 1, (50, 3)) * [3, 1, 2] + [5, -7, 1]
        camera = fitting(points, points, np.array(up), aspect)
        width, height = int(600 * aspect), 600
        places = camera.project(points, width, height)[:, :2]
        margin = MARGIN * np.array([width, height])
        low, high = places.min(axis=0), places.max(axis=0)
        assert (low >= margin - 1e-6).all()
        assert (high <= np.array([width, height]) - margin + 1e-6).all()
        assert min(abs(low - margin).min(), abs(high - np.array([width, height]) + margin).min()) < 1e-6
        np.testing.assert_allclose(np.linalg.det([camera.right, camera.down, camera.ahead]), 1.0)
        assert camera.down @ np.array(up) < 0
    chosen = fitting(points, points, np.array([0, 0, 1.0]), aspect, azimuth=90.0, elevation=0.0)
    np.testing.assert_allclose(chosen.ahead, [0, -1, 0], atol=1e-12)


def test_a_plane_motion_is_seen_from_its_side():
    rng = np.random.default_rng(9)
    up = np.array([0, 0, 1.0])
    flat = rng.uniform(-1, 1, (50, 2))
    for normal, plane in (("y", [[1, 0, 0], [0, 0, 1]]), ("x", [[0, 1, 0], [0, 0, 1]]), ("z", [[1, 0, 0], [0, 1, 0]])):
        camera = fitting(flat @ plane, flat @ plane, up, 1.0)
        assert abs(camera.ahead["xyz".index(normal)]) > 0.75


# ------------------------------------------------------------ light


def two_boxes(**upper):
    lower = ch.Body("table", 1.0, inertia=(1, 1, 1), shapes=[ch.shapes.Box((4, 4, 0.2), color=(0.8, 0.8, 0.8))])
    above = ch.Body("lid", 1.0, inertia=(1, 1, 1), shapes=[ch.shapes.Box((0.8, 0.8, 0.1), **upper)])
    return scene_of(ch.System([lower, above], []))


def test_shadows_and_ground():
    scene = two_boxes(color=(0.1, 0.2, 0.9))
    up = np.array([0, 0, 1.0])
    camera = fitting(np.array([[-2.0, -2, -1], [2, 2, 1.5]]), np.zeros((1, 3)), up, 4 / 3, elevation=50.0)
    stage = Stage(scene, -1.0, np.zeros(3), 2.0)
    poses = np.array([IDENTITY, (1, 0, 0, 0, 0, 0, 1.0)])
    with_lid = stage.image(poses, camera, (320, 240)).astype(int)
    poses[1, 6] = 100.0  # far outside of the picture
    alone = stage.image(poses, camera, (320, 240)).astype(int)
    blue = with_lid[..., 2] - with_lid[..., 0] > 40
    darker = (alone.sum(axis=2) - with_lid.sum(axis=2) > 60) & ~blue
    assert 300 < darker.sum() < 6000  # the shadow of the lid on the table
    corner = alone[:4, :4]
    assert (corner == 255).all()  # paper
    lines = alone[200:230, 20:300]
    assert lines.min() < 245  # grid and shadow


def test_what_is_transparent_lets_through():
    camera = fitting(
        np.array([[-2.0, -2, -1], [2, 2, 1.5]]), np.zeros((1, 3)), np.array([0, 0, 1.0]), 1.0, elevation=60.0
    )
    images = []
    for opacity in (1.0, 0.5):
        stage = Stage(two_boxes(color=(0.0, 0.0, 0.0, opacity)), None, np.zeros(3), 2.0)
        poses = np.array([IDENTITY, (1, 0, 0, 0, 0, 0, 1.0)])
        images.append(stage.image(poses, camera, (200, 200)).astype(float))
    places = camera.project(np.array([[0, 0, 1.05]]), 200, 200)[0]
    black, half = (image[int(places[1]), int(places[0])] for image in images)
    assert black.max() < 110
    assert (half > black + 30).all()


def test_the_same_bits_twice():
    scene = two_boxes()
    camera = fitting(np.array([[-2.0, -2, -1], [2, 2, 1.5]]), np.zeros((1, 3)), np.array([0, 0, 1.0]), 1.0)
    stage = Stage(scene, -1.0, np.zeros(3), 2.0)
    poses = np.array([IDENTITY, (1, 0, 0, 0, 0, 0, 1.0)])
    one, two = (stage.image(poses, camera, (64, 48)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_round_numbers():
    assert [round_number(x) for x in (0.9, 1.6, 3.4, 7.5, 0.023)] == pytest.approx([1.0, 2.0, 5.0, 10.0, 0.02])
