"""TOML text with its limits, its includes, and the lines that things stand on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chasles.kernel.pickled import PickledWhole

LARGEST_FILE = 16_000_000  # bytes of a file
INCLUDES = 32  # files, at most
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*([\w.\-]+|\"[^\"]*\"|'[^']*')\s*=")


class ModelFileError(PickledWhole, ValueError):
    """An error in a model file, with the file, the line and the path within it."""

    def __init__(self, file: str, line: int | None, path: str, message: str):
        self.file, self.line, self.path, self.message = file, line, path, message
        where = file + (f":{line}" if line else "")
        super().__init__(f"{where}: {path}: {message}" if path else f"{where}: {message}")


class Source:
    """A parsed file: its data, and its text for saying where something stands."""

    def __init__(self, file: Path, text: str | None = None):
        self.file = file
        if text is not None:  # from elsewhere than a file of its own
            self.text = text
            self.data = self._parsed()
            return
        try:
            if not file.is_file() and file.exists():  # reading from a pipe would wait for ever
                raise ModelFileError(str(file), None, "", "is a folder, a pipe or a device; expected a file")
            if file.stat().st_size > LARGEST_FILE:
                raise ModelFileError(str(file), None, "", f"is larger than {LARGEST_FILE // 1_000_000} MB")
            self.text = file.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ModelFileError(str(file), None, "", f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ModelFileError(str(file), None, "", f"is not UTF-8 text: {error.reason}") from None
        self.data = self._parsed()

    def _parsed(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"at line (\d+)", str(error))
            line = int(found.group(1)) if found else None
            raise ModelFileError(str(self.file), line, "", f"is not TOML: {error}") from None
        except RecursionError:
            raise ModelFileError(str(self.file), None, "", "is nested too deeply") from None

    def error(self, path: str, message: str) -> ModelFileError:
        """An error about what stands at a path such as "bodies[2].inertia"."""
        return ModelFileError(str(self.file), self.line(path), path, message)

    def line(self, path: str) -> int | None:
        """The line of a path, or of the nearest thing around it that has a line of its own."""
        parts = re.findall(r"[^.\[\]]+|\[\d+\]", path)
        lines = self._lines
        while parts:
            found = lines.get("".join(p if p.startswith("[") or not k else f".{p}" for k, p in enumerate(parts)))
            if found:
                return found
            parts.pop()
        return None

    @property
    def _lines(self) -> Mapping[str, int]:
        lines: dict[str, int] = {}
        counts: dict[str, int] = {}
        table = ""
        for number, text in enumerate(self.text.splitlines(), 1):
            if header := _HEADER.match(text):
                table = header.group(2).replace('"', "").replace(" ", "")
                if header.group(1) == "[[":
                    counts[table] = counts.get(table, -1) + 1
                    table = f"{table}[{counts[table]}]"
                lines.setdefault(table, number)
            elif key := _KEY.match(text):
                name = key.group(1).strip("\"'")
                lines.setdefault(f"{table}.{name}" if table else name, number)
        return lines


def within(folder: Path, name: str, what: str) -> Path:
    """The file `name` in a folder or below; a ValueError if it leads out of it."""
    path = (folder / name).resolve()
    if Path(name).is_absolute() or not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{what} {name!r} leads out of the folder of the model; put it there or below")
    return path


def read(file: Path) -> list[Source]:
    """A file and all that it includes, those included first; each once."""
    found: dict[Path, Source] = {}

    def visit(path: Path, chain: tuple[Path, ...]) -> None:
        if path in chain:
            circle = " -> ".join(p.name for p in (*chain[chain.index(path) :], path))
            raise ModelFileError(str(chain[-1]), None, "include", f"files include each other in a circle: {circle}")
        if path in found:
            return
        if len(found) + len(chain) >= INCLUDES:
            raise ModelFileError(str(file), None, "include", f"more than {INCLUDES} files")
        source = Source(path)
        names = source.data.get("include", [])
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise source.error("include", f"is {names!r}; expected file names")
        for name in names:
            try:
                visit(within(path.parent, name, "include"), (*chain, path))
            except ModelFileError:
                raise
            except ValueError as error:
                raise source.error("include", str(error)) from None
        found[path] = source

    visit(file.resolve(), ())
    return list(found.values())
