"""The file of a study: HDF5, written once when the last member is finished, and put in place as a whole. What was kept
on the way is copied a part at a time, so that a study may be larger than memory.

attributes      format, version, title (JSON: model, design, quantities, options), parameters and quantities in order
parameters/     a dataset for each, (members,) or (members, size)
quantities/     a dataset for each, (members, ...), NaN where a member has none; attributes `labels`, `unit`
status, messages, steps     (members,)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.io.result.layout import replacing

if TYPE_CHECKING:
    from chasles.ensembles.result import Ensemble
    from chasles.ensembles.work import MemberOutcome

FORMAT_NAME, FORMAT_VERSION = "chasles study", 1
MESSAGE_BYTES = 2000


class StoredArrays(Mapping[str, Any]):
    """Datasets by name, each read when it is asked for."""

    def __init__(self, file: Path, group: str, names: tuple[str, ...]):
        self.file, self.group, self.names = file, group, names

    def __getitem__(self, name: str) -> np.ndarray:
        return self.part(name, ())

    def part(self, name: str, key: tuple[Any, ...]) -> np.ndarray:
        """A part of a dataset; no more is read."""
        import h5py

        if name not in self.names:
            raise KeyError(name)
        with h5py.File(self.file) as found:
            values: np.ndarray = found[self.group][_escaped(name)][key]
        return values

    def form(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and type of a dataset, which is not read."""
        import h5py

        with h5py.File(self.file) as found:
            place = found[self.group][_escaped(name)]
            return tuple(place.shape), place.dtype

    def __contains__(self, name: object) -> bool:
        return name in self.names  # what is there is not read for that

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _escaped(name: str) -> str:
    """A name that HDF5 takes for one: no slashes."""
    return name.replace("/", "\N{DIVISION SLASH}")


def write_study(
    file: Path,
    title: Mapping[str, Any],
    parameters: Mapping[str, np.ndarray],
    outcomes: Callable[[], Iterable[tuple[int, MemberOutcome]]],
    members: int,
) -> None:
    """Write a whole study. Outcomes are asked for twice, and a part of them is in memory at a time."""
    import h5py

    from chasles.ensembles.collected import place, summary  # whoever only asks what a file is does without

    known = summary(outcomes(), members)
    with replacing(file) as new, h5py.File(new, "w", track_order=True) as stored:
        stored.attrs["format"], stored.attrs["version"] = FORMAT_NAME, FORMAT_VERSION
        stored.attrs["title"] = json.dumps(title)
        groups = {name: stored.create_group(name, track_order=True) for name in ("parameters", "quantities")}
        groups["parameters"].attrs["names"] = json.dumps(list(parameters))
        for name, values in parameters.items():
            groups["parameters"][_escaped(name)] = np.asarray(values)
        groups["quantities"].attrs["names"] = json.dumps(list(known.shapes))
        targets = {}
        for name, shape in known.shapes.items():
            target = targets[name] = groups["quantities"].create_dataset(
                _escaped(name), (members, *shape), "<f8", fillvalue=np.nan
            )
            if labels := known.labels.get(name):
                target.attrs["labels"] = json.dumps(labels)
            if unit := known.units.get(name):
                target.attrs["unit"] = unit
        place(outcomes(), targets)
        for name, texts in (("status", known.status.tolist()), ("messages", known.messages)):
            stored[name] = np.array([text.encode()[:MESSAGE_BYTES] for text in texts], dtype="S")
        stored["steps"] = known.steps


def is_study(file: Path) -> bool:
    """Whether it is a file of a study."""
    import h5py

    try:
        with h5py.File(file) as found:
            return bool(found.attrs.get("format") == FORMAT_NAME)
    except OSError:
        return False


def open_study(file: Path, model: Any = None, laws: Mapping[str, Any] | None = None) -> Ensemble:
    """The ensemble in a file."""
    import h5py

    from chasles.ensembles.result import Ensemble
    from chasles.ensembles.work import Work

    if not file.is_file():
        raise ValueError(f"there is no file {str(file)!r}")
    if not is_study(file):
        raise ValueError(f"{file} is not a study file; `chasles sweep` and `ensemble(file=...)` write them")
    try:
        with h5py.File(file) as stored:
            title = json.loads(stored.attrs["title"])
            names = {group: tuple(json.loads(stored[group].attrs["names"])) for group in ("parameters", "quantities")}
            labels = {
                name: tuple(json.loads(stored["quantities"][_escaped(name)].attrs["labels"]))
                for name in names["quantities"]
                if "labels" in stored["quantities"][_escaped(name)].attrs
            }
            units = {
                name: str(stored["quantities"][_escaped(name)].attrs.get("unit", "")) for name in names["quantities"]
            }
            status, messages = (
                [text.decode(errors="replace") for text in stored[key][:]] for key in ("status", "messages")
            )
            steps = stored["steps"][:]
    except (KeyError, OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} is damaged: {error}") from None
    parameters, quantities = (StoredArrays(file, group, names[group]) for group in ("parameters", "quantities"))
    given = model if model is not None else title["model"] if Path(title["model"]).is_file() else None
    work = None if given is None else Work(given, (), title["fixed"], title["options"], laws)
    return Ensemble(parameters, quantities, np.array(status, dtype=str), messages, steps, labels, title, work, units)
