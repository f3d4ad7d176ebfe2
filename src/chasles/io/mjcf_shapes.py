"""Geoms of MuJoCo as shapes for drawing, sites as frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from chasles.io.mjcf_view import View
from chasles.lie import pose as pose_group
from chasles.model.body import Frame
from chasles.screw.shape import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)  # mujoco.mjtGeom
SHOWN = 3  # groups below are those that viewers show


def shapes_of(view: View, body: int) -> list[Shape]:
    """The shapes of the geoms of a body."""
    model = view.model
    first = model.body_geomadr[body]
    found = [_shape(view, g) for g in range(first, first + model.body_geomnum[body])]
    return [shape for shape in found if shape is not None]


def _shape(view: View, g: int) -> Shape | None:
    model, report = view.model, view.report
    name = view.bodies[model.geom_bodyid[g]]
    kind, size = int(model.geom_type[g]), model.geom_size[g]
    color = np.clip(model.geom_rgba[g] if model.geom_matid[g] < 0 else model.mat_rgba[model.geom_matid[g]], 0.0, 1.0)
    if model.geom_group[g] >= SHOWN or color[3] == 0.0:
        report.ignored("hidden geoms", name, "transparent, or of a group that viewers do not show")
        return None
    pose = np.array([*model.geom_quat[g], *model.geom_pos[g]])
    drawn = {"pose": pose.tolist(), "color": color.tolist()}
    shape: Shape
    if kind == MESH:
        return _mesh(view, g, name, pose, color)
    if kind == SPHERE:
        shape = Sphere(size[0], **drawn)
    elif kind == CAPSULE:
        shape = Capsule(size[0], 2 * size[1], **drawn)
    elif kind == ELLIPSOID:
        shape = Ellipsoid(size.tolist(), **drawn)
    elif kind == CYLINDER:
        shape = Cylinder(size[0], 2 * size[1], **drawn)
    elif kind == BOX:
        shape = Box((2 * size).tolist(), **drawn)
    else:
        report.ignored("geoms", name, "planes, fields of height and distance functions are not drawn")
        return None
    report.took("geoms", name, "for drawing")
    return shape


def _mesh(view: View, g: int, name: str, pose: np.ndarray, color: np.ndarray) -> Shape | None:
    """A mesh as its file has it: MuJoCo moves it into its center of mass and principal axes, which is taken back."""
    model = view.model
    mesh = model.geom_dataid[g]
    address = model.mesh_pathadr[mesh]
    path = model.paths[address : model.paths.index(b"\0", address)].decode() if address >= 0 else ""
    if not path:
        view.report.ignored("meshes", name, "they have no file")
        return None
    moved = np.array([*model.mesh_quat[mesh], *model.mesh_pos[mesh]])
    original = pose_group.compose(pose, pose_group.inverse(moved))
    view.report.took("meshes", name, "for drawing")
    full = Path(view.file).resolve().parent / path
    return Mesh(str(full), model.mesh_scale[mesh].tolist(), pose=original.tolist(), color=color.tolist())


def frames(view: View) -> list[Frame]:
    """Sites with names."""
    model, kind, made = view.model, view.mujoco.mjtObj.mjOBJ_SITE, []
    for _ in range(model.body_geomnum[0]):
        view.report.ignored("geoms of the world", "", "the ground is not drawn")
    for s in range(model.nsite):
        if not (name := view.name_of(kind, s)):
            view.report.ignored("sites", "", "they have no name")
            continue
        pose = (*model.site_quat[s].tolist(), *model.site_pos[s].tolist())
        made.append(Frame(view.unique("body", name), view.bodies[model.site_bodyid[s]], pose))
        view.report.took("sites", made[-1].name, "as frames")
    return made
