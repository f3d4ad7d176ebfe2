"""The model file with the values that were found, and their uncertainty beside them.

The text of the file stays as it is, with its comments, but for the values; starts that it does not mention get a line.
Where another value has no line of its own, the whole model is written anew. Recorded inputs are not part of the model.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles.display.style import put
from chasles.fit.recorded_input import without_inputs
from chasles.fit.unknown import BODY, PATH, START, Slot
from chasles.io.model_file import Study, study_of_text
from chasles.io.model_writer import inertia_entry, model_text, value_text

INITIAL = r"^\[initial\]\s*(?:#.*)?$"
_VALUE = r'("[^"]*"|\'[^\']*\'|\[[^\]]*\]|[^#\s][^#]*?)'  # a text, a list, or a plain number, up to a comment


def write_fitted(fit: Any, file: Path) -> Path:
    """Write the model file of a fit."""
    if file.suffix.lower() != ".toml":
        raise ValueError(f"fit: {file} is not a model file; expected a name that ends in .toml")
    return put(fitted_text(fit).encode(), file)


def fitted_text(fit: Any) -> str:
    """The text of the model file; starts of experiments are those of the first."""
    source = _source(fit)
    study = fit.study(0)
    study = replace(study, system=without_inputs(study.system))
    slots = [slot for slot in fit.problem.slots if slot.experiment in (None, 0)]
    text = source
    for slot in slots:
        put_in = _put_body if slot.kind == BODY else _put
        text = None if text is None else put_in(text, slot, fit)
    if text is None or not _same(text, study):
        text = model_text(study)
    head = [f"# Fitted to {', '.join(trial.name for trial in fit.problem.trials)}: value ± half of the 95 % interval."]
    head += [f"# {line}" for line in str(fit).splitlines()[1:]]
    return "\n".join(head) + "\n" + text.rstrip("\n") + "\n" + _samples(fit, text)


def _source(fit: Any) -> str | None:
    """The text of the file that was fitted, if it stands alone and nothing of it was changed."""
    model = fit.model
    if not isinstance(model, str | Path) or Path(model).suffix.lower() != ".toml":
        return None
    text = Path(model).read_text(encoding="utf-8")
    return None if re.search(r"^\s*include\s*=", text, re.MULTILINE) else text


def _same(text: str, study: Study) -> bool:
    """Whether a text is the model with the values found."""
    try:
        found = study_of_text(text, study.report.file or "fitted.toml")
    except ValueError:
        return False
    return bool(found.system == study.system and found.start().keys() == study.start().keys() and _starts(found, study))


def _starts(one: Study, other: Study) -> bool:
    a, b = one.start(), other.start()
    for key in ("q", "v"):
        if {k: np.ravel(x).tolist() for k, x in a.get(key, {}).items()} != {
            k: np.ravel(x).tolist() for k, x in b.get(key, {}).items()
        }:
            return False
    return True


def _put(text: str, slot: Slot, fit: Any) -> str | None:
    """The text with the value of a slot; None if it has no line of its own."""
    if slot.about is not None or len(slot.labels) != 1:
        return None
    value, known = fit[slot.labels[0]], _known(fit, slot.labels[0])
    section, _, rest = slot.path.partition(".")
    if slot.kind == PATH and section == "parameters":
        return _replaced(text, r"^\[parameters\]\s*(?:#.*)?$", re.escape(rest), repr(value), known)
    if slot.kind == START:
        line = _replaced(text, INITIAL, rf'{section}\."?{re.escape(rest)}"?', repr(value), known)
        return line if line is not None else _with_start(text, section, rest, f"{value!r}  # {known}")
    thing, _, field = rest.rpartition(".")
    return _replaced(text, _head(section, thing), re.escape(field), repr(value), known)


def _put_body(text: str, slot: Slot, fit: Any) -> str | None:
    """The text with mass, center of mass and inertia of a body; None if one of these has no line of its own."""
    (body,) = (one for one in fit.study(0).system.bodies if one.name == slot.path)
    found: str | None = text
    for key, known in (("mass", _known(fit, slot.labels[0])), ("com", "fitted"), ("inertia", "fitted")):
        found = (
            None
            if found is None
            else _replaced(
                found,
                _head("bodies", body.name),
                key,
                value_text(inertia_entry(body) if key == "inertia" else getattr(body, key)),
                known,
            )
        )
    return found


def _known(fit: Any, name: str) -> str:
    """How well a value is known."""
    half = fit.found.intervals()[fit.names.index(name), 1] - fit[name]
    return f"± {half:.2g}" if np.isfinite(half) else "not determined by the data"


def _head(section: str, thing: str) -> str:
    """What the section of a thing begins with, up to its name."""
    return rf"^\[\[{section}\]\]\s*(?:#.*)?\n(?:(?!^\[).*\n)*?\s*name\s*=\s*[\"']{re.escape(thing)}[\"']"


def _replaced(text: str, head: str, key: str, value: str, known: str) -> str | None:
    """The text with the first `key = value` after a head and before the next section."""
    found = re.search(head, text, re.MULTILINE)
    if found is None:
        return None
    rest = text[found.end() :]
    end = re.search(r"^\[", rest, re.MULTILINE)
    part = rest[: end.start()] if end else rest
    line = re.search(rf"^(\s*{key}\s*=\s*){_VALUE}[ \t]*(#.*)?$", part, re.MULTILINE)
    if line is None:
        return None
    comment = f"{line[3]}; " if line[3] else "# "
    new = f"{line[1]}{value}  {comment}{known}, was {line[2].strip()}"
    changed = part[: line.start()] + new + part[line.end() :]
    return text[: found.end()] + changed + (rest[end.start() :] if end else "")


def _with_start(text: str, letter: str, joint: str, value: str) -> str:
    """The text with a start that it does not mention, at the end of its section."""
    line = f"{letter}.{joint if re.fullmatch(r'[A-Za-z0-9_-]+', joint) else json.dumps(joint)} = {value}\n"
    found = re.search(INITIAL, text, re.MULTILINE)
    if found is None:
        return f"{text.rstrip()}\n\n[initial]\n{line}"
    end = re.search(r"^\[", text[found.end() :], re.MULTILINE)
    stop = found.end() + end.start() if end else len(text)
    kept = text[:stop].rstrip()
    return f"{kept}\n{line}{text[len(kept) + 1 :]}"


def _samples(fit: Any, text: str) -> str:
    """The uncertainty as distributions, for `chasles sweep`; nothing if the file has an ensemble of its own, or if the
    intervals are not valid."""
    parameters = [slot for slot in fit.problem.slots if slot.path.startswith("parameters.") and slot.experiment is None]
    known = [slot for slot in parameters if np.isfinite(fit.deviations[slot.labels[0]])]
    if (
        not (known and fit.success)
        or re.search(r"^\[ensemble", text, re.MULTILINE)
        or not re.search(r"^\[parameters\]", text, re.MULTILINE)
    ):
        return ""
    lines = ["", "[ensemble]                        # what is known of them: chasles sweep FILE -n 100 --quantity ..."]
    for slot in known:
        name = slot.path.removeprefix("parameters.")
        value, deviation = fit[slot.labels[0]], fit.deviations[slot.labels[0]]
        lines.append(f'sample.{name} = "normal({value!r}, {deviation:.6g})"')
    return "\n".join([*lines, "n = 100", ""])
