"""Write one page of the API reference for each public module, from its functions and their docstrings.

Group functions are objects that are NumPy functions and kernels at once, which autodoc does not know.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

MODULES = {
    "chasles.lie": [
        "so3",
        "s3",
        "se3",
        "pose",
        "so3xr3",
        "s3xr3",
        "so2",
        "se2",
        "rn",
        "product",
        "rotation",
        "analytic",
    ],
    "chasles.kernel": ["policy", "face", "lanes", "functions", "workspace", "cache"],
    "chasles.gallery": ["heavy_top"],
}


def public(module):
    """Names and values a module defines for others, in the order of the source."""
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    for name in names:
        value = getattr(module, name)
        defined = getattr(value, "__module__", None) == module.__name__ or name in getattr(module, "__all__", ())
        is_kernel = type(value).__name__ == "CPUDispatcher"
        if defined and callable(value) and value.__doc__ and not is_kernel:
            yield name, value


def entry(name: str, value) -> list[str]:
    """The directive of one function or class."""
    kind = "class" if inspect.isclass(value) else "function"
    try:
        signature = str(inspect.signature(value, eval_str=False)).replace("'", "")
    except (TypeError, ValueError):
        signature = "(...)"
    if kind == "class" and hasattr(value, "_fields"):
        signature = ""
    lines = [f"````{{py:{kind}}} {name}{signature}", "", "```", inspect.cleandoc(value.__doc__), "```"]
    if kind == "class":
        for method, member in vars(value).items():
            if not method.startswith("_") and inspect.isfunction(member) and member.__doc__:
                arguments = (
                    str(inspect.signature(member)).replace("'", "").replace("(self, ", "(").replace("(self)", "()")
                )
                lines += ["", f"**{method}**`{arguments}`  ", inspect.cleandoc(member.__doc__).splitlines()[0]]
    return [*lines, "````", ""]


def write_pages(app) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for package, names in MODULES.items():
        for name in names:
            module = importlib.import_module(f"{package}.{name}")
            lines = [f"# {package}.{name}", "", inspect.cleandoc(module.__doc__ or ""), ""]
            lines += [f"```{{py:module}} {package}.{name}", "```", ""]
            for member, value in public(module):
                lines += entry(member, value)
            page, text = folder / f"{package}.{name}.md", "\n".join(lines)
            if not page.exists() or page.read_text() != text:
                page.write_text(text)


def setup(app):
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
