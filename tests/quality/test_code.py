"""Lint, format, types, layers, documentation and the weight of an import are tests, so one command checks all."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

from chasles.model.joint_kind import JOINT_KINDS
from tests.quality.sources import PACKAGE, files, mentioning, nodes, text, tree

ROOT = Path(__file__).parents[2]


def run(*command: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def strictly_typed() -> list[str]:
    """The files of the modules that pyproject.toml checks strictly: what users touch."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    names = next(one["module"] for one in overrides if one.get("disallow_untyped_defs"))
    places = [ROOT.joinpath("src" * name.startswith("chasles"), *name.split(".")) for name in names]
    found = [place.parent if place.name == "*" else place.with_suffix(".py") for place in places]
    return [str(path) for path in found if path.exists()]  # a stub that lists public names is read by the others


TYPED = ("src/chasles/model", "src/chasles/io", "tests/quality/typed_script.py")  # what a user's script is made of


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "ruff", "check", "."),
        ("-m", "ruff", "format", "--check", "."),
        # of the other modules the signatures only; sums of arrays in them take half a minute
        ("-m", "mypy", "--follow-imports=silent", *TYPED),
        pytest.param(("-m", "mypy", "--follow-imports=silent", *strictly_typed()), marks=pytest.mark.study),
        pytest.param(("-m", "mypy"), marks=pytest.mark.study),  # all of the package, with tools and benchmarks
        ("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"),
    ],
    ids=["lint", "format", "types", "strict types", "all types", "layers"],
)
def test_tool_is_content(command):
    """Types: of the package, and of a user's script (`typed_script.py`), where no result of a public call is Any."""
    result = run(*command)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("theme", ["basic", pytest.param("furo", marks=pytest.mark.study)])
def test_documentation_builds_without_warnings(tmp_path, theme):
    """Most of the time of its own theme goes into the list of pages beside each page. With the plain theme, the pages
    that people write are the same; of those that are made from the modules there is an outline, which has all names."""
    options = (
        "-q",
        "-W",
        "-b",
        "html",
        "-D",
        f"html_theme={theme}",
        *(("-t", "outline") if theme == "basic" else ()),
    )
    result = run("-m", "sphinx", *options, "docs", str(tmp_path / "html"))
    assert result.returncode == 0, result.stdout + result.stderr
    page = (tmp_path / "html" / "conventions.html").read_text()
    assert "<math" in page
    assert "cdn" not in page.lower()
    _links_within_pages_have_ends(tmp_path / "html")


def _links_within_pages_have_ends(folder):
    """Sphinx does not look at the links that extensions make."""
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    ends = {path: set(re.findall(r'(?:id|name)="([^"]+)"', page)) for path, page in pages.items()}
    for path, page in pages.items():
        for place, end in set(re.findall(r'href="([^":#?]*)#([^"]+)"', page)):
            there = (path.parent / unquote(place)).resolve() if place else path
            assert there not in ends or {end, unquote(end)} & ends[there], f"{path.name}: {place}#{end}"


def test_importing_the_package_is_light():
    code = "import sys, chasles; print([m for m in ('numba', 'numpy', 'matplotlib', 'scipy') if m in sys.modules])"
    assert run("-c", code).stdout.strip() == "[]"


def test_what_takes_long_to_load_is_loaded_where_it_is_used():
    """SciPy's parts take as long as all of chasles."""
    for path in mentioning(r"\bscipy\b"):
        for node in tree(path).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.partition(".")[0] == "scipy"], f"{path}:{node.lineno}"


def test_importing_the_groups_compiles_nothing_and_a_function_loads_itself_only():
    code = """
import sys
from chasles import lie
lie.se3, lie.pose, lie.so2, lie.se2, lie.s3xr3, lie.rotation, lie.product
from chasles.kernel.policy import ENTRIES
compiled = [sum(len(entry.signatures) for entry in ENTRIES)]
lie.so3.exp([0.1, 0.2, 0.3])
compiled.append(sum(len(entry.signatures) for entry in ENTRIES))
print(compiled, [name for name in ("matplotlib", "scipy.linalg") if name in sys.modules])
"""
    assert run("-c", code, NUMBA_DISABLE_JIT="0").stdout.strip() == "[0, 1] []"


def test_no_file_names_a_machine_s_path():
    """Project files speak of the project alone."""
    forbidden = ["/" + word + "/" for word in ("work", "root", "farm")]
    for folder, folders, names in os.walk(ROOT):
        others = {".git", ".venv", "_build", "api", "node_modules", "__pycache__"}
        folders[:] = [name for name in folders if name not in others and not name.endswith("_cache")]
        for path in (Path(folder, name) for name in names):
            if path.suffix in {".py", ".md", ".toml", ".cff"}:
                contents = path.read_text()
                assert not [word for word in forbidden if word in contents], path


