"""Where the eye is: so that all points are in the picture, seen from a direction that shows the motion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

OPENING = math.radians(28.0)  # of the lower side of the picture
MARGIN = 0.07  # of the picture, on each side
AZIMUTH, ELEVATION = -60.0, 18.0  # degrees
BESIDE, ABOVE = 24.0, 52.0  # degrees: off the normal of a motion in an upright plane, and over one in a level plane
PLANE = 1e-3  # thickness of a motion in a plane, as part of its extent
NEAR = 1e-3  # of the distance: nothing nearer is drawn


@dataclass(frozen=True)
class Camera:
    """eye [m]; right, down and ahead: unit vectors; tangent: of half the opening over the height of the picture."""

    eye: np.ndarray
    right: np.ndarray
    down: np.ndarray
    ahead: np.ndarray
    tangent: float
    distance: float

    def project(self, points: np.ndarray, width: int, height: int) -> np.ndarray:
        """Points (n, 3) to places in an image, right and down, and the inverse of the distance; NaN behind the eye."""
        seen = (points - self.eye) @ np.stack([self.right, self.down, self.ahead], axis=1)
        ahead = np.where(seen[:, 2] > NEAR * self.distance, seen[:, 2], np.nan)
        scale = self.focus(height) / ahead
        return np.stack([width / 2 + scale * seen[:, 0], height / 2 + scale * seen[:, 1], 1.0 / ahead], axis=1)

    def focus(self, height: int) -> float:
        return height / (2 * self.tangent)


def fitting(
    points: np.ndarray,
    moves: np.ndarray,
    up: np.ndarray,
    aspect: float,
    azimuth: float | None = None,
    elevation: float | None = None,
) -> Camera:
    """A camera that has all points (n, 3) in the picture, from where the moves (k, 3) are seen well.

    aspect: width over height; angles in degrees, those that are not given are chosen.
    """
    sky = up / np.linalg.norm(up)
    across = level_directions(sky)
    chosen = _direction(moves, sky, across)
    turn, tilt = (
        math.radians(own if given is None else given) for own, given in zip(chosen, (azimuth, elevation), strict=True)
    )
    ahead = -math.cos(tilt) * (math.cos(turn) * across[0] + math.sin(turn) * across[1]) - math.sin(tilt) * sky
    right = -math.sin(turn) * across[0] + math.cos(turn) * across[1]
    down = np.cross(ahead, right)
    tangent = math.tan(OPENING / 2) / min(aspect, 1.0)
    room = tangent * (1 - 2 * MARGIN)
    x, y, z = points @ right, points @ down, points @ ahead
    # an edge of the view: side . p - room (ahead . p) <= side . eye - room (ahead . eye), for all four of them
    far_right, far_left = (x - room * aspect * z).max(), (-x - room * aspect * z).max()
    low, high = (y - room * z).max(), (-y - room * z).max()
    depth = -max((far_right + far_left) / (2 * room * aspect), (low + high) / (2 * room))
    size = float(np.ptp(points, axis=0).max())
    depth = min(depth, float(z.min()) - (0.2 * size or 1.0))
    eye = (far_right - far_left) / 2 * right + (low - high) / 2 * down + depth * ahead
    return Camera(eye, right, down, ahead, tangent, float(np.median(z) - depth))


def _direction(moves: np.ndarray, sky: np.ndarray, across: np.ndarray) -> tuple[float, float]:
    """Azimuth and elevation: beside the normal of a motion in a plane, else the usual ones."""
    spread, directions = np.linalg.eigh(moves.T @ moves)
    normal = directions[:, 0]
    if spread[0] > PLANE**2 * spread[2] or spread[1] <= PLANE**2 * spread[2]:  # no plane, or a line
        return AZIMUTH, ELEVATION
    if abs(normal @ sky) > 0.9:
        return AZIMUTH, ABOVE
    angle = math.degrees(math.atan2(normal @ across[1], normal @ across[0]))
    angle = min((angle, angle + 180.0), key=lambda a: abs(_turned(a - AZIMUTH)))
    return angle + (BESIDE if _turned(AZIMUTH - angle) > 0 else -BESIDE), ELEVATION


def _turned(angle: float) -> float:
    """An angle [degrees] from -180 to 180."""
    return (angle + 180.0) % 360.0 - 180.0


def level_directions(up: np.ndarray) -> np.ndarray:
    """Two directions (2, 3) at right angles to `up` and each other: x and y if `up` is z."""
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(up, first)])
