"""A start of which some values are held: the rest is found, on the constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from chasles.assembly.equations import names_of
from chasles.constraint.errors import AssemblyError
from chasles.model.constraint import Coupling
from chasles.model.joint import Joint
from chasles.model.rod_parts import OfRod
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.start.assembly_modes import modes, undriven, with_joints
from chasles.simulation.start.refusal import violated
from chasles.simulation.start.values import Values, by_name, in_the_turn_of, shown_values

Holding = Iterable[str] | Mapping[str, Iterable[str]]  # names of joints, or those of "q" and of "v"
TRIED = 12  # held values that are tried one after the other, to say which contradict those before
HOW = (
    "Give fewer values, or values that fit. With held=[...] (held = [...] under [initial] in a model file) only the "
    "values of these joints stay; the others are guesses"
)


class Wanted:
    """What is asked of a start: values, whether it is assembled, and which joints are `held` in "q" and in "v": by
    default all that is given by name; of what an array gives only what is named."""

    def __init__(
        self,
        cut: Iterable[Joint],
        q: Values | None,
        v: Values | None,
        assemble: bool | None,
        held: Holding | None,
        mode: int | None = None,
    ):
        self.mode = mode
        if mode is not None:
            if isinstance(mode, bool) or not isinstance(mode, int) or mode < 1:
                raise ValueError(f"simulate: mode is {mode!r}; expected 1, 2, ... for an assembly mode")
            if assemble is False:
                raise ValueError("simulate: mode chooses how a start is assembled, and assemble is False")
            assemble = True
        self.given, self.assemble = {"q": q, "v": v}, assemble
        self.outside = {joint.name for joint in cut}
        if assemble is False and held is not None:
            raise ValueError("simulate: held names what stays when a start is assembled, and assemble is False")
        self.by_name = {key: tuple(x) if isinstance(x, Mapping) else () for key, x in self.given.items()}
        self.held = self.by_name
        if held is not None:
            own = held if isinstance(held, Mapping) else dict.fromkeys(("q", "v"), held)
            if set(own) - {"q", "v"}:
                raise ValueError(f"simulate: held has {', '.join(map(repr, own))}; expected names, or q and v")
            self.held = {key: self._among(key, names_of(own.get(key, ()))) for key in self.given}
            for name in {name for names in own.values() for name in names_of(names)}:
                if not any(name in names for names in self.held.values()):
                    raise ValueError(f"simulate: held names {name!r}, of which nothing is given")

    def _among(self, key: str, names: Sequence[str]) -> tuple[str, ...]:
        """The names of which something is given; an array has all."""
        if self.given[key] is None:
            return ()
        known = self.by_name[key] if isinstance(self.given[key], Mapping) else names
        return tuple(name for name in names if name in known)

    def of_tree(self) -> tuple[Values | None, Values | None]:
        """Values of the joints of the tree: without those of joints that close loops, if it is to be assembled."""
        if self.assemble is False:
            return self.given["q"], self.given["v"]
        q, v = (
            {name: values for name, values in x.items() if name not in self.outside} if isinstance(x, Mapping) else x
            for x in self.given.values()
        )
        return q, v

    def to_assemble(self, judged: Callable[[], tuple[np.ndarray, float, np.ndarray, np.ndarray]]) -> bool:
        """Whether it is to be assembled; judged: what is given of the tree, as `violated` takes it."""
        if self.assemble is not None:
            return self.assemble
        if any(name in self.outside for names in self.by_name.values() for name in names):
            return True
        if not self.named and self.given["v"] is not None:
            return False
        velocity, limit, position, speed = judged()
        if np.isnan(position).any() or np.isnan(speed).any():  # a singular configuration, which is named later
            return False
        if not self.named and not (position <= limit).all():  # an array is off, and not for velocities left to be found
            return False
        return bool(violated(velocity, limit, position, speed).any())

    @property
    def loosely(self) -> bool:
        """Whether something is held, a mode is asked for, or no coordinates are given: what is found need not be
        near."""
        return any(self.held.values()) or self.nothing or self.mode is not None

    @property
    def nothing(self) -> bool:
        """Whether no coordinates are given."""
        q = self.given["q"]
        return q is None or (isinstance(q, Mapping) and not q)

    @property
    def named(self) -> bool:
        """Whether anything is given by name, or held, or nothing is given at all."""
        given = self.given.values()
        return any(isinstance(x, Mapping) for x in given) or any(self.held.values()) or all(x is None for x in given)


def assembled(where: str, mechanism: ClosedMechanism, wanted: Wanted, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of the joints of the tree on the constraints: held ones as given, others near those
    that are given; AssemblyError says which values contradict each other."""
    held, (q, v) = wanted.held, wanted.given.values()
    own = with_joints(mechanism, [name for names in (*held.values(), *wanted.by_name.values()) for name in names])
    if own is not mechanism:  # whose tree has more joints
        q, v = _named(q, mechanism.tree.coordinates), _named(v, mechanism.tree.velocities)
    given = by_name(f"{where}: q", own, "q", q), by_name(f"{where}: v", own, "v", v)
    start = own.neutral() if given[0] is None else own.tables.check_q(where, given[0])
    speed = np.zeros(own.nv) if given[1] is None else own.tables.check_v(where, "v", given[1])
    guess = None if wanted.nothing else start  # what is not given at all is looked for everywhere

    loose = _loose(own, start, t)

    def positions(names: Sequence[str]) -> np.ndarray:
        names = [*names, *(name for name in loose if name not in names)]
        if wanted.mode is None:
            return own.assemble(guess, t, held=names)
        found = modes(where, undriven(own), start, names, t)
        if wanted.mode > len(found):
            raise ValueError(
                f"{where}: mode {wanted.mode} is asked for; found were {len(found)} with these values held"
            )
        return found[wanted.mode - 1].q

    def velocities(names: Sequence[str]) -> np.ndarray:
        return own.consistent_velocities(at, speed, t, [*names, *(name for name in loose if name not in names)])

    at = _found(where, "coordinates", own, positions, held["q"], start, own.tree.coordinates)
    couplings = [item for item in own.system.constraints if isinstance(item, Coupling)]
    coupled = {name for item in couplings for name in item.joints}  # whose turns count
    for joint in own.tree.joints:  # other guesses may be turns away
        place = own.tree.coordinates[joint.name]
        if joint.name not in held["q"] and joint.name not in coupled:
            at[place] = in_the_turn_of(joint, start[place], at[place])
    speed = _found(where, "velocities", own, velocities, held["v"], speed, own.tree.velocities)
    if own is mechanism:
        return at, speed
    found = mechanism.neutral(), np.zeros(mechanism.nv)
    for name in mechanism.tree.coordinates:
        found[0][mechanism.tree.coordinates[name]] = at[own.tree.coordinates[name]]
        found[1][mechanism.tree.velocities[name]] = speed[own.tree.velocities[name]]
    return found


