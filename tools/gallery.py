"""Make the moving pictures of the gallery page. Run: python -m tools.gallery [NAME ...]"""

import sys
import warnings
from pathlib import Path

from chasles.gallery import model_files
from chasles.io.load import load

PICTURES = Path(__file__).parents[1] / "docs" / "_static" / "gallery"
SIZE, FPS, SECONDS = (256, 180), 8, 3.0  # pixels, frames a second, and the length of a film


def film(name: str) -> Path:
    """The motion of a model of the gallery, as a small GIF that lasts a few seconds."""
    run = load(name).run(progress=False)
    file = PICTURES / f"{name}.gif"
    speed = float(abs(run.t[-1] - run.t[0])) / SECONDS
    return run.animate(file, fps=FPS, speed=speed, size=SIZE, progress=False)


def main(names: list[str]) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in names or model_files():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = film(name)
        print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
