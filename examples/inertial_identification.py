"""Identify masses, inertias and friction of an arm with seven joints from torques on a trajectory that excites them.

The torques are synthetic, with noise, so the result is compared with the truth; and it is completed to parameters of
all bodies that are physical: that some distribution of mass has.
"""

import argparse

import numpy as np

import chasles as ch

ROWS = [  # a [m], alpha [rad], d [m] of each joint: modified Denavit-Hartenberg parameters
    *[(0.0, 0.0, 0.333), (0.0, -np.pi / 2, 0.0), (0.0, np.pi / 2, 0.316), (0.0825, np.pi / 2, 0.0)],
    *[(-0.0825, -np.pi / 2, 0.384), (0.0, np.pi / 2, 0.0), (0.088, np.pi / 2, 0.0)],
]
TERMS = ("armature", "damping", "friction")
NOISE = 0.2  # standard deviation of a measured torque [N m]
PERIOD, HARMONICS, REACH = 10.0, 5, 1.2  # of the trajectory [s], and how far the joints turn [rad]


def system(rng: np.random.Generator) -> ch.System:
    """An arm of rods; each rod and each joint differs a little from the next."""
    names = ["ground", *(f"link {k}" for k in range(1, 8))]
    bodies, joints = [], []
    for k, (a, alpha, d) in enumerate(ROWS):
        rod = ch.shapes.Capsule(0.06, 0.2, pose=(1, 0, 0, 0, *rng.uniform(-0.06, 0.06, 3)))
        bodies.append(ch.Body(names[k + 1], shapes=[rod], density=rng.uniform(900, 1400)))
        own = {"armature": rng.uniform(0.05, 0.2), "damping": rng.uniform(0.2, 1), "friction": rng.uniform(0.2, 1)}
        frames = {"a": a, "alpha": alpha, "d": d}
        joints.append(ch.model.denavit_hartenberg(f"joint {k + 1}", names[k], names[k + 1], **frames, **own))
    return ch.System(bodies, joints, name="arm")


def trajectory(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a of sums of sines with random amplitudes, periodic, at `count` times."""
    t = np.linspace(0.0, PERIOD, count, endpoint=False)[:, None, None]
    speed = 2 * np.pi / PERIOD * np.arange(1, HARMONICS + 1)
    sines, cosines = rng.normal(size=(2, 7, HARMONICS))
    scale = REACH / np.hypot(sines, cosines).sum(axis=1, keepdims=True)
    s, c = scale * sines, scale * cosines
    q = (s * np.sin(speed * t) + c * np.cos(speed * t)).sum(axis=-1)
    v = (speed * (s * np.cos(speed * t) - c * np.sin(speed * t))).sum(axis=-1)
    a = (-(speed**2) * (s * np.sin(speed * t) + c * np.cos(speed * t))).sum(axis=-1)
    return q, v, a


def exciting(arm: ch.Mechanism, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    """Of 20 trajectories the one whose base parameters are told apart best."""
    trials = [trajectory(rng, count) for _ in range(20)]
    return min(trials, key=lambda motion: arm.parameters.inertial_identifiability(*motion, TERMS).condition)


def physical(arm: ch.Mechanism, matrix: np.ndarray, torques: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, float]:
    """Parameters that fit the torques and stay near prior ones, as near as needed for every body to be physical."""
    size = np.maximum(np.abs(prior), 1e-3)
    for weight in 10.0 ** np.arange(-3, 4, 0.5):  # of a change by 100 %, in units of the noise
        rows = np.concatenate([matrix / NOISE, weight * np.diag(1 / size)])
        change = np.linalg.lstsq(rows, np.concatenate([(torques - matrix @ prior) / NOISE, 0 * prior]), rcond=None)[0]
        if not arm.parameters.unphysical(prior + change, TERMS) and (prior + change)[10 * len(arm.bodies) :].min() >= 0:
            return prior + change, weight
    raise RuntimeError("no physical parameters near the prior ones fit")


def main(samples: int, seed: int, picture: str | None) -> None:
    rng = np.random.default_rng(seed)
    arm = system(rng).compile()
    true = arm.parameters.inertial(TERMS)

    q, v, a = exciting(arm, rng, samples)
    report = arm.parameters.inertial_identifiability(q, v, a, TERMS)
    matrix = arm.parameters.regressor(q, v, a, TERMS).reshape(-1, len(true))
    torques = matrix @ true + NOISE * rng.normal(size=len(matrix))
    base = np.linalg.lstsq(report.columns(matrix), torques, rcond=None)[0]
    print(str(report).split("\n 1 ")[0])

    error, deviation = base - report.values(true), report.standard_deviations(NOISE)
    squares = np.sum((report.triangle @ error / NOISE) ** 2)
    print(f"largest error of a base parameter: {np.max(np.abs(error) / deviation):.2f} standard deviations")
    print(f"squares of the true error: {squares:.1f}, expected {report.rank} ± {np.sqrt(2 * report.rank):.0f}")

    off = rng.uniform(0.8, 1.2, len(true) - 9 * len(arm.bodies))  # one factor for each body, one for each other number
    guess = true * np.concatenate([np.repeat(off[:7], 10), off[7:]])  # what a drawing tells: 20 % off
    nearest = report.parameters(base, guess)
    for body, found in arm.parameters.unphysical(nearest, TERMS).items():
        print(f"nearest to the drawing, but {body}: {found}")
    parameters, weight = physical(arm, matrix, torques, guess)
    identified = arm.parameters.with_inertial(parameters, TERMS).compile()
    print(f"physical parameters: found, with weight {weight:.2g} on the drawing")

    q, v, a = trajectory(rng, samples)
    needed, drawn = (arm.parameters.regressor(q, v, a, TERMS) @ p for p in (true, guess))
    predicted = identified.inverse_dynamics(q, v, a)
    rms = [np.sqrt(np.mean((x - needed) ** 2)) for x in (drawn, predicted)]
    print(f"torques of another motion: {rms[0]:.3f} N m off by the drawing, {rms[1]:.4f} N m identified (rms)")
    good = abs(squares - report.rank) < 4 * np.sqrt(2 * report.rank) and rms[1] < NOISE
    print("verdict:", "as good as the noise allows" if good else "worse than the noise explains")
    if picture:
        draw(picture, error / deviation, np.linspace(0, PERIOD, samples), needed, predicted, drawn)


def draw(
    path: str, errors: np.ndarray, t: np.ndarray, needed: np.ndarray, found: np.ndarray, drawn: np.ndarray
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(errors, "o", color="#2f6db5", markersize=3)
    left.axhspan(-2, 2, color="#2f6db5", alpha=0.15, linewidth=0)
    left.set(xlabel="base parameter", ylabel="error [standard deviations]")
    right.plot(t, (drawn - needed)[:, 1], color="#d9722e", label="from the drawing")
    right.plot(t, (found - needed)[:, 1], color="#2f6db5", label="identified")
    right.set(xlabel="time [s]", ylabel="torque error of joint 2 [N m]")
    right.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    print(f"picture: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000, help="how many times of the trajectory are measured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="where to save a picture, for example identification.png")
    main(**vars(parser.parse_args()))
