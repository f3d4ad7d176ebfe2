"""A double pendulum in space: simulate, look at the energies, print the certificate."""

import argparse

import numpy as np

import chasles as ch


def system() -> ch.System:
    rod = [ch.shapes.Cylinder(0.02, 0.5, pose=(1, 0, 0, 0, 0, 0, -0.25))]
    return ch.System(
        [ch.Body("upper", shapes=rod, density=7800.0), ch.Body("lower", shapes=rod, density=7800.0)],
        [ch.spherical("pivot", "ground", "upper"), ch.spherical("elbow", "upper", "lower", at=(0, 0, -0.5))],
        [ch.Frame("tip", "lower", (0, 0, -0.5))],
        name="double pendulum",
    )


def main(time: float) -> None:
    run = ch.simulate(system(), (0.0, time), v=[4.0, 3.0, 0.0, -2.0, 3.0, 0.0])
    tip = run["tip"]
    print(run)
    print(f"tip at the end: {np.round(tip.position[-1], 6)} m, speed {np.linalg.norm(tip.twist[-1, 3:]):.3f} m/s")
    print(f"energy {run.energies.total[0]:.6f} J, changed by {np.ptp(run.energies.total):.1e} J")
    print(run.certificate)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=10.0, help="end of the simulation [s]")
    main(parser.parse_args().time)
