"""Colors of an image from what is seen at its samples: light of sun and sky, shadows, outlines.

Colors are linear: what is written to a file is their square root, which is even to the eye.
"""

from __future__ import annotations

import math

from chasles.kernel.policy import kernel
from chasles.view.raster.look import FLAT, LOOK, OUTLINED

SUN, SKY, EARTH, GLOSS = 0.80, 0.60, 0.30, 0.12
DARK = 0.35  # of a color in an outline


@kernel(entry=True)
def shade(look, points, places, normals, triangles, colors, flags, parts, seen, shadows, first, last, image):
    """Put what is seen over rows `first` to `last` of an image (rows, columns, 3).

    points (n, 3): places in the image, as for `fill`; places, normals (n, 3): in space; colors (m, 4) with opacity,
    flags (m,) and parts (m,) of triangles; seen: numbers of triangles at the samples, or -1; shadows: the map of what
    is nearest to the sun. A pixel has one color where one triangle fills it, else one for each sample.
    """
    s = int(look[LOOK.samples])
    for i in range(first, last):
        for j in range(image.shape[1]):
            k0 = seen[i * s, j * s]
            same, covered = True, False
            for p in range(s):
                for q in range(s):
                    k = seen[i * s + p, j * s + q]
                    covered = covered or k >= 0
                    same = same and k == k0
            if not covered:
                continue
            side = 1 if same else s
            red, green, blue, opaque = 0.0, 0.0, 0.0, 0.0
            for p in range(side):
                for q in range(side):
                    row, column = i * s + p, j * s + q
                    k = seen[row, column]
                    if k < 0:
                        continue
                    x, y = column + 0.5, row + 0.5
                    if same:
                        x, y = (j + 0.5) * s, (i + 0.5) * s
                    light, glare = 1.0, 0.0
                    if not flags[k] & FLAT:
                        light, glare = _light(look, points, places, normals, triangles, shadows, k, x, y)
                    if flags[k] & OUTLINED and _is_edge(seen, parts, k, row, column, max(1, s // 2)):
                        light, glare = DARK * light, 0.0
                    opacity = colors[k, 3]
                    red += opacity * (colors[k, 0] * light + glare)
                    green += opacity * (colors[k, 1] * light + glare)
                    blue += opacity * (colors[k, 2] * light + glare)
                    opaque += opacity
            scale = 1.0 / (side * side)
            through = 1.0 - scale * opaque
            image[i, j, 0] = through * image[i, j, 0] + scale * red
            image[i, j, 1] = through * image[i, j, 1] + scale * green
            image[i, j, 2] = through * image[i, j, 2] + scale * blue


@kernel
def _light(look, points, places, normals, triangles, shadows, k, x, y):
    """Light and glare at a place (x, y) of the image on triangle k."""
    a, b, c = triangles[k, 0], triangles[k, 1], triangles[k, 2]
    ax, ay = points[a, 0], points[a, 1]
    bx, by = points[b, 0] - ax, points[b, 1] - ay
    cx, cy = points[c, 0] - ax, points[c, 1] - ay
    x, y = x - ax, y - ay
    area = bx * cy - by * cx
    wb, wc = (x * cy - y * cx) / area, (bx * y - by * x) / area
    # the third coordinate is the inverse of the distance: weights in space
    wa, wb, wc = (1.0 - wb - wc) * points[a, 2], wb * points[b, 2], wc * points[c, 2]
    total = 1.0 / (wa + wb + wc)
    wa, wb, wc = wa * total, wb * total, wc * total
    px = wa * places[a, 0] + wb * places[b, 0] + wc * places[c, 0]
    py = wa * places[a, 1] + wb * places[b, 1] + wc * places[c, 1]
    pz = wa * places[a, 2] + wb * places[b, 2] + wc * places[c, 2]
    nx = wa * normals[a, 0] + wb * normals[b, 0] + wc * normals[c, 0]
    ny = wa * normals[a, 1] + wb * normals[b, 1] + wc * normals[c, 1]
    nz = wa * normals[a, 2] + wb * normals[b, 2] + wc * normals[c, 2]
    ex, ey, ez = look[LOOK.eye] - px, look[LOOK.eye + 1] - py, look[LOOK.eye + 2] - pz
    unit = 1.0 / math.sqrt(nx * nx + ny * ny + nz * nz + 1e-300)
    if nx * ex + ny * ey + nz * ez < 0.0:  # the inner side is seen
        unit = -unit
    nx, ny, nz = nx * unit, ny * unit, nz * unit
    sun = look[LOOK.sun] * nx + look[LOOK.sun + 1] * ny + look[LOOK.sun + 2] * nz
    sky = 0.5 + 0.5 * (look[LOOK.up] * nx + look[LOOK.up + 1] * ny + look[LOOK.up + 2] * nz)
    light, glare = EARTH + (SKY - EARTH) * sky, 0.0
    if sun > 0.0:
        off = look[LOOK.offset]
        free = _lit(look, shadows, px + off * nx, py + off * ny, pz + off * nz)
        light += SUN * sun * free
        far = 1.0 / math.sqrt(ex * ex + ey * ey + ez * ez)
        hx, hy, hz = look[LOOK.sun] + ex * far, look[LOOK.sun + 1] + ey * far, look[LOOK.sun + 2] + ez * far
        bright = (nx * hx + ny * hy + nz * hz) ** 2 / (hx * hx + hy * hy + hz * hz)
        bright *= bright
        bright *= bright
        bright *= bright
        glare = GLOSS * free * bright * bright
    return light, glare


@kernel
def _lit(look, shadows, x, y, z):
    """How much of the sun reaches a point: the mean of nine places on the shadow map."""
    m, size = LOOK.shadow, shadows.shape[0]
    u = look[m] * x + look[m + 1] * y + look[m + 2] * z + look[m + 3]
    v = look[m + 4] * x + look[m + 5] * y + look[m + 6] * z + look[m + 7]
    height = look[m + 8] * x + look[m + 9] * y + look[m + 10] * z + look[m + 11]
    column, row = math.floor(u), math.floor(v)
    if column < 1 or row < 1 or column >= size - 1 or row >= size - 1:
        return 1.0
    free = 0.0
    for i in range(-1, 2):
        for j in range(-1, 2):
            if not shadows[row + i, column + j] > height:
                free += 1.0
    return free / 9.0


@kernel
def _is_edge(seen, parts, k, row, column, reach):
    """Does another part, or nothing, begin so many samples away?"""
    edge = False
    for side in range(4):
        r, c = row, column
        if side == 0:
            r += reach
        elif side == 1:
            r -= reach
        elif side == 2:
            c += reach
        else:
            c -= reach
        if 0 <= r < seen.shape[0] and 0 <= c < seen.shape[1]:
            other = seen[r, c]
            edge = edge or other < 0 or parts[other] != parts[k]
    return edge
