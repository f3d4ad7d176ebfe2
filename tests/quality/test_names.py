"""The public names: listed once, all there, and what is looked for in the wrong place is found."""

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

import chasles as ch
from tests.quality.sources import PACKAGE, files, nodes, tree

NAMESPACES = (
    "bridges",
    "errors",
    "fit",
    "integrate",
    "io",
    "lie",
    "model",
    "objective",
    "plan",
    "results",
    "rods",
    "screw",
    "shapes",
    "transition",
    "view",
)


def test_the_face_is_small_and_every_name_is_there():
    modules = [name for name in dir(ch) if type(getattr(ch, name)).__name__ == "module"]
    assert len(dir(ch)) - len(modules) <= 55
    assert {*NAMESPACES, "gallery"} == set(modules)
    for name in NAMESPACES:
        space = getattr(ch, name)
        for public in space.__all__:
            value = getattr(space, public)
            if name not in ("lie", "screw"):  # whose modules are public
                assert type(value).__name__ != "module", f"{name}.{public}: a module has the name of what it holds"


def test_each_name_is_listed_once():
    stubs = Path(ch.__file__).parent.glob("**/__init__.pyi")
    names = [
        public
        for stub in stubs
        if stub.parent.name not in ("lie", "screw")  # whose modules are public; solids are known to the latter too
        for public in re.findall(r"^from \S+ import \w+ as (\w+)$", stub.read_text(), re.MULTILINE)
    ]
    assert len(names) == len(set(names))
    assert len(names) > 80


def test_every_public_name_is_in_the_reference(monkeypatch):
    """With its properties and methods, inherited ones too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    pages = importlib.import_module("api_pages")
    modules = [f"{package}.{name}" for package, names in pages.MODULES.items() for name in names]
    documented = {id(value) for name in modules for _, value in pages.public(importlib.import_module(name))}
    missing = [
        f"{space}.{name}"
        for space in ("chasles", *pages.NAMESPACES)
        for name in importlib.import_module(space).__all__
        if callable(value := getattr(importlib.import_module(space), name)) and id(value) not in documented
    ]
    assert not missing, f"docs/_ext/api_pages.py has no page for {', '.join(missing)}"
    assert {"q", "violations", "certificate", "save"} <= set(pages.members(ch.Run))
    text = pages.names_page()
    assert all(
        f"{space}.{name}" in text for space in pages.NAMESPACES for name in importlib.import_module(space).__all__
    )


def test_every_public_name_has_an_example(monkeypatch):
    """Shown in the reference, taken from pages that are run. Errors are raised and results returned: they have none."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    pages = importlib.import_module("api_pages")
    made = pages.returned() | {
        ch.bridges.Differentiable,
        ch.io.ImportReport,
        ch.io.StateOrder,
        ch.plan.CollocatedMotion,
    }
    made |= {ch.rods.MeshError, ch.screw.CentralAxis, ch.screw.ScrewMotion, ch.transition.LocalModel}
    missing = [
        f"{space}.{name}"
        for space in ("chasles", *(name for name in pages.NAMESPACES if name != "chasles.errors"))
        for name in importlib.import_module(space).__all__
        if callable(value := getattr(importlib.import_module(space), name))
        and value not in made
        and not pages.example(value)
    ]
    assert missing == []


def test_a_name_in_the_wrong_place_is_found():
    with pytest.raises(AttributeError, match=r"no attribute 'RKMK'; there is chasles.integrate.RKMK"):
        ch.RKMK  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"'chasles.integrate' has no attribute 'simulate'; there is chasles.simulate"
    ):
        ch.integrate.simulate  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        ch.nothing  # noqa: B018


# constants that modules may share a name for
LOOPS = "counters and times of a loop; those of explicit, implicit and constrained methods are read apart"
FAMILY = "each module of a family has its own under this name, and is asked for it as module.NAME"
ALLOWED = {
    **dict.fromkeys(("COUNTS", "TIMES"), LOOPS),
    **dict.fromkeys(("MAPS", "POLE", "POLE_ALONG", "SCHEME", "STATE", "WORK", "state_of", "vectors_of"), FAMILY),
    "MOST": "how often at most; what, is in the module's name",
    "EPS": "the rounding error of a number, everywhere",
    **dict.fromkeys(("POSE", "SCREWS", "SE3", "TWIST", "WRENCH"), "a word of the field: its size, code or kind"),
    **dict.fromkeys(("BODY", "CONSTANT", "JOINT", "HEAD", "NUMBERS"), "layouts of tables, each of its own folder"),
}


def _modules():
    for path in files():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_a_class_has_its_name_for_itself():
    places = defaultdict(list)
    for module, path in _modules():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert not {name: found for name, found in places.items() if len(found) > 1}


def _face(module):
    return module and module.replace(".kernel.code.", ".kernel.")


def test_a_constant_that_others_import_has_one_meaning():
    """What a module keeps to itself may be called as it likes. What modules of a layer import from each other has one
    meaning in the layer, and what other layers import has one meaning in the package. A module of `kernel.code` is what
    one of `kernel` loads when something is compiled: their names are the same."""
    paths = dict(_modules())
    defined, users = defaultdict(set), defaultdict(set)
    for module, path in paths.items():
        for node in tree(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in filter(None, targets):
                names = [item.id for item in ast.walk(target) if isinstance(item, ast.Name)]
                for name in names:
                    defined[name].add(_face(module))
    for module, path in paths.items():
        imports = [node for node in nodes(path) if isinstance(node, ast.ImportFrom)]
        modules = {item.asname or item.name: f"{node.module}.{item.name}" for node in imports for item in node.names}
        for node in imports:
            for item in node.names:
                users[_face(node.module), item.name].add(module)
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                users[_face(modules.get(node.value.id)), node.attr].add(module)

    def layer(module):
        return module.split(".")[1:2]

    wrong = {}
    for name in set(defined) - set(ALLOWED):
        shared = [module for module in sorted(defined[name]) if users[module, name]]
        wide = [module for module in shared if any(layer(user) != layer(module) for user in users[module, name])]
        layers = {tuple(layer(module)) for module in shared}
        if len(shared) > 1 and (wide or len(layers) < len(shared)):
            wrong[name] = shared
    assert not wrong


def test_the_reference_of_model_files_has_every_key(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    text = importlib.import_module("lookup_pages").keys_page()

    def keys(node):
        if isinstance(node, list):
            for one in node:
                yield from keys(one)
        elif isinstance(node, dict):
            yield from node.get("properties", {})
            yield from keys(list(node.get("properties", {}).values()))
            yield from keys([node.get(name) for name in ("items", "anyOf", "oneOf", "additionalProperties")])

    found = set(keys(importlib.import_module("chasles.io.schema").schema()))
    assert {"friction", "strain_limit", "rpy", "include"} <= found
    assert {key for key in found if not re.search(rf"(`|\[){key}(`|\]| = )", text)} == set()
