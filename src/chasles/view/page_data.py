"""All that the page knows of a run, as JSON: scene, motion, curves, forces, certificate.

Arrays are compressed (raw deflate) and written in base64.
"""

from __future__ import annotations

import base64
import math
import threading
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from chasles.display.progress import Progress
from chasles.model.system import System
from chasles.screw.shape import Mesh
from chasles.view.curve import PARTS, quanta
from chasles.view.method_text import words
from chasles.view.packing import packed
from chasles.view.page_html import as_json, page_data
from chasles.view.page_rods import rods_data
from chasles.view.part import Part
from chasles.view.pose_samples import curve_of, hinges_of, rows_of, stride_of
from chasles.view.scene import Scene, extremes, poses_of_states, scene_of
from chasles.view.series import left_out, reactions_of, series_of, thinned

BLOCK = 1 << 18  # numbers of saved poses in a block of the motion
BODIES = 200  # of a system whose scene is in its result file
LIVE = 3000  # poses of a run that goes on that are looked at in one go, so that the page keeps up with it
LOOKS = 200  # times at which a motion is looked at for its bounds


class PageMotion:
    """The motion of a run in blocks, made as far as the run has come; a later call adds the rest."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.extent = 0.0  # of the mechanism at the start [m]
        self.blocks: list[str] = []
        self.rows = 0  # saved times that are done
        self.checked = 0
        self.error = (0.0, 0.0)
        self.bytes = 0
        self.hull = np.empty((0, 3))
        self.every = 1  # so many of the saved times are looked at, at most
        self.lost = 0  # between so many of them bodies turn too far to be followed

    def extend(self, run: Any, most: int | None = None) -> PageMotion:
        """Add what the run has beyond that which is done; looking at so many poses at `most`. On a terminal it says how
        far it is; a server does not."""
        last = len(run) - 1
        stride = stride_of(run, len(run))
        if most is not None:
            stride = max(stride, -(-(last - self.rows) * len(self.scene.bodies) // most))
        self.every = max(self.every, stride)
        step = max(16, BLOCK // max(1, 7 * len(self.scene.bodies))) * stride
        first = max(self.rows - 1, 0)
        if first >= last:
            return self
        watched = None if threading.current_thread() is threading.main_thread() else False
        with Progress(float(run.t[0]), float(run.t[last]), watched, at=float(run.t[first]), what="motion, t =") as line:
            while first < last:
                end = min(first + step, last)
                rows = rows_of(run, first, end, stride)
                if len(rows) > 1:
                    self._add(run, rows, stride == 1 and run.solution.slopes is not None)
                self.rows = end + 1
                if len(rows) < 2 or end not in rows:
                    break  # numbers that are not finite
                first = end
                line.show(float(run.t[first]))
        return self

    def _add(self, run: Any, rows: np.ndarray, dense: bool) -> None:
        if not self.extent:
            start = self.scene.cloud(poses_of_states(run, run.solution.y[:1]))
            self.extent = float(np.linalg.norm(np.ptp(start, axis=0))) or 1.0
        curve, checked, lost = curve_of(run, self.scene, rows, self.extent, dense)
        data = curve.packed()
        self.blocks.append(base64.b64encode(data).decode())
        self.bytes += len(data)
        self.checked += checked
        self.lost += lost
        self.error = (max(self.error[0], curve.error[0]), max(self.error[1], curve.error[1]))
        some = rows[:: max(1, len(rows) // LOOKS)]
        self.see(run, some)

    def see(self, run: Any, rows: Any) -> None:
        """Take the motion at rows into the hull."""
        seen = self.scene.hull(poses_of_states(run, run.solution.y[rows]))
        self.hull = extremes(np.concatenate([self.hull, seen]))


def run_data(run: Any, label: str = "", motion: PageMotion | None = None, ended: bool = True) -> dict[str, Any]:
    """A run for the page; `label` tells it from others. Of one that goes on, not all saved times may be looked at."""
    scene = motion.scene if motion else scene_of(run)
    motion = (motion or PageMotion(scene)).extend(run, None if ended else LIVE)
    t = np.asarray(run.t, dtype=float)
    if len(t) == 0:
        raise ValueError(f"view: the run of {scene.name!r} has no saved point yet")
    if not len(motion.hull):
        motion.see(run, slice(0, 1))
    data = still_data(
        scene,
        poses_of_states(run, run.solution.y[:1])[0],
        motion.hull,
        run.illustration or _line(run.solution.method, run.mechanism, run.options),
    )
    if motion.lost:
        data["scene"]["notes"].append(
            f"Between {motion.lost} of {len(run)} saved times bodies turn too far to tell how they moved: they are "
            "drawn at the saved poses and jump from one to the next; save more often to see the motion"
        )
    data["motion"] |= {
        "blocks": list(motion.blocks),
        "tolerance": [PARTS * quantum for quantum in quanta(motion.extent)],
        "error": list(motion.error),
        "checked": motion.checked,
        "saved": len(run),
        "every": motion.every,
        "lost": motion.lost,
        "curve": run.solution.slopes is not None,
    }
    return data | {
        "label": label or data["method"],
        "span": sorted([float(t[0]), float(t[-1])]),
        "ended": ended,
        "success": bool(run.success),
        "message": run.message,
        **({"rods": rods_data(run)} if ended and run.mechanism.system.rods else {}),
        **measured(run, ended, data["scene"]["notes"]),
    }


def look_text(task: Any) -> str:
    """What the page knows of a task before its motion, for the result file, where `view.preview` finds it; "" if that
    is too much for a first look."""
    dynamics = task.dynamics
    if not _simple(dynamics.mechanism.system):
        return ""
    scene = scene_of(dynamics.mechanism)
    start = dynamics.mechanism.poses(dynamics.split(np.ascontiguousarray(task.state)[None])[0])
    line = _line(task.method, dynamics.mechanism, task.options)
    return as_json(page_data([still_data(scene, start[0], scene.hull(start), line)]))


def hull_of(run: Any) -> list[list[float]]:
    """Points whose hull holds the motion of a run, looked at some of its times, for the first look; or none."""
    if not _simple(run.mechanism.system):
        return []
    some = run.solution.y[:: max(1, len(run) // LOOKS)]
    return scene_of(run).hull(poses_of_states(run, some)).tolist()


def _simple(system: System) -> bool:
    """Whether the scene of a system is small enough to be written to its result file."""
    meshes = any(isinstance(shape, Mesh) for body in system.bodies for shape in body.shapes)
    return len(system.bodies) <= BODIES and not meshes


def still_data(scene: Scene, start: np.ndarray, hull: np.ndarray, method: str) -> dict[str, Any]:
    """What the page knows of a run before its motion: the scene, and poses (bodies, 7) at the start."""
    hinges, order = hinges_of(scene)
    return {
        "name": scene.name,
        "method": method,
        "scene": scene_data(scene, hull),
        "motion": {
            "blocks": [],
            "start": start.tolist(),
            "order": order,
            "hinges": [hinge and [hinge.parent, *map(np.ndarray.tolist, hinge[1:])] for hinge in hinges],
        },
        **_nothing_measured(),
    }


def _nothing_measured() -> dict[str, Any]:
    """Curves, forces and certificate of what has none."""
    none = {"t": packed(np.empty(0), "<f8"), "joints": {}, "typical": 0.0}
    return {"series": [], "reactions": none, "certificate": None}


def _line(method: Any, mechanism: Any, options: Mapping[str, Any]) -> str:
    space, name, steps = words(method, mechanism, options)
    return " · ".join(filter(None, (space or "joint coordinates", name, steps)))


def measured(run: Any, ended: bool, notes: list[str]) -> dict[str, Any]:
    """Curves, forces and the certificate of a run; `notes` takes what could not be computed."""
    if run.illustration:
        return _nothing_measured()
    if not ended:
        run = thinned(run, LIVE)
    times, every = reactions_of(run, notes)
    drawn = {joint.name for joint in run.mechanism.system.joints}
    wrenches = {name: wrench for name, wrench in every.items() if name in drawn}
    return {
        "series": [
            {"chart": s.chart, "name": s.name, "unit": s.unit, "joint": s.joint, **points(s.t, s.values)}
            for s in series_of(run, notes)
        ],
        "reactions": {
            "t": packed(times, "<f8"),
            "joints": {name: packed(wrench, "<f4") for name, wrench in wrenches.items()},
            "typical": typical_force(wrenches),
        },
        "certificate": certificate_data(run, notes) if ended else None,
    }


def typical_force(wrenches: Mapping[str, np.ndarray]) -> float:
    """The force that few are larger than [N]; a shock does not make all other arrows too short to be seen."""
    sizes = [np.linalg.norm(wrench[:, 3:], axis=1) for wrench in wrenches.values()]
    return float(np.quantile(np.concatenate(sizes), 0.9)) if sizes else 0.0


def points(t: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """A curve; a number that is not finite becomes a gap."""
    return {"t": packed(t, "<f8"), "v": packed(values, "<f4")}


def certificate_data(run: Any, notes: list[str]) -> dict[str, Any] | None:
    """The certificate of a run, if it has one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of runs again with other steps: the findings say what came of them
            found = run.certificate
    except (ValueError, ArithmeticError) as error:
        left_out(notes, "Certificate", error)
        return None
    return {
        "title": found.title,
        "passed": found.passed,
        "status": found.status,
        "ended": " · ".join(found.after()),
        "findings": [
            {
                **asdict(finding),
                "value": finding.value if math.isfinite(finding.value) else None,
                "tolerance": finding.tolerance if finding.judged else None,
                "shown": finding.shown,
                "passed": finding.passed,
            }
            for finding in found.findings
        ],
    }


def scene_data(scene: Scene, hull: np.ndarray) -> dict[str, Any]:
    """A scene as JSON."""
    return {
        "size": scene.size,
        "up": scene.up,
        "gravity": scene.gravity,
        "hull": hull.tolist(),
        "notes": list(scene.notes),
        "bodies": [{**vars(body), "parts": [part_data(part) for part in body.parts]} for body in scene.bodies],
        "standing": [part_data(part) for part in scene.standing],
        "joints": [asdict(joint) for joint in scene.joints],
        "frames": [asdict(frame) for frame in scene.frames],
        "links": [asdict(link) for link in scene.links],
    }


def part_data(part: Part) -> dict[str, Any]:
    """A solid as JSON."""
    data: dict[str, Any] = {"kind": part.kind, "size": part.size, "pose": part.pose, "color": part.color}
    if part.rod:
        data["rod"] = part.rod
    if part.vertices is not None and part.triangles is not None:
        data |= {"vertices": packed(part.vertices, "<f4"), "triangles": packed(part.triangles, "<u4")}
    return data
