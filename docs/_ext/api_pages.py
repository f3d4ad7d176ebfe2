"""Write one page of the API reference for each public module, from its functions and their docstrings.

Group functions are objects that are NumPy functions and kernels at once, which autodoc does not know.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path

from examples import examples

NAMESPACES = tuple(
    f"chasles.{name}"
    for name in (
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
)

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
    "chasles.kernel": ["policy", "face", "lanes", "functions", "dual", "workspace", "address", "cache", "shipped"],
    "chasles.integrate": [
        *("space", "problem", "vector_field", "method", "tableau", "solver", "batch", "solution", "event"),
        *("generic", "gauss", "poisson", "cotangent", "theta", "composition", "lie_verlet", "moser_veselov", "magnus"),
        *("fixed_step", "explicit", "constrained_method", "stepper"),
    ],
    "chasles.model": [
        *("system", "body", "joint", "joint_kind", "force", "constraint", "law", "expression", "expression_law"),
        *("actuator", "transmission", "cam", "rod", "reduced", "rod_curve", "rod_section"),
        *("rod_load", "rod_polygon"),
    ],
    "chasles.relative": ["mechanism", "groups", "configuration", "raw", "reach", "system_level"],
    "chasles.relative.parameter": ["analysis", "places", "identifiability"],
    "chasles.relative.loop": ["closed", "spanning"],
    "chasles.relative.higher": ["methods", "closed"],
    "chasles.relative.derivative": ["derivatives"],
    "chasles.absolute": ["mechanism", "frames", "joints", "space"],
    "chasles.constraint": ["joints", "errors", "screws"],
    "chasles.force": ["build"],
    "chasles.simulation": [
        "simulate",
        "run",
        "states",
        "frame_motion",
        "joint_motion",
        "stepping",
        "equilibrium",
        "rod_motion",
        "continuation",
        "sensitivities",
        "linearize",
        "mobility",
        "stiffness",
    ],
    "chasles.simulation.batch": ["simulate_batch", "stepping"],
    "chasles.simulation.bodies": ["equilibrium", "load_path", "rod_mesh"],
    "chasles.simulation.start": ["assembly_modes", "values"],
    "chasles.simulation.nonsmooth": ["loaded_friction"],
    "chasles.simulation.adjoint": ["gradient", "objective"],
    "chasles.plan": ["planner", "shooting", "collocation", "collocated", "outcome", "quantities", "terms"],
    "chasles.certificate": ["judge", "verdict"],
    "chasles.transition": [
        *(
            "problem",
            "local_model",
            "descriptor_form",
            "second_order_form",
            "articulated",
            "mujoco_model",
            "pinocchio_model",
        ),
    ],
    "chasles.io": [
        "state_order",
        "load",
        "report",
        "source",
        "model_file",
        "plan_file",
        "model_writer",
        "schema",
        "tables",
    ],
    "chasles.io.result": ["reader", "resume", "export", "layout"],
    "chasles.study": ["compare", "comparison"],
    "chasles.ensembles": ["ensemble", "result", "indices", "quantity", "distribution", "design"],
    "chasles.fit": [
        "by_simulation",
        "problem",
        "sensor",
        "unknown",
        "data_fit",
        "recording",
        "cutting",
        "by_regression",
        "torque_fit",
        "exciting",
    ],
    "chasles.bridges": ["function", "mechanics", "to_jax", "to_torch", "to_casadi"],
    "chasles.view": ["page", "scene", "plot", "plot_work", "picture", "animation", "mesh"],
    "chasles.environments": ["environment", "scenario", "scenarios"],
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


def documentation(found: property | cached_property) -> str | None:
    return found.func.__doc__ if isinstance(found, cached_property) else found.fget.__doc__


def members(value: type) -> dict[str, object]:
    """Properties and methods of a class, inherited ones too, its own first."""
    result: dict[str, object] = {}
    for base in value.__mro__:
        if not base.__module__.startswith("chasles"):
            continue
        for name, found in vars(base).items():
            if name.startswith("_") or name in result:
                continue
            ways = property | cached_property | classmethod | staticmethod
            if isinstance(found, ways) or inspect.isfunction(found):
                result[name] = found
    return result


def names_page() -> str:
    """All public names, from the stubs, with the first line of what is said of each."""
    lines = ["# Public names", ""]
    for package in ("chasles", *NAMESPACES):
        module = importlib.import_module(package)
        lines += [
            f"## {package}",
            "",
            *prose((module.__doc__ or "").split("\n\n")[0]),
            "| name | meaning |",
            "|---|---|",
        ]
        for name in sorted(module.__all__, key=str.lower):
            value, shown = getattr(module, name), f"`{package}.{name}`"
            said = repr(value) if isinstance(value, tuple) else value.__doc__ or ""
            first = " ".join(inspect.cleandoc(said).split("\n\n")[0].split())
            if inspect.ismodule(value):
                shown = f"{{py:obj}}{shown}"
            elif callable(value):
                shown = f"{{py:obj}}`{package}.{name} <{value.__module__}.{value.__name__}>`"
            lines.append(f"| {shown} | {' '.join(prose(first.replace('|', '/'))).strip()} |")
        lines.append("")
    return "\n".join(lines)


def returned() -> set[type]:
    """Classes whose objects functions return; nobody calls them."""
    results = importlib.import_module("chasles.results")
    chasles = importlib.import_module("chasles")
    own = {chasles.Run, chasles.Certificate, chasles.ClosedMechanism, chasles.AbsoluteMechanism}
    return own | {getattr(results, name) for name in results.__all__}


def example(value) -> list[str]:
    """The shortest statement of a tested page that uses a name, and where it is from."""
    module, name = value.__module__, getattr(value, "__name__", "")
    names = [f"{module}.{name}", *(f"{package}.{name}" for package in ("chasles", *NAMESPACES))]
    known = next((examples()[one] for one in names if one in examples()), None)
    if known is None:
        return []
    place, code = known
    return ["", f"Example, from `{place}`:", "", "```python", code, "```"]


def entry(name: str, value) -> list[str]:
    """The directive of one function or class."""
    kind = "class" if inspect.isclass(value) else "function"
    try:
        signature = str(inspect.signature(value, eval_str=False)).replace("'", "")
    except (TypeError, ValueError):
        signature = "(...)"
    if kind == "class" and (hasattr(value, "_fields") or value in returned()):
        signature = ""
    lines = [f"````{{py:{kind}}} {name}{signature}", "", *prose(value.__doc__), *kinds(value), *example(value)]
    if kind == "class":
        for member, found in members(value).items():
            if isinstance(found, property | cached_property):
                lines += ["", f"**{member}** (property)  ", *prose(documentation(found))]
                continue
            function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
            arguments = re.sub(r"^\((self|cls)(, )?", "(", str(inspect.signature(function)).replace("'", ""))
            lines += ["", f"**{member}**`{arguments}`  ", *prose(function.__doc__)]
    return [*lines, "````", ""]


def outline() -> str:
    """All that can be referred to, without what is said of it."""
    lines = ["# All modules", ""]
    for package, names in MODULES.items():
        for name in names:
            module = importlib.import_module(f"{package}.{name}")
            lines += [f"```{{py:module}} {package}.{name}", "```", ""]
            for member, value in public(module):
                kind = "class" if inspect.isclass(value) else "function"
                lines += [f"```{{py:{kind}}} {member}", "```", ""]
    return "\n".join(lines)


def write_pages(app) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    (folder / "names.md").write_text(names_page())
    if app.tags.has("outline"):
        (folder / "outline.md").write_text(outline())
        return
    (folder / "outline.md").unlink(missing_ok=True)
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