def test_what_is_imported_is_installed():
    """A module of the package imports from nowhere but Python itself and what the package depends on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.match(r"[\w-]+", name).group() for name in project["dependencies"]}
    known = {*sys.stdlib_module_names, *declared, "PIL", "llvmlite", "chasles"}  # Pillow, a part of Numba, itself
    for path in files():
        extra = {"gymnasium"} if path.parent.name == "environments" else set()  # which says how to install it
        extra |= {path.stem} if path.name == "cosseratbench.py" else set()  # which that package alone loads
        loaded = r"^(?:import (?=\w)|from (?=[\w.]+ import ))(\w+)"  # with the module
        assert set(re.findall(loaded, text(path), re.MULTILINE)) <= known | extra, path


def test_no_module_loads_one_of_a_layer_above_by_name():
    """The contract of layers sees `import` statements. Modules are loaded by name in three kinds of places only: the
    registry, packages that load their own modules on first use (those that need Numba by `kernel.late`), and the
    commands. `kernel` is below all that compiles; other libraries are no layers."""
    allowed = {"lazy.py", "registry.py", "cli/warm.py", "cli/bench.py", "io/result/export.py"}
    allowed |= {"kernel/late.py", "kernel/compiling.py"}
    by_name = ("import_module", "__import__", "run_module", "late", "with_numba", "kind_in")
    others = ("IPython", "casadi", "jax", "torch")
    for path in mentioning(rf"\b(?:{'|'.join(by_name)})\("):
        name = path.relative_to(PACKAGE).as_posix()
        own = "chasles." + ".".join(path.relative_to(PACKAGE).parts[:-1])
        for node in nodes(path):
            if not isinstance(node, ast.Call) or name in allowed:
                continue
            function = ast.unparse(node.func)
            if function.rpartition(".")[2] not in by_name:
                continue
            argument = ast.unparse(node.args[0]).removeprefix("f").strip("'\"")
            assert argument.startswith((own.rstrip("."), "chasles.kernel.", *others)), (
                f"{name}:{node.lineno} loads {argument}"
            )


def test_services_of_the_registry_exist_and_are_all_asked_for():
    """Each service is asked for by a literal name in a layer below the one that it is in."""
    from chasles import registry

    sources = "\n".join(text(path) for path in files() if path.name != "__init__.py")
    for name in registry._PLACES:
        assert callable(registry.service(name)), name
        assert f'"{name}"' in sources, f"nobody asks for {name!r}"


def test_the_list_of_slow_tests_is_true():
    """A test that was renamed would be quick without a word."""
    lines = (ROOT / "tests" / "slow.txt").read_text().splitlines()
    for file, _, name in (line.partition("::") for line in lines if not line.startswith("#")):
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), f"{file}::{name}"


def test_the_types_are_told_to_users():
    """The marker of PEP 561 is in the folder that is the wheel."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/chasles"]
    assert (ROOT / "src" / "chasles" / "py.typed").read_bytes() == b""


ERRORS = ("error", "exception", "exc", "failure", "refused", "e")  # what caught errors are called


def _is_message(node: ast.AST) -> bool:
    """Whether an expression is the text of an error or of how a run ended: str(error), error.args[0], run.message."""
    match node:
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in ERRORS
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="args")):
            return name in ERRORS
        case ast.Attribute(attr="message" | "reason" | "note"):
            return True
    return False


def test_no_control_flow_on_the_text_of_a_message():
    """Types and attributes say what happened (`Solution.cause`, a class of errors); words are for people."""
    found = []
    for path in mentioning(
        rf"\.(?:message|reason|note)\b|\b(?:{'|'.join(ERRORS)})\.args\b|\bstr\((?:{'|'.join(ERRORS)})\)"
    ):
        for node in nodes(path):
            looked = []
            if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
                looked = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                looked = [node.func.value] if node.func.attr in ("startswith", "endswith", "find", "index") else []
            if any(map(_is_message, looked)):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "\n".join(found)


def test_functions_of_the_constrained_solver_are_short():
    """At most 60 lines and 8 arguments: what belongs together is passed as one record (`kernel.memory`)."""
    found = []
    for path in files("constrained"):
        for node in nodes(path):
            if not isinstance(node, ast.FunctionDef):
                continue
            given = node.args
            names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            count = len(names) - (names[:1] in (["self"], ["cls"])) + (given.vararg is not None)
            lines = node.end_lineno - node.lineno + 1
            if lines > 60 or count > 8:
                found.append(f"{path.name}:{node.lineno}: {node.name} has {lines} lines and {count} arguments")
    assert not found, "\n".join(found)


def test_nobody_compares_the_name_of_a_kind():
    """A property of `joint.traits` is meant; only the tables of equations and recursions are asked by name."""
    found = []
    for path in mentioning(r"\.kind\b"):
        for node in nodes(path):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            kind = any(isinstance(side, ast.Attribute) and side.attr == "kind" for side in sides)
            words = {item.value for side in sides for item in ast.walk(side) if isinstance(item, ast.Constant)}
            if kind and words & set(JOINT_KINDS):
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "\n".join(found)


# modules of Numba that its documentation gives to writers of extensions, and what may be taken of them
PUBLIC_IN_NUMBA = {
    "numba": {"carray", "typeof", "types"},
    "numba.core": {"types", "event"},
    "numba.core.errors": {"NumbaError"},
    "numba.core.typing.templates": {"signature"},
}


def test_one_module_imports_private_parts_of_numba():
    for path in mentioning(r"\bnumba\b"):
        if path.name == "numba_private.py":
            continue
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
                allowed = PUBLIC_IN_NUMBA.get(node.module, set())
                names = {alias.name for alias in node.names}
                assert node.module == "numba.extending" or names <= allowed, f"{path.name}:{node.lineno}"
            elif isinstance(node, ast.Import):
                assert not [a.name for a in node.names if a.name.startswith("numba.")], f"{path.name}:{node.lineno}"