def _loose(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> list[str]:
    """Joints of rods that no constraint depends on: the rod goes with what carries it. Left free, it would stay in
    space, where that takes the least effort, and begin with large strains."""
    J, places = mechanism.constraint_rows(q, None, t).jacobian, mechanism.tree.velocities
    names = [joint.name for joint in mechanism.tree.joints if isinstance(joint, OfRod) and joint.name in places]
    return [name for name in names if not J[:, places[name]].any()]


def _named(given: Values | None, places: Mapping[str, slice]) -> Values | None:
    """Values by name."""
    if given is None or isinstance(given, Mapping):
        return given
    values = np.asarray(given, dtype=float)
    return {name: values[place] for name, place in places.items()}


def _found(
    where: str,
    what: str,
    mechanism: ClosedMechanism,
    find: Callable[[Sequence[str]], np.ndarray],
    held: Sequence[str],
    given: np.ndarray,
    places: Mapping[str, slice],
) -> np.ndarray:
    """What is found with these joints held; if it is nothing, which of the values do not fit those before."""
    try:
        return find(held)
    except AssemblyError as error:
        if not held:
            raise
        joints = {joint.name: joint for joint in mechanism.tree.joints}
        kept: list[str] = []
        fitting, wrong, rates = np.empty(0), list[str](), what == "velocities"
        for name in held[:TRIED]:
            try:
                fitting = find([*kept, name])
                kept.append(name)
            except AssemblyError:
                wrong.append(name)
        values = ", ".join(f"{name!r} = {shown_values(joints[name], given[places[name]], rates)}" for name in held)
        told = []
        for name in wrong if kept else ():
            own, wanted = given[places[name]], fitting[places[name]]
            wanted = wanted if rates else in_the_turn_of(joints[name], own, wanted)
            shown = shown_values(joints[name], wanted, rates)
            told.append(f"{name!r} would be {shown}, {np.abs(wanted - own).max():.3g} off")
        with_those = f" With {', '.join(map(repr, kept))} as given, {'; '.join(told)}." if told else ""
        if len(held) == 1:
            said = f"no {what} satisfy the constraints with {values}. Give another value"
        else:
            said = f"the {what} given contradict each other or the constraints: {values}.{with_those} {HOW}"
        raise AssemblyError(f"{where}: {said}. {error}") from None
