"""Equality constraints of MuJoCo as joints that close loops or follow others, or as constraints; motors as actuators.

MuJoCo's constraints are soft, those here are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.io.mjcf_view import View
from chasles.model import joint as joints
from chasles.model.actuator import Actuator
from chasles.model.body import GROUND
from chasles.model.constraint import Constraint, Coupling, Drive
from chasles.model.joint import Joint

CONNECT, WELD, JOINT = range(3)  # mujoco.mjtEq
FREE, BALL = 0, 1  # mujoco.mjtJoint
EXACT = "MuJoCo's are soft, here they are exact"
IDENTITY = (1.0, 0.0, 0.0, 0.0)
Pose = tuple[float, ...]


def equalities(view: View) -> tuple[list[Joint], list[Constraint], dict[str, dict[str, Any]]]:
    """Joints that close loops, constraints between joint coordinates, and how joints follow others, by name."""
    closing: list[Joint] = []
    constraints: list[Constraint] = []
    rules: dict[str, dict[str, Any]] = {}
    model = view.model
    for e in range(model.neq):
        given = view.name_of(view.mujoco.mjtObj.mjOBJ_EQUALITY, e) or f"equality {e}"
        if not model.eq_active0[e] or view.disabled("EQUALITY", "CONSTRAINT"):
            view.report.ignored("equalities", given, "not active")
            continue
        kind = int(model.eq_type[e])
        if kind in (CONNECT, WELD):
            if (joint := _closing(view, e, given)) is not None:
                closing.append(joint)
        elif kind == JOINT:
            if (constraint := _coupling(view, e, given)) is None:
                continue
            if isinstance(constraint, Coupling) and _can_follow(constraint.joints, rules):
                first, second = constraint.joints
                own = {"mimic": second, "mimic_ratio": -constraint.ratios[1], "mimic_offset": constraint.offset}
                rules[first] = own
            else:
                constraints.append(constraint)
        else:
            why = "between tendons, distances or soft bodies there are none"
            view.report.ignored("equalities", given, why, moves=True)
    return closing, constraints, rules


def _can_follow(joints: tuple[str, ...], rules: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a joint follows none yet, and the other one not it in the end: else the equation stays a constraint."""
    name, other = joints
    while other in rules:
        other = rules[other]["mimic"]
    return name not in rules and other != name


def _closing(view: View, e: int, given: str) -> Joint | None:
    """A ball joint for `connect`, a weld for `weld`."""
    model, data = view.model, view.model.eq_data[e]
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    weld = int(model.eq_type[e]) == WELD and data[10] != 0.0  # without torque it holds the point only
    ends: list[tuple[int, Pose]]
    if model.eq_objtype[e] == int(view.mujoco.mjtObj.mjOBJ_SITE):
        sites = (first, second)
        ends = [(int(model.site_bodyid[s]), (*model.site_quat[s].tolist(), *model.site_pos[s].tolist())) for s in sites]
    elif int(model.eq_type[e]) == WELD:
        # the pose of the second body in the first, seen at a point of the second
        ends = [(first, (*data[6:10].tolist(), *data[3:6].tolist())), (second, (*IDENTITY, *data[:3].tolist()))]
    else:
        ends = [(first, (*IDENTITY, *data[:3].tolist())), (second, (*IDENTITY, *data[3:6].tolist()))]
    if model.body_weldid[ends[0][0]] == model.body_weldid[ends[1][0]]:
        view.report.ignored("equalities", given, "between bodies that do not move relative to each other")
        return None
    if ends[1][0] == 0:
        ends.reverse()  # the ground is a parent
    (parent, at), (child, child_at) = ends
    make = joints.weld if weld else joints.spherical
    view.report.approximated("equalities (weld)" if weld else "equalities (connect)", given, EXACT)
    name = view.unique("joint", given)
    return make(name, view.bodies[parent] if parent else GROUND, view.bodies[child], at=at, child_at=child_at)


