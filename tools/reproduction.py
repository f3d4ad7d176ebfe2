"""Put the table of `chasles reproduce` into the documentation. Run: python -m tools.reproduction FOLDER

FOLDER is the output folder of the command, with the JSON files of all figures.
"""

import json
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reproduce.md"
START, END = "<!-- table of {}: python -m tools.reproduction -->", "<!-- end of the table -->"


def accepted(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low:.4g} to {high:.4g}"
    return f"at most {high:.4g}" if low is None else f"at least {low:.4g}"


def cell(text: str) -> str:
    """Text that no Markdown reads otherwise; code between backticks stays as it is."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\|*_^])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def table(folder: Path) -> str:
    rows = ["| Figure | The paper says | We measure | Accepted | Agrees? | Note |", "|---:|---|---|---|---|---|"]
    for file in sorted(folder.glob("figure_*.json")):
        content = json.loads(file.read_text())
        for claim in content["claims"]:
            measured = f"{cell(claim['we measure'])}: {claim['measured']:.3g}"
            verdict = "yes" if claim["agrees"] else "**no**"
            parts = (content["figure"], cell(claim["paper says"]), measured, accepted(*claim["accepted"]), verdict)
            rows.append("| " + " | ".join(map(str, (*parts, cell(claim["note"])))) + " |")
    return "\n".join(rows)


def write(folder: Path) -> None:
    paper = json.loads(next(folder.glob("figure_*.json")).read_text())["paper"]
    start = START.format(paper)
    before, rest = PAGE.read_text().split(start)
    after = rest.split(END, 1)[1]
    PAGE.write_text(f"{before}{start}\n\n{table(folder)}\n\n{END}{after}")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
