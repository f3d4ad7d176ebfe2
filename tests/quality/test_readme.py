"""The README is true: its Python runs, its commands exist, its links lead somewhere."""

import json
import re
from pathlib import Path

import pytest

import chasles as ch
from chasles.cli import COMMANDS, MODULES

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/absolute.md",
    "docs/certificate.md",
    "docs/designer.md",
    "docs/derivatives.md",
    "docs/ensembles.md",
    "docs/bridges.md",
    "docs/fit.md",
    "docs/higher_order.md",
    "docs/implicit.md",
    "docs/imports.md",
    "docs/integrators.md",
    "docs/mechanisms.md",
    "docs/model_files.md",
    "docs/models.md",
    "docs/parameters.md",
    "docs/pictures.md",
    "docs/representations.md",
    "docs/results.md",
    "docs/rods.md",
    "docs/screws.md",
    "docs/sensitivities.md",
    "docs/short_examples.md",
    "docs/plan.md",
    "docs/simulation.md",
    "docs/transition.md",
]


# on lines of their own, after a prompt, or in backticks
COMMAND = re.compile(r"(?:`|^(?:\$ )?(?:\.venv/bin/)?)chasles ([a-z]+(?: [^`\n]*)?)", flags=re.MULTILINE)
TUTORIALS = sorted(f"docs/learn/{file.name}" for file in (ROOT / "docs" / "learn").glob("*.md"))
TUTORIALS.remove("docs/learn/index.md")
THEORY = sorted(f"docs/theory/{file.name}" for file in (ROOT / "docs" / "theory").glob("*.md"))
THEORY.remove("docs/theory/index.md")


@pytest.mark.parametrize("page", [*PAGES, *THEORY, *TUTORIALS])
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages may write files
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    scope: dict = {}  # one for the page: a block may go on with what the blocks before it made
    for block in blocks:
        exec(block, scope)


@pytest.mark.parametrize("page", TUTORIALS)
def test_tutorials_have_pictures_and_notebooks(page):
    text = (ROOT / page).read_text()
    pictures = re.findall(r"\]\(\.\./_static/learn/(.*?)\)", text)
    assert pictures
    assert all((ROOT / "docs" / "_static" / "learn" / name).exists() for name in pictures)
    notebook = json.loads((ROOT / "docs" / "learn" / "notebooks" / f"{Path(page).stem}.ipynb").read_text())
    cells = ["".join(cell["source"]).strip() for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells == [block.strip() for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)]


def test_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_continuous_integration_runs_the_command_of_the_readme():
    command = next(line for line in (ROOT / "README.md").read_text().splitlines() if line.endswith("-m pytest"))
    pattern = re.search(r"grep -m1 -E '(.*)' README", (ROOT / ".ci" / "run").read_text())
    assert pattern is not None
    assert re.fullmatch(pattern[1].replace("^", "").replace("$", ""), command)


@pytest.fixture(scope="module")
def texts():
    pages = [ROOT / "README.md", ROOT / "llms.txt", *(ROOT / "docs").rglob("*.md")]
    return {str(page.relative_to(ROOT)): page.read_text() for page in pages if not {"_build", "api"} & set(page.parts)}


def test_names_in_pages_exist(texts):
    """`ch.something` in running text and code is a public name."""
    for page, text in texts.items():
        for name in set(re.findall(r"\bch\.([a-z]\w*(?:\.\w+)?)", text, flags=re.IGNORECASE)):
            value = ch
            for part in name.split("."):
                if not hasattr(value, part):
                    assert value is not ch, f"{page}: there is no ch.{name}"
                    break  # of an instance, not of the class or function
                value = getattr(value, part)


def test_commands_in_pages_exist(texts):
    """`chasles COMMAND --option`: both are there, by the source of the command."""
    folder, used = Path(ch.__file__).parent / "cli", set()
    own = {MODULES.get(command, command) for command in COMMANDS}
    shared = "".join(file.read_text() for file in folder.glob("*.py") if file.stem not in own)
    for page, text in texts.items():
        for line in COMMAND.findall(text):
            command, *rest = line.split("#")[0].split()
            if command not in COMMANDS:
                assert not rest or not rest[0].startswith("-"), f"{page}: there is no command {command!r}"
                continue
            used.add(command)
            source = (folder / f"{MODULES.get(command, command)}.py").read_text() + shared
            for option in (word.split("=")[0] for word in rest if re.match("--[a-z]", word)):
                name = option[2:].removeprefix("no-").replace("-", "_")
                there = f"{name}: " in source or f'"{option}"' in source or option in ("--help", "--version")
                assert there, f"{page}: chasles {command} has no {option}"
    assert {"run", "plot", "sweep", "check", "validate"} <= used


def test_links_of_all_pages_lead_somewhere(texts):
    for page, text in texts.items():
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target and not target.endswith(".html"):  # generated pages have no file: {doc} names them
                assert (ROOT / page).parent.joinpath(target).exists(), f"{page}: {target}"
