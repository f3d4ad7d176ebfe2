"""The public names: listed once, all there, and what is looked for in the wrong place is found."""

import importlib
import re
from pathlib import Path

import pytest

import chasles as ch

NAMESPACES = ("errors", "integrate", "io", "lie", "model", "results", "screw", "shapes", "transition", "view")


def test_the_face_is_small_and_every_name_is_there():
    modules = [name for name in dir(ch) if type(getattr(ch, name)).__name__ == "module"]
    assert len(dir(ch)) - len(modules) <= 50
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


def test_a_name_in_the_wrong_place_is_found():
    with pytest.raises(AttributeError, match=r"no attribute 'RKMK'; there is chasles.integrate.RKMK"):
        ch.RKMK  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"'chasles.integrate' has no attribute 'simulate'; there is chasles.simulate"
    ):
        ch.integrate.simulate  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        ch.nothing  # noqa: B018
