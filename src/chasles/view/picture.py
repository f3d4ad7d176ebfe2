"""`picture`: a run at a moment, drawn without a screen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles import caution
from chasles.display import style
from chasles.lie.rotation import quaternion_to_matrix
from chasles.view.part import ON_GROUND
from chasles.view.raster.camera import fitting
from chasles.view.raster.render import SAMPLES, Stage
from chasles.view.rod_tubes import RodTubes, check_coloring
from chasles.view.scene import Scene, poses_at, scene_of, unknown
from chasles.view.solids import rod_colors

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = (1200, 900)  # pixels of a picture
SMALLEST, LARGEST = 16, 8192  # pixels of a side
FINE = 3  # samples per pixel and direction in a single picture
LOOKED_AT = 120  # moments of a run that decide what has to be in the picture
TRACED = 240  # points of a trail
TRAILS = 5  # at most
LONG = 0.25, 5.0  # a trail: part of the run, and how many radii of what is seen, whichever is shorter
INK = (40, 44, 52)  # of what is written
ENDINGS = {".png": "PNG", ".jpg": "JPEG", ".webp": "WEBP"}


def picture(
    run: Any,
    t: float | None = None,
    file: str | Path | None = None,
    *,
    size: tuple[int, int] = SIZE,
    azimuth: float | None = None,
    elevation: float | None = None,
    trail: float | None = None,
    color: str | None = None,
) -> Image:
    """The mechanism of a run at the time t [s], by default its end, as a PIL image, and in a `file`.

    file: its ending is .png, .jpg or .webp. size: width and height in pixels. azimuth, elevation [degrees]: from where
    it is seen; by default so that a plane motion shows. trail [s]: how far back the paths of frames are drawn (of the
    last bodies, if there are no frames), 0 for none; by default some, up to a quarter of the run.
    color: what rods are colored by, "moment", "torque", "axial", "shear" or "strain" (of a fiber), with a scale.
    Needs no screen.
    """
    from PIL import Image

    path = None if file is None else Path(file)
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise ValueError(f"picture: {path.name!r}; expected a name that ends in {', '.join(ENDINGS)}")
    film = Film(run, size, azimuth, elevation, trail, color)
    moment = film.last if t is None else float(t)
    image = Image.fromarray(film.image(moment, FINE))
    if path is not None:
        buffer = io.BytesIO()
        image.save(buffer, ENDINGS[path.suffix.lower()])
        style.put(buffer.getvalue(), path)
    return image


class Film:
    """A run ready to be drawn at any moment, always from the same place."""

    def __init__(
        self,
        run: Any,
        size: tuple[int, int],
        azimuth: float | None = None,
        elevation: float | None = None,
        trail: float | None = None,
        color: str | None = None,
    ):
        self.size = width, height = _size(size)
        if not len(run):
            raise ValueError("picture: this run has no point to draw")
        self.run, self.scene = run, scene_of(run)
        system = run.mechanism.system
        check_coloring("picture", color, system.rods)
        self.rods = RodTubes(run, rod_colors(system), color) if system.rods else None
        self.first, self.last = float(run.t[0]), float(run.t[-1])
        rows = np.arange(len(run))
        if lost := int(unknown(run, rows[:-1], rows[1:]).sum()):
            caution.warn(
                f"picture: between {lost} of {len(run)} saved times bodies turn too far to tell how they moved; they "
                "are drawn as saved before. Save more often to see the motion"
            )
        poses = poses_at(run, np.linspace(self.first, self.last, LOOKED_AT if len(run) > 1 else 1))
        seen, up = self.scene.cloud(poses), np.array(self.scene.up)
        low, high = seen.min(axis=0), seen.max(axis=0)
        radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6 * self.scene.size)
        self.camera = fitting(seen, _moves(self.scene, poses), up, width / height, azimuth, elevation)
        bare = scene_of(run, rods=False) if self.rods else self.scene
        self.stage = Stage(bare, _ground(self.scene, seen @ up, radius), (low + high) / 2, radius)
        self.traced = traced(self.scene) if len(run) > 1 else []
        self.trail = self._usual_trail(radius) if trail is None else float(trail)
        if not self.trail >= 0:
            raise ValueError(f"picture: trail is {trail}; expected seconds, 0 or more")

    def _usual_trail(self, radius: float) -> float:
        """Seconds: part of the run, but not so long that a fast motion fills the picture."""
        span = self.last - self.first
        times = np.linspace(self.first, self.last - 1e-6 * span, LOOKED_AT)
        before, after = (paths(poses_at(self.run, t), self.traced) for t in (times, times + 1e-6 * span))
        pairs = zip(before, after, strict=True)
        speeds = [np.median(np.linalg.norm(b - a, axis=1)) / abs(1e-6 * span or 1.0) for a, b in pairs]
        fastest = float(np.nanmax([0.0, *speeds]))
        return min(LONG[0] * abs(span), LONG[1] * radius / fastest if fastest > 0 else np.inf)

    def image(self, t: float, samples: int = SAMPLES) -> np.ndarray:
        """Pixels (rows, columns, 3) at a time."""
        low, high = sorted((self.first, self.last))
        if not low <= t <= high:
            raise ValueError(
                f"picture: t = {t:g} s is not in the run, which goes from {self.first:g} to {self.last:g} s"
            )
        poses = poses_at(self.run, np.array([t]))[0]
        if not np.isfinite(poses).all():
            raise ValueError(f"picture: the run has no finite poses at t = {t:g} s")
        drawn = []
        start = min(max(t - self.trail * (1.0 if self.last > self.first else -1.0), low), high)
        if self.traced and start != t:
            points = paths(poses_at(self.run, np.linspace(start, t, TRACED)), self.traced)
            drawn = [(path, color) for path, (_, _, color) in zip(points, self.traced, strict=True)]
        swept = self.rods.surfaces(poses, t) if self.rods else ()
        image = self.stage.image(poses, self.camera, self.size, drawn, samples, swept)
        return image if self.rods is None or self.rods.color is None else with_scale(image, self.rods)


def with_scale(image: np.ndarray, rods: RodTubes) -> np.ndarray:
    """The picture with the scale of the colors of rods below it to the left."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = image.shape[:2]
    tall = max(8, height // 60)
    left, top, wide = 2 * tall, height - 3 * tall, min(20 * tall, width // 2)
    values = np.linspace(-rods.largest if rods.signed else 0.0, rods.largest, wide)
    shown = image.copy()
    shown[top : top + tall, left : left + wide] = (255.0 * rods.shade(values)[:, :3] + 0.5).astype(np.uint8)
    drawn = Image.fromarray(shown)
    pen, font = ImageDraw.Draw(drawn), ImageFont.load_default(1.1 * tall)
    pen.text((left, top - 0.4 * tall), rods.label, INK, font, anchor="lb")
    pen.text((left, top + 1.2 * tall), f"{values[0]:.3g}", INK, font, anchor="lt")
    pen.text((left + wide, top + 1.2 * tall), f"{values[-1]:.3g}", INK, font, anchor="rt")
    return np.asarray(drawn)


def _size(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in size)
    except (TypeError, ValueError):
        width = height = 0
    if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
        raise ValueError(f"picture: size is {size}; expected width and height, {SMALLEST} to {LARGEST} pixels each")
    return width, height


def _moves(scene: Scene, poses: np.ndarray) -> np.ndarray:
    """How the centers of mass move, each from its mean, (n, 3)."""
    centers = [(k, np.array(body.com), body.color) for k, body in enumerate(scene.bodies)]
    moved = np.concatenate([np.zeros((1, 3)), *(path - np.mean(path, axis=0) for path in paths(poses, centers))])
    return moved[np.isfinite(moved).all(axis=1)]


def _ground(scene: Scene, heights: np.ndarray, radius: float) -> float | None:
    """The height of the ground along `up`: 0 if all stays little above it, else just below all; none in free space."""
    if not any(scene.gravity):
        return None
    lowest = float(heights.min())
    return 0.0 if 0.0 <= lowest < 0.5 * radius else lowest - 0.03 * radius


Traced = tuple[int, np.ndarray, Sequence[float]]  # a body, a point on it, a color


def traced(scene: Scene) -> list[Traced]:
    """What leaves a trail: frames, or else the centers of bodies that carry no other, and ends of rods."""
    marked: list[Traced] = [
        (frame.body, np.array(frame.pose[4:]), scene.bodies[frame.body].color)
        for frame in scene.frames
        if frame.body != ON_GROUND
    ]
    if not marked:
        carrying = {joint.parent for joint in scene.joints if not joint.traits.holds_nothing}
        ends = [k for k, body in enumerate(scene.bodies) if k not in carrying and not body.inside]
        marked = [(k, np.array(scene.bodies[k].com), scene.bodies[k].color) for k in ends]
    return marked[:TRAILS]


def paths(poses: np.ndarray, points: Sequence[Traced]) -> list[np.ndarray]:
    """Paths (times, 3) of points on bodies, at poses (times, bodies, 7)."""
    return [quaternion_to_matrix(poses[:, body, :4]) @ point + poses[:, body, 4:] for body, point, _ in points]
