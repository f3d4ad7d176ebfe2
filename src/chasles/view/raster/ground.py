"""The ground under a scene: a floor with a grid that fades into the paper, and the soft shadow on it."""

from __future__ import annotations

import math

from chasles.kernel.policy import kernel
from chasles.view.raster.look import LOOK

PAPER, FLOOR, LINE = 1.0, 0.955, 0.76  # brightness
SHADE = 0.40  # that a full shadow takes from it
BORDER = 0.18  # of the height of the image, in which the ground fades too


@kernel(entry=True)
def ground(look, seen, soft, first, last, image):
    """Draw paper and ground into rows of an image (rows, columns, 3), where not all samples are `seen` to be covered.

    soft: how much of each place of the shadow map is covered, made smooth, at half its resolution. A line of sight is
    d = ahead + x right + y down, so all that is needed of it is linear in the place (x, y) on the image.
    """
    s = int(look[LOOK.samples])
    rows, columns = image.shape[0], image.shape[1]
    scale = 1.0 / look[LOOK.focus]
    above = _along(look, LOOK.up, LOOK.eye) - look[LOOK.ground]
    fall0, fall1, fall2 = _linear(look, LOOK.up)
    u0, u1, u2 = _linear(look, LOOK.across)
    v0, v1, v2 = _linear(look, LOOK.along)
    a0, a1, a2 = _linear(look, LOOK.shadow)
    b0, b1, b2 = _linear(look, LOOK.shadow + 4)
    u_eye = _along(look, LOOK.across, LOOK.eye) - _along(look, LOOK.across, LOOK.center)
    v_eye = _along(look, LOOK.along, LOOK.eye) - _along(look, LOOK.along, LOOK.center)
    a_eye = _along(look, LOOK.shadow, LOOK.eye) + look[LOOK.shadow + 3]
    b_eye = _along(look, LOOK.shadow + 4, LOOK.eye) + look[LOOK.shadow + 7]
    grid, gone = look[LOOK.grid], 1.0 / look[LOOK.fade]
    for i in range(first, last):
        y = ((i + 0.5) * s - look[LOOK.middle + 1]) * scale
        for j in range(columns):
            covered = True
            for p in range(s):
                for q in range(s):
                    covered = covered and seen[i * s + p, j * s + q] >= 0
            bright = PAPER
            x = ((j + 0.5) * s - look[LOOK.middle]) * scale
            fall = fall0 + fall1 * x + fall2 * y
            if not covered and fall * above < 0.0:  # never if there is no ground, whose height is NaN
                way = -above / fall
                du, dv = u0 + u1 * x + u2 * y, v0 + v1 * x + v2 * y
                u, v = u_eye + way * du, v_eye + way * dv
                rest = 1.0 - (u * u + v * v) * gone * gone
                if rest > 0.0:
                    # how far a pixel reaches on the ground, in both directions of the grid
                    size, rise, drop = way * s * scale, fall1 / fall, fall2 / fall
                    line = max(
                        _line(u, size * (abs(u1 - du * rise) + abs(u2 - du * drop)), grid),
                        _line(v, size * (abs(v1 - dv * rise) + abs(v2 - dv * drop)), grid),
                    )
                    a = a_eye + way * (a0 + a1 * x + a2 * y)
                    b = b_eye + way * (b0 + b1 * x + b2 * y)
                    floor = (FLOOR + (LINE - FLOOR) * line) * (1.0 - SHADE * _between(soft, 0.5 * a, 0.5 * b))
                    inwards = min(1.0, min(j + 0.5, columns - j - 0.5, i + 0.5, rows - i - 0.5) / (BORDER * rows))
                    bright = PAPER + (floor - PAPER) * rest * rest * inwards * inwards * (3.0 - 2.0 * inwards)
            image[i, j, 0] = image[i, j, 1] = image[i, j, 2] = bright


@kernel
def _along(look, a, b):
    return look[a] * look[b] + look[a + 1] * look[b + 1] + look[a + 2] * look[b + 2]


@kernel
def _linear(look, at):
    """Coefficients of the product of a vector with a line of sight: constant, of x and of y."""
    return _along(look, at, LOOK.ahead), _along(look, at, LOOK.right), _along(look, at, LOOK.down)


@kernel
def _line(u, reach, grid):
    """How much of a pixel that reaches so far a line of the grid covers; less where lines would flow together."""
    off = abs(u - grid * math.floor(u / grid + 0.5))
    return max(0.0, 1.0 - off / reach) * min(1.0, 0.12 * grid / reach)


@kernel
def _between(soft, u, v):
    """The value at a place between pixels; zero outside."""
    u, v = u - 0.5, v - 0.5
    column, row = math.floor(u), math.floor(v)
    if column < 0 or row < 0 or column >= soft.shape[1] - 1 or row >= soft.shape[0] - 1:
        return 0.0
    u, v = u - column, v - row
    top = (1.0 - u) * soft[row, column] + u * soft[row, column + 1]
    bottom = (1.0 - u) * soft[row + 1, column] + u * soft[row + 1, column + 1]
    return (1.0 - v) * top + v * bottom
