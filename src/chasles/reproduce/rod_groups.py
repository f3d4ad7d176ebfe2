"""What celledoni2022 and mueller2022 leave open for rods: on which group nodes move, and which map joins them.

Figure 20: nodes of a free rod in motion on SE(3) and on SO(3)xR3. Figure 21: elements of constant strain by the
exponential and by the Cayley map, whose strain is 2 cay⁻¹ in place of log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import chasles as ch
from chasles.display.style import BLUE, ORANGE
from chasles.gallery import model_files
from chasles.io.load import load
from chasles.lie import se3
from chasles.reproduce.figure import Claim, Figure

STEPS, FINE, END = (0.1, 0.05, 0.025), 0.003125, 3.5
SPACES = ("SE3", "SO3xR3")
NUMBERS = (2, 4, 8)
TIP = np.array([15.684800534039, 47.150438573629, 53.474858791825])  # of the bend, by shooting
STIFFNESS = np.array([5e6 / 6, 1e7 / 12, 1e7 / 12, 1e7, 5e6, 5e6])
FORCE, RADIUS, LOADS, DIFFERENCE = 600.0, 100.0, 6, 1e-5
Map = Callable[[np.ndarray], np.ndarray]


def ends(space: str, step: float) -> np.ndarray:
    """Both ends of the flying spaghetti."""
    study = load(model_files()["flying_spaghetti"])
    method = ch.integrate.GeneralizedAlpha(rho=0.9)
    run = study.run(span=(0, END), method=method, step=step, space=space, save="final", certificate=False)
    return np.asarray(run.poses[-1][[0, -1], 4:])


def figure_20() -> Figure:
    """Errors in time of a rod whose nodes move on either group."""
    known = ends("SO3xR3", FINE)
    errors = {space: np.array([np.abs(ends(space, h) - known).max() for h in STEPS]) for space in SPACES}
    order = [float(np.log2(errors[space][-2] / errors[space][-1])) for space in SPACES]
    says = "nodes of rods may move on SE(3) or on SO(3)xR3"
    claims = [
        Claim(says, "order in time on SE(3)", order[0], 1.7, 2.4),
        Claim(says, "order in time on SO(3)xR3", order[1], 1.7, 2.4),
        Claim(
            says, "error on SE(3), times that on SO(3)xR3", float(errors["SE3"][-1] / errors["SO3xR3"][-1]), 1.0, 3.0
        ),
    ]

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for space, color in zip(SPACES, (BLUE, ORANGE), strict=True):
            axes.loglog(STEPS, errors[space], "o-", color=color, label=space)
        axes.set_xlabel("step [s]")
        axes.set_ylabel("error of the ends [m]")
        axes.legend()

    table = {"step [s]": np.array(STEPS), **{f"error on {space} [m]": errors[space] for space in SPACES}}
    return Figure(20, "A rod whose nodes move on either group", {"errors": table}, claims, draw)


def by_exponential(X: np.ndarray) -> np.ndarray:
    return np.asarray(se3.exp(X))


def by_cayley(X: np.ndarray) -> np.ndarray:
    return np.asarray(se3.cay(0.5 * X))


INVERSES: dict[Map, Map] = {by_exponential: se3.log, by_cayley: lambda g: 2.0 * se3.cayinv(g)}


def bend_error(n: int, join: Map) -> float:
    """Of the tip of the 45 degree bend: elements of constant strain that are joined by a map."""
    from scipy.optimize import root  # slow to load

    back, L = INVERSES[join], RADIUS * np.pi / 4 / n
    turn = np.pi / 4 / n
    one = se3.exp([0.0, 0.0, -turn, 0.0, 0.0, 0.0]) @ np.eye(4)
    one[:3, 3] = RADIUS * np.sin(turn), -RADIUS * (1.0 - np.cos(turn)), 0.0
    rest = back(one)
    begin = np.eye(4)
    begin[:3, :3] = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # along y at first

    def poses(X: np.ndarray) -> np.ndarray:
        g = [begin]
        for step in join(X):
            g.append(g[-1] @ step)
        return np.array(g)

    def left(x: np.ndarray, force: float) -> np.ndarray:
        X = rest + x.reshape(n, 6)
        g, steps = poses(X), join(X)
        stress = STIFFNESS / L * (X - rest)
        columns = []
        for k in range(6):
            ahead = [back(steps @ se3.exp(sign * DIFFERENCE * np.eye(6)[k])) for sign in (1.0, -1.0)]
            columns.append(np.einsum("ni,ni->n", (ahead[0] - ahead[1]) / (2.0 * DIFFERENCE), stress))
        wrench = np.array(columns).T
        arms = g[-1, :3, 3] - g[1:, :3, 3]
        f = np.array([0.0, 0.0, force])
        turned = g[1:, :3, :3].transpose(0, 2, 1)
        load = np.concatenate([turned @ np.cross(arms, f)[..., None], turned @ np.tile(f, (n, 1))[..., None]], axis=1)
        return np.asarray(((wrench - load[..., 0]) / (STIFFNESS / L)).ravel())

    x = np.zeros(6 * n)
    for load_part in np.linspace(0.0, FORCE, LOADS + 1)[1:]:
        x = root(left, x, args=(float(load_part),), tol=1e-12).x
    return float(np.linalg.norm(poses(rest + x.reshape(n, 6))[-1, :3, 3] - TIP))


def figure_21() -> Figure:
    """Errors in space of the bend, with either map."""
    errors = {name: np.array([bend_error(n, join) for n in NUMBERS])
              for name, join in (("exponential", by_exponential), ("Cayley", by_cayley))}  # fmt: skip
    says = "a rod may be joined by the exponential or by the Cayley map"
    order = {name: float(np.log2(each[-2] / each[-1])) for name, each in errors.items()}
    claims = [
        Claim(says, "order with the exponential, 4 to 8 elements", order["exponential"], 1.8, 2.1),
        Claim(says, "order with the Cayley map, 4 to 8 elements", order["Cayley"], 1.8, 2.1),
        Claim(says, "error with the Cayley map, times that with the exponential, 8 elements",
              float(errors["Cayley"][-1] / errors["exponential"][-1]), 4.0, 6.0),
    ]  # fmt: skip

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for (name, each), color in zip(errors.items(), (BLUE, ORANGE), strict=True):
            axes.loglog(NUMBERS, each, "o-", color=color, label=name)
        axes.set_xlabel("elements")
        axes.set_ylabel("error of the tip")
        axes.legend()

    table = {"elements": np.array(NUMBERS), **{f"error, {name}": each for name, each in errors.items()}}
    return Figure(21, "Exponential and Cayley map in the elements of a rod", {"errors": table}, claims, draw)
