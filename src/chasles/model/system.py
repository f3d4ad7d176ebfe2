"""A mechanism as a whole: `System`, immutable; every change gives a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.lie import pose as pose_group
from chasles.model import summary
from chasles.model.actuator import Actuator, motors
from chasles.model.body import GROUND, Body, Frame
from chasles.model.constraint import Constraint, Coupling, Drive
from chasles.model.expression_law import Expression
from chasles.model.force import BetweenBodies, Force, JointForce, TwoPointForce, Wrench
from chasles.model.joint import Joint
from chasles.model.joint_kind import JOINT_KINDS
from chasles.model.law import Law
from chasles.model.mimic import followers
from chasles.model.placement import ORIGIN, Pose, as_numbers, as_pose, check_name
from chasles.model.reduced import ReducedBody
from chasles.model.rod import FREE_END, Rod
from chasles.model.rod_parts import NodeFrame, OfRod, Parts, PlacedRods, RodElement, own_parts
from chasles.model.rod_place import MARK, NodePlaces, with_names, written
from chasles.model.suggestion import meant
from chasles.registry import service

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism
    from chasles.constraint.results import Mobility
    from chasles.relative.loop.closed import ClosedMechanism
    from chasles.relative.mechanism import Mechanism

EARTH = (0.0, 0.0, -9.81)
REPLACED = ("weld", "free")  # joints to the ground whose body may be attached elsewhere
CHANGEABLE = ("bodies", "joints", "frames", "forces", "actuators", "constraints", "rods")


@dataclass(frozen=True)
class System:
    """Bodies, joints, frames, forces, further constraints and rods under gravity [m/s²].

    The inertial frame is the body "ground". A body that is the child of no joint moves freely. Names of bodies and
    frames are one set, names of joints and constraints another, names of forces a third. The nodes and elements of rods
    are among bodies, joints, frames and forces.
    """

    bodies: Sequence[Body] = ()
    joints: Sequence[Joint] = ()
    frames: Sequence[Frame] = ()
    forces: Sequence[Force] = ()
    actuators: Sequence[Actuator] = ()
    constraints: Sequence[Constraint] = ()
    gravity: ArrayLike = EARTH
    name: str = "system"
    rods: Sequence[Rod] = ()
    reduced: Sequence[ReducedBody] = ()
    _index: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for what, kind in (
            ("bodies", Body),
            ("joints", Joint),
            ("frames", Frame),
            ("forces", Force | RodElement),
            ("actuators", Actuator),
            ("constraints", Constraint),
            ("rods", Rod),
            ("reduced", ReducedBody),
        ):
            given = getattr(self, what)
            items = given if isinstance(given, PlacedRods) else tuple(given)
            for item in items:
                if not isinstance(item, kind):
                    raise ValueError(f"System: {what} holds {item!r}, a {type(item).__name__}")
            object.__setattr__(self, what, items)
        if self.name != "":
            check_name("System", self.name)
        self._place_names()
        self._expand_rods()
        gravity = as_numbers("System", "gravity", self.gravity, (3,), example="(0, 0, -9.81), or (0, 0, 0) for none")
        object.__setattr__(self, "gravity", tuple(gravity.tolist()))
        _unique("bodies and frames", [GROUND, *(b.name for b in self.bodies), *(f.name for f in self.frames)])
        _unique("joints and constraints", [item.name for item in (*self.joints, *self.constraints)])
        _unique("forces", [f.name for f in self.forces])
        _unique("actuators", [a.name for a in self.actuators])
        index = {
            "body": {b.name: b for b in self.bodies},
            "joint": {j.name: j for j in self.joints},
            "frame": {f.name: f for f in self.frames},
        }
        object.__setattr__(self, "_index", index)
        for joint in self.joints:
            self._require(f"joint {joint.name!r}", joint.parent, joint.child)
            if joint.child == GROUND:
                raise ValueError(
                    f"joint {joint.name!r}: its child is {GROUND!r}; write the ground as parent, and turn the axis"
                )
        followers(self.joints)
        for frame in self.frames:
            self._require(f"frame {frame.name!r}", frame.body)
        for force in self.forces:
            self._check_force(force)
        for actuator in self.actuators:
            joint = self.joint(actuator.joint, f"actuator {actuator.name!r}")
            if not 0 <= actuator.coordinate < joint.nv:
                raise ValueError(
                    f"actuator {actuator.name!r}: coordinate {actuator.coordinate} of joint {joint.name!r}, "
                    f"which has {joint.nv}"
                )

        for constraint in self.constraints:
            self._check_constraint(constraint)

    def _place_names(self) -> None:
        """Nodes that are named by arc length get their names, anew whenever rods may have other elements."""
        if not self.rods or isinstance(self.rods, PlacedRods):
            return
        for what in ("joints", "frames", "forces", "constraints", "rods"):
            placed = []
            for item in getattr(self, what):
                named = partial(self.named, where=f"{what[:-1]} {item.name!r}")
                placed.append(item if isinstance(item, OfRod) else with_names(item, named))
            object.__setattr__(self, what, tuple(placed))

    def _expand_rods(self) -> None:
        """Nodes and elements of the rods, made anew: those of a system that this one was made from may be others."""
        parts = ("bodies", "joints", "frames", "forces")
        if isinstance(self.rods, PlacedRods):
            return
        if self.rods or self.reduced or any(isinstance(item, OfRod) for name in parts for item in getattr(self, name)):
            _unique(
                "rods and reduced bodies", [*(rod.name for rod in self.rods), *(body.name for body in self.reduced)]
            )
            found = Parts(self.rods, self.bodies, self.joints, self.frames, self.forces, self.reduced)
            for name, items in found.all().items():
                object.__setattr__(self, name, items)

    def _check_constraint(self, constraint: Constraint) -> None:
        where = f"constraint {constraint.name!r}"
        if not isinstance(constraint, Coupling | Drive):
            self._require(where, *constraint.bodies)
            return
        if isinstance(constraint, Drive):
            _rehearse(where, constraint, 14, 12, 3)
        pairs = (
            zip(constraint.joints, constraint.coordinates, strict=True)
            if isinstance(constraint, Coupling)
            else [(constraint.joint, constraint.coordinate)]
        )
        for name, coordinate in pairs:
            joint = self.joint(name, where)
            if not joint.traits.line:
                *most, last = (kind.name for kind in JOINT_KINDS.values() if kind.line)
                raise ValueError(f"{where}: joint {name!r} is {joint.kind}; expected a {', '.join(most)} or {last} one")
            if not 0 <= coordinate < joint.nv:
                raise ValueError(f"{where}: coordinate {coordinate!r} of joint {name!r}, which has {joint.nv}")

    def _require(self, where: str, *bodies: str) -> None:
        for body in bodies:
            if body != GROUND and body not in self._index["body"]:
                if isinstance(end := self._index["frame"].get(body), NodeFrame):
                    raise ValueError(f"{where}: {body!r} is an end that is welded to {end.body!r}; name that body")
                raise ValueError(f"{where}: there is no body {body!r}; {_known(body, self._index['body'], 'bodies')}")

    def _check_force(self, force: Force) -> None:
        if isinstance(value := getattr(force, "value", None), Expression):
            value.check_seen(f"force {force.name!r}", self)
        if isinstance(force, BetweenBodies):
            two_points = isinstance(force, TwoPointForce)
            where = f"{'two-point force' if two_points else type(force).__name__.lower()} {force.name!r}"
            self._require(where, *force.bodies)
            if two_points:
                _rehearse(where, force, 1, 1, 1)
        elif isinstance(force, Wrench):
            self._require(f"wrench {force.name!r}", force.body)
            if force.body == GROUND:
                raise ValueError(f"wrench {force.name!r}: acts on the ground, which does not move")
            _rehearse(f"wrench {force.name!r}", force, 7, 6, 6)
        else:
            where = f"joint force {force.name!r}"
            joint = self.joint(force.joint, where)
            written = force.value.texts if isinstance(force.value, Expression) else force.value
            if isinstance(written, tuple) and len(written) != joint.nv:
                raise ValueError(
                    f"{where}: has {len(written)} numbers; "
                    f"joint {joint.name!r} ({joint.kind}) has {joint.nv} velocities"
                )
            if isinstance(force.value, Expression):
                force.value.check(where, joint.name, joint.nq, joint.nv)
            _rehearse(where, force, joint.nq, joint.nv, joint.nv)

    # ------------------------------------------------------------ looking things up

    def named(self, name: str, where: str = "System") -> str:
        """The name of a body or frame that may be given by its place on a rod: "blade[8]" for "blade@0.5", the node at
        this arc length [m]; "blade@500 mm" is the same. A ValueError begins with `where`. Other names stay."""
        return name if MARK not in written(name) else self._places.name(name, where)

    @property
    def _places(self) -> NodePlaces:
        taken = {item.name for item in (*own_parts(self.bodies), *own_parts(self.frames))}
        return NodePlaces(self.rods, [item.name for item in self.reduced], taken)

    def place(self, name: str, where: str = "place") -> tuple[str, tuple[float, ...]]:
        """The body of a body, frame or the ground by its name, and the origin there [m]."""
        name = self.named(name, where)
        if name == GROUND or name in self._index["body"]:
            return name, (0.0, 0.0, 0.0)
        frames = {frame.name: frame for frame in self.frames}
        if name not in frames:
            names = {**self._index["body"], **frames}
            raise ValueError(f"{where}: there is no body or frame {name!r}; {_known(name, names, 'bodies and frames')}")
        return frames[name].body, tuple(frames[name].pose[4:])

    def body(self, name: str) -> Body:
        """A body by its name, or a node of a rod by its place, "blade@0.5"."""
        name = self.named(name)
        self._require("System", name)
        return self._index["body"][name]  # type: ignore[no-any-return]

    def joint(self, name: str, where: str = "System") -> Joint:
        """A joint by its name; `where` begins the message if there is none."""
        if name not in self._index["joint"]:
            raise ValueError(f"{where}: there is no joint {name!r}; {_known(name, self._index['joint'], 'joints')}")
        return self._index["joint"][name]  # type: ignore[no-any-return]

    def rod(self, name: str) -> Rod:
        """A rod by its name."""
        for rod in self.rods:
            if rod.name == name:
                return rod
        known = {rod.name: rod for rod in self.rods}
        raise ValueError(f"System: there is no rod {name!r}; {_known(name, known, 'rods')}")

    def frame(self, name: str) -> Frame:
        """A frame by its name; the name of a body is its own frame, and "blade@0.5" the node there."""
        name = self.named(name)
        if name in self._index["frame"]:
            return self._index["frame"][name]  # type: ignore[no-any-return]
        if name != GROUND and name not in self._index["body"]:
            known = {**self._index["body"], **self._index["frame"]}
            raise ValueError(f"System: there is no body or frame {name!r}; {_known(name, known, 'bodies and frames')}")
        return Frame(name, name)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # without what was computed from them

    @cached_property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(sum(body.mass for body in self.bodies))

    def __repr__(self) -> str:
        return f"<System {self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, {self.mass:.4g} kg>"

    def __str__(self) -> str:
        return summary.as_text(self)

    def _repr_html_(self) -> str:
        return summary.as_html(self)

    @overload
    def compile(
        self,
        coordinates: Literal["relative"] = "relative",
        *,
        cut: Iterable[str] = (),
        threads: int = 1,
        sprung: bool = False,
    ) -> Mechanism | ClosedMechanism: ...

    @overload
    def compile(
        self,
        coordinates: Literal["absolute"],
        *,
        space: str | Mapping[str, str] = "auto",
        stabilized: bool = True,
        baumgarte: tuple[float, float] = (0.0, 0.0),
        inputs: bool = False,
        every_angle: bool = True,
    ) -> AbsoluteMechanism: ...

    def compile(self, coordinates: str = "relative", **options: Any) -> Mechanism | ClosedMechanism | AbsoluteMechanism:
        """The system ready to compute with: in joint coordinates ("relative") a `Mechanism` or, if it has loops or
        constraints, a `ClosedMechanism` (with cut=[joints] to name joints that are cut); in the poses of all bodies
        ("absolute", with space="SE3" | "SO3xR3" | "auto" | {body: space}) an `AbsoluteMechanism`."""
        services = {"relative": "compile joints", "absolute": "compile bodies"}
        if coordinates not in services:
            raise ValueError(f"System.compile: coordinates {coordinates!r}; expected one of {', '.join(services)}")
        compiled: Mechanism | ClosedMechanism | AbsoluteMechanism = service(services[coordinates])(self, **options)
        return compiled

    def mobility(self, q: ArrayLike | None = None, **options: Any) -> Mobility:
        """Freedoms and redundant constraints, at a configuration and nearby: see `chasles.mobility`."""
        found: Mobility = service("mobility")(self, q, **options)
        return found

    # ------------------------------------------------------------ other systems from this one

    @classmethod
    def from_assembly(
        cls, bodies: Iterable[Body], joints: Iterable[Joint], reference: Mapping[str, Pose] | None = None, **others: Any
    ) -> System:
        """A system from its reference assembly: joints at places in space, bodies at their reference poses A_i.

        Source: mueller2018 section 4.4. The `at` of each joint is the pose of its frame in space when all coordinates
        are zero, so its screws are the spatial joint screws Y_i. Bodies not in `reference` have A_i = I, as in a CAD
        assembly whose parts are all drawn in the inertial frame.
        """
        bodies, joints, reference = tuple(bodies), tuple(joints), dict(reference or {})
        for name in reference:
            if name not in {body.name for body in bodies}:
                raise ValueError(f"System.from_assembly: reference has a pose for {name!r}, which is not a body")
        placed = []
        for joint in joints:
            if joint.child_frame != ORIGIN:
                raise ValueError(f"joint {joint.name!r}: child_at has no meaning in an assembly; give `at`, in space")
            placed.append(joint.in_assembly(*(reference.get(name, ORIGIN) for name in (joint.parent, joint.child))))
        return cls(bodies, placed, **others)

    def rearranged(self, **changes: Any) -> System:
        """This system with other parts in place of its own, also in place of those that its rods made. For code that
        computes with it: it is not the model any more."""
        return replace(self, rods=PlacedRods(self.rods), **changes)

    def with_numbers(
        self,
        bodies: Sequence[Body],
        joints: Sequence[Joint] | None = None,
        forces: Sequence[Force] | None = None,
        gravity: ArrayLike | None = None,
    ) -> System:
        """This system with parts that differ from its own in valid numbers alone, so that nothing is checked again.
        For code that makes many of them."""
        found = object.__new__(System)
        own = {item.name: getattr(self, item.name) for item in fields(System)}
        own |= {"bodies": tuple(bodies), "_index": {**self._index, "body": {body.name: body for body in bodies}}}
        if joints is not None:
            own["joints"] = tuple(joints)
            own["_index"]["joint"] = {joint.name: joint for joint in joints}
        own |= {} if forces is None else {"forces": tuple(forces)}
        own |= {} if gravity is None else {"gravity": gravity}
        found.__dict__.update(own)
        return found

    def with_body(self, *bodies: Body) -> System:
        """This system with more bodies."""
        return replace(self, bodies=(*self.bodies, *bodies))

    def with_joint(self, *joints: Joint) -> System:
        """This system with more joints."""
        return replace(self, joints=(*self.joints, *joints))

    def with_frame(self, *frames: Frame) -> System:
        """This system with more frames."""
        return replace(self, frames=(*self.frames, *frames))

    def with_force(self, *forces: Force) -> System:
        """This system with more forces."""
        return replace(self, forces=(*self.forces, *forces))

    def with_actuator(self, *actuators: Actuator) -> System:
        """This system with more actuators."""
        return replace(self, actuators=(*self.actuators, *actuators))

    def with_constraint(self, *constraints: Constraint) -> System:
        """This system with more constraints."""
        return replace(self, constraints=(*self.constraints, *constraints))

    def with_rod(self, *rods: Rod) -> System:
        """This system with more rods."""
        return replace(self, rods=(*self.rods, *rods))

    def with_gravity(self, gravity: ArrayLike) -> System:
        """This system with another gravity [m/s²]."""
        return replace(self, gravity=gravity)

    def change(self, part: str, **values: Any) -> System:
        """This system with other values of one part, which is named as in a model file: change("joints.elbow",
        upper=1.2, stop_stiffness=2e4), change("bodies.arm", mass=3.0). All other values of the part stay."""
        section, _, name = part.partition(".")
        if section not in CHANGEABLE:
            raise ValueError(f"change: {part!r}; expected a part such as 'joints.elbow', of {', '.join(CHANGEABLE)}")
        parts = {one.name: one for one in getattr(self, section)}
        if name not in parts:
            raise ValueError(f"change: there is no {part!r}; {_known(name, parts, section)}")
        if isinstance(parts[name], OfRod):
            raise ValueError(f"change: a rod made {part!r}; change the rod")
        known = {each.name for each in fields(parts[name]) if each.init} - {"name", "kind"}
        for wrong in sorted(values.keys() - known):
            has = ", ".join(sorted(known))
            raise ValueError(f"change: {part!r} has no {wrong!r}; {meant(wrong, known)}it has {has}")
        old = parts[name]
        changed = old.changed(**values) if isinstance(old, Body) else replace(old, **values)
        found: dict[str, Any] = {section: [changed if one is old else one for one in parts.values()]}
        return replace(self, **found)

    def with_motors(self, joints: Iterable[str] | None = None) -> System:
        """This system with an actuator for each coordinate that has an effort limit and no actuator yet, bounded by it;
        of the joints named, or of all but those that follow others."""
        own = [joint for joint in self.joints if joint.mimic is None]
        named = own if joints is None else [self.joint(name, "with_motors") for name in _listed(joints)]
        return replace(self, actuators=(*self.actuators, *motors(named, self.actuators, joints is not None)))

    def lock(self, joint: str | Iterable[str] | Mapping[str, ArrayLike | None], q: ArrayLike | None = None) -> System:
        """The system with a joint held at coordinates q (default: zero), as a weld; or several, lock(["a", "b"]), or
        at coordinates of their own, lock({"a": 0.3, "b": -1.0}). Joints that follow one of them are held with it."""
        if not isinstance(joint, str) and q is not None:
            raise ValueError('lock: q is for one joint; give coordinates of several by name: lock({"a": 0.3, ...})')
        places = joint if isinstance(joint, Mapping) else dict.fromkeys(_listed(joint), q)
        for name in places:
            if isinstance(self.joint(name, "lock"), OfRod):
                raise ValueError(
                    f"joint {name!r} cannot be locked: a rod made it, and its coordinates are strains of the rod; "
                    "leave a strain out of the rod's `strains`, which holds it along the whole rod, or divide the rod"
                )
        welds = {name: held_as_weld(self.joint(name, "lock"), place) for name, place in places.items()}
        for follower, rule in followers(self.joints).items():
            if follower in welds:
                raise ValueError(f"joint {follower!r} cannot be locked: it follows {rule.leader!r}; lock that one")
            if rule.leader in welds:
                place = places[rule.leader]
                at = 0.0 if place is None else float(np.ravel(place)[0])
                welds[follower] = held_as_weld(self.joint(follower), rule.ratio * at + rule.offset)
        for acting in (*self.forces, *self.actuators):
            if isinstance(acting, JointForce | Actuator) and acting.joint in welds:
                what = "joint force" if isinstance(acting, JointForce) else "actuator"
                raise ValueError(f"joint {acting.joint!r} cannot be locked: {what} {acting.name!r} acts on it")
        for constraint in self.constraints:
            for name in getattr(constraint, "joints", (getattr(constraint, "joint", None),)):
                if name in welds:
                    raise ValueError(f"joint {name!r} cannot be locked: {constraint.name!r} holds its coordinate")
        return replace(self, joints=tuple(welds.get(j.name, j) for j in self.joints))

    def attach(self, other: System, by: Joint, prefix: str = "") -> System:
        """This system with another one attached by a joint, whose parent is here and whose child is there.

        `prefix` goes before every name of the other system, so that one system can be attached twice. A weld or free
        joint between the other's ground and the child, as imported robots have it, is replaced by the new joint. Any
        other joint of the other system to its ground is an error.
        """
        base = [j for j in other.joints if j.parent == GROUND and j.child == by.child and j.kind in REPLACED]
        other = replace(other, joints=tuple(j for j in other.joints if j not in base)) if base else other
        for joint in other.joints:
            if joint.parent == GROUND:
                raise ValueError(
                    f"attach: joint {joint.name!r} of {other.name!r} is connected to its ground; {by.name!r} can "
                    f"replace only a weld or a free joint of its child {by.child!r}"
                )

        for rod in other.rods:
            if GROUND in rod.ends:
                raise ValueError(f"attach: rod {rod.name!r} of {other.name!r} is connected to its ground; remove it")

        def renamed(name: str) -> str:
            return name if name in (GROUND, FREE_END) else prefix + written(name)

        bare = [getattr(body, "bare", body) for body in other.bodies]  # what rods add is added again
        bodies = [replace(b, name=renamed(b.name)) if b.density is None else _renamed(b, prefix) for b in bare]
        joints = [
            replace(
                j,
                name=prefix + j.name,
                parent=renamed(j.parent),
                child=renamed(j.child),
                mimic=None if j.mimic is None else prefix + j.mimic,
            )
            for j in other.joints
        ]
        rods = [
            replace(rod, name=prefix + rod.name, ends=(renamed(rod.ends[0]), renamed(rod.ends[1])))
            for rod in other.rods
        ]
        reduced = [replace(item, name=prefix + item.name) for item in other.reduced]
        frames = [replace(f, name=prefix + f.name, body=renamed(f.body)) for f in other.frames]
        forces: list[Force] = []
        for force in other.forces:
            law = getattr(force, "value", None)
            own: dict[str, Any] = {"name": prefix + force.name}
            if isinstance(law, Expression):
                own["value"] = law.renamed(renamed)
            if isinstance(force, BetweenBodies):
                own["bodies"] = (renamed(force.bodies[0]), renamed(force.bodies[1]))
            elif isinstance(force, Wrench):
                own["body"] = renamed(force.body)
            else:
                own["joint"] = prefix + force.joint
            forces.append(replace(force, **own))
        constraints: list[Constraint] = []
        for constraint in other.constraints:
            new: dict[str, Any] = {"name": prefix + constraint.name}
            if isinstance(constraint, Coupling):
                new["joints"] = tuple(prefix + name for name in constraint.joints)
            elif isinstance(constraint, Drive):
                new["joint"] = prefix + constraint.joint
            elif GROUND in constraint.bodies:
                raise ValueError(
                    f"attach: constraint {constraint.name!r} of {other.name!r} is connected to its ground; remove it"
                )
            else:
                new["bodies"] = tuple(renamed(name) for name in constraint.bodies)
            constraints.append(replace(constraint, **new))
        link = replace(by, child=renamed(by.child))
        return replace(
            self,
            bodies=(*self.bodies, *bodies),
            joints=(*self.joints, link, *joints),
            frames=(*self.frames, *frames),
            forces=(*self.forces, *forces),
            actuators=(
                *self.actuators,
                *(replace(a, name=prefix + a.name, joint=prefix + a.joint) for a in other.actuators),
            ),
            constraints=(*self.constraints, *constraints),
            rods=(*self.rods, *rods),
            reduced=(*self.reduced, *reduced),
        )


def _renamed(body: Body, prefix: str) -> Body:
    """A body whose mass came from its shapes: the derived numbers must not be given again."""
    return Body(prefix + body.name, shapes=body.shapes, density=body.density)


def neutral(joint: Joint) -> np.ndarray:
    """Coordinates at which the frames of a joint coincide."""
    q = np.zeros(joint.nq)
    if joint.traits.quaternion:
        q[0] = 1.0
    return q


def placement(joint: Joint, q: ArrayLike) -> np.ndarray:
    """Pose of the child's joint frame in the parent's at coordinates q: exp(Y_1 q_1) ... exp(Y_k q_k)."""
    where = f"joint {joint.name!r}"
    values = as_numbers(where, "q", np.atleast_1d(q), (joint.nq,))
    if joint.traits.quaternion:
        return np.array(as_pose(where, "q", (*values, 0.0, 0.0, 0.0)[:7]))
    pose = np.array(ORIGIN)
    for screw, value in zip(joint.screws, values, strict=True):
        pose = pose_group.compose(pose, pose_group.exp(value * np.array(screw)))
    return pose


def _rehearse(where: str, item: Any, x: int, y: int, out: int) -> None:
    """Call a compiled law once in Python, where an index out of range is an error."""
    if isinstance(item.value, Law) and not isinstance(item.value, Expression):
        item.value.rehearse(where, (x, y, len(item.parameters), out))


def _unique(what: str, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"System: {what}: the name {twice[0]!r} is used {names.count(twice[0])} times")


def held_as_weld(joint: Joint, q: ArrayLike | None) -> Joint:
    """The weld that holds a joint at coordinates; None: at zero."""
    held = placement(joint, neutral(joint) if q is None else q)
    at = pose_group.compose(np.array(joint.parent_frame), held)
    return Joint(joint.name, joint.parent, joint.child, "weld", parent_frame=at, child_frame=joint.child_frame)


def _listed(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _known(name: object, names: Mapping[str, Any], what: str) -> str:
    listed = list(names)[:12]
    return f"{meant(name, names)}{what}: {', '.join(listed) or 'none'}{', ...' if len(names) > 12 else ''}"
