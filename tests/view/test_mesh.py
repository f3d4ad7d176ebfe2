"""Surfaces from files, also from damaged and hostile ones."""

import struct
import sys

import numpy as np
import pytest

from chasles.errors import ModelFileError
from chasles.view import collada, mesh
from chasles.view.mesh import read_mesh

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


def binary(triangles, count=None, head=b"made by a test"):
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[t].ravel(), 0) for t in triangles)
    return head.ljust(80) + struct.pack("<I", len(triangles) if count is None else count) + body


def text():
    facets = [
        "facet normal 0 0 0\n outer loop\n"
        + "".join("  vertex {:e} {:e} {:e}\n".format(*CORNERS[k]) for k in t)
        + " endloop\nendfacet\n"
        for t in TETRAHEDRON
    ]
    return ("solid tetrahedron\n" + "".join(facets) + "endsolid tetrahedron\n").encode()


OBJ = b"""# a cube of edge 2, with texture and normals, one face counted backwards, and a material that is not opened
mtllib /etc/passwd
v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1 1.0
v 1 1 1
v -1 1 1
vt 0 0
vn 0 0 1
f 4/1/1 3/1/1 2/1/1 1/1/1
f -4//1 -3//1 -2//1 -1//1
f 1 2 \\
  6 5
f 2/1 3/1 7/1 6/1
f 3 4 8 7
f 4 1 5 8
"""

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit meter="0.001" name="mm"/><up_axis>Y_UP</up_axis></asset>
 <library_geometries><geometry id="g"><mesh>
  <source id="s"><float_array id="a" count="12">0 0 0 1 0 0
   0 1 0 0 0 1</float_array><technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
  {group}
 </mesh></geometry></library_geometries>
 <library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes>
 <library_visual_scenes><visual_scene id="scene">
  <node><translate>10 0 0</translate><rotate>0 0 1 90</rotate><scale>2 2 2</scale><instance_geometry url="#g"/></node>
  <node><matrix>1 0 0 0 0 1 0 5 0 0 1 0 0 0 0 1</matrix><instance_node url="#n"/></node>
 </visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"""
TRIANGLES = """<triangles count="4"><input semantic="NORMAL" source="#x" offset="1"/>
 <input semantic="VERTEX" source="#v" offset="0"/><p>0 9 2 9 1 9 0 9 1 9 3 9 0 9 3 9 2 9 1 9 2 9 3 9</p></triangles>"""
POLYLIST = """<polylist count="4"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 3 3 3</vcount>
 <p>0 2 1 0 1 3 0 3 2 1 2 3</p></polylist>"""
POLYGONS = """<polygons count="4"><input semantic="VERTEX" source="#v" offset="0"/>
 <p>0 2 1</p><p>0 1 3</p><p>0 3 2</p><p>1 2 3</p></polygons>"""


def written(folder, name, content):
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize("content", [binary(TETRAHEDRON), binary(TETRAHEDRON, head=b"solid, it says"), text()])
def test_stl(tmp_path, content):
    vertices, triangles = read_mesh(written(tmp_path, "a.STL", content))
    assert vertices.shape == (4, 3)
    assert (vertices.dtype, triangles.dtype) == (np.float64, np.int32)
    np.testing.assert_array_equal(vertices[triangles], CORNERS[TETRAHEDRON])


def test_obj_with_polygons_and_indices_of_all_kinds(tmp_path):
    vertices, triangles = read_mesh(written(tmp_path, "cube.obj", OBJ))
    assert (vertices.shape, triangles.shape) == ((8, 3), (12, 3))
    assert volume(vertices, triangles) == pytest.approx(8.0)  # closed, all faces outwards


@pytest.mark.parametrize("group", [TRIANGLES, POLYLIST, POLYGONS])
def test_collada_places_its_geometries(tmp_path, group):
    vertices, triangles = read_mesh(written(tmp_path, "t.dae", DAE.format(group=group)))
    turned = np.stack([10 - 2 * CORNERS[:, 1], 2 * CORNERS[:, 0], 2 * CORNERS[:, 2]], axis=1)
    expected = 1e-3 * np.concatenate([turned, CORNERS + np.array([0, 5, 0])])
    np.testing.assert_allclose(vertices, expected, atol=1e-18)
    np.testing.assert_array_equal(triangles, np.concatenate([TETRAHEDRON, TETRAHEDRON + 4]))


def test_collada_without_scene_and_with_quadrilaterals(tmp_path):
    quad = """<polylist><input semantic="VERTEX" source="#v" offset="0"/><vcount>4 3</vcount><p>0 1 2 3 3 2 1</p>
    </polylist>"""
    start, _, rest = DAE.format(group=quad).partition("<library_visual_scenes>")
    content = start + rest[rest.index("</library_visual_scenes>") + 24 :].partition("<scene>")[0] + "</COLLADA>"
    triangles = read_mesh(written(tmp_path, "t.dae", content))[1]
    assert triangles.tolist() == [[0, 1, 2], [0, 2, 3], [3, 2, 1]]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><COLLADA>&b;</COLLADA>'
LOOP = '<COLLADA><library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes><library_visual_scenes>'
LOOP += '<visual_scene id="s"><node><instance_node url="#n"/></node></visual_scene></library_visual_scenes>'
LOOP += '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
DOUBLING = "<COLLADA><library_nodes>" + "".join(
    f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>' for k in range(50)
)
DOUBLING += (
    '<node id="n50"/></library_nodes><library_visual_scenes><visual_scene id="s"><node><instance_node url="#n0"/>'
)
DOUBLING += '</node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>'
WRONG = {
    "empty.stl": (b"", "is no STL file: it has 0 bytes"),
    "short.stl": (binary(TETRAHEDRON)[:-20], "triangles: ends in triangle 3 of 4"),
    "many.stl": (binary(TETRAHEDRON, count=2**32 - 1), "ends in triangle 4 of 4294967295"),
    "nan.stl": (binary(TETRAHEDRON)[:96] + b"\xff" * 12 + binary(TETRAHEDRON)[108:], "corner 0: is .nan, nan, nan"),
    "word.stl": (text().replace(b"1.000000e+00", b"one", 1), "word.stl:5: vertex: is '.* one .*'; expected 3 numbers"),
    "four.stl": (text().replace(b" endloop", b"vertex 1 1 1\n endloop", 1), "four.stl:8: facet: does not have 3"),
    "half.stl": (text()[:120], "half.stl:5: "),
    "inf.obj": (b"v 0 0 inf\nf 1 1 1", "vertex 0: is .0.0, 0.0, inf"),
    "far.obj": (b"v 0 0 1\nf 1 2 3", "triangle 0: has vertices .0, 1, 2., counted from 0; there are 1"),
    "back.obj": (b"v 0 0 1\nf -1 -2 -1", "triangle 0: has vertices .0, -1, 0"),
    "zero.obj": (b"v 0 0 1\nf 0 1 1", "zero.obj:2: f: '0' is not a vertex"),
    "huge.obj": (b"v 0 0 1\nf 99999999999999999999 1 1", "is not a vertex"),
    "digits.obj": (b"v 0 0 " + b"1" * 10**5, "expected 3 numbers"),
    "line.obj": (b"v 0 0 1\nv 0 1 1\nf 1 2", "line.obj:3: f: has 2 corners"),
    "bomb.dae": (BOMB, "has a document type"),
    "loop.dae": (LOOP, "nodes, or 60 within each other"),
    "doubling.dae": (DOUBLING, "brings more than 10000 nodes"),
    "other.dae": ("<svg/>", "is not COLLADA"),
    "cut.dae": (DAE[:300], "is not XML"),
    "range.dae": (
        DAE.format(group=POLYLIST.replace("1 2 3<", "1 2 4<")),
        "triangle 3 has vertices .1, 2, 4.; there are 4",
    ),
    "text.dae": (DAE.format(group=POLYLIST.replace("0 2 1 0", "0 2 x 0")), "<p> does not consist of whole numbers"[4:]),
    "count.dae": (DAE.format(group=POLYLIST.replace(">3 3", ">3 4")), "has 12 corners; its polygons need 13"),
    "link.dae": (
        DAE.format(group=TRIANGLES).replace('"#g"/></node>\n', '"http://x/#g"/></node>\n'),
        "no such <geometry>",
    ),
    "a.step": (b"ISO", "expected .stl, .obj or .dae, or .ply, .off, .glb"),
    "empty.ply": (b"ply", "trimesh"),
    "cut.glb": (b"glTF", "trimesh"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_its_place(tmp_path, name):
    content, message = WRONG[name]
    with pytest.raises(ModelFileError, match=message) as caught:
        read_mesh(written(tmp_path, name, content))
    assert name in str(caught.value)


def test_sizes_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh, "TRIANGLES", 3)
    for name, content in (("a.stl", binary(TETRAHEDRON)), ("b.stl", text()), ("c.obj", OBJ), ("d.dae", DAE)):
        content = content.format(group=TRIANGLES) if name == "d.dae" else content
        with pytest.raises(ModelFileError, match=r"3 triangles|3 are read"):
            read_mesh(written(tmp_path, name, content))
    monkeypatch.setattr(mesh, "LARGEST", 100)
    with pytest.raises(ModelFileError, match="larger"):
        read_mesh(tmp_path / "a.stl")


def test_files_that_are_not_there(tmp_path):
    for file in (tmp_path / "none.stl", tmp_path, "nul\0.stl", tmp_path / "folder.stl"):
        with pytest.raises(ModelFileError):
            read_mesh(file)


def test_random_damage_gives_a_mesh_or_an_error(tmp_path):
    rng = np.random.default_rng(1)
    contents = {".stl": binary(TETRAHEDRON), ".obj": OBJ, ".dae": DAE.format(group=TRIANGLES).encode()}
    for ending, content in [*contents.items(), (".stl", text())]:
        for _ in range(60):
            damaged = bytearray(content)
            for at in rng.integers(0, len(content), 3):
                damaged[at] = rng.integers(0, 256)
            try:
                vertices, triangles = read_mesh(written(tmp_path, "a" + ending, bytes(damaged)))
            except ModelFileError:
                continue
            assert np.isfinite(vertices).all()
            assert triangles.size == 0 or (triangles.min() >= 0 and triangles.max() < len(vertices))


def test_nothing_is_left_of_a_file_without_triangles(tmp_path):
    for name, content in (("a.stl", binary([])), ("a.obj", b""), ("a.dae", "<COLLADA/>")):
        vertices, triangles = read_mesh(written(tmp_path, name, content))
        assert (vertices.shape, triangles.shape) == ((0, 3), (0, 3))
    assert collada.INSTANCES == 10_000


def test_lines_that_go_on_for_ever_and_points_placed_often_are_refused(tmp_path, monkeypatch):
    endless = written(tmp_path, "a.obj", b"f 1 \\\n" * 300_000 + b"2 3\n")
    with pytest.raises(ModelFileError, match="longer than 1000000 bytes"):
        read_mesh(endless)


PLY = """ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z
element face 4\nproperty list uchar int vertex_indices\nend_header
"""
PLY += "".join("{} {} {}\n".format(*corner) for corner in CORNERS)
PLY += "".join("3 {} {} {}\n".format(*face) for face in TETRAHEDRON)


def test_other_formats_by_trimesh(tmp_path, monkeypatch):
    trimesh = pytest.importorskip("trimesh")
    solid = trimesh.Trimesh(CORNERS, TETRAHEDRON, process=False)
    for kind in ("ply", "off", "glb"):
        content = PLY if kind == "ply" else solid.export(file_type=kind)
        vertices, triangles = read_mesh(written(tmp_path, f"a.{kind}", content))
        assert (vertices.dtype, triangles.dtype) == (np.float64, np.int32)
        np.testing.assert_array_equal(vertices[triangles], CORNERS[TETRAHEDRON])
    with pytest.raises(ModelFileError, match="expected numbers below"):
        read_mesh(written(tmp_path, "far.ply", PLY.replace("0.0 0.0 1.0", "0 0 1e30")))
    with monkeypatch.context() as small:
        small.setattr(mesh, "TRIANGLES", 3)
        with pytest.raises(ModelFileError, match="has 4 triangles; at most 3 are read"):
            read_mesh(tmp_path / "a.ply")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ModelFileError, match=r"pip install trimesh"):
        read_mesh(tmp_path / "a.ply")
    assert len(read_mesh(written(tmp_path, "a.stl", binary(TETRAHEDRON)))[1]) == 4
