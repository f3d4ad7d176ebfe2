"""Model files: a system with its start and how to simulate it, in TOML.

study = load("pendulum.toml", set={"length": 0.3})
run = study.run(span=(0, 5))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.constraint.errors import AssemblyError
from chasles.integrate.method_name import method_from
from chasles.io import spec
from chasles.io.drive_start import START, WaitingDrive, start_values, waiting_drive
from chasles.io.report import ImportReport
from chasles.io.rod_accuracy import Accuracy, accuracy_of, coarse, refined
from chasles.io.source import ModelFileError, Source, read, within
from chasles.io.tables import read_profile, read_table
from chasles.io.units import Units, quantity, require_dimension_of, unit_of
from chasles.io.values import Reader
from chasles.model.expression import evaluate_all
from chasles.model.expression_function import LAW_FUNCTIONS, TABLES, Table
from chasles.model.joint import Joint
from chasles.model.reduced import arrays_of, matrix_of
from chasles.model.rod_load import Load, Mass
from chasles.model.rod_parts import OfRod
from chasles.model.rod_section import Material
from chasles.model.suggestion import meant
from chasles.model.system import EARTH, System
from chasles.simulation.start.values import by_name

if TYPE_CHECKING:
    from chasles.simulation.batch.simulate_batch import Batch
    from chasles.simulation.bodies.rod_mesh import MeshError
    from chasles.simulation.run import Run
    from chasles.simulation.run_task import Task

TOP = (
    "name",
    "description",
    "gravity",
    "include",
    "parameters",
    "tables",
    "initial",
    "simulation",
    "ensemble",
    *spec.SECTIONS,
)


@dataclass(frozen=True)
class Study:
    """The content of a model file: a system, its initial state by joints and bodies, and the options of `simulate`.

    `run` simulates it so; `ensemble` are the arguments of `chasles.ensemble` that it has. `report`: what was taken of
    the file, approximated and ignored. `remade`: the study of the same file with other values by path. `mesh`: the
    error of the meshes of rods whose number of elements the file leaves to an accuracy.
    """

    system: System
    initial: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    description: str = ""
    ensemble: Mapping[str, Any] = field(default_factory=dict)
    report: ImportReport = field(default_factory=lambda: ImportReport("", "chasles"), compare=False, repr=False)
    remade: Callable[[Mapping[str, Any]], Study] | None = field(default=None, compare=False, repr=False)
    mesh: MeshError | None = field(default=None, compare=False, repr=False)

    def run(self, **changes: Any) -> Run:
        """Simulate; `changes` are options of `simulate` that replace those of the study."""
        from chasles.simulation.simulate import simulate

        found: Run = self._called(simulate, changes)
        return found

    def run_batch(
        self,
        parameters: Mapping[str, Any],
        *,
        threads: int | None = None,
        progress: bool | None = None,
        **changes: Any,
    ) -> Batch:
        """Simulate once for each value of the parameters of the file, (members,) each; a path such as
        "bodies.arm.mass" is a parameter too. `changes` are options of `simulate`; by default only the first and the
        last point are saved. See `simulate_batch`."""
        from chasles.simulation.batch.simulate_batch import batch_of_plans

        if self.remade is None:
            raise ValueError("run_batch: a study that was not read from a .toml file has no parameters to vary")
        remade, own = self.remade, self.parameters
        for name in parameters:
            if name not in own and "." not in name:
                known = ", ".join(own) or "none"
                raise ValueError(f"run_batch: the model has no parameter {name!r}; {meant(name, own)}it has {known}")
        if "save" not in changes and "every" not in changes:
            changes = changes | {"save": "final"}

        def plan(values: Mapping[str, float]) -> Task:
            paths = {f"parameters.{name}" if name in own else name: value for name, value in values.items()}
            return remade(paths).plan(**changes)

        return batch_of_plans(plan, parameters, threads, progress)

    def plan(self, **changes: Any) -> Task:
        """What `run` would do, with the start that it takes; `check` of it finds what is wrong with the steps."""
        from chasles.simulation.simulate import plan

        task: Task = self._called(plan, changes)
        return task

    def _called(self, function: Callable[..., Any], changes: Mapping[str, Any]) -> Any:
        own = dict(self.options)
        if "step" in changes:  # a fixed step replaces tolerances, and the other way round
            own = {key: value for key, value in own.items() if key not in ("rtol", "atol", "max_step")}
        elif changes.keys() & {"rtol", "atol", "max_step"}:
            own.pop("step", None)
        if "every" in changes or "save" in changes:  # one replaces the other
            own = {key: value for key, value in own.items() if key not in ("every", "save")}
        options = {"span": (0.0, 10.0), **own, **changes}
        joints = options.get("coordinates", "relative") == "relative"
        for name in ("space", "trivialization") if joints else ("cut",):  # of the other coordinates
            if name not in changes:
                options.pop(name, None)
        start = self.start()
        system = self.tree(options) if "cut" in options else self.system
        options.pop("cut", None)
        try:
            return function(system, options.pop("span"), **start, **options)
        except AssemblyError as error:
            error.args = (f"{self.report.file}: initial: {error}" if self.report.file else str(error),)
            raise

    def tree(self, options: Mapping[str, Any] | None = None) -> Any:
        """The mechanism in joint coordinates, with the joints cut that the options name; those of the study if none are
        given."""
        own = self.options if options is None else options
        relative = own.get("coordinates", "relative") == "relative"
        return self.system.compile("relative", cut=own.get("cut", ()) if relative else ())

    def start(self) -> dict[str, Any]:
        """The start as `simulate` takes it: q and v of joints by name, or poses and twists of the bodies."""
        result: dict[str, Any] = {key: self.initial[key] for key in ("assemble", "held", "mode") if key in self.initial}
        if "poses" in self.initial or "twists" in self.initial:
            names = [body.name for body in self.system.bodies]
            poses, twists = self.initial.get("poses"), self.initial.get("twists", {})
            if poses is None:
                mechanism = self.system.compile("relative")
                poses = dict(zip(names, mechanism.poses(mechanism.neutral()), strict=True))
            result["poses"] = np.array([poses[name] for name in names])
            result["twists"] = np.array([twists.get(name, (0.0,) * 6) for name in names])
            return result
        return result | {key: self.initial.get(key, {}) for key in ("q", "v")}

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists of all bodies at the start."""
        start = self.start()
        if "poses" in start and not start.get("assemble"):
            return start["poses"], start["twists"]
        begin = self.plan().begin
        return begin.poses, begin.twists

    def rough_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of what is given, though it may violate constraints."""
        start = self.start()
        if "poses" in start:
            return start["poses"], start["twists"]
        mechanism = self.system.compile("relative")
        known = {"q": mechanism.tree.coordinates, "v": mechanism.tree.velocities}
        given = {key: {name: x for name, x in start[key].items() if name in own} for key, own in known.items()}
        q, v = (np.asarray(by_name(f"initial.{key}", mechanism, key, given[key])) for key in known)
        return mechanism.poses(q), mechanism.twists(q, v)


def read_study(
    file: str | Path, *, set: Mapping[str, Any] | None = None, laws: Mapping[str, Any] | None = None
) -> Study:
    """Read a model file. `set` changes values by path, {"parameters.arm": 0.3}; `laws` are the functions it names."""
    return study_of(read(Path(file)), file, set, laws)


def study_of(
    sources: list[Source], file: str | Path, set: Mapping[str, Any] | None, laws: Mapping[str, Any] | None
) -> Study:
    """The study of a model file that was read before, with what it includes."""
    study = _built(sources, dict(set or {}), dict(laws or {}))
    if not study.system.bodies:
        raise ModelFileError(str(file), None, "", 'has no bodies; expected [[bodies]] with name = "..." and mass = ...')
    report = ImportReport(str(file), "chasles")
    for what in spec.SECTIONS:
        for item in getattr(study.system, what):
            if not isinstance(item, OfRod):
                report.took(what, item.name)
    again = partial(_remade, sources, file, dict(set or {}), laws)
    return replace(study, report=report, remade=again)


def _remade(
    sources: list[Source],
    file: str | Path,
    set: Mapping[str, Any],
    laws: Mapping[str, Any] | None,
    changes: Mapping[str, Any],
) -> Study:
    """The study of a file, with other values by path beside those that it was read with."""
    return study_of(sources, file, {**set, **changes}, laws)


def _built(sources: list[Source], changes: dict[str, Any], laws: dict[str, Any]) -> Study:
    """The study of sources; if laws of drives use `start`, that is found first, without these drives."""
    builder = _Builder(sources, dict(changes), laws)
    study = builder.study()
    if not builder.waiting:
        return study
    try:
        starts = start_values(study, builder.waiting)
    except AssemblyError as error:
        error.args = (f"{builder.main.file}: initial: {error}",)
        raise
    return _Builder(sources, dict(changes), laws, starts).study()


def study_of_text(text: str, where: str, laws: Mapping[str, Any] | None = None) -> Study:
    """The study that a text holds, as `model_text` writes it; `where` it is from. It includes nothing."""
    return _Builder([Source(Path(where), text)], {}, dict(laws or {})).study()


class _Builder:
    """Puts the pieces of a file and its includes together."""

    def __init__(
        self,
        sources: list[Source],
        changes: dict[str, Any],
        laws: dict[str, Any],
        starts: Mapping[str, float] | None = None,
    ):
        """starts: what `start` is in the law of a drive, by its name; without them such drives are left out."""
        self.sources, self.main, self.starts = sources, sources[-1], starts
        self.waiting: list[WaitingDrive] = []
        self.changes = changes
        for source in sources:
            for key in source.data:
                if key not in TOP:
                    raise source.error(key, f"is unknown; {meant(key, TOP)}expected {', '.join(TOP)}")
        given: dict[str, Any] = {}
        for source in sources:
            table = source.data.get("parameters", {})
            if not isinstance(table, dict):
                raise source.error("parameters", "is not a table; write [parameters] and then name = value")
            given |= table
        for path in list(changes):
            if path.startswith("parameters.") or (path in given and path not in TOP):  # by its name alone too
                name = path.removeprefix("parameters.")
                if name not in given:
                    near = meant(name, given)
                    raise ValueError(f"--set {path}: there is no parameter {name!r}; {near}known: {', '.join(given)}")
                value = self.changes.pop(path)
                try:
                    require_dimension_of(given[name], value)
                except ValueError as error:
                    raise ValueError(f"--set {path}: {error}") from None
                given[name] = value
        try:
            self.reader = Reader({}, laws)
            self.dimensions: dict[str, tuple[int, ...]] = {}
            parameters = evaluate_all({name: self._parameter(name, value) for name, value in given.items()})
        except ModelFileError:
            raise
        except ValueError as error:
            raise self.main.error("parameters", str(error)) from None
        self.reader = Reader(parameters, laws, dimensions=self.dimensions)
        self.reader = Reader(parameters, laws, self._tables(), self.dimensions)
        self.joints: dict[str, Joint] = {}
        self.accuracies: dict[str, tuple[Accuracy, Source, str]] = {}  # of rods, and where they are

    def _tables(self) -> dict[str, Table]:
        found = {}
        for source in self.sources:
            given = source.data.get("tables", {})
            if not isinstance(given, dict):
                raise source.error(
                    "tables", "is not a table; write [tables] and then name = { file = ..., x = ..., y = ... }"
                )
            for name, value in given.items():
                if not name.isidentifier() or name in LAW_FUNCTIONS or name in TABLES:
                    raise source.error(
                        f"tables.{name}", "is not a valid name for a table; expected one that is not taken"
                    )
                try:
                    found[name] = read_table(value, source.file.parent, lambda given: self.reader.numbers(given, None))
                except ValueError as error:
                    raise source.error(f"tables.{name}", str(error)) from None
        return found

    def _parameter(self, name: str, value: Any) -> float | str:
        if not name.isidentifier():
            raise self.main.error(
                f"parameters.{name}", "is not a valid name for a parameter; expected letters, digits and _"
            )
        try:
            if isinstance(value, str):
                if (found := quantity(value)) is None:
                    return value
                self.dimensions[name] = unit_of(found[1]).dimension
            return self.reader.number(value, None, infinite=True)
        except ValueError as error:
            raise self.main.error(f"parameters.{name}", str(error)) from None

    def study(self) -> Study:
        parts = {section: self._section(section) for section in spec.SECTIONS}
        gravity = self._last("gravity", "vector", ("m/s²",))
        name, description = self._last("name", "title"), ""
        if isinstance(self.main.data.get("description"), str):
            description = self.main.data["description"]
        self._begin_coarse(parts)
        try:
            system = System(
                **parts,
                gravity=EARTH if gravity is None else gravity,
                name=self.main.file.stem if name is None else name,
            )
        except ValueError as error:
            raise self.main.error("", str(error)) from None
        system, mesh = self._refined(system)
        initial, options = self._table("initial", spec.INITIAL), self._table("simulation", spec.SIMULATION)
        ensemble = self._table("ensemble", spec.ENSEMBLE)
        if self.changes:
            path = next(iter(self.changes))
            raise ValueError(f"--set {path}: there is nothing of this name in the model{self._nearest(parts, path)}")
        initial, options = self._placed(system, initial), self._placed(system, options)
        self._check_start(system, initial)
        return Study(system, initial, options, self.reader.parameters, description, ensemble, mesh=mesh)

    def _begin_coarse(self, parts: dict[str, list[Any]]) -> None:
        """Rods whose elements are left to an accuracy get the fewest that have all nodes which are named."""
        for k, rod in enumerate(parts["rods"]):
            if rod.name in self.accuracies:
                accuracy, source, path = self.accuracies[rod.name]
                try:
                    parts["rods"][k] = coarse(rod, accuracy, parts)
                except ValueError as error:
                    raise source.error(path, str(error)) from None

    def _refined(self, system: System) -> tuple[System, MeshError | None]:
        if not self.accuracies:
            return system, None
        _, source, path = next(iter(self.accuracies.values()))
        try:
            return refined(system, {name: accuracy for name, (accuracy, _, _) in self.accuracies.items()})
        except ValueError as error:
            raise source.error(path, str(error)) from None

    def _placed(self, system: System, table: dict[str, Any]) -> dict[str, Any]:
        """A table whose entries by body or joint may name nodes of rods by arc length, with the names of these."""
        found = dict(table)
        for key in ("q", "v", "poses", "twists", "space"):
            if isinstance(own := table.get(key), Mapping):
                try:
                    found[key] = {system.named(self.reader.body(name), key): value for name, value in own.items()}
                except ValueError as error:
                    raise self.main.error("", str(error)) from None
        if isinstance(held := table.get("held"), tuple):
            found["held"] = tuple(system.named(self.reader.body(name), "held") for name in held)
        return found

    def _nearest(self, parts: Mapping[str, list[Any]], path: str) -> str:
        """What may have been meant by a path that is not in the model."""
        known = [
            f"{section}.{thing.name}" for section, things in parts.items() for thing in things if hasattr(thing, "name")
        ]
        section, _, rest = path.partition(".")
        wanted = next((w for w in (path, f"{section}.{rest.partition('.')[0]}") if meant(w, known)), path)
        near = meant(wanted, [*known, *self.reader.parameters, *TOP, *(f"simulation.{key}" for key in spec.SIMULATION)])
        return f"; {near}" if near else ""

    def _last(self, key: str, kind: str, units: Units = ()) -> Any:
        """The value of the outermost file that has the key."""
        if key in self.changes:
            return self._value(self.main, key, kind, self.changes.pop(key), units)
        for source in reversed(self.sources):
            if key in source.data:
                return self._value(source, key, kind, source.data[key], units)
        return None

    def _value(self, source: Source, path: str, kind: str, given: Any, units: Units = ()) -> Any:
        try:
            if kind == "shapes":
                return self._shapes(source, path, given)
            if kind == "curve":
                return self._thing(source, path, "rods", spec.CURVE_SPECS, given)
            if kind == "sections":
                both = given if isinstance(given, list) else [given]
                return [self._thing(source, path, "rods", spec.SECTION_SPECS, one) for one in both]
            if kind == "material":
                return self._thing(source, path, "rods", spec.KindSpec(Material, "", spec.MATERIAL), given)
            if kind in ("loads", "masses"):
                one_kind = spec.KindSpec(*((Load, "", spec.LOADS) if kind == "loads" else (Mass, "", spec.MASSES)))
                items = given if isinstance(given, list) else [given]
                return [self._thing(source, f"{path}[{k}]", "rods", one_kind, one) for k, one in enumerate(items)]
            if kind == "elements":
                return accuracy_of(given, self.reader.number) if isinstance(given, dict) else self.reader.whole(given)
            if kind == "matrices":
                return arrays_of(within(source.file.parent, self.reader.name(given), "file"))
            if kind == "matrix" and isinstance(given, str):
                return matrix_of(within(source.file.parent, given, "matrix"))
            if kind == "intrinsic":
                if not isinstance(given, dict):
                    raise ValueError(f'is {given!r}; expected strains by name: {{ bend_z = "2 * t" }}')
                return self._fields(source, path, spec.INTRINSIC, given)
            if kind == "profile":
                return read_profile(given, source.file.parent, lambda given: self.reader.read("points", given, units))
            if kind == "held":
                return self._held(source, path, given)
            if kind in ("by joint", "by body", "poses by body"):
                return self._by_name(source, path, given, "pose" if kind == "poses by body" else "each", kind)
            if kind == "spaces":
                return dict(given) if isinstance(given, dict) else self.reader.name(given)
            if kind == "method":
                return method_from(given)
            if kind == "save":
                if isinstance(given, list):
                    return self.reader.numbers(given, units)
                return self.reader.whole(given) if not isinstance(given, str) else self.reader.name(given)
            return self.reader.read(kind, given, units)
        except ModelFileError:
            raise
        except ValueError as error:
            raise source.error(path, str(error)) from None

    def _section(self, section: str) -> list[Any]:
        made = []
        for source in self.sources:
            entries = source.data.get(section, [])
            if not isinstance(entries, list):
                raise source.error(section, f"is not a list; write [[{section}]] before each of them")
            for k, entry in enumerate(entries):
                place, reader = f"{section}[{k}]", self.reader
                if section == "constraints" and (waits := self._waiting(source, place, entry)) is not None:
                    if self.starts is None:
                        self.waiting.append(waits)
                        continue
                    own = {**reader.parameters, START: self.starts[waits.name]}
                    self.reader = Reader(own, reader.laws, reader.tables, reader.dimensions)
                made.append(self._thing(source, place, section, spec.SECTIONS[section], entry))
                if self.reader is not reader:
                    object.__setattr__(made[-1], "begins_anywhere", True)
                self.reader = reader
        if section == "joints":
            self.joints = {joint.name: joint for joint in made}
        return made

    def _waiting(self, source: Source, path: str, entry: Any) -> WaitingDrive | None:
        """The drive that an entry is, if its law uses `start`."""
        if not isinstance(entry, dict):
            return None
        changed, changes = dict(entry), dict(self.changes)
        if isinstance(name := entry.get("name"), str):
            self._put_changes(f"constraints.{name}.", changed)
        waits = waiting_drive(changed, self.reader.parameters)
        if waits is None or self.starts is not None:
            self.changes = changes  # which reading it will use
        elif (joint := self.joints.get(waits.joint)) is None:
            near = meant(waits.joint, self.joints)
            raise source.error(f"{path}.joint", f"is {waits.joint!r}; {near}expected one of {', '.join(self.joints)}")
        elif not 0 <= waits.coordinate < joint.nv:
            raise source.error(f"{path}.coordinate", f"is {waits.coordinate}, but the joint has {joint.nv}")
        return waits

    def _thing(self, source: Source, path: str, section: str, kinds: Any, entry: Any) -> Any:
        """One body, joint, shape, ... from its table."""
        if not isinstance(entry, dict):
            raise source.error(path, f"is {entry!r}; expected a table")
        entry = dict(entry)
        if isinstance(name := entry.get("name"), str):
            self._put_changes(f"{section}.{name}.", entry)
        kind = kinds
        if isinstance(kinds, dict):
            given = entry.pop("kind", None)
            if not isinstance(given, str) or given not in kinds:
                near = meant(given, kinds)
                raise source.error(f"{path}.kind", f"is {given!r}; {near}expected one of {', '.join(kinds)}")
            kind = kinds[given]
        values = self._fields(source, path, kind.fields, entry, self._freedoms(section, kind, entry))
        if isinstance(accuracy := values.get("elements"), Accuracy):
            self.accuracies[values["name"]] = accuracy, source, f"{path}.elements"
            del values["elements"]
        try:
            return kind.make(**values)
        except (ValueError, TypeError) as error:
            raise source.error(_place(path, values, str(error)), str(error)) from None

    def _put_changes(self, prefix: str, entry: dict[str, Any]) -> None:
        for path in [path for path in self.changes if path.startswith(prefix)]:
            key, _, name = path.removeprefix(prefix).partition(".")
            if not name:
                entry[key] = self.changes.pop(path)
            elif prefix == "initial." or key == "elements":  # by joint or body; an accuracy
                entry[key] = entry.get(key, {}) if isinstance(entry.get(key), dict) else {}
                entry[key] = {**entry.get(key, {}), name: self.changes.pop(path)}

    def _fields(
        self,
        source: Source,
        path: str,
        fields: Mapping[str, spec.Entry],
        entry: dict[str, Any],
        freedoms: Sequence[str] = (),
    ) -> dict[str, Any]:
        for key in entry:
            if key not in fields:
                near = meant(key, fields)
                raise source.error(f"{path}.{key}", f"is unknown here; {near}expected {', '.join(fields)}")
        for key, rule in fields.items():
            if rule.required and key not in entry:
                raise source.error(path, f"has no {key}: {rule.what}")
        found = {}
        for key, value in entry.items():
            units: Units = fields[key].units
            if freedoms and units is not None and len(units) == 2:  # what slides, and what turns
                units = [(str(units[freedom == "rad"]),) for freedom in freedoms]
            found[key] = self._value(source, f"{path}.{key}", fields[key].type, value, units)
        return found

    def _freedoms(self, section: str, kind: spec.KindSpec, entry: Mapping[str, Any]) -> Sequence[str]:
        """What the freedoms are that an entry is about, "rad" or "m" each; none if this is not known yet."""
        if section == "joints":
            return kind.freedoms if "sliding" not in kind.fields or not entry.get("sliding") else ("m",)
        joint = self.joints.get(entry["joint"]) if isinstance(entry.get("joint"), str) else None
        if joint is None:
            return ()
        index = entry.get("coordinate")
        if isinstance(index, int) and 0 <= index < joint.nv:
            return joint.velocity_units[index : index + 1]
        return joint.velocity_units if section == "forces" else joint.velocity_units[:1]

    def _shapes(self, source: Source, path: str, given: Any) -> list[Any]:
        if not isinstance(given, list):
            raise source.error(path, "is not a list of shapes")
        return [self._thing(source, f"{path}[{k}]", "shapes", spec.SHAPE_SPECS, entry) for k, entry in enumerate(given)]

    def _by_name(self, source: Source, path: str, given: Any, kind: str, whose: str) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise source.error(path, "is not a table; write name = value for each")
        found = {}
        for name, value in given.items():
            units: Units = [("rad/s",)] * 3 + [("m/s",)] * 3
            if whose == "by joint":
                joint, rates = self.joints.get(name), path.endswith("v")
                own = () if joint is None else joint.velocity_units if rates else joint.coordinate_units
                units = [(f"{unit}/s" if rates else unit,) if unit else () for unit in own] if joint else None
            found[name] = self._value(source, f"{path}.{name}", kind, value, units)
        return found

    def _held(self, source: Source, path: str, given: Any) -> Any:
        """Names, or those of q and v."""
        if not isinstance(given, dict):
            return self.reader.names(given)
        if unknown := [key for key in given if key not in ("q", "v")]:
            raise source.error(f"{path}.{unknown[0]}", "is unknown here; expected q or v, or a list of names")
        return {key: self._value(source, f"{path}.{key}", "names", names) for key, names in given.items()}

    def _table(self, section: str, fields: Mapping[str, spec.Entry]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for source in self.sources:
            entry = source.data.get(section, {})
            if not isinstance(entry, dict):
                raise source.error(section, f"is not a table; write [{section}]")
            entry = dict(entry)
            if source is self.main:
                self._put_changes(f"{section}.", entry)
            result |= self._fields(source, section, fields, entry)
        if result.get("stabilization") == "none":
            result["stabilization"] = None
        return result

    def _check_start(self, system: System, initial: Mapping[str, Any]) -> None:
        joints = {joint.name: joint for joint in system.joints}
        bodies = [body.name for body in system.bodies]
        by_joint, by_body = (
            [key for key in ("q", "v") if key in initial],
            [k for k in ("poses", "twists") if k in initial],
        )
        if by_joint and by_body:
            raise self.main.error("initial", f"has {by_joint[0]} and {by_body[0]}; give joints or bodies, not both")
        for key, size in (("q", "nq"), ("v", "nv")):
            for name, values in initial.get(key, {}).items():
                if name not in joints:
                    if name.startswith("free "):  # the joint of a body that floats, which the compiled tree has
                        continue
                    where = f"initial.{key}.{name}"
                    raise self.main.error(where, f"there is no joint {name!r}; {meant(name, joints)}{_some(joints)}")
                count, expected = np.size(values), getattr(joints[name], size)
                if count != expected:
                    raise self.main.error(f"initial.{key}.{name}", f"has {count} numbers; expected {expected}")
        held = initial.get("held", ())
        apart = held.values() if isinstance(held, Mapping) else [held]
        given = {name for key in ("q", "v", "poses", "twists") for name in initial.get(key, {})}
        for name in {name for names in apart for name in names} - given:
            raise self.main.error(
                "initial.held", f"names {name!r}, of which nothing is given; {meant(name, given)}{_some(given)}"
            )
        for key, expected in (("poses", 7), ("twists", 6)):
            for name, values in initial.get(key, {}).items():
                if name not in bodies:
                    where = f"initial.{key}.{name}"
                    raise self.main.error(where, f"there is no body {name!r}; {meant(name, bodies)}{_some(bodies)}")
                if (count := np.size(values)) != expected:
                    raise self.main.error(f"initial.{key}.{name}", f"has {count} numbers; expected {expected}")
        if missing := [name for name in bodies if "poses" in initial and name not in initial["poses"]]:
            raise self.main.error("initial.poses", f"has no pose for {', '.join(map(repr, missing[:8]))}")


def _some(names: Iterable[str]) -> str:
    """The first of some names."""
    found = list(names)
    return f"there are {', '.join(found[:12])}{', ...' if len(found) > 12 else ''}" if found else "there are none"


def _place(path: str, values: Mapping[str, Any], message: str) -> str:
    """The path of the field that a message is about: one that it names after what it says of the whole thing."""
    about = message.partition(f"{values.get('name')!r}: ")[2] or message
    named = next((field for field in values if field != "name" and re.search(rf"\b{field}\b", about)), None)
    return f"{path}.{named}" if named else path
