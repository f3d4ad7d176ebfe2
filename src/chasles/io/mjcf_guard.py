"""What a MJCF file may not do, looked at before MuJoCo compiles it: leave its folder, or grow without end."""

from __future__ import annotations

import math
from pathlib import Path

from chasles.io.markup import MOST_ELEMENTS, Element, read_markup
from chasles.io.source import INCLUDES

FURTHER = ("include", "model")  # elements that name files of the same kind
SOFT = ("flexcomp", "flex")
# numbers that make MuJoCo take memory: at most
BOUNDS = {
    ("texture", "width"): 1e4,
    ("texture", "height"): 1e4,
    ("hfield", "nrow"): 1e4,
    ("hfield", "ncol"): 1e4,
    ("numeric", "size"): 1e5,
    ("text", "size"): 1e5,
    ("sensor", "dim"): 1e5,
    ("user", "dim"): 1e5,
    **{("size", key): 1e6 for key in ("njmax", "nconmax", "nstack", "nuserdata", "nkey")},
    **{("size", f"nuser_{key}"): 1e3 for key in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")},
}
MEMORY = 2**30  # bytes
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50, "E": 2**60}
DIRECTORY_OF = {"texture": "texturedir"}  # of everything else meshdir


def check_mjcf(first: Element, file: Path, root: Path) -> list[Element]:
    """Check a file with all that it includes; returns the root elements of all of them."""
    found, waiting, names = [], [first], {file.resolve()}
    while waiting:
        top = waiting.pop()
        found.append(top)
        for element in top.below():
            _check_numbers(element)
            if element.tag in FURTHER and "file" in element.attributes:
                path = _inside(element, "file", [file.parent], root)
                if path.is_file() and path not in names:
                    if len(names) >= INCLUDES:
                        raise element.error("file", f"is one of more than {INCLUDES} files")
                    names.add(path)
                    waiting.append(read_markup(path))
    _check_files(found, file.parent, root)
    if sum(map(_grown, found)) > MOST_ELEMENTS:
        raise first.error("", f"has more than {MOST_ELEMENTS} elements once <replicate> has copied them")
    return found


def _inside(element: Element, key: str, folders: list[Path], root: Path) -> Path:
    name = element.text(key)
    if "\0" in name:
        raise element.error(key, f"is {name!r}; expected a file name")
    paths = [(folder / name).resolve() for folder in folders]
    for path in paths:
        if not path.is_relative_to(root.resolve()):
            where = f"leads out of {str(root)!r}; if this is meant, give root=folder"
            raise element.error(key, f"is {name!r}, which {where}")
    return paths[0]


def _check_files(tops: list[Element], folder: Path, root: Path) -> None:
    """That meshes, textures and fields of height are in the folder."""
    compilers = [element for top in tops for element in top.below() if element.tag == "compiler"]
    stripped = any(compiler.attributes.get("strippath") == "true" for compiler in compilers)
    folders: dict[str, list[Path]] = {}
    for key in ("meshdir", "texturedir"):
        given = [(c, key if key in c.attributes else "assetdir") for c in compilers]
        found = [_inside(c, name, [folder], root) for c, name in given if name in c.attributes]
        folders[key] = found or [folder]
    for top in tops:
        for element in top.below():
            for key in element.attributes:
                if not key.startswith("file") or element.tag in FURTHER:
                    continue
                if stripped:
                    element.attributes[key] = Path(element.attributes[key]).name
                _inside(element, key, folders[DIRECTORY_OF.get(element.tag, "meshdir")], root)


def _check_numbers(element: Element) -> None:
    for key in element.attributes:
        bound = BOUNDS.get((element.tag, key))
        if bound is not None and not abs(element.number(key)) <= bound:
            raise element.error(key, f"is {element.attributes[key]}; at most {bound:g} is read")
    if element.tag in SOFT:
        raise element.error("", "is a soft body, and these are not simulated here")
    if element.tag == "size" and "memory" in element.attributes:
        text = element.attributes["memory"].strip()
        unit = UNITS.get(text[-1:].upper(), 1)
        digits = text[:-1] if unit > 1 else text
        if digits.isascii() and digits.isdigit() and int(digits[:30]) * unit > MEMORY:
            raise element.error("memory", f"is {text}; at most {MEMORY >> 20}M is read")


def _grown(top: Element) -> int:
    """How many elements there are once <replicate> and <composite> have made theirs."""
    total, stack = 0, [(top, 1)]
    while stack:
        element, copies = stack.pop()
        if element.tag == "replicate":
            copies *= max(1, int(element.number("count", 1.0)))
        elif element.tag == "composite" and "count" in element.attributes:
            words = len(element.attributes["count"].split())
            copies *= max(1, int(math.prod(max(1.0, n) for n in element.numbers("count", words))))
        total += copies
        if total > MOST_ELEMENTS:
            return total
        stack += [(child, copies) for child in element.children]
    return total
