"""Models of every kind of part, and all that can be changed in one of their parts alone."""

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.model.expression_law import Expression
from chasles.model.law import Law
from chasles.model.rod_parts import OfRod
from tests.rods.test_reduced import PLACES, craig_bampton

PARTS = ("bodies", "joints", "frames", "forces", "actuators", "constraints", "rods", "reduced")
Z, Y, X = (0, 0, 1), (0, 1, 0), (1, 0, 0)


def strong(strength, table):
    """Two laws that differ in what they take from outside."""

    @ch.law
    def law(t, q, v, p, out):
        out[0] = strength * q[0] - table[1][0] * v[0] + p[0]

    return law


@ch.law
def drag(t, pose, twist, p, out):
    for k in range(6):
        out[k] = -p[0] * twist[k]


@ch.law
def lift(t, pose, twist, p, out):
    out[5] = p[0] + 0.3 * t


@ch.law
def softening(t, x, y, p, out):
    out[0] = p[0] * (x[0] - 0.3) - p[1] * y[0]


@ch.law
def sine(t, x, y, p, out):
    out[0], out[1], out[2] = p[0] * np.sin(t), p[0] * np.cos(t), -p[0] * np.sin(t)


@ch.law
def cosine(t, x, y, p, out):
    out[0], out[1], out[2] = p[0] * np.cos(t), -p[0] * np.sin(t), -p[0] * np.cos(t)


@ch.law
def on_plane(t, poses, twists, p, out):
    """The origin of the second body is at the height p[0] of the ground."""
    w, x, y, z = poses[7], poses[8], poses[9], poses[10]
    row = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
    a, b, u, c = twists[6], twists[7], twists[9], twists[11]
    d, s = twists[8], twists[10]
    out[0] = poses[13] - p[0]
    for k in range(3):
        out[24 + k] = row[k]
    out[39] = -(row[0] * (b * c - d * s) + row[1] * (d * u - a * c) + row[2] * (a * s - b * u))


LAWS: dict[Any, Any] = {drag: lift, lift: drag, sine: cosine, cosine: sine}


def body(name, size=0.3, mass=1.0, **more):
    return ch.Body(name, mass, (size / 2, 0.02, -0.03), (0.02, 0.03, 0.035), **more)


def chain(*joints, **more):
    """A chain of joints, each (kind, options)."""
    made, parts, before = [], [], "ground"
    for k, (kind, options) in enumerate(joints):
        name = f"b{k}"
        parts.append(body(name, mass=1.0 + 0.1 * k))
        made.append(getattr(ch, kind)(f"j{k}", before, name, at=(0.1 * (k > 0), 0.05, 0.02), **options))
        before = name
    return ch.System(parts, made, **more)


def axes():
    return chain(
        ("revolute", {"axis": Y, "damping": 0.1, "stiffness": 2.0, "rest": 0.1, "armature": 0.01}),
        ("prismatic", {"axis": X, "friction": 0.2, "lower": -0.1, "upper": 0.2, "stop_stiffness": 50.0}),
        ("helical", {"axis": Z, "pitch": 0.05, "velocity_limit": 3.0, "effort_limit": 5.0, "stop_damping": 0.2}),
        ("cylindrical", {"axis": Y, "stiffness": (1.0, 3.0)}),
        frames=[ch.Frame("tip", "b3", (0.1, 0.2, 0.3))],
        actuators=[ch.Actuator("motor", "j0", gear=2.0, lower=-1.0, upper=1.0)],
    )


def manifolds():
    return chain(
        ("free", {"damping": 0.2}),
        ("universal", {"stiffness": 1.0}),
        ("spherical", {"damping": 0.1, "stiffness": 0.5}),
        ("weld", {}),
        ("planar", {"normal": Y, "damping": 0.3}),
        ("general", {"screws": [(0, 0, 1, 0.1, 0, 0), (1, 0, 0, 0, 0, 0.2)], "damping": 0.1}),
    )


def followers():
    joints = [
        ("revolute", {"axis": Y, "damping": 0.1}),
        ("revolute", {"axis": Y, "mimic": "j0", "mimic_ratio": -2.0, "mimic_offset": 0.1, "stiffness": 1.0}),
        ("prismatic", {"axis": X, "mimic": "j1", "mimic_ratio": 0.1}),
    ]
    return chain(*joints)


