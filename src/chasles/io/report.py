"""What an import took from a file, what it approximated and what it ignored; nothing is dropped without a line here."""

from __future__ import annotations

from dataclasses import dataclass, field

TAKEN, APPROXIMATED, IGNORED = "taken", "approximated", "ignored"
ORDER = (TAKEN, APPROXIMATED, IGNORED)
NAMED = 6  # names that a line shows


@dataclass
class ImportLine:
    """What became of one kind of thing: how many there are, which, and why; `moves`: whether the motion feels it."""

    status: str
    what: str
    why: str
    moves: bool
    names: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        listed = ", ".join(dict.fromkeys(name for name in self.names if name))
        shown = [name for name in dict.fromkeys(self.names) if name]
        if len(shown) > NAMED:
            listed = f"{', '.join(shown[:NAMED])}, ..."
        return f"{self.why}: {listed}" if self.why and listed else self.why or listed


class ImportReport:
    """The lines of an import; prints as a table.

    `faithful`: whether the equations of motion are those of the file, contact apart (none is simulated).
    """

    def __init__(self, file: str, form: str):
        self.file, self.form = file, form
        self._lines: dict[tuple[str, str, str], ImportLine] = {}

    def add(self, status: str, what: str, name: str = "", why: str = "", moves: bool = False) -> None:
        line = self._lines.setdefault((status, what, why), ImportLine(status, what, why, moves))
        line.names.append(name)

    def took(self, what: str, name: str = "", why: str = "") -> None:
        self.add(TAKEN, what, name, why)

    def approximated(self, what: str, name: str = "", why: str = "", moves: bool = True) -> None:
        self.add(APPROXIMATED, what, name, why, moves)

    def ignored(self, what: str, name: str = "", why: str = "", moves: bool = False) -> None:
        self.add(IGNORED, what, name, why, moves)

    @property
    def lines(self) -> list[ImportLine]:
        return sorted(self._lines.values(), key=lambda line: ORDER.index(line.status))

    def those(self, status: str) -> list[ImportLine]:
        return [line for line in self.lines if line.status == status]

    @property
    def faithful(self) -> bool:
        return not any(line.moves for line in self.lines if line.what != "contact")

    def __str__(self) -> str:
        head = ("", "what", "count", "")
        rows = [(line.status, line.what, str(line.count), str(line)) for line in self.lines]
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(3)]
        shown = "  ".join
        text = [f"{self.file} ({self.form})"]
        for row in [head, *rows]:
            cells = (row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]), row[3])
            text.append(shown(cells).rstrip())
        return "\n".join(text)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.those(status))} {status}" for status in ORDER)
        return f"<ImportReport of {self.file!r}: {counts}>"
