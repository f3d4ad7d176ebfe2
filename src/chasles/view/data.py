"""All that the page knows of a run, as JSON: scene, motion, curves, forces, certificate.

Arrays are compressed (raw deflate) and written in base64.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from chasles.integrate.method_name import name_of
from chasles.view.curve import PARTS, quanta
from chasles.view.samples import curve_of, hinges_of, rows_of, stride_of
from chasles.view.scene import Part, Scene, extremes, poses_of_states, scene_of
from chasles.view.series import reactions_of, series_of

BLOCK = 1 << 18  # numbers of saved poses in a block of the motion


class Motion:
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

    def extend(self, run: Any) -> Motion:
        """Add what the run has beyond that which is done."""
        last = len(run) - 1
        stride = stride_of(run, len(run))
        step = max(16, BLOCK // max(1, 7 * len(self.scene.bodies))) * stride
        first = max(self.rows - 1, 0)
        while first < last:
            end = min(first + step, last)
            rows = rows_of(run, first, end, stride)
            if len(rows) > 1:
                self._add(run, rows, stride == 1 and run.solution.slopes is not None)
            self.rows = end + 1
            if len(rows) < 2 or end not in rows:
                break  # numbers that are not finite
            first = end
        return self

    def _add(self, run: Any, rows: np.ndarray, dense: bool) -> None:
        if not self.extent:
            start = self.scene.cloud(poses_of_states(run, run.solution.y[:1]))
            self.extent = float(np.linalg.norm(np.ptp(start, axis=0))) or 1.0
        curve, checked = curve_of(run, self.scene, rows, self.extent, dense)
        data = curve.packed()
        self.blocks.append(base64.b64encode(data).decode())
        self.bytes += len(data)
        self.checked += checked
        self.error = (max(self.error[0], curve.error[0]), max(self.error[1], curve.error[1]))
        some = rows[:: max(1, len(rows) // 200)]
        self.see(run, some)

    def see(self, run: Any, rows: Any) -> None:
        """Take the motion at rows into the hull."""
        cloud = self.scene.cloud(poses_of_states(run, run.solution.y[rows]))
        self.hull = extremes(np.concatenate([self.hull, cloud]))


def run_data(run: Any, label: str = "", motion: Motion | None = None, ended: bool = True) -> dict[str, Any]:
    """A run for the page; `label` tells it from others."""
    scene = motion.scene if motion else scene_of(run)
    motion = (motion or Motion(scene)).extend(run)
    t = np.asarray(run.t, dtype=float)
    if len(t) == 0:
        raise ValueError(f"view: the run of {scene.name!r} has no saved point yet")
    if not len(motion.hull):
        motion.see(run, slice(0, 1))
    first = poses_of_states(run, run.solution.y[:1])[0]
    hinges, order = hinges_of(scene)
    return {
        "name": scene.name,
        "label": label or described(run),
        "method": described(run),
        "summary": str(run),
        "span": sorted([float(t[0]), float(t[-1])]),
        "ended": ended,
        "success": bool(run.success),
        "message": run.message,
        "scene": scene_data(scene, motion.hull),
        "motion": {
            "blocks": motion.blocks,
            "start": first.tolist(),
            "tolerance": [PARTS * quantum for quantum in quanta(motion.extent)],
            "order": order,
            "hinges": [hinge and [hinge.parent, *map(np.ndarray.tolist, hinge[1:])] for hinge in hinges],
            "error": list(motion.error),
            "checked": motion.checked,
            "saved": len(run),
            "curve": run.solution.slopes is not None,
        },
        **measured(run, ended),
    }


def measured(run: Any, ended: bool) -> dict[str, Any]:
    """Curves, forces and the certificate of a run."""
    times, wrenches = reactions_of(run)
    return {
        "series": [
            {"chart": s.chart, "name": s.name, "unit": s.unit, "joint": s.joint, **points(s.t, s.values)}
            for s in series_of(run)
        ],
        "reactions": {
            "t": packed(times, "<f8"),
            "joints": {name: packed(wrench, "<f4") for name, wrench in wrenches.items()},
            "typical": typical_force(wrenches),
        },
        "certificate": certificate_data(run) if ended else None,
    }


def typical_force(wrenches: Mapping[str, np.ndarray]) -> float:
    """The force that few are larger than [N]; a shock does not make all other arrows too short to be seen."""
    sizes = [np.linalg.norm(wrench[:, 3:], axis=1) for wrench in wrenches.values()]
    return float(np.quantile(np.concatenate(sizes), 0.9)) if sizes else 0.0


def points(t: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """A curve; a number that is not finite becomes a gap."""
    return {"t": packed(t, "<f8"), "v": packed(values, "<f4")}


def described(run: Any) -> str:
    """Space, method and steps of a run, in short."""
    name = name_of(run.solution.method)
    method = name if isinstance(name, str) else str(name.get("name"))
    spaces = getattr(run.mechanism, "spaces", None)
    where = "joint coordinates" if spaces is None else " and ".join(sorted(set(spaces.values()))) or "absolute"
    where = where.replace("SO3xR3", "SO(3)×ℝ³").replace("SE3", "SE(3)")
    step, rtol = run.options.get("step"), run.options.get("rtol")
    steps = f"h = {step:g} s" if step is not None else f"rtol {rtol:g}" if rtol is not None else ""
    return " · ".join(part for part in (where, method, steps) if part)


def certificate_data(run: Any) -> dict[str, Any] | None:
    """The certificate of a run, if it has one."""
    try:
        found = run.certificate
    except (ValueError, ArithmeticError):
        return None
    return {
        "title": found.title,
        "passed": found.passed,
        "ended": found.ended,
        "findings": [
            {
                **asdict(finding),
                "value": finding.value if math.isfinite(finding.value) else None,
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
        "notes": scene.notes,
        "bodies": [{**vars(body), "parts": [part_data(part) for part in body.parts]} for body in scene.bodies],
        "joints": [asdict(joint) for joint in scene.joints],
        "frames": [asdict(frame) for frame in scene.frames],
        "links": [asdict(link) for link in scene.links],
    }


def part_data(part: Part) -> dict[str, Any]:
    """A solid as JSON."""
    data: dict[str, Any] = {"kind": part.kind, "size": part.size, "pose": part.pose, "colour": part.colour}
    if part.vertices is not None and part.triangles is not None:
        data |= {"vertices": packed(part.vertices, "<f4"), "triangles": packed(part.triangles, "<u4")}
    return data


def packed(array: np.ndarray, kind: str) -> str:
    """An array as compressed bytes in base64, its bytes sorted into planes, which compress better."""
    data = np.ascontiguousarray(array, dtype=kind)
    planes = np.ascontiguousarray(data.reshape(-1).view(np.uint8).reshape(-1, data.itemsize).T)
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(press.compress(planes.tobytes()) + press.flush()).decode()