def laws():
    system = chain(("revolute", {"axis": Y}), ("revolute", {"axis": X}), ("prismatic", {"axis": Z}))
    return replace(
        system,
        frames=[ch.Frame("tip", "b2", (0.1, 0, 0)), ch.Frame("hook", "b1", (0.0, 0.1, 0))],
        forces=[
            ch.JointForce("push", "j0", "k * sin(3 * t) - 0.2 * v", parameters={"k": 2.0}),
            ch.JointForce("seen", "j1", "-5 * q('j0') - 0.1 * v('j2') + 0.2 * distance('tip', 'ground')"),
            ch.JointForce("closure", "j2", strong(-3.0, ((1.0, 2.0), (0.3, 0.4))), parameters=(0.5,)),
            ch.JointForce("constant", "j0", 0.3),
            ch.Wrench("wind", "b1", (0, 0, 0, "sin(2 * t)", 0.1, 0), "hybrid"),
            ch.Wrench("drag", "b2", drag, "body", parameters=(0.1,)),
            ch.TwoPointForce("stop", ("ground", "b2"), "-20 * max(0.5 - distance, 0) + speed", ((0, 0, 1), (0, 0, 0))),
            ch.TwoPointForce("soft", ("b0", "b2"), softening, ((0, 0.5, 0), (0.1, 0, 0)), (3.0, 0.1)),
            ch.Spring("spring", ("b0", "b2"), ((0, 0.1, 0), (0.1, 0, 0.2)), 30.0, 0.2, 0.2),
            ch.Bushing("mount", ("ground", "b1"), ((0.1, 0, 0), (0, 0, 0.1)), (1, 2, 3, 4, 5, 6), (0.1,) * 6),
        ],
    )


def sticking():
    return chain(
        ("revolute", {"axis": Y, "friction": 0.5, "friction_speed": 0.0, "static_friction": 0.7}),
        ("prismatic", {"axis": X, "lower": -0.01, "upper": 0.02, "restitution": 0.4}),
        ("revolute", {"axis": Y, "friction_coefficient": 0.1, "bearing_radius": 0.02}),
        ("prismatic", {"axis": X, "friction_coefficient": 0.1, "guide_length": 0.1, "friction_speed": 0.05}),
        ("helical", {"axis": Z, "pitch": 0.02, "friction_coefficient": 0.1, "thread_radius": 0.01}),
    )


def slipping():
    options = {"friction_coefficient": 0.1, "friction_speed": 0.0, "static_friction_coefficient": 0.2}
    return chain(
        ("revolute", {"axis": Y, "bearing_radius": 0.02, **options}),
        ("prismatic", {"axis": X, "guide_length": 0.1, **options}),
    )


def hinge(name, parent, child, **more):
    return ch.revolute(name, parent, child, axis=Z, **more)


def bars(base="ground", **tip):
    joints = [
        hinge("crank", base, "one", damping=0.1),
        hinge("knee", "one", "two", at=(0.3, 0, 0)),
        hinge("rocker", base, "three", at=(0.6, 0, 0), stiffness=2.0),
        hinge("tip", "two", "three", at=(0.6, 0, 0), child_at=(0.5, 0, 0), **tip),
    ]
    return [body("one", 0.3), body("two", 0.6), body("three", 0.5)], joints


def redundant():
    return ch.System(*bars(), gravity=(0, -9.8, 0), actuators=[ch.Actuator("motor", "crank")])


def damped_loop():
    bodies, joints = bars(damping=0.2)
    return ch.System(bodies, joints, forces=[ch.JointForce("push", "rocker", "2 * sin(t)")])


