"""Parts shared by the scripts that write pages: places, Markdown tables, versions, the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEMPLATES = Path(__file__).with_name("pages")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str = "--:") -> str:
    """A Markdown table; `align` is the alignment of all columns but the first."""
    lines = [header, ["---", *[align] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(path: Path, **parts: object) -> None:
    """Fill the template of the same name in benchmarks/pages and write the page."""
    template = (TEMPLATES / path.name).read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(template.format(**parts), encoding="utf-8")


def show(name: str, **parts: object) -> None:
    """Fill a template of benchmarks/pages and print it: a study for those who work on the code."""
    print((TEMPLATES / name).read_text(encoding="utf-8").format(**parts))


def fill(document: str, name: str, text: str) -> None:
    """Put a measured part into a page of the documentation, between the comments that name it."""
    path, begin, end = DOCS / document, f"<!-- measured: {name} -->\n", "\n<!-- end -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(before + begin + text + end + rest.split(end, 1)[1], encoding="utf-8")


def left_out(missing: Sequence[str]) -> str:
    """A sentence about the libraries that could not be imported."""
    return f"Not installed and left out: {', '.join(missing)}." if missing else "Every compared library was installed."


def version(distribution: str) -> str:
    """Version of an installed distribution."""
    return metadata.version(distribution)


def versions(*distributions: str) -> str:
    """A sentence with the versions of Python and of some distributions."""
    return f"Python {platform.python_version()}, " + ", ".join(f"{d} {version(d)}" for d in distributions)


def _cpuinfo() -> dict[str, str]:
    """Fields of the first processor in /proc/cpuinfo, empty where there is none."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text(encoding="utf-8").split("\n\n")[0]
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}


def machine() -> str:
    """The processor, the width of its vector registers and the operating system."""
    info = _cpuinfo()
    flags = info.get("flags", "").split()
    model = info.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in info:
        model += f" (family {info['cpu family']}, model {info.get('model', '?')})"
    width = next((bits for flag, bits in (("avx512f", 512), ("avx", 256), ("sse2", 128)) if flag in flags), None)
    registers = f", vector registers of {width} bits" if width else ""
    return f"{model}{registers}, {platform.system()} {platform.machine()}"


def load() -> str:
    """Load average of the last 1, 5 and 15 minutes, where the system has it."""
    return ", ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
