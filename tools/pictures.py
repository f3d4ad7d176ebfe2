"""Make the pictures of the README and the documentation. Run: python -m tools.pictures (needs the `docs` extra)."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import chasles as ch
from chasles.gallery.source_000 import heavy_top, three_bar
from chasles.reproduce.figure import save
from chasles.reproduce.links_000 import figure_12
from chasles.study.compare import compare

STATIC = Path(__file__).parents[1] / "docs" / "_static"
INK, BLUE, ORANGE = "#33373d", "#2f6db5", "#d9722e"


def heavy_top_picture() -> None:
    """Path of the centre of mass on its sphere, and the drift of the pivot on the two groups."""
    top = heavy_top()
    path = top.simulate(1.0, step=5e-4, stabilization=None)["top"].position
    figure = plt.figure(figsize=(10, 4.2), dpi=130)
    ball: Any = figure.add_axes((0.0, 0.0, 0.42, 1.0), projection="3d")
    u, v = np.mgrid[0 : 2 * np.pi : 49j, 0 : np.pi : 25j]
    sphere = 0.495 * np.array([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    ball.plot_surface(*sphere, color="#e8eaee", alpha=0.35, linewidth=0)
    ball.plot(*path.T, color=BLUE, linewidth=1.1)
    ball.plot(*np.array([[0, 0, 0], path[0]]).T, color=INK, linewidth=2)
    ball.scatter(*path[0], color=ORANGE, s=28, depthshade=False)
    ball.set_box_aspect((1, 1, 1), zoom=1.45)
    ball.set_axis_off()
    ball.text2D(0.5, 0.03, "centre of mass of the top, 1 s", transform=ball.transAxes, ha="center", color=INK)
    axes = figure.add_axes((0.52, 0.15, 0.46, 0.72))
    for space, label, colour in (("SE3", "SE(3)", BLUE), ("SO3xR3", "SO(3) × ℝ³", ORANGE)):
        run = top.simulate(10.0, space=space, stabilization=None)
        drift = np.linalg.norm(top.gaps(run, "pivot"), axis=1)[1:]
        axes.semilogy(run.t[1:], drift + 1e-18, color=colour, linewidth=0.4, alpha=0.35)
        axes.semilogy(run.t[1:], np.maximum.accumulate(drift), color=colour, linewidth=2, label=label)
    axes.set(xlabel="t [s]", ylabel="drift of the pivot [m]", ylim=(1e-17, 1e-3), xlim=(0, 10))
    axes.set_title("One top, one method, two groups (RK4 Munthe-Kaas, h = 1 ms)", color=INK, fontsize=10)
    axes.legend(frameon=False, loc="center right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(STATIC / "heavy_top.png")
    plt.close(figure)


def double_pendulum_picture() -> None:
    """Path of the tip of a double pendulum in space, and the balance of its energy."""
    rod = [ch.Cylinder(0.02, 0.5, pose=(1, 0, 0, 0, 0, 0, -0.25))]
    system = ch.System(
        [ch.Body(name, shapes=rod, density=7800.0) for name in ("upper", "lower")],
        [ch.spherical("pivot", "ground", "upper"), ch.spherical("elbow", "upper", "lower", at=(0, 0, -0.5))],
        [ch.Frame("tip", "lower", (0, 0, -0.5))],
    )
    run: Any = ch.simulate(system, (0.0, 5.0), v=[4.0, 3.0, 0.0, -2.0, 3.0, 0.0])
    figure = plt.figure(figsize=(10, 4.2), dpi=130)
    view: Any = figure.add_axes((0.0, 0.0, 0.42, 1.0), projection="3d")
    fine = np.linspace(0.0, 5.0, 2000)
    tip = run.mechanism.poses(run(fine)[0], "tip")[:, 4:]
    view.plot(*tip.T, color=BLUE, linewidth=1.0, alpha=0.8)
    for t in (0.6, 1.8, 3.1):
        q = run(t)[0]
        points = np.array([np.zeros(3), *run.mechanism.poses(q, ["lower", "tip"])[:, 4:]])
        view.plot(*points.T, color=INK, linewidth=2.2, marker="o", markersize=3)
        view.scatter(*points[2], color=ORANGE, s=28, depthshade=False)
    low, high = np.minimum(tip.min(axis=0), 0.0), np.maximum(tip.max(axis=0), 0.0)
    view.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    view.set_box_aspect(high - low, zoom=1.25)
    view.set_axis_off()
    view.text2D(0.5, 0.03, "tip of a double pendulum, 5 s", transform=view.transAxes, ha="center", color=INK)
    axes = figure.add_axes((0.52, 0.15, 0.46, 0.72))
    energy = run.energy
    for what, colour in (("kinetic", BLUE), ("gravity", ORANGE)):
        axes.plot(run.t, getattr(energy, what), color=colour, linewidth=1.6, label=what)
    axes.plot(run.t, energy.balance, color=INK, linewidth=1.6, label="balance")
    off = np.abs(energy.balance - energy.balance[0]).max()
    title = f"Energy; the balance varies by {off:.0e} J in {run.solution.steps} steps"
    axes.set_title(title, color=INK, fontsize=10)
    axes.set(xlabel="t [s]", ylabel="energy [J]", xlim=(0, 5), ylim=(-55, 62))
    axes.legend(frameon=False, loc="upper right", ncols=3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(STATIC / "double_pendulum.png")
    plt.close(figure)


def absolute_pictures() -> None:
    """A joint of the closed loop on both groups, and the study of it."""
    with TemporaryDirectory() as folder:
        picture = save(figure_12(), Path(folder), "000")[0]
        (STATIC / "absolute_joint.png").write_bytes(picture.read_bytes())
    loop = three_bar()
    steps = [4e-3 / 2**k for k in range(5)]
    found = compare(loop.system, (0.0, 1.0), poses=loop.poses, twists=loop.twists, steps=steps)
    found.plot().savefig(STATIC / "absolute_comparison.png", dpi=110)


if __name__ == "__main__":
    heavy_top_picture()
    double_pendulum_picture()
    absolute_pictures()
