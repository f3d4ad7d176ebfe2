"""Make the pictures of the 3D page for the documentation. Run: python -m tools.screenshots (needs Chromium)."""

from __future__ import annotations

import io
import math
import tempfile
import warnings
from pathlib import Path

from PIL import Image

import chasles as ch
from chasles.gallery import model_files
from chasles.io.load import load
from chasles.view.page import Page
from tools.chromium import Browser

STATIC = Path(__file__).parents[1] / "docs" / "_static"
ARMS, HALF = 6, math.sqrt(0.5)


def carousel() -> ch.System:
    """A swinging hub with six arms on springs, and a bob on each: solids, joints and springs in one scene."""
    bodies = [
        ch.Body(
            "hub",
            shapes=[ch.shapes.Cylinder(0.16, 0.06), ch.shapes.Capsule(0.03, 0.3, pose=(0, 0, 0.18))],
            density=900.0,
        )
    ]
    joints = [
        ch.universal("hanger", "ground", "hub", axes=[(1, 0, 0), (0, 1, 0)], at=(0, 0, 1.2), child_at=(0, 0, 0.36))
    ]
    springs = []
    lying = (HALF, 0.0, HALF, 0.0)  # turns z to x
    for k in range(1, ARMS + 1):
        angle = 2 * math.pi * k / ARMS
        c, s = math.cos(angle), math.sin(angle)
        place = (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2), 0.16 * c, 0.16 * s, 0.0)
        arm, bob = f"arm {k}", f"bob {k}"
        bodies.append(ch.Body(arm, shapes=[ch.shapes.Capsule(0.02, 0.3, pose=(*lying, 0.17, 0, 0))], density=700.0))
        bodies.append(ch.Body(bob, shapes=[ch.shapes.Box((0.06, 0.09, 0.22), pose=(0, 0, -0.14))], density=500.0))
        joints.append(ch.revolute(f"shoulder {k}", "hub", arm, axis=(0, 1, 0), at=place, damping=0.02))
        joints.append(ch.revolute(f"elbow {k}", arm, bob, axis=(0, 1, 0), at=(0.34, 0, 0), damping=0.002))
        ends = ((0.03 * c, 0.03 * s, 0.3), (0.22, 0.0, 0.0))
        springs.append(ch.Spring(f"spring {k}", ("hub", arm), ends, stiffness=160.0, damping=0.5, length=0.2))
    return ch.System(bodies, joints, forces=springs, name="carousel")


def pages(folder: Path) -> dict[str, Path]:
    """The pages that are photographed."""
    v = [0.9, 0.5] + [0.0, 4.0, 0.0, -3.0] * (ARMS // 2)
    ch.simulate(carousel(), (0.0, 8.0), v=v, rtol=1e-8, atol=1e-10, progress=False).save(folder / "carousel.html")
    load(model_files()["andrews"]).run().save(folder / "andrews.html")
    load(model_files()["cantilever_bend"]).run().save(folder / "rod.html")
    top = load(model_files()["heavy_top"])
    Page(*(top.run(space=space, span=(0.0, 2.0)) for space in ("SE3", "SO3xR3"))).save(folder / "spaces.html")
    return {name: folder / f"{name}.html" for name in ("carousel", "andrews", "spaces", "rod")}


def shoot(browser: Browser, page: Path, name: str, query: str, keys: str = "") -> None:
    """A picture of a page, after some keys were pressed."""
    browser.open(page, query)
    for key in keys:
        browser.press(key)
    browser.evaluate("new Promise(done => setTimeout(done, 600))")
    file = STATIC / f"{name}.webp"
    picture = Image.open(io.BytesIO(browser.screenshot())).convert("RGB")
    picture.save(file, quality=90, method=6)  # an eighth of the bytes of PNG
    print(f"{file.name}: {picture.width} x {picture.height}, {file.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        warnings.simplefilter("ignore", RuntimeWarning)
        found = pages(Path(name))
        with Browser(1280, 800, scale=1.5) as browser:
            shoot(browser, found["carousel"], "view_light", "?t=2.4&theme=light")
            shoot(browser, found["carousel"], "view_dark", "?t=3.1&theme=dark", "r")
            shoot(browser, found["spaces"], "view_spaces", "?t=1.2&theme=light")
            shoot(browser, found["rod"], "view_rod", "?t=1.2&theme=light&rods=moment")
            shoot(browser, found["andrews"], "view_andrews", "?t=0.0145&theme=light", "a")
        with Browser(390, 780, scale=2.0, mobile=True) as browser:
            shoot(browser, found["carousel"], "view_narrow", "?t=2.4&theme=light")


if __name__ == "__main__":
    main()
