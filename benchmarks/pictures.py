"""How long a frame takes: python -m benchmarks.pictures

Processor time of one frame of a chain of 30 bodies, drawn again and again, and of compiling the kernels of the
rasterizer into an empty cache.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import chasles as ch
from chasles.view.picture import Film

COMPILING = """
import time
import numpy as np
from chasles import lie
from chasles.view.raster.fill import fill
from chasles.view.raster.ground import ground
from chasles.view.raster.look import LOOK
from chasles.view.raster.shade import shade
lie.so3.exp([0.1, 0.2, 0.3])  # Numba's own start does not count
points, triangle, seen = np.zeros((3, 3)), np.zeros((1, 3), np.int32), np.full((8, 8), -1, np.int32)
depth, image, look = np.zeros((8, 8), np.float32), np.zeros((4, 4, 3), np.float32), np.zeros(LOOK.size)
look[LOOK.samples] = 2
numbers = np.zeros(1, np.int32)
start = time.process_time()
fill(points, triangle, np.zeros(1, np.int64), 0, 8, depth, seen)
ground(look, seen, depth, 0, 4, image)
shade(look, points, points, points, triangle, np.zeros((1, 4)), numbers, numbers, seen, depth, 0, 4, image)
print(time.process_time() - start)
"""


def chain(n: int) -> ch.System:
    """Bodies without shapes, so each has the look of its own: rods and a box."""
    bodies = [ch.Body(f"b{k}", 1.0, (0, 0, -0.1), (0.01, 0.008, 0.004)) for k in range(n)]
    names = ["ground", *(body.name for body in bodies)]
    joints = [
        ch.revolute(f"j{k}", names[k], names[k + 1], axis=(k % 2, 1 - k % 2, 0), at=(0, 0, -0.2 if k else 0.0))
        for k in range(n)
    ]
    return ch.System(bodies, joints, name="chain")


def frames() -> dict[tuple[int, int], tuple[int, float]]:
    """Triangles, and processor time of a frame [s], by its size."""
    run = ch.simulate(chain(30), (0.0, 1.0), v=np.linspace(0.1, 0.2, 30), progress=False)
    found = {}
    for size in ((800, 600), (1920, 1080)):
        film = Film(run, size)
        film.image(0.0)
        best = np.inf
        for t in np.linspace(0.1, 0.9, 9):
            start = time.process_time()
            film.image(float(t))
            best = min(best, time.process_time() - start)
        found[size] = len(film.stage.solids.triangles), best
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CHASLES_CACHE_DIR": folder}
        for label in ("compile", "from the cache"):
            told = subprocess.run([sys.executable, "-c", COMPILING], env=environment, capture_output=True, text=True)
            print(f"kernels, {label}: {float(told.stdout):.2f} s")
    for size, (triangles, seconds) in frames().items():
        print(f"a frame of {size[0]} x {size[1]}, 30 bodies, {triangles} triangles: {1e3 * seconds:.0f} ms")


if __name__ == "__main__":
    main()
