"""The README is true: its Python runs, its commands exist, its links lead somewhere."""

import json
import re
from pathlib import Path

import pytest

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
    "docs/plan.md",
    "docs/simulation.md",
    "docs/transition.md",
]


TUTORIALS = sorted(f"docs/learn/{file.name}" for file in (ROOT / "docs" / "learn").glob("*.md"))
TUTORIALS.remove("docs/learn/index.md")


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS])
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
