"""Examples of public names: the first statement of a tested page, tutorial or example program that uses each."""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINE = re.compile(r"^```text\n(.*?)^```", re.DOTALL | re.MULTILINE)  # shown, not run
FOLDERS = ("learn", "", "questions")  # of docs
LONGEST = 14  # lines


def sources() -> list[tuple[str, str]]:
    """Where examples are taken from, best first, and their code: all of it is run by the tests."""
    pages = [ROOT / "README.md"]
    pages += [page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
    found = [(page.relative_to(ROOT).as_posix(), code) for page in pages for code in BLOCK.findall(page.read_text())]
    programs = [*sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "src/chasles/validation").glob("*.py"))]
    return [*found, *((file.relative_to(ROOT).as_posix(), file.read_text()) for file in programs)]


def aliases(code: str) -> dict[str, str]:
    """What names of a source stand for, from its imports: `ch`, or `Gauss` of `from chasles.integrate import Gauss`."""
    found = {"ch": "chasles"}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "chasles":
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _shown() -> dict[str, tuple[str, str]]:
    """Lines of the page of short examples that need another program; `also NAME` in a comment counts."""
    page, found = ROOT / "docs" / "short_examples.md", {}
    for line in "".join(LINE.findall(page.read_text())).splitlines():
        first, *others = re.findall(r"\bch\.([\w.]+)|(?<=also )(\w+)|(?<=, )([a-z]+_function)", line)
        package = "".join(first).rpartition(".")[0]
        for name in ("".join(one) for one in (first, *others)):
            whole = name if "." in name or not package else f"{package}.{name}"
            found[f"chasles.{whole}"] = "docs/short_examples.md", line
    return found


def source_of(statement: ast.stmt, lines: list[str]) -> str:
    """The text of a statement. `ast.get_source_segment` does the same, but splits all of the source each time."""
    own, begin = [line.encode() for line in lines[statement.lineno - 1 : statement.end_lineno]], statement.col_offset
    own[-1] = own[-1][: statement.end_col_offset]  # places are counted in bytes
    own[0] = b" " * begin + own[0][begin:]
    return textwrap.dedent(b"\n".join(own).decode())


@functools.cache
def examples() -> dict[str, tuple[str, str]]:
    """By dotted name: the place and the shortest of its statements that use the name."""
    found: dict[str, tuple[str, str]] = {}
    known: dict[str, dict[str, str]] = {}
    for place, code in sources():
        names = known.setdefault(place, {})  # a block goes on with the imports of those before it
        names |= aliases(code)
        lines = code.split("\n")
        simple = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert, ast.FunctionDef, ast.With)
        for statement in (node for node in ast.walk(ast.parse(code)) if isinstance(node, simple)):
            text = source_of(statement, lines)
            if text.count("\n") >= LONGEST:
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Attribute | ast.Name):
                    first, *rest = ast.unparse(node).split(".")
                    name = ".".join([names.get(first, first), *rest])
                    shorter = name in found and found[name][0] == place and len(text) < len(found[name][1])
                    if name.startswith("chasles.") and (name not in found or shorter):
                        found[name] = place, text
    return _shown() | found
