"""What the texts of a result file may say: they are taken apart here, before anything is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from chasles.integrate.solution import COUNTED_WORK

Kind = Callable[[Any], bool]


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _positive(value: Any) -> bool:
    return value is None or (_number(value) and value > 0)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_number, value))


def _is(*kinds: type) -> Kind:
    return lambda value: isinstance(value, kinds)


def _function(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("hash"), str)


def _event(value: Any) -> bool:
    return _function(value) and value.get("direction") in (-1, 0, 1) and isinstance(value.get("terminal"), bool)


def _all(kind: Kind) -> Kind:
    return lambda value: isinstance(value, list) and all(map(kind, value))


def _or_none(kind: Kind) -> Kind:
    return lambda value: value is None or kind(value)


def _save(value: Any) -> bool:
    return value in ("all", "final") or (type(value) is int and value >= 1) or _numbers(value)


HEADER: dict[str, Kind] = {
    "created": _is(str),
    "command": _all(_is(str)),
    "versions": lambda value: isinstance(value, dict) and isinstance(value.get("chasles"), str),
    "system": _is(str),
    "dynamics": _is(dict),
    "span": lambda value: _numbers(value) and len(value) == 2,
    "method": _is(str, dict),
    "options": _is(dict),
    "control": _or_none(_numbers),
    "period": _positive,
    "controller": _or_none(_function),
    "laws": _all(_function),
    "events": _all(_event),
    "strikes": _all(_is(str)),
    "sizes": _is(dict),
    "memory": _all(lambda item: isinstance(item, list) and len(item) == 3 and _numbers(item[2])),
    "no_curve": _is(str),
}
OPTIONS: dict[str, Kind] = {
    "step": _positive,
    "rtol": _or_none(lambda value: _number(value) and value >= 0),
    "atol": _or_none(lambda value: _number(value) and value >= 0),
    "save": _save,
}
DYNAMICS: dict[str, Kind] = {
    "kind": _is(str),
    "space": _is(str, dict),
    "projected": _is(bool),
    "baumgarte": lambda value: _numbers(value) and len(value) == 2,
    "inputs": _is(bool),
    "every_angle": _is(bool),
    "trivialization": _is(str),
    "redundant": lambda value: (
        isinstance(value, list)
        and len(value) == 2
        and _all(_is(str))(value[0])
        and type(value[1]) is int
        and value[1] >= 0
    ),
    "cut": _all(_is(str)),
    "negative": _all(_is(str)),
}


def check_header(header: dict[str, Any]) -> dict[str, Any]:
    """A header whose entries are of the kinds that they should be."""
    _check("header", {"strikes": [], **header}, HEADER)
    _check("options", header["options"], OPTIONS)
    _check("dynamics", header["dynamics"], {key: DYNAMICS[key] for key in header["dynamics"] if key in DYNAMICS})
    return header


def check_note(note: Any, rows: int, events: int) -> None:
    """What goes with a checkpoint; it counts no more rows and events than there is room for."""
    most = {"rows": rows, "events": events, "pieces": math.inf}
    _check("checkpoint", note, {key: _whole_up_to(value) for key, value in most.items()} | {"work": _is(dict)})
    _check("work", note["work"], {key: _number for key in COUNTED_WORK if key in note["work"]} | {"seconds": _number})


def check_outcome(outcome: dict[str, Any]) -> dict[str, Any]:
    """How a run ended."""
    _check("outcome", outcome, {"success": _is(bool), "message": _is(str), "energy": _is(bool)})
    _check("outcome", outcome, {key: _number for key in COUNTED_WORK if key in outcome})
    _check("outcome", {"certificate": None, **outcome}, {"certificate": _or_none(_is(dict))})
    return outcome


def _whole_up_to(most: float) -> Kind:
    return lambda value: type(value) is int and 0 <= value <= most


def _check(what: str, found: Any, kinds: Mapping[str, Kind]) -> None:
    if not isinstance(found, dict):
        raise ValueError(f"its {what} is not a table")
    for key, kind in kinds.items():
        if key not in found or not kind(found[key]):
            said = f"{found[key]!r:.80}" if key in found else "missing"
            raise ValueError(f"{key!r} in its {what} is {said}")
