"""List all questions of the documentation on their first page. Run: python -m tools.questions"""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "questions"
INDEX = FOLDER / "index.md"
START, END = "<!-- questions: python -m tools.questions -->\n", "<!-- end -->\n"


def pages() -> list[Path]:
    """The pages in the order of the table of contents."""
    names = re.findall(r"^([a-z]+)$", INDEX.read_text().split("{toctree}")[1], flags=re.MULTILINE)
    return [FOLDER / f"{name}.md" for name in names]


def anchor(heading: str) -> str:
    """Where a heading is on its page: as GitHub and MyST write it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def listing() -> str:
    lines = []
    for page in pages():
        text = page.read_text()
        title = re.search(r"^# (.*)$", text, flags=re.MULTILINE)
        assert title is not None
        questions = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
        links = [f"- [{question}]({page.name}#{anchor(question)})" for question in questions]
        lines += [f"## {title[1]}", "", *links, ""]
    return "\n".join(lines)


def with_listing(text: str) -> str:
    before, rest = text.split(START)
    return f"{before}{START}\n{listing()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    INDEX.write_text(with_listing(INDEX.read_text()))
