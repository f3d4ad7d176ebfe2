"""Make the pictures of the README and the documentation. Run: python -m tools.pictures (needs the `docs` extra)."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import chasles as ch
from chasles.gallery import model_files
from chasles.gallery.boxes import heavy_top, three_bar
from chasles.io.load import load
from chasles.reproduce.box_linkages import figure_12
from chasles.reproduce.figure import save
from chasles.study.compare import compare

STATIC = Path(__file__).parents[1] / "docs" / "_static"


def heavy_top_picture() -> None:
    """The heavy top on the two groups: its energy, and the drift of the pivot."""
    top = heavy_top()
    spaces = {"SE(3)": "SE3", "SO(3) × ℝ³": "SO3xR3"}
    runs = {label: top.simulate(10.0, space=space, stabilization=None) for label, space in spaces.items()}
    ch.plot(runs, file=STATIC / "heavy_top.png")


def pendulum(*joints: Any) -> ch.System:
    """Two rods; `joints` make their joints."""
    rod = [ch.shapes.Cylinder(0.02, 0.5, pose=(1, 0, 0, 0, 0, 0, -0.25))]
    return ch.System(
        [ch.Body(name, shapes=rod, density=7800.0) for name in ("upper", "lower")],
        [joints[0]("shoulder", "ground", "upper"), joints[1]("elbow", "upper", "lower", at=(0, 0, -0.5))],
        [ch.Frame("tip", "lower", (0, 0, -0.5))],
        name="double pendulum",
    )


def double_pendulum_pictures() -> None:
    """An overview of the pendulum of the README, and quantities of one with crossed hinges."""
    ch.simulate(pendulum(ch.spherical, ch.spherical), (0.0, 5.0), v=[4.0, 3.0, 0.0, -2.0, 3.0, 0.0]).plot(
        file=STATIC / "double_pendulum.png"
    )
    hinges = (partial(ch.revolute, axis=axis) for axis in ((0, 1, 0), (1, 0, 0)))
    crossed = ch.simulate(pendulum(*hinges), (0.0, 5.0), q=[2.0, 0.5])
    crossed.plot("joints", "phase.elbow", "reactions.elbow", file=STATIC / "plot_quantities.png")


def designer_pictures() -> None:
    """Those of "A designer's questions", from the mechanisms of the gallery."""
    pump, winch, gate, car = (
        load(model_files()[name]) for name in ("slider_crank", "gear_train", "gate", "suspension")
    )
    run = pump.run()
    run.picture(0.4, STATIC / "designer_pump.png", size=(640, 420), trail=0.0)
    run.plot("reactions.small end", file=STATIC / "designer_pin.png")
    winch.run().plot("forces.first stage", "joints.hoist", file=STATIC / "designer_motor.png")
    gate.run().plot("joints.hinge", "joints.leg", file=STATIC / "designer_stops.png")
    ch.linearize(car.system, ch.equilibrium(car.system).q).plot(STATIC / "designer_modes.png")
    springs = {f"spring = {k} N/mm": {"parameters.spring": 1e3 * k} for k in (25, 38, 60)}
    designs = {label: load(model_files()["suspension"], set=change).run() for label, change in springs.items()}
    ch.plot(designs, "joints.heave", file=STATIC / "designer_designs.png")
    load(model_files()["excavator"]).run().picture(5.0, STATIC / "designer_excavator.png", size=(800, 520), trail=0.0)


def frame_picture() -> None:
    """A chain of capsules that swings."""
    n, length = 12, 0.16
    shape = [ch.shapes.Capsule(0.028, length - 0.06, pose=(1, 0, 0, 0, 0, 0, -length / 2))]
    names = ["ground", *(f"link {k}" for k in range(1, n + 1))]
    chain = ch.System(
        [ch.Body(name, shapes=shape, density=2700.0) for name in names[1:]],
        [
            ch.spherical(f"joint {k}", names[k], names[k + 1], at=(0, 0, -length) if k else (0, 0, 2.0))
            for k in range(n)
        ],
        [ch.Frame("tip", names[-1], (0, 0, -length))],
        name="chain",
    )
    # level at first, and bent
    q = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    q[0] = (np.cos(0.75), 0.0, -np.sin(0.75), 0.0)
    q[1:] = (np.cos(0.11), np.sin(0.11), 0.0, 0.0)
    run = ch.simulate(chain, (0.0, 0.55), q=q.ravel())
    run.picture(0.55, STATIC / "frame.png", size=(1000, 700), trail=0.4)


def absolute_pictures() -> None:
    """A joint of the closed loop on both groups, and the study of it."""
    with TemporaryDirectory() as folder:
        picture = save(figure_12(), Path(folder), "mueller2013")[0]
        (STATIC / "absolute_joint.png").write_bytes(picture.read_bytes())
    loop = three_bar()
    steps = [4e-3 / 2**k for k in range(5)]
    found = compare(loop.system, (0.0, 1.0), poses=loop.poses, twists=loop.twists, steps=steps)
    found.plot().savefig(STATIC / "absolute_comparison.png", dpi=110)


if __name__ == "__main__":
    heavy_top_picture()
    double_pendulum_pictures()
    designer_pictures()
    frame_picture()
    absolute_pictures()
