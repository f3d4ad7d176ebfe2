"""Which triangle is seen at each sample of an image: a buffer of depths and one of triangles."""

from __future__ import annotations

import math

from chasles.kernel.policy import kernel


@kernel(entry=True)
def fill(points, triangles, chosen, first_row, last_row, depth, seen):
    """Draw the triangles of numbers `chosen` into rows of the buffers; the largest third coordinate is in front.

    points (n, 3): place in samples, right and down, and the inverse of the distance (or minus the distance, if lines of
    sight are parallel), which is linear on a triangle. depth, seen (rows, columns): what is in front so far, and its
    number. A sample belongs to a triangle if its center does; both sides of triangles are drawn.
    """
    columns = depth.shape[1]
    for number in range(chosen.shape[0]):
        k = chosen[number]
        a, b, c = triangles[k, 0], triangles[k, 1], triangles[k, 2]
        ax, ay, az = points[a, 0], points[a, 1], points[a, 2]
        bx, by, bz = points[b, 0], points[b, 1], points[b, 2]
        cx, cy, cz = points[c, 0], points[c, 1], points[c, 2]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not abs(area) > 1e-12 or math.isnan(az + bz + cz):  # a point behind the eye is NaN
            continue
        top = max(first_row, math.ceil(min(ay, by, cy) - 0.5))
        bottom = min(last_row, math.floor(max(ay, by, cy) - 0.5) + 1)
        left = max(0, math.ceil(min(ax, bx, cx) - 0.5))
        right = min(columns, math.floor(max(ax, bx, cx) - 0.5) + 1)
        if top >= bottom or left >= right:
            continue
        inverse = 1.0 / area
        # weights of b and c at (x, y): their gradients, and from them that of the depth
        ux, uy = (cy - ay) * inverse, (ax - cx) * inverse
        vx, vy = (ay - by) * inverse, (bx - ax) * inverse
        zx, zy = (bz - az) * ux + (cz - az) * vx, (bz - az) * uy + (cz - az) * vy
        for row in range(top, bottom):
            y = row + 0.5 - ay
            low, high = left + 0.5 - ax, right - 0.5 - ax
            # 0 <= u, 0 <= v, u + v <= 1 along the row
            for edge in range(3):
                if edge == 0:
                    slope, at = ux, uy * y
                elif edge == 1:
                    slope, at = vx, vy * y
                else:
                    slope, at = -ux - vx, 1.0 - (uy + vy) * y
                if slope > 0.0:
                    low = max(low, -at / slope)
                elif slope < 0.0:
                    high = min(high, -at / slope)
                elif at < 0.0:
                    high = low - 1.0
            start = max(left, math.ceil(low + ax - 0.5 - 1e-9))
            stop = min(right, math.floor(high + ax - 0.5 + 1e-9) + 1)
            z = az + zy * y + zx * (start + 0.5 - ax)
            for column in range(start, stop):
                if z > depth[row, column]:
                    depth[row, column] = z
                    seen[row, column] = k
                z += zx
