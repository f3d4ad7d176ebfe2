"""Models of MuJoCo (MJCF), as its own compiler understands them. Needs the package `mujoco`.

MuJoCo moves a body by its joints one after the other, each a screw in the body's own frame:

    X = X_0 exp(S_1 (q_1 - r_1)) exp(S_2 (q_2 - r_2)) ...,   r = qpos0

Here each is a joint of its own, with bodies without mass between the joints of one body, and coordinates q equal to
qpos (of a free joint the quaternion stands before the position).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles.io.markup import Element
from chasles.io.mjcf_attributes import report_attributes
from chasles.io.mjcf_constraints import actuators, equalities
from chasles.io.mjcf_guard import check_mjcf
from chasles.io.mjcf_shapes import frames, shapes_of
from chasles.io.mjcf_view import View
from chasles.io.report import ImportReport
from chasles.io.source import ModelFileError
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model import joint as joints
from chasles.model.body import GROUND, Body
from chasles.model.joint import Joint
from chasles.model.placement import ORIGIN
from chasles.model.system import System

FREE, BALL, SLIDE, HINGE = range(4)  # mujoco.mjtJoint
KIND = ("free", "ball", "slide", "hinge")
NO_STOPS = "stored, exert no force: set stop_stiffness or restitution"
Pose = tuple[float, ...]


def read_mjcf(first: Element, file: Path, report: ImportReport, root: Path | None) -> System:
    """The system of a file; `report` is filled."""
    tops = check_mjcf(first, file, file.resolve().parent if root is None else root)
    view = View(_compiled(file, report), report, str(file))
    report_attributes(tops, file.parent, report)
    try:
        return _system(view, tops)
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(str(file), None, "", str(error)) from None


def _compiled(file: Path, report: ImportReport) -> Any:
    """The model that MuJoCo makes of a file. Its warnings go to the report, not to a file in the working folder."""
    try:
        import mujoco
    except ImportError:
        raise ModelFileError(
            str(file), None, "", "is MJCF, which only MuJoCo's compiler understands: pip install mujoco"
        ) from None
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)
    try:
        return mujoco.MjModel.from_xml_path(str(file))
    except (ValueError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        message = " ".join(str(error).split())
        raise ModelFileError(str(file), None, "", f"is refused by MuJoCo: {message}") from None
    finally:
        mujoco.set_mju_user_warning(before)
        for text in dict.fromkeys(warnings):
            report.took("warnings of MuJoCo", "", " ".join(text.split()))


def _system(view: View, tops: list[Element]) -> System:
    bodies: list[Body] = []
    made: list[Joint] = []
    for i in range(1, view.model.nbody):
        body = _body(view, i)
        between, chain = _joints(view, i, body.name)
        bodies += [*between, body]
        made += chain
    closing, constraints, rules = equalities(view)
    made = [replace(joint, **rules.get(joint.name, {})) for joint in made]
    gravity = view.model.opt.gravity if not view.disabled("GRAVITY") else np.zeros(3)
    system = System(
        bodies,
        [*made, *closing],
        frames(view),
        actuators=actuators(view),
        constraints=constraints,
        gravity=gravity,
        name=tops[0].attributes.get("model", "").strip() or "MuJoCo model",
    )
    view.report.took("gravity", "", " ".join(f"{g:g}" for g in gravity) + " m/s²")
    view.report_rest()
    return system


def _body(view: View, i: int) -> Body:
    """A body with the inertia that MuJoCo's compiler found: principal moments in a frame of their own."""
    model, name = view.model, view.bodies[i]
    turn = quaternion_to_matrix(model.body_iquat[i].astype(float))
    inertia = turn @ np.diag(model.body_inertia[i]) @ turn.T
    view.report.took("bodies", name)
    if model.body_gravcomp[i] and view.passive and not view.disabled("GRAVITY"):
        view.report.ignored("gravity compensation", name, moves=True)
    if model.body_mocapid[i] >= 0:
        view.report.approximated("mocap bodies", name, "fixed where they start")
    numbers = (name, float(model.body_mass[i]), model.body_ipos[i], (inertia + inertia.T) / 2, shapes_of(view, i))
    try:
        return Body(*numbers)
    except ValueError:
        view.report.took("inertias", name, "taken as they are, but NOT PHYSICAL")
        return Body(*numbers, physical=False)


