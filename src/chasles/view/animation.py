"""`animate`: the motion of a run as a GIF or MP4 file, drawn without a screen."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from chasles import caution
from chasles.display.progress import Progress
from chasles.view.picture import Film

SIZE = (800, 600)  # pixels
FPS = 25.0
MOST = 20_000  # frames
SHORTEST = 2  # hundredths of a second that viewers show a frame of a GIF
SEEN = 10  # frames of which the colors of a GIF are taken
WORKERS = min(4, os.cpu_count() or 1)


def animate(
    run: Any,
    file: str | Path,
    *,
    fps: float = FPS,
    speed: float = 1.0,
    span: tuple[float, float] | None = None,
    size: tuple[int, int] = SIZE,
    azimuth: float | None = None,
    elevation: float | None = None,
    trail: float | None = None,
    color: str | None = None,
    progress: bool | None = None,
) -> Path:
    """Write the motion of a run as .gif or .mp4, by the ending of the file; returns its path.

    fps: frames a second; in a GIF they last whole hundredths of a second, two at least. speed: seconds of the run in
    a second of the film. span: part of the run [s], backwards if its end is before its start. For size,
    azimuth, elevation, trail and color see `picture`. MP4 needs the program ffmpeg, or `pip install imageio-ffmpeg`.
    `progress` shows how far it is; by default if a terminal is watching.
    """
    path = Path(file)
    kind = path.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise ValueError(f"animate: {path.name!r}; expected a name that ends in .gif or .mp4")
    for name, value in (("fps", fps), ("speed", speed)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"animate: {name} is {value}; expected a positive number")
    program = _ffmpeg() if kind == ".mp4" else ""
    if kind == ".mp4":  # whose pixels go in pairs
        size = (size[0] + size[0] % 2, size[1] + size[1] % 2)
    if kind == ".gif" and fps > 100 / SHORTEST:
        most = 100 / SHORTEST
        caution.warn(f"animate: a GIF has at most {most:g} frames a second, so not {fps:g}", UserWarning)
    hold = max(SHORTEST, round(100 / fps)) / 100 if kind == ".gif" else 1 / fps  # seconds that a frame lasts
    film = Film(run, size, azimuth, elevation, trail, color)
    times = moments(film, hold * speed, span)
    part = path.with_name(path.name + ".part")
    try:
        with Progress(times[0], times[-1], progress) as shown:
            images = _images(film, times, shown)
            if kind == ".gif":
                _write_gif(images, film, times, part, hold)
            else:
                _write_mp4(images, film.size, part, fps, program)
        part.replace(path)
    except OSError as error:
        raise ValueError(f"animate: {path}: cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return path


def moments(film: Film, step: float, span: tuple[float, float] | None) -> np.ndarray:
    """The times of the frames, `step` seconds of the run from each other."""
    first, last = (film.first, film.last) if span is None else map(float, span)
    low, high = sorted((film.first, film.last))
    if not (low <= first <= high and low <= last <= high):
        raise ValueError(
            f"animate: the span {first:g} to {last:g} s is not in the run, {film.first:g} to {film.last:g} s"
        )
    count = math.floor(abs(last - first) / step * (1 + 1e-12)) + 1
    if count > MOST:
        advice = f"a speed above {abs(last - first) / step / MOST:.3g} times this one"
        raise ValueError(f"animate: {count} frames; at most {MOST}: give {advice}, a span or fewer frames a second")
    times = first + math.copysign(step, last - first) * np.arange(count)
    return np.clip(times, min(first, last), max(first, last))  # the last may be beyond by rounding


def _images(film: Film, times: np.ndarray, progress: Progress) -> Iterator[np.ndarray]:
    """The frames in their order, drawn by a few threads, which the kernels let run side by side."""
    waiting: deque[tuple[float, Future[np.ndarray]]] = deque()
    with ThreadPoolExecutor(WORKERS) as pool:
        for t in chain(times, [None] * (2 * WORKERS)):
            if t is not None:
                waiting.append((t, pool.submit(film.image, float(t))))
            if waiting and (t is None or len(waiting) > 2 * WORKERS):
                at, image = waiting.popleft()
                progress.show(at)
                yield image.result()


def _write_gif(images: Iterator[np.ndarray], film: Film, times: np.ndarray, file: Path, hold: float) -> None:
    """One palette for all frames, from a few of them side by side, so that colors do not flicker."""
    from PIL import Image

    some = times[np.unique(np.linspace(0, len(times) - 1, SEEN).astype(int))]
    sheet = np.concatenate([film.image(float(t))[::2, ::2] for t in some])
    palette = Image.fromarray(sheet).quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    frames = (Image.fromarray(image).quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    first = next(frames)
    delay = round(1000 * hold)
    first.save(file, "GIF", save_all=True, append_images=frames, duration=delay, loop=0, optimize=False, disposal=1)


def _write_mp4(images: Iterator[np.ndarray], size: tuple[int, int], file: Path, fps: float, program: str) -> None:
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.12g}", "-i", "-", "-an", "-c:v", "libx264", "-crf", "18"]
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(file.resolve())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        with suppress(BrokenPipeError):  # it says below why
            for image in images:
                process.stdin.write(image.tobytes())
    except BaseException:
        process.kill()
        raise
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        said = process.stderr.read().decode(errors="replace").strip()
        process.stderr.close()
        process.wait()
    if process.returncode:
        raise ValueError(f"animate: {program} failed: {said[-300:] or process.returncode}")


def _ffmpeg() -> str:
    """The program that writes MP4 files."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ValueError(
            "animate: an .mp4 file needs the program ffmpeg; install it, or pip install imageio-ffmpeg, or write a .gif"
        ) from None
    return imageio_ffmpeg.get_ffmpeg_exe()
