"""How quick and how small the 3D page is. Run: python -m benchmarks.view_speed (needs Chromium).

Measured are the time from the start of `chasles view` to the first picture, of a run that was not shown before and
again, in a browser that is running and with the start of one; the time of a picture with 100 bodies; the size of the
page of ten minutes of 30 bodies. Pictures are drawn in software here (SwiftShader): a graphics card is faster.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import page
from chasles.view.page import Page
from tools.chromium import Browser

# the time, when the first picture is complete
COMPLETE = "chasles.stage.renderer.getContext().finish(), Date.now() / 1000"
# what `chasles view` is told to use as the browser
HAND_OVER = """
import sys
from pathlib import Path
Path(sys.argv[1]).write_text(sys.argv[2])
"""
START = f"""
import sys
from pathlib import Path
from tools.chromium import Browser
with Browser(1280, 800) as browser:
    browser.open(sys.argv[2], wait="window.chasles?.first")
    Path(sys.argv[1]).write_text(str(browser.evaluate({COMPLETE!r})))
"""


def chain(n: int, name: str) -> ch.System:
    """Rods in a row, which turn in all directions."""
    rod = [ch.shapes.Capsule(0.02, 0.2, pose=(1, 0, 0, 0, 0, 0, -0.12))]
    joints = [
        ch.spherical(
            f"joint {k}",
            "ground" if k == 0 else f"rod {k - 1}",
            f"rod {k}",
            at=(0, 0, 0 if k == 0 else -0.24),
            damping=1e-3,
        )
        for k in range(n)
    ]
    return ch.System([ch.Body(f"rod {k}", shapes=rod, density=1000.0) for k in range(n)], joints, name=name)


def first_picture(folder: Path, running: bool, repeats: int = 7) -> tuple[list[float], list[float]]:
    """Seconds from the start of `chasles view` to the first picture, of a new file, and of one that was shown before;
    with a browser that is `running`, or with the start of one."""
    file = folder / "top.h5"
    top = ch.System(
        [ch.Body("top", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.02))], [ch.spherical("pivot", "ground", "top")], name="heavy top"
    )
    ch.simulate(top, (0, 10), v=[1, 0, 30.0], method=ch.integrate.RKMK("rk4"), step=1e-3, progress=False, file=file)
    script, note = folder / "browser.py", folder / "note"
    script.write_text(HAND_OVER if running else START)
    more = {"BROWSER": f"{sys.executable} {script} {note} %s", "PYTHONPATH": os.pathsep.join(sys.path)}
    # Python keeps compiled modules, as it does by itself
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more
    environment.setdefault("PYTHONPYCACHEPREFIX", str(folder / "modules"))
    found: dict[bool, list[float]] = {True: [], False: []}
    with Browser(1280, 800) if running else nullcontext() as browser:
        for k in range(-1, 2 * repeats):  # the first one fills the caches
            note.unlink(missing_ok=True)
            new = k % 2 == 0
            if new:
                file.touch()
            began = time.time()
            process = subprocess.Popen(
                [sys.executable, "-m", "chasles", "view", str(file)], env=environment, stdout=subprocess.DEVNULL
            )
            while not (note.exists() and (text := note.read_text())):
                if process.poll() is not None:
                    raise RuntimeError("chasles view has ended")
                time.sleep(0.005)
            if browser is not None:
                browser.open(text, wait="window.chasles?.first")
                text = str(browser.evaluate(COMPLETE))
                browser.until("chasles.ready")
                browser.open("about:blank", wait="true")
                time.sleep(0.3)
            if k >= 0:
                found[new].append(float(text) - began)
            process.send_signal(signal.SIGINT)
            process.wait()
    return found[True], found[False]


def frame_time(folder: Path) -> tuple[float, float, float]:
    """Milliseconds of a picture with 100 bodies: in JavaScript, between pictures, and its number of draw calls."""
    system = chain(100, "chain of 100")
    rng = np.random.default_rng(1)
    run: Any = ch.simulate(system, (0, 3), v=0.3 * rng.normal(size=300), rtol=1e-6, atol=1e-8, progress=False)
    run.save(folder / "chain.html")
    with Browser(1280, 800) as browser:
        browser.open(folder / "chain.html")
        browser.evaluate("chasles.transport.play(), 0")
        browser.until("chasles.frames > 5")
        before, began = browser.evaluate("chasles.frames"), time.perf_counter()
        browser.until(f"chasles.frames > {before + 40}", timeout=120)
        spent, done = time.perf_counter() - began, browser.evaluate("chasles.frames") - before
        own = browser.evaluate("chasles.drawn.slice(-30)")
        return median(own), 1e3 * spent / done, browser.evaluate("chasles.stage.renderer.info.render.calls")


def long_run(folder: Path) -> tuple[float, float, Any]:
    """Megabytes of the page of ten minutes of a chain of 30, seconds to make it, and what it says of its exactness."""
    rng = np.random.default_rng(2)
    run: Any = ch.simulate(
        chain(30, "chain of 30"), (0, 600), v=0.5 * rng.normal(size=90), rtol=1e-6, atol=1e-8, file=folder / "long.h5"
    )
    began = time.perf_counter()
    long = Page(run)
    long.save(folder / "long.html")
    spent = time.perf_counter() - began
    motion = long.data["runs"][0]["motion"]
    says = {name: motion[name] for name in ("tolerance", "error", "checked", "saved")}
    return (folder / "long.html").stat().st_size / 1e6, spent, says


def measured(folder: Path) -> str:
    """The table of docs/view.md."""
    size, spent, says = long_run(folder)
    errors = ", ".join(f"{error:.2g}" for error in np.atleast_1d(says["error"]))
    rows = [
        ["page of ten minutes of a chain of 30 bodies on spherical joints, which whips about", "15 MB",
         f"{size:.1f} MB, made in {spent:.0f} s"],
        [f"largest difference in it, of quaternions and positions [m], at {says['checked']} times", "1e-6", errors],
    ]  # fmt: skip
    own, between, _ = frame_time(folder)
    rows.append(["a frame with 100 bodies: time in the page's script", "", f"{own:.0f} ms"])
    rows.append(["time per frame, software rendering", "", f"{1e-3 * between:.1f} s"])
    for running, browser in ((True, "in a browser that is running"), (False, "with the start of Chromium")):
        for run, times in zip(("new", "shown before"), first_picture(folder, running), strict=True):
            value = f"{median(times):.1f} s ({min(times):.1f} to {max(times):.1f})"
            rows.append(
                [f"first picture after the start of `chasles view`, {browser}, of a run that is {run}", "2 s", value]
            )
    return page.table(["", "target", "measured"], rows, align="---")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(measured(Path(folder)))


if __name__ == "__main__":
    main()
