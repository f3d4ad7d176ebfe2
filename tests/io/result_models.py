"""Runs for the tests of result files, as they are started in processes of their own too."""

import sys

import numpy as np

import chasles as ch


@ch.law
def drag(t, pose, twist, parameters, out):
    for k in range(6):
        out[k] = -parameters[0] * twist[k]


def turned(t, y, p):
    return y[-2] - 0.3  # velocity of the elbow


def balance(t, q, v):
    return np.array([-3.0 * v[0], 0.2, 0.0, 5.0 * (0.4 - q[4]) - v[3]])


LAWS = {"drag": drag}
EVENTS = [ch.Event(turned)]


def arm(*acting):
    forces = [item for item in acting if isinstance(item, ch.Wrench)]
    constraints = [item for item in acting if not isinstance(item, ch.Wrench)]
    return ch.System(
        [
            ch.Body("upper", 2.0, (0, 0, -0.2), (0.03, 0.03, 0.002)),
            ch.Body("lower", 1.0, (0.01, 0, -0.15), (0.012, 0.012, 0.001)),
        ],
        [
            ch.spherical("shoulder", "ground", "upper", at=(0, 0, 1.0)),
            ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0.1), at=(0, 0, -0.4)),
        ],
        [ch.Frame("hand", "lower", (0.0, 0.0, -0.35))],
        forces,
        constraints=constraints,
        name="arm",
    )


def top():
    body = ch.Body("top", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.02))
    return ch.System([body], [ch.spherical("pivot", "ground", "top")], name="heavy top")


HELD = ch.Drive("bend", "elbow", 0.0)
V = [3.0, 1.0, -2.0, 4.0]
AIR = ch.Wrench("air", "lower", drag, parameters=[0.05])
CASES = {
    "fixed": lambda end, **more: ch.simulate(
        top(), (0, end), v=[1, 0, 30.0], method=ch.integrate.RKMK("rk4"), step=1e-3, progress=False, **more
    ),
    "adaptive": lambda end, **more: ch.simulate(
        arm(AIR), (0, end), v=V, rtol=1e-9, atol=1e-11, events=EVENTS, progress=False, **more
    ),
    "absolute": lambda end, **more: ch.simulate(
        arm(), (0, end), v=V, step=1e-3, coordinates="absolute", save=3, progress=False, **more
    ),
    "absolute adaptive": lambda end, **more: ch.simulate(
        arm(), (0, end), v=V, rtol=1e-9, atol=1e-11, coordinates="absolute", progress=False, **more
    ),
    "sampled": lambda end, **more: ch.simulate(
        arm(), (0, end), v=V, step=1e-3, controller=balance, period=0.01, progress=False, **more
    ),
    "implicit": lambda end, **more: ch.simulate(
        arm(), (0, end), v=V, step=1e-3, method=ch.integrate.Gauss(2), progress=False, **more
    ),
    "alpha": lambda end, **more: ch.simulate(
        arm(),
        (0, end),
        v=V,
        step=1e-3,
        coordinates="absolute",
        method=ch.integrate.GeneralizedAlpha(),
        progress=False,
        **more,
    ),
    "alpha adaptive": lambda end, **more: ch.simulate(
        *(arm(), (0, end)),
        v=V,
        rtol=1e-4,
        atol=1e-4,
        coordinates="absolute",
        method=ch.integrate.GeneralizedAlpha(),
        progress=False,
        **more,
    ),
    "closed": lambda end, **more: ch.simulate(
        arm(HELD), (0, end), v=[0, 2.0, 0, 0], assemble=True, step=1e-3, progress=False, **more
    ),
}
RESUME = {"adaptive": {"laws": LAWS, "events": EVENTS}, "sampled": {"controller": balance}}


if __name__ == "__main__":
    case, end, file = sys.argv[1:]
    CASES[case](float(end), file=file)
