"""Put the table of imported models into the documentation. Run: python -m tools.import_table FOLDER

FOLDER has the packages example-robot-data, dm_control, brax and gymnasium, as `pip install --no-deps --target FOLDER`
puts them there.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import chasles as ch
from tools.import_agreement import Agreement, MujocoPeer, PinocchioPeer, compare

PAGE = Path(__file__).parents[1] / "docs" / "imports.md"
START, END = "<!-- table: python -m tools.import_table -->", "<!-- end of the table -->"
SKIPPED = ("package.xml", "schema.xml", "attribute_test_schema.xml")  # no models
PREFIX = "cmeel.prefix/share/"
AGREES = 1e-8


def cell(text: str) -> str:
    for character in "\\|*_^<>`":
        text = text.replace(character, "\\" + character)
    return text


def files(folder: Path) -> Iterator[Path]:
    for file in sorted([*folder.rglob("*.urdf"), *folder.rglob("*.xml")]):
        if file.name not in SKIPPED:
            yield file


def reason(error: ValueError, folder: Path) -> str:
    """A message without the folders of this machine."""
    message = f"{error.path} {error.message}".strip() if isinstance(error, ch.errors.ModelFileError) else str(error)
    return message.replace(str(folder) + "/", "")


def row(file: Path, folder: Path) -> tuple[str, str]:
    """The line of a file and what it says: "agrees", "differs", "still" or "refused"."""
    name = cell(str(file.relative_to(folder)).removeprefix(PREFIX))
    try:
        study = ch.load(file, root=folder)
        system, report = study.system, study.report
        peer = PinocchioPeer(file) if report.form == "URDF" else MujocoPeer(file, system)
        found = compare(system, peer)
    except ValueError as error:
        return f"| {name} | | | | | | | {cell(reason(error, folder))} |", "refused"
    notes = [line.what for line in report.lines if line.moves and line.what not in ("contact", "limits")]
    notes += ["inertias not physical"] if any("NOT PHYSICAL" in line.why for line in report.lines) else []
    velocities = system.compile().nv
    if not velocities:
        return f"| {name} | {len(system.bodies)} | 0 | | | | | nothing moves |", "still"
    numbers = [shown(found, key) for key in ("mass", "bias", "passive", "forward")]
    if found.closed is not None:
        numbers[3] += f", closed {found.closed:.0e}"
    agrees = max(value for value in found if value is not None) < AGREES
    note = "; ".join(notes) if agrees else "**does not agree**"
    return (
        f"| {name} | {len(system.bodies)} | {velocities} | {' | '.join(numbers)} | {cell(note)} |",
        "agrees" if agrees else "differs",
    )


def shown(found: Agreement, key: str) -> str:
    value = getattr(found, key)
    return "" if value is None else f"{value:.0e}"


def main(folder: Path) -> None:
    lines = [
        "| File | Bodies | Velocities | Mass matrix | Bias | Springs | Forward dynamics | Not as in the file |",
        "|---|---:|---:|---|---|---|---|---|",
    ]
    verdicts = []
    for file in files(folder):
        line, verdict = row(file, folder)
        lines.append(line)
        verdicts.append(verdict)
        print(line, flush=True)
    summary = (
        f"{len(verdicts)} files: {verdicts.count('agrees')} agree to {AGREES:g} or better, "
        f"{verdicts.count('differs')} do not, {verdicts.count('refused')} are refused for the reason given, "
        f"{verdicts.count('still')} have nothing that moves."
    )
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    table = "\n".join([START, "", summary, "", *lines, "", END])
    PAGE.write_text(before + table + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
