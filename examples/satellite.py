"""A satellite that floats turns by moving its arms: its momentum stays zero, its attitude does not."""

import argparse

import numpy as np

import chasles as ch
from chasles import lie


@ch.law
def wheel(t, q, v, parameters, out):
    """Drive the two angles a quarter of a period apart, so that the arms go round."""
    strength, speed = parameters[0], parameters[1]
    out[0] = strength * (0.6 * np.sin(speed * t) - q[0]) - 2.0 * v[0]
    out[1] = strength * (0.6 * np.cos(speed * t) - q[1]) - 2.0 * v[1]


def system() -> ch.System:
    """A hub with two arms on universal joints, without gravity and without a ground to hold it."""
    rod = [ch.shapes.Cylinder(0.05, 1.0, pose=(1, 0, 0, 0, 0, 0, 0.5))]
    arms = [ch.Body(name, shapes=rod, density=800.0) for name in ("a", "b")]
    return ch.System(
        [ch.Body("hub", shapes=[ch.shapes.Box((0.5, 0.5, 0.5))], density=100.0), *arms],
        [
            ch.universal("left", "hub", "a", at=(0.25, 0, 0), damping=0.05),
            ch.universal("right", "hub", "b", at=(-0.25, 0, 0), damping=0.05),
        ],
        forces=[
            ch.JointForce("left motor", "left", wheel, parameters=[6.0, 3.0]),
            ch.JointForce("right motor", "right", wheel, parameters=[6.0, 3.0]),
        ],
        gravity=(0, 0, 0),
        name="satellite",
    )


def main(time: float) -> None:
    run = ch.simulate(system(), (0.0, time))
    turn = lie.s3.log(run["hub"].orientation[-1])
    momentum = run.mechanism.momentum(run.q, run.v)
    print(run)
    print(f"the hub has turned by {np.degrees(np.linalg.norm(turn)):.2f} degrees")
    print(f"largest momentum: {np.abs(momentum).max():.1e} N m s, N s (exact: none)")
    print(run.certificate)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=float, default=20.0, help="end of the simulation [s]")
    main(parser.parse_args().time)
