"""Task files of plans: costs, goals and limits of a motion, for `chasles plan`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chasles import plan
from chasles.cached import cached_property
from chasles.io.model_file import Study
from chasles.io.plan_expression import LONGEST_QUANTITY, Written
from chasles.io.source import ModelFileError, Source
from chasles.io.spec import Entry
from chasles.io.units import Units
from chasles.io.values import Reader
from chasles.model.suggestion import meant
from chasles.plan import quantities, terms

TASK = {
    "span": Entry("numbers", "start and end [s]"),
    "steps": Entry("whole", "in which inputs are held, or intervals of collocate"),
    "by": Entry("name", "optimize (as if left out), shoot or collocate"),
    "solver": Entry("name", "of shoot and collocate: ipopt or scipy"),
    "hessian": Entry("name", "of shoot and collocate with Ipopt: exact or approximate"),
    "method": Entry("name", "an explicit integrator, by default rk4"),
    "duration": Entry("numbers", "the shortest and the longest one, if the end is free [s]"),
    "low": Entry("limits", "least inputs, one for all or one for each"),
    "high": Entry("limits", "largest inputs"),
    "guess": Entry("numbers", "a constant input to begin with"),
    "tolerance": Entry("number", "of limits, relative"),
    "iterations": Entry("whole", "at most"),
    "refine": Entry("number", "of collocate: the largest defect between nodes; intervals are halved until it is met"),
}
COSTS = {
    "effort": Entry("each", "weight of the integral of squared inputs, one for all or one for each"),
    "duration": Entry("number", "weight of the time that the motion takes"),
}
TARGET = {
    "frame": Entry("name", "a frame or body"),
    "position": Entry("vector", "where it should be [m]"),
    "pose": Entry("pose", "its pose, as in a model file"),
    "q": Entry("by joint", "coordinates by joint"),
    "v": Entry("by joint", "velocities by joint"),
    "joint": Entry("name", "a joint whose coordinate counts"),
    "speed": Entry("name", "a joint whose velocity counts"),
    "quantity": Entry("expression", "of u('actuator'), q('joint'), v('joint'), t and parameters"),
    "when": Entry("when", '"always", "end", or shares of the duration from 0 to 1'),
}
LISTS = {
    "track": TARGET | {"weight": Entry("each", "of the square, one for all numbers or one for each")},
    "reach": TARGET,
    "keep": TARGET | {"low": Entry("limits", "least value"), "high": Entry("limits", "largest value")},
}


TABLES = ("costs", "parameters", *LISTS)
WAYS: dict[
    str, tuple[dict[str, str], tuple[str, ...]]
] = {  # the functions, what they call entries of a task, and which ones they have not
    "optimize": ({}, ("solver", "hessian", "parameters", "refine")),
    "shoot": ({"guess": "inputs"}, ("refine",)),
    "collocate": ({"steps": "intervals"}, ("guess", "method")),
}


class PlanReader:
    """Reads a task for the system of a study, whose parameters it may use."""

    def __init__(self, file: Path, study: Study):
        self.source, self.study, self.reader = Source(file), study, Reader(study.parameters, {})
        self.joints = {joint.name: joint for joint in study.system.joints}

    def arguments(self) -> dict[str, Any]:
        """The arguments of the function of `chasles.plan` that `by` names, and `by`."""
        data = self.source.data
        tables = {key: data.get(key, {} if key in ("costs", "parameters") else []) for key in TABLES}
        own = {key: value for key, value in data.items() if key not in tables}
        found = self._fields("", own, TASK, TABLES)
        for key in ("span", "steps"):
            if key not in found:
                raise self.source.error("", f"has no {key}: {TASK[key].what}")
        if not isinstance(tables["costs"], Mapping):
            raise self.source.error("costs", "is not a table; write [costs]")
        weights = self._fields("costs", tables["costs"], COSTS)
        costs: list[Any] = [getattr(terms, key)(weight) for key, weight in weights.items()]
        limits: list[Any] = []
        for key in LISTS:
            if not isinstance(tables[key], list):
                raise self.source.error(key, f"is not a list; write [[{key}]] before each of them")
            for k, entry in enumerate(tables[key]):
                (costs if key == "track" else limits).append(self._term(key, f"{key}[{k}]", entry))
        if not costs:
            raise self.source.error("", "has no costs; write [costs] with effort = 1, or [[track]]")
        start = self.study.initial
        if other := [key for key in start if key not in ("q", "v")]:
            raise self.source.error("", f"the model starts with {other[0]!r}; a plan starts from q and v of joints")
        found |= self._design(tables["parameters"])
        return self._called(found) | {"costs": costs, "limits": limits, "q": start.get("q"), "v": start.get("v")}

    def _called(self, found: dict[str, Any]) -> dict[str, Any]:
        """Arguments by the names that the function has for them."""
        way = found.setdefault("by", "optimize")
        if way not in WAYS:
            raise self.source.error("by", f"is {way!r}; expected {', '.join(WAYS)}")
        names, without = WAYS[way]
        for key in without:
            if key in found:
                others = " or ".join(repr(other) for other, (_, left_out) in WAYS.items() if key not in left_out)
                raise self.source.error(key, f"is not for by = {way!r}; leave it out, or take by = {others}")
        return {names.get(key, key): value for key, value in found.items()}

    def _design(self, given: Any) -> dict[str, Any]:
        """Parameters of the model that are to be found, and their bounds."""
        if not isinstance(given, Mapping):
            raise self.source.error("parameters", "is not a table; write [parameters]")
        known = {name: value for name, value in self.study.parameters.items() if not isinstance(value, str)}
        bounds = {}
        for name, value in given.items():
            place = f"parameters.{name}"
            if name not in known:
                raise self.source.error(
                    place, f"is not a parameter of the model; {meant(name, known)}it has {', '.join(known) or 'none'}"
                )
            try:
                bounds[name] = self.reader.numbers(value, None)
            except ValueError as error:
                raise self.source.error(place, str(error)) from None
            if len(bounds[name]) != 2:
                raise self.source.error(place, f"has {len(bounds[name])} numbers; expected bounds, [low, high]")
        return {"parameters": {name: known[name] for name in bounds}, "bounds": bounds} if bounds else {}

    def _fields(self, path: str, given: Any, fields: Mapping[str, Entry], more: tuple[str, ...] = ()) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise self.source.error(path, "is no table")
        found = {}
        for key, value in given.items():
            place = f"{path}.{key}" if path else key
            if key not in fields:
                known = (*fields, *more)
                raise self.source.error(place, f"is unknown; {meant(key, known)}expected {', '.join(known)}")
            found[key] = self._value(place, fields[key], value, given)
        return found

    def _value(self, path: str, field: Entry, value: Any, entry: Mapping[str, Any]) -> Any:
        try:
            if field.type == "expression":
                return self.written.quantity(self.reader.name(value, LONGEST_QUANTITY))
            if field.type == "when":
                return value if isinstance(value, str) else self.reader.each(value)
            if field.type == "by joint":
                rates = path.endswith("v")
                return {name: self.reader.each(one, self._units(name, rates)) for name, one in value.items()}
            if field.type == "limits" and path.startswith("keep"):
                name = entry.get("joint", entry.get("speed", ""))
                return self.reader.read(field.type, value, self._units(name, "speed" in entry))
            return self.reader.read(field.type, value, field.units)
        except ModelFileError:
            raise
        except (ValueError, AttributeError) as error:
            raise self.source.error(path, str(error)) from None

    def _units(self, name: str, rates: bool) -> Units:
        joint = self.joints.get(name)
        if joint is None:
            return None
        own = joint.velocity_units if rates else joint.coordinate_units
        return [(f"{unit}/s" if rates else unit,) if unit else () for unit in own]

    def _term(self, key: str, path: str, entry: Any) -> Any:
        """A cost or a limit."""
        given = self._fields(path, entry, LISTS[key])
        try:
            what = self._quantity(given)
            if key == "track":
                return terms.tracking(what, given.get("weight", 1.0), given.get("when", "always"))
            if key == "reach":
                return terms.reach(what, given.get("when", "end"))
            limits = {side: given[side] for side in ("low", "high") if side in given}
            return terms.keep(what, **limits, when=given.get("when", "always"))
        except (ValueError, TypeError) as error:
            raise self.source.error(path, str(error)) from None

    @cached_property
    def written(self) -> Written:
        return Written(self.study.system, self.study.parameters)

    @staticmethod
    def _quantity(given: Mapping[str, Any]) -> Any:
        kinds = [key for key in ("frame", "joint", "speed", "quantity") if key in given]
        kinds += ["q or v"] if "q" in given or "v" in given else []
        if len(kinds) != 1:
            said = f"has {' and '.join(kinds)}" if kinds else "says not what it is about"
            raise ValueError(f"{said}; expected one of frame, joint, speed, quantity, or q and v")
        if "quantity" in given:
            return given["quantity"]
        if "frame" in given:
            targets = [given[key] for key in ("position", "pose") if key in given]
            if len(targets) != 1:
                raise ValueError("a frame needs a position or a pose, one of both")
            return quantities.frame(given["frame"], targets[0])
        if "joint" in given:
            return quantities.joint(given["joint"])
        return (
            quantities.speed(given["speed"]) if "speed" in given else quantities.state(given.get("q"), given.get("v"))
        )


def plan_task(file: str | Path, study: Study) -> dict[str, Any]:
    """The arguments of `chasles.plan.optimize`, besides the system, of a task file (.toml) for the system of a study,
    from the start that the model file has; of `shoot` or `collocate`, if the file says by = "shoot"."""
    found = PlanReader(Path(file), study).arguments()
    return {key: value for key, value in found.items() if key != "by"}


def planned(file: str | Path, study: Study) -> plan.PlannedMotion | plan.CollocatedMotion:
    """Solve a task file for the system of a study, as `chasles plan` does."""
    found = PlanReader(Path(file), study).arguments()
    remade = study.remade
    system: Any = study.system
    if found.get("parameters"):
        if remade is None:
            raise ValueError(f"{file}: parameters: the model was not read from a file of parameters")
        system = lambda **values: remade({f"parameters.{name}": x for name, x in values.items()}).system  # noqa: E731
    made: plan.PlannedMotion | plan.CollocatedMotion = getattr(plan, found.pop("by"))(system, **found)
    return made