def _joints(view: View, i: int, body: str) -> tuple[list[Body], list[Joint]]:
    """The joints of a body one after the other, and the bodies without mass between them."""
    model = view.model
    parent = view.bodies[model.body_parentid[i]]
    at: Pose = (*model.body_quat[i].tolist(), *model.body_pos[i].tolist())
    first, count = model.body_jntadr[i], model.body_jntnum[i]
    if count == 0:
        name = view.unique("joint", f"{body} on {'the ground' if parent == GROUND else parent}")
        return [], [joints.weld(name, parent, body, at=at)]
    between: list[Body] = []
    chain: list[Joint] = []
    for j in range(first, first + count):
        name = view.joints[j]
        child = body
        if j < first + count - 1:
            child = view.unique("body", f"{body} after {name}")
            between.append(Body(child))
        chain.append(_joint(view, j, parent, child, at))
        parent, at = child, ORIGIN
    if between:
        view.report.took("joints of one body", body, "a chain with bodies without mass between them")
    return between, chain


def _joint(view: View, j: int, parent: str, child: str, at: Pose) -> Joint:
    model, name, kind = view.model, view.joints[j], int(view.model.jnt_type[j])
    axis, place, iq = model.jnt_axis[j], model.jnt_pos[j], model.jnt_qposadr[j]
    reference = float(model.qpos0[iq])
    view.report.took(f"{KIND[kind]} joints", name)
    own = _own(view, j, name, kind)
    if kind == FREE:
        return joints.free(name, parent, child, **own)
    if kind == SLIDE:
        return joints.prismatic(name, parent, child, axis=axis, at=at, child_at=axis * reference, **own)
    moved = (*at[:4], *(np.array(at[4:]) + quaternion_to_matrix(np.array(at[:4])) @ place))
    if kind == BALL:
        return joints.spherical(name, parent, child, at=moved, child_at=place, **own)
    turned = (np.cos(reference / 2), *(np.sin(reference / 2) * axis), *place)
    return joints.revolute(name, parent, child, axis=axis, at=moved, child_at=turned, **own)


def _own(view: View, j: int, name: str, kind: int) -> dict[str, Any]:
    """Armature, damping, spring, friction and limits of a joint."""
    model, report = view.model, view.report
    iv, iq = model.jnt_dofadr[j], model.jnt_qposadr[j]
    own: dict[str, Any] = {}
    if armature := float(model.dof_armature[iv]):
        if kind in (SLIDE, HINGE):
            own["armature"] = armature
            report.took("armature", name)
        else:
            report.ignored("armature", name, f"of a {KIND[kind]} joint there is none", moves=True)
    if (damping := float(model.dof_damping[iv])) and not view.disabled("DAMPER", "PASSIVE"):
        own["damping"] = damping
        report.took("damping", name)
    if (stiffness := float(model.jnt_stiffness[j])) and not view.disabled("SPRING", "PASSIVE"):
        at_rest = model.qpos_spring[iq : iq + (1, 1, 4, 7)[3 - kind]]
        if kind == FREE and not np.array_equal(at_rest, (0, 0, 0, 1, 0, 0, 0)):
            report.ignored("stiffness", name, "of a free joint that is not at rest at the origin", moves=True)
        elif kind == BALL and not np.array_equal(at_rest, (1, 0, 0, 0)):
            report.ignored("stiffness", name, "of a ball joint that is not at rest where its frames meet", moves=True)
        else:
            own["stiffness"] = stiffness
            own |= {"rest": float(at_rest[0])} if kind in (SLIDE, HINGE) else {}
            report.took("stiffness", name)
    for what, index in (("dof_dampingpoly", iv), ("jnt_stiffnesspoly", j)):
        if np.any(view.part(what, index)):
            report.ignored(what[4:], name, "springs and dampers are linear here", moves=True)
    if view.part("jnt_plasticadr", j, -1) >= 0:
        report.ignored("springyield", name, "springs do not yield here", moves=True)
    if (friction := float(model.dof_frictionloss[iv])) and not view.disabled("FRICTIONLOSS", "CONSTRAINT"):
        own["friction"] = friction
        report.approximated("frictionloss", name, "smooth near rest: tanh(speed / friction_speed)")
    if model.jnt_limited[j] and not view.disabled("LIMIT", "CONSTRAINT"):
        if kind in (SLIDE, HINGE):
            own |= {"lower": float(model.jnt_range[j, 0]), "upper": float(model.jnt_range[j, 1])}
            report.approximated("limits", name, NO_STOPS)
        else:
            report.ignored("limits", name, f"of a {KIND[kind]} joint there are none", moves=True)
    if view.part("jnt_actfrclimited", j, 0):
        report.ignored("actuatorfrcrange", name, "forces of actuators are limited one by one only", moves=True)
    return own
