"""`chasles check`: look a model over without simulating it."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chasles.cli.model import Changes, Laws, Model, find_study

WRONG = 2  # exit status
ROUNDING = 1e-13  # relative to the largest number of a column


def check(
    model: Model,
    /,
    *,
    change: Changes = None,
    law: Laws = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """Check a model. Show its bodies, joints, initial state, degrees of freedom, and redundant constraints.

    It reports every error that `chasles run` would report, and warns of suspicious values. Nodes of rods and the joints
    inside of them are left out; --json has them.

    For example:

        chasles check three_bar

    The exit status is 2 if the model has an error.
    """
    console = Console(stderr=json_output)
    from chasles.display.progress import Progress

    with Progress(0, 0, what="checking ...", steady=True):
        found = report(find_study(model, change, law))
    if json_output:
        print(json.dumps(found, indent=2))
        sys.exit(WRONG if found["mistakes"] else 0)
    console.print(f"{found['name']}: {found['mass']:.6g} kg", markup=False, highlight=False)
    for title in ("rods", "bodies", "joints", "frames", "start", "start of the joints"):
        if rows := [row for row in found[title] if _is_shown(row, found["parts of rods"])]:
            table = Table(title=TITLES.get(title, title), title_justify="left", box=None)
            for column in rows[0]:
                table.add_column(escape(TITLES.get(column, column.replace("_", " "))))
            for row in rows:
                table.add_row(*(escape(str(value)) for value in row.values()))
            console.print(table)
    for line in found["lines"]:
        console.print(line, markup=False, highlight=False)
    for line in found["doubts"]:
        console.print(f"warning: {line}", markup=False, highlight=False, soft_wrap=True)
    for line in found["mistakes"]:
        print(f"chasles: {line}", file=sys.stderr)
    if found["mistakes"]:
        sys.exit(WRONG)


def _is_shown(row: dict[str, Any], inside: list[str]) -> bool:
    """Whether the table for people has a row: parts of rods only if their start was given."""
    first, *values = row.values()
    return first not in inside or "given" in values


TITLES = {  # of tables and columns, where the keys of --json are others
    "start": "initial poses and velocities",
    "start of the joints": "initial values of the joints",
    "from": "parent",
    "to": "child",
    "freedoms": "degrees of freedom",
}
MOST = 24  # joints of a linkage whose assembly modes are looked for
SAME = 1e-6  # of the size of a model, and of 1 rad: a mode that is the start


def _modes(study: Any, task: Any) -> list[str]:
    """The assembly modes of a linkage with the start's values held, if there are several."""
    import numpy as np

    from chasles.constraint.errors import AssemblyError
    from chasles.lie.rotation import quaternion_to_matrix
    from chasles.model.scale import length_of
    from chasles.simulation.start.assembly_modes import assembly_modes

    given, count = study.initial.get("q"), len(study.system.joints)
    if not given:
        return []
    if count > MOST:
        return [f"assembly modes: not searched ({count} joints); in Python: system.compile().assembly_modes()"]
    held = study.initial.get("held")
    names = (
        given if held is None else [name for name in (held["q"] if isinstance(held, dict) else held) if name in given]
    )
    try:
        found = assembly_modes(study.system, given, held=tuple(names), t=float(task.span[0]))
    except AssemblyError:  # what is given does not fit, which is said elsewhere
        return []
    except ValueError as error:  # what is given leaves freedoms
        return [f"assembly modes are not listed: {str(error).removeprefix('assembly_modes: ')}"]
    if len(found) < 2:
        return []
    tree = study.system.compile().tree.coordinates
    held = {*names, *(name for name, place in tree.items() if place.start == place.stop)}  # or without coordinates
    lines = [f"{len(found)} assembly modes with {', '.join(map(repr, names))} held; choose with mode under [initial]:"]
    poses = study.system.compile().poses(np.array([mode.q for mode in found]))
    start = task.dynamics.mechanism.poses(task.dynamics.split(task.state[None])[0])
    off = np.abs(quaternion_to_matrix(poses[..., :4]) - quaternion_to_matrix(start[..., :4])).max(axis=(1, 2, 3))
    off += np.abs(poses[..., 4:] - start[..., 4:]).max(axis=(1, 2)) / length_of(study.system)
    for k, mode in enumerate(found, 1):
        values = (f"{name} {_numbers(mode.q[place])}" for name, place in tree.items() if name not in held)
        taken = "  (taken)" if off[k - 1] == off.min() and off[k - 1] < SAME else ""
        lines.append(f"  mode {k}: {', '.join(values)}{taken}")
    return lines