def _coupling(view: View, e: int, given: str) -> Constraint | None:
    """q_1 - r_1 = a_0 + a_1 (q_2 - r_2) + ..., r = qpos0, where it is linear."""
    model, a = view.model, view.model.eq_data[e, :5]
    first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if second >= 0 and np.any(a[2:]):
        view.report.ignored("equalities", given, "couplings of joints are linear here", moves=True)
        return None
    offset = float(model.qpos0[model.jnt_qposadr[first]] + a[0])
    view.report.approximated("equalities (joint)", given, EXACT)
    name = view.unique("joint", given)
    if second < 0 or a[1] == 0.0:
        return Drive(name, view.joints[first], offset)
    offset -= float(a[1] * model.qpos0[model.jnt_qposadr[second]])
    return Coupling(name, (view.joints[first], view.joints[second]), (1.0, -float(a[1])), offset)


def actuators(view: View) -> list[Actuator]:
    """Motors: force = gear gain input on one coordinate of a joint."""
    model, made = view.model, []
    for a in range(len(model.actuator_trntype)):
        name = view.name_of(view.mujoco.mjtObj.mjOBJ_ACTUATOR, a) or f"actuator {a}"
        if why := _not_simple(view, a):
            view.report.ignored("actuators", name, why, moves=not _disabled(view, a) or _passive(view, a))
            continue
        gear = model.actuator_gear[a]
        coordinate = int(np.flatnonzero(gear)[0]) if model.jnt_type[model.actuator_trnid[a, 0]] == BALL else 0
        gain = float(model.actuator_gainprm[a, 0])
        low, high = -math.inf, math.inf
        if model.actuator_ctrllimited[a] and not view.disabled("CLAMPCTRL"):
            low, high = model.actuator_ctrlrange[a].tolist()
        if model.actuator_forcelimited[a]:
            forces = sorted(force / gain for force in model.actuator_forcerange[a].tolist())
            low, high = max(low, forces[0]), min(high, forces[1])
        if why := _disabled(view, a):
            low = high = 0.0
        joint = view.joints[model.actuator_trnid[a, 0]]
        force = float(gear[coordinate]) * gain  # of an input of one
        made.append(Actuator(view.unique("actuator", name), joint, coordinate, force, low, high))
        view.report.took("actuators", name, why)
    return made


def _disabled(view: View, a: int) -> str:
    """Why an actuator has no force; empty if it has one. It stays, so that inputs keep their places."""
    off, group = int(getattr(view.model.opt, "disableactuator", 0)), int(view.model.actuator_group[a])
    if group >= 0 and off >> group & 1:
        return f"without force: actuatorgroupdisable has group {group}"
    return "without force: actuation is disabled" if view.disabled("ACTUATION") else ""


def _passive(view: View, a: int) -> bool:
    """Whether an actuator has a damping or an armature, which act without its force."""
    return bool(np.any(view.part("actuator_damping", a)) or np.any(view.part("actuator_armature", a)))


def _not_simple(view: View, a: int) -> str:
    """Why an actuator is not one here; empty if it is."""
    model, mj = view.model, view.mujoco
    if model.actuator_trntype[a] not in (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT)):
        return "they act on something else than a joint"
    joint = model.actuator_trnid[a, 0]
    gear, kind = model.actuator_gear[a], model.jnt_type[joint]
    if kind == FREE or (kind == BALL and np.count_nonzero(gear[:3]) != 1):
        return "they act on more than one coordinate"
    if kind == BALL and model.actuator_trntype[a] != int(mj.mjtTrn.mjTRN_JOINT):
        return "they act in the frame of the parent"
    if model.actuator_dyntype[a] != int(mj.mjtDyn.mjDYN_NONE):
        return "they have a state of their own"
    if model.actuator_gaintype[a] != int(mj.mjtGain.mjGAIN_FIXED):
        return "their gain depends on the motion"
    if model.actuator_biastype[a] != int(mj.mjtBias.mjBIAS_NONE):
        return "servos: give a controller that computes their force"
    if view.part("actuator_ctrlnum", a, 1) != 1 or np.any(view.part("actuator_delay", a)):
        return "they have several inputs, or a delay"
    if _passive(view, a):
        return "they have a damping or an armature of their own"
    if model.actuator_gainprm[a, 0] == 0.0 or gear[0 if kind != BALL else int(np.flatnonzero(gear)[0])] == 0.0:
        return "their gain is zero"
    return ""