def geared():
    bodies, joints = bars()
    joints[-1] = ch.spherical("tip", "two", "three", at=(0.6, 0, 0), child_at=(0.5, 0, 0))
    bodies += [body("wheel"), body("slide"), body("bolt")]
    joints += [hinge("gear", "ground", "wheel", at=(0, 0.5, 0)), ch.prismatic("rack", "ground", "slide", axis=X)]
    joints.append(ch.cylindrical("nut", "ground", "bolt", axis=X))
    constraints = [
        ch.Coupling("mesh", ("rocker", "gear"), (2.0, 1.0), offset=2.0),
        ch.Coupling("thread", ("nut", "nut"), (1.0, -50.0), coordinates=(0, 1)),
        ch.Drive("motor", "crank", "w * t + 0.8", parameters={"w": 3.0}),
        ch.Drive("hold", "rack", sine, parameters=(0.3,)),
    ]
    spring = ch.Spring("spring", ("ground", "two"), ((0, 0.5, 0), (0.1, 0, 0)), stiffness=20.0, damping=0.3)
    return ch.System(bodies, joints, forces=[spring], constraints=constraints, gravity=(0, -9.8, 0))


def followed_loop():
    bodies, joints = bars()
    joints.append(hinge("gear", "ground", "wheel", at=(0, 0.5, 0), mimic="rocker", mimic_ratio=-2.0))
    return ch.System([*bodies, body("wheel")], joints, gravity=(0, -9.8, 0))


def constrained():
    """Points, lines, planes, links and a law of the user between bodies that float."""
    bodies = [body(name) for name in ("a", "b", "c", "d")]
    joints = [ch.free(f"float {one.name}", "ground", one.name) for one in bodies]
    points = ((0, 0, 0), (0, 0, 0))
    return ch.System(
        bodies,
        joints,
        constraints=[
            ch.Distance("link", ("ground", "a"), ((0, 0, 0.5), (0, 0, 0)), 0.5),
            ch.PointOnLine("line", ("ground", "b"), points, (0.6, 0, 0.8)),
            ch.PointOnPlane("plane", ("ground", "c"), points, (0, 0.6, 0.8)),
            ch.CustomConstraint("own", ("ground", "d"), on_plane, 1, (0.0,)),
        ],
    )


def rolling():
    ball = ch.Body("ball", 1.0, (0, 0.01, 0), (0.02, 0.02, 0.02))
    disc = ch.Body("disc", 1.0, (0, 0, 0), (0.02, 0.03, 0.02))
    joints = [ch.free("float ball", "ground", "ball"), ch.free("float disc", "ground", "disc")]
    constraints = [
        ch.Rolling("roll", ("ground", "ball"), 0.1, ((0, 0, -0.1), (0, 0, 0))),
        ch.Rolling("edge", ("ground", "disc"), 0.1, ((0, 0, -0.1), (0, 0, 0)), axis=Y),
    ]
    return ch.System([ball, disc], joints, constraints=constraints)


def cams():
    turns = np.arange(12) / 12 * 2 * np.pi
    profile = np.column_stack([0.05 * np.cos(turns) + 0.01, 0.04 * np.sin(turns)])
    joints = [
        hinge("shaft", "ground", "cam"),
        ch.prismatic("lifter", "ground", "rod", axis=X),
        ch.prismatic("tappet", "ground", "plate", axis=Y),
    ]
    constraints = [
        ch.Cam("roller", ("cam", "rod"), profile, radius=0.01),
        ch.Cam("flat", ("cam", "plate"), profile, face=Y),
    ]
    return ch.System([body("cam"), body("rod"), body("plate")], joints, constraints=constraints)


def rods():
    steel = ch.rods.Material(E=2e9, nu=0.3, density=1000.0)
    rod = ch.Rod(
        "rod", ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Circle(0.02), steel, ("ground", "free"), 3, damping=1e-3,
        up=Z, twist=0.1, loads=[ch.rods.Load((0, 0, 0, 0, "sin(t)", 1.0))],
    )  # fmt: skip
    tapered = ch.rods.Rectangle(0.02, 0.03), ch.rods.Rectangle(0.01, 0.02)
    bent = ch.Rod(
        "bent", ch.rods.Arc((0, 0, 1), (0, 0.5, 1), Z, 1.0), tapered, steel, ("ground", "free"), 2, element="helix",
        masses="trapezoid", intrinsic={"bend_z": "0.3 * t * s"},
    )  # fmt: skip
    weight = ch.Body("weight", 1.0, (0, 0, 0), (0.01, 0.01, 0.01))
    joints = [ch.spherical("eye", "rod[3]", "weight", at=(0.1, 0, 0))]
    return ch.System([weight], joints, rods=[rod, bent])


