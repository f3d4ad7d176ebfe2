"""Surfaces from files: STL (binary and text), OBJ and COLLADA, as vertices and triangles; others by trimesh.

Files come from anywhere: sizes are bounded, every index and number is checked, and what is wrong is said with
its place.
"""

from __future__ import annotations

import io
import itertools
from array import array
from pathlib import Path

import numpy as np

from chasles.io.source import ModelFileError

LARGEST = 256_000_000  # bytes of a file
TRIANGLES = 4_000_000  # of a surface
WHOLE_LINE = 1_000_000  # bytes of a line of OBJ with those that it goes on in
FARTHEST = 1e9  # coordinates beyond this are no drawing
LONGEST, LINE = 100, 1000  # characters of a number, and of a line of numbers
HEAD, COUNT = 80, 4  # bytes before the triangles of a binary STL file
BY_TRIMESH = (".ply", ".off", ".glb")  # of those that it reads, the ones that are a single file
FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3), float64, in the units of the file (those of COLLADA in meters), and triangles (m, 3), int32.

    The kind of file is told by its ending: .stl, .obj or .dae, and with trimesh, the extra `mesh`, .ply, .off or .glb.
    Equal corners of an STL file are one vertex. Only surfaces are read: no materials, no normals, nothing else that
    files refer to.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind == ".stl":
        return read_stl(_content(file), str(file))
    if kind == ".obj":
        return read_obj(_content(file), str(file))
    if kind == ".dae":
        from chasles.view.collada import read_collada

        return read_collada(_content(file), str(file))
    if kind in BY_TRIMESH:
        return _by_trimesh(_content(file), kind, str(file))
    raise _wrong(str(file), f"its ending is not known; expected .stl, .obj or .dae, or {', '.join(BY_TRIMESH)}")


