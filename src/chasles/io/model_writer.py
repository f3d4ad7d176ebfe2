"""A system, or a whole study, as the text of a model file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from chasles.integrate.method_name import name_of
from chasles.io import spec
from chasles.io.model_file import Study
from chasles.model.body import Body
from chasles.model.expression_law import Expression
from chasles.model.joint import PER_VELOCITY, Joint
from chasles.model.joint_kind import JOINT_KINDS
from chasles.model.law import Law
from chasles.model.placement import ORIGIN
from chasles.model.rod import Rod
from chasles.model.rod_load import Mass
from chasles.model.rod_parts import own_parts
from chasles.model.rod_place import written
from chasles.model.rod_section import Section
from chasles.model.system import EARTH, System

# by class: the name of its kind, and the fields that a file must have
CLASSES = {
    kind.make: (name, {key for key, field in kind.fields.items() if field.required})
    for table in (
        spec.SHAPE_SPECS,
        spec.FORCE_SPECS,
        spec.CONSTRAINT_SPECS,
        spec.CURVE_SPECS,
        spec.SECTION_SPECS,
    )
    for name, kind in table.items()
}
GENERAL = next(kind for kind in JOINT_KINDS.values() if kind.any_screws)
SAME = 1e-12  # difference of screws that count as equal, of 1 and of the largest linear part


def model_text(given: System | Study) -> str:
    """The text of a model file that is read as the same system. Laws are written by name only."""
    study = given if isinstance(given, Study) else Study(given)
    system = study.system
    lines = [f"name = {_text(system.name)}"]
    if study.description:
        lines.append(f"description = {_text(study.description)}")
    if tuple(system.gravity) != EARTH:  # type: ignore[arg-type]
        lines.append(f"gravity = {value_text(system.gravity)}")
    for body in own_parts(system.bodies):
        entry: dict[str, Any] = {"name": body.name}
        if body.density is not None:
            entry["density"] = body.density
        else:
            entry |= {"mass": body.mass, "com": body.com, "inertia": inertia_entry(body)}
            entry = {key: value for key, value in entry.items() if key in ("name", "mass") or np.any(value)}
        if not body.physical:
            entry["physical"] = False
        if body.shapes:
            entry["shapes"] = [_thing(shape) for shape in body.shapes]
        lines += _entry("bodies", entry)
    for joint in own_parts(system.joints):
        lines += _entry("joints", _joint(joint))
    for frame in own_parts(system.frames):
        lines += _entry("frames", _thing(frame))
    for force in own_parts(system.forces):
        lines += _entry("forces", _thing(force))
    for actuator in system.actuators:
        lines += _entry("actuators", _thing(actuator))
    for constraint in system.constraints:
        lines += _entry("constraints", _thing(constraint))
    for rod in system.rods:
        lines += _entry("rods", _rod(rod))
    for reduced in system.reduced:
        lines += _entry("reduced", _thing(reduced))
    if study.initial:
        lines += ["", "[initial]"]
        for key, value in study.initial.items():
            if isinstance(value, Mapping):
                lines += [f"{key}.{_text(written(name))} = {value_text(numbers)}" for name, numbers in value.items()]
            else:
                lines.append(f"{key} = {value_text(value)}")
    if study.options:
        lines += ["", "[simulation]"]
        for key, value in study.options.items():
            if key == "method":
                value = value if isinstance(value, str | Mapping) else name_of(value)
            elif key == "stabilization" and value is None:
                value = "none"
            elif value is None:
                continue
            lines.append(f"{key} = {value_text(value)}")
    return "\n".join(lines) + "\n"


def _rod(rod: Rod) -> dict[str, Any]:
    entry = _thing(rod)
    entry["curve"] = _thing(rod.curve)
    one = isinstance(rod.section, Section)
    entry["section"] = _thing(rod.section) if one else [_thing(section) for section in rod.section]
    if rod.material is not None:
        entry["material"] = _thing(rod.material)
    if rod.loads:
        entry["loads"] = [_thing(load) for load in rod.loads]
    if rod.added:
        entry["added"] = [_mass(mass) for mass in rod.added]
    if rod.intrinsic:
        entry["intrinsic"] = dict(rod.intrinsic)
    return entry


def _mass(mass: Mass) -> dict[str, Any]:
    entry = {"at": mass.at, "mass": mass.mass, "com": mass.com, "inertia": inertia_entry(mass)}
    return {key: value for key, value in entry.items() if key in ("at", "mass") or np.any(value)}


def _entry(section: str, values: Mapping[str, Any]) -> list[str]:
    return ["", f"[[{section}]]", *(f"{key} = {value_text(value)}" for key, value in values.items())]


def _thing(thing: Any) -> dict[str, Any]:
    """Fields that are not as by default, or that a file must have."""
    kind, required = CLASSES.get(type(thing), (None, set()))
    entry: dict[str, Any] = {} if kind is None else {"kind": kind}
    for item in fields(thing):
        value = getattr(thing, item.name)
        if item.name == "parameters" and isinstance(getattr(thing, "value", None), Expression):
            continue  # they are its program
        usual = item.default is not MISSING and value == _settled(item.default)
        if item.init and value is not None and (not usual or item.name in required):
            entry[item.name] = value
    return entry


def _settled(default: Any) -> Any:
    return float(default) if isinstance(default, int) and not isinstance(default, bool) else default


def _joint(joint: Joint) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": joint.name, "kind": joint.kind, "parent": joint.parent, "child": joint.child}
    screws = np.array(joint.screws)
    own = {one.name: one.read(screws) for one in joint.traits.parameters}
    again = spec.JOINT_SPECS[joint.kind].make(joint.name, joint.parent, joint.child, **own)
    limits = SAME * np.repeat([1.0, abs(screws.reshape(-1, 6)[:, 3:]).max(initial=0.0)], 3)
    if (abs(np.array(again.screws) - screws).reshape(-1, 6) > limits).any():
        # a `Joint` made by hand, such as one whose axis misses the origin of its frame
        entry["kind"], own = GENERAL.name, {one.name: one.read(screws) for one in GENERAL.parameters}
    entry |= own
    for key, frame in (("at", joint.parent_frame), ("child_at", joint.child_frame)):
        if frame != ORIGIN:
            entry[key] = frame[4:] if frame[:4] == ORIGIN[:4] else frame
    for key in spec.DRIVEN if joint.nv else ():
        value = getattr(joint, key)
        default = next(item.default for item in fields(Joint) if item.name == key)
        if key in PER_VELOCITY:
            if value != (default,) * joint.nv:
                entry[key] = value
        elif value is not None and value != default:
            entry[key] = value
    return entry


def inertia_entry(body: Body | Mass) -> Any:
    """Three numbers if the inertia is diagonal, six if it is symmetric to the last bit, else all."""
    matrix = np.array(body.inertia)
    if not np.any(matrix - np.diag(np.diag(matrix))):
        return np.diag(matrix)
    if np.any(matrix != matrix.T):
        return matrix
    return matrix[np.triu_indices(3)]


def value_text(value: Any) -> str:
    """A value in TOML; floats so that reading gives the same bits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(written(value))
    if isinstance(value, Expression):
        return value_text(value.value)
    if isinstance(value, Law):
        return f"{{ law = {_text(value.__name__)} }}"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {value_text(item)}" for key, item in value.items()) + " }"
    if isinstance(value, np.ndarray):
        return value_text(value.tolist())
    if isinstance(value, Iterable):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    if isinstance(value, int):
        return str(value)
    number = float(value)
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return repr(number)


def _key(text: str) -> str:
    return text if text.isascii() and text.isidentifier() else _text(written(text))


def _text(text: str) -> str:
    """A string in TOML: what JSON writes, with one more character escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