def report(study: Any) -> dict[str, Any]:
    """What there is to say of a model."""
    import numpy as np

    from chasles.model.rod_parts import own_parts, shape_equations
    from chasles.relative.determined import require_determined
    from chasles.simulation.mobility import mobility
    from chasles.simulation.start.doubts import doubts

    system = study.system
    parts = (*system.bodies, *system.joints, *system.frames)
    moments = {body.name: np.linalg.eigvalsh(np.array(body.inertia)) for body in system.bodies}
    result: dict[str, Any] = {
        "name": system.name,
        "mass": system.mass,
        "parts of rods": sorted({part.name for part in parts} - {part.name for part in own_parts(parts)}),
        "rods": [
            {
                "rod": rod.name,
                "length [m]": f"{rod.length:.6g}",
                "mass [kg]": f"{rod.mesh.mass.sum():.6g}",
                "elements": rod.elements,
                "from": rod.ends[0],
                "to": rod.ends[1],
                "strains": ", ".join(rod.strains) or "all",
                "modes": "" if rod.modes is None else rod.modes,
            }
            for rod in system.rods
        ],
        "bodies": [
            {
                "body": body.name,
                "mass [kg]": f"{body.mass:.6g}",
                "center of mass [m]": _numbers(body.com),
                "principal moments [kg m²]": _numbers(moments[body.name]),
            }
            for body in system.bodies
        ],
        "joints": [
            {
                "joint": joint.name,
                "kind": joint.kind if joint.mimic is None else f"{joint.kind}, follows {joint.mimic}",
                "from": joint.parent,
                "to": joint.child,
                "freedoms": joint.nv if joint.mimic is None else 0,
                "limits": _limits(joint),
            }
            for joint in system.joints
        ],
        "frames": [{"frame": f.name, "body": f.body, "position [m]": _numbers(f.pose[4:])} for f in system.frames],
    }
    result["mistakes"], task = [], None
    try:
        task = study.plan()
        task.check()
    except (ValueError, TypeError, ArithmeticError) as error:
        result["mistakes"].append(str(error))
    result["start of the joints"] = [] if task is None else [value._asdict() for value in task.start_values]
    result["doubts"] = doubts(system, study.initial, task)
    poses, twists = study.rough_poses() if task is None else (task.begin.poses, task.begin.twists)
    columns = {
        "position [m]": poses[:, 4:],
        "quaternion": poses[:, :4],
        "angular velocity [rad/s]": twists[:, :3],
        "velocity [m/s]": twists[:, 3:],
    }
    result["start"] = [
        {"body": body.name, **{title: _numbers(values[k], np.abs(values).max()) for title, values in columns.items()}}
        for k, body in enumerate(system.bodies)
    ]
    result["lines"] = [] if study.mesh is None else [f"rods in equilibrium [m]: {study.mesh}"]
    try:
        found = mobility(system, poses=poses)
        result |= {
            "freedoms": found.generic.freedoms,
            "equations": found.equations,
            "equations_of_shapes": (inside := shape_equations(system.joints)),
            "redundant": found.redundant,
            "redundant_of": list(found.generic.dependent) if found.redundant else [],
            "singular": found.singular,
        }
        result["lines"] += [*_counted(found, inside), *_driven(system), *_not_unique(task)]
    except ValueError:
        if not result["mistakes"]:  # else it is one of them
            raise
        result["lines"].append("degrees of freedom: not known until the errors are corrected")
    result["lines"] += [] if task is None else _modes(study, task)
    try:
        mechanism = system.compile()
        require_determined(getattr(mechanism, "spanning", mechanism))
    except ValueError as error:
        result["lines"].append(f"joint coordinates: not possible, because {error}")
    try:
        system.compile("absolute")
    except ValueError as error:
        result["lines"].append(f"absolute coordinates: not possible, because {error}")
    return result


def _counted(found: Any, inside: int) -> list[str]:
    """Freedoms and equations, without those that users did not write: inside of rods and reduced bodies."""
    first, *others = str(found).split("\n")
    if not inside:
        return [first, *others]
    own, freedoms = found.equations - inside, first.split(",", maxsplit=1)[0]
    more = f"{inside} more hold the nodes of rods and reduced bodies on their shapes"
    return [f"{freedoms}, {own} constraint equation{'' if own == 1 else 's'}; {more}", *others]


def _driven(system: Any) -> list[str]:
    """That drives are among the constraints: a crank with a motor has no freedom left."""
    from chasles.model.constraint import Drive

    names = [repr(one.name) for one in system.constraints if isinstance(one, Drive)]
    return [f"drives count as constraints: {', '.join(names)}"] if names else []


def _not_unique(task: Any) -> list[str]:
    """Which components of reactions redundant equations leave open at the start."""
    begin = None if task is None else task.begin  # its quantities know it by a weak reference
    found = None if begin is None else begin._kind.open_reactions
    return [f"reactions that rigid bodies do not determine: {found}"] if found is not None and found.spaces else []


def _limits(joint: Any) -> str:
    """The limits of a joint's coordinates that has any."""
    import math

    pairs = list(zip(joint.lower, joint.upper, strict=True))
    if not any(math.isfinite(value) for pair in pairs for value in pair):
        return ""
    stops = "" if joint.stop_stiffness or joint.has_rigid_limits else ", data only"
    units = joint.velocity_units
    return "; ".join(f"{low:.4g} to {high:.4g} {unit}" for (low, high), unit in zip(pairs, units, strict=True)) + stops


def _numbers(values: Any, scale: float = 0.0) -> str:
    """Numbers side by side; what is only rounding beside the scale is shown as zero."""
    return " ".join(f"{value if abs(value) > ROUNDING * scale else 0.0:.4g}" for value in values)
