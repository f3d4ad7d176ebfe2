"""The JSON Schema of model files, from the table of `spec`, so that editors complete and check them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chasles.integrate.method_name import METHOD_NAMES
from chasles.io import spec
from chasles.model.expression_function import TABLES

_NUMBER: dict[str, Any] = {"type": ["number", "string"]}  # a string is an expression of parameters
_LAW: dict[str, Any] = {
    "type": "object",
    "properties": {"law": {"type": "string"}},
    "required": ["law"],
    "additionalProperties": False,
}


def _numbers(*counts: int) -> dict[str, Any]:
    several: dict[str, Any] = {"type": "array", "items": _NUMBER}
    if not counts:
        return several
    return {"anyOf": [{**several, "minItems": n, "maxItems": n} for n in counts]}


_POSE = {
    "anyOf": [
        _numbers(3, 7),
        {
            "type": "object",
            "properties": {
                "position": _numbers(3),
                "quaternion": _numbers(4),
                "rotation_vector": _numbers(3),
                "rpy": _numbers(3),
            },
            "additionalProperties": False,
        },
    ]
}
_EACH = {"anyOf": [_NUMBER, _numbers()]}
_BODY = {
    "type": "string",
    "minLength": 1,
    "description": 'its name; the nodes of a rod are "blade[0]", "blade[1]", ..., or by arc length "blade@0.5", '
    '"blade@500 mm", "blade@length / 2"',
}
TYPES: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "minLength": 1},
    "body": _BODY,
    "bodies": {"type": "array", "items": _BODY, "minItems": 2, "maxItems": 2},
    "path": {"type": "string", "minLength": 1},
    "names": {"type": "array", "items": {"type": "string"}},
    "number": _NUMBER,
    "limit": _NUMBER,
    "numbers": _numbers(),
    "each": _EACH,
    "limits": _EACH,
    "whole": {"type": "integer"},
    "elements": {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {
                "type": "object",
                "properties": {"accuracy": _NUMBER},
                "required": ["accuracy"],
                "additionalProperties": False,
            },
        ]
    },
    "wholes": {"type": "array", "items": {"type": "integer"}},
    "flag": {"type": "boolean"},
    "flag or number": {"type": ["boolean", "number", "string"]},
    "vector": _numbers(3),
    "vectors": {"type": "array", "items": _numbers(3), "minItems": 2, "maxItems": 2},
    "matrix": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": _numbers()}]},
    "matrices": {"type": "string", "minLength": 1},
    "poses": {"type": "array", "items": _POSE, "minItems": 1},
    "formulas of u": _numbers(3),
    "several vectors": {"type": "array", "items": _numbers(3), "minItems": 2},
    "points": {"type": "array", "items": _numbers(2)},
    "screws": {"type": "array", "items": _numbers(6)},
    "inertia": {"anyOf": [_numbers(3, 6), {"type": "array", "items": _numbers(3), "minItems": 3, "maxItems": 3}]},
    "six by six": {"anyOf": [_numbers(6), {"type": "array", "items": _numbers(6), "minItems": 6, "maxItems": 6}]},
    "profile": {
        "anyOf": [
            {"type": "array", "items": _numbers(2), "minItems": 2},
            {
                "type": "object",
                "properties": {key: {"type": "string"} for key in ("file", "x", "y")},
                "required": ["file", "x", "y"],
                "additionalProperties": False,
            },
        ]
    },
    "pose": _POSE,
    "two poses": {"type": "array", "items": _POSE, "minItems": 2, "maxItems": 2},
    "law": _LAW,
    "number or law": {"anyOf": [_NUMBER, _LAW]},
    "pull or law": {"anyOf": [_NUMBER, _LAW]},
    "strain or law": _NUMBER,
    "load or law": _numbers(6),
    "numbers or law": {"anyOf": [_NUMBER, _numbers(), _LAW]},
    "by joint": {"type": "object", "additionalProperties": _EACH},
    "by body": {"type": "object", "additionalProperties": _numbers()},
    "poses by body": {"type": "object", "additionalProperties": _POSE},
    "held": {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}},
            {
                "type": "object",
                "properties": {key: {"type": "array", "items": {"type": "string"}} for key in ("q", "v")},
                "additionalProperties": False,
            },
        ]
    },
    "spaces": {"anyOf": [{"enum": ["SE3", "SO3xR3", "auto"]}, {"type": "object"}]},
    "method": {
        "anyOf": [
            {"enum": list(METHOD_NAMES)},
            {"type": "object", "properties": {"name": {"enum": list(METHOD_NAMES)}}, "required": ["name"]},
        ]
    },
    "ranges": {"type": "object", "additionalProperties": {"anyOf": [_NUMBER, _numbers()]}},
    "texts by name": {"type": "object", "additionalProperties": {"type": "string"}},
    "save": {"anyOf": [{"enum": ["all", "final"]}, {"type": "integer", "minimum": 1}, _numbers()]},
}


_FUNCTION = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "description": "a CSV file with a header, in the folder of the model or below"},
        "x": {"anyOf": [{"type": "string"}, _numbers()], "description": "the column of places, or the places"},
        "y": {"anyOf": [{"type": "string"}, _numbers()], "description": "the column of values, or the values"},
        "kind": {"enum": list(TABLES)},
    },
    "required": ["x", "y"],
    "additionalProperties": False,
}


def _table(fields: Mapping[str, spec.Entry], kind: str | None = None) -> dict[str, Any]:
    properties = {name: {**_type(field.type), "description": field.what} for name, field in fields.items()}
    required = [name for name, field in fields.items() if field.required]
    if kind is not None:
        properties, required = {"kind": {"const": kind}, **properties}, ["kind", *required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _type(name: str) -> dict[str, Any]:
    if name == "shapes":
        return {"type": "array", "items": _choice(spec.SHAPE_SPECS)}
    if name == "curve":
        return _choice(spec.CURVE_SPECS)
    if name == "sections":
        one = _choice(spec.SECTION_SPECS)
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 2}]}
    if name == "material":
        return _table(spec.MATERIAL)
    if name in ("loads", "masses"):
        return {"type": "array", "items": _table(spec.LOADS if name == "loads" else spec.MASSES)}
    if name == "intrinsic":
        return _table(spec.INTRINSIC)
    return TYPES[name]


def _choice(kinds: Mapping[str, spec.KindSpec]) -> dict[str, Any]:
    return {"oneOf": [{**_table(kind.fields, name), "description": kind.what} for name, kind in kinds.items()]}


def schema() -> dict[str, Any]:
    """The schema of a model file."""
    properties: dict[str, Any] = {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "gravity": {**_numbers(3), "description": "[m/s²]"},
        "include": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "parameters": {"type": "object", "additionalProperties": _NUMBER},
        "tables": {"type": "object", "additionalProperties": _FUNCTION},
        "initial": _table(spec.INITIAL),
        "simulation": _table(spec.SIMULATION),
        "ensemble": _table(spec.ENSEMBLE),
    }
    for section, kinds in spec.SECTIONS.items():
        items = _choice(kinds) if isinstance(kinds, dict) else _table(kinds.fields)
        properties[section] = {"type": "array", "items": items}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "chasles model",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
