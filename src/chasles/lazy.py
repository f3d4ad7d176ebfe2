"""Public names of a package, listed once: in the stub `__init__.pyi` beside its `__init__.py`.

Editors and type checkers read the stub. At run time `attach` reads it too, and a module is loaded when a name of its is
asked for. A stub has lines `from chasles.module import name as name`; a name from the package itself is one of its
modules.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LINE = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose `__init__.py` is the file."""
    homes = {
        public: (module, name) for module, name, public in _LINE.findall(Path(file).with_suffix(".pyi").read_text())
    }

    folder = Path(file).parent

    def get(name: str) -> Any:
        if name not in homes:
            # `from package import module` asks for the name of the module before it loads it
            loaded_next = name.startswith("_") or (folder / f"{name}.py").is_file() or (folder / name).is_dir()
            where = "" if loaded_next else _elsewhere(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{where}")
        module, own = homes[name]
        if module == package:
            return importlib.import_module(f"{package}.{own}")
        return getattr(importlib.import_module(module), own)

    def names() -> list[str]:
        return [*homes]

    return get, names, names()


def _elsewhere(name: str) -> str:
    """Where else there is a public name."""
    here = Path(__file__).parent
    for stub in sorted(here.glob("**/__init__.pyi"), key=lambda path: len(path.parts)):
        if any(public == name for _, _, public in _LINE.findall(stub.read_text())):
            return f"; there is {'.'.join(['chasles', *stub.parent.relative_to(here).parts, name])}"
    return ""
