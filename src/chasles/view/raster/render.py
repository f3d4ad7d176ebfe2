"""A picture of a scene as an array of pixels, without a screen, a graphics card or other programs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from chasles.view.raster.camera import Camera, level_directions
from chasles.view.raster.fill import fill
from chasles.view.raster.ground import ground
from chasles.view.raster.look import FLAT, LOOK, OUTLINED
from chasles.view.raster.model import Solids, Triangles, links, trail
from chasles.view.raster.shade import shade
from chasles.view.scene import Scene
from chasles.view.tessellate import Surface

SAMPLES = 2  # per pixel, in each direction
TRAIL = 0.0045  # width of a trail as part of the height of the picture
SHADOWS = (512, 1024)  # smallest and largest map
BLUR = 0.006  # of the width of the shadow map
THIN = 4.0  # pixels: parts that look thinner have no outline, which would be all that is seen of them


class Stage:
    """A scene with its ground and light. lowest: height of the ground along `scene.up`; None: no ground."""

    def __init__(self, scene: Scene, lowest: float | None, center: np.ndarray, radius: float):
        self.scene, self.lowest, self.center, self.radius = scene, lowest, center, radius
        self.solids = Solids(scene)

    def image(
        self,
        poses: np.ndarray,
        camera: Camera,
        size: tuple[int, int],
        trails: Sequence[tuple[np.ndarray, Sequence[float]]] = (),
        samples: int = SAMPLES,
        swept: Sequence[tuple[Surface, np.ndarray]] = (),
    ) -> np.ndarray:
        """Pixels (rows, columns, 3), 0 to 255, for poses (bodies, 7); trails: paths (n, 3) with their colors; swept:
        surfaces in space with colors of their triangles."""
        width, height = size
        places, normals, triangles, colors, flags, parts = self._triangles(poses, camera, trails, height, swept)
        points = camera.project(places, width * samples, height * samples)
        solid = colors[:, 3] >= 1.0
        look = self._look(camera, width * samples, height * samples, samples)
        shadows, soft = self._shadows(look, places, triangles, np.flatnonzero((flags & FLAT) == 0), height)
        depth = np.full((height * samples, width * samples), -np.inf, dtype=np.float32)
        seen = np.full(depth.shape, -1, dtype=np.int32)
        image = np.empty((height, width, 3), dtype=np.float32)
        fill(points, triangles, np.flatnonzero(solid), 0, len(depth), depth, seen)
        ground(look, seen, soft, 0, height, image)
        told = (points, places, normals, triangles, colors, flags, parts)
        shade(look, *told, seen, shadows, 0, height, image)
        if not solid.all():
            seen.fill(-1)
            fill(points, triangles, np.flatnonzero(~solid), 0, len(depth), depth, seen)
            shade(look, *told, seen, shadows, 0, height, image)
        np.sqrt(np.clip(image, 0.0, 1.0, out=image), out=image)
        return (image * 255.0 + 0.5).astype(np.uint8)

    def _triangles(
        self,
        poses: np.ndarray,
        camera: Camera,
        trails: Sequence[tuple[np.ndarray, Sequence[float]]],
        height: int,
        swept: Sequence[tuple[Surface, np.ndarray]],
    ) -> tuple[np.ndarray, ...]:
        solids, made = self.solids, Triangles()
        made.count, made.pieces = len(solids.vertices), solids.pieces
        links(made, self.scene, poses)
        for surface, colors in swept:
            made.add(surface, colors, 0)
        for points, color in trails:
            trail(made, camera, points, color, 2 * camera.tangent * TRAIL)
        fine = solids.thickness * camera.focus(height) / camera.distance < THIN
        flags = np.where(fine, solids.flags & ~OUTLINED, solids.flags).astype(np.int32)
        own = (*solids.at(poses), solids.triangles, solids.colors, flags, solids.parts)
        return tuple(np.concatenate([a, b]) for a, b in zip(own, made.arrays(), strict=True))

    def _look(self, camera: Camera, width: int, height: int, samples: int) -> np.ndarray:
        up = np.array(self.scene.up)
        sun = 1.0 * up - 0.55 * camera.right - 0.75 * camera.ahead
        level = level_directions(up)
        parts = {
            "eye": camera.eye,
            "right": camera.right,
            "down": camera.down,
            "ahead": camera.ahead,
            "focus": camera.focus(height),
            "middle": (width / 2, height / 2),
            "sun": sun / np.linalg.norm(sun),
            "up": up,
            "ground": math.nan if self.lowest is None else self.lowest,
            "center": self.center,
            "across": level[0],
            "along": level[1],
            "grid": round_number(self.radius / 4),
            "fade": 3.2 * self.radius,
            "samples": samples,
        }
        look = np.zeros(LOOK.size)
        for name, value in parts.items():
            values = np.atleast_1d(value)
            look[getattr(LOOK, name) : getattr(LOOK, name) + len(values)] = values
        return look

    def _shadows(
        self, look: np.ndarray, places: np.ndarray, triangles: np.ndarray, casting: np.ndarray, height: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The map of what is nearest to the sun, which `look` gets to know, and how much of it is covered, smooth, at
        half its resolution; casting: numbers of the triangles that cast shadows."""
        side = 2 * (min(max(height, SHADOWS[0]), SHADOWS[1]) // 2)
        shadows, hit = np.full((side, side), -np.inf, dtype=np.float32), np.full((side, side), -1, dtype=np.int32)
        if not len(casting):
            return shadows, np.zeros((side // 2, side // 2), dtype=np.float32)
        cast = places[: triangles[casting].max() + 1]  # trails come after
        low, high = cast.min(axis=0), cast.max(axis=0)
        middle, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2 or 1.0
        sun = look[LOOK.sun : LOOK.sun + 3]
        axes = np.stack([*level_directions(sun), sun])
        blur = max(1, round(BLUR * side))
        texel = 2 * radius / (side - 8 * blur - 4)  # with room for what is made smooth
        rows = np.empty((3, 4))
        rows[:, :3] = axes / np.array([[texel], [texel], [1.0]])
        rows[:, 3] = -rows[:, :3] @ middle + np.array([side / 2, side / 2, 0.0])
        fill(places @ rows[:, :3].T + rows[:, 3], triangles, casting, 0, side, shadows, hit)
        rows[2, 3] += 0.5 * texel
        look[LOOK.shadow : LOOK.shadow + 12] = rows.ravel()
        look[LOOK.offset] = 2.0 * texel
        covered = (hit >= 0).reshape(side // 2, 2, side // 2, 2).mean(axis=(1, 3), dtype=np.float32)
        return shadows, _smooth(_smooth(covered, max(1, blur // 2)), max(1, blur // 2))


def _smooth(image: np.ndarray, reach: int) -> np.ndarray:
    """Means over squares of 2 reach + 1 pixels; zero outside."""
    wide = 2 * reach + 1
    for _ in range(2):  # along both axes
        sums = np.cumsum(np.pad(image, ((reach + 1, reach), (0, 0))), axis=0)
        image = ((sums[wide:] - sums[:-wide]) / wide).T
    return image


def round_number(value: float) -> float:
    """1, 2 or 5 times a power of ten, near a value."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-30)))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda one: abs(math.log(one * power / max(value, 1e-30))))
