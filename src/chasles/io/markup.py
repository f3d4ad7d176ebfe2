"""XML with limits: elements with their attributes and lines, nothing that expands, nothing endless.

Document types and entities are refused, as are files that are large or deep; reading is bounded in time and memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from chasles.io.source import LARGEST_FILE as LARGEST_FILE
from chasles.io.source import ModelFileError
from chasles.io.values import LARGEST_NUMBER as LARGEST_NUMBER
from chasles.io.values import checked_name

DEEPEST = 200  # elements within each other
MOST_ELEMENTS = 30_000  # elements of a file
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_INFINITE = {"inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf")}
LONGEST_NUMBER = 100  # characters
ATTRIBUTES = 20_000  # characters of one attribute


@dataclass
class Element:
    """A tag with its attributes, what is in it, and the line it stands on."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)
    content: str = ""  # its text, of tags for which it was asked

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element | None:
        """The child of this tag, if there is one; an error if there are several."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error("", f"is the second <{tag}> of {self}; expected one")
        return found[0] if found else None

    def below(self) -> Iterator[Element]:
        """This element and all in it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def __str__(self) -> str:
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f"<{self.tag} {name!r}>"

    def error(self, attribute: str, message: str) -> ModelFileError:
        return ModelFileError(self.file, self.line, f"{self} {attribute}".rstrip(), message)

    def text(self, attribute: str) -> str:
        """An attribute that must be there."""
        if attribute not in self.attributes:
            raise self.error(attribute, "is missing")
        return self.attributes[attribute]

    def name(self, attribute: str = "name") -> str:
        try:
            return checked_name(self.text(attribute))
        except ModelFileError:
            raise
        except ValueError as error:
            raise self.error(attribute, str(error)) from None

    def numbers(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """So many finite numbers between spaces."""
        if attribute not in self.attributes and default is not None:
            return default
        words = self.text(attribute).split()
        if len(words) != count:
            raise self.error(attribute, f"has {len(words)} numbers; expected {count}")
        return tuple(self._number(attribute, word) for word in words)

    def number(self, attribute: str, default: float | None = None, infinite: bool = False) -> float:
        """One number, finite unless it may be infinite."""
        if attribute not in self.attributes and default is not None:
            return default
        return self._number(attribute, self.text(attribute).strip(), infinite)

    def _number(self, attribute: str, word: str, infinite: bool = False) -> float:
        if infinite and word.lower() in _INFINITE:
            return _INFINITE[word.lower()]
        if len(word) > LONGEST_NUMBER or not _NUMBER.fullmatch(word):
            advice = "; expand it with xacro first" if "${" in word else ""
            raise self.error(attribute, f"is {word[:LONGEST_NUMBER]!r}; expected a finite number{advice}")
        value = float(word)
        if abs(value) > LARGEST_NUMBER:
            raise self.error(attribute, f"is {word}; a number of this size cannot be meant")
        return value


def read_markup(file: Path) -> Element:
    """The root element of an XML file."""
    name = str(file)
    try:
        if not file.is_file() and file.exists():  # reading from a pipe would wait for ever
            raise ModelFileError(name, None, "", "is a folder, a pipe or a device; expected a file")
        if file.stat().st_size > LARGEST_FILE:
            raise ModelFileError(name, None, "", f"is larger than {LARGEST_FILE // 1_000_000} MB")
        content = file.read_bytes()
    except OSError as error:
        raise ModelFileError(name, None, "", f"cannot be read: {error.strerror}") from None
    except ValueError as error:  # a null byte in the name
        raise ModelFileError(repr(name), None, "", f"cannot be read: {error}") from None
    return parse_markup(content, name)


def parse_markup(content: bytes, name: str, with_text: Collection[str] = ()) -> Element:
    """The root element of the content of a file; `with_text` are tags of which the text is kept too."""
    parser = expat.ParserCreate()
    parser.buffer_text = bool(with_text)
    roots: list[Element] = []
    path: list[Element] = []
    pieces: list[str] = []  # of the text of the last element of the path
    count = 0

    def refuse(message: str) -> ModelFileError:
        return ModelFileError(name, parser.CurrentLineNumber, "", message)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS:
            raise refuse(f"has more than {MOST_ELEMENTS} elements")
        if len(path) >= DEEPEST:
            raise refuse(f"is nested more than {DEEPEST} deep")
        for key, value in attributes.items():
            if len(value) > ATTRIBUTES:
                raise refuse(f"<{tag[:40]}> {key[:40]} has {len(value)} characters; at most {ATTRIBUTES} are read")
        element = Element(tag, attributes, parser.CurrentLineNumber, name)
        (path[-1].children if path else roots).append(element)
        path.append(element)
        pieces.clear()

    def end(tag: str) -> None:
        element = path.pop()
        if tag in with_text:
            element.content = "".join(pieces)

    def doctype(*_: Any) -> None:
        raise refuse("has a document type (<!DOCTYPE ...>), which could define entities; remove it")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    if with_text:
        parser.CharacterDataHandler = pieces.append
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ModelFileError(name, error.lineno, "", f"is not XML: {expat.ErrorString(error.code)}") from None
    except (ValueError, LookupError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(name, None, "", f"is not XML: {error}") from None
    return roots[0]
