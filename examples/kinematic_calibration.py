"""Calibrate the geometry of an arm with seven joints from measured poses of its tool: what can be found, and how well.

Every joint's frames on both bodies are a little off, by 84 parameters of which 34 combinations can be found out. The
measurements are synthetic, so the result is compared with the truth.
"""

import argparse

import numpy as np

import chasles as ch
from chasles import lie

ROWS = [  # a [m], alpha [rad], d [m] of each joint: modified Denavit-Hartenberg parameters
    *[(0.0, 0.0, 0.333), (0.0, -np.pi / 2, 0.0), (0.0, np.pi / 2, 0.316), (0.0825, np.pi / 2, 0.0)],
    *[(-0.0825, -np.pi / 2, 0.384), (0.0, np.pi / 2, 0.0), (0.088, np.pi / 2, 0.0)],
]
OFF = np.repeat([1e-3, 5e-4], 3)  # how far the joints' frames are off [rad, m]
NOISE = np.repeat([2e-4, 1e-4], 3)  # standard deviation of a measured pose [rad, m]


def system() -> ch.System:
    names = ["base", *(f"link {k}" for k in range(1, 8))]
    bodies = [ch.Body(name, 1.0, (0, 0, 0), (0.01, 0.01, 0.01)) for name in names]
    joints = [ch.weld("stand", "ground", "base")]
    for k, (a, alpha, d) in enumerate(ROWS):
        joints.append(ch.model.denavit_hartenberg(f"joint {k + 1}", names[k], names[k + 1], a=a, alpha=alpha, d=d))
    return ch.System(bodies, joints, [ch.Frame("tool", "link 7", (0.05, 0.0, 0.2))], name="arm")


def misfit(arm: ch.Mechanism, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Small screws from the arm's poses to others, in units of the noise: (rows,)."""
    apart = lie.pose.compose(lie.pose.inverse(arm.poses(q, "tool")), poses)
    return (lie.pose.log(apart) / NOISE).ravel()


def calibrated(arm: ch.Mechanism, q: np.ndarray, measured: np.ndarray, places: list[str]) -> ch.Mechanism:
    """Gauss-Newton on the parameters that can be found; the others stay where they are."""
    report = arm.parameters.geometric_identifiability("tool", q, places)
    print(str(report).split("\n 1 ")[0])
    for step in range(1, 6):
        slope = arm.parameters.pose_derivatives(q, "tool", places) / NOISE[:, None]
        matrix = report.columns(slope).reshape(-1, report.rank)
        delta = np.zeros(len(report.names))
        delta[report.kept] = np.linalg.lstsq(matrix, misfit(arm, q, measured), rcond=None)[0]
        arm = arm.parameters.with_geometry(delta, places).compile()
        print(f"step {step}: parameters change by up to {np.abs(delta).max():.1e}")
        if np.abs(delta).max() < 1e-9:
            break
    return arm


def main(poses: int, seed: int, picture: str | None) -> None:
    rng = np.random.default_rng(seed)
    nominal = system().compile()
    places = [joint.name for joint in nominal.system.joints if joint.nv]
    true = nominal.parameters.with_geometry(
        rng.normal(size=(2 * len(places), 6)).ravel() * np.tile(OFF, 2 * len(places)), places
    )
    true = true.compile()

    q = rng.uniform(-2.5, 2.5, (poses, 7))
    noise = lie.pose.exp(NOISE * rng.normal(size=(poses, 6)))
    measured = lie.pose.compose(true.poses(q, "tool"), noise)
    found = calibrated(nominal, q, measured, places)

    unknowns, rows = 4 * 7 + 6, 6 * poses  # four for each revolute joint, and six
    left, error = np.sum(misfit(found, q, measured) ** 2), np.sum(misfit(found, q, true.poses(q, "tool")) ** 2)
    print(f"squares left in the data:  {left:6.0f}, expected {rows - unknowns} ± {np.sqrt(2 * (rows - unknowns)):.0f}")
    print(f"squares of the true error: {error:6.1f}, expected {unknowns} ± {np.sqrt(2 * unknowns):.0f}")

    elsewhere = rng.uniform(-2.5, 2.5, (500, 7))
    target = true.poses(elsewhere, "tool")[:, 4:]
    before, after = (
        1e3 * np.linalg.norm(arm.poses(elsewhere, "tool")[:, 4:] - target, axis=1) for arm in (nominal, found)
    )
    print(f"error of the tool elsewhere: {before.mean():.3f} mm before, {after.mean():.4f} mm after (mean of 500)")
    good = abs(error - unknowns) < 4 * np.sqrt(2 * unknowns) and abs(left - rows + unknowns) < 4 * np.sqrt(2 * rows)
    print("verdict:", "as good as the noise allows" if good else "worse than the noise explains")
    if picture:
        draw(picture, before, after)


def draw(path: str, before: np.ndarray, after: np.ndarray) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    bins = np.geomspace(min(after.min(), before.min()), before.max(), 40)
    axes.hist(before, bins, label="nominal geometry", color="#d9722e")
    axes.hist(after, bins, label="calibrated", color="#2f6db5")
    axes.set(xscale="log", xlabel="error of the tool's position [mm]", ylabel="configurations")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    print(f"picture: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poses", type=int, default=200, help="how many poses are measured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="where to save a picture, for example calibration.png")
    main(**vars(parser.parse_args()))
