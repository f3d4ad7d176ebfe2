"""Write one page of the API reference for each public module, from its functions and their docstrings.

Group functions are objects that are NumPy functions and kernels at once, which autodoc does not know.
"""

from __future__ import annotations

import importlib
import inspect
import re
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
    "chasles.lie.transition": ["coordinates", "maps", "kinematics"],
    "chasles.screw": ["axis", "reciprocity", "representation", "newton_euler", "inertia", "shape"],
    "chasles.kernel": ["policy", "face", "lanes", "functions", "dual", "workspace", "address", "cache"],
    "chasles.integrate": [
        *("space", "problem", "field", "method", "tableau", "solve", "batch", "solution", "event"),
        *("generic", "gauss", "poisson", "cotangent", "theta", "composition", "lie_verlet", "moser_veselov", "magnus"),
        *("fixed_step", "explicit", "constrained_method"),
    ],
    "chasles.model": ["system", "body", "joint", "force", "law", "actuator"],
    "chasles.relative": ["mechanism", "analysis", "configuration", "raw", "reach", "system_level"],
    "chasles.relative.parameter": ["analysis", "places", "identifiability"],
    "chasles.relative.loop": ["closed", "spanning"],
    "chasles.relative.higher": ["methods", "closed"],
    "chasles.relative.derivative": ["derivatives"],
    "chasles.absolute": ["mechanism", "frames", "joints", "space"],
    "chasles.constraint": ["joints", "errors"],
    "chasles.force": ["build"],
    "chasles.simulation": [
        "simulate",
        "run",
        "body_run",
        "stepping",
        "equilibrium",
        "sensitivities",
        "linearize",
    ],
    "chasles.simulation.closed": ["run"],
    "chasles.certificate": ["judge", "verdict"],
    "chasles.transition": [
        *("problem", "local_model", "descriptor", "second_order", "articulated", "mujoco_model", "pinocchio_model"),
    ],
    "chasles.io": ["load", "report", "model_file", "model_writer", "schema", "expression"],
    "chasles.io.result": ["reader", "resume", "export", "layout"],
    "chasles.study": ["compare", "comparison"],
    "chasles.view": ["page", "scene", "plot", "plot_work", "picture", "animation", "mesh"],
    "chasles.gallery": ["boxes", "rigid_body", "spinning_top", "pendulum", "quadrotors", "overconstrained"],
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


def prose(text: str | None) -> list[str]:
    """A docstring as Markdown text: symbols are meant literally, indented parts are code."""
    lines = []
    for block in inspect.cleandoc(text or "").split("\n\n"):
        if block.startswith("    "):
            lines += ["```text", inspect.cleandoc(block), "```", ""]
        else:
            parts = re.split(r"(`[^`]*`)", block)
            plain = [p if p.startswith("`") else re.sub(r"([\\*_\[\]<>$~^|#])", r"\\\1", p) for p in parts]
            lines += ["".join(plain), ""]
    return lines


def kinds(value) -> list[str]:
    """What a group function takes and gives."""
    if type(value).__name__ != "Face":
        return []
    shapes = [(f"`{name}`", kind) for name, kind in value.kinds] + [("result", kind) for kind in value.out]
    return [f"- {name}: {kind.name}, ({', '.join(['...', *map(str, kind.shape)])})" for name, kind in shapes]


def entry(name: str, value) -> list[str]:
    """The directive of one function or class."""
    kind = "class" if inspect.isclass(value) else "function"
    try:
        signature = str(inspect.signature(value, eval_str=False)).replace("'", "")
    except (TypeError, ValueError):
        signature = "(...)"
    if kind == "class" and hasattr(value, "_fields"):
        signature = ""
    lines = [f"````{{py:{kind}}} {name}{signature}", "", *prose(value.__doc__), *kinds(value)]
    if kind == "class":
        for method, member in vars(value).items():
            if not method.startswith("_") and inspect.isfunction(member) and member.__doc__:
                arguments = (
                    str(inspect.signature(member)).replace("'", "").replace("(self, ", "(").replace("(self)", "()")
                )
                lines += ["", f"**{method}**`{arguments}`  ", *prose(member.__doc__)]
    return [*lines, "````", ""]


def write_pages(app) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for page in folder.glob("chasles.*.md"):  # of modules that are gone
        package, _, name = page.stem.rpartition(".")
        if name not in MODULES.get(package, ()):
            page.unlink()
    for package, names in MODULES.items():
        for name in names:
            module = importlib.import_module(f"{package}.{name}")
            lines = [f"# {package}.{name}", "", *prose(module.__doc__), ""]
            lines += [f"```{{py:module}} {package}.{name}", "```", ""]
            for member, value in public(module):
                lines += entry(member, value)
            page, text = folder / f"{package}.{name}.md", "\n".join(lines)
            if not page.exists() or page.read_text() != text:
                page.write_text(text)


def setup(app):
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