def strained():
    steel = ch.rods.Material(E=2e8, nu=0.3, density=1000.0)
    ends = ("ground", "free")
    one = ch.Rod(
        "one", ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Circle(0.02), steel, ends, 3, damping=1e-2,
        strains=["bend_y", "bend_z"], intrinsic={"bend_z": "0.5 * smooth(t, 0, 1)"},
    )  # fmt: skip
    two = ch.Rod(
        "two", ch.rods.Line((0, 0, 1), (1, 0, 1)), ch.rods.Tube(0.02, 0.01), steel, ends, 4,
        strains=["twist", "bend_z"], modes=2, loads=[ch.rods.Load((0, 0, 0, 0, 1.0, 0), "body")],
    )  # fmt: skip
    return ch.System([], [], rods=[one, two])


def elastic():
    mass, stiffness, _ = craig_bampton((0, -1), 2)
    beam = ch.rods.ReducedBody("beam", mass, stiffness, PLACES, damping=1e-4, shapes=4)
    return ch.System([], [ch.weld("clamp", "ground", "beam[0]")], reduced=[beam])


def drawn():
    """Bodies by their shapes."""
    shapes = [ch.shapes.Box((0.1, 0.2, 0.3)), ch.shapes.Sphere(0.1, pose=(1, 0, 0, 0, 0.1, 0, 0), color=(1, 0, 0))]
    more = [ch.shapes.Cylinder(0.1, 0.3), ch.shapes.Capsule(0.05, 0.2), ch.shapes.Ellipsoid((0.1, 0.2, 0.3))]
    return ch.System(
        [ch.Body("a", shapes=shapes, density=100.0), ch.Body("b", shapes=more, density=50.0), body("c", shapes=shapes)],
        [hinge("one", "ground", "a"), ch.universal("two", "a", "b"), ch.prismatic("three", "b", "c", axis=X)],
    )


# each with values of the start
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "axes": (axes, {"q": {"j0": 0.3, "j1": 0.19}, "v": {"j1": 0.5, "j2": 1.0}, "control": {"motor": 0.5}}),
    "manifolds": (manifolds, {"v": {"j0": (0.1, 0.5, 0.2, 1, 0, 0), "j2": (0.3, 0.2, 0.1)}}),
    "followers": (followers, {"q": {"j0": 0.3}, "v": {"j0": 1.0}}),
    "laws": (laws, {"q": {"j0": 0.3, "j1": 0.2, "j2": 0.1}, "v": {"j0": 1.0, "j2": 0.3}}),
    "sticking": (sticking, {"v": {"j1": 3.0, "j3": 0.3, "j2": 0.1}}),
    "slipping": (slipping, {"v": {"j1": 0.3}}),
    "redundant": (redundant, {"q": {"crank": 0.8}, "v": {"crank": 1.0}}),
    "damped loop": (damped_loop, {"q": {"crank": 0.8}, "v": {"crank": 1.0}}),
    "geared": (geared, {}),
    "followed loop": (followed_loop, {"q": {"crank": 0.8}, "v": {"crank": 1.0}}),
    "constrained": (constrained, {"v": {"float a": (0, 0, 0, 1, 0, 0), "float d": (0.3, 0.2, 0.1, 1, 0, 0)}}),
    "rolling": (rolling, {"v": {"float ball": (0, 3.0, 0.5, 0.3, 0, 0)}}),
    "cams": (cams, {"v": {"shaft": 3.0}}),
    "rods": (rods, {}),
    "strained": (strained, {}),
    "elastic": (elastic, {}),
    "drawn": (drawn, {"v": {"one": 1.0, "two": (0.3, 0.2)}}),
}