def _content(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise _wrong(str(file), "is not there")
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise _wrong(str(file), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise _wrong(repr(str(file)), f"cannot be read: {error}") from None  # a null byte in the name
    if len(content) > LARGEST:
        raise _wrong(str(file), f"is larger than {LARGEST // 1_000_000} MB")
    return content


def _wrong(file: str, message: str, line: int | None = None, place: str = "") -> ModelFileError:
    return ModelFileError(file, line, place, message)


def _by_trimesh(content: bytes, kind: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """What is read by a library. It makes no word of what it cannot read, so nothing at all is an error here."""
    try:
        import trimesh
    except ImportError:
        raise _wrong(name, "is read with trimesh, which is not installed: pip install trimesh") from None
    try:
        found = trimesh.load_scene(io.BytesIO(content), file_type=kind[1:], process=False).to_mesh()
        vertices, triangles = np.array(found.vertices, np.float64), np.array(found.faces, np.int64)
    except Exception as error:  # its readers raise whatever comes up
        raise _wrong(name, f"cannot be read by trimesh: {type(error).__name__}: {error}") from error
    if not len(triangles):
        raise _wrong(name, "has no triangles that trimesh could read")
    if len(triangles) > TRIANGLES:
        raise _wrong(name, f"has {len(triangles)} triangles; at most {TRIANGLES} are read")
    check_vertices(vertices, name, "vertex")
    check_triangles(triangles, len(vertices), name)
    return vertices, triangles.astype(np.int32)


# ------------------------------------------------------------ STL


def read_stl(content: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """An STL file; what starts with "solid" may be either kind, so the size decides first."""
    body = len(content) - HEAD - COUNT
    count = int.from_bytes(content[HEAD : HEAD + COUNT], "little") if body >= 0 else -1
    if body >= 0 and body == count * FACET.itemsize:
        return _binary(content, count, name)
    if content[:1024].lstrip()[:5].lower() == b"solid" and b"\0" not in content[:1024]:
        return _text(content, name)
    if body < 0:
        raise _wrong(name, f"is no STL file: it has {len(content)} bytes, less than the head of a binary one")
    if body < count * FACET.itemsize:
        raise _wrong(name, f"ends in triangle {body // FACET.itemsize} of {count}", place="triangles")
    return _binary(content, count, name)  # with something behind the triangles


def _binary(content: bytes, count: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    if count > TRIANGLES:
        raise _wrong(name, f"has {count} triangles; at most {TRIANGLES} are read")
    corners = np.frombuffer(content, FACET, count, HEAD + COUNT)["corners"].reshape(-1, 3)
    return joined(corners.astype(np.float64), name)


def _text(content: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    corners = array("d")
    number = 0
    for number, line in enumerate(io.BytesIO(content), 1):
        words = line[:LINE].split()
        if not words:
            continue
        key = words[0].lower()
        if key == b"vertex":
            corners.extend(_place(words[1:], name, number, "vertex"))
            if len(corners) > 9 * TRIANGLES:
                raise _wrong(name, f"has more than {TRIANGLES} triangles", number)
        elif key == b"endloop" and len(corners) % 9:
            raise _wrong(name, "does not have 3 vertices", number, "facet")
    if len(corners) % 9:
        raise _wrong(name, "ends within a facet", number)
    return joined(np.array(corners).reshape(-1, 3), name)


def joined(corners: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of corners (3 m, 3), three for each triangle; equal ones are one vertex."""
    check_vertices(corners, name, "corner")
    key = np.zeros(len(corners), dtype=np.int64)
    for axis in range(3):  # numbers the different rows: of a column, of two columns, of three
        values, rank = np.unique(corners[:, axis], return_inverse=True)
        key = np.unique(key * len(values) + rank, return_inverse=True)[1]
    first = np.full(int(key.max(initial=-1)) + 1, len(corners))
    np.minimum.at(first, key, np.arange(len(corners)))
    return corners[first], key.reshape(-1, 3).astype(np.int32)


# ------------------------------------------------------------ OBJ


def read_obj(content: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """An OBJ file: its vertices and its faces, polygons as fans; all other lines are passed over."""
    places, triangles = array("d"), array("q")
    before: list[bytes] = []
    length = 0
    for number, line in enumerate(io.BytesIO(content), 1):
        if line.rstrip(b"\r\n").endswith(b"\\"):  # it goes on in the next one
            before.append(line.rstrip(b"\r\n")[:-1])
            length += len(line)
            continue
        if length + len(line) > WHOLE_LINE:
            raise _wrong(name, f"is longer than {WHOLE_LINE} bytes", number, "the line")
        words = b" ".join([*before, line]).split()
        before, length = [], 0
        if not words:
            continue
        if words[0] == b"v":
            places.extend(_place(words[1:4], name, number, "v"))
        elif words[0] == b"f":
            corners = [_index(word, len(places) // 3, name, number) for word in words[1:]]
            if len(corners) < 3:
                raise _wrong(name, f"has {len(corners)} corners; expected 3 or more", number, "f")
            for pair in itertools.pairwise(corners[1:]):
                triangles.extend((corners[0], *pair))
        if len(triangles) > 3 * TRIANGLES or len(places) > 9 * TRIANGLES:
            raise _wrong(name, f"has more than {TRIANGLES} triangles, or three times as many vertices", number)
    vertices = np.array(places).reshape(-1, 3)
    check_vertices(vertices, name, "vertex")
    found = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    check_triangles(found, len(vertices), name)
    return vertices, found.astype(np.int32)


def _index(word: bytes, known: int, name: str, line: int) -> int:
    """The vertex of a corner such as 7, 7/1, 7//3, 7/1/3; negative ones count back from the last one so far."""
    try:
        index = int(word.split(b"/", 1)[0])
        if not index or abs(index) > 3 * TRIANGLES:
            raise ValueError
    except ValueError:
        raise _wrong(name, f"{word[:40].decode(errors='replace')!r} is not a vertex", line, "f") from None
    return index - 1 if index > 0 else known + index


# ------------------------------------------------------------ what all of them check


def _place(words: list[bytes], name: str, line: int, what: str) -> list[float]:
    """Three numbers."""
    if len(words) != 3:
        raise _wrong(name, f"has {len(words)} numbers; expected 3", line, what)
    try:
        if max(map(len, words)) > LONGEST:
            raise ValueError
        return [float(word) for word in words]
    except ValueError:
        shown = b" ".join(words)[:60].decode(errors="replace")
        raise _wrong(name, f"is {shown!r}; expected 3 numbers", line, what) from None


def check_vertices(vertices: np.ndarray, name: str, what: str) -> None:
    wrong = np.flatnonzero(~(np.abs(vertices) < FARTHEST).all(axis=1))  # so are NaN
    if len(wrong):
        raise _wrong(
            name, f"is {vertices[wrong[0]].tolist()}; expected numbers below {FARTHEST:g}", place=f"{what} {wrong[0]}"
        )


def check_triangles(triangles: np.ndarray, count: int, name: str) -> None:
    wrong = np.flatnonzero(((triangles < 0) | (triangles >= count)).any(axis=1))
    if len(wrong):
        raise _wrong(
            name,
            f"has vertices {triangles[wrong[0]].tolist()}, counted from 0; there are {count}",
            place=f"triangle {wrong[0]}",
        )
