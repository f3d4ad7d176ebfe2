"""What is to be found: numbers of a model with bounds and priors, and where they go in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.ensembles.distribution import distribution, number
from chasles.fit.inertia_cone import extents, require_body
from chasles.io.model_file import Study
from chasles.io.units import check, quantity, unit_of
from chasles.model.suggestion import meant
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.parameter.inertial import NAMES
from chasles.screw import inertia as spatial
from chasles.simulation.start.values import by_name


class Range(NamedTuple):
    """From `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True)
class Unknown:
    """A number to estimate: its bounds, its prior (mean and standard deviation), and its initial value.

    The initial value is that of the model by default.
    """

    low: float = -np.inf
    high: float = np.inf
    prior: tuple[float, float] | None = None
    start: float | None = None


def range_of(what: str, text: str, unit: str | None = None) -> Range:
    """The range that a text such as "0.1:2" or "0:50 ms" means: a unit at the end holds for both ends."""
    low, colon, high = text.partition(":")
    ends = [low.strip(), high.strip()]
    if colon and (found := quantity(ends[1])) and re.fullmatch(r"[-+.\deE]+", ends[0]):
        ends[0] = f"{ends[0]} {found[1]}"
    try:
        if unit is not None:
            for end in ends:
                if found := quantity(end):
                    check(end, unit_of(found[1]).dimension, [unit])
        values = [number(end) if end not in ("", "inf", "-inf") else float(end or "nan") for end in ends]
    except ValueError as error:
        raise ValueError(f"fit: {what} is {text!r}: {error}") from None
    if not (colon and values[0] < values[1]):
        raise ValueError(f"fit: {what} is {text!r}; expected a range from low to high, such as 0.1:2")
    return Range(values[0], values[1])


def unknown(name: str, given: Any) -> Unknown:
    """What is unknown of a name: nothing is known of it (None), a range "0.1:2", a prior "normal(1, 0.1)", or both,
    "0.1:2 normal(1, 0.1)"."""
    if given is None or isinstance(given, Unknown):
        found = given or Unknown()
    elif isinstance(given, str):
        parts = re.fullmatch(r"\s*([^()]*?:[^()]*?)?\s*(\w+\([^()]*\))?\s*", given)
        if parts is None or not (parts[1] or parts[2]):
            raise ValueError(f"fit: {name!r} is {given!r}; expected a range 0.1:2, a prior normal(1, 0.1), or both")
        bounds = range_of(repr(name), parts[1]) if parts[1] else Range(-np.inf, np.inf)
        found = Unknown(*bounds, prior=_prior(name, parts[2]) if parts[2] else None)
    elif isinstance(given, Sequence) and len(given) == 2:
        found = Unknown(float(given[0]), float(given[1]))
    else:
        raise TypeError(f"fit: {name!r} is {given!r}; expected a range, a prior, an Unknown or None")
    if not found.low < found.high:
        raise ValueError(f"fit: {name!r} has bounds {found.low:g} and {found.high:g}; expected low < high")
    if found.prior is not None and not found.prior[1] > 0:
        raise ValueError(f"fit: {name!r} has a prior with deviation {found.prior[1]:g}; expected more than 0")
    if (
        found.prior is not None
        and not found.low - FAR * found.prior[1] <= found.prior[0] <= found.high + FAR * found.prior[1]
    ):
        raise ValueError(
            f"fit: {name!r} has a prior with mean {found.prior[0]:g}, far outside of its bounds {found.low:g} to "
            f"{found.high:g}"
        )
    return found


def _prior(name: str, text: str) -> tuple[float, float]:
    try:
        one = distribution(text)
    except ValueError as error:
        raise ValueError(f"fit: the prior of {name!r}: {error}") from None
    if one.family != "normal":
        raise ValueError(f"fit: {name!r} has the prior {text!r}; expected normal(mean, deviation)")
    mean, deviation = one.numbers
    return mean, deviation


FAR = 4.0  # deviations that the mean of a prior may be outside of bounds
PATH, BODY, START = "path", "body", "start"
MOMENTS = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])  # powers of a length that the ten parameters of a body have
ROUND = 1e-3  # of the size of a body: a smaller radius is that of a rod or a point
TINY = 1e-6  # [m] the same of a point in the origin


@dataclass(frozen=True)
class Slot:
    """Where unknown numbers go in a model.

    PATH: one number, set by its path. BODY: the ten parameters of a body. START: coordinates or
    velocities of a joint at the start; of a joint with a quaternion changes δ along q exp(δ), from the start q of the
    model, `about`. experiment: whose it is; None: of all of them.
    """

    name: str
    kind: str
    path: str
    labels: tuple[str, ...]
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    prior: tuple[float, float] | None = None
    experiment: int | None = None
    about: np.ndarray | None = None

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """What is a large change of each number near x."""
        if self.kind == BODY:
            length = float(extents(x)[0]) + np.linalg.norm(x[1:4]) / x[0]
            return np.asarray(x[0] * length**MOMENTS)
        wide = np.where(np.isfinite(self.high - self.low), self.high - self.low, 1.0)
        return np.maximum(np.abs(x), np.where(self.start != 0.0, np.abs(self.start), wide))

    def steps(self, x: np.ndarray) -> np.ndarray:
        """What is a change of each number near x that leaves a mechanism one: of a body no more than its least moment
        of inertia about its center of mass."""
        if self.kind != BODY:
            return self.sizes(x)
        (longest, *others), distance = extents(x), np.linalg.norm(x[1:4]) / x[0]
        radius = max(float(np.hypot(*others)), ROUND * float(longest + distance), TINY)
        return np.asarray(x[0] * radius**2 / (radius + distance) ** (2 - MOMENTS))


def slots_of(name: str, given: Any, study: Study, experiment: int | None = None) -> list[Slot]:
    """The slots of an unknown of a study; several if it is the start of all joints."""
    one, name = unknown(name, given), _plain(name, study)
    prefix = "" if experiment is None else f"experiment {experiment + 1}: "
    section, _, rest = name.partition(".")
    if section == "initial" and (rest in ("", "q", "v") or rest.partition(".")[0] in ("q", "v")):
        return _starts(prefix, name, rest, one, study, experiment)
    if section == "bodies" and rest in {body.name for body in study.system.bodies}:
        if one != Unknown():
            raise ValueError(f"fit: {name!r} is a whole inertia, ten numbers; bounds and priors are for single numbers")
        body = next(body for body in study.system.bodies if body.name == rest)
        start = spatial.to_parameters(body.spatial)
        require_body(start, rest)
        labels = tuple(f"{prefix}{rest}: {part}" for part in NAMES)
        wide = np.full(len(start), np.inf)
        return [Slot(prefix + name, BODY, rest, labels, start, -wide, wide, None, experiment)]
    value = one.start if one.start is not None else _value(study, name)
    if not one.low <= value <= one.high:
        ends = [end for end in (one.low, one.high) if np.isfinite(end)]
        known = f"{one.low:g}, {one.high:g}, start={sum(ends) / len(ends):g}"
        raise ValueError(
            f"fit: {name!r} begins at {value:g}, outside of its bounds {one.low:g} to {one.high:g}; change its "
            f"value in the model, or the bounds, or say where to begin: Unknown({known})"
        )
    path = f"parameters.{name}" if name in study.parameters else name
    begin, low, high = (np.array([float(end)]) for end in (value, one.low, one.high))
    return [Slot(prefix + name, PATH, path, (prefix + name,), begin, low, high, one.prior, experiment)]


def _plain(name: str, study: Study) -> str:
    """The name of a parameter that is given by its path."""
    bare = name.removeprefix("parameters.")
    return bare if bare in study.parameters else name


def _starts(prefix: str, name: str, rest: str, one: Unknown, study: Study, experiment: int | None) -> list[Slot]:
    if "poses" in study.initial or "twists" in study.initial:
        raise ValueError(f"fit: {name!r}: the start of the model is given by poses; give it by joints, initial.q")
    letters, _, joint = rest.partition(".")
    mechanism, q, v = start_of(study)
    joints = {one.name: one for one in mechanism.tree.joints if one.nv}
    if joint and joint not in joints:
        known = f"{meant(joint, joints)}there are {', '.join(joints)}"
        raise ValueError(f"fit: {name!r}: there is no joint {joint!r}; {known}")
    found = []
    for letter in (letters,) if letters else ("q", "v"):
        for key in (joint,) if joint else joints:
            n, turns = joints[key].nv, letter == "q" and joints[key].traits.quaternion
            labels = tuple(f"{prefix}initial.{letter}.{key}{f'[{k + 1}]' if n > 1 else ''}" for k in range(n))
            own = v[mechanism.tree.velocities[key]] if letter == "v" else q[mechanism.tree.coordinates[key]]
            start = np.zeros(n) if turns else own if one.start is None else np.full(n, float(one.start))
            low, high = np.full(n, float(one.low)), np.full(n, float(one.high))
            if (start < low).any() or (start > high).any():
                raise ValueError(
                    f"fit: {name!r} begins at {start[0]:g}, outside of its bounds {one.low:g} to {one.high:g}"
                )
            whole, about = f"{prefix}initial.{letter}.{key}", q if turns else None
            found.append(Slot(whole, START, f"{letter}.{key}", labels, start, low, high, one.prior, experiment, about))
    return found


def start_of(study: Study) -> tuple[Any, np.ndarray, np.ndarray]:
    """The mechanism in joint coordinates, and the q and v that it starts with."""
    mechanism, start = study.tree(), study.start()
    if isinstance(mechanism, ClosedMechanism) or "poses" in start:
        options = {name: value for name, value in study.options.items() if name in ("span", "cut")}
        bare = replace(study, options=options)
        begin = bare.plan(coordinates="relative", step=1.0).begin  # with a step nothing is looked for along the span
        return mechanism, np.array(begin.q), np.array(begin.v)
    q, v = (by_name(f"initial.{key}", mechanism, key, start[key]) for key in ("q", "v"))
    return mechanism, np.asarray(q, dtype=float), np.asarray(v, dtype=float)


def _value(study: Study, name: str) -> float:
    """The value that a parameter or a path has in a study."""
    if name in study.parameters:
        return float(study.parameters[name])
    section, _, rest = name.partition(".")
    for thing in getattr(study.system, section, ()) if section in ("bodies", "joints", "forces", "constraints") else ():
        field = rest.removeprefix(f"{thing.name}.")
        if field != rest and hasattr(thing, field):
            value = np.asarray(getattr(thing, field), dtype=float) if getattr(thing, field) is not None else np.empty(0)
            if value.size == 1:
                return float(value.reshape(()))
            raise ValueError(f"fit: {name!r} has {value.size} numbers; write the one to be found as a parameter")
    known: Mapping[str, float] = study.parameters
    near = meant(name, [*known, *_paths(study)])
    raise ValueError(
        f"fit: the model has no parameter {name!r}; {near}its parameters: {', '.join(known) or 'none'}. "
        "A path such as joints.elbow.damping, bodies.arm for an inertia, and initial.q.elbow serve too"
    )


def _paths(study: Study) -> list[str]:
    """Paths of single numbers, and of bodies, that may be unknown."""
    found = [f"bodies.{body.name}" for body in study.system.bodies]
    found += [f"bodies.{body.name}.mass" for body in study.system.bodies]
    of_joints = ("damping", "friction", "stiffness", "rest", "armature")
    found += [f"joints.{joint.name}.{field}" for joint in study.system.joints for field in of_joints]
    for force in study.system.forces:
        numbers = [field for field, value in vars(force).items() if isinstance(value, int | float)]
        found += [f"forces.{force.name}.{field}" for field in numbers]
    return found