# ------------------------------------------------------------ one change
GIVEN = {  # in place of nothing, or of what has few values
    "restitution": [0.5],
    "mimic": ["j0", "crank"],
    "density": [100.0],
    "up": [(0, 0.1, 1)],
    "modes": [1, 2, 3],
    "shapes": [3],
    "axis": [Y, (0, 0.6, 0.8)],
    "face": [Y],
    "representation": ["body", "hybrid", "spatial", "mixed"],
    "kind": ["revolute", "prismatic", "helical", "general"],
    "element": ["magnus", "helix"],
    "masses": ["gregory", "offset", "trapezoid"],
    "order": ["translation", "rotation"],
    "strain_limit": [0.01],
    "shear": [(0.8, 0.8)],
    "color": [(0, 1, 0)],
    "strains": [("bend_z",), ("stretch", "bend_z"), ("twist", "bend_y", "bend_z")],
    "intrinsic": [{"bend_z": 0.4}, {"bend_z": "0.7 * t"}],
}
OTHER_SECTIONS = [ch.rods.Circle(0.021), ch.rods.Rectangle(0.02, 0.021), ch.rods.Tube(0.02, 0.015)]
OTHER_CURVES = [ch.rods.Line((0, 0, 0), (1, 0.1, 0)), ch.rods.Arc((0, 0, 1), (0, 0.6, 1), Z, 1.0)]


def changed_values(name: str, value: Any, names: dict[str, list[str]]) -> Iterator[Any]:
    """Other values of a field; some may not be possible."""
    if name in GIVEN and (value is None or isinstance(value, str) or name in ("strains", "intrinsic")):
        yield from (other for other in GIVEN[name] if other != value)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | np.integer):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        if np.isinf(value):
            yield np.copysign(0.5, value)
        else:
            yield from (value * 1.25, 0.0) if value else (0.125, 1.5)
    elif isinstance(value, str):
        yield from (other for group in names.values() if value in group for other in group if other != value)
    elif isinstance(value, Expression):
        yield from changed_texts(value, names)
    elif isinstance(value, Law):
        if value in LAWS:
            yield LAWS[value]
        elif value.function.__closure__:
            yield strong(-3.5, ((1.0, 2.0), (0.3, 0.4)))
            yield strong(-3.0, ((1.0, 2.0), (0.35, 0.4)))
        else:
            yield ch.law(lambda t, x, y, p, out: out.fill(0.1))
    elif is_dataclass(value):
        yield from changed_parts(value, names)
        if isinstance(value, ch.rods.Circle | ch.rods.Rectangle | ch.rods.Tube):
            yield from OTHER_SECTIONS
        if isinstance(value, ch.rods.Line | ch.rods.Arc):
            yield from OTHER_CURVES
    elif isinstance(value, tuple):
        yield from changed_tuples(name, value, names)


def changed_tuples(name: str, value: tuple[Any, ...], names: dict[str, list[str]]) -> Iterator[Any]:
    numbers = bool(value) and all(isinstance(one, float) for one in value)
    if numbers and len(value) == 7 and abs(np.linalg.norm(value[:4]) - 1) < 1e-9:  # a pose
        for k in range(6):
            yield tuple(pose_group.compose(np.array(value), pose_group.exp(0.05 * np.eye(6)[k])).tolist())
        return
    if name == "inertia" or (name in ("mass", "stiffness") and len(value) > 7):  # must stay symmetric
        matrix = np.array(value)
        for k in (0, len(matrix) - 1):
            yield matrix * (1 + 0.1 * np.outer(np.eye(len(matrix))[k], np.eye(len(matrix))[k]))
        yield 1.1 * matrix
        return
    if numbers and name in ("direction", "normal", "axis", "face"):
        yield from (tuple(np.add(value, change)) for change in 0.1 * np.eye(3))
        return
    for k in itertools.chain(range(min(len(value), 6)), range(max(6, len(value) - 2), len(value))):
        for other in changed_values(name, value[k], names):
            yield (*value[:k], other, *value[k + 1 :])
    if len(value) > 1:
        yield value[::-1]
    if value and not numbers and not all(isinstance(one, tuple) for one in value):
        yield value[:-1]


def changed_texts(value: Expression, names: dict[str, list[str]]) -> Iterator[Any]:
    for k, text in enumerate(value.texts):
        others = [re.sub(r"(?<![\w.'])(\d+(?:\.\d+)?)", lambda found: repr(float(found[1]) * 1.5), text, count=1)]
        others.append(text.replace("sin", "cos"))
        for name in re.findall(r"'(\w+)'", text):
            group = next((group for group in names.values() if name in group), [])
            others += [text.replace(f"'{name}'", f"'{other}'") for other in group if other != name]
        for other in others:
            if other != text:
                whole = [*value.texts[:k], other, *value.texts[k + 1 :]]
                yield whole if len(whole) > 1 else other


def changed_parts(part: Any, names: dict[str, list[str]], seen: Any = None) -> Iterator[Any]:
    """The part with another value in one of its fields. What is not possible is left out."""
    for item in fields(part):
        if not item.init or item.name == "name":
            continue
        for other in changed_values(item.name, getattr(part, item.name), names):
            more = {"parameters": ()} if isinstance(getattr(part, item.name), Expression) else {}
            try:
                if isinstance(part, ch.Body):
                    made = part.changed(**{item.name: other})
                else:
                    made = replace(part, **{item.name: other}, **more)
            except (ValueError, TypeError, np.linalg.LinAlgError):
                continue
            if made != part or item.name in ("value", "law"):
                if seen is not None:
                    seen.add((type(part).__name__, item.name))
                yield made


def renamed(value: Any, old: str, new: str) -> Any:
    """The same with another name wherever it is used."""
    if isinstance(value, str):
        node = value.startswith(f"{old}[")  # of a rod or of a reduced body
        return new if value == old else new + value[len(old) :] if node else value
    if isinstance(value, Expression):
        return value.renamed(lambda name: new if name == old else name)
    if isinstance(value, tuple | list):
        return type(value)(renamed(one, old, new) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        own = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
        changed = {name: renamed(one, old, new) for name, one in own.items()}
        if any(isinstance(one, Expression) for one in own.values()) and "parameters" in own:
            changed["parameters"] = ()
        if changed == own:
            return value
        return (
            value.changed(**{k: v for k, v in changed.items() if v != own[k]})
            if isinstance(value, ch.Body)
            else (replace(value, **changed))
        )
    return value


def variations(system: ch.System, seen: set[tuple[str, str]]) -> Iterator[tuple[str, ch.System]]:
    """All systems that differ from a system in one thing, by a name that says in what."""
    own = {name: [one for one in getattr(system, name) if not isinstance(one, OfRod)] for name in PARTS}
    names = {
        "bodies": ["ground", *(one.name for one in own["bodies"])],
        "joints": [one.name for one in own["joints"]],
        "frames": [one.name for one in own["frames"]],
    }

    def with_parts(group: str, parts: list[Any]) -> ch.System:
        return replace(system, **(own | {group: parts}))

    for group, parts in own.items():
        for k, part in enumerate(parts):
            fresh: set[tuple[str, str]] = set()
            for made in changed_parts(part, names, fresh):
                differs = [item.name for item in fields(part) if item.init and item.compare]
                field = next((name for name in differs if getattr(made, name) != getattr(part, name)), "?")
                try:
                    yield f"{group}.{part.name}.{field}", with_parts(group, [*parts[:k], made, *parts[k + 1 :]])
                except (ValueError, TypeError):
                    continue
                seen |= fresh
                fresh.clear()
            other = f"{part.name}'"
            with suppress(ValueError, TypeError):
                every = {name: tuple(renamed(tuple(some), part.name, other)) for name, some in own.items()}
                yield f"{group}.{part.name}.name", replace(system, **every)
                seen.add((type(part).__name__, "name"))
            with suppress(ValueError, TypeError):
                yield f"{group}.{part.name} left out", with_parts(group, [*parts[:k], *parts[k + 1 :]])
        for k in range(len(parts) - 1):
            with suppress(ValueError, TypeError):
                yield f"{group}: order {k}", with_parts(group, [*parts[:k], parts[k + 1], parts[k], *parts[k + 2 :]])
    for k in range(3):
        gravity = list(system.gravity)
        gravity[k] += 0.5
        yield f"gravity {k}", replace(system, gravity=gravity)
    yield "name", replace(system, name="other")
    seen |= {("System", "gravity"), ("System", "name")}
